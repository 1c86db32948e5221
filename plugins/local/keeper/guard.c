#include "guard.h"

#include "gauges.h"
#include "held.h"
#include "thread.h"
#include "volumes.h"

#include <sandlot/sdk/cleanup.h>

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <time.h>

enum {
    TICK_MS = 100,
    FAST_TICK_MS = 10,     /* while the disk fills fast */
    LOOK_MS = 5000,        /* a box is measured at least so often while the disk fills */
    QUIET_LOOK_MS = 60000, /* and so often while it does not */
    COST_FACTOR = 20,      /* a walk is followed by a pause of so many times its own length */
    GUARD_STACK =
        8 * 1024 * 1024, /* a folder within a folder, DEEPEST_MEASURED times; only what is used takes memory */
    CHARGED_LOOK_MS = 1000,
    BYTES_PER_ENTRY = 4096, /* a box may have one file or folder per so many bytes of its disk limit */
    FEWEST_ENTRIES = 100000
};

static const uint64_t FAR_OVER_BYTES = UINT64_C(512) << 20;
static const uint64_t NOISE_BYTES = UINT64_C(1) << 20;
static const uint64_t FAST_BYTES = UINT64_C(2) << 20; /* from one look to the next */

/* A folder with a limit: the storage of a box, or a volume. */
struct watched {
    char path[128]; /* from the folder of all boxes */
    struct usage limit;
    struct usage
        allowed; /* the limit, or what there was when it was last exceeded: so that things can be removed again */
    struct usage used;
    struct usage free_then; /* free on the file system when it was measured */
    int64_t next_look_ms;
    bool is_volume;
    bool known; /* it was measured: what a volume held before is nothing that this box did */
};

struct guarded {
    struct guarded *next;
    pid_t pid;
    uint64_t memory_bytes;
    bool charged;           /* to a control group */
    int gauges[BOX_GAUGES]; /* among the descriptors of the other threads; -1: none */
    int64_t next_memory_ms;
    enum guard_verdict verdict;
    bool busy;      /* the thread looks at it without holding the lock */
    bool removed;   /* to be freed once it is not busy */
    bool forgotten; /* what is found by the look under way no longer counts */
    size_t watched_count;
    struct watched watched[]; /* first its storage */
};

/* Of which the process has one. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct guarded *list;
    int boxes_fd;
    int wake_fd;
    int self; /* of the thread: this process */
} guard = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, NULL, -1, -1, -1};

static struct members members; /* of the box that the thread looks at */

static int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static struct usage free_now(void)
{
    struct statvfs status;

    if (fstatvfs(guard.boxes_fd, &status) < 0)
        return (struct usage){0, 0};
    return (struct usage){(uint64_t)status.f_bfree * status.f_frsize, status.f_ffree};
}

static uint64_t fallen(uint64_t then, uint64_t now)
{
    return then > now ? then - now : 0;
}

/*
 * Must the folder be measured now? It can only have exceeded its limit if as much space has gone from the file
 * system since the last look, or if somebody else freed some meanwhile; the latter is what the regular looks are for.
 */
static bool is_due(const struct watched *watched, const struct usage *now_free, int64_t now)
{
    uint64_t bytes = fallen(watched->free_then.bytes, now_free->bytes);
    uint64_t entries = fallen(watched->free_then.entries, now_free->entries);

    if (now < watched->next_look_ms)
        return false;
    if (bytes + watched->used.bytes > watched->allowed.bytes ||
        entries + watched->used.entries > watched->allowed.entries || (watched->is_volume && !watched->known))
        return true;
    return now >= watched->next_look_ms + (bytes > NOISE_BYTES ? LOOK_MS : QUIET_LOOK_MS);
}

/* How far a folder is counted. */
static struct usage bound_of(const struct watched *watched)
{
    return (struct usage){watched->limit.bytes * 2 + FAR_OVER_BYTES, watched->limit.entries * 2};
}

/* Adds up what is in the folder, and of a box's storage what is removed already, but in its processes' hands. */
static struct usage measure(const struct guarded *guarded, const struct watched *watched)
{
    const struct usage bound = bound_of(watched);
    struct usage used = {0, 0};
    struct held held = {0, 0};

