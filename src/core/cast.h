/* cast.h: bulk conversion between dtypes: round to nearest even, NaN kept, overflows counted.
 * Follows torch's Tensor.to: F64 to BF16 or F16 is rounded to F32 first. */
#ifndef HEFT_CAST_H
#define HEFT_CAST_H

#include "base/error.h"
#include "base/dtype.h"

/* Whether the cast is supported: any real dtype, and any block type that has values, to a
 * float; a float to a block type that heft quantizes to; integer or bool to an integer that represents
 * all its values; complex to complex. */
bool heft_cast_known(enum heft_dtype from, enum heft_dtype to);
/* HEFT_USAGE if the cast is not supported, or a number is no dtype. */
HEFT_CHECKED bool heft_cast_check(enum heft_dtype from, enum heft_dtype to, struct heft_error *err);
/* Fewest elements that are whole blocks of both dtypes, neither of them varying. */
unsigned heft_cast_unit(enum heft_dtype from, enum heft_dtype to);
/* Casts n little-endian elements, n being a multiple of the unit above; src and dst must not
 * overlap. Adds to *overflowed the number of finite values beyond the target's range: they
 * become infinite, for FNUZ dtypes NaN, for F8_E4M3 its largest value (as in torch since 2.13).
 * Real and imaginary parts count one each. */
void heft_cast_elements(enum heft_dtype from, enum heft_dtype to, const uint8_t *src, uint8_t *dst,
                        size_t n, uint64_t *overflowed);

/* Numbers of values that the target could not represent: finite ones, and infinities if it has
 * none. For a block type: scales that overflow, and values that are infinite or NaN. */
struct heft_cast_losses {
    uint64_t finite, infinite;
};
/* As heft_cast_elements; adds to both counts. */
void heft_cast_counting(enum heft_dtype from, enum heft_dtype to, const uint8_t *src, uint8_t *dst,
                        size_t n, struct heft_cast_losses *losses);
/* HEFT_UNSUPPORTED if a block type got values that it cannot store: NaN, infinities, or more than
 * its scales reach. The results of such a cast must not be used. Other targets accept every loss. */
HEFT_CHECKED bool heft_cast_accept(enum heft_dtype to, const struct heft_cast_losses *losses,
                                   struct heft_error *err);
/* Text that says what such values become: "infinite", "448 or -448", "NaN". */
const char *heft_cast_result(enum heft_dtype to);

/* dtype_names.c: HEFT_USAGE for an unknown dtype name; lists the possible targets of casts.
 * Always returns false. */
bool heft_dtype_refuse(const char *name, struct heft_error *err);

#endif
