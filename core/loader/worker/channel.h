/*
 * One connection between host and worker: a stream socket for messages, and memory that both have mapped for bytes.
 *
 * On the socket the two take turns: the host sends CALL, the worker answers with CALLBACK, which the host answers with
 * REPLY, and so on, until the worker sends RETURN. Only DATA, "look into the ring", is not answered.
 *
 * What a provider writes to a sink goes into a ring (one copy) from which the host feeds the sink, while the provider
 * goes on. What it reads from a source the host puts into a buffer beside the ring, from which it is copied once.
 * Bytes in the ring come before the message that is sent after them.
 */
#ifndef SANDLOT_LOADER_WORKER_CHANNEL_H
#define SANDLOT_LOADER_WORKER_CHANNEL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum channel_message_type { CHANNEL_CALL = 1, CHANNEL_CALLBACK, CHANNEL_REPLY, CHANNEL_RETURN, CHANNEL_DATA };

/* What stands before the bytes of every message. */
struct channel_header {
    uint32_t length;
    uint32_t type;
};

enum {
    CHANNEL_WATCHES = 4, /* descriptors that can be followed at a time: cancellation, input, size of a window */
    CHANNEL_DESCRIPTORS = 2 + CHANNEL_WATCHES, /* of a connection when it is handed over: socket, memory, watches */
    CHANNEL_GIFTS = 4,                         /* descriptors that the worker can give away with one message */
    CHANNEL_RING = 1 << 19,                    /* with what it is filled from, well within the cache of a processor */
    CHANNEL_RECORDS = 1024,
    CHANNEL_PIECE = 1 << 18, /* the most that is handed to a sink at once */
    CHANNEL_MANY = 1 << 15,  /* so many bytes at once are a part of more */
    CHANNEL_BUFFER = 1 << 18,
    CHANNEL_LARGEST_ANSWER = 1 << 20, /* of a message from the worker */
    CHANNEL_LARGEST_CALL = 1 << 30
};

/* What one side does for the other, so that this one can look out for it without going to sleep. */
struct channel_pulse {
    _Alignas(64) _Atomic uint32_t beats;
    _Atomic uint32_t processor; /* on which it ran at the last beat */
};

/* Bytes in the ring, one after the other; each record begins at a multiple of 64. */
struct channel_record {
    uint32_t stream;
    uint32_t length;
};

/* The memory. Whatever the worker writes here is only a claim. All counters go on modulo 2^32. */
struct channel_memory {
    _Atomic uint32_t put;    /* records */
    _Atomic uint32_t filled; /* bytes of the ring */
    _Atomic uint32_t host_sleeps;
    _Alignas(64) _Atomic uint32_t taken; /* records */
    _Atomic uint32_t emptied;            /* bytes of the ring: a futex for the worker */
    _Atomic uint32_t worker_sleeps;
    _Atomic int32_t stopped; /* the status of a sink that takes no more in this call */
    struct channel_pulse worker;
    struct channel_pulse host;
    struct channel_record records[CHANNEL_RECORDS];
    _Alignas(4096) unsigned char buffer[CHANNEL_BUFFER];
    unsigned char ring[CHANNEL_RING];
};

/* The memory of a new connection, which nobody can make smaller: its descriptor, or -1 with errno. */
int channel_make_memory(void);
/* NULL with errno. */
struct channel_memory *channel_map(int fd);
void channel_unmap(struct channel_memory *memory);

/*
 * What the worker polls: readable or not, as the host sets it. A timer, because whoever shares its descriptor can make
 * neither of that wait, as he could with an eventfd that he fills and makes blocking.
 */
int channel_make_watch(void);
void channel_set_watch(int watch, bool readable);

/* ---- the pulse --------------------------------------------------------------------------------------------------- */

/* One of the two has put bytes into the memory, taken some out, or sent a message. */
void channel_beat(struct channel_pulse *own);

/*
 * Looks for a moment whether the OTHER side goes on from SEEN beats, and returns whether it does: while many bytes are
 * moved it is about to, and to sleep and be woken takes longer than that. Not if it last ran on this processor, which
 * it then waits for.
 */
bool channel_watch(const struct channel_pulse *other, uint32_t seen);

/* ---- the ring ---------------------------------------------------------------------------------------------------- */

/* The worker: puts BYTES for sink STREAM in, and waits for room. DOORBELL is called when the host is asleep. Returns
 * what the host has stopped the call with, 0 for nothing. */
int32_t channel_write(struct channel_memory *memory, uint32_t stream, const void *bytes, size_t length,
                      void (*doorbell)(void *context), void *context);

/* The host's end. */
struct channel_reader {
    struct channel_memory *memory;
    uint32_t taken; /* the truth about what the memory says */
    uint32_t emptied;
};

/* Bytes in the ring for one sink, as many as lie together. */
struct channel_piece {
    uint32_t stream;
    const unsigned char *bytes;
    size_t length;
    uint32_t records;
};

enum channel_look { CHANNEL_EMPTY, CHANNEL_PIECE_READY, CHANNEL_NONSENSE };

enum channel_look channel_look(const struct channel_reader *reader, struct channel_piece *piece);
void channel_take(struct channel_reader *reader, const struct channel_piece *piece);

/* Announces that the host is going to wait for the socket; false if there is something in the ring. */
bool channel_fall_asleep(const struct channel_reader *reader);
void channel_wake_up(const struct channel_reader *reader);

#endif
