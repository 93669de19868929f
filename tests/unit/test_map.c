/* test_map.c: hash tables, small and large. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "failures.h"
#include "base/map.h"

static void a_zeroed_map_is_empty(void **state)
{
    struct heft_strmap strings = {0};
    struct heft_u32map numbers = {0};

    (void)state;
    assert_int_equal(heft_strmap_get(&strings, HEFT_STR("x")), HEFT_MAP_NONE);
    assert_int_equal(heft_u32map_get(&numbers, 0), HEFT_MAP_NONE);
    assert_int_equal(heft_u32map_get(&numbers, UINT32_MAX), HEFT_MAP_NONE);
    heft_strmap_release(&strings);
    heft_u32map_release(&numbers);
}

static void add_keeps_the_first_value_and_reports_it(void **state)
{
    struct heft_error err = {0};
    struct heft_strmap map = {0};
    uint32_t found = 77;

    (void)state;
    assert_true(heft_strmap_add(&map, HEFT_STR("a"), 1, &found, &err));
    assert_int_equal(found, HEFT_MAP_NONE);
    assert_true(heft_strmap_add(&map, HEFT_STR("a"), 2, &found, &err));
    assert_int_equal(found, 1);
    assert_int_equal(heft_strmap_get(&map, HEFT_STR("a")), 1);
    assert_true(heft_strmap_set(&map, HEFT_STR("a"), 3, &err));
    assert_int_equal(heft_strmap_get(&map, HEFT_STR("a")), 3);
    assert_int_equal(map.count, 1);
    heft_strmap_release(&map);
}

static void keys_that_differ_in_a_byte_or_in_length_are_different(void **state)
{
    static const char bytes[40] = {0};
    struct heft_error err = {0};
    struct heft_strmap map = {0};
    char text[40] = {0};
    uint32_t found;

    (void)state;
    for (uint32_t n = 0; n < 40; n++) { /* all zeros: the keys differ only in length */
        assert_true(heft_strmap_add(&map, (struct heft_str){bytes, n}, n, &found, &err));
        assert_int_equal(found, HEFT_MAP_NONE);
    }
    for (uint32_t n = 0; n < 40; n++) {
        assert_int_equal(heft_strmap_get(&map, (struct heft_str){text, n}), n);
        if (n == 0)
            continue;
        text[n - 1] = 1;
        assert_int_equal(heft_strmap_get(&map, (struct heft_str){text, n}), HEFT_MAP_NONE);
        text[n - 1] = 0;
    }
    heft_strmap_release(&map);
}

enum { MANY = 200000, WIDTH = 24 };

static void many_names_are_all_found_again(void **state)
{
    struct heft_error err = {0};
    struct heft_strmap map = {0};
    char *names = heft_calloc(MANY, WIDTH, &err);
    uint32_t found;

    (void)state;
    assert_non_null(names);
    for (uint32_t i = 0; i < MANY; i++) {
        char *name = names + (size_t)i * WIDTH;

        snprintf(name, WIDTH, "layer.%" PRIu32 ".weight", i);
        assert_true(heft_strmap_add(&map, heft_str_of(name), i, &found, &err));
        assert_int_equal(found, HEFT_MAP_NONE);
    }
    assert_int_equal(map.count, MANY);
    for (uint32_t i = 0; i < MANY; i++)
        assert_int_equal(heft_strmap_get(&map, heft_str_of(names + (size_t)i * WIDTH)), i);
    assert_int_equal(heft_strmap_get(&map, HEFT_STR("layer.x.weight")), HEFT_MAP_NONE);
    heft_strmap_release(&map);
    heft_free(names);
}

static void reserving_avoids_all_later_growth(void **state)
{
    struct heft_error err = {0};
    struct heft_strmap map = {0};
    char names[1000][8];
    uint64_t before;

    (void)state;
    assert_true(heft_strmap_reserve(&map, 1000, &err));
    before = heft_alloc_count();
    for (uint32_t i = 0; i < 1000; i++) {
        snprintf(names[i], sizeof names[i], "%" PRIu32, i);
        assert_true(heft_strmap_set(&map, heft_str_of(names[i]), i, &err));
    }
    assert_int_equal(heft_alloc_count(), before);
    assert_false(heft_strmap_reserve(&map, SIZE_MAX, &err));
    heft_strmap_release(&map);
}

