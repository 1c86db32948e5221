/*
 * The provider `runloop`: devboxes of Runloop (runloop.ai), over its HTTP API. blueprint.c says what one starts from,
 * create.c makes it, sandbox.c brings it to run, command.c, upload.c and download.c use it, lifecycle.c and snapshots.c
 * do the rest; api.c talks, record.c reads.
 */
#include "api.h"
#include "command.h"
#include "download.h"
#include "lifecycle.h"
#include "parameters.h"
#include "ports.h"
#include "sandbox.h"
#include "snapshots.h"
#include "upload.h"

#include <sandlot/provider.h>

PARAMETER_OBJECT(runloop, RUNLOOP_PARAMETERS, struct runloop, api_init, api_clear)

HTTP_RELAY(runloop, ports_find, struct sandbox, places)

static const struct sandlot_provider runloop_provider = {
    SANDLOT_TABLE(runloop),
    .flags = SANDLOT_STREAMS_OUTPUT,
    .close = runloop_close,
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
    .connect_port = runloop_connect_port,
    .port_url = runloop_port_url,
};

#define RUNLOOP_METADATA(M)                                                                                        \
    M(description, "Devboxes of Runloop (runloop.ai)")                                                             \
    M(package, "sandlot-provider-runloop")                                                                         \
    M(working_dir, "/home/user")                                                                                   \
    M(snapshot_name, "yes")                                                                                        \
    M(capabilities, "list upload download pause snapshot fork streaming ports urls")                               \
    M(capabilities, "network-off network-open network-hosts network-cidrs")                                        \
    M(inside_network, "Everything can be reached, unless a policy of the account or network_policy_id says less.") \
    M(credentials, "RUNLOOP_API_KEY")                                                                              \
    M(environment, "RUNLOOP_BASE_URL RUNLOOP_CUSTOM_HEADERS RUNLOOP_SANDBOX_BLUEPRINT_ID "                         \
                   "RUNLOOP_SANDBOX_BLUEPRINT_NAME " HTTP_ENVIRONMENT)                                             \
    M(inside, "A devbox of Runloop, which runs Linux. You may write in the working directory.")                    \
    M(inside, "When its time is over it is shut down, and its files are gone.")
SANDLOT_ENTRY_POINT(runloop, RUNLOOP_METADATA, RUNLOOP_PARAMETERS);
