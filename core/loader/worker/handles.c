/* What the host has as handles of the provider and of its sandboxes, which outlive the process that made them. */
#include "loader/host.h"
#include "loader/worker/parts.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_PAUSE_MS = 100, LONGEST_PAUSE_MS = 2000, TURN_MS = 10 };

uint64_t handles_number(void *context, const void *handle)
{
    const struct remote *remote = handle;

    (void)context;
    return remote ? remote->number : 0;
}

struct remote *handle_new(struct worker *worker, bool is_provider)
{
    struct remote *remote = calloc(1, sizeof(*remote));

    if (!remote)
        return NULL;
    remote->worker = worker;
    remote->is_provider = is_provider;
    pthread_mutex_init(&remote->lock, NULL);
    return remote;
}

void handle_free(struct remote *remote)
{
    if (!remote)
        return;
    pthread_mutex_destroy(&remote->lock);
    free(remote->id);
    free(remote);
}

/* Opens the provider once more. Under the handle's lock. */
static enum sandlot_status open_again(struct remote *remote, struct sandlot_call *call)
{
    void *instance = NULL;
    enum sandlot_status status = remote->worker->owner.reopen(remote->worker->owner.context, call, &instance);
    struct remote *fresh = instance;

    if (status == SANDLOT_OK && fresh) {
        remote->number = fresh->number;
        remote->process = fresh->process;
    }
    handle_free(fresh);
    return status;
}

/* A call beside CALL, about the same sandbox: what the provider says in it is not yet the answer to CALL. */
static struct sandlot_call *begin_again(const struct remote *remote, const struct sandlot_call *call,
                                        struct host_call *again)
{
    const struct worker *worker = remote->worker;

    host_call_init(again, worker->entry->name, worker->environment, call->deadline_ms, call->cancel_fd);
    return &again->call;
}

static enum sandlot_status ask_again(const struct remote *remote, struct worker_process *process, uint64_t function,
                                     void *const *arguments, struct host_call *again, uint64_t *number)
{
    struct crossing crossing = {.worker = remote->worker, .process = process, .call = &again->call};
    struct wire_arena arena = {0};
    ffi_arg result = 0;
    enum sandlot_status status =
        crossing_run(&crossing, function, &wire_functions[function], &arena, &result, arguments, number, remote->id);

    free(crossing.created);
    wire_arena_clear(&arena);
    return status;
}

/* Tells CALL why AGAIN has failed. */
static enum sandlot_status pass_on(const struct remote *remote, struct sandlot_call *call, enum sandlot_status status,
                                   const struct host_call *again)
{
    if (!again->crashed)
        return sandlot_fail(call, status,
                            "the provider was started again after a crash and cannot reach sandbox %s: %s", remote->id,
                            again->message ? again->message : "it gives no reason; look for it with `sandlot list`");
    host_call_crashed(call, again->message);
    return status;
}

/* Attaches to the sandbox in the new process. Under the handle's lock. */
static enum sandlot_status attach_again(struct remote *remote, struct worker_process *process, void *provider,
                                        struct sandlot_call *call)
{
    struct sandlot_create request = {.size = sizeof(request), .sandbox_id = remote->id};
    const struct sandlot_create *request_at = &request;
    void *nowhere = NULL;
    struct host_call again;
    uint64_t number = 0;

    if (!remote->id || !remote->worker->entry->supports_sandbox_id)
        return sandlot_fail(call, SANDLOT_UNSUPPORTED,
                            "the provider was started again after a crash, and cannot attach to sandbox %s by its id; "
                            "make a new one",
                            remote->id ? remote->id : "(without an id)");
    struct sandlot_call *again_at = begin_again(remote, call, &again);
    void *arguments[] = {&again_at, &provider, &request_at, &nowhere};
    enum sandlot_status status = ask_again(remote, process, WIRE_GET_OR_CREATE, arguments, &again, &number);

    if (status == SANDLOT_OK) {
        remote->number = number;
        remote->is_starting = (remote->worker->description.functions >> WIRE_READY & 1) != 0;
        remote->process = worker_process_number(process); /* last: whoever sees it need not take the lock */
    } else {
        pass_on(remote, call, status, &again);
    }
    host_call_clear(&again);
    return status;
}

static enum sandlot_status still_starting(const struct remote *remote, struct sandlot_call *call,
                                          const struct host_call *last)
{
    if (sandlot_cancelled(call))
        return sandlot_fail(call, SANDLOT_CANCELLED,
                            "cancelled while the provider, started again after a crash, waited for sandbox %s",
                            remote->id);
    return sandlot_fail(call, SANDLOT_TIMEOUT,
                        "the provider was started again after a crash, and sandbox %s was not ready in time "
                        "(start_timeout_s, or the time limit of this call); the last answer was: %s",
                        remote->id, last->message ? last->message : "none");
}

