/* Copies the content of one file, as cheaply as the file system can. */
#ifndef SANDLOT_LOCAL_FILE_COPY_H
#define SANDLOT_LOCAL_FILE_COPY_H

#include <sandlot/provider.h>
#include <sys/stat.h>

/* What a copy is part of. */
struct copying {
    void *context;
    /* BYTES more were copied. May it go on? */
    enum sandlot_status (*account)(void *context, uint64_t bytes);
    /* The file NAME could not be copied because of errno: tells the host. */
    enum sandlot_status (*fail)(const void *context, const char *name);
};

/* Copies FROM, of which FILE tells, to the empty file TO: blocks are shared where the file system can, holes stay. */
enum sandlot_status file_copy(const struct copying *copying, int from, int to, const struct stat *file,
                              const char *name);

#endif
