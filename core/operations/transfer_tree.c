#include "operations/transfer_tree.h"

#include "base/cleanup.h"
#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static void cleanup_walk(FTS **walk)
{
    if (*walk)
        fts_close(*walk);
}

static int walk_error(struct sandlot_error *error, const char *path, int reason)
{
    enum sandlot_code code =
        reason == EACCES || reason == EPERM ? SANDLOT_CODE_PERMISSION_DENIED : SANDLOT_CODE_INTERNAL_ERROR;

    return error_set(error, code, "cannot list the local directory '%s': %s", path, strerror(reason));
}

/* What the link PATH of FOLDER_FD leads to, if that lies in the folder too. Whoever made the tree, such as the author
 * of a repository, is not to choose what else of this machine a sandbox gets. */
static void look_within(int folder_fd, const char *path, struct stat *status)
{
    struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_BENEATH};
    AUTO_CLOSE int fd = (int)syscall(SYS_openat2, folder_fd, path, &how, sizeof(how));

    if (fd < 0 || fstat(fd, status) < 0)
        status->st_mode = 0;
}

/* One look of the walk over the folder START. */
static int take(const FTSENT *found, const char *start, int folder_fd, struct entries *entries,
                struct sandlot_error *error)
{
    struct stat status = {0};
    bool linked = found->fts_info == FTS_SL || found->fts_info == FTS_SLNONE;

    if (found->fts_info == FTS_DP || found->fts_level == 0)
        return 0;
    if (found->fts_info == FTS_DNR || found->fts_info == FTS_ERR || found->fts_info == FTS_NS)
        return walk_error(error, found->fts_path, found->fts_errno);
    if (linked)
        look_within(folder_fd, transfer_tree_relative(found->fts_path, start), &status);
    else if (found->fts_statp)
        status = *found->fts_statp;
    struct sandlot_file_entry *entry = entries_add(entries, NULL, found->fts_path, strlen(found->fts_path));

    if (!entry)
        return error_no_memory(error);
    entry->is_dir = found->fts_info == FTS_D;
    entry->is_symlink = !entry->is_dir && !S_ISREG(status.st_mode);
    entry->bytes = entry->is_dir || entry->is_symlink ? 0 : (uint64_t)status.st_size;
    return 0;
}

int transfer_tree_local(const char *path, struct entries *entries, struct sandlot_error *error)
{
    AUTO_FREE char *start = strdup(path);

    if (!start)
        return error_no_memory(error);
    for (size_t length = strlen(start); length > 1 && start[length - 1] == '/'; length--)
        start[length - 1] = '\0';
    char *const starts[] = {start, NULL};
    /* The folder itself may be a link. */
    CLEANUP(cleanup_walk) FTS *walk = fts_open(starts, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, NULL);
    AUTO_CLOSE int folder = open(start, O_PATH | O_DIRECTORY | O_CLOEXEC);
    const FTSENT *found;

    if (!walk)
        return walk_error(error, path, errno);
    while ((errno = 0, found = fts_read(walk))) {
        if (found->fts_level == 0 && (found->fts_info == FTS_DNR || found->fts_info == FTS_NS))
            return walk_error(error, path, found->fts_errno);
        if (take(found, start, folder, entries, error) < 0)
            return -1;
    }
    if (errno)
        return walk_error(error, path, errno);
    entries_sort(entries);
    return 0;
}

bool transfer_tree_is_empty(const struct entries *entries, size_t at)
{
    /* "a-b" sorts between "a" and "a/b", so the next one is not always what lies inside. */
    const char *folder = entries->items[at].path;
    size_t length = strlen(folder);

    for (size_t i = at + 1; i < entries->count; i++) {
        const char *path = entries->items[i].path;

        if (strncmp(path, folder, length) != 0)
            break;
        if (path[length] == '/')
            return false;
    }
    return true;
}

const char *transfer_tree_relative(const char *path, const char *folder)
{
    size_t length = strlen(folder);

    while (length > 0 && folder[length - 1] == '/')
        length--;
    if (strncmp(path, folder, length) != 0 || path[length] != '/')
        return NULL;
    path += length;
    while (*path == '/')
        path++;
    return *path ? path : NULL;
}
