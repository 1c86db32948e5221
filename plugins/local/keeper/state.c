#include "state.h"

#include "../box/view.h"
#include "../protocol.h"
#include "thread.h"
#include "walk.h"

#include <sandlot/sdk/cleanup.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

enum {
    REMEMBERED = 256,
    REMEMBERED_SECONDS = 24 * 60 * 60,
    FORGET_EVERY = 64, /* so many ends are added before old ones are looked for again */
    ROOTFS_SECONDS = 7 * 24 * 60 * 60,
    ROOTFS_FRESH = 60 * 60, /* whoever has just unpacked one is to find it */
    ROOTFS_MB = 16 * 1024,  /* of what nobody uses */
    ROOTFS_MOST = 256,
    TRASH_STACK = 512 * 1024,
    CLOSING_MOST = 64
};

/* What of a box's folder its commands can write to. */
static const char *const storage[] = {"storage", "storage/upper", "storage/tmp", "storage/home"};

/*
 * The thread that does what nobody is to wait for, of which the process has one: it empties the trash, makes the folder
 * of the next box ahead, and closes what ends a box's mounts. Nothing that it calls allocates memory; walk.h says why.
 */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool full;         /* the trash */
    bool stuck;        /* something in it could not be removed when that was tried last */
    bool spare_wanted; /* somebody has asked for a folder made ahead; a failure is not repeated before the next one does
                        */
    int spare_fd;      /* the socket in the folder STATE/spare, which listens already; -1: there is none */
    ino_t spare_view;  /* the skeleton of box/skeleton.h that it has places for; 0: for none */
    int view_fd;       /* the skeleton of the last box, which the next one is likely to show too; -1: none as yet */
    ino_t view;
    int closing[CLOSING_MOST]; /* descriptors, before the trash is emptied */
    size_t closing_count;
    char ended[64]; /* the last box in the trash, whose places can be kept; "": none */
    const struct state *state;
    int fd; /* the trash */
} trash = {
    .lock = PTHREAD_MUTEX_INITIALIZER,
    .changed = PTHREAD_COND_INITIALIZER,
    .full = true,
    .spare_wanted = true,
    .spare_fd = -1,
    .view_fd = -1,
    .fd = -1,
};

static int make_spare(const struct state *state, int view_fd);

