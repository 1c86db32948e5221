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

/*
 * The most descriptors that a job takes, with the two of its own: those of a command and of a call of the ledger, of
 * what follows a path to a file, of one that opens a session, and of one that walks two trees side by side and holds
 * the folders that it is in (deeper than some 16, it takes more).
 */
enum { JOB_COMMAND_DESCRIPTORS = 8, JOB_FILE_DESCRIPTORS = 10, JOB_OPEN_DESCRIPTORS = 16, JOB_TREES_DESCRIPTORS = 32 };

struct job_call {
    const char *request; /* the name of its struct */
    size_t size;
    size_t cancellation; /* where that is in the request */
    unsigned descriptors;
    int (*run)(struct sandlot_session *session, const void *request, const struct job_arguments *arguments,
               struct sandlot_error *error);
};

#define JOB_CALL(type, run) JOB_CALL_WITH(JOB_FILE_DESCRIPTORS, type, run)
#define JOB_CALL_WITH(descriptors, type, run)                                             \
    {                                                                                     \
#type, sizeof(struct type), offsetof(struct type, cancellation), descriptors, run \
    }

/* Starts CALL with the caller's REQUEST; SESSION is NULL where the call has none. NULL: it could not be started. */
struct sandlot_job *job_submit(struct sandlot_session *session, const struct job_call *call, const void *request,
                               struct job_arguments arguments, struct sandlot_error *error);

#endif
