/* torch_numpy.c: NumPy arrays in a torch pickle become rows, NumPy scalars values.
 *
 *     dtype    REDUCE numpy dtype ("f4", False, True)   BUILD (3, "<", None, None, None, -1, -1, 0)
 *     array    REDUCE numpy.core.multiarray _reconstruct (ndarray, (0,), b"b")
 *              BUILD  (1, shape, dtype, is_fortran, raw)
 *              REDUCE numpy.core.numeric _frombuffer (raw, dtype, shape, "C" or "F")  protocol 5
 *     scalar   REDUCE numpy.core.multiarray scalar (dtype, raw)
 *
 * Raw bytes stored verbatim in an uncompressed data.pkl are used as a storage at their file offset;
 * protocol 2 wraps bytes above 0x7F into text, so those are decoded into memory. Arrays of objects,
 * texts, dates and records are not tensors: they stay opaque values. */
#include "format/torch/pickle/torch_parts.h"
#include "wire/npy.h"

#include <math.h>

#define MAX_RANK 64 /* torch's limit; NumPy's is 32 or 64 */

struct type {
    uint8_t dtype; /* HEFT_DTYPE_COUNT if heft has no such dtype */
    bool is_big;
};

static struct type read_type(const struct heft_torch *t, uint32_t node)
{
    struct type type = {HEFT_DTYPE_COUNT, false};
    const struct heft_pickle_node *n;
    struct heft_npy_type known;
    uint32_t name, order, fields;

    if (!heft_torch_is(t, node, HEFT_PICKLE_CALL) ||
        heft_torch_callee(t, node) != HEFT_TORCH_NP_DTYPE)
        return type;
    n = heft_torch_node(t, node);
    name = heft_torch_item(t, n->u.call.args, 0);
    if (!heft_torch_is_text(t, name))
        return type;
    if (heft_torch_is(t, n->state, HEFT_PICKLE_TUPLE)) {
        order = heft_torch_item(t, n->state, 1);
        fields = heft_torch_item(t, n->state, 3);
        if (!heft_torch_is_text(t, order) ||
            (fields != HEFT_PICKLE_NIL && !heft_torch_is(t, fields, HEFT_PICKLE_NONE)))
            return type;
        type.is_big = heft_str_is(heft_pickle_text(&t->pickle, order), ">");
    }
    known = heft_npy_type_of(heft_pickle_text(&t->pickle, name));
    if (known.kind == HEFT_NPY_NUMBERS)
        type.dtype = known.dtype;
    return type;
}

/* ---- arrays ------------------------------------------------------------------------------ */

struct array {
    uint32_t node, shape, raw;
    struct type type;
    bool is_fortran;
};

static bool is_true(const struct heft_torch *t, uint32_t node)
{
    return (heft_torch_is(t, node, HEFT_PICKLE_BOOL) || heft_torch_is(t, node, HEFT_PICKLE_INT)) &&
           heft_torch_node(t, node)->u.integer != 0;
}

/* Extracts the parts of an array. False if it is not an array of numbers. */
static bool read_array(const struct heft_torch *t, uint32_t node, struct array *out)
{
    const struct heft_pickle_node *n = heft_torch_node(t, node);
    const uint32_t args = n->u.call.args, state = n->state;
    uint32_t order, first;

    out->node = node;
    if (heft_torch_callee(t, node) == HEFT_TORCH_NP_BUFFER) {
        order = heft_torch_item(t, args, 3);
        out->raw = heft_torch_item(t, args, 0);
        out->type = read_type(t, heft_torch_item(t, args, 1));
        out->shape = heft_torch_item(t, args, 2);
        out->is_fortran =
            heft_torch_is_text(t, order) && heft_str_is(heft_pickle_text(&t->pickle, order), "F");
    } else {
        if (!heft_torch_is(t, state, HEFT_PICKLE_TUPLE) || heft_torch_count(t, state) < 4)
            return false;
        first = heft_torch_count(t, state) - 4; /* the oldest releases have no version first */
        out->shape = heft_torch_item(t, state, first);
        out->type = read_type(t, heft_torch_item(t, state, first + 1));
        out->is_fortran = is_true(t, heft_torch_item(t, state, first + 2));
        out->raw = heft_torch_item(t, state, first + 3);
    }
    return out->type.dtype != HEFT_DTYPE_COUNT && heft_torch_is(t, out->shape, HEFT_PICKLE_TUPLE);
}

static bool read_shape(const struct heft_torch *t, const struct array *a, uint64_t *shape,
                       struct heft_error *err)
{
    const uint64_t at = heft_torch_where(t, a->node);
    struct heft_pickle_iter iter = heft_pickle_items(&t->pickle, a->shape);
    uint32_t item;

