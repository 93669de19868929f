/* ptd_write.c: plans a .ptd with the layout of ExecuTorch's Python serializer, byte for byte.
 *
 *     items and blobs, in the source's order ─► contents ─ equal ones are shared ─► segments,
 *     each aligned
 *     tables (back to front): DataSegments, their vector; of each entry its key, sizes, dim_order,
 *     layout, NamedData; their vector; the root (layout in ptd_tables.c)
 *     file: tables with the header inserted │ zeros │ segments, zeros between
 *
 * A tensor in channels_last order keeps it; other strided tensors are written in row-major
 * order. */
#include "base/endian.h"
#include "format/executorch/ptd_write.h"

#define ALIGNMENT 128 /* alignment of segments, as in the reference */
#define SPLICE    48  /* the header, padded to 16 */
#define ID        "FT01"

/* ---- contents -------------------------------------------------------------------------------- */

/* True if the strides are those of a contiguous tensor of that order, including dimensions of
 * extent 1. */
static bool has_strides(const struct heft_row *row, const uint64_t *stride, const uint8_t *order)
{
    uint64_t step = 1;

    for (unsigned i = row->rank; i > 0; i--) {
        if (stride[order[i - 1]] != step)
            return false;
        step *=
            heft_max_u64(row->shape[order[i - 1]], 1); /* no overflow: the tensor was validated */
    }
    return true;
}

/* Sorts the dimensions by their strides, largest first, as exporters do: those of extent 1 may be
 * in other positions than in channels_last. */
static void sort_dims(const uint64_t *stride, unsigned rank, uint8_t *order)
{
    for (unsigned i = 0; i < rank; i++) {
        unsigned at = i;

        for (; at > 0 && stride[order[at - 1]] < stride[i]; at--)
            order[at] = order[at - 1];
        order[at] = (uint8_t)i;
    }
}

/* The order to be stored, the source's own or channels_last, in *order; NULL: row-major. */
static bool find_order(struct heft_ptd_out *o, const struct heft_row *row, const uint8_t **order,
                       struct heft_error *err)
{
    static const uint8_t last[][5] = {{0, 2, 3, 1}, {0, 2, 3, 4, 1}}, plain[] = {0, 1, 2, 3, 4};
    const uint64_t *stride = row->stride ? row->stride : row->original_strides;
    uint8_t *sorted;

    *order = row->dim_order;
    if (row->dim_order || !stride || row->parts || (row->rank != 4 && row->rank != 5) ||
        !has_strides(row, stride, last[row->rank - 4]) || has_strides(row, stride, plain))
        return true;
    *order = sorted = heft_arena_alloc(o->plan->mem, row->rank, err);
    if (sorted)
        sort_dims(stride, row->rank, sorted);
    return sorted != NULL;
}

/* The row in its physical layout: dimensions in the order of storage, row-major. */
static const struct heft_row *physical_row(struct heft_ptd_out *o, const struct heft_row *row,
                                           const uint8_t *order, struct heft_error *err)
{
    struct heft_row *copy = heft_arena_alloc(o->plan->mem, sizeof *copy, err);
    uint64_t *shape = copy ? heft_arena_u64(o->plan->mem, row->rank, err) : NULL;

    if (!shape)
        return NULL;
    *copy = *row;
    for (unsigned i = 0; i < row->rank; i++)
        shape[i] = row->shape[order[i]];
    copy->shape = shape;
    copy->stride = copy->original_strides = NULL;
    copy->dim_order = NULL;
    return copy;
}

static bool check_name(struct heft_str name, struct heft_error *err)
{
    if (name.n > 0 && !memchr(name.p, '\0', name.n))
        return true;
    heft_fail(err, HEFT_UNSUPPORTED, HEFT_NO_OFFSET,
              "a key of a .ptd must not be empty or contain a NUL; rename it");
    return heft_error_about(err, "tensor", name);
}

bool heft_ptd_check_dims(const struct heft_export_item *item, struct heft_error *err)
{
    const struct heft_row *row = item->row;
    bool fits = row->rank <= HEFT_PTD_RANK;

    for (unsigned i = 0; fits && i < row->rank; i++)
        fits = row->shape[i] <= INT32_MAX;
    if (fits)
        return true;
    heft_fail(err, HEFT_UNSUPPORTED, HEFT_NO_OFFSET,
              "a .ptd supports tensors of up to %u dimensions, each below 2^31", HEFT_PTD_RANK);
    return heft_error_about(err, "tensor", item->name);
}

static bool add_item(struct heft_ptd_out *o, const struct heft_export_item *item,
                     struct heft_error *err)
{
    const struct heft_row *row = item->row;
    const uint8_t *order;

