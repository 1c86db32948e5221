/* A provider of ABI 1.3 with one volume, the file $FIRST_FOLDER.volume, an address for its ports, and snapshots of
 * nothing. */
#include "../1.0/boxes.h"

static void volume_path(struct sandlot_call *call, char path[BOX_PATH])
{
    snprintf(path, BOX_PATH, "%s.volume", call->host->environment(call, "FIRST_FOLDER"));
}

static enum sandlot_status third_get_or_create(struct sandlot_call *call, void *provider,
                                               const struct sandlot_create *request, void **sandbox)
{
    char path[BOX_PATH];

    (void)provider;
    volume_path(call, path);
    if (request->volume_count == 1 && strcmp(request->volumes[0].name, "cache") == 0 &&
        !box_shell("touch -- \"$1\"", path, NULL))
        return box_fault(call, "cannot make a volume");
    return box_get_or_create(call, request, sandbox);
}

static enum sandlot_status third_delete(struct sandlot_call *call, void *provider, const char *id)
{
    (void)provider;
    return box_delete(call, id);
}

static enum sandlot_status third_execute(struct sandlot_call *call, void *provider, void *sandbox,
                                         const struct sandlot_command *command, const struct sandlot_sink *output,
                                         struct sandlot_exit *result)
{
    (void)provider;
    return box_execute(call, sandbox, command, output, result);
}

static void third_release(void *provider, void *sandbox)
{
    (void)provider;
    free(sandbox);
}

static enum sandlot_status third_port_url(struct sandlot_call *call, void *provider, void *sandbox, uint16_t port,
                                          int64_t ttl_ms, const struct sandlot_port_answer *answer)
{
    const struct sandlot_port_address address = {.size = sizeof(address), .url = "https://third.example"};

    (void)provider;
    (void)sandbox;
    (void)ttl_ms;
    if (port != 80)
        return sandlot_fail(call, SANDLOT_UNSUPPORTED, "only port 80 has an address; take that");
    answer->found(answer, &address);
    return SANDLOT_OK;
}

static enum sandlot_status third_list_volumes(struct sandlot_call *call, void *provider, const char *cursor,
                                              const struct sandlot_volume_listing *listing)
{
    const struct sandlot_listed_volume volume = {
        .size = sizeof(volume), .name = "cache", .bytes = 3, .limit_bytes = 4, .writers = 1};
    char path[BOX_PATH];

    (void)provider;
    (void)cursor;
    volume_path(call, path);
    return access(path, F_OK) == 0 ? listing->add(listing, &volume) : SANDLOT_OK;
}

static enum sandlot_status third_delete_volume(struct sandlot_call *call, void *provider, const char *name)
{
    char path[BOX_PATH];

    (void)provider;
    volume_path(call, path);
    if (strcmp(name, "cache") == 0)
        unlink(path);
    return SANDLOT_OK;
}

static enum sandlot_status third_snapshot(struct sandlot_call *call, void *provider, const char *id, const char *name,
                                          const struct sandlot_sink *result)
{
    (void)call;
    (void)provider;
    (void)id;
    (void)name;
    return result->write(result, "third", 5);
}

static const struct sandlot_provider third_volumes_provider = {
    SANDLOT_TABLE_WITHOUT_PARAMETERS(third_volumes),
    .get_or_create = third_get_or_create,
    .release = third_release,
    .delete_sandbox = third_delete,
    .execute = third_execute,
    .snapshot = third_snapshot,
    .port_url = third_port_url,
    .list_volumes = third_list_volumes,
    .delete_volume = third_delete_volume,
};

#define METADATA(M)                                                \
    M(description, "A provider of ABI 1.3 with volumes and a URL") \
    M(capabilities, "snapshot urls volumes")                       \
    M(environment, "FIRST_FOLDER")
SANDLOT_ENTRY_POINT(third_volumes, METADATA, SANDLOT_NO_PARAMETERS);
