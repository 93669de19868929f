/* int_weight.c: computes values of weights of integer codes.
 *
 *     elements [first, first+count) ─► tiles: whole rows, or a piece of one row
 *     tile ─► stored codes, scales and zero points of its rows and groups: one box each
 *          ─► for each row: unpack PIECE codes at a time ─► values (int_values.c)
 *
 * A tile has as many rows as fit MEMORY, because each box of a transposed matrix costs a read for
 * each of its stored rows. */
#include "quant/int_weight.h"

#include "base/endian.h"
#include "core/cast.h"
#include "core/small_floats.h"
#include "quant/bit_stream.h"
#include "quant/int_values.h"

enum {
    PIECE = 2048,           /* codes that are unpacked at once, in the first-level cache */
    MOST_COLUMNS = 1 << 16, /* of a tile that is a piece of a row */
    NIBBLES = 8,            /* codes of a word of AWQ */
};
#define MEMORY ((uint64_t)2 << 20)

struct tile {
    const struct heft_int_weight *weight;
    struct heft_reader *reader;
    uint64_t row, rows, column, columns;
    uint64_t group, groups; /* those of the columns; all, if there is an index */
    struct heft_box stored; /* of the codes */
    uint64_t code;          /* index of the first code in a stored row */
    uint8_t *memory, *raw_codes, *raw;
    float *scales, *zeros; /* [rows, groups] */
    uint32_t *index;       /* [columns], relative to the first column */
    struct heft_error *err;
};

/* ---- size of a tile ------------------------------------------------------------------------ */

static bool has_stream(const struct heft_int_weight *w)
{
    return w->codes_as == HEFT_INT_STREAM || w->codes_as == HEFT_INT_WORDS;
}

static void choose_groups(struct tile *t)
{
    const struct heft_int_weight *const w = t->weight;

    if (w->index.row) {
        t->group = 0;
        t->groups = w->groups;
        return;
    }
    t->group = t->column / w->group_size;
    t->groups = (t->column + t->columns - 1) / w->group_size - t->group + 1;
}

/* Bytes of memory of a tile of that many rows; see carve_memory. */
static uint64_t codes_bytes(const struct tile *t, uint64_t rows)
{
    const struct heft_int_weight *const w = t->weight;

    if (w->codes_as == HEFT_INT_BYTES)
        return rows * t->columns;
    if (w->codes_as == HEFT_INT_NIBBLES)
        return (rows / NIBBLES + 2) * t->columns * 4;
    return rows * ((t->columns + 32) / (32 / w->bits) + 1) * 4;
}

static uint64_t raw_bytes(const struct tile *t, uint64_t rows)
{
    return t->groups * (rows * 4 + 64);
}

static uint64_t tile_bytes(const struct tile *t, uint64_t rows)
{
    return codes_bytes(t, rows) + raw_bytes(t, rows) + 2 * 4 * rows * t->groups + 4 * t->columns;
}

/* Chooses the tile that begins at an element: whole rows, or a piece of one row, which has fewer columns if its
 * groups are small. */
static bool choose_tile(struct tile *t, uint64_t first, uint64_t count)
{
    const struct heft_int_weight *const w = t->weight;
    uint64_t most;

    t->row = first / w->columns;
    t->column = first % w->columns;
    t->rows = 1;
    t->columns = heft_min_u64(heft_min_u64(w->columns - t->column, count), MOST_COLUMNS);
    for (choose_groups(t); tile_bytes(t, 1) > MEMORY; choose_groups(t)) {
        if (w->index.row)
            return heft_fail(t->err, HEFT_LIMIT, HEFT_NO_OFFSET,
                             "%" PRIu64 " groups, and an index of them: more than a piece of a row "
                             "can have",
                             w->groups);
        t->columns = t->columns / 2;
    }
    if (t->columns < w->columns)
        return true;
    most = heft_min_u64(count / w->columns, w->slice - t->row % w->slice);
    while (t->rows < most && tile_bytes(t, heft_min_u64(2 * t->rows, most)) <= MEMORY)
        t->rows = heft_min_u64(2 * t->rows, most);
    return true;
}

