/* quant_mxfp4.c: the experts of gpt-oss (`quant_method: mxfp4`).
 *
 *     P_blocks U8 [E, R, G, 16]   byte j of group g: columns 32g+2j (low nibble) and 32g+2j+1 of row r
 *     P_scales U8 [E, R, G]       2^(e − 127)
 *     P        [E, 32·G, R]       transposed: element (c, r) = E2M1[code] · scale(r, c / 32)
 *
 * Names and shapes suffice to recognise it. A range of the output is cut into tiles of rows r and groups g,
 * whose codes are gathered, and written in the other order. */
#include <math.h>

#include "core/cast.h"
#include "quant/quant.h"
#include "quant/quant_runs.h"

#define GROUP    32                   /* columns of a scale */
#define CODES    16                   /* bytes of a group */
#define TILE     ((uint64_t)64 << 10) /* groups of a tile at most, with all their rows */
#define ROWS     128                  /* rows that are transposed at once */
#define WIDEST   16                   /* bytes of an element of any dtype */
#define E8M0_NAN 255

struct experts {
    const struct heft_row *blocks, *scales;
    uint64_t rows, groups; /* R and G */
};

struct tiling {
    const struct experts *x;
    struct heft_reader *reader;
    struct heft_quant_table table;
    float scales[256]; /* of an exponent */
    uint8_t *codes, *exponents;
    float *values;         /* of a group and ROWS rows, by columns */
    uint8_t *cast;         /* the same in the dtype of the output */
    enum heft_dtype as;    /* of the output */
    uint64_t each;         /* bytes of an element of it */
    uint64_t infinite;     /* finite values that became infinite in F32 … */
    uint64_t overflowed;   /* … and in the output */
    struct heft_arena mem; /* of slices */
    struct heft_error *err;
};

/* Rows [r, r_end) and columns [c, c_end) of a slice; out[0] is element (c, r). */
struct tile {
    uint64_t slice, r, r_end, c, c_end;
    uint8_t *out;
    uint64_t step; /* elements from one column to the next */
};

/* ---- one tile ------------------------------------------------------------------------------------ */

static bool load_slice(struct tiling *t, const struct heft_row *row, const struct tile *tile,
                       uint8_t *out)
{
    const uint64_t from = tile->c / GROUP, to = (tile->c_end - 1) / GROUP + 1;
    const unsigned lead = t->x->scales->rank - 2u; /* 0 or 1 */
    struct heft_range ranges[3] = {{tile->slice, tile->slice + 1, false}};
    struct heft_row slice;

    ranges[lead] = (struct heft_range){tile->r, tile->r_end, false};
    ranges[lead + 1] = (struct heft_range){from, to, false};
    return heft_row_slice(row, ranges, lead + 2, &t->mem, &slice, t->err) &&
           heft_reader_row(t->reader, &slice, 0, out, (size_t)slice.bytes, t->err);
}

static bool check_exponents(struct tiling *t, const uint8_t *exponents, uint64_t n)
{
    const uint8_t *const bad = memchr(exponents, E8M0_NAN, (size_t)n);

    return !bad || heft_fail(t->err, HEFT_UNSUPPORTED, HEFT_NO_OFFSET, "a scale of %.200s is NaN",
                             t->x->scales->name.p);
}

/* All columns of a group, for n rows: column c is at out + c · n. */
static void make_columns(const struct tiling *t, const uint8_t *codes, uint64_t stride,
                         const float *scales, size_t n, float *out)
{
    for (unsigned j = 0; j < CODES; j++) {
        float *const low = out + 2 * j * n, *const high = low + n;

        for (size_t i = 0; i < n; i++) {
            const float *const pair = t->table.pair[codes[i * stride + j]];

            low[i] = pair[0] * scales[i];
            high[i] = pair[1] * scales[i];
        }
    }
}

/* Exponents from 253 on may make values infinite. */
static uint64_t count_infinite(const float *values, size_t n)
{
    uint64_t infinite = 0;

    for (size_t i = 0; i < n; i++)
        infinite += isinf(values[i]) != 0;
    return infinite;
}

