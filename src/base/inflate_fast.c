/* inflate_fast.c: the fast loop for any processor. */
#include "base/inflate_fast.h"

bool heft_inflate_fast_plain(struct heft_inflate *z, struct heft_inflate_io *io,
                             struct heft_error *err)
{
    return run_fast(z, io, err);
}
