/*
 * The provider `e2b`: sandboxes of E2B, over its control API and the daemon of each sandbox. create.c makes one,
 * sandbox.c keeps it running, command.c, terminal.c, upload.c and download.c use it, lifecycle.c does the rest; api.c
 * and record.c talk.
 */
#include "command.h"
#include "files.h"
#include "lifecycle.h"
#include "policy.h"
#include "ports.h"
#include "terminal.h"

PARAMETER_OBJECT(e2b, E2B_PARAMETERS, struct e2b, api_init, api_clear)

HTTP_RELAY_IN_USE(e2b, ports_find, sandbox_live_on, struct sandbox, places)

static const struct sandlot_provider e2b_provider = {
    SANDLOT_TABLE(e2b),
    .flags = SANDLOT_STREAMS_OUTPUT,
    .close = e2b_close,
    .get_or_create = sandbox_get_or_create,
    .release = sandbox_release,
    .delete_sandbox = lifecycle_delete,
    .list = lifecycle_list,
    .execute = command_execute,
    .upload = upload_files,
    .download = download_files,
    .terminal = terminal_run,
    .pause = lifecycle_pause,
    .resume = lifecycle_resume,
    .snapshot = snapshots_make,
    .list_snapshots = snapshots_list,
    .delete_snapshot = snapshots_delete,
    .fork = lifecycle_fork,
    .set_network = policy_change,
    .connect_port = e2b_connect_port,
    .port_url = e2b_port_url,
};

#define E2B_METADATA(M)                                                                                         \
    M(description, "Sandboxes of E2B")                                                                          \
    M(package, "sandlot-provider-e2b")                                                                          \
    M(working_dir, WORKING_DIR)                                                                                 \
    M(snapshot_name, "yes")                                                                                     \
    M(capabilities, "list upload download pause snapshot fork terminal streaming ports urls")                   \
    M(capabilities, "network-off network-open network-hosts network-cidrs network-credentials network-live")    \
    M(inside_network, "Everything outside can be reached, unless the parameter internet or network says less.") \
    M(credentials, E2B_CREDENTIALS)                                                                             \
    M(environment, "E2B_DOMAIN E2B_API_URL E2B_SANDBOX_URL TMPDIR " HTTP_ENVIRONMENT)                           \
    M(inside, "A Linux machine at E2B. You may write in the working directory.")                                \
    M(inside, "When it has not been used for its time it is deleted with its files.")                           \
    M(inside_unless, "auto_pause")
SANDLOT_ENTRY_POINT(e2b, E2B_METADATA, E2B_PARAMETERS);
