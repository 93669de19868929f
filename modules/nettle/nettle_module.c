/* nettle_module.c: libnettle, for src/measure/hasher.c. */
#include "measure/nettle_module.h"

#include <nettle/sha1.h>
#include <nettle/sha2.h>

#include "heft/types.h"

static void begin_sha256(void *state)
{
    sha256_init(state);
}

static void put_sha256(void *state, const void *p, size_t n)
{
    sha256_update(state, n, p);
}

static void end_sha256(void *state, uint8_t *digest)
{
    sha256_digest(state, SHA256_DIGEST_SIZE, digest);
}

static void begin_sha1(void *state)
{
    sha1_init(state);
}

static void put_sha1(void *state, const void *p, size_t n)
{
    sha1_update(state, n, p);
}

static void end_sha1(void *state, uint8_t *digest)
{
    sha1_digest(state, SHA1_DIGEST_SIZE, digest);
}

extern const struct heft_nettle_module heft_nettle_module;
HEFT_API const struct heft_nettle_module heft_nettle_module = {
    .sha256 = {sizeof(struct sha256_ctx), SHA256_DIGEST_SIZE, begin_sha256, put_sha256, end_sha256},
    .sha1 = {sizeof(struct sha1_ctx), SHA1_DIGEST_SIZE, begin_sha1, put_sha1, end_sha1},
};
