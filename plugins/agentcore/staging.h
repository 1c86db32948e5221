/*
 * Bytes on their way into a session. The tool writeFiles takes whole files, in base64, with paths below one folder; so
 * what is large goes there in pieces, and what is small together, to a folder that nobody looks at.
 */
#ifndef SANDLOT_AGENTCORE_STAGING_H
#define SANDLOT_AGENTCORE_STAGING_H

#include "sandbox.h"

/* What the names of files that nobody looks at begin with. */
#define STAGING_PREFIX ".sandlot-"

struct staging {
    struct sandlot_call *call;
    struct sandbox *sandbox;

    /* private: the request that is being filled */
    char *body;
    size_t length;
    size_t carried;  /* bytes of content in it */
    size_t files;    /* in it */
    size_t capacity; /* for content */
};

/* LARGEST: how many bytes will come at most, as far as it is known. */
enum sandlot_status staging_open(struct staging *staging, struct sandlot_call *call, struct sandbox *sandbox,
                                 uint64_t largest);

/* Reads SOURCE to its end, or LENGTH bytes of it (UINT64_MAX: unknown), into PATH, PATH.1, PATH.2 and so on. PATH is
 * relative and plain, with at most 60 bytes. *PIECES: how many. */
enum sandlot_status staging_add(struct staging *staging, const char *path, const struct sandlot_source *source,
                                uint64_t length, size_t *pieces);

/* Sends what has not been sent. */
enum sandlot_status staging_finish(struct staging *staging);

void staging_close(struct staging *staging);

#endif
