#include "tools/schema.h"

#include "tools/json.h"

#include <inttypes.h>
#include <sandlot/sandlot.h>
#include <string.h>

/* Those of use to an agent. */
static const char *const signals[] = {"TERM", "INT", "KILL", NULL};
static const char *const output_modes[] = {"files_with_matches", "content", "count", NULL};

/* Every word here is paid for in every request to a model. */
#define FILE_PATH "Absolute or relative path"
#define SEARCH_PATH "Default: working directory"

const struct tool tool_table[TOOLS] = {
    [TOOL_LS] = {.name = "ls",
                 .title = "List directory",
                 .description = "List a directory inside the sandbox: one absolute path per line, hidden names too, "
                                "directories with a final slash. To find files by name use glob.",
                 .properties = {{.name = "path", .type = PROPERTY_PATH, .description = SEARCH_PATH}},
                 .read_only = true,
                 .idempotent = true,
                 .search_hint = "list a directory"},
    [TOOL_READ_FILE] =
        {.name = "read_file",
         .title = "Read file",
         .description = "Read a file inside the sandbox by pages. Each line has its number and two spaces in front, "
                        "which are not part of the file. Long lines are split: 7, 7.1, 7.2. A note at the end gives "
                        "the offset to go on with. Do independent reads in one go. PNG, JPEG, GIF, WebP are shown "
                        "as images.",
         .properties = {{.name = "file_path", .type = PROPERTY_PATH, .required = true, .description = FILE_PATH},
                        {.name = "offset",
                         .type = PROPERTY_INTEGER,
                         .description = "Lines to skip",
                         .standard = "0",
                         .bounded = true},
                        {.name = "limit",
                         .type = PROPERTY_INTEGER,
                         .description = "Lines at most",
                         .standard = "2000",
                         .bounded = true}},
         .read_only = true,
         .idempotent = true,
         .always_load = true},
    [TOOL_WRITE_FILE] =
        {.name = "write_file",
         .title = "Write file",
         .description = "Create a file inside the sandbox, or replace the whole of one, with missing "
                        "parent directories. To change part of a file use edit_file.",
         .properties = {{.name = "file_path", .type = PROPERTY_PATH, .required = true, .description = FILE_PATH},
                        {.name = "content", .type = PROPERTY_TEXT, .required = true, .description = "Whole content"}},
         .idempotent = true,
         .search_hint = "create a file"},
    [TOOL_EDIT_FILE] =
        {.name = "edit_file",
         .title = "Edit file",
         .description = "Replace literal text in a file inside the sandbox. Copy old_string exactly from read_file, "
                        "with indentation but without line numbers. It must be unique: add surrounding lines, or set "
                        "replace_all.",
         .properties =
             {{.name = "file_path", .type = PROPERTY_PATH, .required = true, .description = FILE_PATH},
              {.name = "old_string", .type = PROPERTY_TEXT, .required = true, .description = "Text to replace"},
              {.name = "new_string", .type = PROPERTY_TEXT, .required = true, .description = "New text"},
              {.name = "replace_all",
               .type = PROPERTY_BOOLEAN,
               .description = "Replace all occurrences",
               .standard = "false"}},
         .search_hint = "replace text, patch code"},
    [TOOL_GLOB] = {.name = "glob",
                   .title = "Find files",
                   .description =
                       "Find files inside the sandbox by name; prefer it to find in execute. A pattern without slash "
                       "(*.py) matches names at any depth, one with a slash (src/**/*.{c,h}) paths below the search "
                       "directory. Names with a leading dot need a pattern with one.",
                   .properties = {{.name = "pattern",
                                   .type = PROPERTY_WORD,
                                   .required = true,
                                   .description = "Of *, ?, [ab], [!a], **, {a,b}"},
                                  {.name = "path", .type = PROPERTY_PATH, .description = SEARCH_PATH}},
                   .read_only = true,
                   .idempotent = true,
                   .search_hint = "find files by name"},
    [TOOL_GREP] =
        {.name = "grep",
         .title = "Search text",
         .description = "Search files inside the sandbox for literal, case-sensitive text, not a regular expression "
                        "(for that run grep -E with execute). Directories are searched with all below them; binary "
                        "files are skipped.",
         .properties = {{.name = "pattern", .type = PROPERTY_TEXT, .required = true, .description = "Literal text"},
                        {.name = "path", .type = PROPERTY_PATH, .description = SEARCH_PATH},
                        {.name = "glob", .type = PROPERTY_WORD, .description = "Only files matching this, as in glob"},
                        {.name = "output_mode",
                         .type = PROPERTY_TEXT,
                         .description = "What to show",
                         .standard = "\"files_with_matches\"",
                         .choices = output_modes},
                        {.name = "max_count",
                         .type = PROPERTY_INTEGER,
                         .description = "Matching lines at most (default for content: 1000)",
                         .bounded = true,
                         .minimum = 1}},
         .read_only = true,
         .idempotent = true,
         .search_hint = "search in files"},
    [TOOL_EXECUTE] =
        {.name = "execute",
         .title = "Run command",
         .description =
             "Run a shell command (bash or sh) inside the sandbox; returns its output and errors together, and the "
             "exit code. Each call is a fresh shell in cwd: only files and processes "
             "carry over. Long output is cut and saved to a file. For servers and long "
             "work set background, then use process. To read, search or edit files prefer the other tools.",
         .properties =
             {{.name = "command", .type = PROPERTY_WORD, .required = true, .description = "Shell command line"},
              {.name = "timeout",
               .type = PROPERTY_INTEGER,
               .description = "Seconds; 0: no limit",
               .standard = "1800",
               .bounded = true,
               .maximum = TOOL_TIMEOUT_MAXIMUM},
              {.name = "cwd", .type = PROPERTY_PATH, .description = SEARCH_PATH},
              {.name = "background", .type = PROPERTY_BOOLEAN, .description = "Return an id after 1 s"},
              {.name = "stdin", .type = PROPERTY_BOOLEAN, .description = "process may send input"}},
         .open_world = true,
         .always_load = true},
    [TOOL_PROCESS] =
        {.name = "process",
         .title = "Process",
         .description = "Output of a background process inside the sandbox since the last look, and its state. "
                        "Without id: all.",
         .properties = {{.name = "id", .type = PROPERTY_WORD, .description = "Such as p1"},
                        {.name = "wait",
                         .type = PROPERTY_INTEGER,
                         .description = "Seconds",
                         .standard = "5",
                         .bounded = true,
                         .maximum = TOOL_WAIT_MAXIMUM},
                        {.name = "input", .type = PROPERTY_TEXT, .description = "Standard input"},
                        {.name = "close_input", .type = PROPERTY_BOOLEAN, .description = "End it"},
                        {.name = "signal", .type = PROPERTY_TEXT, .description = "Sent first", .choices = signals},
                        {.name = "offset", .type = PROPERTY_INTEGER, .description = "From byte"}},
         .search_hint = "background work"},
    [TOOL_DELETE] =
        {.name = "delete",
         .title = "Delete file or directory",
         .description = "Delete a file inside the sandbox, or a directory with all in it. Of a symbolic "
                        "link only the link goes.",
         .properties = {{.name = "file_path", .type = PROPERTY_PATH, .required = true, .description = FILE_PATH}},
         .idempotent = true,
         .search_hint = "remove files"},
};

