/* sandlot/sdk/digest.h - digests as texts, for names that follow from what they name. Threads: any. */
#ifndef SANDLOT_SDK_DIGEST_H
#define SANDLOT_SDK_DIGEST_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { DIGEST_BYTES = 32, DIGEST_SIZE = 2 * DIGEST_BYTES + 1 };

/* LENGTH bytes (at most DIGEST_BYTES) as digits 0-9 and a-f, two each, with a NUL behind. */
void digest_digits(const unsigned char *bytes, size_t length, char *digits);

/* The SHA-256 of LENGTH bytes. False: no memory. */
bool digest_of(const void *bytes, size_t length, char digits[DIGEST_SIZE]);

#ifdef __cplusplus
}
#endif

#endif
