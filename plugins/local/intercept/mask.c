#include "mask.h"

#include <stdlib.h>
#include <string.h>

static const char STAR = '*';

static void find_borders(struct mask_secret *secret)
{
    size_t border = 0;

    secret->borders[0] = 0;
    for (size_t i = 1; i < secret->length; i++) {
        while (border && secret->text[border] != secret->text[i])
            border = secret->borders[border - 1];
        border += secret->text[border] == secret->text[i];
        secret->borders[i] = (uint16_t)border;
    }
}

static bool is_there(const struct mask *mask, const char *text, size_t length)
{
    for (size_t i = 0; i < mask->count; i++)
        if (mask->secrets[i].length == length && memcmp(mask->secrets[i].text, text, length) == 0)
            return true;
    return false;
}

bool mask_add(struct mask *mask, const char *text, size_t length)
{
    if (length < MASK_LEAST || length > MASK_SECRET_MOST || is_there(mask, text, length))
        return true;
    struct mask_secret *grown = realloc(mask->secrets, (mask->count + 1) * sizeof(*grown));

    if (!grown)
        return false;
    mask->secrets = grown;
    struct mask_secret *secret = &grown[mask->count];

    *secret = (struct mask_secret){malloc(length), malloc(length * sizeof(*secret->borders)), length, 0};
    mask->count++; /* also where memory was short: it is cleared with the others */
    if (!secret->text || !secret->borders) {
        secret->length = 0;
        return false;
    }
    memcpy(secret->text, text, length);
    find_borders(secret);
    return true;
}

void mask_text(const struct mask *mask, char *text, size_t length)
{
    for (size_t i = 0; i < mask->count; i++) {
        const struct mask_secret *secret = &mask->secrets[i];
        char *at = text;

        while ((at = memmem(at, (size_t)(text + length - at), secret->text, secret->length)))
            memset(at, STAR, secret->length);
    }
}

/* Masks the last LENGTH bytes before END: those from FROM on, and the rest of what is held. */
static void cover(const struct mask *mask, char *base, size_t from, size_t end, size_t length)
{
    const size_t here = length < end - from ? length : end - from;
    size_t left = length - here;

    memset(base + end - here, STAR, here);
    for (size_t i = mask->segment_count; i-- > 0 && left;) {
        const struct mask_segment *segment = &mask->segments[i];
        const size_t part = left < segment->length ? left : segment->length;

        memset(base + segment->at + segment->length - part, STAR, part);
        left -= part;
    }
}

static void look_for(const struct mask *mask, struct mask_secret *secret, char *base, size_t from, size_t length)
{
    const size_t end = from + length;

    for (size_t i = from; i < end; i++) {
        if (secret->matched == 0) {
            const char *found = memchr(base + i, secret->text[0], end - i);

            if (!found)
                return;
            i = (size_t)(found - base);
        }
        while (secret->matched && secret->text[secret->matched] != base[i])
            secret->matched = secret->borders[secret->matched - 1];
        secret->matched += secret->text[secret->matched] == base[i];
        if (secret->matched == secret->length) {
            cover(mask, base, from, i + 1, secret->length);
            secret->matched = 0;
        }
    }
}

/* Leaves of the segments the last LENGTH bytes. */
static void hold(struct mask *mask, size_t length)
{
    size_t first = mask->segment_count;

    while (first > 0 && length > 0) {
        struct mask_segment *segment = &mask->segments[--first];

        if (segment->length > length) {
            segment->at += segment->length - length;
            segment->length = length;
        }
        length -= segment->length;
    }
    mask->segment_count -= first;
    memmove(mask->segments, mask->segments + first, mask->segment_count * sizeof(*mask->segments));
}

static bool goes_on(const struct mask *mask, size_t from)
{
    const struct mask_segment *last = mask->segment_count ? &mask->segments[mask->segment_count - 1] : NULL;

    return last && last->at + last->length == from;
}

void mask_feed(struct mask *mask, char *base, size_t from, size_t length)
{
    size_t longest = 0;

    for (size_t i = 0; i < mask->count; i++) {
        look_for(mask, &mask->secrets[i], base, from, length);
        if (mask->secrets[i].matched > longest)
            longest = mask->secrets[i].matched;
    }
    if (goes_on(mask, from)) {
        mask->segments[mask->segment_count - 1].length += length;
    } else {
        if (mask->segment_count == MASK_SEGMENTS) {
            /* In so many pieces nobody sends by accident. */
            mask_release(mask, base, longest > length);
            longest = 0;
        }
        mask->segments[mask->segment_count++] = (struct mask_segment){from, length};
    }
    hold(mask, longest);
}

size_t mask_held(const struct mask *mask, size_t otherwise)
{
    return mask->segment_count ? mask->segments[0].at : otherwise;
}

void mask_moved(struct mask *mask, size_t count)
{
    for (size_t i = 0; i < mask->segment_count; i++)
        mask->segments[i].at -= count;
}

void mask_release(struct mask *mask, char *base, bool cover_held)
{
    for (size_t i = 0; i < mask->segment_count && cover_held; i++)
        memset(base + mask->segments[i].at, STAR, mask->segments[i].length);
    for (size_t i = 0; i < mask->count; i++)
        mask->secrets[i].matched = 0;
    mask->segment_count = 0;
}

void mask_clear(struct mask *mask)
{
    for (size_t i = 0; i < mask->count; i++) {
        if (mask->secrets[i].length)
            explicit_bzero(mask->secrets[i].text, mask->secrets[i].length);
        free(mask->secrets[i].text);
        free(mask->secrets[i].borders);
    }
    free(mask->secrets);
    *mask = (struct mask){0};
}
