/* test_heft_stats.c: heft_stats over files: order, selection, any number of threads, layouts,
 * callbacks, failures. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <heft/heft.h>

#include "failures.h"
#include "file_order.h"
#include "scratch.h"

static char *folder;

static int make_folder(void **state)
{
    (void)state;
    folder = heft_scratch_new();
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    heft_scratch_free(folder);
    return 0;
}

static struct heft_checkpoint *open_file(const char *in, const char *name)
{
    char *path = heft_scratch_path(in, name);
    struct heft_error err = {0};
    struct heft_checkpoint *c = heft_open(path, NULL, &err);

    if (!c)
        fail_msg("%s: %s", path, err.text);
    free(path);
    return c;
}

/* ---- collecting -------------------------------------------------------------------------- */

struct list {
    struct heft_tensor_stats *items;
    size_t n, room;
    size_t stop_at;
};

static bool collect(void *ctx, const struct heft_tensor_stats *stats)
{
    struct list *const list = ctx;

    if (list->n == list->stop_at)
        return false;
    assert_true(list->n < list->room);
    list->items[list->n++] = *stats;
    return true;
}

static struct list list_of(struct heft_checkpoint *c)
{
    const size_t room = heft_tensor_count(c) + 1;
    struct list list = {calloc(room, sizeof *list.items), 0, room, SIZE_MAX};

    assert_non_null(list.items);
    return list;
}

static struct list run_stats(struct heft_checkpoint *c, const struct heft_stats_options *how)
{
    struct list list = list_of(c);
    struct heft_error err = {0};

    if (!heft_stats(c, how, collect, &list, &err))
        fail_msg("%s", err.text);
    return list;
}

static const struct heft_tensor_stats *stats_named(struct heft_checkpoint *c,
                                                   const struct list *list, const char *name)
{
    size_t index;

    assert_true(heft_tensor_find(c, name, strlen(name), &index));
    for (size_t i = 0; i < list->n; i++)
        if (list->items[i].tensor == index)
            return &list->items[i];
    return NULL;
}

/* ---- a file of several segments ---------------------------------------------------------- */

enum { LARGE = 3 << 20, SMALL = 1000 }; /* elements; 12 MiB are three segments */

/* large [3 Mi], then 1000 tensors of one element, then empty [0], then bits [5] */
static void write_large(void)
{
    const size_t room = (size_t)100 * (SMALL + 4);
    const size_t bytes = ((size_t)LARGE + SMALL) * sizeof(float) + 5;
    char *const file = calloc(1, 8 + room + bytes);
    size_t n = 8, at = (size_t)LARGE * sizeof(float);
    uint64_t header;

    assert_non_null(file);
    n += (size_t)sprintf(file + n,
                         "{\"large\":{\"dtype\":\"F32\",\"shape\":[%d],\"data_offsets\":[0,%zu]}",
                         LARGE, at);
    for (unsigned i = 0; i < SMALL; i++, at += 4)
        n += (size_t)sprintf(
            file + n, ",\"small.%u\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[%zu,%zu]}",
            i, at, at + 4);
    n += (size_t)sprintf(file + n,
                         ",\"empty\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[%zu,%zu]}",
                         at, at);
    n += (size_t)sprintf(file + n,
                         ",\"bits\":{\"dtype\":\"BOOL\",\"shape\":[5],\"data_offsets\":[%zu,%zu]}}",
                         at, at + 5);
    header = n - 8;
    memcpy(file, &header, sizeof header);
    in_file_order(file, sizeof header, sizeof header);
    for (size_t i = 0; i < (size_t)LARGE + SMALL; i++) {
        const float x = (float)(i * 2654435761u % 1000003) / 1000.0f - 300;

        memcpy(file + n + i * sizeof x, &x, sizeof x);
    }
    in_file_order(file + n, bytes - 5, sizeof(float));
    file[n + at + 1] = 1;
    heft_scratch_write(folder, "large.safetensors", file, n + bytes);
    free(file);
}

static void any_number_of_threads(void **state)
{
    struct heft_checkpoint *c;
    struct list first;

    (void)state;
    write_large();
    c = open_file(folder, "large.safetensors");
    first = run_stats(c, NULL);
    assert_int_equal(first.n, SMALL + 3);
    assert_int_equal(stats_named(c, &first, "large")->finite, LARGE);
    for (unsigned threads = 1; threads <= 5; threads++) {
        const struct heft_stats_options how = {.size = sizeof how, .threads = threads};
        struct list list = run_stats(c, &how);

        assert_int_equal(list.n, first.n);
        assert_memory_equal(list.items, first.items, list.n * sizeof *list.items);
        free(list.items);
    }
    for (size_t i = 0; i < first.n; i++)
        assert_int_equal(first.items[i].tensor, i);
    free(first.items);
    heft_close(c);
}

