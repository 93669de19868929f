/* quant_bnb.c: bitsandbytes, 4 bits (QLoRA).
 *
 *     X.weight                 U8 [n/2, 1]    codes, the first of a byte in its high bits; the bytes may have
 *                                             another dtype
 *     X.weight.absmax          F32 [blocks]   a scale for each `blocksize` elements of the flattened weight
 *     X.weight.quant_map       F32 [16]       values of the codes: the table of nf4 or fp4
 *     X.weight.quant_state.bitsandbytes__nf4  U8: JSON (quant_state.c)
 *     X.weight                 shape of the state: table[code]·absmax
 *
 * With double quantization the scales are quantized themselves:
 *
 *     X.weight.absmax            U8 [blocks]
 *     X.weight.nested_absmax     F32          a scale for each `nested_blocksize` blocks
 *     X.weight.nested_quant_map  F32 [256]
 *     absmax[b] = nested_quant_map[code]·nested_absmax + nested_offset            rounded twice */
#include "base/endian.h"
#include "core/small_floats.h"
#include "quant/bit_stream.h"
#include "quant/int_values.h"
#include "quant/int_weight.h"
#include "quant/quant_schemes.h"
#include "quant/quant_state.h"

enum { PIECE = 2048 };     /* elements unpacked at once */
enum { BLOCKS = 512 };     /* scales read at once */
enum { BYTES = 32 << 10 }; /* of codes read at once */

static const uint32_t nf4[16] = {
    0xBF800000, 0xBF3239B1, 0xBF066B30, 0xBECA32A0, 0xBE91A24D, 0xBE3D353F, 0xBDBA7871, 0x00000000,
    0x3DA2FAFF, 0x3E24CAE3, 0x3E7C04DD, 0x3EAD033A, 0x3EE1A4B8, 0x3F1007AB, 0x3F3913B3, 0x3F800000};
static const uint32_t fp4[16] = {
    0x00000000, 0x3BAAAAAB, 0x3F2AAAAB, 0x3F800000, 0x3EAAAAAB, 0x3F000000, 0x3E2AAAAB, 0x3E800000,
    0x00000000, 0xBBAAAAAB, 0xBF2AAAAB, 0xBF800000, 0xBEAAAAAB, 0xBF000000, 0xBE2AAAAB, 0xBE800000};

static const struct type {
    const char *name, *ending;
    const uint32_t *bits;
} types[] = {
    {"nf4", ".quant_state.bitsandbytes__nf4", nf4},
    {"fp4", ".quant_state.bitsandbytes__fp4", fp4},
};

/* ctx of the recipe. */
struct weight {
    const struct heft_row *codes, *absmax, *nested_absmax;
    struct heft_quant_state state;
    float table[16];
    float nested_map[256];
    uint64_t blocks;
};

/* ---- values ---------------------------------------------------------------------------------- */

/* Scales of consecutive blocks. */
struct scales {
    const struct weight *weight;
    struct heft_reader *reader;
    uint64_t first;
    size_t n;
    float list[BLOCKS];
};

static bool refuse_scale(const struct heft_row *row, uint64_t i, struct heft_error *err)
{
    heft_fail(err, HEFT_UNSUPPORTED, HEFT_NO_OFFSET, "element %" PRIu64 " is not a finite number",
              i);
    return heft_error_about(err, "tensor", row->name);
}

static bool read_row(struct heft_reader *reader, const struct heft_row *row, uint64_t off, size_t n,
                     void *out, struct heft_error *err)
{
    return heft_reader_row(reader, row, off, out, n, err) ||
           heft_error_about(err, "tensor", row->name);
}

static bool read_floats(struct heft_reader *reader, const struct heft_row *row, uint64_t first,
                        size_t n, float *out, struct heft_error *err)
{
    if (!read_row(reader, row, 4 * first, 4 * n, out, err))
        return false;
    for (size_t i = 0; i < n; i++) {
        const uint32_t bits = heft_le32((const uint8_t *)&out[i]);

        if ((bits & HEFT_F32_ABS) >= HEFT_F32_INF)
            return refuse_scale(row, first + i, err);
        out[i] = heft_float_of_bits(bits);
    }
    return true;
}

