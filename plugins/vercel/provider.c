/*
 * The provider `vercel`: sandboxes of Vercel, over its HTTP API. create.c makes one, sandbox.c keeps it running,
 * command.c, upload.c and download.c use it, lifecycle.c and snapshots.c do the rest; api.c talks.
 */
#include "api.h"
#include "command.h"
#include "download.h"
#include "lifecycle.h"
#include "policy.h"
#include "ports.h"
#include "sandbox.h"
#include "snapshots.h"
#include "upload.h"

PARAMETER_OBJECT(vercel, VERCEL_PARAMETERS, struct vercel, api_init, api_clear)

HTTP_RELAY_IN_USE(vercel, ports_find, sandbox_live_on, struct sandbox, places)

static const struct sandlot_provider vercel_provider = {
    SANDLOT_TABLE(vercel),
    .flags = SANDLOT_STREAMS_OUTPUT,
    .close = vercel_close,
    .get_or_create = sandbox_get_or_create,
    .ready = sandbox_ready,
    .release = sandbox_release,
    .delete_sandbox = lifecycle_delete,
    .list = lifecycle_list,
    .execute = command_execute,
    .upload = upload_files,
    .download = download_files,
    .pause = lifecycle_pause,
    .resume = lifecycle_resume,
    .snapshot = snapshots_make,
    .list_snapshots = snapshots_list,
    .delete_snapshot = snapshots_delete,
    .fork = lifecycle_fork,
    .set_network = policy_change,
    .connect_port = vercel_connect_port,
    .port_url = vercel_port_url,
};

#define VERCEL_METADATA(M)                                                                                        \
    M(description, "Sandboxes of Vercel")                                                                         \
    M(package, "sandlot-provider-vercel")                                                                         \
    M(working_dir, WORKING_DIR)                                                                                   \
    M(snapshot_name, "yes")                                                                                       \
    M(capabilities, "list upload download pause snapshot fork streaming ports urls")                              \
    M(capabilities, "network-off network-open network-hosts network-cidrs network-credentials network-live")      \
    M(inside_network, "Everything can be reached, unless a parameter (network_block, network_policy) says less.") \
    M(credentials, "VERCEL_TOKEN|VERCEL_OIDC_TOKEN")                                                              \
    M(environment, "VERCEL_TEAM_ID VERCEL_PROJECT_ID VERCEL_SANDBOX_BASE_URL TMPDIR " HTTP_ENVIRONMENT)           \
    M(project, "VERCEL_TEAM_ID VERCEL_PROJECT_ID")                                                                \
    M(inside, "A Linux machine at Vercel; you are an ordinary user.")                                             \
    M(inside, "You may write in the working directory. When its session ends, its files are gone.")               \
    M(inside_unless, "persistent")
SANDLOT_ENTRY_POINT(vercel, VERCEL_METADATA, VERCEL_PARAMETERS);
