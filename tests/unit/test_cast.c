/* test_cast.c: casts, compared with the results of torch 2.13.0 on CPU (Tensor.to of the same
 * bits). torch's scalar and vector code differ for some NaNs: expected here are 0x7FC0 for BF16, as
 * in its scalar code, and for F16 the payload bits that fit, as in its vector code. */
#include "core/cast.h"
#include "file_order.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/checksum.h"
#include "base/endian.h"

/* Casts one element through heft_cast_elements. */
static uint64_t cast_bits(enum heft_dtype from, enum heft_dtype to, uint64_t bits)
{
    uint8_t src[8], dst[8] = {0};
    uint64_t over = 0;

    heft_put_le64(src, bits);
    heft_cast_elements(from, to, src, dst, 1, &over);
    return heft_le64(dst);
}

/* ---- single values --------------------------------------------------------------------------- */

struct narrowed {
    uint32_t f32;
    uint16_t bf16, f16;
    uint8_t e5m2, e4m3, e4m3fnuz, e5m2fnuz;
};

static const struct narrowed narrowed[] = {
    {0x00000000, 0x0000, 0x0000, 0x00, 0x00, 0x00, 0x00},
    {0x80000000, 0x8000, 0x8000, 0x80, 0x80, 0x00, 0x00},
    {0x00000001, 0x0000, 0x0000, 0x00, 0x00, 0x00, 0x00},
    {0x80000001, 0x8000, 0x8000, 0x80, 0x80, 0x00, 0x00},
    {0x00800000, 0x0080, 0x0000, 0x00, 0x00, 0x00, 0x00},
    {0x3F800000, 0x3F80, 0x3C00, 0x3C, 0x38, 0x40, 0x40},
    {0xBF800000, 0xBF80, 0xBC00, 0xBC, 0xB8, 0xC0, 0xC0},
    {0x3F808000, 0x3F80, 0x3C04, 0x3C, 0x38, 0x40, 0x40},
    {0x3F818000, 0x3F82, 0x3C0C, 0x3C, 0x38, 0x40, 0x40},
    {0x3F808001, 0x3F81, 0x3C04, 0x3C, 0x38, 0x40, 0x40},
    {0x3F807FFF, 0x3F80, 0x3C04, 0x3C, 0x38, 0x40, 0x40},
    {0x3F801000, 0x3F80, 0x3C00, 0x3C, 0x38, 0x40, 0x40},
    {0x3F803000, 0x3F80, 0x3C02, 0x3C, 0x38, 0x40, 0x40},
    {0x3F801001, 0x3F80, 0x3C01, 0x3C, 0x38, 0x40, 0x40},
    {0x33000000, 0x3300, 0x0000, 0x00, 0x00, 0x00, 0x00},
    {0x33000001, 0x3300, 0x0001, 0x00, 0x00, 0x00, 0x00},
    {0x33800000, 0x3380, 0x0001, 0x00, 0x00, 0x00, 0x00},
    {0x387FC000, 0x3880, 0x03FF, 0x04, 0x00, 0x00, 0x08},
    {0x387FE000, 0x3880, 0x0400, 0x04, 0x00, 0x00, 0x08},
    {0x387FFFFF, 0x3880, 0x0400, 0x04, 0x00, 0x00, 0x08},
    {0x38800000, 0x3880, 0x0400, 0x04, 0x00, 0x00, 0x08},
    {0x477FE000, 0x4780, 0x7BFF, 0x7C, 0x7E, 0x80, 0x80},
    {0x477FEFFF, 0x4780, 0x7BFF, 0x7C, 0x7E, 0x80, 0x80},
    {0x477FF000, 0x4780, 0x7C00, 0x7C, 0x7E, 0x80, 0x80},
    {0xC77FF000, 0xC780, 0xFC00, 0xFC, 0xFE, 0x80, 0x80},
    {0x47800000, 0x4780, 0x7C00, 0x7C, 0x7E, 0x80, 0x80},
    {0x476FFFFF, 0x4770, 0x7B80, 0x7B, 0x7E, 0x80, 0x7F},
    {0x47700000, 0x4770, 0x7B80, 0x7C, 0x7E, 0x80, 0x80},
    {0x47600000, 0x4760, 0x7B00, 0x7B, 0x7E, 0x80, 0x7F},
    {0x43E00000, 0x43E0, 0x5F00, 0x5F, 0x7E, 0x80, 0x63},
    {0x43E80000, 0x43E8, 0x5F40, 0x5F, 0x7E, 0x80, 0x63},
    {0x43E80001, 0x43E8, 0x5F40, 0x5F, 0x7E, 0x80, 0x63},
    {0x43F00000, 0x43F0, 0x5F80, 0x60, 0x7E, 0x80, 0x64},
    {0xC3F80000, 0xC3F8, 0xDFC0, 0xE0, 0xFE, 0x80, 0xE4},
    {0x4377FFFF, 0x4378, 0x5BC0, 0x5C, 0x77, 0x7F, 0x60},
    {0x43780000, 0x4378, 0x5BC0, 0x5C, 0x78, 0x80, 0x60},
    {0x43700000, 0x4370, 0x5B80, 0x5C, 0x77, 0x7F, 0x60},
    {0x3C000000, 0x3C00, 0x2000, 0x20, 0x04, 0x08, 0x24},
    {0x3B800000, 0x3B80, 0x1C00, 0x1C, 0x02, 0x04, 0x20},
    {0x3AC00000, 0x3AC0, 0x1600, 0x16, 0x01, 0x02, 0x1A},
    {0x3A800001, 0x3A80, 0x1400, 0x14, 0x01, 0x01, 0x18},
    {0xBA000000, 0xBA00, 0x9000, 0x90, 0x80, 0x00, 0x94},
    {0x37000000, 0x3700, 0x0080, 0x00, 0x00, 0x00, 0x01},
    {0x36800001, 0x3680, 0x0040, 0x00, 0x00, 0x00, 0x01},
    {0x7F7F7FFF, 0x7F7F, 0x7C00, 0x7C, 0x7E, 0x80, 0x80},
    {0x7F7F8000, 0x7F80, 0x7C00, 0x7C, 0x7E, 0x80, 0x80},
    {0x7F7FFFFF, 0x7F80, 0x7C00, 0x7C, 0x7E, 0x80, 0x80},
    {0x7F800000, 0x7F80, 0x7C00, 0x7C, 0x7E, 0x80, 0x80},
    {0xFF800000, 0xFF80, 0xFC00, 0xFC, 0xFE, 0x80, 0x80},
    {0x7FC00000, 0x7FC0, 0x7E00, 0x7F, 0x7F, 0x80, 0x80},
    {0x7F800001, 0x7FC0, 0x7E00, 0x7F, 0x7F, 0x80, 0x80},
    {0xFFA12345, 0x7FC0, 0xFF09, 0xFF, 0xFF, 0x80, 0x80},
};

