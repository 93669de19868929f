/* torch_rebuild.c: calls of the rebuild functions become rows.
 *
 *     REDUCE torch._utils _rebuild_tensor_v2 (storage, offset, size, stride, requires_grad, hooks
 *                                             [, {"conj": True, "neg": True}])
 *         → row: dtype of the storage class, offset and strides in elements
 *
 * Wrappers (Parameter, _rebuild_parameter, _rebuild_from_type_v2) are removed first
 * (torch_wrappers.c). A tensor built by another function is reported as unreadable, never
 * omitted. */
#include "format/torch/pickle/torch_parts.h"

#define MAX_RANK 64 /* torch's limit */

/* ---- shape, strides and offset ----------------------------------------------------------- */

/* Arguments of a rebuild function. */
struct view {
    uint32_t call; /* node of the call, for errors */
    uint32_t storage, offset, size, stride, dtype, metadata;
    bool is_quantized;
};

struct dims {
    unsigned rank;
    uint64_t size[MAX_RANK], stride[MAX_RANK];
    bool is_empty;
    uint64_t last; /* the element farthest from the first */
};

/* The tuple inside a torch.Size: torch.Size((2, 3)) → (2, 3). */
static uint32_t without_size(const struct heft_torch *t, uint32_t node)
{
    if (heft_torch_is(t, node, HEFT_PICKLE_CALL) &&
        heft_torch_callee(t, node) == HEFT_TORCH_TUPLE &&
        heft_torch_count(t, heft_torch_node(t, node)->u.call.args) == 1)
        return heft_torch_item(t, heft_torch_node(t, node)->u.call.args, 0);
    return node;
}

static bool read_numbers(const struct heft_torch *t, const struct view *v, uint32_t node,
                         const char *what, uint64_t *out, struct heft_error *err)
{
    struct heft_pickle_iter iter = heft_pickle_items(&t->pickle, node);
    uint32_t item;

    while (heft_pickle_next(&iter, &item)) {
        if (!heft_torch_is(t, item, HEFT_PICKLE_INT) || heft_torch_node(t, item)->u.integer < 0)
            return heft_fail(err, HEFT_MALFORMED, heft_torch_where(t, v->call),
                             "the %s is not an integer from 0 to 2^63-1", what);
        *out++ = (uint64_t)heft_torch_node(t, item)->u.integer;
    }
    return true;
}

/* Finds the last element. Strides of dimensions with one element are meaningless: real files have
 * arbitrary numbers there. */
static bool measure_dims(struct dims *d)
{
    uint64_t count = 1, step;

    d->last = 0;
    d->is_empty = false;
    for (unsigned i = 0; i < d->rank; i++)
        d->is_empty |= d->size[i] == 0;
    for (unsigned left = d->rank; left > 0 && !d->is_empty; left--) {
        const unsigned i = left - 1;

        if (d->size[i] == 1)
            continue;
        if (!heft_mul(d->size[i] - 1, d->stride[i], &step) || !heft_add(d->last, step, &d->last) ||
            !heft_mul(count, d->size[i], &count))
            return false;
    }
    return true;
}

static bool read_dims(const struct heft_torch *t, const struct view *v, struct dims *d,
                      struct heft_error *err)
{
    const uint64_t most = heft_min_u64(t->model->limits.rank, MAX_RANK);
    const uint32_t size = without_size(t, v->size), stride = without_size(t, v->stride);
    const uint64_t at = heft_torch_where(t, v->call);

    if ((!heft_torch_is(t, size, HEFT_PICKLE_TUPLE) && !heft_torch_is(t, size, HEFT_PICKLE_LIST)) ||
        (!heft_torch_is(t, stride, HEFT_PICKLE_TUPLE) &&
         !heft_torch_is(t, stride, HEFT_PICKLE_LIST)))
        return heft_fail(err, HEFT_MALFORMED, at, "the shape or stride is not a tuple");
    if (heft_torch_count(t, size) != heft_torch_count(t, stride))
        return heft_fail(err, HEFT_MALFORMED, at, "%u sizes but %u strides",
                         heft_torch_count(t, size), heft_torch_count(t, stride));
    if (heft_torch_count(t, size) > most)
        return heft_fail(err, HEFT_LIMIT, at, "%u dimensions, the limit is %" PRIu64,
                         heft_torch_count(t, size), most);
    d->rank = heft_torch_count(t, size);
    if (!read_numbers(t, v, size, "size", d->size, err) ||
        !read_numbers(t, v, stride, "stride", d->stride, err))
        return false;
    return measure_dims(d) ||
           heft_fail(err, HEFT_MALFORMED, at, "the number of elements overflows 64 bits");
}

