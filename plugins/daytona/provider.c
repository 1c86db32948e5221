/*
 * The provider `daytona`: sandboxes of Daytona (daytona.io), over its HTTP API. create.c makes one, sandbox.c brings it
 * to run, command.c, upload.c and download.c use it, lifecycle.c and snapshots.c do the rest; api.c talks.
 */
#include "api.h"
#include "command.h"
#include "download.h"
#include "lifecycle.h"
#include "parameters.h"
#include "policy.h"
#include "ports.h"
#include "sandbox.h"
#include "snapshots.h"
#include "upload.h"

#include <sandlot/provider.h>

PARAMETER_OBJECT(daytona, DAYTONA_PARAMETERS, struct daytona, api_init, api_clear)

HTTP_RELAY(daytona, ports_find, struct sandbox, places)

static const struct sandlot_provider daytona_provider = {
    SANDLOT_TABLE(daytona),
    .close = daytona_close,
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
    .connect_port = daytona_connect_port,
    .port_url = daytona_port_url,
    .set_network = policy_change,
};

#define DAYTONA_METADATA(M)                                                                                    \
    M(description, "Sandboxes of Daytona (daytona.io)")                                                        \
    M(package, "sandlot-provider-daytona")                                                                     \
    M(working_dir, "/home/daytona")                                                                            \
    M(snapshot_name, "yes")                                                                                    \
    M(capabilities, "list upload download pause snapshot fork ports urls")                                     \
    M(capabilities, "network-off network-open network-hosts network-cidrs network-live")                       \
    M(inside_network, "There is what Daytona gives the organization: everything, in its lowest tiers little.") \
    M(credentials, "DAYTONA_API_KEY|DAYTONA_JWT_TOKEN")                                                        \
    M(environment, "DAYTONA_ORGANIZATION_ID DAYTONA_API_URL DAYTONA_SERVER_URL DAYTONA_TARGET "                \
                   "TMPDIR " HTTP_ENVIRONMENT)                                                                 \
    M(project, "DAYTONA_ORGANIZATION_ID DAYTONA_TARGET")                                                       \
    M(inside, "A Linux machine at Daytona. You may write in the working directory.")                           \
    M(inside, "When it has not been used for its time it is deleted with its files.")
SANDLOT_ENTRY_POINT(daytona, DAYTONA_METADATA, DAYTONA_PARAMETERS);