    walk_measure(guard.boxes_fd, watched->path, &bound, &used);
    if (watched->is_volume)
        return used;
    members_find(&members, guarded->pid);
    held_measure(&members, 0, &held);
    used.bytes += held.disk_bytes;
    return used;
}

static void raise_to(struct usage *allowed, const struct usage *used)
{
    if (used->bytes > allowed->bytes)
        allowed->bytes = used->bytes;
    if (used->entries > allowed->entries)
        allowed->entries = used->entries;
}

/* What USED, which was just measured, means. */
static enum guard_verdict judge(struct watched *watched, const struct usage *used)
{
    const struct usage bound = bound_of(watched);
    /* What cannot be counted could grow unseen: a volume with that is no good to any box. */
    const bool is_first =
        watched->is_volume && !watched->known && used->bytes <= bound.bytes && used->entries <= bound.entries;

    watched->known = true;
    if (used->bytes <= watched->limit.bytes && used->entries <= watched->limit.entries)
        watched->allowed = watched->limit;
    if (is_first)
        raise_to(&watched->allowed, used);
    if (used->bytes <= watched->allowed.bytes && used->entries <= watched->allowed.entries)
        return GUARD_FINE;
    if (used->entries == WALK_TOO_DEEP && !watched->is_volume)
        return GUARD_TOO_DEEP;
    if (used->bytes > watched->limit.bytes + watched->limit.bytes / 4 + FAR_OVER_BYTES ||
        used->entries > watched->limit.entries + watched->limit.entries / 4)
        return watched->is_volume ? GUARD_FAR_OVER_VOLUME : GUARD_FAR_OVER;
    raise_to(&watched->allowed, used);
    return watched->is_volume ? GUARD_OVER_VOLUME : GUARD_OVER_DISK;
}

static enum guard_verdict look_at_folder(const struct guarded *guarded, struct watched *watched,
                                         const struct usage *now_free)
{
    int64_t start = now_ms();

    if (!is_due(watched, now_free, start))
        return GUARD_FINE;
    const struct usage used = measure(guarded, watched);
    const uint64_t grown = fallen(used.bytes, watched->used.bytes);
    /* A box that takes the space itself is not let out of sight; where somebody else does, looking costs more than it
     * tells. */
    const bool growing = grown > NOISE_BYTES && grown >= fallen(watched->free_then.bytes, now_free->bytes) / 2;

    watched->used = used;
    watched->free_then = *now_free;
    watched->next_look_ms = now_ms() + (now_ms() - start) * (growing ? 1 : COST_FACTOR);
    return judge(watched, &used);
}

static enum guard_verdict look_at_disk(struct guarded *guarded, const struct usage *now_free)
{
    enum guard_verdict verdict = GUARD_FINE;

    for (size_t i = 0; i < guarded->watched_count && verdict == GUARD_FINE; i++)
        verdict = look_at_folder(guarded, &guarded->watched[i], now_free);
    return verdict;
}

/* What the box's file system in memory holds, and its device, as the first process of the box shows it that lets. */
static uint64_t memory_on_files(dev_t *device)
{
    struct statvfs space;
    struct stat status;
    char path[64];

    for (size_t i = 1; i < members.count; i++) {
        snprintf(path, sizeof(path), "/proc/%d/root/dev/shm", members.pids[i]);
        if (stat(path, &status) < 0 || statvfs(path, &space) < 0)
            continue;
        *device = status.st_dev;
        return (uint64_t)(space.f_blocks - space.f_bfree) * space.f_frsize;
    }
    return 0;
}

/* Takes copies of the gauges, for this thread has descriptors of its own. */
static void take_gauges(const struct guarded *guarded, int gauges[BOX_GAUGES])
{
    for (size_t i = 0; i < BOX_GAUGES; i++)
        gauges[i] = (int)syscall(SYS_pidfd_getfd, guard.self, guarded->gauges[i], 0);
}

/* The answers of the kernel that nobody takes: no control group is charged with them. */
static enum guard_verdict look_at_uncharged(struct guarded *guarded)
{
    int gauges[BOX_GAUGES];

    if (now_ms() < guarded->next_memory_ms)
        return GUARD_FINE;
    guarded->next_memory_ms = now_ms() + CHARGED_LOOK_MS;
    if (proc_is_childless(guarded->pid))
        return GUARD_FINE;
    take_gauges(guarded, gauges);
    const uint64_t total = gauges_netlink(gauges);

