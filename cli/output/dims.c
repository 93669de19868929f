/* dims.c: see dims.h. */
#include "output/dims.h"

char *put_dims(char *to, const uint64_t *dims, unsigned rank)
{
    *to++ = '[';
    for (unsigned i = 0; i < rank; i++) {
        if (i)
            *to++ = ',';
        to = put_u64(to, dims[i]);
    }
    *to++ = ']';
    return to;
}

void out_dims(struct out *out, const uint64_t *dims, unsigned rank)
{
    out_to(out, put_dims(out_room(out, dims_room(rank)), dims, rank));
}

size_t dims_width(const uint64_t *dims, unsigned rank)
{
    size_t width = rank ? rank + 1u : 2u;
    for (unsigned i = 0; i < rank; i++)
        width += u64_digits(dims[i]);
    return width;
}

void json_dims(struct out *out, const char *key, const uint64_t *dims, unsigned rank)
{
    json_key(out, key);
    out_dims(out, dims, rank);
    out->separate = true;
}
