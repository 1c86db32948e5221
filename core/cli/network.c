/* sandlot network: what a sandbox may reach, shown and changed; what was decided; the sets. */
#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/file_command.h"
#include "cli/output.h"
#include "cli/usage.h"
#include "network/policy.h"

#include <inttypes.h>
#include <poll.h>
#include <string.h>

enum { FOLLOW_MS = 300 };

int command_network(const struct options *options)
{
    return usage_error(options->command, "%s", options->command->missing);
}

/* The first argument is the sandbox. */
static int with_sandbox(const struct options *options, file_work work)
{
    struct options own = *options;

    own.sandbox_id = options->arguments[0];
    if (!*own.sandbox_id)
        return usage_error(options->command, "the id is empty");
    return file_command(&own, work, NULL);
}

/* ---- show -------------------------------------------------------------------------------------------------------- */

struct shown {
    const char *id;
    struct json_object *object;
    char *text;
};

static struct json_object *array_of(const char *const *texts)
{
    struct json_object *array = json_object_new_array();

    for (; *texts; texts++)
        json_object_array_add(array, json_text(*texts));
    return array;
}

static struct json_object *credentials_of(const struct sandlot_network_state *state)
{
    struct json_object *array = json_object_new_array();

    for (size_t i = 0; state->credential_hosts[i]; i++) {
        struct json_object *one = json_object_new_object();

        json_object_object_add(one, "host", json_text(state->credential_hosts[i]));
        json_object_object_add(one, "header", json_text(state->credential_headers[i]));
        json_object_array_add(array, one);
    }
    return array;
}

static struct json_object *state_object(const char *id, const struct sandlot_network_state *state)
{
    struct json_object *object = json_object_new_object();

    json_object_object_add(object, "id", json_text(id));
    json_object_object_add(object, "mode", json_text(state->mode));
    json_object_object_add(object, "allow", array_of(state->allow));
    json_object_object_add(object, "credentials", credentials_of(state));
    json_object_object_add(object, "source", json_text(state->source));
    if (state->note) {
        json_object_object_add(object, "note", json_text(state->note));
        json_object_object_add(object, "broken", json_object_new_boolean(state->broken));
    }
    return object;
}

static char *state_text(const struct sandlot_network_state *state)
{
    char *text =
        text_format("mode: %s%s%s%s", state->mode ? state->mode : "what the provider always gives",
                    state->source ? " (from " : "", state->source ? state->source : "", state->source ? ")" : "");

    for (const char *const *entry = state->allow; *entry && text; entry++)
        text_append(&text, "\nallow: %s", *entry);
    for (size_t i = 0; state->credential_hosts[i] && text; i++)
        text_append(&text, "\ncredential: %s, in the header %s", state->credential_hosts[i],
                    state->credential_headers[i]);
    if (state->note && text)
        text_append(&text, "\nnote: %s", state->note);
    return text;
}

static void take(void *context, const struct sandlot_network_state *state)
{
    struct shown *shown = context;

    shown->object = state_object(shown->id, state);
    shown->text = state_text(state);
}

static int show(const struct context *context, struct sandlot_session *session, const void *input,
                struct answer *answer, struct sandlot_error *error)
{
    struct shown shown = {.id = sandlot_session_id(session)};

    (void)input;
    if (sandlot_show_network(session, take, &shown, context->cancellation, error) < 0)
        return -1;
    answer->object = shown.object;
    return answer_with_text(answer, shown.text, error);
}

int command_network_show(const struct options *options)
{
    return with_sandbox(options, show);
}

/* ---- changes ----------------------------------------------------------------------------------------------------- */

static int change(const struct context *context, struct sandlot_session *session,
                  const struct sandlot_network_change *wanted, struct answer *answer, struct sandlot_error *error)
{
    if (sandlot_change_network(session, wanted, error) < 0)
        return -1;
    return show(context, session, NULL, answer, error);
}

static int allow(const struct context *context, struct sandlot_session *session, const void *input,
                 struct answer *answer, struct sandlot_error *error)
{
    const struct sandlot_network_change wanted = {.size = sizeof(wanted),
                                                  .allow = (const char *const *)context->options->arguments + 1,
                                                  .cancellation = context->cancellation};

    (void)input;
    return change(context, session, &wanted, answer, error);
}

static int deny(const struct context *context, struct sandlot_session *session, const void *input,
                struct answer *answer, struct sandlot_error *error)
{
    const struct sandlot_network_change wanted = {.size = sizeof(wanted),
                                                  .deny = (const char *const *)context->options->arguments + 1,
                                                  .cancellation = context->cancellation};

    (void)input;
    return change(context, session, &wanted, answer, error);
}

/* "network off" and "network open": the second word is the mode. */
static int set_mode(const struct context *context, struct sandlot_session *session, const void *input,
                    struct answer *answer, struct sandlot_error *error)
{
    const struct sandlot_network_change wanted = {.size = sizeof(wanted),
                                                  .mode = strrchr(context->options->command->name, ' ') + 1,
                                                  .cancellation = context->cancellation};

    (void)input;
    return change(context, session, &wanted, answer, error);
}

int command_network_allow(const struct options *options)
{
    return with_sandbox(options, allow);
}

int command_network_deny(const struct options *options)
{
    return with_sandbox(options, deny);
}

int command_network_mode(const struct options *options)
{
    return with_sandbox(options, set_mode);
}

/* ---- the log ----------------------------------------------------------------------------------------------------- */

/* One look at the log. */
struct look {
    const struct options *options;
    uint64_t last; /* the number of the decision that came last */
    int64_t skipped;
    struct json_object *decisions; /* with --json */
    char *text;                    /* without */
};

