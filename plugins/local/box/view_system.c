#include "view_system.h"

#include "../authorities.h"
#include "places.h"
#include "skeleton.h"
#include "view_mounts.h"
#include "walls.h"

#include <sandlot/sdk/cleanup.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

const char *const view_etc[] = {"alternatives",
                                "bash.bashrc",
                                "ca-certificates.conf",
                                "crypto-policies",
                                "dpkg",
                                "fonts",
                                "java-11-openjdk",
                                "java-17-openjdk",
                                "java-21-openjdk",
                                "java-25-openjdk",
                                "ld.so.cache",
                                "ld.so.conf",
                                "ld.so.conf.d",
                                "localtime",
                                "lsb-release",
                                "mime.types",
                                "os-release",
                                "perl",
                                "pki/ca-trust",
                                "pki/tls/certs",
                                "protocols",
                                "rpm",
                                "services",
                                "ssl/certs",
                                "ssl/openssl.cnf",
                                "terminfo",
                                NULL};

const char *const view_devices[] = {"null", "zero", "full", "random", "urandom", "tty", NULL};

const char *const view_packages[] = {"/var/lib/dpkg", "/var/lib/rpm", NULL};

static const char *const proc_read_only[] = {"sys", "sysrq-trigger", "irq", "bus", "fs", "pressure", NULL};
static const char *const proc_masked[] = {"kcore",       "keys", "key-users", "timer_list", "kallsyms",
                                          "sched_debug", "scsi", "acpi",      NULL};

enum { MEMORY_MB_MOST = 72 };

/* The machine has some 4,000 terminals for all. */
#define TERMINALS_MOST "128"

/* Shows the host's PATH read-only at the same place. The skeleton has the place in /etc, and links themselves. */
static int show(const struct view *view, const char *path)
{
    struct stat status;

    if (lstat(path, &status) < 0 || S_ISLNK(status.st_mode))
        return 0;
    return view_place(view, "bind", view_clone_tree(AT_FDCWD, path, MOUNT_SYSTEM), path, S_ISDIR(status.st_mode));
}

/*
 * The place in "/" for the link NAME, which is the same link: a listing of a folder tells what lies below a mount, and
 * of a file there every program that lists "/" would believe that it is one.
 */
static int make_link_place(const struct view *view, const char *name)
{
    char target[PATH_MAX];
    int place = view_open(view, name, O_PATH | O_NOFOLLOW, 0);

    if (place >= 0 || errno != ENOENT)
        return place;
    const ssize_t length = readlinkat(view->folders->skeleton, name, target, sizeof target - 1);

    if (length < 0)
        return -1;
    target[length] = '\0';
    return symlinkat(target, view->root, name) < 0 ? -1 : view_open(view, name, O_PATH | O_NOFOLLOW, 0);
}

static int show_link(const struct view *view, const char *name)
{
    AUTO_CLOSE int tree = view_clone_tree(view->folders->skeleton, name, MOUNT_SYSTEM);
    AUTO_CLOSE int place = tree >= 0 ? make_link_place(view, name) : -1;

    return view_put(tree, place) == 0 ? 0 : reason_mount(view->reason, "bind", name, errno);
}

/*
 * What the skeleton has for "/", read-only. The folder that is "/" belongs to the box, and takes new entries: so each
 * of these is a mount, for the kernel neither removes, renames nor replaces one, be it a link.
 */
