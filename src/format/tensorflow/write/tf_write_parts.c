/* tf_write_parts.c: rows → pieces: a tensor as one piece, or as the slices that --partition asks for.
 *
 *     GLOB=axis:n    n slices along an axis, cut like TensorFlow's fixed_size_partitioner: extents
 *                    differ by at most one, larger ones first
 *     GLOB=keep      the source's own partition
 *     GLOB=whole     one piece, whatever the source has
 *
 * The last matching rule decides. A glob with wildcards skips tensors that cannot be cut. */
#include "base/text.h"
#include "core/reader.h"
#include "format/tensorflow/write/tf_write.h"

#define MAX_SLICES 65536

enum how { WHOLE, KEEP, CUT };
struct wish {
    enum how how;
    bool is_exact; /* the glob is a plain name: its request must be possible */
    unsigned axis;
    uint64_t n;
};

/* ---- requested partitions ---------------------------------------------------------------- */

/* Parses digits up to `end`, or to the end of the text. */
static const char *read_number(const char *p, uint64_t *out)
{
    const char *const begin = p;

    for (*out = 0; *p >= '0' && *p <= '9' && *out <= MAX_SLICES; p++)
        *out = *out * 10 + (uint64_t)(*p - '0');
    return p > begin ? p : NULL;
}

static bool parse_wish(const struct heft_rule *rule, struct wish *out, struct heft_error *err)
{
    const char *p = rule->right;
    uint64_t axis = 0;

    *out = (struct wish){.how = WHOLE, .is_exact = !strpbrk(rule->left, "*?[")};
    if (strcmp(p, "whole") == 0)
        return true;
    out->how = KEEP;
    if (strcmp(p, "keep") == 0)
        return true;
    out->how = CUT;
    p = read_number(p, &axis);
    p = p && *p == ':' ? read_number(p + 1, &out->n) : NULL;
    if (!p || *p || axis >= HEFT_SLICE_RANK || out->n < 1 || out->n > MAX_SLICES)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "partition \"%s\": expected axis:n (n from 1 to %d), keep or whole",
                         rule->right, MAX_SLICES);
    out->axis = (unsigned)axis;
    return true;
}

static bool find_wish(const struct heft_tf_out *out, struct heft_str name, struct wish *wish,
                      struct heft_error *err)
{
    const struct heft_plan_request *request = &out->plan->request;

    *wish = (struct wish){.how = out->keeps_parts ? KEEP : WHOLE};
    for (size_t i = request->n_rules; i > 0; i--) {
        const struct heft_rule *const rule = &request->rules[i - 1];

        if (rule->kind == HEFT_RULE_PARTITION && heft_glob_match(heft_str_of(rule->left), name))
            return parse_wish(rule, wish, err);
    }
    return true;
}

/* ---- cutting tensors into parts ---------------------------------------------------------- */

static struct heft_slice_dim *whole_dims(const struct heft_tf_out *out, const struct heft_row *row,
                                         struct heft_error *err)
{
    struct heft_slice_dim *dims =
        heft_arena_alloc(out->plan->mem, (row->rank + 1u) * sizeof *dims, err);

    for (unsigned d = 0; dims && d < row->rank; d++)
        dims[d] = (struct heft_slice_dim){0, (int64_t)row->shape[d]};
    return dims;
}

/* Makes a row for a part that is written as a slice. */
static bool add_slice(struct heft_tf_out *out, const struct heft_tf_piece *whole,
                      const struct heft_row *slice, const struct heft_slice_dim *dims,
                      struct heft_error *err)
{
    struct heft_row *row = heft_arena_alloc(out->plan->mem, sizeof *row, err);
    struct heft_tf_piece piece = *whole;

    if (!row)
        return false;
    *row = *slice;
    piece.item.row = row;
    piece.dims = dims;
    return heft_row_size((enum heft_dtype)piece.item.as, row->rank, row->shape,
                         &piece.item.bytes) &&
           heft_tf_out_piece(out, &piece, err);
}

static bool cut_one(struct heft_tf_out *out, const struct heft_tf_piece *whole, unsigned axis,
                    struct heft_range range, struct heft_error *err)
{
    const struct heft_row *row = whole->item.row;
    struct heft_range ranges[HEFT_ROW_DIMS];
    struct heft_slice_dim *dims = whole_dims(out, row, err);
    struct heft_row slice;