const struct tool *tool_find(const char *name)
{
    for (size_t i = 0; i < TOOLS; i++)
        if (strcmp(tool_table[i].name, name) == 0)
            return &tool_table[i];
    return NULL;
}

static void add_boolean(struct buffer *json, const char *name, bool value)
{
    json_add_name(json, name);
    buffer_add_text(json, value ? "true" : "false");
}

static void add_string(struct buffer *json, const char *name, const char *value)
{
    json_add_name(json, name);
    json_add_text(json, value);
}

static void add_property(struct buffer *json, const struct tool_property *property)
{
    static const char *const types[] = {[PROPERTY_PATH] = "string",
                                        [PROPERTY_WORD] = "string",
                                        [PROPERTY_TEXT] = "string",
                                        [PROPERTY_INTEGER] = "integer",
                                        [PROPERTY_BOOLEAN] = "boolean"};

    json_add_name(json, property->name);
    buffer_add(json, "{", 1);
    add_string(json, "type", types[property->type]);
    add_string(json, "description", property->description);
    for (size_t i = 0; property->choices && property->choices[i]; i++) {
        buffer_add_text(json, i == 0 ? ",\"enum\":[" : ",");
        json_add_text(json, property->choices[i]);
    }
    if (property->choices)
        buffer_add(json, "]", 1);
    if (property->bounded)
        buffer_format(json, ",\"minimum\":%" PRId64, property->minimum);
    if (property->maximum > 0)
        buffer_format(json, ",\"maximum\":%" PRId64, property->maximum);
    if (property->standard)
        buffer_format(json, ",\"default\":%s", property->standard);
    buffer_add(json, "}", 1);
}

static void add_required(struct buffer *json, const struct tool *tool)
{
    const char *separator = ",\"required\":[";

    if (!tool->properties[0].required) /* those that are come first */
        return;
    for (const struct tool_property *property = tool->properties; property->required; property++) {
        buffer_add_text(json, separator);
        json_add_text(json, property->name);
        separator = ",";
    }
    buffer_add(json, "]", 1);
}

static void add_input_schema(struct buffer *json, const struct tool *tool)
{
    buffer_add_text(json, ",\"inputSchema\":{\"type\":\"object\",\"properties\":{");
    for (const struct tool_property *property = tool->properties; property->name; property++)
        add_property(json, property);
    buffer_add(json, "}", 1);
    add_required(json, tool);
    buffer_add_text(json, ",\"additionalProperties\":false}");
}

static void add_tool(struct buffer *json, const struct tool *tool, bool open_world)
{
    buffer_add(json, "{", 1);
    add_string(json, "name", tool->name);
    add_string(json, "title", tool->title);
    add_string(json, "description", tool->description);
    add_input_schema(json, tool);
    buffer_add_text(json, ",\"annotations\":{");
    add_string(json, "title", tool->title);
    add_boolean(json, "readOnlyHint", tool->read_only);
    add_boolean(json, "destructiveHint", !tool->read_only);
    add_boolean(json, "idempotentHint", tool->idempotent);
    add_boolean(json, "openWorldHint", tool->open_world && open_world);
    buffer_add_text(json, "},\"_meta\":{");
    if (tool->always_load)
        add_boolean(json, "anthropic/alwaysLoad", true);
    else
        add_string(json, "anthropic/searchHint", tool->search_hint);
    buffer_add_text(json, "}}");
}

char *schema_of_tools(bool execute, bool open_world)
{
    struct buffer json = {0};

    for (size_t i = 0; i < TOOLS; i++) {
        if ((i == TOOL_EXECUTE || i == TOOL_PROCESS) && !execute)
            continue;
        buffer_add_text(&json, i == 0 ? "[" : ",");
        add_tool(&json, &tool_table[i], open_world);
    }
    buffer_add(&json, "]", 1);
    return buffer_take(&json, NULL);
}

char *sandlot_tools(bool execute)
{
    return schema_of_tools(execute, true);
}