static bool carve_memory(struct tile *t)
{
    const uint64_t cells = t->rows * t->groups;

    t->memory = heft_alloc((size_t)tile_bytes(t, t->rows), t->err);
    if (!t->memory)
        return false;
    t->scales = (float *)(void *)t->memory;
    t->zeros = t->scales + cells;
    t->index = (uint32_t *)(void *)(t->zeros + cells);
    t->raw = t->memory + 4 * (2 * cells + t->columns);
    t->raw_codes = t->raw + raw_bytes(t, t->rows);
    return true;
}

/* ---- parameters ---------------------------------------------------------------------------- */

static bool refuse_cell(const struct tile *t, const struct heft_matrix *m, uint64_t row,
                        uint64_t column, const char *what)
{
    heft_fail(t->err, HEFT_UNSUPPORTED, HEFT_NO_OFFSET, "element [%" PRIu64 ",%" PRIu64 "] %s", row,
              column, what);
    return heft_error_about(t->err, "tensor", m->row->name);
}

/* Reads the cells of a matrix [rows, groups] as F32, which have to be finite. */
static bool load_floats(const struct tile *t, const struct heft_matrix *m, enum heft_dtype dtype,
                        float *out)
{
    const struct heft_box box = {t->row, t->rows, t->group, t->groups};
    const size_t cells = (size_t)(t->rows * t->groups);
    uint64_t overflowed = 0;

    if (!heft_matrix_read(m, t->reader, &box, t->raw, t->err))
        return false;
    heft_cast_elements(dtype, HEFT_F32, t->raw, (uint8_t *)out, cells, &overflowed);
    for (size_t i = 0; i < cells; i++) {
        uint32_t bits;

        heft_copy_le(&bits, &out[i], 4);
        if ((bits & HEFT_F32_ABS) >= HEFT_F32_INF)
            return refuse_cell(t, m, t->row + i / t->groups, t->group + i % t->groups,
                               "is not a finite number");
        if (dtype == HEFT_F8_E4M3 && bits >> 31)
            return refuse_cell(t, m, t->row + i / t->groups, t->group + i % t->groups,
                               "is negative; a scale has to be positive");
        out[i] = heft_float_of_bits(bits);
    }
    return true;
}

static bool take_zero(const struct tile *t, uint64_t row, uint64_t group, uint8_t code)
{
    const struct heft_int_weight *const w = t->weight;
    float *const zero = &t->zeros[row * t->groups + group];
    const int32_t value = w->base + code;

    if (w->only_zero >= 0 && code != w->only_zero)
        return refuse_cell(t, &w->zeros, t->group + group, t->row + row,
                           "is another zero point than the first one, but the configuration says "
                           "that the quantization is symmetric");
    *zero = (float)value;
    if (w->full == HEFT_INT_FULL_KEPT || code != (1u << w->bits) - 1)
        return true;
    if (w->full == HEFT_INT_FULL_REFUSED)
        return refuse_cell(t, &w->zeros, t->group + group, t->row + row,
                           "is a zero point that, plus 1, needs more bits than a code; programs "
                           "differ in what they read: use option gptq_zero");
    *zero = 0.0f;
    return true;
}

