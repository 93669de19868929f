/* cast.c: bulk conversion between dtypes.
 *
 *     from ──► F32 ──► to      floats, and integers on their way to a float
 *     from ──► F64             integers, F32
 *     from ──► 64 bits ──► to  integers to wider integers
 *
 * F32 is the intermediate type of floats because torch rounds to F32 before it narrows to F16, BF16
 * or F8. A lane holds the loops between one dtype and the intermediate types; a route is one or two
 * of these loops, run over blocks that stay in the first-level cache. The loops are simple enough
 * for compilers to vectorize; loads and stores go through heft_copy_le, so alignment does not
 * matter.
 *
 * Results were compared bit for bit with torch 2.13 on CPU. Where its scalar and vector code differ
 * (NaN to BF16 gives 0x7FC0 and 0xFFFF), the scalar code is followed. F32 to F16 keeps the part of
 * a NaN payload that fits, as hardware does. F8_E4M3 has no infinity: infinities and values that
 * are too large become ±448, as in torch since 2.13. */
#include "core/cast.h"

#include <assert.h>

#include "core/blocks.h"
#include "core/cast_kernels.h"
#include "core/small_floats.h"

enum { BLOCK = HEFT_CAST_STEP }; /* the buffer between two loops has 8 KiB */
enum { INFINITE = HEFT_CAST_INFINITE };
enum { STEP = 64 }; /* elements of an inner loop */

/* ---- F32 bits to small floats; `over`: a finite value overflowed ------------------------- */

static inline uint8_t e5m2_of_f32(uint32_t u, uint32_t *over)
{
    const uint32_t mag = u & HEFT_F32_ABS;
    const uint32_t finite =
        mag >= 0x47700000u ? 0x7C : heft_narrow_float(mag, 2, 15); /* 0x47700000 is 61440.0f */

    *over = (uint32_t)(mag < HEFT_F32_INF) & (uint32_t)(mag >= 0x47700000u);
    return (uint8_t)((u >> 24 & 0x80) | (mag > HEFT_F32_INF ? 0x7F : finite));
}

static inline uint8_t e4m3_of_f32(uint32_t u, uint32_t *over)
{
    const uint32_t mag = u & HEFT_F32_ABS;
    const uint32_t finite =
        mag > 0x43E80000u ? 0x7E : heft_narrow_float(mag, 3, 7); /* 464 rounds to 448 */

    *over = (uint32_t)(mag < HEFT_F32_INF) & (uint32_t)(mag > 0x43E80000u);
    *over += mag == HEFT_F32_INF ? INFINITE : 0;
    return (uint8_t)((u >> 24 & 0x80) | (mag > HEFT_F32_INF ? 0x7F : finite));
}

/* `top`: smallest F32 magnitude that rounds to more than the largest finite value. */
static inline uint8_t fnuz_of_f32(uint32_t u, uint32_t *over, unsigned man, unsigned bias,
                                  uint32_t top)
{
    const uint32_t mag = u & HEFT_F32_ABS;
    const uint32_t value = heft_narrow_float(mag, man, bias);
    const uint32_t sign = value ? u >> 24 & 0x80 : 0;

    *over = (uint32_t)(mag < HEFT_F32_INF) & (uint32_t)(mag >= top);
    *over += mag == HEFT_F32_INF ? INFINITE : 0;
    return (uint8_t)(mag >= top ? 0x80 : sign | value);
}

static inline uint8_t e4m3fnuz_of_f32(uint32_t u, uint32_t *over)
{
    return fnuz_of_f32(u, over, 3, 8, 0x43780000u); /* 0x43780000 is 248.0f */
}

static inline uint8_t e5m2fnuz_of_f32(uint32_t u, uint32_t *over)
{
    return fnuz_of_f32(u, over, 2, 16, 0x47700000u); /* 0x47700000 is 61440.0f */
}

