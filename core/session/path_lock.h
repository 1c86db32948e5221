/* Callers that change the same file of a sandbox take turns. */
#ifndef SANDLOT_SESSION_PATH_LOCK_H
#define SANDLOT_SESSION_PATH_LOCK_H

#include <pthread.h>
#include <sandlot/sandlot.h>
#include <stdint.h>

/* One path that is held. Lives on the holder's stack. */
struct path_lock {
    struct path_lock *next;
    const char *path;
};

/* The paths of one sandbox that are held now. */
struct path_locks {
    pthread_mutex_t mutex;
    pthread_cond_t released;
    struct path_lock *held;
};

void path_locks_init(struct path_locks *locks);
void path_locks_destroy(struct path_locks *locks);

/* Waits until nobody else holds PATH, until DEADLINE_MS or CANCEL_FD. 0, then LOCK is to be given back; or -1. PATH
 * stays the caller's and must live as long as the lock. */
int path_lock_take(struct path_locks *locks, struct path_lock *lock, const char *path, int64_t deadline_ms,
                   int cancel_fd, struct sandlot_error *error);
void path_lock_give_back(struct path_locks *locks, struct path_lock *lock);

#endif