static void f32_is_narrowed_as_torch_does(void **state)
{
    (void)state;
    for (size_t i = 0; i < HEFT_COUNT(narrowed); i++) {
        const struct narrowed *const v = &narrowed[i];

        assert_int_equal(cast_bits(HEFT_F32, HEFT_BF16, v->f32), v->bf16);
        assert_int_equal(cast_bits(HEFT_F32, HEFT_F16, v->f32), v->f16);
        assert_int_equal(cast_bits(HEFT_F32, HEFT_F8_E5M2, v->f32), v->e5m2);
        assert_int_equal(cast_bits(HEFT_F32, HEFT_F8_E4M3, v->f32), v->e4m3);
        assert_int_equal(cast_bits(HEFT_F32, HEFT_F8_E4M3FNUZ, v->f32), v->e4m3fnuz);
        assert_int_equal(cast_bits(HEFT_F32, HEFT_F8_E5M2FNUZ, v->f32), v->e5m2fnuz);
    }
}

struct halved {
    uint64_t f64;
    uint32_t f32;
    uint16_t f16, bf16;
};

static const struct halved halved[] = {
    {0x0000000000000000, 0x00000000, 0x0000, 0x0000},
    {0x8000000000000000, 0x80000000, 0x8000, 0x8000},
    {0x0000000000000001, 0x00000000, 0x0000, 0x0000},
    {0x3FF0000000000000, 0x3F800000, 0x3C00, 0x3F80},
    {0x3FF0000010000000, 0x3F800000, 0x3C00, 0x3F80},
    {0x3FF0000010000001, 0x3F800001, 0x3C00, 0x3F80},
    {0x3FF0000030000000, 0x3F800002, 0x3C00, 0x3F80},
    {0x3810000000000000, 0x00800000, 0x0000, 0x0080},
    {0x380FFFFFFFFFFFFF, 0x00800000, 0x0000, 0x0080},
    {0x36A0000000000000, 0x00000001, 0x0000, 0x0000},
    {0x3690000000000000, 0x00000000, 0x0000, 0x0000},
    {0x3690000000000001, 0x00000001, 0x0000, 0x0000},
    {0x47EFFFFFE0000000, 0x7F7FFFFF, 0x7C00, 0x7F80},
    {0x47EFFFFFEFFFFFFF, 0x7F7FFFFF, 0x7C00, 0x7F80},
    {0x47EFFFFFF0000000, 0x7F800000, 0x7C00, 0x7F80},
    {0xC7F0000000000000, 0xFF800000, 0xFC00, 0xFF80},
    {0x7FEFFFFFFFFFFFFF, 0x7F800000, 0x7C00, 0x7F80},
    {0x40EFFDFFFFFFFFFF, 0x477FF000, 0x7C00, 0x4780},
    {0x40EFFE0000000000, 0x477FF000, 0x7C00, 0x4780},
    {0x40EFFDFFFFFFFFF0, 0x477FF000, 0x7C00, 0x4780},
    {0x3FF0080000000001, 0x3F804000, 0x3C02, 0x3F80},
    {0x3F00080000000000, 0x38004000, 0x0201, 0x3800},
    {0x7FF0000000000000, 0x7F800000, 0x7C00, 0x7F80},
    {0xFFF0000000000000, 0xFF800000, 0xFC00, 0xFF80},
    {0x7FF8000000000000, 0x7FC00000, 0x7E00, 0x7FC0},
    {0x7FF0000000000001, 0x7FC00000, 0x7E00, 0x7FC0},
    {0xFFF4000000000000, 0xFFE00000, 0xFF00, 0x7FC0},
};

