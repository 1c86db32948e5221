/* SHA-256, of files that are compared. Threads: any, each with a digest of its own. */
#ifndef SANDLOT_RESULTS_DIGEST_H
#define SANDLOT_RESULTS_DIGEST_H

#include <sha2.h>

#include <nettle/nettle-meta.h>
#include <nettle/sha2.h>

/* All private. */
struct digest {
    const struct nettle_hash *fast; /* NULL: there is none */
    union {
        struct sha256_ctx fast_state;
        SHA2_CTX state;
    };
};

void digest_begin(struct digest *digest);
void digest_add(struct digest *digest, const void *bytes, size_t length);
void digest_end(struct digest *digest, unsigned char sum[SHA256_DIGEST_SIZE]);

#endif
