/*
 * A line to a sandbox: a WebSocket with JSON-RPC on it, whose answers come in any order, and streams of bytes both ways
 * as notifications. A line belongs to one call at a time: nothing but TCP slows a sender down, so two commands on one
 * line could fill the memory or starve each other.
 */
#ifndef SANDLOT_DENO_LINE_H
#define SANDLOT_DENO_LINE_H

#include <sandlot/sdk/http.h>
#include <sandlot/sdk/json.h>
#include <sandlot/sdk/websocket.h>

/* Why something could not be done in the sandbox. */
struct line_fault {
    int64_t protocol; /* code of JSON-RPC, for what never got there; 0: none */
    char code[32];    /* "ENOENT"; "" if unknown */
    char class[40];   /* "NotFound" */
    char text[384];
};

enum line_kind {
    LINE_NOTHING, /* nothing has come */
    LINE_ANSWER,
    LINE_BYTES, /* of a stream */
    LINE_END,   /* of a stream; failed: before its time */
    LINE_CANCEL /* the sandbox wants no more of our stream */
};

/* What has come, valid until the next receiving. */
struct line_message {
    enum line_kind kind;
    int64_t id;             /* of the request that is answered, or of the stream */
    bool failed;            /* then fault says why */
    struct json_object *ok; /* of an answer, may be NULL for null */
    struct line_fault fault;
    const char *bytes;
    size_t length;
};

struct line {
    struct line *next; /* for who keeps it */
    struct websocket *socket;
    int64_t heard_ms; /* when something came last */

    /* For who keeps it: is told now and then while something is waited for, and of the answer to request `awaited`. */
    void (*tick)(struct sandlot_call *call, void *context, struct line *line);
    void (*take)(void *context, const struct line_message *answer);
    void *context;
    int64_t awaited; /* -1: none */

    bool broken; /* of no use any more */
    bool pongs;  /* the other side answers pings */
    int timer_fd;
    int ready_fd; /* always readable */
    int64_t next_id;
    int64_t next_stream;
    struct json_object *document;
    char *decoded;
};

/* Connects. ANSWER as in websocket_request. */
enum sandlot_status line_open(struct sandlot_call *call, struct http_client *client, const char *target,
                              const char *const *headers, struct http_response *answer, struct line **line);

void line_free(struct line *line);

/* Is one that was kept for a while still good? */
bool line_is_alive(struct sandlot_call *call, struct line *line);

/* Asks for METHOD with PARAMS, which are consumed. The answer has number *ID, which may be NULL. */
enum sandlot_status line_ask(struct sandlot_call *call, struct line *line, const char *method,
                             struct json_builder *params, int64_t *id);

/* Waits for what comes next. SANDLOT_UNAVAILABLE: the line is broken. */
enum sandlot_status line_receive(struct sandlot_call *call, struct line *line, struct line_message *message);

/* Takes what has come, without waiting, or until WAKE_FD (-1: none) is readable. */
enum sandlot_status line_look(struct sandlot_call *call, struct line *line, int wake_fd, struct line_message *message);

/* Asks, and waits for the answer; what else comes meanwhile is lost. A failure in the sandbox is no failure of the
 * call. */
enum sandlot_status line_call(struct sandlot_call *call, struct line *line, const char *method,
                              struct json_builder *params, struct line_message *answer);

/* The same for what cannot fail in the sandbox: DOING, "make a folder", ends the sentence if it does. */
enum sandlot_status line_do(struct sandlot_call *call, struct line *line, const char *method,
                            struct json_builder *params, struct line_message *answer, const char *doing);

/* Fails the call for FAULT. */
enum sandlot_status line_fail(struct sandlot_call *call, const struct line_fault *fault, const char *doing);

/* ---- our streams ------------------------------------------------------------------------------------------------- */

/* ACTION: "start", "end", or for one of the other side's "cancel". */
enum sandlot_status line_tell(struct sandlot_call *call, struct line *line, const char *action, int64_t stream);

enum sandlot_status line_enqueue(struct sandlot_call *call, struct line *line, int64_t stream, const void *bytes,
                                 size_t length);

#endif