    if (heft_torch_count(t, a->shape) > heft_min_u64(t->model->limits.rank, MAX_RANK))
        return heft_fail(
            err, HEFT_LIMIT, at, "numpy array has %u dimensions, the limit is %" PRIu64,
            heft_torch_count(t, a->shape), heft_min_u64(t->model->limits.rank, MAX_RANK));
    while (heft_pickle_next(&iter, &item)) {
        if (!heft_torch_is(t, item, HEFT_PICKLE_INT) || heft_torch_node(t, item)->u.integer < 0)
            return heft_fail(
                err, HEFT_MALFORMED, at,
                "numpy array: its shape contains something other than integers from 0 to 2^63-1");
        *shape++ = (uint64_t)heft_torch_node(t, item)->u.integer;
    }
    return true;
}

static bool set_shape(struct heft_torch *t, const struct array *a, const uint64_t *shape,
                      struct heft_row *row, struct heft_error *err)
{
    const unsigned rank = heft_torch_count(t, a->shape);
    uint64_t *kept = heft_arena_alloc(&t->model->mem, 2 * rank * sizeof *kept, err);
    uint64_t step = 1;

    if (!kept)
        return false;
    for (unsigned i = 0; i < rank; i++) {
        kept[i] = shape[i];
        kept[rank + i] = step;
        step *=
            shape[i] ? shape[i] : 1; /* no overflow: within the raw bytes, or the array is empty */
    }
    row->rank = (uint8_t)rank;
    row->shape = kept;
    row->stride = a->is_fortran && rank > 1 && row->bytes > 0 ? kept + rank : NULL;
    return true;
}

/* Adds the raw bytes as a storage: a range of the file if they are verbatim, else memory. */
static bool place_bytes(struct heft_torch *t, const struct heft_torch_bytes *raw,
                        struct heft_storage *out, struct heft_error *err)
{
    const char *label = heft_arena_printf(&t->model->mem, err, "numpy array in %s", t->what);
    struct heft_str copy = {(const char *)raw->bytes.p, raw->bytes.n};

    if (!label)
        return false;
    *out = (struct heft_storage){.packed = raw->bytes.n,
                                 .len = raw->bytes.n,
                                 .label = heft_str_of(label),
                                 .source = t->source};
    if (raw->verbatim != SIZE_MAX && t->base != HEFT_NO_OFFSET &&
        !heft_torch_is_nested(t, raw->node)) {
        if (!heft_grow(&t->spans, &t->cap_spans, t->n_spans, 1, sizeof *t->spans, err))
            return false;
        out->off = t->base + raw->verbatim;
        t->spans[t->n_spans++] = (struct heft_torch_span){out->off, out->len};
        return true;
    }
    if (raw->verbatim != SIZE_MAX) {
        copy.p = heft_arena_text(&t->model->mem, copy, err);
        if (!copy.p)
            return false;
    }
    return heft_model_add_memory(t->model, (struct heft_bytes){(const uint8_t *)copy.p, copy.n},
                                 label, t->source, t->pickle_at, t->pickle_packed, &out->source,
                                 err);
}

static bool raw_storage(struct heft_torch *t, const struct heft_torch_bytes *raw, uint32_t *index,
                        struct heft_error *err)
{
    struct heft_storage storage;

    *index = heft_u32map_get(&t->raw, raw->node);
    return *index != HEFT_MAP_NONE || (place_bytes(t, raw, &storage, err) &&
                                       heft_model_add_storage(t->model, &storage, index, err) &&
                                       heft_u32map_set(&t->raw, raw->node, *index, err));
}

bool heft_torch_array(struct heft_torch *t, uint32_t node, struct heft_torch_made *out,
                      struct heft_error *err)
{
    uint64_t shape[MAX_RANK];
    struct heft_torch_bytes raw;
    struct array a;
    bool found;

    if (!read_array(t, node, &a))
        return true;
    if (!heft_torch_bytes_of(t, a.raw, &found, &raw, err))
        return false;
    if (!found)
        return heft_fail(err, HEFT_MALFORMED, heft_torch_where(t, node),
                         "numpy array: its data is not bytes");
    if (!read_shape(t, &a, shape, err))
        return false;
    out->row.dtype = a.type.dtype;
    if (!heft_row_size((enum heft_dtype)a.type.dtype, heft_torch_count(t, a.shape), shape,
                       &out->row.bytes) ||
        out->row.bytes != raw.bytes.n)
        return heft_fail(err, HEFT_MALFORMED, heft_torch_where(t, node),
                         "numpy array: shape and dtype %s do not match its %zu bytes",
                         heft_dtype_name((enum heft_dtype)a.type.dtype), raw.bytes.n);
    if (a.type.is_big && heft_dtype_info((enum heft_dtype)a.type.dtype)->word > 1)
        out->row.flags = HEFT_ROW_SWAP;
    out->found = HEFT_TORCH_ROW;
    return set_shape(t, &a, shape, &out->row, err) && raw_storage(t, &raw, &out->row.storage, err);
}

