/* dtype.h: what an element is: size, parts, kind. The names and the enum are public (heft/types.h).
 */
#ifndef HEFT_DTYPE_H
#define HEFT_DTYPE_H

#include "base/base.h"
#include "heft/types.h"

enum heft_kind {
    HEFT_KIND_BOOL,
    HEFT_KIND_INT,
    HEFT_KIND_UINT,
    HEFT_KIND_FLOAT,
    HEFT_KIND_COMPLEX,
    HEFT_KIND_PACKED, /* bits of several numbers, that are only moved */
    HEFT_KIND_VARYING /* strings: bits 0 */
};

struct heft_dtype_info {
    const char *name;
    uint8_t bits;
    uint8_t
        word; /* bytes that are swapped together on a big-endian file: C64 → 4, F32 → 4, U8 → 1 */
    uint8_t kind;  /* enum heft_kind */
    uint8_t value; /* bits of an integer's value, where they are fewer; else 0 */
};

extern const struct heft_dtype_info heft_dtype_infos[HEFT_DTYPE_COUNT];

/* Never NULL for dtype < HEFT_DTYPE_COUNT. */
static inline const struct heft_dtype_info *heft_dtype_info(enum heft_dtype dtype)
{
    return &heft_dtype_infos[dtype];
}
/* Of what settling asks of each row several times. */
static inline unsigned heft_dtype_width(enum heft_dtype dtype)
{
    return (unsigned)dtype < HEFT_DTYPE_COUNT ? heft_dtype_infos[dtype].bits : 0;
}
/* Bits of an integer's value. */
static inline unsigned heft_dtype_value_bits(const struct heft_dtype_info *info)
{
    return info->value ? info->value : info->bits;
}
/* Bytes of an element; 0 for the sub-byte dtypes F4, F6_… and for those of varying length, whose
 * rows are addressed in bytes. */
static inline uint32_t heft_dtype_element_bytes(enum heft_dtype dtype)
{
    const unsigned bits = heft_dtype_width(dtype);
    return bits % 8 ? 0 : bits / 8;
}

#endif
