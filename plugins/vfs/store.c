#include "store.h"

#include <sandlot/sdk/cleanup.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>

static bool is_memory(int fd)
{
    struct statfs status;

    return fstatfs(fd, &status) == 0 && (status.f_type == TMPFS_MAGIC || status.f_type == RAMFS_MAGIC);
}

/* Nobody but this user may have made it, or may look into it. */
static bool is_ours(int fd)
{
    struct stat status;

    return fstat(fd, &status) == 0 && status.st_uid == geteuid() && (status.st_mode & 066) == 0;
}

/* A number for the state folder: FNV-1a. Two users of one state folder are told apart by their numbers. */
static uint64_t digest(const char *text)
{
    uint64_t hash = 0xcbf29ce484222325;

    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3;
    return hash;
}

static uint64_t place_of_state(struct sandlot_call *call)
{
    const char *place = call->host->environment(call, "XDG_STATE_HOME");

    if (!place)
        place = call->host->environment(call, "HOME");
    return digest(place ? place : "");
}

/* Opens the store in FOLDER, if that is in memory. False with errno. */
static bool open_in(struct store *store, const char *folder, uint64_t number, bool make)
{
    AUTO_CLOSE int parent = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);

    if (parent < 0)
        return false;
    if (!is_memory(parent)) {
        errno = ENOTSUP;
        return false;
    }
    if (snprintf(store->path, sizeof(store->path), "%s/sandlot-vfs-%u-%016" PRIx64, folder, geteuid(), number) >=
        (int)sizeof(store->path)) {
        errno = ENAMETOOLONG;
        return false;
    }
    if (make && mkdir(store->path, 0700) < 0 && errno != EEXIST)
        return false;
    store->fd = open(store->path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (store->fd >= 0 && is_ours(store->fd))
        return true;
    store_close(store);
    errno = EACCES;
    return false;
}

enum sandlot_status store_open(struct sandlot_call *call, struct store *store, bool make)
{
    const char *said = call->host->environment(call, "VFS_FOLDER");
    const char *const folders[] = {said ? said : "/dev/shm",
                                   said ? NULL : call->host->environment(call, "XDG_RUNTIME_DIR")};
    uint64_t number = place_of_state(call);

    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
        if (folders[i] && open_in(store, folders[i], number, make)) {
            snprintf(store->state_home, sizeof(store->state_home), "%s/state", store->path);
            return SANDLOT_OK;
        }
    if (!make)
        return SANDLOT_OK;
    return sandlot_fail(call, SANDLOT_DEPENDENCY_MISSING,
                        "no folder in memory can be used for vfs: %.300s is no file system in memory (tmpfs) that this "
                        "user may write to; mount one at /dev/shm, or name one in VFS_FOLDER",
                        said ? said : "neither /dev/shm nor $XDG_RUNTIME_DIR");
}

void store_let_through(const struct store *store, const char *folder)
{
    char path[320];
    const size_t top = strlen(store->path);

    if (geteuid() != 0 || strncmp(folder, store->path, top) != 0 || strlen(folder) >= sizeof(path))
        return;
    strcpy(path, folder);
    for (char *slash; (slash = strrchr(path, '/')) && slash >= path + top;) {
        *slash = '\0';
        chmod(path, 0711);
    }
}

void store_close(struct store *store)
{
    if (store->fd >= 0)
        close(store->fd);
    store->fd = -1;
}

int store_folder(const struct store *store, const char *path)
{
    if (mkdirat(store->fd, path, 0700) < 0 && errno != EEXIST)
        return -1;
    return openat(store->fd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

void store_note_landlock(const struct store *store, const char *id)
{
    AUTO_CLOSE int boxes = store_folder(store, "landlock");
    AUTO_CLOSE int note = boxes < 0 ? -1 : openat(boxes, id, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
}

bool store_is_landlock(const struct store *store, const char *id)
{
    AUTO_CLOSE int boxes = store_folder(store, "landlock");

    return boxes >= 0 && faccessat(boxes, id, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

void store_forget(const struct store *store, const char *id)
{
    AUTO_CLOSE int boxes = store_folder(store, "landlock");

    if (boxes >= 0)
        unlinkat(boxes, id, 0);
}

void store_each(const struct store *store, const char *path, bool (*visit)(void *context, const char *name),
                void *context)
{
    int fd = store_folder(store, path);
    DIR *folder = fd < 0 ? NULL : fdopendir(fd);

    for (struct dirent *entry; folder && (entry = readdir(folder));)
        if (*entry->d_name != '.' && !visit(context, entry->d_name))
            break;
    if (folder)
        closedir(folder);
    else if (fd >= 0)
        close(fd);
}

enum sandlot_status store_fail(struct sandlot_call *call, const char *what)
{
    const int error = errno;
    const bool full = error == ENOSPC || error == EDQUOT || error == ENOMEM;

    return sandlot_fail(call, full ? SANDLOT_EXHAUSTED : SANDLOT_UNAVAILABLE, "%s: %s; %s", what, strerror(error),
                        full ? "delete what is not needed, or raise size_mb"
                             : "see whether others use it, and try again");
}
