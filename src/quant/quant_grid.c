/* quant_grid.c: computes codes times a grid of scales.
 *
 *     elements [first, first+count) ─► pieces of at most PIECE elements: whole rows, or a part of one
 *     piece ─► its codes, and the scales of the rows and columns that it touches ─► runs of one scale
 *
 * A piece and its scales stay in a core's second-level cache. */
#include "quant/quant_grid.h"

#include <math.h>

#include "core/cast.h"
#include "quant/quant_runs.h"

enum { PIECE = 1 << 16 }; /* elements computed at once */

struct gridding {
    const struct heft_quant_grid *g;
    struct heft_reader *reader;
    struct heft_quant_table table; /* value of each code */
    uint8_t *codes;
    float *scales;   /* of one piece */
    uint8_t *stored; /* the same as they are stored */
    struct heft_error *err;
};

/* A piece: rows [row, row+n) of a slice, in each the columns [from, to). */
struct piece {
    uint64_t slice, row, n, from, to;
};
/* The scales of a piece: rows [row, row+n) of the grid, in each the columns [from, to). */
struct patch {
    uint64_t row, n, from, to;
};

/* ---- scales ------------------------------------------------------------------------------------- */

static bool refuse_scale(const struct gridding *w, const struct heft_row *row, uint64_t at,
                         const char *what)
{
    heft_fail(w->err, HEFT_UNSUPPORTED, HEFT_NO_OFFSET, "scale %" PRIu64 " of %.200s is %s", at,
              row->name.p, what);
    return false;
}

static const char *what_is_wrong(const struct heft_quant_grid *g, float scale)
{
    if (isnan(scale))
        return "NaN";
    if (isinf(scale))
        return "infinite";
    return g->scale_as == HEFT_F8_E4M3 && signbit(scale) && scale != 0 ? "negative" : NULL;
}

/* Reads n scales of the grid as they are stored, from element `at`. */
static bool read_scales(struct gridding *w, uint64_t at, size_t n, float *out)
{
    const struct heft_row *const row = w->g->scales;
    const uint64_t each = heft_dtype_element_bytes((enum heft_dtype)row->dtype);
    uint64_t ignored = 0;

    if (!heft_reader_row(w->reader, row, at * each, w->stored, (size_t)(n * each), w->err))
        return false;
    heft_cast_elements(w->g->scale_as, HEFT_F32, w->stored, (uint8_t *)out, n, &ignored);
    heft_quant_order(out, n);
    for (size_t i = 0; i < n; i++)
        if (!isfinite(out[i]) || out[i] < 0) {
            const char *const wrong = what_is_wrong(w->g, out[i]);

            if (wrong)
                return refuse_scale(w, row, at + i, wrong);
        }
    return true;
}

/* The factor of a slice; 1 if there is none. */
static bool read_factor(struct gridding *w, uint64_t slice, float *out)
{
    const struct heft_row *const row = w->g->factor;
    uint8_t bytes[4];
    uint64_t ignored = 0, at;

    *out = 1;
    if (!row)
        return true;
    at = heft_quant_elements(row) == 1 ? 0 : slice;
    if (!heft_reader_row(w->reader, row, at * sizeof bytes, bytes, sizeof bytes, w->err))
        return false;
    heft_cast_elements(HEFT_F32, HEFT_F32, bytes, (uint8_t *)out, 1, &ignored);
    heft_quant_order(out, 1);
    if (!isfinite(*out))
        return refuse_scale(w, row, at, isnan(*out) ? "NaN" : "infinite");
    return (w->g->how == HEFT_QUANT_DIVIDED && *out == 0) ? refuse_scale(w, row, at, "zero") : true;
}

static bool apply_factor(struct gridding *w, uint64_t slice, uint64_t at, size_t n, float *scales)
{
    float factor;

    if (!w->g->factor)
        return true;
    if (!read_factor(w, slice, &factor))
        return false;
    for (size_t i = 0; i < n; i++) {
        scales[i] = w->g->how == HEFT_QUANT_DIVIDED ? scales[i] / factor : scales[i] * factor;
        if (!isfinite(scales[i]))
            return refuse_scale(w, w->g->scales, at + i, "infinite with its factor");
    }
    return true;
}

