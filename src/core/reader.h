/* reader.h: the logical bytes of rows: strides gathered, bytes swapped, conjugated, negated, cast.
 *
 * Deflated storages are inflated on first use; the last few stay inflated. Safe from many threads.
 * Works in bounded memory: gathers go through windows of 1 MiB. */
#ifndef HEFT_READER_H
#define HEFT_READER_H

#include "base/map.h"
#include "core/model.h"
#include "io/pool.h"

struct heft_spool;
struct heft_reader {
    const struct heft_model *model;
    struct heft_lock *lock; /* of the fields between here and no_verify */
    struct heft_spool **spools;
    size_t n_spools, cap_spools;
    struct heft_u32map spool_of; /* storage → index in spools */
    uint64_t ticks;              /* uses so far: which spool is the oldest */
    uint64_t inflated, budget;   /* bytes so far; above the budget no spool is dropped any more */
    bool no_verify;              /* skip the CRC of deflated storages */
};

HEFT_CHECKED bool heft_reader_init(struct heft_reader *reader, const struct heft_model *model,
                                   bool no_verify, struct heft_error *err);
void heft_reader_release(struct heft_reader *reader);
/* Unpacked bytes [off, off+n) of a storage. */
HEFT_CHECKED bool heft_reader_storage(struct heft_reader *reader, uint32_t storage, uint64_t off,
                                      void *dst, size_t n, struct heft_error *err);
/* Logical bytes [off, off+n) of a row: row-major, little-endian, in its own dtype; off and n are
 * multiples of the element's bytes (of 1 for sub-byte dtypes). */
HEFT_CHECKED bool heft_reader_row(struct heft_reader *reader, const struct heft_row *row,
                                  uint64_t off, void *dst, size_t n, struct heft_error *err);
/* A slice of a settled row as a row: shape, stride and offset changed, in `arena`. Ranges are
 * [start, stop) a leading dimension, `drop` removes a dimension of extent 1. HEFT_USAGE out of
 * range or for sub-byte dtypes. */
HEFT_CHECKED bool heft_row_slice(const struct heft_row *row, const struct heft_range *ranges,
                                 size_t n_ranges, struct heft_arena *arena, struct heft_row *out,
                                 struct heft_error *err);

#endif
