/*
 * sandlot/sdk/grpc.h - a gRPC client for providers: one message up, one or a stream of messages down, over the HTTP
 * client.
 *
 *   struct grpc_client *client;
 *   const struct grpc_options options = {.service = "Acme", .base_url = "https://api.acme.dev", .metadata = metadata};
 *   enum sandlot_status status = grpc_client_open(call, &options, &client);
 *
 *   const struct grpc_request request = {
 *       .method = "/acme.Sandboxes/Delete", .message = packed, .length = length, .accepted = GRPC_BIT(GRPC_NOT_FOUND)};
 *   struct grpc_answer answer;
 *   status = grpc_send(call, client, &request, &answer);
 *   ...
 *   grpc_answer_clear(&answer);
 *
 * Messages are bytes here; which format they have (protobuf, nearly always) is the caller's business.
 *
 * CONNECTION  HTTP/2, by ALPN for https:// and without asking first for http://. Calls that follow each other share one
 * connection; calls at the same time have one each. Time, cancellation, secrets, proxies and the log are as in http.h.
 *
 * ERRORS    A call is well only if its status says so, however whole the messages look: a status that never came, or
 * came before the messages, is GRPC_UNAVAILABLE, an answer that is no gRPC has the code that belongs to its HTTP
 * status, and a status that did come counts even if the connection broke after it. Every function that returns a status
 * other than SANDLOT_OK has said why through call->host->fail. The code of an answer becomes the status of the call:
 *
 *   UNAUTHENTICATED, PERMISSION_DENIED   SANDLOT_AUTH        NOT_FOUND           SANDLOT_NOT_FOUND
 *   RESOURCE_EXHAUSTED                   SANDLOT_EXHAUSTED   UNIMPLEMENTED       SANDLOT_UNSUPPORTED
 *   DEADLINE_EXCEEDED                    SANDLOT_TIMEOUT
 *   INVALID_ARGUMENT, OUT_OF_RANGE, ALREADY_EXISTS, FAILED_PRECONDITION, ABORTED    SANDLOT_INVALID_ARGUMENT
 *   UNAVAILABLE, UNKNOWN, INTERNAL, CANCELLED, DATA_LOSS, and numbers beyond        SANDLOT_UNAVAILABLE
 *
 * REPEATING A unary call is sent again after CANCELLED, UNKNOWN, DEADLINE_EXCEEDED, INTERNAL, UNAVAILABLE and broken
 * connections, up to `attempts` times, with pauses that double; so its service must know it by something in it, or by
 * the metadata of `describe`. When the service itself asks for a pause (Retry-After of a 429 or 503, or what `asked_ms`
 * finds in the details of a status) that is kept instead and not counted; one that would pass the deadline, or of more
 * than a minute, is not begun, and the call is SANDLOT_EXHAUSTED. A streaming call is sent again only after such a
 * pause, and if no message has come: whoever knows where it broke goes on from there.
 */
#ifndef SANDLOT_SDK_GRPC_H
#define SANDLOT_SDK_GRPC_H

#include <sandlot/provider.h>