/* True if the strides are those of a new tensor of this shape. Other strides are kept, even if they
 * mean the same (dimensions of extent 1, empty tensors). */
static bool is_ordinary(const struct dims *d)
{
    uint64_t step = 1;

    for (unsigned i = d->rank; i > 0; i--) {
        if (d->stride[i - 1] != step)
            return false;
        step *= heft_max_u64(d->size[i - 1], 1);
    }
    return true;
}

static bool keep_dims(struct heft_torch *t, const struct dims *d, struct heft_row *row,
                      struct heft_error *err)
{
    const size_t n = d->rank * sizeof(uint64_t);
    const bool strided = !is_ordinary(d);
    uint64_t *kept = heft_arena_alloc(&t->model->mem, strided ? 2 * n : n, err);

    if (!kept)
        return false;
    memcpy(kept, d->size, n);
    if (strided)
        memcpy(kept + d->rank, d->stride, n);
    row->rank = (uint8_t)d->rank; /* fits: at most MAX_RANK */
    row->shape = kept;
    row->stride = strided ? kept + d->rank : NULL;
    return true;
}

static bool check_range(const struct heft_torch *t, const struct view *v, const struct dims *d,
                        const struct heft_torch_storage *s, struct heft_row *row,
                        struct heft_error *err)
{
    const uint32_t each = heft_dtype_block_bytes((enum heft_dtype)row->dtype); /* pairs of F4 */
    const uint64_t at = heft_torch_where(t, v->call);
    uint64_t offset, last;

    if (!heft_torch_is(t, v->offset, HEFT_PICKLE_INT) ||
        heft_torch_node(t, v->offset)->u.integer < 0)
        return heft_fail(err, HEFT_MALFORMED, at,
                         "the storage offset is not an integer from 0 to 2^63-1");
    offset = (uint64_t)heft_torch_node(t, v->offset)->u.integer;
    if (d->is_empty) { /* an empty tensor may be anywhere: torch does not check */
        row->offset = s->begin + (offset <= s->bytes / each ? offset * each : 0);
        return true;
    }
    if (!heft_add(offset, d->last, &last) || last >= s->bytes / each)
        return heft_fail(err, HEFT_MALFORMED, at,
                         "it begins at element %" PRIu64 " and reaches %" PRIu64
                         " further, storage %.*s has %" PRIu64 " elements",
                         offset, d->last, (int)heft_min_u64(s->key.n, 100), s->key.p,
                         s->bytes / each);
    row->offset = s->begin + offset * each; /* no overflow: below s->bytes */
    return true;
}

/* ---- metadata ---------------------------------------------------------------------------- */

static bool read_metadata(const struct heft_torch *t, const struct view *v, struct heft_row *row,
                          struct heft_error *err)
{
    const uint8_t kind = heft_dtype_info((enum heft_dtype)row->dtype)->kind;
    struct heft_pickle_iter iter;
    uint32_t key, value;

    if (!heft_torch_is(t, v->metadata, HEFT_PICKLE_DICT))
        return true;
    iter = heft_pickle_items(&t->pickle, v->metadata);
    while (heft_pickle_next(&iter, &key) && heft_pickle_next(&iter, &value)) {
        const bool on =
            heft_torch_is(t, value, HEFT_PICKLE_BOOL) && heft_torch_node(t, value)->u.integer != 0;
        const uint8_t flag = heft_torch_is_word(t, key, HEFT_STR("conj"))  ? HEFT_ROW_CONJ
                             : heft_torch_is_word(t, key, HEFT_STR("neg")) ? HEFT_ROW_NEG
                                                                           : 0;

        row->flags = (uint8_t)(on ? row->flags | flag : row->flags & ~flag);
    }
    if ((row->flags & HEFT_ROW_CONJ && kind != HEFT_KIND_COMPLEX) ||
        (row->flags & HEFT_ROW_NEG && kind != HEFT_KIND_COMPLEX && kind != HEFT_KIND_FLOAT))
        return heft_fail(err, HEFT_MALFORMED, heft_torch_where(t, v->call),
                         "%s marked as conjugated or negated",
                         heft_dtype_name((enum heft_dtype)row->dtype));
    return true;
}

