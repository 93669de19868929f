/* kernels.h: the inner loops that have versions for SIMD instructions. */
#ifndef HEFT_KERNELS_H
#define HEFT_KERNELS_H

#include "base/base.h"

#define HEFT_SCAN_BLOCK 64
#define HEFT_LEAST_OF   32

/* Classes of 64 bytes, a bit each, the first byte in bit 0. Bytes of non-ASCII characters are only
 * in `wide`. */
struct heft_masks {
    uint64_t letter, number, space; /* `space`: all white space */
    uint64_t blank;                 /* the byte 0x20 */
    uint64_t quote;                 /* the byte 0x27 */
    uint64_t wide;                  /* bytes 0x80 and higher */
};
struct heft_kernel {
    void (*masks)(const uint8_t *text, struct heft_masks *out);
    /* Writes base + i for each bit i that is set in `begin`; returns the count. May write up to 16
     * more. */
    size_t (*places)(uint64_t begin, uint32_t base, uint32_t *out);
    uint32_t (*least)(const uint32_t numbers[HEFT_LEAST_OF]);
    bool counts; /* functions marked HEFT_COUNTING (popcnt) may be called */
};

/* Returns the fastest kernel of this CPU; or by index, for tests (NULL past the last). */
const struct heft_kernel *heft_scan_kernel(void);
const struct heft_kernel *heft_scan_kernel_at(size_t index);
extern const struct heft_kernel heft_kernel_plain;
/* Portable versions, for kernels that have no faster one. */
size_t heft_places_plain(uint64_t begin, uint32_t base, uint32_t *out);
uint32_t heft_least_plain(const uint32_t numbers[HEFT_LEAST_OF]);

#endif