/* ---- scalars ----------------------------------------------------------------------------- */

/* Computes 2^n for n from -24 to 15. */
static double power_of_two(int n)
{
    const uint64_t bits = (uint64_t)(n + 1023) << 52;
    double out;

    memcpy(&out, &bits, sizeof out);
    return out;
}

static double half_value(uint16_t bits)
{
    const int exponent = bits >> 10 & 31;
    const double fraction = bits & 1023;
    const double sign = bits & 0x8000 ? -1.0 : 1.0;

    if (exponent == 31)
        return bits & 1023 ? (double)NAN : sign * (double)INFINITY;
    if (exponent == 0)
        return sign * fraction * power_of_two(-24);
    return sign * (fraction / 1024.0 + 1.0) * power_of_two(exponent - 15);
}

static double float_value(enum heft_dtype dtype, uint64_t bits)
{
    const uint32_t low = (uint32_t)bits;
    double wide;
    float narrow;

    if (dtype == HEFT_F16)
        return half_value((uint16_t)bits);
    if (dtype == HEFT_F32) {
        memcpy(&narrow, &low, sizeof narrow);
        return (double)narrow;
    }
    memcpy(&wide, &bits, sizeof wide);
    return wide;
}

static int64_t signed_value(uint64_t bits, unsigned size)
{
    const unsigned shift = 64 - 8 * size;
    const uint64_t sign = (uint64_t)1 << (8 * size - 1);

    if (shift && bits & sign)
        bits |= ~(UINT64_MAX >> shift);
    return bits > INT64_MAX ? -(int64_t)(UINT64_MAX - bits) - 1 : (int64_t)bits;
}

static bool set_number(struct heft_torch *t, const struct type *type, uint64_t bits,
                       struct heft_value *out, struct heft_error *err)
{
    const enum heft_dtype dtype = (enum heft_dtype)type->dtype;
    const unsigned kind = heft_dtype_info(dtype)->kind;

    if (kind == HEFT_KIND_BOOL) {
        out->kind = HEFT_VALUE_BOOL;
        out->as.boolean = bits != 0;
    } else if (kind == HEFT_KIND_FLOAT) {
        out->kind = HEFT_VALUE_FLOAT;
        out->as.number = float_value(dtype, bits);
    } else if (kind == HEFT_KIND_UINT && bits > INT64_MAX) {
        out->kind = HEFT_VALUE_BIGINT;
        out->text = heft_arena_printf(&t->model->mem, err, "0x%" PRIx64, bits);
        if (!out->text)
            return false;
        out->text_len = strlen(out->text);
    } else {
        out->kind = HEFT_VALUE_INT;
        out->as.integer = kind == HEFT_KIND_UINT
                              ? (int64_t)bits
                              : signed_value(bits, heft_dtype_element_bytes(dtype));
    }
    return true;
}

bool heft_torch_scalar(struct heft_torch *t, uint32_t node, struct heft_value *out, bool *known,
                       struct heft_error *err)
{
    const uint32_t args = heft_torch_node(t, node)->u.call.args;
    const struct type type = read_type(t, heft_torch_item(t, args, 0));
    struct heft_torch_bytes raw;
    uint64_t bits = 0;
    unsigned size;

    *known = false;
    if (type.dtype == HEFT_DTYPE_COUNT || type.dtype == HEFT_C64 || type.dtype == HEFT_C128)
        return true;
    if (!heft_torch_bytes_of(t, heft_torch_item(t, args, 1), known, &raw, err))
        return false;
    size = heft_dtype_element_bytes((enum heft_dtype)type.dtype);
    if (!*known || raw.bytes.n != size)
        return heft_fail(err, HEFT_MALFORMED, heft_torch_where(t, node),
                         "numpy scalar of %s: its data is not %u bytes",
                         heft_dtype_name((enum heft_dtype)type.dtype), size);
    for (unsigned i = 0; i < size; i++)
        bits = bits << 8 | raw.bytes.p[type.is_big ? i : size - 1 - i];
    return set_number(t, &type, bits, out, err);
}
