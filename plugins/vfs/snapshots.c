#include "snapshots.h"

#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/random.h>
#include <sandlot/sdk/snapshot_name.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/file.h>
#include <sys/stat.h>

enum { NUMBER_DIGITS = 16 };

static int open_folder(int parent, const char *name)
{
    return parent < 0 ? -1 : openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

enum sandlot_status snapshot_not_found(struct sandlot_call *call, const char *name)
{
    return sandlot_fail(call, SANDLOT_NOT_FOUND, "there is no snapshot \"%.64s\" in memory; make it first", name);
}

enum sandlot_status snapshot_exists(struct sandlot_call *call, const char *name)
{
    return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                        "there is a snapshot \"%.64s\" already; delete it, or take another name", name);
}

int snapshot_open(const struct vfs *vfs, const char *name)
{
    AUTO_CLOSE int snapshots = snapshot_name_valid(name) ? store_folder(&vfs->store, "snapshots") : -1;
    AUTO_CLOSE int folder = open_folder(snapshots, name);

    return folder >= 0 && flock(folder, LOCK_SH | LOCK_NB) == 0 ? take_fd(&folder) : -1;
}

/* What a killed process has left there; what is in use is locked. */
static bool remove_left(void *context, const char *number)
{
    const struct vfs *vfs = context;
    AUTO_CLOSE int moving = store_folder(&vfs->store, "moving");
    AUTO_CLOSE int folder = open_folder(moving, number);

    if (folder >= 0 && flock(folder, LOCK_EX | LOCK_NB) == 0)
        tree_remove(moving, number);
    return true;
}

static void sweep(const struct vfs *vfs)
{
    store_each(&vfs->store, "moving", remove_left, (void *)(uintptr_t)vfs);
}

static enum sandlot_status give_name(struct sandlot_call *call, const struct vfs *vfs, int moving, const char *number,
                                     const char *name)
{
    AUTO_CLOSE int snapshots = store_folder(&vfs->store, "snapshots");

    if (renameat2(moving, number, snapshots, name, RENAME_NOREPLACE) == 0)
        return SANDLOT_OK;
    return errno == EEXIST ? snapshot_exists(call, name) : store_fail(call, "the snapshot cannot be kept");
}

/* With a copy of FROM all of them together take no more than they may. */
static enum sandlot_status check_room(struct sandlot_call *call, const struct vfs *vfs, const struct place *from)
{
    AUTO_CLOSE int snapshots = store_folder(&vfs->store, "snapshots");

    if (tree_size(from->fd) + tree_size(snapshots) <= (uint64_t)vfs->parameters.snapshots_mb << 20)
        return SANDLOT_OK;
    return sandlot_fail(call, SANDLOT_EXHAUSTED,
                        "with this one all snapshots would take more than the %" PRId64
                        " MiB of snapshots_mb; delete what is not needed, or raise it",
                        vfs->parameters.snapshots_mb);
}

enum sandlot_status snapshot_make(struct sandlot_call *call, const struct vfs *vfs, const struct place *from,
                                  const char *name)
{
    AUTO_CLOSE int moving = store_folder(&vfs->store, "moving");
    enum sandlot_status status = snapshot_name_check(call, name);
    char number[NUMBER_DIGITS + 1];

    if (status == SANDLOT_OK)
        status = check_room(call, vfs, from);
    if (status != SANDLOT_OK)
        return status;
    random_digits(number, NUMBER_DIGITS);
    if (moving < 0 || mkdirat(moving, number, 0755) < 0)
        return store_fail(call, "the snapshot cannot be kept");
    AUTO_CLOSE int folder = open_folder(moving, number);
    const struct place to = {folder, geteuid(), getegid()};

    status = folder < 0 || flock(folder, LOCK_SH | LOCK_NB) < 0 ? store_fail(call, "the snapshot cannot be kept")
                                                                : tree_copy(call, from, &to);
    if (status == SANDLOT_OK)
        status = give_name(call, vfs, moving, number, name);
    if (status != SANDLOT_OK)
        tree_remove(moving, number);
    return status;
}

struct listing_snapshots {
    const struct vfs *vfs;
    const struct sandlot_listing *listing;
    enum sandlot_status status;
};

static bool list_one(void *context, const char *name)
{
    struct listing_snapshots *all = context;
    AUTO_CLOSE int snapshots = store_folder(&all->vfs->store, "snapshots");
    struct stat folder;

    if (snapshots < 0 || fstatat(snapshots, name, &folder, AT_SYMLINK_NOFOLLOW) < 0)
        return true;
    const struct sandlot_listed listed = {.size = sizeof(listed),
                                          .id = name,
                                          .state = "in memory",
                                          .created_at_ms =
                                              (int64_t)folder.st_ctim.tv_sec * 1000 + folder.st_ctim.tv_nsec / 1000000};

    all->status = all->listing->add(all->listing, &listed);
    return all->status == SANDLOT_OK;
}

enum sandlot_status snapshot_list(const struct vfs *vfs, const struct sandlot_listing *listing)
{
    struct listing_snapshots all = {vfs, listing, SANDLOT_OK};

    store_each(&vfs->store, "snapshots", list_one, &all);
    return all.status;
}

/* Takes its name from it first, so that nobody finds half of one. */
enum sandlot_status snapshot_delete(struct sandlot_call *call, const struct vfs *vfs, const char *name)
{
    AUTO_CLOSE int snapshots = store_folder(&vfs->store, "snapshots");
    AUTO_CLOSE int moving = store_folder(&vfs->store, "moving");
    AUTO_CLOSE int folder = snapshot_name_valid(name) ? open_folder(snapshots, name) : -1;
    char number[NUMBER_DIGITS + 1];

    if (folder < 0)
        return SANDLOT_OK;
    if (flock(folder, LOCK_EX | LOCK_NB) < 0)
        return sandlot_fail(call, SANDLOT_UNAVAILABLE,
                            "the snapshot \"%.64s\" is just being made, or copied for a sandbox; try again", name);
    random_digits(number, NUMBER_DIGITS);
    if (renameat(snapshots, name, moving, number) < 0)
        return store_fail(call, "the snapshot cannot be deleted");
    close(take_fd(&folder));
    sweep(vfs);
    return SANDLOT_OK;
}
