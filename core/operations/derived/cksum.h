/* The sum that cksum(1) prints, over a stream. */
#ifndef SANDLOT_OPERATIONS_DERIVED_CKSUM_H
#define SANDLOT_OPERATIONS_DERIVED_CKSUM_H

#include <stddef.h>
#include <stdint.h>

/* Zero is the beginning. */
struct cksum {
    uint32_t remainder;
    uint64_t bytes;
};

void cksum_add(struct cksum *sum, const void *bytes, size_t length);
uint32_t cksum_value(const struct cksum *sum);

#endif
