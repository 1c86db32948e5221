/* What the files of the HTTP client share. */
#ifndef SANDLOT_SDK_HTTP_CLIENT_H
#define SANDLOT_SDK_HTTP_CLIENT_H

#include <sandlot/sdk/http.h>

#include "redact.h"
#include "text.h"

#include <curl/curl.h>
#include <pthread.h>

enum {
    HTTP_LONGEST_MESSAGE = 300,            /* of what a service says, in a sentence of ours */
    HTTP_LONGEST_ERROR_BODY = 64 * 1024,   /* read of an answer that is an error */
    HTTP_LONGEST_HEADERS = 256 * 1024,     /* of one answer, all together */
    HTTP_DEFAULT_LIMIT = 16 * 1024 * 1024, /* of a body in memory */
    HTTP_LONGEST_PAUSE_MS = 60 * 1000,     /* between attempts */
    HTTP_CLEANUP_MS = 900,                 /* for a request after the call's end */
    HTTP_LONGEST_CLEANUP_MS = 5000,
    HTTP_MOST_REDIRECTS = 5
};

/* A handle with the connections that it keeps. curl shares connections between the threads of one multi handle only,
 * and a multi handle belongs to one thread at a time: so each request in flight has its own pair. */
struct http_connection {
    struct http_connection *next;
    CURL *easy;
    CURLM *multi;
};

struct http_client {
    char *service;
    char *base_url;
    char *user_agent;
    char *ca_file;
    char *proxies[2]; /* for http, for https */
    char *no_proxy;
    char *authorities; /* these four in PEM, see struct http_tls */
    char *certificate;
    char *certificate_key;
    bool unverified;
    struct curl_slist *connect_to; /* one line for CURLOPT_CONNECT_TO */
    char **headers;                /* ended by NULL */
    int attempts;
    int pause_ms;
    int connect_ms;
    int64_t silence_ms;
    bool http2;
    int *repeated; /* ended by 0 */
    char *repeat_header;
    char *key_from;
    char *id_header;
    char *unix_socket;
    int (*dial)(void *context, struct sockaddr_un *address);
    void (*hang_up)(void *context, int fd);
    void *dial_context;
    struct sdk_secrets secrets;

    pthread_mutex_t lock; /* of what follows */
    struct http_connection *idle;
    int idle_count;
    int kept_connections;

    CURLSH *share; /* names and TLS sessions */
    pthread_mutex_t share_locks[CURL_LOCK_DATA_LAST];
};

/* ---- http_client.c ---- */

/* Both NULL when out of memory: a new connection; a kept one or a new one. */
struct http_connection *http_connection_new(void);
struct http_connection *http_connection_take(struct http_client *client);
void http_connection_give_back(struct http_client *client, struct http_connection *connection);
void http_connection_free(struct http_connection *connection);

/* Sets on EASY what concerns every connection of the client to URL. False when out of memory. */
bool http_configure(const struct http_client *client, CURL *easy, const char *url);

/* ---- http_address.c ---- */

/* TARGET as a URL of its own; to be freed. NULL when out of memory. */
char *http_absolute(const struct http_client *client, const char *target);

/* Keeps the password in URL, if there is one, out of messages from now on. */
void http_learn_password(struct http_client *client, const char *url);

/* 1: they have one origin. 0: they have not, or one of them is no URL. -1: out of memory. */
int http_same_origin(const char *one, const char *other);

/* Is it https? */
bool http_is_secure(const char *url);

/* URL without user, password, query and fragment, and without scheme unless WITH_SCHEME; to be freed. "?" if it is no
 * URL. */
char *http_shown_url(const char *url, bool with_scheme);

/* ---- http_headers.c ---- */

/* The headers to send to URL; NULL with *STATUS (after failing the call) if one of them is not fit to be sent. */
struct curl_slist *http_headers(struct sandlot_call *call, const struct http_client *client,
                                const struct http_request *request, const char *url, enum sandlot_status *status);

/* Does the line "Name: value" have NAME? */
bool http_is_header(const char *line, const char *name);

/* Can TEXT be a part of a header, without beginning another one? */
bool http_is_value(const char *text);

/* If the line "Name: value" has the name of a secret: keeps the value out of messages from now on, and what it holds
 * ("Bearer x", "Basic ..."). */
void http_learn_header(struct http_client *client, const char *line);

/* ---- http_errors.c ---- */

enum sandlot_status http_status_of(int status);
bool http_is_accepted(const struct http_request *request, int status);

enum { HTTP_KEY_HINT = 176 };

/* What to do about a key that was refused, into TEXT; KEY_FROM: the variable that it came from, or NULL. */
void http_key_hint(char *text, size_t capacity, const char *key_from);

/* Fails the call with TEXT after redaction. */
enum sandlot_status http_fail(struct sandlot_call *call, struct http_client *client, enum sandlot_status status,
                              const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Writes a line to the log at debug level, after redaction. */
void http_trace(struct sandlot_call *call, struct http_client *client, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- http_retry.c ---- */

/* May it arrive twice? */
bool http_is_repeatable(const struct http_request *request);

/* ---- http_transfer.c ---- */

/* What becomes of one attempt. */
struct http_attempt {
    /* set by the caller */
    struct sandlot_call *call;
    struct http_client *client;
    const struct http_request *request;
    const char *url;
    int64_t end_ms; /* by the request's own limit, of CLOCK_MONOTONIC; 0: it has none */
    bool may_redirect;

    /* the answer */
    int status;
    char *redirect; /* where it points, if it is to be followed */
    struct sdk_buffer headers;
    struct sdk_buffer body;
    uint64_t bytes;
    int64_t duration_ms;
    uint64_t sent;
    bool reused;

    /* how it ended */
    enum sandlot_status outcome; /* SANDLOT_OK: there is an answer, of whatever status */
    char fault[CURL_ERROR_SIZE];
    bool told;         /* somebody else has failed the call */
    bool arrived;      /* the request may have arrived */
    bool broken;       /* the connection failed or broke: another attempt may do */
    bool passed_on;    /* the sink has got something */
    bool source_spent; /* a source has been read from and cannot be rewound */
};

/* What REQUEST listens to for a cancellation: CALL, unless the request cleans up after one. */
static inline struct sandlot_call http_listen(const struct sandlot_call *call, const struct http_request *request)
{
    struct sandlot_call heard = *call;

    if (request->after_cancel) {
        heard.cancel_fd = -1;
        heard.deadline_ms = 0; /* the request has one of its own */
    }
    return heard;
}

void http_attempt_run(struct http_attempt *attempt);
void http_attempt_clear(struct http_attempt *attempt);

/* When REQUEST, which has a limit of its own until END_MS (0: none), must be done; 0: whenever. The call's deadline may
 * move meanwhile. */
int64_t http_deadline(const struct sandlot_call *call, const struct http_request *request, int64_t end_ms);

/* Waits on MULTI, the call's cancellation and EXTRA (fd -1: none) until something happens or DEADLINE_MS passes.
 * SANDLOT_CANCELLED or SANDLOT_TIMEOUT if it is over. */
enum sandlot_status http_wait(const struct sandlot_call *call, CURLM *multi, int extra, short events,
                              int64_t deadline_ms, int at_most_ms);

#endif