    if (!dims)
        return false;
    for (unsigned d = 0; d < axis; d++)
        ranges[d] = (struct heft_range){0, row->shape[d], false};
    ranges[axis] = range;
    dims[axis] = (struct heft_slice_dim){(int64_t)range.start, (int64_t)(range.stop - range.start)};
    return heft_row_slice(row, ranges, axis + 1, out->plan->mem, &slice, err) &&
           add_slice(out, whole, &slice, dims, err);
}

static bool can_cut(const struct heft_row *row, unsigned axis)
{
    return axis < row->rank && row->shape[axis] > 1 && row->bytes > 0 &&
           heft_dtype_element_bytes((enum heft_dtype)row->dtype) > 0;
}

/* True for dtypes whose slices TensorFlow never joins. */
static bool stays_apart(enum heft_dtype dtype)
{
    static const uint8_t list[] = {HEFT_F16,  HEFT_U16,  HEFT_U32, HEFT_U64,
                                   HEFT_QI16, HEFT_QU16, HEFT_I2,  HEFT_U2};

    for (size_t i = 0; i < HEFT_COUNT(list); i++)
        if (list[i] == dtype)
            return true;
    return heft_dtype_info(dtype)->kind == HEFT_KIND_FLOAT && heft_dtype_element_bytes(dtype) == 1;
}

static bool note_apart(struct heft_tf_out *out, const struct heft_export_item *item,
                       struct heft_error *err)
{
    struct heft_plan *plan = out->plan;

    if (!stays_apart((enum heft_dtype)item->as))
        return true;
    return heft_plan_note(
        plan,
        heft_arena_printf(plan->mem, err, "TensorFlow cannot join slices of %s: %s",
                          heft_dtype_name((enum heft_dtype)item->as), item->name.p),
        err);
}

static bool cut_evenly(struct heft_tf_out *out, const struct heft_tf_piece *whole,
                       const struct wish *wish, struct heft_error *err)
{
    const struct heft_row *row = whole->item.row;
    const uint64_t extent = row->shape[wish->axis];
    const uint64_t n = heft_min_u64(wish->n, extent);
    struct heft_range range = {0, 0, false};

    if (!note_apart(out, &whole->item, err))
        return false;
    for (uint64_t i = 0; i < n; i++) {
        range.start = range.stop;
        range.stop += extent / n + (i < extent % n);
        if (!cut_one(out, whole, wish->axis, range, err))
            return false;
    }
    return true;
}

static bool keep_one(struct heft_tf_out *out, const struct heft_tf_piece *whole,
                     const struct heft_part *part, struct heft_error *err)
{
    struct heft_row row = *whole->item.row;
    struct heft_slice_dim *dims = whole_dims(out, &row, err);

    if (!dims)
        return false;
    for (unsigned d = 0; d < row.rank; d++)
        dims[d] = (struct heft_slice_dim){(int64_t)part->start[d], (int64_t)part->extent[d]};
    row.parts = NULL;
    row.shape = part->extent;
    row.stride = row.original_strides = part->stride;
    row.offset = part->offset;
    row.storage = part->storage;
    row.flags = part->flags;
    return heft_row_size((enum heft_dtype)row.dtype, row.rank, row.shape, &row.bytes) &&
           add_slice(out, whole, &row, dims, err);
}

static bool keep_parts(struct heft_tf_out *out, const struct heft_tf_piece *whole,
                       struct heft_error *err)
{
    const struct heft_parts *parts = whole->item.row->parts;

    for (uint32_t k = 0; k < parts->n; k++)
        if (!keep_one(out, whole, &parts->list[k], err))
            return false;
    return true;
}

bool heft_tf_out_item(struct heft_tf_out *out, uint32_t index, struct heft_error *err)
{
    const struct heft_export_item *item = &out->exports->items[index];
    struct heft_tf_piece whole = {.item = *item, .of = index};
    struct wish wish;

    whole.item.number = 0; /* place_item reports the position of the first piece */
    if (!find_wish(out, item->name, &wish, err))
        return false;
    if (wish.how == KEEP && item->row->parts && !item->row->parts->recipe &&
        !heft_row_is_shaped(item->row) && item->row->parts->n > 1)
        return keep_parts(out, &whole, err);
    if (wish.how == CUT && wish.n > 1 && can_cut(item->row, wish.axis))
        return cut_evenly(out, &whole, &wish, err);
    if (wish.how == CUT && wish.is_exact && wish.axis >= item->row->rank) {
        heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "has %u dimensions, so axis %u does not exist",
                  item->row->rank, wish.axis);
        return heft_error_about(err, "tensor", item->name);
    }
    return heft_tf_out_piece(out, &whole, err);
}
