/*
 * sandlot/sdk/rest.h - requests to an API whose bodies and answers are JSON, over a client of http.h.
 *
 *   struct json_builder body = {0};
 *   AUTO_DOCUMENT struct json_object *answer = NULL;
 *
 *   json_set_string(&body, "name", name);
 *   const struct rest_request request = {
 *       .method = "POST", .target = http_target("/sandboxes/{}/snapshots", id), .body = &body};
 *   enum sandlot_status status = rest_send(call, client, &request, NULL, &answer);
 *
 * A vendor mostly has a function of its own around it, which finds the client first:
 *
 *   return status == SANDLOT_OK ? rest_send(call, client, request, response, answer) : rest_drop(request, status);
 *
 * ERRORS and threads are those of http.h. A body that could not be written is SANDLOT_INVALID_ARGUMENT, an answer that
 * is no JSON SANDLOT_INTERNAL.
 */
#ifndef SANDLOT_SDK_REST_H
#define SANDLOT_SDK_REST_H

#include <sandlot/sdk/http.h>
#include <sandlot/sdk/json.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One request. What is not said is 0 or NULL. */
struct rest_request {
    const char *method;
    char *target;              /* from http_target; taken over */
    struct json_builder *body; /* finished and cleared here */
    const char *text;          /* a body that is written already, in the place of that one; the caller's */

    /* As in http_request. */
    const char *const *headers;
    bool repeatable;
    bool never_repeat;
    const int *accepted;
    size_t limit;
    int64_t timeout_ms;
    int64_t silence_ms;
    const char *error_hint;

    bool answered; /* a 2xx answer without a document is an error */
};

/*
 * Sends REQUEST. *ANSWER: the document of a 2xx answer, to be released with json_object_put; NULL if that was empty, or
 * the status was another that the request accepts. RESPONSE, zero before, is to be cleared in any case. Either may be
 * NULL if nobody wants it: without ANSWER what a 2xx answer holds does not matter.
 */
enum sandlot_status rest_send(struct sandlot_call *call, struct http_client *client, const struct rest_request *request,
                              struct http_response *response, struct json_object **answer);

/* Releases what rest_send would have taken over. STATUS is passed on. */
enum sandlot_status rest_drop(const struct rest_request *request, enum sandlot_status status);

/* Tells LISTING of one entry of a list. */
typedef enum sandlot_status (*rest_add)(struct sandlot_call *call, const struct sandlot_listing *listing,
                                        struct json_object *item);

/* Where in an entry of a list its parts stand, by path; NULL: nowhere. */
struct rest_entry {
    const char *what;       /* "Acme's list of snapshots", for messages */
    const char *id;         /* required, also in each entry */
    const char *created_at; /* as text (timestamp.h), or in milliseconds since 1970 */
    const char *run_label;
    const char *state;
    const char *usual_state; /* of an entry that says none; NULL: "unknown" */
};

/* Reads ITEM to LISTED, whose texts are ITEM's. What makes no sense is SANDLOT_INTERNAL. */
enum sandlot_status rest_read_entry(struct sandlot_call *call, struct json_object *item, const struct rest_entry *entry,
                                    struct sandlot_listed *listed);

/* The same as rest_list below, with each entry as it is read. */
enum sandlot_status rest_list_entries(struct sandlot_call *call, const struct sandlot_listing *listing,
                                      struct json_object *items, const char *next, const struct rest_entry *entry);

/* One page, for list and list_snapshots of the table: ADD gets each entry of the array ITEMS (NULL: none) until one
 * fails, and LISTING where it goes on, at the cursor NEXT (NULL or "": it does not). */
enum sandlot_status rest_list(struct sandlot_call *call, const struct sandlot_listing *listing,
                              struct json_object *items, const char *next, rest_add add);

#ifdef __cplusplus
}
#endif

#endif
