#include "operations/native/replace.h"

#include "base/cleanup.h"
#include "operations/native/open.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>

enum {
    MOST_LINKS = 40, /* as many as the kernel follows */
    TRIES = 16,      /* for a name that is not taken */
    NEW_MODE = 0644, /* 0666 less the umask of a sandbox */
    KEPT_BITS = 0777,
    COPY_BYTES = 256 * 1024,
    LOCK_PAUSE_MS = 5,
    LOCK_MOST_MS = 10 * 1000 /* a program's own lock, which may last as long as it runs, keeps nobody from its file */
};

bool replacement_same(const struct statx *status, const struct statx *before)
{
    return status->stx_ino == before->stx_ino && status->stx_dev_major == before->stx_dev_major &&
           status->stx_dev_minor == before->stx_dev_minor && status->stx_size == before->stx_size &&
           status->stx_ctime.tv_sec == before->stx_ctime.tv_sec &&
           status->stx_ctime.tv_nsec == before->stx_ctime.tv_nsec;
}

/* ---- where the file is ---- */

/* The path to which the link NAME, itself at PATH, leads; to be freed. NULL with errno, EINVAL: it is no link. */
static char *link_target(int folder_fd, const char *name, const char *path)
{
    char target[PATH_MAX];
    ssize_t length = readlinkat(folder_fd, name, target, sizeof(target));

    if (length <= 0 || length >= (ssize_t)sizeof(target)) {
        errno = length < 0 ? errno : ENAMETOOLONG;
        return NULL;
    }
    while (length > 1 && target[length - 1] == '/')
        length--;
    size_t before = *target == '/' ? 0 : (size_t)(name - path);
    char *whole = malloc(before + (size_t)length + 1);

    if (!whole)
        return NULL;
    memcpy(whole, path, before);
    memcpy(whole + before, target, (size_t)length);
    whole[before + (size_t)length] = '\0';
    return whole;
}

/* Opens the directory in which PATH ends, and makes it if it is missing. */
static int open_or_make_parent(int root_fd, const char *path, const char **name)
{
    int folder = native_open_parent(root_fd, path, name);

    if (folder >= 0 || errno != ENOENT)
        return folder;
    AUTO_FREE char *parent = strndup(path, (size_t)(*name - path));

    return parent ? native_make_folders(root_fd, parent) : -1;
}

/*
 * Follows the links at the end of PATH one by one, because what is replaced is their target. What is found in the end
 * is a name in an open directory; should somebody put a link there after all, the new file takes the link's place.
 */
static int find_target(int root_fd, const char *path, struct replacement *replacement)
{
    AUTO_FREE char *own = NULL;

    for (int left = MOST_LINKS; left > 0; left--) {
        const char *name = NULL;
        AUTO_CLOSE int folder = open_or_make_parent(root_fd, path, &name);

        if (folder < 0)
            return -1;
        if (strlen(name) > NAME_MAX) {
            errno = ENAMETOOLONG;
            return -1;
        }
        int looked = native_status(folder, name, &replacement->old);

        if (looked < 0 && errno != ENOENT)
            return -1;
        if (looked < 0 || !S_ISLNK(replacement->old.stx_mode)) {
            replacement->exists = looked == 0;
            memcpy(replacement->name, name, strlen(name) + 1);
            replacement->folder_fd = take_fd(&folder);
            return 0;
        }
        char *target = link_target(folder, name, path);

        if (!target && errno == EINVAL)
            continue; /* it was a link a moment ago */
        if (!target)
            return -1;
        free(own);
        path = own = target;
    }
    errno = ELOOP;
    return -1;
}

/* May the file that exists be replaced by this user? Its directory alone would allow too much. */
static int check_target(const struct replacement *replacement)
{
    if (S_ISDIR(replacement->old.stx_mode)) {
        errno = EISDIR;
        return -1;
    }
    if (!S_ISREG(replacement->old.stx_mode)) {
        errno = ENXIO;
        return -1;
    }
    /* The system call itself: the library would fall back on the rights of the process. */
    return (int)syscall(SYS_faccessat2, replacement->folder_fd, replacement->name, W_OK,
                        AT_EACCESS | AT_SYMLINK_NOFOLLOW);
}

/* ---- where its content is gathered ---- */

