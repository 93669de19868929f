/* quant_ggml.c: NVFP4 of GGUF. The blocks of X.weight have a scale for each 16 elements; the factor of the
 * whole tensor is another tensor:
 *
 *     X.weight NVFP4 [.., out, in]     X.scale F32: one value, or one for each expert [experts, out, in]
 *
 *       value = value of the block · scale, rounded to F32 after each step
 *
 * All other block types of GGML have no such companion; core casts them. */
#include "base/endian.h"
#include "core/cast.h"
#include "quant/quant.h"
#include "quant/quant_schemes.h"

enum { BLOCK = 64, BYTES = 36, PIECE = 1024 };

struct factor {
    const struct heft_row *weight, *scale;
    uint64_t expert; /* elements that one value of the scale belongs to */
};

/* Not if a configuration names another scheme. */
static bool suits(const struct heft_quant_config *config)
{
    return !config->quantization;
}

/* ---- values ----------------------------------------------------------------------------------- */

static bool read_scale(const struct factor *f, struct heft_reader *reader, uint64_t element,
                       float *out, struct heft_error *err)
{
    uint8_t bytes[4];
    uint32_t bits;

    if (!heft_reader_row(reader, f->scale, element / f->expert * sizeof bytes, bytes, sizeof bytes,
                         err))
        return false;
    bits = heft_le32(bytes);
    memcpy(out, &bits, sizeof bits);
    return true;
}

static void multiply(uint8_t *values, uint64_t n, float scale)
{
    for (uint64_t i = 0; i < n; i++) {
        uint32_t bits = heft_le32(values + 4 * i);
        float value;

        memcpy(&value, &bits, sizeof value);
        value *= scale;
        memcpy(&bits, &value, sizeof bits);
        heft_put_le32(values + 4 * i, bits);
    }
}

/* Computes at most PIECE elements that belong to whole blocks and to one expert; returns their number. */
static bool make_piece(const struct factor *f, struct heft_reader *reader, uint64_t first,
                       uint64_t count, uint8_t *out, uint64_t *made, struct heft_error *err)
{
    const uint64_t before = first % BLOCK, begin = first - before;
    const uint64_t rest = f->expert - begin % f->expert; /* an expert has whole blocks */
    const uint64_t whole = (before + count + BLOCK - 1) / BLOCK * BLOCK;
    const uint64_t n = heft_min_u64(heft_min_u64(whole, rest), PIECE);
    uint8_t stored[PIECE / BLOCK * BYTES], values[4 * PIECE];
    uint64_t ignored = 0;
    float scale;

    *made = heft_min_u64(n - before, count);
    if (!read_scale(f, reader, begin, &scale, err) ||
        !heft_reader_row(reader, f->weight, begin / BLOCK * BYTES, stored,
                         (size_t)(n / BLOCK * BYTES), err))
        return false;
    heft_cast_elements(HEFT_NVFP4, HEFT_F32, stored, values, (size_t)n, &ignored);
    multiply(values, n, scale);
    memcpy(out, values + 4 * before, (size_t)(4 * *made));
    return true;
}

static bool make(const struct heft_recipe *recipe, struct heft_reader *reader,
                 const struct heft_row *row, uint64_t first, uint64_t count, uint8_t *out,
                 struct heft_error *err)
{
    uint64_t made;

    (void)row;
    for (; count > 0; first += made, count -= made, out += 4 * made)
        if (!make_piece(recipe->ctx, reader, first, count, out, &made, err))
            return false;
    return true;
}

/* ---- recognition ------------------------------------------------------------------------------ */

static bool find_factor(struct heft_quant *q, const struct heft_row *row,
                        const struct heft_row *scale, struct factor *out)
{
    const uint64_t all = heft_quant_elements(row), n = heft_quant_elements(scale);
    const bool is_experts =
        row->rank >= 3 && n == row->shape[row->rank - 3] && (row->rank == 3 || row->shape[0] == 1);

    if (scale->dtype != HEFT_F32)
        return heft_quant_refuse(q, scale, HEFT_UNSUPPORTED, "its dtype is %s, must be F32",
                                 heft_dtype_name((enum heft_dtype)scale->dtype));
    if (n != 1 && !is_experts)
        return heft_quant_refuse(q, scale, HEFT_MALFORMED,
                                 "%" PRIu64 " scales, must be 1 or one for each expert of %s%s", n,
                                 row->name.p, heft_quant_shape(row).text);
    *out = (struct factor){row, scale, heft_max_u64(n == 1 ? all : all / n, BLOCK)};
    return true;
}

static bool take(struct heft_quant *q, uint32_t index, bool *taken)
{
    const struct heft_row *const row = &q->model->rows[index], *sources[2] = {row};
    struct heft_quant_weight w = {.name = row->name,
                                  .shape = row->shape,
                                  .rank = row->rank,
                                  .sources = sources,
                                  .n_sources = 2};
    struct heft_str prefix;
    struct factor *factor;

    if (row->dtype != HEFT_NVFP4 || !heft_quant_ends(row->name, ".weight", &prefix))
        return true;
    sources[1] = heft_quant_find(q, prefix, ".scale", true);
    if (!sources[1])
        return true;
    *taken = true;
    factor = heft_arena_zero(q->mem, 1, sizeof *factor, q->err);
    if (!factor || !find_factor(q, row, sources[1], factor))
        return false;
    w.recipe = (struct heft_recipe){
        .make = make, .ctx = factor, .identity = "ggml nvfp4", .piece = PIECE, .as = HEFT_F32};
    return heft_quant_replace(q, index, &w);
}

static const char *const companions[] = {NULL};

const struct heft_quant_scheme heft_quant_ggml = {
    .name = "NVFP4 of GGML", .suits = suits, .take = take, .companions = companions};
