/* Owned resources that release themselves at the end of their scope. */
#ifndef SANDLOT_CONFORMANCE_CLEANUP_H
#define SANDLOT_CONFORMANCE_CLEANUP_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define CLEANUP(function) __attribute__((cleanup(function)))

static inline void cleanup_free(void *pointer)
{
    free(*(void **)pointer);
}

static inline void cleanup_close(const int *fd)
{
    if (*fd >= 0)
        close(*fd);
}

static inline void cleanup_file(FILE **file)
{
    if (*file)
        fclose(*file);
}

#define AUTO_FREE CLEANUP(cleanup_free)
#define AUTO_CLOSE CLEANUP(cleanup_close)
#define AUTO_FILE CLEANUP(cleanup_file)

#endif