/* ".NAME.sandlot-RANDOM", NAME cut so that it fits. */
static int name_temporary(struct replacement *replacement)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz234567";
    unsigned char random[10];
    char suffix[sizeof(random) + 1] = "";

    if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
        return -1;
    for (size_t i = 0; i < sizeof(random); i++)
        suffix[i] = letters[random[i] % 32];
    const int kept = NAME_MAX - (int)(sizeof(".") + sizeof(".sandlot-") + sizeof(suffix));

    snprintf(replacement->temporary, sizeof(replacement->temporary), ".%.*s.sandlot-%s", kept, replacement->name,
             suffix);
    return 0;
}

static int make_temporary(struct replacement *replacement)
{
    for (int left = TRIES; left > 0; left--) {
        if (name_temporary(replacement) < 0)
            return -1;
        replacement->fd = openat(replacement->folder_fd, replacement->temporary,
                                 O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY, 0600);
        if (replacement->fd >= 0)
            return 0;
        *replacement->temporary = '\0';
        if (errno != EEXIST)
            return -1;
    }
    return -1;
}

/* A file without a name: on the sandbox's disk if that is possible, else in the memory of this process. */
static int make_nameless(int root_fd)
{
    int fd = native_open(root_fd, "/tmp", O_TMPFILE | O_RDWR);

    return fd >= 0 ? fd : memfd_create("sandlot-content", MFD_CLOEXEC);
}

static bool is_refusal(int reason)
{
    return reason == EACCES || reason == EPERM || reason == EROFS;
}

int replacement_begin(int root_fd, const char *path, mode_t mode, struct replacement *replacement)
{
    if (find_target(root_fd, path, replacement) < 0)
        return -1;
    if (replacement->exists && check_target(replacement) < 0)
        return -1;
    replacement->mode = replacement->exists ? replacement->old.stx_mode & KEPT_BITS
                        : mode              ? mode & KEPT_BITS
                                            : NEW_MODE;
    replacement->in_place =
        replacement->exists && (replacement->old.stx_nlink > 1 || native_is_mount(&replacement->old));
    if (!replacement->in_place) {
        if (make_temporary(replacement) == 0)
            return 0;
        /* The kernel's own directories, /proc and its like, know no new names. */
        if (!replacement->exists || (!is_refusal(errno) && errno != ENOENT))
            return -1;
        replacement->in_place = true;
    }
    replacement->fd = make_nameless(root_fd);
    return replacement->fd < 0 ? -1 : 0;
}

/* ---- its place ---- */

/* The next bytes of FD from AT on that are no hole, up to LENGTH: *START to *END. Where holes are not known all are. */
static void find_data(int fd, off_t at, off_t length, off_t *start, off_t *end)
{
    *start = lseek(fd, at, SEEK_DATA);
    if (*start < 0)
        *start = errno == ENXIO ? length : at;
    *end = *start < length ? lseek(fd, *start, SEEK_HOLE) : length;
    if (*end <= *start || *end > length)
        *end = length;
}

static int copy_range(int from, int to, char *buffer, off_t at, off_t end)
{
    while (at < end) {
        ssize_t got = pread(from, buffer, end - at < COPY_BYTES ? (size_t)(end - at) : COPY_BYTES, at);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return -1;
        for (ssize_t done = 0; done < got;) {
            ssize_t written = pwrite(to, buffer + done, (size_t)(got - done), at + done);

            if (written < 0 && errno != EINTR)
                return -1;
            done += written > 0 ? written : 0;
        }
        at += got;
    }
    return 0;
}

/* A hole becomes one, or where the file system knows none, zeros. */
static int copy_all(int from, int to, off_t length)
{
    AUTO_FREE char *buffer = malloc(COPY_BYTES);
    off_t end = 0;

    for (off_t at = 0, start; buffer && at < length; at = end) {
        find_data(from, at, length, &start, &end);
        if (start > at && fallocate(to, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at, start - at) < 0)
            start = at;
        if (copy_range(from, to, buffer, start, end) < 0)
            return -1;
    }
    return buffer ? 0 : -1;
}

/* Takes the space in FILE for what CONTENT has. */
static int take_space(int file, int content, off_t length)
{
    off_t end = 0;

    for (off_t at = 0, start; at < length; at = end) {
        find_data(content, at, length, &start, &end);
        if (end > start && fallocate(file, FALLOC_FL_KEEP_SIZE, start, end - start) < 0 && errno != EOPNOTSUPP &&
            errno != ENOSYS && errno != EINTR)
            return -1;
    }
    return 0;
}

/* One at a time, whatever process each is in: of two at once a mixture would be left. 0 or -1 with errno. */
static int take_turn(const struct file_call *call, int file)
{
    const int64_t until_ms = sandlot_now_ms() + LOCK_MOST_MS;

    while (flock(file, LOCK_EX | LOCK_NB) < 0) {
        if (errno != EWOULDBLOCK || sandlot_now_ms() >= until_ms)
            return 0; /* or a file system without locks */
        errno = native_stop(call);
        if (errno)
            return -1;
        poll(NULL, 0, LOCK_PAUSE_MS);
    }
    return 0;
}

