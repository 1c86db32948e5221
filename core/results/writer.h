/*
 * What writes patches and archives: a module of its own, loaded when it is asked for, so that neither the command nor
 * the library needs libgit2 and libarchive. It opens no repository and reads no settings of git's; all that it knows of
 * files is what it is handed.
 */
#ifndef SANDLOT_RESULTS_WRITER_H
#define SANDLOT_RESULTS_WRITER_H

#include <sandlot/sandlot.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WRITER_MODULE_NAME "sandlot-results.so"
#define WRITER_MODULE_SYMBOL "sandlot_results_writer"

/* Where the bytes go: false, and no more are wanted. */
typedef bool (*writer_sink)(void *context, const void *bytes, size_t length);

/* One side of a patch of one file. */
struct writer_side {
    uint32_t mode;     /* as git has it: 0100644, 0100755, 0120000; 0: there is no such file */
    const char *bytes; /* a link's are its target */
    size_t length;
};

/* One member of an archive. */
struct writer_member {
    const char *path;
    const char *target; /* of a link; NULL: it is a file, or with a path that ends in "/" a folder */
    uint32_t mode;      /* 0644 or 0755 */
    uint64_t length;
    int fd;            /* of a file, at its beginning; -1: its content is BYTES */
    const void *bytes; /* LENGTH of them */
};

struct writer_archive;

struct writer_module {
    const char *version; /* SANDLOT_VERSION of its build */
    /* Writes the change of PATH from BEFORE to AFTER in git's format, binary included. NULL, or a static reason; ""
     * when the sink wanted no more. */
    const char *(*patch)(const char *path, const struct writer_side *before, const struct writer_side *after,
                         writer_sink sink, void *context);
    /* A tar archive, of GNU's kind. NULL when out of memory. */
    struct writer_archive *(*archive_open)(writer_sink sink, void *context);
    /* NULL, or a static reason. */
    const char *(*archive_add)(struct writer_archive *archive, const struct writer_member *member);
    /* Writes its end unless ABANDONED, and frees it. NULL, or a static reason. */
    const char *(*archive_close)(struct writer_archive *archive, bool abandoned);
};

/* NULL with the error. It stays loaded. */
const struct writer_module *writer_load(struct sandlot_error *error);

#endif