/* ---- rows -------------------------------------------------------------------------------- */

/* The reason "built by module.name" for a tensor that is known to exist but cannot be read. */
static bool make_unread(struct heft_torch *t, uint32_t node, const char *how,
                        struct heft_torch_made *out, struct heft_error *err)
{
    const char *name = heft_torch_type_name(t, node, err);

    if (!name)
        return false;
    out->found = HEFT_TORCH_UNREAD;
    out->reason = heft_arena_printf(&t->model->mem, err, "%s %s", how, name);
    return out->reason != NULL;
}

static bool no_data(const char *lost, struct heft_torch_made *out)
{
    out->found = HEFT_TORCH_UNREAD;
    out->reason = lost ? lost : "on the meta device: the file has no data for it";
    return true;
}

/* The dtype of the integers in a quantized storage; sub-byte ones have no dtype in heft. */
static uint8_t integers_of(const struct heft_torch_global *type)
{
    return strcmp(type->name, "QInt8Storage") == 0    ? HEFT_I8
           : strcmp(type->name, "QUInt8Storage") == 0 ? HEFT_U8
           : strcmp(type->name, "QInt32Storage") == 0 ? HEFT_I32
                                                      : HEFT_DTYPE_COUNT;
}

/* F4, torch's only dtype with two elements per byte; torch counts bytes. */
static bool is_float4(const struct heft_torch_global *type)
{
    return strcmp(type->name, "float4_e2m1fn_x2") == 0;
}

/* Sets the dtype of a row; *out becomes UNREAD if heft lacks this dtype of torch. */
static bool choose_dtype(struct heft_torch *t, const struct view *v,
                         const struct heft_torch_storage *s, struct heft_torch_made *out,
                         struct heft_error *err)
{
    const struct heft_torch_global *type = s->type;

    if (v->dtype != HEFT_PICKLE_NIL) {
        type = heft_torch_global_of(t, v->dtype);
        if (!type || type->kind != HEFT_TORCH_DTYPE)
            return heft_fail(err, HEFT_MALFORMED, heft_torch_where(t, v->call),
                             "the dtype argument is not a torch dtype");
    }
    if (v->is_quantized && type->dtype != HEFT_DTYPE_COUNT)
        return heft_fail(err, HEFT_MALFORMED, heft_torch_where(t, v->call),
                         "quantized tensor with a storage of type torch.%s", type->name);
    out->row.dtype = type->kind == HEFT_TORCH_UNTYPED ? HEFT_U8
                     : v->is_quantized                ? integers_of(type)
                     : is_float4(type)                ? HEFT_F4
                                                      : type->dtype;
    if (out->row.dtype != HEFT_DTYPE_COUNT)
        return true;
    out->found = HEFT_TORCH_UNREAD;
    out->reason = heft_arena_printf(&t->model->mem, err, "of the type torch.%s", type->name);
    return out->reason != NULL;
}

static void set_storage(struct heft_torch *t, struct heft_torch_storage *s,
                        struct heft_torch_made *out)
{
    out->from = (uint32_t)(s - t->storages) + 1; /* fits: fewer than nodes */
    out->row.storage = s->storage;
    s->used = true;
    if (t->is_big && heft_dtype_info((enum heft_dtype)out->row.dtype)->word > 1)
        out->row.flags |= HEFT_ROW_SWAP;
}

/* Converts the count from bytes to elements, as safetensors counts F4. Refused if the order is not
 * row-major: the pairs would not lie along the last dimension. */
static void unpack_pairs(struct dims *d, struct heft_torch_made *out)
{
    uint64_t step = 1;
    bool plain = d->rank > 0 && out->row.flags == 0;

    for (unsigned i = d->rank; i > 0 && !d->is_empty; i--) {
        plain = plain && (d->size[i - 1] == 1 || d->stride[i - 1] == step);
        step *= d->size[i - 1];
    }
    if (!plain || d->size[d->rank - 1] > UINT64_MAX / 2) {
        out->found = HEFT_TORCH_UNREAD;
        out->reason =
            "of the type torch.float4_e2m1fn_x2 and not contiguous, or without dimensions";
        return;
    }
    d->size[d->rank - 1] *= 2;
    d->stride[d->rank - 1] = 1;
    for (unsigned i = d->rank - 1; i > 0; i--)
        d->stride[i - 1] = d->stride[i] * heft_max_u64(d->size[i], 1);
}