static inline float f32_of_f64(double d, uint32_t *over)
{
    const float f = (float)d;
    uint64_t u;

    memcpy(&u, &d, sizeof u);
    *over = (uint32_t)((u & INT64_MAX) < 0x7FF0000000000000u) &
            (uint32_t)((heft_bits_of_float(f) & HEFT_F32_ABS) == HEFT_F32_INF);
    return f;
}

/* ---- loops over elements ----------------------------------------------------------------- */

/* LOOP(name, from, to, expr) defines a function that computes `to y = expr` from `from x` for
 * each element; expr may count overflows in `uint32_t over`. The inner loop has a constant trip
 * count, because compilers vectorize only such loops at -O2. */
#define LOOP(name, from, to, expr)                                                                 \
    static inline uint32_t name##_some(const uint8_t *restrict src, uint8_t *restrict dst,         \
                                       size_t n)                                                   \
    {                                                                                              \
        uint32_t total = 0;                                                                        \
        for (size_t i = 0; i < n; i++) {                                                           \
            from x;                                                                                \
            uint32_t over = 0;                                                                     \
            heft_copy_le(&x, src + i * sizeof x, sizeof x);                                        \
            const to y = (expr);                                                                   \
            heft_copy_le(dst + i * sizeof y, &y, sizeof y);                                        \
            total += over;                                                                         \
        }                                                                                          \
        return total;                                                                              \
    }                                                                                              \
    static uint32_t name(const uint8_t *restrict src, uint8_t *restrict dst, size_t n)             \
    {                                                                                              \
        uint32_t total = 0;                                                                        \
        for (; n >= STEP; n -= STEP, src += STEP * sizeof(from), dst += STEP * sizeof(to))         \
            total += name##_some(src, dst, STEP);                                                  \
        return total + name##_some(src, dst, n);                                                   \
    }

