/* shaping.h: tensors whose shape changes before they are written: index arithmetic on the rows of a
 * conversion. No element is read.
 *
 *     row ─► heft_shaping_open ─► permute, reshape, slice, cat … ─► heft_shaping_row ─► row
 *
 * A tensor is a list of dimensions, and each dimension is a list of factors, outermost first. All
 * factors together span an index space, which boxes tile; each box has its own storage, offset and
 * strides. A row as read has one factor a dimension, and one box:
 *
 *     [8,6] read from a file              dims (8)(6)          one box, strides 6,1
 *     reshape 2 2 2 6, transpose 1 2      dims (2)(2)(2)(6)    one box, strides 24,6,12,1
 *     reshape 8 6                         dims (2·2·2)(6)      the same box: only dims are regrouped
 *
 * The factors in row-major order are the elements of the result in row-major order. So the row that
 * results has a shape for headers, and the shape that its boxes tile (struct heft_parts).
 *
 * A factor that a box cannot follow is cut: the box is replaced by one for each index. Errors are
 * HEFT_USAGE, with a text that names neither the tensor nor the rule; the caller adds both. */
#ifndef HEFT_SHAPING_H
#define HEFT_SHAPING_H

#include "core/model.h"

enum {
    HEFT_SHAPING_PARTS = 65536, /* boxes of a tensor */
    HEFT_SHAPING_FACTORS = 64,  /* factors of a tensor while it changes */
    HEFT_SHAPING_WALKED = 16,   /* dimensions of a resulting box, after joining neighbours */
    HEFT_SHAPING_RANK = 64,     /* dimensions of a tensor */
};

struct heft_shaping_box;

/* A tensor on its way. A zeroed one is valid and can be released. After an error it can only be
 * released. */
struct heft_shaping {
    enum heft_dtype dtype;
    unsigned rank;
    uint64_t shape[HEFT_SHAPING_RANK];
    /* ---- private ---- */
    unsigned n_factors;
    unsigned first[HEFT_SHAPING_RANK + 1]; /* number of the first factor of each dimension */
    uint64_t factor[HEFT_SHAPING_FACTORS]; /* extents of the factors */
    uint64_t *numbers; /* of each box, for each factor: start, extent, stride in units */
    struct heft_shaping_box *boxes; /* none if the tensor has no elements */
    size_t n_boxes;
    uint64_t most;    /* boxes allowed; HEFT_SHAPING_PARTS */
    uint32_t storage; /* that of the row that it was made from */
    uint8_t flags;    /* flags that belong to the row, not to boxes: HEFT_ROW_RAW */
    bool is_bytes;    /* one factor, in bytes: the dtype is not plain. See heft_shaping_open */
    const struct heft_row *whole;  /* the row; only while nothing has been changed */
    const struct heft_row *origin; /* the row; NULL if it has been joined with others */
};

/* Begins with a validated row, which must stay valid until heft_shaping_row. Of dtypes whose elements
 * are not whole bytes, and of block types, dimension 0 can be cut where blocks end and tensors can be
 * put together along it; of strings and of dequantized rows nothing can be changed. */
HEFT_CHECKED bool heft_shaping_open(struct heft_shaping *s, const struct heft_row *row,
                                    struct heft_error *err);
HEFT_CHECKED bool heft_shaping_copy(struct heft_shaping *out, const struct heft_shaping *from,
                                    struct heft_error *err);
void heft_shaping_release(struct heft_shaping *s);

/* ---- operations on one tensor ---- */

/* Removes dimension `dim`, whose extent must be 1. */
HEFT_CHECKED bool heft_shaping_squeeze(struct heft_shaping *s, uint64_t dim,
                                       struct heft_error *err);
/* Adds a dimension of extent 1 before dimension `dim`; dim may be the rank. */
HEFT_CHECKED bool heft_shaping_unsqueeze(struct heft_shaping *s, uint64_t dim,
                                         struct heft_error *err);
/* Dimension i of the result is dimension order[i]; n must be the rank. */
HEFT_CHECKED bool heft_shaping_permute(struct heft_shaping *s, const uint64_t *order, size_t n,
                                       struct heft_error *err);
HEFT_CHECKED bool heft_shaping_transpose(struct heft_shaping *s, uint64_t a, uint64_t b,
                                         struct heft_error *err);
HEFT_CHECKED bool heft_shaping_reshape(struct heft_shaping *s, const uint64_t *shape, size_t n,
                                       struct heft_error *err);
/* Keeps the indexes [begin, end) of a dimension. */
HEFT_CHECKED bool heft_shaping_slice(struct heft_shaping *s, uint64_t dim, uint64_t begin,
                                     uint64_t end, struct heft_error *err);
/* Cuts a dimension into n equal blocks; block i of the result is block order[i]. */
HEFT_CHECKED bool heft_shaping_reorder(struct heft_shaping *s, uint64_t dim, const uint64_t *order,
                                       size_t n, struct heft_error *err);

/* ---- one tensor to many, many to one ---- */

/* Extents of the n pieces of a dimension that is split by shares, which are proportions; NULL: equal
 * ones. */
HEFT_CHECKED bool heft_shaping_shares(uint64_t extent, const uint64_t *shares, size_t n,
                                      uint64_t *extents, struct heft_error *err);
/* Splits dimension `dim`; out: n zeroed structs, to be released by the caller also after an error. */
HEFT_CHECKED bool heft_shaping_split(const struct heft_shaping *s, uint64_t dim,
                                     const uint64_t *shares, size_t n, struct heft_shaping *out,
                                     struct heft_error *err);
/* The same for a dimension of extent n, which is removed. */
HEFT_CHECKED bool heft_shaping_unstack(const struct heft_shaping *s, uint64_t dim, size_t n,
                                       struct heft_shaping *out, struct heft_error *err);
/* Concatenates n tensors, which are changed and released, along a dimension. `out` is zeroed. */
HEFT_CHECKED bool heft_shaping_cat(struct heft_shaping *list, size_t n, uint64_t dim,
                                   struct heft_shaping *out, struct heft_error *err);
/* The same along a new dimension, of extent n. */
HEFT_CHECKED bool heft_shaping_stack(struct heft_shaping *list, size_t n, uint64_t dim,
                                     struct heft_shaping *out, struct heft_error *err);

/* ---- results ---- */

/* Makes the row: *out, which the caller names. Its shape, strides and parts are in `arena`. */
HEFT_CHECKED bool heft_shaping_row(struct heft_shaping *s, struct heft_arena *arena,
                                   struct heft_row *out, struct heft_error *err);
/* A row of zero bits with the dtype and the shape of another, which takes no memory and no file: a
 * derived row, whose recipe makes zeros. */
HEFT_CHECKED bool heft_shaping_zeros(const struct heft_row *like, struct heft_arena *arena,
                                     struct heft_row *out, struct heft_error *err);

#endif
