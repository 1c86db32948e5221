/* Reads what a script prints of files: lines, and between them bytes that are somebody else's. */
#ifndef SANDLOT_SDK_LIB_PRINTED_READER_H
#define SANDLOT_SDK_LIB_PRINTED_READER_H

#include <sandlot/provider.h>

struct printed_reader {
    struct sandlot_sink sink;        /* what the output is written to */
    uint64_t left;                   /* bytes that come before the next line */
    const struct sandlot_sink *body; /* where they go */

    char *line; /* memory of SIZE bytes */
    size_t size;
    size_t used;
    /* Takes a line, without its end; may change it, `left` and `body`. NULL: it was too long. */
    enum sandlot_status (*take_line)(void *context, char *line);
    /* The last of the bytes has come; may set `left` and `body` for more. NULL: nothing is to be done then. */
    void (*take_end)(void *context);
    void *context;
};

/* Sets READER's sink; what follows `body` is the caller's to set. It must not be moved afterwards. */
void printed_reader_open(struct printed_reader *reader);

#endif
