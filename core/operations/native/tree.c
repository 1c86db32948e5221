/* Everything below a directory, for transfers of whole folders. */
#include "operations/native/walk.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "operations/file_error.h"
#include "operations/native/native.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <string.h>

enum { TREE_MAXIMUM = 2000000 }; /* entries: what is gathered in memory stays bounded */

struct tree {
    const struct file_call *call;
    pthread_mutex_t lock; /* of what follows */
    struct entries *entries;
    struct sandlot_error *error;
};

struct gatherer {
    struct tree *tree;
};

static int add(struct tree *tree, const struct walk_entry *found, uint64_t bytes)
{
    int reason = 0;

    pthread_mutex_lock(&tree->lock);
    if (tree->entries->count >= TREE_MAXIMUM) {
        error_set(tree->error, SANDLOT_CODE_TOO_LARGE,
                  "'%s' holds more than %d files and directories; transfer it as an archive, or its parts one by one",
                  tree->call->shown, TREE_MAXIMUM);
        reason = E2BIG;
    } else {
        struct sandlot_file_entry *entry =
            entries_add(tree->entries, tree->call->path, found->relative, found->relative_length);

        if (entry) {
            entry->is_dir = found->type == DT_DIR;
            entry->bytes = bytes;
        }
        reason = entry ? 0 : ENOMEM;
    }
    pthread_mutex_unlock(&tree->lock);
    return reason;
}

static bool visit(void *state, const struct walk_entry *entry)
{
    struct tree *tree = ((struct gatherer *)state)->tree;
    struct stat status = {0};
    int reason = 0;

    if (entry->type != DT_DIR && entry->type != DT_REG)
        return false;
    /* Neither the file itself nor what is below could be opened by such a path. */
    if (strlen(tree->call->path) + 1 + entry->relative_length >= PATH_MAX)
        reason = ENAMETOOLONG;
    else if (entry->type == DT_DIR)
        reason = add(tree, entry, 0);
    else if (fstatat(entry->directory, entry->name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(status.st_mode))
        reason = add(tree, entry, (uint64_t)status.st_size);
    if (reason)
        walk_stop(entry->worker, reason);
    return entry->type == DT_DIR;
}

/* Ends the walk: half a folder is not what was asked for. */
static void note_unreadable(void *state, struct walk_worker *worker, const char *relative, int reason)
{
    struct tree *tree = ((struct gatherer *)state)->tree;
    bool forbidden = reason == EACCES || reason == EPERM;

    pthread_mutex_lock(&tree->lock);
    error_set(tree->error, forbidden ? SANDLOT_CODE_PERMISSION_DENIED : SANDLOT_CODE_INTERNAL_ERROR,
              "'%s/%s' cannot be read (%s), so '%s' cannot be transferred as a whole; change its mode, or transfer "
              "the other parts one by one",
              tree->call->shown, relative, strerror(reason), tree->call->shown);
    pthread_mutex_unlock(&tree->lock);
    walk_stop(worker, reason);
}

int native_tree(const struct file_call *call, struct entries *entries, struct sandlot_error *error)
{
    AUTO_ROOT struct native_root root = NATIVE_NO_ROOT;

    if (native_begin(call, &root, error) < 0)
        return -1;
    AUTO_CLOSE int start_fd = walk_open(call, root.fd);

    if (start_fd < 0)
        return native_failed(call, root.fd, errno, error);
    struct tree tree = {.call = call, .lock = PTHREAD_MUTEX_INITIALIZER, .entries = entries, .error = error};
    struct gatherer gatherers[WALK_THREADS];

    for (int i = 0; i < WALK_THREADS; i++)
        gatherers[i].tree = &tree;
    const struct walk_plan plan = {.root = &root,
                                   .start_fd = start_fd,
                                   .deadline_ms = walk_deadline(call, FILE_CALL_MS),
                                   .cancel_fd = call->cancel_fd,
                                   .states = gatherers,
                                   .state_size = sizeof(gatherers[0]),
                                   .visit = visit,
                                   .unreadable = note_unreadable};
    int reason = walk(&plan);

    pthread_mutex_destroy(&tree.lock);
    if (!reason)
        return 0;
    /* What was said when the walk was ended counts; ERROR may be nobody's. */
    return error_is_set(error) ? -1 : file_error_errno(error, call, reason);
}
