/*
 * Values as bytes and back, by the tables of abi.h. The reader trusts nothing: whatever the bytes are, it either
 * builds values that are safe to use or says that they make no sense.
 *
 * Everything is a multiple of 8 bytes long. A number is 8 bytes; a text its length with NUL (0: NULL) and then its
 * bytes; a list of texts the number of its texts and one (0: NULL) and then these; a struct 1 (0: NULL) and then its
 * fields.
 */
#ifndef SANDLOT_LOADER_WORKER_WIRE_H
#define SANDLOT_LOADER_WORKER_WIRE_H

#include "loader/worker/abi.h"

/* ---- memory that lives as long as one call ----------------------------------------------------------------------- */

struct wire_block;
struct wire_arena {
    struct wire_block *newest;
};

/* Zeroed memory; NULL when there is none. */
void *wire_allocate(struct wire_arena *arena, size_t size);
void wire_arena_clear(struct wire_arena *arena);

/* ---- bytes ------------------------------------------------------------------------------------------------------- */

struct wire_writer {
    unsigned char *bytes; /* to be freed */
    size_t length;
    size_t capacity;
    bool failed; /* there was no memory */
};

struct wire_reader {
    const unsigned char *at;
    const unsigned char *end;
    bool failed; /* the bytes make no sense, or there was no memory */
};

void wire_put_number(struct wire_writer *writer, uint64_t number);
uint64_t wire_get_number(struct wire_reader *reader);

/* ---- values ------------------------------------------------------------------------------------------------------ */

/*
 * What the two sides do in their own way. A function that a side has no use for may be NULL: then the value is
 * nonsense where it is read, and absent where it is written. Numbers begin at 1, 0 stands for nothing.
 */
struct wire_side {
    void *context;
    struct wire_arena *arena;
    /* Writing. */
    uint64_t (*object_out)(void *context, const struct wire_struct *type, const void *object);
    uint64_t (*watch_out)(void *context, const void *owner, int fd);
    uint64_t (*descriptor_out)(void *context, int fd);
    uint64_t (*handle_out)(void *context, const void *handle);
    /* Reading. */
    bool (*object_in)(void *context, const struct wire_struct *type, uint64_t number, void *object);
    int (*watch_in)(void *context, uint64_t number); /* -1: nothing to watch */
    bool (*descriptor_in)(void *context, uint64_t number, int *fd);
    bool (*handle_in)(void *context, uint64_t number, void **handle);
    bool (*call_in)(void *context, int64_t deadline_ms, uint64_t watch, void **call);
    void *(*self_in)(void *context); /* of the call or struct that is called back */
    void *(*buffer_in)(void *context, uint64_t *capacity);
    const char *(*keep)(void *context, const char *text);
};

/* ARGUMENTS: as libffi has them, one address of a value each. */
void wire_write_arguments(struct wire_writer *writer, const struct wire_side *side,
                          const struct wire_function *function, void *const *arguments);

/* Builds the arguments for a call, in memory of the arena. NULL if the bytes make no sense. */
void **wire_read_arguments(struct wire_reader *reader, const struct wire_side *side,
                           const struct wire_function *function);

/* RESULT: as libffi returns it, widened to a register. NEW_HANDLE: the number of what was stored as a handle, 0: none.
 */
void wire_write_results(struct wire_writer *writer, const struct wire_side *side, const struct wire_function *function,
                        const void *result, void *const *arguments, uint64_t new_handle);

/* Stores results where ARGUMENTS point to. *NEW_HANDLE: of a function that makes one. */
bool wire_read_results(struct wire_reader *reader, const struct wire_side *side, const struct wire_function *function,
                       void *result, void *const *arguments, uint64_t *new_handle);

/* Gives RESULT of a closure the value nothing. */
void wire_no_result(const struct wire_function *function, void *result);

#endif
