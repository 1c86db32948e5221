/*
 * Removing trees. What runs in the sandbox may move folders and swap them for links meanwhile. So the way down is
 * by open directories, never through a link, and the way up is believed only if it leads to where we came from.
 * However deep the tree, three descriptors are open at most.
 */
#include "base/cleanup.h"
#include "operations/file_error.h"
#include "operations/native/native.h"
#include "operations/native/open.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>

enum { RESTARTS = 100 /* when folders are moved meanwhile */ };

/* A directory on the way down, and its name in the one above. */
struct level {
    dev_t device;
    ino_t inode;
    char *name;
};

/* One removal under way. */
struct removal {
    const struct file_call *call;
    int top_fd; /* where the tree's name is */
    struct level *levels;
    size_t depth;
    size_t capacity;
    DIR *directory; /* the deepest level, open; NULL: none */
    bool begun;     /* something was there */
};

static void forget_levels(struct removal *removal)
{
    while (removal->depth > 0)
        free(removal->levels[--removal->depth].name);
    if (removal->directory)
        closedir(TAKE(removal->directory));
}

static bool push(struct removal *removal, const char *name, const struct stat *status)
{
    if (removal->depth == removal->capacity) {
        size_t capacity = removal->capacity ? removal->capacity * 2 : 64;
        struct level *grown = realloc(removal->levels, capacity * sizeof(*grown));

        if (!grown)
            return false;
        removal->levels = grown;
        removal->capacity = capacity;
    }
    char *copy = strdup(name);

    if (!copy)
        return false;
    removal->levels[removal->depth++] = (struct level){status->st_dev, status->st_ino, copy};
    return true;
}

/* Makes the open directory FD, which it takes, the one that is worked on. */
static int enter(struct removal *removal, int fd)
{
    DIR *directory = fdopendir(fd);

    if (!directory) {
        close(fd);
        return -1;
    }
    if (removal->directory)
        closedir(removal->directory);
    removal->directory = directory;
    return 0;
}

static int folder_of(const struct removal *removal)
{
    return removal->directory ? dirfd(removal->directory) : removal->top_fd;
}