/* Waits until the sandbox is ready, as after its creation. Under the handle's lock. */
static enum sandlot_status await_ready(struct remote *remote, struct worker_process *process, void *provider,
                                       struct sandlot_call *call)
{
    const struct worker_owner *owner = &remote->worker->owner;
    int64_t end_ms = sandlot_now_ms() + owner->start_timeout_ms(owner->context);
    enum sandlot_status status;
    int pause_ms = FIRST_PAUSE_MS;

    if (call->deadline_ms && call->deadline_ms < end_ms)
        end_ms = call->deadline_ms;
    for (;;) {
        struct pollfd cancel = {call->cancel_fd, POLLIN, 0};
        struct host_call look;
        struct sandlot_call *look_at = begin_again(remote, call, &look);
        void *arguments[] = {&look_at, &provider, &remote};
        uint64_t none;

        status = ask_again(remote, process, WIRE_READY, arguments, &look, &none);
        int64_t left_ms = end_ms - sandlot_now_ms();
        bool patient = status == SANDLOT_UNAVAILABLE && left_ms > 0 && !sandlot_cancelled(call);

        if (status == SANDLOT_UNAVAILABLE && !patient)
            status = still_starting(remote, call, &look);
        else if (status != SANDLOT_OK && !patient)
            pass_on(remote, call, status, &look);
        host_call_clear(&look);
        if (!patient)
            break;
        poll(&cancel, 1, left_ms < pause_ms ? (int)left_ms : pause_ms);
        pause_ms = pause_ms * 2 < LONGEST_PAUSE_MS ? pause_ms * 2 : LONGEST_PAUSE_MS;
    }
    remote->is_starting = status != SANDLOT_OK;
    return status;
}

/* Takes the handle's lock. Another call may be bringing the handle to a new process, for longer than this one has time.
 */
static enum sandlot_status take_turn(struct remote *remote, struct sandlot_call *call)
{
    struct pollfd cancel = {call->cancel_fd, POLLIN, 0};

    while (pthread_mutex_trylock(&remote->lock) != 0) {
        if (poll(&cancel, 1, TURN_MS) > 0)
            return sandlot_fail(call, SANDLOT_CANCELLED,
                                "cancelled while the provider was started again after a crash");
        if (call->deadline_ms && sandlot_now_ms() >= call->deadline_ms)
            return sandlot_fail(call, SANDLOT_TIMEOUT,
                                "there was no time left after the provider was started again after a crash; try again");
    }
    return SANDLOT_OK;
}

static bool is_known(const struct remote *remote, struct worker_process *process)
{
    return remote->process == worker_process_number(process);
}

/* Makes REMOTE valid in PROCESS. PROVIDER: the handle of the provider, which comes first and is valid already. LOOKS:
 * the call is itself a look whether the sandbox is ready. */
static enum sandlot_status reach(struct remote *remote, struct worker_process *process, void *provider, bool looks,
                                 struct sandlot_call *call)
{
    if (is_known(remote, process) && (looks || !remote->is_starting))
        return SANDLOT_OK;
    enum sandlot_status status = take_turn(remote, call);

    if (status != SANDLOT_OK)
        return status;
    if (!is_known(remote, process))
        status = remote->is_provider ? open_again(remote, call) : attach_again(remote, process, provider, call);
    if (status == SANDLOT_OK && remote->is_starting && !looks)
        status = await_ready(remote, process, provider, call);
    pthread_mutex_unlock(&remote->lock);
    return status;
}

struct remote *handle_argument(void *const *arguments, size_t index)
{
    struct remote *remote;

    memcpy(&remote, arguments[index], sizeof(remote));
    return remote;
}

static bool is_handle(enum wire_kind kind)
{
    return kind == WIRE_HANDLE || kind == WIRE_LAST_HANDLE;
}

enum sandlot_status handles_reach(const struct wire_function *function, void *const *arguments,
                                  struct worker_process *process, struct sandlot_call *call)
{
    bool looks = function == &wire_functions[WIRE_READY];
    enum sandlot_status status = SANDLOT_OK;
    void *provider = NULL;

    for (size_t i = 0; i < function->argument_count && status == SANDLOT_OK; i++) {
        if (!is_handle(function->arguments[i].kind))
            continue;
        struct remote *remote = handle_argument(arguments, i);

        status = remote ? reach(remote, process, provider, looks, call) : SANDLOT_OK;
        provider = provider ? provider : remote;
    }
    return status;
}

/* The id of the sandbox that the call is about: of its handle, or the text behind the provider. */
const char *handles_sandbox(const struct wire_function *function, void *const *arguments)
{
    if (function->argument_count < 3 || function->arguments[0].kind != WIRE_CALL)
        return NULL;
    const struct remote *remote = is_handle(function->arguments[2].kind) ? handle_argument(arguments, 2) : NULL;

    return remote ? remote->id : NULL;
}

bool handles_are_known(const struct wire_function *function, void *const *arguments, struct worker_process *process)
{
    for (size_t i = 0; i < function->argument_count; i++) {
        struct remote *remote = handle_argument(arguments, i);

        /* There is none of a provider without open. */
        if (remote && !is_known(remote, process))
            return false;
    }
    return true;
}