static void f64_goes_through_f32(void **state)
{
    (void)state;
    for (size_t i = 0; i < HEFT_COUNT(halved); i++) {
        const struct halved *const v = &halved[i];

        assert_int_equal(cast_bits(HEFT_F64, HEFT_F32, v->f64), v->f32);
        assert_int_equal(cast_bits(HEFT_F64, HEFT_F16, v->f64), v->f16);
        assert_int_equal(cast_bits(HEFT_F64, HEFT_BF16, v->f64), v->bf16);
    }
}

struct whole {
    int64_t i64;
    uint32_t f32;
    uint64_t f64;
    uint16_t f16, bf16;
};

static const struct whole wholes[] = {
    {0, 0x00000000, 0x0000000000000000, 0x0000, 0x0000},
    {1, 0x3F800000, 0x3FF0000000000000, 0x3C00, 0x3F80},
    {-1, 0xBF800000, 0xBFF0000000000000, 0xBC00, 0xBF80},
    {16777216, 0x4B800000, 0x4170000000000000, 0x7C00, 0x4B80},
    {16777217, 0x4B800000, 0x4170000010000000, 0x7C00, 0x4B80},
    {16777219, 0x4B800002, 0x4170000030000000, 0x7C00, 0x4B80},
    {-16777219, 0xCB800002, 0xC170000030000000, 0xFC00, 0xCB80},
    {65504, 0x477FE000, 0x40EFFC0000000000, 0x7BFF, 0x4780},
    {65519, 0x477FEF00, 0x40EFFDE000000000, 0x7BFF, 0x4780},
    {65520, 0x477FF000, 0x40EFFE0000000000, 0x7C00, 0x4780},
    {-65520, 0xC77FF000, 0xC0EFFE0000000000, 0xFC00, 0xC780},
    {9007199254740993, 0x5A000000, 0x4340000000000000, 0x7C00, 0x5A00},
    {4611686018427387905, 0x5E800000, 0x43D0000000000000, 0x7C00, 0x5E80},
    {INT64_MAX, 0x5F000000, 0x43E0000000000000, 0x7C00, 0x5F00},
    {INT64_MIN, 0xDF000000, 0xC3E0000000000000, 0xFC00, 0xDF00},
};

static void integers_become_the_nearest_float(void **state)
{
    (void)state;
    for (size_t i = 0; i < HEFT_COUNT(wholes); i++) {
        const struct whole *const v = &wholes[i];

        assert_int_equal(cast_bits(HEFT_I64, HEFT_F32, (uint64_t)v->i64), v->f32);
        assert_int_equal(cast_bits(HEFT_I64, HEFT_F64, (uint64_t)v->i64), v->f64);
        assert_int_equal(cast_bits(HEFT_I64, HEFT_F16, (uint64_t)v->i64), v->f16);
        assert_int_equal(cast_bits(HEFT_I64, HEFT_BF16, (uint64_t)v->i64), v->bf16);
    }
    assert_int_equal(cast_bits(HEFT_U64, HEFT_F32, UINT64_MAX), 0x5F800000);
    assert_int_equal(cast_bits(HEFT_U64, HEFT_F64, 0x8000000000000401), 0x43E0000000000001);
}

static void integers_widen_with_their_sign(void **state)
{
    (void)state;
    assert_int_equal(cast_bits(HEFT_I8, HEFT_I64, 0x80), (uint64_t)INT64_C(-128));
    assert_int_equal(cast_bits(HEFT_I16, HEFT_I32, 0xFFFE), 0xFFFFFFFE);
    assert_int_equal(cast_bits(HEFT_I32, HEFT_I64, 0x80000000), 0xFFFFFFFF80000000);
    assert_int_equal(cast_bits(HEFT_U32, HEFT_I64, 0x80000000), 0x80000000);
    assert_int_equal(cast_bits(HEFT_U32, HEFT_U64, 0xFFFFFFFF), 0xFFFFFFFF);
    assert_int_equal(cast_bits(HEFT_U8, HEFT_I16, 0xFF), 0x00FF);
    assert_int_equal(cast_bits(HEFT_BOOL, HEFT_U8, 2), 1);
}

/* ---- every value of the small types ------------------------------------------------------ */

struct mapped {
    enum heft_dtype from, to;
    uint32_t crc; /* CRC of torch's results for all bit patterns in ascending order */
};

