/* tensor_slice.c: encodes and parses keys of slices. */
#include "wire/tensor_slice.h"

#include "wire/ordered_code.h"

void heft_slice_put_key(struct heft_buf *out, struct heft_str name,
                        const struct heft_slice_dim *dims, unsigned rank)
{
    heft_ordered_put_number(out, 0);
    heft_ordered_put_text(out, name);
    heft_ordered_put_number(out, rank);
    for (unsigned d = 0; d < rank; d++) {
        heft_ordered_put_signed(out, dims[d].start);
        heft_ordered_put_signed(out, dims[d].length);
    }
}

bool heft_slice_key(struct heft_bytes key, struct heft_buf *name, struct heft_slice_dim *dims,
                    unsigned *rank)
{
    struct heft_cur cur = heft_cur_of(key, 0);
    const uint64_t first = heft_ordered_number(&cur);
    uint64_t n;

    heft_ordered_text(&cur, name);
    n = heft_ordered_number(&cur);
    if (!heft_cur_ok(&cur) || first != 0 || n > HEFT_SLICE_RANK)
        return false;
    *rank = (unsigned)n;
    for (unsigned d = 0; d < *rank; d++) {
        dims[d].start = heft_ordered_signed(&cur);
        dims[d].length = heft_ordered_signed(&cur);
    }
    return heft_cur_ok(&cur) && heft_cur_left(&cur) == 0;
}

static void put_number(struct heft_buf *out, int64_t v)
{
    heft_buf_text(out, v < 0 ? "-" : "");
    heft_buf_u64(out, v < 0 ? ~(uint64_t)v + 1 : (uint64_t)v);
}

void heft_slice_put_spec(struct heft_buf *out, const struct heft_slice_dim *dims, unsigned rank)
{
    for (unsigned d = 0; d < rank; d++) {
        heft_buf_text(out, d ? ":" : "");
        if (dims[d].start == 0 && dims[d].length == HEFT_SLICE_WHOLE) {
            heft_buf_char(out, '-');
            continue;
        }
        put_number(out, dims[d].start);
        heft_buf_char(out, ',');
        put_number(out, dims[d].length);
    }
}