static bool make_row(struct heft_torch *t, const struct view *v, struct heft_torch_storage *s,
                     struct heft_torch_made *out, struct heft_error *err)
{
    struct dims d;

    if (s->lost)
        return no_data(s->lost, out);
    if (!choose_dtype(t, v, s, out, err) || !read_dims(t, v, &d, err))
        return false;
    if (out->found == HEFT_TORCH_UNREAD)
        return true;
    if (s->storage == HEFT_NONE)
        return no_data(s->lost, out);
    set_storage(t, s, out);
    out->found = HEFT_TORCH_ROW;
    if (!check_range(t, v, &d, s, &out->row, err) || !read_metadata(t, v, &out->row, err))
        return false;
    if (out->row.dtype == HEFT_F4)
        unpack_pairs(&d, out);
    return out->found == HEFT_TORCH_UNREAD || keep_dims(t, &d, &out->row, err);
}

static bool bare_storage(struct heft_torch *t, uint32_t node, struct heft_torch_storage *s,
                         struct heft_torch_made *out, struct heft_error *err)
{
    struct view v = {.call = node, .dtype = HEFT_PICKLE_NIL};
    struct dims d;

    if (s->lost)
        return no_data(s->lost, out);
    v.is_quantized = s->type->kind == HEFT_TORCH_STORAGE &&
                     s->type->dtype == HEFT_DTYPE_COUNT; /* all others have a dtype */
    d.rank = 1;
    d.size[0] = (uint64_t)s->elements;
    d.stride[0] = 1;
    if (!choose_dtype(t, &v, s, out, err) || out->found == HEFT_TORCH_UNREAD)
        return out->found == HEFT_TORCH_UNREAD;
    if (s->storage == HEFT_NONE)
        return no_data(s->lost, out);
    set_storage(t, s, out);
    out->row.offset = s->begin;
    out->found = HEFT_TORCH_ROW;
    return keep_dims(t, &d, &out->row, err);
}

/* ---- rebuild functions ------------------------------------------------------------------- */

/* For each function: number of arguments, and positions of dtype and metadata. */
static const struct signature {
    uint8_t kind, least, most, dtype, metadata; /* 0 if it has none */
} signatures[] = {
    {HEFT_TORCH_REBUILD, 4, 4, 0, 0},
    {HEFT_TORCH_REBUILD_V2, 6, 7, 0, 6},
    {HEFT_TORCH_REBUILD_V3, 7, 8, 6, 7},
    {HEFT_TORCH_QTENSOR, 7, 7, 0, 0},
};

static uint32_t optional_item(const uint32_t *items, uint32_t count, uint8_t index)
{
    return index && index < count ? items[index] : HEFT_PICKLE_NIL;
}

/* A storage stored as bytes in the pickle, as pickle.dump writes it. */
static bool from_nested(struct heft_torch *t, const struct view *v, struct heft_torch_made *out,
                        struct heft_error *err)
{
    const struct heft_torch_nested *nested;

    if (!heft_torch_load_bytes(t, v->storage, &nested, err))
        return false;
    if (nested->storage != HEFT_NONE)
        return make_row(t, v, &t->storages[nested->storage], out, err);
    return make_unread(t, v->storage, "its storage is built by", out, err);
}

static bool from_view(struct heft_torch *t, const struct heft_torch_call *call,
                      const struct view *v, struct heft_torch_made *out, struct heft_error *err)
{
    if (heft_torch_is_storage(t, v->storage))
        return make_row(t, v, &t->storages[t->meanings[v->storage]], out, err);
    if (heft_torch_is(t, v->storage, HEFT_PICKLE_CALL) &&
        heft_torch_callee(t, v->storage) == HEFT_TORCH_LOAD_BYTES)
        return from_nested(t, v, out, err);
    if (heft_torch_is(t, v->storage, HEFT_PICKLE_CALL))
        return make_unread(t, v->storage, "its storage is built by", out, err);
    return heft_torch_bad_arguments(t, call->node, call->callee, err);
}

