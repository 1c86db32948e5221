#include "view.h"

#include "../keeper/walk.h"
#include "overlay.h"
#include "places.h"
#include "skeleton.h"
#include "view_kept.h"
#include "view_mounts.h"
#include "view_system.h"

#include <sandlot/sdk/cleanup.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

/* Where the storage has the folder that is "/" of a box which shows the host's system. */
#define ROOT "root"

/* The folder of the storage that stays empty: an overlay that takes no changes wants two layers. */
#define NOTHING "nothing"

/* ---- layers ---- */

/*
 * A seed that is shown under another owner is a mount without a place that was made outside. The kernel takes only
 * mounts of the own namespace as layers of an overlay, so it is put where the overlay will then cover it. A folder that
 * has its place already is no mount that could be moved (EINVAL), and fine as it is.
 */
static int settle(int tree, int target)
{
    return view_put(tree, target) < 0 && errno != EINVAL ? -1 : 0;
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

/* ---- the box's own folders ---- */

static int open_nothing(const struct view *view)
{
    if (mkdirat(view->folders->storage, NOTHING, 0700) < 0 && errno != EEXIST)
        return -1;
    return openat(view->folders->storage, NOTHING, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* The folder PATH of the machine, which is the user's parameter WHO, was refused as a layer. */
static int refuse_folder(const struct view *view, const char *who, const char *path)
{
    return reason_set(view->reason,
                      "%s: the folder %s cannot be shown (%s): if something is mounted below it, name a folder beside "
                      "that; else see `sandlot doctor` for overlays",
                      who, path, strerror(errno));
}

/* Is it the storage that no overlay can write to, whatever lies below? So it is on another overlay, in a container.
 * Tried with folders of its own, for what an overlay that was refused has left in its own ones can bar another. */
static bool is_storage_at_fault(const struct view *view)
{
    AUTO_CLOSE int nothing = open_nothing(view);
    AUTO_CLOSE int overlay =
        nothing < 0 ? -1 : new_overlay(view, &(struct lowers){.fds = {nothing}, .count = 1}, "tried", "tried-work");

    return nothing >= 0 && overlay < 0;
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
        return view_place(view, "bind", view_clone_tree(view->folders->storage, upper, MOUNT_HARMLESS), path, true);
    const int overlay = new_overlay(view, &lowers, upper, work);

    if (overlay < 0 && seed >= 0 && errno == EINVAL && !is_storage_at_fault(view)) {
        errno = EINVAL;
        return refuse_folder(view, "workspace", view->request->settings->workspace);
    }
    return view_place(view, "overlay", overlay, path, true);
}

static int make_workspace(const struct view *view)
{
    const int seed = view->folders->workspace;
    AUTO_CLOSE int target = seed >= 0 ? view_make_place(view, BOX_WORKSPACE, true) : -1;

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
    AUTO_CLOSE int nothing = open_nothing(view);

    if (nothing < 0)
        return reason_mount(view->reason, "folder", "the storage", errno);
    snprintf(layers, sizeof layers, "/proc/self/fd/%d:/proc/self/fd/%d", folder, nothing);
    const struct option options[] = {{"lowerdir", layers}, {"userxattr", NULL}, {NULL, NULL}};

    const int overlay = file_system_new("overlay", options, MOUNT_SYSTEM);

    if (overlay < 0)
        return refuse_folder(view, "show", path);
    return view_place(view, "overlay", overlay, path, true);
}

/* The folder of "/" that PATH begins with, if only what is shown needs it: the skeleton's, read-only, so that the box
 * cannot rename or replace it. */
static int show_top(const struct view *view, const char *path)
{
    char top[NAME_MAX + 1];
    struct stat status;

    snprintf(top, sizeof top, "%.*s", (int)strcspn(path + 1, "/"), path + 1);
    AUTO_CLOSE int there = view_open(view, top, O_PATH, 0);

    if (there >= 0 || fstatat(view->folders->skeleton, top, &status, AT_SYMLINK_NOFOLLOW) < 0)
        return 0;
    return view_place(view, "bind", view_clone_tree(view->folders->skeleton, top, MOUNT_SYSTEM), top, true);
}

/* The place of a volume. It may lead through no link: whoever made what lies above it would else decide what it hides.
 */
static int make_volume_place(const struct view *view, const char *path)
{
    AUTO_CLOSE int made = view_make_folder(view, path);

    return made < 0 ? -1 : view_open_straight(view, path);
}

/* The volume FOLDER, without what may be mounted below it outside. */
static int mount_volume(const struct view *view, int folder, const struct box_mount *mount)
{
    AUTO_CLOSE int tree = view_clone_folder(folder, mount->writable ? MOUNT_HARMLESS : MOUNT_SYSTEM);
    AUTO_CLOSE int target = tree >= 0 ? make_volume_place(view, mount->path) : -1;

    if (view_put(tree, target) == 0)
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
    AUTO_CLOSE int folder = path ? view_make_folder(view, path) : -1;

    return !path || folder >= 0 ? 0 : reason_mount(view->reason, "the working directory", path, errno);
}

/* ---- the root ---- */

/* A folder of the storage: no overlay, which some places for the storage cannot carry, and which costs memory. */
static int new_root(const struct view *view)
{
    if (mkdirat(view->folders->storage, ROOT, 0755) < 0 && errno != EEXIST)
        return -1;
    return view_clone_tree(view->folders->storage, ROOT, MOUNT_HARMLESS);
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
    if (view_put(view->root, view->folders->storage) == 0)
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
    const int memory = view_new_memory(size, inodes, "0700", MOUNT_HARMLESS);

    if (view_put(memory, folders->storage) < 0)
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

/* ---- ahead of the box ---- */

/*
 * The place in ROOT_FD for what the skeleton has as NAME, if it has it. That for a link is the same link: another name
 * of it costs a fraction of one that is made, and later removed.
 */
static int make_place_ahead(int root_fd, int skeleton_fd, int places_fd, const char *name)
{
    struct stat status;

    if (fstatat(skeleton_fd, name, &status, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? 0 : -1;
    if (!S_ISDIR(status.st_mode))
        return linkat(skeleton_fd, name, root_fd, name, 0);
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
    const int kept = view_keep_storage(&view);

    if ((folders.rootfs < 0 && view_show_system(&view) < 0) || view_show_authority(&view) < 0 ||
        view_make_proc(&view) < 0 || view_make_devices(&view) < 0 || make_private_folders(&view) < 0 ||
        make_workspace(&view) < 0 || show_folders(&view) < 0 || make_start_folder(&view) < 0 || leave_host(&view) < 0)
        return -1;
    view_send_storage(&view, kept);
    umask(022);
    return 0;
}
