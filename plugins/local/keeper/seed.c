#include "seed.h"

#include <sandlot/sdk/cleanup.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <sched.h>
#include <signal.h>
#include <stdalign.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>

enum { STACK_SIZE = 32768 /* with room for a handler of signals */ };

static int write_map(pid_t pid, const char *file, unsigned from, unsigned to)
{
    char path[64];
    char line[64];
    int length = snprintf(line, sizeof(line), "%u %u 1", from, to);

    snprintf(path, sizeof(path), "/proc/%d/%s", pid, file);
    AUTO_CLOSE int fd = open(path, O_WRONLY | O_CLOEXEC);

    return fd >= 0 && write(fd, line, (size_t)length) == length ? 0 : -1;
}

/* The system call itself, for pause(2) of the C library writes to what belongs to the thread whose memory this is. */
static int stand_still(void *nothing)
{
    (void)nothing;
    for (;;)
        syscall(SYS_ppoll, NULL, 0, NULL, NULL, 0);
    return 0;
}

/* A user namespace whose maps say which owner appears as whom. A process has to stand in it for a moment; it shares the
 * keeper's memory, because the kernel takes longer to copy that than for all the rest. */
static int map_namespace(const struct stat *owner, uid_t uid, gid_t gid)
{
    alignas(max_align_t) char stack[STACK_SIZE];
    const pid_t pid = clone(stand_still, stack + sizeof(stack), CLONE_VM | CLONE_FILES | CLONE_NEWUSER | SIGCHLD, NULL);
    char path[64];
    int fd = -1;

    if (pid < 0)
        return -1;
    snprintf(path, sizeof(path), "/proc/%d/ns/user", pid);
    if (write_map(pid, "uid_map", owner->st_uid, uid) == 0 && write_map(pid, "gid_map", owner->st_gid, gid) == 0)
        fd = open(path, O_RDONLY | O_CLOEXEC);
    int saved = errno;

    kill(pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    errno = saved;
    return fd;
}

static int clone_tree(int folder_fd)
{
    return (int)syscall(SYS_open_tree, folder_fd, "", AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
}

void seed_viewer_clear(struct seed_viewer *viewer)
{
    if (viewer->map_fd >= 0)
        close(take_fd(&viewer->map_fd));
}

/* As map_namespace, once for folders of one owner: a box can lie on many layers. */
static int map_of(struct seed_viewer *viewer, const struct stat *owner)
{
    if (viewer->map_fd >= 0 && viewer->owner_uid == owner->st_uid && viewer->owner_gid == owner->st_gid)
        return viewer->map_fd;
    seed_viewer_clear(viewer);
    viewer->map_fd = map_namespace(owner, viewer->uid, viewer->gid);
    viewer->owner_uid = owner->st_uid;
    viewer->owner_gid = owner->st_gid;
    return viewer->map_fd;
}

static int clone_mapped(int folder_fd, const struct stat *owner, struct seed_viewer *viewer, uint64_t more)
{
    const int map = map_of(viewer, owner);
    AUTO_CLOSE int tree = clone_tree(folder_fd);
    struct mount_attr attributes = {
        .attr_set = MOUNT_ATTR_IDMAP | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | more,
        .userns_fd = (uint64_t)(unsigned)map,
    };

    if (map < 0 || tree < 0 || syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH, &attributes, sizeof(attributes)) < 0)
        return -1;
    return take_fd(&tree);
}

/* The kernel takes no such file system as a layer. */
static bool is_view_of_kernel(int folder)
{
    struct statfs system;

    return fstatfs(folder, &system) == 0 &&
           (system.f_type == PROC_SUPER_MAGIC || system.f_type == SYSFS_MAGIC || system.f_type == CGROUP_SUPER_MAGIC ||
            system.f_type == CGROUP2_SUPER_MAGIC);
}

int seed_open_at(int folder_fd, const char *path, struct seed_viewer *viewer, char *reason, size_t size)
{
    AUTO_CLOSE int folder = openat(folder_fd, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct stat owner;

    if (folder < 0 || fstat(folder, &owner) < 0 || faccessat(folder, ".", R_OK | X_OK, AT_EACCESS) < 0) {
        snprintf(reason, size, "the folder %s cannot be opened: %s; name a folder that you can read", path,
                 strerror(errno));
        return -1;
    }
    if (is_view_of_kernel(folder)) {
        snprintf(reason, size,
                 "the folder %s holds no files but a view of the kernel, which a box cannot have a copy of; name a "
                 "folder of files",
                 path);
        return -1;
    }
    if (viewer->uid == geteuid())
        return take_fd(&folder);
    int mapped = clone_mapped(folder, &owner, viewer, MOUNT_ATTR_RDONLY);

    if (mapped < 0)
        snprintf(reason, size,
                 "the file system of %s cannot be shown to a box of root (%s: no idmapped mounts); copy the folder to "
                 "ext4, xfs or btrfs, or run Sandlot as an ordinary user",
                 path, strerror(errno));
    return mapped;
}

int seed_open(const char *path, struct seed_viewer *viewer, char *reason, size_t size)
{
    return seed_open_at(AT_FDCWD, path, viewer, reason, size);
}

static int clone_read_only(int folder_fd)
{
    AUTO_CLOSE int tree = clone_tree(folder_fd);
    struct mount_attr attributes = {.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV};

    if (tree < 0 || syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH, &attributes, sizeof(attributes)) < 0)
        return -1;
    return take_fd(&tree);
}

int seed_open_shown(const struct shown *shown, uid_t uid, char *reason, size_t size)
{
    const struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS};
    AUTO_CLOSE int folder = (int)syscall(SYS_openat2, AT_FDCWD, shown->real, &how, sizeof(how));
    struct stat status;

    if (folder < 0 || fstat(folder, &status) < 0 || status.st_dev != shown->device || status.st_ino != shown->inode) {
        snprintf(reason, size, "show: the folder %s was replaced meanwhile; try again", shown->place);
        return -1;
    }
    if (uid == geteuid())
        return take_fd(&folder);
    const int tree = clone_read_only(folder);

    if (tree < 0)
        snprintf(reason, size, "show: the folder %s cannot be shown to a box of root: %s; leave it out", shown->place,
                 strerror(errno));
    return tree;
}

int seed_open_volume(int folder_fd, struct seed_viewer *viewer, char *reason, size_t size)
{
    AUTO_CLOSE int folder = folder_fd;
    struct stat owner;

    if (viewer->uid == geteuid())
        return take_fd(&folder);
    const int mapped = fstat(folder, &owner) == 0 ? clone_mapped(folder, &owner, viewer, 0) : -1;

    if (mapped < 0)
        snprintf(reason, size,
                 "the file system of Sandlot's state cannot hold volumes for boxes of root (%s: no idmapped mounts); "
                 "set XDG_STATE_HOME to a folder on ext4, xfs or btrfs, or run Sandlot as an ordinary user",
                 strerror(errno));
    return mapped;
}
