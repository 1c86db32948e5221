/* Calls on their way to a process, and what becomes of them when it dies. */
#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"
#include "loader/host.h"
#include "loader/worker/parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { END_OF_PROCESS_MS = 1000, MOST_KEPT = 256, LONGEST_KEPT = 1024 };

/* ---- texts ------------------------------------------------------------------------------------------------------- */

/* Bounded: the worker may send another one each time. */
static const char *keep_text(void *context, const char *text)
{
    struct worker *worker = ((const struct crossing *)context)->worker;
    size_t size = strlen(text) + 1;

    pthread_mutex_lock(&worker->lock);
    struct kept_text *found = worker->kept;

    while (found && strcmp(found->text, text) != 0)
        found = found->next;
    if (!found && size <= LONGEST_KEPT && worker->kept_count < MOST_KEPT && (found = malloc(sizeof(*found) + size))) {
        memcpy(found->text, text, size);
        found->next = worker->kept;
        worker->kept = found;
        worker->kept_count++;
    }
    pthread_mutex_unlock(&worker->lock);
    return found ? found->text : NULL;
}

static const char *text_argument(void *const *arguments, size_t index)
{
    const char *text;

    memcpy(&text, arguments[index], sizeof(text));
    return text;
}

/* Is NAME one of the variables in LIST, "A|B C"? */
static bool is_in_list(const char *list, const char *name)
{
    size_t length = strlen(name);

    for (const char *at = list; *at;) {
        size_t word = strcspn(at, "| \t");

        if (word == length && strncmp(at, name, length) == 0)
            return true;
        at += word + strspn(at + word, "| \t");
    }
    return false;
}

/* Does the entry point name variable NAME? What it names has a name of Sandlot's own too. */
static bool is_named(const struct worker *worker, const char *name)
{
    static const char own[] = "SANDLOT_";
    const char *plain = strncmp(name, own, strlen(own)) == 0 ? name + strlen(own) : name;

    for (size_t i = 0; i < 2; i++)
        if (is_in_list(worker->variables[i], name) || is_in_list(worker->variables[i], plain))
            return true;
    return false;
}

/* A provider sees the variables that its entry point names; the id of a sandbox is remembered on its way. */
static bool permit(void *context, const struct wire_function *function, void *const *arguments)
{
    struct crossing *crossing = context;

    if (function == &wire_host.functions[WIRE_HOST_ENVIRONMENT]) {
        const char *name = text_argument(arguments, 1);

        return name && is_named(crossing->worker, name);
    }
    if (function == &wire_host.functions[WIRE_HOST_CREATED] && text_argument(arguments, 1)) {
        free(crossing->created);
        crossing->created = strdup(text_argument(arguments, 1));
    }
    return true;
}

/* ---- how a call ends without having returned --------------------------------------------------------------------- */

/* Tells the caller that the process has died in this call, whatever the call was. */
static enum sandlot_status tell_crash(const struct crossing *crossing, const char *id)
{
    char reason[WORKER_REASON];

    worker_process_reason(crossing->process, reason);
    if (!crossing->call)
        return SANDLOT_INTERNAL;
    AUTO_FREE char *sentence =
        id ? text_format("the provider %s; sandbox %s is still recorded, and the next call looks for it in a new "
                         "process: try again",
                         reason, id)
           : text_format("the provider %s; the next call starts it again: try again, and report it to its author if it "
                         "stays so",
                         reason);

    host_call_crashed(crossing->call, sentence);
    return SANDLOT_INTERNAL;
}

enum sandlot_status crossing_fail(const struct crossing *crossing, enum dialogue_end end, const char *id)
{
    switch (end) {
    case DIALOGUE_LATE:
        worker_process_kill(crossing->process, "did not return after its deadline or the cancellation and was ended");
        break;
    case DIALOGUE_NONSENSE:
        worker_process_kill(crossing->process, "sent an answer that makes no sense and was ended");
        break;
    case DIALOGUE_NO_MEMORY:
        /* Nothing is known of how far the call has come. */
        worker_process_kill(crossing->process, "was ended, because there is no memory for its answer");
        break;
    case DIALOGUE_LOST:
    case DIALOGUE_RETURNED:
        /* The descriptors of a process that dies are closed before it counts as dead. */
        if (!worker_process_wait(crossing->process, END_OF_PROCESS_MS))
            worker_process_kill(crossing->process, "closed its connection and was ended");
        break;
    }
    return tell_crash(crossing, id);
}

/* ---- a process --------------------------------------------------------------------------------------------------- */

