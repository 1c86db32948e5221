/* The operations on files, row by row, natively or through commands: the same answers from every provider. */
#include "cleanup.h"
#include "live.h"
#include "rows.h"
#include "stop.h"
#include "tap.h"
#include "transfers.h"

#include <string.h>

enum { MOST_SHOWN = 16384 };

/* An answer as a text. What does not fit is left out: expected texts are shorter. */
struct answer {
    char text[MOST_SHOWN];
    size_t length;
    const char *folder; /* the working directory, left out of paths */
};

static void add(struct answer *answer, const char *bytes, size_t length)
{
    for (size_t i = 0; i < length && answer->length < MOST_SHOWN - 3; i++) {
        if (bytes[i])
            answer->text[answer->length++] = bytes[i];
        else
            answer->length += (size_t)sprintf(answer->text + answer->length, "\\0");
    }
    answer->text[answer->length] = '\0';
}

static void add_text(struct answer *answer, const char *text)
{
    add(answer, text, strlen(text));
}

static void add_path(struct answer *answer, const char *path)
{
    size_t length = strlen(answer->folder);

    if (strncmp(path, answer->folder, length) == 0 && path[length] == '/')
        path += length + 1;
    add_text(answer, path);
}

static void add_failure(struct answer *answer, const struct sandlot_error *error)
{
    answer->length = 0;
    add_text(answer, say("!%s~%s", sandlot_code_name(error->code), error->message ? error->message : ""));
}

/* ---- the calls --------------------------------------------------------------------------------------------------- */

static void show_page(struct answer *answer, const struct sandlot_page *page)
{
    if (page->empty || page->no_lines_requested) {
        add_text(answer, page->empty ? "[empty]" : "[no lines]");
        return;
    }
    if (page->binary)
        add_text(answer, "[binary] ");
    else
        add_text(answer, say("[%lld-%lld of %lld%s%s%s] ", (long long)page->start_line, (long long)page->end_line,
                             (long long)page->total_lines,
                             page->next_offset >= 0 ? say(", next %lld", (long long)page->next_offset) : "",
                             page->truncated ? ", cut" : "", page->lossy ? ", lossy" : ""));
    add(answer, page->content, page->content_length);
}

static int call_read(struct sandlot_session *session, const struct row *row, struct answer *answer,
                     struct sandlot_error *error)
{
    struct sandlot_read request = {.size = sizeof(request),
                                   .cancellation = stop_cancellation(),
                                   .path = row->path,
                                   .offset = row->offset,
                                   .has_limit = row->limit != NO_LIMIT,
                                   .limit = row->limit};
    struct sandlot_page page = {.size = sizeof(page)};

    if (sandlot_read_file(session, &request, &page, error) != 0)
        return -1;
    show_page(answer, &page);
    sandlot_page_clear(&page);
    return 0;
}

static int call_write(struct sandlot_session *session, const struct row *row, struct answer *answer,
                      struct sandlot_error *error)
{
    struct sandlot_write request = {.size = sizeof(request),
                                    .cancellation = stop_cancellation(),
                                    .path = row->path,
                                    .content = row->first,
                                    .content_length = strlen(row->first)};

    add_text(answer, "ok");
    return sandlot_write_file(session, &request, error);
}

static int call_edit(struct sandlot_session *session, const struct row *row, struct answer *answer,
                     struct sandlot_error *error)
{
    struct sandlot_edit request = {.size = sizeof(request),
                                   .cancellation = stop_cancellation(),
                                   .path = row->path,
                                   .old_string = row->first,
                                   .old_length = strlen(row->first),
                                   .new_string = row->second,
                                   .new_length = strlen(row->second),
                                   .replace_all = row->operation == OPERATION_EDIT_ALL};
    uint64_t occurrences = 0;
    int result = sandlot_edit_file(session, &request, &occurrences, error);

    add_text(answer, say("%llu", (unsigned long long)occurrences));
    return result;
}

static void add_separator(struct answer *answer)
{
    if (answer->length > 0)
        add_text(answer, "|");
}

static bool add_entry(void *context, const struct sandlot_file_entry *entry)
{
    struct answer *answer = context;
    const char *slash = strrchr(entry->path, '/');

    add_separator(answer);
    add_text(answer, slash ? slash + 1 : entry->path);
    add_text(answer, entry->is_dir ? "/" : "");
    add_text(answer, entry->is_symlink ? "@" : "");
    return true;
}

static bool add_found(void *context, const struct sandlot_file_entry *entry)
{
    add_separator(context);
    add_path(context, entry->path);
    return true;
}

static bool add_match(void *context, const struct sandlot_match *match)
{
    struct answer *answer = context;

    add_separator(answer);
    add_path(answer, match->path);
    add_text(answer, say(":%lld:", (long long)match->line));
    add(answer, match->text, match->text_length);
    return true;
}

static int call_list(struct sandlot_session *session, const struct row *row, struct answer *answer,
                     struct sandlot_error *error)
{
    struct sandlot_ls request = {.size = sizeof(request), .cancellation = stop_cancellation(), .path = row->path};

    return sandlot_list_directory(session, &request, add_entry, answer, error);
}

static int call_search(struct sandlot_session *session, const struct row *row, struct answer *answer,
                       struct sandlot_error *error)
{
    struct sandlot_grep request = {.size = sizeof(request),
                                   .cancellation = stop_cancellation(),
                                   .pattern = row->first,
                                   .pattern_length = strlen(row->first),
                                   .path = row->path,
                                   .glob = row->second,
                                   .max_count = (uint64_t)row->limit};
    bool truncated = false;
    int result = sandlot_search_files(session, &request, add_match, answer, &truncated, error);

