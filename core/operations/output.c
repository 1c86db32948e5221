#include "operations/output.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_CAPACITY = 4096 };

void output_init(struct output *output, uint64_t limit)
{
    size_t most = SIZE_MAX / 4;

    *output = (struct output){.limit = limit < 2 ? 2 : limit > most ? most : (size_t)limit};
}

void output_clear(struct output *output)
{
    free(output->bytes);
    *output = (struct output){0};
}

static bool reserve(struct output *output, size_t wanted)
{
    size_t capacity = output->capacity ? output->capacity : FIRST_CAPACITY;

    if (wanted <= output->capacity)
        return true;
    while (capacity < wanted)
        capacity *= 2;
    if (capacity > output->limit + 1)
        capacity = output->limit + 1; /* and the NUL after it */
    char *grown = realloc(output->bytes, capacity);

    if (!grown)
        return false;
    output->bytes = grown;
    output->capacity = capacity;
    return true;
}

static size_t head_size(const struct output *output)
{
    return output->limit / 2;
}

/* Where in the ring the byte number AT (from the start of the output, at least LIMIT) lies. */
static size_t ring_position(const struct output *output, uint64_t at)
{
    size_t ring = output->limit - head_size(output);

    return head_size(output) + (size_t)((at - head_size(output)) % ring);
}

bool output_add(struct output *output, const void *bytes, size_t length)
{
    const char *at = bytes;

    if (output->total < output->limit) {
        size_t room = output->limit - (size_t)output->total;
        size_t part = length < room ? length : room;

        if (!reserve(output, (size_t)output->total + part))
            return false;
        memcpy(output->bytes + output->total, at, part);
        output->total += part;
        at += part;
        length -= part;
    }
    while (length) {
        size_t position = ring_position(output, output->total);
        size_t part = output->limit - position;

        part = length < part ? length : part;
        memcpy(output->bytes + position, at, part);
        output->total += part;
        at += part;
        length -= part;
    }
    return true;
}

/* How much of the head ends with a whole character: a cut inside one would damage it. */
static size_t whole_characters(const char *bytes, size_t length)
{
    for (size_t back = 1; back <= 3 && back <= length; back++) {
        unsigned char byte = (unsigned char)bytes[length - back];
        size_t wanted = byte >= 0xf5 ? 1 : byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;

        if ((byte & 0xc0) != 0x80)
            return wanted > back ? length - back : length;
    }
    return length;
}

/* How many bytes at the start of the tail are the rest of a character that was cut. */
static size_t rest_of_character(const char *bytes, size_t length)
{
    size_t count = 0;

    while (count < 3 && count < length && ((unsigned char)bytes[count] & 0xc0) == 0x80)
        count++;
    return count;
}

static char *take_all(struct output *output, size_t *length)
{
    if (!reserve(output, (size_t)output->total + 1))
        return NULL;
    char *all = output->bytes;

    *length = (size_t)output->total;
    all[*length] = '\0';
    output->bytes = NULL;
    output_clear(output);
    return all;
}

char *output_take(struct output *output, size_t *length, bool *truncated)
{
    *truncated = output->total > output->limit;
    if (!*truncated)
        return take_all(output, length);
    char marker[96];
    char *text = malloc(output->limit + sizeof(marker) + 1);
    size_t ring_start = head_size(output);
    size_t ring_size = output->limit - ring_start;
    size_t oldest = ring_position(output, output->total);
    size_t first_part = output->limit - oldest;

    if (!text)
        return NULL;
    /* The ring in order, at the end of the buffer; then the head, the marker, and the tail moved up to it. */
    char *tail = text + ring_start + sizeof(marker);

    memcpy(tail, output->bytes + oldest, first_part);
    memcpy(tail + first_part, output->bytes + ring_start, ring_size - first_part);
    size_t cut = rest_of_character(tail, ring_size);
    size_t head = whole_characters(output->bytes, ring_start);
    size_t tail_size = ring_size - cut;
    int size =
        snprintf(marker, sizeof(marker), "\n[... %" PRIu64 " bytes left out ...]\n", output->total - head - tail_size);

    memcpy(text, output->bytes, head);
    memcpy(text + head, marker, (size_t)size);
    memmove(text + head + size, tail + cut, tail_size);
    *length = head + (size_t)size + tail_size;
    text[*length] = '\0';
    output_clear(output);
    return text;
}
