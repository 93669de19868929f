/* quant_describe.c: what info says about the quantization of a model. */
#include "quant/quant_describe.h"

#include "quant/quant_groups.h"

/* "compressed-tensors nvfp4-pack-quantized": the method, and what it calls its kinds. */
static const char *scheme_text(const struct heft_quant *q, struct heft_arena *mem,
                               struct heft_error *err)
{
    static const char *const keys[] = {"quant_algo", "format", "checkpoint_format",
                                       "bnb_4bit_quant_type", "mode"};
    const struct heft_str method = q->config->method;
    struct heft_str kind = {0};

    for (size_t i = 0; i < HEFT_COUNT(keys) && kind.n == 0; i++)
        kind = heft_quant_text(heft_quant_get(q->config->quantization, keys[i]));
    if (method.n == 0)
        return heft_arena_text(mem, heft_str_of(q->scheme ? q->scheme : "unknown"), err);
    return heft_arena_printf(mem, err, "%.60s%s%.60s", method.p,
                             kind.n && !heft_str_eq(kind, method) ? " " : "",
                             kind.n && !heft_str_eq(kind, method) ? kind.p : "");
}

static void add_saturated(uint64_t *sum, uint64_t n)
{
    if (!heft_add(*sum, n, sum))
        *sum = UINT64_MAX;
}

static void count_rows(const struct heft_quant *q, struct heft_quantization *out)
{
    for (size_t i = 0; i < q->model->n_rows; i++) {
        const struct heft_row *const row = &q->model->rows[i];
        const bool varies = heft_dtype_varies((enum heft_dtype)row->dtype);
        const uint64_t elements = heft_quant_elements(q->derived[i] ? q->derived[i] : row);

        if (q->uses[i] != HEFT_QUANT_PLAIN)
            add_saturated(&out->stored_bytes, row->bytes);
        if (q->uses[i] == HEFT_QUANT_COMPANION)
            continue;
        out->all++;
        add_saturated(&out->parameters, varies ? 0 : elements);
        if (q->uses[i] != HEFT_QUANT_WEIGHT)
            continue;
        out->weights++;
        add_saturated(&out->quantized, elements);
        if (out->as == HEFT_DTYPE_COUNT)
            out->as = (enum heft_dtype)q->derived[i]->parts->recipe->as;
    }
}

/* A failure is told as the reason why the model is not dequantized, unless memory ran out. */
static bool note_refusal(const struct heft_quant *q, const struct heft_error *found,
                         struct heft_arena *mem, struct heft_quantization *out,
                         struct heft_error *err)
{
    if (found->code == HEFT_NOMEM) {
        *err = *found;
        return false;
    }
    if (!q->config->quantization && !q->config->failed && !q->is_named)
        return true; /* not quantized, as far as anything says */
    out->scheme = scheme_text(q, mem, err);
    out->refusal = heft_arena_text(mem, heft_str_of(found->text), err);
    return out->scheme && out->refusal;
}

bool heft_quant_describe(const struct heft_model *model, struct heft_arena *mem,
                         struct heft_quantization *out, struct heft_error *err)
{
    struct heft_budget budget = heft_model_budget(model);
    struct heft_arena scratch = {.budget = &budget};
    const struct heft_derive_request request = {
        .model = model, .mem = &scratch, .as = HEFT_DTYPE_COUNT};
    struct heft_error found = {0};
    struct heft_quant q = {.model = model, .request = &request, .mem = &scratch, .err = &found};
    bool ok;

    *out = (struct heft_quantization){.as = HEFT_DTYPE_COUNT};
    if (!heft_quant_config_of(model)->was_read)
        return true;
    if (heft_quant_recognise(&q)) {
        count_rows(&q, out);
        out->scheme = scheme_text(&q, mem, err);
        ok = out->scheme != NULL;
    } else {
        ok = note_refusal(&q, &found, mem, out, err);
    }
    heft_quant_release(&q);
    heft_arena_release(&scratch);
    return ok;
}
