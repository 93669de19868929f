/* test_blocks.c: values of GGML's block types, compared with gguf-py 0.19.0 (Q8_K, Q1_0 and Q2_0 with ggml
 * 0.25.3) on one block each: byte k is 37 k + 11, the scales are 0.0625, and -0.4375 where a type has a
 * second one. The interop suite `blocks` compares random blocks. */
#include "core/blocks.h"
#include "file_order.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/endian.h"
#include "base/sha256.h"
#include "core/cast.h"

enum { MOST = 256, MOST_BYTES = 292 }; /* of a block */

struct vector {
    enum heft_dtype dtype;
    int scales[2];         /* offsets of F16 scales; -1: none */
    uint32_t first[4];     /* bits of the first values */
    const char sha256[65]; /* of all, as little-endian F32 */
};

static const struct vector vectors[] = {
    {HEFT_Q4_0,
     {0, -1},
     {0xbe400000, 0x3e000000, 0x3ee00000, 0xbe800000},
     "3d11b025a12ae353c0c95715547b5dab6a2892cea36c7a85a27fb0e833b7e7bd"},
    {HEFT_Q4_1,
     {0, 2},
     {0x3f000000, 0xbe400000, 0x3e000000, 0x3ee00000},
     "1e1d77e035fb66a82132ee839e8f91338fd7a0af02f9b3d047c103e8f68e5e9c"},
    {HEFT_Q5_0,
     {0, -1},
     {0x3f100000, 0xbe000000, 0x3e400000, 0xbf000000},
     "60e356cfcbcb31525f8a281dac688b171185e9f2c52b95f2e4a75c4ff0f320da"},
    {HEFT_Q5_1,
     {0, 2},
     {0x3f400000, 0x3f880000, 0x3fb00000, 0x3f300000},
     "40153c30203ca2bcda2f88ee45c4e182c20abeb97c36c8954b2bc25b30974652"},
    {HEFT_Q8_0,
     {0, -1},
     {0x40aa0000, 0x40f40000, 0xc0c20000, 0xc0700000},
     "b81bd787709d805ab8fedc5f7a44b77c07742fafc712ce6b2a62b688c6dd14c5"},
    {HEFT_Q2_K,
     {80, 82},
     {0x40040000, 0x00000000, 0x3f300000, 0x3fb00000},
     "3a6256cac396fa62f4e74dc7ea98af7ddbe4e991d99caeb8878d36855e8f3fb0"},
    {HEFT_Q3_K,
     {108, -1},
     {0x40a20000, 0xc0d80000, 0x3fd80000, 0xc0580000},
     "4f7ccbb2a95cee8d310d176168ce5208a2b2bd4c408ef793d4ef1c99ed50141b"},
    {HEFT_Q4_K,
     {0, 2},
     {0x422e8000, 0x41b28000, 0x42000000, 0x4226c000},
     "81d00902177094c2aee9a07cb633e0f17d1dcd55809b0c3e7f0026f4bc07b593"},
    {HEFT_Q5_K,
     {0, 2},
     {0x42954000, 0x41b28000, 0x427c0000, 0x4226c000},
     "87f3856fad6bd498376457821ebd58f5ab7897231206a89adc01cc7fcdabe27f"},
    {HEFT_Q6_K,
     {208, -1},
     {0xc2b2e000, 0x42d40000, 0x4211c000, 0xc2048000},
     "32858e62a6851bc88ca6f8c0282f3c10c0774c3feabac43e920839414f07c04a"},
    {HEFT_Q8_K,
     {-1, -1},
     {0xc0c20000, 0xc0700000, 0xbfb80000, 0x3f600000},
     "b6c992dab59d70c3b16415017ab8369b534f141b9ceb8d321d78c193b923cc4d"},
    {HEFT_IQ4_NL,
     {0, -1},
     {0xc00c0000, 0x3fc80000, 0x40e20000, 0xc0440000},
     "f8978def0d5f2dc3deec4b9a80ac12f49ab0366e67e5bddff310b038cd378d15"},
    {HEFT_IQ4_XS,
     {0, -1},
     {0x40820000, 0xbd800000, 0xc08a0000, 0x40a60000},
     "dc6ef895ab47b05566848c97c5cce311134913d93c2f2e67aa6f44e213414f8e"},
    {HEFT_TQ1_0,
     {52, -1},
     {0xbd800000, 0xbd800000, 0xbd800000, 0x00000000},
     "5ff88c6095836558d803dc69bdd1d37a34eea0f7eb2db70c59721a5768180ac9"},
    {HEFT_TQ2_0,
     {64, -1},
     {0x3e000000, 0xbd800000, 0x00000000, 0x3d800000},
     "1df02cbe12a5a4b1186d9bbed8ba668f9a29a48ecf1831ce3ca3d5a359c27b85"},
    {HEFT_MXFP4,
     {-1, -1},
     {0x00000000, 0x3e400000, 0xbd800000, 0xbec00000},
     "3330129a1f9233ad1f74680aba9d4715737153eb96880ae1284d50fc12ad35d7"},
    {HEFT_NVFP4,
     {-1, -1},
     {0xc0c00000, 0x40000000, 0xbf000000, 0xc0800000},
     "896a724317b766f9f680e990530895ee72b8e4b40563303c643de7586f065aaa"},
    {HEFT_Q1_0,
     {0, -1},
     {0x3d800000, 0xbd800000, 0x3d800000, 0xbd800000},
     "6e3179823bd69d70a4f64f212b3d36c35908904be871eb628ebbc10daaf6d33f"},
    {HEFT_Q2_0,
     {0, -1},
     {0x00000000, 0x00000000, 0x00000000, 0x00000000},
     "c2f030ab6f80469d4055f22ef9666463d5763d93823a22f1c160c5ff0bc3ba69"},
    {HEFT_IQ2_XXS,
     {0, -1},
     {0xc06c8000, 0x406c8000, 0x40098000, 0xc0098000},
     "16d265cf57b5093d6c0e47c223e139234ca98a71b888043aae554bae6fd58a72"},
    {HEFT_IQ2_XS,
     {0, -1},
     {0xbf300000, 0x40098000, 0xbf300000, 0xc06c8000},
     "a81f94dbe930289a5bbb64e01230d0bb3b29f1f005223732392cb75bb78bdb34"},
    {HEFT_IQ2_S,
     {0, -1},
     {0xc1112000, 0x40a8c000, 0xbfd80000, 0x3fd80000},
     "e378838159e108b3c11575be183cccc42eb9292f34d0a0adf84aaa127f18c7de"},
    {HEFT_IQ3_XXS,
     {0, -1},
     {0xbf500000, 0x3f100000, 0xbee00000, 0x3e400000},
     "ae6819a83d9db2dfaceb6302e43f3ec28c18af7350f9c5ab557549a48883e434"},
    {HEFT_IQ3_S,
     {0, -1},
     {0xc0a20000, 0x41730000, 0xc1af8000, 0xc13d0000},
     "8430549849e4e630b3f015f742ece3f579d79f9c65f4db9b7f2c0b8e16f7dc64"},
    {HEFT_IQ1_S,
     {0, -1},
     {0xbe280000, 0x3cc00000, 0x3e580000, 0x3e580000},
     "f566188328744d7771ef6fdb58fff35deb6d56bee8f8d00f4e8f27e6e0e68c68"},
    {HEFT_IQ1_M,
     {-1, -1},
     {0xbd600000, 0x3ec40000, 0xbd600000, 0xbd600000},
     "7207832e9e8bee6faeb8853b21c1b44495233bb5c7f6cb3268b4aa05df8f13b0"},
};

