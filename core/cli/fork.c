/* sandlot fork: a second sandbox with the files of one. */
#include "base/error.h"
#include "cli/command.h"
#include "cli/lifecycle.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/signals.h"
#include "session/session.h"

static bool print_fork(const struct context *context, const char *id, const char *from)
{
    progress_end();
    if (!context->options->json)
        return output_line(id);
    struct json_object *object = json_object_new_object();

    json_object_object_add(object, "id", json_text(id));
    json_object_object_add(object, "from", json_text(from));
    return output_json(object);
}

/* Nobody has heard of it, so it must not stay. */
static int take_back(const struct context *context, const struct sandlot_target *target, const char *id,
                     struct sandlot_error *error)
{
    struct sandlot_target patient = *target;

    patient.cancellation = NULL; /* which has been said already */
    if (sandlot_delete(context_sandlot(context), &patient, id, error) < 0)
        return -1;
    return error_set(error, SANDLOT_CODE_CANCELLED, "the fork's id could not be told, so it was deleted again");
}

/* As for `create`: first the id, then the record that it was told. */
static int fork_sandbox(const struct context *context, const struct sandlot_target *target, const char *id,
                        struct sandlot_error *error)
{
    struct ledger_record *record = session_fork(context_sandlot(context), target, id, error);

    if (!record)
        return -1;
    int result = signals_received() || !print_fork(context, record->id, id)
                     ? take_back(context, target, record->id, error)
                     : session_fork_keep(record, error);

    ledger_record_free(record);
    return result;
}

int command_fork(const struct options *options)
{
    return lifecycle_command(options, "Forking", fork_sandbox);
}
