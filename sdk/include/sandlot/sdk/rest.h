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

/* ---- lists ------------------------------------------------------------------------------------------------------ */

/*
 * What a list of the service looks like, for list and list_snapshots of the table: where an answer has its entries, and
 * an entry its parts. Each is a path, and NULL: nowhere.
 *
 *   static const struct rest_entry entry = {.what = "Acme's list of sandboxes", .items = "sandboxes", .next = "cursor",
 *                                           .id = "id", .created_at = "created_at", .state = "state",
 *                                           .left_out = "deleted"};
 *
 *   return status == SANDLOT_OK ? rest_list_entries(call, listing, answer, NULL, &entry) : status;
 */
struct rest_entry {
    const char *what;       /* "Acme's list of snapshots", for messages */
    const char *items;      /* the array of entries, required in the answer; NULL: the answer itself, or none */
    const char *next;       /* where the list goes on, as text */
    const char *id;         /* required, also in each entry */
    const char *created_at; /* as text (timestamp.h), or in milliseconds since 1970 */
    const char *run_label;
    const char *state;
    const char *usual_state; /* of an entry that says none; NULL: "unknown" */
    const char *left_out;    /* a state: entries of it are not told. NULL: all are */

    /* Has the last word about what was read of ITEM: changes LISTED, whose texts are ITEM's (to which it may add one).
     * False: this one is not told. */
    bool (*adapt)(struct json_object *item, struct sandlot_listed *listed);
};

/* Tells LISTING of one page, ANSWER, which may be NULL if its `items` are: of each entry, until one makes no sense
 * (SANDLOT_INTERNAL) or fails, and where the list goes on, which is NEXT if that is given ("": nowhere). */
enum sandlot_status rest_list_entries(struct sandlot_call *call, const struct sandlot_listing *listing,
                                      struct json_object *answer, const char *next, const struct rest_entry *entry);

/* Tells LISTING of one entry of a list. */
typedef enum sandlot_status (*rest_add)(struct sandlot_call *call, const struct sandlot_listing *listing,
                                        struct json_object *item);

/* The same for entries that only the vendor can read: ADD gets each of the array ITEMS (NULL: none). */
enum sandlot_status rest_list(struct sandlot_call *call, const struct sandlot_listing *listing,
                              struct json_object *items, const char *next, rest_add add);

#ifdef __cplusplus
}
#endif

#endif