static const struct mapped mapped[] = {
    {HEFT_BOOL, HEFT_U8, 0x907B8889},
    {HEFT_BOOL, HEFT_I8, 0x907B8889},
    {HEFT_BOOL, HEFT_I16, 0xD0DEEA1B},
    {HEFT_BOOL, HEFT_U16, 0xD0DEEA1B},
    {HEFT_BOOL, HEFT_I32, 0x8D958EF5},
    {HEFT_BOOL, HEFT_U32, 0x8D958EF5},
    {HEFT_BOOL, HEFT_I64, 0xDCCB59DE},
    {HEFT_BOOL, HEFT_U64, 0xDCCB59DE},
    {HEFT_BOOL, HEFT_F8_E5M2, 0x9A5AD9F5},
    {HEFT_BOOL, HEFT_F8_E4M3, 0x807DE472},
    {HEFT_BOOL, HEFT_F8_E4M3FNUZ, 0x74945B69},
    {HEFT_BOOL, HEFT_F8_E5M2FNUZ, 0x74945B69},
    {HEFT_BOOL, HEFT_F16, 0x478E5F7F},
    {HEFT_BOOL, HEFT_BF16, 0x32B9C3F4},
    {HEFT_BOOL, HEFT_F32, 0x20683A3E},
    {HEFT_BOOL, HEFT_F64, 0x56948CF9},
    {HEFT_U8, HEFT_I16, 0xF8EAAB81},
    {HEFT_U8, HEFT_U16, 0xF8EAAB81},
    {HEFT_U8, HEFT_I32, 0xF0E359BB},
    {HEFT_U8, HEFT_U32, 0xF0E359BB},
    {HEFT_U8, HEFT_I64, 0x1480CBCA},
    {HEFT_U8, HEFT_U64, 0x1480CBCA},
    {HEFT_U8, HEFT_F8_E5M2, 0xDCBDB4FD},
    {HEFT_U8, HEFT_F8_E4M3, 0x8A08D7F7},
    {HEFT_U8, HEFT_F8_E4M3FNUZ, 0x59DC6D5B},
    {HEFT_U8, HEFT_F8_E5M2FNUZ, 0x8F4EB28A},
    {HEFT_U8, HEFT_F16, 0x9BD9286B},
    {HEFT_U8, HEFT_BF16, 0x5D324D3D},
    {HEFT_U8, HEFT_F32, 0xA0568DBA},
    {HEFT_U8, HEFT_F64, 0x52034E86},
    {HEFT_I8, HEFT_I16, 0x9967854D},
    {HEFT_I8, HEFT_I32, 0x1F8A9D0B},
    {HEFT_I8, HEFT_I64, 0xB265D1D0},
    {HEFT_I8, HEFT_F8_E5M2, 0x415454A5},
    {HEFT_I8, HEFT_F8_E4M3, 0x8B47F067},
    {HEFT_I8, HEFT_F8_E4M3FNUZ, 0x07584366},
    {HEFT_I8, HEFT_F8_E5M2FNUZ, 0x31DFE91D},
    {HEFT_I8, HEFT_F16, 0x1EADF8B7},
    {HEFT_I8, HEFT_BF16, 0x6AB86F44},
    {HEFT_I8, HEFT_F32, 0x15930D17},
    {HEFT_I8, HEFT_F64, 0xB4AE1B57},
    {HEFT_I16, HEFT_I32, 0xF04DE598},
    {HEFT_I16, HEFT_I64, 0xD34D6764},
    {HEFT_I16, HEFT_F8_E5M2, 0x87767BFB},
    {HEFT_I16, HEFT_F8_E4M3, 0x87904C61},
    {HEFT_I16, HEFT_F8_E4M3FNUZ, 0xFC17EFB0},
    {HEFT_I16, HEFT_F8_E5M2FNUZ, 0x799C7EB2},
    {HEFT_I16, HEFT_F16, 0xF4A52F30},
    {HEFT_I16, HEFT_BF16, 0x3F5C2A72},
    {HEFT_I16, HEFT_F32, 0x21F728A6},
    {HEFT_I16, HEFT_F64, 0xE0442CCA},
    {HEFT_U16, HEFT_I32, 0xD761C955},
    {HEFT_U16, HEFT_U32, 0xD761C955},
    {HEFT_U16, HEFT_I64, 0x9EE01CD1},
    {HEFT_U16, HEFT_U64, 0x9EE01CD1},
    {HEFT_U16, HEFT_F8_E5M2, 0xAB5D6374},
    {HEFT_U16, HEFT_F8_E4M3, 0x23BA061F},
    {HEFT_U16, HEFT_F8_E4M3FNUZ, 0x4B0F962B},
    {HEFT_U16, HEFT_F8_E5M2FNUZ, 0x55EAA07D},
    {HEFT_U16, HEFT_F16, 0xEA409FD5},
    {HEFT_U16, HEFT_BF16, 0x6941B7AD},
    {HEFT_U16, HEFT_F32, 0x553079C5},
    {HEFT_U16, HEFT_F64, 0xA10D39DD},
    {HEFT_F8_E5M2, HEFT_F8_E4M3, 0x2A851F91},
    {HEFT_F8_E5M2, HEFT_F8_E4M3FNUZ, 0x6FFD0BB1},
    {HEFT_F8_E5M2, HEFT_F8_E5M2FNUZ, 0x249CE944},
    {HEFT_F8_E5M2, HEFT_F16, 0x2B34E008},
    {HEFT_F8_E5M2, HEFT_BF16, 0xA9488149},
    {HEFT_F8_E5M2, HEFT_F32, 0xE3C4833F},
    {HEFT_F8_E5M2, HEFT_F64, 0xB1B7B24F},
    {HEFT_F8_E4M3, HEFT_F8_E5M2, 0x076B2D2F},
    {HEFT_F8_E4M3, HEFT_F8_E4M3FNUZ, 0x4FFB2B03},
    {HEFT_F8_E4M3, HEFT_F8_E5M2FNUZ, 0xE3C0F5C1},
    {HEFT_F8_E4M3, HEFT_F16, 0x5F655456},
    {HEFT_F8_E4M3, HEFT_BF16, 0xAF9B24DB},
    {HEFT_F8_E4M3, HEFT_F32, 0x3E178A35},
    {HEFT_F8_E4M3, HEFT_F64, 0x661D56A6},
    {HEFT_F8_E8M0, HEFT_F8_E5M2, 0x69D865C4},
    {HEFT_F8_E8M0, HEFT_F8_E4M3, 0x7C40D923},
    {HEFT_F8_E8M0, HEFT_F8_E4M3FNUZ, 0x80BBD277},
    {HEFT_F8_E8M0, HEFT_F8_E5M2FNUZ, 0x44BC00FB},
    {HEFT_F8_E8M0, HEFT_F16, 0xBDD7DBE7},
    {HEFT_F8_E8M0, HEFT_BF16, 0xCAFE39C9},
    {HEFT_F8_E8M0, HEFT_F32, 0x395C51DA},
    {HEFT_F8_E8M0, HEFT_F64, 0x96A0819D},
    {HEFT_F8_E4M3FNUZ, HEFT_F8_E5M2, 0x5A598EF4},
    {HEFT_F8_E4M3FNUZ, HEFT_F8_E4M3, 0x16492911},
    {HEFT_F8_E4M3FNUZ, HEFT_F8_E5M2FNUZ, 0xD986DFD1},
    {HEFT_F8_E4M3FNUZ, HEFT_F16, 0x4D61503E},
    {HEFT_F8_E4M3FNUZ, HEFT_BF16, 0x37FDC1CA},
    {HEFT_F8_E4M3FNUZ, HEFT_F32, 0x27507F94},
    {HEFT_F8_E4M3FNUZ, HEFT_F64, 0x29F5A953},
    {HEFT_F8_E5M2FNUZ, HEFT_F8_E5M2, 0x8FA754E8},
    {HEFT_F8_E5M2FNUZ, HEFT_F8_E4M3, 0x41FAD270},
    {HEFT_F8_E5M2FNUZ, HEFT_F8_E4M3FNUZ, 0x963E5B9B},
    {HEFT_F8_E5M2FNUZ, HEFT_F16, 0x7F757A4F},
    {HEFT_F8_E5M2FNUZ, HEFT_BF16, 0xE2479983},
    {HEFT_F8_E5M2FNUZ, HEFT_F32, 0xDC48D442},
    {HEFT_F8_E5M2FNUZ, HEFT_F64, 0x13683ECB},
    {HEFT_F16, HEFT_F8_E5M2, 0x2AD4353A},
    {HEFT_F16, HEFT_F8_E4M3, 0x5067A7AC},
    {HEFT_F16, HEFT_F8_E4M3FNUZ, 0x529EE546},
    {HEFT_F16, HEFT_F8_E5M2FNUZ, 0x353D3364},
    {HEFT_F16, HEFT_BF16, 0xB8F1205D},
    {HEFT_F16, HEFT_F32, 0x4E646BCA},
    {HEFT_F16, HEFT_F64, 0x4888FE60},
    {HEFT_BF16, HEFT_F8_E5M2, 0xAB11F833},
    {HEFT_BF16, HEFT_F8_E4M3, 0xB4CA6F38},
    {HEFT_BF16, HEFT_F8_E4M3FNUZ, 0x1307319F},
    {HEFT_BF16, HEFT_F8_E5M2FNUZ, 0xF55FB73C},
    {HEFT_BF16, HEFT_F16, 0x6DF63EDD},
    {HEFT_BF16, HEFT_F32, 0x093B1249},
    {HEFT_BF16, HEFT_F64, 0xA774AFC3},
};

