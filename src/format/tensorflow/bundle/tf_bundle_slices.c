/* tf_bundle_slices.c: partitioned tensors. The entry of the tensor lists its slices; each slice has
 * an entry of its own, whose key encodes the tensor's name and the slice.
 *
 *     00 w 0001 0102 …   →  a slice of w: shape, data file, offset, size, CRC       sorts first
 *     w                  →  dtype, shape, the list of expected slices
 *
 * Slices that tile their tensor become the parts of one row. If slices are missing (optimizer slots
 * saved for one part of a variable) or overlap, the tensor as a whole is unreadable, and each slice
 * that exists becomes a row of its own: "w[0,2:-]", in TensorFlow's notation for slices. TensorFlow
 * also refuses such a tensor and reads the others. */
#include "core/parts.h"
#include "format/tensorflow/bundle/tf_bundle.h"

/* ---- collecting slices ------------------------------------------------------------------- */

bool heft_tf_add_slice(struct heft_tf_bundle *b, struct heft_str key,
                       const struct heft_tf_entry *entry, uint64_t at, uint32_t storage)
{
    const struct heft_tf_slice slice = {.key = key,
                                        .at = at,
                                        .shape = entry->shape,
                                        .storage = storage,
                                        .rank = entry->rank,
                                        .number = (uint8_t)heft_min_u64(entry->number, UINT8_MAX)};
    const uint64_t most = heft_limit_tensors(&b->model->limits, b->model->file_bytes);
    uint32_t other;

    if (b->n_slices >= most)
        return heft_fail(b->err, HEFT_LIMIT, at,
                         "more than %" PRIu64 " slices in %" PRIu64 " bytes: limits.tensors", most,
                         b->model->file_bytes);
    if (!heft_grow(&b->slices, &b->cap_slices, b->n_slices, 1, sizeof *b->slices, b->err) ||
        !heft_strmap_add(&b->slice_keys, key, (uint32_t)b->n_slices, &other, b->err))
        return false;
    if (other != HEFT_MAP_NONE)
        return heft_fail(b->err, HEFT_MALFORMED, at, "duplicate slice key");
    b->slices[b->n_slices++] = slice;
    return true;
}

/* ---- joining slices into tensors --------------------------------------------------------- */

struct whole {
    struct heft_tf_bundle *b;
    struct heft_str name;
    const struct heft_tf_entry *entry;
    uint64_t at;
    struct heft_parts *parts; /* the slices that exist */
    uint64_t held;            /* elements in these slices */
    bool repeats;             /* a slice is listed twice */
    bool varies;              /* elements have varying length: strings */
};

static const struct heft_slice_dim *dims_of(const struct whole *w, uint32_t k)
{
    return w->entry->dims + (size_t)k * w->entry->rank;
}

/* Appends the slice in TensorFlow's notation: "0,2:-". */
static bool put_spec(struct heft_buf *out, const struct whole *w, uint32_t k)
{
    out->n = 0;
    heft_slice_put_spec(out, dims_of(w, k), w->entry->rank);
    return heft_buf_ok(out, w->b->err);
}

static bool refuse_slice(const struct whole *w, uint32_t k, uint64_t at, const char *what)
{
    struct heft_buf spec = {0};

    if (put_spec(&spec, w, k))
        heft_fail(w->b->err, HEFT_MALFORMED, at, "its slice %.*s %s",
                  (int)heft_min_u64(spec.n, 200), spec.p ? spec.p : "", what);
    heft_buf_release(&spec);
    return false;
}

/* Computes the start and extent of a slice in its tensor. */
static bool make_box(const struct whole *w, uint32_t k, struct heft_part *part)
{
    const unsigned rank = w->entry->rank;
    const struct heft_slice_dim *dims = dims_of(w, k);
    uint64_t *box = heft_arena_u64(&w->b->model->mem, 2 * (size_t)rank, w->b->err);

    if (!box)
        return false;
    for (unsigned d = 0; d < rank; d++) {
        const bool is_whole = dims[d].start == 0 && dims[d].length == HEFT_SLICE_WHOLE;
        const uint64_t size = w->entry->shape[d];

        if (!is_whole && (dims[d].start < 0 || dims[d].length < 0 ||
                          !heft_within((uint64_t)dims[d].start, (uint64_t)dims[d].length, size)))
            return refuse_slice(w, k, w->at, "exceeds the tensor");
        box[d] = is_whole ? 0 : (uint64_t)dims[d].start;
        box[rank + d] = is_whole ? size : (uint64_t)dims[d].length;
    }
    part->start = box;
    part->extent = box + rank;
    return true;
}