struct row {
    uint64_t other;
    struct heft_str name;
};

static void adding_a_column_equals_adding_keys_one_by_one(void **state)
{
    static struct row rows[1000];
    static char names[1000][8];

    (void)state;
    for (size_t i = 0; i < HEFT_COUNT(rows); i++) {
        snprintf(names[i], sizeof names[i], "%zu", i);
        rows[i].name = heft_str_of(names[i]);
    }
    for (size_t n = 0; n < HEFT_COUNT(rows); n += n < 130 ? 1 : 290) {
        struct heft_error err = {0};
        struct heft_strmap map = {0};
        size_t twice;
        uint32_t found;

        assert_true(heft_strmap_set(&map, HEFT_STR("before"), 5, &err));
        assert_true(heft_strmap_add_column(&map, &rows[0].name, sizeof rows[0], n, 100, &twice,
                                           &found, &err));
        assert_int_equal(twice, n);
        assert_int_equal(found, HEFT_MAP_NONE);
        assert_int_equal(map.count, n + 1);
        for (size_t i = 0; i < n; i++)
            assert_int_equal(heft_strmap_get(&map, rows[i].name), 100 + i);
        heft_strmap_release(&map);
    }
}

static void a_column_stops_at_the_first_repetition(void **state)
{
    static char names[300][8];
    struct heft_str column[300];

    (void)state;
    for (size_t i = 0; i < HEFT_COUNT(column); i++) {
        snprintf(names[i], sizeof names[i], "%zu", i);
        column[i] = heft_str_of(names[i]);
    }
    for (size_t at = 1; at < HEFT_COUNT(column); at++) {
        struct heft_error err = {0};
        struct heft_strmap map = {0};
        const struct heft_str kept = column[at];
        size_t twice;
        uint32_t found;

        column[at] = column[at / 2];
        assert_true(heft_strmap_add_column(&map, column, sizeof column[0], HEFT_COUNT(column), 7,
                                           &twice, &found, &err));
        assert_int_equal(twice, at);
        assert_int_equal(found, 7 + at / 2);
        column[at] = kept;
        heft_strmap_release(&map);
    }
    struct heft_error err = {0};
    struct heft_strmap map = {0};
    size_t twice;
    uint32_t found;
    assert_false(heft_strmap_add_column(&map, column, 0, SIZE_MAX, 0, &twice, &found, &err));
    assert_int_equal(err.code, HEFT_NOMEM);
    assert_false(heft_strmap_add_column(&map, column, 0, UINT32_MAX, 0, &twice, &found, &err));
    heft_strmap_release(&map);
}

/* Compared with an array as reference: dense, sparse and descending keys in turn. */
static void numbers_are_found_in_any_order_of_insertion(void **state)
{
    struct heft_error err = {0};
    struct heft_u32map map = {0};
    uint32_t random = 1, count = 0;

    (void)state;
    /* descending keys: hash slots first, then the dense array */
    for (uint32_t i = 50000; i-- > 0; count++)
        assert_true(heft_u32map_set(&map, i, i + 1, &err));
    assert_int_equal(map.count, count);
    for (uint32_t i = 0; i < 50000; i++) {
        random = random * 1664525u + 1013904223u;
        if (heft_u32map_get(&map, random | 0x80000000u) == HEFT_MAP_NONE)
            count++;
        assert_true(heft_u32map_set(&map, random | 0x80000000u, i, &err));
        assert_int_equal(heft_u32map_get(&map, random | 0x80000000u), i);
    }
    for (uint32_t i = 0; i < 100000; i++) {
        if (heft_u32map_get(&map, i) == HEFT_MAP_NONE)
            count++;
        assert_true(heft_u32map_set(&map, i, 2 * i, &err));
    }
    for (uint32_t i = 0; i < 100000; i++)
        assert_int_equal(heft_u32map_get(&map, i), 2 * i);
    assert_int_equal(map.count, count);
    assert_int_equal(heft_u32map_get(&map, 100001), HEFT_MAP_NONE);
    heft_u32map_release(&map);
}

