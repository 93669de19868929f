/* quant.c: recognition of all rows of a model, and the object that core knows. */
#include "quant/quant.h"

#include "base/text.h"
#include "quant/dequantizer.h"
#include "quant/quant_describe.h"
#include "quant/quant_groups.h"
#include "quant/quant_known.h"
#include "quant/quant_rewrite.h"
#include "quant/quant_schemes.h"

/* One scheme per line, so that merges do not conflict. */
/* clang-format off */
static const struct heft_quant_scheme *const schemes[] = {
    &heft_quant_fp8,
    &heft_quant_ct_int,
    &heft_quant_mxfp6,
    &heft_quant_gptq,
    &heft_quant_awq,
    &heft_quant_bnb4,
    &heft_quant_bnb8,
    &heft_quant_mlx,
    &heft_quant_mxfp4,
    &heft_quant_nvfp4,
    &heft_quant_ggml,
};
/* clang-format on */

/* Companions of activations and caches: dropped with the weights. */
static const char *const dropped[] = {
    ".input_scale",  ".input_scale_inv",   ".input_global_scale", ".input_zero_point",
    ".output_scale", ".output_zero_point", ".activation_scale",   ".k_scale",
    ".v_scale",      ".q_scale",           ".k_zero_point",       ".v_zero_point",
    ".q_zero_point", ".prob_output_scale",
};

/* ---- offering rows to schemes ------------------------------------------------------------------ */

static bool offer_row(struct heft_quant *q, uint32_t row)
{
    bool taken = false;

    for (size_t i = 0; !taken && i < HEFT_COUNT(schemes); i++) {
        if (!schemes[i]->suits(q->config))
            continue;
        if (!schemes[i]->take(q, row, &taken))
            return false;
        if (taken && !q->scheme)
            q->scheme = schemes[i]->name;
    }
    return true;
}

/* A weight that is refused is lost, with its companions. */
static bool lose_row(struct heft_quant *q, uint32_t row)
{
    const struct heft_error why = *q->err;

    if (!q->request->lose || why.code == HEFT_NOMEM)
        return false;
    q->uses[row] = HEFT_QUANT_COMPANION;
    q->derived[row] = NULL;
    return q->request->lose(q->request->ctx, q->model->rows[row].name, &why, q->err);
}

static bool offer_rows(struct heft_quant *q)
{
    for (size_t i = 0; i < q->model->n_rows; i++)
        if (q->uses[i] == HEFT_QUANT_PLAIN && !offer_row(q, (uint32_t)i) &&
            !lose_row(q, (uint32_t)i))
            return false;
    return true;
}

/* ---- what is left over ------------------------------------------------------------------------- */

static bool is_dropped(struct heft_str name)
{
    struct heft_str prefix;

    for (size_t i = 0; i < HEFT_COUNT(dropped); i++)
        if (heft_quant_ends(name, dropped[i], &prefix))
            return true;
    return false;
}

/* Ending of a companion's name, or NULL. */
static const char *companion_ending(const struct heft_quant *q, struct heft_str name)
{
    struct heft_str prefix;

    for (size_t i = 0; i < HEFT_COUNT(schemes); i++)
        for (const char *const *s = schemes[i]->companions; *s; s++)
            if (schemes[i]->suits(q->config) && heft_quant_ends(name, *s, &prefix))
                return *s;
    return NULL;
}

static bool check_orphans(struct heft_quant *q)
{
    for (size_t i = 0; i < q->model->n_rows; i++) {
        const struct heft_row *const row = &q->model->rows[i];
        const char *ending;

        if (q->uses[i] != HEFT_QUANT_PLAIN)
            continue;
        if (is_dropped(row->name)) {
            q->uses[i] = HEFT_QUANT_COMPANION;
            continue;
        }
        ending = companion_ending(q, row->name);
        if (ending &&
            !heft_quant_refuse(q, row, HEFT_MALFORMED, "no quantized weight %.*s belongs to it",
                               (int)heft_min_size(row->name.n - strlen(ending), 200),
                               row->name.p) &&
            !lose_row(q, (uint32_t)i))
            return false;
    }
    return true;
}

/* ---- the whole model --------------------------------------------------------------------------- */

static bool refuse_unknown(const struct heft_quant *q)
{
    const struct heft_quant_config *const config = q->config;

    if (config->failed)
        return heft_fail(q->err, HEFT_MALFORMED, HEFT_NO_OFFSET, "%s", config->failed);
    if (!config->quantization)
        return heft_fail(q->err, HEFT_UNSUPPORTED, HEFT_NO_OFFSET,
                         "no quantization is recognised: config.json beside the input has no "
                         "quantization_config, and the names of the tensors do not tell");
    if (config->method.n == 0)
        return heft_quant_config_refuse(config, config->quantization, HEFT_UNSUPPORTED, q->err,
                                        "the quantization has no quant_method");
    for (size_t i = 0; i < HEFT_COUNT(schemes); i++)
        if (schemes[i]->suits(config))
            return heft_quant_config_refuse(
                config, config->quantization, HEFT_UNSUPPORTED, q->err,
                "quant_method is %.40s, but no tensor is quantized like that", config->method.p);
    return heft_quant_config_refuse(config, config->quantization, HEFT_UNSUPPORTED, q->err,
                                    "quant_method '%.40s' is not known", config->method.p);
}