static bool check_slice(const struct whole *w, uint32_t k, const struct heft_tf_slice *slice,
                        const struct heft_part *part)
{
    bool same = slice->rank == w->entry->rank;

    for (unsigned d = 0; same && d < slice->rank; d++)
        same = slice->shape[d] == part->extent[d];
    if (!same)
        return refuse_slice(w, k, slice->at, "has an entry with another shape");
    return slice->number == w->entry->number ||
           refuse_slice(w, k, slice->at, "has an entry with another dtype");
}

static bool note_absent(const struct whole *w, uint32_t k)
{
    struct heft_buf spec = {0};
    bool ok = put_spec(&spec, w, k) &&
              heft_model_note(w->b->model, HEFT_FINDING, w->b->source, w->at, w->b->err,
                              "tensor %.*s lists slice %.*s, which has no entry",
                              (int)heft_min_u64(w->name.n, 300), w->name.p,
                              (int)heft_min_u64(spec.n, 200), spec.p ? spec.p : "");
    heft_buf_release(&spec);
    return ok;
}

/* Looks a slice up by its key as listed: (0, whole) and (0, -1) are different keys. */
static bool take_slice(struct whole *w, uint32_t k)
{
    struct heft_tf_bundle *b = w->b;
    struct heft_part *part = &w->parts->list[w->parts->n];
    struct heft_tf_slice *slice;
    uint64_t elements = 1;
    uint32_t found;

    b->key.n = 0;
    heft_slice_put_key(&b->key, w->name, dims_of(w, k), w->entry->rank);
    if (!make_box(w, k, part) || !heft_buf_ok(&b->key, b->err))
        return false;
    found = heft_strmap_get(&b->slice_keys, (struct heft_str){b->key.p, b->key.n});
    if (found == HEFT_MAP_NONE)
        return note_absent(w, k);
    slice = &b->slices[found];
    if (!check_slice(w, k, slice, part))
        return false;
    for (unsigned d = 0; d < w->entry->rank; d++)
        elements *= part->extent[d]; /* no overflow: at most the elements of the tensor */
    if (slice->is_listed)
        return w->repeats = true;
    part->storage = slice->storage;
    part->flags = heft_tf_row_flags(b, w->entry->dtype);
    slice->is_listed = true;
    w->held = w->held > UINT64_MAX - elements ? UINT64_MAX : w->held + elements;
    w->parts->n++;
    return true;
}

/* Adds a row for one slice, with the slice's extent as its shape. */
static bool add_slice_row(const struct whole *w, const struct heft_part *part)
{
    const unsigned rank = w->entry->rank;
    struct heft_slice_dim dims[HEFT_SLICE_RANK];
    struct heft_buf text = {0};
    struct heft_row row = {.shape = part->extent,
                           .rank = w->entry->rank,
                           .dtype = w->entry->dtype->dtype,
                           .flags = part->flags,
                           .storage = part->storage};

    for (unsigned d = 0; d < rank; d++) {
        const bool is_whole = part->start[d] == 0 && part->extent[d] == w->entry->shape[d];

        dims[d] = is_whole
                      ? (struct heft_slice_dim){0, HEFT_SLICE_WHOLE}
                      : (struct heft_slice_dim){(int64_t)part->start[d], (int64_t)part->extent[d]};
    }
    heft_buf_str(&text, w->name);
    heft_buf_char(&text, '[');
    heft_slice_put_spec(&text, dims, rank);
    heft_buf_char(&text, ']');
    return heft_buf_take(&text, &w->b->model->mem, &row.name, w->b->err) &&
           heft_model_add_row(w->b->model, &row, w->b->err);
}

