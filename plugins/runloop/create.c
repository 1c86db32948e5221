/*
 * POST /v1/devboxes/create_and_await_running, or, where that is not known, POST /v1/devboxes. Request schemas are
 * closed: one field too many and all is refused.
 *
 * Whether the server knows a repeated request by its x-request-id nobody says. So after an answer that was lost the run
 * label is sought in the metadata of all devboxes before another is asked for.
 */
#include "create.h"

#include "blueprint.h"
#include "policy.h"

#include <math.h>
#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/creation.h>
#include <sandlot/sdk/parameters.h>
#include <string.h>

enum {
    LONGEST_WISH_MS = 20 * 1000, /* of the service, to be left alone, that is granted */
    SILENCE_MS = 90 * 1000,      /* it may wait half a minute before it answers */
    LONGEST_LIFE_S = 172800
};

static const char create_target[] = "/v1/devboxes";
static const char await_target[] = "/v1/devboxes/create_and_await_running";

/* ---- the request ------------------------------------------------------------------------------------------------- */

static bool has_own_size(const struct parameters *wanted)
{
    return !isnan(wanted->cpu_cores) || wanted->memory_gb != SANDLOT_ABSENT_INTEGER ||
           wanted->disk_gb != SANDLOT_ABSENT_INTEGER;
}

static enum sandlot_status check_wanted(struct sandlot_call *call, const struct parameters *wanted)
{
    if (parameter_is_said(wanted->size) && has_own_size(wanted))
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                            "size and cpu_cores, memory_gb or disk_gb exclude each other; leave one of them out");
    if (has_own_size(wanted) && (isnan(wanted->cpu_cores) || wanted->memory_gb == SANDLOT_ABSENT_INTEGER))
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                            "a size of your own needs both cpu_cores and memory_gb; add the other");
    if (parameter_is_said(wanted->user) != (wanted->uid != SANDLOT_ABSENT_INTEGER))
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                            "user and uid belong together; say both, such as user=root and uid=0");
    return SANDLOT_OK;
}

static int64_t whole_seconds(int64_t milliseconds)
{
    return milliseconds / 1000 + (milliseconds % 1000 != 0);
}

/* While rest is to end a devbox, Runloop keeps to no hard end; so the nearer of the two is what it is told of. */
static void set_lifetimes(struct json_builder *body, const struct sandlot_create *request)
{
    int64_t idle_s = whole_seconds(request->idle_ttl_ms);
    int64_t hard_s = whole_seconds(request->hard_ttl_ms);

    if (idle_s > 0 && (hard_s == 0 || idle_s < hard_s)) {
        json_set_integer(body, "launch_parameters.lifecycle.after_idle.idle_time_seconds",
                         idle_s < LONGEST_LIFE_S ? idle_s : LONGEST_LIFE_S);
        json_set_string(body, "launch_parameters.lifecycle.after_idle.on_idle", "shutdown");
    }
    /* Without a word it would be shut down after an hour. */
    json_set_integer(body, "launch_parameters.keep_alive_time_seconds",
                     hard_s > 0 && hard_s < LONGEST_LIFE_S ? hard_s : LONGEST_LIFE_S);
}

static void set_launch(struct json_builder *body, const struct parameters *wanted)
{
    parameter_set_text(body, "launch_parameters.resource_size_request",
                       has_own_size(wanted) ? "CUSTOM_SIZE" : wanted->size);
    if (!isnan(wanted->cpu_cores))
        json_set_number(body, "launch_parameters.custom_cpu_cores", wanted->cpu_cores);
    parameter_set_integer(body, "launch_parameters.custom_gb_memory", wanted->memory_gb);
    parameter_set_integer(body, "launch_parameters.custom_disk_size", wanted->disk_gb);
    parameter_set_text(body, "launch_parameters.architecture", wanted->architecture);
    parameter_set_text(body, "launch_parameters.provisioning_tier", wanted->tier);
    parameter_set_text(body, "launch_parameters.network_policy_id", wanted->network_policy_id);
    parameter_set_json(body, "launch_parameters.launch_commands", wanted->launch_commands);
    parameter_set_text(body, "launch_parameters.user_parameters.username", wanted->user);
    parameter_set_integer(body, "launch_parameters.user_parameters.uid", wanted->uid);
}

static enum sandlot_status make_body(struct sandlot_call *call, const struct parameters *wanted,
                                     const struct sandlot_create *request, const struct origin *origin,
                                     const char *policy_id, char **text)
{
    struct json_builder body = {0};
    enum sandlot_status status = parameter_set_texts(call, &body, "metadata", "metadata", wanted->metadata);

    if (status == SANDLOT_OK)
        status = parameter_set_variables(call, &body, "environment_variables", "environment", wanted->environment);
    if (status == SANDLOT_OK)
        status = parameter_set_texts(call, &body, "secrets", "secrets", wanted->secrets);
    json_set_string(&body, "name", request->run_label);
    parameter_set_labels(&body, "metadata", request);
    parameter_set_text(&body, "blueprint_id", origin->blueprint_id);
    parameter_set_text(&body, "blueprint_name", origin->blueprint_name);
    parameter_set_text(&body, "snapshot_id", origin->snapshot_id);
    set_launch(&body, wanted);
    parameter_set_text(&body, "launch_parameters.network_policy_id", policy_id);
    set_lifetimes(&body, request);
    parameter_set_json(&body, "mounts", wanted->mounts);
    *text = json_finish(&body, NULL);
    if (status == SANDLOT_OK && !*text)
        status =
            sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                         "the request for a devbox cannot be written: a parameter is not UTF-8 or no JSON, or memory "
                         "is short; check the parameters");
    return status;
}

