#include "view.h"

#include "../authorities.h"
#include "../keeper/walk.h"
#include "../protocol.h"
#include "overlay.h"
#include "places.h"
#include "processes.h"
#include "skeleton.h"
#include "walls.h"

#include <sandlot/sdk/cleanup.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

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

/* Where the storage has the folder that is "/" of a box which shows the host's system. */
#define ROOT "root"

enum {
    MOUNT_SYSTEM = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_RDONLY,
    MOUNT_DEVICE = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC | MOUNT_ATTR_RDONLY,
    MOUNT_KERNEL = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC
};

enum { MEMORY_MB_MOST = 72 };

/* The machine has some 4,000 terminals for all. */
#define TERMINALS_MOST "128"

/* Where in the storage trees are mounted that the keeper hands over. What is kept stands on the same folders. */
#define PLANTED_WORKSPACE KEPT_SEED
#define PLANTED_LAYER KEPT_LAYER
#define PLANTED_ROOTFS "seed-root"
#define PLANTED_MOUNT "seed"
enum { PLANTED_SIZE = 32 };

/* The folder of the storage that stays empty: an overlay that takes no changes wants two layers. */
#define NOTHING "nothing"

struct view {
    const struct box_request *request;
    const struct view_folders *folders;
    int root; /* the mount that becomes "/" */
    struct reason *reason;
};

/* ---- folders of the host ---- */

/* The folder of FD as this mount namespace has it, by its path; it must be the very same one. */
static int find_here(int fd, struct reason *reason)
{
    char link[64];
    char path[PATH_MAX];
    struct stat wanted;
    struct stat found;

    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    const ssize_t length = readlink(link, path, sizeof path - 1);

    if (length < 0 || fstat(fd, &wanted) < 0)
        return reason_set(reason, "a folder of the box cannot be found: %s; is /proc mounted?", strerror(errno));
    path[length] = '\0';
    AUTO_CLOSE int here = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);

    if (here >= 0 && fstat(here, &found) == 0 && found.st_dev == wanted.st_dev && found.st_ino == wanted.st_ino)
        return take_fd(&here);
    return reason_set(reason,
                      "the folder %s cannot be opened for the box: %s; all folders above it must be open to its owner",
                      path, here < 0 ? strerror(errno) : "it has been replaced");
}

int view_folders_find(const struct box_request *request, bool planted, struct view_folders *folders,
                      struct reason *reason)
{
    *folders = (struct view_folders){-1, -1, -1, -1, -1, {-1}, {-1}};
    folders->storage = find_here(request->storage_fd, reason);
    if (request->rootfs_fd < 0)
        folders->skeleton = find_here(request->skeleton_fd, reason);
    if (request->authority_fd > 0)
        folders->authority = find_here(request->authority_fd, reason);
    if (request->workspace_fd >= 0 && !planted)
        folders->workspace = find_here(request->workspace_fd, reason);
    if (request->rootfs_fd >= 0 && !planted)
        folders->rootfs = find_here(request->rootfs_fd, reason);
    for (size_t i = 0; i < request->mount_count && !planted; i++)
        folders->mounts[i] = find_here(request->mounts[i].fd, reason);
    for (size_t i = 0; i < request->layer_count && !planted; i++)
        folders->layers[i] = find_here(request->layer_fds[i], reason);
    return reason->text[0] ? -1 : 0;
}

static void planted_name(char name[PLANTED_SIZE], const char *kind, size_t number)
{
    snprintf(name, PLANTED_SIZE, "%s-%zu", kind, number);
}

/* Mounts the tree FD at the folder NAME of STORAGE_PATH. 0 or an errno. */
static int plant(int fd, const char *storage_path, const char *name)
{
    char path[PATH_MAX + 16];

    if (fd < 0)
        return 0;
    snprintf(path, sizeof path, "%s/%s", storage_path, name);
    return move_mount(fd, "", AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH) < 0 ? errno : 0;
}

/* The same, at the folder NUMBER of this KIND. */
static int plant_numbered(int fd, const char *storage_path, const char *kind, size_t number)
{
    char name[PLANTED_SIZE];

    planted_name(name, kind, number);
    return plant(fd, storage_path, name);
}

/* In a short-lived child of the keeper: goes into the mount namespace of PIDFD's process and mounts there. Returns an
 * errno. */
