/* test_transpose.c: each kernel that transposes blocks, and scattering with blocks and rests, compared with
 * moving one element at a time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/nd_view.h"
#include "core/transpose_kernels.h"

enum { MOST = 1 << 18, COLUMNS = 96, ROWS = 160 };

static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

static uint8_t *new_bytes(uint32_t seed, size_t n)
{
    uint8_t *const p = malloc(n);

    assert_non_null(p);
    for (size_t i = 0; i < n; i++)
        p[i] = (uint8_t)next_random(&seed);
    return p;
}

static void test_kernels(void **state)
{
    uint8_t *const src = new_bytes(1, MOST), *const dst = new_bytes(2, MOST);
    uint8_t *const want = new_bytes(2, MOST);
    const struct heft_transpose_kernel *kernel;
    uint64_t column[COLUMNS];
    uint32_t seed = 3;

    (void)state;
    for (size_t k = 0; (kernel = heft_transpose_kernel_at(k)) != NULL; k++)
        for (unsigned size = 0; size < 4; size++) {
            const size_t each = (size_t)1 << size, side = HEFT_TRANSPOSE_SIDE(each);
            const size_t columns = side * (1 + next_random(&seed) % (COLUMNS / side));
            const size_t rows = side * (1 + next_random(&seed) % (ROWS / side));
            const size_t pitch = columns * each + next_random(&seed) % 40;

            for (size_t j = 0; j < columns; j++)
                column[j] = next_random(&seed) % (MOST - ROWS * each);
            kernel->by_size[size](dst, pitch, src, column, columns, rows);
            for (size_t i = 0; i < rows; i++)
                for (size_t j = 0; j < columns; j++)
                    memcpy(want + i * pitch + j * each, src + column[j] + i * each, each);
            assert_memory_equal(dst, want, MOST);
        }
    free(src);
    free(dst);
    free(want);
}

/* A random permutation of up to four dimensions, packed in scratch and destination, or with gaps. */
static void random_dims(uint32_t *seed, struct heft_dim *dims, unsigned n, uint32_t each)
{
    uint64_t at = each, to = each;
    bool used[4] = {false};

    for (unsigned i = 0; i < n; i++) {
        dims[i].n = 2 + next_random(seed) % (n < 3 ? 200 : n < 4 ? 40 : 12);
        dims[i].at = at;
        at *= dims[i].n + (next_random(seed) % 8 == 0);
    }
    for (unsigned i = 0; i < n; i++) {
        unsigned d = next_random(seed) % n;

        while (used[d])
            d = (d + 1) % n;
        used[d] = true;
        dims[d].to = to;
        to *= dims[d].n + (next_random(seed) % 8 == 0);
    }
}

static void scatter_each(uint8_t *dst, const uint8_t *src, const struct heft_dim *dims, unsigned n,
                         uint32_t each)
{
    struct heft_walk walk;

    heft_walk_begin(&walk, 0, n);
    do
        memcpy(dst + walk.to, src + walk.at, each);
    while (heft_walk_next(&walk, dims, 0, n));
}

static void test_scatter(void **state)
{
    enum { ROOM = 4 << 20 };
    static const uint32_t sizes[] = {1, 2, 4, 8, 16, 3};
    uint8_t *const src = new_bytes(1, ROOM), *const dst = new_bytes(2, ROOM);
    uint8_t *const want = new_bytes(2, ROOM);
    uint32_t seed = 5;

    (void)state;
    for (unsigned i = 0; i < 400; i++) {
        const unsigned n = next_random(&seed) % 5;
        const uint32_t each = sizes[next_random(&seed) % HEFT_COUNT(sizes)];
        struct heft_dim dims[4] = {{0}};

        random_dims(&seed, dims, n, each);
        heft_nd_view_scatter(dst, src, dims, n, each);
        scatter_each(want, src, dims, n, each);
        assert_memory_equal(dst, want, ROOM);
    }
    free(src);
    free(dst);
    free(want);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kernels),
        cmocka_unit_test(test_scatter),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
