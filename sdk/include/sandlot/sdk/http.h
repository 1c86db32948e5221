/*
 * sandlot/sdk/http.h - an HTTP client for providers: requests that end in time, are repeated only where that is
 * safe, and never tell a secret.
 *
 *   struct http_client *client;
 *   const struct http_options options = {.service = "Acme", .base_url = "https://api.acme.dev/v1", .bearer = key};
 *   enum sandlot_status status = http_client_open(call, &options, &client);
 *
 *   char *target = http_target("/sandboxes/{}", id);
 *   const struct http_request request = {.method = "DELETE", .target = target, .accepted = (const int[]){404, 0}};
 *   struct http_response response;
 *   status = http_send(call, client, &request, &response);
 *   ...
 *   http_response_clear(&response);
 *   free(target);
 *
 * ERRORS    Every function that returns a status other than SANDLOT_OK has said why through call->host->fail: one
 * sentence with the method, the host, the path (never the query), the status, and what the service itself said. The
 * status of an answer becomes the status of the call:
 *
 *   401, 403                 SANDLOT_AUTH                 404, 410       SANDLOT_NOT_FOUND
 *   402, 429                 SANDLOT_EXHAUSTED            405, 501       SANDLOT_UNSUPPORTED
 *   408, 409, 423, 425, 5xx  SANDLOT_UNAVAILABLE          other 4xx      SANDLOT_INVALID_ARGUMENT
 *
 * No connection, a connection that breaks, and an answer that ends before its announced end are SANDLOT_UNAVAILABLE;
 * what is not HTTP, or larger than it may be, is SANDLOT_INTERNAL. (An answer that announces no end, neither a length
 * nor chunks, ends with its connection, and nobody can tell whether it was cut.)
 *
 * TIME      Nothing outlives the call: its deadline and cancellation end a request within 100 ms, wherever it
 * stands (name lookup, connecting, TLS, waiting, body, pause before the next attempt). Besides, a request ends when
 * nothing has moved for `silence_ms`.
 *
 * REPEATING A request is sent again after a failed connection (nothing has arrived then), and, if it is repeatable,
 * after a connection that broke before anything was passed on, and after 429, 502, 503 and 504. (Further statuses, and
 * a header that decides, are the client's options `repeated` and `repeat_header`.) Repeatable are GET, HEAD, PUT,
 * DELETE and OPTIONS, whatever has an idempotency key, and what is marked so. The pauses grow by the power of two with
 * full jitter; a pause that the service asks for (Retry-After as seconds or date, Retry-After-Ms, RateLimit-Reset and
 * X-RateLimit-Reset) is kept instead. A pause that would pass the deadline, or 60 s, is not begun: the call fails at
 * once and says how long the service wants to be left alone. A repeatable request on a kept connection that turns out
 * to be closed before one byte of an answer is sent once more at once, within the same attempt; another one is not,
 * because nobody can tell whether it was done.
 *
 * SECRETS   The values of `bearer`, of headers whose names sound of a secret (authorization, cookie, key, token,
 * secret, password), the passwords in base_url and in the addresses of proxies, and what http_client_add_secret has
 * been told are replaced by "***" in every message and log line.
 * On a redirect to another scheme, host or port none of the client's and of the request's headers travel along but
 * Accept and Range, and a redirect from https to http is refused. Only GET and HEAD follow redirects, five at most.
 *
 * TRACE     Each attempt writes one line to the host's log at debug level (`-vv`): method, URL without user, query
 * and secrets, status, duration, bytes up and down, number of the attempt, whether the connection was a kept one. It is
 * safe to paste into a report.
 *
 * THREADS   One client serves any number of threads at the same time. Each request in flight has a connection of its
 * own; afterwards up to `kept_connections` of them wait for the next request, with their TLS sessions shared.
 */
#ifndef SANDLOT_SDK_HTTP_H
#define SANDLOT_SDK_HTTP_H

#include <sandlot/provider.h>

