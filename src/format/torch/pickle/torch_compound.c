/* torch_compound.c: tensors that are more than one range of a storage.
 *
 *     quantized   integer row NAME, values NAME.qscheme and, per tensor, NAME.scale, NAME.zero_point
 *                 or, per channel, NAME.axis and rows NAME.scales, NAME.zero_points
 *     sparse      rows NAME.indices, NAME.values (coordinates) or NAME.crow_indices,
 *                 NAME.col_indices, NAME.values (compressed); values NAME.size, NAME.layout
 *     nested      rows NAME.values, NAME.sizes, NAME.strides, NAME.offsets
 *     a subclass  its attributes, including tensors: NAME.attribute
 *
 * Each is a container for the walk: its entries are gathered here, and after they were visited,
 * their rows are compared. The elements of sparse indices are not validated: that would mean
 * reading data. */
#include "format/torch/pickle/torch_walk.h"

#include <float.h>

#define MAX_RANK 64

/* ---- collecting the parts of a tensor ---------------------------------------------------- */

static bool unwrap_all(struct heft_torch *t, uint32_t node, struct heft_torch_call *call,
                       struct heft_error *err)
{
    struct heft_torch_layer layer = {.is_wrapper = true};

    *call = heft_torch_call_of(t, node);
    while (layer.is_wrapper)
        if (!heft_torch_unwrap(t, call, &layer, err))
            return false;
    return true;
}

static bool add_word(struct heft_torch_walk *w, enum heft_torch_word word, uint32_t value)
{
    return value == HEFT_PICKLE_NIL ||
           heft_torch_add_entry(w, HEFT_TORCH_KEY_WORD + (uint32_t)word, value);
}

static bool add_words(struct heft_torch_walk *w, const uint8_t *words, unsigned n, uint32_t tuple)
{
    for (unsigned i = 0; i < n; i++)
        if (!add_word(w, (enum heft_torch_word)words[i], heft_torch_item(w->t, tuple, i)))
            return false;
    return true;
}

static bool add_parts(struct heft_torch_walk *w, const struct heft_torch_call *call)
{
    static const uint8_t nested[] = {HEFT_TORCH_VALUES, HEFT_TORCH_SIZES, HEFT_TORCH_STRIDES,
                                     HEFT_TORCH_OFFSETS};
    static const uint8_t tensor[] = {HEFT_TORCH_QSCHEME, HEFT_TORCH_SCALE, HEFT_TORCH_ZERO_POINT};
    static const uint8_t channel[] = {HEFT_TORCH_QSCHEME, HEFT_TORCH_SCALES, HEFT_TORCH_ZERO_POINTS,
                                      HEFT_TORCH_AXIS};
    const uint32_t first = heft_torch_item(w->t, call->args, 0);
    uint32_t qparams;

    switch (heft_torch_kind_of(w->t, call->callee)) {
    case HEFT_TORCH_QTENSOR:
        qparams = heft_torch_item(w->t, call->args, 4);
        return heft_torch_count(w->t, qparams) == 3 ? add_words(w, tensor, 3, qparams)
                                                    : add_words(w, channel, 4, qparams);
    case HEFT_TORCH_SPARSE:
        return add_words(w, heft_torch_layout_of(w->t, first)->words, 4,
                         heft_torch_item(w->t, call->args, 1)) &&
               add_word(w, HEFT_TORCH_LAYOUT_NAME, first);
    case HEFT_TORCH_NESTED:
        return add_words(w, nested, 4, call->args);
    case HEFT_TORCH_JAGGED:
        return heft_torch_add_items(w, first, true);
    case HEFT_TORCH_WRAPPER:
    case HEFT_TORCH_UNKNOWN:
        return heft_torch_add_entry(w, HEFT_TORCH_KEY_ARGS, call->args) &&
               heft_torch_add_state(w, call->state);
    default:
        return true;
    }
}

