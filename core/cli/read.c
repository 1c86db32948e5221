/* sandlot read: a page of a file. */
#include "base/base64.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "cli/command.h"
#include "cli/file_command.h"
#include "cli/output.h"
#include "tools/text.h"

#include <limits.h>
#include <string.h>

/* Null where there is no such line. */
static struct json_object *line_number(int64_t line)
{
    return line > 0 ? json_object_new_int64(line) : NULL;
}

static void add_pagination(struct json_object *object, const struct sandlot_page *page)
{
    json_object_object_add(object, "start_line", line_number(page->start_line));
    json_object_object_add(object, "end_line", line_number(page->end_line));
    json_object_object_add(object, "total_lines",
                           page->total_lines >= 0 ? json_object_new_int64(page->total_lines) : NULL);
    json_object_object_add(object, "next_offset",
                           page->next_offset >= 0 ? json_object_new_int64(page->next_offset) : NULL);
    json_object_object_add(object, "truncated", json_object_new_boolean(page->truncated));
    if (page->lossy)
        json_object_object_add(object, "lossy", json_object_new_boolean(true));
    if (page->line_truncated)
        json_object_object_add(object, "line_truncated", json_object_new_int64((int64_t)page->line_truncated));
}

static struct json_object *page_object(const struct sandlot_page *page)
{
    struct json_object *object = json_object_new_object();

    json_object_object_add(object, "encoding", json_object_new_string(page->binary ? "base64" : "utf-8"));
    if (page->binary) {
        AUTO_FREE char *encoded = base64_encode(page->content, page->content_length);

        json_object_object_add(object, "content", encoded ? json_object_new_string(encoded) : NULL);
        return object;
    }
    json_object_object_add(object, "content", json_bytes(page->content ? page->content : "", page->content_length));
    if (page->empty)
        json_object_object_add(object, "empty", json_object_new_boolean(true));
    else if (page->no_lines_requested)
        json_object_object_add(object, "no_lines_requested", json_object_new_boolean(true));
    else
        add_pagination(object, page);
    return object;
}

static int work(const struct context *context, struct sandlot_session *session, const void *input,
                struct answer *answer, struct sandlot_error *error)
{
    (void)input;
    const struct options *options = context->options;
    const struct sandlot_read request = {.size = sizeof(request),
                                         .path = options->arguments[0],
                                         .offset = options->offset,
                                         .has_limit = options->given & OPTION_LIMIT,
                                         .limit = options->limit,
                                         .cancellation = context->cancellation};
    struct sandlot_page page = {.size = sizeof(page)};

    if (sandlot_read_file(session, &request, &page, error) < 0)
        return -1;
    int failed;

    if (options->json) {
        failed = answer_with_object(answer, page_object(&page), error);
    } else {
        size_t length = 0;
        char *text = text_of_page(&request, &page, ANSWER_MAXIMUM, NULL, &length);

        failed = answer_with_bytes(answer, text, length, error);
    }
    sandlot_page_clear(&page);
    return failed;
}

int command_read(const struct options *options)
{
    return file_command(options, work, NULL);
}
