/* Everything below a directory of the sandbox, told by one command. */
#ifndef SANDLOT_OPERATIONS_DERIVED_WALK_H
#define SANDLOT_OPERATIONS_DERIVED_WALK_H

#include "operations/files.h"

#include <stdbool.h>
#include <stddef.h>

enum walk_kind {
    WALK_FILE,
    WALK_DIRECTORY,
    WALK_LINK,      /* to a regular file that lies below the directory too */
    WALK_UNREADABLE /* a directory into which the walk could not go; told besides WALK_DIRECTORY */
};

struct walk {
    bool links;            /* are links looked at? */
    const char *directory; /* below the other, the only one that matters; NULL or "": there is none */
    size_t depth;          /* how many components paths have at most that matter; 0: any number */
    /* Takes one path below the directory. 0, 1 to end the walk, or -1 with the error. */
    int (*each)(void *context, const char *relative, size_t length, enum walk_kind kind, struct sandlot_error *error);
    void *context;
    /* filled in: */
    bool cut;        /* EACH, the time or a limit ended it */
    bool unreadable; /* there is a WALK_UNREADABLE */
};

/* Walks below call->path until LIMIT_MS from now. 0; or -1, when it is no directory that can be read. */
int walk_run(const struct file_call *call, struct walk *walk, int64_t limit_ms, struct sandlot_error *error);

#endif
