/* test_h5.c: HDF5 without files: missing module, failed allocations, many threads, names that
 * cannot be written. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "failures.h"
#include "base/mem.h"
#include "fault_os.h"
#include "format/hdf5/h5_parts.h"
#include "heft/heft.h"
#include "io/os.h"
#include "scratch.h"

#define GOLDEN HEFT_TESTS "/golden/h5/"

/* ---- without the module --------------------------------------------------------------------- */

static const void *no_module(const char *path, const char *symbol)
{
    (void)path, (void)symbol;
    return NULL;
}

static int no_file(const char *path, struct heft_os_stat *out)
{
    return strstr(path, "heft_hdf5.so") ? -1 : heft_os_posix.stat_path(path, out);
}

static void expect_refused(bool exists, const char *text)
{
    struct heft_error err = {0};
    struct heft_os os = heft_os_posix;

    os.module = no_module;
    os.stat_path = exists ? heft_os_posix.stat_path : no_file;
    heft_os = &os;
    assert_null(heft_open(GOLDEN "types.h5", NULL, &err));
    heft_os = &heft_os_posix;
    assert_int_equal(err.code, HEFT_UNSUPPORTED);
    assert_non_null(strstr(err.text, text));
    assert_non_null(strstr(err.text, "libhdf5"));
}

static void without_the_module(void **state)
{
    (void)state;
    expect_refused(false, "is not in /");
    expect_refused(true, "cannot be loaded");
}

/* ---- without memory ------------------------------------------------------------------------- */

static void opening_without_memory(void **state)
{
    static const char *const files[] = {GOLDEN "packed.h5", GOLDEN "legacy.h5",
                                        GOLDEN "model.keras"};

    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct heft_checkpoint *c = NULL;
        struct heft_error err;

        for (struct failures fail = {.most = 1000}; !fail.done;)
            FAIL_ALLOCATION(&fail, (c = heft_open(files[i], NULL, &err)) != NULL, &err);
        heft_close(c);
    }
}

static void planning_without_memory(void **state)
{
    struct heft_convert_options options = {.size = sizeof options, .to = "h5"};
    struct heft_error err = {0};
    struct heft_checkpoint *c = heft_open(GOLDEN "legacy.h5", NULL, &err);
    char *folder = heft_scratch_new();
    struct heft_conversion *plan = NULL;

    (void)state;
    options.output = heft_scratch_path(folder, "out.h5");
    for (struct failures fail = {.most = 1000}; !fail.done;)
        FAIL_ALLOCATION(&fail, (plan = heft_convert_plan(c, &options, &err)) != NULL, &err);
    assert_int_equal(heft_scratch_count(folder), 0);
    heft_convert_free(plan);
    heft_close(c);
    free((char *)(uintptr_t)options.output);
    heft_scratch_free(folder);
}

/* ---- threads -------------------------------------------------------------------------------- */

#define THREADS 4
#define ROUNDS  20

struct reading {
    struct heft_checkpoint *c;
    size_t index, bytes;
    const uint8_t *expected;
    bool same;
};

static void *read_often(void *ctx)
{
    struct reading *r = ctx;
    uint8_t *out = malloc(r->bytes);

    r->same = out != NULL;
    for (int i = 0; i < ROUNDS && r->same; i++) {
        struct heft_error err = {0};

        r->same = heft_tensor_read(r->c, r->index, out, r->bytes, &err) &&
                  memcmp(out, r->expected, r->bytes) == 0;
    }
    free(out);
    return NULL;
}

static void threads_may_read(void **state)
{
    struct heft_error err = {0};
    struct heft_checkpoint *c = heft_open(GOLDEN "packed.h5", NULL, &err);
    struct reading all[THREADS];
    pthread_t threads[THREADS];

    (void)state;
    assert_non_null(c);
    assert_true(heft_tensor_count(c) >= THREADS);
    for (size_t i = 0; i < THREADS; i++) {
        struct heft_tensor t = HEFT_INIT(struct heft_tensor);
        uint8_t *expected;

        assert_true(heft_tensor_at(c, i, &t));
        expected = malloc((size_t)t.bytes);
        assert_non_null(expected);
        assert_true(heft_tensor_read(c, i, expected, (size_t)t.bytes, &err));
        all[i] = (struct reading){c, i, (size_t)t.bytes, expected, false};
    }
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, read_often, &all[i]), 0);
    for (size_t i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_true(all[i].same);
        free((void *)(uintptr_t)all[i].expected);
    }
    heft_close(c);
}