    add_text(answer, truncated ? "..." : "");
    return result;
}

static int call_find(struct sandlot_session *session, const struct row *row, struct answer *answer,
                     struct sandlot_error *error)
{
    struct sandlot_glob request = {
        .size = sizeof(request), .cancellation = stop_cancellation(), .pattern = row->first, .path = row->path};

    return sandlot_find_files(session, &request, add_found, answer, NULL, error);
}

static int call_remove(struct sandlot_session *session, const struct row *row, struct answer *answer,
                       struct sandlot_error *error)
{
    struct sandlot_remove request = {.size = sizeof(request), .cancellation = stop_cancellation(), .path = row->path};

    add_text(answer, "ok");
    return sandlot_remove_file(session, &request, error);
}

static int call_inside(struct sandlot_session *session, const struct row *row, struct answer *answer,
                       struct sandlot_error *error)
{
    struct outcome outcome = live_run(session, row->first);
    int result = outcome.ran ? 0 : -1;

    if (outcome.ran) {
        add(answer, outcome.result.output, outcome.result.output_length);
        if (outcome.result.exit_code != 0)
            add_text(answer, say(" (exit code %d)", outcome.result.exit_code));
        sandlot_result_clear(&outcome.result);
    }
    *error = outcome.error;
    return result;
}

/* ---- a row ------------------------------------------------------------------------------------------------------- */

typedef int (*call_function)(struct sandlot_session *session, const struct row *row, struct answer *answer,
                             struct sandlot_error *error);

static const call_function calls[] = {
    [OPERATION_READ] = call_read,     [OPERATION_WRITE] = call_write,   [OPERATION_EDIT] = call_edit,
    [OPERATION_EDIT_ALL] = call_edit, [OPERATION_LIST] = call_list,     [OPERATION_SEARCH] = call_search,
    [OPERATION_FIND] = call_find,     [OPERATION_REMOVE] = call_remove, [OPERATION_INSIDE] = call_inside,
};

/* "!code~word" against "!code~message". */
static bool is_failure(const char *expected, const char *came)
{
    size_t code = strcspn(expected, "~");

    if (strncmp(expected, came, code) != 0 || came[code] != '~')
        return false;
    return !expected[code] || strstr(came + code + 1, expected + code + 1);
}

static bool matches(const char *expected, const char *came)
{
    size_t length = strlen(expected);

    if (*expected == '!')
        return is_failure(expected, came);
    if (strcmp(expected, came) == 0)
        return true;
    return length > 3 && strcmp(expected + length - 3, "...") == 0 && strncmp(expected, came, length - 3) == 0;
}

static void check_row(struct sandlot_session *session, const struct row_set *set, const struct row *row,
                      const char *name)
{
    static struct answer answer;
    struct sandlot_error error = {0};

    answer.length = 0;
    answer.text[0] = '\0';
    answer.folder = sandlot_session_working_dir(session);
    if (calls[row->operation](session, row, &answer, &error) != 0)
        add_failure(&answer, &error);
    tap_check(
        matches(row->expected, answer.text), name, shown(row->expected, strlen(row->expected)),
        shown(answer.text, answer.length),
        row->operation == OPERATION_INSIDE
            ? "Look at the result before: the call did something else than it said."
            : say("Try `sandlot %s` on such a file with -vv; output of commands must come back exactly.", set->name));
    sandlot_error_clear(&error);
}

static void check_set(struct sandlot_session *session, const struct row_set *set, bool is_almighty)
{
    const char *named = "";

    if (!live_expect(session, say("%s: what has to be there", set->name), set->preparation, 0, "",
                     "The sandbox needs a POSIX shell and the usual small tools; those of BusyBox suffice."))
        return;
    for (size_t i = 0; i < set->count; i++) {
        const struct row *row = &set->rows[i];

        /* A look at what a call did is named after the call. */
        if (row->operation != OPERATION_INSIDE)
            named = row->name;
        const char *name = row->operation == OPERATION_INSIDE ? say("%s: %s: %s", set->name, named, row->name)
                                                              : say("%s: %s", set->name, row->name);

        if (is_almighty && strcmp(row->expected, "!permission_denied") == 0)
            tap_skip(name, "commands run there as a user whom no permission stops");
        else
            check_row(session, set, row, name);
    }
}

/* Permission rows mean nothing to root. */
static bool is_almighty(struct sandlot_session *session)
{
    struct outcome outcome = live_run(session, ": >almighty && chmod 000 almighty && cat almighty && rm -f almighty");
    bool almighty = outcome.ran && outcome.result.exit_code == 0;

    outcome_clear(&outcome);
    return almighty;
}

void group_operations(const struct kit *kit)
{
    struct live live;

    if (!live_begin(&live, kit, false))
        return;
    struct sandlot_session *session = live_sandbox(&live);

    if (session && !sandlot_session_can_execute(session)) {
        tap_skip("rows that need commands to prepare them", "the provider serves files only");
    } else if (session) {
        bool almighty = is_almighty(session);

        for (size_t i = 0; i < row_set_count; i++)
            check_set(session, &row_sets[i], almighty);
        live_expect(session, "nothing temporary is left", "find . -name '*sandlot*' 2>/dev/null; true", 0, "",
                    "Clean up after failed transfers too.");
    }
    if (session) {
        transfers_check(kit, session);
        live_close(session, true, NULL);
    }
    live_end(&live);
}