/* absmax of double quantization, rounded after each step. */
static bool read_nested(struct scales *s, struct heft_error *err)
{
    const struct weight *const w = s->weight;
    const uint64_t size = w->state.nested_blocksize;
    const uint64_t from = s->first / size, end = (s->first + s->n - 1) / size + 1;
    uint8_t codes[BLOCKS];
    float nested[BLOCKS + 1];

    if (!read_row(s->reader, w->absmax, s->first, s->n, codes, err) ||
        !read_floats(s->reader, w->nested_absmax, from, (size_t)(end - from), nested, err))
        return false;
    for (size_t i = 0; i < s->n; i++) {
        const float product = w->nested_map[codes[i]] * nested[(s->first + i) / size - from];

        s->list[i] = product + w->state.nested_offset;
        if ((heft_bits_of_float(s->list[i]) & HEFT_F32_ABS) >= HEFT_F32_INF)
            return refuse_scale(w->absmax, s->first + i, err);
    }
    return true;
}

/* Loads the scales from a block on. */
static bool load_scales(struct scales *s, uint64_t block, struct heft_error *err)
{
    s->first = block;
    s->n = heft_min_size(BLOCKS, s->weight->blocks - block);
    return s->weight->state.nested_blocksize
               ? read_nested(s, err)
               : read_floats(s->reader, s->weight->absmax, block, s->n, s->list, err);
}

static bool put_values(struct scales *s, uint64_t first, size_t n, const uint8_t *codes,
                       uint8_t *out, struct heft_error *err)
{
    const uint64_t size = s->weight->state.blocksize;

    for (size_t i = 0, some; i < n; i += some) {
        const uint64_t block = (first + i) / size;

        if ((block < s->first || block - s->first >= s->n) && !load_scales(s, block, err))
            return false;
        some = heft_min_size(n - i, size - (first + i) % size);
        heft_int_values_table(codes + i, some, s->weight->table, s->list[block - s->first],
                              out + 4 * i);
    }
    return !heft_int_values_exceed(out, n) ||
           heft_fail(err, HEFT_UNSUPPORTED, HEFT_NO_OFFSET,
                     "a code times its scale exceeds the range of numbers");
}

/* Elements [first, first+n) from the bytes that hold them. */
static bool put_bytes(struct scales *s, const uint8_t *bytes, uint64_t first, size_t n,
                      uint8_t *out, struct heft_error *err)
{
    const size_t odd = first % 2;
    uint8_t codes[PIECE];

    for (size_t i = 0, some; i < n; i += some) {
        some = heft_min_size(PIECE, n - i);
        heft_bit_stream_high_first(bytes, odd + i, some, codes);
        if (!put_values(s, first + i, some, codes, out + 4 * i, err))
            return false;
    }
    return true;
}

static bool make(const struct heft_recipe *recipe, struct heft_reader *reader,
                 const struct heft_row *row, uint64_t first, uint64_t count, uint8_t *out,
                 struct heft_error *err)
{
    const struct weight *const w = recipe->ctx;
    /* codes may be elements of several bytes, of which only whole ones are read */
    const uint32_t each = heft_dtype_block_bytes((enum heft_dtype)w->codes->dtype);
    struct scales *const s = heft_alloc(sizeof *s + BYTES, err);
    uint8_t *const bytes = (uint8_t *)(s + 1);
    bool ok = s != NULL;

    (void)row;
    if (ok)
        *s = (struct scales){.weight = w, .reader = reader};
    for (uint64_t at = 0; ok && at < count;) {
        const uint64_t from = (first + at) / 2 / each * each;
        const size_t room = (size_t)heft_min_u64(BYTES, w->codes->bytes - from);
        const size_t some = heft_min_size(2 * room - (size_t)(first + at - 2 * from), count - at);

        ok = read_row(reader, w->codes, from, room, bytes, err) &&
             put_bytes(s, bytes + ((first + at) / 2 - from), first + at, some, out + 4 * at, err);
        at += some;
    }
    heft_free(s);
    return ok;
}

