/* sandlot ls: what is in a directory. */
#include "base/cleanup.h"
#include "base/error.h"
#include "cli/command.h"
#include "cli/file_command.h"
#include "cli/json_list.h"
#include "cli/output.h"
#include "tools/text.h"

static bool add_object(void *context, const struct sandlot_file_entry *entry)
{
    struct json_object *object = json_object_new_object();
    AUTO_FREE char *modified = time_text(entry->modified_at_ms);

    json_add_path(object, entry->path);
    json_object_object_add(object, "is_dir", json_object_new_boolean(entry->is_dir));
    json_object_object_add(object, "size", json_object_new_int64((int64_t)entry->bytes));
    json_object_object_add(object, "modified_at", modified ? json_object_new_string(modified) : NULL);
    if (entry->is_symlink)
        json_object_object_add(object, "is_symlink", json_object_new_boolean(true));
    return json_list_add(context, object);
}

static int work(const struct context *context, struct sandlot_session *session, const void *input,
                struct answer *answer, struct sandlot_error *error)
{
    (void)input;
    const struct options *options = context->options;
    const struct sandlot_ls request = {
        .size = sizeof(request), .path = options->arguments[0], .cancellation = context->cancellation};
    CLEANUP(text_entries_clear) struct text_entries text = {0};

    if (options->json) {
        struct json_object *entries = json_list_new();
        struct json_object *object = json_object_new_object();

        json_object_object_add(object, "entries", entries);
        if (sandlot_list_directory(session, &request, add_object, entries, error) == 0)
            return answer_with_object(answer, object, error);
        json_object_put(object);
        return -1;
    }
    if (sandlot_list_directory(session, &request, text_entries_add, &text, error) < 0)
        return -1;
    return answer_with_text(answer, text_of_entries(&text, false, "No files found", ANSWER_MAXIMUM, NULL), error);
}

int command_ls(const struct options *options)
{
    return file_command(options, work, NULL);
}
