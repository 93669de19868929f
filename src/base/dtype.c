/* dtype.c: the table of element types. */
#include "base/dtype.h"

const struct heft_dtype_info heft_dtype_infos[HEFT_DTYPE_COUNT] = {
    [HEFT_BOOL] = {"BOOL", 8, 1, HEFT_KIND_BOOL, 0},
    [HEFT_F4] = {"F4", 4, 1, HEFT_KIND_FLOAT, 0},
    [HEFT_F6_E2M3] = {"F6_E2M3", 6, 1, HEFT_KIND_FLOAT, 0},
    [HEFT_F6_E3M2] = {"F6_E3M2", 6, 1, HEFT_KIND_FLOAT, 0},
    [HEFT_U8] = {"U8", 8, 1, HEFT_KIND_UINT, 0},
    [HEFT_I8] = {"I8", 8, 1, HEFT_KIND_INT, 0},
    [HEFT_F8_E5M2] = {"F8_E5M2", 8, 1, HEFT_KIND_FLOAT, 0},
    [HEFT_F8_E4M3] = {"F8_E4M3", 8, 1, HEFT_KIND_FLOAT, 0},
    [HEFT_F8_E8M0] = {"F8_E8M0", 8, 1, HEFT_KIND_FLOAT, 0},
    [HEFT_F8_E4M3FNUZ] = {"F8_E4M3FNUZ", 8, 1, HEFT_KIND_FLOAT, 0},
    [HEFT_F8_E5M2FNUZ] = {"F8_E5M2FNUZ", 8, 1, HEFT_KIND_FLOAT, 0},
    [HEFT_I16] = {"I16", 16, 2, HEFT_KIND_INT, 0},
    [HEFT_U16] = {"U16", 16, 2, HEFT_KIND_UINT, 0},
    [HEFT_F16] = {"F16", 16, 2, HEFT_KIND_FLOAT, 0},
    [HEFT_BF16] = {"BF16", 16, 2, HEFT_KIND_FLOAT, 0},
    [HEFT_I32] = {"I32", 32, 4, HEFT_KIND_INT, 0},
    [HEFT_U32] = {"U32", 32, 4, HEFT_KIND_UINT, 0},
    [HEFT_F32] = {"F32", 32, 4, HEFT_KIND_FLOAT, 0},
    [HEFT_C64] = {"C64", 64, 4, HEFT_KIND_COMPLEX, 0},
    [HEFT_F64] = {"F64", 64, 8, HEFT_KIND_FLOAT, 0},
    [HEFT_I64] = {"I64", 64, 8, HEFT_KIND_INT, 0},
    [HEFT_U64] = {"U64", 64, 8, HEFT_KIND_UINT, 0},
    [HEFT_C32] = {"C32", 32, 2, HEFT_KIND_COMPLEX, 0},
    [HEFT_C128] = {"C128", 128, 8, HEFT_KIND_COMPLEX, 0},
    [HEFT_F8_E4M3B11FNUZ] = {"F8_E4M3B11FNUZ", 8, 1, HEFT_KIND_FLOAT, 0},
    [HEFT_QI8] = {"QI8", 8, 1, HEFT_KIND_INT, 0},
    [HEFT_QU8] = {"QU8", 8, 1, HEFT_KIND_UINT, 0},
    [HEFT_QI16] = {"QI16", 16, 2, HEFT_KIND_INT, 0},
    [HEFT_QU16] = {"QU16", 16, 2, HEFT_KIND_UINT, 0},
    [HEFT_QI32] = {"QI32", 32, 4, HEFT_KIND_INT, 0},
    [HEFT_I4] = {"I4", 8, 1, HEFT_KIND_INT, 4},
    [HEFT_U4] = {"U4", 8, 1, HEFT_KIND_UINT, 4},
    [HEFT_I2] = {"I2", 8, 1, HEFT_KIND_INT, 2},
    [HEFT_U2] = {"U2", 8, 1, HEFT_KIND_UINT, 2},
    [HEFT_QU4X2] = {"QU4X2", 8, 1, HEFT_KIND_PACKED, 0},
    [HEFT_QU2X4] = {"QU2X4", 8, 1, HEFT_KIND_PACKED, 0},
    [HEFT_BITS1X8] = {"BITS1X8", 8, 1, HEFT_KIND_PACKED, 0},
    [HEFT_BITS2X4] = {"BITS2X4", 8, 1, HEFT_KIND_PACKED, 0},
    [HEFT_BITS4X2] = {"BITS4X2", 8, 1, HEFT_KIND_PACKED, 0},
    [HEFT_BITS8] = {"BITS8", 8, 1, HEFT_KIND_PACKED, 0},
    [HEFT_BITS16] = {"BITS16", 16, 2, HEFT_KIND_PACKED, 0},
    [HEFT_STRING] = {"STRING", 0, 1, HEFT_KIND_VARYING, 0},
    [HEFT_VARIANT] = {"VARIANT", 0, 1, HEFT_KIND_VARYING, 0},
};

const char *heft_dtype_name(enum heft_dtype dtype)
{
    return (unsigned)dtype < HEFT_DTYPE_COUNT ? heft_dtype_infos[dtype].name : "?";
}

unsigned heft_dtype_bits(enum heft_dtype dtype)
{
    return heft_dtype_width(dtype);
}

bool heft_dtype_parse(const char *name, enum heft_dtype *out)
{
    if (!(name && out))
        return false;
    for (unsigned i = 0; i < HEFT_DTYPE_COUNT; i++)
        if (strcmp(name, heft_dtype_infos[i].name) == 0) {
            *out = (enum heft_dtype)i;
            return true;
        }
    return false;
}
