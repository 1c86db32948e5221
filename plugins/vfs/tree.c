#include "tree.h"

#include "store.h"

#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/random.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <limits.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/syscall.h>

/* Two descriptors for each level; a process may have 1024. */
enum { DEEPEST = 400, PIECE = 1 << 20, NUMBER_DIGITS = 16 };

/* What this thread makes on file systems belongs to whom it acts as. */
static void act_as(uid_t uid, gid_t gid)
{
    if (geteuid() != 0)
        return;
    setfsgid(gid);
    setfsuid(uid);
}

static void act_as_myself(void)
{
    act_as(geteuid(), getegid());
}

/* ---- looking --------------------------------------------------------------------------------------------------------
 */

int tree_open(int root_fd, const char *path)
{
    const struct open_how how = {.flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC,
                                 .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};

    return (int)syscall(SYS_openat2, root_fd, path, &how, sizeof(how));
}

/* The folder's entries, from its beginning; FD stays the caller's. */
static DIR *entries_of(int fd)
{
    int own = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = own < 0 ? NULL : fdopendir(own);

    if (!folder && own >= 0)
        close(own);
    return folder;
}

static struct dirent *next_entry(DIR *folder)
{
    struct dirent *entry;

    errno = 0;
    do
        entry = readdir(folder);
    while (entry && (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0));
    return entry;
}

static void close_folder(DIR **folder)
{
    if (*folder)
        closedir(*folder);
}

#define AUTO_FOLDER CLEANUP(close_folder)

/* Without a descriptor for each level, for there may be a thousand. */
uint64_t tree_size(int fd)
{
    char path[32];
    char *const roots[] = {path, NULL};
    uint64_t size = 0;

    snprintf(path, sizeof(path), "/proc/self/fd/%d/.", fd);
    FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);

    for (FTSENT *entry; walk && (entry = fts_read(walk));)
        if (entry->fts_info == FTS_F || entry->fts_info == FTS_D || entry->fts_info == FTS_SL)
            size += (uint64_t)entry->fts_statp->st_blocks * 512;
    if (walk)
        fts_close(walk);
    return size;
}

/* ---- copying --------------------------------------------------------------------------------------------------------
 */

struct copying {
    struct sandlot_call *call;
    const struct place *to;
};

static enum sandlot_status interrupted(struct sandlot_call *call)
{
    if (sandlot_cancelled(call))
        return sandlot_fail(call, SANDLOT_CANCELLED, "cancelled while files were copied");
    if (sandlot_remaining_ms(call, 1) == 0)
        return sandlot_fail(call, SANDLOT_TIMEOUT, "the files were not copied in time; allow more, or copy fewer");
    return SANDLOT_OK;
}

static enum sandlot_status fail_at(const struct copying *copying, const char *what, const char *name)
{
    char sentence[NAME_MAX + 64];
    const int error = errno;

    snprintf(sentence, sizeof(sentence), "%s \"%s\" cannot be copied", what, name);
    errno = error;
    return store_fail(copying->call, sentence);
}

static bool write_all(int fd, const char *bytes, size_t length, off_t at)
{
    while (length > 0) {
        ssize_t done = pwrite(fd, bytes, length, at);

        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return false;
        bytes += done;
        at += done;
        length -= (size_t)done;
    }
    return true;
}

/* Copies the bytes from AT to END. False with errno, 0: interrupted. */
static bool copy_piece(const struct copying *copying, int from, int to, off_t at, off_t end,
                       enum sandlot_status *status)
{
    AUTO_FREE char *buffer = malloc(PIECE);

    while (buffer && at < end && (*status = interrupted(copying->call)) == SANDLOT_OK) {
        ssize_t got = pread(from, buffer, end - at < PIECE ? (size_t)(end - at) : PIECE, at);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 || (got > 0 && !write_all(to, buffer, (size_t)got, at)))
            return false;
        if (got == 0)
            break; /* it has become shorter */
        at += got;
    }
    return buffer != NULL;
}

