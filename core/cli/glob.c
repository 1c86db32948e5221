/* sandlot glob: files by a pattern. */
#include "base/cleanup.h"
#include "base/error.h"
#include "cli/command.h"
#include "cli/file_command.h"
#include "cli/output.h"
#include "tools/text.h"

static bool add_object(void *context, const struct sandlot_file_entry *entry)
{
    struct json_object *object = json_object_new_object();

    json_add_path(object, entry->path);
    json_object_object_add(object, "is_dir", json_object_new_boolean(entry->is_dir));
    return json_object_array_add(context, object) == 0;
}

static int work(const struct context *context, struct sandlot_session *session, const void *input,
                struct answer *answer, struct sandlot_error *error)
{
    (void)input;
    const struct options *options = context->options;
    const struct sandlot_glob request = {.size = sizeof(request),
                                         .pattern = options->arguments[0],
                                         .path = options->arguments[1],
                                         .directories = options->given & OPTION_DIRS,
                                         .cancellation = context->cancellation};
    CLEANUP(text_entries_clear) struct text_entries text = {0};
    bool truncated = false;

    if (options->json) {
        struct json_object *matches = json_object_new_array();
        struct json_object *object = json_object_new_object();

        json_object_object_add(object, "matches", matches);
        if (sandlot_find_files(session, &request, add_object, matches, &truncated, error) < 0) {
            json_object_put(object);
            return -1;
        }
        json_object_object_add(object, "truncated", json_object_new_boolean(truncated));
        return answer_with_object(answer, object, error);
    }
    if (sandlot_find_files(session, &request, text_entries_add, &text, &truncated, error) < 0)
        return -1;
    return answer_with_text(answer, text_of_entries(&text, truncated, "No files found", ANSWER_MAXIMUM, NULL), error);
}

int command_glob(const struct options *options)
{
    return file_command(options, work, NULL);
}