static void a_large_key_takes_one_slot(void **state)
{
    struct heft_error err = {0};
    struct heft_u32map map = {0};

    (void)state;
    assert_true(heft_u32map_set(&map, UINT32_MAX, 5, &err));
    assert_true(heft_u32map_set(&map, UINT32_MAX - 1, 6, &err));
    assert_int_equal(heft_u32map_get(&map, UINT32_MAX), 5);
    assert_int_equal(heft_u32map_get(&map, UINT32_MAX - 1), 6);
    assert_true(map.cap <= 64 && map.dense_cap <= 256);
    heft_u32map_release(&map);
}

static bool fill(struct heft_strmap *strings, struct heft_u32map *numbers, char (*names)[8],
                 struct heft_error *err)
{
    for (uint32_t i = 0; i < 300; i++)
        if (!heft_strmap_set(strings, heft_str_of(names[i]), i, err) ||
            !heft_u32map_set(numbers, i, i, err) || !heft_u32map_set(numbers, i << 20, i, err))
            return false;
    return true;
}

static void a_failed_allocation_leaves_the_map_whole(void **state)
{
    char names[300][8];

    (void)state;
    for (uint32_t i = 0; i < 300; i++)
        snprintf(names[i], sizeof names[i], "%" PRIu32, i);
    for (struct failures fail = {.most = 100}; !fail.done;) {
        struct heft_error err = {0};
        struct heft_strmap strings = {0};
        struct heft_u32map numbers = {0};

        FAIL_ALLOCATION(&fail, fill(&strings, &numbers, names, &err), &err);
        for (uint32_t i = 0; i < strings.count; i++)
            assert_int_equal(heft_strmap_get(&strings, heft_str_of(names[i])), i);
        heft_strmap_release(&strings);
        heft_u32map_release(&numbers);
    }
}

static void differ_never_reports_a_repeated_text_as_new(void **state)
{
    static const char *const kinds[] = {"weight", "bias", "gain"};
    static const char zeros[40] = {0};
    struct heft_error err = {0};
    struct heft_differ differ = {0};
    char names[300][24];
    size_t told = 0;

    (void)state;
    assert_true(heft_differ_reserve(&differ, 340, &err));
    for (size_t n = 0; n < 40; n++) /* the texts differ only in length */
        told += heft_differ_show(&differ, (struct heft_str){zeros, n});
    for (unsigned i = 0; i < 300; i++) {
        snprintf(names[i], sizeof names[i], "layers.%u.%s", i / 3, kinds[i % 3]);
        told += heft_differ_show(&differ, heft_str_of(names[i]));
    }
    assert_int_equal(told, 340);
    for (size_t i = 0; i < 300; i++) /* never true for a text that was shown before */
        assert_false(heft_differ_show(&differ, heft_str_of(names[i])));
    heft_differ_release(&differ);
    heft_alloc_fail_at(1);
    assert_false(heft_differ_reserve(&differ, 1, &err));
    heft_alloc_fail_at(0);
    assert_int_equal(err.code, HEFT_NOMEM);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_zeroed_map_is_empty),
        cmocka_unit_test(add_keeps_the_first_value_and_reports_it),
        cmocka_unit_test(keys_that_differ_in_a_byte_or_in_length_are_different),
        cmocka_unit_test(many_names_are_all_found_again),
        cmocka_unit_test(reserving_avoids_all_later_growth),
        cmocka_unit_test(adding_a_column_equals_adding_keys_one_by_one),
        cmocka_unit_test(a_column_stops_at_the_first_repetition),
        cmocka_unit_test(numbers_are_found_in_any_order_of_insertion),
        cmocka_unit_test(a_large_key_takes_one_slot),
        cmocka_unit_test(a_failed_allocation_leaves_the_map_whole),
        cmocka_unit_test(differ_never_reports_a_repeated_text_as_new),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
