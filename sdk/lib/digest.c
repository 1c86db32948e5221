#include <sandlot/sdk/digest.h>

#include <openssl/evp.h>
#include <stdio.h>

void digest_digits(const unsigned char *bytes, size_t length, char *digits)
{
    *digits = '\0';
    for (size_t i = 0; i < length; i++)
        snprintf(digits + 2 * i, 3, "%02x", bytes[i]);
}

bool digest_of(const void *bytes, size_t length, char digits[DIGEST_SIZE])
{
    unsigned char digest[DIGEST_BYTES];

    if (EVP_Digest(bytes, length, digest, NULL, EVP_sha256(), NULL) != 1)
        return false;
    digest_digits(digest, sizeof(digest), digits);
    return true;
}
