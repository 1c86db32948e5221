#include "live.h"

#include "cleanup.h"
#include "stop.h"
#include "tap.h"

#include <stdatomic.h>
#include <string.h>
#include <time.h>

double milliseconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* Warnings of the host are of use to the vendor, beside the result that they belong to. */
static void on_message(void *context, enum sandlot_message_level level, const char *text)
{
    (void)context;
    if (level <= SANDLOT_MESSAGE_WARNING)
        tap_remark("the host says: %s", text);
}

bool live_begin(struct live *live, const struct kit *kit, bool in_process)
{
    return live_begin_as(live, kit, kit_configuration(kit, in_process));
}

bool live_begin_as(struct live *live, const struct kit *kit, const char *configuration)
{
    AUTO_FREE char *path = NULL;
    struct sandlot_error error = {0};

    *live = (struct live){.kit = kit};
    if (asprintf(&path, "%s/%s", kit->folder, configuration) < 0)
        return tap_check(false, "the runtime opens", "memory", "none is left", "Free some and run it again.");
    struct sandlot_options options = {
        .size = sizeof(options), .config_file = path, .no_environment_files = true, .message = on_message};

    live->sandlot = sandlot_open(&options, &error);
    if (!live->sandlot)
        tap_check(false, "the runtime opens", "it opens", error_shown(&error), "Look at the message.");
    sandlot_error_clear(&error);
    return live->sandlot;
}

void live_end(struct live *live)
{
    sandlot_close(live->sandlot);
    live->sandlot = NULL;
}

struct sandlot_session_options live_options(const struct live *live)
{
    return (struct sandlot_session_options){.size = sizeof(struct sandlot_session_options),
                                            .provider = live->kit->provider->name,
                                            .parameters = live->kit->parameters,
                                            .cancellation = stop_cancellation()};
}

struct sandlot_target live_target(const struct live *live)
{
    return (struct sandlot_target){.size = sizeof(struct sandlot_target),
                                   .provider = live->kit->provider->name,
                                   .parameters = live->kit->parameters,
                                   .cancellation = stop_cancellation()};
}

/* What to do where nothing can be made at all; NULL: it may be the provider's fault, and other checks tell more. */
static const char *advice_for_all(const struct kit *kit, enum sandlot_code code)
{
    const char *credentials = note_value(kit->provider, "credentials");

    switch (code) {
    case SANDLOT_CODE_AUTH:
        return say("Correct %s, then run it again.", credentials ? credentials : "the credentials");
    case SANDLOT_CODE_NETWORK:
        return "See that the service can be reached from here (address, proxy, certificates), then run it again.";
    case SANDLOT_CODE_PROVIDER_UNAVAILABLE:
        return "Provide what the message names, then run it again.";
    default:
        return NULL;
    }
}

static void tell_failed_creation(const struct kit *kit, const struct sandlot_error *error, bool is_first)
{
    const char *advice = is_first ? advice_for_all(kit, error->code) : NULL;

    if (error->code == SANDLOT_CODE_NETWORK || error->code == SANDLOT_CODE_TIMEOUT ||
        error->code == SANDLOT_CODE_CANCELLED)
        tap_record("abandoned", "");
    if (!advice)
        return;
    tap_check(false, "a first sandbox", "a sandbox is made", error_shown(error), advice);
    tap_record("bail", sandlot_code_name(error->code));
    tap_record("end", "");
    _exit(0);
}

struct sandlot_session *live_open(const struct live *live, const struct sandlot_session_options *options,
                                  struct sandlot_error *error)
{
    static atomic_bool has_made;
    struct sandlot_error own = {0};
    struct sandlot_session *session = sandlot_session_open(live->sandlot, options, &own);

    if (session && !options->sandbox_id)
        tap_record("made", sandlot_session_id(session));
    if (!session && !options->sandbox_id)
        tell_failed_creation(live->kit, &own, live->kit->first_creation && !has_made);
    has_made |= session != NULL;
    if (error)
        *error = own;
    else
        sandlot_error_clear(&own);
    return session;
}

struct sandlot_session *live_create(const struct live *live, struct sandlot_error *error)
{
    struct sandlot_session_options options = live_options(live);

    return live_open(live, &options, error);
}

struct sandlot_session *live_attach(const struct live *live, const char *id, struct sandlot_error *error)
{
    struct sandlot_session_options options = live_options(live);

    options.sandbox_id = id;
    return live_open(live, &options, error);
}

struct sandlot_session *live_sandbox(const struct live *live)
{
    struct sandlot_error error = {0};
    struct sandlot_session *session = live_create(live, &error);

    tap_check(session, "a sandbox to work with", "a sandbox is made and is ready", error_shown(&error),
              "Mend get_or_create (and ready) first; nothing of this group can be checked without a sandbox.");
    sandlot_error_clear(&error);
    return session;
}