    for (size_t i = 0; i < BOX_GAUGES; i++)
        cleanup_close(&gauges[i]);
    return total > guarded->memory_bytes ? GUARD_OVER_MEMORY : GUARD_FINE;
}

static enum guard_verdict look_at_memory(struct guarded *guarded)
{
    const int64_t start = now_ms();
    int gauges[BOX_GAUGES];
    struct held held = {0, 0};
    dev_t device = 0;

    if (start < guarded->next_memory_ms)
        return GUARD_FINE;
    members_find(&members, guarded->pid);
    take_gauges(guarded, gauges);
    /* What the end of all processes would not free. */
    const uint64_t lasting = gauges_system_v(gauges);
    uint64_t total = lasting + (proc_is_childless(guarded->pid) ? 0 : gauges_sockets(gauges));

    /* The reduced box, which has no gauges, has no /dev/shm of its own either. */
    if (guarded->gauges[0] >= 0)
        total += memory_on_files(&device);

    for (size_t i = 0; i < BOX_GAUGES; i++)
        cleanup_close(&gauges[i]);
    for (size_t i = 0; i < members.count; i++)
        total += member_memory(members.pids[i]);
    if (total <= guarded->memory_bytes) {
        held_measure(&members, device, &held);
        total += held.memory_bytes;
    }
    guarded->next_memory_ms = now_ms() + (now_ms() - start) * COST_FACTOR;
    if (lasting > guarded->memory_bytes)
        return GUARD_FAR_OVER_MEMORY;
    return total > guarded->memory_bytes ? GUARD_OVER_MEMORY : GUARD_FINE;
}

static enum guard_verdict look(struct guarded *guarded, const struct usage *now_free)
{
    enum guard_verdict disk = look_at_disk(guarded, now_free);

    if (disk != GUARD_FINE || guarded->memory_bytes == 0)
        return disk;
    return guarded->charged ? look_at_uncharged(guarded) : look_at_memory(guarded);
}

static void forget(struct guarded *guarded, const struct usage *now_free)
{
    guarded->watched[0].used = (struct usage){0, 0};
    guarded->watched[0].free_then = *now_free;
    guarded->verdict = GUARD_FINE;
    guarded->forgotten = false;
}

/* Looks at all boxes once. Called with the lock held, and lets go of it during each look. */
static void look_at_all(const struct usage *now_free)
{
    bool found = false;

    for (struct guarded *guarded = guard.list; guarded; guarded = guarded->next) {
        if (guarded->removed || guarded->verdict != GUARD_FINE)
            continue;
        guarded->busy = true;
        pthread_mutex_unlock(&guard.lock);
        enum guard_verdict verdict = look(guarded, now_free);

        pthread_mutex_lock(&guard.lock);
        guarded->busy = false;
        guarded->verdict = verdict;
        if (guarded->forgotten)
            forget(guarded, now_free);
        found = found || guarded->verdict != GUARD_FINE;
    }
    if (found && write(guard.wake_fd, &(uint64_t){1}, sizeof(uint64_t)) < 0)
        return; /* the counter is full: the other thread is awake */
}

/*
 * Gives this thread descriptors of its own, so that all that the process may have are there for deep folders, however
 * many boxes there are.
 */
static void leave_descriptors(void)
{
    unsigned kept[] = {(unsigned)guard.boxes_fd, (unsigned)guard.wake_fd};
    const unsigned low = kept[0] < kept[1] ? kept[0] : kept[1];
    const unsigned high = kept[0] < kept[1] ? kept[1] : kept[0];

    if (unshare(CLONE_FILES) < 0)
        return;
    if (low > 0)
        close_range(0, low - 1, 0);
    if (high > low + 1)
        close_range(low + 1, high - 1, 0);
    close_range(high + 1, ~0U, 0);
}

static void *watch(void *nothing)
{
    struct usage before = {0, 0};

    (void)nothing;
    leave_descriptors();
    guard.self = (int)syscall(SYS_pidfd_open, getpid(), 0);
    pthread_mutex_lock(&guard.lock);
    for (;;) {
        while (!guard.list)
            pthread_cond_wait(&guard.changed, &guard.lock);
        const struct usage now_free = free_now();
        const bool fast = fallen(before.bytes, now_free.bytes) > FAST_BYTES;

        before = now_free;
        look_at_all(&now_free);
        pthread_mutex_unlock(&guard.lock);
        nanosleep(&(struct timespec){0, (fast ? FAST_TICK_MS : TICK_MS) * 1000000L}, NULL);
        pthread_mutex_lock(&guard.lock);
    }
    return NULL;
}

