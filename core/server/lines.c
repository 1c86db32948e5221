#include "server/lines.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_ROOM = 4096, ROOM_KEPT = 256 * 1024 };

/* A line of blanks alone is an empty one. */
static void deliver(const struct lines *lines, const char *text, size_t length)
{
    size_t blanks = 0;

    if (length > 0 && text[length - 1] == '\r')
        length--;
    while (blanks < length && (text[blanks] == ' ' || text[blanks] == '\t'))
        blanks++;
    if (blanks < length)
        lines->line(lines->context, text, length);
}

/* A line that was long once must not cost its memory for ever. */
static void forget(struct lines *lines)
{
    lines->length = 0;
    if (lines->room <= ROOM_KEPT)
        return;
    free(lines->start);
    lines->start = NULL;
    lines->room = 0;
}

static void give_up(struct lines *lines)
{
    forget(lines);
    lines->skipping = true;
    lines->too_long(lines->context);
}

static bool make_room(struct lines *lines, size_t wanted)
{
    size_t room = lines->room ? lines->room : FIRST_ROOM;

    while (room < wanted)
        room *= 2;
    if (room == lines->room)
        return true;
    char *grown = realloc(lines->start, room);

    if (!grown)
        return false;
    lines->start = grown;
    lines->room = room;
    return true;
}

/* The beginning of a line, or more of it. */
static void keep(struct lines *lines, const char *bytes, size_t length)
{
    if (lines->skipping || length == 0)
        return;
    /* One more for the "\r" of a line that just fits. */
    if (lines->length + length > lines->longest + 1 || !make_room(lines, lines->length + length)) {
        give_up(lines);
        return;
    }
    memcpy(lines->start + lines->length, bytes, length);
    lines->length += length;
}

/* The rest of a line, up to its newline. */
static void finish(struct lines *lines, const char *bytes, size_t length)
{
    size_t whole = lines->length + length;
    char last = length ? bytes[length - 1] : lines->length ? lines->start[lines->length - 1] : '\0';

    if (!lines->skipping && whole - (last == '\r') > lines->longest)
        give_up(lines);
    if (!lines->skipping && lines->length == 0) {
        deliver(lines, bytes, length);
    } else if (!lines->skipping) {
        keep(lines, bytes, length);
        if (!lines->skipping)
            deliver(lines, lines->start, lines->length);
    }
    lines->skipping = false;
    forget(lines);
}

void lines_add(struct lines *lines, const char *bytes, size_t length)
{
    while (length > 0) {
        const char *newline = memchr(bytes, '\n', length);
        size_t piece = newline ? (size_t)(newline - bytes) : length;

        if (!newline) {
            keep(lines, bytes, piece);
            return;
        }
        finish(lines, bytes, piece);
        bytes += piece + 1;
        length -= piece + 1;
    }
}

void lines_end(struct lines *lines)
{
    if (!lines->skipping && lines->length > 0)
        finish(lines, "", 0);
}

void lines_discard(struct lines *lines)
{
    free(lines->start);
    lines->start = NULL;
    lines->length = 0;
    lines->room = 0;
}