/* BUILD with (storage, offset, size, stride): Tensor.set_, as in the first releases. */
static bool from_state(struct heft_torch *t, const struct heft_torch_call *call,
                       struct heft_torch_made *out, struct heft_error *err)
{
    const struct view v = {.call = call->node,
                           .storage = heft_torch_item(t, call->state, 0),
                           .offset = heft_torch_item(t, call->state, 1),
                           .size = heft_torch_item(t, call->state, 2),
                           .stride = heft_torch_item(t, call->state, 3),
                           .dtype = HEFT_PICKLE_NIL,
                           .metadata = HEFT_PICKLE_NIL};

    return from_view(t, call, &v, out, err);
}

static bool from_arguments(struct heft_torch *t, const struct heft_torch_call *call,
                           const struct signature *s, struct heft_torch_made *out,
                           struct heft_error *err)
{
    const uint32_t count = heft_torch_count(t, call->args);
    const uint32_t *items = heft_torch_items(t, call->args);
    struct view v;

    if (heft_torch_has_set_state(t, call))
        return from_state(t, call, out, err);
    if (count < s->least || count > s->most ||
        (s->kind == HEFT_TORCH_QTENSOR && !heft_torch_has_qparams(t, items[4])))
        return heft_torch_bad_arguments(t, call->node, call->callee, err);
    out->has_more = s->kind == HEFT_TORCH_QTENSOR;
    v = (struct view){.call = call->node,
                      .storage = items[0],
                      .offset = items[1],
                      .size = items[2],
                      .stride = items[3],
                      .dtype = optional_item(items, count, s->dtype),
                      .metadata = optional_item(items, count, s->metadata),
                      .is_quantized = s->kind == HEFT_TORCH_QTENSOR};
    return from_view(t, call, &v, out, err);
}

static const struct signature *signature_of(enum heft_torch_kind kind)
{
    for (size_t i = 0; i < HEFT_COUNT(signatures); i++)
        if (signatures[i].kind == kind)
            return &signatures[i];
    return NULL;
}

/* A NumPy array that the function casts to a dtype: BF16 is stored as F32. The row has the stored
 * dtype; the declared one is kept beside it. */
static bool is_recast(const struct heft_torch *t, uint32_t dtype, const struct heft_torch_made *out)
{
    const struct heft_torch_global *known = heft_torch_global_of(t, dtype);

    return out->found == HEFT_TORCH_ROW && known && known->kind == HEFT_TORCH_DTYPE &&
           known->dtype != out->row.dtype;
}

/* Everything that is neither a row nor an array: tensors of several parts, or without any. */
static bool other_tensor(struct heft_torch *t, const struct heft_torch_call *call, bool wrapped,
                         struct heft_torch_made *out, struct heft_error *err)
{
    switch (heft_torch_kind_of(t, call->callee)) {
    case HEFT_TORCH_SPARSE:
    case HEFT_TORCH_NESTED:
    case HEFT_TORCH_JAGGED:
        out->has_more = true;
        out->found = HEFT_TORCH_PARTS;
        return heft_torch_has_parts(t, call) ||
               heft_torch_bad_arguments(t, call->node, call->callee, err);
    case HEFT_TORCH_META:
        return no_data(NULL, out);
    case HEFT_TORCH_WRAPPER:
        out->has_more = wrapped;
        if (!wrapped)
            return make_unread(t, call->callee, "built by", out, err);
        out->found = HEFT_TORCH_PARTS;
        return true;
    case HEFT_TORCH_UNREADABLE:
    case HEFT_TORCH_CLASS:
        return make_unread(t, call->callee, "built by", out, err);
    default:
        out->has_more = wrapped;
        return !wrapped || make_unread(t, call->callee, "built by", out, err);
    }
}

/* A tensor or storage that is stored as bytes in the pickle. */
static bool nested_tensor(struct heft_torch *t, uint32_t node, struct heft_torch_made *out,
                          struct heft_error *err)
{
    const struct heft_torch_nested *nested;

    if (!heft_torch_load_bytes(t, node, &nested, err))
        return false;
    if (nested->storage != HEFT_NONE)
        return bare_storage(t, node, &t->storages[nested->storage], out, err);
    *out = *nested->made;
    return true;
}

static bool innermost_tensor(struct heft_torch *t, const struct heft_torch_call *call, bool wrapped,
                             struct heft_torch_made *out, struct heft_error *err)
{
    const enum heft_torch_kind kind = heft_torch_kind_of(t, call->callee);

