/* test_split.c: splitting into shards, compared with the test vectors of huggingface_hub. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "heft/heft.h"

#define NONE UINT64_MAX
#define MAX  32

/* Runs a split and prints it as "[0] [1,2]". */
static void draw(size_t n, const uint64_t *sizes, const uint64_t *storages, uint64_t limit,
                 char *out, uint64_t *total)
{
    uint32_t shards[MAX], n_shards = 0;
    size_t order[MAX];
    struct heft_error err = {0};
    uint64_t none[MAX];

    for (size_t i = 0; i < MAX; i++)
        none[i] = NONE;
    assert_true(heft_split(n, sizes, storages ? storages : none, limit, shards, order, &n_shards,
                           total, &err));
    *out = '\0';
    for (size_t i = 0; i < n; i++) {
        const int first = i == 0 || shards[order[i]] != shards[order[i - 1]];

        out += sprintf(out, "%s%s%zu", first && i ? "] " : "", first ? "[" : ",", order[i]);
    }
    if (n)
        strcpy(out, "]");
}

static void expect(size_t n, const uint64_t *sizes, const uint64_t *storages, uint64_t limit,
                   const char *want, uint64_t want_total)
{
    char got[512];
    uint64_t total;

    draw(n, sizes, storages, limit, got, &total);
    assert_string_equal(got, want);
    assert_int_equal(total, want_total);
}

#define SIZES(...)                                                                                 \
    (const uint64_t[])                                                                             \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

static void vectors_without_storages(void **state)
{
    (void)state;
    expect(5, SIZES(6, 10, 30, 2, 2), NULL, 100, "[0,1,2,3,4]", 50);
    expect(5, SIZES(6, 10, 30, 2, 2), NULL, 10, "[0] [2] [1] [3,4]", 50);
    expect(0, SIZES(0), NULL, 10, "", 0);
    expect(6, SIZES(6, 6, 2, 6, 2, 2), NULL, 10, "[0] [1,2] [3,4,5]", 24);
    expect(4, SIZES(4, 4, 11, 4), NULL, 10, "[2] [0,1] [3]", 23);
    expect(3, SIZES(5, 5, 1), NULL, 10, "[0,1] [2]", 11);
    expect(2, SIZES(10, 10), NULL, 10, "[0] [1]", 20);
    expect(4, SIZES(0, 10, 0, 1), NULL, 10, "[0,1,2] [3]", 11);
    expect(1, SIZES(11), NULL, 10, "[0]", 11);
    expect(2, SIZES(11, 12), NULL, 10, "[0] [1]", 23);
    expect(3, SIZES(1, 0, 0), NULL, 0, "[0] [1,2]", 1);
    expect(2, SIZES(600, 600), NULL, 1000, "[0] [1]", 1200);
}

static void vectors_with_shared_storages(void **state)
{
    (void)state;
    expect(5, SIZES(1, 2, 1, 2, 1), SIZES(1, 2, 1, 2, 1), 1, "[1,3] [0,2,4]", 3);
    expect(4, SIZES(6, 6, 6, 3), SIZES(1, 2, 1, 2), 10, "[0,2] [1,3]", 12);
    expect(3, SIZES(3, 2, 3), SIZES(1, NONE, 1), 10, "[0,1,2]", 5);
    expect(3, SIZES(20, 1, 20), SIZES(1, NONE, 1), 10, "[0,2] [1]", 21);
    expect(3, SIZES(1, 9, 100), SIZES(1, NONE, 1), 10, "[0,1,2]", 10);
}

static void names_seen_late_are_grouped_by_storage(void **state)
{
    (void)state;
    expect(6, SIZES(1, 1, 1, 1, 1, 1), SIZES(7, 8, 9, 8, 7, 8), 100, "[0,1,2,4,3,5]", 3);
}

static void sizes_that_overflow_are_refused(void **state)
{
    const uint64_t sizes[] = {UINT64_MAX, 1}, storages[] = {NONE, NONE};
    uint32_t shards[2], n_shards;
    size_t order[2];
    uint64_t total;
    struct heft_error err = {0};

    (void)state;
    assert_false(heft_split(2, sizes, storages, 10, shards, order, &n_shards, &total, &err));
    assert_int_equal(err.code, HEFT_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors_without_storages),
        cmocka_unit_test(vectors_with_shared_storages),
        cmocka_unit_test(names_seen_late_are_grouped_by_storage),
        cmocka_unit_test(sizes_that_overflow_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
