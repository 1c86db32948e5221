/* sandlot grep: lines that hold a text. */
#include "base/cleanup.h"
#include "base/error.h"
#include "cli/command.h"
#include "cli/file_command.h"
#include "cli/json_list.h"
#include "cli/output.h"
#include "tools/text.h"

#include <string.h>

static bool add_object(void *context, const struct sandlot_match *match)
{
    struct json_object *object = json_object_new_object();

    json_add_path(object, match->path);
    json_object_object_add(object, "line", json_object_new_int64(match->line));
    json_object_object_add(object, "text", json_bytes(match->text, match->text_length));
    return json_list_add(context, object);
}

static int work(const struct context *context, struct sandlot_session *session, const void *input,
                struct answer *answer, struct sandlot_error *error)
{
    (void)input;
    const struct options *options = context->options;
    const struct sandlot_grep request = {.size = sizeof(request),
                                         .pattern = options->arguments[0],
                                         .pattern_length = strlen(options->arguments[0]),
                                         .path = options->arguments[1],
                                         .glob = options->glob,
                                         .max_count = options->max_count,
                                         .cancellation = context->cancellation};
    CLEANUP(text_matches_clear) struct text_matches text = {.mode = TEXT_GREP_CONTENT};
    bool truncated = false;

    if (options->json) {
        struct json_object *matches = json_list_new();
        struct json_object *object = json_object_new_object();

        json_object_object_add(object, "matches", matches);
        if (sandlot_search_files(session, &request, add_object, matches, &truncated, error) < 0) {
            json_object_put(object);
            return -1;
        }
        json_object_object_add(object, "truncated", json_object_new_boolean(truncated));
        return answer_with_object(answer, object, error);
    }
    if (sandlot_search_files(session, &request, text_matches_add, &text, &truncated, error) < 0)
        return -1;
    size_t length = 0;
    char *lines = text_of_matches(&text, truncated, request.pattern, ANSWER_MAXIMUM, NULL, &length);

    return answer_with_bytes(answer, lines, length, error);
}

int command_grep(const struct options *options)
{
    return file_command(options, work, NULL);
}
