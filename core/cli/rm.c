/* sandlot rm: removes a file or a tree inside the sandbox. */
#include "cli/command.h"
#include "cli/file_command.h"
#include "tools/text.h"

static int work(const struct context *context, struct sandlot_session *session, const void *input,
                struct answer *answer, struct sandlot_error *error)
{
    (void)input;
    const char *path = context->options->arguments[0];
    const struct sandlot_remove request = {
        .size = sizeof(request), .path = path, .cancellation = context->cancellation};

    if (sandlot_remove_file(session, &request, error) < 0)
        return -1;
    answer->changed = true;
    if (!context->options->json)
        return answer_with_text(answer, text_of_remove(path), error);
    struct json_object *object = json_object_new_object();

    json_add_path(object, path);
    return answer_with_object(answer, object, error);
}

int command_rm(const struct options *options)
{
    return file_command(options, work, NULL);
}
