/*
 * A connection of the HTTP client that one request takes over: its answer ends HTTP, and after it both sides say
 * whatever they have agreed on. What WebSockets and upgraded streams have in common.
 */
#ifndef SANDLOT_SDK_HTTP_RAW_H
#define SANDLOT_SDK_HTTP_RAW_H

#include "http_client.h"

struct http_raw {
    struct http_client *client;
    const char *kind; /* what it is, in messages: "WebSocket" */
    char *shown;      /* its address, likewise */
    struct http_connection *connection;
    curl_socket_t fd;
    char fault[CURL_ERROR_SIZE + 64];
    struct sdk_buffer early; /* the answer's head, and what came together with it */
    size_t early_read;
};

/* KIND is not copied. False: out of memory. To be cleared in any case. */
bool http_raw_init(struct http_raw *raw, struct http_client *client, const char *kind, const char *url);
void http_raw_clear(struct http_raw *raw);

/* Fails the call: "the KIND to SERVICE at ADDRESS failed: WHAT; ..." */
enum sandlot_status http_raw_fail(struct sandlot_call *call, struct http_raw *raw, enum sandlot_status status,
                                  const char *what);
/* The same for what http_raw_wait returned. */
enum sandlot_status http_raw_fail_wait(struct sandlot_call *call, struct http_raw *raw, enum sandlot_status status);

/* Waits a while for EVENTS of FD or for WAKE_FD (-1: none). SANDLOT_CANCELLED, SANDLOT_TIMEOUT: the call is over. */
enum sandlot_status http_raw_wait(const struct sandlot_call *call, int fd, short events, int wake_fd);

enum sandlot_status http_raw_connect(struct sandlot_call *call, struct http_raw *raw, const char *url);

/* The head of a request for URL, to be freed: HEADERS are those of http_headers, OWN are further lines. NULL when out
 * of memory. */
char *http_raw_head(const char *method, const char *url, const struct curl_slist *headers, const char *user_agent,
                    const char *own);

/* Sends all of BYTES. */
enum sandlot_status http_raw_send_all(struct sandlot_call *call, struct http_raw *raw, const char *bytes,
                                      size_t length);

/* Sends HEAD and BODY and reads until the head of the answer is whole; what comes behind it is read next. *HEAD_LENGTH:
 * how long it is, in `early`. */
enum sandlot_status http_raw_exchange(struct sandlot_call *call, struct http_raw *raw, const char *head,
                                      const void *body, size_t length, size_t *head_length);

/* The status of the answer that begins at HEAD; 0 if it is none. */
int http_raw_status(const char *head);

/* The value of header NAME within HEAD, cut at CAPACITY; "" if there is none. */
void http_raw_header(const char *head, size_t length, const char *name, char *value, size_t capacity);

/* Fails the call as http_send would for an answer of STATUS that ends nothing, with what it says of itself. ANSWER may
 * be NULL. */
enum sandlot_status http_raw_refuse(struct sandlot_call *call, struct http_raw *raw, const struct http_request *request,
                                    struct http_response *answer, const char *url, int status, size_t head_length);

/* A copy of the answer for somebody who clears it; NULL: nobody wants it. False: out of memory. */
bool http_raw_hand_over(const struct http_raw *raw, const char *url, int status, size_t head_length,
                        struct http_response *answer);

/* As curl_easy_recv and curl_easy_send; what came early is read first. */
CURLcode http_raw_receive(struct http_raw *raw, void *buffer, size_t capacity, size_t *length);
CURLcode http_raw_send(struct http_raw *raw, const void *bytes, size_t length, size_t *sent);

#endif
