#include "sandbox.h"

#include "message.h"

#include <sandlot/sdk/pause.h>

#include <string.h>

enum {
    FIRST_PAUSE_MS = 500,     /* as often as Modal's own clients ask for the task */
    REACH_MS = 300 * 1000,    /* for a worker, where nobody has set a deadline */
    LONGEST_OUTPUT = 64 << 20 /* of one message; the workers' own limit is 100 MiB */
};

static const struct api_service router_service = {.path = "/modal.task_command_router.TaskCommandRouter/",
                                                  .key = "authorization: Bearer ",
                                                  .longest = LONGEST_OUTPUT};

/* ---- handles ---------------------------------------------------------------------------------------------------- */

/* Keeps where the router is and what opens it. */
static enum sandlot_status take_access(struct sandlot_call *call, struct sandbox *sandbox, const char *url,
                                       const char *key)
{
    struct grpc_client *router = NULL;
    enum sandlot_status status = api_router(call, sandbox->modal, url, &router);
    char *kept = NULL;

    if (status == SANDLOT_OK)
        status = api_copy(call, key, &kept);
    if (status != SANDLOT_OK)
        return status;
    grpc_client_add_secret(router, kept);
    pthread_mutex_lock(&sandbox->lock);
    free(sandbox->key);
    sandbox->key = kept;
    sandbox->router = router;
    pthread_mutex_unlock(&sandbox->lock);
    return SANDLOT_OK;
}

enum sandlot_status sandbox_open(struct sandlot_call *call, struct modal *modal, const char *id, const char *task_id,
                                 const char *url, const char *key, struct sandbox **made)
{
    struct sandbox *sandbox = calloc(1, sizeof(*sandbox));
    enum sandlot_status status = SANDLOT_OK;

    if (!sandbox)
        return api_no_memory(call);
    sandbox->modal = modal;
    sandbox->first_generation = api_is_first_generation(id);
    pthread_mutex_init(&sandbox->lock, NULL);
    http_relay_places_init(&sandbox->places);
    sandbox->id = strdup(id);
    sandbox->task_id = parameter_is_said(task_id) ? strdup(task_id) : NULL;
    if (!sandbox->id || (parameter_is_said(task_id) && !sandbox->task_id))
        status = api_no_memory(call);
    else if (parameter_is_said(task_id) && parameter_is_said(url) && parameter_is_said(key))
        status = take_access(call, sandbox, url, key);
    if (status == SANDLOT_OK)
        *made = sandbox;
    else
        sandbox_release(modal, sandbox);
    return status;
}

void sandbox_release(void *provider, void *handle)
{
    struct sandbox *sandbox = handle;

    (void)provider;
    if (!sandbox)
        return;
    http_relay_places_clear(&sandbox->places);
    free(sandbox->id);
    free(sandbox->task_id);
    if (sandbox->key)
        explicit_bzero(sandbox->key, strlen(sandbox->key));
    free(sandbox->key);
    pthread_mutex_destroy(&sandbox->lock);
    free(sandbox);
}

const char *sandbox_task(struct sandbox *sandbox)
{
    pthread_mutex_lock(&sandbox->lock);
    const char *task_id = sandbox->task_id;

    pthread_mutex_unlock(&sandbox->lock);
    return task_id;
}

/* ---- its end ---------------------------------------------------------------------------------------------------- */

static const char *outcome_word(int outcome)
{
    static const char *const words[] = {
        [MODAL__OUTCOME__SUCCESS] = "its main process has ended",
        [MODAL__OUTCOME__FAILURE] = "it failed",
        [MODAL__OUTCOME__TERMINATED] = "it was deleted",
        [MODAL__OUTCOME__TIMEOUT] = "its lifetime was over",
        [MODAL__OUTCOME__INIT_FAILURE] = "it could not be started",
        [MODAL__OUTCOME__INTERNAL_FAILURE] = "Modal had a failure",
        [MODAL__OUTCOME__IDLE_TIMEOUT] = "nobody used it for too long",
        [MODAL__OUTCOME__EVICTED] = "its memory was needed elsewhere",
    };

    return outcome > 0 && (size_t)outcome < sizeof(words) / sizeof(*words) ? words[outcome] : "it has ended";
}

/* One that is over is as good as not there: nothing leads back. */
static enum sandlot_status fail_over(struct sandlot_call *call, const char *id, const Modal__GenericResult *result)
{
    bool said = *result->exception;

    return sandlot_fail(call, SANDLOT_NOT_FOUND, "Modal's sandbox %.100s is over: %s%s%.300s%s; create another one", id,
                        outcome_word((int)result->status), said ? " (\"" : "", result->exception, said ? "\")" : "");
}

static enum sandlot_status not_there(struct sandlot_call *call, const char *id)
{
    return sandlot_fail(call, SANDLOT_NOT_FOUND,
                        "Modal has no sandbox %.100s for these credentials; sandlot list shows those that exist", id);
}