bool live_close(struct sandlot_session *session, bool owned, struct sandlot_error *error)
{
    AUTO_FREE char *id = strdup(sandlot_session_id(session));
    bool closed = sandlot_session_close(session, error) == 0;

    if (closed && owned && id)
        tap_record("gone", id);
    return closed;
}

bool live_delete(const struct live *live, const char *id, struct sandlot_error *error)
{
    struct sandlot_target target = live_target(live);
    bool deleted = sandlot_delete(live->sandlot, &target, id, error) == 0;

    if (deleted)
        tap_record("gone", id);
    return deleted;
}

/* The sandbox that is left is deleted with the leftovers. */
static void give_up_on_hangs(const struct outcome *outcome)
{
    static atomic_int hangs;

    if (outcome->ms < COMMAND_MS || atomic_fetch_add(&hangs, 1) == 0)
        return;
    tap_check(false, "commands end", say("no command needs more than %d s", COMMAND_MS / 1000), outcome_shown(outcome),
              "Return when the command has ended; the rest of this group is left out.");
    tap_record("end", "");
    _exit(0);
}

struct outcome live_execute(struct sandlot_session *session, const struct sandlot_execution *execution)
{
    struct outcome outcome = {.result = {.size = sizeof(outcome.result)}};
    double begin = milliseconds();

    struct sandlot_execution own = *execution;

    own.cancellation = stop_cancellation();
    outcome.ran = sandlot_execute(session, &own, &outcome.result, &outcome.error) == 0;
    outcome.ms = milliseconds() - begin;
    give_up_on_hangs(&outcome);
    return outcome;
}

struct outcome live_run(struct sandlot_session *session, const char *command)
{
    struct sandlot_execution execution = {
        .size = sizeof(execution), .command = command, .timeout_ms = COMMAND_MS, .output_limit = UINT64_C(64) << 20};

    return live_execute(session, &execution);
}

void outcome_clear(struct outcome *outcome)
{
    sandlot_result_clear(&outcome->result);
    sandlot_error_clear(&outcome->error);
}

bool outcome_is(const struct outcome *outcome, int exit_code, const char *output, size_t length)
{
    return outcome->ran && outcome->result.has_exit_code && outcome->result.exit_code == exit_code &&
           (!output ||
            (outcome->result.output_length == length && memcmp(outcome->result.output, output, length) == 0));
}

const char *error_shown(const struct sandlot_error *error)
{
    return say("%s: %s", sandlot_code_name(error->code), error->message ? error->message : "no message");
}

const char *outcome_shown(const struct outcome *outcome)
{
    const struct sandlot_result *result = &outcome->result;

    if (!outcome->ran)
        return error_shown(&outcome->error);
    return say("exit code %d%s after %.0f ms, %zu bytes of output: %s", result->has_exit_code ? result->exit_code : -1,
               result->timed_out ? ", timed out" : "", outcome->ms, result->output_length,
               result->output ? shown(result->output, result->output_length) : "");
}

bool live_expect(struct sandlot_session *session, const char *name, const char *command, int exit_code,
                 const char *output, const char *advice)
{
    struct outcome outcome = live_run(session, command);
    bool passed = tap_check(outcome_is(&outcome, exit_code, output, output ? strlen(output) : 0), name,
                            output ? say("exit code %d, output: %s", exit_code, shown(output, strlen(output)))
                                   : say("exit code %d", exit_code),
                            outcome_shown(&outcome), advice);

    outcome_clear(&outcome);
    return passed;
}

bool live_write(struct sandlot_session *session, const char *name, const char *path, const char *text)
{
    struct sandlot_write request = {.size = sizeof(request),
                                    .cancellation = stop_cancellation(),
                                    .path = path,
                                    .content = text,
                                    .content_length = strlen(text)};
    struct sandlot_error error = {0};
    bool written = sandlot_write_file(session, &request, &error) == 0;

    tap_check(written, name, "success", error_shown(&error), "Files must be writable where commands start.");
    sandlot_error_clear(&error);
    return written;
}

bool live_reads(struct sandlot_session *session, const char *name, const char *path, const char *text,
                const char *advice)
{
    struct sandlot_read request = {.size = sizeof(request), .cancellation = stop_cancellation(), .path = path};
    struct sandlot_page page = {.size = sizeof(page)};
    struct sandlot_error error = {0};
    bool read = sandlot_read_file(session, &request, &page, &error) == 0;
    bool right = text ? read && strcmp(page.content, text) == 0 : !read && error.code == SANDLOT_CODE_FILE_NOT_FOUND;

    tap_check(right, name, text ? text : "file_not_found",
              read ? shown(page.content, page.content_length) : error_shown(&error), advice);
    if (read)
        sandlot_page_clear(&page);
    sandlot_error_clear(&error);
    return right;
}
