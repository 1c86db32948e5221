/* The secrets of a box, and what is done with them to the head of a request. */
#ifndef SANDLOT_INTERCEPT_CREDENTIALS_H
#define SANDLOT_INTERCEPT_CREDENTIALS_H

#include "../egress/head.h"

enum { CREDENTIALS_MOST = 64, CREDENTIALS_BYTES = 1 << 20, CREDENTIALS_WRITTEN = 64 * 1024 };

struct credential {
    struct host host;
    const char *header;
    const char *placeholder; /* "": the header is set */
    const char *value;       /* SECRET */
    bool plain;              /* on port 80 too */
};

struct credentials {
    struct credential list[CREDENTIALS_MOST];
    size_t count;
    const char *authorities; /* PEM; trusted towards the outside in addition; "" */
};

/*
 * Reads the form of ../credentials.h in LENGTH bytes, the last of which is NUL; what comes of it points into them.
 * False if it is malformed.
 */
bool credentials_read(const char *bytes, size_t length, struct credentials *credentials);

/* Is there one that is for requests to HOST on PORT? */
bool credentials_cover(const struct credentials *credentials, const struct host *host, uint16_t port);

/* What the values of a changed head point into. */
struct written {
    char *texts[HEAD_FIELDS]; /* SECRETS, each with a NUL */
    size_t count;
    size_t length;
};

/*
 * Does with HEAD what the credentials for HOST on PORT want: sets their fields, or puts their values in the place of
 * their placeholders. Then asks for an answer that is not compressed. False: out of memory, or the head grows too
 * large. *WRITTEN is to be cleared in any case, when the head has been used.
 */
bool credentials_apply(const struct credentials *credentials, const struct host *host, uint16_t port, struct head *head,
                       struct written *written);

void written_clear(struct written *written);

#endif
