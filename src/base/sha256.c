/* sha256.c: SHA-256 (FIPS 180-4, section 6.2), processed in blocks of 64 bytes. */
#include "base/sha256.h"

#include <string.h>

#include "base/sha256_rounds.h"

HEFT_WRAPS static uint32_t rotate(uint32_t x, unsigned by)
{
    return x >> by | x << (32 - by);
}

static uint32_t be32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

HEFT_WRAPS static void expand(const uint8_t *block, uint32_t w[64])
{
    for (size_t i = 0; i < 16; i++)
        w[i] = be32(block + 4 * i);
    for (size_t i = 16; i < 64; i++) {
        const uint32_t a = w[i - 15], b = w[i - 2];

        w[i] = w[i - 16] + (rotate(a, 7) ^ rotate(a, 18) ^ a >> 3) + w[i - 7] +
               (rotate(b, 17) ^ rotate(b, 19) ^ b >> 10);
    }
}

HEFT_WRAPS static void compress(uint32_t state[8], const uint8_t *block)
{
    uint32_t w[64], s[8];

    expand(block, w);
    memcpy(s, state, sizeof s);
    for (size_t i = 0; i < 64; i++) {
        const uint32_t a = s[0], e = s[4];
        const uint32_t t = s[7] + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) +
                           ((e & s[5]) ^ (~e & s[6])) + heft_sha256_rounds[i] + w[i];
        const uint32_t u = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) +
                           ((a & s[1]) ^ (a & s[2]) ^ (s[1] & s[2]));

        memmove(s + 1, s, 7 * sizeof *s);
        s[4] += t;
        s[0] = t + u;
    }
    for (size_t i = 0; i < 8; i++)
        state[i] += s[i];
}

void heft_sha256_init(struct heft_sha256 *sha)
{
    *sha = (struct heft_sha256){.state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                          0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19}};
}

void heft_sha256_put(struct heft_sha256 *sha, const void *p, size_t n)
{
    const uint8_t *from = p;

    while (n > 0) {
        const size_t used = sha->n % 64, room = 64 - used, some = n < room ? n : room;

        memcpy(sha->block + used, from, some);
        sha->n += some;
        from += some;
        n -= some;
        if (some == room)
            compress(sha->state, sha->block);
    }
}

void heft_sha256_end(struct heft_sha256 *sha, uint8_t digest[HEFT_SHA256_BYTES])
{
    static const uint8_t padding[64] = {0x80};
    const uint64_t bits = sha->n * 8;
    uint8_t length[8];

    for (size_t i = 0; i < 8; i++)
        length[i] = (uint8_t)(bits >> (56 - 8 * i));
    heft_sha256_put(sha, padding, 1 + (119 - sha->n % 64) % 64);
    heft_sha256_put(sha, length, sizeof length);
    for (size_t i = 0; i < HEFT_SHA256_BYTES; i++)
        digest[i] = (uint8_t)(sha->state[i / 4] >> (24 - 8 * (i % 4)));
}
