/* npy_ids.h: headers of NumPy arrays of ids, on top of wire/npy.h. */
#ifndef HEFT_NPY_IDS_H
#define HEFT_NPY_IDS_H

#include "wire/npy.h"

struct heft_npy_ids {
    uint64_t count;
    uint32_t data; /* bytes of the header: offset of the data */
    uint8_t width; /* bytes of an id: 1, 2, 4 or 8 */
    uint8_t rank;
    bool is_signed, is_big;
};

/* Parses the header of an array of integers in C order. Error offsets are in the array. HEFT_UNSAFE
 * for Python objects. */
HEFT_CHECKED bool heft_npy_ids(struct heft_bytes header, struct heft_npy_ids *out,
                               struct heft_error *err);
/* The same for arrays whose bytes are read unchanged: little-endian only. */
HEFT_CHECKED bool heft_npy_plain_ids(struct heft_bytes header, struct heft_npy_ids *out,
                                     struct heft_error *err);
/* Whether an array may be copied unread: an array of objects is a pickle, one of records may
 * contain objects. */
HEFT_CHECKED bool heft_npy_is_safe(struct heft_bytes header, const struct heft_npy *npy,
                                   struct heft_error *err);

#endif
