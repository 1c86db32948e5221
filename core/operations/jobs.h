/* Calls of a session, or of the runtime, as jobs: what differs between them is a row. */
#ifndef SANDLOT_OPERATIONS_JOBS_H
#define SANDLOT_OPERATIONS_JOBS_H

#include <sandlot/sandlot.h>

/* What a call takes beside its request. */
struct job_arguments {
    void *output; /* where what it tells goes; the caller's */
    void *more;   /* where the rest goes; likewise */
    bool (*each_entry)(void *context, const struct sandlot_file_entry *entry);
    bool (*each_match)(void *context, const struct sandlot_match *match);
    bool (*each_change)(void *context, const struct sandlot_change *change);
    bool (*each_applied)(void *context, const struct sandlot_change *change, const struct sandlot_error *problem);
    bool (*each_sandbox)(void *context, const struct sandlot_listed_sandbox *sandbox);
    bool (*each_volume)(void *context, const struct sandlot_volume_state *volume);
    void *context;
    struct sandlot *sandlot; /* of calls without a session, and what they are about */
    const char *id;
    const char *name;
    bool replace;
    enum sandlot_export_format format;
    int fd;
};

struct job_call {
    const char *request; /* the name of its struct */
    size_t size;
    size_t cancellation; /* where that is in the request */
    int (*run)(struct sandlot_session *session, const void *request, const struct job_arguments *arguments,
               struct sandlot_error *error);
};

#define JOB_CALL(type, run)                                                  \
    {                                                                        \
#type, sizeof(struct type), offsetof(struct type, cancellation), run \
    }

/* Starts CALL with the caller's REQUEST; SESSION is NULL where the call has none. NULL: it could not be started. */
struct sandlot_job *job_submit(struct sandlot_session *session, const struct job_call *call, const void *request,
                               struct job_arguments arguments, struct sandlot_error *error);

#endif
