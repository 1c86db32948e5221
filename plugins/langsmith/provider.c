/* LangSmith sandboxes: the table of the provider. */
#include "api.h"
#include "command.h"
#include "files.h"
#include "policy.h"
#include "ports.h"
#include "sandbox.h"
#include "snapshot.h"

PARAMETER_OBJECT(langsmith, LANGSMITH_PARAMETERS, struct api, api_init, api_clear)

HTTP_RELAY(langsmith, ports_find, struct sandbox, places)

static const struct sandlot_provider langsmith_provider = {
    SANDLOT_TABLE(langsmith),         .flags = SANDLOT_STREAMS_OUTPUT,
    .close = langsmith_close,         .get_or_create = sandbox_get_or_create,
    .ready = sandbox_ready,           .release = sandbox_release,
    .delete_sandbox = sandbox_delete, .list = sandbox_list,
    .execute = command_execute,       .upload = files_upload,
    .download = files_download,       .pause = sandbox_stop,
    .resume = sandbox_start,          .snapshot = snapshot_capture,
    .list_snapshots = snapshot_list,  .delete_snapshot = snapshot_delete,
    .set_network = policy_change,     .connect_port = langsmith_connect_port,
    .port_url = langsmith_port_url,
};

#define LANGSMITH_METADATA(M)                                                                         \
    M(description, "LangSmith sandboxes")                                                             \
    M(working_dir, WORKING_DIR)                                                                       \
    M(snapshot_name, "yes")                                                                           \
    M(capabilities, "list upload download pause snapshot streaming ports urls")                       \
    M(capabilities, "network-open network-hosts network-cidrs network-credentials network-live")      \
    M(credentials, LANGSMITH_CREDENTIALS)                                                             \
    M(environment, "LANGSMITH_ENDPOINT LANGCHAIN_ENDPOINT "                                           \
                   "LANGSMITH_SANDBOX_SNAPSHOT_ID LANGSMITH_SANDBOX_SNAPSHOT_NAME " HTTP_ENVIRONMENT) \
    M(package, "sandlot-provider-langsmith")
SANDLOT_ENTRY_POINT(langsmith, LANGSMITH_METADATA, LANGSMITH_PARAMETERS);