/* Loops from an integer dtype to each of the intermediate types. */
#define INTEGER_LOOPS(name, type, wide)                                                            \
    LOOP(name##_to_f32, type, float, (float)x)                                                     \
    LOOP(name##_to_f64, type, double, (double)x)                                                   \
    LOOP(name##_to_int, type, wide, x)

INTEGER_LOOPS(u8, uint8_t, uint64_t)
INTEGER_LOOPS(i8, int8_t, int64_t)
INTEGER_LOOPS(u16, uint16_t, uint64_t)
INTEGER_LOOPS(i16, int16_t, int64_t)
INTEGER_LOOPS(u32, uint32_t, uint64_t)
INTEGER_LOOPS(i32, int32_t, int64_t)
INTEGER_LOOPS(u64, uint64_t, uint64_t)
INTEGER_LOOPS(i64, int64_t, int64_t)
/* Sign-extends a value that is in the low bits. */
static inline int8_t low_signed(int8_t x, unsigned bits)
{
    const uint8_t top = (uint8_t)((uint8_t)x << (8 - bits));

    return (int8_t)((int8_t)top >> (8 - bits));
}

static inline uint8_t low_unsigned(uint8_t x, unsigned bits)
{
    return (uint8_t)(x & ((1u << bits) - 1));
}

LOOP(i4_to_f32, int8_t, float, (float)low_signed(x, 4))
LOOP(i4_to_f64, int8_t, double, (double)low_signed(x, 4))
LOOP(i4_to_int, int8_t, int64_t, low_signed(x, 4))
LOOP(u4_to_f32, uint8_t, float, (float)low_unsigned(x, 4))
LOOP(u4_to_f64, uint8_t, double, (double)low_unsigned(x, 4))
LOOP(u4_to_int, uint8_t, uint64_t, low_unsigned(x, 4))
LOOP(i2_to_f32, int8_t, float, (float)low_signed(x, 2))
LOOP(i2_to_f64, int8_t, double, (double)low_signed(x, 2))
LOOP(i2_to_int, int8_t, int64_t, low_signed(x, 2))
LOOP(u2_to_f32, uint8_t, float, (float)low_unsigned(x, 2))
LOOP(u2_to_f64, uint8_t, double, (double)low_unsigned(x, 2))
LOOP(u2_to_int, uint8_t, uint64_t, low_unsigned(x, 2))
LOOP(bool_to_f32, uint8_t, float, x ? 1.0f : 0.0f)
LOOP(bool_to_f64, uint8_t, double, x ? 1.0 : 0.0)
LOOP(bool_to_int, uint8_t, uint64_t, x != 0)

LOOP(int_to_2, uint64_t, uint8_t, x & 3)
LOOP(int_to_4, uint64_t, uint8_t, x & 15)
LOOP(int_to_8, uint64_t, uint8_t, (uint8_t)x)
LOOP(int_to_16, uint64_t, uint16_t, (uint16_t)x)
LOOP(int_to_32, uint64_t, uint32_t, (uint32_t)x)

/* Two elements a byte, the first in the low bits, as torch packs float4_e2m1fn_x2. */
static uint32_t f4_to_f32(const uint8_t *restrict src, uint8_t *restrict dst, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const uint32_t x = (uint32_t)src[i / 2] >> 4 * (i % 2) & 15;
        const uint32_t u = (x & 8) << 28 | heft_widen_float(x & 7, 1, 1);

        heft_copy_le(dst + i * sizeof u, &u, sizeof u);
    }
    return 0;
}

LOOP(f16_to_f32, uint16_t, uint32_t, heft_f32_of_f16(x))
LOOP(bf16_to_f32, uint16_t, uint32_t, heft_f32_of_bf16(x))
LOOP(e5m2_to_f32, uint8_t, uint32_t, heft_f32_of_e5m2(x))
LOOP(e4m3_to_f32, uint8_t, uint32_t, heft_f32_of_e4m3(x))
LOOP(e4m3fnuz_to_f32, uint8_t, uint32_t, heft_f32_of_e4m3fnuz(x))
LOOP(e5m2fnuz_to_f32, uint8_t, uint32_t, heft_f32_of_e5m2fnuz(x))
LOOP(e4m3b11fnuz_to_f32, uint8_t, uint32_t, heft_f32_of_e4m3b11fnuz(x))
LOOP(e8m0_to_f32, uint8_t, uint32_t, heft_f32_of_e8m0(x))
LOOP(f32_to_f64, float, double, (double)x)
LOOP(f64_to_f32, double, float, f32_of_f64(x, &over))

LOOP(f32_to_f16, uint32_t, uint16_t, heft_f16_of_f32(x, &over))
LOOP(f32_to_bf16, uint32_t, uint16_t, heft_bf16_of_f32(x, &over))
LOOP(f32_to_e5m2, uint32_t, uint8_t, e5m2_of_f32(x, &over))
LOOP(f32_to_e4m3, uint32_t, uint8_t, e4m3_of_f32(x, &over))
LOOP(f32_to_e4m3fnuz, uint32_t, uint8_t, e4m3fnuz_of_f32(x, &over))
LOOP(f32_to_e5m2fnuz, uint32_t, uint8_t, e5m2fnuz_of_f32(x, &over))

/* ---- choosing a conversion: widths and routes -------------------------------------------- */

struct lane {
    heft_cast_loop *to_f32, *to_f64, *from_f32; /* from_f32: for dtypes that F32 is narrowed to */
    heft_cast_loop *to_int, *from_int;          /* from_int: for integers narrower than 64 bits */
};

static const struct lane lanes[HEFT_DTYPE_COUNT] = {
    [HEFT_BOOL] = {bool_to_f32, bool_to_f64, NULL, bool_to_int, NULL},
    [HEFT_U8] = {u8_to_f32, u8_to_f64, NULL, u8_to_int, int_to_8},
    [HEFT_I8] = {i8_to_f32, i8_to_f64, NULL, i8_to_int, int_to_8},
    [HEFT_U16] = {u16_to_f32, u16_to_f64, NULL, u16_to_int, int_to_16},
    [HEFT_I16] = {i16_to_f32, i16_to_f64, NULL, i16_to_int, int_to_16},
    [HEFT_U32] = {u32_to_f32, u32_to_f64, NULL, u32_to_int, int_to_32},
    [HEFT_I32] = {i32_to_f32, i32_to_f64, NULL, i32_to_int, int_to_32},
    [HEFT_U64] = {u64_to_f32, u64_to_f64, NULL, u64_to_int, NULL},
    [HEFT_I64] = {i64_to_f32, i64_to_f64, NULL, i64_to_int, NULL},
    [HEFT_QU8] = {u8_to_f32, u8_to_f64, NULL, u8_to_int, int_to_8},
    [HEFT_QI8] = {i8_to_f32, i8_to_f64, NULL, i8_to_int, int_to_8},
    [HEFT_QU16] = {u16_to_f32, u16_to_f64, NULL, u16_to_int, int_to_16},
    [HEFT_QI16] = {i16_to_f32, i16_to_f64, NULL, i16_to_int, int_to_16},
    [HEFT_QI32] = {i32_to_f32, i32_to_f64, NULL, i32_to_int, int_to_32},
    [HEFT_U4] = {u4_to_f32, u4_to_f64, NULL, u4_to_int, int_to_4},
    [HEFT_I4] = {i4_to_f32, i4_to_f64, NULL, i4_to_int, int_to_4},
    [HEFT_U2] = {u2_to_f32, u2_to_f64, NULL, u2_to_int, int_to_2},
    [HEFT_I2] = {i2_to_f32, i2_to_f64, NULL, i2_to_int, int_to_2},
    /* Packed dtypes have no numeric value; they cast to and from an unsigned integer of the same
     * bits. */
    [HEFT_QU4X2] = {NULL, NULL, NULL, u8_to_int, int_to_8},
    [HEFT_QU2X4] = {NULL, NULL, NULL, u8_to_int, int_to_8},
    [HEFT_BITS1X8] = {NULL, NULL, NULL, u8_to_int, int_to_8},
    [HEFT_BITS2X4] = {NULL, NULL, NULL, u8_to_int, int_to_8},
    [HEFT_BITS4X2] = {NULL, NULL, NULL, u8_to_int, int_to_8},
    [HEFT_BITS8] = {NULL, NULL, NULL, u8_to_int, int_to_8},
    [HEFT_BITS16] = {NULL, NULL, NULL, u16_to_int, int_to_16},
    [HEFT_F4] = {f4_to_f32, NULL, NULL, NULL, NULL},
    /* F6_E2M3 and F6_E3M2 have no loops: no specification and no program says how four of them are
     * packed into three bytes. */
    [HEFT_F8_E5M2] = {e5m2_to_f32, NULL, f32_to_e5m2, NULL, NULL},
    [HEFT_F8_E4M3] = {e4m3_to_f32, NULL, f32_to_e4m3, NULL, NULL},
    [HEFT_F8_E8M0] = {e8m0_to_f32, NULL, NULL, NULL, NULL},
    [HEFT_F8_E4M3B11FNUZ] = {e4m3b11fnuz_to_f32, NULL, NULL, NULL, NULL},
    [HEFT_F8_E4M3FNUZ] = {e4m3fnuz_to_f32, NULL, f32_to_e4m3fnuz, NULL, NULL},
    [HEFT_F8_E5M2FNUZ] = {e5m2fnuz_to_f32, NULL, f32_to_e5m2fnuz, NULL, NULL},
    [HEFT_F16] = {f16_to_f32, NULL, f32_to_f16, NULL, NULL},
    [HEFT_BF16] = {bf16_to_f32, NULL, f32_to_bf16, NULL, NULL},
    [HEFT_F32] = {NULL, f32_to_f64, NULL, NULL, NULL},
    [HEFT_F64] = {f64_to_f32, NULL, NULL, NULL, NULL},
};

/* Route of a cast: up to two loops; none if the bytes stay as they are. `parts`: numbers an
 * element is made of, 2 for complex dtypes, each of which is cast. */
struct route {
    heft_cast_loop *first, *second;
    size_t parts;
};

static bool is_integer(enum heft_dtype dtype)
{
    return lanes[dtype].to_int != NULL && dtype != HEFT_BOOL;
}

/* Whether the integer dtype `to` represents every value of the integer or bool `from`. */
static bool represents_all(enum heft_dtype to, enum heft_dtype from)
{
    const struct heft_dtype_info *const a = heft_dtype_info(from), *const b = heft_dtype_info(to);

    const unsigned x = heft_dtype_value_bits(a), y = heft_dtype_value_bits(b);

    if (a->kind == HEFT_KIND_PACKED || b->kind == HEFT_KIND_PACKED)
        return a->block_bytes == b->block_bytes &&
               a->kind + b->kind == HEFT_KIND_PACKED + HEFT_KIND_UINT;
    return from == HEFT_BOOL || (x == y && a->kind == b->kind) ||
           (y > x && (a->kind == HEFT_KIND_UINT || b->kind == HEFT_KIND_INT));
}

static enum heft_dtype part_of(enum heft_dtype complex)
{
    return complex == HEFT_C32 ? HEFT_F16 : complex == HEFT_C64 ? HEFT_F32 : HEFT_F64;
}

static bool is_complex(enum heft_dtype dtype)
{
    return heft_dtype_info(dtype)->kind == HEFT_KIND_COMPLEX;
}

heft_cast_loop *heft_cast_plain_to_f32(enum heft_dtype dtype)
{
    return lanes[dtype].to_f32 ? lanes[dtype].to_f32 : heft_blocks_to_f32(dtype);
}

heft_cast_loop *heft_cast_plain_from_f32(enum heft_dtype dtype)
{
    return lanes[dtype].from_f32 ? lanes[dtype].from_f32 : heft_blocks_from_f32(dtype);
}

/* Loops of a dtype, those of blocks included, and the fastest ones of this processor. */
static struct lane lane_of(enum heft_dtype dtype)
{
    const struct heft_cast_kernel *const kernel = heft_cast_kernel_at(0);
    struct lane lane = lanes[dtype];

    lane.to_f32 =
        kernel && kernel->to_f32[dtype] ? kernel->to_f32[dtype] : heft_cast_plain_to_f32(dtype);
    lane.from_f32 = kernel && kernel->from_f32[dtype] ? kernel->from_f32[dtype]
                                                      : heft_cast_plain_from_f32(dtype);
    return lane;
}

/* Whether a dtype becomes blocks of `to`: GGML quantizes floats, and none of its own blocks again. */
static bool can_quantize(enum heft_dtype from, enum heft_dtype to)
{
    return !heft_dtype_is_scaled(to) || heft_dtype_info(from)->kind == HEFT_KIND_FLOAT;
}

static bool find_route(enum heft_dtype from, enum heft_dtype to, struct route *out)
{
    const struct lane a = lane_of(from), b = lane_of(to);

    *out = (struct route){NULL, NULL, 1};
    if (from == to)
        return true;
    if (is_integer(to)) {
        out->first = a.to_int;
        out->second = b.from_int;
        return a.to_int && represents_all(to, from);
    }
    if (to == HEFT_F32 || b.from_f32) {
        out->first = a.to_f32;
        out->second = b.from_f32;
        return (a.to_f32 || from == HEFT_F32) && can_quantize(from, to);
    }
    if (to == HEFT_F64) {
        out->first = a.to_f64 ? a.to_f64 : a.to_f32;
        out->second = a.to_f64 ? NULL : f32_to_f64;
        return out->first != NULL;
    }
    return false;
}

/* Route of any cast: complex dtypes use that of their real and imaginary parts. */
static bool route_of(enum heft_dtype from, enum heft_dtype to, struct route *out)
{
    bool known;

    if (!is_complex(from) || !is_complex(to) || from == to)
        return find_route(from, to, out);
    known = find_route(part_of(from), part_of(to), out);
    out->parts = 2;
    return known;
}

bool heft_cast_known(enum heft_dtype from, enum heft_dtype to)
{
    struct route route;

    return route_of(from, to, &route);
}

bool heft_cast_check(enum heft_dtype from, enum heft_dtype to, struct heft_error *err)
{
    if ((unsigned)from < HEFT_DTYPE_COUNT && (unsigned)to < HEFT_DTYPE_COUNT &&
        heft_cast_known(from, to))
        return true;
    return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "%s cannot be cast to %s",
                     heft_dtype_name(from), heft_dtype_name(to));
}

/* Runs one block through the loops of a route. Returns the two counters of a loop. */
static uint32_t cast_block(const struct route *route, const uint8_t *src, uint8_t *dst, size_t n)
{
    uint8_t hub[BLOCK * 8];
    uint32_t over, second;

    if (!route->first)
        return route->second(src, dst, n);
    if (!route->second)
        return route->first(src, dst, n);
    over = route->first(src, hub, n);
    second = route->second(hub, dst, n);
    /* Do not count again the infinities that the first loop made. */
    if (second >= INFINITE)
        second -= over * INFINITE;
    return over + second;
}

unsigned heft_cast_unit(enum heft_dtype from, enum heft_dtype to)
{
    const unsigned a = heft_dtype_info(from)->block_elements;
    const unsigned b = heft_dtype_info(to)->block_elements;

    return a > b ? a : b;
}

bool heft_cast_accept(enum heft_dtype to, const struct heft_cast_losses *losses,
                      struct heft_error *err)
{
    if (!heft_dtype_is_scaled(to) || (!losses->finite && !losses->infinite))
        return true;
    if (losses->infinite)
        return heft_fail(err, HEFT_UNSUPPORTED, HEFT_NO_OFFSET,
                         "NaN or infinite values found, which %s cannot store",
                         heft_dtype_name(to));
    return heft_fail(err, HEFT_UNSUPPORTED, HEFT_NO_OFFSET,
                     "values found that are too large for %s, whose scales are F16, at most 65504",
                     heft_dtype_name(to));
}

const char *heft_cast_result(enum heft_dtype to)
{
    switch (to) {
    case HEFT_F8_E4M3:
        return "448 or -448";
    case HEFT_F8_E4M3FNUZ:
    case HEFT_F8_E5M2FNUZ:
        return "NaN";
    default:
        return "infinite";
    }
}

void heft_cast_elements(enum heft_dtype from, enum heft_dtype to, const uint8_t *src, uint8_t *dst,
                        size_t n, uint64_t *overflowed)
{
    struct heft_cast_losses losses = {0};

    heft_cast_counting(from, to, src, dst, n, &losses);
    *overflowed += losses.finite;
}

void heft_cast_counting(enum heft_dtype from, enum heft_dtype to, const uint8_t *src, uint8_t *dst,
                        size_t n, struct heft_cast_losses *losses)
{
    struct route route;
    const bool known = route_of(from, to, &route);
    size_t step, new_step; /* bytes of BLOCK parts */

    assert(known);
    if (!known)
        return;
    if (from == to) {
        if (n)
            memcpy(dst, src, (size_t)heft_dtype_span(from, n));
        return;
    }
    step = (size_t)heft_dtype_span(from, BLOCK) / route.parts;
    new_step = (size_t)heft_dtype_span(to, BLOCK) / route.parts;
    for (size_t at = 0; at < n * route.parts; at += BLOCK) {
        const uint32_t over =
            cast_block(&route, src + at / BLOCK * step, dst + at / BLOCK * new_step,
                       heft_min_size(BLOCK, n * route.parts - at));

        losses->finite += over % INFINITE;
        losses->infinite += over / INFINITE;
    }
}