/* Number of the first scale of a slice. */
static uint64_t slice_scales(const struct heft_quant_grid *g, uint64_t slice)
{
    return g->one_slice ? 0 : slice * g->grid_rows * g->grid_columns; /* at most its elements */
}

/* Reads the scales of a piece into w->scales, row by row of the patch. */
static bool load_patch(struct gridding *w, const struct piece *p, const struct patch *patch)
{
    const struct heft_quant_grid *const g = w->g;
    const uint64_t first = slice_scales(g, p->slice) + patch->row * g->grid_columns + patch->from;
    const uint64_t width = patch->to - patch->from;

    /* more than one row of the grid: the piece has whole rows, and the patch all columns */
    return read_scales(w, first, (size_t)(patch->n * width), w->scales) &&
           apply_factor(w, p->slice, first, (size_t)(patch->n * width), w->scales);
}

static struct patch patch_of(const struct heft_quant_grid *g, const struct piece *p)
{
    const uint64_t row = p->row / g->block_rows, from = p->from / g->block_columns;

    return (struct patch){row, (p->row + p->n - 1) / g->block_rows - row + 1, from,
                          (p->to - 1) / g->block_columns + 1};
}

/* ---- values ------------------------------------------------------------------------------------- */

/* Byte of the codes that has element `at`, and whether it is the high nibble. */
static uint64_t code_byte(const struct heft_quant_grid *g, uint64_t at)
{
    return g->code == HEFT_QUANT_CODE_E2M1 ? at / 2 : at;
}

static bool load_codes(struct gridding *w, uint64_t first, uint64_t count)
{
    const uint64_t from = code_byte(w->g, first), to = code_byte(w->g, first + count - 1) + 1;

    return heft_reader_row(w->reader, w->g->codes, from, w->codes, (size_t)(to - from), w->err);
}

/* Computes the run of n elements of one scale: `at` counts from the piece's first element. */
static void make_run(const struct gridding *w, uint64_t first, uint64_t at, size_t n, float scale,
                     float *out)
{
    const uint64_t begin = code_byte(w->g, first + at) - code_byte(w->g, first);

    if (w->g->code == HEFT_QUANT_CODE_E2M1)
        heft_quant_run_e2m1(&w->table, w->codes + begin, (first + at) % 2 != 0, n, scale, out);
    else
        heft_quant_run_bytes(&w->table, w->codes + begin, n, scale, out);
}

/* One row of a piece. `line`: its row of the patch. */
static void make_line(const struct gridding *w, const struct piece *p, uint64_t first, uint64_t at,
                      const float *line, float *out)
{
    const uint64_t width = w->g->block_columns;
    uint64_t end;

    if (width == 1) {
        heft_quant_line_bytes(&w->table,
                              w->codes + code_byte(w->g, first + at) - code_byte(w->g, first),
                              (size_t)(p->to - p->from), line, out);
        return;
    }
    for (uint64_t c = p->from; c < p->to; c = end) {
        end = heft_min_u64(p->to, (c / width + 1) * width);
        make_run(w, first, at + (c - p->from), (size_t)(end - c), *line++, out + (c - p->from));
    }
}

/* Whether a finite code became infinite. Tested for each element only if a scale is large enough. */
static bool check_range(const struct gridding *w, const struct piece *p, const struct patch *patch,
                        const float *out)
{
    const size_t n = (size_t)(patch->n * (patch->to - patch->from));
    const size_t count = (size_t)(p->n * (p->to - p->from));
    float most = 0;
    size_t infinite = 0;

    for (size_t i = 0; i < n; i++)
        most = fabsf(w->scales[i]) > most ? fabsf(w->scales[i]) : most;
    if (isfinite(most * w->table.most))
        return true;
    for (size_t i = 0; i < count; i++)
        infinite += isinf(out[i]) != 0;
    return infinite == 0 || w->table.has_infinity ||
           heft_derived_refuse(infinite, HEFT_F32, w->err);
}

