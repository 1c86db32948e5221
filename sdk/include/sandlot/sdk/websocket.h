/*
 * sandlot/sdk/websocket.h - a WebSocket client (RFC 6455) for vendors that speak it.
 *
 * Connections are made with the base URL, credentials, TLS settings and proxies of an http_client; masks, fragments,
 * pings and the check of UTF-8 are done inside. No extensions are offered.
 *
 *   struct websocket *socket;
 *   const struct websocket_request request = {.target = "/sandboxes/1/terminal"};
 *   status = websocket_open(call, client, &request, &socket);
 *   status = websocket_send(call, socket, WEBSOCKET_TEXT, "{}", 2);
 *   status = websocket_receive(call, socket, -1, &message);
 *   websocket_close(call, socket, 1000, "");
 *
 * THREADS   One thread may receive while others send. websocket_close and websocket_free need the socket for
 * themselves.
 *
 * TIME      Every function returns within 100 ms after the call's deadline or its cancellation. A call is not bound to
 * a socket: a socket may be used in other calls than the one that opened it.
 */
#ifndef SANDLOT_SDK_WEBSOCKET_H
#define SANDLOT_SDK_WEBSOCKET_H

#include <sandlot/sdk/http.h>

#ifdef __cplusplus
extern "C" {
#endif

struct websocket;

enum websocket_kind {
    WEBSOCKET_NOTHING = 0, /* receive only: the wake-up came first, or what was posted has gone */
    WEBSOCKET_TEXT = 1,
    WEBSOCKET_BINARY = 2,
    WEBSOCKET_CLOSED = 3, /* receive only: the other side has closed */
    WEBSOCKET_PING = 4,   /* send only; pings of the other side are answered inside */
};

struct websocket_request {
    const char *target;         /* as in http_request; ws:// and wss:// are understood too */
    const char *const *headers; /* likewise */
    const char *protocols;      /* for Sec-WebSocket-Protocol: "a, b"; NULL: none */
    size_t limit;               /* longest message taken; default 16 MiB */
    /* Where the answer to the handshake goes, upgrade or refusal: status, body, headers (see http_header), url,
     * retry_ms. Zero before, and to be cleared whatever is returned; status 0: there was none. NULL: nobody wants to
     * know. */
    struct http_response *answer;
};

/* One message, valid until the next call of websocket_receive. */
struct websocket_message {
    enum websocket_kind kind;
    const void *bytes; /* with a NUL after them */
    size_t length;
    int code; /* WEBSOCKET_CLOSED: why; 1005: the other side did not say */
};

/* Connects. An answer that is not the upgrade is an error as in http_send. */
enum sandlot_status websocket_open(struct sandlot_call *call, struct http_client *client,
                                   const struct websocket_request *request, struct websocket **socket);

/* The protocol that the other side has chosen, NULL for none. Valid until the socket is freed. */
const char *websocket_protocol(const struct websocket *socket);

/* Sends one message and returns when it is on its way; text must be UTF-8, a ping is at most 125 bytes. */
enum sandlot_status websocket_send(struct sandlot_call *call, struct websocket *socket, enum websocket_kind kind,
                                   const void *bytes, size_t length);

/* The same for one thread that carries bytes both ways: sends what goes at once, the rest in websocket_receive, which
 * returns WEBSOCKET_NOTHING when all of it has gone. */
enum sandlot_status websocket_post(struct sandlot_call *call, struct websocket *socket, enum websocket_kind kind,
                                   const void *bytes, size_t length);

/* Whether something of that is still to go: then it is no time to post more. */
bool websocket_is_posting(struct websocket *socket);

/* Waits for a message, or until WAKE_FD (-1: none) is readable; it is never read from. SANDLOT_UNAVAILABLE: the
 * connection has broken; SANDLOT_INTERNAL: there was no memory for a message, or it was against the rules or too long.
 * Nothing that came behind it is handed out then. */
enum sandlot_status websocket_receive(struct sandlot_call *call, struct websocket *socket, int wake_fd,
                                      struct websocket_message *message);

/* Says goodbye, waits for the other side's answer for two seconds at most, and frees the socket. CODE is 1000 or what
 * both sides agree on. NULL is fine. */
void websocket_close(struct sandlot_call *call, struct websocket *socket, int code, const char *reason);

/* Frees the socket without a word. NULL is fine. */
void websocket_free(struct websocket *socket);

#ifdef __cplusplus
}
#endif

#endif
