/* hasher.c: see hasher.h. */
#include "measure/hasher.h"

#include "io/module.h"

static void begin_portable(void *state)
{
    heft_sha256_init(state);
}

static void put_portable(void *state, const void *p, size_t n)
{
    heft_sha256_put(state, p, n);
}

static void end_portable(void *state, uint8_t *digest)
{
    heft_sha256_end(state, digest);
}

static const struct heft_nettle_hash portable = {sizeof(struct heft_sha256), HEFT_SHA256_BYTES,
                                                 begin_portable, put_portable, end_portable};

void heft_hasher_open_portable(struct heft_hasher *hasher)
{
    *hasher = (struct heft_hasher){.sha256 = &portable};
}

/* Whether the module was built for the sizes that this code expects. */
static bool is_usable(const struct heft_nettle_hash *hash, size_t digest_bytes)
{
    return hash->state_bytes <= HEFT_HASH_STATE && hash->digest_bytes == digest_bytes;
}

bool heft_hasher_open(struct heft_hasher *hasher, struct heft_error *err)
{
    struct heft_error why = {0};
    const struct heft_nettle_module *const nettle = heft_module_find(
        "heft_nettle.so", HEFT_NETTLE_SYMBOL, "libnettle (Debian: libnettle8)", &why);

    heft_hasher_open_portable(hasher);
    hasher->kernels = heft_sha256_kernels();
    if (!nettle && why.code != HEFT_UNSUPPORTED) {
        *err = why;
        return false;
    }
    if (!nettle) {
        hasher->why_slow = why;
        return true;
    }
    if (!is_usable(&nettle->sha256, HEFT_SHA256_BYTES) ||
        !is_usable(&nettle->sha1, HEFT_SHA1_BYTES)) {
        heft_fail(&hasher->why_slow, HEFT_UNSUPPORTED, HEFT_NO_OFFSET,
                  "heft's module heft_nettle.so belongs to another version of heft");
        return true;
    }
    hasher->sha256 = &nettle->sha256;
    hasher->sha1 = &nettle->sha1;
    return true;
}
