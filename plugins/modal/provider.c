/*
 * The provider `modal`: sandboxes of Modal (modal.com), over its gRPC services. settings.c and profile.c find out who
 * asks, origin.c what a sandbox starts from, create.c makes one, sandbox.c finds the worker that runs it, process.c
 * starts, feeds and hears a process there; command.c, upload.c and download.c are made of those. lifecycle.c and
 * snapshots.c do the rest; api.c talks. The messages are modal.proto's.
 */
#include "api.h"
#include "create.h"
#include "message.h"
#include "operations.h"
#include "policy.h"

#include <sandlot/provider.h>
#include <sandlot/sdk/http.h>

PARAMETER_OBJECT(modal, MODAL_PARAMETERS, struct modal, api_init, api_clear)

static enum sandlot_status modal_get_or_create(struct sandlot_call *call, void *provider,
                                               const struct sandlot_create *request, void **sandbox)
{
    struct sandbox *made = NULL;
    enum sandlot_status status = request->sandbox_id ? sandbox_attach(call, provider, request->sandbox_id, &made)
                                                     : create_sandbox(call, provider, request, &made);

    *sandbox = made;
    return status;
}

HTTP_RELAY(modal, ports_find, struct sandbox, places)

static const struct sandlot_provider modal_provider = {
    SANDLOT_TABLE(modal),
    .flags = SANDLOT_STREAMS_OUTPUT,
    .close = modal_close,
    .get_or_create = modal_get_or_create,
    .ready = sandbox_ready,
    .release = sandbox_release,
    .delete_sandbox = lifecycle_delete,
    .list = lifecycle_list,
    .execute = command_execute,
    .upload = upload_files,
    .download = download_files,
    .snapshot = snapshots_make,
    .list_snapshots = snapshots_list,
    .delete_snapshot = snapshots_delete,
    .fork = snapshots_fork,
    .set_network = policy_change,
    .connect_port = modal_connect_port,
    .port_url = modal_port_url,
    .check = api_check,
};

#define MODAL_METADATA(M)                                                                                             \
    M(description, "Sandboxes of Modal (modal.com)")                                                                  \
    M(package, "sandlot-provider-modal")                                                                              \
    M(working_dir, WORKING_DIR)                                                                                       \
    M(snapshot_name, "yes")                                                                                           \
    M(capabilities, "list upload download snapshot fork streaming check ports urls")                                  \
    M(capabilities, "network-off network-open network-hosts network-cidrs network-live")                              \
    M(inside_network, "Everything can be reached, unless a parameter (network_block, network_allow_list) says less.") \
    M(environment, "MODAL_TOKEN_ID MODAL_TOKEN_SECRET MODAL_PROFILE MODAL_CONFIG_PATH MODAL_SERVER_URL "              \
                   "MODAL_ENVIRONMENT MODAL_IMAGE_BUILDER_VERSION MODAL_SANDBOX_V2 MODAL_MAX_THROTTLE_WAIT HOME")     \
    M(environment, HTTP_ENVIRONMENT)                                                                                  \
    M(project, "MODAL_TOKEN_ID MODAL_TOKEN_SECRET MODAL_PROFILE MODAL_ENVIRONMENT")                                   \
    M(reads, "~/.modal.toml $MODAL_CONFIG_PATH")                                                                      \
    M(inside, "A Linux container at Modal, made of an image. You may write in the working directory.")                \
    M(inside, "It is ended after 24 hours at most, and its files with it.")
SANDLOT_ENTRY_POINT(modal, MODAL_METADATA, MODAL_PARAMETERS);
