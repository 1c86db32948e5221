#include "view_mounts.h"

#include <sandlot/sdk/cleanup.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

int view_open(const struct view *view, const char *path, uint64_t flags, mode_t mode)
{
    const struct open_how how = {
        .flags = flags | O_CLOEXEC, .mode = mode, .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};

    return (int)syscall(SYS_openat2, view->root, path, &how, sizeof how);
}

int view_open_straight(const struct view *view, const char *path)
{
    const struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
                                 .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS};

    return (int)syscall(SYS_openat2, view->root, path, &how, sizeof how);
}

int view_make_folder(const struct view *view, const char *path)
{
    char prefix[PATH_MAX];
    int folder = view_open(view, path, O_PATH | O_DIRECTORY, 0);

    if (folder >= 0 || errno != ENOENT)
        return folder;
    folder = view_open(view, "/", O_PATH | O_DIRECTORY, 0);
    for (const char *end = path; folder >= 0 && *end;) {
        const char *start = end + (*end == '/');
        AUTO_CLOSE int parent = folder;

        end = strchrnul(start, '/');
        if (snprintf(prefix, sizeof prefix, "%.*s", (int)(end - start), start) >= (int)sizeof prefix)
            return -1;
        if (mkdirat(parent, prefix, 0755) < 0 && errno != EEXIST)
            return -1;
        snprintf(prefix, sizeof prefix, "%.*s", (int)(end - path), path);
        folder = view_open(view, prefix, O_PATH | O_DIRECTORY, 0);
        /* It is there: a link to nothing. */
        if (folder < 0 && errno == ENOENT)
            errno = ENOTDIR;
    }
    return folder;
}

int view_make_place(const struct view *view, const char *path, bool folder)
{
    char parent[PATH_MAX];
    const char *slash = strrchr(path, '/');

    if (folder)
        return view_make_folder(view, path);
    int place = view_open(view, path, O_PATH, 0);

    if (place >= 0 || errno != ENOENT)
        return place;
    if (slash) {
        snprintf(parent, sizeof parent, "%.*s", (int)(slash - path), path);
        AUTO_CLOSE int above = view_make_folder(view, parent);

        if (above < 0)
            return -1;
    }
    return view_open(view, path, O_RDONLY | O_CREAT | O_NOFOLLOW, 0444);
}

int view_put(int tree, int target_fd)
{
    if (tree < 0 || target_fd < 0)
        return -1;
    return move_mount(tree, "", target_fd, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH);
}

int view_place(const struct view *view, const char *type, int tree, const char *path, bool folder)
{
    AUTO_CLOSE int mount_fd = tree;
    AUTO_CLOSE int target = mount_fd >= 0 ? view_make_place(view, path, folder) : -1;

    return view_put(mount_fd, target) == 0 ? 0 : reason_mount(view->reason, type, path, errno);
}

int view_clone_tree(int folder_fd, const char *path, uint64_t attributes)
{
    AUTO_CLOSE int tree = open_tree(
        folder_fd, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE | AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH);
    struct mount_attr change = {.attr_set = attributes};

    if (tree < 0 || mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &change, sizeof change) < 0)
        return -1;
    return take_fd(&tree);
}

int view_clone_folder(int folder_fd, uint64_t attributes)
{
    AUTO_CLOSE int tree = open_tree(folder_fd, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH);
    struct mount_attr change = {.attr_set = attributes};

    if (tree < 0 || mount_setattr(tree, "", AT_EMPTY_PATH, &change, sizeof change) < 0)
        return -1;
    return take_fd(&tree);
}

int view_new_memory(const char *size, const char *inodes, const char *mode, unsigned attributes)
{
    const struct option options[] = {{"size", size}, {"nr_inodes", inodes}, {"mode", mode}, {NULL, NULL}};

    return file_system_new("tmpfs", options, attributes);
}
