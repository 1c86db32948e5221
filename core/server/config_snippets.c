#include "server/config_snippets.h"

#include "base/cleanup.h"
#include "base/text.h"

#include <json-c/json.h>
#include <string.h>

/* The texts of one snippet: JSON, which TOML and Python read alike for strings and arrays of them. */
struct parts {
    char *program;
    char *arguments;
    char *variables; /* an array of names */
    bool has_variables;
    const char *const *names;
};

static char *print(struct json_object *value)
{
    const char *text = json_object_to_json_string_ext(value, JSON_C_TO_STRING_SPACED | JSON_C_TO_STRING_NOSLASHESCAPE);
    char *copy = text ? strdup(text) : NULL;

    json_object_put(value);
    return copy;
}

static char *print_list(const char *const *texts)
{
    struct json_object *array = json_object_new_array();

    for (size_t i = 0; texts[i]; i++)
        json_object_array_add(array, json_object_new_string(texts[i]));
    return print(array);
}

/* PATTERN with NAME in place of its "*"; to be freed. */
static char *refer(const char *pattern, const char *name)
{
    size_t before = strcspn(pattern, "*");

    return text_format("%.*s%s%s", (int)before, pattern, name, pattern + before + 1);
}

/* ",\n      \"env\": {\"NAME\": \"${env:NAME}\"}" with the host's way to name a variable; "" without variables. */
static char *environment_lines(const struct parts *parts, const char *pattern, const char *indent)
{
    struct json_object *object = json_object_new_object();

    if (!parts->has_variables) {
        json_object_put(object);
        return strdup("");
    }
    for (size_t i = 0; parts->names[i]; i++) {
        AUTO_FREE char *reference = refer(pattern, parts->names[i]);

        json_object_object_add(object, parts->names[i], json_object_new_string(reference ? reference : ""));
    }
    AUTO_FREE char *text = print(object);

    return text ? text_format(",\n%s\"env\": %s", indent, text) : NULL;
}

static char *servers(const struct parts *parts, const char *key, const char *type, const char *pattern)
{
    AUTO_FREE char *environment = environment_lines(parts, pattern, "      ");

    if (!environment)
        return NULL;
    return text_format(
        "{\n  \"%s\": {\n    \"sandlot\": {\n%s      \"command\": %s,\n      \"args\": %s%s\n    }\n  }\n}\n", key,
        type, parts->program, parts->arguments, environment);
}

/* .mcp.json of a project */
static char *claude(const struct parts *parts)
{
    return servers(parts, "mcpServers", "", "${*:-}");
}

/* .cursor/mcp.json */
static char *cursor(const struct parts *parts)
{
    return servers(parts, "mcpServers", "", "${env:*}");
}

/* .vscode/mcp.json */
static char *vscode(const struct parts *parts)
{
    return servers(parts, "servers", "      \"type\": \"stdio\",\n", "${env:*}");
}

/* ~/.codex/config.toml */
static char *codex(const struct parts *parts)
{
    AUTO_FREE char *variables = parts->has_variables ? text_format("env_vars = %s\n", parts->variables) : strdup("");

    if (!variables)
        return NULL;
    return text_format(
        "[mcp_servers.sandlot]\ncommand = %s\nargs = %s\n%s# Commands may take longer than the 60 s that "
        "are usual.\ntool_timeout_sec = 1900\n",
        parts->program, parts->arguments, variables);
}

static char *langchain(const struct parts *parts)
{
    AUTO_FREE char *environment =
        parts->has_variables ? text_format(",\n        \"env\": {name: os.environ[name] for name in %s if name in "
                                           "os.environ}",
                                           parts->variables)
                             : strdup("");

    if (!environment)
        return NULL;
    return text_format("%sfrom langchain_mcp_adapters.client import MultiServerMCPClient\n"
                       "from langchain_mcp_adapters.tools import load_mcp_tools\n\n"
                       "client = MultiServerMCPClient({\n    \"sandlot\": {\n        \"transport\": \"stdio\",\n"
                       "        \"command\": %s,\n        \"args\": %s%s,\n    },\n})\n\n"
                       "# One session for all calls: client.get_tools() would start a server, and make a sandbox, for "
                       "each of them.\n"
                       "async with client.session(\"sandlot\") as session:\n"
                       "    tools = await load_mcp_tools(session)\n",
                       parts->has_variables ? "import os\n\n" : "", parts->program, parts->arguments, environment);
}

static const struct snippet {
    const char *host;
    char *(*write)(const struct parts *parts);
} snippets[] = {{"claude", claude}, {"codex", codex}, {"cursor", cursor}, {"vscode", vscode}, {"langchain", langchain}};

static const struct snippet *find(const char *host)
{
    for (size_t i = 0; i < sizeof(snippets) / sizeof(snippets[0]); i++)
        if (strcmp(snippets[i].host, host) == 0)
            return &snippets[i];
    return NULL;
}

bool config_snippet_exists(const char *host)
{
    return find(host) != NULL;
}

char *config_snippet(const char *host, const char *program, const char *const *arguments, const char *const *variables)
{
    const struct snippet *snippet = find(host);
    AUTO_FREE char *quoted = print(json_object_new_string(program));
    AUTO_FREE char *list = print_list(arguments);
    AUTO_FREE char *names = print_list(variables);
    struct parts parts = {quoted, list, names, variables[0] != NULL, variables};

    return snippet && quoted && list && names ? snippet->write(&parts) : NULL;
}
