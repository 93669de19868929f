/* inflate_none.c: processors without a fast loop of their own. */
#include "base/inflate_parts.h"

heft_inflate_fast_fn *heft_inflate_fast_at(size_t index)
{
    return index == 0 ? heft_inflate_fast_plain : NULL;
}