/* Group g, for n rows from row r of the tile. */
static void make_group(struct tiling *t, const struct tile *tile, uint64_t g, uint64_t r, size_t n)
{
    const uint64_t first = tile->c / GROUP, width = (tile->c_end - 1) / GROUP + 1 - first;
    const uint8_t *const exponents = t->exponents + r * width + (g - first);
    const uint64_t from = heft_max_u64(tile->c, g * GROUP);
    const uint64_t to = heft_min_u64(tile->c_end, (g + 1) * GROUP);
    float scales[ROWS];
    bool large = false;

    for (size_t i = 0; i < n; i++) {
        scales[i] = t->scales[exponents[i * width]];
        large |= exponents[i * width] >= 253;
    }
    make_columns(t, t->codes + (r * width + (g - first)) * CODES, width * CODES, scales, n,
                 t->values);
    if (large)
        t->infinite += count_infinite(t->values, GROUP * n);
    heft_quant_order(t->values, (size_t)GROUP * n);
    heft_cast_elements(HEFT_F32, t->as, (const uint8_t *)(t->values + (from - g * GROUP) * n),
                       t->cast, (size_t)(to - from) * n, &t->overflowed);
    for (uint64_t c = from; c < to; c++)
        memcpy(tile->out + ((c - tile->c) * tile->step + r) * t->each,
               t->cast + (c - from) * n * t->each, (size_t)(n * t->each));
}

static bool make_tile(struct tiling *t, const struct tile *tile)
{
    const uint64_t from = tile->c / GROUP, to = (tile->c_end - 1) / GROUP + 1;
    const uint64_t rows = tile->r_end - tile->r;

    if (!load_slice(t, t->x->blocks, tile, t->codes) ||
        !load_slice(t, t->x->scales, tile, t->exponents) ||
        !check_exponents(t, t->exponents, rows * (to - from)))
        return false;
    for (uint64_t r = 0; r < rows; r += ROWS)
        for (uint64_t g = from; g < to; g++)
            make_group(t, tile, g, r, (size_t)heft_min_u64(ROWS, rows - r));
    return t->infinite == 0 || heft_derived_refuse(t->infinite, HEFT_F32, t->err);
}

/* ---- a range of the output ----------------------------------------------------------------------- */

/* Makes rows [r, r_end) of columns [c, c_end), tile by tile. */
static bool make_area(struct tiling *t, const struct tile *area)
{
    const uint64_t most = heft_min_u64(TILE, area->r_end - area->r);
    const uint64_t wide = heft_max_u64(TILE / most, 1) * GROUP; /* columns of a tile */
    struct tile tile = *area;

    for (uint64_t r = area->r; r < area->r_end; r += most)
        for (uint64_t c = area->c; c < area->c_end; c = tile.c_end) {
            tile.r = r;
            tile.r_end = heft_min_u64(area->r_end, r + most);
            tile.c = c;
            tile.c_end = heft_min_u64(area->c_end, (c / GROUP) * GROUP + wide);
            tile.out = area->out + ((c - area->c) * area->step + (r - area->r)) * t->each;
            if (!make_tile(t, &tile))
                return false;
        }
    return true;
}

static bool begin_tiling(struct tiling *t)
{
    t->codes = heft_alloc((size_t)TILE * CODES, t->err);
    t->exponents = t->codes ? heft_alloc((size_t)TILE, t->err) : NULL;
    t->values = t->exponents ? heft_alloc(sizeof(float) * GROUP * ROWS, t->err) : NULL;
    t->cast = t->values ? heft_alloc((size_t)GROUP * ROWS * WIDEST, t->err) : NULL;
    t->each = heft_dtype_element_bytes(t->as);
    heft_quant_table_e2m1(&t->table);
    for (int e = 0; e < 256; e++)
        t->scales[e] = ldexpf(1, e - 127);
    return t->cast != NULL;
}

static void end_tiling(struct tiling *t)
{
    heft_free(t->codes);
    heft_free(t->exponents);
    heft_free(t->values);
    heft_free(t->cast);
    heft_arena_release(&t->mem);
}

static bool make_experts_as(const struct heft_recipe *recipe, struct heft_reader *reader,
                            enum heft_dtype as, uint64_t first, uint64_t count, uint8_t *out,
                            uint64_t *overflowed, struct heft_error *err)
{
    struct tiling t = {.x = recipe->ctx, .reader = reader, .as = as, .err = err};
    const uint64_t rows = t.x->rows, columns = t.x->groups * GROUP;
    bool ok = begin_tiling(&t);

    for (uint64_t at = 0, n; ok && at < count; at += n) {
        const uint64_t line = (first + at) / rows, r = (first + at) % rows;
        struct tile area = {.slice = line / columns,
                            .r = r,
                            .r_end = heft_min_u64(rows, r + count - at),
                            .c = line % columns,
                            .c_end = line % columns + 1,
                            .out = out + at * t.each,
                            .step = rows};

        if (r == 0 && count - at >= rows)
            area.c_end = heft_min_u64(columns, area.c + (count - at) / rows);
        n = (area.r_end - area.r) * (area.c_end - area.c);
        ok = make_area(&t, &area);
    }
    *overflowed += t.overflowed;
    end_tiling(&t);
    return ok;
}

