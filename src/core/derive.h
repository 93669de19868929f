/* derive.h: rows that a conversion computes from stored rows: the values of quantized weights.
 *
 *     opened model       X.weight (F8_E4M3)   X.weight_scale_inv (F32)   norm.weight
 *     derived model      X.weight (F32, a recipe over both storages)     norm.weight
 *
 * A conversion that dequantizes works on the derived model, a copy of the opened one with other rows;
 * it selects, renames, casts and writes them like any other. Core knows no scheme: they are in src/quant,
 * and are passed in the table of formats. */
#ifndef HEFT_DERIVE_H
#define HEFT_DERIVE_H

#include "core/model.h"

struct heft_plan;

/* What a conversion wants of the dequantizer. */
struct heft_derive_request {
    const struct heft_model *model;
    struct heft_arena *mem; /* of the result */
    enum heft_dtype as;     /* dtype of the weights; HEFT_DTYPE_COUNT: that of the model */
    /* With salvage: called with the name of each weight that is refused, and its error; it vanishes with
     * its companions. NULL: the first such error ends the call */
    bool (*lose)(void *ctx, struct heft_str name, const struct heft_error *why,
                 struct heft_error *err);
    void *ctx;
    /* GPTQ of version 1: how zero points are read that need more bits than a code, "wrap" or "carry"; NULL:
     * they are refused */
    const char *gptq_zero;
};
struct heft_derived_rows {
    struct heft_row *list; /* in the source's order */
    size_t *from;          /* for each: the row of the model whose place it takes */
    size_t n;
    const char **notes; /* for the user */
    size_t n_notes;
    enum heft_dtype as; /* dtype of the weights */
};
/* What info says. Texts are static or in the arena. */
struct heft_quantization {
    const char *scheme;    /* "compressed-tensors nvfp4-pack-quantized"; NULL: not quantized */
    const char *refusal;   /* why it cannot be dequantized, and nothing is counted; NULL: it can */
    uint64_t weights, all; /* quantized tensors, and all, without scales and other companions */
    uint64_t parameters;   /* elements of all */
    uint64_t quantized;    /* elements of the quantized ones */
    uint64_t stored_bytes; /* of those, and of their companions */
    enum heft_dtype as;    /* dtype that dequantizing gives */
};
/* The schemes as one object. */
struct heft_dequantizer {
    /* After validation: reads the configuration files beside the inputs, if names and dtypes of the
     * rows suggest a scheme. Files that are absent or cannot be read are passed over. */
    bool (*open)(struct heft_model *model, struct heft_error *err);
    /* HEFT_UNSUPPORTED or HEFT_MALFORMED if nothing is quantized, or a scheme is not known. */
    bool (*derive)(const struct heft_derive_request *request, struct heft_derived_rows *out,
                   struct heft_error *err);
    bool (*describe)(const struct heft_model *model, struct heft_arena *mem,
                     struct heft_quantization *out, struct heft_error *err);
    /* Name of the row with the scales of an 8-bit float row; empty if there is none. */
    struct heft_str (*scale_of)(const struct heft_model *model, const struct heft_row *row);
    /* Text of the configuration file beside the output, made of the input's; n is 0 if the file is
     * copied as it is, and *skip is set if it must not be copied. */
    bool (*rewrite)(const struct heft_model *model, const char *name, struct heft_bytes text,
                    enum heft_dtype as, struct heft_arena *mem, struct heft_str *out, bool *skip,
                    struct heft_error *err);
};

/* Number of elements that are computed at once, at most `most`. */
static inline uint64_t heft_derived_piece(const struct heft_row *row, uint64_t most)
{
    const uint64_t best = heft_row_is_derived(row) ? row->parts->recipe->piece : 0;

    return best && best < most ? best : most;
}
/* The row whose elements are read in order to write dtype `as`. */
static inline const struct heft_row *heft_derived_as(const struct heft_row *row, enum heft_dtype as)
{
    const struct heft_recipe *const recipe = heft_row_is_derived(row) ? row->parts->recipe : NULL;

    return recipe && recipe->otherwise && as != (enum heft_dtype)recipe->rounds ? recipe->otherwise
                                                                                : row;
}
/* Whether a row is made in dtype `as` at once, without a cast. */
static inline bool heft_derived_makes(const struct heft_row *row, enum heft_dtype as)
{
    return heft_row_is_derived(row) && row->parts->recipe->make_as && heft_dtype_is_plain(as);
}
/* Makes n bytes of a derived row in dtype `as`, from byte `from` on, by make_as of its recipe. */
struct heft_reader;
HEFT_CHECKED bool heft_derived_make_as(struct heft_reader *reader, const struct heft_row *row,
                                       enum heft_dtype as, uint64_t from, uint64_t n, uint8_t *out,
                                       struct heft_error *err);
/* HEFT_UNSUPPORTED: n finite values would become infinite in dtype `to`. Always returns false. */
bool heft_derived_refuse(uint64_t n, enum heft_dtype to, struct heft_error *err);
/* Dtype in which a row is written if no rule casts it: that of its recipe; F32 or the named one for a
 * block type of GGML that is dequantized (`asked` is not NULL); else its own. */
HEFT_CHECKED bool heft_derived_dtype(const struct heft_row *row, const char *asked,
                                     enum heft_dtype *out, struct heft_error *err);
/* HEFT_USAGE unless the text is empty (HEFT_DTYPE_COUNT) or BF16, F16 or F32. */
HEFT_CHECKED bool heft_derive_named(const char *text, enum heft_dtype *out, struct heft_error *err);
/* Makes a derived model, whose rows are `rows`; valid as long as the model and the rows are. Release its
 * map of names with heft_derived_model_release. */
HEFT_CHECKED bool heft_derived_model(struct heft_model *out, const struct heft_model *model,
                                     const struct heft_derived_rows *rows, struct heft_arena *mem,
                                     struct heft_error *err);
void heft_derived_model_release(struct heft_model *derived);

#endif