/* Keeps the places of the box in the trash whose name is ENDED. */
static void keep_places(const struct state *state, const char *ended)
{
    char path[sizeof(trash.ended) + 16];

    snprintf(path, sizeof(path), "%s/%s", ended, storage[0]);
    AUTO_CLOSE int storage_fd = openat(state->trash_fd, path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (storage_fd >= 0)
        view_keep_places(storage_fd, state->places_fd, walk_is_empty);
}

/* Makes the spare folder anew. The lock is held, but not meanwhile. */
static void renew_spare(void)
{
    AUTO_CLOSE int view_fd = trash.view_fd < 0 ? -1 : fcntl(trash.view_fd, F_DUPFD_CLOEXEC, 0);
    const ino_t view = view_fd < 0 ? 0 : trash.view;

    pthread_mutex_unlock(&trash.lock);
    const int spare_fd = make_spare(trash.state, view_fd);

    pthread_mutex_lock(&trash.lock);
    trash.spare_fd = spare_fd;
    trash.spare_view = view;
}

/* Closes what is to be closed. The lock is held, but not meanwhile. */
static void close_all(void)
{
    int fds[CLOSING_MOST];
    const size_t count = trash.closing_count;

    memcpy(fds, trash.closing, count * sizeof(*fds));
    trash.closing_count = 0;
    pthread_mutex_unlock(&trash.lock);
    for (size_t i = 0; i < count; i++)
        close(fds[i]);
    pthread_mutex_lock(&trash.lock);
}

static void *empty_trash(void *nothing)
{
    (void)nothing;
    pthread_mutex_lock(&trash.lock);
    for (;;) {
        while (!trash.full && !trash.spare_wanted && trash.closing_count == 0)
            pthread_cond_wait(&trash.changed, &trash.lock);
        close_all();
        const bool full = trash.full;
        const bool spare_wanted = trash.spare_wanted && trash.spare_fd < 0;
        char ended[sizeof(trash.ended)];

        trash.full = trash.spare_wanted = trash.stuck = false;
        if (spare_wanted)
            renew_spare();
        strcpy(ended, trash.ended);
        *trash.ended = '\0';
        pthread_mutex_unlock(&trash.lock);
        if (*ended)
            keep_places(trash.state, ended);
        const bool stuck = (full || spare_wanted) && !walk_empty(trash.fd);

        pthread_mutex_lock(&trash.lock);
        trash.stuck = stuck;
    }
    return NULL;
}

/* ENDED: the box that has just been put into it, or "". */
static void wake_trash(const char *ended)
{
    pthread_mutex_lock(&trash.lock);
    trash.full = true;
    if (*ended)
        snprintf(trash.ended, sizeof(trash.ended), "%s", ended);
    pthread_cond_signal(&trash.changed);
    pthread_mutex_unlock(&trash.lock);
}

void state_close_later(int *fd)
{
    if (*fd < 0)
        return;
    pthread_mutex_lock(&trash.lock);
    if (trash.closing_count < CLOSING_MOST)
        trash.closing[trash.closing_count++] = take_fd(fd);
    pthread_cond_signal(&trash.changed);
    pthread_mutex_unlock(&trash.lock);
    cleanup_close(fd); /* there are too many */
    *fd = -1;
}

static int start_trash(const struct state *state)
{
    trash.state = state;
    trash.fd = state->trash_fd;
    return thread_start(empty_trash, TRASH_STACK);
}

static bool has_entries(int folder_fd)
{
    int copy = openat(folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = copy >= 0 ? fdopendir(copy) : NULL;
    int count = 0;

    while (folder && count < 3 && readdir(folder))
        count++;
    if (folder)
        closedir(folder);
    return count > 2;
}

bool state_is_clean(void)
{
    pthread_mutex_lock(&trash.lock);
    const bool stuck = trash.stuck && !trash.full;

    pthread_mutex_unlock(&trash.lock);
    return stuck || !has_entries(trash.fd);
}

static int open_folder(int parent_fd, const char *name)
{
    if (mkdirat(parent_fd, name, 0700) < 0 && errno != EEXIST)
        return -1;
    return openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Puts NAME of the folder FOLDER_FD into the trash, under a name that nothing there has. Also on the trash's thread. */
static int move_to_trash(const struct state *state, int folder_fd, const char *name)
{
    static _Atomic unsigned moved;
    char unique[NAME_MAX + 1];

    snprintf(unique, sizeof(unique), "%.128s-%lld-%d-%u", name, (long long)time(NULL), (int)getpid(), moved++);
    return renameat(folder_fd, name, state->trash_fd, unique) < 0 && errno != ENOENT ? -1 : 0;
}

/* The same for the folder NAME of an earlier keeper, whose boxes have ended with it. */
static int forget_folder(const struct state *state, const char *name)
{
    return move_to_trash(state, state->fd, name);
}

int state_discard(const struct state *state, int folder_fd, const char *name)
{
    const int moved = move_to_trash(state, folder_fd, name);

    wake_trash("");
    return moved;
}

int state_open(struct state *state, int state_fd, char *reason, size_t size)
{
    state->fd = state_fd;
    state->boxes_fd = open_folder(state_fd, "boxes");
    state->ended_fd = open_folder(state_fd, "ended");
    state->rootfs_fd = open_folder(state_fd, "rootfs");
    state->volumes_fd = open_folder(state_fd, "volumes");
    state->trash_fd = open_folder(state_fd, "trash");
    state->places_fd = open_folder(state_fd, "places");
    state->view_fd = -1;
    if (forget_folder(state, "view") == 0)
        state->view_fd = open_folder(state_fd, "view");
    if (state->boxes_fd >= 0 && state->ended_fd >= 0 && state->rootfs_fd >= 0 && state->volumes_fd >= 0 &&
        state->trash_fd >= 0 && state->places_fd >= 0 && state->view_fd >= 0 && start_trash(state) == 0)
        return 0;
    snprintf(reason, size,
             "the state folder could not be prepared: %s; make sure that there is space and that it may be "
             "written to",
             strerror(errno));
    return -1;
}

/* A listing of FOLDER_FD with an offset of its own. */
static DIR *list_folder(int folder_fd)
{
    AUTO_CLOSE int copy = openat(folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = copy >= 0 ? fdopendir(copy) : NULL;

    if (folder)
        take_fd(&copy);
    return folder;
}

void state_sweep(struct state *state, void (*each)(void *context, const char *id), void *context)
{
    DIR *folder = list_folder(state->boxes_fd);

    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        if (*entry->d_name == '.')
            continue;
        each(context, entry->d_name);
        state_remember_end(state, entry->d_name, "the keeper of this user's boxes was ended or crashed");
        state_discard_box(state, entry->d_name);
    }
    if (folder)
        closedir(folder);
    wake_trash("");
}

/* Gives the storage of the folder BOX_FD to the user UID and group GID. Returns it, as O_PATH. */
static int give_storage(int box_fd, uid_t uid, gid_t gid)
{
    for (size_t i = 0; uid != geteuid() && i < sizeof(storage) / sizeof(storage[0]); i++)
        if (fchownat(box_fd, storage[i], uid, gid, AT_SYMLINK_NOFOLLOW) < 0)
            return -1;
    AUTO_CLOSE int fd = openat(box_fd, storage[0], O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    return fd < 0 || (uid != geteuid() && view_give_root(fd, uid, gid) < 0) ? -1 : take_fd(&fd);
}

/* In the box's folder BOX_FD, the places of the skeleton VIEW_FD. */
static void make_view(const struct state *state, int box_fd, int view_fd)
{
    AUTO_CLOSE int storage_fd = openat(box_fd, storage[0], O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (storage_fd >= 0)
        view_make_root(storage_fd, view_fd, state->places_fd);
}

/* Makes the folder NAME of a box, all of which is the keeper's own as yet. VIEW_FD: the skeleton that it will show, or
 * -1. Returns it, as O_PATH. */
static int make_box_folder(const struct state *state, int parent_fd, const char *name, int view_fd)
{
    if (mkdirat(parent_fd, name, 0700) < 0)
        return -1;
    AUTO_CLOSE int box = openat(parent_fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    for (size_t i = 0; i < sizeof(storage) / sizeof(storage[0]); i++)
        if (box < 0 || mkdirat(box, storage[i], 0700) < 0)
            return -1;
    if (view_fd >= 0)
        make_view(state, box, view_fd);
    return take_fd(&box);
}

/* A box's folder made ahead, whose socket is returned. To make files takes as long as much else of a box. VIEW_FD: the
 * skeleton that the box is likely to show, or -1. */
static int make_spare(const struct state *state, int view_fd)
{
    /* One of an earlier keeper, or one that has failed half-way. */
    AUTO_CLOSE int box = forget_folder(state, "spare") == 0 ? make_box_folder(state, state->fd, "spare", view_fd) : -1;
    /* What state_write writes the record to. */
    AUTO_CLOSE int record =
        box >= 0 ? openat(box, ".record.new", O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600) : -1;

    return record >= 0 ? protocol_listen(box, "socket") : -1;
}

/* Notes which skeleton the next spare folder is for. The lock is held. */
static void remember_view(int view_fd, ino_t view)
{
    AUTO_CLOSE int copy = fcntl(view_fd, F_DUPFD_CLOEXEC, 0);

    if (copy < 0)
        return;
    if (trash.view_fd >= 0)
        close(trash.view_fd);
    trash.view_fd = take_fd(&copy);
    trash.view = view;
}

/* Makes the spare folder that of box ID, which shows the skeleton VIEW_FD (-1: none), unless it has the places of
 * another one, and lets the next one be made. Returns its socket, -1: there is none. */
static int take_spare(const struct state *state, const char *id, int view_fd)
{
    struct stat status;
    const ino_t view = view_fd >= 0 && fstat(view_fd, &status) == 0 ? status.st_ino : 0;

    pthread_mutex_lock(&trash.lock);
    AUTO_CLOSE int listener = take_fd(&trash.spare_fd);
    const bool fits = !view || !trash.spare_view || view == trash.spare_view;
    const bool taken = listener >= 0 && fits && renameat(state->fd, "spare", state->boxes_fd, id) == 0;

    if (view && view != trash.view)
        remember_view(view_fd, view);
    trash.spare_wanted = true;
    pthread_cond_signal(&trash.changed);
    pthread_mutex_unlock(&trash.lock);
    return taken ? take_fd(&listener) : -1;
}

int state_make_box(const struct state *state, const char *id, uid_t uid, gid_t gid, int view_fd,
                   struct box_folder *folder, char *reason, size_t size)
{
    AUTO_CLOSE int listener = take_spare(state, id, view_fd);
    AUTO_CLOSE int box = listener >= 0 ? openat(state->boxes_fd, id, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
                                       : make_box_folder(state, state->boxes_fd, id, view_fd);

    if (listener < 0 && box >= 0)
        listener = protocol_listen(box, "socket");
    folder->storage_fd = listener >= 0 && box >= 0 ? give_storage(box, uid, gid) : -1;
    if (folder->storage_fd >= 0) {
        folder->fd = take_fd(&box);
        folder->listener_fd = take_fd(&listener);
        return 0;
    }
    if (errno == EINVAL) /* by chown(2) */
        snprintf(reason, size,
                 "the box is to be user %u, a number that this container has not (/proc/self/uid_map); run Sandlot as "
                 "another user than root here, or map the numbers from 2013265920 (0x78000000) on",
                 (unsigned)uid);
    else
        snprintf(reason, size, "the folder of the box could not be made: %s; %s", strerror(errno),
                 errno == ENOSPC || errno == EDQUOT ? "free some space on the disk that holds Sandlot's state"
                                                    : "make sure that Sandlot's state folder may be written to");
    state_discard_box(state, id);
    return -1;
}

int state_write(int folder_fd, const char *name, const char *text)
{
    char temporary[64];
    size_t length = strlen(text);

    snprintf(temporary, sizeof(temporary), ".%s.new", name);
    AUTO_CLOSE int fd = openat(folder_fd, temporary, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);

    /* Without fsync(2): after a power failure the box is gone, and its record only tells whose folder to sweep. */
    if (fd >= 0 && write(fd, text, length) == (ssize_t)length && renameat(folder_fd, temporary, folder_fd, name) == 0)
        return 0;
    unlinkat(folder_fd, temporary, 0);
    return -1;
}

void state_discard_box(const struct state *state, const char *id)
{
    char name[64];

    if (renameat(state->boxes_fd, id, state->trash_fd, id) < 0 && errno != ENOENT) {
        /* Something of that name is in the trash already, from a keeper that was killed. */
        snprintf(name, sizeof(name), "%.32s-%lld", id, (long long)time(NULL));
        renameat(state->boxes_fd, id, state->trash_fd, name);
    }
    wake_trash(id);
}

static int compare_times(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left;
    int64_t b = *(const int64_t *)right;

    return a < b ? -1 : a > b;
}

/* Removes the ends from before LIMIT, and puts the times of the others into TIMES. Returns how many these are. */
static size_t forget_before(const struct state *state, int64_t limit, int64_t *times, size_t size)
{
    DIR *folder = list_folder(state->ended_fd);
    size_t count = 0;

    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        struct stat status;

        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
            fstatat(state->ended_fd, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        int64_t modified = (int64_t)status.st_mtim.tv_sec * 1000000000 + status.st_mtim.tv_nsec;

        if ((modified < limit && unlinkat(state->ended_fd, entry->d_name, 0) == 0) || count == size)
            continue;
        times[count++] = modified;
    }
    if (folder)
        closedir(folder);
    return count;
}

/* Forgets ends that are old, and the oldest ones beyond the number that is kept. */
static void forget_ends(const struct state *state)
{
    int64_t times[4 * REMEMBERED];
    int64_t limit = ((int64_t)time(NULL) - REMEMBERED_SECONDS) * 1000000000;
    size_t count = forget_before(state, limit, times, sizeof(times) / sizeof(*times));

    if (count <= REMEMBERED)
        return;
    qsort(times, count, sizeof(*times), compare_times);
    forget_before(state, times[count - REMEMBERED], times, sizeof(times) / sizeof(*times));
}

void state_remember_end(struct state *state, const char *id, const char *reason)
{
    /* Not each time: many boxes may expire at once. */
    if (state->ends_remembered++ % FORGET_EVERY == 0)
        forget_ends(state);
    state_write(state->ended_fd, id, reason);
}

int state_keep_rootfs(const struct state *state, const char *id, const char *key)
{
    char path[64];

    /* An archive may say anything about the mode of its own top, and a root folder that nobody may enter is of no use.
     */
    snprintf(path, sizeof(path), "%.32s/storage/upper", id);
    if (fchmodat(state->boxes_fd, path, 0755, 0) < 0)
        return -1;
    snprintf(path, sizeof(path), "%.32s/storage", id);
    if (renameat(state->boxes_fd, path, state->rootfs_fd, key) == 0 || errno == EEXIST || errno == ENOTEMPTY)
        return 0;
    return -1;
}

/* An unpacked archive or image. */
struct kept {
    char key[NAME_MAX + 1];
    time_t used;
    int64_t size_mb; /* 0: unknown */
};

/* What was counted when it was unpacked (rootfs.c). */
static int64_t kept_size(const struct state *state, const char *key)
{
    char path[NAME_MAX + 16];
    char text[32] = "";

    snprintf(path, sizeof(path), "%s/home/size", key);
    AUTO_CLOSE int fd = openat(state->rootfs_fd, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    const int64_t size = fd >= 0 && read(fd, text, sizeof(text) - 1) > 0 ? strtoll(text, NULL, 10) : 0;

    return size > 0 && size < ROOTFS_MB ? size : size > 0 ? ROOTFS_MB : 0;
}

static int compare_kept(const void *left, const void *right)
{
    const struct kept *one = left;
    const struct kept *other = right;

    return one->used > other->used ? -1 : one->used < other->used;
}

/* What there is, the last used one first. */
static size_t list_kept(const struct state *state, struct kept *kept, size_t size)
{
    DIR *folder = list_folder(state->rootfs_fd);
    size_t count = 0;

    for (struct dirent *entry; folder && count < size && (entry = readdir(folder));) {
        struct stat status;

        if (*entry->d_name == '.' || fstatat(state->rootfs_fd, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        snprintf(kept[count].key, sizeof(kept[count].key), "%s", entry->d_name);
        kept[count].used = status.st_mtime;
        kept[count].size_mb = kept_size(state, entry->d_name);
        count++;
    }
    if (folder)
        closedir(folder);
    qsort(kept, count, sizeof(*kept), compare_kept);
    return count;
}

void state_sweep_rootfs(const struct state *state, bool (*in_use)(const void *context, const char *key),
                        const void *context)
{
    struct kept kept[ROOTFS_MOST];
    const size_t count = list_kept(state, kept, ROOTFS_MOST);
    const time_t now = time(NULL);
    int64_t size_mb = 0;

    for (size_t i = 0; i < count; i++) {
        size_mb += kept[i].size_mb;
        if (kept[i].used >= now - ROOTFS_SECONDS && (size_mb <= ROOTFS_MB || kept[i].used >= now - ROOTFS_FRESH))
            continue;
        if (!in_use(context, kept[i].key) && renameat(state->rootfs_fd, kept[i].key, state->trash_fd, kept[i].key) == 0)
            wake_trash("");
    }
}

void state_sweep_downloads(const struct state *state)
{
    AUTO_CLOSE int downloads = openat(state->fd, "downloads", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *folder = downloads >= 0 && flock(downloads, LOCK_EX | LOCK_NB) == 0 ? list_folder(downloads) : NULL;

    for (struct dirent *entry; folder && (entry = readdir(folder));)
        if (*entry->d_name != '.' && renameat(downloads, entry->d_name, state->trash_fd, entry->d_name) == 0)
            wake_trash("");
    if (folder)
        closedir(folder);
}
