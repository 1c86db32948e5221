#include "truststore.h"

#include <sandlot/sdk/cleanup.h>

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>

static const uint32_t MAGIC = 0xfeedfeed;

enum { VERSION = 2, TRUSTED = 2, COUNT_AT = 8 };

/* Numbers have their highest byte first. */
static void put_number(BIO *to, uint64_t number, int bytes)
{
    unsigned char text[8];

    for (int i = bytes - 1; i >= 0; i--, number >>= 8)
        text[i] = (unsigned char)number;
    BIO_write(to, text, bytes);
}

static void put_text(BIO *to, const char *text)
{
    put_number(to, strlen(text), 2);
    BIO_puts(to, text);
}

static void put_certificate(BIO *to, unsigned number, const unsigned char *bytes, long length)
{
    char name[32];

    snprintf(name, sizeof(name), "authority-%u", number);
    put_number(to, TRUSTED, 4);
    put_text(to, name);
    put_number(to, 0, 8); /* since 1970 */
    put_text(to, "X.509");
    put_number(to, (uint64_t)length, 4);
    BIO_write(to, bytes, (int)length);
}

/* Adds all certificates in PEM form, whose bytes nobody has to understand for that. */
static void put_all(BIO *to, BIO *from, unsigned *count)
{
    char *name;
    char *header;
    unsigned char *bytes;
    long length;

    while (from && PEM_read_bio(from, &name, &header, &bytes, &length)) {
        if (strcmp(name, PEM_STRING_X509) == 0)
            put_certificate(to, (*count)++, bytes, length);
        OPENSSL_free(name);
        OPENSSL_free(header);
        OPENSSL_free(bytes);
    }
}

/* The seal at the end, over the password, a phrase of the format, and all that stands before. */
static bool put_seal(BIO *to, const char *bytes, long length)
{
    static const char password[] = "\0c\0h\0a\0n\0g\0e\0i\0t";
    static const char phrase[] = "Mighty Aphrodite";
    unsigned char seal[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    const bool fine = context && EVP_DigestInit_ex(context, EVP_sha1(), NULL) == 1 &&
                      EVP_DigestUpdate(context, password, sizeof(password) - 1) == 1 &&
                      EVP_DigestUpdate(context, phrase, sizeof(phrase) - 1) == 1 &&
                      EVP_DigestUpdate(context, bytes, (size_t)length) == 1 &&
                      EVP_DigestFinal_ex(context, seal, &size) == 1;

    EVP_MD_CTX_free(context);
    return fine && BIO_write(to, seal, (int)size) == (int)size;
}

static bool put_store(BIO *to, const char *ours, int authorities_fd)
{
    BIO *first = BIO_new_mem_buf(ours, -1);
    BIO *file = BIO_new_fd(authorities_fd, BIO_NOCLOSE);
    BIO *buffer = BIO_new(BIO_f_buffer());
    unsigned count = 0;
    char *bytes;

    put_number(to, MAGIC, 4);
    put_number(to, VERSION, 4);
    put_number(to, 0, 4);
    put_all(to, first, &count);
    if (buffer && file)
        put_all(to, BIO_push(buffer, file), &count);
    BIO_free(buffer);
    BIO_free(file);
    BIO_free(first);
    const long length = BIO_get_mem_data(to, &bytes);

    for (int i = 0; i < 4; i++) /* how many there are is known now */
        bytes[COUNT_AT + i] = (char)(count >> 8 * (3 - i));
    return count > 1 && put_seal(to, bytes, length);
}

int truststore_make(const char *ours, int authorities_fd)
{
    BIO *memory = BIO_new(BIO_s_mem());
    AUTO_CLOSE int fd = memfd_create("truststore", MFD_CLOEXEC);
    char *bytes;
    bool fine = memory && fd >= 0 && put_store(memory, ours, authorities_fd);
    const long length = fine ? BIO_get_mem_data(memory, &bytes) : 0;

    fine = fine && pwrite(fd, bytes, (size_t)length, 0) == length && lseek(authorities_fd, 0, SEEK_SET) == 0;
    BIO_free(memory);
    return fine ? take_fd(&fd) : -1;
}