    if (!check_name(item->name, err) || !heft_ptd_check_dims(item, err) ||
        !find_order(o, row, &order, err) || (order && !(row = physical_row(o, row, order, err))))
        return false;
    o->slots[o->n] = (struct heft_ptd_slot){.name = item->name,
                                            .shape = item->row->shape,
                                            .order = order,
                                            .item = item,
                                            .rank = item->row->rank,
                                            .dtype = item->as,
                                            .is_tensor = true};
    o->contents[o->n++] = (struct heft_ptd_content){row, item->bytes, item->as};
    return true;
}

/* Adds a blob as a row of bytes. */
static bool add_blob(struct heft_ptd_out *o, const struct heft_model_blob *blob,
                     struct heft_error *err)
{
    const uint64_t len = o->exports->model->storages[blob->storage].len;
    uint64_t *shape = heft_arena_u64(o->plan->mem, 1, err);
    struct heft_row *row = shape ? heft_arena_zero(o->plan->mem, 1, sizeof *row, err) : NULL;

    if (!row || !check_name(blob->name, err))
        return false;
    *shape = len;
    *row = (struct heft_row){.name = blob->name,
                             .shape = shape,
                             .bytes = len,
                             .storage = blob->storage,
                             .dtype = HEFT_U8,
                             .rank = 1};
    o->slots[o->n] = (struct heft_ptd_slot){.name = blob->name};
    o->contents[o->n++] = (struct heft_ptd_content){row, len, HEFT_U8};
    return true;
}

/* Names of tensors are unique already; those of blobs may not be. */
static bool check_unique(struct heft_ptd_out *o, struct heft_error *err)
{
    struct heft_strmap seen = {0};
    uint32_t other = HEFT_MAP_NONE;
    bool ok = true;

    for (uint32_t i = 0; ok && o->exports->n_blobs && i < o->n; i++) {
        ok = heft_strmap_add(&seen, o->slots[i].name, i, &other, err);
        if (ok && other != HEFT_MAP_NONE)
            ok = heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "%s and %s would both be called %s",
                           o->contents[other].row->name.p, o->contents[i].row->name.p,
                           o->slots[i].name.p);
    }
    heft_strmap_release(&seen);
    return ok;
}

/* Number of rows of the source before an item. */
static size_t rows_before(const struct heft_export_list *exports,
                          const struct heft_export_item *item)
{
    return item->is_apart ? exports->model->n_rows : (size_t)(item->row - exports->model->rows);
}

/* Puts each blob at its position among the rows of its source. */
static bool collect_in_order(struct heft_ptd_out *o, struct heft_error *err)
{
    const struct heft_export_list *exports = o->exports;
    size_t k = 0;

    for (size_t i = 0; i < exports->n_items; i++) {
        const size_t before = rows_before(exports, &exports->items[i]);

        for (; k < exports->n_blobs && exports->blobs[k].behind <= before; k++)
            if (!add_blob(o, &exports->blobs[k], err))
                return false;
        if (!add_item(o, &exports->items[i], err))
            return false;
    }
    for (; k < exports->n_blobs; k++)
        if (!add_blob(o, &exports->blobs[k], err))
            return false;
    return true;
}

bool heft_ptd_out_room(struct heft_ptd_out *o, size_t n, struct heft_error *err)
{
    o->contents = heft_arena_zero(&o->scratch, n, sizeof *o->contents, err);
    o->slots = heft_arena_zero(&o->scratch, n, sizeof *o->slots, err);
    o->first = heft_arena_zero(&o->scratch, n, sizeof *o->first, err);
    o->segments = heft_arena_zero(&o->scratch, n, sizeof *o->segments, err);
    o->stored = heft_arena_zero(&o->scratch, n, sizeof *o->stored, err);
    o->refs = heft_arena_zero(&o->scratch, n, sizeof *o->refs, err);
    o->offsets = heft_arena_u64(&o->scratch, n, err);
    return o->contents && o->slots && o->first && o->segments && o->stored && o->refs && o->offsets;
}

static bool collect_entries(struct heft_ptd_out *o, struct heft_error *err)
{
    return heft_ptd_out_room(o, o->exports->n_items + o->exports->n_blobs, err) &&
           collect_in_order(o, err) && check_unique(o, err) &&
           heft_ptd_share(o->exports->model, o->contents, o->n, o->first, o->scratch.budget, err);
}

/* ---- segments -------------------------------------------------------------------------------- */

