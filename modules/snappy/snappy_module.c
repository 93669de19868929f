/* snappy_module.c: the module that decompresses snappy blocks of tables with libsnappy (used by
 * src/wire/sstable_block.c). */
#include "wire/snappy_module.h"

#include <snappy-c.h>

#include "heft/types.h"

static bool unpacked_size(const char *packed, size_t n, size_t *bytes)
{
    return snappy_uncompressed_length(packed, n, bytes) == SNAPPY_OK;
}

static bool unpack_block(const char *packed, size_t n, char *out, size_t *room)
{
    return snappy_uncompress(packed, n, out, room) == SNAPPY_OK;
}

extern const struct heft_snappy_module heft_snappy_module;
HEFT_API const struct heft_snappy_module heft_snappy_module = {unpacked_size, unpack_block};
