/* ptd_tables.c: the tables of a .ptd, both generations.
 *
 *     since 0.7   FlatTensor   0 version  1 [segments]  2 [named_data]
 *                 NamedData    0 key  1 segment_index  2 TensorLayout or none: a blob
 *                 TensorLayout 0 scalar_type  1 [sizes]  2 [dim_order]
 *     0.6         FlatTensor   0 version  1 alignment  2 [tensors]  3 [segments]  4 [named_data]
 *                 tensor       0 name  1 scalar_type  2 [sizes]  3 [dim_order]  4 segment_index
 *                              5 offset in it
 *     both        DataSegment  0 offset from the base  1 size */
#include "base/endian.h"
#include "format/executorch/ptd_parts.h"

/* ---- dtypes ---------------------------------------------------------------------------------- */

static const uint8_t dtypes[HEFT_PTD_TYPES] = {
    HEFT_U8,      HEFT_I8,          HEFT_I16,         HEFT_I32,   HEFT_I64,    HEFT_F16,
    HEFT_F32,     HEFT_F64,         HEFT_C32,         HEFT_C64,   HEFT_C128,   HEFT_BOOL,
    HEFT_QI8,     HEFT_QU8,         HEFT_QI32,        HEFT_BF16,  HEFT_QU4X2,  HEFT_QU2X4,
    HEFT_BITS1X8, HEFT_BITS2X4,     HEFT_BITS4X2,     HEFT_BITS8, HEFT_BITS16, HEFT_F8_E5M2,
    HEFT_F8_E4M3, HEFT_F8_E5M2FNUZ, HEFT_F8_E4M3FNUZ, HEFT_U16,   HEFT_U32,    HEFT_U64,
};

enum heft_dtype heft_ptd_dtype(unsigned type)
{
    return (enum heft_dtype)dtypes[type];
}

unsigned heft_ptd_type(enum heft_dtype dtype)
{
    unsigned type = 0;

    while (type < HEFT_PTD_TYPES && dtypes[type] != dtype)
        type++;
    return type;
}

/* ---- segments -------------------------------------------------------------------------------- */

static bool read_segment(const struct heft_ptd *ptd, uint64_t at, struct heft_ptd_segment *out,
                         struct heft_error *err)
{
    struct heft_flat_table table;
    uint64_t off, len;

    if (!heft_flat_table(&ptd->flat, at, "DataSegment", &table, err) ||
        !heft_flat_u64(&ptd->flat, &table, 0, &off, err) ||
        !heft_flat_u64(&ptd->flat, &table, 1, &len, err))
        return false;
    if (!heft_within(off, len, ptd->room))
        return heft_fail(err, HEFT_MALFORMED, at,
                         "segment has %" PRIu64 " bytes at offset %" PRIu64
                         ", the segments have %" PRIu64 " bytes in total",
                         len, off, ptd->room);
    *out = (struct heft_ptd_segment){at, ptd->base + off, len};
    return true;
}

/* A vector of references that is required. */
static bool open_vector(struct heft_ptd *ptd, unsigned id, const char *what, uint64_t most,
                        struct heft_flat_vector *out, struct heft_error *err)
{
    uint64_t at;

    if (!heft_flat_ref(&ptd->flat, &ptd->root, id, &at, err))
        return false;
    if (at == 0)
        return heft_fail(err, HEFT_MALFORMED, ptd->root.at, "the vector of %s is missing", what);
    if (!heft_flat_refs(&ptd->flat, at, what, out, err))
        return false;
    return out->count <= most || heft_fail(err, HEFT_LIMIT, at,
                                           "%" PRIu32 " %s in a file of %" PRIu64
                                           " bytes, the limit is %" PRIu64 ": limits.tensors",
                                           out->count, what, ptd->size, most);
}

bool heft_ptd_read_segments(struct heft_ptd *ptd, uint64_t most, struct heft_arena *mem,
                            struct heft_error *err)
{
    struct heft_flat_vector vector;
    uint64_t at;

    if (!open_vector(ptd, ptd->is_old ? 3 : 1, "segments", most, &vector, err))
        return false;
    ptd->segments = heft_arena_alloc(mem, (size_t)vector.count * sizeof *ptd->segments, err);
    ptd->n_segments = vector.count;
    for (uint32_t i = 0; ptd->segments && i < vector.count; i++)
        if (!heft_flat_element(&ptd->flat, &vector, i, &at, err) ||
            !read_segment(ptd, at, &ptd->segments[i], err))
            return false;
    return ptd->segments != NULL;
}