/* A stream of zero points along the rows of a slice, for each group. */
static bool load_zero_stream(const struct tile *t)
{
    const struct heft_int_weight *const w = t->weight;
    const bool in_words = w->zeros_as == HEFT_INT_ZERO_WORDS;
    const unsigned period = heft_bit_stream_period(w->bits, in_words);
    const uint64_t local = t->row % w->slice, from = local / period;
    const uint64_t each = in_words ? 1 : w->bits; /* words a period */
    const size_t first = (size_t)(local % period);
    struct heft_box box = {.row = t->group, .rows = t->groups, .column = from * each};
    struct heft_matrix slice = w->zeros;
    uint8_t codes[PIECE];

    if (!heft_bit_stream_words(w->bits, in_words, first + t->rows, &box.columns))
        return false; /* cannot happen: a tile is small */
    box.column += t->row / w->slice * (w->zeros.columns / (w->rows / w->slice));
    if (!heft_matrix_read(&slice, t->reader, &box, t->raw, t->err))
        return false;
    for (uint64_t g = 0; g < t->groups; g++)
        for (size_t i = 0, some; i < t->rows; i += some) {
            const uint8_t *const p = t->raw + g * box.columns * 4;

            some = heft_min_size(PIECE, t->rows - i);
            if (in_words)
                heft_bit_stream_word_codes(p, w->bits, first + i, some, codes);
            else
                heft_bit_stream_codes(p, w->bits, first + i, some, codes);
            for (size_t k = 0; k < some; k++)
                if (!take_zero(t, i + k, g, codes[k]))
                    return false;
        }
    return true;
}

/* Position of a column of AWQ among the nibbles of its word. */
static unsigned nibble_of(uint64_t column)
{
    static const uint8_t positions[NIBBLES] = {0, 4, 1, 5, 2, 6, 3, 7};

    return 4u * positions[column % NIBBLES];
}

static bool load_zero_nibbles(const struct tile *t)
{
    const struct heft_int_weight *const w = t->weight;
    const uint64_t from = t->row / NIBBLES, end = (t->row + t->rows - 1) / NIBBLES + 1;
    const struct heft_box box = {t->group, t->groups, from, end - from};

    if (!heft_matrix_read(&w->zeros, t->reader, &box, t->raw, t->err))
        return false;
    for (uint64_t g = 0; g < t->groups; g++)
        for (uint64_t i = 0; i < t->rows; i++) {
            const uint64_t word = (t->row + i) / NIBBLES - from;
            const uint32_t eight = heft_le32(t->raw + 4 * (g * box.columns + word));

            if (!take_zero(t, i, g, eight >> nibble_of(t->row + i) & 15))
                return false;
        }
    return true;
}

static bool load_zero_bytes(const struct tile *t)
{
    const struct heft_int_weight *const w = t->weight;
    const struct heft_box box = {t->row, t->rows, t->group, t->groups};

    if (!heft_matrix_read(&w->zeros, t->reader, &box, t->raw, t->err))
        return false;
    for (size_t i = 0; i < t->rows * t->groups; i++)
        t->zeros[i] = (float)(w->base + (int8_t)t->raw[i]);
    return true;
}

static bool load_zeros(const struct tile *t)
{
    const struct heft_int_weight *const w = t->weight;

    if (w->formula == HEFT_INT_BIASED)
        return load_floats(t, &w->zeros, (enum heft_dtype)w->zeros.row->dtype, t->zeros);
    switch (w->zeros_as) {
    case HEFT_INT_ZERO_BYTES:
        return load_zero_bytes(t);
    case HEFT_INT_ZERO_STREAM:
    case HEFT_INT_ZERO_WORDS:
        return load_zero_stream(t);
    case HEFT_INT_ZERO_NIBBLES:
        return load_zero_nibbles(t);
    default:
        for (size_t i = 0; i < t->rows * t->groups; i++)
            t->zeros[i] = (float)w->base;
        return true;
    }
}

/* Groups of the columns of the tile. */
static bool load_index(const struct tile *t)
{
    const struct heft_matrix *const m = &t->weight->index;
    const struct heft_box box = {t->column, t->columns, 0, 1};

    if (!m->row)
        return true;
    if (!heft_matrix_read(m, t->reader, &box, t->index, t->err))
        return false;
    for (uint64_t i = 0; i < t->columns; i++) {
        const uint32_t group = heft_le32((const uint8_t *)&t->index[i]);

        if (group >= t->weight->groups)
            return heft_fail(t->err, HEFT_MALFORMED, HEFT_NO_OFFSET,
                             "element %" PRIu64 " is group %" PRId32
                             "; the groups are 0 to %" PRIu64,
                             t->column + i, (int32_t)group, t->weight->groups - 1) ||
                   heft_error_about(t->err, "tensor", m->row->name);
        t->index[i] = group;
    }
    return true;
}

