#include "turn.h"

#include "walk.h"

#include <sandlot/sdk/cleanup.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <poll.h>
#include <sandlot/provider.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>

#ifndef MOVE_MOUNT_BENEATH
#define MOVE_MOUNT_BENEATH 0x00000200 /* since Linux 6.5 */
#endif

enum {
    WORK_LIMIT_MS = 10000,
    LEAVE_AFTER_MS = 100, /* by then a fork lives */
    ATTRIBUTES = 4096
};

/* What one place is turned with, in the child. */
struct place {
    enum layer_place which;
    bool wanted; /* the box has written there */
    int old;
    int overlay;
    bool frozen;
    bool bound;
};

/* What the child has done. */
struct outcome {
    enum turn_result result;
    uint64_t mounts[KEPT_PLACES];
};

/* ---- names in the storage ---- */

static void next_name(char name[TURN_NAME_SIZE], size_t place)
{
    snprintf(name, TURN_NAME_SIZE, "next-%s", layer_places[place]);
}

void turn_left_name(char name[TURN_NAME_SIZE], size_t place)
{
    next_name(name, place); /* the two have changed places */
}

static void whole_name(char name[TURN_NAME_SIZE], size_t place)
{
    snprintf(name, TURN_NAME_SIZE, "whole-%s", layer_places[place]);
}

/* What comes to lie right below the new upper folder: the old one, or all of the layer, which is lent to the storage.
 */
static void below_name(char name[TURN_NAME_SIZE], const struct turn *turn, size_t place)
{
    if (turn->rebase)
        whole_name(name, place);
    else
        snprintf(name, TURN_NAME_SIZE, "%s", layer_places[place]);
}

static void work_name(char name[TURN_NAME_SIZE], const struct kept *kept, size_t place)
{
    snprintf(name, TURN_NAME_SIZE, "work-%u-%s", kept->tries, layer_places[place]);
}

/* Where a folder that the box has turned into a part of its NUMBER-th layer stays mounted. */
static void own_name(char name[TURN_NAME_SIZE], unsigned number, size_t place)
{
    snprintf(name, TURN_NAME_SIZE, "own-%u-%s", number, layer_places[place]);
}

/* ---- in the child ---- */

/* Safe: nothing of the box runs but its init, which is stopped. This process executes nothing, mounts, and ends. */
static int enter(const struct turn *turn)
{
    const bool other_user = geteuid() != turn->uid;
    AUTO_CLOSE int descriptors = open(PROC_FDS, O_PATH | O_DIRECTORY | O_CLOEXEC);

    if (descriptors < 0 || setns(turn->kept->fds[KEPT_USER], CLONE_NEWUSER) < 0 ||
        setns(turn->kept->fds[KEPT_MOUNTS], CLONE_NEWNS) < 0)
        return -1;
    /* The system calls themselves, for those of the C library would wait for the keeper's other threads. */
    if (other_user && (syscall(SYS_setresgid, turn->inside_id, turn->inside_id, turn->inside_id) < 0 ||
                       syscall(SYS_setresuid, turn->inside_id, turn->inside_id, turn->inside_id) < 0))
        return -1;
    return fchdir(descriptors); /* the /proc of the box does not know this process */
}

static uint64_t mount_number(int fd)
{
    struct statx status;

    return statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &status) == 0 ? status.stx_mnt_id : 0;
}

/* Opens the mount at PLACE, which must be what the keeper knows, and makes it read-only. */
static int freeze(const struct turn *turn, struct place *place)
{
    const struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS};
    struct mount_attr change = {.attr_set = MOUNT_ATTR_RDONLY};

    place->old = (int)syscall(SYS_openat2, AT_FDCWD, kept_paths[place->which], &how, sizeof(how));
    if (place->old < 0 || mount_number(place->old) != turn->kept->mounts[place->which])
        return -1;
    place->frozen = mount_setattr(place->old, "", AT_EMPTY_PATH, &change, sizeof(change)) == 0;
    return place->frozen ? 0 : -1;
}

static int add_lower(const struct turn *turn, struct lowers *lowers, const char *name)
{
    const int fd = openat(turn->kept->fds[KEPT_STORAGE], name, O_PATH | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0 || lowers->count == sizeof(lowers->fds) / sizeof(*lowers->fds))
        return -1;
    lowers->fds[lowers->count++] = fd; /* closed with this process */
    return 0;
}

/* What the box has turned itself, and then what it began with. */
static int add_layers(const struct turn *turn, size_t place, struct lowers *lowers)
{
    const struct kept *kept = turn->kept;
    char name[TURN_NAME_SIZE];

    for (unsigned number = kept->turned; number > kept->base; number--) {
        own_name(name, number, place);
        if (faccessat(kept->fds[KEPT_STORAGE], name, F_OK, 0) == 0 && add_lower(turn, lowers, name) < 0)
            return -1;
    }
    for (size_t i = 0; i < turn->layer_count; i++) {
        kept_name(name, i);
        strcat(name, "/");
        strcat(name, layer_places[place]);
        if (add_lower(turn, lowers, name) < 0)
            return -1;
    }
    return 0;
}

