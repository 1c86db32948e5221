/*
 * The provider `docker`: containers of an engine that speaks the API of Docker, dockerd or Podman's service. address.c
 * finds it, engine.c talks to it, over ssh.c if it is far away; create.c makes containers, image.c and registry.c what
 * they are made of; program.c starts programs in them, for command.c, terminal.c and port.c; files.c moves files;
 * lifecycle.c, snapshots.c, volumes.c
 * and volume_calls.c do the rest.
 */
#include "command.h"
#include "engine.h"
#include "files.h"
#include "lifecycle.h"
#include "parameters.h"
#include "port.h"
#include "sandbox.h"
#include "snapshots.h"
#include "terminal.h"
#include "volume_calls.h"

#include <sandlot/provider.h>

PARAMETER_OBJECT(docker, DOCKER_PARAMETERS, struct docker, engine_init, engine_clear)

static const struct sandlot_provider docker_provider = {
    SANDLOT_TABLE(docker),
    .flags = SANDLOT_STREAMS_OUTPUT,
    .close = docker_close,
    .get_or_create = sandbox_get_or_create,
    .release = sandbox_release,
    .delete_sandbox = lifecycle_delete,
    .list = lifecycle_list,
    .execute = command_execute,
    .upload = files_upload,
    .download = files_download,
    .terminal = terminal_run,
    .pause = lifecycle_pause,
    .resume = lifecycle_resume,
    .snapshot = snapshots_make,
    .list_snapshots = snapshots_list,
    .delete_snapshot = snapshots_delete,
    .check = lifecycle_check,
    .connect_port = port_connect,
    .list_volumes = volume_calls_list,
    .delete_volume = volume_calls_delete,
};

#define DOCKER_METADATA(M)                                                                                        \
    M(description, "Containers of Docker or Podman, on this machine or another")                                  \
    M(package, "sandlot-provider-docker")                                                                         \
    M(working_dir, "/workspace")                                                                                  \
    M(snapshot_name, "yes")                                                                                       \
    M(capabilities, "list upload download pause snapshot terminal streaming check ports volumes")                 \
    M(capabilities, "network-off network-open")                                                                   \
    M(inside_network, "There is no network, unless the parameter network names one.")                             \
    M(environment, "DOCKER_HOST DOCKER_CONTEXT DOCKER_CONFIG DOCKER_TLS DOCKER_TLS_VERIFY DOCKER_CERT_PATH")      \
    M(environment, "DOCKER_API_VERSION CONTAINER_HOST XDG_RUNTIME_DIR HOME SSH_AUTH_SOCK SSL_CERT_FILE")          \
    M(reads, "~/.docker $DOCKER_CONFIG $DOCKER_CERT_PATH ~/.ssh")                                                 \
    M(confined, "no")                                                                                             \
    M(inside, "A Linux container; you are who its image says, root mostly, without capabilities.")                \
    M(inside, "You may write in the working directory. Files that are on no volume are gone when it is deleted.") \
    M(inside_unless, "user capabilities")
SANDLOT_ENTRY_POINT(docker, DOCKER_METADATA, DOCKER_PARAMETERS);