static void make_block(const struct vector *v, uint8_t *b)
{
    static const uint16_t scales[] = {0x2C00, 0xB700};
    static const uint8_t nvfp4[] = {0x38, 0x01, 0x7E, 0x7F};

    for (unsigned k = 0; k < heft_dtype_block_bytes(v->dtype); k++)
        b[k] = (uint8_t)(37 * k + 11);
    for (unsigned k = 0; k < 2; k++)
        if (v->scales[k] >= 0)
            heft_put_le16(b + v->scales[k], scales[k]);
    if (v->dtype == HEFT_Q8_K)
        heft_put_le32(b, 0x3D800000);
    if (v->dtype == HEFT_MXFP4)
        b[0] = 0x7B;
    if (v->dtype == HEFT_NVFP4)
        memcpy(b, nvfp4, sizeof nvfp4);
    if (v->dtype == HEFT_IQ1_M)
        for (unsigned k = 0; k < 4; k++)
            b[49 + 2 * k] = (uint8_t)((b[49 + 2 * k] & 15) | (scales[0] >> 4 * k & 15) << 4);
}

static void check_sum(enum heft_dtype dtype, const char *wanted, const uint8_t *bytes, size_t n)
{
    uint8_t digest[HEFT_SHA256_BYTES];
    struct heft_sha256 sha;

    heft_sha256_init(&sha);
    heft_sha256_put(&sha, bytes, n);
    heft_sha256_end(&sha, digest);
    for (unsigned i = 0; i < sizeof digest; i++) {
        const char hex[] = {wanted[2 * i], wanted[2 * i + 1], 0};

        if (digest[i] != strtoul(hex, NULL, 16))
            fail_msg("%s: other bytes", heft_dtype_name(dtype));
    }
}

