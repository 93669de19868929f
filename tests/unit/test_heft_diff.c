/* test_heft_diff.c: heft_diff on small and on large tensors: what the visitor gets, the same bits for
 * any number of threads, cancellation, lack of memory, read errors. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "failures.h"
#include "file_order.h"
#include "heft/heft.h"
#include "scratch.h"

#define GOLDEN HEFT_TESTS "/golden/"

/* What the visitor was called with, one line a call. */
struct record {
    char text[4096];
    size_t calls, stop_after; /* 0: never */
    uint64_t progress, total;
};

static void add(struct record *r, const char *format, ...)
{
    const size_t n = strlen(r->text);
    va_list args;

    va_start(args, format);
    vsnprintf(r->text + n, sizeof r->text - n, format, args);
    va_end(args);
}

static bool each_tensor(void *ctx, const struct heft_diff_item *item)
{
    struct record *const r = ctx;

    add(r, "%c %s", "-+~"[item->kind], item -> name);
    if (item->dtype_differs)
        add(r, " dtype");
    if (item->shape_differs)
        add(r, " shape");
    if (item->values_differ)
        add(r, " %d of %d", (int)item->differing, (int)item->elements);
    if (item->has_figures) {
        add(r, " max %.17g at", item->max_abs);
        for (unsigned i = 0; i < item->a.rank; i++)
            add(r, " %d", (int)item->max_abs_at[i]);
        add(r, " mean %.17g", item->mean_abs);
    }
    if (item->nan_a || item->nan_b)
        add(r, " nan %d %d", (int)item->nan_a, (int)item->nan_b);
    add(r, "\n");
    return ++r->calls != r->stop_after;
}

static bool each_pair(void *ctx, const struct heft_diff_pair *pair)
{
    struct record *const r = ctx;

    add(r, "%c %s=%s|%s\n", "-+~"[pair->kind], pair -> key, pair -> a ? pair -> a : "",
        pair->b ? pair->b : "");
    return ++r->calls != r->stop_after;
}

static bool each_value(void *ctx, const struct heft_diff_value *value)
{
    struct record *const r = ctx;

    add(r, "%c %s %d %d\n", "-+~"[value->kind], value -> path,
        value -> a ? (int)value -> a -> kind : -1, value -> b ? (int)value -> b -> kind : -1);
    return ++r->calls != r->stop_after;
}

static bool step(void *ctx, uint64_t done, uint64_t total)
{
    struct record *const r = ctx;

    assert_true(done > r->progress && done <= total);
    r->progress = done;
    r->total = total;
    return r->stop_after != SIZE_MAX;
}

/* Two files in a directory, opened. */
struct pair {
    char *folder;
    struct heft_checkpoint *a, *b;
};

static void write_file(struct pair *p, const char *name, const char *header, const void *data,
                       size_t n)
{
    const size_t head = strlen(header);
    uint8_t *const bytes = calloc(1, 8 + head + n);

    assert_non_null(bytes);
    for (unsigned i = 0; i < 8; i++)
        bytes[i] = (uint8_t)((uint64_t)head >> 8 * i);
    memcpy(bytes + 8, header, head);
    memcpy(bytes + 8 + head, data, n);
    heft_scratch_write(p->folder, name, bytes, 8 + head + n);
    free(bytes);
}

static struct heft_checkpoint *open_file(struct pair *p, const char *name)
{
    char *const path = heft_scratch_path(p->folder, name);
    struct heft_error err = {0};
    struct heft_checkpoint *const c = heft_open(path, NULL, &err);

    assert_non_null(c);
    free(path);
    return c;
}

static void open_pair(struct pair *p, const char *header_a, const void *a, size_t n_a,
                      const char *header_b, const void *b, size_t n_b)
{
    p->folder = heft_scratch_new();
    write_file(p, "a.safetensors", header_a, a, n_a);
    write_file(p, "b.safetensors", header_b, b, n_b);
    p->a = open_file(p, "a.safetensors");
    p->b = open_file(p, "b.safetensors");
}

static void close_pair(struct pair *p)
{
    heft_close(p->a);
    heft_close(p->b);
    heft_scratch_free(p->folder);
}