/* Records an incomplete tensor; another bundle may hold the other slices. */
static bool add_partial(const struct whole *w, size_t first_row)
{
    struct heft_model *model = w->b->model;

    if (!heft_grow(&model->partial, &model->cap_partial, model->n_partial, 1,
                   sizeof *model->partial, w->b->err))
        return false;
    model->partial[model->n_partial++] = (struct heft_partial){
        .name = w->name,
        .shape = w->entry->shape,
        .parts = w->parts,
        .held = w->held,
        .elements = w->entry->elements,
        .first_row = first_row,
        .unreadable = model->n_unreadable - 1,
        .rank = w->entry->rank,
        .dtype = w->entry->dtype->dtype,
    };
    return true;
}

/* Adds each slice as a row and the whole tensor as unreadable. */
static bool add_in_pieces(const struct whole *w, const char *reason, bool is_finding)
{
    struct heft_model *model = w->b->model;

    if (!heft_model_add_unreadable(model, w->name, w->b->source, w->at, reason, w->b->err))
        return false;
    model->unreadable[model->n_unreadable - 1].is_finding = is_finding;
    for (uint32_t k = 0; k < w->parts->n; k++)
        if (!add_slice_row(w, &w->parts->list[k]))
            return false;
    return true;
}

static bool add_with_gaps(const struct whole *w)
{
    const size_t first_row = w->b->model->n_rows;
    const char *reason = heft_arena_printf(&w->b->scratch, w->b->err,
                                           "its slices hold %" PRIu64 " of %" PRIu64
                                           " elements; each can be read by itself",
                                           w->held, w->entry->elements);

    return reason && add_in_pieces(w, reason, true) && (w->varies || add_partial(w, first_row));
}

static bool add_untiled(const struct whole *w, const char *how)
{
    const char *reason =
        heft_arena_printf(&w->b->scratch, w->b->err,
                          "its slices do not tile it: %s; each can be read by itself", how);

    return reason && add_in_pieces(w, reason, true);
}

/* Adds the tensor as one row. Slices of strings are never joined, neither here nor by TensorFlow:
 * the lengths are stored apart from the bytes. */
static bool add_whole(const struct whole *w)
{
    const struct heft_row row = {.name = w->name,
                                 .shape = w->entry->shape,
                                 .rank = w->entry->rank,
                                 .dtype = w->entry->dtype->dtype,
                                 .parts = w->parts};
    struct heft_error how = {0};

    if (w->entry->elements > 0 && !heft_parts_tile(w->b->model, &row, &how)) {
        if (how.code == HEFT_MALFORMED)
            return add_untiled(w, how.text);
        *w->b->err = how;
        return false;
    }
    if (w->varies)
        return add_in_pieces(w,
                             "it is partitioned, and slices of strings cannot be joined; "
                             "each can be read by itself",
                             false);
    return heft_model_add_row(w->b->model, &row, w->b->err);
}

bool heft_tf_add_partitioned(struct heft_tf_bundle *b, struct heft_str name,
                             const struct heft_tf_entry *entry, uint64_t at)
{
    struct whole w = {.b = b, .name = name, .entry = entry, .at = at};

    w.varies = heft_dtype_varies((enum heft_dtype)entry->dtype->dtype);

    w.parts = heft_arena_zero(&b->model->mem, 1, sizeof *w.parts, b->err);
    if (!w.parts)
        return false;
    w.parts->list = heft_arena_zero(&b->model->mem, entry->n_slices, sizeof *w.parts->list, b->err);
    if (!w.parts->list)
        return false;
    for (uint32_t k = 0; k < entry->n_slices; k++)
        if (!take_slice(&w, k))
            return false;
    heft_arena_release(&b->scratch); /* the list of slices may be long */
    if (w.repeats)
        return add_untiled(&w, "a slice is listed twice");
    if (w.parts->n == 0 || w.held < entry->elements)
        return add_with_gaps(&w);
    return add_whole(&w);
}

/* ---- slices without a tensor ------------------------------------------------------------- */

bool heft_tf_note_strays(const struct heft_tf_bundle *b)
{
    for (size_t i = 0; i < b->n_slices; i++) {
        const struct heft_tf_slice *slice = &b->slices[i];

        if (slice->is_listed)
            continue;
        if (!heft_model_note(b->model, HEFT_FINDING, b->source, slice->at, b->err,
                             "no tensor lists this slice"))
            return false;
    }
    return true;
}