static int plant_inside(const struct box_request *request, int pidfd)
{
    char link[64];
    char path[PATH_MAX];

    snprintf(link, sizeof link, "/proc/self/fd/%d", request->storage_fd);
    const ssize_t length = readlink(link, path, sizeof path - 1);

    if (length < 0)
        return errno;
    path[length] = '\0';
    /* Safe: nothing of the box runs yet but its init, and this process executes nothing, mounts two trees, and ends. */
    if (setns(pidfd, CLONE_NEWNS) < 0)
        return errno;
    int failed = plant(request->workspace_fd, path, PLANTED_WORKSPACE);

    if (!failed)
        failed = plant(request->rootfs_fd, path, PLANTED_ROOTFS);
    for (size_t i = 0; i < request->mount_count && !failed; i++)
        failed = plant_numbered(request->mounts[i].fd, path, PLANTED_MOUNT, i);
    for (size_t i = 0; i < request->layer_count && !failed; i++)
        failed = plant_numbered(request->layer_fds[i], path, PLANTED_LAYER, i);
    return failed;
}

static int make_planted_folder(int fd, int storage_fd, const char *name)
{
    return fd < 0 || mkdirat(storage_fd, name, 0755) == 0 || errno == EEXIST ? 0 : -1;
}

static int make_numbered_folder(int fd, int storage_fd, const char *kind, size_t number)
{
    char name[PLANTED_SIZE];

    planted_name(name, kind, number);
    return make_planted_folder(fd, storage_fd, name);
}

static int make_planted_folders(const struct box_request *request)
{
    int made = make_planted_folder(request->workspace_fd, request->storage_fd, PLANTED_WORKSPACE);

    if (made == 0)
        made = make_planted_folder(request->rootfs_fd, request->storage_fd, PLANTED_ROOTFS);
    for (size_t i = 0; i < request->mount_count && made == 0; i++)
        made = make_numbered_folder(request->mounts[i].fd, request->storage_fd, PLANTED_MOUNT, i);
    for (size_t i = 0; i < request->layer_count && made == 0; i++)
        made = make_numbered_folder(request->layer_fds[i], request->storage_fd, PLANTED_LAYER, i);
    return made;
}

