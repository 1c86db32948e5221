#include "grounds.h"

#include "snapshots.h"

#include <sandlot/sdk/attempt.h>
#include <sandlot/sdk/cleanup.h>

#include <inttypes.h>
#include <string.h>

/* ---- grounds --------------------------------------------------------------------------------------------------------
 */

static void free_ground(struct ground *ground)
{
    lower_close(&ground->lower);
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

static struct ground *new_ground(const struct vfs *vfs, bool landlock)
{
    struct ground *ground = calloc(1, sizeof(*ground));

    if (!ground)
        return NULL;
    ground->landlock = landlock;
    snprintf(ground->size_mb, sizeof(ground->size_mb), "%" PRId64, vfs->parameters.size_mb);
    snprintf(ground->memory_mb, sizeof(ground->memory_mb), "%" PRId64, vfs->parameters.memory_mb);
    snprintf(ground->processes, sizeof(ground->processes), "%" PRId64, vfs->parameters.processes);
    snprintf(ground->snapshots_mb, sizeof(ground->snapshots_mb), "%" PRId64, vfs->parameters.snapshots_mb);
    return ground;
}

static struct ground *open_ground(struct sandlot_call *call, struct vfs *vfs, bool landlock,
                                  enum sandlot_status *status)
{
    struct ground *ground = new_ground(vfs, landlock);

    if (!ground) {
        *status = sandlot_fail(call, SANDLOT_INTERNAL, "out of memory");
        return NULL;
    }
    /* What it takes for the disk is the store, which is in memory. */
    const struct lower_parameter parameters[] = {
        {"disk_mb", ground->size_mb},           {"memory_mb", ground->memory_mb},
        {"processes", ground->processes},       {"confinement", landlock ? "landlock" : "full"},
        {"snapshots_mb", ground->snapshots_mb}, {NULL, NULL}};

    *status = lower_open(call, &ground->lower, vfs->parameters.local_library, vfs->store.state_home, parameters);
    if (*status == SANDLOT_OK)
        return ground;
    free_ground(ground);
    return NULL;
}

struct ground *ground_find(struct sandlot_call *call, struct vfs *vfs, bool landlock, enum sandlot_status *status)
{
    pthread_mutex_lock(&vfs->lock);
    struct ground *ground = vfs->grounds;

    *status = SANDLOT_OK;
    while (ground && ground->landlock != landlock)
        ground = ground->next;
    if (!ground) {
        ground = open_ground(call, vfs, landlock, status);
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
    bool landlock;
};

static void note_created(struct sandlot_call *call, const char *id, const char *working_dir)
{
    struct making *making = (void *)call;
    struct sandlot_call *outer = making->attempt.outer;
    struct sandbox *sandbox = making->sandbox;

    snprintf(sandbox->id, sizeof(sandbox->id), "%s", id);
    snprintf(sandbox->working_dir, sizeof(sandbox->working_dir), "%s", working_dir ? working_dir : "");
    if (making->landlock) {
        store_let_through(&making->vfs->store, sandbox->working_dir);
        store_note_landlock(&making->vfs->store, id);
    }
    outer->host->created(outer, id, working_dir);
}

/* *SANDBOX has an id: the host has heard of a box, so there must be no second one. */
static enum sandlot_status try_ground(struct sandlot_call *call, struct making *making, bool landlock,
                                      const struct sandlot_create *request)
{
    enum sandlot_status status = SANDLOT_OK;

    attempt_begin(&making->attempt, call, 0);
    making->attempt.host.created = note_created;
    making->landlock = landlock;
    struct ground *ground = ground_find(&making->attempt.call, making->vfs, landlock, &status);

    if (!ground)
        return status;
    status = ground->lower.table->get_or_create(&making->attempt.call, ground->lower.instance, request,
                                                &making->sandbox->box);
    if (status == SANDLOT_OK)
        making->sandbox->ground = ground;
    return status;
}

enum sandlot_status ground_create(struct sandlot_call *call, struct vfs *vfs, const struct sandlot_create *request,
                                  struct sandbox *sandbox)
{
    struct making making = {.vfs = vfs, .sandbox = sandbox};
    const char *demanded = vfs->demanded;
    bool landlock = demanded ? strcmp(demanded, "landlock") == 0 : vfs->only_landlock;

    if (landlock && request->snapshot)
        return snapshot_not_found(call, request->snapshot);
    enum sandlot_status status = try_ground(call, &making, landlock, request);

    if (status == SANDLOT_DEPENDENCY_MISSING && !demanded && !landlock && !*sandbox->id) {
        call->host->log(call, SANDLOT_LOG_INFO, making.attempt.reason);
        status = try_ground(call, &making, true, request);
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
    enum sandlot_status status = try_ground(call, &making, false, &request);

    snprintf(sandbox->id, sizeof(sandbox->id), "%s", id);
    return status == SANDLOT_OK ? status : attempt_fail(&making.attempt, status);
}

/* By each ground: one of them may have the box hang on it. */
enum sandlot_status ground_delete(struct sandlot_call *call, struct vfs *vfs, const char *id)
{
    enum sandlot_status status = SANDLOT_OK;

    if (!ground_find(call, vfs, false, &status))
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

    if (store_is_landlock(&telling->vfs->store, box->id))
        told.state = "landlock";
    return telling->listing->add(telling->listing, &told);
}

enum sandlot_status ground_list(struct sandlot_call *call, struct vfs *vfs, const struct sandlot_listing *listing)
{
    struct telling telling = {listing, vfs};
    const struct sandlot_listing boxes = {.size = sizeof(boxes), .context = &telling, .add = tell};
    enum sandlot_status status = SANDLOT_OK;
    struct ground *ground = ground_find(call, vfs, false, &status);

    return ground ? ground->lower.table->list(call, ground->lower.instance, NULL, &boxes) : status;
}

/* ---- boxes without a view of their own ------------------------------------------------------------------------------
 */

struct noted {
    char id[64];
    bool lives;
};

struct sweep {
    struct noted *boxes;
    size_t count;
    bool complete;
};

static bool collect(void *context, const char *id)
{
    struct sweep *sweep = context;
    struct noted *grown = realloc(sweep->boxes, (sweep->count + 1) * sizeof(*grown));

    sweep->complete = grown != NULL;
    if (!grown)
        return false;
    sweep->boxes = grown;
    grown[sweep->count].lives = false;
    snprintf(grown[sweep->count++].id, sizeof(grown->id), "%s", id);
    return true;
}

static enum sandlot_status mark(const struct sandlot_listing *listing, const struct sandlot_listed *box)
{
    struct sweep *sweep = listing->context;

    for (size_t i = 0; i < sweep->count; i++)
        if (strcmp(sweep->boxes[i].id, box->id) == 0)
            sweep->boxes[i].lives = true;
    return SANDLOT_OK;
}

/* First what is noted and then what lives: a box that is noted was there before it is looked for. */
void ground_sweep(struct sandlot_call *call, struct vfs *vfs)
{
    struct sweep sweep = {.complete = true};
    const struct sandlot_listing boxes = {.size = sizeof(boxes), .context = &sweep, .add = mark};
    struct attempt attempt;

    attempt_begin(&attempt, call, 0); /* what fails here is done by the next sweep */
    store_each(&vfs->store, "landlock", collect, &sweep);
    if (sweep.complete && sweep.count > 0 && ground_list(&attempt.call, vfs, &boxes) == SANDLOT_OK)
        for (size_t i = 0; i < sweep.count; i++)
            if (!sweep.boxes[i].lives)
                store_forget(&vfs->store, sweep.boxes[i].id);
    free(sweep.boxes);
}

/* ---- snapshots and forks --------------------------------------------------------------------------------------------
 */

enum sandlot_status ground_snapshot(struct sandlot_call *call, struct vfs *vfs, const char *id, const char *name,
                                    const struct sandlot_sink *result)
{
    enum sandlot_status status = SANDLOT_OK;
    struct ground *ground = ground_find(call, vfs, false, &status);

    return ground ? ground->lower.table->snapshot(call, ground->lower.instance, id, name, result) : status;
}

/* It tells how many mib it has kept. */
static enum sandlot_status tell_snapshot(const struct sandlot_listing *listing, const struct sandlot_listed *snapshot)
{
    const struct sandlot_listing *outer = listing->context;
    const char *size = strchr(snapshot->state, ',');
    char state[64];

    snprintf(state, sizeof(state), "in memory%s", size ? size : "");
    const struct sandlot_listed told = {
        .size = sizeof(told), .id = snapshot->id, .state = state, .created_at_ms = snapshot->created_at_ms};

    return outer->add(outer, &told);
}

enum sandlot_status ground_list_snapshots(struct sandlot_call *call, struct vfs *vfs,
                                          const struct sandlot_listing *listing)
{
    const struct sandlot_listing inner = {
        .size = sizeof(inner), .context = (void *)(uintptr_t)listing, .add = tell_snapshot};
    enum sandlot_status status = SANDLOT_OK;
    struct ground *ground = ground_find(call, vfs, false, &status);

    return ground ? ground->lower.table->list_snapshots(call, ground->lower.instance, NULL, &inner) : status;
}

enum sandlot_status ground_delete_snapshot(struct sandlot_call *call, struct vfs *vfs, const char *name)
{
    enum sandlot_status status = SANDLOT_OK;
    struct ground *ground = ground_find(call, vfs, false, &status);

    return ground ? ground->lower.table->delete_snapshot(call, ground->lower.instance, name) : status;
}

enum sandlot_status ground_fork(struct sandlot_call *call, struct vfs *vfs, const char *id,
                                const struct sandlot_create *request)
{
    enum sandlot_status status = SANDLOT_OK;
    struct ground *ground = ground_find(call, vfs, false, &status);

    return ground ? ground->lower.table->fork(call, ground->lower.instance, id, request) : status;
}
