/* Up to which byte of its output an agent has seen each background process of a session: the next look begins there. */
#ifndef SANDLOT_SESSION_PROCESS_CURSOR_H
#define SANDLOT_SESSION_PROCESS_CURSOR_H

#include <pthread.h>
#include <stdint.h>

struct sandlot_session;
struct process_cursor;

struct process_cursors {
    pthread_mutex_t lock; /* of what follows */
    struct process_cursor *first;
};

void process_cursors_init(struct process_cursors *cursors);
void process_cursors_clear(struct process_cursors *cursors);

/* 0 for one that was not looked at yet. Any thread. */
int64_t process_cursor(struct sandlot_session *session, const char *id);

/* Where there is no memory for it the next look begins where this one did. */
void process_cursor_set(struct sandlot_session *session, const char *id, int64_t next);

#endif
