/* reader.h: the logical bytes of rows: strides gathered, bytes swapped, conjugated, negated, cast.
 *
 * Deflated storages are inflated once, on first use, side by side into a spool. Safe from many
 * threads. Works in bounded memory: 1 MiB for a gather, 1 MiB for a spool. */
#ifndef HEFT_READER_H
#define HEFT_READER_H

#include "core/model.h"
#include "io/inflate_stream.h"
#include "io/pool.h"

enum { HEFT_READER_LOCKS = 16 };

struct heft_inflated;
struct heft_reader {
    const struct heft_model *model;
    bool no_verify; /* skip the CRC of deflated storages */
    /* Where a storage is deflated, else empty. */
    struct heft_spool spool;
    struct heft_inflated *inflated; /* one a storage */
    struct heft_lock *locks[HEFT_READER_LOCKS];
};

HEFT_CHECKED bool heft_reader_init(struct heft_reader *reader, const struct heft_model *model,
                                   bool no_verify, struct heft_error *err);
void heft_reader_release(struct heft_reader *reader);
/* Unpacked bytes [off, off+n) of a storage. */
HEFT_CHECKED bool heft_reader_storage(struct heft_reader *reader, uint32_t storage, uint64_t off,
                                      void *dst, size_t n, struct heft_error *err);
/* Fails because the bytes of that storage, which is_missing, are not there. */
bool heft_reader_refuse_missing(const struct heft_model *model, uint32_t storage,
                                struct heft_error *err);
/* Whether a deflated storage is what the file says, in size and, unless no_verify, in CRC: inflates
 * it to nowhere; or one with a checksum of the format's own. HEFT_MALFORMED, HEFT_MISMATCH where
 * not. Of others it knows nothing: true. */
HEFT_CHECKED bool heft_reader_check(struct heft_reader *reader, uint32_t storage,
                                    struct heft_error *err);
/* All bytes of a deflated storage in order, past the spool. */
HEFT_CHECKED bool heft_reader_inflate(const struct heft_reader *reader, uint32_t storage,
                                      heft_stream_take_fn *take, void *ctx, struct heft_error *err);
/* Logical bytes [off, off+n) of a row: row-major, little-endian, in its own dtype; off and n are
 * multiples of the element's bytes (of the block's, where the row has strides and elements come in
 * blocks; else such rows may be read at any byte). */
HEFT_CHECKED bool heft_reader_row(struct heft_reader *reader, const struct heft_row *row,
                                  uint64_t off, void *dst, size_t n, struct heft_error *err);
/* Stored elements, n bytes of them, to their values; flags of the row or the part. */
void heft_reader_resolve(enum heft_dtype dtype, unsigned flags, uint8_t *p, size_t n);
/* A slice of a settled row as a row: shape, stride and offset changed, in `arena`. Ranges are
 * [start, stop) a leading dimension, `drop` removes a dimension of extent 1. HEFT_USAGE out of
 * range or for sub-byte dtypes. */
HEFT_CHECKED bool heft_row_slice(const struct heft_row *row, const struct heft_range *ranges,
                                 size_t n_ranges, struct heft_arena *arena, struct heft_row *out,
                                 struct heft_error *err);

#endif