static int show_skeleton(const struct view *view)
{
    const int skeleton = view->folders->skeleton;
    struct stat status;

    for (const char *const *name = places_skeleton; *name; name++)
        if (view_place(view, "bind", view_clone_tree(skeleton, *name, MOUNT_SYSTEM), *name, true) < 0)
            return -1;
    for (const char *const *name = places_system; *name; name++)
        if (fstatat(skeleton, *name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(status.st_mode) &&
            show_link(view, *name) < 0)
            return -1;
    return 0;
}

int view_show_system(const struct view *view)
{
    char path[64];

    if (show_skeleton(view) < 0)
        return -1;
    for (const char *const *name = places_system; *name; name++) {
        snprintf(path, sizeof path, "/%s", *name);
        if (show(view, path) < 0)
            return -1;
    }
    for (const char *const *name = view_etc; *name; name++) {
        snprintf(path, sizeof path, "/etc/%s", *name);
        if (show(view, path) < 0)
            return -1;
    }
    for (const char *const *path_of_packages = view_packages; *path_of_packages; path_of_packages++)
        if (show(view, *path_of_packages) < 0)
            return -1;
    return 0;
}

int view_show_authority(const struct view *view)
{
    if (view->folders->authority < 0)
        return 0;
    const int folder = view->folders->authority;

    if (view_place(view, "bind", view_clone_tree(folder, "ca-certificates.crt", MOUNT_SYSTEM), AUTHORITIES_OF_BOX,
                   false) < 0)
        return -1;
    if (faccessat(folder, "cacerts", F_OK, AT_SYMLINK_NOFOLLOW) < 0)
        return 0;
    return view_place(view, "bind", view_clone_tree(folder, "cacerts", MOUNT_SYSTEM), AUTHORITIES_OF_JAVA, false);
}

static int link_devices(const struct view *view)
{
    static const char *const links[][2] = {{"/proc/self/fd", "fd"},
                                           {"/proc/self/fd/0", "stdin"},
                                           {"/proc/self/fd/1", "stdout"},
                                           {"/proc/self/fd/2", "stderr"},
                                           {"pts/ptmx", "ptmx"}};
    AUTO_CLOSE int folder = view_open(view, "/dev", O_PATH | O_DIRECTORY, 0);

    for (size_t i = 0; i < sizeof links / sizeof *links; i++)
        if (folder < 0 || (symlinkat(links[i][0], folder, links[i][1]) < 0 && errno != EEXIST))
            return reason_mount(view->reason, "link", links[i][1], errno);
    return 0;
}

/*
 * /run and /dev/shm, in memory: of the box's memory not more than a quarter. Each file system of its own costs a box,
 * and every control group of the machine, some KiB: so one is a folder of the other, which has room for both.
 */
static int make_memory(const struct view *view)
{
    struct mount_attr no_programs = {.attr_set = MOUNT_ATTR_NOEXEC};
    const int64_t quarter = view->request->settings->memory_mb / 4;
    char size[32];

    snprintf(size, sizeof size, "%dm", quarter > 0 && quarter < MEMORY_MB_MOST ? (int)quarter : MEMORY_MB_MOST);
    AUTO_CLOSE int memory = view_new_memory(size, "4096", "0755", MOUNT_HARMLESS);
    const int run = memory < 0 ? -1 : fcntl(memory, F_DUPFD_CLOEXEC, 0);

    if (view_place(view, "tmpfs", run, "/run", true) < 0)
        return -1;
    if (mkdirat(memory, "shm", 01777) < 0)
        return reason_mount(view->reason, "folder", "/run/shm", errno);
    if (view_place(view, "bind", view_clone_tree(memory, "shm", MOUNT_HARMLESS), "/dev/shm", true) < 0)
        return -1;
    if (mount_setattr(memory, "", AT_EMPTY_PATH, &no_programs, sizeof no_programs) < 0)
        return reason_mount(view->reason, "tmpfs", "/run", errno);
    return 0;
}

int view_make_devices(const struct view *view)
{
    const struct option terminals[] = {{"ptmxmode", "0666"}, {"mode", "0620"}, {"max", TERMINALS_MOST}, {NULL, NULL}};
    char path[64];

    /* The /dev of a root file system is hidden: a device file in it would be one that somebody else made. */
    if (view->folders->rootfs >= 0 &&
        view_place(view, "tmpfs", view_new_memory("64k", "64", "0755", MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC), "/dev",
                   true) < 0)
        return -1;
    /* Binds of the host's nodes: a user namespace cannot make any. These six do nothing that pipes and clocks do not.
     */
    for (const char *const *name = view_devices; *name; name++) {
        snprintf(path, sizeof path, "/dev/%s", *name);
        if (view_place(view, "bind", view_clone_tree(AT_FDCWD, path, MOUNT_DEVICE), path, false) < 0)
            return -1;
    }
    if (view_place(view, "devpts", file_system_new("devpts", terminals, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC),
                   "/dev/pts", true) < 0)
        return -1;
    if (make_memory(view) < 0)
        return -1;
    return view->folders->rootfs >= 0 ? link_devices(view) : 0;
}

/* Covers one entry of /proc: itself read-only, or, if it is to be MASKED, by nothing. */
static int cover(const struct view *view, const char *name, bool masked)
{
    char path[64];
    struct stat status;
    int tree;

    snprintf(path, sizeof path, "/proc/%s", name);
    AUTO_CLOSE int entry = view_open(view, path, O_PATH, 0);

    if (entry < 0 || fstat(entry, &status) < 0)
        return 0;
    if (!masked)
        tree = view_clone_tree(entry, "", MOUNT_KERNEL | MOUNT_ATTR_RDONLY);
    else if (S_ISDIR(status.st_mode) && view->folders->rootfs >= 0)
        tree = view_new_memory("4k", "2", "0555", MOUNT_KERNEL | MOUNT_ATTR_RDONLY);
    else if (S_ISDIR(status.st_mode))
        tree = view_clone_tree(view->root, SKELETON_EMPTY, MOUNT_KERNEL | MOUNT_ATTR_RDONLY);
    else
        tree = view_clone_tree(AT_FDCWD, "/dev/null", MOUNT_DEVICE);
    return view_place(view, "mask", tree, path, S_ISDIR(status.st_mode));
}

/* The whole number in FILE, 0 on failure. */
static long read_number(const char *file)
{
    char text[32];
    AUTO_CLOSE int fd = open(file, O_RDONLY | O_CLOEXEC);
    const ssize_t length = fd >= 0 ? read(fd, text, sizeof text - 1) : 0;

    text[length > 0 ? length : 0] = '\0';
    return strtol(text, NULL, 10);
}

/*
 * A share of the user's inotify(7). The kernel counts instances and watches for a box and, with all its others, for the
 * user who made it; what keeps a box from having all of them are the limits of the box's own user namespace. By the
 * box's own /proc: in the machine's the kernel would keep these names for each box, and go through them for the next.
 */
static void share_inotify(const struct view *view)
{
    static const char *const files[][2] = {
        {"/proc/sys/fs/inotify/max_user_instances", "/proc/sys/user/max_inotify_instances"},
        {"/proc/sys/fs/inotify/max_user_watches", "/proc/sys/user/max_inotify_watches"}};
    char number[32];

    for (size_t i = 0; i < 2; i++) {
        const long all = read_number(files[i][0]);
        AUTO_CLOSE int fd = all > 0 ? view_open(view, files[i][1], O_WRONLY, 0) : -1;

        snprintf(number, sizeof number, "%ld", all / WALLS_SHARE);
        /* Safe: the limits of this namespace, which can only be lower than those above it. Not a wall of the box's, so
         * a kernel without them starts boxes too. */
        if (fd >= 0 && write(fd, number, strlen(number)) < 0)
            return;
    }
}

int view_make_proc(const struct view *view)
{
    const struct option none = {NULL, NULL};

    if (view_place(view, "proc", file_system_new("proc", &none, MOUNT_KERNEL), "/proc", true) < 0)
        return -1;
    share_inotify(view);
    for (const char *const *name = proc_read_only; *name; name++)
        if (cover(view, *name, false) < 0)
            return -1;
    for (const char *const *name = proc_masked; *name; name++)
        if (cover(view, *name, true) < 0)
            return -1;
    return 0;
}