int guard_start(int boxes_fd, int wake_fd)
{
    guard.boxes_fd = boxes_fd;
    guard.wake_fd = wake_fd;
    return thread_start(watch, GUARD_STACK);
}

/* Frees what was removed and is not looked at now. Here and not in the thread, which must not call free(3). */
static void free_removed(void)
{
    for (struct guarded **at = &guard.list; *at;) {
        struct guarded *guarded = *at;

        if (guarded->removed && !guarded->busy) {
            *at = guarded->next;
            for (size_t i = 0; i < BOX_GAUGES; i++)
                cleanup_close(&guarded->gauges[i]);
            free(guarded);
        } else {
            at = &guarded->next;
        }
    }
}

/* Fills in WATCHED, whose path is there. */
static void begin(struct watched *watched, uint64_t limit_bytes, bool is_volume)
{
    watched->limit.bytes = limit_bytes;
    watched->limit.entries = limit_bytes / BYTES_PER_ENTRY;
    if (watched->limit.entries < FEWEST_ENTRIES)
        watched->limit.entries = FEWEST_ENTRIES;
    watched->allowed = watched->limit;
    watched->free_then = free_now();
    watched->next_look_ms = now_ms();
    watched->is_volume = is_volume;
}

struct guarded *guard_add(const char *id, pid_t pid, uint64_t disk_bytes, uint64_t memory_bytes, bool charged,
                          const int gauges[BOX_GAUGES], const struct guarded_volume *volumes, size_t volume_count)
{
    struct guarded *guarded = calloc(1, sizeof(*guarded) + (1 + volume_count) * sizeof(*guarded->watched));

    if (!guarded) {
        for (size_t i = 0; i < BOX_GAUGES; i++)
            cleanup_close(&gauges[i]);
        return NULL;
    }
    guarded->pid = pid;
    guarded->watched_count = 1 + volume_count;
    snprintf(guarded->watched[0].path, sizeof(guarded->watched[0].path), "%.32s/storage", id);
    begin(&guarded->watched[0], disk_bytes, false);
    for (size_t i = 0; i < volume_count; i++) {
        struct watched *watched = &guarded->watched[1 + i];

        snprintf(watched->path, sizeof(watched->path), "../volumes/%.64s/" VOLUME_FILES, volumes[i].name);
        begin(watched, volumes[i].limit_bytes, true);
    }
    guarded->memory_bytes = memory_bytes;
    guarded->charged = charged;
    memcpy(guarded->gauges, gauges, sizeof(guarded->gauges));
    pthread_mutex_lock(&guard.lock);
    free_removed();
    guarded->next = guard.list;
    guard.list = guarded;
    pthread_cond_signal(&guard.changed);
    pthread_mutex_unlock(&guard.lock);
    return guarded;
}

void guard_remove(struct guarded *guarded)
{
    if (!guarded)
        return;
    pthread_mutex_lock(&guard.lock);
    guarded->removed = true;
    free_removed();
    pthread_mutex_unlock(&guard.lock);
}

uint64_t guard_estimate(struct guarded *guarded)
{
    const struct usage now_free = free_now();

    pthread_mutex_lock(&guard.lock);
    const struct watched *storage = &guarded->watched[0];
    const uint64_t most = guarded->busy
                              ? UINT64_MAX
                              : storage->used.bytes + fallen(storage->free_then.bytes, now_free.bytes) + NOISE_BYTES;

    pthread_mutex_unlock(&guard.lock);
    return most;
}

void guard_forget(struct guarded *guarded)
{
    const struct usage now_free = free_now();

    pthread_mutex_lock(&guard.lock);
    if (guarded->busy)
        guarded->forgotten = true;
    else
        forget(guarded, &now_free);
    pthread_mutex_unlock(&guard.lock);
}

enum guard_verdict guard_take(struct guarded *guarded)
{
    pthread_mutex_lock(&guard.lock);
    enum guard_verdict verdict = guarded->verdict;

    guarded->verdict = GUARD_FINE;
    pthread_mutex_unlock(&guard.lock);
    return verdict;
}
