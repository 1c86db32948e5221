/*
 * The data plane of Amazon Bedrock AgentCore's code interpreter: every request is signed, and below
 * /code-interpreters/INTERPRETER.
 */
#ifndef SANDLOT_AGENTCORE_API_H
#define SANDLOT_AGENTCORE_API_H

#include "parameters.h"

#include <sandlot/provider.h>
#include <sandlot/sdk/aws_credentials.h>
#include <sandlot/sdk/http.h>
#include <sandlot/sdk/json.h>

#include <pthread.h>

#define AGENTCORE_SERVICE "AgentCore"

/* What open makes. */
struct agentcore {
    struct parameters parameters;
    pthread_mutex_t lock; /* for all below; client, address and region stay until close once they are there */
    struct http_client *client;
    char *base_url;
    char *region;
    struct aws_profile profile;
    struct aws_credentials credentials;
    int64_t ahead_s; /* the service's clock, of ours */
};

void api_init(struct agentcore *agentcore, const struct parameters *parameters);
void api_clear(struct agentcore *agentcore);

struct api_request {
    const char *method;
    const char *operation; /* "/sessions/start" */
    const char *session;   /* id, where one is needed: in a header of "/tools/invoke", else in the query */
    const char *body;      /* JSON, or NULL */
    size_t length;         /* of it */
    const int *accepted;   /* statuses besides 2xx that the caller looks at, ended by 0; not with a sink */
    const struct sandlot_sink *sink;
    int64_t silence_ms; /* how long an answer may take to begin; 0: not long */
    bool after_cancel;  /* as in http_request */
};

/* Signs and sends REQUEST, again if need be: none of them does more when it is sent twice. RESPONSE is to be cleared in
 * any case. */
enum sandlot_status api_send(struct sandlot_call *call, struct agentcore *agentcore, const struct api_request *request,
                             struct http_response *response);

/* The same, and reads the answer: to be released. *ANSWER is NULL if its status is none of 2xx, but accepted. */
enum sandlot_status api_ask(struct sandlot_call *call, struct agentcore *agentcore, const struct api_request *request,
                            struct http_response *response, struct json_object **answer);

/* What an error of the service called NAME means: "ThrottlingException", or "throttlingException" as in streams. */
enum sandlot_status api_status_of(const char *name);

/* What to do about it: the end of a sentence. */
const char *api_advice(enum sandlot_status status, const char *name);

/* Takes LOCK, which may be held during a request, while the call lasts. Every status but SANDLOT_OK was told. */
enum sandlot_status api_lock(struct sandlot_call *call, pthread_mutex_t *lock);

/* Can there be a session with this id? */
bool api_is_session(const char *id);

#endif