static bool check(const struct heft_recipe *recipe, struct heft_reader *reader,
                  const struct heft_row *row, struct heft_error *err)
{
    struct scales s = {.weight = recipe->ctx, .reader = reader};

    (void)row;
    for (uint64_t block = 0; block < s.weight->blocks; block += s.n)
        if (!load_scales(&s, block, err))
            return false;
    return true;
}

/* ---- recognition ----------------------------------------------------------------------------- */

static bool suits(const struct heft_quant_config *config)
{
    return heft_str_is(config->method, "bitsandbytes") || !config->quantization;
}

static bool parse_state(struct heft_quant *q, const struct heft_row *row, const struct type *type,
                        struct weight *w)
{
    const size_t n = heft_min_size(HEFT_QUANT_STATE_MOST + 1, row->bytes);
    struct heft_bytes text = {0};
    uint8_t *bytes;
    bool ok;

    if (row->dtype != HEFT_U8)
        return heft_quant_refuse(q, row, HEFT_MALFORMED, "has dtype %s: expected U8",
                                 heft_dtype_name((enum heft_dtype)row->dtype));
    bytes = heft_alloc(n + 1, q->err);
    text = (struct heft_bytes){bytes, n};
    ok = bytes && (n > HEFT_QUANT_STATE_MOST || heft_quant_read(q, row, 0, n, bytes)) &&
         (heft_quant_state_parse(text, type->name, q->mem, &w->state, q->err) ||
          heft_error_about(q->err, "tensor", row->name));
    heft_free(bytes);
    return ok;
}

static bool refuse_count(const struct heft_quant *q, const struct heft_row *row, uint64_t expected)
{
    return heft_quant_refuse(q, row, HEFT_MALFORMED, "%s %s: expected %" PRIu64 " elements",
                             heft_dtype_name((enum heft_dtype)row->dtype),
                             heft_quant_shape(row).text, expected);
}

static uint64_t pieces_of(uint64_t n, uint64_t size)
{
    return n / size + (n % size != 0);
}

static bool check_count(const struct heft_quant *q, const struct heft_row *row,
                        enum heft_dtype dtype, uint64_t expected)
{
    return (row->dtype == dtype && heft_quant_elements(row) == expected) ||
           heft_quant_refuse(q, row, HEFT_MALFORMED, "%s %s: expected %s [%" PRIu64 "]",
                             heft_dtype_name((enum heft_dtype)row->dtype),
                             heft_quant_shape(row).text, heft_dtype_name(dtype), expected);
}

/* The reference takes its own table, whatever the file says. */
static bool check_table(struct heft_quant *q, const struct type *type, struct weight *w)
{
    const struct heft_row *const map = heft_quant_need(q, w->codes, w->codes->name, ".quant_map");
    uint8_t stored[64];

    if (!map || !check_count(q, map, HEFT_F32, 16) || !heft_quant_read(q, map, 0, 16, stored))
        return false;
    for (unsigned i = 0; i < 16; i++) {
        w->table[i] = heft_float_of_bits(type->bits[i]);
        if (heft_le32(stored + 4 * i) != type->bits[i])
            return heft_quant_refuse(q, map, HEFT_UNSUPPORTED,
                                     "element %u is not that of the table of %s", i, type->name);
    }
    return true;
}

static bool read_map(struct heft_quant *q, const struct heft_row *row, struct weight *w)
{
    if (!check_count(q, row, HEFT_F32, 256) || !heft_quant_read(q, row, 0, 256, w->nested_map))
        return false;
    for (unsigned i = 0; i < 256; i++) {
        const uint32_t bits = heft_le32((const uint8_t *)&w->nested_map[i]);

        if ((bits & HEFT_F32_ABS) >= HEFT_F32_INF)
            return refuse_scale(row, i, q->err);
        w->nested_map[i] = heft_float_of_bits(bits);
    }
    return true;
}

