/* For the tests of the SDK: a host that remembers what it was told, and a server on the loopback device that does as a
 * test says. */
#ifndef SANDLOT_TESTS_SDK_SUPPORT_H
#define SANDLOT_TESTS_SDK_SUPPORT_H

#include <sandlot/provider.h>

#include <openssl/ssl.h>
#include <pthread.h>
#include <stdatomic.h>

/* ---- a call ----------------------------------------------------------------------------------------------------- */

struct variable {
    const char *name;
    const char *value;
};

/* `call` comes first: the host's functions find the rest behind it. */
struct test_call {
    struct sandlot_call call;
    struct sandlot_host host;
    const struct variable *variables; /* ended by a NULL name */
    enum sandlot_status status;       /* what fail was told first */
    char message[2048];
    char log[65536]; /* lines */
    int cancel[2];
};

/* DEADLINE_MS from now, 0: none. */
void test_call_open(struct test_call *call, int64_t deadline_ms);
void test_call_close(struct test_call *call);
void test_call_cancel(struct test_call *call);

/* ---- sinks and sources ------------------------------------------------------------------------------------------- */

/* A sink that keeps what it gets, or only counts it when `keep` is false. */
struct test_sink {
    struct sandlot_sink sink;
    bool keep;
    char *bytes;
    size_t length;
    enum sandlot_status answer; /* to the write after which `length` reaches stop_at */
    size_t stop_at;
    uint32_t sum;
};

void test_sink_open(struct test_sink *sink, bool keep);
void test_sink_close(struct test_sink *sink);

/* A source of LENGTH bytes of a pattern; `short_by` are missing at its end. */
struct test_source {
    struct sandlot_source source;
    uint64_t length;
    uint64_t at;
    int rewound;
    enum sandlot_status fails_with;
    uint64_t fails_at;
};

void test_source_open(struct test_source *source, uint64_t length);
enum sandlot_status test_source_rewind(void *source);
void test_pattern(void *bytes, uint64_t at, size_t length);

/* With a sanitizer the peak says nothing. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TEST_MEMORY 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TEST_MEMORY 0
#endif
#endif
#ifndef TEST_MEMORY
#define TEST_MEMORY 1
#endif

/* VmHWM of this process in KiB. */
long test_peak_kib(void);

/* ---- a server --------------------------------------------------------------------------------------------------- */

struct server;

/* One connection. */
struct peer {
    struct server *server;
    int fd;
    SSL *ssl;
    int number; /* of the request on this connection, from 1 */
    bool close; /* the handler may set it: close the connection afterwards */
    char head[300000];
    size_t head_length;
    char method[16];
    char target[2048];
    char ahead[300000]; /* bytes read beyond the head */
    size_t ahead_length;
};

/* Answers one request, whose body it has to read if there is one. */
typedef void (*server_handler)(struct peer *peer);

struct server {
    int fd;
    int port;
    char url[64];
    server_handler handler;
    void *context;
    SSL_CTX *tls;
    pthread_t thread;
    atomic_int connections;
    atomic_int requests;
    atomic_int active;
    atomic_bool stopping;
};

/* Listens on the loopback device; with TLS if TLS is not NULL. */
void server_open(struct server *server, server_handler handler, SSL_CTX *tls);
void server_close(struct server *server);

/* The raw connection. Reads return 0 at the end. */
size_t peer_read(struct peer *peer, void *bytes, size_t capacity);
bool peer_write(struct peer *peer, const void *bytes, size_t length);
bool peer_print(struct peer *peer, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A whole answer with Content-Length. HEADERS: lines with "\r\n", or "". */
void peer_answer(struct peer *peer, int status, const char *headers, const char *body);

/* The value of a header of the request, "" if it is not there. In static memory of the thread. */
const char *peer_header(const struct peer *peer, const char *name);

/* Copies what fits of the request's head to KEPT. Several connections may do so at once. */
void peer_keep_head(const struct peer *peer, char *kept, size_t capacity);

/* Reads the body by its length or chunks. Returns its length; the first CAPACITY bytes go to BYTES, with a NUL behind.
 */
uint64_t peer_body(struct peer *peer, char *bytes, size_t capacity, uint32_t *sum);

/* Sleeps, but not beyond the server's end. */
void peer_sleep(struct peer *peer, int milliseconds);

/* Adds BYTES to a checksum. */
uint32_t test_sum(uint32_t sum, const void *bytes, size_t length);

#endif