#include <sys/un.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a client looks up, for the metadata's `environment` (without all_proxy, which hardly anybody has, the line is
 * not too long for variables of your own):
 *
 *   M(environment, "ACME_REGION " HTTP_ENVIRONMENT)
 */
#define HTTP_ENVIRONMENT "SSL_CERT_FILE https_proxy HTTPS_PROXY http_proxy no_proxy NO_PROXY"

struct http_client;

/* Who is trusted, and as whom the client comes, where that is not in files: texts in the format PEM. NULL: as without
 * it. Everything is copied. */
struct http_tls {
    const char *authorities; /* the certificates to trust, instead of those of a file or of the system */
    const char *certificate; /* of the client; with it goes... */
    const char *key;         /* ...its key, which is secret */
    bool unverified;         /* anybody is taken for the service: only where the user says so */
};

/* ---- the client ------------------------------------------------------------------------------------------------- */

/* How a client is made. What is 0 or NULL has the default that stands beside it. Everything is copied. */
struct http_options {
    const char *service;        /* who answers, in messages: "Acme"; default: the host of base_url */
    const char *base_url;       /* required: "https://api.acme.dev/v1"; targets are appended to it */
    const char *bearer;         /* sent as "Authorization: Bearer ..."; secret */
    const char *const *headers; /* "Name: value", with every request; ended by NULL; default: none */
    const char *user_agent;     /* default: "sandlot-provider" */
    const char *ca_file;        /* PEM file of certificates to trust; default: SSL_CERT_FILE by the host's
                                   environment lookup, then the system's */
    int attempts;               /* how often a request is sent at most; default 4; 1: never again */
    int pause_ms;               /* bound of the first pause between attempts; default 250 */
    int connect_ms;             /* limit for one attempt to connect, with TLS; default 15000 */
    int64_t silence_ms;         /* see http_request; default 120000 */
    int kept_connections;       /* default 16 */
    bool http2;                 /* HTTP/2 and nothing else: over TLS by ALPN, to an http:// address without asking first
                                   (with libcurl 7 a connection of that kind then serves one request) */
    bool direct;                /* through no proxy, whatever the variables say: for services of this machine */
    const int *repeated;        /* statuses after which a repeatable request is sent again, besides those that stand
                                   at REPEATING; ended by 0; default: none. As the service's own client does it. */
    const char *repeat_header;  /* a header by which the service decides itself: after an error with "true" whatever is
                                   not marked never_repeat is sent again, after one with "false" nothing;
                                   "X-Should-Retry"; default: none */
    const char *key_from;       /* the variable that the key came from, see credential_source: errors 401 and 403 name
                                   it, instead of an error_hint; default: they do not */
    const char *unix_socket;    /* the path of a UNIX socket that every connection goes to, through no proxy; base_url
                                   is then what requests say of themselves, "http://engine" */
    /* Makes connections by other means, over a program say, where base_url is "http://127.0.0.1": returns a socket that
     * is not connected yet, or -1, and writes to *ADDRESS where that is to be connected to at once. `hang_up` is told
     * before the socket is closed. Default: none. */
    int (*dial)(void *context, struct sockaddr_un *address);
    void (*hang_up)(void *context, int fd);
    void *dial_context;         /* must outlive the client */
    const struct http_tls *tls; /* default: what `ca_file` says, without a certificate of the client's */
    const char *proxy;          /* this one, whatever the variables say: http://, https://, socks5:// or socks5h:// */
    const char *connect_to; /* "host:port" to which every connection goes, though names and certificates are those of
                               base_url: for a service that is reached by another address; default: base_url's */
    const char *id_header; /* a header with the number that the service gives a request, "X-Request-Id": errors tell it,
                              for the service's support; default: none */
};

/*
 * Makes a client. Proxies are taken from the variables https_proxy, HTTPS_PROXY, http_proxy, all_proxy, ALL_PROXY,
 * no_proxy and NO_PROXY by the host's environment lookup (name those that you want to have in a worker in the
 * metadata's `environment`). TLS certificates are verified, unless `tls` says otherwise. To be closed by
 * http_client_close.
 */
