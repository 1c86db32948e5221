#include "cli/context.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/signals.h"
#include "cli/usage.h"

#include <string.h>

int context_open(struct context *context, const struct options *options)
{
    struct sandlot_options library = {
        .size = sizeof(library), .config_file = options->config_file, .message = progress_message};
    struct sandlot_error error = {0};

    *context = (struct context){
        .options = options, .cancellation = sandlot_cancellation_new(), .parameters = options->parameters};
    progress_init(options->verbosity);
    if (!context->cancellation)
        error_set(&error, SANDLOT_CODE_INTERNAL_ERROR,
                  "no descriptor is left; raise the limit (ulimit -n) and try again");
    else
        signals_install(context->cancellation);
    if (!error_is_set(&error))
        context->sandlot = sandlot_open(&library, &error);
    int status = context->sandlot ? 0 : report_error(options, &error);

    sandlot_error_clear(&error);
    return status;
}

void context_close(struct context *context)
{
    progress_end();
    owner_clear(&context->owner);
    sandlot_close(context->sandlot);
    /* The cancellation stays: a signal may arrive until the very end. */
}

/* "; the file FILE could not be used (why), so whatever it declares was ignored", to be freed; "" if it could. */
static char *config_note(const struct config *config)
{
    if (!config->problem)
        return strdup("");
    return text_format("; the configuration %s could not be used (%s), so whatever it declares was ignored",
                       config->file ? config->file : "file", config->problem);
}

static int no_default(const struct context *context)
{
    const struct config *config = context->sandlot->config;
    AUTO_FREE char *note = config_note(config);

    return usage_error(
        context->options->command,
        "--sandbox without a name needs a default; pass --sandbox NAME, or set default in [sandboxes] of %s%s",
        config->file ? config->file : "config.toml", note ? note : "");
}

/* Of --sandbox-id: the provider that has it, as the run reached it that made it. */
static int choose_owner(struct context *context)
{
    const struct options *options = context->options;
    struct sandlot_error error = {0};
    int found = owner_find(context->sandlot, options, options->sandbox_id, &context->owner, &error);
    int status = found < 0 ? report_error(options, &error) : 0;

    if (found > 0) {
        context->provider = context->owner.provider;
        context->parameters = context->owner.parameters;
    }
    sandlot_error_clear(&error);
    return status;
}

/* The name that was meant, in context->provider. */
static int choose_name(struct context *context)
{
    const struct options *options = context->options;
    const struct config *config = context->sandlot->config;

    context->provider = RUNTIME_DEFAULT_PROVIDER;
    if (!(options->given & OPTION_SANDBOX))
        return options->sandbox_id ? choose_owner(context) : 0;
    context->provider = options->sandbox ? options->sandbox : config->default_provider;
    if (!context->provider)
        return no_default(context);
    if (strcmp(context->provider, "none") != 0)
        return 0;
    if (!options->sandbox)
        return usage_error(
            options->command,
            "the default in [sandboxes] of %s is 'none', and there is no unsandboxed execution in Sandlot; "
            "set it to a provider's name or pass --sandbox NAME",
            config->file);
    return usage_error(options->command,
                       "there is no unsandboxed execution in Sandlot; leave --sandbox none out to use "
                       "'" RUNTIME_DEFAULT_PROVIDER "', or name a provider");
}

static int unknown_provider(const struct context *context, struct sandlot_error *error)
{
    const struct options *options = context->options;
    const char *word = options->sandbox;

    if (word && command_find(word))
        error_prefix(
            error,
            "'%s' after --sandbox was taken as the name of a provider, but it is a command: keep a bare --sandbox "
            "behind the command or before '--'; ",
            word);
    else if (!word && (options->given & OPTION_SANDBOX))
        error_prefix(error, "the default in [sandboxes] of %s cannot be used: ", context->sandlot->config->file);
    return report_error(options, error);
}

int context_resolve(struct context *context)
{
    const struct options *options = context->options;
    struct sandlot_error error = {0};
    int status = choose_name(context);

    if (status)
        return status;
    const struct registry_entry *entry = registry_find(context_sandlot(context)->registry, context->provider, &error);

    if (!entry) {
        status = unknown_provider(context, &error);
        sandlot_error_clear(&error);
        return status;
    }
    if (options->snapshot_name && !entry->supports_snapshot_name)
        return usage_error(options->command,
                           "the provider '%s' does not start from snapshots; leave --sandbox-snapshot-name out",
                           context->provider);
    if (options->sandbox_id && !entry->supports_sandbox_id)
        return usage_error(options->command,
                           "the provider '%s' cannot attach to an existing sandbox; leave --sandbox-id out",
                           context->provider);
    return 0;
}

struct sandlot *context_sandlot(const struct context *context)
{
    return context->owner.sandlot ? context->owner.sandlot : context->sandlot;
}

struct sandlot_target context_target(const struct context *context)
{
    return (struct sandlot_target){.size = sizeof(struct sandlot_target),
                                   .provider = context->provider,
                                   .parameters = context->parameters,
                                   .cancellation = context->cancellation};
}

char *context_delete_command(const struct context *context, const char *provider, const char *id)
{
    const char *file = context->options->config_file;
    AUTO_FREE char *quoted_file = file ? text_shell_quote(file) : NULL;
    AUTO_FREE char *name = text_shell_quote(provider);
    AUTO_FREE char *quoted_id = text_shell_quote(id);

    if (!name || !quoted_id || (file && !quoted_file))
        return NULL;
    return text_format("sandlot delete %s%s%s--sandbox %s %s%s", file ? "--config " : "", file ? quoted_file : "",
                       file ? " " : "", name, *id == '-' ? "-- " : "", quoted_id);
}

int context_status(int status)
{
    int number = signals_received();

    return output_status(number ? 128 + number : status);
}
