#include "operations/local_file.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <poll.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    NAME_TRIES = 16,
    BLOCK = 4096 /* of a file system, which has it or is a hole there */
};

void local_init(struct local_file *file)
{
    *file = (struct local_file){.fd = -1,
                                .start = -1,
                                .bytes = LOCAL_SIZE_UNKNOWN,
                                .folder_fd = -1,
                                .target_mode = -1,
                                .target_uid = -1,
                                .target_gid = -1};
}

void local_close(struct local_file *file)
{
    if (file->owned && file->fd >= 0)
        close(file->fd);
    if (file->temporary[0])
        unlinkat(file->folder_fd, file->temporary, 0);
    if (file->folder_fd >= 0)
        close(file->folder_fd);
    free(file->name);
    local_init(file);
}

/* The codes of sandboxes' files serve for local ones too; the message says which machine is meant. */
static int local_error(struct sandlot_error *error, int reason, const char *what, const char *path)
{
    enum sandlot_code code = SANDLOT_CODE_INTERNAL_ERROR;

    if (reason == ENOENT)
        return error_set(error, SANDLOT_CODE_FILE_NOT_FOUND, "local file '%s' not found; check the path", path);
    if (reason == EISDIR)
        return error_set(error, SANDLOT_CODE_IS_DIRECTORY, "the local path '%s' is a directory", path);
    if (reason == EACCES || reason == EPERM || reason == EROFS)
        code = SANDLOT_CODE_PERMISSION_DENIED;
    else if (reason == ENOTDIR || reason == ELOOP || reason == ENAMETOOLONG || reason == EXDEV)
        code = SANDLOT_CODE_INVALID_PATH;
    else if (reason == ENOSPC || reason == EDQUOT)
        code = SANDLOT_CODE_NO_SPACE;
    return error_set(error, code, "cannot %s the local file '%s': %s", what, path, strerror(reason));
}

/* ---- sources ---- */

/* A pipe that nobody has opened for writing yet looks as if it had ended, so its first bytes are waited for. */
static int wait_for_writer(int fd, int cancel_fd, const char *path, struct sandlot_error *error)
{
    struct pollfd fds[2] = {{fd, POLLIN, 0}, {cancel_fd, POLLIN, 0}};

    while (poll(fds, 2, -1) < 0)
        if (errno != EINTR)
            return local_error(error, errno, "read", path);
    if (fds[1].revents)
        return error_set(error, SANDLOT_CODE_CANCELLED, "cancelled while nothing came from the local pipe '%s'", path);
    return fcntl(fd, F_SETFL, 0) < 0 ? local_error(error, errno, "read", path) : 0;
}

static void note_source(struct local_file *file, const struct stat *status)
{
    file->start = lseek(file->fd, 0, SEEK_CUR);
    file->executable = status->st_mode & 0111;
    if (!S_ISREG(status->st_mode))
        file->start = -1;
    else if (file->start >= 0 && status->st_size >= file->start)
        file->bytes = (uint64_t)(status->st_size - file->start);
}

int local_borrow(struct local_file *file, int fd, const char *shown, struct sandlot_error *error)
{
    struct stat status;

    file->fd = fd;
    if (fstat(fd, &status) < 0)
        return error_set(error, SANDLOT_CODE_USAGE, "the descriptor %d given for '%s' is not open", fd, shown);
    note_source(file, &status);
    return 0;
}

int local_open_source(struct local_file *file, const char *path, int cancel_fd, struct sandlot_error *error)
{
    struct stat status;

    file->fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    file->owned = true;
    if (file->fd < 0 || fstat(file->fd, &status) < 0)
        return local_error(error, errno, "read", path);
    if (S_ISDIR(status.st_mode))
        return error_set(error, SANDLOT_CODE_IS_DIRECTORY,
                         "the local path '%s' is a directory; ask for a recursive transfer (-r) to move all that is in "
                         "it",
                         path);
    if (S_ISFIFO(status.st_mode))
        return wait_for_writer(file->fd, cancel_fd, path, error);
    if (!S_ISREG(status.st_mode))
        return error_set(error, SANDLOT_CODE_NOT_A_FILE,
                         "the local path '%s' is neither a file nor a pipe; name one of these", path);
    note_source(file, &status);
    return 0;
}

/* ---- targets ---- */

