#include "sandbox.h"

#include "create.h"
#include "policy.h"
#include "snapshots.h"
#include "volumes.h"

#include <sandlot/sdk/cleanup.h>

#include <string.h>

static bool is_root(const char *user)
{
    size_t length = strcspn(user, ":");

    return length == 0 || (length == 1 && *user == '0') || (length == 4 && strncmp(user, "root", 4) == 0);
}

/* An image may name its user; only a look tells. */
static enum sandlot_status fill(struct sandlot_call *call, struct sandbox *sandbox, const struct container *container)
{
    const char *folder = *container->working_dir ? container->working_dir : "/";

    memcpy(sandbox->id, container->id, sizeof(sandbox->id));
    sandbox->working_dir = strdup(folder);
    sandbox->archive = container->archive;
    sandbox->root = is_root(container->user);
    return sandbox->working_dir ? SANDLOT_OK : engine_no_memory(call);
}

static enum sandlot_status attach(struct sandlot_call *call, struct sandbox *sandbox, const char *id)
{
    AUTO_CONTAINER struct container container = {0};
    enum sandlot_status status = container_get(call, sandbox->docker, id, &container);

    if (status == SANDLOT_OK)
        status = fill(call, sandbox, &container);
    if (status == SANDLOT_OK)
        status = container_wake(call, sandbox->docker, &container);
    if (status == SANDLOT_OK)
        call->host->created(call, id, sandbox->working_dir);
    return status;
}

static enum sandlot_status look_at(struct sandlot_call *call, struct docker *docker, const char *image, const char *id,
                                   struct container *container)
{
    enum sandlot_status status = container_find(call, docker, id, container);

    if (status == SANDLOT_OK && container->document)
        status = container_begin(call, docker, container);
    if (status != SANDLOT_OK || (container->document && container->running))
        return status;
    return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                        "the container of %.200s ended as soon as it was started; the image needs the programs sh and "
                        "sleep: choose another one, or look at the engine's log",
                        image);
}

static enum sandlot_status create(struct sandlot_call *call, struct sandbox *sandbox,
                                  const struct sandlot_create *request)
{
    AUTO_CONTAINER struct container container = {0};
    AUTO_FREE char *image = NULL;
    char id[CONTAINER_ID + 1] = "";
    const char *wanted = sandbox->docker->parameters.image;
    enum sandlot_status status = policy_check(call, &sandbox->docker->parameters, network_asked(request));

    if (status == SANDLOT_OK && request->snapshot)
        status = snapshots_image(call, sandbox->docker, request->snapshot, &image);
    if (status == SANDLOT_OK)
        status = create_container(call, sandbox->docker, request, image ? image : wanted, !request->snapshot, id);
    if (status == SANDLOT_OK)
        status = look_at(call, sandbox->docker, image ? image : wanted, id, &container);
    if (status == SANDLOT_OK)
        status = create_check_limits(call, sandbox->docker, container.document);
    if (status == SANDLOT_OK)
        status = fill(call, sandbox, &container);
    if (status == SANDLOT_OK && !sandbox->root)
        status = container_unlock_work(call, sandbox->docker, &container);
    return status == SANDLOT_OK && !sandbox->root ? volumes_unlock(call, sandbox->docker, request, id) : status;
}

enum sandlot_status sandbox_get_or_create(struct sandlot_call *call, void *provider,
                                          const struct sandlot_create *request, void **sandbox)
{
    struct sandbox *made = calloc(1, sizeof(*made));

    if (!made)
        return engine_no_memory(call);
    made->docker = provider;
    enum sandlot_status status =
        request->sandbox_id ? attach(call, made, request->sandbox_id) : create(call, made, request);

    if (status == SANDLOT_OK)
        *sandbox = made;
    else
        sandbox_release(provider, made);
    return status;
}

void sandbox_release(void *provider, void *handle)
{
    struct sandbox *sandbox = handle;

    (void)provider;
    if (!sandbox)
        return;
    free(sandbox->working_dir);
    free(sandbox);
}
