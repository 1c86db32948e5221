#include "grounds.h"

#include <sandlot/sdk/attempt.h>
#include <sandlot/sdk/cleanup.h>

#include <inttypes.h>
#include <string.h>

/* ---- grounds --------------------------------------------------------------------------------------------------------
 */

static void free_ground(struct ground *ground)
{
    lower_close(&ground->lower);
    free(ground->workspace);
    free(ground);
}

void grounds_clear(struct vfs *vfs)
{
    for (struct ground *ground = vfs->grounds, *next; ground; ground = next) {
        next = ground->next;
        free_ground(ground);
    }
    vfs->grounds = NULL;
}

static struct ground *new_ground(const struct vfs *vfs, bool landlock, const char *workspace)
{
    struct ground *ground = calloc(1, sizeof(*ground));

    if (!ground)
        return NULL;
    ground->landlock = landlock;
    ground->workspace = workspace ? strdup(workspace) : NULL;
    snprintf(ground->size_mb, sizeof(ground->size_mb), "%" PRId64, vfs->parameters.size_mb);
    snprintf(ground->memory_mb, sizeof(ground->memory_mb), "%" PRId64, vfs->parameters.memory_mb);
    snprintf(ground->processes, sizeof(ground->processes), "%" PRId64, vfs->parameters.processes);
    if (!workspace || ground->workspace)
        return ground;
    free(ground);
    return NULL;
}

/* Only a full box has a file system of its own; the files of another lie in the store, which is in memory too. */
static struct ground *open_ground(struct sandlot_call *call, struct vfs *vfs, bool landlock, const char *workspace,
                                  enum sandlot_status *status)
{
    struct ground *ground = new_ground(vfs, landlock, workspace);

    if (!ground) {
        *status = sandlot_fail(call, SANDLOT_INTERNAL, "out of memory");
        return NULL;
    }
    const struct lower_parameter parameters[] = {{"workspace", ground->workspace},
                                                 {"disk_mb", ground->size_mb},
                                                 {"memory_mb", ground->memory_mb},
                                                 {"processes", ground->processes},
                                                 {"confinement", landlock ? "landlock" : "full"},
                                                 {"storage", landlock ? "disk" : "memory"},
                                                 {NULL, NULL}};

    *status = lower_open(call, &ground->lower, vfs->parameters.local_library, vfs->store.state_home, parameters);
    if (*status == SANDLOT_OK)
        return ground;
    free_ground(ground);
    return NULL;
}

static bool is_it(const struct ground *ground, bool landlock, const char *workspace)
{
    if (ground->landlock != landlock || !ground->workspace != !workspace)
        return false;
    return !workspace || strcmp(ground->workspace, workspace) == 0;
}

struct ground *ground_find(struct sandlot_call *call, struct vfs *vfs, bool landlock, const char *workspace,
                           enum sandlot_status *status)
{
    pthread_mutex_lock(&vfs->lock);
    struct ground *ground = vfs->grounds;

    *status = SANDLOT_OK;
    while (ground && !is_it(ground, landlock, workspace))
        ground = ground->next;
    if (!ground) {
        ground = open_ground(call, vfs, landlock, workspace, status);
        if (ground) {
            ground->next = vfs->grounds;
            vfs->grounds = ground;
        }
    }
    pthread_mutex_unlock(&vfs->lock);
    return ground;
}

static struct ground *first_ground(struct vfs *vfs)
{
    pthread_mutex_lock(&vfs->lock);
    struct ground *ground = vfs->grounds;

    pthread_mutex_unlock(&vfs->lock);
    return ground;
}

/* ---- creating -------------------------------------------------------------------------------------------------------
 */

/* One try, with us as the host who hears of the id. */
struct making {
    struct attempt attempt; /* first: calls lead back to it */
    struct vfs *vfs;
    struct sandbox *sandbox;
    struct box_note note;
};

static void note_created(struct sandlot_call *call, const char *id, const char *working_dir)
{
    struct making *making = (void *)call;
    struct sandlot_call *outer = making->attempt.outer;
    struct sandbox *sandbox = making->sandbox;

    snprintf(sandbox->id, sizeof(sandbox->id), "%s", id);
    snprintf(sandbox->working_dir, sizeof(sandbox->working_dir), "%s", working_dir ? working_dir : "");
    if (making->note.landlock)
        store_let_through(&making->vfs->store, sandbox->working_dir);
    if (making->note.landlock || making->note.inode)
        store_note(&making->vfs->store, id, &making->note);
    outer->host->created(outer, id, working_dir);
}