static enum sandlot_status no_connection(struct sandlot_call *call)
{
    if (!call)
        return SANDLOT_INTERNAL;
    if (errno == EMFILE || errno == ENFILE)
        return sandlot_fail(call, SANDLOT_EXHAUSTED,
                            "this process has as many files open as it may; wait until other commands have ended, or "
                            "raise the limit (ulimit -n): a running command takes up to 8");
    return sandlot_fail(call, SANDLOT_EXHAUSTED,
                        "no connection to the worker process: %s; close what is not needed and try again",
                        strerror(errno));
}

/* Runs FUNCTION in the crossing's process. ID: of the sandbox it is about, or NULL. */
enum sandlot_status crossing_run(struct crossing *crossing, uint64_t number, const struct wire_function *function,
                                 struct wire_arena *arena, void *result, void *const *arguments, uint64_t *new_handle,
                                 const char *id)
{
    const struct dialogue_rules rules = {crossing, handles_number, permit, keep_text};
    struct worker_connection *connection = worker_process_connect(crossing->process);

    *new_handle = 0;
    bool is_closed = !connection && (errno == EPIPE || errno == ECONNRESET);

    if (is_closed) /* it is about to die */
        return crossing_fail(crossing, DIALOGUE_LOST, id);
    if (!connection)
        return no_connection(crossing->call);
    enum dialogue_end end = dialogue_run(connection, number, function, &rules, arena, result, arguments, new_handle);

    worker_process_disconnect(connection, end == DIALOGUE_RETURNED);
    if (end != DIALOGUE_RETURNED)
        return crossing_fail(crossing, end, id ? id : crossing->created);
    return function->result == WIRE_INT32 ? (enum sandlot_status) * (ffi_sarg *)result : SANDLOT_OK;
}

/* Loads the library in PROCESS and gets what it has. */
enum sandlot_status crossing_load(struct worker *worker, struct worker_process *process, struct sandlot_call *call,
                                  struct wire_arena *arena, struct wire_table *table)
{
    struct crossing crossing = {.worker = worker, .process = process, .call = call};
    const char *path = worker->path;
    const char *symbol = worker->entry->symbol;
    void *arguments[] = {&call, &path, &symbol, &table};
    ffi_arg result = 0;
    uint64_t none;

    return crossing_run(&crossing, WIRE_LOAD, &wire_functions[WIRE_LOAD], arena, &result, arguments, &none, NULL);
}

/* The same library in a new process must have what the table says. */
static enum sandlot_status load_again(struct worker *worker, struct worker_process *process, struct sandlot_call *call)
{
    struct wire_arena arena = {0};
    struct wire_table *table = wire_allocate(&arena, sizeof(*table));
    enum sandlot_status status = SANDLOT_INTERNAL;

    if (table)
        status = crossing_load(worker, process, call, &arena, table);
    if (status == SANDLOT_OK && (table->functions != worker->description.functions ||
                                 table->parameter_count != worker->description.parameter_count))
        status = sandlot_fail(call, SANDLOT_INTERNAL,
                              "its library has been replaced by another one meanwhile; start Sandlot again");
    wire_arena_clear(&arena);
    return status;
}

/* A new process with the library in it, in place of one that is dead. Under the lock. */
static enum sandlot_status restart(struct worker *worker, struct sandlot_call *call)
{
    struct sandlot_error error = {0};
    struct worker_process *process = worker_process_start(&worker->settings, &error);

    if (!process) {
        sandlot_fail(call, SANDLOT_UNAVAILABLE, "%s", error.message);
        sandlot_error_clear(&error);
        return SANDLOT_UNAVAILABLE;
    }
    /* What the library asks for while it is loaded needs the lock. */
    pthread_mutex_unlock(&worker->lock);
    enum sandlot_status status = load_again(worker, process, call);

    pthread_mutex_lock(&worker->lock);
    if (status == SANDLOT_OK && (!worker->process || worker_process_is_dead(worker->process))) {
        struct worker_process *old = worker->process;

        worker->process = process;
        process = old;
    }
    pthread_mutex_unlock(&worker->lock);
    worker_process_let_go(process);
    pthread_mutex_lock(&worker->lock);
    return status;
}

/* The process for a call, to be let go of. RESTARTS: a dead one is replaced. NULL: *STATUS says why, or there is
 * none. */
struct worker_process *crossing_process(struct worker *worker, struct sandlot_call *call, bool restarts,
                                        enum sandlot_status *status)
{
    struct worker_process *process = NULL;

    *status = SANDLOT_OK;
    pthread_mutex_lock(&worker->lock);
    bool dead = !worker->process || worker_process_is_dead(worker->process);

    if (dead && restarts)
        *status = restart(worker, call);
    if (*status == SANDLOT_OK && worker->process && (restarts || !dead))
        process = worker_process_hold(worker->process);
    pthread_mutex_unlock(&worker->lock);
    return process;
}
