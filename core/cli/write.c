/* sandlot write: standard input becomes a file. */
#include "base/cleanup.h"
#include "cli/command.h"
#include "cli/file_command.h"
#include "tools/text.h"

/* More than this is what upload is for, which needs constant memory. */
enum { CONTENT_MAXIMUM = 64 << 20 };

struct content {
    char *bytes;
    size_t length;
};

static int work(const struct context *context, struct sandlot_session *session, const void *input,
                struct answer *answer, struct sandlot_error *error)
{
    const char *path = context->options->arguments[0];
    const struct content *content = input;
    const struct sandlot_write request = {.size = sizeof(request),
                                          .path = path,
                                          .content = content->bytes,
                                          .content_length = content->length,
                                          .cancellation = context->cancellation};

    if (sandlot_write_file(session, &request, error) < 0)
        return -1;
    answer->changed = true;
    if (!context->options->json)
        return answer_with_text(answer, text_of_write(path), error);
    struct json_object *object = json_object_new_object();

    json_add_path(object, path);
    return answer_with_object(answer, object, error);
}

int command_write(const struct options *options)
{
    struct content content = {0};
    int status = 0;

    content.bytes = read_standard_input(options, CONTENT_MAXIMUM, &content.length, &status);
    if (content.bytes)
        status = file_command(options, work, &content);
    free(content.bytes);
    return status;
}
