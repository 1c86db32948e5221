/* Cuts a stream into lines of bounded length: what is longer is thrown away as it comes, and only said to have been. */
#ifndef SANDLOT_SERVER_LINES_H
#define SANDLOT_SERVER_LINES_H

#include <stdbool.h>
#include <stddef.h>

/* Zero but for the first fields at the beginning of a stream. */
struct lines {
    size_t longest;
    /* One line, without its "\n" or "\r\n"; never one that is empty or of blanks alone. */
    void (*line)(void *context, const char *text, size_t length);
    /* There was a line that is too long, or there is no memory for it. */
    void (*too_long)(void *context);
    void *context;
    char *start; /* of a line whose end has not come yet */
    size_t length;
    size_t room;
    bool skipping; /* until the next newline */
};

/* Takes the next bytes of the stream. */
void lines_add(struct lines *lines, const char *bytes, size_t length);

/* The stream has ended: what came last counts as a line. */
void lines_end(struct lines *lines);

/* Frees what was kept. */
void lines_discard(struct lines *lines);

#endif
