/*
 * sandlot/sdk/random.h - what nobody can guess and nobody else has: UUIDs for requests, names for files.
 *
 * From getrandom(2); nothing here fails. Threads: any.
 */
#ifndef SANDLOT_SDK_RANDOM_H
#define SANDLOT_SDK_RANDOM_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { RANDOM_UUID_SIZE = 37 }; /* with the NUL */

void random_bytes(void *bytes, size_t length);

/* DIGITS lower-case hexadecimal digits, four bits each, and a NUL. */
void random_digits(char *text, size_t digits);

/* A UUID of version 4: "f81d4fae-7dec-41d0-a765-00a0c91e6bf6". */
void random_uuid(char uuid[RANDOM_UUID_SIZE]);

/* One of version 7, which begins with the time in milliseconds: later ones sort behind. */
void random_uuid_by_time(char uuid[RANDOM_UUID_SIZE]);

#ifdef __cplusplus
}
#endif

#endif
