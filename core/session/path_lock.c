#include "session/path_lock.h"

#include "base/error.h"
#include "session/runtime.h"

#include <string.h>
#include <time.h>

/* How often a waiting caller looks whether it was cancelled. */
enum { LOOK_MS = 50 };

void path_locks_init(struct path_locks *locks)
{
    pthread_mutex_init(&locks->mutex, NULL);
    pthread_cond_init(&locks->released, NULL);
    locks->held = NULL;
}

void path_locks_destroy(struct path_locks *locks)
{
    pthread_cond_destroy(&locks->released);
    pthread_mutex_destroy(&locks->mutex);
}

static struct path_lock **find(struct path_locks *locks, const char *path)
{
    struct path_lock **at = &locks->held;

    while (*at && strcmp((*at)->path, path) != 0)
        at = &(*at)->next;
    return at;
}

static void wait_a_little(struct path_locks *locks)
{
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += LOOK_MS * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000L;
    until.tv_nsec %= 1000000000L;
    pthread_cond_timedwait(&locks->released, &locks->mutex, &until);
}

int path_lock_take(struct path_locks *locks, struct path_lock *lock, const char *path, int64_t deadline_ms,
                   int cancel_fd, struct sandlot_error *error)
{
    int failed = 0;

    pthread_mutex_lock(&locks->mutex);
    while (!failed && *find(locks, path)) {
        wait_a_little(locks);
        failed = cancellation_check(cancel_fd, error);
        if (!failed && deadline_ms && sandlot_now_ms() >= deadline_ms)
            failed = error_set(error, SANDLOT_CODE_TIMEOUT,
                               "another call has been changing %s for too long; try again later", path);
    }
    if (!failed) {
        *lock = (struct path_lock){locks->held, path};
        locks->held = lock;
    }
    pthread_mutex_unlock(&locks->mutex);
    return failed;
}

void path_lock_give_back(struct path_locks *locks, struct path_lock *lock)
{
    pthread_mutex_lock(&locks->mutex);
    struct path_lock **at = &locks->held;

    while (*at && *at != lock)
        at = &(*at)->next;
    if (*at)
        *at = lock->next;
    pthread_cond_broadcast(&locks->released);
    pthread_mutex_unlock(&locks->mutex);
}