static void blocks_have_the_values_of_gguf_py(void **state)
{
    uint8_t block[MOST_BYTES], values[4 * MOST];

    (void)state;
    for (size_t i = 0; i < HEFT_COUNT(vectors); i++) {
        const struct vector *const v = &vectors[i];
        const unsigned n = heft_dtype_block_elements(v->dtype);
        uint64_t over = 0;

        assert_true(heft_cast_known(v->dtype, HEFT_F32));
        make_block(v, block);
        heft_cast_elements(v->dtype, HEFT_F32, block, values, n, &over);
        for (unsigned k = 0; k < 4; k++)
            if (heft_le32(values + 4 * k) != v->first[k])
                fail_msg("%s: element %u is %08x", heft_dtype_name(v->dtype), k,
                         (unsigned)heft_le32(values + 4 * k));
        check_sum(v->dtype, v->sha256, values, 4 * (size_t)n);
        assert_int_equal(over, 0);
    }
}

/* Other floats are what their F32 rounds to, in runs longer than the steps of the cast. */
static void other_floats_are_rounded_from_f32(void **state)
{
    static const enum heft_dtype floats[] = {HEFT_BF16,    HEFT_F16,     HEFT_F64,
                                             HEFT_F8_E4M3, HEFT_F8_E5M2, HEFT_F8_E4M3FNUZ};
    enum { N = 11 * MOST };
    static uint8_t src[11 * MOST_BYTES * 8], f32[4 * N], want[8 * N], got[8 * N];

    (void)state;
    for (size_t i = 0; i < HEFT_COUNT(vectors) * HEFT_COUNT(floats); i++) {
        const struct vector *const v = &vectors[i / HEFT_COUNT(floats)];
        const enum heft_dtype to = floats[i % HEFT_COUNT(floats)];
        const unsigned bytes = heft_dtype_block_bytes(v->dtype);
        uint64_t over = 0, over_want = 0;

        for (unsigned k = 0; k < N / heft_dtype_block_elements(v->dtype); k++) {
            make_block(v, src + k * bytes);
            src[k * bytes + 7 % bytes] ^= (uint8_t)k;
        }
        heft_cast_elements(v->dtype, HEFT_F32, src, f32, N, &over_want);
        heft_cast_elements(HEFT_F32, to, f32, want, N, &over_want);
        heft_cast_elements(v->dtype, to, src, got, N, &over);
        assert_memory_equal(got, want, N * heft_dtype_element_bytes(to));
        assert_int_equal(over, over_want);
    }
}

/* ---- quantizing ------------------------------------------------------------------------------ */

enum { BLOCK = 32, WIDEST = 34 }; /* of the types that are quantized to: elements and bytes */

