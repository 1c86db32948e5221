/* A provider of ABI 1.2 that is told what its boxes may reach, which it only keeps in mind, and that forks. */
#include "../1.0/boxes.h"

static enum sandlot_network_mode mode; /* of the one box that a test has at a time */

static enum sandlot_status second_get_or_create(struct sandlot_call *call, void *provider,
                                                const struct sandlot_create *request, void **sandbox)
{
    (void)provider;
    if (!request->sandbox_id)
        mode = request->network ? request->network->mode : SANDLOT_NETWORK_OPEN;
    return box_get_or_create(call, request, sandbox);
}

static enum sandlot_status second_delete(struct sandlot_call *call, void *provider, const char *id)
{
    (void)provider;
    return box_delete(call, id);
}

static enum sandlot_status second_execute(struct sandlot_call *call, void *provider, void *sandbox,
                                          const struct sandlot_command *command, const struct sandlot_sink *output,
                                          struct sandlot_exit *result)
{
    (void)provider;
    return box_execute(call, sandbox, command, output, result);
}

static void second_release(void *provider, void *sandbox)
{
    (void)provider;
    free(sandbox);
}

static enum sandlot_status second_fork(struct sandlot_call *call, void *provider, const char *id,
                                       const struct sandlot_create *request)
{
    void *copy = NULL;

    (void)provider;
    (void)id;
    enum sandlot_status status = box_get_or_create(call, request, &copy);

    free(copy);
    return status;
}

static enum sandlot_status second_set_network(struct sandlot_call *call, void *provider, void *sandbox,
                                              const struct sandlot_network *network)
{
    (void)call;
    (void)provider;
    (void)sandbox;
    mode = network->mode;
    return SANDLOT_OK;
}

static enum sandlot_status second_show_network(struct sandlot_call *call, void *provider, void *sandbox,
                                               const struct sandlot_network_view *view)
{
    const struct sandlot_network network = {.size = sizeof(network), .mode = mode};

    (void)call;
    (void)provider;
    (void)sandbox;
    view->tell(view, &network, "it is only kept in mind");
    return SANDLOT_OK;
}

static const struct sandlot_provider second_network_provider = {
    SANDLOT_TABLE_WITHOUT_PARAMETERS(second_network),
    .get_or_create = second_get_or_create,
    .release = second_release,
    .delete_sandbox = second_delete,
    .execute = second_execute,
    .fork = second_fork,
    .set_network = second_set_network,
    .show_network = second_show_network,
};

#define METADATA(M)                                               \
    M(description, "A provider of ABI 1.2 with a network policy") \
    M(capabilities, "fork network-live network-off network-open") \
    M(environment, "FIRST_FOLDER")
SANDLOT_ENTRY_POINT(second_network, METADATA, SANDLOT_NO_PARAMETERS);