/*
 * Over the old content. The price: a reader may see a mixture of both, and if this machine stops in between, the
 * file stays one. Hence all of the new content is at hand before, the space for it is taken first, and the file is cut
 * to its new length last, so that a full disk leaves the old content whole.
 */
static int rewrite(const struct file_call *call, const struct replacement *replacement, const struct statx *expected)
{
    AUTO_CLOSE int file =
        openat(replacement->folder_fd, replacement->name, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    struct statx status;
    struct stat content;

    if (file < 0 || take_turn(call, file) < 0 || native_status(file, "", &status) < 0 ||
        fstat(replacement->fd, &content) < 0)
        return -1;
    if (!S_ISREG(status.stx_mode) || (expected && !replacement_same(&status, expected))) {
        errno = ESTALE;
        return -1;
    }
    if (take_space(file, replacement->fd, content.st_size) < 0 || copy_all(replacement->fd, file, content.st_size) < 0)
        return -1;
    return ftruncate(file, content.st_size);
}

/* Is the file still the one that was EXPECTED? */
static int check_unchanged(const struct replacement *replacement, const struct statx *expected)
{
    struct statx status;

    if (!expected)
        return 0;
    if (native_status(replacement->folder_fd, replacement->name, &status) == 0 && replacement_same(&status, expected))
        return 0;
    errno = ESTALE;
    return -1;
}

/* What lies under the temporary name after an exchange: may it go? If not, errno says why. */
static bool may_go(const struct replacement *replacement, const struct statx *expected)
{
    struct statx displaced;

    if (native_status(replacement->folder_fd, replacement->temporary, &displaced) < 0)
        return errno == ENOENT; /* somebody has removed it already */
    errno = S_ISDIR(displaced.stx_mode) ? EISDIR : ESTALE;
    /* The exchange itself has changed the ctime. */
    return !S_ISDIR(displaced.stx_mode) &&
           (!expected || (displaced.stx_ino == expected->stx_ino && displaced.stx_size == expected->stx_size &&
                          displaced.stx_mtime.tv_sec == expected->stx_mtime.tv_sec &&
                          displaced.stx_mtime.tv_nsec == expected->stx_mtime.tv_nsec));
}

/*
 * Gives the new content the file's name. Where there is a file the two are exchanged and the old one removed: a rename
 * over a file makes ext4 write the new content out at once, which takes longer than all the rest, and an exchange
 * shows what has been displaced, so that nothing goes that was not expected.
 */
static int take_name(struct replacement *replacement, const struct statx *expected)
{
    int folder = replacement->folder_fd;

    if (replacement->exists &&
        renameat2(folder, replacement->temporary, folder, replacement->name, RENAME_EXCHANGE) == 0) {
        if (may_go(replacement, expected))
            return 0; /* replacement_end removes the old file */
        int why = errno;

        renameat2(folder, replacement->temporary, folder, replacement->name, RENAME_EXCHANGE);
        errno = why;
        return -1;
    }
    /* It is gone by now, or this file system exchanges nothing. */
    if (replacement->exists && errno != ENOENT && errno != EINVAL && errno != ENOSYS)
        return -1;
    if (renameat(folder, replacement->temporary, folder, replacement->name) < 0)
        return -1;
    *replacement->temporary = '\0';
    return 0;
}

int replacement_commit(const struct file_call *call, struct replacement *replacement, const struct statx *expected)
{
    if (replacement->in_place)
        return rewrite(call, replacement, expected);
    if (fchmod(replacement->fd, replacement->mode) < 0 || check_unchanged(replacement, expected) < 0)
        return -1;
    if (take_name(replacement, expected) == 0)
        return 0;
    /* In a directory with the sticky bit nobody replaces what belongs to others, even if they may write it. */
    return replacement->exists && (is_refusal(errno) || errno == EBUSY) ? rewrite(call, replacement, expected) : -1;
}

void replacement_end(struct replacement *replacement)
{
    int saved = errno;

    if (*replacement->temporary)
        unlinkat(replacement->folder_fd, replacement->temporary, 0);
    if (replacement->fd >= 0)
        close(replacement->fd);
    if (replacement->folder_fd >= 0)
        close(replacement->folder_fd);
    *replacement = (struct replacement)NO_REPLACEMENT;
    errno = saved;
}
