/* Owned resources that release themselves at the end of their scope. */
#ifndef SANDLOT_LANGSMITH_CLEANUP_H
#define SANDLOT_LANGSMITH_CLEANUP_H

#include <stdlib.h>

#define CLEANUP(function) __attribute__((cleanup(function)))

static inline void cleanup_free(void *pointer)
{
    free(*(void **)pointer);
}

#define AUTO_FREE CLEANUP(cleanup_free)

#endif
