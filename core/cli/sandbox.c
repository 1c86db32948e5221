#include "cli/sandbox.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/signals.h"

#include <string.h>

enum { SETUP_OUTPUT_KEPT = 64 * 1024 };

/* The end of what the setup script printed, in case that it fails. */
struct setup_output {
    bool live; /* shown as it comes, nothing is kept */
    char kept[SETUP_OUTPUT_KEPT];
    size_t length;
    bool cut;
};

static void on_setup_output(void *context, const void *bytes, size_t length)
{
    struct setup_output *output = context;
    const char *at = bytes;

    if (output->live) {
        progress_bytes(bytes, length);
        return;
    }
    if (length > sizeof(output->kept)) {
        at += length - sizeof(output->kept);
        length = sizeof(output->kept);
        output->cut = true;
    }
    if (output->length + length > sizeof(output->kept)) {
        size_t surplus = output->length + length - sizeof(output->kept);

        memmove(output->kept, output->kept + surplus, output->length - surplus);
        output->length -= surplus;
        output->cut = true;
    }
    memcpy(output->kept + output->length, at, length);
    output->length += length;
}

static void print_setup_output(const struct setup_output *output)
{
    if (output->cut)
        progress_line("sandlot: the end of what the setup script printed (-v shows all of it):");
    if (output->length)
        progress_bytes(output->kept, output->length);
    if (output->length && output->kept[output->length - 1] != '\n')
        progress_line("%s", "");
}

/* While the id is unknown nobody can be told more than where the ledger is read. */
static void set_farewell(const struct context *context, const struct sandlot_session *session)
{
    static const char unknown[] = "sandlot: interrupted again; if a sandbox is left behind, 'sandlot gc' deletes it\n";
    const struct options *options = context->options;

    if (options->sandbox_id) {
        signals_set_farewell("sandlot: interrupted again; the sandbox is not ours and stays\n");
        return;
    }
    AUTO_FREE char *command =
        session ? context_delete_command(context, context->provider, sandlot_session_id(session)) : NULL;
    AUTO_FREE char *clean = command ? text_visible(command) : NULL;
    AUTO_FREE char *id = session ? text_visible(sandlot_session_id(session)) : NULL;
    AUTO_FREE char *text =
        clean && id ? text_format("sandlot: interrupted again; sandbox %s may remain, delete it with: %s\n", id, clean)
                    : NULL;

    signals_set_farewell(text ? text : unknown);
}

struct sandlot_session *sandbox_open(const struct context *context, bool keep, int *status)
{
    const struct options *options = context->options;
    AUTO_FREE struct setup_output *setup = malloc(sizeof(*setup));
    struct sandlot_session_options request = {.size = sizeof(request),
                                              .provider = context->provider,
                                              .sandbox_id = options->sandbox_id,
                                              .snapshot_name = options->snapshot_name,
                                              .setup_file = options->setup_file,
                                              .scope = options->scope,
                                              .name = options->name,
                                              .parameters = context->parameters,
                                              .keep = keep,
                                              .cancellation = context->cancellation,
                                              .progress = progress_report,
                                              .setup_output = setup ? on_setup_output : NULL,
                                              .context = setup,
                                              .network = options->network,
                                              .allow = options->allowed,
                                              .volumes = options->volumes};
    struct sandlot_error error = {0};

    if (setup) { /* not all of it: to clear what most commands never fill takes a page fault for each of its pages */
        setup->live = options->verbosity >= 1;
        setup->length = 0;
        setup->cut = false;
    }
    set_farewell(context, NULL);
    progress_begin(options->sandbox_id ? "Attaching to the %s sandbox" : "Starting %s sandbox", context->provider);
    struct sandlot_session *session = sandlot_session_open(context_sandlot(context), &request, &error);

    progress_end();
    if (session) {
        set_farewell(context, session);
        progress_note("Sandbox %s is ready", sandlot_session_id(session));
        return session;
    }
    if (error.code == SANDLOT_CODE_SANDBOX_NOT_FOUND && options->sandbox_id && !context->owner.record)
        owner_advise(options->sandbox_id, &error);
    if (setup && error.code == SANDLOT_CODE_SETUP_FAILED)
        print_setup_output(setup);
    *status = context_status(report_error(options, &error));
    sandlot_error_clear(&error);
    return NULL;
}

int sandbox_close(const struct context *context, struct sandlot_session *session, struct sandlot_error *error)
{
    const struct options *options = context->options;
    bool owned = !options->sandbox_id && !options->scope;
    AUTO_FREE char *id = strdup(sandlot_session_id(session));

    if (owned)
        progress_begin("Terminating sandbox %s", sandlot_session_id(session));
    int result = sandlot_session_close(session, error);

    progress_end();
    if (result == 0 && owned)
        progress_note("Sandbox %s is terminated", id ? id : "");
    if (result == 0)
        return 0;
    progress_line("sandlot: warning: %s", error->message); /* says how to delete it by hand */
    return -1;
}

char *sandbox_directory(const struct options *options, const struct sandlot_session *session)
{
    const char *base = sandlot_session_working_dir(session);

    if (*options->cwd == '/')
        return strdup(options->cwd);
    return text_format("%s/%s", strcmp(base, "/") == 0 ? "" : base, options->cwd);
}

int sandbox_command(const struct options *options, int (*check)(const struct context *context),
                    int (*use)(const struct context *context, struct sandlot_session *session, const void *input),
                    const void *input)
{
    struct context context;
    int status = context_open(&context, options);

    if (status == 0)
        status = context_resolve(&context);
    if (status == 0 && check)
        status = check(&context);
    if (status == 0) {
        struct sandlot_session *session = sandbox_open(&context, false, &status);

        if (session)
            status = use(&context, session, input);
    }
    context_close(&context);
    return status;
}