static size_t count_uses(const struct heft_quant *q, enum heft_quant_use use)
{
    size_t n = 0;

    for (size_t i = 0; i < q->model->n_rows; i++)
        n += q->uses[i] == use;
    return n;
}

bool heft_quant_recognise(struct heft_quant *q)
{
    const size_t n = q->model->n_rows + 1;

    q->config = heft_quant_config_of(q->model);
    q->uses = heft_arena_zero(q->mem, n, sizeof *q->uses, q->err);
    q->derived = heft_arena_zero(q->mem, n, sizeof(struct heft_row *), q->err);
    return q->uses && q->derived && heft_quant_refuse_known(q) && offer_rows(q) &&
           (count_uses(q, HEFT_QUANT_WEIGHT) > 0 || refuse_unknown(q)) && check_orphans(q);
}

static bool note_counts(struct heft_quant *q, struct heft_derived_rows *out)
{
    const size_t weights = count_uses(q, HEFT_QUANT_WEIGHT);
    const size_t companions = count_uses(q, HEFT_QUANT_COMPANION);

    out->notes = heft_arena_zero(q->mem, q->n_notes + 1, sizeof *out->notes, q->err);
    if (!out->notes)
        return false;
    for (size_t i = 0; i < q->n_notes; i++)
        out->notes[i + 1] = q->notes[i];
    out->notes[0] =
        heft_arena_printf(q->mem, q->err, "dequantized %zu %s (%s); %zu %s left out, as scales are",
                          weights, weights == 1 ? "weight" : "weights", q->scheme, companions,
                          companions == 1 ? "other tensor is" : "other tensors are");
    out->n_notes = q->n_notes + 1;
    return out->notes[0] != NULL;
}

static bool list_rows(struct heft_quant *q, struct heft_derived_rows *out)
{
    const struct heft_model *const model = q->model;

    out->list = heft_arena_zero(q->mem, model->n_rows + 1, sizeof *out->list, q->err);
    out->from = heft_arena_zero(q->mem, model->n_rows + 1, sizeof *out->from, q->err);
    if (!out->list || !out->from)
        return false;
    out->as = HEFT_DTYPE_COUNT;
    for (size_t i = 0; i < model->n_rows; i++) {
        if (q->uses[i] == HEFT_QUANT_COMPANION)
            continue;
        out->from[out->n] = i;
        out->list[out->n++] = q->derived[i] ? *q->derived[i] : model->rows[i];
        if (q->derived[i] && out->as == HEFT_DTYPE_COUNT)
            out->as = (enum heft_dtype)q->derived[i]->parts->recipe->as;
    }
    return true;
}

static bool derive(const struct heft_derive_request *request, struct heft_derived_rows *out,
                   struct heft_error *err)
{
    struct heft_error found = {0}; /* also of weights that are lost */
    struct heft_quant q = {
        .model = request->model, .request = request, .mem = request->mem, .err = &found};
    const bool ok = heft_quant_recognise(&q) && list_rows(&q, out) && note_counts(&q, out);

    heft_quant_release(&q);
    if (!ok)
        *err = found;
    return ok;
}

/* Looks at names only: a plain cast must not depend on the configuration. */
static struct heft_str scale_of(const struct heft_model *model, const struct heft_row *row)
{
    static const char *const endings[] = {"_scale_inv", "_scale"};
    struct heft_str prefix = row->name;
    char name[512];

    for (size_t i = 0; i < HEFT_COUNT(endings) + 1; i++) {
        const char *const ending = i < HEFT_COUNT(endings) ? endings[i] : ".scale";
        const size_t n = strlen(ending);
        uint32_t found;

        if (i == HEFT_COUNT(endings) && !heft_quant_ends(row->name, ".weight", &prefix))
            break;
        if (prefix.n + n >= sizeof name)
            continue;
        memcpy(name, prefix.p, prefix.n);
        memcpy(name + prefix.n, ending, n + 1);
        found = heft_model_row(model, (struct heft_str){name, prefix.n + n});
        if (found != HEFT_NONE)
            return model->rows[found].name;
    }
    return (struct heft_str){0};
}

const struct heft_dequantizer heft_dequantizer = {
    .open = heft_quant_config_open,
    .derive = derive,
    .describe = heft_quant_describe,
    .scale_of = scale_of,
    .rewrite = heft_quant_rewrite,
};
