/* test_heft_split.c: splitting a caller's items into shards as the hub does. The expected results
 * were made with huggingface_hub 0.36.2 by tests/unit/split_with.py. */
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

struct item {
    const char *name;
    uint64_t bytes, storage;
    bool is_text;
};

struct dictionary {
    const struct item *items;
    unsigned asked[16];
};

struct vector {
    struct item items[8];
    uint64_t limit, total;
    const char *files;
};

static const struct vector vectors[] = {
#include "split_with.inc"
};

static bool size_of(void *ctx, size_t i, uint64_t *bytes, struct heft_error *err)
{
    struct dictionary *d = ctx;

    (void)err;
    d->asked[i]++;
    *bytes = d->items[i].bytes;
    return true;
}

static uint64_t storage_of(void *ctx, size_t i)
{
    const struct dictionary *d = ctx;

    return d->items[i].storage ? d->items[i].storage : UINT64_MAX;
}

static bool is_text(void *ctx, size_t i)
{
    const struct dictionary *d = ctx;

    return d->items[i].is_text;
}

static size_t count(const struct item *items)
{
    size_t n = 0;

    while (n < 8 && items[n].name)
        n++;
    return n;
}

/* Writes a plan as "FILE: a b; FILE: c". */
static void draw(const struct heft_split_plan *plan, const struct item *items, char *out)
{
    struct heft_split_file file = HEFT_INIT(struct heft_split_file);

    *out = '\0';
    for (size_t f = 0; heft_split_file_at(plan, f, &file); f++) {
        out += sprintf(out, "%s%s:", f ? "; " : "", file.name);
        for (size_t k = 0; k < file.n; k++)
            out += sprintf(out, " %s", items[file.items[k]].name);
    }
}

static struct heft_split_plan *split(struct dictionary *d, const struct vector *v,
                                     struct heft_error *err)
{
    const struct heft_split_items items = {.size = sizeof items,
                                           .n = count(v->items),
                                           .bytes = size_of,
                                           .storage = storage_of,
                                           .skip = is_text,
                                           .ctx = d};

    *d = (struct dictionary){.items = v->items};
    return heft_split_with(&items, v->limit, "f{suffix}.x", err);
}

static void splits_equal_those_of_the_hub(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct heft_error err = {0};
        struct dictionary d;
        struct heft_split_plan *plan = split(&d, &vectors[i], &err);
        char got[512];

        assert_non_null(plan);
        draw(plan, vectors[i].items, got);
        assert_string_equal(got, vectors[i].files);
        assert_int_equal(heft_split_total(plan), vectors[i].total);
        heft_split_free(plan);
    }
}

static void sizes_of_shared_storages_are_asked_once(void **state)
{
    static const struct vector v = {
        .items = {{"a", 6, 1, false}, {"t", 9, 0, true}, {"b", 6, 1, false}}, .limit = 10};
    struct heft_error err = {0};
    struct dictionary d;

    (void)state;
    heft_split_free(split(&d, &v, &err));
    assert_int_equal(d.asked[0], 1);
    assert_int_equal(d.asked[1], 0);
    assert_int_equal(d.asked[2], 0);
}

static bool refuse(void *ctx, size_t i, uint64_t *bytes, struct heft_error *err)
{
    (void)ctx, (void)bytes;
    err->code = HEFT_USAGE;
    snprintf(err->text, sizeof err->text, "item %zu has no size", i);
    return false;
}

static void an_error_of_the_callback_stops_the_split(void **state)
{
    const struct heft_split_items items = {.size = sizeof items, .n = 2, .bytes = refuse};
    struct heft_error err = {0};

    (void)state;
    assert_null(heft_split_with(&items, 10, "f{suffix}.x", &err));
    assert_string_equal(err.text, "item 0 has no size");
}

static void patterns(void **state)
{
    static const char *const wrong[] = {"model.x", "{suffix}{suffix}.x", "a{b}{suffix}", ""};
    const struct heft_split_items none = {.size = sizeof none, .bytes = size_of};

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct heft_error err = {0};

        assert_null(heft_split_with(&none, 10, wrong[i], &err));
        assert_int_equal(err.code, HEFT_USAGE);
    }
}

static void every_allocation_may_fail(void **state)
{
    struct heft_split_plan *plan = NULL;
    struct heft_error err;
    struct dictionary d;

    (void)state;
    for (struct failures fail = {.most = 1000}; !fail.done;)
        FAIL_ALLOCATION(&fail, (plan = split(&d, &vectors[0], &err)) != NULL, &err);
    heft_split_free(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(splits_equal_those_of_the_hub),
        cmocka_unit_test(sizes_of_shared_storages_are_asked_once),
        cmocka_unit_test(an_error_of_the_callback_stops_the_split),
        cmocka_unit_test(patterns),
        cmocka_unit_test(every_allocation_may_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
