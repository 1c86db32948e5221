/*
 * One call of a function in the worker: arguments go there, what the provider calls meanwhile is served on this
 * thread, results come back. The other side is hostile: it may say nothing, nonsense, or never stop.
 */
#ifndef SANDLOT_LOADER_WORKER_DIALOGUE_H
#define SANDLOT_LOADER_WORKER_DIALOGUE_H

#include "loader/worker/process.h"
#include "loader/worker/wire.h"

enum dialogue_end {
    DIALOGUE_RETURNED,
    DIALOGUE_LOST,     /* the worker has ended or closed the connection */
    DIALOGUE_LATE,     /* it did not return after its deadline or a cancellation */
    DIALOGUE_NONSENSE, /* what it sent cannot be */
    DIALOGUE_NO_MEMORY /* here */
};

/* What the caller of a dialogue adds to it. */
struct dialogue_rules {
    void *context;
    /* The number by which the worker knows HANDLE. */
    uint64_t (*handle_number)(void *context, const void *handle);
    /* Before FUNCTION is called back; false: it is not, and returns nothing. */
    bool (*permit)(void *context, const struct wire_function *function, void *const *arguments);
    /* TEXT for as long as the provider is loaded; NULL: that is too much. */
    const char *(*keep)(void *context, const char *text);
};

/* What a provider may take after its deadline or a cancellation before it is ended. It has promised to need a second at
 * most; the rest is for a busy machine. */
enum { DIALOGUE_GRACE_MS = 3000 };

/* A call without a struct sandlot_call ends by this much later. */
enum { DIALOGUE_CALLLESS_MS = 10 * 1000 };

/*
 * Calls FUNCTION, number NUMBER of wire_functions. ARENA: memory for what the results point to. RESULT and ARGUMENTS as
 * libffi has them. *NEW_HANDLE: the worker's number of what was made.
 */
enum dialogue_end dialogue_run(struct worker_connection *connection, uint64_t number,
                               const struct wire_function *function, const struct dialogue_rules *rules,
                               struct wire_arena *arena, void *result, void *const *arguments, uint64_t *new_handle);

#endif
