/* What moves files in more than one command has in common. */
#ifndef SANDLOT_OPERATIONS_DERIVED_TRANSFER_H
#define SANDLOT_OPERATIONS_DERIVED_TRANSFER_H

#include "operations/derived/cksum.h"
#include "operations/derived/md5.h"
#include "operations/derived/script.h"
#include "operations/files.h"

#include <stdbool.h>
#include <stddef.h>

enum {
    TRANSFER_TRIES = 5,          /* of one step, in a row */
    TRANSFER_PIECE = 64 * 1024,  /* bytes that one command carries */
    TRANSFER_CHUNK = 4096 * 1024 /* bytes that are fetched, checked and written at once */
};

/* CALL for one step of it, which moves BYTES. */
struct file_call transfer_step(const struct file_call *call, uint64_t bytes);

/* May the same step work if it is tried again? Then waits, longer the more tries there were before. */
bool transfer_again(const struct file_call *call, int tries, const struct sandlot_error *why);

/* Both sums, for which of them a sandbox can make shows only there. */
struct sums {
    struct cksum cksum;
    struct md5 md5;
};

void sums_init(struct sums *sums);
void sums_add(struct sums *sums, const void *bytes, size_t length);

/* As cksum and md5sum print them, with a blank between. */
enum { SUMS_TEXT = 11 + MD5_TEXT };
void sums_text(const struct sums *sums, char text[SUMS_TEXT]);

/* Is TEXT one of the two? */
bool sums_match(const struct sums *sums, const char *text);

/*
 * Adds shell functions: s_sum prints the sum of its input, by cksum(1) or else md5sum(1); s_same CKSUM MD5 ends the
 * script as damaged if its input has neither.
 */
void script_add_sums(struct script *script);

/* Reads until BUFFER is full or the file ends. What came, or -1 with the error. */
ptrdiff_t transfer_read(const struct file_call *call, int fd, void *buffer, size_t size, struct sandlot_error *error);

#endif
