#include "view_folders.h"

#include "overlay.h"

#include <sandlot/sdk/cleanup.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* Where in the storage trees are mounted that the keeper hands over. What is kept stands on the same folders. */
#define PLANTED_WORKSPACE KEPT_SEED
#define PLANTED_LAYER KEPT_LAYER
#define PLANTED_ROOTFS "seed-root"
#define PLANTED_MOUNT "seed"
enum { PLANTED_SIZE = 32 };

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
