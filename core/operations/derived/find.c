/* glob: the sandbox lists what there is, this side matches. */
#include "base/cleanup.h"
#include "base/error.h"
#include "operations/derived/derived.h"
#include "operations/derived/walk.h"

enum {
    WANTED = ENTRIES_FOUND_MAXIMUM + 1, /* one more tells that there are more */
    KEPT = 4 * WANTED                   /* collected before all but the first by path are forgotten */
};

struct finding {
    const struct file_call *call;
    const struct pattern *pattern;
    bool directories;
    struct entries *found;
    bool missed; /* a directory that cannot be read, and in which something could match */
};

/* Which ones are told does not depend on the order in which they are found. */
static void forget_the_last(struct entries *found)
{
    entries_sort(found);
    found->count = found->count < WANTED ? found->count : WANTED;
}

static int take(void *context, const char *relative, size_t length, enum walk_kind kind, struct sandlot_error *error)
{
    struct finding *finding = context;

    if (kind == WALK_UNREADABLE) {
        finding->missed = finding->missed || pattern_may_enter(finding->pattern, relative);
        return 0;
    }
    if ((kind == WALK_DIRECTORY && !finding->directories) || !pattern_matches(finding->pattern, relative))
        return 0;
    struct sandlot_file_entry *entry = entries_add(finding->found, finding->call->path, relative, length);

    if (!entry)
        return error_no_memory(error);
    entry->is_dir = kind == WALK_DIRECTORY;
    entry->is_symlink = kind == WALK_LINK;
    if (finding->found->count == KEPT)
        forget_the_last(finding->found);
    return 0;
}

int derived_find(const struct file_call *call, const struct pattern *pattern, bool directories, struct entries *found,
                 bool *truncated, struct sandlot_error *error)
{
    struct finding finding = {.call = call, .pattern = pattern, .directories = directories, .found = found};
    AUTO_FREE char *directory = pattern_directory(pattern);
    struct walk walk = {
        .links = true, .directory = directory, .depth = pattern_depth(pattern), .each = take, .context = &finding};

    if (!directory)
        return error_no_memory(error);
    if (walk_run(call, &walk, FILE_GLOB_MS, error) < 0)
        return -1;
    forget_the_last(found);
    *truncated = walk.cut || finding.missed;
    return 0;
}
