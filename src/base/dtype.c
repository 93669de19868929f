/* dtype.c: names and sizes of dtypes. */
#include "base/dtype.h"

const char *heft_dtype_name(enum heft_dtype dtype)
{
    return (unsigned)dtype < HEFT_DTYPE_COUNT ? heft_dtype_infos[dtype].name : "?";
}

unsigned heft_dtype_block_elements(enum heft_dtype dtype)
{
    return (unsigned)dtype < HEFT_DTYPE_COUNT ? heft_dtype_infos[dtype].block_elements : 0;
}

unsigned heft_dtype_block_bytes(enum heft_dtype dtype)
{
    return (unsigned)dtype < HEFT_DTYPE_COUNT ? heft_dtype_infos[dtype].block_bytes : 0;
}

bool heft_dtype_bytes(enum heft_dtype dtype, uint64_t elements, uint64_t *bytes)
{
    const unsigned block = heft_dtype_block_elements(dtype);

    if (!bytes || block == 0)
        return false;
    if (block > 1) {
        if (elements % block != 0)
            return false;
        elements /= block;
    }
    return heft_mul(elements, heft_dtype_infos[dtype].block_bytes, bytes);
}

bool heft_dtype_parse(const char *name, enum heft_dtype *out)
{
    if (!(name && out))
        return false;
    for (unsigned i = 0; i < HEFT_DTYPE_COUNT; i++)
        if (strcmp(name, heft_dtype_infos[i].name) == 0) {
            *out = (enum heft_dtype)i;
            return true;
        }
    return false;
}
