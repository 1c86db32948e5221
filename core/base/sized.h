/*
 * The caller's structs of sandlot/sandlot.h, which begin with their size: the caller may have been compiled with an
 * older header, whose struct is shorter than ours, or with a newer one, whose struct is longer.
 */
#ifndef SANDLOT_BASE_SIZED_H
#define SANDLOT_BASE_SIZED_H

#include <sandlot/sandlot.h>
#include <stddef.h>

/* The size of TYPE up to and with FIELD. */
#define SIZED_UP_TO(type, field) (offsetof(type, field) + sizeof(((type *)0)->field))

/*
 * Copies what both sides know of FROM (NULL: nothing) into TO, TO_SIZE bytes long; the rest of TO is zero, and its size
 * its own. NAME is the struct's. SANDLOT_CODE_USAGE if it is shorter than LEAST, which every header has, or sets
 * something that only the caller's header knows.
 */
int sized_read(void *to, size_t to_size, const void *from, size_t least, const char *name, struct sandlot_error *error);

/* Is the struct AT, which is to be written, at least LEAST long? 0 or -1 with SANDLOT_CODE_USAGE. */
int sized_check(const void *at, size_t least, const char *name, struct sandlot_error *error);

/* Copies what both sides know of FROM, FROM_SIZE bytes long, into the caller's TO, which keeps its size. */
void sized_write(void *to, const void *from, size_t from_size);

#endif
