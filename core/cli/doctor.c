/* sandlot doctor: what works on this machine, what does not, and what to do. */
#include "base/cleanup.h"
#include "base/error.h"
#include "base/path.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/context.h"
#include "cli/machine.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/signals.h"
#include "session/readiness.h"

#include <string.h>

enum { TRIAL_TIMEOUT_MS = 30000, FAILED_STATUS = 3 };

/* One box made, used and deleted. */
struct trial {
    struct sandlot_error error; /* what failed */
    double create_ms;
    double execute_ms;
    double delete_ms;
    bool has_list;   /* it was given a list of hosts, */
    char *list_note; /* and what is the matter with that; NULL: nothing */
};

static double now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void try_command(const struct context *context, struct sandlot_session *session, struct trial *trial)
{
    struct sandlot_execution execution = {.size = sizeof(execution),
                                          .command = "true",
                                          .timeout_ms = TRIAL_TIMEOUT_MS,
                                          .cancellation = context->cancellation};
    struct sandlot_result result = {.size = sizeof(result)};
    double begin = now_ms();

    if (sandlot_execute(session, &execution, &result, &trial->error) == 0 &&
        !(result.has_exit_code && result.exit_code == 0))
        error_set(&trial->error, SANDLOT_CODE_PROVIDER_ERROR,
                  "'true' did not succeed in a new sandbox; run 'sandlot -vv exec -- true' to see more");
    trial->execute_ms = now_ms() - begin;
    sandlot_result_clear(&result);
}

static void take_note(void *context, const struct sandlot_network_state *state)
{
    struct trial *trial = context;

    trial->has_list = true;
    trial->list_note = state->note ? strdup(state->note) : NULL;
}

/* What a list of hosts would do; nobody is asked for that one. Where the configuration leaves no place for a list there
 * is nothing to tell. */
static void try_list(const struct context *context, struct sandlot_session *session, struct trial *trial)
{
    const char *const allow[] = {"example.com", NULL};
    const struct sandlot_network_change change = {
        .size = sizeof(change), .allow = allow, .cancellation = context->cancellation};
    struct sandlot_error error = {0};

    if (sandlot_change_network(session, &change, &error) == 0)
        sandlot_show_network(session, take_note, trial, context->cancellation, &error);
    sandlot_error_clear(&error);
}

static void try_local(const struct context *context, struct trial *trial)
{
    struct sandlot_session_options request = {
        .size = sizeof(request), .provider = RUNTIME_DEFAULT_PROVIDER, .cancellation = context->cancellation};
    double begin = now_ms();

    progress_begin("Trying the %s sandbox", RUNTIME_DEFAULT_PROVIDER);
    struct sandlot_session *session = sandlot_session_open(context->sandlot, &request, &trial->error);

    trial->create_ms = now_ms() - begin;
    if (session) {
        try_command(context, session, trial);
        try_list(context, session, trial);
        begin = now_ms();
        sandlot_session_close(session, error_is_set(&trial->error) ? NULL : &trial->error);
        trial->delete_ms = now_ms() - begin;
    }
    progress_end();
}

static struct json_object *milliseconds(double value)
{
    char text[32];

    snprintf(text, sizeof(text), "%.1f", value);
    return json_object_new_double_s(value, text);
}

static struct json_object *trial_object(const struct trial *trial)
{
    struct json_object *object = json_object_new_object();
    bool works = !error_is_set(&trial->error);

    json_object_object_add(object, "works", json_object_new_boolean(works));
    json_object_object_add(object, "reason", works ? NULL : json_text(trial->error.message));
    json_object_object_add(object, "create_ms", works ? milliseconds(trial->create_ms) : NULL);
    json_object_object_add(object, "execute_ms", works ? milliseconds(trial->execute_ms) : NULL);
    json_object_object_add(object, "delete_ms", works ? milliseconds(trial->delete_ms) : NULL);
    return object;
}

static struct json_object *machine_object(const struct machine_fact *facts, size_t count)
{
    struct json_object *object = json_object_new_object();

    for (size_t i = 0; i < count; i++) {
        struct json_object *fact = json_object_new_object();

        json_object_object_add(fact, "value", json_text(facts[i].value));
        json_object_object_add(fact, "advice", json_text(facts[i].advice));
        json_object_object_add(object, facts[i].name, fact);
    }
    return object;
}

/* Has the trial told about this provider already? */
static bool tried(const struct registry_entry *entry)
{
    return entry->name && strcmp(entry->name, RUNTIME_DEFAULT_PROVIDER) == 0;
}

