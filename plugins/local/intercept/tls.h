/* TLS with both sides of an opened tunnel: to the box with a leaf of its authority, to the outside as any careful
 * client. */
#ifndef SANDLOT_INTERCEPT_TLS_H
#define SANDLOT_INTERCEPT_TLS_H

#include <openssl/ssl.h>
#include <stdbool.h>
#include <sys/types.h>

struct tls {
    SSL_CTX *inside;
    SSL_CTX *outside;
    BIO_METHOD *method;
    X509_LOOKUP_METHOD *authorities;
};

enum { TLS_REASON_SIZE = 160 };

/*
 * Makes what all connections share, which trusts the authorities of the text MORE, PEM ("": none). 0, or -1 with what
 * is wrong in *PROBLEM. To be cleared in any case.
 */
int tls_open(struct tls *tls, const char *more, const char **problem);

/* Has it trust the machine's authorities too, PEM, from the descriptor AUTHORITIES_FD: that takes OpenSSL a tenth of a
 * second. Likewise. */
int tls_trust(const struct tls *tls, int authorities_fd, const char **problem);

void tls_clear(struct tls *tls);

/* A server's side on FD for a client whose first LENGTH bytes, HELLO, were read already; they are copied. NULL: no
 * memory. */
SSL *tls_accept(const struct tls *tls, int fd, X509 *leaf, EVP_PKEY *key, const char *hello, size_t length);

/* A client's side on FD, for the server HOST, which must prove to be that. NULL: no memory. */
SSL *tls_connect(const struct tls *tls, int fd, const char *host);

enum tls_step { TLS_AGREED, TLS_READ, TLS_WRITE, TLS_FAILED };

/* Goes on to agree. TLS_READ, TLS_WRITE: when its descriptor is ready for that; TLS_FAILED: REASON says why. */
enum tls_step tls_agree(SSL *ssl, char reason[TLS_REASON_SIZE]);

/* Like recv(2) and send(2) on a descriptor that does not wait; tls_receive takes all that has come and fits. */
ssize_t tls_receive(SSL *ssl, char *bytes, size_t size);
ssize_t tls_send(SSL *ssl, const char *bytes, size_t length);

/* Says that nothing more comes. */
void tls_finish(SSL *ssl);

#endif