static bool load_parameters(const struct tile *t)
{
    const struct heft_int_weight *const w = t->weight;

    return load_floats(t, &w->scales, (enum heft_dtype)w->scale_dtype, t->scales) &&
           load_zeros(t) && load_index(t);
}

/* ---- codes --------------------------------------------------------------------------------- */

static bool load_codes(struct tile *t)
{
    const struct heft_int_weight *const w = t->weight;
    const bool in_words = w->codes_as == HEFT_INT_WORDS;
    struct heft_box box = {t->row, t->rows, t->column, t->columns};

    t->code = 0;
    if (has_stream(w)) {
        const unsigned period = heft_bit_stream_period(w->bits, in_words);

        t->code = t->column % period;
        box.column = t->column / period * (in_words ? 1 : w->bits);
        if (!heft_bit_stream_words(w->bits, in_words, t->code + t->columns, &box.columns))
            return false; /* cannot happen: a tile is small */
    } else if (w->codes_as == HEFT_INT_NIBBLES) {
        box.row = t->row / NIBBLES;
        box.rows = (t->row + t->rows - 1) / NIBBLES + 1 - box.row;
    }
    t->stored = box;
    if (has_stream(w)) { /* the elements of the row may be bytes of words */
        const uint64_t each = heft_dtype_block_bytes((enum heft_dtype)w->codes.row->dtype);

        box.column *= 4 / each;
        box.columns *= 4 / each;
    }
    return heft_matrix_read(&w->codes, t->reader, &box, t->raw_codes, t->err);
}

static void unpack_awq(const uint8_t *words, unsigned shift, size_t n, uint8_t *codes)
{
    for (size_t i = 0; i < n; i++)
        codes[i] = (uint8_t)(heft_le32(words + 4 * i) >> shift & 15);
}

/* Unpacks codes of row `row` of the tile, from its column `at` on. */
static void unpack_codes(const struct tile *t, uint64_t row, size_t at, size_t n, uint8_t *codes)
{
    const struct heft_int_weight *const w = t->weight;
    const uint8_t *const p = t->raw_codes + row * t->stored.columns * 4;

    switch (w->codes_as) {
    case HEFT_INT_BYTES:
        memcpy(codes, t->raw_codes + row * t->columns + at, n);
        heft_int_values_unsign(codes, n);
        break;
    case HEFT_INT_STREAM:
        heft_bit_stream_codes(p, w->bits, (size_t)t->code + at, n, codes);
        break;
    case HEFT_INT_WORDS:
        heft_bit_stream_word_codes(p, w->bits, (size_t)t->code + at, n, codes);
        break;
    default:
        unpack_awq(t->raw_codes + ((t->row + row) / NIBBLES - t->stored.row) * t->columns * 4 +
                       at * 4,
                   nibble_of(t->row + row), n, codes);
    }
}

/* ---- values -------------------------------------------------------------------------------- */

static void put_table(const uint8_t *codes, uint64_t first, size_t n,
                      const struct heft_int_groups *groups, const struct heft_int_weight *w,
                      uint8_t *out)
{
    for (size_t i = 0, some; i < n; i += some) {
        const float scale = groups->scales[(first + i) / groups->size];

        some = heft_min_size(n - i, groups->size - (first + i) % groups->size);
        if (w->bits == 4)
            heft_int_values_table(codes + i, some, w->table, scale, out + 4 * i);
        else
            heft_int_values_bytes(codes + i, some, w->table, scale, out + 4 * i);
    }
}