/* What is written of FROM, with nothing where it has holes. */
static enum sandlot_status copy_bytes(const struct copying *copying, int from, int to, off_t length, const char *name)
{
    enum sandlot_status status = SANDLOT_OK;
    off_t end = 0;

    if (ftruncate(to, length) < 0)
        return fail_at(copying, "the file", name);
    for (off_t at = lseek(from, 0, SEEK_DATA); at >= 0 && at < length && status == SANDLOT_OK;
         at = lseek(from, end, SEEK_DATA)) {
        end = lseek(from, at, SEEK_HOLE);
        if (end < 0 || end > length)
            end = length;
        if (!copy_piece(copying, from, to, at, end, &status))
            return fail_at(copying, "the file", name);
    }
    return status;
}

static void set_times(int fd, const char *name, const struct stat *status)
{
    const struct timespec times[2] = {status->st_atim, status->st_mtim};

    utimensat(fd, name, times, AT_SYMLINK_NOFOLLOW);
}

static enum sandlot_status copy_file(const struct copying *copying, int from, int to, const char *name)
{
    const mode_t bits = S_IRWXU | S_IRWXG | S_IRWXO;
    AUTO_CLOSE int source = openat(from, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct stat status;

    if (source < 0 || fstat(source, &status) < 0)
        return fail_at(copying, "the file", name);
    if (!S_ISREG(status.st_mode))
        return SANDLOT_OK; /* it was exchanged */
    act_as(copying->to->uid, copying->to->gid);
    AUTO_CLOSE int target = openat(to, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    enum sandlot_status result =
        target < 0 ? fail_at(copying, "the file", name) : copy_bytes(copying, source, target, status.st_size, name);

    if (result == SANDLOT_OK) {
        fchmod(target, status.st_mode & bits);
        set_times(to, name, &status);
    }
    act_as_myself();
    return result;
}

static enum sandlot_status copy_link(const struct copying *copying, int from, int to, const char *name)
{
    char target[PATH_MAX];
    ssize_t length = readlinkat(from, name, target, sizeof(target) - 1);

    if (length < 0)
        return fail_at(copying, "the link", name);
    target[length] = '\0';
    act_as(copying->to->uid, copying->to->gid);
    int made = symlinkat(target, to, name);

    act_as_myself();
    return made < 0 ? fail_at(copying, "the link", name) : SANDLOT_OK;
}

static enum sandlot_status copy_all(const struct copying *copying, int from, int to, int depth);

static enum sandlot_status copy_folder(const struct copying *copying, int from, int to, const char *name, int depth)
{
    AUTO_CLOSE int source = openat(from, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat status;

    if (source < 0 || fstat(source, &status) < 0)
        return fail_at(copying, "the folder", name);
    act_as(copying->to->uid, copying->to->gid);
    AUTO_CLOSE int target =
        mkdirat(to, name, 0700) < 0 ? -1 : openat(to, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    act_as_myself();
    if (target < 0)
        return fail_at(copying, "the folder", name);
    enum sandlot_status result = copy_all(copying, source, target, depth + 1);

    act_as(copying->to->uid, copying->to->gid);
    fchmod(target, status.st_mode & (S_IRWXU | S_IRWXG | S_IRWXO));
    set_times(to, name, &status);
    act_as_myself();
    return result;
}

static enum sandlot_status copy_entry(const struct copying *copying, int from, int to, const char *name, int depth)
{
    struct stat status;

    if (fstatat(from, name, &status, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? SANDLOT_OK : fail_at(copying, "the entry", name);
    if (S_ISREG(status.st_mode))
        return copy_file(copying, from, to, name);
    if (S_ISLNK(status.st_mode))
        return copy_link(copying, from, to, name);
    return S_ISDIR(status.st_mode) ? copy_folder(copying, from, to, name, depth) : SANDLOT_OK;
}

static enum sandlot_status copy_all(const struct copying *copying, int from, int to, int depth)
{
    DIR *folder AUTO_FOLDER = entries_of(from);
    enum sandlot_status status = SANDLOT_OK;

    if (depth > DEEPEST)
        return sandlot_fail(copying->call, SANDLOT_INVALID_ARGUMENT,
                            "folders that are more than %d deep cannot be copied; make them less deep", DEEPEST);
    if (!folder)
        return fail_at(copying, "a folder in", ".");
    for (struct dirent *entry; status == SANDLOT_OK && (entry = next_entry(folder));) {
        status = interrupted(copying->call);
        if (status == SANDLOT_OK)
            status = copy_entry(copying, from, to, entry->d_name, depth);
    }
    return status;
}

enum sandlot_status tree_copy(struct sandlot_call *call, const struct place *from, const struct place *to)
{
    const struct copying copying = {call, to};

    return copy_all(&copying, from->fd, to->fd, 0);
}

/* ---- removing -------------------------------------------------------------------------------------------------------
 */

/* Removes what the folder FROM has but for folders, which move up to TO: so depth is no matter. */
static void lift(int from, int to)
{
    DIR *folder AUTO_FOLDER = entries_of(from);
    char name[NUMBER_DIGITS + 1];

    for (struct dirent *entry; folder && (entry = next_entry(folder));) {
        if (unlinkat(from, entry->d_name, 0) == 0)
            continue;
        random_digits(name, NUMBER_DIGITS);
        if (fchmodat(from, entry->d_name, 0700, 0) == 0) /* one without rights does not move; it is this user's */
            renameat(from, entry->d_name, to, name);
    }
}

static bool remove_entry(int fd, const char *name)
{
    if (unlinkat(fd, name, 0) == 0)
        return true;
    AUTO_CLOSE int below =
        fchmodat(fd, name, 0700, 0) < 0 ? -1 : openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (below >= 0)
        lift(below, fd);
    return unlinkat(fd, name, AT_REMOVEDIR) == 0;
}

/* Empties the folder FD. Names come and go while they are read, so it is read again until nothing is left. */
static bool empty(int fd)
{
    bool found = true;

    fchmod(fd, 0700);
    for (bool removed = true; found && removed;) {
        DIR *folder AUTO_FOLDER = entries_of(fd);

        found = removed = false;
        for (struct dirent *entry; folder && (entry = next_entry(folder)); found = true)
            removed = remove_entry(fd, entry->d_name) || removed;
    }
    return !found;
}

bool tree_remove(int folder_fd, const char *path)
{
    AUTO_CLOSE int fd = openat(folder_fd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0)
        return errno == ENOENT;
    return empty(fd) && unlinkat(folder_fd, path, AT_REMOVEDIR) == 0;
}

/* ---- writing --------------------------------------------------------------------------------------------------------
 */

/* The folder that PATH's last name belongs to, made if need be; *LAST is that name. -1 with errno. */
static int make_parents(int fd, char *path, const char **last)
{
    int at = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    for (char *slash; at >= 0 && (slash = strchr(path, '/')); path = slash + 1) {
        AUTO_CLOSE int above = at;

        *slash = '\0';
        at = *path && mkdirat(above, path, 0755) < 0 && errno != EEXIST
                 ? -1
                 : openat(above, *path ? path : ".", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    }
    *last = path;
    return at;
}

static bool write_new(int fd, const char *path, const char *text, size_t length)
{
    AUTO_FREE char *names = strdup(path);
    const char *name = NULL;
    AUTO_CLOSE int folder = names ? make_parents(fd, names, &name) : -1;
    AUTO_CLOSE int file =
        folder < 0 ? -1 : openat(folder, name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);

    return file >= 0 && write_all(file, text, length, 0);
}

bool tree_write(const struct place *place, const char *path, const char *text, size_t length)
{
    act_as(place->uid, place->gid);
    bool written = write_new(place->fd, path, text, length);
    const int error = errno;

    act_as_myself();
    errno = error;
    return written;
}
