/* test_heft_index.c: heft_walk_index on the golden checkpoints, by any of their names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "failures.h"
#include "base/mem.h"
#include "heft/heft.h"

struct seen {
    size_t entries, most;
    uint64_t block;
    char last[256]; /* the last entry */
};

static bool take(void *ctx, const struct heft_index_entry *entry)
{
    struct seen *seen = ctx;

    assert_true(entry->shared <= entry->key_len);
    assert_true(entry->block >= seen->block);
    assert_non_null(entry->text);
    seen->block = entry->block;
    snprintf(seen->last, sizeof seen->last, "%s", entry->text);
    return ++seen->entries != seen->most;
}

static bool walk(const char *name, struct seen *seen, bool *is_index, struct heft_error *err)
{
    char path[512];

    snprintf(path, sizeof path, HEFT_TESTS "/golden/%s", name);
    return heft_index_walk(path, NULL, take, seen, is_index, err);
}

static void every_name_leads_to_the_entries(void **state)
{
    static const struct {
        const char *name;
        size_t entries;
        const char *last;
    } all[] = {
        {"tf-bundle/partitioned", 14, "DT_INT32 [3], shard 8, offset 0, size 12, CRC-32C"},
        {"tf-bundle/v1", 14, "slice - of words: the values"},
        {"saved-model/v1", 2, "DT_FLOAT [1,1], shard 0, offset 0, size 4, CRC-32C"},
        {"saved-model/v1/variables/variables.data-00000-of-00001", 2, "DT_FLOAT [1,1]"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct seen seen = {0};
        struct heft_error err = {0};
        bool is_index = false;

        assert_true(walk(all[i].name, &seen, &is_index, &err));
        assert_true(is_index);
        assert_int_equal(seen.entries, all[i].entries);
        assert_non_null(strstr(seen.last, all[i].last));
    }
}

static void other_files_are_not_an_index(void **state)
{
    struct seen seen = {0};
    struct heft_error err = {0};
    bool is_index = true;

    (void)state;
    assert_true(walk("torch/tied.pt", &seen, &is_index, &err));
    assert_false(is_index);
    assert_int_equal(seen.entries, 0);
    assert_false(walk("torch/no such file", &seen, &is_index, &err));
    assert_int_equal(err.code, HEFT_IO);
}

static void the_callback_may_stop_the_walk(void **state)
{
    struct seen seen = {.most = 3};
    struct heft_error err = {0};
    bool is_index = false;

    (void)state;
    assert_false(walk("tf-bundle/partitioned", &seen, &is_index, &err));
    assert_int_equal(err.code, HEFT_CANCELLED);
    assert_true(is_index);
    assert_int_equal(seen.entries, 3);
}

static void any_failing_allocation(void **state)
{
    (void)state;
    for (struct failures fail = {.most = 2000}; !fail.done;) {
        struct seen seen = {0};
        struct heft_error err = {0};
        bool is_index;

        FAIL_ALLOCATION(&fail, walk("saved-model/v1", &seen, &is_index, &err), &err);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_name_leads_to_the_entries),
        cmocka_unit_test(other_files_are_not_an_index),
        cmocka_unit_test(the_callback_may_stop_the_walk),
        cmocka_unit_test(any_failing_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
