/* npy_ids.h: NumPy arrays of ids: what wire/npy.h says of a header, as ids need it. */
#ifndef HEFT_NPY_IDS_H
#define HEFT_NPY_IDS_H

#include "wire/npy.h"

struct heft_npy_ids {
    uint64_t count;
    uint32_t data; /* bytes of the header */
    uint8_t width; /* 1, 2, 4, 8 */
    uint8_t rank;
    bool is_signed, is_big;
};

/* The header of an array of whole numbers that lie in their order. Offsets in errors are in the array. HEFT_UNSAFE: of Python
 * objects. */
HEFT_CHECKED bool heft_npy_ids(struct heft_bytes header, struct heft_npy_ids *out,
                               struct heft_error *err);
/* The same where they are to be read as they lie: little-endian. */
HEFT_CHECKED bool heft_npy_plain_ids(struct heft_bytes header, struct heft_npy_ids *out,
                                     struct heft_error *err);
/* Whether an array may be handed on unread: one of objects is a pickle, records may hold some. */
HEFT_CHECKED bool heft_npy_is_safe(struct heft_bytes header, const struct heft_npy *npy,
                                   struct heft_error *err);

#endif
