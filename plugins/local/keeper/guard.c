#include "guard.h"

#include <sandlot/sdk/cleanup.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <time.h>

enum {
    TICK_MS = 100,
    LOOK_MS = 5000,        /* a box is measured at least so often while the disk fills */
    QUIET_LOOK_MS = 60000, /* and so often while it does not */
    COST_FACTOR = 20,      /* a walk is followed by a pause of so many times its own length */
    GUARD_STACK =
        8 * 1024 * 1024, /* a folder within a folder, DEEPEST_MEASURED times; only what is used takes memory */
    MOST_PROCESSES = 8192,
    BYTES_PER_ENTRY = 4096, /* a box may have one file or folder per so many bytes of its disk limit */
    FEWEST_ENTRIES = 100000
};

static const uint64_t FAR_OVER_BYTES = UINT64_C(512) << 20;
static const uint64_t NOISE_BYTES = UINT64_C(1) << 20;

struct guarded {
    struct guarded *next;
    char id[32];
    pid_t pid;
    struct usage limit;
    struct usage
        allowed; /* the limit, or what there was when it was last exceeded: so that things can be removed again */
    struct usage used;
    struct usage free_then; /* free on the file system when the box was measured */
    uint64_t memory_bytes;
    int64_t next_look_ms;
    enum guard_verdict verdict;
    bool busy;    /* the thread looks at it without holding the lock */
    bool removed; /* to be freed once it is not busy */
};

/* Of which the process has one. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct guarded *list;
    int boxes_fd;
    int wake_fd;
} guard = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, NULL, -1, -1};

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
 * Must the box be measured now? It can only have exceeded its limit if as much space has gone from the file
 * system since the last look, or if somebody else freed some meanwhile; the latter is what the regular looks are for.
 */
static bool is_due(const struct guarded *guarded, const struct usage *now_free, int64_t now)
{
    uint64_t bytes = fallen(guarded->free_then.bytes, now_free->bytes);
    uint64_t entries = fallen(guarded->free_then.entries, now_free->entries);

    if (now < guarded->next_look_ms)
        return false;
    if (bytes + guarded->used.bytes > guarded->allowed.bytes ||
        entries + guarded->used.entries > guarded->allowed.entries)
        return true;
    return now >= guarded->next_look_ms + (bytes > NOISE_BYTES ? LOOK_MS : QUIET_LOOK_MS);
}

static enum guard_verdict look_at_disk(struct guarded *guarded, const struct usage *now_free)
{
    int64_t start = now_ms();
    struct usage bound = {guarded->limit.bytes * 2 + FAR_OVER_BYTES, guarded->limit.entries * 2};
    struct usage used = {0, 0};
    char path[64];

    if (!is_due(guarded, now_free, start))
        return GUARD_FINE;
    snprintf(path, sizeof(path), "%s/storage", guarded->id);
    walk_measure(guard.boxes_fd, path, &bound, &used);
    guarded->used = used;
    guarded->free_then = *now_free;
    guarded->next_look_ms = now_ms() + (now_ms() - start) * COST_FACTOR;
    if (used.bytes <= guarded->limit.bytes && used.entries <= guarded->limit.entries)
        guarded->allowed = guarded->limit;
    if (used.bytes <= guarded->allowed.bytes && used.entries <= guarded->allowed.entries)
        return GUARD_FINE;
    if (used.bytes > guarded->limit.bytes + guarded->limit.bytes / 4 + FAR_OVER_BYTES ||
        used.entries > guarded->limit.entries + guarded->limit.entries / 4)
        return GUARD_FAR_OVER;
    if (used.bytes > guarded->allowed.bytes)
        guarded->allowed.bytes = used.bytes;
    if (used.entries > guarded->allowed.entries)
        guarded->allowed.entries = used.entries;
    return GUARD_OVER_DISK;
}

/* Reads a file of /proc as text; "" if it is gone. */
static void read_text(const char *path, char *text, size_t size)
{
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd >= 0 ? read(fd, text, size - 1) : 0;

    text[got > 0 ? got : 0] = '\0';
}

/* Adds the children that thread THREAD of process PID has. */
static size_t add_children(pid_t pid, const char *thread, pid_t *pids, size_t count)
{
    char path[96];
    char text[4096];

    snprintf(path, sizeof(path), "/proc/%d/task/%.16s/children", pid, thread);
    read_text(path, text, sizeof(text));
    for (char *at = text, *end; count < MOST_PROCESSES; at = end) {
        long child = strtol(at, &end, 10);

        if (end == at || (*end != ' ' && *end != '\0'))
            break;
        pids[count++] = (pid_t)child;
    }
    return count;
}