/* Segments have the order in which entries first use them. */
static bool place_segments(struct heft_ptd_out *o, struct heft_error *err)
{
    uint64_t end = 0;

    for (uint32_t i = 0; i < o->n; i++) {
        if (o->first[i] != i) {
            o->segments[i] = o->segments[o->first[i]];
            continue;
        }
        o->segments[i] = o->n_segments;
        o->stored[o->n_segments] = i;
        if (!heft_add(end, heft_plan_padding(end, o->alignment), &end))
            return heft_fail(err, HEFT_LIMIT, HEFT_NO_OFFSET, "the output has 2^64 bytes or more");
        o->offsets[o->n_segments++] = end;
        if (!heft_add(end, o->contents[i].bytes, &end))
            return heft_fail(err, HEFT_LIMIT, HEFT_NO_OFFSET, "the output has 2^64 bytes or more");
    }
    return true;
}

/* ---- tables ---------------------------------------------------------------------------------- */

static uint32_t put_segments(struct heft_ptd_out *o)
{
    for (uint32_t i = 0; i < o->n_segments; i++) {
        heft_flat_begin(&o->flat);
        heft_flat_add(&o->flat, 1, o->contents[o->stored[i]].bytes, 8);
        heft_flat_add(&o->flat, 0, o->offsets[i], 8);
        o->refs[i] = heft_flat_end(&o->flat);
    }
    return heft_flat_put_refs(&o->flat, o->refs, o->n_segments);
}

static uint32_t put_layout(struct heft_ptd_out *o, const struct heft_ptd_slot *slot)
{
    uint64_t order[HEFT_PTD_RANK];
    uint32_t sizes, dim_order;

    for (unsigned k = 0; k < slot->rank; k++)
        order[k] = slot->order ? slot->order[k] : k;
    sizes = heft_flat_put_vector(&o->flat, slot->shape, slot->rank, 4);
    dim_order = heft_flat_put_vector(&o->flat, order, slot->rank, 1);
    heft_flat_begin(&o->flat);
    heft_flat_add_ref(&o->flat, 2, dim_order);
    heft_flat_add_ref(&o->flat, 1, sizes);
    heft_flat_add(&o->flat, 0, heft_ptd_type((enum heft_dtype)slot->dtype), 1);
    return heft_flat_end(&o->flat);
}

static uint32_t put_entries(struct heft_ptd_out *o)
{
    for (size_t i = 0; i < o->n; i++) {
        const uint32_t key = heft_flat_put_string(&o->flat, o->slots[i].name);
        const uint32_t layout = o->slots[i].is_tensor ? put_layout(o, &o->slots[i]) : 0;

        heft_flat_begin(&o->flat);
        heft_flat_add_ref(&o->flat, 2, layout);
        heft_flat_add(&o->flat, 1, o->segments[i], 4);
        heft_flat_add_ref(&o->flat, 0, key);
        o->refs[i] = heft_flat_end(&o->flat);
    }
    return heft_flat_put_refs(&o->flat, o->refs, o->n);
}

static bool put_tables(struct heft_ptd_out *o, struct heft_bytes *bytes, struct heft_error *err)
{
    const uint32_t segments = put_segments(o);
    const uint32_t entries = put_entries(o);

    heft_flat_begin(&o->flat);
    heft_flat_add_ref(&o->flat, 2, entries);
    heft_flat_add_ref(&o->flat, 1, segments);
    return heft_flat_finish(&o->flat, heft_flat_end(&o->flat), ID, bytes, err);
}

/* Writes the tables with the header inside, up to the base of the segments. */
static bool put_head(struct heft_ptd_out *o, struct heft_str *head, struct heft_error *err)
{
    const size_t last = o->n_segments;
    const uint64_t data = last ? o->offsets[last - 1] + o->contents[o->stored[last - 1]].bytes : 0;
    struct heft_bytes flat;
    uint64_t base;
    uint8_t *p;

    if (!put_tables(o, &flat, err))
        return false;
    base = flat.n + SPLICE; /* each is below 2^31 */
    base += heft_plan_padding(base, o->alignment);
    p = heft_arena_zero(o->plan->mem, (size_t)base, 1, err);
    if (!p)
        return false;
    heft_put_le32(p, heft_le32(flat.p) + SPLICE);
    memcpy(p + 4, flat.p + 4, 4);
    memcpy(p + 8, "FH01", 4);
    heft_put_le32(p + 12, HEFT_PTD_HEADER);
    heft_put_le64(p + 16, SPLICE);
    heft_put_le64(p + 24, flat.n);
    heft_put_le64(p + 32, base);
    heft_put_le64(p + 40, data);
    memcpy(p + 8 + SPLICE, flat.p + 8, flat.n - 8);
    *head = (struct heft_str){(const char *)p, (size_t)base};
    return true;
}

