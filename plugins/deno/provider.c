/*
 * The provider `deno`: sandboxes of Deno Deploy, over a WebSocket for each and a few HTTP requests. create.c makes one,
 * sandbox.c keeps it alive and the lines to it, command.c, upload.c and download.c use them, ports.c finds URLs,
 * lifecycle.c does the rest; line.c and api.c talk.
 */
#include "command.h"
#include "create.h"
#include "download.h"
#include "lifecycle.h"
#include "listing.h"
#include "ports.h"
#include "sandbox.h"
#include "upload.h"

PARAMETER_OBJECT(deno, DENO_PARAMETERS, struct deno, api_init, api_clear)

static enum sandlot_status deno_get_or_create(struct sandlot_call *call, void *provider,
                                              const struct sandlot_create *request, void **sandbox)
{
    struct sandbox *made = NULL;
    enum sandlot_status status = request->sandbox_id ? sandbox_attach(call, provider, request->sandbox_id, &made)
                                                     : create_sandbox(call, provider, request, &made);

    *sandbox = made;
    return status;
}

HTTP_RELAY_IN_USE(deno, ports_find, sandbox_live_on, struct sandbox, places)

static const struct sandlot_provider deno_provider = {
    SANDLOT_TABLE(deno),
    .flags = SANDLOT_STREAMS_OUTPUT,
    .close = deno_close,
    .get_or_create = deno_get_or_create,
    .release = sandbox_release,
    .delete_sandbox = lifecycle_delete,
    .list = listing_list,
    .execute = command_execute,
    .upload = upload_files,
    .download = download_files,
    .snapshot = lifecycle_snapshot,
    .list_snapshots = lifecycle_list_snapshots,
    .delete_snapshot = lifecycle_delete_snapshot,
    .connect_port = deno_connect_port,
    .port_url = deno_port_url,
};

#define DENO_METADATA(M)                                                                                  \
    M(description, "Sandboxes of Deno Deploy")                                                            \
    M(working_dir, WORKING_DIR)                                                                           \
    M(snapshot_name, "yes")                                                                               \
    M(capabilities, "list upload download snapshot streaming ports urls")                                 \
    M(capabilities, "network-off network-open network-hosts network-ports network-cidrs")                 \
    M(inside_network, "Everything can be reached, unless the parameter allow_net has a list.")            \
    M(credentials, DENO_CREDENTIALS)                                                                      \
    M(environment, "DENO_DEPLOY_ORG DENO_DEPLOY_ENDPOINT DENO_SANDBOX_ENDPOINT DENO_SANDBOX_BASE_DOMAIN") \
    M(environment, HTTP_ENVIRONMENT)                                                                      \
    M(project, "DENO_DEPLOY_ORG")                                                                         \
    M(package, "sandlot-provider-deno")                                                                   \
    M(inside, "A Debian 13 virtual machine with Deno; you are an ordinary user who may use sudo.")        \
    M(inside, "You may write in the working directory.")                                                  \
    M(inside, "It lives for half an hour after its last use; files that are on no volume are gone then.")
SANDLOT_ENTRY_POINT(deno, DENO_METADATA, DENO_PARAMETERS);