/* What the new overlay of PLACE lies over, from the uppermost down. */
static int find_lowers(const struct turn *turn, size_t place, struct lowers *lowers)
{
    char name[TURN_NAME_SIZE];

    lowers->count = 0;
    below_name(name, turn, place);
    if (add_lower(turn, lowers, name) < 0 || (!turn->rebase && add_layers(turn, place, lowers) < 0))
        return -1;
    if (place == LAYER_WORKSPACE && faccessat(turn->kept->fds[KEPT_STORAGE], KEPT_SEED, F_OK, 0) == 0)
        return add_lower(turn, lowers, KEPT_SEED);
    return 0;
}

static int make_overlay(const struct turn *turn, struct place *place)
{
    struct lowers lowers;
    char upper[TURN_NAME_SIZE];
    char work[TURN_NAME_SIZE];

    next_name(upper, place->which);
    work_name(work, turn->kept, place->which);
    if (find_lowers(turn, place->which, &lowers) < 0)
        return -1;
    place->overlay = overlay_new(&lowers, turn->kept->fds[KEPT_STORAGE], upper, work);
    return place->overlay < 0 ? -1 : 0;
}

/* Mounts what is below now where the next turn finds it: its name will lead out of the storage. */
static int bind_below(const struct turn *turn, struct place *place)
{
    const int storage = turn->kept->fds[KEPT_STORAGE];
    struct mount_attr change = {.attr_set = MOUNT_HARMLESS | MOUNT_ATTR_RDONLY};
    char name[TURN_NAME_SIZE];

    below_name(name, turn, place->which);
    AUTO_CLOSE int tree = open_tree(storage, name, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);

    own_name(name, turn->kept->turned + 1, place->which);
    AUTO_CLOSE int target = openat(storage, name, O_PATH | O_DIRECTORY | O_CLOEXEC);

    place->bound = tree >= 0 && target >= 0 && mount_setattr(tree, "", AT_EMPTY_PATH, &change, sizeof(change)) == 0 &&
                   move_mount(tree, "", target, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) == 0;
    return place->bound ? 0 : -1;
}

static void unmount(const struct turn *turn, const char *name)
{
    char path[TURN_NAME_SIZE + 16];

    snprintf(path, sizeof(path), "%d/%s", turn->kept->fds[KEPT_STORAGE], name);
    umount2(path, MNT_DETACH);
}

/* After a rebase, so that what others remove of the layers is gone for good. */
static void unmount_layers(const struct turn *turn)
{
    char name[TURN_NAME_SIZE];

    for (unsigned number = turn->kept->turned; number > turn->kept->base; number--)
        for (size_t place = 0; place < KEPT_PLACES; place++) {
            own_name(name, number, place);
            unmount(turn, name);
        }
    for (size_t i = 0; i < turn->layer_count; i++) {
        kept_name(name, i);
        unmount(turn, name);
    }
}

static void undo(const struct turn *turn, const struct place *place)
{
    struct mount_attr change = {.attr_clr = MOUNT_ATTR_RDONLY};
    char name[TURN_NAME_SIZE];

    if (place->bound) {
        own_name(name, turn->kept->turned + 1, place->which);
        unmount(turn, name);
    }
    if (place->frozen)
        mount_setattr(place->old, "", AT_EMPTY_PATH, &change, sizeof(change));
}

/*
 * Nobody sees a moment without a mount: the new one comes below the old one, which then goes. Before Linux 6.5 it comes
 * above it, and the old one stays as long as the box.
 */
static enum turn_result show(const struct place *place)
{
    const unsigned flags = MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH;

    if (move_mount(place->overlay, "", place->old, "", flags | MOVE_MOUNT_BENEATH) == 0)
        return umount2(kept_paths[place->which], MNT_DETACH | UMOUNT_NOFOLLOW) == 0 ? TURN_DONE : TURN_BROKEN;
    if (errno != EINVAL || move_mount(place->overlay, "", place->old, "", flags) < 0)
        return TURN_NOT;
    return TURN_DONE;
}

static enum turn_result turn_places(const struct turn *turn, struct place places[KEPT_PLACES])
{
    static int (*const steps[])(const struct turn *, struct place *) = {freeze, make_overlay, bind_below};

    bool shown = false;

