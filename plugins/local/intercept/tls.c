#include "tls.h"

#include "trust.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* ---- bytes: a socket, before which come the bytes that were read of it already ---- */

struct line {
    int fd;
    char *first;
    size_t at;
    size_t length;
};

static bool would_wait(void)
{
    return errno == EAGAIN || errno == EINTR;
}

static int line_read(BIO *bio, char *bytes, int size)
{
    struct line *line = BIO_get_data(bio);

    BIO_clear_retry_flags(bio);
    if (line->at < line->length) {
        const size_t left = line->length - line->at;
        const size_t part = left < (size_t)size ? left : (size_t)size;

        memcpy(bytes, line->first + line->at, part);
        line->at += part;
        return (int)part;
    }
    const ssize_t got = recv(line->fd, bytes, (size_t)size, 0);

    if (got < 0 && would_wait())
        BIO_set_retry_read(bio);
    return (int)got;
}

static int line_write(BIO *bio, const char *bytes, int length)
{
    const struct line *line = BIO_get_data(bio);
    const ssize_t sent = send(line->fd, bytes, (size_t)length, MSG_NOSIGNAL);

    BIO_clear_retry_flags(bio);
    if (sent < 0 && would_wait())
        BIO_set_retry_write(bio);
    return (int)sent;
}

static long line_control(BIO *bio, int command, long number, void *pointer)
{
    (void)bio, (void)number, (void)pointer;
    return command == BIO_CTRL_FLUSH;
}

static int line_free(BIO *bio)
{
    struct line *line = BIO_get_data(bio);

    if (line)
        free(line->first);
    free(line);
    return 1;
}

static BIO_METHOD *new_method(void)
{
    BIO_METHOD *method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "sandlot");

    if (method && BIO_meth_set_read(method, line_read) && BIO_meth_set_write(method, line_write) &&
        BIO_meth_set_ctrl(method, line_control) && BIO_meth_set_destroy(method, line_free))
        return method;
    BIO_meth_free(method);
    return NULL;
}

static BIO *new_line(const struct tls *tls, int fd, const char *first, size_t length)
{
    BIO *bio = BIO_new(tls->method);
    struct line *line = bio ? calloc(1, sizeof(*line)) : NULL;

    if (line) {
        *line = (struct line){fd, malloc(length + 1), 0, length};
        BIO_set_data(bio, line);
        BIO_set_init(bio, 1);
    }
    if (line && line->first) {
        memcpy(line->first, first, length);
        return bio;
    }
    BIO_free(bio);
    return NULL;
}

/* ---- what holds for all ---- */

/* The authorities in PEM; how many, -1: no memory. */
static int add_authorities(X509_STORE *store, BIO *from)
{
    STACK_OF(X509_INFO) *list = from ? PEM_X509_INFO_read_bio(from, NULL, NULL, NULL) : NULL;
    int count = 0;

    for (int i = 0; count >= 0 && i < sk_X509_INFO_num(list); i++) {
        X509 *one = sk_X509_INFO_value(list, i)->x509;

        if (one)
            count = X509_STORE_add_cert(store, one) == 1 ? count + 1 : -1;
    }
    sk_X509_INFO_pop_free(list, X509_INFO_free);
    ERR_clear_error(); /* the end of the file counts as one */
    return count;
}

static int trust_more(X509_STORE *store, const char *more, const char **problem)
{
    BIO *text = BIO_new_mem_buf(more, -1);
    const bool fine = !*more || add_authorities(store, text) > 0;

    BIO_free(text);
    *problem = fine ? NULL : "upstream_ca holds no certificate in PEM form";
    return fine ? 0 : -1;
}

int tls_trust(const struct tls *tls, int authorities_fd, const char **problem)
{
    BIO *file = BIO_new_fd(authorities_fd, BIO_NOCLOSE);
    /* A buffer: else each byte of a line is read by itself. */
    BIO *buffer = BIO_new(BIO_f_buffer());
    const bool fine = file && buffer &&
                      trust_add(SSL_CTX_get_cert_store(tls->outside), tls->authorities, BIO_push(buffer, file)) == 0;

    BIO_free(buffer);
    BIO_free(file);
    *problem =
        fine ? NULL : "the certificate authorities of this machine cannot be read; install the package ca-certificates";
    return fine ? 0 : -1;
}

static int choose_protocol(SSL *ssl, const unsigned char **chosen, unsigned char *length, const unsigned char *offered,
                           unsigned offered_length, void *nothing)
{
    static const unsigned char ours[] = "\x08http/1.1";
    unsigned char *found;

    (void)ssl, (void)nothing;
    /* A client that offers others alone gets none chosen, and speaks HTTP/1.1 then. */
    if (SSL_select_next_proto(&found, length, ours, sizeof(ours) - 1, offered, offered_length) !=
        OPENSSL_NPN_NEGOTIATED)
        return SSL_TLSEXT_ERR_NOACK;
    *chosen = found;
    return SSL_TLSEXT_ERR_OK;
}