static struct heft_diff_visitor visitor_of(struct record *r)
{
    return (struct heft_diff_visitor){sizeof(struct heft_diff_visitor), each_tensor, each_pair,
                                      each_value, r};
}

#define F32_2X3(first) "{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[" first "]}"

static void open_small(struct pair *p)
{
    float a[] = {1, 2, 3, 4, 5, 6, 1, 1, 1, 1, 1, 1};
    float b[] = {1, 2, 3, 4, NAN, 6.5f, 1, 1, 1, 1, 1, 1};

    in_file_order(a, sizeof a, sizeof *a);
    in_file_order(b, sizeof b, sizeof *b);
    open_pair(p,
              "{\"w\":" F32_2X3("0,24") ",\"only\":" F32_2X3(
                  "24,48") ",\"__metadata__\":{"
                           "\"step\":\"1\",\"same\":\"x\",\"gone\":\"y\",\"format\":\"pt\"}}",
              a, sizeof a,
              "{\"v\":" F32_2X3("0,24") ",\"new\":" F32_2X3(
                  "24,48") ",\"__metadata__\":{"
                           "\"step\":\"2\",\"same\":\"x\",\"more\":\"z\",\"format\":\"tf\"}}",
              b, sizeof b);
}

static void differences_are_reported_in_order(void **state)
{
    const struct heft_rule rules[] = {
        {sizeof(struct heft_rule), HEFT_RULE_RENAME, "^w$", "v"},
        {sizeof(struct heft_rule), HEFT_RULE_GLOB, "*", NULL},
        {sizeof(struct heft_rule), HEFT_RULE_REGEX, "^nothing$", NULL}};
    struct heft_rule_use uses[3] = {HEFT_INIT(struct heft_rule_use),
                                    HEFT_INIT(struct heft_rule_use),
                                    HEFT_INIT(struct heft_rule_use)};
    struct record r = {.text = ""};
    const struct heft_diff_options options = {.size = sizeof options,
                                              .metadata = true,
                                              .rules = rules,
                                              .n_rules = 3,
                                              .uses = uses,
                                              .progress = step,
                                              .progress_ctx = &r};
    const struct heft_diff_visitor visitor = visitor_of(&r);
    struct heft_diff_result result = HEFT_INIT(struct heft_diff_result);
    struct heft_error err = {0};
    struct pair p;

    (void)state;
    open_small(&p);
    assert_true(heft_diff(p.a, p.b, &options, &visitor, &result, &err));
    assert_string_equal(r.text, "~ v 2 of 6 max 0.5 at 1 2 mean 0.10000000000000001 nan 0 1\n"
                                "- only\n"
                                "+ new\n"
                                "~ step=1|2\n"
                                "- gone=y|\n"
                                "+ more=|z\n");
    assert_int_equal(result.tensors.equal, 0);
    assert_int_equal(result.tensors.differ, 1);
    assert_int_equal(result.tensors.only_a, 1);
    assert_int_equal(result.tensors.only_b, 1);
    assert_int_equal(result.metadata.equal, 1);
    assert_int_equal(uses[0].matches, 1);
    assert_int_equal(uses[1].matches, 4);
    assert_int_equal(uses[2].matches, 0);
    assert_int_equal(r.progress, 48);
    assert_int_equal(r.total, 48);
    assert_true(result.has_root_a && result.has_root_b);
    close_pair(&p);
}

static void structure_reads_no_data(void **state)
{
    const struct heft_diff_options options = {.size = sizeof options, .structure = true};
    struct record r = {.text = ""};
    const struct heft_diff_visitor visitor = visitor_of(&r);
    struct heft_diff_result result = HEFT_INIT(struct heft_diff_result);
    struct heft_error err = {0};
    struct pair p;

    (void)state;
    open_small(&p);
    heft_fault_os_install(1, EIO);
    assert_true(heft_diff(p.a, p.b, &options, &visitor, &result, &err));
    assert_int_equal(heft_fault_os_count(), 0);
    heft_fault_os_remove();
    assert_string_equal(r.text, "- w\n- only\n+ v\n+ new\n");
    assert_true(heft_diff(p.a, p.a, &options, NULL, &result, &err));
    assert_int_equal(result.tensors.equal, 2);
    close_pair(&p);
}

