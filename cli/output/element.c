/* element.c: decodes elements of all dtypes of whole bytes. */
#include "output/element.h"

#include <math.h>
#include <string.h>

/* A binary float of up to 16 bits: sign, exponent, fraction. */
struct small_float {
    unsigned exponent_bits, fraction_bits;
    int bias;
    enum {
        IEEE,     /* the largest exponent is infinity and NaN */
        ONE_NAN,  /* only all ones are NaN; no infinity */
        ZERO_NAN, /* the code of -0 is NaN; neither infinity nor -0 */
        EXPONENT  /* no sign and no fraction: a power of two; all ones are NaN */
    } style;
};

static const struct small_float *small_float_of(enum heft_dtype dtype)
{
    static const struct small_float half = {5, 10, 15, IEEE}, e5m2 = {5, 2, 15, IEEE},
                                    e4m3 = {4, 3, 7, ONE_NAN}, e8m0 = {8, 0, 127, EXPONENT},
                                    e4m3_fnuz = {4, 3, 8, ZERO_NAN},
                                    e5m2_fnuz = {5, 2, 16, ZERO_NAN},
                                    e4m3_b11 = {4, 3, 11, ZERO_NAN};
    switch (dtype) {
    case HEFT_F16:
        return &half;
    case HEFT_F8_E5M2:
        return &e5m2;
    case HEFT_F8_E4M3:
        return &e4m3;
    case HEFT_F8_E8M0:
        return &e8m0;
    case HEFT_F8_E4M3FNUZ:
        return &e4m3_fnuz;
    case HEFT_F8_E5M2FNUZ:
        return &e5m2_fnuz;
    case HEFT_F8_E4M3B11FNUZ:
        return &e4m3_b11;
    default:
        return NULL;
    }
}

static bool is_nan_code(const struct small_float *f, unsigned code)
{
    const unsigned bits = f->exponent_bits + f->fraction_bits, low = code & ((1u << bits) - 1);
    const unsigned most = (1u << f->exponent_bits) - 1;

    if (f->style == ZERO_NAN)
        return low == 0 && code != 0;
    if (f->style == IEEE)
        return low >> f->fraction_bits == most && low << (32 - f->fraction_bits) != 0;
    return low == (1u << bits) - 1;
}

static double decode_small(const struct small_float *f, unsigned code)
{
    const unsigned exponent = code >> f->fraction_bits & ((1u << f->exponent_bits) - 1);
    const unsigned fraction = code & ((1u << f->fraction_bits) - 1);
    const bool is_negative = f->style != EXPONENT && code >> (f->exponent_bits + f->fraction_bits);
    double number;

    if (is_nan_code(f, code))
        return NAN;
    if (f->style == EXPONENT)
        return ldexp(1, (int)exponent - f->bias);
    if (f->style == IEEE && exponent == (1u << f->exponent_bits) - 1)
        number = INFINITY;
    else if (exponent)
        number = ldexp((double)(fraction + (1u << f->fraction_bits)),
                       (int)exponent - f->bias - (int)f->fraction_bits);
    else
        number = ldexp((double)fraction, 1 - f->bias - (int)f->fraction_bits);
    return is_negative ? -number : number;
}

static uint64_t decode_bits(const unsigned char *bytes, unsigned size)
{
    uint64_t bits = 0;

    for (unsigned i = size; i > 0; i--)
        bits = bits << 8 | bytes[i - 1];
    return bits;
}

static double decode_f32(const unsigned char *bytes)
{
    const uint32_t bits = (uint32_t)decode_bits(bytes, 4);
    float number;

    memcpy(&number, &bits, sizeof number);
    return (double)number;
}

static double decode_f64(const unsigned char *bytes)
{
    const uint64_t bits = decode_bits(bytes, 8);
    double number;

    memcpy(&number, &bits, sizeof number);
    return number;
}

static double decode_bf16(const unsigned char *bytes)
{
    const unsigned char wide[4] = {0, 0, bytes[0], bytes[1]};
    return decode_f32(wide);
}

/* Sign-extends the low bits. */
static int64_t extend_sign(uint64_t bits, unsigned n)
{
    const uint64_t sign = UINT64_C(1) << (n - 1), low = bits & (sign | (sign - 1));
    return (int64_t)((low ^ sign) - sign);
}

/* Bits of an integer: of those in whole bytes all, of narrow ones the low bits of a byte. */
static unsigned integer_bits(enum heft_dtype dtype)
{
    switch (dtype) {
    case HEFT_I4:
    case HEFT_U4:
        return 4;
    case HEFT_I2:
    case HEFT_U2:
        return 2;
    default:
        return 8 * heft_dtype_block_bytes(dtype);
    }
}

static enum element_class class_of(enum heft_dtype dtype)
{
    switch (dtype) {
    case HEFT_BOOL:
        return ELEMENT_BOOL;
    case HEFT_I8:
    case HEFT_I16:
    case HEFT_I32:
    case HEFT_I64:
    case HEFT_QI8:
    case HEFT_QI16:
    case HEFT_QI32:
    case HEFT_I4:
    case HEFT_I2:
        return ELEMENT_SIGNED;
    case HEFT_F32:
    case HEFT_F64:
    case HEFT_BF16:
        return ELEMENT_FLOAT;
    case HEFT_C32:
    case HEFT_C64:
    case HEFT_C128:
        return ELEMENT_COMPLEX;
    default:
        if (small_float_of(dtype))
            return ELEMENT_FLOAT;
        return heft_dtype_block_elements(dtype) == 1 && heft_dtype_block_bytes(dtype) <= 8
                   ? ELEMENT_UNSIGNED
                   : ELEMENT_NONE;
    }
}

struct element_type element_type_of(enum heft_dtype dtype)
{
    struct element_type type = {class_of(dtype), FLOAT_32, heft_dtype_block_bytes(dtype)};

    if (dtype == HEFT_F16)
        type.kind = FLOAT_16;
    else if (dtype == HEFT_F64 || dtype == HEFT_C128)
        type.kind = FLOAT_64;
    return type;
}

static double decode_float(enum heft_dtype dtype, const unsigned char *bytes)
{
    const struct small_float *const small = small_float_of(dtype);

    if (small)
        return decode_small(small, (unsigned)decode_bits(bytes, heft_dtype_block_bytes(dtype)));
    if (dtype == HEFT_BF16)
        return decode_bf16(bytes);
    return dtype == HEFT_F64 ? decode_f64(bytes) : decode_f32(bytes);
}

struct element element_decode(enum heft_dtype dtype, const unsigned char *bytes)
{
    const unsigned size = heft_dtype_block_bytes(dtype);
    const enum heft_dtype part = dtype == HEFT_C32   ? HEFT_F16
                                 : dtype == HEFT_C64 ? HEFT_F32
                                                     : HEFT_F64;
    struct element e = {.imaginary = 0};

    switch (class_of(dtype)) {
    case ELEMENT_BOOL:
        e.as.u = bytes[0] != 0;
        break;
    case ELEMENT_SIGNED:
        e.as.i = extend_sign(decode_bits(bytes, size), integer_bits(dtype));
        break;
    case ELEMENT_FLOAT:
        e.as.f = decode_float(dtype, bytes);
        break;
    case ELEMENT_COMPLEX:
        e.as.f = decode_float(part, bytes);
        e.imaginary = decode_float(part, bytes + size / 2);
        break;
    default:
        e.as.u = decode_bits(bytes, size) & (UINT64_MAX >> (64 - integer_bits(dtype)));
    }
    return e;
}
