/* All files and directories below one, for a transfer of all of them. */
#include "base/error.h"
#include "operations/derived/derived.h"
#include "operations/derived/walk.h"
#include "operations/file_error.h"

#include <errno.h>

struct gathering {
    const struct file_call *call;
    struct entries *entries;
};

static int take(void *context, const char *relative, size_t length, enum walk_kind kind, struct sandlot_error *error)
{
    struct gathering *gathering = context;
    struct sandlot_file_entry *entry = entries_add(gathering->entries, gathering->call->path, relative, length);

    if (!entry)
        return error_no_memory(error);
    entry->is_dir = kind == WALK_DIRECTORY;
    return 0;
}

int derived_tree(const struct file_call *call, struct entries *entries, struct sandlot_error *error)
{
    struct gathering gathering = {call, entries};
    struct walk walk = {.each = take, .context = &gathering};
    int64_t left = call->deadline_ms - sandlot_now_ms();

    if (walk_run(call, &walk, left > 0 ? left : 0, error) < 0)
        return -1;
    if (walk.unreadable)
        return file_error_errno(error, call, EACCES);
    if (walk.cut)
        return error_set(error, SANDLOT_CODE_TOO_LARGE,
                         "the directory '%s' holds too much to be listed in the time there is; move its parts one by "
                         "one",
                         call->shown);
    return 0;
}
