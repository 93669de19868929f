/* gguf_types.c: tables of GGUF's numbers: types of values, types of tensors, file types. */
#include "format/gguf/gguf_parts.h"

const struct heft_gguf_type_info heft_gguf_types[HEFT_GGUF_TYPES] = {
    [HEFT_GGUF_U8] = {"u8", 1},      [HEFT_GGUF_I8] = {"i8", 1},
    [HEFT_GGUF_U16] = {"u16", 2},    [HEFT_GGUF_I16] = {"i16", 2},
    [HEFT_GGUF_U32] = {"u32", 4},    [HEFT_GGUF_I32] = {"i32", 4},
    [HEFT_GGUF_F32] = {"f32", 4},    [HEFT_GGUF_BOOL] = {"bool", 1},
    [HEFT_GGUF_STRING] = {"str", 0}, [HEFT_GGUF_ARRAY] = {"array", 0},
    [HEFT_GGUF_U64] = {"u64", 8},    [HEFT_GGUF_I64] = {"i64", 8},
    [HEFT_GGUF_F64] = {"f64", 8},
};

/* ---- types of tensors: enum ggml_type ---------------------------------------------------------- */

#define NO_DTYPE HEFT_DTYPE_COUNT

/* One row a number. */
static const struct {
    uint8_t dtype;       /* NO_DTYPE: removed */
    const char *removed; /* its name */
} types[] = {
    [0] = {HEFT_F32, NULL},          [1] = {HEFT_F16, NULL},
    [2] = {HEFT_Q4_0, NULL},         [3] = {HEFT_Q4_1, NULL},
    [4] = {NO_DTYPE, "Q4_2"},        [5] = {NO_DTYPE, "Q4_3"},
    [6] = {HEFT_Q5_0, NULL},         [7] = {HEFT_Q5_1, NULL},
    [8] = {HEFT_Q8_0, NULL},         [9] = {HEFT_Q8_1, NULL},
    [10] = {HEFT_Q2_K, NULL},        [11] = {HEFT_Q3_K, NULL},
    [12] = {HEFT_Q4_K, NULL},        [13] = {HEFT_Q5_K, NULL},
    [14] = {HEFT_Q6_K, NULL},        [15] = {HEFT_Q8_K, NULL},
    [16] = {HEFT_IQ2_XXS, NULL},     [17] = {HEFT_IQ2_XS, NULL},
    [18] = {HEFT_IQ3_XXS, NULL},     [19] = {HEFT_IQ1_S, NULL},
    [20] = {HEFT_IQ4_NL, NULL},      [21] = {HEFT_IQ3_S, NULL},
    [22] = {HEFT_IQ2_S, NULL},       [23] = {HEFT_IQ4_XS, NULL},
    [24] = {HEFT_I8, NULL},          [25] = {HEFT_I16, NULL},
    [26] = {HEFT_I32, NULL},         [27] = {HEFT_I64, NULL},
    [28] = {HEFT_F64, NULL},         [29] = {HEFT_IQ1_M, NULL},
    [30] = {HEFT_BF16, NULL},        [31] = {NO_DTYPE, "Q4_0_4_4"},
    [32] = {NO_DTYPE, "Q4_0_4_8"},   [33] = {NO_DTYPE, "Q4_0_8_8"},
    [34] = {HEFT_TQ1_0, NULL},       [35] = {HEFT_TQ2_0, NULL},
    [36] = {NO_DTYPE, "IQ4_NL_4_4"}, [37] = {NO_DTYPE, "IQ4_NL_4_8"},
    [38] = {NO_DTYPE, "IQ4_NL_8_8"}, [39] = {HEFT_MXFP4, NULL},
    [40] = {HEFT_NVFP4, NULL},       [41] = {HEFT_Q1_0, NULL},
    [42] = {HEFT_Q2_0, NULL},
};

bool heft_gguf_dtype(uint32_t id, enum heft_dtype *dtype)
{
    if (id >= HEFT_COUNT(types) || types[id].dtype == NO_DTYPE)
        return false;
    *dtype = types[id].dtype;
    return true;
}

bool heft_gguf_type_id(enum heft_dtype dtype, uint32_t *id)
{
    if (dtype == NO_DTYPE)
        return false;
    for (uint32_t i = 0; i < HEFT_COUNT(types); i++)
        if (types[i].dtype == dtype) {
            *id = i;
            return true;
        }
    return false;
}

const char *heft_gguf_removed(uint32_t id)
{
    return id < HEFT_COUNT(types) ? types[id].removed : NULL;
}

/* ---- general.file_type: enum llama_ftype ------------------------------------------------------- */

static const char *const file_types[] = {
    [0] = "F32",      [1] = "F16",      [2] = "Q4_0",       [3] = "Q4_1",    [7] = "Q8_0",
    [8] = "Q5_0",     [9] = "Q5_1",     [10] = "Q2_K",      [11] = "Q3_K_S", [12] = "Q3_K_M",
    [13] = "Q3_K_L",  [14] = "Q4_K_S",  [15] = "Q4_K_M",    [16] = "Q5_K_S", [17] = "Q5_K_M",
    [18] = "Q6_K",    [19] = "IQ2_XXS", [20] = "IQ2_XS",    [21] = "Q2_K_S", [22] = "IQ3_XS",
    [23] = "IQ3_XXS", [24] = "IQ1_S",   [25] = "IQ4_NL",    [26] = "IQ3_S",  [27] = "IQ3_M",
    [28] = "IQ2_S",   [29] = "IQ2_M",   [30] = "IQ4_XS",    [31] = "IQ1_M",  [32] = "BF16",
    [36] = "TQ1_0",   [37] = "TQ2_0",   [38] = "MXFP4_MOE", [39] = "NVFP4",  [40] = "Q1_0",
    [41] = "Q2_0",
};

const char *heft_gguf_file_type(uint64_t id)
{
    if (id == 1024)
        return "guessed";
    return id < HEFT_COUNT(file_types) ? file_types[id] : NULL;
}