static void wrong_options_are_refused(void **state)
{
    const struct heft_rule twins[] = {{sizeof(struct heft_rule), HEFT_RULE_RENAME, ".*", "x"}};
    const struct heft_rule broken[] = {{sizeof(struct heft_rule), HEFT_RULE_REGEX, "(", NULL}};
    const struct heft_rule no_text[] = {{sizeof(struct heft_rule), HEFT_RULE_GLOB, NULL, NULL}};
    const struct heft_diff_options wrong[] = {
        {.has_tolerance = true, .atol = -1},
        {.has_tolerance = true, .rtol = NAN},
        {.has_tolerance = true, .rtol = INFINITY},
        {.has_tolerance = true, .structure = true},
        {.rules = twins, .n_rules = 1},
        {.rules = broken, .n_rules = 1},
        {.rules = no_text, .n_rules = 1},
        {.n_rules = 1},
        {.root = "nowhere"},
    };
    struct heft_diff_result result = HEFT_INIT(struct heft_diff_result);
    struct pair p;

    (void)state;
    open_small(&p);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct heft_error err = {0};

        assert_false(heft_diff(p.a, p.b, &wrong[i], NULL, &result, &err));
        assert_int_equal(err.code, HEFT_USAGE);
    }
    close_pair(&p);
}

static void callbacks_can_stop(void **state)
{
    struct heft_diff_result result = HEFT_INIT(struct heft_diff_result);
    struct pair p;

    (void)state;
    open_small(&p);
    for (size_t n = 1; n <= 8; n++) { /* 4 tensors, then 3 pairs */
        struct record r = {.text = "", .stop_after = n};
        const struct heft_diff_options options = {.size = sizeof options, .metadata = true};
        const struct heft_diff_visitor visitor = visitor_of(&r);
        struct heft_error err = {0};

        assert_int_equal(heft_diff(p.a, p.b, &options, &visitor, &result, &err), n == 8);
        assert_int_equal(err.code, n == 8 ? HEFT_OK : HEFT_CANCELLED);
        assert_int_equal(r.calls, n == 8 ? 7 : n);
    }
    struct record r = {.text = "", .stop_after = SIZE_MAX};
    const struct heft_diff_options options = {
        .size = sizeof options, .progress = step, .progress_ctx = &r};
    struct heft_error err = {0};

    assert_false(heft_diff(p.a, p.a, &options, NULL, &result, &err));
    assert_int_equal(err.code, HEFT_CANCELLED);
    close_pair(&p);
}

/* Pickles of
 *     {"epoch": 3, "args": {"lr": 0.5, "betas": (1, 2), "name": "x"}, "flags": [True, None],
 *      "big": 1 << 70, "same": {"k": b"q"}, "gone": {"p": 1}}
 *     {"same": {"k": b"q"}, "big": (1 << 70) + 1, "epoch": 4, "more": 1,
 *      "args": {"betas": [1, 2], "name": "y", "lr": 0.5, "new": 0}, "flags": [True, 0, 1]} */
static const char pickle_a[] =
    "\200\002}q\000(X\005\000\000\000epochq\001K\003X\004\000\000\000argsq\002"
    "}q\003(X\002\000\000\000lrq\004G\077\340\000\000\000\000\000\000X\005\000"
    "\000\000betasq\005K\001K\002\206q\006X\004\000\000\000nameq\007X\001\000"
    "\000\000xq\010uX\005\000\000\000flagsq\011]q\012(\210NeX\003\000\000\000"
    "bigq\013\212\011\000\000\000\000\000\000\000\000@X\004\000\000\000sameq"
    "\014}q\015X\001\000\000\000kq\016c_codecs\012encode\012q\017X\001\000\000"
    "\000qq\020X\006\000\000\000latin1q\021\206q\022Rq\023sX\004\000\000\000"
    "goneq\024}q\025X\001\000\000\000pq\026K\001su.";
