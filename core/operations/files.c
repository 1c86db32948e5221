/*
 * The public operations on files: what the caller wants is checked, its path resolved, the route chosen, and what the
 * route found handed over in order.
 */
#include "operations/files.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/sized.h"
#include "base/text.h"
#include "operations/file_error.h"
#include "operations/sandbox_path.h"

#include <stdlib.h>
#include <string.h>

/* A call and the path that it owns. */
struct prepared {
    struct file_call call;
    const struct file_route *route;
    char *path;
    struct path_lock lock;
    bool locked;
};

static void finish(struct prepared *prepared)
{
    if (prepared->locked)
        path_lock_give_back(&prepared->call.session->path_locks, &prepared->lock);
    free(prepared->path);
}

#define AUTO_FINISH CLEANUP(finish)

static void pattern_cleanup(struct pattern **pattern)
{
    pattern_free(*pattern);
}

static bool changes_files(enum file_verb verb)
{
    return verb == FILE_WRITE || verb == FILE_EDIT || verb == FILE_REMOVE;
}

/* PATH NULL: the working directory. */
static int prepare(struct prepared *prepared, struct sandlot_session *session, enum file_verb verb, const char *path,
                   int64_t limit_ms, const struct sandlot_cancellation *cancellation, struct sandlot_error *error)
{
    struct file_call *call = &prepared->call;

    *call = (struct file_call){.session = session,
                               .verb = verb,
                               .shown = path ? path : session->working_dir,
                               .deadline_ms = sandlot_now_ms() + limit_ms,
                               .cancel_fd = cancellation_fd(cancellation)};
    if (cancellation_check(call->cancel_fd, error) < 0)
        return -1;
    prepared->path = sandbox_path(call->shown, session->working_dir, false, error);
    call->path = prepared->path;
    if (!prepared->path)
        return -1;
    if (changes_files(verb) && path_lock_take(&session->path_locks, &prepared->lock, prepared->path, call->deadline_ms,
                                              call->cancel_fd, error) < 0)
        return -1;
    prepared->locked = changes_files(verb);
    prepared->route = file_route_of(call, error);
    return prepared->route ? 0 : -1;
}

const struct file_route *file_route_of(const struct file_call *call, struct sandlot_error *error)
{
    struct sandlot_session *session = call->session;
    int has_root = session_has_root(session, call->deadline_ms, call->cancel_fd, error);

    if (has_root < 0)
        return NULL;
    if (has_root)
        return &native_route;
    if (session->provider->table.execute)
        return &derived_route;
    error_set(error, SANDLOT_CODE_NOT_SUPPORTED, "%s: this provider neither serves files nor runs commands",
              session->provider->entry->name);
    return NULL;
}

/* ---- read ---- */

int sandlot_read_file(struct sandlot_session *session, const struct sandlot_read *request, struct sandlot_page *page,
                      struct sandlot_error *error)
{
    struct sandlot_read own;
    struct sandlot_page found = {.size = sizeof(found), .total_lines = -1, .next_offset = -1};

    if (sized_read(&own, sizeof(own), request, SIZED_UP_TO(struct sandlot_read, offset), "sandlot_read", error) < 0 ||
        sized_check(page, SIZED_UP_TO(struct sandlot_page, line_truncated), "sandlot_page", error) < 0)
        return -1;
    if (!own.path)
        return error_set(error, SANDLOT_CODE_USAGE, "the path of the file to read is missing");
    int64_t limit = own.has_limit ? own.limit : SANDLOT_DEFAULT_LINES;
    const struct page_wish wish = {
        .path = own.path, .shown = own.path, .offset = own.offset > 0 ? own.offset : 0, .limit = limit > 0 ? limit : 0};
    AUTO_FINISH struct prepared prepared = {0};

    if (prepare(&prepared, session, FILE_READ, own.path, FILE_CALL_MS, own.cancellation, error) < 0)
        return -1;
    if (prepared.route->read(&prepared.call, &wish, &found, error) < 0) {
        sandlot_page_clear(&found);
        return -1;
    }
    sized_write(page, &found, sizeof(found));
    return 0;
}

