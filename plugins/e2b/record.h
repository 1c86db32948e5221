/* What E2B says of a sandbox. */
#ifndef SANDLOT_E2B_RECORD_H
#define SANDLOT_E2B_RECORD_H

#include "api.h"

#include <sandlot/sdk/cleanup.h>

/* Metadata of ours. */
#define KEY_RUN "sandlot-run"
#define KEY_REST "sandlot-rest"               /* milliseconds that it may rest */
#define KEY_UNTIL "sandlot-until"             /* milliseconds since 1970: it is not made to live longer */
#define KEY_CREDENTIALS "sandlot-credentials" /* how many are added to its requests; absent: none */

enum { RECORD_LONGEST_TOKEN = 2048 };

/* A sandbox as it stood in an answer. All strings are DOCUMENT's. */
struct record {
    struct json_object *document; /* NULL: there is no such sandbox */
    const char *id;
    const char *token;         /* of its daemon; NULL: it has none */
    const char *domain;        /* NULL: the usual one */
    const char *version;       /* of its daemon; "" if that is not said */
    const char *run_label;     /* NULL: it is not of our making */
    const char *traffic_token; /* of its ports; NULL: not said, or they need none */
    bool is_private;           /* they need one */
    bool paused;
    bool has_credentials; /* something is added to its requests */
    int64_t ends_at_ms;   /* since 1970; 0: not said */
    int64_t rest_ms;      /* KEY_REST and KEY_UNTIL; 0: none */
    int64_t until_ms;
};

/* Does NETWORK, as E2B describes one, add something to requests? What replaces it would forget that. */
bool record_has_rules(struct json_object *network);

/* Reads *RECORD from DOCUMENT, which it takes over: the answer to creating, connecting or looking. */
enum sandlot_status record_read(struct sandlot_call *call, struct json_object *document, struct record *record);

/* Asks for sandbox ID; one that is not there is SANDLOT_NOT_FOUND. */
enum sandlot_status record_get(struct sandlot_call *call, struct e2b *e2b, const char *id, struct record *record);

/* Wakes sandbox ID if it is paused, to live for SECONDS, or as much longer as it would live anyway. RECORD: what the
 * answer says; NULL: nobody wants to know. */
enum sandlot_status record_connect(struct sandlot_call *call, struct e2b *e2b, const char *id, int64_t seconds,
                                   struct record *record);

void record_clear(struct record *record);

#define AUTO_RECORD CLEANUP(record_clear)

#endif
