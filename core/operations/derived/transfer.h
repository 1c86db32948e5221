/* What moves files in more than one command has in common. */
#ifndef SANDLOT_OPERATIONS_DERIVED_TRANSFER_H
#define SANDLOT_OPERATIONS_DERIVED_TRANSFER_H

#include "operations/derived/cksum.h"
#include "operations/derived/script.h"
#include "operations/files.h"

#include <md5.h>
#include <stdbool.h>
#include <stddef.h>

enum {
    TRANSFER_TRIES = 5,          /* of one step, in a row */
    TRANSFER_PIECE = 64 * 1024,  /* bytes that one command carries */
    TRANSFER_CHUNK = 4096 * 1024 /* bytes that are fetched, checked and written at once */
};

/* CALL for one step of it, which moves BYTES. */
struct file_call transfer_step(const struct file_call *call, uint64_t bytes);

/* Before the first repetition of a step; each next one waits twice as long. Tests shorten it. */
extern int transfer_pause_ms;

/* May the same step work if it is tried again? Then waits, longer the more tries there were before. */
bool transfer_again(const struct file_call *call, int tries, const struct sandlot_error *why);

/* Both sums, for which of them a sandbox can make shows only there. */
struct sums {
    struct cksum cksum;
    MD5_CTX md5;
};

void sums_init(struct sums *sums);
void sums_add(struct sums *sums, const void *bytes, size_t length);

/* As cksum and md5sum print them, with a blank between. */
enum { SUMS_TEXT = 11 + MD5_DIGEST_STRING_LENGTH };
void sums_text(const struct sums *sums, char text[SUMS_TEXT]);

/* Is TEXT what s_sum told of the same bytes? It has at most SUMS_TOLD characters. */
enum { SUMS_TOLD = 40 };
bool sums_match(const struct sums *sums, const char *text);

/*
 * Adds shell functions: s_sum NAME makes a record of what cksum(1), or else md5sum(1), prints of its input; s_same
 * CKSUM MD5 ends the script as damaged if its input has neither sum. $s_q is the program.
 */
void script_add_sums(struct script *script);

/* Reads until BUFFER is full or the file ends. What came, or -1 with the error. */
ptrdiff_t transfer_read(const struct file_call *call, int fd, void *buffer, size_t size, struct sandlot_error *error);

#endif