void sandlot_page_clear(struct sandlot_page *page)
{
    if (!page)
        return;
    free(page->content);
    page->content = NULL;
    page->content_length = 0;
}

/* ---- write and edit ---- */

int sandlot_write_file(struct sandlot_session *session, const struct sandlot_write *request,
                       struct sandlot_error *error)
{
    struct sandlot_write own;

    if (sized_read(&own, sizeof(own), request, SIZED_UP_TO(struct sandlot_write, content_length), "sandlot_write",
                   error) < 0)
        return -1;
    if (!own.path || (!own.content && own.content_length))
        return error_set(error, SANDLOT_CODE_USAGE, "the %s of the file to write is missing",
                         own.path ? "content" : "path");
    AUTO_FINISH struct prepared prepared = {0};

    if (prepare(&prepared, session, FILE_WRITE, own.path, FILE_CALL_MS, own.cancellation, error) < 0)
        return -1;
    return prepared.route->write(&prepared.call, own.content ? own.content : "", own.content_length, error);
}

int sandlot_edit_file(struct sandlot_session *session, const struct sandlot_edit *request, uint64_t *occurrences,
                      struct sandlot_error *error)
{
    struct sandlot_edit own;
    uint64_t unused;

    if (sized_read(&own, sizeof(own), request, SIZED_UP_TO(struct sandlot_edit, replace_all), "sandlot_edit", error) <
        0)
        return -1;
    if (!own.path || !own.old_string || !own.new_string)
        return error_set(error, SANDLOT_CODE_USAGE, "an edit needs a path, an old and a new text");
    if (!text_utf8_valid(own.new_string, own.new_length))
        return error_set(
            error, SANDLOT_CODE_NOT_A_TEXT_FILE,
            "the new text for '%s' is not UTF-8, and the file would be no text file any more; use write or "
            "upload for bytes",
            own.path);
    const struct edit_wish wish = {.shown = own.path,
                                   .old_string = own.old_string,
                                   .old_length = own.old_length,
                                   .new_string = own.new_string,
                                   .new_length = own.new_length,
                                   .replace_all = own.replace_all};
    AUTO_FINISH struct prepared prepared = {0};

    if (prepare(&prepared, session, FILE_EDIT, own.path, FILE_CALL_MS, own.cancellation, error) < 0)
        return -1;
    return prepared.route->edit(&prepared.call, &wish, occurrences ? occurrences : &unused, error);
}

/* ---- remove ---- */

/* The root and what the session stands on are never what somebody meant. */
static int check_removable(const struct file_call *call, struct sandlot_error *error)
{
    AUTO_FREE char *working_dir = sandbox_path(call->session->working_dir, "/", false, error);

    if (!working_dir)
        return -1;
    if (strcmp(call->path, "/") == 0)
        return error_set(error, SANDLOT_CODE_INVALID_PATH,
                         "the root directory '/' cannot be removed; name what is to go inside it");
    /* This is how they are written; a route looks where links lead. */
    return sandbox_path_holds(call->path, working_dir) ? file_error_working_dir(error, call) : 0;
}

int sandlot_remove_file(struct sandlot_session *session, const struct sandlot_remove *request,
                        struct sandlot_error *error)
{
    struct sandlot_remove own;

    if (sized_read(&own, sizeof(own), request, SIZED_UP_TO(struct sandlot_remove, path), "sandlot_remove", error) < 0)
        return -1;
    if (!own.path)
        return error_set(error, SANDLOT_CODE_USAGE, "the path of what is to be removed is missing");
    AUTO_FINISH struct prepared prepared = {0};

    if (prepare(&prepared, session, FILE_REMOVE, own.path, FILE_CALL_MS, own.cancellation, error) < 0 ||
        check_removable(&prepared.call, error) < 0)
        return -1;
    return prepared.route->remove(&prepared.call, error);
}

/* ---- listings and searches ---- */

static void deliver_entries(const struct entries *entries, size_t count,
                            bool (*each)(void *context, const struct sandlot_file_entry *entry), void *context)
{
    for (size_t i = 0; i < count; i++)
        if (!each(context, &entries->items[i]))
            return;
}