static const char pickle_b[] =
    "\200\002}q\000(X\004\000\000\000sameq\001}q\002X\001\000\000\000kq\003c"
    "_codecs\012encode\012q\004X\001\000\000\000qq\005X\006\000\000\000latin"
    "1q\006\206q\007Rq\010sX\003\000\000\000bigq\011\212\011\001\000\000\000"
    "\000\000\000\000@X\005\000\000\000epochq\012K\004X\004\000\000\000moreq"
    "\013K\001X\004\000\000\000argsq\014}q\015(X\005\000\000\000betasq\016]q"
    "\017(K\001K\002eX\004\000\000\000nameq\020X\001\000\000\000yq\021X\002\000"
    "\000\000lrq\022G\077\340\000\000\000\000\000\000X\003\000\000\000newq\023"
    "K\000uX\005\000\000\000flagsq\024]q\025(\210K\000K\001eu.";

static void values_are_compared_by_path(void **state)
{
    const struct heft_diff_options options = {.size = sizeof options, .metadata = true};
    struct record r = {.text = ""};
    const struct heft_diff_visitor visitor = visitor_of(&r);
    struct heft_diff_result result = HEFT_INIT(struct heft_diff_result);
    struct heft_error err = {0};
    struct pair p;

    (void)state;
    p.folder = heft_scratch_new();
    heft_scratch_write(p.folder, "a.pkl", pickle_a, sizeof pickle_a - 1);
    heft_scratch_write(p.folder, "b.pkl", pickle_b, sizeof pickle_b - 1);
    p.a = open_file(&p, "a.pkl");
    p.b = open_file(&p, "b.pkl");
    assert_true(heft_diff(p.a, p.b, &options, &visitor, &result, &err));
    assert_string_equal(r.text, "~ epoch 2 2\n~ args.betas 8 7\n~ args.name 5 5\n+ args.new -1 2\n"
                                "~ flags.1 0 2\n+ flags.2 -1 2\n~ big 3 3\n- gone 10 -1\n"
                                "+ more -1 2\n");
    assert_int_equal(result.values.equal, 3); /* args.lr, flags.0, same.k */
    assert_int_equal(result.values.differ, 5);
    assert_int_equal(result.values.only_a, 1);
    assert_int_equal(result.values.only_b, 3);
    for (size_t n = 1; n <= 10; n++) {
        r = (struct record){.text = "", .stop_after = n};
        err = (struct heft_error){0};
        assert_int_equal(heft_diff(p.a, p.b, &options, &visitor, &result, &err), n == 10);
        assert_int_equal(err.code, n == 10 ? HEFT_OK : HEFT_CANCELLED);
    }
    close_pair(&p);
}

/* ---- a large tensor ---------------------------------------------------------------------- */

enum { LARGE = 1 << 20 };

static void open_large(struct pair *p, bool bf16)
{
    float *const a = malloc(LARGE * sizeof *a), *const b = malloc(LARGE * sizeof *b);
    uint16_t *const half = (uint16_t *)(void *)b;
    char header[2][200];
    uint32_t x = 7;

    assert_true(a && b);
    for (size_t i = 0; i < LARGE; i++) {
        uint32_t bits;

        x = x * 1664525 + 1013904223;
        a[i] = (float)(int32_t)x * 0x1p-31f;
        memcpy(&bits, &a[i], sizeof bits);
        if (bf16)
            half[i] = (uint16_t)(bits >> 16);
        else
            b[i] = x >> 13 & 1 ? a[i] : a[i] + 0x1p-20f;
    }
    for (int i = 0; i < 2; i++)
        snprintf(header[i], sizeof header[i],
                 "{\"w\":{\"dtype\":\"%s\",\"shape\":[1024,1024],\"data_offsets\":[0,%d]}}",
                 i && bf16 ? "BF16" : "F32", LARGE * (i && bf16 ? 2 : 4));
    open_pair(p, header[0], a, LARGE * 4, header[1], b, LARGE * (bf16 ? 2 : 4));
    free(a);
    free(b);
}