static bool shown(const struct registry_entry *entry)
{
    return entry->winner || !entry->name;
}

static struct json_object *providers_array(const struct context *context, const struct trial *trial)
{
    struct json_object *array = json_object_new_array();
    size_t count = 0;
    const struct registry_entry *const *entries = registry_entries(context->sandlot->registry, &count);

    for (size_t i = 0; i < count; i++) {
        if (!shown(entries[i]))
            continue;
        AUTO_FREE char *problem = readiness_check(context->sandlot, entries[i], false);
        const char *reason = tried(entries[i]) && error_is_set(&trial->error) ? trial->error.message : problem;
        struct json_object *object = json_object_new_object();

        json_object_object_add(object, "name", json_text(entries[i]->name));
        json_object_object_add(object, "path", json_text(entries[i]->path));
        json_object_object_add(object, "ready", json_object_new_boolean(!reason));
        json_object_object_add(object, "reason", json_text(reason));
        json_object_array_add(array, object);
    }
    return array;
}

static void print_json(const struct context *context, const struct trial *trial, const struct machine_fact *facts,
                       size_t count)
{
    struct json_object *object = json_object_new_object();

    if (error_is_set(&trial->error))
        json_add_error(object, &trial->error);
    json_object_object_add(object, RUNTIME_DEFAULT_PROVIDER, trial_object(trial));
    json_object_object_add(object, "machine", machine_object(facts, count));
    json_object_object_add(object, "providers", providers_array(context, trial));
    json_object_object_add(object, "config_problem", json_text(context->sandlot->config->problem));
    output_json(object);
}

static void print_machine(const struct machine_fact *facts, size_t count)
{
    output_format("This machine\n");
    for (size_t i = 0; i < count; i++) {
        output_format("  %-20s %s\n", facts[i].name, facts[i].value);
        if (facts[i].advice)
            output_format("  %-20s -> %s\n", "", facts[i].advice);
    }
}

static void print_providers(const struct context *context)
{
    size_t count = 0;
    const struct registry_entry *const *entries = registry_entries(context->sandlot->registry, &count);

    output_format("\nOther providers\n");
    for (size_t i = 0; i < count; i++) {
        if (!shown(entries[i]) || tried(entries[i]))
            continue;
        AUTO_FREE char *problem = readiness_check(context->sandlot, entries[i], false);
        const char *name = entries[i]->name ? entries[i]->name : entries[i]->path;
        AUTO_FREE char *clean = text_visible(name ? name : "-");
        AUTO_FREE char *why = problem ? text_visible(problem) : NULL;

        output_format("  %-20s %s%s\n", clean ? clean : "", why ? "no: " : "ready to try", why ? why : "");
    }
}

static void print_text(const struct context *context, const struct trial *trial, const struct machine_fact *facts,
                       size_t count)
{
    const struct config *config = context->sandlot->config;

    print_machine(facts, count);
    if (config->problem)
        output_format("  %-20s %s is ignored: %s\n", "configuration", config->file ? config->file : "the file",
                      config->problem);
    output_format("\nThe %s sandbox\n", RUNTIME_DEFAULT_PROVIDER);
    if (error_is_set(&trial->error))
        output_format("  does not work: %s\n", trial->error.message);
    else
        output_format("  works: created in %.1f ms, ran 'true' in %.1f ms, deleted in %.1f ms\n", trial->create_ms,
                      trial->execute_ms, trial->delete_ms);
    print_providers(context);
}

/* How programs of a local sandbox get to what is on its list. */
static struct machine_fact listed_network(const struct trial *trial)
{
    return (struct machine_fact){"listed_network",
                                 strdup(trial->list_note ? "for programs that know the proxy" : "for all programs"),
                                 trial->list_note};
}

static int examine(const struct context *context)
{
    struct trial trial = {0};
    struct machine_fact facts[MACHINE_FACTS + 1];

    try_local(context, &trial);
    size_t count = machine_facts(facts);

    if (trial.has_list)
        facts[count++] = listed_network(&trial);
    if (context->options->json)
        print_json(context, &trial, facts, count);
    else
        print_text(context, &trial, facts, count);
    machine_facts_clear(facts, count);
    int status = error_is_set(&trial.error) ? FAILED_STATUS : 0;

    sandlot_error_clear(&trial.error);
    free(trial.list_note);
    return context_status(status);
}

int command_doctor(const struct options *options)
{
    struct context context;
    int status = context_open(&context, options);

    if (status == 0)
        status = examine(&context);
    context_close(&context);
    return status;
}