/* ---- plan ------------------------------------------------------------------------------------ */

static bool plan_segment(struct heft_ptd_out *o, uint32_t file, uint32_t k, struct heft_error *err)
{
    const struct heft_ptd_content *const c = &o->contents[k];
    const struct heft_ptd_slot *const slot = &o->slots[k];
    const struct heft_export_item item = {
        .row = c->row, .name = slot->name, .bytes = c->bytes, .as = c->as};

    if (c->row)
        return heft_plan_item(o->plan, file, &item, err);
    return c->bytes == 0 ||
           heft_plan_copy_file(o->plan, file, slot->file, slot->from, c->bytes, err);
}

static bool plan_segments(struct heft_ptd_out *o, uint32_t file, uint64_t base,
                          struct heft_error *err)
{
    const char *zeros = heft_arena_zero(o->plan->mem, (size_t)o->alignment, 1, err);

    for (uint32_t i = 0; zeros && i < o->n_segments; i++) {
        const uint64_t pad = base + o->offsets[i] - o->plan->files[file].size;

        if (!heft_plan_put(o->plan, file, (struct heft_str){zeros, (size_t)pad}, err) ||
            !plan_segment(o, file, o->stored[i], err))
            return false;
    }
    for (size_t i = 0; i < o->n; i++)
        if (o->slots[i].item)
            heft_plan_place(o->plan, o->slots[i].item, base + o->offsets[o->segments[i]]);
    for (size_t i = 0; o->slot_of && i < o->exports->n_items; i++)
        heft_plan_place(o->plan, &o->exports->items[i],
                        base + o->offsets[o->segments[o->slot_of[i]]]);
    return zeros != NULL;
}

static bool plan_file(struct heft_ptd_out *o, uint32_t file, struct heft_error *err)
{
    const bool into = heft_plan_option(o->plan, HEFT_PTD_INTO).is_given;
    struct heft_str head;

    return (into ? heft_ptd_into(o, err) : collect_entries(o, err)) && place_segments(o, err) &&
           put_head(o, &head, err) && heft_plan_put(o->plan, file, head, err) &&
           plan_segments(o, file, head.n, err) &&
           (o->n > 0 ||
            heft_plan_note(o->plan, "the .ptd would have no entries: no runtime loads such a file",
                           err));
}

const struct heft_format_option heft_ptd_options[HEFT_PTD_OPTIONS + 1] = {
    [HEFT_PTD_SEGMENT_ALIGNMENT] = {.name = "segment-alignment",
                                    .kind = HEFT_OPTION_NUMBER,
                                    .value = "N",
                                    .least = 1,
                                    .most = HEFT_PTD_MAX_ALIGNMENT,
                                    .help = "align segments to N bytes (default 128)"},
    [HEFT_PTD_OPTION_DROP_VALUES] = {.name = HEFT_PTD_DROP_VALUES,
                                     .elsewhere = HEFT_ELSEWHERE_NOTED,
                                     .help = "leave out values and metadata, which .ptd does not "
                                             "support"},
    [HEFT_PTD_INTO] = {.name = "into",
                       .kind = HEFT_OPTION_TEXT,
                       .value = "MODEL",
                       .implies_format = true,
                       .help = "write a copy of this SavedModel or .ptd with the weights of "
                               "INPUT"},
    [HEFT_PTD_BASE] = {.name = "base",
                       .kind = HEFT_OPTION_TEXT,
                       .value = "BASE",
                       .elsewhere = HEFT_ELSEWHERE_NOTED,
                       .help =
                           "the weights that the .ptd of into was made from: they tell its keys"},
    [HEFT_PTD_KEEP_MISSING] = {.name = "keep-missing",
                               .elsewhere = HEFT_ELSEWHERE_NOTED,
                               .help = "keep the model's own weights that INPUT lacks (with into)"},
};

bool heft_ptd_plan(struct heft_plan *plan, uint32_t file, const struct heft_export_list *exports,
                   struct heft_error *err)
{
    const struct heft_option_value alignment = heft_plan_option(plan, HEFT_PTD_SEGMENT_ALIGNMENT);
    struct heft_ptd_out o = {.plan = plan,
                             .exports = exports,
                             .scratch = {.budget = plan->mem->budget},
                             .flat = {.budget = plan->mem->budget},
                             .alignment = alignment.is_given ? alignment.number : ALIGNMENT};
    const bool ok = plan_file(&o, file, err);

    heft_flat_release(&o.flat);
    heft_arena_release(&o.scratch);
    return ok;
}