enum sandlot_status http_client_open(struct sandlot_call *call, const struct http_options *options,
                                     struct http_client **client);

/* Closes every kept connection. No request may be in flight. NULL is fine. */
void http_client_close(struct http_client *client);

/* Keeps TEXT out of messages and log lines from now on. Texts shorter than four bytes are not kept out: they would
 * black out ordinary words. */
void http_client_add_secret(struct http_client *client, const char *text);

/* ---- targets ---------------------------------------------------------------------------------------------------- */

/*
 * The path and query of a request, to be freed: PATTERN with each {} replaced by the next argument (const char *),
 * percent-encoded so that it stays one segment of the path or one value of the query.
 *
 *   http_target("/sandboxes/{}/files?path={}", id, path)
 *
 * NULL if out of memory, and if a segment of the path would be empty, "." or "..": such an id would address
 * another thing than was meant. http_send takes a NULL target as just that and fails with SANDLOT_INVALID_ARGUMENT.
 */
char *http_target(const char *pattern, ...);

/* Appends "?NAME=VALUE" or "&NAME=VALUE", encoded, to the target in *TARGET, in place. A NULL VALUE adds nothing. False
 * when out of memory; *TARGET is then freed and NULL. */
bool http_target_add(char **target, const char *name, const char *value);

/* ---- requests --------------------------------------------------------------------------------------------------- */

#define HTTP_LENGTH_UNKNOWN UINT64_MAX

/* Bytes to send: from memory, or from a source as they are read, in constant memory. All zero: no bytes. */
struct http_body {
    const void *bytes;                   /* not copied: valid until http_send returns */
    const struct sandlot_source *source; /* instead of bytes */
    uint64_t length; /* of either; HTTP_LENGTH_UNKNOWN for a source is sent in chunks. A source that ends
                        earlier is an error; what it has beyond is not read. */
    /* Puts the source back to its beginning, so that the request can be sent again; NULL: it cannot, and a request
     * whose source has been read from is not repeated. */
    enum sandlot_status (*rewind)(void *context);
    void *rewind_context;
};

/* One part of a form (multipart/form-data). */
struct http_part {
    const char *name;
    const char *file_name; /* NULL: a plain field */
    const char *type;      /* media type; NULL: none said */
    struct http_body body;
};

/*
 * One request. What is not said is 0 or NULL. All of it is the caller's and must live until http_send returns.
 *
 * The body of an answer that is neither 2xx nor accepted is read up to 64 KiB for its message and then dropped. Any
 * other body goes to memory, or to a sink where `sink` is given. The readers of sse.h, ndjson.h and frames.h are such
 * sinks. A sink that returns another status than SANDLOT_OK ends the request with that status.
 */
struct http_request {
    const char *method; /* "GET", ... in capitals */
    const char *target; /* begins with "/" and is appended to base_url; or an absolute URL, which gets the client's
                           headers only if scheme, host and port are those of base_url */
    /* "Name: value", besides the client's, replacing those of the same name; ended by NULL */
    const char *const *headers;
    const char *type; /* media type of the body; default: "application/json" for bytes,
                         "application/octet-stream" for a source */
    struct http_body body;
    const struct http_part *parts; /* a form instead of body */
    size_t part_count;
    const char *idempotency_key; /* sent as Idempotency-Key; makes the request repeatable */
    bool repeatable;             /* sending it twice does no more than sending it once */
    bool never_repeat;           /* send it once, whatever its method */
    const int *accepted;         /* statuses besides 2xx that are answers and no errors; ended by 0 */
    size_t limit;                /* longest body taken into memory; default 16 MiB */
    const struct sandlot_sink *sink;
    const bool *enough; /* once true after a write to the sink, the request ends there with SANDLOT_OK; NULL: never */
    int64_t timeout_ms; /* for all attempts together; the call's deadline if that is nearer; 0: only that */
    int64_t silence_ms; /* longest time without a byte in either direction; 0: the client's; -1: no limit */
    const char *error_hint; /* what to do, ending the sentence of an error status; default by status */
    bool after_cancel;      /* sent although the call is cancelled or past its deadline, for cleaning up; timeout_ms
                               (at most 5000, default 900) alone bounds it */
};

