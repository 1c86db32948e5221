/* A gRPC server for tests that answers as it is told, byte for byte, and breaks off where it is told to. */
#ifndef SANDLOT_TESTS_SDK_GRPC_SERVER_H
#define SANDLOT_TESTS_SDK_GRPC_SERVER_H

#include <openssl/ssl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

enum { GRPC_SERVER_HEAD = 16384 };

/* What one request is answered with. What is NULL or 0 is left out. */
struct grpc_reply {
    int status;          /* of HTTP; default 200 */
    const char *type;    /* content type; default application/grpc */
    const char *header;  /* "name: value" in the first block */
    const char *code;    /* grpc-status; NULL: none */
    const char *text;    /* grpc-message */
    const char *details; /* grpc-status-details-bin */
    const void *body;    /* frames and all */
    size_t length;
    size_t piece; /* bytes of one DATA frame; 0: as many as fit */
    int delay_ms; /* before anything */
    int pause_ms; /* before each DATA frame */
    bool early;   /* without waiting for the end of the request, which is then reset */
    bool cut;     /* the connection is closed after cut_at bytes of what the server sends */
    size_t cut_at;
    unsigned int reset; /* behind the body the stream is reset, with this error of HTTP/2, instead of a status */
    bool goodbye;       /* the connection takes no more requests after this one */
    const char *middle; /* grpc-status in a block of its own in the middle of the body, where none may be */
};

struct grpc_server {
    int fd;
    char url[64];
    SSL_CTX *tls;
    const struct grpc_reply *replies; /* the last one counts for all that follow */
    size_t reply_count;
    atomic_int requests;
    atomic_int connections;
    atomic_int active;
    atomic_size_t sent; /* bytes on the last connection that ended */
    atomic_bool stopping;
    pthread_mutex_t lock;
    char head[GRPC_SERVER_HEAD]; /* the headers of all requests, as lines */
    size_t head_length;
    size_t body_length; /* of the last request */
    pthread_t thread;
};

void grpc_server_open(struct grpc_server *server, SSL_CTX *tls);
void grpc_server_close(struct grpc_server *server);

/* Forgets what was, and answers with these from now on. */
void grpc_server_script(struct grpc_server *server, const struct grpc_reply *replies, size_t count);

/* How often LINE, "name: value", is among the headers. */
int grpc_server_count(struct grpc_server *server, const char *line);

#endif
