#include "session/process_cursor.h"

#include "session/session.h"

#include <sandlot/sandlot.h>
#include <stdlib.h>
#include <string.h>

/* Ids are never used again, so what is known of one stays true. */
struct process_cursor {
    struct process_cursor *next;
    int64_t at;
    char id[SANDLOT_PROCESS_ID_SIZE];
};

static struct process_cursor *find(struct process_cursor *cursor, const char *id)
{
    while (cursor && strcmp(cursor->id, id) != 0)
        cursor = cursor->next;
    return cursor;
}

void process_cursors_init(struct process_cursors *cursors)
{
    *cursors = (struct process_cursors){0};
    pthread_mutex_init(&cursors->lock, NULL);
}

void process_cursors_clear(struct process_cursors *cursors)
{
    while (cursors->first) {
        struct process_cursor *next = cursors->first->next;

        free(cursors->first);
        cursors->first = next;
    }
    pthread_mutex_destroy(&cursors->lock);
}

int64_t process_cursor(struct sandlot_session *session, const char *id)
{
    pthread_mutex_lock(&session->cursors.lock);
    const struct process_cursor *cursor = find(session->cursors.first, id);
    int64_t at = cursor ? cursor->at : 0;

    pthread_mutex_unlock(&session->cursors.lock);
    return at;
}

/* NULL when out of memory. */
static struct process_cursor *add(struct process_cursors *cursors, const char *id)
{
    struct process_cursor *cursor = calloc(1, sizeof(*cursor));

    if (!cursor)
        return NULL;
    memcpy(cursor->id, id, strlen(id) + 1);
    cursor->next = cursors->first;
    cursors->first = cursor;
    return cursor;
}

void process_cursor_set(struct sandlot_session *session, const char *id, int64_t next)
{
    if (next < 0 || strlen(id) >= SANDLOT_PROCESS_ID_SIZE)
        return;
    pthread_mutex_lock(&session->cursors.lock);
    struct process_cursor *cursor = find(session->cursors.first, id);

    if (!cursor)
        cursor = add(&session->cursors, id);
    if (cursor)
        cursor->at = next;
    pthread_mutex_unlock(&session->cursors.lock);
}