/* An answer. Zero before http_send, which fills it in also when it fails with an answer at hand; with `http2` also its
 * beginning when it was not ended well, for what comes after a body (trailers, which are among the headers) may say
 * why. */
struct http_response {
    int status;     /* 0: there was no answer */
    char *body;     /* in memory, with a NUL after it; never NULL after SANDLOT_OK; empty if it went to a sink */
    size_t length;  /* of body */
    uint64_t bytes; /* of the body, wherever it went */
    char *headers;  /* see http_header */
    size_t headers_length;
    char *url;        /* where the answer came from, after redirects */
    int attempts;     /* how often the request was sent */
    char method[8];   /* of the request */
    int64_t retry_ms; /* the pause that the service asked for; -1: none */
};

/* Sends REQUEST and waits for the answer. RESPONSE may be NULL; else it is to be cleared, whatever is returned. */
enum sandlot_status http_send(struct sandlot_call *call, struct http_client *client, const struct http_request *request,
                              struct http_response *response);

/* The value of header NAME (in any case) of the final answer, the last if it came several times; NULL if it did not.
 * Valid until the response is cleared. */
const char *http_header(const struct http_response *response, const char *name);

/* Fails with SANDLOT_INTERNAL unless RESPONSE, the answer of SERVICE to a download, has the type
 * application/octet-stream: what has another, or none, is no file but of somebody on the way, a page to sign in say. */
enum sandlot_status http_want_file(struct sandlot_call *call, const struct http_response *response,
                                   const char *service);

void http_response_clear(struct http_response *response);

/* Fails the call for an answer that was accepted but is of no use after all, just as http_send would have. REQUEST is
 * the one that it answers; NULL will do if that had no error_hint. */
enum sandlot_status http_response_fail(struct sandlot_call *call, struct http_client *client,
                                       const struct http_request *request, const struct http_response *response);

/* Fails the call with SANDLOT_INTERNAL, for want of memory. */
enum sandlot_status http_no_memory(struct sandlot_call *call);

/* ---- pieces that also serve alone ------------------------------------------------------------------------------- */

/*
 * The pause in milliseconds that headers ask for, -1 for none: Retry-After (seconds, or an HTTP date), Retry-After-Ms
 * and X-Amz-Retry-After (milliseconds), X-Retry-After, RateLimit-Reset and X-RateLimit-Reset (seconds, or a time since
 * 1970 in seconds or milliseconds; only those that lie ahead), with any suffix as in X-RateLimit-Reset-Requests, and
 * durations like "6m0s" or "20ms". Retry-After wins over the others, and after it one with a suffix, as in
 * Retry-After-Login; of several others the longest is taken. NOW_MS is the time since 1970. HEADERS are lines that end
 * with "\r\n" or "\n"; a status line among them is passed over.
 */
int64_t http_retry_after(const char *headers, size_t length, int64_t now_ms);

/* The same of services that say it in the body of a refusal: {"retry_after": SECONDS, ...}. */
int64_t http_retry_told(const char *body, size_t length);

/*
 * What a service says about an error, as one line of at most CAPACITY - 1 bytes of valid UTF-8 without control
 * characters; "" if BODY holds nothing of the kind. JSON is searched at the places where services put it (message,
 * error, error.message, detail, detail[0].msg, errors[0].message, error_description, title, reason); other text is
 * taken if it is short and not a web page.
 */
void http_error_text(const char *body, size_t length, char *text, size_t capacity);

/* Does what http_error_text finds in an answer mention WORD, in any case? */
bool http_mentions(const struct http_response *response, const char *word);

#ifdef __cplusplus
}
#endif

#endif