static struct json_object *decision_object(const struct sandlot_network_event *event)
{
    struct json_object *object = json_object_new_object();
    AUTO_FREE char *at = time_text(event->at_ms);

    json_object_object_add(object, "at", json_text(at));
    json_object_object_add(object, "decision", json_text(event->allowed ? "allowed" : "denied"));
    json_object_object_add(object, "host", json_text(event->host));
    json_object_object_add(object, "port", json_object_new_int(event->port));
    json_object_object_add(object, "rule", json_text(event->rule));
    json_object_object_add(object, "reason", json_text(event->reason));
    json_object_object_add(object, "bytes_in", json_object_new_int64((int64_t)event->bytes_in));
    json_object_object_add(object, "bytes_out", json_object_new_int64((int64_t)event->bytes_out));
    json_object_object_add(object, "ms", json_object_new_int64(event->duration_ms));
    return object;
}

static bool add_line(char **text, const struct sandlot_network_event *event)
{
    AUTO_FREE char *at = time_text(event->at_ms);
    const char *why = event->reason ? event->reason : event->rule ? event->rule : "";
    char port[8] = "";

    if (event->port) /* none: a name was looked up */
        snprintf(port, sizeof(port), ":%u", (unsigned)event->port);
    return text_append(text, "%s%s %s %s%s%s%s%s, %" PRIu64 " bytes in, %" PRIu64 " out, %" PRId64 " ms",
                       *text ? "\n" : "", at ? at : "-", event->allowed ? "allowed" : "denied ", event->host, port,
                       *why ? " (" : "", why, *why ? ")" : "", event->bytes_in, event->bytes_out, event->duration_ms);
}

static bool note(void *context, const struct sandlot_network_event *event)
{
    struct look *look = context;

    if (event->number > look->last + 1)
        look->skipped += (int64_t)(event->number - look->last - 1);
    look->last = event->number;
    if (event->allowed && (look->options->given & OPTION_DENIED))
        return true;
    if (look->decisions)
        return json_object_array_add(look->decisions, decision_object(event)) == 0;
    return add_line(&look->text, event);
}

/* What has come since the last look, as the answer. */
static int look_at(const struct context *context, struct sandlot_session *session, struct look *look,
                   struct answer *answer, struct sandlot_error *error)
{
    look->skipped = 0;
    look->decisions = context->options->json ? json_object_new_array() : NULL;
    if (sandlot_read_network_log(session, look->last, note, look, context->cancellation, error) < 0) {
        json_object_put(look->decisions);
        free(TAKE(look->text));
        return -1;
    }
    if (look->decisions) {
        answer->object = json_object_new_object();
        json_object_object_add(answer->object, "decisions", look->decisions);
        json_object_object_add(answer->object, "skipped", json_object_new_int64(look->skipped));
        return 0;
    }
    if (look->skipped && !text_append(&look->text, "%s(%" PRId64 " older decisions are no longer kept)",
                                      look->text ? "\n" : "", look->skipped))
        return error_no_memory(error);
    return look->text ? answer_with_text(answer, TAKE(look->text), error) : 0;
}

static void print_now(struct answer *answer)
{
    if (answer->object)
        output_json(answer->object);
    else if (answer->text)
        output_write(answer->text, answer->length);
    free(answer->text);
    *answer = (struct answer){0};
}

static bool is_over(const struct context *context)
{
    struct pollfd cancel = {cancellation_fd(context->cancellation), POLLIN, 0};

    return poll(&cancel, 1, FOLLOW_MS) != 0 || output_failed();
}

static int read_log(const struct context *context, struct sandlot_session *session, const void *input,
                    struct answer *answer, struct sandlot_error *error)
{
    struct look look = {.options = context->options};
    bool follows = context->options->given & OPTION_FOLLOW;

    (void)input;
    for (;;) {
        if (look_at(context, session, &look, answer, error) < 0)
            return -1;
        if (!follows)
            return 0;
        bool over = is_over(context);

        if (answer->object && json_object_array_length(json_object_object_get(answer->object, "decisions")) == 0)
            json_object_put(TAKE(answer->object));
        print_now(answer);
        if (over)
            return 0;
    }
}

int command_network_log(const struct options *options)
{
    return with_sandbox(options, read_log);
}

/* ---- sets -------------------------------------------------------------------------------------------------------- */

static bool print_set(const char *name, struct json_object *entries)
{
    bool written = output_format("%s:", name);

    for (size_t i = 0; written && i < json_object_array_length(entries); i++)
        written = output_format(" %s", json_object_get_string(json_object_array_get_idx(entries, i)));
    return written && output_format("\n");
}

static int print_sets(const struct options *options, struct json_object *sets)
{
    const char *wanted = options->arguments[0];
    struct json_object *chosen = json_object_new_object();
    struct json_object *result = json_object_new_object();

    json_object_object_add(result, "sets", chosen);
    json_object_object_foreach(sets, name, entries)
    {
        if (wanted && strcmp(wanted + (*wanted == '@'), name) != 0)
            continue;
        json_object_object_add(chosen, name, json_object_get(entries));
        if (!options->json)
            print_set(name, entries);
    }
    int status = wanted && json_object_object_length(chosen) == 0
                     ? usage_error(options->command, "there is no set '%s'; without a name all are printed", wanted)
                     : 0;

    if (status == 0 && options->json)
        output_json(json_object_get(result));
    json_object_put(result);
    return status;
}

int command_network_sets(const struct options *options)
{
    struct context context;
    struct sandlot_error error = {0};
    int status = context_open(&context, options);

    if (status == 0) {
        struct json_object *sets = network_policy_sets(context.sandlot->config, &error);

        status = sets ? print_sets(options, sets) : report_error(options, &error);
        json_object_put(sets);
    }
    sandlot_error_clear(&error);
    context_close(&context);
    return context_status(status);
}