static bool make_piece(struct gridding *w, const struct piece *p, uint64_t first, float *out)
{
    const struct heft_quant_grid *const g = w->g;
    const struct patch patch = patch_of(g, p);
    const uint64_t width = p->to - p->from;

    if (!load_codes(w, first, p->n * width) || !load_patch(w, p, &patch))
        return false;
    for (uint64_t r = 0; r < p->n; r++)
        make_line(w, p, first, r * width,
                  w->scales + ((p->row + r) / g->block_rows - patch.row) * (patch.to - patch.from),
                  out + r * width);
    if (!check_range(w, p, &patch, out))
        return false;
    heft_quant_order(out, (size_t)(p->n * width));
    return true;
}

/* The largest piece that starts at element `first` and has at most `most` elements. */
static struct piece cut_piece(const struct heft_quant_grid *g, uint64_t first, uint64_t most)
{
    const uint64_t line = first / g->columns, from = first % g->columns;
    struct piece p = {line / g->rows, line % g->rows, 1, from, 0};

    p.to = heft_min_u64(g->columns, from + most);
    if (from == 0 && most >= g->columns) {
        p.n = heft_min_u64(most / g->columns, g->rows - p.row);
        p.to = g->columns;
    }
    return p;
}

static bool begin_gridding(struct gridding *w)
{
    /* one scale for each element, and one row of the grid more than a piece has */
    const size_t scales = (size_t)2 * PIECE;

    w->codes = heft_alloc(PIECE + 1, w->err);
    w->scales = w->codes ? heft_alloc(scales * sizeof *w->scales, w->err) : NULL;
    w->stored = w->scales ? heft_alloc(scales * sizeof(float), w->err) : NULL;
    if (!w->stored)
        return false;
    if (w->g->code == HEFT_QUANT_CODE_E2M1)
        heft_quant_table_e2m1(&w->table);
    else
        heft_quant_table_bytes(&w->table, (enum heft_dtype)w->g->codes->dtype);
    return true;
}

static void end_gridding(struct gridding *w)
{
    heft_free(w->codes);
    heft_free(w->scales);
    heft_free(w->stored);
}

static bool make_grid(const struct heft_recipe *recipe, struct heft_reader *reader,
                      const struct heft_row *row, uint64_t first, uint64_t count, uint8_t *out,
                      struct heft_error *err)
{
    struct gridding w = {.g = recipe->ctx, .reader = reader, .err = err};
    bool ok = begin_gridding(&w);

    (void)row;
    for (uint64_t at = 0, n; ok && at < count; at += n) {
        const struct piece p = cut_piece(w.g, first + at, heft_min_u64(PIECE, count - at));

        n = p.n * (p.to - p.from);
        ok = make_piece(&w, &p, first + at, (float *)(void *)(out + at * sizeof(float)));
    }
    end_gridding(&w);
    return ok;
}

/* Reads all scales, without the codes. */
static bool check_grid(const struct heft_recipe *recipe, struct heft_reader *reader,
                       const struct heft_row *row, struct heft_error *err)
{
    struct gridding w = {.g = recipe->ctx, .reader = reader, .err = err};
    const uint64_t all = heft_quant_elements(w.g->scales);
    const uint64_t slice = w.g->grid_rows * w.g->grid_columns;
    bool ok = begin_gridding(&w);

    (void)row;
    for (uint64_t at = 0, n; ok && at < all; at += n) {
        n = heft_min_u64(heft_min_u64(PIECE, all - at), slice - at % slice);
        ok = read_scales(&w, at, (size_t)n, w.scales) &&
             apply_factor(&w, at / slice, at, (size_t)n, w.scales);
    }
    end_gridding(&w);
    return ok;
}

/* ---- shapes ------------------------------------------------------------------------------------- */

/* dtype of stored scales; HEFT_DTYPE_COUNT if it is another one. */
static enum heft_dtype scale_dtype(enum heft_dtype stored)
{
    switch (stored) {
    case HEFT_F32:
    case HEFT_BF16:
    case HEFT_F16:
    case HEFT_F8_E8M0:
    case HEFT_F8_E4M3:
        return stored;
    case HEFT_U8:
        return HEFT_F8_E8M0;
    default:
        return HEFT_DTYPE_COUNT;
    }
}