static size_t add_children_of_all_threads(pid_t pid, pid_t *pids, size_t count)
{
    _Alignas(struct dirent64) char listing[2048];
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/task", pid);
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    for (ssize_t length; fd >= 0 && (length = getdents64(fd, listing, sizeof(listing))) > 0;)
        for (ssize_t at = 0; at < length;) {
            struct dirent64 *entry = (struct dirent64 *)(void *)(listing + at);

            at += entry->d_reclen;
            if (*entry->d_name != '.')
                count = add_children(pid, entry->d_name, pids, count);
        }
    return count;
}

/* The memory that a process has for itself. */
static uint64_t own_memory(pid_t pid)
{
    char path[64];
    char text[128];
    unsigned long resident = 0;
    unsigned long shared = 0;

    snprintf(path, sizeof(path), "/proc/%d/statm", pid);
    read_text(path, text, sizeof(text));
    if (sscanf(text, "%*u %lu %lu", &resident, &shared) != 2 || resident < shared)
        return 0;
    return (uint64_t)(resident - shared) * (uint64_t)sysconf(_SC_PAGESIZE);
}

static enum guard_verdict look_at_memory(const struct guarded *guarded)
{
    static pid_t pids[MOST_PROCESSES];
    size_t count = 1;
    uint64_t total = 0;

    pids[0] = guarded->pid;
    for (size_t i = 0; i < count; i++) {
        count = add_children_of_all_threads(pids[i], pids, count);
        total += own_memory(pids[i]);
    }
    return total > guarded->memory_bytes ? GUARD_OVER_MEMORY : GUARD_FINE;
}

static enum guard_verdict look(struct guarded *guarded, const struct usage *now_free)
{
    enum guard_verdict disk = look_at_disk(guarded, now_free);

    if (disk != GUARD_FINE || guarded->memory_bytes == 0)
        return disk;
    return look_at_memory(guarded);
}

/* Looks at all boxes once. Called with the lock held, and lets go of it during each look. */
static void look_at_all(void)
{
    const struct usage now_free = free_now();
    bool found = false;

    for (struct guarded *guarded = guard.list; guarded; guarded = guarded->next) {
        if (guarded->removed || guarded->verdict != GUARD_FINE)
            continue;
        guarded->busy = true;
        pthread_mutex_unlock(&guard.lock);
        enum guard_verdict verdict = look(guarded, &now_free);

        pthread_mutex_lock(&guard.lock);
        guarded->busy = false;
        guarded->verdict = verdict;
        found = found || verdict != GUARD_FINE;
    }
    if (found && write(guard.wake_fd, &(uint64_t){1}, sizeof(uint64_t)) < 0)
        return; /* the counter is full: the other thread is awake */
}

static void *watch(void *nothing)
{
    (void)nothing;
    pthread_mutex_lock(&guard.lock);
    for (;;) {
        while (!guard.list)
            pthread_cond_wait(&guard.changed, &guard.lock);
        look_at_all();
        pthread_mutex_unlock(&guard.lock);
        nanosleep(&(struct timespec){0, TICK_MS * 1000000L}, NULL);
        pthread_mutex_lock(&guard.lock);
    }
    return NULL;
}

int guard_start(int boxes_fd, int wake_fd)
{
    pthread_attr_t attributes;
    pthread_t thread;

    guard.boxes_fd = boxes_fd;
    guard.wake_fd = wake_fd;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, GUARD_STACK);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    errno = pthread_create(&thread, &attributes, watch, NULL);
    pthread_attr_destroy(&attributes);
    return errno ? -1 : 0;
}

/* Frees what was removed and is not looked at now. Here and not in the thread, which must not call free(3). */
static void free_removed(void)
{
    for (struct guarded **at = &guard.list; *at;) {
        struct guarded *guarded = *at;

        if (guarded->removed && !guarded->busy) {
            *at = guarded->next;
            free(guarded);
        } else {
            at = &guarded->next;
        }
    }
}

struct guarded *guard_add(const char *id, pid_t pid, uint64_t disk_bytes, uint64_t memory_bytes)
{
    struct guarded *guarded = calloc(1, sizeof(*guarded));

    if (!guarded)
        return NULL;
    snprintf(guarded->id, sizeof(guarded->id), "%s", id);
    guarded->pid = pid;
    guarded->limit.bytes = disk_bytes;
    guarded->limit.entries = disk_bytes / BYTES_PER_ENTRY;
    if (guarded->limit.entries < FEWEST_ENTRIES)
        guarded->limit.entries = FEWEST_ENTRIES;
    guarded->allowed = guarded->limit;
    guarded->free_then = free_now();
    guarded->memory_bytes = memory_bytes;
    guarded->next_look_ms = now_ms();
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

enum guard_verdict guard_take(struct guarded *guarded)
{
    pthread_mutex_lock(&guard.lock);
    enum guard_verdict verdict = guarded->verdict;

    guarded->verdict = GUARD_FINE;
    pthread_mutex_unlock(&guard.lock);
    return verdict;
}
