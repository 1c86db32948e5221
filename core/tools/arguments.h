/*
 * The arguments of a tool, as models send them: null is absent, "10" and 10.0 are 10, some names of other tools are
 * understood. What is then wrong is said in words that help to do it right.
 */
#ifndef SANDLOT_TOOLS_ARGUMENTS_H
#define SANDLOT_TOOLS_ARGUMENTS_H

#include "tools/schema.h"

#include <sandlot/sandlot.h>

struct argument {
    bool given;
    const char *text; /* of a path or text; NUL after its LENGTH bytes */
    size_t length;
    int64_t number;
    bool flag;
};

struct json_object;

struct arguments {
    struct json_object *object; /* owns the texts */
    const struct tool *tool;
    struct argument values[TOOL_PROPERTIES]; /* as the tool's properties */
};

enum arguments_state {
    ARGUMENTS_FINE,
    ARGUMENTS_NO_OBJECT, /* TEXT is not the JSON of an object */
    ARGUMENTS_WRONG      /* something that whoever wrote them can mend */
};

/* Reads TEXT (NULL: no arguments). To be cleared in any case. The error is set unless all is fine. */
enum arguments_state arguments_read(const struct tool *tool, const char *text, struct arguments *arguments,
                                    struct sandlot_error *error);
void arguments_clear(struct arguments *arguments);

/* The argument NAME, which is a property of the tool. */
const struct argument *argument(const struct arguments *arguments, const char *name);

#endif