static void all_patterns_of_small_types_match_torch(void **state)
{
    uint8_t *const src = malloc(2 * 65536), *const dst = malloc(8 * 65536);

    (void)state;
    assert_non_null(src);
    assert_non_null(dst);
    for (size_t i = 0; i < HEFT_COUNT(mapped); i++) {
        const struct mapped *const m = &mapped[i];
        const size_t each = heft_dtype_element_bytes(m->from), n = each == 1 ? 256 : 65536;
        uint64_t over = 0;

        for (size_t j = 0; j < n; j++)
            if (each == 2)
                heft_put_le16(src + 2 * j, (uint16_t)j);
            else
                src[j] = (uint8_t)(m->from == HEFT_BOOL ? j & 1 : j);
        heft_cast_elements(m->from, m->to, src, dst, n, &over);
        if (heft_crc32(0, dst, n * heft_dtype_element_bytes(m->to)) != m->crc)
            fail_msg("%s to %s", heft_dtype_name(m->from), heft_dtype_name(m->to));
    }
    free(src);
    free(dst);
}

/* ---- bulk ------------------------------------------------------------------------------------ */

/* Casts of any length around the block sizes of the loops, at any alignment, equal casts of single
 * elements and write nothing outside their output. */
static void bulk_casts_equal_single_casts_at_any_alignment(void **state)
{
    static const size_t lengths[] = {0, 1, 63, 64, 65, 1023, 1024, 1025, 2500};
    static uint8_t src[8 * 2600], dst[8 * 2600];
    static const enum heft_dtype pairs[][2] = {
        {HEFT_F32, HEFT_BF16}, {HEFT_F32, HEFT_F8_E4M3}, {HEFT_BF16, HEFT_F16},
        {HEFT_F64, HEFT_F16},  {HEFT_F16, HEFT_F64},     {HEFT_I16, HEFT_I32},
        {HEFT_U8, HEFT_F64},
    };
    uint32_t seed = 1;

    (void)state;
    for (size_t i = 0; i < sizeof src; i++)
        src[i] = (uint8_t)((seed = seed * 1664525u + 1013904223u) >> 24);
    for (size_t i = 0; i < HEFT_COUNT(pairs) * HEFT_COUNT(lengths); i++) {
        const enum heft_dtype from = pairs[i % HEFT_COUNT(pairs)][0];
        const enum heft_dtype to = pairs[i % HEFT_COUNT(pairs)][1];
        const size_t n = lengths[i / HEFT_COUNT(pairs)], a = heft_dtype_element_bytes(from),
                     b = heft_dtype_element_bytes(to), shift = i % 7;
        uint64_t over = 0;

        memset(dst, 0xEE, sizeof dst);
        heft_cast_elements(from, to, src + shift, dst + shift, n, &over);
        for (size_t j = 0; j < n; j++) {
            uint8_t one[8];

            heft_cast_elements(from, to, src + shift + j * a, one, 1, &over);
            assert_memory_equal(dst + shift + j * b, one, b);
        }
        assert_int_equal(dst[shift + n * b], 0xEE);
    }
}