/* Values of n columns of a row from column `at` of the tile on. */
static void put_values(const struct tile *t, uint64_t row, size_t at, size_t n,
                       const uint8_t *codes, bool is_exact, uint8_t *out)
{
    const struct heft_int_weight *const w = t->weight;
    const struct heft_int_groups groups = {t->scales + row * t->groups, t->zeros + row * t->groups,
                                           w->group_size};
    /* column, relative to the first one of the tile's first group */
    const uint64_t first = w->index.row ? 0 : t->column - t->group * w->group_size + at;
    const enum heft_dtype product = (enum heft_dtype)(is_exact ? HEFT_F32 : w->scale_dtype);

    if (w->index.row)
        heft_int_values_indexed(codes, t->index + at, n, &groups, out);
    else if (w->formula == HEFT_INT_BIASED)
        heft_int_values_biased(codes, first, n, &groups, product, out);
    else if (w->formula == HEFT_INT_TABLE)
        put_table(codes, first, n, &groups, w, out);
    else if (w->formula == HEFT_INT_ROW_MAX)
        heft_int_values_row_max(codes, n, groups.scales[0], out);
    else
        heft_int_values_affine(codes, first, n, &groups, out);
}

/* Finite codes and scales with an infinite product. */
static bool check_finite(const struct tile *t, const uint8_t *values, size_t n)
{
    return !heft_int_values_exceed(values, n) ||
           heft_fail(t->err, HEFT_UNSUPPORTED, HEFT_NO_OFFSET,
                     "a code times its scale exceeds the range of numbers");
}

static bool make_tile(struct tile *t, bool is_exact, uint8_t *out)
{
    uint8_t codes[PIECE];

    if (!load_parameters(t) || !load_codes(t))
        return false;
    for (uint64_t row = 0; row < t->rows; row++)
        for (size_t at = 0, some; at < t->columns; at += some) {
            some = heft_min_size(PIECE, t->columns - at);
            unpack_codes(t, row, at, some, codes);
            put_values(t, row, at, some, codes, is_exact, out);
            if (!check_finite(t, out, some))
                return false;
            out += 4 * some;
        }
    return true;
}

static bool make_values(const struct heft_recipe *recipe, struct heft_reader *reader,
                        uint64_t first, uint64_t count, bool is_exact, uint8_t *out,
                        struct heft_error *err)
{
    struct tile t = {.weight = recipe->ctx, .reader = reader, .err = err};

    for (uint64_t at = 0; at < count; at += t.rows * t.columns) {
        bool ok;

        ok = choose_tile(&t, first + at, count - at) && carve_memory(&t) &&
             make_tile(&t, is_exact, out + 4 * at);
        heft_free(t.memory);
        t.memory = NULL;
        if (!ok)
            return false;
    }
    return true;
}

bool heft_int_weight_make(const struct heft_recipe *recipe, struct heft_reader *reader,
                          const struct heft_row *row, uint64_t first, uint64_t count, uint8_t *out,
                          struct heft_error *err)
{
    (void)row;
    return make_values(recipe, reader, first, count, false, out, err);
}

bool heft_int_weight_make_exact(const struct heft_recipe *recipe, struct heft_reader *reader,
                                const struct heft_row *row, uint64_t first, uint64_t count,
                                uint8_t *out, struct heft_error *err)
{
    (void)row;
    return make_values(recipe, reader, first, count, true, out, err);
}

bool heft_int_weight_check(const struct heft_recipe *recipe, struct heft_reader *reader,
                           const struct heft_row *row, struct heft_error *err)
{
    const struct heft_int_weight *const w = recipe->ctx;
    struct tile t = {.weight = w, .reader = reader, .err = err};
    const uint64_t count = w->rows * w->columns;

    (void)row;
    for (uint64_t at = 0; at < count; at += t.rows * t.columns) {
        bool ok;

        ok = choose_tile(&t, at, count - at) && carve_memory(&t) && load_parameters(&t);
        heft_free(t.memory);
        t.memory = NULL;
        if (!ok)
            return false;
    }
    return true;
}
