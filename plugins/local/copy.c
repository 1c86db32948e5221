#include "copy.h"

#include "file_copy.h"

#include <sandlot/sdk/cleanup.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

enum { DEEPEST = 128, BLOCK = 4096 };

struct copy {
    struct sandlot_call *call;
    const char *path;
    uint32_t uid;
    uint32_t gid;
    uid_t owner; /* of the folder: his files become the box's */
    uint64_t limit;
    uint64_t bytes;
    uint64_t files;
    uint64_t left_out;
};

static enum sandlot_status fail_copy(const void *context, const char *name)
{
    const struct copy *copy = context;
    bool full = errno == ENOSPC || errno == EDQUOT;

    return sandlot_fail(copy->call, full ? SANDLOT_EXHAUSTED : SANDLOT_UNAVAILABLE,
                        "workspace: %.255s in %.500s could not be copied: %s; %s", name, copy->path, strerror(errno),
                        full ? "free some disk space" : "try again");
}

/* Adds BYTES on disk. May the copy go on? */
static enum sandlot_status account(void *context, uint64_t bytes)
{
    struct copy *copy = context;

    copy->bytes += (bytes + BLOCK - 1) / BLOCK * BLOCK;
    if (copy->bytes > copy->limit)
        return sandlot_fail(copy->call, SANDLOT_EXHAUSTED,
                            "workspace: %.600s holds more than the sandbox may; give it more with disk_mb, or name a "
                            "smaller folder",
                            copy->path);
    if (sandlot_cancelled(copy->call))
        return sandlot_fail(copy->call, SANDLOT_CANCELLED, "cancelled while the workspace was copied");
    if (copy->call->deadline_ms && sandlot_now_ms() >= copy->call->deadline_ms)
        return sandlot_fail(copy->call, SANDLOT_TIMEOUT,
                            "the workspace %.600s could not be copied in time; name a smaller folder", copy->path);
    return SANDLOT_OK;
}

/* Gives what was copied to FD its owner, mode and times. */
static enum sandlot_status finish(const struct copy *copy, int fd, const struct stat *original, const char *name)
{
    const struct timespec times[2] = {original->st_atim, original->st_mtim};

    if (copy->uid != geteuid() && fchown(fd, copy->uid, copy->gid) < 0)
        return fail_copy(copy, name);
    if (fchmod(fd, original->st_mode & 0777) < 0 || futimens(fd, times) < 0)
        return fail_copy(copy, name);
    return SANDLOT_OK;
}

static enum sandlot_status copy_file(struct copy *copy, int from, int to, const char *name)
{
    AUTO_CLOSE int source = openat(from, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct stat file;

    if (source < 0 || fstat(source, &file) < 0 || !S_ISREG(file.st_mode)) {
        copy->left_out++;
        return SANDLOT_OK;
    }
    AUTO_CLOSE int target = openat(to, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

    if (target < 0)
        return fail_copy(copy, name);
    copy->files++;
    const struct copying copying = {copy, account, fail_copy};
    enum sandlot_status status = file_copy(&copying, source, target, &file, name);

    return status == SANDLOT_OK ? finish(copy, target, &file, name) : status;
}

static enum sandlot_status copy_link(struct copy *copy, int from, int to, const char *name)
{
    char path[PATH_MAX];
    ssize_t length = readlinkat(from, name, path, sizeof(path) - 1);

    if (length < 0)
        return fail_copy(copy, name);
    path[length] = '\0';
    if (symlinkat(path, to, name) < 0)
        return fail_copy(copy, name);
    if (copy->uid != geteuid() && fchownat(to, name, copy->uid, copy->gid, AT_SYMLINK_NOFOLLOW) < 0)
        return fail_copy(copy, name);
    return SANDLOT_OK;
}

static enum sandlot_status copy_entries(struct copy *copy, int from, int to, int depth);

static enum sandlot_status copy_subfolder(struct copy *copy, int from, int to, const char *name, int depth)
{
    AUTO_CLOSE int source = openat(from, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat folder;

    if (source < 0 || fstat(source, &folder) < 0) {
        copy->left_out++;
        return SANDLOT_OK;
    }
    if (depth == DEEPEST)
        return sandlot_fail(
            copy->call, SANDLOT_INVALID_ARGUMENT,
            "workspace: %.600s has folders more than %d levels deep, which cannot be copied; name another "
            "folder, or use confinement = \"full\"",
            copy->path, DEEPEST);
    if (mkdirat(to, name, 0700) < 0)
        return fail_copy(copy, name);
    AUTO_CLOSE int target = openat(to, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (target < 0)
        return fail_copy(copy, name);
    enum sandlot_status status = copy_entries(copy, source, target, depth + 1);

    return status == SANDLOT_OK ? finish(copy, target, &folder, name) : status;
}

static enum sandlot_status copy_entry(struct copy *copy, int from, int to, const char *name, int depth)
{
    struct stat entry;
    enum sandlot_status status = account(copy, 0);

    if (status != SANDLOT_OK)
        return status;
    if (fstatat(from, name, &entry, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? SANDLOT_OK : fail_copy(copy, name);
    if (S_ISLNK(entry.st_mode))
        return copy_link(copy, from, to, name);
    /* Root can read everything; its box gets what it would be shown in full confinement. */
    if (entry.st_uid == copy->owner || copy->uid == geteuid() || entry.st_mode & S_IROTH) {
        if (S_ISREG(entry.st_mode))
            return copy_file(copy, from, to, name);
        if (S_ISDIR(entry.st_mode))
            return copy_subfolder(copy, from, to, name, depth);
    }
    copy->left_out++;
    return SANDLOT_OK;
}

static enum sandlot_status copy_entries(struct copy *copy, int from, int to, int depth)
{
    int listed = openat(from, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = listed >= 0 ? fdopendir(listed) : NULL;
    enum sandlot_status status = account(copy, BLOCK);

    if (!folder) {
        if (listed >= 0)
            close(listed);
        return fail_copy(copy, ".");
    }
    for (struct dirent *entry; status == SANDLOT_OK && (entry = readdir(folder));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            status = copy_entry(copy, from, to, entry->d_name, depth);
    closedir(folder);
    return status;
}

static void report(const struct copy *copy)
{
    char text[1024];

    snprintf(text, sizeof(text),
             "workspace: %.600s was copied (%" PRIu64 " files, %" PRIu64
             " MiB), because confinement \"landlock\" has no "
             "copy-on-write",
             copy->path, copy->files, copy->bytes >> 20);
    copy->call->host->log(copy->call, SANDLOT_LOG_WARNING, text);
    if (copy->left_out == 0)
        return;
    snprintf(text, sizeof(text),
             "workspace: %" PRIu64 " entries of %.600s were left out of the copy: they cannot be read, or are sockets, "
             "pipes or devices",
             copy->left_out, copy->path);
    copy->call->host->log(copy->call, SANDLOT_LOG_WARNING, text);
}

enum sandlot_status copy_folder(struct sandlot_call *call, const char *path, int target_fd, uint32_t uid, uint32_t gid,
                                uint64_t limit)
{
    AUTO_CLOSE int source = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct copy copy = {.call = call, .path = path, .uid = uid, .gid = gid, .limit = limit};
    struct stat folder;

    if (source < 0 || fstat(source, &folder) < 0)
        return fail_copy(&copy, ".");
    copy.owner = folder.st_uid;
    enum sandlot_status status = copy_entries(&copy, source, target_fd, 0);

    if (status == SANDLOT_OK)
        report(&copy);
    return status;
}
