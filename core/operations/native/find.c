/* glob: the files whose paths match a pattern. */
#include "operations/native/walk.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "operations/file_error.h"
#include "operations/native/native.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

enum {
    WANTED = ENTRIES_FOUND_MAXIMUM + 1, /* one more tells that there are more */
    KEPT = 4 * WANTED                   /* collected before the last by path are thrown away */
};

struct find {
    const struct file_call *call;
    const struct native_root *root;
    const struct pattern *pattern;
    bool directories;
    int start_fd;
    size_t prefix;          /* bytes of an entry's path before the part below the start */
    atomic_bool incomplete; /* something could not be looked at or told */
};

/* What one thread has found. */
struct finder {
    struct find *find;
    struct entries entries;
    const char *bound; /* what comes after this path is not among the first WANTED; NULL: not known yet */
};

/* ---- links ---- */

/* The path of FD as the kernel knows it. */
static bool real_path(int fd, char path[PATH_MAX])
{
    char name[sizeof("/proc/self/fd/") + 3 * sizeof(fd)];

    snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
    ssize_t length = readlink(name, path, PATH_MAX);

    if (length < 0 || length >= PATH_MAX)
        return false;
    path[length] = '\0';
    return true;
}

static bool is_regular(int fd)
{
    struct stat status;

    return fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
}

/* Does the link's target, reached by an absolute link or by way of a directory above, lie below the start after all? */
static bool returns_inside(const struct find *find, const char *relative)
{
    char path[PATH_MAX];
    char start[PATH_MAX];
    const char *directory = find->call->path;
    int length = snprintf(path, sizeof(path), "%s/%s", strcmp(directory, "/") == 0 ? "" : directory, relative);

    if (length >= (int)sizeof(path))
        return false;
    AUTO_CLOSE int fd = native_open(find->root->fd, path, O_PATH);

    if (!is_regular(fd) || !real_path(fd, path) || !real_path(find->start_fd, start))
        return false;
    size_t above = strcmp(start, "/") == 0 ? 0 : strlen(start);

    return strncmp(path, start, above) == 0 && path[above] == '/';
}

/* Does the link lead to a regular file below the start? */
static bool leads_to_file(const struct find *find, const struct walk_entry *entry)
{
    struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS};
    AUTO_CLOSE int fd = (int)syscall(SYS_openat2, find->start_fd, entry->relative, &how, sizeof(how));

    if (fd < 0)
        return (errno == EXDEV || errno == EAGAIN) && returns_inside(find, entry->relative);
    return is_regular(fd);
}

/* ---- matches ---- */

/* Throws away all but the first WANTED by path: whatever the threads do, these are the ones that are told. */
static bool reduce(struct finder *finder)
{
    struct entries kept = {0};

    entries_sort(&finder->entries);
    for (size_t i = 0; i < WANTED; i++) {
        const struct sandlot_file_entry *from = &finder->entries.items[i];
        struct sandlot_file_entry *entry = entries_add(&kept, NULL, from->path, strlen(from->path));

        if (!entry) {
            entries_clear(&kept);
            return false;
        }
        entry->is_dir = from->is_dir;
        entry->is_symlink = from->is_symlink;
    }
    entries_clear(&finder->entries);
    finder->entries = kept;
    finder->bound = kept.items[WANTED - 1].path + finder->find->prefix;
    return true;
}

static bool add(struct finder *finder, const struct walk_entry *found)
{
    struct find *find = finder->find;

    if (finder->bound && strcmp(found->relative, finder->bound) > 0)
        return true;
    /* No operation would take a path that long. */
    if (find->prefix + found->relative_length >= PATH_MAX) {
        atomic_store(&find->incomplete, true);
        return true;
    }
    struct sandlot_file_entry *entry =
        entries_add(&finder->entries, find->call->path, found->relative, found->relative_length);

    if (!entry)
        return false;
    entry->is_dir = found->type == DT_DIR;
    entry->is_symlink = found->type == DT_LNK;
    return finder->entries.count < KEPT || reduce(finder);
}

