/* torch_write_rows.c: chooses the storages of a torch file from the storages of the source.
 *
 *     source storage   ..aaaa.bbbbbbbb....cc....   a, b: F32; c: F16 of the same bytes
 *     piece 0            [aaaa.bbbbbbbb]           F32, shared by a and b as before
 *     piece 1                              [cc]    F16
 *
 * Only the range that the selected rows use is written. Rows of one storage share a piece if they
 * have the same dtype, the same cast, and are stored alike (byte order, conjugation), because a
 * torch storage has one dtype. Strides are kept, offsets count from the start of the range. A
 * partitioned row is joined into a piece of its own. Rows that share a storage only because their
 * bytes are equal (is_pooled) get separate pieces: training one must not change the other. */
#include "format/torch/pickle/torch_parts.h"
#include "format/torch/write/torch_write.h"

#define NAMES_SHOWN 8 /* most names in a note */

struct grouping {
    struct heft_torch_out *out;
    struct heft_u32map first; /* storage of the source → its first piece */
    struct heft_u32map whole; /* number of a row in parts → its piece, which all its names share */
    struct heft_buf apart;    /* names of items that no longer share a storage */
    size_t n_apart;
};

/* Elements of `as` made from so many bytes of `from`. For F4 torch counts bytes. */
static uint64_t elements_of(enum heft_dtype from, enum heft_dtype as, uint64_t bytes)
{
    return as == HEFT_F4 ? bytes : heft_dtype_elements(from, bytes);
}

/* Bytes per element as torch counts elements: for F4, of a pair. */
static uint64_t each_of(enum heft_dtype dtype)
{
    return heft_dtype_block_bytes(dtype);
}

/* Bytes by which the row is off a block boundary of the storage. */
static uint64_t skew_of(const struct heft_row *row)
{
    return row->offset % heft_dtype_block_bytes((enum heft_dtype)row->dtype);
}

/* F4: torch stores pairs along the last dimension, so its extent must be even. */
static bool check_pairs(const struct heft_export_item *item, struct heft_error *err)
{
    const struct heft_row *row = item->row;

    if (item->as != HEFT_F4 || (row->rank > 0 && row->shape[row->rank - 1] % 2 == 0))
        return true;
    heft_fail(err, HEFT_UNSUPPORTED, HEFT_NO_OFFSET,
              "torch stores F4 in pairs, and its last dimension is odd; cast '%s=F32' would do",
              item->from.p);
    return heft_error_about(err, "tensor", item->name);
}

static bool fits_piece(const struct heft_torch_piece *piece, const struct heft_export_item *item)
{
    const struct heft_row *row = item->row;

    return piece->like->dtype == row->dtype && piece->like->flags == row->flags &&
           piece->as == item->as && skew_of(piece->like) == skew_of(row);
}

/* Number of a row in parts in the model, which the items of its names share; HEFT_NONE: it is no row of the
 * model, but made of one. */
static uint32_t row_number(const struct heft_torch_out *out, const struct heft_export_item *item)
{
    const struct heft_model *const model = out->exports->model;

    return item->row->parts && item->row >= model->rows && item->row < model->rows + model->n_rows
               ? (uint32_t)(item->row - model->rows)
               : HEFT_NONE;
}

/* The piece of a row in parts, if another name of it has one; else HEFT_MAP_NONE. */
static uint32_t find_whole(const struct grouping *g, const struct heft_export_item *item)
{
    const struct heft_torch_out *const out = g->out;
    const bool is_alone = out->alone && out->alone[item - out->items];
    const uint32_t row = is_alone ? HEFT_NONE : row_number(out, item);
    const uint32_t number = row == HEFT_NONE ? HEFT_MAP_NONE : heft_u32map_get(&g->whole, row);

    return number != HEFT_MAP_NONE && fits_piece(&out->pieces[number], item) ? number
                                                                             : HEFT_MAP_NONE;
}

/* The piece that the item uses: an existing one, or a new one. */
static bool find_piece(struct grouping *g, const struct heft_export_item *item, uint32_t *number,
                       struct heft_error *err)
{
    struct heft_torch_out *out = g->out;
    const bool is_alone = out->alone && out->alone[item - out->items];
    const bool shares = !is_alone && !item->row->parts &&
                        !out->exports->model->storages[item->row->storage].is_pooled;
    const uint32_t first = shares ? heft_u32map_get(&g->first, item->row->storage) : HEFT_MAP_NONE;
    struct heft_torch_piece *piece;

    for (*number = first; *number != HEFT_MAP_NONE; *number = out->pieces[*number].next)
        if (fits_piece(&out->pieces[*number], item))
            return true;
    *number = find_whole(g, item);
    if (*number != HEFT_MAP_NONE)
        return true;
    *number = (uint32_t)out->n_pieces++;
    piece = &out->pieces[*number];
    *piece = (struct heft_torch_piece){.like = item->row, .as = item->as, .next = HEFT_NONE};
    if (row_number(out, item) != HEFT_NONE)
        return heft_u32map_set(&g->whole, row_number(out, item), *number, err);
    if (!shares)
        return true;
    if (first == HEFT_MAP_NONE)
        return heft_u32map_set(&g->first, item->row->storage, *number, err);
    piece->next = out->pieces[first].next;
    out->pieces[first].next = *number;
    if (item->bytes > 0 && g->n_apart++ < NAMES_SHOWN) {
        heft_buf_text(&g->apart, ", ");
        heft_buf_str(&g->apart, item->name);
    }
    return true;
}

