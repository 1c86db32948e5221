/* A folder of this machine goes into a sandbox, and is remembered as what its work began with. */
#ifndef SANDLOT_RESULTS_IMPORT_H
#define SANDLOT_RESULTS_IMPORT_H

#include "session/session.h"

struct import_request {
    const char *folder;
    const char *const *exclude;                                     /* ended by NULL; or NULL */
    void (*progress)(void *context, uint64_t done, uint64_t total); /* NULL: nobody asks */
    struct sandlot_cancellation *cancellation;
};

struct import_count {
    uint64_t files;
    uint64_t bytes;
};

/* As sandlot_import; COUNT is filled in. */
int import_folder(struct sandlot_session *session, const struct import_request *request, struct import_count *count,
                  struct sandlot_error *error);

#endif