static void any_number_of_threads_gives_the_same_bits(void **state)
{
    (void)state;
    for (int bf16 = 0; bf16 < 2; bf16++) {
        char first[4096] = "";
        struct pair p;

        open_large(&p, bf16);
        for (unsigned threads = 1; threads <= 5; threads++) {
            struct record r = {.text = ""};
            const struct heft_diff_options options = {
                .size = sizeof options, .has_tolerance = bf16, .rtol = 0.004, .threads = threads};
            const struct heft_diff_visitor visitor = visitor_of(&r);
            struct heft_diff_result result = HEFT_INIT(struct heft_diff_result);
            struct heft_error err = {0};

            assert_true(heft_diff(p.a, p.b, &options, &visitor, &result, &err));
            assert_int_equal(result.tensors.differ, 1);
            if (threads == 1)
                memcpy(first, r.text, sizeof first);
            assert_string_equal(r.text, first);
        }
        close_pair(&p);
    }
}

/* ---- failures ---------------------------------------------------------------------------- */

static const char *const inputs[][2] = {
    {"torch/views.pt", "torch/tied.pt"},
    {"torch/training.ckpt", "torch/nested.pt"},
    {"ptd/blobs.ptd", "ptd/shared.ptd"},
    {"npy/deflated.npz", "npy/inflated.npz"},
    {"tf-bundle/dtypes/model.ckpt", "tf-bundle/dtypes/model.ckpt"},
};

/* Opens and compares two golden files, with rules, root and metadata. */
static bool compare_attempt(void *ctx, struct heft_error *err)
{
    const char *const *const names = ctx;
    const struct heft_rule rules[] = {{sizeof(struct heft_rule), HEFT_RULE_RENAME, "^(.*)$", "\\1"},
                                      {sizeof(struct heft_rule), HEFT_RULE_GLOB, "*", NULL}};
    struct heft_rule_use uses[2] = {HEFT_INIT(struct heft_rule_use),
                                    HEFT_INIT(struct heft_rule_use)};
    const struct heft_diff_options options = {.size = sizeof options,
                                              .metadata = true,
                                              .has_tolerance = true,
                                              .rules = rules,
                                              .n_rules = 2,
                                              .uses = uses,
                                              .threads = 1};
    struct heft_checkpoint *c[2] = {NULL, NULL};
    struct heft_diff_result result = HEFT_INIT(struct heft_diff_result);
    bool ok = true;

    for (int i = 0; ok && i < 2; i++) {
        char path[1024];

        snprintf(path, sizeof path, GOLDEN "%s", names[i]);
        c[i] = heft_open(path, NULL, err);
        ok = c[i] != NULL;
    }
    ok = ok && heft_diff(c[0], c[1], &options, NULL, &result, err) &&
         heft_diff(c[0], c[0], &options, NULL, &result, err);
    assert_true(!ok || (result.tensors.equal > 0 && result.tensors.differ == 0));
    heft_close(c[0]);
    heft_close(c[1]);
    return ok;
}

static void lack_of_memory_is_reported(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++)
        fail_each_allocation(compare_attempt, (void *)inputs[i], 5000);
}

/* A comparison of opened files. */
static bool read_attempt(void *ctx, struct heft_error *err)
{
    const struct heft_diff_options options = {.size = sizeof options, .threads = 1};
    struct heft_diff_result result = HEFT_INIT(struct heft_diff_result);

    return heft_diff(ctx, ctx, &options, NULL, &result, err);
}

static void read_errors_are_reported(void **state)
{
    static const char *const names[] = {"torch/views.pt", "tf-bundle/dtypes/model.ckpt",
                                        "ptd/blobs.ptd", "torch-dcp/mesh"};

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct heft_error err = {0};
        struct heft_checkpoint *c;
        char path[1024];

        snprintf(path, sizeof path, GOLDEN "%s", names[i]);
        c = heft_open(path, NULL, &err);
        assert_non_null(c);
        fail_each_read(read_attempt, c, 0);
        heft_close(c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(differences_are_reported_in_order),
        cmocka_unit_test(structure_reads_no_data),
        cmocka_unit_test(wrong_options_are_refused),
        cmocka_unit_test(callbacks_can_stop),
        cmocka_unit_test(values_are_compared_by_path),
        cmocka_unit_test(any_number_of_threads_gives_the_same_bits),
        cmocka_unit_test(lack_of_memory_is_reported),
        cmocka_unit_test(read_errors_are_reported),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