/* What is asked of local: all but the snapshot, which it gets as a workspace. */
static struct sandlot_create without_snapshot(const struct sandlot_create *request)
{
    struct sandlot_create create = {0};
    const size_t size = request->size < sizeof(create) ? request->size : sizeof(create);

    memcpy(&create, request, size);
    create.size = size;
    create.snapshot = NULL;
    return create;
}

/* *MADE: the host has heard of a box, so there must be no second one. */
static enum sandlot_status try_ground(struct sandlot_call *call, struct making *making, bool landlock,
                                      const struct sandlot_create *request, const char *workspace)
{
    const struct sandlot_create create = without_snapshot(request);
    enum sandlot_status status = SANDLOT_OK;

    attempt_begin(&making->attempt, call, 0);
    making->attempt.host.created = note_created;
    making->note.landlock = landlock;
    struct ground *ground = ground_find(&making->attempt.call, making->vfs, landlock, workspace, &status);

    if (!ground)
        return status;
    status = ground->lower.table->get_or_create(&making->attempt.call, ground->lower.instance, &create,
                                                &making->sandbox->box);
    if (status == SANDLOT_OK)
        making->sandbox->ground = ground;
    return status;
}

enum sandlot_status ground_create(struct sandlot_call *call, struct vfs *vfs, const struct sandlot_create *request,
                                  const char *workspace, uint64_t inode, struct sandbox *sandbox)
{
    struct making making = {.vfs = vfs, .sandbox = sandbox, .note = {.inode = inode}};
    const char *demanded = vfs->demanded;
    bool landlock = demanded ? strcmp(demanded, "landlock") == 0 : vfs->only_landlock;
    enum sandlot_status status = try_ground(call, &making, landlock, request, workspace);

    if (status == SANDLOT_DEPENDENCY_MISSING && !demanded && !landlock && !*sandbox->id) {
        call->host->log(call, SANDLOT_LOG_INFO, making.attempt.reason);
        status = try_ground(call, &making, true, request, workspace);
        vfs->only_landlock = status == SANDLOT_OK;
    }
    return status == SANDLOT_OK ? status : attempt_fail(&making.attempt, status);
}

/* ---- the rest -------------------------------------------------------------------------------------------------------
 */

enum sandlot_status ground_attach(struct sandlot_call *call, struct vfs *vfs, const char *id, struct sandbox *sandbox)
{
    const struct sandlot_create request = {.size = sizeof(request), .sandbox_id = id};
    struct making making = {.vfs = vfs, .sandbox = sandbox};
    enum sandlot_status status = try_ground(call, &making, false, &request, NULL);

    snprintf(sandbox->id, sizeof(sandbox->id), "%s", id);
    return status == SANDLOT_OK ? status : attempt_fail(&making.attempt, status);
}

/* By each ground: one of them may have the box hang on it. */
enum sandlot_status ground_delete(struct sandlot_call *call, struct vfs *vfs, const char *id)
{
    enum sandlot_status status = SANDLOT_OK;

    if (!ground_find(call, vfs, false, NULL, &status))
        return status;
    for (struct ground *ground = first_ground(vfs); ground && status == SANDLOT_OK; ground = ground->next)
        status = ground->lower.table->delete_sandbox(call, ground->lower.instance, id);
    if (status == SANDLOT_OK)
        store_forget(&vfs->store, id);
    return status;
}

struct telling {
    const struct sandlot_listing *listing;
    const struct vfs *vfs;
};

static enum sandlot_status tell(const struct sandlot_listing *listing, const struct sandlot_listed *box)
{
    const struct telling *telling = listing->context;
    struct sandlot_listed told = {.size = sizeof(told),
                                  .id = box->id,
                                  .state = box->state,
                                  .created_at_ms = box->created_at_ms,
                                  .run_label = box->run_label};

    if (store_noted(&telling->vfs->store, box->id).landlock)
        told.state = "landlock";
    return telling->listing->add(telling->listing, &told);
}

enum sandlot_status ground_list(struct sandlot_call *call, struct vfs *vfs, const struct sandlot_listing *listing)
{
    struct telling telling = {listing, vfs};
    const struct sandlot_listing boxes = {.size = sizeof(boxes), .context = &telling, .add = tell};
    enum sandlot_status status = SANDLOT_OK;
    struct ground *ground = ground_find(call, vfs, false, NULL, &status);

    return ground ? ground->lower.table->list(call, ground->lower.instance, NULL, &boxes) : status;
}
