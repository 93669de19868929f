/* hasher.h: SHA-256 and SHA-1 at the speed of the processor's instructions: by libnettle, which is
 * loaded on first use. Without libnettle SHA-256 is computed by base/sha256.h, several times
 * slower and with the same result, and there is no SHA-1. */
#ifndef HEFT_HASHER_H
#define HEFT_HASHER_H

#include "base/error.h"
#include "base/sha256.h"
#include "measure/nettle_module.h"
#include "measure/sha256_kernels.h"

enum {
    HEFT_SHA1_BYTES = 20,
    HEFT_HASH_STATE = 256 /* bytes: enough for the states of both libraries, with reserve */
};

struct heft_hasher {
    const struct heft_nettle_hash *sha256;     /* never NULL */
    const struct heft_nettle_hash *sha1;       /* NULL without libnettle */
    const struct heft_sha256_kernels *kernels; /* for two items at once; NULL: none */
    struct heft_error why_slow; /* reason why libnettle is not used; HEFT_OK if it is */
};

/* A hash that is being computed. */
struct heft_hash {
    const struct heft_nettle_hash *by;
    _Alignas(16) uint8_t state[HEFT_HASH_STATE];
};

/* False only for an error in the location of the module (HEFT_UNSAFE, HEFT_USAGE): a missing module
 * is not an error. */
HEFT_CHECKED bool heft_hasher_open(struct heft_hasher *hasher, struct heft_error *err);
/* The same without libnettle and kernels. */
void heft_hasher_open_portable(struct heft_hasher *hasher);

static inline void heft_hash_begin(struct heft_hash *hash, const struct heft_nettle_hash *by)
{
    hash->by = by;
    by->begin(hash->state);
}
static inline void heft_hash_put(struct heft_hash *hash, const void *p, size_t n)
{
    hash->by->put(hash->state, p, n);
}
/* Writes by->digest_bytes bytes. */
static inline void heft_hash_end(struct heft_hash *hash, uint8_t *digest)
{
    hash->by->end(hash->state, digest);
}

#endif