/* The class in the outermost wrapper, else the kind of tensor. */
static bool name_type(struct heft_torch_walk *w, uint32_t class, const struct heft_torch_call *call,
                      struct heft_value *value)
{
    if (heft_torch_is(w->t, class, HEFT_PICKLE_GLOBAL)) {
        value->type_name = heft_torch_type_name(w->t, class, w->err);
        return value->type_name != NULL;
    }
    switch (heft_torch_kind_of(w->t, call->callee)) {
    case HEFT_TORCH_QTENSOR:
        value->type_name = "quantized tensor";
        return true;
    case HEFT_TORCH_SPARSE:
        value->type_name = "sparse tensor";
        return true;
    case HEFT_TORCH_NESTED:
        value->type_name = "nested tensor";
        return true;
    default:
        value->type_name = "tensor";
        return true;
    }
}

bool heft_torch_gather_tensor(struct heft_torch_walk *w, uint32_t node, struct heft_value *value)
{
    struct heft_torch *t = w->t;
    struct heft_torch_call inner, call = heft_torch_call_of(t, node);
    struct heft_torch_layer layer = {.is_wrapper = true};
    uint32_t class = HEFT_PICKLE_NIL;

    value->kind = HEFT_VALUE_OPAQUE;
    if (!unwrap_all(t, node, &inner, w->err) || !add_parts(w, &inner))
        return false;
    while (layer.is_wrapper) {
        if (!heft_torch_unwrap(t, &call, &layer, w->err))
            return false;
        if (class == HEFT_PICKLE_NIL)
            class = layer.type;
        /* The attributes of a jagged tensor repeat its parts. */
        if (layer.is_wrapper && heft_torch_kind_of(t, inner.callee) != HEFT_TORCH_JAGGED &&
            !heft_torch_add_state(w, layer.state))
            return false;
        if (!add_word(w, HEFT_TORCH_DECLARED, layer.dtype))
            return false;
    }
    return name_type(w, class, &inner, value);
}

/* ---- checking that parts match ----------------------------------------------------------- */

struct shape {
    unsigned rank;
    uint64_t size[MAX_RANK];
};

static bool read_shape(const struct heft_torch *t, uint32_t node, struct shape *out)
{
    struct heft_pickle_iter iter;
    uint32_t item;

    if (heft_torch_is(t, node, HEFT_PICKLE_CALL) && heft_torch_callee(t, node) == HEFT_TORCH_TUPLE)
        node = heft_torch_item(t, heft_torch_node(t, node)->u.call.args, 0);
    if ((!heft_torch_is(t, node, HEFT_PICKLE_TUPLE) && !heft_torch_is(t, node, HEFT_PICKLE_LIST)) ||
        heft_torch_count(t, node) > MAX_RANK)
        return false;
    out->rank = 0;
    iter = heft_pickle_items(&t->pickle, node);
    while (heft_pickle_next(&iter, &item)) {
        if (!heft_torch_is(t, item, HEFT_PICKLE_INT) || heft_torch_node(t, item)->u.integer < 0)
            return false;
        out->size[out->rank++] = (uint64_t)heft_torch_node(t, item)->u.integer;
    }
    return true;
}

static bool same_sizes(const uint64_t *a, const uint64_t *b, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        if (a[i] != b[i])
            return false;
    return true;
}

/* Coordinate format. indices: (sparse dimensions, n); values: (n, dense dimensions …). */
static bool fits_coordinates(const struct heft_row *rows, const struct shape *shape)
{
    const struct heft_row *indices = &rows[0], *values = &rows[1];
    uint64_t sparse;

    if (indices->dtype != HEFT_I64 || indices->rank != 2 || values->rank == 0 ||
        indices->shape[1] != values->shape[0])
        return false;
    sparse = indices->shape[0];
    return sparse <= shape->rank && shape->rank - sparse == values->rank - 1U &&
           same_sizes(values->shape + 1, shape->size + sparse, values->rank - 1U);
}

