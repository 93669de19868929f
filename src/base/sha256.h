/* sha256.h: incremental SHA-256 (FIPS 180-4). */
#ifndef HEFT_SHA256_H
#define HEFT_SHA256_H

#include "base/base.h"

#define HEFT_SHA256_BYTES 32

struct heft_sha256 {
    uint32_t state[8];
    uint8_t block[64];
    uint64_t n; /* bytes hashed so far */
};

void heft_sha256_init(struct heft_sha256 *sha);
void heft_sha256_put(struct heft_sha256 *sha, const void *p, size_t n);
/* After this only heft_sha256_init may be called. */
void heft_sha256_end(struct heft_sha256 *sha, uint8_t digest[HEFT_SHA256_BYTES]);

#endif