static void complex_numbers_are_cast_by_part(void **state)
{
    const uint8_t c64[8] = {0, 0, 0x80, 0x3F, 0, 0x40, 0x80, 0xC7}; /* 1 - 65664i */
    const uint8_t c32[4] = {0x00, 0x3C, 0x00, 0xFC};
    uint8_t out[16];
    uint64_t over = 0;

    (void)state;
    heft_cast_elements(HEFT_C64, HEFT_C32, c64, out, 1, &over);
    assert_memory_equal(out, c32, sizeof c32);
    assert_int_equal(over, 1);
    heft_cast_elements(HEFT_C64, HEFT_C128, c64, out, 1, &over);
    assert_true(heft_le64(out) == 0x3FF0000000000000 && heft_le64(out + 8) == 0xC0F0080000000000);
    assert_int_equal(over, 1);
}

static void same_type_is_copied(void **state)
{
    const uint8_t src[4] = {1, 2, 0xC0, 0x7F};
    uint8_t dst[4];
    uint64_t over = 0;

    (void)state;
    heft_cast_elements(HEFT_F32, HEFT_F32, src, dst, 1, &over);
    assert_memory_equal(src, dst, sizeof src);
    heft_cast_elements(HEFT_F4, HEFT_F4, src, dst, 4, &over);
    assert_memory_equal(src, dst, 2);
}

/* ---- overflow and what is refused -------------------------------------------------------- */

static uint64_t overflows(enum heft_dtype from, enum heft_dtype to, uint64_t bits)
{
    uint8_t src[8], dst[8];
    uint64_t over = 0;

    heft_put_le64(src, bits);
    heft_cast_elements(from, to, src, dst, 1, &over);
    return over;
}

/* The low bits of a byte are the value; the high bits are ignored. */
static void values_of_few_bits_are_the_low_bits_of_a_byte(void **state)
{
    static const struct {
        enum heft_dtype from, to;
        int bits;
        bool is_signed;
    } all[] = {{HEFT_I4, HEFT_I8, 4, true},  {HEFT_U4, HEFT_U8, 4, false},
               {HEFT_I2, HEFT_I8, 2, true},  {HEFT_U2, HEFT_U8, 2, false},
               {HEFT_U4, HEFT_I8, 4, false}, {HEFT_QI8, HEFT_I8, 8, true},
               {HEFT_I8, HEFT_QI8, 8, true}, {HEFT_QU8, HEFT_U8, 8, false}};
    uint64_t over = 0;

    (void)state;
    for (size_t k = 0; k < HEFT_COUNT(all); k++)
        for (int x = 0; x < 256; x++) {
            const uint8_t byte = (uint8_t)x;
            const int low = x & ((1 << all[k].bits) - 1);
            const int top = 1 << (all[k].bits - 1);
            const int value = all[k].is_signed && (low & top) ? low - 2 * top : low;
            float real;
            uint8_t out;

            heft_cast_elements(all[k].from, all[k].to, &byte, &out, 1, &over);
            assert_int_equal(out, (uint8_t)value);
            heft_cast_elements(all[k].from, HEFT_F32, &byte, (uint8_t *)&real, 1, &over);
            in_file_order(&real, sizeof real, sizeof real);
            assert_true(real == (float)value);
        }
    assert_int_equal(over, 0);
}

/* Packed bytes become integers without a change of their bits. */
static void packed_bytes_become_integers_as_they_are(void **state)
{
    static const enum heft_dtype packed[] = {HEFT_QU4X2,   HEFT_QU2X4,   HEFT_BITS1X8,
                                             HEFT_BITS2X4, HEFT_BITS4X2, HEFT_BITS8};
    uint8_t word[2] = {0x12, 0xf4}, out[2];
    uint64_t over = 0;

    (void)state;
    for (size_t k = 0; k < HEFT_COUNT(packed); k++) {
        assert_true(heft_cast_known(packed[k], HEFT_U8));
        heft_cast_elements(packed[k], HEFT_U8, word + 1, out, 1, &over);
        assert_int_equal(out[0], 0xf4);
    }
    assert_true(heft_cast_known(HEFT_BITS16, HEFT_U16));
    heft_cast_elements(HEFT_BITS16, HEFT_U16, word, out, 1, &over);
    assert_memory_equal(out, word, 2);
}