    for (size_t step = 0; step < sizeof(steps) / sizeof(*steps); step++)
        for (size_t i = 0; i < KEPT_PLACES; i++)
            if (places[i].wanted && steps[step](turn, &places[i]) < 0)
                return TURN_NOT;
    for (size_t i = 0; i < KEPT_PLACES; i++) {
        const enum turn_result result = places[i].wanted ? show(&places[i]) : TURN_DONE;

        if (result != TURN_DONE)
            return shown ? TURN_BROKEN : result;
        shown = shown || places[i].wanted;
    }
    if (turn->rebase)
        unmount_layers(turn);
    return TURN_DONE;
}

/* Goes with the old mounts a while later: their end would take a processor from the fork that is just being made. The
 * keeper's descriptors are not held meanwhile, for somebody may wait for their end. */
static _Noreturn void leave_later(const struct place places[KEPT_PLACES])
{
    for (int i = 0; i < KEPT_PLACES; i++)
        if (places[i].wanted)
            dup2(places[i].old, i);
    close_range(KEPT_PLACES, ~0U, 0);
    poll(NULL, 0, LEAVE_AFTER_MS);
    _exit(0);
}

static _Noreturn void work_and_tell(const struct turn *turn, int keeper_fd)
{
    struct outcome outcome = {.result = TURN_NOT};
    struct place places[KEPT_PLACES];

    memcpy(outcome.mounts, turn->kept->mounts, sizeof(outcome.mounts));

    for (size_t i = 0; i < KEPT_PLACES; i++)
        places[i] = (struct place){.which = (enum layer_place)i, .wanted = turn->wanted[i], .old = -1, .overlay = -1};
    if (enter(turn) == 0)
        outcome.result = turn_places(turn, places);
    for (size_t i = 0; i < KEPT_PLACES; i++)
        if (outcome.result == TURN_NOT)
            undo(turn, &places[i]);
        else if (places[i].wanted)
            outcome.mounts[i] = mount_number(places[i].overlay);
    if (write(keeper_fd, &outcome, sizeof(outcome)) == sizeof(outcome) && outcome.result == TURN_DONE)
        leave_later(places);
    _exit(1);
}

/* ---- in the keeper ---- */

/* What the child tells. If it tells nothing nobody knows what it has done. */
static void have_done(const struct turn *turn, struct outcome *outcome)
{
    int ends[2];

    *outcome = (struct outcome){.result = TURN_NOT};
    if (pipe2(ends, O_CLOEXEC) < 0)
        return;
    AUTO_CLOSE int reading = ends[0];
    AUTO_CLOSE int writing = ends[1];
    const pid_t pid = _Fork(); /* the keeper has threads: thread.h */

    if (pid == 0)
        work_and_tell(turn, writing);
    close(take_fd(&writing));
    if (pid < 0)
        return;
    struct pollfd told = {reading, POLLIN, 0};
    int heard;

    do
        heard = poll(&told, 1, WORK_LIMIT_MS);
    while (heard < 0 && errno == EINTR);
    if (heard <= 0 || read(reading, outcome, sizeof(*outcome)) != sizeof(*outcome)) {
        outcome->result = TURN_BROKEN;
        kill(pid, SIGKILL);
    }
    turn->kept->leaving = pid;
}

/* With the child the old mounts end, which takes the kernel the longer the more files they showed: nobody waits for
 * that but who comes next, and it need not be later any more. */
void turn_await(struct kept *kept)
{
    if (kept->leaving > 0)
        kill(kept->leaving, SIGKILL);
    while (kept->leaving > 0 && waitpid(kept->leaving, NULL, 0) < 0 && errno == EINTR)
        continue;
    kept->leaving = 0;
}

/* Has the folder attributes of its own? Those of the overlay are no longer of use. */
static bool has_attributes(int folder)
{
    static const char marks[] = "user.overlay.";
    char names[ATTRIBUTES];
    const ssize_t length = flistxattr(folder, names, sizeof(names));

    for (const char *name = names; name < names + (length > 0 ? length : 0); name += strlen(name) + 1)
        if ((strncmp(name, "user.", 5) == 0 && strncmp(name, marks, strlen(marks)) != 0) ||
            strncmp(name, "system.posix_acl_", 17) == 0)
            return true;
    return length < 0 && errno != ENOTSUP;
}

static int make_folder(const struct turn *turn, int parent, const char *name, mode_t mode)
{
    if (mkdirat(parent, name, 0700) < 0 && errno != EEXIST)
        return -1;
    if (turn->uid != geteuid() && fchownat(parent, name, turn->uid, turn->gid, AT_SYMLINK_NOFOLLOW) < 0)
        return -1;
    return fchmodat(parent, name, mode, 0);
}

