#include "server/server.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"
#include "server/answers.h"
#include "server/calls.h"
#include "server/masking.h"
#include "server/methods.h"
#include "session/runtime.h"
#include "tools/schema.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

/* How long calls may take to notice that they were cancelled. */
enum { LAST_GRACE_MS = 5000 };

#define INFO "{\"name\":\"sandlot\",\"title\":\"Sandlot\",\"version\":\"" SANDLOT_VERSION "\"}"

struct server {
    const struct server_options *options;
    struct holder *holder;
    struct calls_options calls_options;
    struct methods methods;
};

/* ---- what it says of itself -------------------------------------------------------------------------------------- */

static const char *life(const struct server_options *options)
{
    if (options->sandbox.sandbox_id)
        return "The sandbox existed before this server and goes on after it, as do its files.";
    if (options->sandbox.scope)
        return "The sandbox is kept for later sessions: its files are there again next time, if it lives that long.";
    return "The sandbox is made by the first call of a tool, and deleted with all its files when this server ends.";
}

/* Who one is, on what system, where one may write, whether there is a network. */
static const char *inside(const struct server_options *options)
{
    if (options->inside)
        return options->inside;
    return options->execute ? "Who you are there, on what system, and where you may write, execute tells: id; cat "
                              "/etc/os-release; df -h."
                            : "Where you may write depends on how it was set up.";
}

/* To be freed: text for the model, as JSON. */
static char *instructions(const struct server_options *options)
{
    AUTO_FREE char *text = text_format(
        "Tools for work in one sandbox, an isolated Linux machine (provider '%s'); nothing here touches the user's own "
        "machine or its files. %s %s %s ls, read_file, write_file, edit_file and delete work on files, glob finds "
        "files "
        "by "
        "name, grep searches their text. The working directory is %s; relative paths start there. %s",
        options->sandbox.provider, inside(options),
        options->network   ? options->network
        : options->execute ? "Whether it has a network depends on how it was set up: try it."
                           : "",
        options->execute ? "execute runs a shell command (bash, terminal): each one is a fresh shell in the working "
                           "directory, and only files carry over to the next."
                         : "It serves files only and runs no commands.",
        options->working_dir, life(options));

    return text ? json_quote(text, strlen(text)) : NULL;
}

/* The names in the list of tools, ended by NULL; to be freed with what it points to. */
static char **names_of(const char *tools)
{
    struct json_object *list = json_tokener_parse(tools);
    size_t count = json_object_is_type(list, json_type_array) ? json_object_array_length(list) : 0;
    char **names = calloc(count + 1, sizeof(*names));

    for (size_t i = 0, next = 0; names && i < count; i++) {
        struct json_object *name = json_object_object_get(json_object_array_get_idx(list, i), "name");

        names[next] = name ? strdup(json_object_get_string(name)) : NULL;
        next += names[next] != NULL;
    }
    json_object_put(list);
    return names;
}

/* ---- life -------------------------------------------------------------------------------------------------------- */

static void free_server(struct server *server)
{
    struct methods *methods = &server->methods;

    calls_free(methods->calls);
    holder_free(server->holder);
    for (char **name = methods->tool_names; name && *name; name++)
        free(*name);
    free(methods->tool_names);
    free(methods->tools);
    free(methods->instructions);
    free(methods->info);
    free(server);
}

struct server *server_new(const struct server_options *options, struct sandlot_error *error)
{
    struct server *server = calloc(1, sizeof(*server));

    if (!server) {
        error_no_memory(error);
        return NULL;
    }
    struct methods *methods = &server->methods;

    server->options = options;
    masking_learn(options->sandbox.sandlot->environment);
    server->holder = holder_new(&options->sandbox);
    methods->info = strdup(INFO);
    methods->instructions = instructions(options);
    methods->tools = schema_of_tools(options->execute, !options->offline);
    methods->tool_names = methods->tools ? names_of(methods->tools) : NULL;
    server->calls_options = (struct calls_options){server->holder, methods->info, options->maximum_result_bytes};
    methods->calls = server->holder ? calls_new(&server->calls_options) : NULL;
    if (!methods->info || !methods->instructions || !methods->tool_names || !methods->calls) {
        error_no_memory(error);
        free_server(server);
        return NULL;
    }
    if (options->create_at_start)
        holder_begin(server->holder);
    return server;
}

void server_receive(struct server *server, struct channel *channel, const char *text, size_t length)
{
    struct message message;

    message_parse(text, length, &message);
    methods_handle(&server->methods, channel, &message);
}

void server_offer(struct server *server)
{
    calls_offer(server->methods.calls);
}

struct call *server_claim(struct server *server)
{
    return calls_claim(server->methods.calls);
}

void server_run(struct server *server, struct call *call)
{
    calls_run(server->methods.calls, call);
}

void server_refuse(struct channel *channel, enum rpc_code code, const char *why)
{
    AUTO_FREE char *text = answer_error(NULL, code, why, NULL);

    if (text)
        channel->send(channel, OUTGOING_ANSWER, text, strlen(text), code);
}

void server_hang_up(struct server *server, const struct channel *channel)
{
    calls_hang_up(server->methods.calls, channel);
}

bool server_is_busy(struct server *server)
{
    return calls_count(server->methods.calls) > 0;
}

int server_stop(struct server *server, int grace_ms, int stop_fd)
{
    struct calls *calls = server->methods.calls;

    calls_close(calls);
    if (grace_ms > 0)
        calls_wait(calls, sandlot_now_ms() + grace_ms, stop_fd);
    calls_cancel_all(calls);
    return holder_delete(server->holder);
}

void server_settle(struct server *server, int timeout_ms)
{
    calls_wait(server->methods.calls, sandlot_now_ms() + timeout_ms, -1);
}

bool server_free(struct server *server)
{
    if (!calls_wait(server->methods.calls, sandlot_now_ms() + LAST_GRACE_MS, -1))
        return false;
    free_server(server);
    return true;
}
