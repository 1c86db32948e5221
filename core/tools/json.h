/* Writing JSON into a text. */
#ifndef SANDLOT_TOOLS_JSON_H
#define SANDLOT_TOOLS_JSON_H

#include "tools/buffer.h"

/* Adds TEXT, which must be UTF-8, as a string with its quotes. Controls and the line separators U+2028 and U+2029 are
 * escaped, so that it is one line for every reader. */
bool json_add_string(struct buffer *buffer, const char *text, size_t length);
bool json_add_text(struct buffer *buffer, const char *text);

/* Adds "NAME": before a value, with a comma unless it is the first of its object. */
bool json_add_name(struct buffer *buffer, const char *name);

#endif
