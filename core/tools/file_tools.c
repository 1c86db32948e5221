/* The tools that list, search and change files. */
#include "tools/text.h"
#include "tools/work.h"

#include <string.h>

enum { CONTENT_MATCHES = 1000 };

int tool_ls(const struct work *work, struct reply *reply, struct sandlot_error *error)
{
    const struct sandlot_ls request = {.size = sizeof(request),
                                       .path = argument(work->arguments, "path")->text,
                                       .cancellation = work->call->cancellation};
    struct text_entries entries = {0};
    int failed = sandlot_list_directory(work->session, &request, text_entries_add, &entries, error);

    if (!failed) {
        char *text = text_of_entries(&entries, false, "Directory is empty", work->maximum, &reply->truncated);

        failed = reply_set(reply, text, text ? strlen(text) : 0, error);
    }
    text_entries_clear(&entries);
    return failed;
}

int tool_glob(const struct work *work, struct reply *reply, struct sandlot_error *error)
{
    const struct sandlot_glob request = {.size = sizeof(request),
                                         .pattern = argument(work->arguments, "pattern")->text,
                                         .path = argument(work->arguments, "path")->text,
                                         .cancellation = work->call->cancellation};
    struct text_entries entries = {0};
    bool truncated = false;
    int failed = sandlot_find_files(work->session, &request, text_entries_add, &entries, &truncated, error);

    if (!failed) {
        char *text = text_of_entries(&entries, truncated, "No files found", work->maximum, &reply->truncated);

        reply->truncated = reply->truncated || truncated;
        failed = reply_set(reply, text, text ? strlen(text) : 0, error);
    }
    text_entries_clear(&entries);
    return failed;
}

static enum text_grep_mode mode_of(const struct argument *mode)
{
    if (mode->given && strcmp(mode->text, "content") == 0)
        return TEXT_GREP_CONTENT;
    return mode->given && strcmp(mode->text, "count") == 0 ? TEXT_GREP_COUNT : TEXT_GREP_FILES;
}

int tool_grep(const struct work *work, struct reply *reply, struct sandlot_error *error)
{
    const struct argument *pattern = argument(work->arguments, "pattern");
    const struct argument *maximum = argument(work->arguments, "max_count");
    struct text_matches matches = {.mode = mode_of(argument(work->arguments, "output_mode"))};
    uint64_t usual = matches.mode == TEXT_GREP_CONTENT ? CONTENT_MATCHES : 0;
    const struct sandlot_grep request = {.size = sizeof(request),
                                         .pattern = pattern->text,
                                         .pattern_length = pattern->length,
                                         .path = argument(work->arguments, "path")->text,
                                         .glob = argument(work->arguments, "glob")->text,
                                         .max_count = maximum->given ? (uint64_t)maximum->number : usual,
                                         .cancellation = work->call->cancellation};
    bool truncated = false;
    int failed = sandlot_search_files(work->session, &request, text_matches_add, &matches, &truncated, error);

    if (!failed) {
        size_t length = 0;
        char *text = text_of_matches(&matches, truncated, pattern->text, work->maximum, &reply->truncated, &length);

        reply->truncated = reply->truncated || truncated;
        failed = reply_set(reply, text, length, error);
    }
    text_matches_clear(&matches);
    return failed;
}

int tool_write_file(const struct work *work, struct reply *reply, struct sandlot_error *error)
{
    const struct argument *content = argument(work->arguments, "content");
    const struct sandlot_write request = {.size = sizeof(request),
                                          .path = argument(work->arguments, "file_path")->text,
                                          .content = content->text,
                                          .content_length = content->length,
                                          .cancellation = work->call->cancellation};

    if (sandlot_write_file(work->session, &request, error) < 0)
        return -1;
    char *text = text_of_write(request.path);

    return reply_set(reply, text, text ? strlen(text) : 0, error);
}

int tool_edit_file(const struct work *work, struct reply *reply, struct sandlot_error *error)
{
    const struct argument *old = argument(work->arguments, "old_string");
    const struct argument *new = argument(work->arguments, "new_string");
    const struct sandlot_edit request = {.size = sizeof(request),
                                         .path = argument(work->arguments, "file_path")->text,
                                         .old_string = old->text,
                                         .old_length = old->length,
                                         .new_string = new->text,
                                         .new_length = new->length,
                                         .replace_all = argument(work->arguments, "replace_all")->flag,
                                         .cancellation = work->call->cancellation};
    uint64_t occurrences = 0;

    if (sandlot_edit_file(work->session, &request, &occurrences, error) < 0)
        return -1;
    char *text = text_of_edit(request.path, occurrences);

    return reply_set(reply, text, text ? strlen(text) : 0, error);
}

int tool_delete(const struct work *work, struct reply *reply, struct sandlot_error *error)
{
    const struct sandlot_remove request = {.size = sizeof(request),
                                           .path = argument(work->arguments, "file_path")->text,
                                           .cancellation = work->call->cancellation};

    if (sandlot_remove_file(work->session, &request, error) < 0)
        return -1;
    char *text = text_of_remove(request.path);

    return reply_set(reply, text, text ? strlen(text) : 0, error);
}
