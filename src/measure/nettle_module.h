/* nettle_module.h: functions of heft's module for libnettle, whose SHA-256 and SHA-1 use the SHA
 * instructions of the processor. The module is loaded for the first digest. */
#ifndef HEFT_NETTLE_MODULE_H
#define HEFT_NETTLE_MODULE_H

#include <stddef.h>
#include <stdint.h>

#define HEFT_NETTLE_SYMBOL "heft_nettle_module"

/* A hash function. The caller provides `state_bytes` bytes for its state, aligned to 16 bytes. */
struct heft_nettle_hash {
    size_t state_bytes, digest_bytes;
    void (*begin)(void *state);
    void (*put)(void *state, const void *p, size_t n);
    void (*end)(void *state, uint8_t *digest);
};

struct heft_nettle_module {
    struct heft_nettle_hash sha256, sha1;
};

#endif
