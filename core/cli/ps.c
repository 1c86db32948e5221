/* sandlot ps: the background processes of a sandbox. */
#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/process_command.h"

#include <string.h>
#include <time.h>

enum { COLUMNS = 5, SHOWN_COMMAND = 60 };

/* What the list becomes. */
struct listed {
    const struct options *options;
    struct json_object *array;
    struct table table;
    int64_t now_ms;
};

static char *state_text(const struct sandlot_process *process)
{
    if (process->timed_out)
        return strdup("timed out");
    if (process->state == SANDLOT_PROCESS_EXITED && process->has_exit_code)
        return text_format("exited %d", process->exit_code);
    return strdup(process_state_name(process->state));
}

/* How long it has run, or ran. */
static char *age_text(const struct sandlot_process *process, int64_t now_ms)
{
    const int64_t end_ms = process->ended_at_ms ? process->ended_at_ms : now_ms;
    const long long seconds = end_ms > process->started_at_ms ? (end_ms - process->started_at_ms) / 1000 : 0;

    if (seconds < 120)
        return text_format("%lld s", seconds);
    return seconds < 7200 ? text_format("%lld min", seconds / 60) : text_format("%lld h", seconds / 3600);
}

/* One line, cut. */
static char *command_text(const char *command)
{
    size_t length = strlen(command);
    size_t shown = length > SHOWN_COMMAND ? SHOWN_COMMAND : length;

    while (shown > 0 && shown < length && ((unsigned char)command[shown] & 0xc0) == 0x80)
        shown--;
    return text_format("%.*s%s", (int)shown, command, shown < length ? "..." : "");
}

static void add_row(struct listed *listed, const struct sandlot_process *process)
{
    AUTO_FREE char *state = state_text(process);
    AUTO_FREE char *age = age_text(process, listed->now_ms);
    AUTO_FREE char *output = text_format("%llu bytes", (unsigned long long)process->output_total);
    AUTO_FREE char *command = command_text(process->command);
    const char *const cells[COLUMNS] = {process->id, state, age, output, command};

    table_add(&listed->table, cells);
}

static bool add(void *context, const struct sandlot_process *process)
{
    struct listed *listed = context;

    if (process->state != SANDLOT_PROCESS_RUNNING && !(listed->options->given & OPTION_ALL))
        return true;
    if (listed->array)
        json_object_array_add(listed->array, process_object(process));
    else
        add_row(listed, process);
    return true;
}

/* The table is printed here: it knows how wide a terminal is. */
static int work(const struct context *context, struct sandlot_session *session, const void *input,
                struct answer *answer, struct sandlot_error *error)
{
    (void)input;
    static const char *const head[COLUMNS] = {"PROCESS", "STATE", "AGE", "OUTPUT", "COMMAND"};
    const struct options *options = context->options;
    struct listed listed = {.options = options,
                            .array = options->json ? json_object_new_array() : NULL,
                            .table.columns = COLUMNS,
                            .now_ms = (int64_t)time(NULL) * 1000};

    if (!options->json)
        table_add(&listed.table, head);
    int failed = sandlot_list_processes(session, context->cancellation, add, &listed, error);

    if (!options->json) {
        if (failed)
            listed.table.count = 0;
        table_print(&listed.table);
        return failed;
    }
    struct json_object *object = json_object_new_object();

    json_object_object_add(object, "processes", listed.array);
    if (failed) {
        json_object_put(object);
        return -1;
    }
    return answer_with_object(answer, object, error);
}

int command_ps(const struct options *options)
{
    return process_command(options, work);
}