/* ---- answers ----------------------------------------------------------------------------------------------------- */

/* One creation, however often it is asked for. */
struct order {
    struct runloop *runloop;
    const char *run_label;
    const char *body;
    char id[RANDOM_UUID_SIZE]; /* the same in all attempts */
    bool await;
    struct record *record; /* what comes of it */
};

void create_tell(struct sandlot_call *call, const struct record *record)
{
    AUTO_FREE char *home = NULL;

    if (record->user && strcmp(record->user, "root") == 0)
        home = strdup("/root");
    else if (record->user && asprintf(&home, "/home/%s", record->user) < 0)
        home = NULL;
    call->host->created(call, record->id, home);
}

/* The service does not want to: because of what was asked for, or because a limit is reached, which it may call by any
 * status. */
static enum sandlot_status refused(struct sandlot_call *call, struct runloop *runloop,
                                   const struct http_response *response)
{
    struct http_client *client;
    enum sandlot_status status = api_client(call, runloop, &client);

    if (http_mentions(response, "quota") || http_mentions(response, "limit")) {
        char said[400];

        http_error_text(response->body, response->length, said, sizeof(said));
        return sandlot_fail(call, SANDLOT_EXHAUSTED,
                            "Runloop makes no more devboxes: \"%s\"; delete some, or ask for a higher limit", said);
    }
    return status == SANDLOT_OK ? http_response_fail(call, client, NULL, response) : status;
}

/* The devbox may be there although we were not told so; it is then ours. */
static enum sandlot_status look_up(struct sandlot_call *call, void *context, bool *found)
{
    struct order *order = context;
    enum sandlot_status status = record_find_run(call, order->runloop, order->run_label, order->record);

    *found = order->record->id;
    return status;
}

/* Is this also what a server says that does not know how to create and wait? It takes the name of that for the id of a
 * devbox. */
static bool is_unknown(const struct http_response *response)
{
    return response->status == 400 || response->status == 404 || response->status == 405;
}

/* As `ask` of struct creation. */
static enum sandlot_status ask(struct sandlot_call *call, void *context, struct http_response *response,
                               enum creation_next *next)
{
    static const int answers[] = {400, 403, 404, 405, 408, 409, 422, 425, 429, 500, 502, 503, 504, 0};
    struct order *order = context;
    AUTO_DOCUMENT struct json_object *document = NULL;
    const struct http_request request = {
        .method = "POST",
        .target = order->await ? await_target : create_target,
        .body = {.bytes = order->body, .length = strlen(order->body)},
        .accepted = answers,
        .never_repeat = true,
        .silence_ms = SILENCE_MS,
    };
    enum sandlot_status status = api_send(call, order->runloop, &request, order->id, response, &document);

    if (status == SANDLOT_OK && document)
        status = record_read(call, document, order->record);
    if (order->record->id || status == SANDLOT_AUTH || status == SANDLOT_INVALID_ARGUMENT)
        return status;
    if (order->await && is_unknown(response)) {
        order->runloop->cannot_await = response->status != 400;
        order->await = false;
        *next = CREATION_CHANGED;
        return SANDLOT_OK;
    }
    if (response->status == 429)
        *next = CREATION_REFUSED;
    else if (!is_unknown(response) && response->status != 403 && response->status != 422)
        *next = CREATION_UNCLEAR;
    return status == SANDLOT_OK ? refused(call, order->runloop, response) : status;
}

static enum sandlot_status create(struct sandlot_call *call, struct runloop *runloop,
                                  const struct sandlot_create *request, const struct origin *origin,
                                  struct record *record)
{
    AUTO_FREE char *body = NULL;
    AUTO_FREE char *policy_id = NULL;
    struct order order = {
        .runloop = runloop, .run_label = request->run_label, .await = !runloop->cannot_await, .record = record};
    const struct creation creation = {
        .service = "Runloop", .context = &order, .ask = ask, .look_up = look_up, .longest_wish_ms = LONGEST_WISH_MS};
    enum sandlot_status status = policy_find(call, runloop, network_asked(request), &policy_id);

    if (status == SANDLOT_OK)
        status = make_body(call, &runloop->parameters, request, origin, policy_id, &body);
    if (status != SANDLOT_OK)
        return status;
    order.body = body;
    random_uuid_by_time(order.id);
    status = creation_run(call, &creation);
    if (status == SANDLOT_OK)
        create_tell(call, record);
    return status;
}

enum sandlot_status create_devbox(struct sandlot_call *call, struct runloop *runloop,
                                  const struct sandlot_create *request, struct record *record)
{
    AUTO_ORIGIN struct origin origin = {0};
    enum sandlot_status status = check_wanted(call, &runloop->parameters);

    if (status == SANDLOT_OK)
        status = policy_check(call, runloop, network_asked(request));
    *record = (struct record){0};
    if (status == SANDLOT_OK)
        status = blueprint_find_origin(call, runloop, request, &origin);
    return status == SANDLOT_OK ? create(call, runloop, request, &origin, record) : status;
}

enum sandlot_status create_from_disk(struct sandlot_call *call, struct runloop *runloop,
                                     const struct sandlot_create *request, const char *snapshot_id,
                                     struct record *record)
{
    AUTO_ORIGIN struct origin origin = {.snapshot_id = strdup(snapshot_id)};

    *record = (struct record){0};
    return origin.snapshot_id ? create(call, runloop, request, &origin, record) : http_no_memory(call);
}
