/* kernels.h: the small loops that processors have special instructions for. */
#ifndef HEFT_KERNELS_H
#define HEFT_KERNELS_H

#include "base/base.h"

#define HEFT_SCAN_BLOCK 64
#define HEFT_LEAST_OF   32

/* Of 64 bytes, bit 0 the first: what they are, those beyond ASCII being nothing but `wide`. */
struct heft_masks {
    uint64_t letter, number, space; /* space: all white space */
    uint64_t blank;                 /* 0x20 only */
    uint64_t quote;                 /* 0x27 */
    uint64_t wide;                  /* 0x80 and above */
};
struct heft_kernel {
    void (*masks)(const uint8_t *text, struct heft_masks *out);
    /* Where the bits of `begin` are, from `base` on; returns how many. May write up to 16 more. */
    size_t (*places)(uint64_t begin, uint32_t base, uint32_t *out);
    uint32_t (*least)(const uint32_t numbers[HEFT_LEAST_OF]);
    bool counts; /* what is HEFT_COUNTING may be called */
};

/* The fastest kernel that this machine can run; and by number, for tests (NULL past the end). */
const struct heft_kernel *heft_scan_kernel(void);
const struct heft_kernel *heft_scan_kernel_at(size_t index);
extern const struct heft_kernel heft_kernel_plain;
/* For kernels that have no better way. */
size_t heft_places_plain(uint64_t begin, uint32_t base, uint32_t *out);
uint32_t heft_least_plain(const uint32_t numbers[HEFT_LEAST_OF]);

#endif
