/* quant_bnb8.c: bitsandbytes, 8 bits (LLM.int8()).
 *
 *     X.weight         I8  [out, in]
 *     X.SCB            F32 [out]       largest magnitude of each row
 *     X.weight_format  U8  []          0: row-major
 *     X.weight                         (code·SCB)·fl(1/127), rounded twice; not code·(SCB/127) */
#include "quant/int_weight.h"
#include "quant/quant_schemes.h"

struct rows {
    const struct heft_row *codes, *scales, *format;
    struct heft_str prefix;
};

static bool suits(const struct heft_quant_config *config)
{
    return heft_str_is(config->method, "bitsandbytes");
}

static bool check_format(struct heft_quant *q, const struct heft_row *row)
{
    static const char *const formats[] = {"row", "col32", "col_turing", "col_ampere"};
    uint8_t format;

    if (row->dtype != HEFT_U8 || heft_quant_elements(row) != 1)
        return heft_quant_refuse(q, row, HEFT_MALFORMED, "%s %s: expected U8 []",
                                 heft_dtype_name((enum heft_dtype)row->dtype),
                                 heft_quant_shape(row).text);
    if (!heft_quant_read(q, row, 0, 1, &format))
        return false;
    return format == 0 ||
           heft_quant_refuse(q, row, HEFT_UNSUPPORTED, "is %u (%s): expected 0 (row)", format,
                             format < 4 ? formats[format] : "unknown");
}

static bool find_rows(struct heft_quant *q, struct rows *r)
{
    r->format = heft_quant_need(q, r->codes, r->prefix, ".weight_format");
    if (!r->format || !check_format(q, r->format))
        return false;
    if (r->codes->rank == 2 && r->codes->bytes > 0 && r->scales->dtype == HEFT_F32 &&
        heft_quant_has_shape(r->scales, 1, r->codes->shape))
        return true;
    return heft_quant_refuse(
        q, r->codes, HEFT_MALFORMED, "shape %s, with SCB %s %s: expected [out,in], F32 [out]",
        heft_quant_shape(r->codes).text, heft_dtype_name((enum heft_dtype)r->scales->dtype),
        heft_quant_shape(r->scales).text);
}

static bool take_weight(struct heft_quant *q, uint32_t row, struct rows *r)
{
    struct heft_int_weight *const w = heft_arena_zero(q->mem, 1, sizeof *w, q->err);
    const struct heft_int_place place = {.scheme = "bitsandbytes int8",
                                         .name = r->codes->name,
                                         .shape = r->codes->shape,
                                         .rank = 2,
                                         .as = HEFT_DTYPE_COUNT};

    if (!w || !find_rows(q, r) || !heft_matrix_of(r->codes, &w->codes, q->err) ||
        !heft_matrix_of(r->scales, &w->scales, q->err))
        return false;
    w->rows = w->slice = w->codes.rows;
    w->columns = w->group_size = w->codes.columns;
    w->groups = 1;
    w->bits = 8;
    w->only_zero = -1;
    w->codes_as = HEFT_INT_BYTES;
    w->formula = HEFT_INT_ROW_MAX;
    w->scale_dtype = HEFT_F32;
    return heft_int_weight_replace(q, row, w, &place);
}

static bool take(struct heft_quant *q, uint32_t row, bool *taken)
{
    struct rows r = {.codes = &q->model->rows[row]};

    *taken = r.codes->dtype == HEFT_I8 && heft_quant_ends(r.codes->name, ".weight", &r.prefix);
    if (!*taken)
        return true;
    r.scales = heft_quant_need(q, r.codes, r.prefix, ".SCB");
    return r.scales && take_weight(q, row, &r);
}

static const char *const companions[] = {".SCB", ".weight_format", NULL};

const struct heft_quant_scheme heft_quant_bnb8 = {
    .name = "bitsandbytes int8", .suits = suits, .take = take, .companions = companions};
