#include "operations/derived/cksum.h"

#include <pthread.h>

#define POLYNOMIAL UINT32_C(0x04c11db7)

enum { LANES = 8 };

/* What a byte contributes when LANE more bytes follow it. */
static uint32_t table[LANES][256];

static void fill_table(void)
{
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t remainder = byte << 24;

        for (int bit = 0; bit < 8; bit++)
            remainder = remainder << 1 ^ (remainder >> 31 ? POLYNOMIAL : 0);
        table[0][byte] = remainder;
    }
    for (int lane = 1; lane < LANES; lane++)
        for (uint32_t byte = 0; byte < 256; byte++)
            table[lane][byte] = table[lane - 1][byte] << 8 ^ table[0][table[lane - 1][byte] >> 24];
}

static uint32_t add_byte(uint32_t remainder, unsigned int byte)
{
    return remainder << 8 ^ table[0][(remainder >> 24 ^ byte) & 255];
}

void cksum_add(struct cksum *sum, const void *bytes, size_t length)
{
    static pthread_once_t filled = PTHREAD_ONCE_INIT;
    const unsigned char *at = bytes;
    uint32_t remainder = sum->remainder;

    pthread_once(&filled, fill_table);
    sum->bytes += length;
    for (; length >= LANES; length -= LANES, at += LANES) {
        uint32_t first = remainder ^ ((uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3]);

        remainder = table[7][first >> 24] ^ table[6][first >> 16 & 255] ^ table[5][first >> 8 & 255] ^
                    table[4][first & 255] ^ table[3][at[4]] ^ table[2][at[5]] ^ table[1][at[6]] ^ table[0][at[7]];
    }
    while (length-- > 0)
        remainder = add_byte(remainder, *at++);
    sum->remainder = remainder;
}

uint32_t cksum_value(const struct cksum *sum)
{
    uint32_t remainder = sum->remainder;

    for (uint64_t left = sum->bytes; left > 0; left >>= 8)
        remainder = add_byte(remainder, left & 255);
    return ~remainder;
}
