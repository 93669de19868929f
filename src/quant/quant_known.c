/* quant_known.c: schemes that are recognised to be refused by name. */
#include "quant/quant_known.h"

struct known {
    const char *method; /* quant_method; NULL: only by names */
    const char *title;
    const char *ending; /* of a tensor's name that no other scheme has; NULL: only by the method */
};
static const struct known known[] = {
    {"aqlm", "AQLM", ".codebooks"},
    {"auto-round", "AutoRound", NULL},
    {"intel/auto-round", "AutoRound", NULL},
    {"bitnet", "BitNet", NULL},
    {"eetq", "EETQ", NULL},
    {"exl2", "EXL2", ".q_weight"},
    {"exl3", "EXL3", ".trellis"},
    {"finegrained_fp8", "another FP8 layout", NULL},
    {"fp_quant", "FP-Quant", NULL},
    {"gptqmodel", "GPTQModel's own layouts", NULL},
    {"higgs", "HIGGS", NULL},
    {"hqq", "HQQ", ".W_q"},
    {"marlin", "Marlin", NULL},
    {"metal", "Metal", NULL},
    {"quanto", "Quanto", "._data"},
    {"quark", "Quark", NULL},
    {"quip", "QuIP", NULL},
    {"quip_sharp", "QuIP#", ".Qidxs"},
    {"sinq", "SINQ", NULL},
    {"spqr", "SpQR", ".dense_weights"},
    {"torchao", "torchao", NULL},
    {"vptq", "VPTQ", ".centroids"},
    {NULL, "Mistral's own FP8 layout", ".qscale_weight"},
};

/* AutoRound writes several packings, two of which are those of GPTQ and AWQ. */
static bool has_known_packing(const struct heft_quant_config *config)
{
    const struct heft_str text =
        heft_quant_text(heft_quant_get(config->quantization, "packing_format"));

    return heft_str_ends(text, "auto_gptq") || heft_str_ends(text, "auto_awq");
}

bool heft_quant_refuse_known(struct heft_quant *q)
{
    const struct heft_row *row = NULL;
    struct heft_str prefix;

    for (size_t i = 0; i < HEFT_COUNT(known); i++) {
        bool found = known[i].method && heft_str_is(q->config->method, known[i].method) &&
                     !(strcmp(known[i].title, "AutoRound") == 0 && has_known_packing(q->config));

        for (size_t r = 0;
             !found && !q->config->quantization && known[i].ending && r < q->model->n_rows; r++) {
            row = &q->model->rows[r];
            found = heft_quant_ends(row->name, known[i].ending, &prefix);
        }
        if (!found)
            continue;
        q->is_named = true;
        q->scheme = known[i].title;
        heft_fail(q->err, HEFT_UNSUPPORTED, HEFT_NO_OFFSET,
                  "the model is quantized with %s: heft lists, copies and shards such tensors, but "
                  "does not dequantize them",
                  known[i].title);
        return q->config->path ? heft_error_file(q->err, q->config->path) : false;
    }
    return true;
}