int view_folders_plant(const struct box_request *request, int pidfd, struct reason *reason)
{
    int status = 0;

    if (request->workspace_fd < 0 && request->rootfs_fd < 0 && request->mount_count == 0 && request->layer_count == 0)
        return 0;
    if (make_planted_folders(request) < 0)
        return reason_mount(reason, "folder", "the storage", errno);
    const pid_t pid = vfork(); /* it is waited for, and a copy of the keeper's memory takes longer than the mounts */

    if (pid == 0)
        _exit(plant_inside(request, pidfd));
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    if (pid < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return reason_mount(reason, "seed", "the storage", pid < 0 ? EAGAIN : WEXITSTATUS(status));
    return 0;
}

static int open_planted(const struct view_folders *folders, const char *kind, size_t number)
{
    char name[PLANTED_SIZE];

    planted_name(name, kind, number);
    return openat(folders->storage, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

int view_folders_find_planted(const struct box_request *request, struct view_folders *folders, struct reason *reason)
{
    const int flags = O_PATH | O_DIRECTORY | O_CLOEXEC;

    if (request->workspace_fd >= 0)
        folders->workspace = openat(folders->storage, PLANTED_WORKSPACE, flags);
    if (request->rootfs_fd >= 0)
        folders->rootfs = openat(folders->storage, PLANTED_ROOTFS, flags);
    if ((request->workspace_fd >= 0 && folders->workspace < 0) || (request->rootfs_fd >= 0 && folders->rootfs < 0))
        return reason_mount(reason, "seed", "the storage", errno);
    for (size_t i = 0; i < request->mount_count; i++) {
        folders->mounts[i] = open_planted(folders, PLANTED_MOUNT, i);
        if (folders->mounts[i] < 0)
            return reason_mount(reason, "folder", request->mounts[i].path, errno);
    }
    for (size_t i = 0; i < request->layer_count; i++) {
        folders->layers[i] = open_planted(folders, PLANTED_LAYER, i);
        if (folders->layers[i] < 0)
            return reason_mount(reason, "layer", "the storage", errno);
    }
    return 0;
}

/* ---- places inside ---- */

/* Opens PATH below the new root and never outside: links of a hostile root file system lead nowhere else. */
static int open_inside(const struct view *view, const char *path, uint64_t flags, mode_t mode)
{
    const struct open_how how = {
        .flags = flags | O_CLOEXEC, .mode = mode, .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};

    return (int)syscall(SYS_openat2, view->root, path, &how, sizeof how);
}

/* Makes the folder PATH with all above it, and opens it. */
static int make_folder(const struct view *view, const char *path)
{
    char prefix[PATH_MAX];
    int folder = open_inside(view, path, O_PATH | O_DIRECTORY, 0);

    if (folder >= 0 || errno != ENOENT)
        return folder;
    folder = open_inside(view, "/", O_PATH | O_DIRECTORY, 0);
    for (const char *end = path; folder >= 0 && *end;) {
        const char *start = end + (*end == '/');
        AUTO_CLOSE int parent = folder;

        end = strchrnul(start, '/');
        if (snprintf(prefix, sizeof prefix, "%.*s", (int)(end - start), start) >= (int)sizeof prefix)
            return -1;
        if (mkdirat(parent, prefix, 0755) < 0 && errno != EEXIST)
            return -1;
        snprintf(prefix, sizeof prefix, "%.*s", (int)(end - path), path);
        folder = open_inside(view, prefix, O_PATH | O_DIRECTORY, 0);
        /* It is there: a link to nothing. */
        if (folder < 0 && errno == ENOENT)
            errno = ENOTDIR;
    }
    return folder;
}

/* Opens PATH as a place for a mount, and makes it if need be: a folder, or an empty file. */
static int make_place(const struct view *view, const char *path, bool folder)
{
    char parent[PATH_MAX];
    const char *slash = strrchr(path, '/');

    if (folder)
        return make_folder(view, path);
    int place = open_inside(view, path, O_PATH, 0);

    if (place >= 0 || errno != ENOENT)
        return place;
    if (slash) {
        snprintf(parent, sizeof parent, "%.*s", (int)(slash - path), path);
        AUTO_CLOSE int above = make_folder(view, parent);

        if (above < 0)
            return -1;
    }
    return open_inside(view, path, O_RDONLY | O_CREAT | O_NOFOLLOW, 0444);
}

/* Puts the mount TREE at PATH. Takes over TREE, which may be -1 with errno. */
static int place(const struct view *view, const char *type, int tree, const char *path, bool folder)
{
    AUTO_CLOSE int mount_fd = tree;
    AUTO_CLOSE int target = mount_fd >= 0 ? make_place(view, path, folder) : -1;

    if (target >= 0 && move_mount(mount_fd, "", target, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) == 0)
        return 0;
    return reason_mount(view->reason, type, path, errno);
}

/* A copy of the mount at PATH ("": the very one) of FOLDER_FD with all below it, with ATTRIBUTES set everywhere before
 * anybody can see it. Of a link it is the link itself. */
static int clone_tree(int folder_fd, const char *path, uint64_t attributes)
{
    AUTO_CLOSE int tree = open_tree(
        folder_fd, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE | AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH);
    struct mount_attr change = {.attr_set = attributes};

    if (tree < 0 || mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &change, sizeof change) < 0)
        return -1;
    return take_fd(&tree);
}

static int new_memory(const char *size, const char *inodes, const char *mode, unsigned attributes)
{
    const struct option options[] = {{"size", size}, {"nr_inodes", inodes}, {"mode", mode}, {NULL, NULL}};

    return file_system_new("tmpfs", options, attributes);
}

/*
 * A seed that is shown under another owner is a mount without a place that was made outside. The kernel takes only
 * mounts of the own namespace as layers of an overlay, so it is put where the overlay will then cover it. A folder that
 * has its place already is no mount that could be moved (EINVAL), and fine as it is.
 */
static int settle(int tree, int target)
{
    if (move_mount(tree, "", target, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0 && errno != EINVAL)
        return -1;
    return 0;
}

/* What an overlay of PLACE lies over: the folders of the box's layers, and then the SEED, which may be -1. */
static int find_lowers(const struct view *view, enum layer_place place, int seed, struct lowers *lowers)
{
    lowers->count = 0;
    for (size_t i = 0; i < view->request->layer_count; i++) {
        if (place == LAYER_ROOT && !(view->request->root_layers & UINT32_C(1) << i))
            continue;
        const int fd = openat(view->folders->layers[i], layer_places[place], O_PATH | O_DIRECTORY | O_CLOEXEC);

        if (fd < 0)
            return reason_mount(view->reason, "layer", layer_places[place], errno);
        /* One that has nothing there shows nothing and hides nothing. */
        if (place != LAYER_ROOT && walk_is_empty(fd, "."))
            close(fd);
        else
            lowers->fds[lowers->count++] = fd;
    }
    if (seed >= 0)
        lowers->fds[lowers->count++] = seed;
    return 0;
}

/* An overlay over LOWERS, whose changes go to the folders UPPER and WORK of the storage, which are made if need be. */
static int new_overlay(const struct view *view, const struct lowers *lowers, const char *upper, const char *work)
{
    if (chdir(PROC_FDS) < 0 || (mkdirat(view->folders->storage, upper, 0700) < 0 && errno != EEXIST) ||
        (mkdirat(view->folders->storage, work, 0700) < 0 && errno != EEXIST))
        return -1;
    return overlay_new(lowers, view->folders->storage, upper, work);
}

/* ---- the parts ---- */

/* Shows the host's PATH read-only at the same place. The skeleton has the place in /etc, and links themselves. */
static int show(const struct view *view, const char *path)
{
    struct stat status;

    if (lstat(path, &status) < 0 || S_ISLNK(status.st_mode))
        return 0;
    return place(view, "bind", clone_tree(AT_FDCWD, path, MOUNT_SYSTEM), path, S_ISDIR(status.st_mode));
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
        if (place(view, "bind", clone_tree(skeleton, *name, MOUNT_SYSTEM), *name, true) < 0)
            return -1;
    for (const char *const *name = places_system; *name; name++)
        if (fstatat(skeleton, *name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(status.st_mode) &&
            place(view, "bind", clone_tree(skeleton, *name, MOUNT_SYSTEM), *name, false) < 0)
            return -1;
    return 0;
}

/* The host's programs and libraries, and the files of /etc that they need. */
static int show_system(const struct view *view)
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

/* Over the machine's, where programs look by themselves. */
static int show_authority(const struct view *view)
{
    if (view->folders->authority < 0)
        return 0;
    const int folder = view->folders->authority;

    if (place(view, "bind", clone_tree(folder, "ca-certificates.crt", MOUNT_SYSTEM), AUTHORITIES_OF_BOX, false) < 0)
        return -1;
    if (faccessat(folder, "cacerts", F_OK, AT_SYMLINK_NOFOLLOW) < 0)
        return 0;
    return place(view, "bind", clone_tree(folder, "cacerts", MOUNT_SYSTEM), AUTHORITIES_OF_JAVA, false);
}

static int link_devices(const struct view *view)
{
    static const char *const links[][2] = {{"/proc/self/fd", "fd"},
                                           {"/proc/self/fd/0", "stdin"},
                                           {"/proc/self/fd/1", "stdout"},
                                           {"/proc/self/fd/2", "stderr"},
                                           {"pts/ptmx", "ptmx"}};
    AUTO_CLOSE int folder = open_inside(view, "/dev", O_PATH | O_DIRECTORY, 0);

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
    AUTO_CLOSE int memory = new_memory(size, "4096", "0755", MOUNT_HARMLESS);
    const int run = memory < 0 ? -1 : fcntl(memory, F_DUPFD_CLOEXEC, 0);

    if (place(view, "tmpfs", run, "/run", true) < 0)
        return -1;
    if (mkdirat(memory, "shm", 01777) < 0)
        return reason_mount(view->reason, "folder", "/run/shm", errno);
    if (place(view, "bind", clone_tree(memory, "shm", MOUNT_HARMLESS), "/dev/shm", true) < 0)
        return -1;
    if (mount_setattr(memory, "", AT_EMPTY_PATH, &no_programs, sizeof no_programs) < 0)
        return reason_mount(view->reason, "tmpfs", "/run", errno);
    return 0;
}

static int make_devices(const struct view *view)
{
    const struct option terminals[] = {{"ptmxmode", "0666"}, {"mode", "0620"}, {"max", TERMINALS_MOST}, {NULL, NULL}};
    char path[64];

    /* The /dev of a root file system is hidden: a device file in it would be one that somebody else made. */
    if (view->folders->rootfs >= 0 &&
        place(view, "tmpfs", new_memory("64k", "64", "0755", MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC), "/dev", true) < 0)
        return -1;
    /* Binds of the host's nodes: a user namespace cannot make any. These six do nothing that pipes and clocks do not.
     */
    for (const char *const *name = view_devices; *name; name++) {
        snprintf(path, sizeof path, "/dev/%s", *name);
        if (place(view, "bind", clone_tree(AT_FDCWD, path, MOUNT_DEVICE), path, false) < 0)
            return -1;
    }
    if (place(view, "devpts", file_system_new("devpts", terminals, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC), "/dev/pts",
              true) < 0)
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
    AUTO_CLOSE int entry = open_inside(view, path, O_PATH, 0);

    if (entry < 0 || fstat(entry, &status) < 0)
        return 0;
    if (!masked)
        tree = clone_tree(entry, "", MOUNT_KERNEL | MOUNT_ATTR_RDONLY);
    else if (S_ISDIR(status.st_mode) && view->folders->rootfs >= 0)
        tree = new_memory("4k", "2", "0555", MOUNT_KERNEL | MOUNT_ATTR_RDONLY);
    else if (S_ISDIR(status.st_mode))
        tree = clone_tree(view->root, SKELETON_EMPTY, MOUNT_KERNEL | MOUNT_ATTR_RDONLY);
    else
        tree = clone_tree(AT_FDCWD, "/dev/null", MOUNT_DEVICE);
    return place(view, "mask", tree, path, S_ISDIR(status.st_mode));
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
        AUTO_CLOSE int fd = all > 0 ? open_inside(view, files[i][1], O_WRONLY, 0) : -1;

        snprintf(number, sizeof number, "%ld", all / WALLS_SHARE);
        /* Safe: the limits of this namespace, which can only be lower than those above it. Not a wall of the box's, so
         * a kernel without them starts boxes too. */
        if (fd >= 0 && write(fd, number, strlen(number)) < 0)
            return;
    }
}

/*
 * The /proc of the box's own processes. Its kernel entries are checked by the global user, who is an ordinary one in
 * every box; the covers are the second wall.
 */
static int make_proc(const struct view *view)
{
    const struct option none = {NULL, NULL};

    if (place(view, "proc", file_system_new("proc", &none, MOUNT_KERNEL), "/proc", true) < 0)
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

/* The folder PATH of the machine, which is the user's parameter WHO, was refused as a layer. */
static int refuse_folder(const struct view *view, const char *who, const char *path)
{
    return reason_set(view->reason,
                      "%s: the folder %s cannot be shown (%s): if something is mounted below it, name a folder beside "
                      "that; else see `sandlot doctor` for overlays",
                      who, path, strerror(errno));
}

/*
 * The folder UPPER of the storage at PATH. With something below, an overlay that never changes that. Without, the
 * folder itself, which is cheaper.
 */
static int make_writable(const struct view *view, enum layer_place which, int seed, const char *work, const char *path)
{
    const char *upper = layer_places[which];
    struct lowers lowers;

    if (find_lowers(view, which, seed, &lowers) < 0)
        return -1;
    if (lowers.count == 0)
        return place(view, "bind", clone_tree(view->folders->storage, upper, MOUNT_HARMLESS), path, true);
    const int overlay = new_overlay(view, &lowers, upper, work);

    if (overlay < 0 && seed >= 0 && errno == EINVAL)
        return refuse_folder(view, "workspace", view->request->settings->workspace);
    return place(view, "overlay", overlay, path, true);
}

static int make_workspace(const struct view *view)
{
    const int seed = view->folders->workspace;
    AUTO_CLOSE int target = seed >= 0 ? make_place(view, BOX_WORKSPACE, true) : -1;

    if (seed >= 0 && (target < 0 || settle(seed, target) < 0))
        return reason_mount(view->reason, "bind", BOX_WORKSPACE, errno);
    return make_writable(view, LAYER_WORKSPACE, seed, "work", BOX_WORKSPACE);
}

static int make_private_folders(const struct view *view)
{
    if (make_writable(view, LAYER_TMP, -1, "tmp-work", "/tmp") < 0)
        return -1;
    return make_writable(view, LAYER_HOME, -1, "home-work", BOX_HOME);
}

/*
 * A folder of the machine at PATH. An overlay and no bind: sockets and pipes in it are then the box's own, whose other
 * ends nobody on the machine holds, and what is mounted below the folder is not shown.
 */
static int show_folder(const struct view *view, int folder, const char *path)
{
    char layers[64];

    if (mkdirat(view->folders->storage, NOTHING, 0700) < 0 && errno != EEXIST)
        return reason_mount(view->reason, "folder", "the storage", errno);
    AUTO_CLOSE int nothing = openat(view->folders->storage, NOTHING, O_PATH | O_DIRECTORY | O_CLOEXEC);

    snprintf(layers, sizeof layers, "/proc/self/fd/%d:/proc/self/fd/%d", folder, nothing);
    const struct option options[] = {{"lowerdir", layers}, {"userxattr", NULL}, {NULL, NULL}};

    const int overlay = file_system_new("overlay", options, MOUNT_SYSTEM);

    if (overlay < 0)
        return refuse_folder(view, "show", path);
    return place(view, "overlay", overlay, path, true);
}

/* The folder of "/" that PATH begins with, if only what is shown needs it: the skeleton's, read-only, so that the box
 * cannot rename or replace it. */
static int show_top(const struct view *view, const char *path)
{
    char top[NAME_MAX + 1];
    struct stat status;

    snprintf(top, sizeof top, "%.*s", (int)strcspn(path + 1, "/"), path + 1);
    AUTO_CLOSE int there = open_inside(view, top, O_PATH, 0);

    if (there >= 0 || fstatat(view->folders->skeleton, top, &status, AT_SYMLINK_NOFOLLOW) < 0)
        return 0;
    return place(view, "bind", clone_tree(view->folders->skeleton, top, MOUNT_SYSTEM), top, true);
}

/* The place of a volume. It may lead through no link: whoever made what lies above it would else decide what it hides.
 */
static int make_volume_place(const struct view *view, const char *path)
{
    const struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
                                 .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS};
    AUTO_CLOSE int made = make_folder(view, path);

    return made < 0 ? -1 : (int)syscall(SYS_openat2, view->root, path, &how, sizeof how);
}

/* The volume FOLDER, without what may be mounted below it outside. */
static int mount_volume(const struct view *view, int folder, const struct box_mount *mount)
{
    struct mount_attr change = {.attr_set = mount->writable ? MOUNT_HARMLESS : MOUNT_SYSTEM};
    AUTO_CLOSE int tree = open_tree(folder, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH);
    AUTO_CLOSE int target = tree >= 0 ? make_volume_place(view, mount->path) : -1;

    if (target >= 0 && mount_setattr(tree, "", AT_EMPTY_PATH, &change, sizeof change) == 0 &&
        move_mount(tree, "", target, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) == 0)
        return 0;
    if (errno == ELOOP || errno == ENOTDIR)
        return reason_set(view->reason,
                          "a volume cannot be at %s: a link or a file is on the way there; give it another path",
                          mount->path);
    return reason_mount(view->reason, "volume", mount->path, errno);
}

static int show_folders(const struct view *view)
{
    const struct box_request *request = view->request;

    for (size_t i = 0; i < request->mount_count && view->folders->skeleton >= 0; i++)
        if (show_top(view, request->mounts[i].path) < 0)
            return -1;
    for (size_t i = 0; i < request->mount_count; i++) {
        const struct box_mount *mount = &request->mounts[i];
        const int folder = view->folders->mounts[i];

        if ((mount->is_volume ? mount_volume(view, folder, mount) : show_folder(view, folder, mount->path)) < 0)
            return -1;
    }
    return 0;
}

/* Where commands start that say nothing. An image may name a folder that it does not have. */
static int make_start_folder(const struct view *view)
{
    const char *path = view->request->settings->start_dir;
    AUTO_CLOSE int folder = path ? make_folder(view, path) : -1;

    return !path || folder >= 0 ? 0 : reason_mount(view->reason, "the working directory", path, errno);
}

/* ---- what is kept for later ---- */

/* A copy of the mount of FOLDER alone, without what is mounted below it. */
static int clone_folder(int folder, uint64_t attributes)
{
    AUTO_CLOSE int tree = open_tree(folder, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH);
    struct mount_attr change = {.attr_set = attributes};

    if (tree < 0 || mount_setattr(tree, "", AT_EMPTY_PATH, &change, sizeof change) < 0)
        return -1;
    return take_fd(&tree);
}

static int put(int tree, int target)
{
    return target < 0 || tree < 0 ? -1
                                  : move_mount(tree, "", target, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH);
}

static bool keep_folder(int kept, int folder, const char *name)
{
    AUTO_CLOSE int tree = clone_folder(folder, MOUNT_SYSTEM);

    if (tree < 0 || (mkdirat(kept, name, 0700) < 0 && errno != EEXIST))
        return false;
    AUTO_CLOSE int target = openat(kept, name, O_PATH | O_DIRECTORY | O_CLOEXEC);

    return put(tree, target) == 0;
}

/* The mount at PATH, if nothing that the box could change leads there. */
static bool find_mount(const struct view *view, const char *path, uint64_t *id)
{
    const struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
                                 .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS};
    AUTO_CLOSE int fd = (int)syscall(SYS_openat2, view->root, path, &how, sizeof how);
    struct statx status;

    if (fd < 0 || statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &status) < 0 || !(status.stx_mask & STATX_MNT_ID))
        return false;
    *id = status.stx_mnt_id;
    return true;
}

/* Does something that the box is given lie in one of its own places, and so on the mount there? */
static bool is_covered(const struct box_request *request)
{
    for (size_t i = 0; i < request->mount_count; i++)
        for (size_t place = 0; place < KEPT_PLACES; place++)
            if (strncmp(request->mounts[i].path, kept_paths[place], strlen(kept_paths[place])) == 0)
                return true;
    return false;
}

/* Covered by /proc, which comes next, and closed with all else before the box begins. Where this fails nothing is
 * missing but a faster way to make snapshots. */
static int keep_storage(const struct view *view)
{
    const struct box_request *request = view->request;
    char name[KEPT_NAME_SIZE];

    if (request->settings->in_memory || request->settings->unpacks || is_covered(request))
        return -1;
    AUTO_CLOSE int target = make_place(view, "/proc", true);
    AUTO_CLOSE int kept = clone_folder(view->folders->storage, MOUNT_HARMLESS);

    if (put(kept, target) < 0 ||
        (view->folders->workspace >= 0 && !keep_folder(kept, view->folders->workspace, KEPT_SEED)))
        return -1;
    for (size_t i = 0; i < request->layer_count; i++) {
        kept_name(name, i);
        if (!keep_folder(kept, view->folders->layers[i], name))
            return -1;
    }
    return take_fd(&kept);
}

/* Hands the keeper, and nobody else, what was KEPT, and the way to it. */
static void send_storage(const struct view *view, int kept)
{
    AUTO_CLOSE int user = kept < 0 ? -1 : open("/proc/self/ns/user", O_RDONLY | O_CLOEXEC);
    AUTO_CLOSE int mounted = kept < 0 ? -1 : open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
    const int fds[KEPT_FDS] = {[KEPT_STORAGE] = kept, [KEPT_USER] = user, [KEPT_MOUNTS] = mounted};
    uint64_t mounts[KEPT_PLACES];
    bool found = user >= 0 && mounted >= 0;

    for (size_t i = 0; i < KEPT_PLACES && found; i++)
        found = find_mount(view, kept_paths[i], &mounts[i]);
    if (found)
        protocol_send(view->request->keeper_fd, MESSAGE_STORAGE, mounts, sizeof mounts, fds, KEPT_FDS,
                      processes_now_ms());
}

/* A folder of the storage: no overlay, which some places for the storage cannot carry, and which costs memory. */
static int new_root(const struct view *view)
{
    if (mkdirat(view->folders->storage, ROOT, 0755) < 0 && errno != EEXIST)
        return -1;
    return clone_tree(view->folders->storage, ROOT, MOUNT_HARMLESS);
}

/* A link of the root file system is no place that a mount keeps from being replaced: init looks for processes and
 * terminals there. */
static int refuse_links(const struct view *view)
{
    static const char *const places[] = {"proc", "dev"};
    struct stat status;

    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (fstatat(view->root, places[i], &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(status.st_mode))
            return reason_set(view->reason,
                              "the root file system has a link at /%s, where a sandbox has what is its own; use one "
                              "with a folder there, or with nothing",
                              places[i]);
    return 0;
}

/* The mount that becomes "/", laid over the storage folder, which no path of the box will reach any more. */
static int make_root(struct view *view)
{
    const int rootfs = view->folders->rootfs;
    struct lowers lowers;

    if (rootfs >= 0 && settle(rootfs, view->folders->storage) < 0)
        return reason_mount(view->reason, "bind", "/", errno);
    if (find_lowers(view, LAYER_ROOT, rootfs, &lowers) < 0)
        return -1;
    const bool own = lowers.count > 0;

    view->root = own ? new_overlay(view, &lowers, "root-upper", "root-work") : new_root(view);
    if (view->root >= 0 &&
        move_mount(view->root, "", view->folders->storage, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) == 0)
        return refuse_links(view);
    return reason_mount(view->reason, own ? "overlay" : "bind", "/", errno);
}

/*
 * A file system in memory instead of the storage folder, which it covers: only this mount namespace has it, so it ends
 * with the box whoever is killed, and its size is a limit that nothing in it can pass. One file, or folder, a page.
 */
static int keep_in_memory(const struct view *view, struct view_folders *folders)
{
    static const char *const names[] = {"upper", "tmp", "home"};
    const int64_t limit_mb = view->request->settings->disk_mb;
    char size[32];
    char inodes[32];

    snprintf(size, sizeof size, "%lldm", (long long)limit_mb);
    snprintf(inodes, sizeof inodes, "%lld", (long long)limit_mb * 256 + 256);
    const int memory = new_memory(size, inodes, "0700", MOUNT_HARMLESS);

    if (memory < 0 ||
        move_mount(memory, "", folders->storage, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0)
        return reason_mount(view->reason, "tmpfs", "the storage", errno);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (mkdirat(memory, names[i], 0700) < 0)
            return reason_mount(view->reason, "folder", "the storage", errno);
    folders->storage = memory;
    return 0;
}

/* Makes the new root the only one: what was mounted of the host is gone with the old. */
static int leave_host(const struct view *view)
{
    /* Both names are the new root: the old one is stacked onto it, and then detached from there. */
    if (fchdir(view->root) < 0 || syscall(SYS_pivot_root, ".", ".") < 0 || umount2(".", MNT_DETACH) < 0 ||
        chdir("/") < 0)
        return reason_mount(view->reason, "the new root", "/", errno);
    return 0;
}

/*
 * The place in ROOT_FD for what the skeleton has as NAME, if it has it. That for a link is a file, an empty one that
 * the skeleton has anyway: another name of it costs a fraction of a file that is made, and later removed.
 */
static int make_place_ahead(int root_fd, int skeleton_fd, int places_fd, const char *name)
{
    struct stat status;

    if (fstatat(skeleton_fd, name, &status, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? 0 : -1;
    if (!S_ISDIR(status.st_mode))
        return linkat(skeleton_fd, SKELETON_FILE, root_fd, name, 0);
    return renameat(places_fd, name, root_fd, name) == 0 ? 0 : mkdirat(root_fd, name, 0755);
}

void view_make_root(int storage_fd, int skeleton_fd, int places_fd)
{
    if (mkdirat(storage_fd, ROOT, 0755) < 0 || fchmodat(storage_fd, ROOT, 0755, 0) < 0)
        return;
    AUTO_CLOSE int root = openat(storage_fd, ROOT, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    for (const char *const *const *list = places_all; *list; list++)
        for (const char *const *name = *list; *name; name++)
            if (root < 0 || make_place_ahead(root, skeleton_fd, places_fd, *name) < 0)
                return;
}

void view_keep_places(int storage_fd, int places_fd, bool (*is_empty)(int folder_fd, const char *name))
{
    AUTO_CLOSE int root = openat(storage_fd, ROOT, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat status;

    for (const char *const *const *list = places_all; root >= 0 && *list; list++)
        for (const char *const *name = *list; *name; name++)
            if (fstatat(root, *name, &status, AT_SYMLINK_NOFOLLOW) == 0 && status.st_uid == geteuid() &&
                is_empty(root, *name))
                renameat2(root, *name, places_fd, *name, RENAME_NOREPLACE);
}

int view_give_root(int storage_fd, uid_t uid, gid_t gid)
{
    return fchownat(storage_fd, ROOT, uid, gid, AT_SYMLINK_NOFOLLOW) < 0 && errno != ENOENT ? -1 : 0;
}

/* The descriptors that are made on the way are left to the caller, who closes everything that init does not need. */
int view_enter(const struct box_request *request, const struct view_folders *found, struct reason *reason)
{
    struct view_folders folders = *found;
    struct view view = {.request = request, .folders = &folders, .root = -1, .reason = reason};

    /* Safe: the mount namespace is the box's own copy, and from here on nothing travels back to the host's. */
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        return reason_mount(reason, "private", "/", errno);
    umask(0);
    if (request->settings->in_memory && keep_in_memory(&view, &folders) < 0)
        return -1;
    if (make_root(&view) < 0)
        return -1;
    const int kept = keep_storage(&view);

    if ((folders.rootfs < 0 && show_system(&view) < 0) || show_authority(&view) < 0 || make_proc(&view) < 0 ||
        make_devices(&view) < 0 || make_private_folders(&view) < 0 || make_workspace(&view) < 0 ||
        show_folders(&view) < 0 || make_start_folder(&view) < 0 || leave_host(&view) < 0)
        return -1;
    send_storage(&view, kept);
    umask(022);
    return 0;
}
