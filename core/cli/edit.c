/* sandlot edit: replaces text in a file. */
#include "base/cleanup.h"
#include "base/error.h"
#include "cli/command.h"
#include "cli/file_command.h"
#include "cli/usage.h"
#include "config/value.h"
#include "tools/text.h"

#include <string.h>

enum { REQUEST_MAXIMUM = 64 << 20 };

/* TEXT as a JSON object, NULL if it is none or something follows it. */
static struct json_object *parse_object(const char *text, size_t length)
{
    struct json_tokener *tokener = json_tokener_new();
    struct json_object *object = NULL;

    if (!tokener)
        return NULL;
    json_tokener_set_flags(tokener, JSON_TOKENER_STRICT);
    object = json_tokener_parse_ex(tokener, text, (int)length + 1);
    if (!json_object_is_type(object, json_type_object)) {
        json_object_put(object);
        object = NULL;
    }
    json_tokener_free(tokener);
    return object;
}

/* The string KEY of OBJECT. NULL if there is none. */
static const char *get_string(struct json_object *object, const char *key, size_t *length)
{
    struct json_object *value = NULL;

    if (!object || !json_object_object_get_ex(object, key, &value) || !json_object_is_type(value, json_type_string))
        return NULL;
    *length = (size_t)json_object_get_string_len(value);
    return json_object_get_string(value);
}

static int work(const struct context *context, struct sandlot_session *session, const void *input,
                struct answer *answer, struct sandlot_error *error)
{
    struct sandlot_edit own = *(const struct sandlot_edit *)input;
    const struct sandlot_edit *request = &own;
    uint64_t occurrences = 0;

    own.cancellation = context->cancellation;
    if (sandlot_edit_file(session, request, &occurrences, error) < 0)
        return -1;
    answer->changed = true;
    if (!context->options->json)
        return answer_with_text(answer, text_of_edit(request->path, occurrences), error);
    struct json_object *object = json_object_new_object();

    json_add_path(object, request->path);
    json_object_object_add(object, "occurrences", json_object_new_int64((int64_t)occurrences));
    return answer_with_object(answer, object, error);
}

/* Fills REQUEST from the object on standard input, and runs the command. */
static int edit_from_input(const struct options *options, struct sandlot_edit *request)
{
    int status = 0;
    size_t length;
    AUTO_FREE char *text = read_standard_input(options, REQUEST_MAXIMUM, &length, &status);
    AUTO_JSON struct json_object *object = text ? parse_object(text, length) : NULL;
    struct json_object *all = NULL;

    if (!text)
        return status;
    request->old_string = get_string(object, "old_string", &request->old_length);
    request->new_string = get_string(object, "new_string", &request->new_length);
    if (!request->old_string || !request->new_string)
        return usage_error(options->command,
                           "standard input must hold one JSON object with the strings \"old_string\" and "
                           "\"new_string\"; or pass --old and --new");
    if (json_object_object_get_ex(object, "replace_all", &all) && !json_object_is_type(all, json_type_boolean))
        return usage_error(options->command, "\"replace_all\" on standard input must be true or false");
    request->replace_all = request->replace_all || json_object_get_boolean(all);
    return file_command(options, work, request);
}

int command_edit(const struct options *options)
{
    const uint64_t both = OPTION_OLD | OPTION_NEW;
    struct sandlot_edit request = {
        .size = sizeof(request), .path = options->arguments[0], .replace_all = options->given & OPTION_REPLACE_ALL};

    if ((options->given & both) == 0)
        return edit_from_input(options, &request);
    if ((options->given & both) != both)
        return usage_error(options->command, "--old and --new go together; without both, standard input holds a JSON "
                                             "object with \"old_string\" and \"new_string\"");
    request.old_string = options->old_string;
    request.old_length = strlen(options->old_string);
    request.new_string = options->new_string;
    request.new_length = strlen(options->new_string);
    return file_command(options, work, &request);
}
