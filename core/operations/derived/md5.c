#include "operations/derived/md5.h"

#include <stdio.h>
#include <string.h>

/* RFC 1321. */
static const uint32_t constants[64] = {
    0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501,
    0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821,
    0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
    0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a,
    0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
    0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
    0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
    0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391};
static const unsigned char shifts[4][4] = {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};

void md5_init(struct md5 *sum)
{
    *sum = (struct md5){.state = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476}};
}

static uint32_t mix(unsigned int step, uint32_t b, uint32_t c, uint32_t d)
{
    switch (step / 16) {
    case 0:
        return (b & c) | (~b & d);
    case 1:
        return (d & b) | (~d & c);
    case 2:
        return b ^ c ^ d;
    default:
        return c ^ (b | ~d);
    }
}

static unsigned int word_of(unsigned int step)
{
    static const unsigned char factor[4] = {1, 5, 3, 7};
    static const unsigned char first[4] = {0, 1, 5, 0};

    return (factor[step / 16] * step + first[step / 16]) % 16;
}

static void add_block(uint32_t state[4], const unsigned char *block)
{
    uint32_t words[16];
    uint32_t a = state[0];
    uint32_t b = state[1];
    uint32_t c = state[2];
    uint32_t d = state[3];

    for (int i = 0; i < 16; i++)
        words[i] = block[4 * i] | (uint32_t)block[4 * i + 1] << 8 | (uint32_t)block[4 * i + 2] << 16 |
                   (uint32_t)block[4 * i + 3] << 24;
    for (unsigned int step = 0; step < 64; step++) {
        uint32_t turned = a + mix(step, b, c, d) + constants[step] + words[word_of(step)];
        unsigned int shift = shifts[step / 16][step % 4];

        a = d;
        d = c;
        c = b;
        b += turned << shift | turned >> (32 - shift);
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
}

void md5_add(struct md5 *sum, const void *bytes, size_t length)
{
    const unsigned char *at = bytes;
    size_t held = sum->bytes % 64;

    sum->bytes += length;
    if (held > 0) {
        size_t more = length < 64 - held ? length : 64 - held;

        memcpy(sum->block + held, at, more);
        at += more;
        length -= more;
        if (held + more < 64)
            return;
        add_block(sum->state, sum->block);
    }
    for (; length >= 64; length -= 64, at += 64)
        add_block(sum->state, at);
    if (length > 0)
        memcpy(sum->block, at, length);
}

void md5_text(const struct md5 *sum, char text[MD5_TEXT])
{
    static const unsigned char padding[64] = {0x80};
    struct md5 last = *sum;
    unsigned char length[8];

    for (int i = 0; i < 8; i++)
        length[i] = (unsigned char)(sum->bytes * 8 >> 8 * i);
    md5_add(&last, padding, 1 + (119 - sum->bytes % 64) % 64);
    md5_add(&last, length, sizeof(length));
    for (int i = 0; i < 16; i++)
        snprintf(text + 2 * i, 3, "%02x", (unsigned int)(last.state[i / 4] >> 8 * (i % 4) & 255));
}
