/*
 * A sandbox at Deno, and the lines to it that are kept from one call to the next. It lives until a point in time that
 * is half an hour away at most, and is pushed on while the sandbox is used.
 */
#ifndef SANDLOT_DENO_SANDBOX_H
#define SANDLOT_DENO_SANDBOX_H

#include "api.h"
#include "line.h"

#include <sandlot/sdk/http_relay.h>

#define WORKING_DIR "/home/app"

/* How long a sandbox lives. Milliseconds since 1970. */
struct lifetime {
    int64_t ends_ms;  /* when it will end; 0: it is not ours to push on */
    int64_t rest_ms;  /* how long after a use that should be */
    int64_t until_ms; /* but not later than that */
    int64_t again_ms; /* it could not be pushed on: not asked for before then */
};

/* What the host holds of a sandbox. Calls for one sandbox may overlap. */
struct sandbox {
    struct deno *deno;
    struct http_client *client; /* of its region */
    char id[ID_SIZE];
    pthread_mutex_t lock; /* for what follows */
    struct line *idle;    /* nobody uses them now */
    struct lifetime lifetime;
    char root[64]; /* what it has booted from; "" for Deno's own image */
    bool known;    /* lifetime and root are */
    struct http_relay_places places;
};

/* A handle with a first LINE, which is taken over also if there is not enough memory (then NULL). */
struct sandbox *sandbox_new(struct deno *deno, struct http_client *client, const char *id, struct line *line);

enum sandlot_status sandbox_attach(struct sandlot_call *call, struct deno *deno, const char *id,
                                   struct sandbox **sandbox);

FUNCTION_OF(sandlot_provider, release, sandbox_release);

/* A line for this call alone: a kept one or a new one. Goes back by sandbox_give. */
enum sandlot_status sandbox_take(struct sandlot_call *call, struct sandbox *sandbox, struct line **line);

/* Takes LINE back, unless it is broken, and makes the sandbox live on. */
void sandbox_give(struct sandlot_call *call, struct sandbox *sandbox, struct line *line);

/* It is used in a way that needs no line: makes it live on if it would end soon. */
FUNCTION_OF(http_relay, live_on, sandbox_live_on);

/* Notes in the sandbox, for who attaches to it, how long it lives and what it has booted from. */
enum sandlot_status sandbox_note(struct sandlot_call *call, struct sandbox *sandbox, struct line *line);

/* Waits until it is known what is noted in the sandbox. */
enum sandlot_status sandbox_learn(struct sandlot_call *call, struct line *line);

/* After a handshake that failed with STATUS: waits, and is true if it is worth another one. */
bool sandbox_try_again(struct sandlot_call *call, enum sandlot_status status, const struct http_response *answer,
                       int attempt);

#endif
