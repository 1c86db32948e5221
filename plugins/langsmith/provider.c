/* LangSmith sandboxes: the table of the provider. */
#include "api.h"
#include "operations.h"
#include "policy.h"
#include "sandbox.h"
#include "snapshot.h"

PARAMETER_OBJECT(langsmith, LANGSMITH_PARAMETERS, struct api, api_init, api_clear)

HTTP_RELAY(langsmith, ports_find, struct sandbox, places)

/* Where there is no tunnel, what is HTTP still gets through by the URL. */
static enum sandlot_status connect_port(struct sandlot_call *call, void *provider, void *handle,
                                        const struct sandlot_connection *connection)
{
    struct sandbox *sandbox = handle;
    bool missing = sandbox->no_tunnel;
    enum sandlot_status status = missing ? SANDLOT_OK : tunnel_connect(call, sandbox, connection, &missing);

    sandbox->no_tunnel = missing;
    return missing ? langsmith_connect_port(call, provider, handle, connection) : status;
}

static const struct sandlot_provider langsmith_provider = {
    SANDLOT_TABLE(langsmith),         .flags = SANDLOT_STREAMS_OUTPUT,
    .close = langsmith_close,         .get_or_create = sandbox_get_or_create,
    .ready = sandbox_ready,           .release = sandbox_release,
    .delete_sandbox = sandbox_delete, .list = sandbox_list,
    .execute = command_execute,       .upload = files_upload,
    .download = files_download,       .pause = sandbox_stop,
    .resume = sandbox_start,          .snapshot = snapshot_capture,
    .list_snapshots = snapshot_list,  .delete_snapshot = snapshot_delete,
    .set_network = policy_change,     .connect_port = connect_port,
    .port_url = langsmith_port_url,
};

#define LANGSMITH_METADATA(M)                                                                         \
    M(description, "LangSmith sandboxes")                                                             \
    M(working_dir, WORKING_DIR)                                                                       \
    M(snapshot_name, "yes")                                                                           \
    M(capabilities, "list upload download pause snapshot streaming ports urls")                       \
    M(capabilities, "network-open network-hosts network-cidrs network-credentials network-live")      \
    M(inside_network, "Everything can be reached.")                                                   \
    M(credentials, LANGSMITH_CREDENTIALS)                                                             \
    M(environment, "LANGSMITH_ENDPOINT LANGCHAIN_ENDPOINT "                                           \
                   "LANGSMITH_SANDBOX_SNAPSHOT_ID LANGSMITH_SANDBOX_SNAPSHOT_NAME " HTTP_ENVIRONMENT) \
    M(package, "sandlot-provider-langsmith")                                                          \
    M(inside, "A Linux machine at LangSmith. You may write in the working directory.")                \
    M(inside, "When idle it is stopped: its processes are gone then, its files once it is deleted.")
SANDLOT_ENTRY_POINT(langsmith, LANGSMITH_METADATA, LANGSMITH_PARAMETERS);
