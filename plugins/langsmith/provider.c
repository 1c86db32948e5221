/* LangSmith sandboxes: the table of the provider. */
#include "api.h"
#include "command.h"
#include "files.h"
#include "parameters.h"
#include "sandbox.h"
#include "snapshot.h"

#include <sandlot/sdk/cleanup.h>

#include <stdlib.h>

SANDLOT_PARAMETERS(langsmith, LANGSMITH_PARAMETERS)

struct langsmith {
    struct parameters parameters;
    struct api api;
};

#define LANGSMITH_ARGUMENT(kind, name, default_, flag, help) , SANDLOT_C_##kind name
#define LANGSMITH_KEEP(kind, name, default_, flag, help) .name = (name),

static enum sandlot_status langsmith_open(struct sandlot_call *call,
                                          void **provider LANGSMITH_PARAMETERS(LANGSMITH_ARGUMENT))
{
    struct langsmith *langsmith = calloc(1, sizeof(*langsmith));

    if (!langsmith)
        return sandlot_fail(call, SANDLOT_INTERNAL, "there is not enough memory for the provider; free some");
    langsmith->parameters = (struct parameters){LANGSMITH_PARAMETERS(LANGSMITH_KEEP)};
    api_init(&langsmith->api, &langsmith->parameters);
    *provider = langsmith;
    return SANDLOT_OK;
}

static void langsmith_close(void *provider)
{
    struct langsmith *langsmith = provider;

    if (!langsmith)
        return;
    api_clear(&langsmith->api);
    free(langsmith);
}

/* The API, opened; NULL after a failure. */
static struct api *open_api(struct sandlot_call *call, void *provider, enum sandlot_status *status)
{
    struct langsmith *langsmith = provider;

    *status = api_open(call, &langsmith->api);
    return *status == SANDLOT_OK ? &langsmith->api : NULL;
}

static enum sandlot_status langsmith_get_or_create(struct sandlot_call *call, void *provider,
                                                   const struct sandlot_create *request, void **sandbox)
{
    enum sandlot_status status;
    struct api *api = open_api(call, provider, &status);
    struct sandbox *made = NULL;

    if (!api)
        return status;
    status = request->sandbox_id ? sandbox_attach(call, api, request->sandbox_id, &made)
                                 : sandbox_create(call, api, request, &made);
    *sandbox = made;
    return status;
}

static enum sandlot_status langsmith_ready(struct sandlot_call *call, void *provider, void *sandbox)
{
    (void)provider;
    return sandbox_ready(call, sandbox);
}

static void langsmith_release(void *provider, void *sandbox)
{
    (void)provider;
    sandbox_free(sandbox);
}

static enum sandlot_status langsmith_delete(struct sandlot_call *call, void *provider, const char *id)
{
    enum sandlot_status status;
    struct api *api = open_api(call, provider, &status);

    return api ? sandbox_delete(call, api, id) : status;
}

static enum sandlot_status langsmith_list(struct sandlot_call *call, void *provider, const char *cursor,
                                          const struct sandlot_listing *listing)
{
    enum sandlot_status status;
    struct api *api = open_api(call, provider, &status);

    return api ? sandbox_list(call, api, cursor, listing) : status;
}

static enum sandlot_status langsmith_execute(struct sandlot_call *call, void *provider, void *sandbox,
                                             const struct sandlot_command *command, const struct sandlot_sink *output,
                                             struct sandlot_exit *result)
{
    (void)provider;
    return command_execute(call, sandbox, command, output, result);
}

static enum sandlot_status langsmith_upload(struct sandlot_call *call, void *provider, void *sandbox,
                                            const struct sandlot_file *files, size_t count,
                                            const struct sandlot_transfer *transfer)
{
    (void)provider;
    return files_upload(call, sandbox, files, count, transfer);
}

static enum sandlot_status langsmith_download(struct sandlot_call *call, void *provider, void *sandbox,
                                              const struct sandlot_file *files, size_t count,
                                              const struct sandlot_transfer *transfer)
{
    (void)provider;
    return files_download(call, sandbox, files, count, transfer);
}

static enum sandlot_status langsmith_pause(struct sandlot_call *call, void *provider, const char *id)
{
    enum sandlot_status status;
    struct api *api = open_api(call, provider, &status);

    return api ? sandbox_stop(call, api, id) : status;
}

static enum sandlot_status langsmith_resume(struct sandlot_call *call, void *provider, const char *id)
{
    enum sandlot_status status;
    struct api *api = open_api(call, provider, &status);

    return api ? sandbox_start(call, api, id) : status;
}

static enum sandlot_status langsmith_snapshot(struct sandlot_call *call, void *provider, const char *id,
                                              const char *name, const struct sandlot_sink *result)
{
    enum sandlot_status status;
    struct api *api = open_api(call, provider, &status);

    return api ? snapshot_capture(call, api, id, name, result) : status;
}

static enum sandlot_status langsmith_list_snapshots(struct sandlot_call *call, void *provider, const char *cursor,
                                                    const struct sandlot_listing *listing)
{
    enum sandlot_status status;
    struct api *api = open_api(call, provider, &status);

    return api ? snapshot_list(call, api, cursor, listing) : status;
}

static enum sandlot_status langsmith_delete_snapshot(struct sandlot_call *call, void *provider, const char *name)
{
    enum sandlot_status status;
    struct api *api = open_api(call, provider, &status);

    return api ? snapshot_delete(call, api, name) : status;
}

static const struct sandlot_provider langsmith_provider = {
    SANDLOT_TABLE(langsmith),
    .flags = SANDLOT_STREAMS_OUTPUT,
    .close = langsmith_close,
    .get_or_create = langsmith_get_or_create,
    .ready = langsmith_ready,
    .release = langsmith_release,
    .delete_sandbox = langsmith_delete,
    .list = langsmith_list,
    .execute = langsmith_execute,
    .upload = langsmith_upload,
    .download = langsmith_download,
    .pause = langsmith_pause,
    .resume = langsmith_resume,
    .snapshot = langsmith_snapshot,
    .list_snapshots = langsmith_list_snapshots,
    .delete_snapshot = langsmith_delete_snapshot,
};

#define LANGSMITH_METADATA(M)                                                                         \
    M(description, "LangSmith sandboxes")                                                             \
    M(working_dir, WORKING_DIR)                                                                       \
    M(snapshot_name, "yes")                                                                           \
    M(capabilities, "list upload download pause snapshot streaming")                                  \
    M(credentials, LANGSMITH_CREDENTIALS)                                                             \
    M(environment, "LANGSMITH_ENDPOINT LANGCHAIN_ENDPOINT "                                           \
                   "LANGSMITH_SANDBOX_SNAPSHOT_ID LANGSMITH_SANDBOX_SNAPSHOT_NAME " HTTP_ENVIRONMENT) \
    M(package, "sandlot-provider-langsmith")
SANDLOT_ENTRY_POINT(langsmith, LANGSMITH_METADATA, LANGSMITH_PARAMETERS);
