/*
 * Puts stars in the place of secrets that a server sends back, as many as the secret has bytes. This is hygiene, so
 * that secrets do not lie in the files and logs of a box, and no wall: a server that encodes one is not seen through.
 */
#ifndef SANDLOT_INTERCEPT_MASK_H
#define SANDLOT_INTERCEPT_MASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Shorter texts are not looked for: they occur by themselves. */
enum { MASK_LEAST = 8, MASK_SECRET_MOST = 24 * 1024, MASK_SEGMENTS = 256 };

struct mask_secret {
    char *text;
    uint16_t *borders; /* of each beginning of the text: the longest that it also ends with (Knuth, Morris, Pratt) */
    size_t length;
    size_t matched; /* so many of its bytes are the last that came */
};

struct mask {
    struct mask_secret *secrets;
    size_t count;
    /* Where the last bytes lie that may be the beginning of a secret. */
    struct mask_segment {
        size_t at;
        size_t length;
    } segments[MASK_SEGMENTS];
    size_t segment_count;
};

/* Looks for TEXT from now on; of a text that is there already, too short or too long nothing comes. False: no memory.
 */
bool mask_add(struct mask *mask, const char *text, size_t length);

/* Masks a text that is there as a whole. */
void mask_text(const struct mask *mask, char *text, size_t length);

/*
 * Masks the LENGTH bytes from FROM on of a body in the buffer BASE, which go on where the last ended, whatever lies
 * between them. What may be the beginning of a secret is not to be sent: mask_held.
 */
void mask_feed(struct mask *mask, char *base, size_t from, size_t length);

/* The place from which on nothing is to be sent yet; OTHERWISE if there is none. */
size_t mask_held(const struct mask *mask, size_t otherwise);

/* The buffer's bytes have gone down by COUNT. */
void mask_moved(struct mask *mask, size_t count);

/* Holds nothing any more: it is the beginning of no secret, or, with COVER, is masked all the same. */
void mask_release(struct mask *mask, char *base, bool cover);

void mask_clear(struct mask *mask);

#endif
