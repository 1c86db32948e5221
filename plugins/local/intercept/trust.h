/* The machine's certificate authorities, kept as they are written: each becomes a certificate of OpenSSL, which takes
 * several times the memory, when the first chain leads to it. Most boxes meet a few of some 140. */
#ifndef SANDLOT_INTERCEPT_TRUST_H
#define SANDLOT_INTERCEPT_TRUST_H

#include <openssl/x509_vfy.h>

/* How stores look them up; outlives these. NULL: no memory. To be freed by X509_LOOKUP_meth_free. */
X509_LOOKUP_METHOD *trust_method(void);

/* Has STORE trust the authorities in PEM that FROM holds, looked up by METHOD. 0; -1: there are none, one of them is no
 * certificate, or no memory. */
int trust_add(X509_STORE *store, X509_LOOKUP_METHOD *method, BIO *from);

#endif
