/*
 * sandlot/sdk/connect.h - calls of the Connect protocol (connectrpc.com) with messages in JSON, over the HTTP client:
 * one message up, one or a stream of messages down.
 *
 *   static enum sandlot_status on_message(void *context, struct json_object *message) { ... }
 *
 *   const struct connect_request request = {.target = "/acme.Processes/Start",
 *                                           .message = text,
 *                                           .length = length,
 *                                           .on_message = on_message,
 *                                           .context = job};
 *   struct connect_answer answer;
 *
 *   status = connect_send(call, client, &request, &answer);
 *   ...
 *   connect_answer_clear(&answer);
 *
 * Unary calls are plain JSON; a stream is a row of frames (frames.h), of which the last says how the call ended. Time,
 * cancellation, secrets, proxies and the log are as in http.h.
 *
 * ERRORS    The codes are those of gRPC, and become the status of the call as grpc.h says. A stream is well only if its
 * end says so, however whole the messages look: one that ends without is GRPC_UNAVAILABLE, and what is no Connect has
 * the code that belongs to its HTTP status. Every function that returns a status other than SANDLOT_OK has said why
 * through call->host->fail.
 *
 * REPEATING As http.h says, for a request that is `repeatable`, and never after a message was passed on.
 */
#ifndef SANDLOT_SDK_CONNECT_H
#define SANDLOT_SDK_CONNECT_H

#include <sandlot/provider.h>
#include <sandlot/sdk/grpc.h>
#include <sandlot/sdk/http.h>
#include <sandlot/sdk/json.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One message of a stream; valid during the function only. Any status but SANDLOT_OK ends the call with it. */
typedef enum sandlot_status (*connect_message_function)(void *context, struct json_object *message);

/* One call. What is not said is 0 or NULL. All of it is the caller's and must live until connect_send returns. */
struct connect_request {
    const char *target;  /* "/package.Service/Method", or an absolute URL; as in http_request */
    const char *message; /* JSON; NULL: an empty object */
    size_t length;
    const char *const *headers; /* "Name: value", besides the client's, 16 at most; ended by NULL */
    uint32_t accepted;          /* GRPC_BIT of each code that is an answer and no error */
    bool repeatable;            /* sending it twice does no more than sending it once */
    size_t limit;               /* longest message of the answer; default 16 MiB */
    int64_t limit_ms;           /* told to the service, which ends the call then; 0: nothing is told */
    int64_t timeout_ms;         /* these three as in http_request */
    int64_t silence_ms;
    bool after_cancel;

    connect_message_function on_message; /* gets the messages of a stream; NULL: the call is unary */
    void *context;
    const bool *enough; /* once true after a message, the call ends there with SANDLOT_OK; NULL: never */
};

/* What came of a call. Zero before connect_send, which fills it in also when it fails. */
struct connect_answer {
    int code;                    /* enum grpc_code */
    int status;                  /* of HTTP; 0: there was no answer */
    char text[512];              /* what the service says to it, as one line without secrets */
    struct json_object *message; /* of a unary call that went well: an object, never NULL after SANDLOT_OK with
                                    GRPC_OK */
    size_t messages;             /* that came in a stream */
};

/* ANSWER is to be cleared, whatever is returned. */
enum sandlot_status connect_send(struct sandlot_call *call, struct http_client *client,
                                 const struct connect_request *request, struct connect_answer *answer);

void connect_answer_clear(struct connect_answer *answer);

/* Fails the call for an answer that was accepted but is of no use after all. */
enum sandlot_status connect_answer_fail(struct sandlot_call *call, const struct connect_request *request,
                                        const struct connect_answer *answer);

#ifdef __cplusplus
}
#endif

#endif
