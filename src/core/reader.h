/* reader.h: logical bytes of rows: strided elements gathered into row-major order, bytes
 * swapped, complex values conjugated or negated. A deflated storage is inflated once, on first
 * use, into a temporary file (spool). Thread-safe. Bounded memory: 1 MiB for a gather, 1 MiB for
 * the spool. */
#ifndef HEFT_READER_H
#define HEFT_READER_H

#include "core/model.h"
#include "io/inflate_stream.h"
#include "io/pool.h"

enum { HEFT_READER_LOCKS = 16 };

struct heft_inflated;
struct heft_reader {
    const struct heft_model *model;
    bool no_verify; /* do not compare CRCs of deflated storages */
    /* Empty unless a storage is deflated. */
    struct heft_spool spool;
    struct heft_inflated *inflated; /* one for each storage */
    struct heft_lock *locks[HEFT_READER_LOCKS];
};

HEFT_CHECKED bool heft_reader_init(struct heft_reader *reader, const struct heft_model *model,
                                   bool no_verify, struct heft_error *err);
void heft_reader_release(struct heft_reader *reader);
/* Reads bytes [off, off+n) of a storage, decompressed if it is deflated. */
HEFT_CHECKED bool heft_reader_storage(struct heft_reader *reader, uint32_t storage, uint64_t off,
                                      void *dst, size_t n, struct heft_error *err);
/* Fills err for a storage with is_missing: HEFT_IO, with the reason. Always returns false. */
bool heft_reader_refuse_missing(const struct heft_model *model, uint32_t storage,
                                struct heft_error *err);
/* Verifies a storage by reading all of it: a deflated one by inflating it and comparing size and
 * (unless no_verify) CRC, one with HEFT_SUM_OWN by the check of its format. HEFT_MALFORMED or
 * HEFT_MISMATCH on failure. True for other storages, which are not read. */
HEFT_CHECKED bool heft_reader_check(struct heft_reader *reader, uint32_t storage,
                                    struct heft_error *err);
/* Passes all bytes of a deflated storage to take(), in order and without the spool. */
HEFT_CHECKED bool heft_reader_inflate(const struct heft_reader *reader, uint32_t storage,
                                      heft_stream_take_fn *take, void *ctx, struct heft_error *err);
/* Reads the logical bytes [off, off+n) of a row: row-major, little-endian, in its own dtype. off
 * and n must be multiples of the block's bytes; rows without strides of a dtype that is not
 * plain may be read at any byte. */
HEFT_CHECKED bool heft_reader_row(struct heft_reader *reader, const struct heft_row *row,
                                  uint64_t off, void *dst, size_t n, struct heft_error *err);
/* Turns n bytes of stored elements into logical values, in place. flags: HEFT_ROW_… of the row
 * or the part. */
void heft_reader_resolve(enum heft_dtype dtype, unsigned flags, uint8_t *p, size_t n);
/* Slice of a validated row as a row; its shape and strides are in `arena`. ranges[d] is [start,
 * stop) of dimension d; dimensions without a range are taken whole; `drop` removes a dimension
 * of which one index is taken. HEFT_USAGE if a range exceeds its dimension or cuts a block, and
 * for dtypes that cannot be sliced. */
HEFT_CHECKED bool heft_row_slice(const struct heft_row *row, const struct heft_range *ranges,
                                 size_t n_ranges, struct heft_arena *arena, struct heft_row *out,
                                 struct heft_error *err);
/* The same for reading as `as`: if that is another dtype, a slice of a block type may begin and end
 * within a block. It is then a derived row of F32. */
HEFT_CHECKED bool heft_row_slice_as(const struct heft_row *row, const struct heft_range *ranges,
                                    size_t n_ranges, enum heft_dtype as, struct heft_arena *arena,
                                    struct heft_row *out, struct heft_error *err);
/* HEFT_USAGE if a range exceeds its dimension, or the dtype cannot be sliced. */
HEFT_CHECKED bool heft_row_check_ranges(const struct heft_row *row, const struct heft_range *ranges,
                                        size_t n_ranges, struct heft_error *err);

#endif
