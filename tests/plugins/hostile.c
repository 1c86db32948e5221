/*
 * A provider whose vendor means harm by what it says: the id of its one sandbox, the address of a port and the header
 * for it, times, sizes and lists are as the parameters have them. It runs nothing.
 */
#include <sandlot/provider.h>

#include <stdlib.h>
#include <string.h>

#define HOSTILE_PARAMETERS(P)                                                            \
    P(string, id, "the-box", optional, "the id of the sandbox, its snapshots and forks") \
    P(string, url, "", optional, "the address of every port")                            \
    P(string, header, "", optional, "the header for it; empty: none")                    \
    P(integer, time, "0", optional, "when all was made and ends, in milliseconds")       \
    P(integer, rows, "1", optional, "how often a page of a listing has the sandbox")     \
    P(string, cursor, "", optional, "the next page, always; empty: there is none")
SANDLOT_PARAMETERS(hostile, HOSTILE_PARAMETERS)

struct hostile {
    const char *id; /* texts belong to the host and live until close */
    const char *url;
    const char *header;
    int64_t time_ms;
    int64_t rows;
    const char *cursor;
};

static enum sandlot_status hostile_open(struct sandlot_call *call, void **provider, const char *id, const char *url,
                                        const char *header, int64_t time, int64_t rows, const char *cursor)
{
    struct hostile *hostile = malloc(sizeof(*hostile));

    if (!hostile)
        return sandlot_fail(call, SANDLOT_INTERNAL, "out of memory");
    *hostile = (struct hostile){id, url, header, time, rows, cursor};
    *provider = hostile;
    return SANDLOT_OK;
}

static void hostile_close(void *provider)
{
    free(provider);
}

static enum sandlot_status hostile_get_or_create(struct sandlot_call *call, void *provider,
                                                 const struct sandlot_create *request, void **sandbox)
{
    const struct hostile *hostile = provider;

    *sandbox = provider;
    call->host->created(call, request->sandbox_id ? request->sandbox_id : hostile->id, "/");
    return SANDLOT_OK;
}

static enum sandlot_status hostile_delete(struct sandlot_call *call, void *provider, const char *id)
{
    (void)call, (void)provider, (void)id;
    return SANDLOT_OK;
}

static enum sandlot_status hostile_execute(struct sandlot_call *call, void *provider, void *sandbox,
                                           const struct sandlot_command *command, const struct sandlot_sink *output,
                                           struct sandlot_exit *result)
{
    (void)provider, (void)sandbox, (void)command, (void)output, (void)result;
    return sandlot_fail(call, SANDLOT_UNSUPPORTED, "it runs nothing");
}

static enum sandlot_status hostile_list(struct sandlot_call *call, void *provider, const char *cursor,
                                        const struct sandlot_listing *listing)
{
    const struct hostile *hostile = provider;
    const struct sandlot_listed listed = {
        .size = sizeof(listed), .id = hostile->id, .state = hostile->id, .created_at_ms = hostile->time_ms};
    enum sandlot_status status = SANDLOT_OK;

    (void)call, (void)cursor;
    for (int64_t row = 0; row < hostile->rows && status == SANDLOT_OK; row++)
        status = listing->add(listing, &listed);
    if (hostile->cursor)
        listing->next(listing, hostile->cursor);
    return status;
}

static enum sandlot_status hostile_snapshot(struct sandlot_call *call, void *provider, const char *id, const char *name,
                                            const struct sandlot_sink *result)
{
    const struct hostile *hostile = provider;

    (void)call, (void)id, (void)name;
    return result->write(result, hostile->id, strlen(hostile->id));
}

static enum sandlot_status hostile_delete_snapshot(struct sandlot_call *call, void *provider, const char *name)
{
    return hostile_delete(call, provider, name);
}

static enum sandlot_status hostile_fork(struct sandlot_call *call, void *provider, const char *id,
                                        const struct sandlot_create *request)
{
    const struct hostile *hostile = provider;

    (void)id, (void)request;
    call->host->created(call, hostile->id, NULL);
    return SANDLOT_OK;
}

static enum sandlot_status hostile_port_url(struct sandlot_call *call, void *provider, void *sandbox, uint16_t port,
                                            int64_t ttl_ms, const struct sandlot_port_answer *answer)
{
    const struct hostile *hostile = provider;
    const struct sandlot_port_address address = {
        .size = sizeof(address), .url = hostile->url, .header = hostile->header, .expires_at_ms = hostile->time_ms};

    (void)call, (void)sandbox, (void)port, (void)ttl_ms;
    answer->found(answer, &address);
    return SANDLOT_OK;
}

static enum sandlot_status hostile_list_volumes(struct sandlot_call *call, void *provider, const char *cursor,
                                                const struct sandlot_volume_listing *listing)
{
    const struct hostile *hostile = provider;
    const struct sandlot_listed_volume volume = {.size = sizeof(volume),
                                                 .name = hostile->id,
                                                 .bytes = UINT64_MAX - 1,
                                                 .limit_bytes = UINT64_MAX,
                                                 .used_at_ms = hostile->time_ms};

    (void)call, (void)cursor;
    return listing->add(listing, &volume);
}

static enum sandlot_status hostile_delete_volume(struct sandlot_call *call, void *provider, const char *name)
{
    return hostile_delete(call, provider, name);
}

static const struct sandlot_provider hostile_provider = {
    SANDLOT_TABLE(hostile),
    .close = hostile_close,
    .get_or_create = hostile_get_or_create,
    .delete_sandbox = hostile_delete,
    .list = hostile_list,
    .execute = hostile_execute,
    .snapshot = hostile_snapshot,
    .list_snapshots = hostile_list,
    .delete_snapshot = hostile_delete_snapshot,
    .fork = hostile_fork,
    .port_url = hostile_port_url,
    .list_volumes = hostile_list_volumes,
    .delete_volume = hostile_delete_volume,
};

#define HOSTILE_METADATA(M)               \
    M(description, "Says what does harm") \
    M(capabilities, "list snapshot fork urls volumes")
SANDLOT_ENTRY_POINT(hostile, HOSTILE_METADATA, HOSTILE_PARAMETERS);
