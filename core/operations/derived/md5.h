/* The sum that md5sum(1) prints, for sandboxes that have no cksum(1). It tells damage, not malice. */
#ifndef SANDLOT_OPERATIONS_DERIVED_MD5_H
#define SANDLOT_OPERATIONS_DERIVED_MD5_H

#include <stddef.h>
#include <stdint.h>

struct md5 {
    uint32_t state[4];
    uint64_t bytes;
    unsigned char block[64]; /* what is not a whole block yet */
};

enum { MD5_TEXT = 33 };

void md5_init(struct md5 *sum);
void md5_add(struct md5 *sum, const void *bytes, size_t length);

/* The sum of all so far, in hex; more may be added. */
void md5_text(const struct md5 *sum, char text[MD5_TEXT]);

#endif
