/* sandlot mcp: the tools as an MCP server; sandlot mcp-watch: what outlives it. */
#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/context.h"
#include "cli/mcp_config.h"
#include "cli/mcp_http.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/signals.h"
#include "cli/usage.h"
#include "config/value.h"
#include "network/change.h"
#include "server/config_snippets.h"
#include "server/server.h"
#include "server/stdio.h"
#include "server/watcher.h"
#include "session/setup_script.h"
#include "session/volumes.h"

#include <fcntl.h>
#include <json-c/json.h>
#include <malloc.h>
#include <string.h>

enum { FIRST_MOVED = 10, BROKEN_PIPE_STATUS = 141, LEFT_STATUS = 3 };

/* ---- the server -------------------------------------------------------------------------------------------------- */

/* One big message must not cost its memory for ever: what is large goes back to the kernel when it is freed, and the
 * threads share a few heaps. */
static void keep_memory_small(void)
{
    enum { LARGE = 128 * 1024, HEAPS = 4 };

    mallopt(M_MMAP_THRESHOLD, LARGE);
    mallopt(M_TRIM_THRESHOLD, LARGE);
    mallopt(M_ARENA_MAX, HEAPS);
}

/*
 * The protocol's own descriptors: what a provider's library prints must not come in between, and what it starts must
 * not read what is meant for us.
 */
static bool move_aside(int *input, int *output)
{
    *input = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, FIRST_MOVED);
    *output = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, FIRST_MOVED);
    AUTO_CLOSE int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);

    return *input >= 0 && *output >= 0 && nothing >= 0 && dup2(nothing, STDIN_FILENO) >= 0 &&
           dup2(STDERR_FILENO, STDOUT_FILENO) >= 0;
}

/*
 * What is wrong with parameters and setup script is said now, not to the model. A provider that cannot be loaded, or
 * that lacks its credentials, is for the first call to tell: a host shows no more of a server that ends than that it
 * did. *EXECUTE: whether it runs commands, as far as that is known.
 */
static int check_provider(const struct context *context, bool *execute)
{
    const struct options *options = context->options;
    struct sandlot_error error = {0};
    struct provider *provider =
        runtime_load(context_sandlot(context), context->provider, context->parameters, false, &error);
    int status = !provider && error_exit_status(error.code) == 2 ? report_error(options, &error) : 0;

    *execute = !provider || provider->table.execute;
    provider_unload(provider);
    sandlot_error_clear(&error);
    if (status || !options->setup_file)
        return status;
    AUTO_FREE char *script = setup_script_read(options->setup_file, context->sandlot->environment, &error);

    if (!script)
        status = report_error(options, &error);
    sandlot_error_clear(&error);
    return status;
}

/* Is the parameter NAME of LENGTH bytes given, in the config or on the command line? */
static bool is_given(const struct context *context, const struct registry_entry *entry, const char *name, size_t length)
{
    AUTO_FREE char *copy = strndup(name, length);
    const char *const *parameters = context->options->parameters;

    for (size_t i = 0; parameters[i]; i++)
        if (strncmp(parameters[i], name, length) == 0 && parameters[i][length] == '=')
            return true;
    return copy && entry->config && json_object_object_get_ex(entry->config->params, copy, NULL);
}

/* What the provider says of its sandboxes, unless a parameter makes it untrue; NULL: nothing. */
static const char *inside(const struct context *context, const struct registry_entry *entry)
{
    if (!entry)
        return NULL;
    const char *at = entry->note.inside_unless ? entry->note.inside_unless : "";

    for (size_t length; *(at += strspn(at, " ")); at += length) {
        length = strcspn(at, " ");
        if (is_given(context, entry, at, length))
            return NULL;
    }
    return entry->note.inside;
}

/* The sentence about a policy as it is written down. *OFFLINE: it lets nothing through. */
static char *tell_policy(struct json_object *state, bool *offline)
{
    struct json_object *mode = json_object_object_get(state, "mode");

    *offline = mode && strcmp(json_object_get_string(mode), "off") == 0;
    return network_sentence(state);
}

/* What the sandbox that this server makes or attaches to may reach, as an agent is told, to be freed; NULL: it cannot
 * be told. One that lives for the scope has what it was made with, whatever is asked today. OFFLINE: as in tell_policy.
 * STATUS: the exit status after a complaint. */
static char *reach(const struct context *context, const struct registry_entry *entry, const char *said, bool *offline,
                   int *status)
{
    const struct options *options = context->options;
    const struct ledger_record *owned = context->owner.record;
    struct network_policy policy CLEANUP(network_policy_clear) = {0};
    struct ledger_record *living = NULL;
    struct sandlot_error error = {0};

    if (!entry || options->sandbox_id)
        return entry && owned && owned->network ? tell_policy(owned->network, offline) : NULL;
    if (network_policy_find(context_sandlot(context)->config, entry->name, options->network, options->allowed, &policy,
                            &error) < 0 ||
        (options->scope && ledger_find_scope(entry->name, options->scope, &living, &error) < 0))
        *status = report_error(options, &error);
    sandlot_error_clear(&error);
    struct json_object *state AUTO_JSON = living ? json_object_get(living->network) : network_policy_json(&policy);

    ledger_record_free(living);
    return state                                ? tell_policy(state, offline)
           : said && entry->note.inside_network ? strdup(entry->note.inside_network)
                                                : NULL;
}

