#include "registry/discovery.h"

#include "base/cleanup.h"
#include "base/log.h"
#include "base/path.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

enum { OPEN_FLAGS = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC };

/* One name in a folder. */
struct candidate {
    char *name;
    bool is_file; /* certainly a regular file, no link */
};

struct candidates {
    struct candidate *items;
    size_t count;
};

static void clear_candidates(struct candidates *candidates)
{
    for (size_t i = 0; i < candidates->count; i++)
        free(candidates->items[i].name);
    free(candidates->items);
}

void library_clear(struct library *library)
{
    entry_points_clear(&library->points);
    free(library->path);
    free(library->problem);
}

/* REASON, from path_distrust, as a problem with the way out. */
static char *untrusted(const char *reason)
{
    return text_format(
        "it is not loaded, because somebody else could have written it: %s; check what is in it, then take the "
        "right to write away (chmod go-w) or the ownership over (chown)",
        reason);
}

/* Reads what FD is open on, and its *STATUS, or says why it is not open (with errno). */
static bool read_open(int fd, struct stat *status, struct library *library)
{
    if (fd < 0 || fstat(fd, status) < 0) {
        library->result = ENTRY_POINTS_UNUSABLE;
        library->problem = text_format("it cannot be opened: %s", strerror(errno));
        return library->problem;
    }
    library->device = status->st_dev;
    library->inode = status->st_ino;
    library->result = entry_points_read(fd, &library->points, &library->problem);
    return library->result != ENTRY_POINTS_UNUSABLE || library->problem;
}

/* A reason not to trust the file outweighs whatever it says; a file that is not ours needs no trust. */
static bool judge(struct library *library, const char *distrust)
{
    if (!distrust || library->result != ENTRY_POINTS_FOUND)
        return true;
    free(library->problem);
    library->problem = untrusted(distrust);
    return library->problem;
}

bool library_read(const char *path, struct library *library)
{
    *library = (struct library){.path = strdup(path)};
    AUTO_CLOSE int fd = open(path, OPEN_FLAGS);
    struct stat status;

    if (!library->path || !read_open(fd, &status, library))
        return false;
    AUTO_FREE char *distrust = fd >= 0 ? path_distrust(path) : NULL;

    /* Without a note too: a config entry may name any library. */
    if (distrust && library->result == ENTRY_POINTS_NO_NOTE)
        return (library->problem = untrusted(distrust));
    return judge(library, distrust);
}

/* The quick form of path_distrust for a file, no link, whose folder is known to be trusted. */
static bool is_safe_file(const struct stat *status)
{
    return (status->st_uid == 0 || status->st_uid == geteuid()) && !(status->st_mode & (S_IWGRP | S_IWOTH));
}

/* Reads one file of FOLDER, whose own reason not to be trusted is FOLDER_DISTRUST, so that a thousand files cost one
 * walk. */
static bool read_candidate(const char *folder, int folder_fd, const char *folder_distrust,
                           const struct candidate *candidate, struct library *library)
{
    *library = (struct library){.path = text_format("%s/%s", folder, candidate->name)};
    AUTO_CLOSE int fd = openat(folder_fd, candidate->name, OPEN_FLAGS | (candidate->is_file ? O_NOFOLLOW : 0));
    struct stat status;

    if (!library->path || !read_open(fd, &status, library))
        return false;
    if (folder_distrust)
        return judge(library, folder_distrust);
    if (fd < 0 || (candidate->is_file && is_safe_file(&status)))
        return true;
    AUTO_FREE char *distrust = path_distrust(library->path);

    return judge(library, distrust);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct candidate *)a)->name, ((const struct candidate *)b)->name);
}

static bool is_library_name(const char *name)
{
    size_t length = strlen(name);

    return name[0] != '.' && length > 3 && strcmp(name + length - 3, ".so") == 0;
}

static bool list_candidates(DIR *directory, struct candidates *candidates)
{
    size_t capacity = 0;

    for (struct dirent *item; (item = readdir(directory));) {
        if (!is_library_name(item->d_name))
            continue;
        if (candidates->count == capacity) {
            capacity = capacity ? capacity * 2 : 16;
            struct candidate *grown = realloc(candidates->items, capacity * sizeof(*grown));

            if (!grown)
                return false;
            candidates->items = grown;
        }
        char *name = strdup(item->d_name);

        if (!name)
            return false;
        candidates->items[candidates->count++] = (struct candidate){name, item->d_type == DT_REG};
    }
    if (candidates->count)
        qsort(candidates->items, candidates->count, sizeof(*candidates->items), by_name);
    return true;
}

/* Takes those away that the caller does without. */
static bool pass_over(const char *folder, struct candidates *candidates,
                      bool (*passes)(void *context, const char *path), void *context)
{
    size_t kept = 0;

    for (size_t i = 0; i < candidates->count; i++) {
        AUTO_FREE char *path = text_format("%s/%s", folder, candidates->items[i].name);

        if (!path)
            return false;
        if (passes(context, path))
            free(TAKE(candidates->items[i].name));
        else
            candidates->items[kept++] = candidates->items[i];
    }
    candidates->count = kept;
    return true;
}

bool discovery_scan(const char *folder, bool (*passes)(void *context, const char *path),
                    bool (*each)(void *context, struct library *library), void *context)
{
    DIR *directory AUTO_DIRECTORY = opendir(folder);

    if (!directory) {
        if (errno != ENOENT && errno != ENOTDIR)
            log_warning("the plugin folder %s cannot be read: %s; plugins in it are not found", folder,
                        strerror(errno));
        return true;
    }
    struct candidates candidates CLEANUP(clear_candidates) = {0};

    if (!list_candidates(directory, &candidates) || (passes && !pass_over(folder, &candidates, passes, context)))
        return false;
    AUTO_FREE char *distrust = candidates.count ? path_distrust(folder) : NULL;

    for (size_t i = 0; i < candidates.count; i++) {
        struct library library CLEANUP(library_clear);

        if (!read_candidate(folder, dirfd(directory), distrust, &candidates.items[i], &library) ||
            !each(context, &library))
            return false;
    }
    return true;
}
