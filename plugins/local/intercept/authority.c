#include "authority.h"

#include <openssl/bio.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DAY = 24 * 60 * 60, DAYS = 3650, SERIAL_SIZE = 16, NAME_SIZE = 64 };

static int set_serial(X509 *certificate)
{
    unsigned char bytes[SERIAL_SIZE];
    BIGNUM *number = RAND_bytes(bytes, sizeof(bytes)) == 1 ? BN_bin2bn(bytes, sizeof(bytes), NULL) : NULL;
    /* A serial number is positive, and has 20 bytes at most. */
    const bool set = number && BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate));

    BN_free(number);
    return set ? 0 : -1;
}

static int add_extension(X509 *certificate, X509 *issuer, int kind, const char *value)
{
    X509V3_CTX context;

    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, issuer, certificate, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, kind, value);
    const bool added = extension && X509_add_ext(certificate, extension, -1) == 1;

    X509_EXTENSION_free(extension);
    return added ? 0 : -1;
}

/* A certificate of NAME for KEY, without extensions and not signed. The clock of a box is the machine's, but a day
 * early harms nobody. */
static X509 *new_certificate(const char *name, EVP_PKEY *key)
{
    X509 *certificate = X509_new();
    X509_NAME *subject = certificate ? X509_get_subject_name(certificate) : NULL;

    if (subject && X509_set_version(certificate, X509_VERSION_3) && set_serial(certificate) == 0 &&
        X509_gmtime_adj(X509_getm_notBefore(certificate), -DAY) &&
        X509_time_adj_ex(X509_getm_notAfter(certificate), DAYS, 0, NULL) &&
        X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, (const unsigned char *)name, -1, -1, 0) &&
        X509_set_pubkey(certificate, key))
        return certificate;
    X509_free(certificate);
    return NULL;
}

static X509 *make_root(EVP_PKEY *key)
{
    static const struct {
        int kind;
        const char *value;
    } extensions[] = {{NID_basic_constraints, "critical,CA:TRUE,pathlen:0"},
                      {NID_key_usage, "critical,keyCertSign,cRLSign"},
                      {NID_subject_key_identifier, "hash"}};
    unsigned char random[8];
    char name[NAME_SIZE];
    uint64_t number;

    if (RAND_bytes(random, sizeof(random)) != 1)
        return NULL;
    memcpy(&number, random, sizeof(number));
    /* Two authorities of one name would be mistaken for each other by programs that keep what they have seen. */
    snprintf(name, sizeof(name), "Sandlot sandbox %016llx", (unsigned long long)number);
    X509 *root = new_certificate(name, key);
    bool fine = root && X509_set_issuer_name(root, X509_get_subject_name(root));

    for (size_t i = 0; fine && i < sizeof(extensions) / sizeof(*extensions); i++)
        fine = add_extension(root, root, extensions[i].kind, extensions[i].value) == 0;
    if (fine && X509_sign(root, key, EVP_sha256()) > 0)
        return root;
    X509_free(root);
    return NULL;
}

/* Says that the owner of KEY is HOST. */
static X509 *make_leaf(X509 *root, EVP_PKEY *root_key, EVP_PKEY *key, const char *host)
{
    char names[300];

    /* The common name holds 64 bytes, and nobody reads it. */
    snprintf(names, sizeof(names), "DNS:%s", host);
    X509 *leaf = new_certificate("sandlot", key);

    if (leaf && X509_set_issuer_name(leaf, X509_get_subject_name(root)) &&
        add_extension(leaf, root, NID_basic_constraints, "critical,CA:FALSE") == 0 &&
        add_extension(leaf, root, NID_key_usage, "critical,digitalSignature") == 0 &&
        add_extension(leaf, root, NID_ext_key_usage, "serverAuth") == 0 &&
        add_extension(leaf, root, NID_subject_alt_name, names) == 0 &&
        add_extension(leaf, root, NID_authority_key_identifier, "keyid:always") == 0 &&
        X509_sign(leaf, root_key, EVP_sha256()) > 0)
        return leaf;
    X509_free(leaf);
    return NULL;
}

int authority_make(struct authority *authority, const char *const *hosts, size_t count)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");

    *authority =
        (struct authority){.leaf_key = EVP_EC_gen("P-256"), .leaves = calloc(count, sizeof(*authority->leaves))};
    authority->certificate = key ? make_root(key) : NULL;
    bool fine = authority->certificate && authority->leaf_key && authority->leaves;

    for (; fine && authority->count < count; authority->count += fine) {
        struct authority_leaf *leaf = &authority->leaves[authority->count];

        leaf->host = hosts[authority->count];
        leaf->certificate = make_leaf(authority->certificate, key, authority->leaf_key, leaf->host);
        fine = leaf->certificate;
    }
    EVP_PKEY_free(key);
    return fine ? 0 : -1;
}

X509 *authority_leaf(const struct authority *authority, const char *host)
{
    for (size_t i = 0; i < authority->count; i++)
        if (strcmp(authority->leaves[i].host, host) == 0)
            return authority->leaves[i].certificate;
    return NULL;
}

char *authority_text(const struct authority *authority)
{
    BIO *memory = BIO_new(BIO_s_mem());
    char *bytes;
    const long length =
        memory && PEM_write_bio_X509(memory, authority->certificate) ? BIO_get_mem_data(memory, &bytes) : 0;
    char *text = length > 0 ? strndup(bytes, (size_t)length) : NULL;

    BIO_free(memory);
    return text;
}

void authority_clear(struct authority *authority)
{
    for (size_t i = 0; i < authority->count; i++)
        X509_free(authority->leaves[i].certificate);
    free(authority->leaves);
    X509_free(authority->certificate);
    EVP_PKEY_free(authority->leaf_key);
    *authority = (struct authority){0};
}
