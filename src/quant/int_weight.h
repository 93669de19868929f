/* int_weight.h: weights of small integer codes with a scale for each group of columns: the common part of
 * compressed-tensors, GPTQ, AWQ and MLX.
 *
 *     value[row][column] = (code − zero[row][group]) · scale[row][group]      group of the column
 *
 * The schemes differ in how codes and zero points are packed, and along which dimension. Here all
 * matrices have the rows of the result; a scheme that stores them transposed says so by steps. */
#ifndef HEFT_INT_WEIGHT_H
#define HEFT_INT_WEIGHT_H

#include "quant/matrix.h"
#include "quant/quant.h"

enum heft_int_codes {
    HEFT_INT_BYTES,   /* a signed code is an element: [rows, columns] */
    HEFT_INT_STREAM,  /* a stream of bits along the words of a row: [rows, words] */
    HEFT_INT_WORDS,   /* the same, no code crossing a word */
    HEFT_INT_NIBBLES, /* AWQ: a word holds the codes of eight rows: [rows/8, columns] */
};
enum heft_int_zeros {
    HEFT_INT_NO_ZEROS,   /* the zero point is `base` */
    HEFT_INT_ZERO_BYTES, /* base + a signed element: [rows, groups] */
    HEFT_INT_ZERO_STREAM, /* base + a code; a stream along the rows, for each group: [groups, words] */
    HEFT_INT_ZERO_WORDS,   /* the same, no code crossing a word */
    HEFT_INT_ZERO_NIBBLES, /* base + AWQ's code: [groups, rows/8] */
};
enum heft_int_formula {
    HEFT_INT_AFFINE,  /* (code − zero)·scale */
    HEFT_INT_BIASED,  /* code·scale + bias, the product rounded to the dtype of the scales */
    HEFT_INT_TABLE,   /* table[code]·scale */
    HEFT_INT_ROW_MAX, /* ((code − 128)·scale)·fl(1/127) */
};
/* What a zero point is whose stored code, plus 1, exceeds the bits of a code. */
enum heft_int_full { HEFT_INT_FULL_KEPT, HEFT_INT_FULL_REFUSED, HEFT_INT_FULL_WRAPS };

struct heft_int_weight {
    uint64_t rows, columns;
    uint64_t slice;      /* rows of one slice of a 3-D weight: zero points are packed for each */
    uint64_t groups;     /* of a row */
    uint64_t group_size; /* columns; column c has group c / group_size, if there is no index */
    struct heft_matrix codes, scales;
    struct heft_matrix zeros; /* or biases: [rows, groups] */
    struct heft_matrix index; /* int32 group of each column, [columns, 1]; row is NULL: none */
    const float *table;       /* 2^bits values */
    int32_t base;             /* see heft_int_zeros */
    int32_t only_zero; /* -1: any; else all stored codes of zero points have to be this one */
    uint8_t bits;      /* of a code; 8 for HEFT_INT_BYTES */
    uint8_t codes_as, zeros_as, formula, full;
    uint8_t scale_dtype; /* of the scales; differs from the row's if it is U8 */
};

/* The functions of struct heft_recipe; its ctx is a struct heft_int_weight. */
HEFT_CHECKED bool heft_int_weight_make(const struct heft_recipe *recipe, struct heft_reader *reader,
                                       const struct heft_row *row, uint64_t first, uint64_t count,
                                       uint8_t *out, struct heft_error *err);
HEFT_CHECKED bool heft_int_weight_check(const struct heft_recipe *recipe,
                                        struct heft_reader *reader, const struct heft_row *row,
                                        struct heft_error *err);
/* HEFT_INT_BIASED with exact products: for weights that are written as F32. */
HEFT_CHECKED bool heft_int_weight_make_exact(const struct heft_recipe *recipe,
                                             struct heft_reader *reader, const struct heft_row *row,
                                             uint64_t first, uint64_t count, uint8_t *out,
                                             struct heft_error *err);

/* What replaces a weight of integer codes. */
struct heft_int_place {
    const char *scheme; /* for the identity of the recipe */
    struct heft_str name;
    const uint64_t *shape;
    unsigned rank;
    enum heft_dtype as; /* HEFT_DTYPE_COUNT: the default of the model */
};
/* Adds the derived row of a weight, which is in q->mem, in the place of row `row`. */
HEFT_CHECKED bool heft_int_weight_replace(struct heft_quant *q, uint32_t row,
                                          const struct heft_int_weight *weight,
                                          const struct heft_int_place *place);
/* Whether a row has one of the dtypes of scales: F16, BF16, F32. HEFT_UNSUPPORTED if not. */
HEFT_CHECKED bool heft_int_scales_known(const struct heft_quant *q, const struct heft_row *row);
/* Reads a group size from `dict` (NULL: the quantization): *out is 0 for -1, which means one group. */
HEFT_CHECKED bool heft_int_group_size(const struct heft_quant *q,
                                      const struct heft_quant_node *dict, const char *key,
                                      uint64_t *out, bool *found);
/* Reads an index of groups, and makes it the weight's unless it is that of groups one after the other.
 * With `may_be_absent` a negative group means that there is no index (older compressed-tensors), and all
 * groups must have the same size. */
HEFT_CHECKED bool heft_int_weight_index(struct heft_quant *q, const struct heft_row *row,
                                        bool may_be_absent, struct heft_int_weight *weight);

#endif