static const enum heft_dtype quantized[] = {HEFT_Q4_0, HEFT_Q4_1, HEFT_Q5_0, HEFT_Q5_1, HEFT_Q8_0};

static void put_f32(uint8_t *p, float x)
{
    uint32_t u;

    memcpy(&u, &x, sizeof u);
    heft_put_le32(p, u);
}

/* The bytes are those of gguf-py 0.19.0. */
static void blocks_are_quantized_as_by_gguf_py(void **state)
{
    static const struct {
        enum heft_dtype dtype;
        const char sha256[65];
    } all[] = {
        {HEFT_Q4_0, "8018af97d54cb3c651779337e29cd19601e1d46eb1057babd4a237e57678e917"},
        {HEFT_Q4_1, "4132b809f62cdae957df07670bdf487cfc662d1b631cf2d74ef8dc1462d1e9b5"},
        {HEFT_Q5_0, "9ed7f1da5615a22c0d1d36711e2628fdf6d0c515e78e5822148a3833c1fac43e"},
        {HEFT_Q5_1, "57ca757a25350d3d92fe566ec74be389662c13550fa6813c9e04ef590e252f72"},
        {HEFT_Q8_0, "76263976bf35fe8cce44ad9b73226b5d60f3656bf677df9e7fe0598e2e3bc235"},
    };
    enum { N = 64 * BLOCK };
    static uint8_t src[4 * N], wide[8 * N], out[N / BLOCK * WIDEST];
    uint32_t seed = 1;

    (void)state;
    for (size_t i = 0; i < N; i++) {
        seed = seed * 1664525u + 1013904223u;
        put_f32(src + 4 * i, (float)((int)(seed >> 8) - (1 << 23)) * 0x1p-20f);
    }
    for (size_t i = 0; i < HEFT_COUNT(all); i++) {
        const size_t bytes = N / BLOCK * heft_dtype_block_bytes(all[i].dtype);
        uint64_t over = 0;

        assert_int_equal(heft_cast_unit(HEFT_F32, all[i].dtype), BLOCK);
        heft_cast_elements(HEFT_F32, all[i].dtype, src, out, N, &over);
        check_sum(all[i].dtype, all[i].sha256, out, bytes);
        heft_cast_elements(HEFT_F32, HEFT_F64, src, wide, N, &over);
        heft_cast_elements(HEFT_F64, all[i].dtype, wide, out, N, &over);
        check_sum(all[i].dtype, all[i].sha256, out, bytes);
        assert_int_equal(over, 0);
    }
}

/* Blocks of one number: the sign of a scale of 0 is that of ggml, not of gguf-py; and a scale whose
 * reciprocal is infinite has codes 0. */
static void zeros_and_tiny_numbers_are_quantized_as_by_ggml(void **state)
{
    static const float numbers[] = {0.0f, -0.0f, 0x1p-140f};
    static const struct {
        enum heft_dtype dtype;
        uint16_t scale, offset[3]; /* scales, and offsets of each number */
        uint8_t code[3];
    } all[] = {{HEFT_Q4_0, 0x8000, {0}, {0x88, 0x88, 0}},
               {HEFT_Q4_1, 0, {0, 0x8000, 0}, {0}},
               {HEFT_Q5_0, 0x8000, {0}, {0, 0, 0}},
               {HEFT_Q5_1, 0, {0, 0x8000, 0}, {0}},
               {HEFT_Q8_0, 0, {0}, {0}}};

    (void)state;
    for (size_t i = 0; i < HEFT_COUNT(all) * HEFT_COUNT(numbers); i++) {
        const size_t t = i / HEFT_COUNT(numbers), k = i % HEFT_COUNT(numbers);
        const bool has_offset = all[t].dtype == HEFT_Q4_1 || all[t].dtype == HEFT_Q5_1;
        uint8_t src[4 * BLOCK], out[WIDEST];
        uint64_t over = 0;

        for (size_t j = 0; j < BLOCK; j++)
            put_f32(src + 4 * j, numbers[k]);
        heft_cast_elements(HEFT_F32, all[t].dtype, src, out, BLOCK, &over);
        assert_int_equal(heft_le16(out), all[t].scale);
        if (has_offset)
            assert_int_equal(heft_le16(out + 2), all[t].offset[k]);
        assert_int_equal(out[heft_dtype_block_bytes(all[t].dtype) - 1], all[t].code[k]);
    }
}

