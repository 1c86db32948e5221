/* Owned resources that release themselves at the end of their scope. */
#ifndef SANDLOT_BASE_CLEANUP_H
#define SANDLOT_BASE_CLEANUP_H

#include <dirent.h>
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

static inline void cleanup_directory(DIR **directory)
{
    if (*directory)
        closedir(*directory);
}

#define AUTO_FREE CLEANUP(cleanup_free)
#define AUTO_CLOSE CLEANUP(cleanup_close)
#define AUTO_FILE CLEANUP(cleanup_file)
#define AUTO_DIRECTORY CLEANUP(cleanup_directory)

/* Hands a pointer over to somebody else: the scope no longer frees it. */
#define TAKE(pointer)                           \
    __extension__({                             \
        __typeof__(pointer) taken_ = (pointer); \
        (pointer) = NULL;                       \
        taken_;                                 \
    })

/* The same for a descriptor. */
static inline int take_fd(int *fd)
{
    int taken = *fd;

    *fd = -1;
    return taken;
}

#endif