bool heft_quant_grid_begin(struct heft_quant *q, struct heft_quant_grid *g)
{
    const struct heft_row *const w = g->codes;

    if (w->rank < 2)
        return heft_quant_refuse(q, w, HEFT_UNSUPPORTED,
                                 "a quantized weight of shape %s, expected two dimensions or more",
                                 heft_quant_shape(w).text);
    g->scale_as = scale_dtype((enum heft_dtype)g->scales->dtype);
    if (g->scale_as == HEFT_DTYPE_COUNT)
        return heft_quant_refuse(q, w, HEFT_UNSUPPORTED, "scales of dtype %s in %.200s",
                                 heft_dtype_name((enum heft_dtype)g->scales->dtype),
                                 g->scales->name.p);
    g->rows = w->shape[w->rank - 2];
    g->columns = w->shape[w->rank - 1];
    return g->code != HEFT_QUANT_CODE_E2M1 || heft_mul(g->columns, 2, &g->columns) ||
           heft_quant_refuse(q, w, HEFT_LIMIT, "2^64 elements or more");
}

static uint64_t blocks_of(uint64_t n, uint64_t block)
{
    return n / block + (n % block != 0);
}

bool heft_quant_grid_blocks(struct heft_quant *q, struct heft_quant_grid *g,
                            const uint64_t block[2])
{
    const struct heft_row *const w = g->codes, *const s = g->scales;
    bool fits = s->rank == w->rank;

    g->block_rows = block[0];
    g->block_columns = block[1];
    g->grid_rows = blocks_of(g->rows, block[0]);
    g->grid_columns = blocks_of(g->columns, block[1]);
    for (unsigned d = 0; fits && d + 2 < w->rank; d++)
        fits = s->shape[d] == w->shape[d];
    if (fits && s->shape[s->rank - 2] == g->grid_rows && s->shape[s->rank - 1] == g->grid_columns)
        return true;
    return heft_quant_refuse(q, w, HEFT_UNSUPPORTED,
                             "%" PRIu64 " x %" PRIu64 " values in blocks of %" PRIu64 " x %" PRIu64
                             " need %" PRIu64 " x %" PRIu64 " scales, %.200s has shape %s",
                             g->rows, g->columns, block[0], block[1], g->grid_rows, g->grid_columns,
                             s->name.p, heft_quant_shape(s).text);
}

/* ---- the derived row ---------------------------------------------------------------------------- */

static const char *identity_of(struct heft_quant *q, const struct heft_quant_grid *g,
                               const char *scheme)
{
    return heft_arena_printf(q->mem, q->err,
                             "%s, codes %d, scales %s, factor %d, blocks %" PRIu64 " x %" PRIu64
                             ", grid %" PRIu64 " x %" PRIu64,
                             scheme, (int)g->code, heft_dtype_name(g->scale_as), (int)g->how,
                             g->block_rows, g->block_columns, g->grid_rows, g->grid_columns);
}

bool heft_quant_grid_add(struct heft_quant *q, uint32_t row, struct heft_str name,
                         const struct heft_quant_grid *grid, enum heft_dtype as,
                         const char *identity)
{
    struct heft_quant_grid *const copy = heft_arena_zero(q->mem, 1, sizeof *copy, q->err);
    uint64_t *const shape = heft_arena_u64(q->mem, grid->codes->rank, q->err);
    uint64_t bytes;
    const struct heft_row *sources[] = {grid->codes, grid->scales, grid->factor};
    struct heft_quant_weight w = {.name = name,
                                  .shape = shape,
                                  .rank = grid->codes->rank,
                                  .sources = sources,
                                  .n_sources = grid->factor ? 3 : 2,
                                  .recipe = {.make = make_grid,
                                             .check = check_grid,
                                             .ctx = copy,
                                             .piece = PIECE,
                                             .as = (uint8_t)as}};

    if (!copy || !shape)
        return false;
    *copy = *grid;
    memcpy(shape, grid->codes->shape, grid->codes->rank * sizeof *shape);
    shape[w.rank - 1] = grid->columns;
    if (!heft_row_size(HEFT_F32, w.rank, shape, &bytes))
        return heft_quant_refuse(q, grid->codes, HEFT_LIMIT, "2^64 bytes or more");
    w.recipe.identity = identity_of(q, grid, identity);
    return w.recipe.identity && heft_quant_replace(q, row, &w);
}