/* In the compressed dimension, counted in blocks, there is one pointer more than rows. */
static bool fits_pointers(const struct heft_row *rows, const struct shape *shape,
                          const struct heft_torch_layout *layout)
{
    const unsigned batch = rows[0].rank - 1U;
    uint64_t blocks[2];

    for (unsigned i = 0; i < 2; i++) {
        const uint64_t each = layout->blocked ? rows[2].shape[batch + 1 + i] : 1;

        if (each == 0 || shape->size[batch + i] % each)
            return false;
        blocks[i] = shape->size[batch + i] / each;
    }
    return rows[0].shape[batch] ==
           blocks[layout->by_column] + 1; /* no overflow: no size is 2^64-1 */
}

/* Compressed formats (CSR, CSC, BSR, BSC). pointers: (batch …, rows + 1); indices: (batch …, n);
 * values: (batch …, n, [block,] dense …). */
static bool fits_compressed(const struct heft_row *rows, const struct shape *shape,
                            const struct heft_torch_layout *layout)
{
    const struct heft_row *pointers = &rows[0], *indices = &rows[1], *values = &rows[2];
    const unsigned block = layout->blocked ? 2 : 0;
    unsigned batch, dense;

    if ((pointers->dtype != HEFT_I64 && pointers->dtype != HEFT_I32) ||
        indices->dtype != pointers->dtype || pointers->rank == 0 ||
        indices->rank != pointers->rank || values->rank < pointers->rank + block ||
        shape->rank != values->rank + 1U - block)
        return false;
    batch = pointers->rank - 1U;
    dense = values->rank - pointers->rank - block;
    return same_sizes(pointers->shape, shape->size, batch) &&
           same_sizes(indices->shape, shape->size, batch) &&
           same_sizes(values->shape, shape->size, batch) &&
           indices->shape[batch] == values->shape[batch] &&
           same_sizes(values->shape + values->rank - dense, shape->size + shape->rank - dense,
                      dense) &&
           fits_pointers(rows, shape, layout);
}

/* The rows within a frame; NULL if there are none. */
static const struct heft_row *rows_of(const struct heft_torch_walk *w,
                                      const struct heft_torch_frame *f)
{
    return f->rows < w->t->model->n_rows ? w->t->model->rows + f->rows : NULL;
}

static bool check_sparse(struct heft_torch_walk *w, const struct heft_torch_frame *f,
                         const struct heft_torch_call *call)
{
    const uint32_t data = heft_torch_item(w->t, call->args, 1);
    const struct heft_torch_layout *layout =
        heft_torch_layout_of(w->t, heft_torch_item(w->t, call->args, 0));
    const struct heft_row *rows = rows_of(w, f);
    const uint64_t at = heft_torch_where(w->t, f->node);
    struct shape shape;

    if (w->t->model->n_rows - f->rows < layout->rows)
        return heft_fail(w->err, HEFT_MALFORMED, at, "a part of the sparse tensor is not a tensor");
    if (!read_shape(w->t, heft_torch_item(w->t, data, layout->rows), &shape))
        return heft_fail(
            w->err, HEFT_MALFORMED, at,
            "the size of the sparse tensor is not a tuple of at most 64 integers from 0 to 2^63-1");
    return (layout->rows == 2 ? fits_coordinates(rows, &shape)
                              : fits_compressed(rows, &shape, layout)) ||
           heft_fail(w->err, HEFT_MALFORMED, at,
                     "sparse tensor (%s): indices, values and size do not match", layout->name);
}

