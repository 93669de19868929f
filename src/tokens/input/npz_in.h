/* npz_in.h: arrays of an .npz in the order of its directory: copied in their packed form, or read
 * as ids. Arrays of objects, which only a pickle could represent, are refused. */
#ifndef HEFT_NPZ_IN_H
#define HEFT_NPZ_IN_H

#include "base/mem.h"

struct heft_npz_array {
    uint64_t size, packed;
    uint32_t crc;
    uint16_t method;
};

HEFT_CHECKED bool heft_npz_count(const char *path, uint64_t *count, struct heft_error *err);
/* Calls begin() once for each array, then bytes() for its packed data. */
HEFT_CHECKED bool
heft_npz_copy(const char *path,
              bool (*begin)(void *ctx, const struct heft_npz_array *array, struct heft_error *err),
              bool (*bytes)(void *ctx, const uint8_t *p, size_t n, struct heft_error *err),
              void *ctx, struct heft_error *err);

struct heft_npz_ids {
    bool (*ids)(void *ctx, const uint8_t *ids, size_t n, struct heft_error *err);
    void *ctx;
    unsigned width;      /* bytes of an id handed over: 2 or 4 */
    uint32_t vocab_size; /* ids must be lower */
};
/* Reads the elements of all arrays, which must be integers. */
HEFT_CHECKED bool heft_npz_read_ids(const char *path, const struct heft_npz_ids *to,
                                    struct heft_error *err);

#endif
