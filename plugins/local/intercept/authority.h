/*
 * The authority of one box: made when its proxy starts, it says of each host that something is added for that this
 * proxy is that host, and then its key is gone. Only programs of the box have a reason to believe it.
 */
#ifndef SANDLOT_INTERCEPT_AUTHORITY_H
#define SANDLOT_INTERCEPT_AUTHORITY_H

#include <openssl/x509.h>

struct authority_leaf {
    const char *host;
    X509 *certificate;
};

struct authority {
    X509 *certificate;
    EVP_PKEY *leaf_key; /* of all leaves */
    struct authority_leaf *leaves;
    size_t count;
};

/* Makes it with a leaf for each of COUNT HOSTS, whose texts stay the caller's. 0 or -1. To be cleared in any case. */
int authority_make(struct authority *authority, const char *const *hosts, size_t count);

/* The certificate for HOST; NULL: there is none. */
X509 *authority_leaf(const struct authority *authority, const char *host);

/* The authority's certificate, PEM, to be freed; NULL: out of memory. */
char *authority_text(const struct authority *authority);

void authority_clear(struct authority *authority);

#endif