/* Removes the directory NAME, or goes down into it. An empty one goes at once, even if it may not be read. */
static int descend(struct removal *removal, const char *name)
{
    if (unlinkat(folder_of(removal), name, AT_REMOVEDIR) == 0)
        return 0;
    if (errno != ENOTEMPTY && errno != EEXIST)
        return -1;
    AUTO_CLOSE int fd = openat(folder_of(removal), name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat status;

    if (fd < 0 || fstat(fd, &status) < 0)
        return -1;
    if (!push(removal, name, &status)) {
        errno = ENOMEM;
        return -1;
    }
    return enter(removal, take_fd(&fd));
}

/* Opens the directory above the deepest one. ESTALE: it is not the one from which we came. */
static int open_above(const struct removal *removal, const struct level *above)
{
    AUTO_CLOSE int fd = openat(dirfd(removal->directory), "..", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat status;

    if (fd < 0 || fstat(fd, &status) < 0)
        return -1;
    if (status.st_dev != above->device || status.st_ino != above->inode) {
        errno = ESTALE;
        return -1;
    }
    return take_fd(&fd);
}

/* Goes up from a directory that is empty now, and removes it. */
static int ascend(struct removal *removal)
{
    AUTO_FREE char *name = removal->levels[--removal->depth].name;

    if (removal->depth == 0) {
        closedir(TAKE(removal->directory));
    } else {
        int fd = open_above(removal, &removal->levels[removal->depth - 1]);

        if (fd < 0 || enter(removal, fd) < 0)
            return -1;
    }
    if (unlinkat(folder_of(removal), name, AT_REMOVEDIR) == 0)
        return 0;
    /* Gone already, swapped for something else, or filled again: seen to when its parent is read once more. */
    bool passing = errno == ENOENT || errno == ENOTDIR || errno == ENOTEMPTY;

    return removal->depth > 0 && passing ? 0 : -1;
}

/* Removes the entry NAME, or goes down into it. */
static int remove_entry(struct removal *removal, const char *name)
{
    struct statx status;

    if (native_status(folder_of(removal), name, &status) < 0)
        return -1;
    removal->begun = true;
    /* From outside the kernel would let it go, and the mount with it. */
    if (native_is_mount(&status)) {
        errno = EBUSY;
        return -1;
    }
    if (S_ISDIR(status.stx_mode))
        return descend(removal, name);
    return unlinkat(folder_of(removal), name, 0);
}

/* Works on the deepest directory until it is left, downwards or upwards. */
static int work(struct removal *removal)
{
    const size_t depth = removal->depth;

    while (removal->depth == depth) {
        errno = native_stop(removal->call);
        const struct dirent *entry = errno ? NULL : readdir(removal->directory);

        if (!entry)
            return errno ? -1 : ascend(removal);
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        /* What has gone, or has become something else a moment ago, is met again or not. */
        if (remove_entry(removal, entry->d_name) < 0 && errno != ENOENT && errno != EISDIR && errno != ENOTDIR &&
            errno != ELOOP)
            return -1;
    }
    return 0;
}

/* Removes NAME with all below it. 0 or -1 with errno, ESTALE: to be begun again. */
static int remove_tree(struct removal *removal, const char *name)
{
    if (remove_entry(removal, name) < 0)
        return -1;
    while (removal->depth > 0)
        if (work(removal) < 0)
            return -1;
    return 0;
}

/* Could the reason go away by itself, because the tree is being changed? */
static bool is_passing(int reason)
{
    return reason == ESTALE || reason == ENOTEMPTY || reason == EISDIR || reason == ENOTDIR || reason == ELOOP;
}

static bool is_same(const struct statx *a, const struct statx *b)
{
    return a->stx_ino == b->stx_ino && a->stx_dev_major == b->stx_dev_major && a->stx_dev_minor == b->stx_dev_minor;
}

/* Is the working directory, wherever its path and that of the call lead, NAME in FOLDER_FD or somewhere below it? */
static bool holds_working_dir(const struct file_call *call, int root_fd, int folder_fd, const char *name)
{
    struct statx wanted;
    struct statx root;
    struct statx status;

    if (native_status(folder_fd, name, &wanted) < 0 || !S_ISDIR(wanted.stx_mode) ||
        native_status(root_fd, "", &root) < 0)
        return false;
    AUTO_CLOSE int fd = native_open(root_fd, call->session->working_dir, O_PATH | O_DIRECTORY);

    for (int left = PATH_MAX; fd >= 0 && left > 0 && native_status(fd, "", &status) == 0; left--) {
        if (is_same(&status, &wanted))
            return true;
        if (is_same(&status, &root))
            return false;
        int above = openat(fd, "..", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

        close(fd);
        fd = above;
    }
    return false;
}

int native_remove(const struct file_call *call, struct sandlot_error *error)
{
    AUTO_ROOT struct native_root root = NATIVE_NO_ROOT;

    if (native_begin(call, &root, error) < 0)
        return -1;
    const char *name = NULL;
    AUTO_CLOSE int folder = native_open_parent(root.fd, call->path, &name);

    if (folder < 0)
        return native_failed(call, root.fd, errno, error);
    if (holds_working_dir(call, root.fd, folder, name))
        return file_error_working_dir(error, call);
    struct removal removal = {.call = call, .top_fd = folder};
    int removed = -1;
    int reason = 0;

    for (int left = RESTARTS; removed < 0 && left > 0; left--) {
        removed = remove_tree(&removal, name);
        reason = errno;
        forget_levels(&removal);
        if (removed < 0 && removal.begun && reason == ENOENT)
            removed = 0; /* somebody else has removed the rest */
        if (removed < 0 && !is_passing(reason))
            break;
    }
    free(removal.levels);
    return removed == 0 ? 0 : native_failed(call, root.fd, reason, error);
}
