/* checksum.c: CRCs by ISA-L, which takes lengths of type int, and their combination.
 *
 * ISA-L's crc32_gzip_refl is the CRC-32 of zip and gzip including the initial and final inversion;
 * its crc32_iscsi is CRC-32C without them. */
#include "base/checksum.h"

#include <isa-l/crc.h>

#include "base/simd_state.h"

#define PIECE ((size_t)1 << 30)

uint32_t heft_crc32(uint32_t crc, const void *p, size_t n)
{
    const uint8_t *at = p;

    for (; n > PIECE; n -= PIECE, at += PIECE)
        crc = crc32_gzip_refl(crc, at, PIECE);
    if (n)
        crc = crc32_gzip_refl(crc, at, n);
    heft_simd_clear();
    return crc;
}

uint32_t heft_crc32c(uint32_t crc, const void *p, size_t n)
{
    /* ISA-L only reads here, but its prototype lacks the const */
    uint8_t *at = (uint8_t *)(uintptr_t)p;

    crc = ~crc;
    for (; n > PIECE; n -= PIECE, at += PIECE)
        crc = crc32_iscsi(at, (int)PIECE, crc);
    if (n)
        crc = crc32_iscsi(at, (int)n, crc); /* the length fits int: n is at most 2^30 */
    heft_simd_clear();
    return ~crc;
}

/* Polynomials over GF(2), reduced modulo the CRC's polynomial. Bit 31 is the coefficient of x^0, as
 * in the CRC itself. */
#define ONE          0x80000000u
#define POLYNOMIAL   0xedb88320u
#define POLYNOMIAL_C 0x82f63b78u

HEFT_WRAPS static uint32_t multiply_polynomials(uint32_t a, uint32_t b, uint32_t polynomial)
{
    uint32_t product = 0;

    for (; a != 0; a <<= 1) {
        if (a & ONE)
            product ^= b;
        b = b & 1 ? b >> 1 ^ polynomial : b >> 1; /* multiplies b by x */
    }
    return product;
}

/* CRC combination (as zlib's crc32_combine): appending n bytes multiplies the CRC of the preceding
 * bytes by x^(8n). The inversions of both parts cancel out. O(log n) multiplications. */
static uint32_t combine_crcs(uint32_t crc_a, uint32_t crc_b, uint64_t len_b, uint32_t polynomial)
{
    uint32_t power = ONE >> 8; /* x^8; squared in every round */
    uint32_t factor = ONE;

    while (len_b != 0) {
        if (len_b & 1)
            factor = multiply_polynomials(factor, power, polynomial);
        power = multiply_polynomials(power, power, polynomial);
        len_b >>= 1;
    }
    return multiply_polynomials(factor, crc_a, polynomial) ^ crc_b;
}

uint32_t heft_crc32_combine(uint32_t crc_a, uint32_t crc_b, uint64_t len_b)
{
    return combine_crcs(crc_a, crc_b, len_b, POLYNOMIAL);
}

uint32_t heft_crc32c_combine(uint32_t crc_a, uint32_t crc_b, uint64_t len_b)
{
    return combine_crcs(crc_a, crc_b, len_b, POLYNOMIAL_C);
}

uint32_t heft_sum_of(enum heft_sum sum, const void *p, size_t n)
{
    return sum == HEFT_SUM_CRC32C ? heft_crc32c(0, p, n) : heft_crc32(0, p, n);
}

uint32_t heft_sum_combine(enum heft_sum sum, uint32_t a, uint32_t b, uint64_t len_b)
{
    return combine_crcs(a, b, len_b, sum == HEFT_SUM_CRC32C ? POLYNOMIAL_C : POLYNOMIAL);
}

const char *heft_sum_name(enum heft_sum sum)
{
    return sum == HEFT_SUM_CRC32C ? "CRC-32C" : "CRC-32";
}
