/* What the host has as handles of the provider and of its sandboxes, which outlive the process that made them. */
#include "loader/host.h"
#include "loader/worker/parts.h"

#include <stdlib.h>
#include <string.h>

uint64_t handle_number(void *context, const void *handle)
{
    struct remote *remote = (struct remote *)(uintptr_t)handle;

    (void)context;
    if (!remote)
        return 0;
    pthread_mutex_lock(&remote->lock);
    uint64_t number = remote->number;

    pthread_mutex_unlock(&remote->lock);
    return number;
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
    enum sandlot_status status = remote->worker->reopen(remote->worker->context, call, &instance);
    struct remote *fresh = instance;

    if (status == SANDLOT_OK && fresh) {
        remote->process = fresh->process;
        remote->number = fresh->number;
    }
    handle_free(fresh);
    return status;
}

/* What the provider says when it is asked for the sandbox again goes to a call of its own: its id is known. */
static enum sandlot_status ask_for_sandbox(const struct remote *remote, struct worker_process *process, void *provider,
                                           struct sandlot_call *call, uint64_t *number)
{
    struct worker *worker = remote->worker;
    const struct wire_function *function = &wire_functions[WIRE_GET_OR_CREATE];
    struct sandlot_create request = {.size = sizeof(request), .sandbox_id = remote->id};
    const struct sandlot_create *request_at = &request;
    struct wire_arena arena = {0};
    struct host_call again;
    ffi_arg result = 0;

    host_call_init(&again, worker->entry->name, worker->environment, call->deadline_ms, call->cancel_fd);
    struct sandlot_call *again_at = &again.call;
    void *nowhere = NULL;
    void *arguments[] = {&again_at, &provider, &request_at, &nowhere};
    struct crossing crossing = {.worker = worker, .process = process, .call = &again.call};
    enum sandlot_status status =
        crossing_run(&crossing, WIRE_GET_OR_CREATE, function, &arena, &result, arguments, number, remote->id);

    if (status != SANDLOT_OK && again.crashed)
        host_call_crashed(call, again.message);
    else if (status != SANDLOT_OK)
        sandlot_fail(call, status, "the provider was started again after a crash and cannot reach sandbox %s: %s",
                     remote->id, again.message ? again.message : "it gives no reason; look for it with `sandlot list`");
    host_call_clear(&again);
    free(crossing.created);
    wire_arena_clear(&arena);
    return status;
}

/* Attaches to the sandbox in the new process. Under the handle's lock. */
static enum sandlot_status attach_again(struct remote *remote, struct worker_process *process, void *provider,
                                        struct sandlot_call *call)
{
    uint64_t number = 0;

    if (!remote->id || !remote->worker->entry->supports_sandbox_id)
        return sandlot_fail(call, SANDLOT_UNSUPPORTED,
                            "the provider was started again after a crash, and cannot attach to sandbox %s by its id; "
                            "make a new one",
                            remote->id ? remote->id : "(without an id)");
    enum sandlot_status status = ask_for_sandbox(remote, process, provider, call, &number);

    if (status == SANDLOT_OK) {
        remote->process = worker_process_number(process);
        remote->number = number;
    }
    return status;
}

/* Makes REMOTE valid in PROCESS. PROVIDER: the handle of the provider, which comes first and is valid already. */
static enum sandlot_status reach(struct remote *remote, struct worker_process *process, void *provider,
                                 struct sandlot_call *call)
{
    enum sandlot_status status = SANDLOT_OK;

    pthread_mutex_lock(&remote->lock);
    if (remote->process != worker_process_number(process))
        status = remote->is_provider ? open_again(remote, call) : attach_again(remote, process, provider, call);
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
    enum sandlot_status status = SANDLOT_OK;
    void *provider = NULL;

    for (size_t i = 0; i < function->argument_count && status == SANDLOT_OK; i++) {
        if (!is_handle(function->arguments[i].kind))
            continue;
        struct remote *remote = handle_argument(arguments, i);

        status = remote ? reach(remote, process, provider, call) : SANDLOT_OK;
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

        if (!remote) /* of a provider without open */
            continue;
        pthread_mutex_lock(&remote->lock);
        bool gone = remote->process != worker_process_number(process);

        pthread_mutex_unlock(&remote->lock);
        if (gone)
            return false;
    }
    return true;
}
