#include "server/masking.h"

#include "base/cleanup.h"
#include "base/redact.h"

#include <json-c/json.h>
#include <string.h>

/* Shorter ones of .env files are words such as "true", "debug" or "8080", which would be missing everywhere. */
enum { SHORTEST_VALUE = 8 };

static void learn(void *context, const char *name, const char *value)
{
    (void)context, (void)name;
    if (strlen(value) >= SHORTEST_VALUE)
        redact_add(value);
}

void masking_learn(const struct environment *environment)
{
    environment_each_of_files(environment, learn, NULL);
}

static bool mask_string(struct json_object *string)
{
    size_t length;
    AUTO_FREE char *clean =
        redact_bytes(json_object_get_string(string), (size_t)json_object_get_string_len(string), &length);

    return clean && json_object_set_string_len(string, clean, (int)length) == 1;
}

/* All strings below VALUE, in place. The data of an image is no text: nothing can be found in it. */
static bool mask(struct json_object *value)
{
    if (json_object_is_type(value, json_type_string))
        return mask_string(value);
    if (json_object_is_type(value, json_type_array)) {
        for (size_t i = 0; i < json_object_array_length(value); i++)
            if (!mask(json_object_array_get_idx(value, i)))
                return false;
    } else if (json_object_is_type(value, json_type_object)) {
        json_object_object_foreach(value, key, member)
        {
            if (strcmp(key, "data") != 0 && !mask(member))
                return false;
        }
    }
    return true;
}

char *masking_apply(char *json)
{
    AUTO_FREE char *own = json;

    if (!own || !redact_knows_any())
        return TAKE(own);
    struct json_object *value = json_tokener_parse(own);
    char *result = NULL;

    if (value && mask(value))
        result = strdup(json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE));
    json_object_put(value);
    return result;
}
