/*
 * sandlot/sdk/placing.h - puts files that were staged in a sandbox into their places, by one command for all.
 *
 * Services write files that are cut when a connection breaks, overwrite what is there as bytes come, make no folders
 * and set no modes. So a provider sends bytes to files that nobody looks at, then runs the script that is made here:
 * what has come whole gets to its place in one step, and the script's output says what became of each.
 */
#ifndef SANDLOT_SDK_PLACING_H
#define SANDLOT_SDK_PLACING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One file on its way. It may be all of a staged file or a part of one. */
struct placing_file {
    const char *staged;    /* absolute path of the staged file, which begins with the prefix */
    uint64_t staged_bytes; /* how long that must be: any other length, and it was cut */
    bool part;             /* the file is only a part of it, and to be cut out */
    uint64_t offset;       /* where in it that part begins */
    uint64_t bytes;        /* how long it is */
    uint32_t mode;         /* permission bits of a new file; 0: as the staged file has them */
    const char *target;    /* absolute path of its place; NULL: not to be placed */
};

/*
 * The script for sh, to be freed; NULL when out of memory. At its end everything that begins with PREFIX is removed. A
 * file that is there already keeps mode, owner, and links to it; missing folders are made.
 */
char *placing_script(const char *prefix, const struct placing_file *files, size_t count);

/* What became of file INDEX. ERROR: NULL or what sandlot_transfer.done takes. */
typedef void (*placing_tell)(void *context, size_t index, const char *error);

/* Reads the OUTPUT of the script for COUNT files, which it takes apart. A file that was cut is not told of. */
void placing_read(char *output, size_t count, placing_tell tell, void *context);

#ifdef __cplusplus
}
#endif

#endif
