#include "lifecycle.h"

#include "listing.h"
#include "sandbox.h"

#include <sandlot/sdk/attempt.h>
#include <sandlot/sdk/cleanup.h>

#include <string.h>

enum { MOST_KILLS = 6 };

/* ---- deleting ---------------------------------------------------------------------------------------------------- */

static enum sandlot_status send_kill(struct sandlot_call *call, struct http_client *client, const char *id)
{
    static const int gone[] = {404, 410, 0};
    AUTO_FREE char *target = http_target("/api/v3/sandbox/{}", id);
    const struct http_request request = {.method = "DELETE", .target = target, .accepted = gone};

    return http_send(call, client, &request, NULL);
}

enum sandlot_status lifecycle_delete(struct sandlot_call *call, void *provider, const char *id)
{
    struct http_client *client;

    if (!api_is_id(id))
        return SANDLOT_OK; /* there can be none */
    enum sandlot_status status = api_region_of(call, provider, id, &client);

    for (int kills = 1; status == SANDLOT_OK; kills++) {
        struct attempt attempt;
        bool gone = false;

        attempt_begin(&attempt, call, ANSWER_MS);
        enum sandlot_status killed = send_kill(&attempt.call, client, id);
        bool silent = killed == SANDLOT_TIMEOUT && sandlot_remaining_ms(call, 1) > 0;

        if (killed == SANDLOT_OK)
            break;
        if (silent || killed == SANDLOT_INVALID_ARGUMENT)
            listing_look(call, provider, id, &gone);
        if (gone)
            break;
        if (!silent || kills == MOST_KILLS)
            status = attempt_fail(&attempt, killed == SANDLOT_TIMEOUT && silent ? SANDLOT_UNAVAILABLE : killed);
    }
    return status;
}

/* ---- snapshots --------------------------------------------------------------------------------------------------- */

static bool is_slug(const char *name)
{
    size_t length = strlen(name);

    return length >= 2 && length <= 32 && strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == length &&
           name[0] != '-' && name[length - 1] != '-' && !(length > 3 && name[2] == '-' && name[3] == '-');
}

/* Writes to the volume what the sandbox still has in its memory, and tells which volume that is. */
static enum sandlot_status sync_volume(struct sandlot_call *call, struct sandbox *sandbox)
{
    struct json_builder params = {0};
    struct json_builder wait = {0};
    struct line_message answer;
    struct line *line;
    int64_t pid = 0;
    enum sandlot_status status = sandbox_take(call, sandbox, &line);

    if (status != SANDLOT_OK)
        return status;
    json_set_string(&params, "command", "sync");
    json_set_string(&params, "stdout", "null");
    json_set_string(&params, "stderr", "null");
    status = line_do(call, line, "spawn", &params, &answer, "write its files to the volume");
    if (status == SANDLOT_OK && json_read_integer(answer.ok, "pid", &pid, NULL)) {
        json_set_integer(&wait, "pid", pid);
        status = line_do(call, line, "processWait", &wait, &answer, "write its files to the volume");
    }
    if (status == SANDLOT_OK)
        status = sandbox_learn(call, line);
    sandbox_give(call, sandbox, line);
    return status;
}

static enum sandlot_status order(struct sandlot_call *call, struct deno *deno, const char *volume, const char *name)
{
    static const int refusals[] = {404, 0};
    AUTO_RESPONSE struct http_response response = {0};
    AUTO_DOCUMENT struct json_object *answer = NULL;
    struct json_builder body = {0};
    struct http_client *client;

    enum sandlot_status status = api_console(call, deno, &client);

    if (status != SANDLOT_OK)
        return status;
    json_set_string(&body, "slug", name);
    const struct rest_request request = {.method = "POST",
                                         .target = http_target("/api/v2/volumes/{}/snapshot", volume),
                                         .body = &body,
                                         .accepted = refusals};

    status = rest_send(call, client, &request, &response, &answer);
    return status == SANDLOT_OK && response.status == 404
               ? sandlot_fail(call, SANDLOT_UNSUPPORTED,
                              "'%.64s', from which the sandbox has started, is no volume; Deno makes snapshots of "
                              "volumes alone",
                              volume)
               : status;
}

enum sandlot_status lifecycle_snapshot(struct sandlot_call *call, void *provider, const char *id, const char *name,
                                       const struct sandlot_sink *result)
{
    struct sandbox *sandbox;

    if (!is_slug(name))
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                            "'%.64s' is no name for a snapshot at Deno: 2 to 32 of a-z, 0-9 and -, which is not at the "
                            "ends",
                            name);
    enum sandlot_status status = sandbox_attach(call, provider, id, &sandbox);

    if (status != SANDLOT_OK)
        return status;
    status = sync_volume(call, sandbox);
    if (status == SANDLOT_OK)
        status = *sandbox->root ? order(call, provider, sandbox->root, name)
                                : sandlot_fail(call, SANDLOT_UNSUPPORTED,
                                               "Deno makes snapshots of volumes alone, and this sandbox has started "
                                               "from none; make sandboxes with the parameter root=VOLUME");
    sandbox_release(provider, sandbox);
    return status == SANDLOT_OK ? result->write(result, name, strlen(name)) : status;
}

enum sandlot_status lifecycle_list_snapshots(struct sandlot_call *call, void *provider, const char *cursor,
                                             const struct sandlot_listing *listing)
{
    static const struct rest_entry entry = {
        .what = "Deno's list of snapshots", .items = "", .id = "slug", .usual_state = "ready"};

    return api_list(call, provider, http_target("/api/v2/snapshots"), cursor, listing, &entry);
}

enum sandlot_status lifecycle_delete_snapshot(struct sandlot_call *call, void *provider, const char *name)
{
    static const int not_there[] = {404, 410, 0};
    AUTO_FREE char *target = http_target("/api/v2/snapshots/{}", name);
    const struct http_request request = {.method = "DELETE", .target = target, .accepted = not_there};
    struct http_client *client;
    enum sandlot_status status = api_console(call, provider, &client);

    return status == SANDLOT_OK ? http_send(call, client, &request, NULL) : status;
}
