/* The request that makes a sandbox. */
#ifndef SANDLOT_LANGSMITH_CREATE_H
#define SANDLOT_LANGSMITH_CREATE_H

#include "api.h"

/* The label that says for which creation a sandbox was made, and what all our names begin with. */
#define RUN_LABEL "sandlot-run"
#define NAME_PREFIX "sandlot-"

struct creation {
    const struct sandlot_create *request;
    const char *name;
    const char *snapshot_id; /* one of the two */
    const char *snapshot_name;
    struct json_object *environment; /* of the parameters; NULL: none */
    struct json_object *labels;
    int64_t wait_s; /* how long the service may wait for the sandbox to be ready before it answers */
};

/* Refuses parameters that LangSmith would refuse, before anything is sent, and reads the tables among them into
 * CREATION, which is to be cleared, whatever is returned. */
enum sandlot_status creation_check(struct sandlot_call *call, const struct parameters *parameters,
                                   struct creation *creation);
void creation_clear(struct creation *creation);

/* Writes the request's body. */
void creation_write(struct json_builder *body, const struct parameters *parameters, const struct creation *creation);

#endif
