/* sandlot create: a sandbox that stays. */
#include "base/cleanup.h"
#include "base/error.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/sandbox.h"
#include "cli/signals.h"
#include "session/session.h"

static bool print_sandbox(const struct options *options, const struct sandlot_session *session)
{
    if (!options->json)
        return output_line(sandlot_session_id(session));
    struct json_object *object = json_object_new_object();

    json_object_object_add(object, "id", json_text(sandlot_session_id(session)));
    json_object_object_add(object, "provider", json_text(sandlot_session_provider(session)));
    json_object_object_add(object, "working_dir", json_text(sandlot_session_working_dir(session)));
    if (options->name)
        json_object_object_add(object, "name", json_text(options->name));
    return output_json(object);
}

/* Nobody has heard of the sandbox, so it must not stay. One that a scope found was there before us, and is not touched.
 */
static int take_back(const struct context *context, struct sandlot_session *session)
{
    struct sandlot_error error = {0};

    session->keep = false; /* now the session owns what it created */
    if (sandbox_close(context, session, &error) == 0 && signals_received())
        progress_line("sandlot: interrupted before the id could be told; the sandbox was deleted again");
    sandlot_error_clear(&error);
    return context_status(1);
}

/* First the id, then the record that it was told: whoever dies in between leaves a sandbox that `gc` finds. */
static int print_and_detach(const struct context *context, struct sandlot_session *session)
{
    struct sandlot_error error = {0};

    if (signals_received() || !print_sandbox(context->options, session))
        return take_back(context, session);
    int status = 0;

    if (sandlot_session_detach(session, &error) < 0) {
        progress_line("sandlot: sandbox %s is there but could not be recorded: %s", sandlot_session_id(session),
                      error.message);
        status = error_exit_status(error.code);
    }
    sandlot_error_clear(&error);
    if (sandlot_session_close(session, &error) < 0 && status == 0) {
        progress_line("sandlot: %s", error.message);
        status = error_exit_status(error.code);
    }
    sandlot_error_clear(&error);
    return status;
}

int command_create(const struct options *options)
{
    struct context context;
    int status = context_open(&context, options);

    if (status == 0)
        status = context_resolve(&context);
    if (status == 0) {
        struct sandlot_session *session = sandbox_open(&context, true, &status);

        if (session)
            status = print_and_detach(&context, session);
    }
    context_close(&context);
    return status;
}
