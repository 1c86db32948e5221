/*
 * The tools as they are offered: names, arguments, descriptions. One table, from which both the list for clients and
 * the check of arguments are made.
 */
#ifndef SANDLOT_TOOLS_SCHEMA_H
#define SANDLOT_TOOLS_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tool_kind {
    TOOL_LS,
    TOOL_READ_FILE,
    TOOL_WRITE_FILE,
    TOOL_EDIT_FILE,
    TOOL_GLOB,
    TOOL_GREP,
    TOOL_EXECUTE,
    TOOL_PROCESS,
    TOOL_DELETE
};

enum { TOOLS = TOOL_DELETE + 1, TOOL_PROPERTIES = 6, TOOL_TIMEOUT_MAXIMUM = 3600, TOOL_WAIT_MAXIMUM = 50 };

enum property_type {
    PROPERTY_PATH, /* text without NUL */
    PROPERTY_WORD, /* the same, and no path */
    PROPERTY_TEXT,
    PROPERTY_INTEGER,
    PROPERTY_BOOLEAN
};

struct tool_property {
    const char *name; /* NULL ends the list */
    enum property_type type;
    bool required;
    const char *description;
    const char *standard;       /* the default as JSON; NULL: none is told */
    const char *const *choices; /* of a text, ended by NULL; or NULL */
    bool bounded;               /* an integer with these bounds in the schema */
    int64_t minimum;
    int64_t maximum; /* 0: none */
};

struct tool {
    const char *name;
    const char *title;
    const char *description;
    struct tool_property properties[TOOL_PROPERTIES + 1]; /* the required ones first */
    bool read_only;
    bool idempotent;
    bool open_world;
    bool always_load;        /* hosts that show tools only after a search show this one at once */
    const char *search_hint; /* of the others: a short phrase for that search */
};

/* Indexed by enum tool_kind, in the order of the list. */
extern const struct tool tool_table[TOOLS];

/* NULL if there is none of this name. */
const struct tool *tool_find(const char *name);

/* The JSON array of sandlot_tools. OPEN_WORLD: commands may reach a network. To be freed; NULL when out of memory. */
char *schema_of_tools(bool execute, bool open_world);

#endif
