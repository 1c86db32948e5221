#include <sandlot/sdk/random.h>

#include <stdint.h>
#include <stdio.h>
#include <sys/random.h>
#include <time.h>

enum { UUID_BYTES = 16 };

void random_bytes(void *bytes, size_t length)
{
    unsigned char *at = bytes;

    while (length > 0) {
        ssize_t more = getrandom(at, length, 0);

        if (more > 0) {
            at += more;
            length -= (size_t)more;
        }
    }
}

void random_digits(char *text, size_t digits)
{
    static const char letters[] = "0123456789abcdef";

    random_bytes(text, digits);
    for (size_t i = 0; i < digits; i++)
        text[i] = letters[(unsigned char)text[i] & 15];
    text[digits] = '\0';
}

static void write_uuid(unsigned char b[UUID_BYTES], unsigned int version, char uuid[RANDOM_UUID_SIZE])
{
    b[6] = (unsigned char)((b[6] & 0x0f) | version << 4);
    b[8] = (unsigned char)((b[8] & 0x3f) | 0x80);
    snprintf(uuid, RANDOM_UUID_SIZE, "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0], b[1],
             b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]);
}

void random_uuid(char uuid[RANDOM_UUID_SIZE])
{
    unsigned char bytes[UUID_BYTES];

    random_bytes(bytes, sizeof(bytes));
    write_uuid(bytes, 4, uuid);
}

void random_uuid_by_time(char uuid[RANDOM_UUID_SIZE])
{
    unsigned char bytes[UUID_BYTES];
    struct timespec now;

    random_bytes(bytes, sizeof(bytes));
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t milliseconds = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;

    for (int i = 0; i < 6; i++)
        bytes[i] = (unsigned char)(milliseconds >> (40 - 8 * i));
    write_uuid(bytes, 7, uuid);
}