static bool is_wanted(const struct find *find, const struct walk_entry *entry)
{
    switch (entry->type) {
    case DT_REG:
        return pattern_matches(find->pattern, entry->relative);
    case DT_DIR:
        return find->directories && pattern_matches(find->pattern, entry->relative);
    case DT_LNK:
        return pattern_matches(find->pattern, entry->relative) && leads_to_file(find, entry);
    default:
        return false;
    }
}

static bool visit(void *state, const struct walk_entry *entry)
{
    struct finder *finder = state;

    if (is_wanted(finder->find, entry) && !add(finder, entry))
        walk_stop(entry->worker, ENOMEM);
    return entry->type == DT_DIR && pattern_may_enter(finder->find->pattern, entry->relative);
}

static void note_unreadable(void *state, struct walk_worker *worker, const char *relative, int reason)
{
    const struct finder *finder = state;

    (void)worker;
    (void)relative;
    (void)reason;
    atomic_store(&finder->find->incomplete, true);
}

/* ---- the whole ---- */

/* Moves what FINDER has to FOUND. */
static bool join(struct entries *found, struct finder *finder)
{
    if (found->count == 0) {
        entries_clear(found);
        *found = finder->entries;
        finder->entries = (struct entries){0};
        return true;
    }
    for (size_t i = 0; i < finder->entries.count; i++) {
        const struct sandlot_file_entry *from = &finder->entries.items[i];
        struct sandlot_file_entry *entry = entries_add(found, NULL, from->path, strlen(from->path));

        if (!entry)
            return false;
        entry->is_dir = from->is_dir;
        entry->is_symlink = from->is_symlink;
    }
    return true;
}

static int find_below(struct find *find, struct entries *found, bool *truncated, struct sandlot_error *error)
{
    struct finder finders[WALK_THREADS];
    bool enough_memory = true;

    for (int i = 0; i < WALK_THREADS; i++)
        finders[i] = (struct finder){.find = find};
    const struct walk_plan plan = {.root = find->root,
                                   .start_fd = find->start_fd,
                                   .deadline_ms = walk_deadline(find->call, FILE_GLOB_MS),
                                   .cancel_fd = find->call->cancel_fd,
                                   .states = finders,
                                   .state_size = sizeof(finders[0]),
                                   .visit = visit,
                                   .unreadable = note_unreadable};
    int reason = walk(&plan);

    for (int i = 0; i < WALK_THREADS; i++) {
        enough_memory = enough_memory && join(found, &finders[i]);
        entries_clear(&finders[i].entries);
    }
    if (!enough_memory)
        return error_no_memory(error);
    if (reason && reason != ETIMEDOUT)
        return file_error_errno(error, find->call, reason);
    *truncated = reason == ETIMEDOUT || atomic_load(&find->incomplete) || found->count > ENTRIES_FOUND_MAXIMUM;
    if (found->count > WANTED) {
        entries_sort(found);
        found->count = WANTED;
    }
    return 0;
}

int native_find(const struct file_call *call, const struct pattern *pattern, bool directories, struct entries *found,
                bool *truncated, struct sandlot_error *error)
{
    AUTO_ROOT struct native_root root = NATIVE_NO_ROOT;

    if (native_begin(call, &root, error) < 0)
        return -1;
    AUTO_CLOSE int start_fd = walk_open(call, root.fd);

    if (start_fd < 0 && errno == ENOTDIR) {
        AUTO_CLOSE int file = native_open(root.fd, call->path, O_PATH);

        return file >= 0 ? file_error_kind(error, call) : native_failed(call, root.fd, errno, error);
    }
    if (start_fd < 0)
        return native_failed(call, root.fd, errno, error);
    struct find find = {.call = call,
                        .root = &root,
                        .pattern = pattern,
                        .directories = directories,
                        .start_fd = start_fd,
                        .prefix = strcmp(call->path, "/") == 0 ? 1 : strlen(call->path) + 1};

    return find_below(&find, found, truncated, error);
}
