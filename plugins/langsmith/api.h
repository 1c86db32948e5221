/*
 * The two planes of LangSmith's sandbox API: the control plane below /v2/sandboxes, and the data plane, an address
 * that every sandbox has of its own. Both want the same key.
 */
#ifndef SANDLOT_LANGSMITH_API_H
#define SANDLOT_LANGSMITH_API_H

#include "parameters.h"

#include <sandlot/provider.h>
#include <sandlot/sdk/rest.h>

#include <pthread.h>

#define LANGSMITH_CREDENTIALS "LANGSMITH_SANDBOX_API_KEY|LANGSMITH_API_KEY|LANGCHAIN_API_KEY"

/* What open makes. */
struct api {
    struct parameters parameters;
    pthread_mutex_t lock;       /* for the opening of the client */
    struct http_client *client; /* NULL until the first request */
    char *address;              /* of the control plane; this and the next two are found with the client */
    char *key_header;
    char *workspace_header; /* NULL: the key has one workspace */
};

void api_init(struct api *api, const struct parameters *parameters);
void api_clear(struct api *api);

/* Keeps the secrets of NETWORK out of all messages. */
enum sandlot_status api_hide(struct sandlot_call *call, struct api *api, const struct sandlot_network *network);

/* ---- requests --------------------------------------------------------------------------------------------------- */

struct api_request {
    const char *method;
    char *target;                  /* from http_target; api_send takes it over */
    struct json_builder *body;     /* or NULL; api_send finishes and clears it */
    bool repeatable;               /* as in http_request */
    bool never_repeat;             /* likewise */
    const int *expected;           /* error statuses that the caller handles; ended by 0 */
    const struct http_part *parts; /* a form instead of a body */
    size_t part_count;
    const char *range; /* headers of a download, or NULL */
    const char *if_range;
    const struct sandlot_sink *sink; /* where the answer goes instead of memory */
    int64_t silence_ms;              /* as in http_request */
    const char *hint;                /* ends the sentence of an error */
};

/* An answer; to be cleared, whatever api_send returned. */
struct api_answer {
    int status;                    /* 0: there was none */
    struct json_object *document;  /* NULL: no JSON */
    struct json_error garbled;     /* why there is none */
    char error[64];                /* the service's word for an error: "NotReady"; "" for none */
    char message[512];             /* what it says of it */
    struct http_response response; /* without the body where a sink took it */
};

/* Sends REQUEST; the first time the key and the address are looked up. SANDLOT_OK: 2xx, or one of the expected
 * statuses. Otherwise the call has failed; with a sink, which must not get what an error says, it has been told of a
 * failure in either case. */
enum sandlot_status api_send(struct sandlot_call *call, struct api *api, const struct api_request *request,
                             struct api_answer *answer);

void api_answer_clear(struct api_answer *answer);

#define AUTO_ANSWER __attribute__((cleanup(api_answer_clear)))

/* Fails the call for an answer that is no JSON object; WHAT begins the sentence. */
enum sandlot_status api_want_document(struct sandlot_call *call, const struct api_answer *answer, const char *what);

/* The JSON object at TARGET (taken over), as api_send; WHAT begins the sentence if it is none. EXPECTED: as in struct
 * api_request; after one of those there need be no document. */
enum sandlot_status api_get(struct sandlot_call *call, struct api *api, char *target, const int *expected,
                            const char *what, struct api_answer *answer);

/* For what may not be there: 404 is expected. */
extern const int api_missing[];

/* Fails the call for an error status that was expected but is not welcome; DOING says what failed. */
enum sandlot_status api_refuse(struct sandlot_call *call, const struct api_answer *answer, const char *doing);

/* ---- pages ------------------------------------------------------------------------------------------------------ */

/* One page of a collection. */
struct api_page {
    struct api_answer answer;
    struct json_object *items; /* an array of the answer's */
    char *next;                /* what to ask for the next page with; NULL: there is none */
};

/* Fetches a page of COLLECTION ("boxes", "snapshots"), those whose names contain NAME unless that is NULL. KEY is what
 * older servers call the array. CURSOR as in api_page.next, NULL for the first page. */
enum sandlot_status api_get_page(struct sandlot_call *call, struct api *api, const char *collection, const char *key,
                                 const char *name, const char *cursor, struct api_page *page);

void api_page_clear(struct api_page *page);

/* The page of COLLECTION at CURSOR, for `list` and the like: its entries by ADD, and where it goes on. */
enum sandlot_status api_list(struct sandlot_call *call, struct api *api, const char *collection, const char *key,
                             const char *cursor, const struct sandlot_listing *listing, rest_add add);

/* ---- the data plane --------------------------------------------------------------------------------------------- */

/* OPERATION ("/upload") at a sandbox's address URL as an absolute target, about the file PATH unless that is NULL. To
 * be freed; NULL when out of memory. */
char *data_target(const char *url, const char *operation, const char *path);

#endif
