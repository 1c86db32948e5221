#include "snapshots.h"

#include "grounds.h"

#include <sandlot/sdk/attempt.h>
#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/random.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

enum { NAME_LONGEST = 64 };

static bool is_name(const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    const size_t length = strlen(name);

    return length > 0 && length <= NAME_LONGEST && *name != '.' && strspn(name, letters) == length;
}

static enum sandlot_status check_name(struct sandlot_call *call, const char *name)
{
    return is_name(name)
               ? SANDLOT_OK
               : sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                              "\"%.80s\" is no name for a snapshot; take up to %d of the letters a-z, A-Z, 0-9, "
                              "\".\", \"_\" and \"-\", the first no \".\"",
                              name, NAME_LONGEST);
}

enum sandlot_status snapshot_find(struct sandlot_call *call, const struct vfs *vfs, const char *name,
                                  struct snapshot *snapshot)
{
    enum sandlot_status status = check_name(call, name);
    struct stat folder;

    if (status != SANDLOT_OK)
        return status;
    snprintf(snapshot->path, sizeof(snapshot->path), "%s/snapshots/%s", vfs->store.path, name);
    snapshot->lock = open(snapshot->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (snapshot->lock < 0 || flock(snapshot->lock, LOCK_SH | LOCK_NB) < 0 || fstat(snapshot->lock, &folder) < 0)
        return sandlot_fail(call, SANDLOT_NOT_FOUND, "there is no snapshot \"%.64s\" in memory; make it first", name);
    snapshot->inode = folder.st_ino;
    return SANDLOT_OK;
}

/* Names FOLDER of HIDDEN so, unless there is one. */
static enum sandlot_status give_name(struct sandlot_call *call, int snapshots, const char *hidden, const char *name)
{
    if (renameat2(snapshots, hidden, snapshots, name, RENAME_NOREPLACE) == 0)
        return SANDLOT_OK;
    if (errno == EEXIST)
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                            "there is a snapshot \"%s\" already; delete it, or take another name", name);
    return store_fail(call, "the snapshot cannot be kept");
}

enum sandlot_status snapshot_make(struct sandlot_call *call, const struct vfs *vfs, const struct place *from,
                                  const char *name)
{
    AUTO_CLOSE int snapshots = store_folder(&vfs->store, "snapshots");
    enum sandlot_status status = check_name(call, name);
    char hidden[48] = ".";

    if (status != SANDLOT_OK)
        return status;
    random_digits(hidden + 1, 16);
    if (snapshots < 0 || mkdirat(snapshots, hidden, 0755) < 0)
        return store_fail(call, "the snapshot cannot be kept");
    AUTO_CLOSE int folder = openat(snapshots, hidden, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    const struct place to = {folder, geteuid(), getegid()};

    status = folder < 0 ? store_fail(call, "the snapshot cannot be kept") : tree_copy(call, from, &to);
    if (status == SANDLOT_OK)
        status = give_name(call, snapshots, hidden, name);
    if (status != SANDLOT_OK)
        tree_remove(snapshots, hidden);
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

/* Takes its name from it. What nobody stands on goes with the sweep that follows. */
enum sandlot_status snapshot_delete(struct sandlot_call *call, struct vfs *vfs, const char *name)
{
    AUTO_CLOSE int snapshots = store_folder(&vfs->store, "snapshots");
    AUTO_CLOSE int gone = store_folder(&vfs->store, "gone");
    struct stat folder;
    char number[24];

    if (!is_name(name))
        return SANDLOT_OK;
    if (snapshots < 0 || fstatat(snapshots, name, &folder, AT_SYMLINK_NOFOLLOW) < 0)
        return snapshots >= 0 && errno == ENOENT ? SANDLOT_OK : store_fail(call, "the snapshot cannot be deleted");
    snprintf(number, sizeof(number), "%llu", (unsigned long long)folder.st_ino);
    if (gone < 0 || (renameat(snapshots, name, gone, number) < 0 && errno != ENOENT))
        return store_fail(call, "the snapshot cannot be deleted");
    snapshot_sweep(call, vfs);
    return SANDLOT_OK;
}

/* ---- what nobody stands on ------------------------------------------------------------------------------------------
 */

struct noted {
    char id[64];
    uint64_t inode;
    bool lives;
};

struct sweep {
    struct vfs *vfs;
    struct noted *boxes;
    size_t count;
    bool complete;
};

static bool collect(void *context, const char *id)
{
    struct sweep *sweep = context;
    struct noted *grown = realloc(sweep->boxes, (sweep->count + 1) * sizeof(*grown));

    sweep->complete = grown != NULL;
    if (!grown)
        return false;
    sweep->boxes = grown;
    grown[sweep->count] = (struct noted){.inode = store_noted(&sweep->vfs->store, id).inode};
    snprintf(grown[sweep->count++].id, sizeof(grown->id), "%s", id);
    return true;
}

static enum sandlot_status mark(const struct sandlot_listing *listing, const struct sandlot_listed *box)
{
    struct sweep *sweep = listing->context;

    for (size_t i = 0; i < sweep->count; i++)
        if (strcmp(sweep->boxes[i].id, box->id) == 0)
            sweep->boxes[i].lives = true;
    return SANDLOT_OK;
}

static bool remove_unused(void *context, const char *number)
{
    const struct sweep *sweep = context;
    AUTO_CLOSE int gone = store_folder(&sweep->vfs->store, "gone");
    AUTO_CLOSE int folder = gone < 0 ? -1 : openat(gone, number, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    const uint64_t inode = strtoull(number, NULL, 10);
    bool used = folder < 0 || flock(folder, LOCK_EX | LOCK_NB) < 0;

    for (size_t i = 0; i < sweep->count && !used; i++)
        used = sweep->boxes[i].lives && sweep->boxes[i].inode == inode;
    if (!used)
        tree_remove(gone, number);
    return true;
}

/* First what is noted and then what lives: a box that is noted was there before it is looked for. */
void snapshot_sweep(struct sandlot_call *call, struct vfs *vfs)
{
    struct sweep sweep = {.vfs = vfs, .complete = true};
    const struct sandlot_listing boxes = {.size = sizeof(boxes), .context = &sweep, .add = mark};
    struct attempt attempt;

    attempt_begin(&attempt, call, 0); /* what fails here is done by the next sweep */
    store_each(&vfs->store, "boxes", collect, &sweep);
    if (sweep.complete && (vfs->bare || ground_list(&attempt.call, vfs, &boxes) == SANDLOT_OK)) {
        for (size_t i = 0; i < sweep.count; i++)
            if (!sweep.boxes[i].lives)
                store_forget(&vfs->store, sweep.boxes[i].id);
        store_each(&vfs->store, "gone", remove_unused, &sweep);
    }
    free(sweep.boxes);
}