static bool make_experts(const struct heft_recipe *recipe, struct heft_reader *reader,
                         const struct heft_row *row, uint64_t first, uint64_t count, uint8_t *out,
                         struct heft_error *err)
{
    uint64_t none = 0;

    (void)row;
    return make_experts_as(recipe, reader, HEFT_F32, first, count, out, &none, err);
}

static bool check_experts(const struct heft_recipe *recipe, struct heft_reader *reader,
                          const struct heft_row *row, struct heft_error *err)
{
    struct tiling t = {.x = recipe->ctx, .reader = reader, .as = HEFT_F32, .err = err};
    const struct heft_row *const scales = t.x->scales;
    bool ok = begin_tiling(&t);

    (void)row;
    for (uint64_t at = 0, n; ok && at < scales->bytes; at += n) {
        n = heft_min_u64(TILE, scales->bytes - at);
        ok = heft_reader_row(reader, scales, at, t.exponents, (size_t)n, err) &&
             check_exponents(&t, t.exponents, n);
    }
    end_tiling(&t);
    return ok;
}

/* ---- recognition --------------------------------------------------------------------------------- */

static bool suits_mxfp4(const struct heft_quant_config *config)
{
    return heft_str_is(config->method, "mxfp4") || !config->quantization;
}

static bool are_blocks(const struct heft_row *blocks, const struct heft_row *scales)
{
    if (blocks->dtype != HEFT_U8 || scales->dtype != HEFT_U8 || blocks->rank != scales->rank + 1 ||
        scales->rank < 2 || scales->rank > 3 || blocks->shape[blocks->rank - 1] != CODES)
        return false;
    return heft_quant_has_shape(scales, blocks->rank - 1u, blocks->shape);
}

static bool add_experts(struct heft_quant *q, uint32_t row, struct heft_str prefix,
                        const struct heft_row *scales)
{
    const struct heft_row *const blocks = &q->model->rows[row];
    const unsigned rank = scales->rank;
    struct experts *const x = heft_arena_zero(q->mem, 1, sizeof *x, q->err);
    uint64_t *const shape = heft_arena_u64(q->mem, rank, q->err);
    const struct heft_row *sources[] = {blocks, scales};
    struct heft_quant_weight w = {.name = heft_quant_join(q, prefix, ""),
                                  .shape = shape,
                                  .rank = rank,
                                  .sources = sources,
                                  .n_sources = 2,
                                  .recipe = {.make = make_experts,
                                             .make_as = make_experts_as,
                                             .check = check_experts,
                                             .ctx = x,
                                             .identity = "mxfp4, transposed",
                                             .as = HEFT_DTYPE_COUNT}};

    if (!x || !shape || !w.name.p)
        return false;
    *x = (struct experts){blocks, scales, scales->shape[rank - 2], scales->shape[rank - 1]};
    memcpy(shape, scales->shape, rank * sizeof *shape);
    shape[rank - 1] = x->rows;
    return (heft_mul(x->groups, GROUP, &shape[rank - 2]) ||
            heft_quant_refuse(q, blocks, HEFT_LIMIT, "2^64 elements or more")) &&
           heft_quant_replace(q, row, &w);
}

static bool take_mxfp4(struct heft_quant *q, uint32_t row, bool *taken)
{
    const struct heft_row *const blocks = &q->model->rows[row];
    const bool by_config = heft_str_is(q->config->method, "mxfp4");
    const struct heft_row *scales;
    struct heft_str prefix;

    *taken = false;
    if (!heft_quant_ends(blocks->name, "_blocks", &prefix))
        return true;
    scales = heft_quant_find(q, prefix, "_scales", false);
    if (!by_config && (!scales || !are_blocks(blocks, scales)))
        return true;
    *taken = true;
    scales = heft_quant_need(q, blocks, prefix, "_scales");
    if (!scales)
        return false;
    if (!are_blocks(blocks, scales))
        return heft_quant_refuse(q, blocks, HEFT_UNSUPPORTED,
                                 "shape %s, and %.200s shape %s: expected U8 [E,R,G,16] and "
                                 "[E,R,G]",
                                 heft_quant_shape(blocks).text, scales->name.p,
                                 heft_quant_shape(scales).text);
    return add_experts(q, row, prefix, scales);
}

static const char *const companions[] = {"_scales", NULL};

const struct heft_quant_scheme heft_quant_mxfp4 = {
    .name = "mxfp4", .suits = suits_mxfp4, .take = take_mxfp4, .companions = companions};