static bool take_scales(struct heft_quant *q, struct weight *w)
{
    const struct heft_str name = w->codes->name;
    const struct heft_row *map;

    w->absmax = heft_quant_need(q, w->codes, name, ".absmax");
    if (!w->absmax)
        return false;
    w->blocks = pieces_of(w->state.elements, w->state.blocksize);
    if (w->state.nested_blocksize == 0)
        return check_count(q, w->absmax, HEFT_F32, w->blocks);
    w->nested_absmax = heft_quant_need(q, w->codes, name, ".nested_absmax");
    map = w->nested_absmax ? heft_quant_need(q, w->codes, name, ".nested_quant_map") : NULL;
    return map && check_count(q, w->absmax, HEFT_U8, w->blocks) &&
           check_count(q, w->nested_absmax, HEFT_F32,
                       pieces_of(w->blocks, w->state.nested_blocksize)) &&
           read_map(q, map, w);
}

static bool take_weight(struct heft_quant *q, uint32_t row, const struct heft_row *state,
                        const struct type *type)
{
    struct weight *const w = heft_arena_zero(q->mem, 1, sizeof *w, q->err);
    const struct heft_row *sources[3];
    struct heft_quant_weight weight = {.sources = sources, .n_sources = 2};

    if (!w)
        return false;
    w->codes = &q->model->rows[row];
    if (!parse_state(q, state, type, w) || !check_table(q, type, w) || !take_scales(q, w))
        return false;
    if (!heft_dtype_is_plain((enum heft_dtype)w->codes->dtype) ||
        w->codes->bytes != pieces_of(w->state.elements, 2))
        return refuse_count(q, w->codes, w->state.elements);
    sources[0] = w->codes;
    sources[1] = w->absmax;
    if (w->nested_absmax)
        sources[weight.n_sources++] = w->nested_absmax;
    weight.name = w->codes->name;
    weight.shape = w->state.shape;
    weight.rank = w->state.rank;
    weight.recipe =
        (struct heft_recipe){.make = make, .check = check, .ctx = w, .as = (uint8_t)w->state.dtype};
    weight.recipe.identity = heft_arena_printf(
        q->mem, q->err, "bitsandbytes %s %" PRIu64 " nested %" PRIu64 " offset %08" PRIx32,
        type->name, w->state.blocksize, w->state.nested_blocksize,
        heft_bits_of_float(w->state.nested_offset));
    return weight.recipe.identity && heft_quant_replace(q, row, &weight);
}

/* Whether a row can only be a weight of four bits, by its dtype and shape. */
static bool is_packed(const struct heft_quant *q, const struct heft_row *row)
{
    return heft_str_is(q->config->method, "bitsandbytes") && row->dtype == HEFT_U8 &&
           row->rank == 2 && row->shape[1] == 1 && heft_str_ends(row->name, ".weight");
}

static bool take(struct heft_quant *q, uint32_t row, bool *taken)
{
    const struct heft_row *const codes = &q->model->rows[row];
    const struct heft_row *state[HEFT_COUNT(types)];

    for (size_t i = 0; i < HEFT_COUNT(types); i++)
        state[i] = heft_quant_find(q, codes->name, types[i].ending, true);
    *taken = state[0] || state[1];
    if (!*taken && heft_quant_find(q, codes->name, "_absmax", false)) {
        *taken = true;
        return heft_quant_refuse(q, codes, HEFT_UNSUPPORTED,
                                 "has %.200s_absmax: another layout than that of bitsandbytes, as "
                                 "gptqmodel writes it",
                                 codes->name.p);
    }
    if (!*taken && is_packed(q, codes)) {
        *taken = true;
        return heft_quant_refuse(
            q, codes, HEFT_MALFORMED,
            "%.200s.quant_state.bitsandbytes__nf4 (or fp4) is missing, which it "
            "needs",
            codes->name.p);
    }
    if (!*taken)
        return true;
    if (state[0] && state[1])
        return heft_quant_refuse(q, codes, HEFT_MALFORMED, "has the states of both nf4 and fp4");
    return take_weight(q, row, state[0] ? state[0] : state[1], &types[state[0] ? 0 : 1]);
}

static const char *const companions[] = {".absmax",
                                         ".quant_map",
                                         ".nested_absmax",
                                         ".nested_quant_map",
                                         ".quant_state.bitsandbytes__nf4",
                                         ".quant_state.bitsandbytes__fp4",
                                         NULL};

const struct heft_quant_scheme heft_quant_bnb4 = {
    .name = "bitsandbytes 4-bit", .suits = suits, .take = take, .companions = companions};