/* ---- layouts --------------------------------------------------------------------------------- */

static bool check_order(const struct heft_ptd_entry *e, uint64_t at, struct heft_error *err)
{
    uint32_t seen = 0;

    for (unsigned i = 0; i < e->rank; i++) {
        if (e->order[i] >= e->rank || (seen >> e->order[i] & 1))
            return heft_fail(
                err, HEFT_MALFORMED, at + i,
                "dim_order has %u at position %u, must have each of the %u dimensions once",
                e->order[i], i, e->rank);
        seen |= 1u << e->order[i];
    }
    return true;
}

static bool is_identity(const struct heft_ptd_entry *e)
{
    for (unsigned i = 0; i < e->rank; i++)
        if (e->order[i] != i)
            return false;
    return true;
}

/* Computes the size from shape and dtype; false if there is none. */
static bool measure_entry(struct heft_ptd_entry *e, uint64_t at, struct heft_error *err)
{
    uint64_t shape[HEFT_PTD_RANK];

    for (unsigned i = 0; i < e->rank; i++) {
        shape[i] = heft_le32(e->sizes + 4 * (size_t)i);
        if (shape[i] > INT32_MAX)
            return heft_fail(err, HEFT_MALFORMED, at + 4 * (uint64_t)i,
                             "dimension %u has size %" PRId64 ", must not be negative", i,
                             (int64_t)shape[i] - ((int64_t)1 << 32));
    }
    return heft_row_size(e->dtype, e->rank, shape, &e->bytes) ||
           heft_fail(err, HEFT_MALFORMED, at, "a tensor has 2^64 bytes or more");
}

/* Reads sizes and dim_order; some writers omit empty vectors. */
static bool read_dims(const struct heft_flat *flat, const struct heft_flat_table *table,
                      unsigned id, struct heft_ptd_entry *e, struct heft_error *err)
{
    struct heft_flat_vector sizes = {table->at, 0}, order = {table->at, 0};
    uint64_t sizes_at, order_at;

    if (!heft_flat_ref(flat, table, id, &sizes_at, err) ||
        (sizes_at && !heft_flat_vector(flat, sizes_at, 4, "sizes", &sizes, err)) ||
        !heft_flat_ref(flat, table, id + 1, &order_at, err) ||
        (order_at && !heft_flat_vector(flat, order_at, 1, "dim_order", &order, err)))
        return false;
    if (sizes.count > HEFT_PTD_RANK)
        return heft_fail(err, HEFT_MALFORMED, sizes_at,
                         "tensor has %" PRIu32 " dimensions, ExecuTorch supports at most %u",
                         sizes.count, HEFT_PTD_RANK);
    if (order.count != sizes.count)
        return heft_fail(err, HEFT_MALFORMED, order_at ? order_at : table->at,
                         "dim_order has %" PRIu32 " elements, the tensor has %" PRIu32
                         " dimensions",
                         order.count, sizes.count);
    e->lacks_sizes = !sizes_at || !order_at;
    e->rank = (uint8_t)sizes.count;
    e->sizes = flat->p + sizes.at;
    e->order = flat->p + order.at;
    if (!check_order(e, order.at, err))
        return false;
    if (is_identity(e))
        e->order = NULL;
    return measure_entry(e, sizes.at, err);
}

bool heft_ptd_read_layout(const struct heft_flat *flat, const struct heft_flat_table *table,
                          unsigned type_id, unsigned sizes_id, struct heft_ptd_entry *e,
                          struct heft_error *err)
{
    uint8_t type;

    if (!heft_flat_u8(flat, table, type_id, &type, err))
        return false;
    if (type >= HEFT_PTD_TYPES)
        return heft_fail(err, type > INT8_MAX ? HEFT_MALFORMED : HEFT_UNSUPPORTED, table->at,
                         "scalar type is %d, supported are 0 to %d",
                         type > INT8_MAX ? type - 256 : type, HEFT_PTD_TYPES - 1);
    e->dtype = heft_ptd_dtype(type);
    e->is_tensor = true;
    return read_dims(flat, table, sizes_id, e, err);
}

/* ---- entries --------------------------------------------------------------------------------- */

struct walk {
    struct heft_ptd *ptd;
    uint64_t longest;
    const struct heft_ptd_visitor *visitor;
    uint32_t next; /* number of the entry */
};