    if (signature_of(kind))
        return from_arguments(t, call, signature_of(kind), out, err);
    if ((kind == HEFT_TORCH_NP_ARRAY || kind == HEFT_TORCH_NP_BUFFER) &&
        call->callee == heft_torch_node(t, call->node)->u.call.callee)
        return heft_torch_array(t, call->node, out, err);
    if ((kind == HEFT_TORCH_CLASS || kind == HEFT_TORCH_TENSOR || kind == HEFT_TORCH_PARAMETER) &&
        heft_torch_has_set_state(t, call))
        return from_state(t, call, out, err);
    if (kind == HEFT_TORCH_LOAD_BYTES && !wrapped)
        return nested_tensor(t, call->node, out, err);
    return other_tensor(t, call, wrapped, out, err);
}

/* A persistent id that denotes a tensor, not a storage. */
static bool is_tensor_id(const struct heft_torch *t, uint32_t node)
{
    return heft_torch_is(t, node, HEFT_PICKLE_PERSID) && !heft_torch_is_storage(t, node);
}

static bool wraps_tensor_id(const struct heft_torch *t, const struct heft_torch_call *call)
{
    return heft_torch_kind_of(t, call->callee) == HEFT_TORCH_PARAMETER &&
           is_tensor_id(t, heft_torch_item(t, call->args, 0));
}

static bool tensor_call(struct heft_torch *t, uint32_t node, struct heft_torch_made *out,
                        struct heft_error *err)
{
    struct heft_torch_call call = heft_torch_call_of(t, node);
    uint32_t dtype = HEFT_PICKLE_NIL;
    bool wrapped = false, has_state = false;
    struct heft_torch_layer layer;

    for (;;) {
        if (wraps_tensor_id(t, &call))
            return t->container->tensor(t, heft_torch_item(t, call.args, 0), out, err);
        if (!heft_torch_unwrap(t, &call, &layer, err))
            return false;
        if (!layer.is_wrapper)
            break;
        wrapped = true;
        has_state |= heft_torch_has_state(t, layer.state);
        dtype = dtype == HEFT_PICKLE_NIL ? layer.dtype : dtype;
    }
    if (!innermost_tensor(t, &call, wrapped, out, err))
        return false;
    out->is_recast = is_recast(t, dtype, out);
    out->has_more |= has_state || out->is_recast;
    return true;
}

static bool find_tensor(struct heft_torch *t, uint32_t node, struct heft_torch_made *out,
                        struct heft_error *err)
{
    *out = (struct heft_torch_made){.found = HEFT_TORCH_OTHER};
    if (is_tensor_id(t, node))
        return t->container->tensor(t, node, out, err);
    if (heft_torch_is(t, node, HEFT_PICKLE_PERSID))
        return bare_storage(t, node, &t->storages[t->meanings[node]], out, err);
    if (!heft_torch_is(t, node, HEFT_PICKLE_CALL))
        return true;
    if (!tensor_call(t, node, out, err))
        return false;
    return out->found == HEFT_TORCH_OTHER || heft_torch_count(t, node) == 0 ||
           heft_fail(err, HEFT_MALFORMED, heft_torch_where(t, node),
                     "items set on a tensor, which the pickle machine of torch refuses");
}

/* The same for a possibly damaged file: a tensor that cannot be interpreted becomes unreadable. */
static bool salvage_tensor(struct heft_torch *t, uint32_t node, struct heft_torch_made *out,
                           struct heft_error *err)
{
    struct heft_error found = {0};

    if (find_tensor(t, node, out, &found))
        return true;
    if (!heft_model_forgives(t->model, &found)) {
        *err = found;
        return false;
    }
    *out = (struct heft_torch_made){.found = HEFT_TORCH_UNREAD, /* it has no parts to visit */
                                    .reason = heft_model_reason(t->model, &found, err)};
    return out->reason != NULL;
}

bool heft_torch_tensor(struct heft_torch *t, uint32_t node, struct heft_torch_made *out,
                       struct heft_error *err)
{
    return (t->model->salvage ? salvage_tensor : find_tensor)(t, node, out, err);
}

bool heft_torch_load_bytes(struct heft_torch *t, uint32_t call,
                           const struct heft_torch_nested **out, struct heft_error *err)
{
    return heft_torch_read_nested(t, call, heft_torch_tensor, out, err);
}
