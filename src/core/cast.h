/* cast.h: numbers of one dtype into another, in bulk: round to nearest even, NaN kept, overflow to
 * infinity counted. Follows torch's Tensor.to: F64 → BF16 and F16 go through F32. */
#ifndef HEFT_CAST_H
#define HEFT_CAST_H

#include "base/error.h"
#include "base/dtype.h"

/* Whether from → to is done at all: any real to any float; int to int and bool to int where every
 * value fits; complex to complex. */
bool heft_cast_known(enum heft_dtype from, enum heft_dtype to);
/* n elements, a multiple of the block of `from`, little-endian; src and dst do not overlap. *overflowed grows by the finite values
 * that became infinite (for the FNUZ kinds NaN; for F8_E4M3 its largest number, as torch has it
 * since 2.13). Complex numbers count by part. */
void heft_cast(enum heft_dtype from, enum heft_dtype to, const uint8_t *src, uint8_t *dst, size_t n,
               uint64_t *overflowed);

/* Values that the target could not hold: finite ones, and infinities of kinds that have none. */
struct heft_cast_losses {
    uint64_t finite, infinite;
};
/* The same, adding to both counts. */
void heft_cast_counting(enum heft_dtype from, enum heft_dtype to, const uint8_t *src, uint8_t *dst,
                        size_t n, struct heft_cast_losses *losses);
/* What such values become: "infinite", "448 or -448", "NaN". */
const char *heft_cast_result(enum heft_dtype to);

/* dtype_names.c, as heft_dtype_named: HEFT_USAGE that lists what casts can make. */
bool heft_dtype_refuse(const char *name, struct heft_error *err);

#endif