/* What is there now under the target's name. */
static int look_at_target(struct local_file *file, const char *shown, struct sandlot_error *error)
{
    struct stat status;

    if (fstatat(file->folder_fd, file->name, &status, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? 0 : local_error(error, errno, "write", shown);
    if (S_ISDIR(status.st_mode))
        return local_error(error, EISDIR, "write", shown);
    if (!S_ISREG(status.st_mode))
        return 0;
    if (faccessat(file->folder_fd, file->name, W_OK, AT_EACCESS) < 0)
        return local_error(error, errno, "write", shown);
    file->target_mode = status.st_mode & 0777; /* what a sandbox sends runs with nobody's rights */
    file->target_uid = status.st_uid;
    file->target_gid = status.st_gid;
    return 0;
}

/* The temporary file is never open to more people than the file that it replaces. */
static int open_temporary(struct local_file *file, const char *shown, struct sandlot_error *error)
{
    if (look_at_target(file, shown, error) < 0)
        return -1;
    mode_t mode = file->target_mode >= 0 ? (mode_t)file->target_mode & 0666 : 0666;

    for (int i = 0; i < NAME_TRIES; i++) {
        uint64_t number;

        if (getrandom(&number, sizeof(number), 0) != sizeof(number))
            break;
        snprintf(file->temporary, sizeof(file->temporary), ".sandlot-%016" PRIx64, number);
        file->fd = openat(file->folder_fd, file->temporary, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
        if (file->fd >= 0) {
            file->owned = true;
            file->start = 0;
            return 0;
        }
        if (errno != EEXIST)
            break;
    }
    file->temporary[0] = '\0';
    return local_error(error, errno, "write", shown);
}

/* A pipe or device takes the bytes as they come. */
static int open_directly(struct local_file *file, const char *path, struct sandlot_error *error)
{
    file->fd = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    file->owned = true;
    if (file->fd < 0 || fcntl(file->fd, F_SETFL, 0) < 0)
        return local_error(error, errno, "write", path);
    return 0;
}

/* The file that PATH means: links resolved, and inside the folder if it is one. To be freed; NULL with the error. */
static char *resolve_target(const char *path, const char *remote, struct stat *status, struct sandlot_error *error)
{
    const char *base = strrchr(remote, '/');
    char *resolved = NULL;

    if (stat(path, status) == 0) {
        /* A pipe may have no name of its own, as where /dev/stdout leads. */
        resolved = S_ISCHR(status->st_mode) || S_ISFIFO(status->st_mode) ? strdup(path) : realpath(path, NULL);
        if (resolved && S_ISDIR(status->st_mode)) {
            AUTO_FREE char *folder = resolved;

            resolved = NULL;
            if (asprintf(&resolved, "%s/%s", folder, base ? base + 1 : remote) < 0)
                resolved = NULL;
            status->st_mode = 0;
        }
    } else if (errno == ENOENT && lstat(path, status) < 0) {
        status->st_mode = 0;
        resolved = strdup(path);
    } else {
        local_error(error, errno, "write", path);
        return NULL;
    }
    if (!resolved)
        local_error(error, errno, "write", path);
    return resolved;
}

int local_open_target(struct local_file *file, const char *path, const char *remote, struct sandlot_error *error)
{
    struct stat status = {0};
    AUTO_FREE char *resolved = resolve_target(path, remote, &status, error);
    AUTO_FREE char *folder = resolved ? path_parent(resolved) : NULL;

    if (!resolved)
        return -1;
    if (S_ISCHR(status.st_mode) || S_ISFIFO(status.st_mode))
        return open_directly(file, resolved, error);
    const char *slash = strrchr(resolved, '/');

    file->name = strdup(slash ? slash + 1 : resolved);
    if (!folder || !file->name)
        return error_no_memory(error);
    if (!*file->name)
        return error_set(error, SANDLOT_CODE_FILE_NOT_FOUND,
                         "the local directory '%s' not found; make it, or leave out the final slash", path);
    file->folder_fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (file->folder_fd < 0)
        return local_error(error, errno, "open the folder of", path);
    return open_temporary(file, path, error);
}

/* ---- below a folder, by names from a sandbox ---- */

static int open_beneath(int folder_fd, const char *name)
{
    struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
                           .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};

    return (int)syscall(SYS_openat2, folder_fd, name, &how, sizeof(how));
}

static bool harmless(const char *component, size_t length)
{
    return length > 0 && length <= NAME_MAX && !(length == 1 && component[0] == '.') &&
           !(length == 2 && component[0] == '.' && component[1] == '.');
}

static int hostile(struct sandlot_error *error, const char *relative)
{
    return error_set(error, SANDLOT_CODE_INVALID_PATH,
                     "the sandbox names a file '%s', which would lead out of the target folder; it was left out",
                     relative);
}

/* Opens, and makes, the folders of RELATIVE up to its last component, which *NAME gets. -1 with the error. */
static int open_folders(int folder_fd, const char *relative, const char **name, struct sandlot_error *error)
{
    int fd = fcntl(folder_fd, F_DUPFD_CLOEXEC, 0);

    for (const char *at = relative; fd >= 0;) {
        size_t length = strcspn(at, "/");
        char component[NAME_MAX + 1];
        int next;

        if (!harmless(at, length)) {
            close(fd);
            return hostile(error, relative);
        }
        *name = at;
        if (!at[length])
            return fd;
        memcpy(component, at, length);
        component[length] = '\0';
        next = mkdirat(fd, component, 0777) == 0 || errno == EEXIST ? open_beneath(fd, component) : -1;
        int reason = errno;

        close(fd);
        errno = reason;
        fd = next;
        at += length + 1;
    }
    return local_error(error, errno, "make the folders of", relative);
}

int local_open_below(struct local_file *file, int folder_fd, const char *relative, struct sandlot_error *error)
{
    const char *name = relative;

    file->folder_fd = open_folders(folder_fd, relative, &name, error);
    if (file->folder_fd < 0)
        return -1;
    file->name = strdup(name);
    return file->name ? open_temporary(file, relative, error) : error_no_memory(error);
}

int local_make_below(int folder_fd, const char *relative, struct sandlot_error *error)
{
    const char *name = relative;
    AUTO_CLOSE int folder = open_folders(folder_fd, relative, &name, error);

    if (folder < 0)
        return -1;
    if (mkdirat(folder, name, 0777) < 0 && errno != EEXIST)
        return local_error(error, errno, "make", relative);
    AUTO_CLOSE int made = open_beneath(folder, name);

    return made < 0 ? local_error(error, errno, "make", relative) : 0;
}

/* ---- bytes ---- */

static bool is_zero(const char *bytes, size_t length)
{
    return bytes[0] == 0 && memcmp(bytes, bytes + 1, length - 1) == 0;
}

/* How many of BYTES, which are to stand at AT, begin with blocks, or parts of blocks, that are all ZERO, or all not. */
static size_t measure_run(const char *bytes, size_t length, off_t at, bool *zero)
{
    size_t run = 0;

    while (run < length) {
        size_t block = BLOCK - (size_t)((at + (off_t)run) % BLOCK);
        size_t part = block < length - run ? block : length - run;
        bool nothing = is_zero(bytes + run, part);

        if (run == 0)
            *zero = nothing;
        else if (nothing != *zero)
            break;
        run += part;
    }
    return run;
}

bool local_stands_at_end(int fd, const struct stat *status)
{
    return lseek(fd, 0, SEEK_CUR) >= status->st_size && !(fcntl(fd, F_GETFL) & O_APPEND);
}

int local_write(int fd, const void *bytes, size_t length)
{
    const char *from = bytes;
    struct stat status;

    if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) || !local_stands_at_end(fd, &status))
        return path_write_all(fd, bytes, length);
    off_t at = lseek(fd, 0, SEEK_CUR);

    while (length > 0) {
        bool zero = false;
        size_t run = measure_run(from, length, at, &zero);

        at += (off_t)run;
        /* The file ends where it stands, whatever comes next, or never comes. */
        if (zero ? ftruncate(fd, at) < 0 || lseek(fd, at, SEEK_SET) < 0 : path_write_all(fd, from, run) < 0)
            return -1;
        from += run;
        length -= run;
    }
    return 0;
}

/* ---- the end ---- */

bool local_rewind(struct local_file *file)
{
    if (file->start < 0 || lseek(file->fd, file->start, SEEK_SET) < 0)
        return false;
    return !file->temporary[0] || ftruncate(file->fd, 0) == 0;
}

int local_commit(struct local_file *file, const char *shown, struct sandlot_error *error)
{
    if (!file->temporary[0])
        return 0;
    /* Only the almighty may give files away; for others the new file is their own. */
    if (file->target_mode >= 0 && geteuid() == 0 &&
        fchown(file->fd, (uid_t)file->target_uid, (gid_t)file->target_gid) < 0)
        return local_error(error, errno, "write", shown);
    if (file->target_mode >= 0 && fchmod(file->fd, (mode_t)file->target_mode) < 0)
        return local_error(error, errno, "write", shown);
    int fd = file->fd;

    /* Some file systems tell only now that there was no space. */
    file->fd = -1;
    if (close(fd) < 0 && errno != EINTR)
        return local_error(error, errno, "write", shown);
    if (renameat(file->folder_fd, file->temporary, file->folder_fd, file->name) < 0)
        return local_error(error, errno, "write", shown);
    file->temporary[0] = '\0';
    return 0;
}