static void tensors_without_elements(void **state)
{
    struct heft_checkpoint *const c = open_file(folder, "large.safetensors");
    struct list list = run_stats(c, NULL);
    const struct heft_tensor_stats *const empty = stats_named(c, &list, "empty");
    const struct heft_tensor_stats *const bits = stats_named(c, &list, "bits");

    (void)state;
    assert_true(empty->elements == 0 && empty->finite == 0 && empty->kind == HEFT_STATS_FLOAT);
    assert_true(bits->elements == 5 && bits->zeros == 4 && bits->exact_max.u == 1);
    free(list.items);
    heft_close(c);
}

static void selected_tensors(void **state)
{
    struct heft_checkpoint *const c = open_file(folder, "large.safetensors");
    const size_t count = heft_tensor_count(c);
    const struct heft_rule rule = {sizeof(struct heft_rule), HEFT_RULE_GLOB, "small.*7", NULL};
    bool *const selected = calloc(count, sizeof *selected);
    const struct heft_stats_options how = {.size = sizeof how, .selected = selected};
    struct heft_error err = {0};
    struct list list;

    (void)state;
    assert_non_null(selected);
    assert_true(heft_select(c, NULL, &rule, 1, selected, &err));
    list = run_stats(c, &how);
    assert_int_equal(list.n, SMALL / 10);
    for (size_t i = 0; i < list.n; i++)
        assert_true(selected[list.items[i].tensor]);
    free(list.items);
    memset(selected, 0, count * sizeof *selected);
    list = run_stats(c, &how);
    assert_int_equal(list.n, 0);
    free(list.items);
    free(selected);
    heft_close(c);
}

/* ---- callbacks --------------------------------------------------------------------------- */

struct steps {
    uint64_t done, total, stop_at;
    unsigned calls;
};

static bool step(void *ctx, uint64_t done, uint64_t total)
{
    struct steps *const s = ctx;

    assert_true(done >= s->done && done <= total);
    s->done = done;
    s->total = total;
    s->calls++;
    return done < s->stop_at;
}

static void progress_counts_bytes(void **state)
{
    struct heft_checkpoint *const c = open_file(folder, "large.safetensors");
    struct steps steps = {.stop_at = UINT64_MAX};
    const struct heft_stats_options how = {
        .size = sizeof how, .threads = 3, .progress = step, .progress_ctx = &steps};
    struct list list = run_stats(c, &how);

    (void)state;
    assert_int_equal(steps.total, ((uint64_t)LARGE + SMALL) * sizeof(float) + 5);
    assert_int_equal(steps.done, steps.total);
    assert_true(steps.calls >= 3 && steps.calls < 20);
    free(list.items);
    heft_close(c);
}

static void callbacks_stop(void **state)
{
    struct heft_checkpoint *const c = open_file(folder, "large.safetensors");
    struct steps steps = {.stop_at = 1};
    const struct heft_stats_options how = {
        .size = sizeof how, .threads = 2, .progress = step, .progress_ctx = &steps};
    struct heft_error err = {0};
    struct list list = list_of(c);

    (void)state;
    assert_false(heft_stats(c, &how, collect, &list, &err));
    assert_int_equal(err.code, HEFT_CANCELLED);
    err = (struct heft_error){0};
    list.n = 0;
    list.stop_at = 7;
    assert_false(heft_stats(c, NULL, collect, &list, &err));
    assert_int_equal(err.code, HEFT_CANCELLED);
    assert_int_equal(list.n, 7);
    free(list.items);
    heft_close(c);
}

/* ---- layouts ----------------------------------------------------------------------------- */

/* A conversion makes tensors row-major, little-endian and uncompressed. */
static void convert_file(struct heft_checkpoint *c, const char *to)
{
    char *path = heft_scratch_path(folder, to);
    /* a tensor of which some slices are missing */
    const struct heft_rule rule = {sizeof(struct heft_rule), HEFT_RULE_GLOB, "!slot/*/Adagrad",
                                   NULL};
    const struct heft_convert_options how = {.size = sizeof how,
                                             .output = path,
                                             .to = "npz",
                                             .rules = &rule,
                                             .n_rules = 1,
                                             .overwrite = true,
                                             .no_sync = true};
    struct heft_error err = {0};
    struct heft_conversion *const conversion = heft_convert_plan(c, &how, &err);
    uint64_t overflowed;

    if (!conversion || !heft_convert_run(conversion, &overflowed, &err))
        fail_msg("%s", err.text);
    heft_convert_free(conversion);
    free(path);
}

