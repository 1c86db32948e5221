/*
 * The provider `daytona`: sandboxes of Daytona (daytona.io), over its HTTP API. create.c makes one, sandbox.c brings it
 * to run, command.c, upload.c and download.c use it, lifecycle.c and snapshots.c do the rest; api.c talks.
 */
#include "api.h"
#include "command.h"
#include "download.h"
#include "lifecycle.h"
#include "parameters.h"
#include "sandbox.h"
#include "snapshots.h"
#include "upload.h"

#include <sandlot/provider.h>
#include <stdlib.h>

SANDLOT_PARAMETERS(daytona, DAYTONA_PARAMETERS)

static enum sandlot_status daytona_open(struct sandlot_call *call, void **provider, const char *image,
                                        const char *snapshot, const char *target, const char *user, int64_t cpu,
                                        int64_t memory_gb, int64_t disk_gb, int64_t gpu, const char *environment,
                                        const char *secrets, const char *volumes, bool public, bool network_block,
                                        const char *network_allow_list, const char *domain_allow_list,
                                        const char *base_url)
{
    struct daytona *daytona = calloc(1, sizeof(*daytona));

    if (!daytona)
        return api_no_memory(call);
    daytona->wanted = (struct wanted){
        .image = image,
        .snapshot = snapshot,
        .target = target,
        .user = user,
        .cpu = cpu,
        .memory_gb = memory_gb,
        .disk_gb = disk_gb,
        .gpu = gpu,
        .environment = environment,
        .secrets = secrets,
        .volumes = volumes,
        .public_ports = public,
        .network_block = network_block,
        .network_allow_list = network_allow_list,
        .domain_allow_list = domain_allow_list,
    };
    daytona->base_url = base_url;
    pthread_mutex_init(&daytona->lock, NULL);
    *provider = daytona;
    return SANDLOT_OK;
}

static void daytona_close(void *provider)
{
    api_clear(provider);
    free(provider);
}

static const struct sandlot_provider daytona_provider = {
    SANDLOT_TABLE(daytona),     .close = daytona_close,           .get_or_create = sandbox_get_or_create,
    .ready = sandbox_ready,     .release = sandbox_release,       .delete_sandbox = lifecycle_delete,
    .list = lifecycle_list,     .execute = command_execute,       .upload = upload_files,
    .download = download_files, .pause = lifecycle_pause,         .resume = lifecycle_resume,
    .snapshot = snapshots_make, .list_snapshots = snapshots_list, .delete_snapshot = snapshots_delete,
    .fork = lifecycle_fork,
};

#define DAYTONA_METADATA(M)                                                                     \
    M(description, "Sandboxes of Daytona (daytona.io)")                                         \
    M(working_dir, "/home/daytona")                                                             \
    M(capabilities, "list upload download pause snapshot fork")                                 \
    M(credentials, "DAYTONA_API_KEY|DAYTONA_JWT_TOKEN")                                         \
    M(environment, "DAYTONA_ORGANIZATION_ID DAYTONA_API_URL DAYTONA_SERVER_URL DAYTONA_TARGET " \
                   "TMPDIR " HTTP_ENVIRONMENT)
SANDLOT_ENTRY_POINT(daytona, DAYTONA_METADATA, DAYTONA_PARAMETERS);