static bool read_key(const struct walk *w, const struct heft_flat_table *table,
                     struct heft_ptd_entry *e, struct heft_error *err)
{
    if (!heft_flat_ref(&w->ptd->flat, table, 0, &e->key_at, err))
        return false;
    if (e->key_at == 0)
        return heft_fail(err, HEFT_MALFORMED, table->at, "an entry has no key");
    if (!heft_flat_string(&w->ptd->flat, e->key_at, w->longest, "key", &e->key, err))
        return false;
    return !memchr(e->key.p, '\0', e->key.n) ||
           heft_fail(err, HEFT_MALFORMED, e->key_at,
                     "a key contains a NUL, which ends it for the runtime");
}

/* True if the segment exists and contains the entry. */
static bool check_place(const struct walk *w, struct heft_ptd_entry *e, struct heft_error *err)
{
    const struct heft_ptd *ptd = w->ptd;

    if (e->segment >= ptd->n_segments)
        return heft_fail(err, HEFT_MALFORMED, e->at,
                         "segment index is %" PRIu32 ", the number of segments is %" PRIu32,
                         e->segment, ptd->n_segments);
    if (!e->is_tensor)
        e->bytes = ptd->segments[e->segment].len;
    return heft_within(e->offset, e->bytes, ptd->segments[e->segment].len) ||
           heft_fail(err, HEFT_MALFORMED, e->at,
                     "data has %" PRIu64 " bytes at offset %" PRIu64 ", its segment has %" PRIu64
                     " bytes",
                     e->bytes, e->offset, ptd->segments[e->segment].len);
}

/* Reads the fields that NamedData has in both generations. */
static bool read_named(const struct walk *w, const struct heft_flat_table *table,
                       struct heft_ptd_entry *e, struct heft_error *err)
{
    struct heft_flat_table layout;
    uint64_t at;

    if (!heft_flat_u32(&w->ptd->flat, table, 1, &e->segment, err))
        return false;
    if (w->ptd->is_old)
        return true;
    if (!heft_flat_ref(&w->ptd->flat, table, 2, &at, err))
        return false;
    return at == 0 || (heft_flat_table(&w->ptd->flat, at, "TensorLayout", &layout, err) &&
                       heft_ptd_read_layout(&w->ptd->flat, &layout, 0, 1, e, err));
}

static bool read_old_tensor(const struct walk *w, const struct heft_flat_table *table,
                            struct heft_ptd_entry *e, struct heft_error *err)
{
    return heft_ptd_read_layout(&w->ptd->flat, table, 1, 2, e, err) &&
           heft_flat_u32(&w->ptd->flat, table, 4, &e->segment, err) &&
           heft_flat_u64(&w->ptd->flat, table, 5, &e->offset, err);
}

typedef bool read_fn(const struct walk *w, const struct heft_flat_table *table,
                     struct heft_ptd_entry *e, struct heft_error *err);

static bool read_entry(struct walk *w, uint64_t at, const char *what, read_fn *read,
                       struct heft_error *err)
{
    struct heft_ptd_entry e = {.at = at};
    struct heft_flat_table table;

    if (!heft_flat_table(&w->ptd->flat, at, what, &table, err) || !read_key(w, &table, &e, err))
        return false;
    if (!read(w, &table, &e, err) || !check_place(w, &e, err))
        return heft_error_about(err, "key", e.key);
    return w->visitor->entry(w->visitor->ctx, w->next++, &e, err);
}

static bool read_vector(struct walk *w, const struct heft_flat_vector *vector, const char *what,
                        read_fn *read, struct heft_error *err)
{
    uint64_t at;

    for (uint32_t i = 0; i < vector->count; i++)
        if (!heft_flat_element(&w->ptd->flat, vector, i, &at, err) ||
            !read_entry(w, at, what, read, err))
            return false;
    return true;
}

bool heft_ptd_read_entries(struct heft_ptd *ptd, uint64_t most, uint64_t longest,
                           const struct heft_ptd_visitor *visitor, struct heft_error *err)
{
    struct walk w = {ptd, longest, visitor, 0};
    struct heft_flat_vector vector;

    ptd->flat.budget = ptd->flat.end / 4; /* each walk has its own budget */
    if (!ptd->is_old)
        return open_vector(ptd, 2, "named_data", most, &vector, err) &&
               read_vector(&w, &vector, "NamedData", read_named, err);
    if (!open_vector(ptd, 2, "tensors", most, &vector, err) ||
        !read_vector(&w, &vector, "TensorMetadata", read_old_tensor, err))
        return false;
    if (!heft_flat_has(&ptd->flat, &ptd->root, 4))
        return true;
    return open_vector(ptd, 4, "named_data", most - w.next, &vector, err) &&
           read_vector(&w, &vector, "NamedData", read_named, err);
}
