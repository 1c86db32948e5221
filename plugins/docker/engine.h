/* The engine: one connection pool, the version that both sides speak, requests. */
#ifndef SANDLOT_DOCKER_ENGINE_H
#define SANDLOT_DOCKER_ENGINE_H

#include "address.h"
#include "parameters.h"
#include "ssh.h"

#include <sandlot/sdk/http.h>
#include <sandlot/sdk/json.h>

/* What open makes. */
struct docker {
    struct parameters parameters;
    pthread_mutex_t lock; /* of what follows, until `version` is there */
    struct address address;
    struct ssh ssh;
    struct http_client *client;
    char version[16]; /* of the API, as "1.41"; "": not asked yet */
    bool podman;      /* it is Podman's service, which knows some things otherwise */
};

void engine_init(struct docker *docker, const struct parameters *parameters);
void engine_clear(struct docker *docker);

/* Finds the engine and asks for its version, once. */
enum sandlot_status engine_meet(struct sandlot_call *call, struct docker *docker);

/* TARGET of a request, taken over, behind the version that is spoken; to be freed. After engine_meet. */
char *engine_target(const struct docker *docker, char *target);

/* Sends REQUEST, whose target is the caller's and has no version, after engine_meet. */
enum sandlot_status engine_send(struct sandlot_call *call, struct docker *docker, const struct http_request *request,
                                struct http_response *response);

/* One request that is a line and perhaps a JSON document, with an answer of the kind. */
struct engine_order {
    const char *method;
    char *target;        /* taken over */
    char *body;          /* likewise; NULL: none */
    const int *accepted; /* see http_request */
    const char *const *headers;
    bool once;          /* never sent twice */
    bool slow;          /* its answer may take as long as it likes */
    int64_t timeout_ms; /* 0: the call's */
};

/*
 * Sends it. *CODE: the status of HTTP. *ANSWER: the document of a 2xx answer, NULL if that was empty or null. SAID, of
 * ENGINE_SAID bytes: what an accepted error says of itself. All three may be NULL.
 */
enum { ENGINE_SAID = 400 };
enum sandlot_status engine_order(struct sandlot_call *call, struct docker *docker, const struct engine_order *order,
                                 int *code, struct json_object **answer, char *said);

/* Statuses by which engines refuse something for its state: dockerd 409 and 304, Podman 500 mostly. What it was the
 * text tells, or a look. */
extern const int engine_refusals[];

/* Does TEXT have WORDS, in any case? */
bool engine_says(const char *text, const char *words);

enum sandlot_status engine_no_memory(struct sandlot_call *call);

#endif