static void numbers_that_a_block_cannot_store_are_refused(void **state)
{
    static const struct {
        float number;
        bool is_infinite;
    } bad[] = {{NAN, true}, {INFINITY, true}, {-INFINITY, true}, {3e38f, false}, {-3e38f, false}};
    struct heft_error err;

    (void)state;
    for (size_t i = 0; i < HEFT_COUNT(quantized) * HEFT_COUNT(bad); i++) {
        const enum heft_dtype to = quantized[i / HEFT_COUNT(bad)];
        const size_t k = i % HEFT_COUNT(bad);
        uint8_t src[8 * BLOCK] = {0}, out[2 * WIDEST];
        struct heft_cast_losses losses = {0};

        assert_true(heft_cast_accept(to, &losses, &err));
        put_f32(src + 4 * (BLOCK + 5), bad[k].number);
        heft_cast_counting(HEFT_F32, to, src, out, 2 * BLOCK, &losses);
        assert_int_equal(losses.infinite, bad[k].is_infinite);
        assert_int_equal(losses.finite, !bad[k].is_infinite);
        assert_false(heft_cast_accept(to, &losses, &err));
        assert_int_equal(err.code, HEFT_UNSUPPORTED);
        assert_true(heft_cast_accept(HEFT_F16, &losses, &err));
    }
}

/* The largest scale of F16 is used; a little more overflows. */
static void scales_may_be_as_large_as_f16(void **state)
{
    uint8_t src[4 * BLOCK] = {0}, out[WIDEST];

    (void)state;
    for (unsigned beyond = 0; beyond < 2; beyond++) {
        struct heft_cast_losses losses = {0};

        put_f32(src, beyond ? 127 * 65520.0f : 127 * 65519.0f);
        heft_cast_counting(HEFT_F32, HEFT_Q8_0, src, out, BLOCK, &losses);
        assert_int_equal(losses.finite, beyond);
        if (!beyond)
            assert_int_equal(heft_le16(out), 0x7BFF);
    }
}

static void only_floats_are_quantized(void **state)
{
    (void)state;
    for (size_t i = 0; i < HEFT_COUNT(quantized); i++) {
        assert_true(heft_cast_known(HEFT_BF16, quantized[i]));
        assert_true(heft_cast_known(HEFT_F8_E4M3, quantized[i]));
        assert_false(heft_cast_known(HEFT_I8, quantized[i]));
        assert_false(heft_cast_known(HEFT_C64, quantized[i]));
        assert_false(heft_cast_known(HEFT_Q4_K, quantized[i]));
        assert_false(heft_cast_known(HEFT_F32, HEFT_Q4_K));
        assert_false(heft_cast_known(HEFT_Q8_1, quantized[i]));
    }
}

static void q8_1_has_no_values(void **state)
{
    struct heft_error err = {0};

    (void)state;
    assert_null(heft_blocks_to_f32(HEFT_Q8_1));
    assert_false(heft_cast_check(HEFT_Q8_1, HEFT_F32, &err));
    assert_string_equal(err.text, "Q8_1 cannot be cast to F32");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_have_the_values_of_gguf_py),
        cmocka_unit_test(other_floats_are_rounded_from_f32),
        cmocka_unit_test(blocks_are_quantized_as_by_gguf_py),
        cmocka_unit_test(zeros_and_tiny_numbers_are_quantized_as_by_ggml),
        cmocka_unit_test(numbers_that_a_block_cannot_store_are_refused),
        cmocka_unit_test(scales_may_be_as_large_as_f16),
        cmocka_unit_test(only_floats_are_quantized),
        cmocka_unit_test(q8_1_has_no_values),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
