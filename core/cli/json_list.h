/* An array of an answer that can be long. It is kept as the text that it will be: json-c takes a thousand bytes of
 * memory for what is written in forty, and how many there are may be for somebody in a sandbox to say. */
#ifndef SANDLOT_CLI_JSON_LIST_H
#define SANDLOT_CLI_JSON_LIST_H

#include <json-c/json.h>
#include <stdbool.h>

/* An empty one, for output_json; NULL: no memory. Its elements cannot be looked at. */
struct json_object *json_list_new(void);

/* Adds ELEMENT, and takes the caller's reference. False: no memory; then output_json fails for the list, whatever else
 * is done with it: it is never shorter than it should be without a word. */
bool json_list_add(struct json_object *list, struct json_object *element);

#endif
