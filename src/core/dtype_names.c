/* dtype_names.c: dtype names as users write them: heft's own and those of torch, NumPy and
 * TensorFlow, in any case. Readers use heft_dtype_parse, which accepts one spelling. */
#include <string.h>

#include "core/cast.h"

static const struct {
    const char *name;
    uint8_t dtype;
} synonyms[] = {
    {"half", HEFT_F16},
    {"fp16", HEFT_F16},
    {"float16", HEFT_F16},
    {"bfloat16", HEFT_BF16},
    {"float", HEFT_F32},
    {"fp32", HEFT_F32},
    {"float32", HEFT_F32},
    {"double", HEFT_F64},
    {"fp64", HEFT_F64},
    {"float64", HEFT_F64},
    {"fp8_e4m3", HEFT_F8_E4M3},
    {"float8_e4m3", HEFT_F8_E4M3},
    {"float8_e4m3fn", HEFT_F8_E4M3},
    {"f8_e4m3fn", HEFT_F8_E4M3},
    {"fp8_e5m2", HEFT_F8_E5M2},
    {"float8_e5m2", HEFT_F8_E5M2},
    {"float8_e4m3fnuz", HEFT_F8_E4M3FNUZ},
    {"float8_e5m2fnuz", HEFT_F8_E5M2FNUZ},
    {"float8_e8m0fnu", HEFT_F8_E8M0},
    {"float8_e4m3b11fnuz", HEFT_F8_E4M3B11FNUZ},
    {"float6_e2m3fn", HEFT_F6_E2M3},
    {"float6_e3m2fn", HEFT_F6_E3M2},
    {"fp4", HEFT_F4},
    {"float4_e2m1fn", HEFT_F4},
    {"float4_e2m1fn_x2", HEFT_F4},
    {"char", HEFT_I8},
    {"int8", HEFT_I8},
    {"short", HEFT_I16},
    {"int16", HEFT_I16},
    {"int", HEFT_I32},
    {"int32", HEFT_I32},
    {"long", HEFT_I64},
    {"int64", HEFT_I64},
    {"byte", HEFT_U8},
    {"uint8", HEFT_U8},
    {"uint16", HEFT_U16},
    {"uint32", HEFT_U32},
    {"uint64", HEFT_U64},
    {"int4", HEFT_I4},
    {"uint4", HEFT_U4},
    {"int2", HEFT_I2},
    {"uint2", HEFT_U2},
    {"complex32", HEFT_C32},
    {"chalf", HEFT_C32},
    {"complex64", HEFT_C64},
    {"cfloat", HEFT_C64},
    {"complex128", HEFT_C128},
    {"cdouble", HEFT_C128},
    {"qint8", HEFT_QI8},
    {"quint8", HEFT_QU8},
    {"qint16", HEFT_QI16},
    {"quint16", HEFT_QU16},
    {"qint32", HEFT_QI32},
};

static char lower_case(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool same_word(const char *a, const char *b)
{
    while (*a && lower_case(*a) == lower_case(*b))
        a++, b++;
    return *a == *b;
}

/* Removes the module from a dtype's name: "torch.bfloat16" → "bfloat16". */
static const char *without_module(const char *name)
{
    static const char *const modules[] = {"torch.", "tf.", "np.", "numpy.", "jnp."};

    for (size_t i = 0; i < HEFT_COUNT(modules); i++)
        if (strncmp(name, modules[i], strlen(modules[i])) == 0)
            return name + strlen(modules[i]);
    return name;
}

bool heft_dtype_named(const char *name, enum heft_dtype *out)
{
    const char *word;

    if (!name || !out)
        return false;
    word = without_module(name);
    for (unsigned i = 0; i < HEFT_DTYPE_COUNT; i++)
        if (same_word(word, heft_dtype_name((enum heft_dtype)i))) {
            *out = (enum heft_dtype)i;
            return true;
        }
    for (size_t i = 0; i < HEFT_COUNT(synonyms); i++)
        if (same_word(word, synonyms[i].name)) {
            *out = (enum heft_dtype)synonyms[i].dtype;
            return true;
        }
    return false;
}

static bool is_cast_target(enum heft_dtype to)
{
    for (unsigned from = 0; from < HEFT_DTYPE_COUNT; from++)
        if (from != to && heft_cast_known((enum heft_dtype)from, to))
            return true;
    return false;
}

bool heft_dtype_refuse(const char *name, struct heft_error *err)
{
    char list[320] = "";
    size_t n = 0;

    for (unsigned to = 0; to < HEFT_DTYPE_COUNT; to++) {
        const char *known = heft_dtype_name((enum heft_dtype)to);
        const size_t k = strlen(known);

        if (to > HEFT_C128 && !heft_dtype_is_scaled((enum heft_dtype)to))
            continue; /* quantized integers of torch and the like: of little use to most */
        if (!is_cast_target((enum heft_dtype)to) || n + k + 3 > sizeof list)
            continue;
        memcpy(list + n, n ? " " : "", n ? 1 : 0);
        memcpy(list + n + (n > 0), known, k + 1);
        n += k + (n > 0);
    }
    return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                     "cast to \"%.60s\": no such dtype; there are %s", name, list);
}