static void layouts_do_not_matter(void **state)
{
    static const char *const files[] = {
        "torch/views.pt",     "torch/conj_neg.pt", "torch/deflated.pt", "torch/big_endian.pt",
        "npy/big_endian.npz", "npy/deflated.npz",  "npy/numbers.npz",   "tf-bundle/partitioned",
    };
    size_t compared = 0;

    (void)state;
    for (size_t f = 0; f < sizeof files / sizeof *files; f++) {
        struct heft_checkpoint *const a = open_file(HEFT_TESTS "/golden", files[f]);
        struct heft_checkpoint *b;
        struct heft_tensor t = HEFT_INIT(struct heft_tensor);
        struct list mine, plain;

        convert_file(a, "plain.npz");
        b = open_file(folder, "plain.npz");
        mine = run_stats(a, NULL);
        plain = run_stats(b, NULL);
        for (size_t i = 0; heft_tensor_at(b, i, &t); i++) {
            struct heft_tensor_stats want = *stats_named(a, &mine, t.name);

            want.tensor = i;
            assert_memory_equal(&want, stats_named(b, &plain, t.name), sizeof want);
            compared++;
        }
        free(mine.items);
        free(plain.items);
        heft_close(a);
        heft_close(b);
    }
    assert_true(compared > 20);
}

/* Strings have no numbers, but the other tensors of their file have. */
static void strings_have_no_figures(void **state)
{
    struct heft_checkpoint *const c = open_file(HEFT_TESTS "/golden", "tf-bundle/dtypes");
    struct list list = run_stats(c, NULL);
    struct heft_tensor t = HEFT_INIT(struct heft_tensor);
    size_t strings = 0;

    (void)state;
    assert_int_equal(list.n, heft_tensor_count(c));
    for (size_t i = 0; heft_tensor_at(c, i, &t); i++) {
        const struct heft_tensor_stats *const s = &list.items[i];

        if (t.dtype != HEFT_STRING)
            continue;
        assert_true(s->kind == HEFT_STATS_NONE && s->elements == t.shape[0]);
        assert_true(s->finite == 0 && s->zeros == 0 && s->nan == 0 && s->inf == 0);
        strings++;
    }
    assert_true(strings > 0 && strings < list.n);
    free(list.items);
    heft_close(c);
}

/* ---- failures ---------------------------------------------------------------------------- */

static bool keep_nothing(void *ctx, const struct heft_tensor_stats *stats)
{
    (void)ctx;
    (void)stats;
    return true;
}

static bool attempt(void *ctx, struct heft_error *err)
{
    const struct heft_stats_options how = {.size = sizeof how, .threads = 1};
    struct heft_checkpoint *const c = heft_open(ctx, NULL, err);
    const bool ok = c && heft_stats(c, &how, keep_nothing, NULL, err);

    heft_close(c);
    return ok;
}

static void failing_allocations(void **state)
{
    char *path = heft_scratch_path(HEFT_TESTS "/golden", "npy/deflated.npz");

    (void)state;
    fail_each_allocation(attempt, path, 10000);
    free(path);
}

/* Fails the n-th system call of heft_stats; false if there are fewer. */
static bool fail_call(const char *name, uint64_t n)
{
    struct heft_checkpoint *const c = open_file(HEFT_TESTS "/golden", name);
    struct heft_error err = {0};
    bool ok, hit;

    heft_fault_os_install(n, EIO);
    heft_fault_os_short(100);
    ok = heft_stats(c, NULL, keep_nothing, NULL, &err);
    hit = heft_fault_os_hit();
    heft_fault_os_remove();
    assert_int_equal(ok, !hit);
    assert_int_equal(err.code, hit ? HEFT_IO : HEFT_OK);
    assert_true(!hit || strstr(err.text, "tensor "));
    heft_close(c);
    return hit;
}

static void failing_calls(void **state)
{
    static const char *const files[] = {"npy/deflated.npz", "torch/views.pt"};
    uint64_t n;

    (void)state;
    for (size_t f = 0; f < sizeof files / sizeof *files; f++) {
        for (n = 1; fail_call(files[f], n); n++)
            continue;
        assert_true(n > 2);
    }
}

static void an_error_names_the_tensor(void **state)
{
    struct heft_checkpoint *const c = open_file(folder, "large.safetensors");
    struct heft_error err = {0};
    struct list list = list_of(c);

    (void)state;
    heft_scratch_write(folder, "large.safetensors", "", 0);
    assert_false(heft_stats(c, NULL, collect, &list, &err));
    assert_int_equal(err.code, HEFT_IO);
    assert_non_null(strstr(err.text, "tensor large"));
    assert_non_null(strstr(err.file, "large.safetensors"));
    free(list.items);
    heft_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_number_of_threads), /* first: writes the file */
        cmocka_unit_test(tensors_without_elements),  cmocka_unit_test(selected_tensors),
        cmocka_unit_test(progress_counts_bytes),     cmocka_unit_test(callbacks_stop),
        cmocka_unit_test(layouts_do_not_matter),     cmocka_unit_test(strings_have_no_figures),
        cmocka_unit_test(failing_allocations),       cmocka_unit_test(failing_calls),
        cmocka_unit_test(an_error_names_the_tensor), /* last: truncates the file */
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
