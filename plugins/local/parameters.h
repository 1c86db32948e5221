/* What a user may say of a local sandbox. */
#ifndef SANDLOT_LOCAL_PARAMETERS_H
#define SANDLOT_LOCAL_PARAMETERS_H

#define LOCAL_PARAMETERS(P)                                                                                           \
    P(path, workspace, "", optional, "host folder shown copy-on-write as the working directory; it is never changed") \
    P(path, rootfs, "", optional, "folder or tar archive of another root file system; without it the host's folders") \
    P(integer, memory_mb, "4096", optional, "memory of the sandbox in MiB")                                           \
    P(integer, processes, "1024", optional, "processes and threads that the sandbox may have")                        \
    P(integer, disk_mb, "8192", optional, "disk space that the sandbox may fill, in MiB")                             \
    P(integer, open_files, "4096", optional, "files that one process may have open")                                  \
    P(float, cpus, "", optional, "processors that the sandbox may keep busy; without it all")                         \
    P(string, confinement, "full", optional, "full, or the weaker landlock where user namespaces are unavailable")    \
    P(string, storage, "disk", optional,                                                                              \
      "disk, or memory: files are kept in disk_mb of memory, gone with the sandbox")                                  \
    P(boolean, fake_root, "false", optional, "commands see themselves as uid 0, for package managers")                \
    P(array, show, "", optional, "host folders shown read-only at their own place, such as /opt/tools,~/.rustup")     \
    P(string, image, "", optional, "image of a registry, or oci:FOLDER[:TAG] or docker-archive:FILE, as the system")  \
    P(integer, snapshots_mb, "16384", optional, "disk space for all snapshots, and for what forks share, in MiB")

#endif