static bool group_items(struct grouping *g, struct heft_error *err)
{
    for (size_t i = 0; i < g->out->n_items; i++) {
        const struct heft_export_item *item = &g->out->items[i];
        struct heft_torch_piece *piece;
        uint32_t number;

        if (!check_pairs(item, err) || !find_piece(g, item, &number, err))
            return false;
        piece = &g->out->pieces[number];
        if (!item->row->parts)
            heft_byte_range_add(&piece->range, heft_byte_range_of(item->row));
        piece->items++;
        g->out->piece_of[i] = number;
    }
    return true;
}

uint64_t heft_torch_offset(const struct heft_torch_piece *piece,
                           const struct heft_export_item *item)
{
    const struct heft_row *row = item->row;

    if (row->parts || row->offset < piece->range.begin) /* empty rows may lie outside the range */
        return 0;
    return elements_of((enum heft_dtype)row->dtype, (enum heft_dtype)item->as,
                       row->offset - piece->range.begin);
}

uint64_t heft_torch_elements(const struct heft_torch_piece *piece)
{
    const struct heft_row *row = piece->like;
    const uint64_t bytes = row->parts ? row->bytes : piece->range.end - piece->range.begin;

    return elements_of((enum heft_dtype)row->dtype, (enum heft_dtype)piece->as, bytes);
}

uint64_t heft_torch_bytes(const struct heft_torch_piece *piece)
{
    return heft_torch_elements(piece) * each_of((enum heft_dtype)piece->as);
}

/* Checks that heft_torch_bytes cannot overflow. */
static bool check_size(const struct heft_torch_piece *piece, struct heft_error *err)
{
    uint64_t bytes;

    return heft_mul(heft_torch_elements(piece), each_of((enum heft_dtype)piece->as), &bytes) ||
           heft_fail(err, HEFT_LIMIT, HEFT_NO_OFFSET, "2^64 bytes or more after the cast");
}

/* The piece as a one-dimensional row; the plan keeps it if it is more than a copy. */
static const struct heft_row *row_of(const struct heft_torch_out *out,
                                     const struct heft_torch_piece *piece, struct heft_error *err)
{
    struct heft_row *row = heft_arena_zero(out->plan->mem, 1, sizeof *row, err);
    uint64_t *shape = row ? heft_arena_u64(out->plan->mem, 1, err) : NULL;

    if (!shape)
        return NULL;
    *shape = elements_of((enum heft_dtype)piece->like->dtype, HEFT_DTYPE_COUNT,
                         piece->range.end - piece->range.begin);
    *row = *piece->like;
    row->rank = 1;
    row->shape = shape;
    row->stride = row->original_strides = NULL;
    row->offset = piece->range.begin;
    row->bytes = piece->range.end - piece->range.begin;
    return row;
}

static bool note_apart(struct grouping *g, struct heft_error *err)
{
    struct heft_plan *plan = g->out->plan;
    struct heft_str names;

    if (g->n_apart == 0)
        return true;
    if (g->n_apart > NAMES_SHOWN)
        heft_buf_printf(&g->apart, " and %zu more", g->n_apart - NAMES_SHOWN);
    return heft_buf_take(&g->apart, plan->mem, &names, err) &&
           heft_plan_note(
               plan,
               heft_arena_printf(
                   plan->mem, err,
                   "a storage is no longer shared, because of another dtype or conjugation: %s",
                   names.p + 2),
               err);
}

bool heft_torch_out_group(struct heft_torch_out *out, struct heft_error *err)
{
    struct grouping g = {.out = out};
    bool ok;

    out->pieces = heft_arena_zero(&out->scratch, out->n_items + 1, sizeof *out->pieces, err);
    out->piece_of = heft_arena_zero(&out->scratch, out->n_items + 1, sizeof *out->piece_of, err);
    out->turn = heft_arena_alloc(&out->scratch, (out->n_items + 1) * sizeof *out->turn, err);
    ok = out->pieces && out->piece_of && out->turn && group_items(&g, err) && note_apart(&g, err);
    for (size_t i = 0; ok && i < out->n_pieces; i++) {
        out->turn[i] = HEFT_NONE;
        ok = check_size(&out->pieces[i], err);
    }
    heft_u32map_release(&g.first);
    heft_u32map_release(&g.whole);
    heft_buf_release(&g.apart);
    return ok;
}

bool heft_torch_out_put(struct heft_torch_out *out, struct heft_torch_piece *piece,
                        struct heft_error *err)
{
    const struct heft_row *like = piece->like;
    struct heft_export_item item = {
        .row = like, .name = like->name, .as = piece->as, .bytes = heft_torch_bytes(piece)};

    piece->at = out->plan->files[out->file].size;
    if (!like->parts && !like->stride && like->bytes == piece->range.end - piece->range.begin)
        return heft_plan_item(out->plan, out->file, &item, err); /* the row is the whole piece */
    if (!like->parts)
        item.row = row_of(out, piece, err);
    return item.row && heft_plan_item(out->plan, out->file, &item, err);
}

void heft_torch_out_place(struct heft_torch_out *out)
{
    for (size_t i = 0; i < out->n_items; i++) {
        const uint32_t origin = out->origin ? out->origin[i] : (uint32_t)i;
        const struct heft_export_item *item = &out->items[i];
        const struct heft_torch_piece *piece = &out->pieces[out->piece_of[i]];

        if (origin != HEFT_NONE)
            heft_plan_place(out->plan, &out->exports->items[origin],
                            piece->at + heft_torch_offset(piece, item) *
                                            each_of((enum heft_dtype)item->as));
    }
}
