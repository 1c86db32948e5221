#include "trust.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* One authority: the hash of its name, and the certificate in DER. */
struct trusted {
    struct trusted *next;
    unsigned long name;
    unsigned char *bytes;
    long length;
};

static X509 *read_certificate(const unsigned char *bytes, long length)
{
    return d2i_X509_AUX(NULL, &bytes, length);
}

static void free_list(struct trusted *list)
{
    while (list) {
        struct trusted *next = list->next;

        OPENSSL_free(list->bytes);
        free(list);
        list = next;
    }
}

/* ---- looking up ---- */

/* The store gets every authority of this NAME, the caller one of them. */
static int find_by_subject(X509_LOOKUP *lookup, X509_LOOKUP_TYPE type, const X509_NAME *name, X509_OBJECT *found)
{
    const unsigned long wanted = X509_NAME_hash(name);
    int count = 0;

    if (type != X509_LU_X509)
        return 0;
    for (const struct trusted *one = X509_LOOKUP_get_method_data(lookup); one; one = one->next) {
        X509 *certificate = one->name == wanted ? read_certificate(one->bytes, one->length) : NULL;

        if (certificate && X509_NAME_cmp(X509_get_subject_name(certificate), name) == 0 &&
            X509_STORE_add_cert(X509_LOOKUP_get_store(lookup), certificate) == 1 && count++ == 0 &&
            X509_OBJECT_set1_X509(found, certificate))
            X509_free(certificate); /* the caller counts a reference of his own: X509_LOOKUP_meth_new(3) */
        X509_free(certificate);
    }
    return count > 0;
}

static void free_lookup(X509_LOOKUP *lookup)
{
    free_list(X509_LOOKUP_get_method_data(lookup));
}

X509_LOOKUP_METHOD *trust_method(void)
{
    X509_LOOKUP_METHOD *method = X509_LOOKUP_meth_new("sandlot");

    if (method && X509_LOOKUP_meth_set_get_by_subject(method, find_by_subject) &&
        X509_LOOKUP_meth_set_free(method, free_lookup))
        return method;
    X509_LOOKUP_meth_free(method);
    return NULL;
}

/* ---- reading ---- */

/* Puts the certificate before LIST and takes over its BYTES. False: it is none, or no memory. */
static bool put_before(struct trusted **list, unsigned char *bytes, long length)
{
    X509 *certificate = read_certificate(bytes, length);
    struct trusted *one = certificate ? malloc(sizeof(*one)) : NULL;

    if (one) {
        *one = (struct trusted){*list, X509_subject_name_hash(certificate), bytes, length};
        *list = one;
    } else {
        OPENSSL_free(bytes);
    }
    X509_free(certificate);
    return one != NULL;
}

/* False: what is there cannot be read. */
static bool read_all(BIO *from, struct trusted **list)
{
    char *kind;
    char *header;
    unsigned char *bytes;
    long length;
    bool fine = true;

    while (fine && PEM_read_bio(from, &kind, &header, &bytes, &length) == 1) {
        if (strstr(kind, PEM_STRING_X509))
            fine = put_before(list, bytes, length);
        else
            OPENSSL_free(bytes);
        OPENSSL_free(kind);
        OPENSSL_free(header);
    }
    return fine && ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
}

int trust_add(X509_STORE *store, X509_LOOKUP_METHOD *method, BIO *from)
{
    struct trusted *list = NULL;
    X509_LOOKUP *lookup = read_all(from, &list) && list ? X509_STORE_add_lookup(store, method) : NULL;

    ERR_clear_error(); /* the end of the file counts as one */
    if (lookup && X509_LOOKUP_set_method_data(lookup, list))
        return 0;
    free_list(list);
    return -1;
}
