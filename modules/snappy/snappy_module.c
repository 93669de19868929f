/* snappy_module.c: libsnappy, for src/wire/sstable_block.c. */
#include "wire/snappy_module.h"

#include <snappy-c.h>

#include "heft/types.h"

static bool claim(const char *packed, size_t n, size_t *bytes)
{
    return snappy_uncompressed_length(packed, n, bytes) == SNAPPY_OK;
}

static bool unpack(const char *packed, size_t n, char *out, size_t *room)
{
    return snappy_uncompress(packed, n, out, room) == SNAPPY_OK;
}

extern const struct heft_snappy_module heft_snappy_module;
HEFT_API const struct heft_snappy_module heft_snappy_module = {claim, unpack};
