/* transpose_kernels_x86.c: transposition in registers of AVX2.
 *
 * A lane of 16 bytes has L elements. L columns are loaded, 2·L rows of each. log2(L) perfect shuffles, which
 * interleave register i with register i + L/2, transpose the L×L blocks of both lanes. Two such groups
 * give blocks of 2·L × 2·L, whose rows are stored as 32 bytes. */
#include <immintrin.h>

#include "base/processor.h"
#include "core/transpose_kernels.h"

#define AVX2 __attribute__((target("avx2")))
/* After inlining all indexes are constants, and the arrays are registers. */
#define INNER __attribute__((target("avx2"), always_inline)) static inline

#define LOW_HIGH(each, bits)                                                                       \
    INNER __m256i low_##each(__m256i a, __m256i b)                                                 \
    {                                                                                              \
        return _mm256_unpacklo_epi##bits(a, b);                                                    \
    }                                                                                              \
    INNER __m256i high_##each(__m256i a, __m256i b)                                                \
    {                                                                                              \
        return _mm256_unpackhi_epi##bits(a, b);                                                    \
    }

LOW_HIGH(1, 8)
LOW_HIGH(2, 16)
LOW_HIGH(4, 32)
LOW_HIGH(8, 64)

/* KERNEL(each, lane, rounds): elements in a lane, and its logarithm. */
#define KERNEL(each, lane, rounds)                                                                 \
    INNER void load_##each(__m256i v[lane], const uint8_t *src, const uint64_t *column)            \
    {                                                                                              \
        __m256i w[lane];                                                                           \
                                                                                                   \
        _Pragma("GCC unroll 16") for (unsigned i = 0; i < (lane); i++) v[i] =                      \
            _mm256_loadu_si256((const void *)(src + column[i]));                                   \
        _Pragma("GCC unroll 4") for (unsigned r = 0; r < (rounds); r++)                            \
        {                                                                                          \
            _Pragma("GCC unroll 16") for (unsigned i = 0; i < (lane); i++) w[i] = v[i];            \
            _Pragma("GCC unroll 16") for (unsigned i = 0; i < (lane) / 2; i++)                     \
            {                                                                                      \
                v[2 * i] = low_##each(w[i], w[i + (lane) / 2]);                                    \
                v[2 * i + 1] = high_##each(w[i], w[i + (lane) / 2]);                               \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
    INNER void block_##each(uint8_t *dst, uint64_t pitch, const uint8_t *src,                      \
                            const uint64_t *column)                                                \
    {                                                                                              \
        __m256i a[lane], b[lane];                                                                  \
                                                                                                   \
        load_##each(a, src, column);                                                               \
        load_##each(b, src, column + (lane));                                                      \
        _Pragma("GCC unroll 16") for (unsigned i = 0; i < (lane); i++)                             \
        {                                                                                          \
            _mm256_storeu_si256((void *)(dst + i * pitch),                                         \
                                _mm256_permute2x128_si256(a[i], b[i], 0x20));                      \
            _mm256_storeu_si256((void *)(dst + (i + (lane)) * pitch),                              \
                                _mm256_permute2x128_si256(a[i], b[i], 0x31));                      \
        }                                                                                          \
    }                                                                                              \
    AVX2 static void transpose_##each(uint8_t *dst, uint64_t pitch, const uint8_t *src,            \
                                      const uint64_t *column, size_t columns, size_t rows)         \
    {                                                                                              \
        const size_t side = 2 * (size_t)(lane);                                                    \
                                                                                                   \
        for (size_t i = 0; i < rows; i += 2 * side)                                                \
            for (size_t j = 0; j < columns; j += side) {                                           \
                block_##each(dst + i * pitch + j * (each), pitch, src + i * (each), column + j);   \
                if (i + side < rows)                                                               \
                    block_##each(dst + (i + side) * pitch + j * (each), pitch,                     \
                                 src + (i + side) * (each), column + j);                           \
            }                                                                                      \
    }

KERNEL(1, 16, 4)
KERNEL(2, 8, 3)
KERNEL(4, 4, 2)
KERNEL(8, 2, 1)

static const struct heft_transpose_kernel kernel_avx2 = {
    "avx2", {transpose_1, transpose_2, transpose_4, transpose_8}};

const struct heft_transpose_kernel *heft_transpose_kernel_at(size_t index)
{
    const bool has_avx2 = heft_processor_has(HEFT_HAS_AVX2);

    if (has_avx2 && index == 0)
        return &kernel_avx2;
    return index == (has_avx2 ? 1 : 0) ? &heft_transpose_kernel_plain : NULL;
}
