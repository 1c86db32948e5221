/* The interceptor of ../egress/interceptor.h. */
#ifndef SANDLOT_INTERCEPT_INTERCEPT_H
#define SANDLOT_INTERCEPT_INTERCEPT_H

#include "../egress/egress.h"
#include "../egress/interceptor.h"
#include "authority.h"
#include "credentials.h"
#include "mask.h"
#include "tls.h"

/* What it knows; egress.secrets points to it. */
struct intercept {
    struct credentials credentials;
    struct authority authority;
    struct tls tls;
    int authorities_fd; /* of the machine, until they are loaded */
};

extern const struct interceptor interceptor;

/*
 * Takes the LENGTH BYTES of ../credentials.h, which stay the caller's, and makes what is needed before the process is
 * confined. 0, or -1 with a sentence in *PROBLEM. To be cleared in any case.
 */
int intercept_open(struct intercept *intercept, const char *bytes, size_t length, const char **problem);

/* Loads the machine's authorities, without which nothing outside is trusted. Later, so that the box is made meanwhile.
 * 0, or -1: they cannot be read. */
int intercept_trust(struct intercept *intercept);

void intercept_clear(struct intercept *intercept);

/* Looks for all that the answer to a request to HOST may give back of its secrets. False: no memory. */
bool intercept_mask(const struct credentials *credentials, const struct host *host, const struct written *written,
                    struct mask *mask);

#endif
