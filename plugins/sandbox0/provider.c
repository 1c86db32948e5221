/*
 * The provider `sandbox0`: sandboxes of Sandbox0, over its HTTP API. create.c makes one, or finds one that was lost by
 * label.c; command.c and files.c use it, ports.c finds URLs, policy.c and sources.c say what it reaches, sandbox.c
 * wakes it, lifecycle.c does the rest; api.c talks.
 */
#include "api.h"
#include "operations.h"
#include "policy.h"

PARAMETER_OBJECT(sandbox0, SANDBOX0_PARAMETERS, struct sandbox0, api_init, api_clear)

HTTP_RELAY(sandbox0, ports_find, struct sandbox, places)

static const struct sandlot_provider sandbox0_provider = {
    SANDLOT_TABLE(sandbox0),       .close = sandbox0_close,         .get_or_create = sandbox_get_or_create,
    .ready = sandbox_ready,        .release = sandbox_release,      .delete_sandbox = lifecycle_delete,
    .list = lifecycle_list,        .execute = command_execute,      .upload = files_upload,
    .download = files_download,    .pause = lifecycle_pause,        .resume = lifecycle_resume,
    .snapshot = snapshot_make,     .list_snapshots = snapshot_list, .delete_snapshot = snapshot_delete,
    .fork = lifecycle_fork,        .set_network = policy_change,    .connect_port = sandbox0_connect_port,
    .port_url = sandbox0_port_url,
};

#define SANDBOX0_METADATA(M)                                                                     \
    M(description, "Sandboxes of Sandbox0")                                                      \
    M(package, "sandlot-provider-sandbox0")                                                      \
    M(working_dir, WORKING_DIR)                                                                  \
    M(snapshot_name, "yes")                                                                      \
    M(capabilities, "list upload download pause snapshot fork ports urls")                       \
    M(capabilities, "network-open network-hosts network-ports network-cidrs network-live")       \
    M(capabilities, "network-credentials")                                                       \
    M(inside_network, "There is what the template gives, unless the parameter network says it.") \
    M(credentials, KEYS)                                                                         \
    M(environment, "SANDBOX0_BASE_URL " HTTP_ENVIRONMENT)                                        \
    M(inside, "A Linux machine at Sandbox0. You may write in the working directory.")            \
    M(inside, "When its time is over it is paused: files stay, processes and what is in /tmp do not.")
SANDLOT_ENTRY_POINT(sandbox0, SANDBOX0_METADATA, SANDBOX0_PARAMETERS);
