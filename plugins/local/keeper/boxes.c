#include "boxes.h"

#include "../protocol.h"
#include "reach.h"
#include "snapshots.h"
#include "volumes.h"

#include <sandlot/sdk/cleanup.h>

#include <errno.h>
#include <fcntl.h>
#include <sandlot/provider.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

enum { END_LIMIT_MS = 3000, REMOVAL_TRIES = 500, TEND_PAUSE_MS = 20, SWEEP_PAUSE_MS = 1000 };

struct remains {
    struct remains *next;
    char id[BOX_ID_SIZE];
    int tries;
};

const struct box_volume *boxes_volume(const struct box *box, const char *name)
{
    for (size_t i = 0; i < box->volume_count; i++)
        if (strcmp(box->volumes[i].name, name) == 0)
            return &box->volumes[i];
    return NULL;
}

const struct box *boxes_with_volume(const struct keeper *keeper, const char *name, uint32_t *writers, uint32_t *readers)
{
    const struct box *first = NULL;

    *writers = *readers = 0;
    for (const struct box *box = keeper->boxes; box; box = box->next) {
        const struct box_volume *volume = boxes_volume(box, name);

        if (!volume)
            continue;
        first = first ? first : box;
        *writers += volume->writes;
        *readers += !volume->writes;
    }
    return first;
}

void boxes_discard(struct keeper *keeper, struct box *box)
{
    guard_remove(box->guarded);
    for (size_t i = 0; i < box->volume_count; i++)
        volumes_used(&keeper->state, box->volumes[i].name);
    turn_await(&box->kept);
    reach_end(box);
    if (!cgroups_remove(&keeper->cgroups, box->id)) {
        struct remains *remains = calloc(1, sizeof(*remains));

        if (remains) {
            memcpy(remains->id, box->id, sizeof(remains->id));
            remains->next = keeper->remains;
            keeper->remains = remains;
        }
    }
    for (size_t i = 0; i < KEPT_FDS; i++)
        state_close_later(&box->kept.fds[i]);
    state_discard_box(&keeper->state, box->id);
    if (box->keeper_fd >= 0)
        close(box->keeper_fd);
    if (box->process.pidfd >= 0)
        close(box->process.pidfd);
    free(box->layers);
    free(box);
}

struct box *boxes_find(const struct keeper *keeper, const char *id)
{
    struct box *box = keeper->boxes;

    while (box && strcmp(box->id, id) != 0)
        box = box->next;
    return box;
}

/* Its number is that of no other process until boxes_bury has waited for it. Not by the pidfd: filters of container
 * engines may refuse that. */
static void kill_process(const struct box_process *process)
{
    kill(process->pid, SIGKILL);
}

void boxes_end(struct box *box, const char *reason)
{
    if (box->ending || box->end_reason)
        return;
    box->ending = !reason;
    box->end_reason = reason;
    if (box->landlock) {
        /* Without a process namespace only init can find and end what the box has started. */
        close(take_fd(&box->keeper_fd));
        box->kill_at_ms = sandlot_now_ms() + END_LIMIT_MS;
        return;
    }
    /* When its pid 1 dies, the kernel kills everything in the box. */
    kill_process(&box->process);
}

/* The record of BOX with LAYERS, and without them for "/"; NULL: it cannot be read. */
static char *record_with(const struct box *box, int folder_fd, const char *layers)
{
    AUTO_FREE char *record = fields_read(folder_fd, "record");
    AUTO_FREE char *root_layers = record ? fields_get(record, "root_layers") : NULL;
    char *text = record ? fields_without(record, "layers root_layers") : NULL;

    if (!root_layers)
        root_layers = strdup(box->layers ? box->layers : "");
    if (!text || !root_layers)
        free(text);
    else if (fields_add(&text, "layers", layers) && fields_add(&text, "root_layers", root_layers))
        return text;
    return NULL;
}

/* The box has left its layers, and no longer needs what it had written itself. */
static void leave_layers(const struct keeper *keeper, struct box *box, int storage)
{
    char name[TURN_NAME_SIZE];

    box->layer_count = 0;
    for (size_t i = 0; i < KEPT_PLACES; i++) {
        turn_left_name(name, i);
        state_discard(&keeper->state, storage, name);
    }
}