/* What METHOD of its kind of sandbox answers about it. */
static enum sandlot_status ask(struct sandlot_call *call, const struct sandbox *sandbox, const char *method,
                               const ProtobufCMessageDescriptor *type, void *answer)
{
    Modal__SandboxId request = MODAL__SANDBOX_ID__INIT;
    char name[32];
    const struct rpc rpc = {
        .name = name, .request = &request.base, .answer = type, .accepted = GRPC_BIT(GRPC_NOT_FOUND)};
    int code = GRPC_OK;

    snprintf(name, sizeof(name), "%s%s", method, sandbox->first_generation ? "" : "V2");
    request.sandbox_id = sandbox->id;
    enum sandlot_status status = api_call(call, sandbox->modal, &rpc, &code, answer);

    return status == SANDLOT_OK && code != GRPC_OK ? not_there(call, sandbox->id) : status;
}

enum sandlot_status sandbox_check_alive(struct sandlot_call *call, const struct sandbox *sandbox)
{
    AUTO_MESSAGE Modal__SandboxWaitResponse *answer = NULL;
    enum sandlot_status status = ask(call, sandbox, "SandboxWait", &modal__sandbox_wait_response__descriptor, &answer);

    return status == SANDLOT_OK && answer->result && answer->result->status != MODAL__OUTCOME__NONE
               ? fail_over(call, sandbox->id, answer->result)
               : status;
}

enum sandlot_status sandbox_fail(struct sandlot_call *call, struct sandbox *sandbox, const char *what,
                                 const struct refusal *refusal)
{
    bool over = refusal->code == GRPC_NOT_FOUND || refusal->code == GRPC_FAILED_PRECONDITION ||
                refusal->code == GRPC_UNAVAILABLE || refusal->code == GRPC_CANCELLED;
    enum sandlot_status status = over ? sandbox_check_alive(call, sandbox) : SANDLOT_OK;

    if (status != SANDLOT_OK)
        return status;
    return sandlot_fail(call, refusal->code == GRPC_RESOURCE_EXHAUSTED ? SANDLOT_EXHAUSTED : SANDLOT_UNAVAILABLE,
                        "the worker of Modal's sandbox %.100s did not %s: %s (%s); try again", sandbox->id, what,
                        *refusal->text ? refusal->text : "it does not say why", grpc_code_name(refusal->code));
}

/* ---- reaching it ------------------------------------------------------------------------------------------------ */

/* One look for its task, which is still without one if it has none afterwards. */
static enum sandlot_status look_for_task(struct sandlot_call *call, struct sandbox *sandbox)
{
    AUTO_MESSAGE Modal__SandboxGetTaskIdResponse *answer = NULL;
    enum sandlot_status status =
        ask(call, sandbox, "SandboxGetTaskId", &modal__sandbox_get_task_id_response__descriptor, &answer);

    if (status != SANDLOT_OK)
        return status;
    if (answer->task_result && (answer->task_result->status != MODAL__OUTCOME__NONE || !*answer->task_id))
        return fail_over(call, sandbox->id, answer->task_result);
    if (!*answer->task_id)
        return SANDLOT_OK;
    char *task_id;

    status = api_copy(call, answer->task_id, &task_id);
    if (status != SANDLOT_OK)
        return status;
    pthread_mutex_lock(&sandbox->lock);
    if (sandbox->task_id)
        free(task_id); /* another thread was first, and somebody may use its copy */
    else
        sandbox->task_id = task_id;
    pthread_mutex_unlock(&sandbox->lock);
    return SANDLOT_OK;
}

static enum sandlot_status ask_access(struct sandlot_call *call, struct sandbox *sandbox)
{
    Modal__SandboxId by_sandbox = MODAL__SANDBOX_ID__INIT;
    Modal__TaskGetCommandRouterAccessRequest by_task = MODAL__TASK_GET_COMMAND_ROUTER_ACCESS_REQUEST__INIT;
    const struct rpc rpc = {.name = sandbox->first_generation ? "TaskGetCommandRouterAccess"
                                                              : "SandboxGetCommandRouterAccess",
                            .request = sandbox->first_generation ? &by_task.base : &by_sandbox.base,
                            .answer = &modal__command_router_access__descriptor,
                            .accepted = GRPC_BIT(GRPC_NOT_FOUND) | GRPC_BIT(GRPC_FAILED_PRECONDITION)};
    AUTO_MESSAGE Modal__CommandRouterAccess *answer = NULL;
    int code = GRPC_OK;

    by_sandbox.sandbox_id = sandbox->id;
    by_task.task_id = (char *)sandbox_task(sandbox);
    enum sandlot_status status = api_call(call, sandbox->modal, &rpc, &code, &answer);

    if (status != SANDLOT_OK)
        return status;
    if (code != GRPC_OK) {
        status = sandbox_check_alive(call, sandbox);
        return status == SANDLOT_OK
                   ? sandlot_fail(call, SANDLOT_NOT_FOUND,
                                  "Modal gives no access to commands in sandbox %.100s, which is about to end; create "
                                  "another one",
                                  sandbox->id)
                   : status;
    }
    if (!*answer->url || !*answer->jwt)
        return sandlot_fail(call, SANDLOT_INTERNAL, "Modal's answer to %s has no address or no key; try again",
                            rpc.name);
    return take_access(call, sandbox, answer->url, answer->jwt);
}

