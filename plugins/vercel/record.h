/* What Vercel says of a sandbox and its session. */
#ifndef SANDLOT_VERCEL_RECORD_H
#define SANDLOT_VERCEL_RECORD_H

#include "api.h"

#include <sandlot/sdk/cleanup.h>

/* Tags of ours. */
#define TAG_MARK "sandlot"
#define TAG_RUN "sandlot-run"
#define TAG_UNTIL "sandlot-until" /* milliseconds since 1970: no session is made to live longer */

/* Vercel's states, as far as they differ in what is to be done. */
enum phase {
    PHASE_RUNNING,
    PHASE_STARTING,
    PHASE_ENDING, /* its session is stopping, or is being kept as a snapshot */
    PHASE_ENDED
};

/* A sandbox as it stood in an answer. All strings are DOCUMENT's; those that were absent are NULL. */
struct record {
    struct json_object *document; /* NULL: there is no such sandbox */
    const char *name;
    const char *state; /* in Vercel's words, never NULL */
    enum phase phase;
    const char *session; /* id */
    const char *working_dir;
    const char *run_label;       /* NULL: it is not of our making */
    const char *snapshot;        /* what the next session starts from */
    const char *source_snapshot; /* what this session has started from */
    bool persistent;
    bool has_credentials; /* headers are added to its requests */
    int64_t created_at_ms;
    int64_t timeout_ms;  /* of a new session; 0: not said */
    int64_t begun_at_ms; /* when this session began; 0: not said, nor is the next */
    int64_t ends_at_ms;
    int64_t until_ms; /* TAG_UNTIL; 0: none */
};

/* Reads a record from DOCUMENT, an answer about one sandbox, which stays the caller's. */
enum sandlot_status record_read(struct sandlot_call *call, struct json_object *document, struct record *record);

/* Asks for the sandbox NAME; one that is not there is SANDLOT_NOT_FOUND. */
enum sandlot_status record_get(struct sandlot_call *call, struct vercel *vercel, const char *name,
                               struct record *record);

/* The same, but then *RECORD is empty. */
enum sandlot_status record_find(struct sandlot_call *call, struct vercel *vercel, const char *name,
                                struct record *record);

/*
 * Starts a new session of the sandbox, unless it has one. *RECORD is empty if it is still too busy with ending the last
 * one. SANDLOT_NOT_FOUND: it is gone, or what it would have to start from is.
 */
enum sandlot_status record_resume(struct sandlot_call *call, struct vercel *vercel, const char *name,
                                  struct record *record);

/* Would a new session have the files of the last one? */
bool record_keeps_files(const struct record *record);

void record_clear(struct record *record);

#define AUTO_RECORD CLEANUP(record_clear)

#endif
