/* What Daytona says of a sandbox. */
#ifndef SANDLOT_DAYTONA_RECORD_H
#define SANDLOT_DAYTONA_RECORD_H

#include "api.h"

#include <sandlot/sdk/cleanup.h>

/* Labels of ours beside those of the request. */
#define LABEL_RUN "sandlot-run"
#define LABEL_CUSTOM "sandlot-custom" /* started from an image or snapshot of the user's choice */

/* Where commands of Daytona's own snapshots start. */
#define DEFAULT_WORKING_DIR "/home/daytona"

/* Daytona's states, as far as they differ in what is to be done. */
enum phase {
    PHASE_STARTED,
    PHASE_RESTING, /* stopped, archived or paused: it can be started */
    PHASE_PASSING, /* on its way to another state */
    PHASE_FAILED,
    PHASE_GONE
};

/* A sandbox as it stood in an answer. All strings are DOCUMENT's; those that were absent are NULL. */
struct record {
    struct json_object *document;
    const char *id;
    const char *state; /* in Daytona's words, never NULL */
    enum phase phase;
    const char *proxy_url;
    const char *reason; /* of a failure */
    const char *class_name;
    const char *run_label; /* NULL: it is not of our making */
    const char *created_at;
    bool recoverable;
    bool custom;         /* commands may start elsewhere than in DEFAULT_WORKING_DIR */
    int64_t auto_stop;   /* minutes of rest before it is stopped; 0: never */
    int64_t auto_delete; /* minutes after the stop before it is deleted; negative: never */
};

/* Reads a record from DOCUMENT, which stays the caller's: the record has a reference of its own. */
enum sandlot_status record_read(struct sandlot_call *call, struct json_object *document, struct record *record);

/* Is it a virtual machine, whose memory can be kept? */
bool record_is_machine(const struct record *record);

/* Asks for the record of the sandbox with this id or name. */
enum sandlot_status record_get(struct sandlot_call *call, struct daytona *daytona, const char *id_or_name,
                               struct record *record);

/* The same for what may not be there: *RECORD is then empty. */
enum sandlot_status record_find(struct sandlot_call *call, struct daytona *daytona, const char *id_or_name,
                                struct record *record);

void record_clear(struct record *record);

#define AUTO_RECORD CLEANUP(record_clear)

#endif