/* Is the router known? */
static bool is_reached(struct sandbox *sandbox)
{
    pthread_mutex_lock(&sandbox->lock);
    bool reached = sandbox->router != NULL;

    pthread_mutex_unlock(&sandbox->lock);
    return reached;
}

/* As look_for_task, and then for the address of its worker. */
static enum sandlot_status look_for_worker(struct sandlot_call *call, struct sandbox *sandbox)
{
    enum sandlot_status status = SANDLOT_OK;

    if (is_reached(sandbox))
        return SANDLOT_OK;
    if (!sandbox_task(sandbox))
        status = look_for_task(call, sandbox);
    return status == SANDLOT_OK && sandbox_task(sandbox) ? ask_access(call, sandbox) : status;
}

static enum sandlot_status no_worker(struct sandlot_call *call, const struct sandbox *sandbox)
{
    return sandlot_fail(call, SANDLOT_UNAVAILABLE,
                        "Modal has not found a place for sandbox %.100s yet; wait a little, or ask for less",
                        sandbox->id);
}

enum sandlot_status sandbox_reach(struct sandlot_call *call, struct sandbox *sandbox)
{
    struct pause pause = {.service = "Modal", .first_ms = FIRST_PAUSE_MS, .limit_ms = REACH_MS};
    enum sandlot_status status;

    do
        status = look_for_worker(call, sandbox);
    while (status == SANDLOT_OK && !is_reached(sandbox) && pause_again(call, &pause, &status));
    return status == SANDLOT_OK && !is_reached(sandbox) ? no_worker(call, sandbox) : status;
}

enum sandlot_status sandbox_ready(struct sandlot_call *call, void *provider, void *handle)
{
    struct sandbox *sandbox = handle;
    enum sandlot_status status = look_for_worker(call, sandbox);

    (void)provider;
    return status == SANDLOT_OK && !is_reached(sandbox) ? no_worker(call, sandbox) : status;
}

const char *sandbox_working_dir(const struct modal *modal)
{
    const char *folder = modal->parameters.working_dir;

    return folder && *folder ? folder : WORKING_DIR;
}

enum sandlot_status sandbox_attach(struct sandlot_call *call, struct modal *modal, const char *id,
                                   struct sandbox **sandbox)
{
    struct sandbox *made = NULL;
    enum sandlot_status status = sandbox_open(call, modal, id, NULL, NULL, NULL, &made);

    if (!made)
        return status;
    status = look_for_worker(call, made); /* without a worker it is there too: `ready` waits */
    if (status == SANDLOT_OK) {
        call->host->created(call, id, sandbox_working_dir(modal));
        *sandbox = made;
    } else {
        sandbox_release(modal, made);
    }
    return status;
}

/* ---- calls ------------------------------------------------------------------------------------------------------ */

static enum sandlot_status send(struct sandlot_call *call, struct sandbox *sandbox, const struct rpc *rpc,
                                struct grpc_answer *answer)
{
    AUTO_FREE char *key = NULL;

    pthread_mutex_lock(&sandbox->lock);
    struct grpc_client *router = sandbox->router;
    enum sandlot_status status = api_copy(call, sandbox->key, &key);

    pthread_mutex_unlock(&sandbox->lock);
    return status == SANDLOT_OK
               ? api_send(call, router, &router_service, rpc, GRPC_BIT(GRPC_UNAUTHENTICATED), key, answer)
               : status;
}

static enum sandlot_status fail_key(struct sandlot_call *call, const struct sandbox *sandbox)
{
    return sandlot_fail(call, SANDLOT_AUTH,
                        "the worker of Modal's sandbox %.100s does not take the key that Modal gave for it; try again",
                        sandbox->id);
}

enum sandlot_status sandbox_call(struct sandlot_call *call, struct sandbox *sandbox, const struct rpc *rpc,
                                 struct refusal *refusal, void *message)
{
    AUTO_ANSWER struct grpc_answer answer = {0};
    enum sandlot_status status = sandbox_reach(call, sandbox);

    if (status == SANDLOT_OK)
        status = send(call, sandbox, rpc, &answer);
    if (status == SANDLOT_OK && answer.code == GRPC_UNAUTHENTICATED) {
        bool begun = rpc->on_message && answer.messages > 0;

        status = ask_access(call, sandbox);
        if (status == SANDLOT_OK && !begun) {
            grpc_answer_clear(&answer);
            status = send(call, sandbox, rpc, &answer);
        }
        if (status == SANDLOT_OK && !begun && answer.code == GRPC_UNAUTHENTICATED)
            return fail_key(call, sandbox);
    }
    if (refusal) {
        refusal->code = answer.code;
        snprintf(refusal->text, sizeof(refusal->text), "%s", answer.text);
    }
    if (status != SANDLOT_OK || answer.code != GRPC_OK || !rpc->answer)
        return status;
    return api_unpack(call, rpc->name, rpc->answer, answer.message, answer.length, message);
}
