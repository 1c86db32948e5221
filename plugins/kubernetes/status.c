#include "status.h"

#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/json.h>

#include <stdlib.h>
#include <string.h>

static const char *text_at(struct json_object *object, const char *path)
{
    const char *text = NULL;

    json_find_string(object, path, &text, NULL);
    return text ? text : "";
}

/* The cause whose type, which stands in its `reason`, is ExitCode has the number as a text. */
static bool find_code(struct json_object *document, int *code)
{
    struct json_object *causes = NULL;

    json_find_array(document, "details.causes", &causes, NULL);
    for (size_t i = 0; causes && i < json_object_array_length(causes); i++) {
        struct json_object *cause = json_object_array_get_idx(causes, i);
        char *end = NULL;

        if (!json_object_is_type(cause, json_type_object) || strcmp(text_at(cause, "reason"), "ExitCode") != 0)
            continue;
        const char *number = text_at(cause, "message");
        long value = strtol(number, &end, 10);

        *code = (int)(value & 0xff);
        return *number && *end == '\0' && value >= 0;
    }
    return false;
}

bool status_read(const char *text, size_t length, struct exec_status *status)
{
    AUTO_DOCUMENT struct json_object *document = json_read_document(text, length, NULL);
    const char *word = json_object_is_type(document, json_type_object) ? text_at(document, "status") : "";

    *status = (struct exec_status){0};
    if (strcmp(word, "Success") == 0) {
        status->ran = true;
        return true;
    }
    if (strcmp(word, "Failure") != 0)
        return false;
    status->ran =
        strcmp(text_at(document, "reason"), "NonZeroExitCode") == 0 && find_code(document, &status->exit_code);
    if (!status->ran)
        snprintf(status->why, sizeof(status->why), "%.500s", text_at(document, "message"));
    return true;
}