/* Does "/" lie on layers? It would go on to need them. */
static bool has_root_layers(const char *record)
{
    AUTO_FREE char *root_layers = fields_get(record, "root_layers");

    return root_layers && *root_layers;
}

/* LAYERS: what the box lies on then, which is taken over. */
static enum turn_result turn(struct keeper *keeper, struct box *box, const char *id, char *layers, bool rebase)
{
    AUTO_FREE char *taken = layers;
    AUTO_CLOSE int folder = openat(keeper->state.boxes_fd, box->id, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    AUTO_CLOSE int storage = openat(folder, "storage", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    AUTO_CLOSE int parent = openat(keeper->state.fd, LAYERS_FOLDER, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    AUTO_CLOSE int layer = openat(parent, id, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    AUTO_FREE char *record = record_with(box, folder, layers);
    struct turn turn = {.kept = &box->kept,
                        .uid = box->host_uid,
                        .gid = box->host_gid,
                        .inside_id = box->inside_id,
                        .layer_count = box->layer_count,
                        .storage_fd = storage,
                        .layer_fd = layer,
                        .folder_fd = folder,
                        .rebase = rebase};

    /* Written before, because it must not fail once the box is turned. */
    if (storage < 0 || layer < 0 || !record || (rebase && has_root_layers(record)) ||
        state_write(folder, TURN_RECORD, record) < 0)
        return TURN_NOT;
    const enum turn_result result = turn_make(&turn);

    if (result == TURN_NOT) {
        unlinkat(folder, TURN_RECORD, 0);
        return result;
    }
    free(box->layers);
    box->layers = taken;
    taken = NULL;
    if (rebase)
        leave_layers(keeper, box, storage);
    guard_forget(box->guarded);
    return result;
}

enum turn_result boxes_turn(struct keeper *keeper, struct box *box, const char *id, bool rebase)
{
    const char *older = box->layers && !rebase ? box->layers : "";
    struct layer_chain chain;
    char *layers = NULL;

    if (!layer_id_valid(id) || !layer_chain_read(older, &chain) || chain.count == LAYERS_MOST ||
        asprintf(&layers, "%s%s%s", id, *older ? " " : "", older) < 0)
        return TURN_NOT;
    const enum turn_result result = turn(keeper, box, id, layers, rebase);

    if (result == TURN_BROKEN)
        boxes_end(box, "its files could not be kept for a snapshot, which broke it; the machine is short of memory");
    return result;
}

/* Why BOX ended, for those who look for it later. */
static const char *end_of(const struct keeper *keeper, const struct box *box, const siginfo_t *info)
{
    if (box->end_reason)
        return box->end_reason;
    if (info->si_code == CLD_EXITED && info->si_status == BOX_EXIT_IDLE_TTL)
        return "it expired: it was not used for longer than ttl_s allows";
    if (info->si_code == CLD_EXITED && info->si_status == BOX_EXIT_HARD_TTL)
        return "it expired: it reached its absolute lifetime, hard_ttl_s";
    if (info->si_code != CLD_EXITED && cgroups_memory_kills(&keeper->cgroups, box->id) > 0)
        return "its memory limit killed its init; give it more with memory_mb";
    return info->si_code == CLD_EXITED ? "its init gave up" : "its init was killed";
}

static bool archive_in_use(const void *context, const char *key)
{
    const struct keeper *keeper = context;
    const struct box *box = keeper->boxes;

    while (box && strcmp(box->archive, key) != 0)
        box = box->next;
    return box || snapshots_use_archive(&keeper->state, key);
}

static bool layer_in_use(const void *context, const char *id)
{
    const struct keeper *keeper = context;
    const struct box *box = keeper->boxes;

    while (box && !(box->layers && strstr(box->layers, id)))
        box = box->next;
    return box;
}

/* Whoever makes a snapshot holds the lock, for minutes maybe: each time that it is held the next look is later. */
void boxes_sweep_layers(struct keeper *keeper)
{
    const int longer = keeper->sweep_pause_ms > 0 ? 2 * keeper->sweep_pause_ms : TEND_PAUSE_MS;

    keeper->unswept = !snapshots_sweep(&keeper->state, layer_in_use, keeper);
    keeper->sweep_pause_ms = !keeper->unswept ? 0 : longer < SWEEP_PAUSE_MS ? longer : SWEEP_PAUSE_MS;
    keeper->sweep_at_ms = sandlot_now_ms() + keeper->sweep_pause_ms;
}

void boxes_bury(struct keeper *keeper, struct box *box)
{
    siginfo_t info = {0};

    while (waitid(P_PIDFD, (id_t)box->process.pidfd, &info, WEXITED | __WALL) < 0 && errno == EINTR)
        ;
    if (!box->ending)
        state_remember_end(&keeper->state, box->id, end_of(keeper, box, &info));
    for (struct box **at = &keeper->boxes; *at; at = &(*at)->next)
        if (*at == box) {
            *at = box->next;
            break;
        }
    /* The client looks whether it is there. */
    if (box->unpacked && state_keep_rootfs(&keeper->state, box->id, box->archive) == 0)
        state_sweep_rootfs(&keeper->state, archive_in_use, keeper);
    const bool layered = box->layers;

    boxes_discard(keeper, box);
    if (layered)
        boxes_sweep_layers(keeper);
}

static void order(const struct box *box, enum keeper_order what)
{
    char byte = (char)what;

    if (send(box->keeper_fd, &byte, 1, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 && errno == EAGAIN)
        return; /* it has not yet obeyed the orders before this one */
}

void boxes_heed_guard(struct keeper *keeper)
{
    for (struct box *box = keeper->boxes; box; box = box->next)
        switch (guard_take(box->guarded)) {
        case GUARD_FINE:
            break;
        case GUARD_OVER_MEMORY:
            order(box, KEEPER_ORDER_MEMORY);
            break;
        case GUARD_OVER_DISK:
            order(box, KEEPER_ORDER_DISK);
            break;
        case GUARD_FAR_OVER:
            boxes_end(box, "it went far beyond its disk limit; give it more with disk_mb");
            break;
        case GUARD_TOO_DEEP:
            boxes_end(box, "it has folders too deep to be counted for its disk limit; use fewer than 1,000 levels, and "
                           "give Sandlot more open files (ulimit -n) if it may have few");
            break;
        case GUARD_FAR_OVER_MEMORY:
            boxes_end(box, "its System V objects alone exceeded its memory limit; give it more with memory_mb");
            break;
        case GUARD_OVER_VOLUME:
            order(box, KEEPER_ORDER_VOLUME);
            break;
        case GUARD_FAR_OVER_VOLUME:
            boxes_end(box,
                      "it went far beyond the limit of a volume, or one holds a tree too deep to be counted; let it "
                      "hold more with limit_mb in [sandboxes.volumes.NAME], or `sandlot volumes delete` it");
            break;
        }
}

static bool kill_late_inits(const struct keeper *keeper)
{
    bool waiting = false;

    for (struct box *box = keeper->boxes; box; box = box->next) {
        if (!box->kill_at_ms)
            continue;
        if (sandlot_now_ms() >= box->kill_at_ms)
            kill_process(&box->process);
        waiting = true;
    }
    return waiting;
}

static bool remove_remains(struct keeper *keeper)
{
    for (struct remains **at = &keeper->remains; *at;) {
        struct remains *remains = *at;

        if (cgroups_remove(&keeper->cgroups, remains->id) || ++remains->tries > REMOVAL_TRIES) {
            *at = remains->next;
            free(remains);
        } else {
            at = &remains->next;
        }
    }
    return keeper->remains;
}

int boxes_tend(struct keeper *keeper)
{
    const bool late = kill_late_inits(keeper);
    const bool remaining = remove_remains(keeper);

    if (keeper->unswept && sandlot_now_ms() >= keeper->sweep_at_ms)
        boxes_sweep_layers(keeper);
    if (late || remaining)
        return TEND_PAUSE_MS;
    return keeper->unswept ? keeper->sweep_pause_ms : -1;
}

static void sweep_one(void *context, const char *id)
{
    struct keeper *keeper = context;
    struct remains *remains = calloc(1, sizeof(*remains));

    if (!remains)
        return;
    snprintf(remains->id, sizeof(remains->id), "%.19s", id);
    remains->next = keeper->remains;
    keeper->remains = remains;
}

void boxes_sweep(struct keeper *keeper)
{
    state_sweep(&keeper->state, sweep_one, keeper);
    state_sweep_rootfs(&keeper->state, archive_in_use, keeper);
    boxes_sweep_layers(keeper);
    state_sweep_downloads(&keeper->state);
    remove_remains(keeper);
}
