/*
 * sandlot/sdk/http_upgrade.h - a request whose answer turns its connection into a stream of bytes both ways (RFC 9110,
 * section 7.8): what engines of containers answer with to a command.
 *
 *   struct http_upgrade *stream;
 *   const struct http_upgrade_request request = {
 *       .method = "POST", .target = "/exec/1/start", .protocol = "tcp", .body = text, .length = strlen(text)};
 *   status = http_upgrade_open(call, client, &request, &stream);
 *
 *   const struct http_upgrade_traffic traffic = {.input = command->input, .output = output, .wake_fd = -1};
 *   status = http_upgrade_carry(call, stream, &traffic);
 *   http_upgrade_close(stream);
 *
 * Connections are made with the base URL, credentials, TLS settings and proxies of an http_client. Nothing is sent
 * behind the request before the head of the answer has come, for there are servers that lose it. Threads: one at a
 * time.
 */
#ifndef SANDLOT_SDK_HTTP_UPGRADE_H
#define SANDLOT_SDK_HTTP_UPGRADE_H

#include <sandlot/sdk/http.h>

#ifdef __cplusplus
extern "C" {
#endif

struct http_upgrade;

struct http_upgrade_request {
    const char *method;
    const char *target;         /* as in http_request */
    const char *const *headers; /* likewise */
    const char *protocol;       /* for Upgrade: "tcp" */
    const char *body;           /* JSON; NULL: none */
    size_t length;
    struct http_response *answer; /* where a refusal goes, as in websocket_request; NULL: nobody wants to know */
};

/* Sends the request. The stream begins after 101, and also after 200 with neither a length nor chunks; any other answer
 * is an error as in http_send. */
enum sandlot_status http_upgrade_open(struct sandlot_call *call, struct http_client *client,
                                      const struct http_upgrade_request *request, struct http_upgrade **stream);

/* What goes to and fro. */
struct http_upgrade_traffic {
    /* Sent as it comes; at its end our side of the stream is closed. NULL: at once. */
    const struct sandlot_source *input;
    const struct sandlot_sink *output;          /* gets what comes, in any pieces */
    int wake_fd;                                /* once readable, `wake` is called, which may read from it; -1: none */
    enum sandlot_status (*wake)(void *context); /* any status but SANDLOT_OK ends the traffic with it */
    void *context;
    const int64_t *end_ms; /* when to give up, of CLOCK_MONOTONIC, 0 for never: SANDLOT_TIMEOUT, of which nothing is
                              told. What is called underway may change it. NULL: never */
    bool stays_open;       /* the end of the input is not passed on */
};

/*
 * Carries until the other side has closed the stream, which is SANDLOT_OK; whether it was cut nobody can tell. A side
 * that does not want the input any more is no error. SANDLOT_UNAVAILABLE: the connection has broken.
 */
enum sandlot_status http_upgrade_carry(struct sandlot_call *call, struct http_upgrade *stream,
                                       const struct http_upgrade_traffic *traffic);

/* NULL is fine. */
void http_upgrade_close(struct http_upgrade *stream);

#ifdef __cplusplus
}
#endif

#endif
