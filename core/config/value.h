/* One value of a parameter: its types, and how it is read from config.toml's tree and from text. Knows no names. */
#ifndef SANDLOT_CONFIG_VALUE_H
#define SANDLOT_CONFIG_VALUE_H

#include "base/cleanup.h"

#include <json-c/json.h>
#include <sandlot/provider.h>

/* An absent value holds what the provider ABI promises for its kind: NULL, SANDLOT_ABSENT_INTEGER, NaN, false. */
struct value {
    char *text; /* string, path, array, table */
    int64_t integer;
    double number;
    bool truth;
    bool present;
};

struct value value_absent(void);

/* Makes it absent, and frees what it held. */
void value_clear(struct value *value);

/* Reads TEXT, of --param or a default, into VALUE, which is absent before. FOLDER: what relative paths are relative to,
 * NULL for the current directory. False if the text does not fit; what VALUE holds then is to be cleared. */
bool value_from_text(enum sandlot_parameter_kind kind, const char *text, const char *folder, struct value *value);

/* The same for a value of config.toml, whose type must be that of KIND. */
bool value_from_json(enum sandlot_parameter_kind kind, struct json_object *json, const char *folder,
                     struct value *value);

/* The text of a JSON string, which unlike a C string may hold NUL; NULL then, and of what is no string. */
const char *value_plain_text(struct json_object *json);

/* Is there neither nan nor an infinity in JSON? TOML has them, and JSON, which a provider gets, has not. */
bool value_json_can_say(struct json_object *json);

/* May TEXT be the default of a parameter of KIND? "" stands for none. */
bool value_default_fits(enum sandlot_parameter_kind kind, const char *text);

/* Keeps a secret out of messages from now on, and every text inside it: a secret table holds its secrets somewhere. */
void value_hide_text(enum sandlot_parameter_kind kind, const char *text);
void value_hide_json(struct json_object *json);

static inline void cleanup_json(struct json_object **json)
{
    json_object_put(*json);
}

#define AUTO_JSON CLEANUP(cleanup_json)

#endif
