/*
 * A TOML 1.0 document as a json-c tree. The parser is toml++, a C++ library; this is the one place that
 * knows of it. Dates and times become strings as written in TOML, which toml_is_moment can tell from others.
 */
#ifndef SANDLOT_CONFIG_TOML_TREE_H
#define SANDLOT_CONFIG_TOML_TREE_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct toml_problem {
    int line;   /* from 1; 0: unknown */
    int column; /* from 1; 0: unknown */
    char message[256];
};

/*
 * Parses LENGTH bytes. Returns the tree, one reference for the caller, or NULL with *PROBLEM filled.
 * *LINES becomes an object of the same shape, also the caller's: for every key of a table the line on which its value
 * begins stands under the same path, tables as {"": line, key: ...}.
 */
struct json_object *toml_parse(const char *text, size_t length, struct json_object **lines,
                               struct toml_problem *problem);

/* Was VALUE, of a tree of toml_parse, a date or a time? */
bool toml_is_moment(struct json_object *value);

#ifdef __cplusplus
}
#endif

#endif