/* The folders of one place: an upper one like that which is there now, and what the child needs. */
static int make_folders(const struct turn *turn, size_t place)
{
    AUTO_CLOSE int now = openat(turn->storage_fd, layer_places[place], O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    char name[TURN_NAME_SIZE];
    struct stat status;

    if (now < 0 || fstat(now, &status) < 0 || has_attributes(now))
        return -1;
    /* A folder that its owner may not write to the kernel lets him move into no other one. It is copied. */
    if (faccessat(turn->storage_fd, layer_places[place], W_OK, AT_EACCESS) < 0)
        return -1;
    next_name(name, place);
    if (make_folder(turn, turn->storage_fd, name, status.st_mode & 07777) < 0)
        return -1;
    work_name(name, turn->kept, place);
    if (make_folder(turn, turn->storage_fd, name, 0700) < 0)
        return -1;
    own_name(name, turn->kept->turned + 1, place);
    return make_folder(turn, turn->storage_fd, name, 0700);
}

/* Can folders change places at all? Not all file systems can. These two are empty and alike. */
static bool can_exchange(const struct turn *turn)
{
    const int folder = turn->rebase ? turn->storage_fd : turn->layer_fd;
    char names[2][TURN_NAME_SIZE] = {"home", "tmp"};

    if (turn->rebase) {
        work_name(names[0], turn->kept, LAYER_HOME);
        work_name(names[1], turn->kept, LAYER_TMP);
    }
    return renameat2(folder, names[0], folder, names[1], RENAME_EXCHANGE) == 0;
}

/* Lends what the layer has for PLACE to the storage, where the box's mount namespace reaches it. */
static int lend(const struct turn *turn, size_t place)
{
    char name[TURN_NAME_SIZE];

    whole_name(name, place);
    return renameat(turn->layer_fd, layer_places[place], turn->storage_fd, name);
}

static int give_back(const struct turn *turn, size_t place)
{
    char name[TURN_NAME_SIZE];

    whole_name(name, place);
    return renameat(turn->storage_fd, name, turn->layer_fd, layer_places[place]);
}

static void undo_folders(const struct turn *turn)
{
    char name[TURN_NAME_SIZE];

    for (size_t i = 0; i < KEPT_PLACES; i++) {
        next_name(name, i);
        unlinkat(turn->storage_fd, name, AT_REMOVEDIR);
        if (turn->rebase)
            give_back(turn, i);
        else
            unlinkat(turn->layer_fd, layer_places[i], AT_REMOVEDIR);
    }
}

/* Gives the layer the old upper folder, unless it is whole, and the new one its name. */
static int move_folder(const struct turn *turn, size_t place)
{
    const char *name = layer_places[place];
    char next[TURN_NAME_SIZE];

    next_name(next, place);
    if (turn->rebase)
        return renameat2(turn->storage_fd, name, turn->storage_fd, next, RENAME_EXCHANGE);
    return renameat2(turn->storage_fd, name, turn->layer_fd, name, RENAME_EXCHANGE) == 0
               ? renameat(turn->storage_fd, next, turn->storage_fd, name)
               : -1;
}

static enum turn_result finish(const struct turn *turn, const struct outcome *outcome)
{
    if (outcome->result != TURN_DONE)
        return outcome->result;
    memcpy(turn->kept->mounts, outcome->mounts, sizeof(outcome->mounts));
    if (turn->rebase)
        turn->kept->base = turn->kept->turned;
    turn->kept->turned++;
    for (size_t i = 0; i < KEPT_PLACES; i++)
        if (turn->rebase && give_back(turn, i) < 0)
            return TURN_BROKEN;
    /* No file is put in another's place, which ext4 would first write to the disk: no box outlives a loss of power. */
    if (renameat2(turn->folder_fd, TURN_RECORD, turn->folder_fd, "record", RENAME_EXCHANGE) < 0)
        return TURN_BROKEN;
    unlinkat(turn->folder_fd, TURN_RECORD, 0);
    for (size_t i = 0; i < KEPT_PLACES; i++)
        if (turn->wanted[i] && move_folder(turn, i) < 0)
            return TURN_BROKEN;
    return TURN_DONE;
}

/* What one place is turned with, if it is wanted. */
static bool make_place(struct turn *turn, size_t place)
{
    turn->wanted[place] = turn->rebase || !walk_is_empty(turn->storage_fd, layer_places[place]);
    if (turn->rebase ? lend(turn, place) < 0 : make_folder(turn, turn->layer_fd, layer_places[place], 0700) < 0)
        return false;
    return !turn->wanted[place] || make_folders(turn, place) == 0;
}

enum turn_result turn_make(struct turn *turn)
{
    struct outcome outcome = {.result = TURN_NOT};
    bool made = turn->kept->fds[KEPT_STORAGE] >= 0;

    turn_await(turn->kept);
    turn->kept->tries++;
    for (size_t i = 0; i < KEPT_PLACES && made; i++)
        made = make_place(turn, i);
    if (made && can_exchange(turn))
        have_done(turn, &outcome);
    const enum turn_result result = finish(turn, &outcome);

    if (result == TURN_NOT)
        undo_folders(turn);
    return result;
}