/* Words for volumes that make no sense. Which of them the provider has is for the first call to tell. */
static int check_volumes(const struct context *context, const struct registry_entry *entry)
{
    const struct options *options = context->options;
    struct volumes volumes CLEANUP(volumes_clear) = {0};
    struct sandlot_error error = {0};
    int status = 0;

    if (entry && !options->sandbox_id &&
        volumes_find(context->sandlot, entry, options->volumes, &volumes, &error) < 0 &&
        error_exit_status(error.code) == 2)
        status = report_error(options, &error);
    sandlot_error_clear(&error);
    return status;
}

/* What no server starts with. EXECUTE as in check_provider; *NETWORK and OFFLINE as from reach, to be freed. */
static int check_start(const struct context *context, const struct registry_entry *entry, const char *said,
                       bool *execute, char **network, bool *offline)
{
    int status = check_provider(context, execute);

    if (status == 0)
        status = check_volumes(context, entry);
    if (status == 0)
        *network = reach(context, entry, said, offline, &status);
    return status;
}

static const struct registry_entry *entry_of(const struct context *context)
{
    return registry_find(context_sandlot(context)->registry, context->provider, NULL);
}

/* What would not start is not worth entering anywhere. */
static int print_config(const struct context *context)
{
    AUTO_FREE char *network = NULL;
    bool execute;
    bool offline;
    int status = check_start(context, entry_of(context), NULL, &execute, &network, &offline);

    return status ? status : mcp_print_config(context);
}

static int status_of_end(const struct context *context, enum stdio_end end, bool left)
{
    if (end == STDIO_ORPHANED)
        progress_note("sandlot: the process that started this server has gone");
    if (end == STDIO_IDLE)
        progress_note("sandlot: no message for %lld s", (long long)(context->options->idle_timeout_ms / 1000));
    return context_status(end == STDIO_BROKEN ? BROKEN_PIPE_STATUS : left ? LEFT_STATUS : 0);
}

static int serve_http(const struct context *context, struct mcp_http *http, struct server *server, bool *stuck)
{
    bool left = false;
    int status = mcp_http_serve(http, context, server, &left, stuck);

    return status ? status : context_status(left ? LEFT_STATUS : 0);
}

static int serve_pipes(const struct context *context, const struct stdio_options *pipes, struct server *server,
                       bool *stuck)
{
    bool left = false;
    enum stdio_end end = stdio_serve(server, pipes, &left, stuck);

    return status_of_end(context, end, left);
}

static int serve(const struct context *context, int input, int output)
{
    const struct options *options = context->options;
    const struct registry_entry *entry = entry_of(context);
    struct server_options request = {.sandbox = {.sandlot = context_sandlot(context),
                                                 .provider = context->provider,
                                                 .sandbox_id = options->sandbox_id,
                                                 .snapshot_name = options->snapshot_name,
                                                 .setup_file = options->setup_file,
                                                 .scope = options->scope,
                                                 .network = options->network,
                                                 .allow = options->allowed,
                                                 .volumes = options->volumes,
                                                 .parameters = context->parameters,
                                                 .config_file = options->config_file},
                                     .working_dir = entry ? entry->working_dir : "/workspace",
                                     .inside = inside(context, entry),
                                     .create_at_start = options->create_at_start,
                                     .maximum_result_bytes = options->max_result_bytes};
    struct stdio_options pipes = {.input_fd = input,
                                  .output_fd = output,
                                  .stop_fd = cancellation_fd(context->cancellation),
                                  .idle_timeout_ms = options->idle_timeout_ms};
    bool over_http = options->given & OPTION_HTTP;
    struct mcp_http http = {.listen_fd = -1};
    struct sandlot_error error = {0};
    AUTO_FREE char *network = NULL;
    int status = check_start(context, entry, request.inside, &request.execute, &network, &request.offline);

    request.network = network;
    if (status == 0 && over_http)
        status = mcp_http_open(&http, context);
    struct server *server = status == 0 ? server_new(&request, &error) : NULL;
    bool stuck = false;

    if (status == 0 && !server)
        status = report_error(options, &error);
    sandlot_error_clear(&error);
    if (server)
        status = over_http ? serve_http(context, &http, server, &stuck) : serve_pipes(context, &pipes, server, &stuck);
    mcp_http_close(&http);
    if (stuck)
        _exit(status); /* the library cannot be closed under a call that is still in it */
    return status;
}

int command_mcp(const struct options *options)
{
    struct context context;
    int input = -1;
    int output = -1;

    if (options->print_config && !config_snippet_exists(options->print_config))
        return usage_error(options->command, "--print-config takes " CONFIG_SNIPPET_HOSTS ", not '%s'",
                           options->print_config);
    if (options->print_config && (options->given & OPTION_HTTP))
        return usage_error(options->command, "--print-config is for servers that the host starts; one that is started "
                                             "with --http is entered there by its URL");
    keep_memory_small();
    bool ready = options->print_config || move_aside(&input, &output);
    int status = context_open(&context, options);

    if (status == 0)
        status = context_resolve(&context);
    signals_ignore_more();
    if (status == 0 && !ready) {
        progress_line("sandlot: no descriptor is left; raise the limit (ulimit -n) and try again");
        status = 1;
    }
    if (status == 0)
        status = options->print_config ? print_config(&context) : serve(&context, input, output);
    context_close(&context);
    return status;
}

int command_mcp_watch(const struct options *options)
{
    return watcher_run(options->arguments[0], options->config_file, options->parameters);
}