static SSL_CTX *new_context(const SSL_METHOD *method)
{
    SSL_CTX *context = SSL_CTX_new(method);

    if (!context)
        return NULL;
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_NO_TICKET);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                                  SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_AUTO_RETRY);
    return context;
}

int tls_open(struct tls *tls, const char *more, const char **problem)
{
    static const unsigned char protocols[] = "\x08http/1.1";

    *tls =
        (struct tls){new_context(TLS_server_method()), new_context(TLS_client_method()), new_method(), trust_method()};
    *problem = "out of memory";
    if (!tls->inside || !tls->outside || !tls->method || !tls->authorities)
        return -1;
    SSL_CTX_set_num_tickets(tls->inside, 0);
    SSL_CTX_set_alpn_select_cb(tls->inside, choose_protocol, NULL);
    SSL_CTX_set_verify(tls->outside, SSL_VERIFY_PEER, NULL);
    /* 0 is success here. */
    if (SSL_CTX_set_alpn_protos(tls->outside, protocols, sizeof(protocols) - 1) != 0)
        return -1;
    return trust_more(SSL_CTX_get_cert_store(tls->outside), more, problem);
}

void tls_clear(struct tls *tls)
{
    SSL_CTX_free(tls->inside);
    SSL_CTX_free(tls->outside);
    BIO_meth_free(tls->method);
    X509_LOOKUP_meth_free(tls->authorities);
    *tls = (struct tls){0};
}

/* ---- one side ---- */

static SSL *new_side(const struct tls *tls, SSL_CTX *context, int fd, const char *first, size_t length)
{
    SSL *ssl = SSL_new(context);
    BIO *line = ssl ? new_line(tls, fd, first, length) : NULL;

    if (line) {
        SSL_set_bio(ssl, line, line);
        return ssl;
    }
    SSL_free(ssl);
    return NULL;
}

SSL *tls_accept(const struct tls *tls, int fd, X509 *leaf, EVP_PKEY *key, const char *hello, size_t length)
{
    SSL *ssl = new_side(tls, tls->inside, fd, hello, length);

    if (!ssl)
        return NULL;
    SSL_set_accept_state(ssl);
    if (SSL_use_certificate(ssl, leaf) == 1 && SSL_use_PrivateKey(ssl, key) == 1)
        return ssl;
    SSL_free(ssl);
    return NULL;
}

SSL *tls_connect(const struct tls *tls, int fd, const char *host)
{
    SSL *ssl = new_side(tls, tls->outside, fd, "", 0);

    if (!ssl)
        return NULL;
    SSL_set_connect_state(ssl);
    SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
    if (SSL_set1_host(ssl, host) == 1 && SSL_set_tlsext_host_name(ssl, host) == 1)
        return ssl;
    SSL_free(ssl);
    return NULL;
}

static void explain(const SSL *ssl, char reason[TLS_REASON_SIZE])
{
    const long verified = SSL_get_verify_result(ssl);
    const char *error = ERR_reason_error_string(ERR_peek_last_error());

    if (verified != X509_V_OK)
        snprintf(reason, TLS_REASON_SIZE, "its certificate cannot be trusted: %s",
                 X509_verify_cert_error_string(verified));
    else
        snprintf(reason, TLS_REASON_SIZE, "TLS failed: %s", error ? error : "the connection was closed");
}

enum tls_step tls_agree(SSL *ssl, char reason[TLS_REASON_SIZE])
{
    ERR_clear_error();
    const int result = SSL_do_handshake(ssl);

    if (result == 1)
        return TLS_AGREED;
    switch (SSL_get_error(ssl, result)) {
    case SSL_ERROR_WANT_READ:
        return TLS_READ;
    case SSL_ERROR_WANT_WRITE:
        return TLS_WRITE;
    default:
        explain(ssl, reason);
        return TLS_FAILED;
    }
}

/* What RESULT of a call that has moved nothing means, in the words of recv(2). */
static ssize_t nothing_moved(const SSL *ssl, int result)
{
    switch (SSL_get_error(ssl, result)) {
    case SSL_ERROR_ZERO_RETURN:
        return 0;
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
        errno = EAGAIN;
        return -1;
    default:
        /* Also a connection that was closed without a word: nobody could tell that from an answer that was cut. */
        errno = EPIPE;
        return -1;
    }
}

ssize_t tls_receive(SSL *ssl, char *bytes, size_t size)
{
    size_t total = 0;

    for (size_t got; total < size; total += got) {
        ERR_clear_error();
        if (SSL_read_ex(ssl, bytes + total, size - total, &got) != 1)
            return total ? (ssize_t)total : nothing_moved(ssl, 0);
    }
    return (ssize_t)total;
}

ssize_t tls_send(SSL *ssl, const char *bytes, size_t length)
{
    size_t sent;

    ERR_clear_error();
    return SSL_write_ex(ssl, bytes, length, &sent) == 1 ? (ssize_t)sent : nothing_moved(ssl, 0);
}

void tls_finish(SSL *ssl)
{
    ERR_clear_error();
    if (SSL_is_init_finished(ssl))
        SSL_shutdown(ssl);
    ERR_clear_error();
}