static void e4m3b11fnuz_by_its_definition(void **state)
{
    uint64_t over = 0;

    (void)state;
    for (int x = 0; x < 256; x++) {
        const uint8_t byte = (uint8_t)x;
        const int exponent = x >> 3 & 15, fraction = x & 7;
        const double mag = exponent ? ldexp(8 + fraction, exponent - 14) : ldexp(fraction, -13);
        double got;

        heft_cast_elements(HEFT_F8_E4M3B11FNUZ, HEFT_F64, &byte, (uint8_t *)&got, 1, &over);
        in_file_order(&got, sizeof got, sizeof got);
        if (x == 0x80)
            assert_true(isnan(got));
        else
            assert_true(got == (x & 0x80 ? -mag : mag));
    }
}

static void finite_values_that_overflow_are_counted_once(void **state)
{
    (void)state;
    assert_int_equal(overflows(HEFT_F32, HEFT_F16, 0x477FF000), 1);
    assert_int_equal(overflows(HEFT_F32, HEFT_F16, 0x477FEFFF), 0);
    assert_int_equal(overflows(HEFT_F32, HEFT_BF16, 0xFF7F8000), 1);
    assert_int_equal(overflows(HEFT_F32, HEFT_BF16, 0x7F7F7FFF), 0);
    assert_int_equal(overflows(HEFT_F32, HEFT_F8_E5M2, 0x47700000), 1);
    assert_int_equal(overflows(HEFT_F32, HEFT_F8_E4M3, 0x43E80001), 1);
    assert_int_equal(overflows(HEFT_F32, HEFT_F8_E4M3, 0x43E80000), 0);
    assert_int_equal(overflows(HEFT_F32, HEFT_F8_E4M3FNUZ, 0x43780000), 1);
    assert_int_equal(overflows(HEFT_F32, HEFT_F8_E5M2FNUZ, 0xC7700000), 1);
    assert_int_equal(overflows(HEFT_F64, HEFT_F32, 0x47EFFFFFF0000000), 1);
    assert_int_equal(overflows(HEFT_F64, HEFT_F16, 0x7FEFFFFFFFFFFFFF), 1);
    assert_int_equal(overflows(HEFT_U64, HEFT_F16, UINT64_MAX), 1);
}

static void infinities_and_nans_are_not_counted_as_overflow(void **state)
{
    static const uint64_t specials[] = {0x7F800000, 0xFF800000, 0x7FC00000, 0xFF800001};
    static const enum heft_dtype targets[] = {HEFT_F16,     HEFT_BF16,        HEFT_F8_E5M2,
                                              HEFT_F8_E4M3, HEFT_F8_E4M3FNUZ, HEFT_F8_E5M2FNUZ};

    (void)state;
    for (size_t i = 0; i < HEFT_COUNT(specials); i++)
        for (size_t j = 0; j < HEFT_COUNT(targets); j++)
            assert_int_equal(overflows(HEFT_F32, targets[j], specials[i]), 0);
    assert_int_equal(overflows(HEFT_F64, HEFT_F32, 0x7FF0000000000000), 0);
    assert_int_equal(overflows(HEFT_F64, HEFT_F16, 0xFFF8000000000000), 0);
}

static void casts_that_lose_values_are_refused(void **state)
{
    (void)state;
    assert_false(heft_cast_known(HEFT_F32, HEFT_I64));
    assert_false(heft_cast_known(HEFT_BF16, HEFT_U8));
    assert_false(heft_cast_known(HEFT_I64, HEFT_I32));
    assert_false(heft_cast_known(HEFT_I8, HEFT_U16));
    assert_false(heft_cast_known(HEFT_U64, HEFT_I64));
    assert_false(heft_cast_known(HEFT_U8, HEFT_I8));
    assert_false(heft_cast_known(HEFT_U8, HEFT_BOOL));
    assert_false(heft_cast_known(HEFT_F32, HEFT_BOOL));
    assert_false(heft_cast_known(HEFT_C64, HEFT_F32));
    assert_false(heft_cast_known(HEFT_F32, HEFT_C64));
    assert_false(heft_cast_known(HEFT_F32, HEFT_F8_E8M0));
    assert_false(heft_cast_known(HEFT_I8, HEFT_I4));
    assert_false(heft_cast_known(HEFT_U4, HEFT_I4));
    assert_false(heft_cast_known(HEFT_QU8, HEFT_I8));
    assert_false(heft_cast_known(HEFT_BITS8, HEFT_I8));
    assert_false(heft_cast_known(HEFT_BITS8, HEFT_U16));
    assert_false(heft_cast_known(HEFT_BITS8, HEFT_BITS4X2));
    assert_false(heft_cast_known(HEFT_BITS16, HEFT_F32));
    assert_false(heft_cast_known(HEFT_STRING, HEFT_U8));
    assert_false(heft_cast_known(HEFT_F32, HEFT_STRING));
    assert_false(heft_cast_known(HEFT_VARIANT, HEFT_F32));
    assert_false(heft_cast_known(HEFT_F32, HEFT_F8_E4M3B11FNUZ));
    assert_false(heft_cast_known(HEFT_F32, HEFT_F4));
    assert_false(heft_cast_known(HEFT_F4, HEFT_I8));
    assert_false(heft_cast_known(HEFT_F32, HEFT_F6_E2M3));
    assert_false(heft_cast_known(HEFT_F6_E2M3, HEFT_F32));
    assert_false(heft_cast_known(HEFT_F6_E3M2, HEFT_F32));
}

/* Value of a float of the OCP specifications: (-1)^s 2^(e - bias) 1.m, or 2^(1 - bias) 0.m if e is
 * 0. */
