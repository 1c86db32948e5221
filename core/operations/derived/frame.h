/*
 * The answer of a script through a channel that may do anything to it that channels for text do: put lines before
 * and after, translate line ends, wrap lines at any column, drop NUL bytes, change what is not ASCII.
 *
 *   noise <MARK> NAME:WORD; NAME=DATA; ... done:0; </MARK> noise
 *
 * Only the visible ASCII characters count. DATA is LENGTH "b" BASE64 (LENGTH "u": as uuencode -m has it, "o": octal;
 * LENGTH: the characters that the encoder printed, "-" if they were not counted). Without its end a frame is
 * truncated_transport, never a short answer.
 */
#ifndef SANDLOT_OPERATIONS_DERIVED_FRAME_H
#define SANDLOT_OPERATIONS_DERIVED_FRAME_H

#include "operations/derived/script.h"
#include "operations/files.h"

#include <sandlot/sandlot.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Takes the records as they come. Each returns 0, or -1 with the error, which ends the command. Either may be NULL:
 * a record of that kind is then truncated_transport. NAME has at most FRAME_NAME bytes. */
struct frame_receiver {
    void *context;
    int (*word)(void *context, const char *name, const char *value, struct sandlot_error *error);
    /* A piece of a data record; LENGTH 0: that was all of it, and it is whole (as far as it was counted). */
    int (*data)(void *context, const char *name, const void *bytes, size_t length, struct sandlot_error *error);
};

enum { FRAME_NAME = 15, FRAME_WORD = 255 };

/*
 * Runs SCRIPT in the sandbox of CALL and hands the records of its frame to RECEIVER (NULL: there must be none). 0 if
 * it ended with s_end, and the frame is whole. Errors of the script (s_fail, s_need, s_gone) come back as those of
 * file_error.h; records that came before them have been handed over.
 */
int frame_run(const struct file_call *call, const struct script *script, const struct frame_receiver *receiver,
              struct sandlot_error *error);

/* The same with INPUT as the script's standard input. not_supported, before anything ran, if the provider cannot feed
 * it. */
int frame_run_fed(const struct file_call *call, const struct script *script, const struct sandlot_source *input,
                  const struct frame_receiver *receiver, struct sandlot_error *error);

/* ---- receiving into memory ---- */

/* Bytes that grow up to a maximum. Zero with a maximum is empty. */
struct frame_bytes {
    char *bytes;
    size_t length;
    size_t capacity;
    size_t maximum;
};

/* Appends; beyond the maximum it is truncated_transport, for the script was to send less. Afterwards bytes is not NULL.
 * 0 or -1. */
int frame_bytes_add(struct frame_bytes *bytes, const void *more, size_t length, struct sandlot_error *error);
void frame_bytes_clear(struct frame_bytes *bytes);

/* A whole number of a word. 0, or -1 with truncated_transport. */
int frame_number(const char *value, uint64_t *number, struct sandlot_error *error);

/* An answer that makes no sense: truncated_transport. -1. */
int frame_damaged(struct sandlot_error *error, const char *what);

#endif
