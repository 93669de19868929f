/* dtype.h: the layout and the kind of each dtype. Names and the enum are public (heft/types.h).
 *
 *     block   the fewest elements that take whole bytes      F32     1 element  in 4 bytes
 *             and can be read by themselves                  F4      2 elements in 1 byte
 *                                                            F6_*    4 elements in 3 bytes
 *                                                            STRING  none: elements vary in length
 *
 * A dtype is plain where a block is one element. Only plain dtypes have strides, slices at any index,
 * and a byte order. */
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
    HEFT_KIND_PACKED, /* an element is a byte or two with several numbers in it: only copied */
    HEFT_KIND_SCALED, /* a block is numbers with their common scales (ggml's Q4_0 and the like):
                         core/blocks.h. Blocks never cross a row: the innermost extent is a multiple of
                         block_elements. The blocks of other dtypes run across rows */
    HEFT_KIND_VARYING /* strings: each element has a length of its own */
};

struct heft_dtype_info {
    const char *name;
    uint16_t block_elements; /* 0: varying length */
    uint16_t block_bytes;    /* 0: varying length */
    uint8_t word; /* bytes that are swapped together on a big-endian file: C64 4, F32 4, U8 1 */
    uint8_t kind; /* enum heft_kind */
    /* bits of the value, for an integer with fewer bits than its byte has; else 0 */
    uint8_t value_bits;
};

/* By enum heft_dtype. dtype_table.c defines nothing else, so that a test can link a table of its
 * own in its place. */
extern const struct heft_dtype_info heft_dtype_infos[HEFT_DTYPE_COUNT];

/* Never NULL for dtype < HEFT_DTYPE_COUNT. */
static inline const struct heft_dtype_info *heft_dtype_info(enum heft_dtype dtype)
{
    return &heft_dtype_infos[dtype];
}

/* Elements have no fixed number of bytes, so there are no blocks. True for a number that is no dtype,
 * too. */
static inline bool heft_dtype_varies(enum heft_dtype dtype)
{
    return (unsigned)dtype >= HEFT_DTYPE_COUNT || heft_dtype_infos[dtype].block_bytes == 0;
}

/* Blocks end where rows end, see HEFT_KIND_SCALED. */
static inline bool heft_dtype_is_scaled(enum heft_dtype dtype)
{
    return heft_dtype_infos[dtype].kind == HEFT_KIND_SCALED;
}

/* Each element takes whole bytes and stands by itself. */
static inline bool heft_dtype_is_plain(enum heft_dtype dtype)
{
    return heft_dtype_infos[dtype].block_elements == 1;
}

/* Bytes of an element of a plain dtype; 0 of any other, and of a number that is no dtype. */
static inline uint32_t heft_dtype_element_bytes(enum heft_dtype dtype)
{
    return (unsigned)dtype < HEFT_DTYPE_COUNT && heft_dtype_is_plain(dtype)
               ? heft_dtype_infos[dtype].block_bytes
               : 0;
}

/* Bytes of `elements`, a multiple of the block, where the product is known to be below 2^64. Not for
 * varying dtypes. heft_dtype_bytes (heft/types.h) is the checked form. */
static inline uint64_t heft_dtype_span(enum heft_dtype dtype, uint64_t elements)
{
    const struct heft_dtype_info *const info = &heft_dtype_infos[dtype];

    return elements / info->block_elements * info->block_bytes;
}

/* Elements in `bytes`, a multiple of the block. Not for varying dtypes. */
static inline uint64_t heft_dtype_elements(enum heft_dtype dtype, uint64_t bytes)
{
    const struct heft_dtype_info *const info = &heft_dtype_infos[dtype];

    return bytes / info->block_bytes * info->block_elements;
}

/* Whether an element of `a` takes more room than one of `b`. Not for varying dtypes. */
static inline bool heft_dtype_is_wider(enum heft_dtype a, enum heft_dtype b)
{
    const struct heft_dtype_info *const x = &heft_dtype_infos[a], *const y = &heft_dtype_infos[b];

    return (uint32_t)x->block_bytes * y->block_elements >
           (uint32_t)y->block_bytes * x->block_elements;
}

/* Bits of the value of an integer: I4 has 4 of them in a byte. */
static inline unsigned heft_dtype_value_bits(const struct heft_dtype_info *info)
{
    return info->value_bits ? info->value_bits : 8u * info->block_bytes;
}

#endif