int sandlot_list_directory(struct sandlot_session *session, const struct sandlot_ls *request,
                           bool (*each)(void *context, const struct sandlot_file_entry *entry), void *context,
                           struct sandlot_error *error)
{
    struct sandlot_ls own;

    if (sized_read(&own, sizeof(own), request, sizeof(own.size), "sandlot_ls", error) < 0)
        return -1;
    AUTO_FINISH struct prepared prepared = {0};
    CLEANUP(entries_clear) struct entries entries = {0};

    if (prepare(&prepared, session, FILE_LIST, own.path, FILE_CALL_MS, own.cancellation, error) < 0 ||
        prepared.route->list(&prepared.call, &entries, error) < 0)
        return -1;
    entries_sort(&entries);
    deliver_entries(&entries, entries.count, each, context);
    return 0;
}

int sandlot_find_files(struct sandlot_session *session, const struct sandlot_glob *request,
                       bool (*each)(void *context, const struct sandlot_file_entry *entry), void *context,
                       bool *truncated, struct sandlot_error *error)
{
    struct sandlot_glob own;
    bool more = false;

    if (sized_read(&own, sizeof(own), request, SIZED_UP_TO(struct sandlot_glob, pattern), "sandlot_glob", error) < 0)
        return -1;
    if (!own.pattern)
        return error_set(error, SANDLOT_CODE_USAGE, "the pattern of the files to find is missing");
    CLEANUP(pattern_cleanup) struct pattern *pattern = pattern_compile(own.pattern, error);
    AUTO_FINISH struct prepared prepared = {0};
    CLEANUP(entries_clear) struct entries entries = {0};

    if (!pattern || prepare(&prepared, session, FILE_GLOB, own.path, FILE_CALL_MS, own.cancellation, error) < 0 ||
        prepared.route->find(&prepared.call, pattern, own.directories, &entries, &more, error) < 0)
        return -1;
    entries_sort(&entries);
    size_t count = entries.count < ENTRIES_FOUND_MAXIMUM ? entries.count : ENTRIES_FOUND_MAXIMUM;

    if (truncated)
        *truncated = more || count < entries.count;
    deliver_entries(&entries, count, each, context);
    return 0;
}

static int check_text(const struct sandlot_grep *request, struct sandlot_error *error)
{
    if (!request->pattern)
        return error_set(error, SANDLOT_CODE_USAGE, "the text to look for is missing");
    if (memchr(request->pattern, '\n', request->pattern_length))
        return error_set(error, SANDLOT_CODE_INVALID_PATTERN,
                         "the text to look for holds a line end, but lines are searched one by one; look for a part of "
                         "one line");
    if (memchr(request->pattern, '\0', request->pattern_length))
        return error_set(error, SANDLOT_CODE_INVALID_PATTERN,
                         "the text to look for holds a NUL byte, which no text file has; leave it out");
    return 0;
}

int sandlot_search_files(struct sandlot_session *session, const struct sandlot_grep *request,
                         bool (*each)(void *context, const struct sandlot_match *match), void *context, bool *truncated,
                         struct sandlot_error *error)
{
    struct sandlot_grep own;
    bool more = false;

    if (sized_read(&own, sizeof(own), request, SIZED_UP_TO(struct sandlot_grep, pattern_length), "sandlot_grep",
                   error) < 0 ||
        check_text(&own, error) < 0)
        return -1;
    CLEANUP(pattern_cleanup) struct pattern *filter = own.glob ? pattern_compile(own.glob, error) : NULL;
    AUTO_FINISH struct prepared prepared = {0};
    CLEANUP(matches_clear) struct matches matches = {0};
    const struct search search = {
        .text = own.pattern, .length = own.pattern_length, .filter = filter, .maximum = own.max_count};

    if ((own.glob && !filter) ||
        prepare(&prepared, session, FILE_GREP, own.path, FILE_CALL_MS, own.cancellation, error) < 0 ||
        prepared.route->search(&prepared.call, &search, &matches, &more, error) < 0)
        return -1;
    if (truncated)
        *truncated = more;
    for (size_t i = 0; i < matches.count && each(context, &matches.items[i]); i++)
        continue;
    return 0;
}
