/* What Runloop says of a devbox. */
#ifndef SANDLOT_RUNLOOP_RECORD_H
#define SANDLOT_RUNLOOP_RECORD_H

#include "api.h"

/* In the metadata of what we make. */
#define LABEL_RUN "sandlot-run"

/* All devboxes, also those that are shut down: they can be filtered by one state only, or not at all. */
#define RECORD_LIST_TARGET "/v1/devboxes?limit=1000"

/* Runloop's states, as far as they differ in what is to be done. */
enum phase {
    PHASE_RUNNING,
    PHASE_SUSPENDED,
    PHASE_MOVING, /* on its way to another state, or in one that is not known yet */
    PHASE_GONE    /* shut down, or failed: nothing leads back. The record stays. */
};

/* A devbox as it stood in an answer. All strings are DOCUMENT's; those that were absent are NULL. */
struct record {
    struct json_object *document;
    const char *id;
    const char *status; /* in Runloop's words, never NULL */
    enum phase phase;
    const char *reason;    /* of its end */
    const char *run_label; /* NULL: it is not of our making */
    const char *user;
    int64_t created_at_ms;
};

/* Reads a record from DOCUMENT, which stays the caller's: the record has a reference of its own. */
enum sandlot_status record_read(struct sandlot_call *call, struct json_object *document, struct record *record);

/* Asks for the record of devbox ID. */
enum sandlot_status record_get(struct sandlot_call *call, struct runloop *runloop, const char *id,
                               struct record *record);

/* The same for what may not be there: *RECORD is then empty. */
enum sandlot_status record_find(struct sandlot_call *call, struct runloop *runloop, const char *id,
                                struct record *record);

/* The first live devbox that the creation with RUN_LABEL has made; *RECORD is empty if there is none. */
enum sandlot_status record_find_run(struct sandlot_call *call, struct runloop *runloop, const char *run_label,
                                    struct record *record);

void record_clear(struct record *record);

/* One page of a listing. Items are DOCUMENT's. */
struct page {
    struct json_object *document;
    struct json_object *items;
    const char *next; /* the cursor of the next page; NULL: this was the last */
};

/* Asks for the page of the things called NAME in the answer ("devboxes"), at TARGET (taken over, with a query already),
 * after CURSOR (NULL: the first). To be cleared. */
enum sandlot_status page_get(struct sandlot_call *call, struct runloop *runloop, char *target, const char *name,
                             const char *cursor, struct page *page);
/* The id of the first item called NAME, to be freed; *ID stays as it is if there is none. */
enum sandlot_status page_keep_id(struct sandlot_call *call, const struct page *page, const char *name, char **id);

void page_clear(struct page *page);

#define AUTO_RECORD CLEANUP(record_clear)
#define AUTO_PAGE CLEANUP(page_clear)

#endif