/* ---- names that cannot be written ----------------------------------------------------------- */

static void put_file(const char *folder, const char *header)
{
    char file[512] = {0};
    const size_t n = strlen(header);

    file[0] = (char)n;
    memcpy(file + 8, header, n);
    heft_scratch_write(folder, "in.safetensors", file, 8 + n + 8);
}

static void refuse_names(const char *first, const char *second, const char *text)
{
    char *folder = heft_scratch_new(), *in, *out;
    struct heft_convert_options options = {.size = sizeof options, .to = "h5"};
    struct heft_error err = {0};
    struct heft_checkpoint *c;
    char header[200];

    snprintf(header, sizeof header,
             "{\"%s\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},"
             "\"%s\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}",
             first, second);
    put_file(folder, header);
    in = heft_scratch_path(folder, "in.safetensors");
    out = heft_scratch_path(folder, "out.h5");
    options.output = out;
    c = heft_open(in, NULL, &err);
    assert_non_null(c);
    assert_null(heft_convert_plan(c, &options, &err));
    assert_non_null(strstr(err.text, text));
    heft_close(c);
    free(in);
    free(out);
    heft_scratch_free(folder);
}

static void names(void **state)
{
    (void)state;
    refuse_names("a", "a/b", "another tensor is named a");
    refuse_names("x", "a//b", "not a path in HDF5");
    refuse_names("x", "/b", "not a path in HDF5");
    refuse_names("x", "a/./b", "not a path in HDF5");
    refuse_names("x", "b/", "not a path in HDF5");
}

/* ---- the order of weights -------------------------------------------------------------------- */

/* Sorts the names in `from` and compares them with `to`. */
static void order(const char *from, const char *to)
{
    struct heft_h5_text names[16];
    char text[512] = "";
    size_t n = 0, used = 0;

    for (const char *at = from; *at; at += names[n].n + (at[names[n].n] == ' '), n++)
        names[n] = (struct heft_h5_text){at, strcspn(at, " ")};
    heft_h5_order(names, n);
    for (size_t i = 0; i < n; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%.*s", i ? " " : "",
                                 (int)names[i].n, names[i].p);
    assert_string_equal(text, to);
}

static void orders(void **state)
{
    (void)state;
    order("", "");
    order("bias", "bias");
    order("beta:0 gamma:0 moving_mean:0 moving_variance:0",
          "gamma:0 beta:0 moving_mean:0 moving_variance:0");
    order("beta gamma moving_mean moving_stddev moving_variance renorm_mean renorm_stddev",
          "gamma beta moving_mean moving_variance moving_stddev renorm_mean renorm_stddev");
    order("concat_score_weight scale", "scale concat_score_weight");
    order("cell/bias cell/kernel cell/recurrent_kernel",
          "cell/kernel cell/recurrent_kernel cell/bias");
    order("attention_output/bias attention_output/kernel key/kernel query/kernel value/kernel",
          "query/kernel key/kernel value/kernel attention_output/kernel attention_output/bias");
    order("backward_l/c/kernel bias forward_l/c/kernel",
          "bias forward_l/c/kernel backward_l/c/kernel");
    order("keys/kernel query/bias", "query/bias keys/kernel");
    /* kept: not all variables of the Keras layer */
    order("moving_mean gamma beta", "moving_mean gamma beta");
    /* kept: not the variables of a Keras layer */
    order("bias kernel weight", "bias kernel weight");
    order("vars/0 vars/1 vars/10 vars/2", "vars/0 vars/1 vars/10 vars/2");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_the_module),
        cmocka_unit_test(opening_without_memory),
        cmocka_unit_test(planning_without_memory),
        cmocka_unit_test(threads_may_read),
        cmocka_unit_test(names),
        cmocka_unit_test(orders),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