#ifdef __cplusplus
extern "C" {
#endif

enum grpc_code {
    GRPC_OK = 0,
    GRPC_CANCELLED = 1,
    GRPC_UNKNOWN = 2,
    GRPC_INVALID_ARGUMENT = 3,
    GRPC_DEADLINE_EXCEEDED = 4,
    GRPC_NOT_FOUND = 5,
    GRPC_ALREADY_EXISTS = 6,
    GRPC_PERMISSION_DENIED = 7,
    GRPC_RESOURCE_EXHAUSTED = 8,
    GRPC_FAILED_PRECONDITION = 9,
    GRPC_ABORTED = 10,
    GRPC_OUT_OF_RANGE = 11,
    GRPC_UNIMPLEMENTED = 12,
    GRPC_INTERNAL = 13,
    GRPC_UNAVAILABLE = 14,
    GRPC_DATA_LOSS = 15,
    GRPC_UNAUTHENTICATED = 16
};

#define GRPC_BIT(code) (UINT32_C(1) << (code))

/* What would pass if it were sent again a little later. */
#define GRPC_TRANSIENT                                                                                                \
    (GRPC_BIT(GRPC_CANCELLED) | GRPC_BIT(GRPC_UNKNOWN) | GRPC_BIT(GRPC_DEADLINE_EXCEEDED) | GRPC_BIT(GRPC_INTERNAL) | \
     GRPC_BIT(GRPC_UNAVAILABLE))

/* "NOT_FOUND"; "an unknown code" for what is none. */
const char *grpc_code_name(int code);

/* ---- the client ------------------------------------------------------------------------------------------------- */

enum { GRPC_ATTEMPT_LINES = 5, GRPC_ATTEMPT_LINE = 96 };

/* One attempt of a unary call, for metadata that says which it is. */
struct grpc_attempt {
    const char *key;              /* a UUID, the same for all attempts of one call */
    int repeats;                  /* that were our own decision; 0 at first */
    int asked_repeats;            /* that the service asked for */
    int64_t since_first_ms;       /* since the first attempt */
    int64_t since_first_asked_ms; /* since the service first asked */
};

struct grpc_client;

/* How a client is made. What is 0 or NULL has the default that stands beside it. Everything is copied. */
struct grpc_options {
    const char *service;         /* who answers, in messages; default: the host of base_url */
    const char *base_url;        /* required: "https://host:443" */
    const char *const *metadata; /* "name: value", with every call; ended by NULL; default: none */
    int attempts;                /* of a unary call at most; default 4 */
    int pause_ms;                /* the first pause between them; default 100 */
    int longest_pause_ms;        /* default 1000 */
    int64_t longest_asked_ms; /* for all pauses that the service asks for together; 0: ten minutes; -1: none is kept */
    int64_t silence_ms;       /* longest time without a byte; default 120000 */
    const char *key_from;     /* as in http_options */

    /* Writes metadata of ATTEMPT, "name: value" each, and returns how many; NULL: none. */
    size_t (*describe)(const struct grpc_attempt *attempt, char lines[GRPC_ATTEMPT_LINES][GRPC_ATTEMPT_LINE]);

    /* The pause that the details of a status (grpc-status-details-bin, decoded) ask for, -1 for none; NULL: none do. */
    int64_t (*asked_ms)(const void *details, size_t length);
};

/* As http_client_open and http_client_close. */
enum sandlot_status grpc_client_open(struct sandlot_call *call, const struct grpc_options *options,
                                     struct grpc_client **client);
void grpc_client_close(struct grpc_client *client);

/* Keeps TEXT out of messages and log lines from now on. */
void grpc_client_add_secret(struct grpc_client *client, const char *text);

/* ---- calls ------------------------------------------------------------------------------------------------------ */

/* One message of a stream; valid during the function only. Any status but SANDLOT_OK ends the call with it. */
typedef enum sandlot_status (*grpc_message_function)(void *context, const void *message, size_t length);

/* One call. What is not said is 0 or NULL. All of it is the caller's and must live until grpc_send returns. */
struct grpc_request {
    const char *method; /* "/package.Service/Method" */
    const void *message;
    size_t length;
    const char *const *metadata; /* "name: value", besides the client's; ended by NULL */
    uint32_t accepted;           /* GRPC_BIT of each code that is an answer and no error, and not to be repeated */
    bool once;                   /* it is not sent again, whatever comes */
    size_t limit;                /* longest message of the answer; default 16 MiB */
    int64_t timeout_ms;          /* for each attempt; the call's deadline if that is nearer; 0: only that */
    int64_t silence_ms;          /* longest time without a byte; 0: the client's; -1: no limit */
    bool after_cancel;           /* as in http.h */

    grpc_message_function on_message; /* gets the messages of a stream; NULL: the call is unary */
    void *context;
    const bool *enough; /* once true after a message, the call ends there with SANDLOT_OK; NULL: never */
};

/* What came of a call. Zero before grpc_send, which fills it in also when it fails. */
struct grpc_answer {
    int code;        /* enum grpc_code */
    char text[1024]; /* what the service says to it, as one line without secrets */
    char *message;   /* of a unary call that went well: its message, never NULL after SANDLOT_OK with GRPC_OK */
    size_t length;
    size_t messages; /* that came */
    int attempts;
    bool unanswered; /* the service did not say the code: it was not reached, or broke off. `text` tells how */
};

/* ANSWER is to be cleared, whatever is returned. */
enum sandlot_status grpc_send(struct sandlot_call *call, struct grpc_client *client, const struct grpc_request *request,
                              struct grpc_answer *answer);

void grpc_answer_clear(struct grpc_answer *answer);

/* Fails the call for an answer that was accepted but is of no use after all, just as grpc_send would have. */
enum sandlot_status grpc_answer_fail(struct sandlot_call *call, struct grpc_client *client,
                                     const struct grpc_request *request, const struct grpc_answer *answer);

/* Writes a fresh UUID (version 4), with its NUL. */
#define GRPC_KEY_SIZE 37
void grpc_new_key(char key[GRPC_KEY_SIZE]);

#ifdef __cplusplus
}
#endif

#endif