static bool check_nested(struct heft_torch_walk *w, const struct heft_torch_frame *f)
{
    const struct heft_row *rows = rows_of(w, f);

    return (w->t->model->n_rows - f->rows >= 3 && rows[0].rank == 1 && rows[1].dtype == HEFT_I64 &&
            rows[2].dtype == HEFT_I64 && rows[1].rank == rows[2].rank &&
            same_sizes(rows[1].shape, rows[2].shape, rows[1].rank)) ||
           heft_fail(w->err, HEFT_MALFORMED, heft_torch_where(w->t, f->node),
                     "nested tensor: values, sizes and strides do not match");
}

/* ---- quantized tensors ------------------------------------------------------------------- */

/* Cases that torch loads silently but cannot compute with. */
static bool note_doubt(struct heft_torch_walk *w, const struct heft_torch_frame *f,
                       const char *what)
{
    if (w->n_doubts++ >= HEFT_TORCH_MOST_NOTES)
        return true;
    return heft_model_note(w->t->model, HEFT_FINDING, w->t->source, heft_torch_where(w->t, f->node),
                           w->err, "quantized tensor %.*s: %s", (int)heft_min_u64(f->path, 200),
                           w->path.p, what);
}

static bool check_scale(struct heft_torch_walk *w, const struct heft_torch_frame *f, uint32_t scale)
{
    const struct heft_pickle_node *n = heft_torch_node(w->t, scale);
    const double number =
        n->kind == HEFT_PICKLE_FLOAT ? n->u.number : (double)n->u.integer; /* either kind */

    return (number > 0 && number <= DBL_MAX) ||
           note_doubt(w, f, "its scale is not a positive number");
}

/* Scales and zero points: one per channel, as tensors or lists. */
static bool check_channels(struct heft_torch_walk *w, const struct heft_torch_frame *f,
                           uint32_t qparams)
{
    const struct heft_model *model = w->t->model;
    const int64_t axis = heft_torch_node(w->t, heft_torch_item(w->t, qparams, 3))->u.integer;
    const struct heft_row *row = &model->rows[f->rows - 1];
    size_t next = f->rows;

    if (axis < 0 || axis >= row->rank)
        return note_doubt(w, f, "its axis is not one of its dimensions");
    for (uint32_t i = 1; i < 3; i++) {
        const uint32_t node = heft_torch_item(w->t, qparams, i);
        const bool is_list = heft_torch_is(w->t, node, HEFT_PICKLE_LIST);
        const struct heft_row *part = is_list || next == model->n_rows ? NULL : &model->rows[next];
        const uint64_t count = is_list                   ? heft_torch_count(w->t, node)
                               : part && part->rank == 1 ? part->shape[0]
                                                         : 0;

        next += !is_list;
        if (count != row->shape[axis])
            return note_doubt(w, f, "it needs one scale and one zero point per channel");
    }
    return true;
}

static bool check_quantized(struct heft_torch_walk *w, const struct heft_torch_frame *f,
                            const struct heft_torch_call *call)
{
    const uint32_t qparams = heft_torch_item(w->t, call->args, 4);
    const size_t begin = w->t->model->n_rows - w->n_row_cuts;

    if (heft_torch_count(w->t, qparams) == 3)
        return check_scale(w, f, heft_torch_item(w->t, qparams, 1));
    if (f->rows == begin || w->row_nodes[f->rows - 1 - begin] != f->node)
        return true; /* 4 or 2 bits per element: not a row */
    return check_channels(w, f, qparams);
}

bool heft_torch_check_parts(struct heft_torch_walk *w, const struct heft_torch_frame *f)
{
    struct heft_torch_call call;

    if (f->outside || w->t->model->n_unreadable != f->unreadable)
        return true; /* some parts are not rows */
    if (!unwrap_all(w->t, f->node, &call, w->err))
        return false;
    switch (heft_torch_kind_of(w->t, call.callee)) {
    case HEFT_TORCH_QTENSOR:
        return check_quantized(w, f, &call);
    case HEFT_TORCH_SPARSE:
        return check_sparse(w, f, &call);
    case HEFT_TORCH_NESTED:
        return check_nested(w, f);
    default:
        return true;
    }
}
