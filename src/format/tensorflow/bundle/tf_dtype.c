/* tf_dtype.c: TensorFlow's element types: number in files, names, and heft's dtype. */
#include "format/tensorflow/bundle/tf_parts.h"

/* Indexed by number. */
static const struct heft_tf_dtype table[] = {
    {"invalid", "DT_INVALID", 0, HEFT_DTYPE_COUNT},
    {"float", "DT_FLOAT", 1, HEFT_F32},
    {"double", "DT_DOUBLE", 2, HEFT_F64},
    {"int32", "DT_INT32", 3, HEFT_I32},
    {"uint8", "DT_UINT8", 4, HEFT_U8},
    {"int16", "DT_INT16", 5, HEFT_I16},
    {"int8", "DT_INT8", 6, HEFT_I8},
    {"string", "DT_STRING", HEFT_TF_STRING, HEFT_STRING},
    {"complex64", "DT_COMPLEX64", 8, HEFT_C64},
    {"int64", "DT_INT64", 9, HEFT_I64},
    {"bool", "DT_BOOL", 10, HEFT_BOOL},
    {"qint8", "DT_QINT8", 11, HEFT_QI8},
    {"quint8", "DT_QUINT8", 12, HEFT_QU8},
    {"qint32", "DT_QINT32", 13, HEFT_QI32},
    {"bfloat16", "DT_BFLOAT16", 14, HEFT_BF16},
    {"qint16", "DT_QINT16", 15, HEFT_QI16},
    {"quint16", "DT_QUINT16", 16, HEFT_QU16},
    {"uint16", "DT_UINT16", 17, HEFT_U16},
    {"complex128", "DT_COMPLEX128", 18, HEFT_C128},
    {"half", "DT_HALF", 19, HEFT_F16},
    {"resource", "DT_RESOURCE", 20, HEFT_DTYPE_COUNT},
    {"variant", "DT_VARIANT", HEFT_TF_VARIANT, HEFT_VARIANT},
    {"uint32", "DT_UINT32", 22, HEFT_U32},
    {"uint64", "DT_UINT64", 23, HEFT_U64},
    {"float8_e5m2", "DT_FLOAT8_E5M2", 24, HEFT_F8_E5M2},
    {"float8_e4m3fn", "DT_FLOAT8_E4M3FN", 25, HEFT_F8_E4M3},
    {"float8_e4m3fnuz", "DT_FLOAT8_E4M3FNUZ", 26, HEFT_F8_E4M3FNUZ},
    {"float8_e4m3b11fnuz", "DT_FLOAT8_E4M3B11FNUZ", 27, HEFT_F8_E4M3B11FNUZ},
    {"float8_e5m2fnuz", "DT_FLOAT8_E5M2FNUZ", 28, HEFT_F8_E5M2FNUZ},
    {"int4", "DT_INT4", 29, HEFT_I4},
    {"uint4", "DT_UINT4", 30, HEFT_U4},
    {"int2", "DT_INT2", 31, HEFT_I2},
    {"uint2", "DT_UINT2", 32, HEFT_U2},
};

const struct heft_tf_dtype *heft_tf_dtype(uint64_t number)
{
    return number < HEFT_COUNT(table) ? &table[number] : NULL;
}

const struct heft_tf_dtype *heft_tf_dtype_for(enum heft_dtype dtype)
{
    for (size_t i = 0; dtype != HEFT_DTYPE_COUNT && i < HEFT_COUNT(table); i++)
        if (table[i].dtype == dtype)
            return &table[i];
    return NULL;
}