static double small_float(unsigned x, unsigned bits, unsigned man, int bias)
{
    const unsigned m = x & ((1u << man) - 1), e = x >> man & ((1u << (bits - 1 - man)) - 1);
    const double size =
        e ? ldexp(1 + ldexp(m, -(int)man), (int)e - bias) : ldexp(ldexp(m, -(int)man), 1 - bias);

    return x >> (bits - 1) ? -size : size;
}

static void elements_below_a_byte_are_unpacked(void **state)
{
    enum { N = 4096 + 4 }; /* more than one block of the cast loop */
    static uint8_t src[N / 2], f32[N * 4], f64[N * 8], bf16[N * 2];
    uint64_t over = 0;

    (void)state;
    for (unsigned i = 0; i < N / 2; i++) /* element j is j * 5 modulo 16 */
        src[i] = (uint8_t)(2 * i * 5 % 16 | (2 * i + 1) * 5 % 16 << 4);
    heft_cast_elements(HEFT_F4, HEFT_F32, src, f32, N, &over);
    heft_cast_elements(HEFT_F4, HEFT_F64, src, f64, N, &over);
    heft_cast_elements(HEFT_F4, HEFT_BF16, src, bf16, N, &over);
    for (unsigned j = 0; j < N; j++) {
        const double want = small_float(j * 5 % 16, 4, 1, 1);
        uint64_t u = heft_le64(f64 + j * 8);
        double got;

        memcpy(&got, &u, sizeof got);
        assert_true(got == want && signbit(got) == signbit(want));
        assert_int_equal(heft_le32(f32 + j * 4),
                         cast_bits(HEFT_F64, HEFT_F32, heft_le64(f64 + j * 8)));
        assert_int_equal(heft_le16(bf16 + j * 2), heft_le32(f32 + j * 4) >> 16);
    }
    assert_int_equal(over, 0);
}

static void lost_values_are_counted_by_kind(void **state)
{
    static const struct {
        enum heft_dtype to;
        unsigned finite, infinite;
    } all[] = {{HEFT_F8_E4M3, 3, 2}, {HEFT_F8_E4M3FNUZ, 4, 2}, {HEFT_F8_E5M2FNUZ, 3, 2},
               {HEFT_F8_E5M2, 3, 0}, {HEFT_F16, 3, 0},         {HEFT_BF16, 2, 0},
               {HEFT_F32, 2, 0}};
    const double values[] = {1, 1e300, -1e300, INFINITY, -INFINITY, NAN, 1e6, 448};
    uint8_t src[sizeof values], dst[HEFT_COUNT(values) * 4];

    (void)state;
    for (size_t i = 0; i < HEFT_COUNT(values); i++) {
        uint64_t u;

        memcpy(&u, &values[i], sizeof u);
        heft_put_le64(src + 8 * i, u);
    }
    for (size_t k = 0; k < HEFT_COUNT(all); k++) {
        struct heft_cast_losses losses = {0};

        heft_cast_counting(HEFT_F64, all[k].to, src, dst, HEFT_COUNT(values), &losses);
        assert_int_equal(losses.finite, all[k].finite);
        assert_int_equal(losses.infinite, all[k].infinite);
    }
}

static void every_real_becomes_every_float(void **state)
{
    static const enum heft_dtype floats[] = {HEFT_F16,         HEFT_BF16,       HEFT_F32,
                                             HEFT_F64,         HEFT_F8_E4M3,    HEFT_F8_E5M2,
                                             HEFT_F8_E4M3FNUZ, HEFT_F8_E5M2FNUZ};

    (void)state;
    for (unsigned from = 0; from < HEFT_DTYPE_COUNT; from++) {
        const struct heft_dtype_info *const info = heft_dtype_info((enum heft_dtype)from);

        for (size_t i = 0; i < HEFT_COUNT(floats); i++)
            assert_int_equal(heft_cast_known((enum heft_dtype)from, floats[i]),
                             info->kind != HEFT_KIND_COMPLEX && info->kind != HEFT_KIND_PACKED &&
                                 from != HEFT_Q8_1 && from != HEFT_F6_E2M3 &&
                                 from != HEFT_F6_E3M2 && info->block_bytes > 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(f32_is_narrowed_as_torch_does),
        cmocka_unit_test(f64_goes_through_f32),
        cmocka_unit_test(integers_become_the_nearest_float),
        cmocka_unit_test(integers_widen_with_their_sign),
        cmocka_unit_test(all_patterns_of_small_types_match_torch),
        cmocka_unit_test(bulk_casts_equal_single_casts_at_any_alignment),
        cmocka_unit_test(complex_numbers_are_cast_by_part),
        cmocka_unit_test(same_type_is_copied),
        cmocka_unit_test(finite_values_that_overflow_are_counted_once),
        cmocka_unit_test(infinities_and_nans_are_not_counted_as_overflow),
        cmocka_unit_test(values_of_few_bits_are_the_low_bits_of_a_byte),
        cmocka_unit_test(packed_bytes_become_integers_as_they_are),
        cmocka_unit_test(e4m3b11fnuz_by_its_definition),
        cmocka_unit_test(casts_that_lose_values_are_refused),
        cmocka_unit_test(elements_below_a_byte_are_unpacked),
        cmocka_unit_test(lost_values_are_counted_by_kind),
        cmocka_unit_test(every_real_becomes_every_float),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
