/* Requests to the API server, and what its refusals mean. */
#ifndef SANDLOT_KUBERNETES_API_H
#define SANDLOT_KUBERNETES_API_H

#include "access.h"

#include <sandlot/sdk/json.h>

/* What open makes. */
struct kubernetes {
    struct access access;
};

struct api_request {
    const char *method;
    char *target;              /* taken over */
    struct json_builder *body; /* finished here; NULL: none */
    const char *type;          /* of the body; NULL: JSON */
    const int *accepted;       /* see http_request; 401 is never among them */
    const struct sandlot_sink *sink;
    const bool *enough;
    int64_t timeout_ms;
    int64_t silence_ms;
};

/*
 * Sends REQUEST, again where that helps: all that is asked here may be asked twice, for objects have names that we
 * choose. *ANSWER (NULL: not wanted): the document of a 2xx answer that did not go to a sink. RESPONSE may be NULL,
 * else it is to be cleared.
 */
enum sandlot_status api_send(struct sandlot_call *call, struct kubernetes *kubernetes, struct api_request *request,
                             struct http_response *response, struct json_object **answer);

/* Fails the call with what a refusal of METHOD TARGET means; BODY is the Status object, or whatever a proxy made. */
enum sandlot_status api_refuse(struct sandlot_call *call, const struct kubernetes *kubernetes, const char *method,
                               const char *target, const struct http_response *response);

/* Is the refusal's reason WORD ("AlreadyExists")? */
bool api_reason_is(const struct http_response *response, const char *word);

/* Can an object have this NAME? */
bool api_is_name(const char *name);

/* The path of an object: "/api/v1/namespaces/NS/PLURAL/NAME" or, with GROUP ("apps/v1"), below /apis. NAME NULL: of the
 * collection. To be freed. */
char *api_path(const struct kubernetes *kubernetes, const char *group, const char *plural, const char *name);

/* A text of OBJECT at PATH, NULL for none. */
const char *api_text(struct json_object *object, const char *path);

#endif
