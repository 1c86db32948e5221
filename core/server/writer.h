/*
 * The one writer of a stream: whole lines, in the order in which they were given, from any thread. Nobody waits for a
 * client that does not read, but those that may; what it has not read yet is bounded.
 */
#ifndef SANDLOT_SERVER_WRITER_H
#define SANDLOT_SERVER_WRITER_H

#include <stdbool.h>
#include <stddef.h>

struct writer;

enum writer_manner {
    WRITER_NOW,   /* never waits */
    WRITER_WAIT,  /* waits while much is unread */
    WRITER_MAYBE, /* is left out while something is unread */
};

/* FD stays the caller's. BROKEN is called, once, on any thread, when the reader is gone or hopelessly behind. NULL when
 * out of memory. */
struct writer *writer_new(int fd, void (*broken)(void *context), void *context);

/* Sends TEXT and a newline. */
void writer_send(struct writer *writer, enum writer_manner manner, const char *text, size_t length);

/* Waits until all is written, at most TIMEOUT_MS. */
void writer_flush(struct writer *writer, int timeout_ms);

/* From now on nothing is sent, and nobody waits. */
void writer_stop(struct writer *writer);

/* No thread may use it any more. */
void writer_free(struct writer *writer);

#endif
