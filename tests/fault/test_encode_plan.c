/* test_encode_plan.c: encoding with each allocation and each system call failing; pre-tokens longer
 * than a job; more inputs than a job has marks for. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/endian.h"
#include "base/mem.h"
#include "fault_os.h"
#include "scratch.h"

#include <heft/tokens.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "failures.h"

#define JOBS  400
#define SLOTS 5
/* ---- failures ------------------------------------------------------------------------------- */

#define MOST 4000

struct trial {
    struct heft_vocab *v;
    const char *input, *output;
    const char *format, *jsonl;
};

static bool encode_once(struct trial *t, struct heft_error *err)
{
    const char *inputs[] = {t->input};
    const struct heft_encode_options how = {.size = sizeof how,
                                            .output = t->output,
                                            .format = t->format,
                                            .jsonl_key = t->jsonl,
                                            .combine = 3,
                                            .threads = 1};
    struct heft_encoding *e = heft_encode_plan(t->v, inputs, 1, &how, err);
    const bool ok = e && heft_encode_run(e, err);

    heft_encode_free(e);
    return ok;
}

static void try_format(struct trial *t, const char *format, const char *jsonl)
{
    struct failures fail = {.most = MOST};
    struct heft_error err;
    uint64_t n;

    t->format = format;
    t->jsonl = jsonl;
    while (!fail.done) {
        FAIL_ALLOCATION(&fail, encode_once(t, &err), &err);
        if (!fail.done)
            assert_int_not_equal(access(t->output, F_OK), 0);
    }
    assert_true(fail.n > 1);
    assert_int_equal(unlink(t->output), 0);
    for (n = 1; n < MOST; n++) {
        bool ok, hit;

        err = (struct heft_error){0};
        heft_fault_os_install(n, 0);
        ok = encode_once(t, &err);
        hit = heft_fault_os_hit();
        assert_int_equal(heft_fault_os_open(), 0);
        heft_fault_os_remove();
        if (!ok)
            assert_true(hit && err.code != HEFT_OK && access(t->output, F_OK) != 0);
        else
            assert_int_equal(unlink(t->output), 0);
        if (!hit)
            break;
    }
    assert_true(n > 1 && n < MOST);
}

static void test_failures(void **state)
{
    static const char vocab[] = "#version: 0.2\nH e\nl l\n", text[] = "Hello\r\nworld";
    static const char line[] = "{\"t\":\"He\\nll\"}\n";
    struct heft_error err = {0};
    char *const folder = heft_scratch_new(), *const merges = heft_scratch_path(folder, "vocab.bpe");
    char *const input = heft_scratch_path(folder, "in*");
    char *const output = heft_scratch_path(folder, "out.npz");
    struct trial t = {.input = input, .output = output};

    (void)state;
    heft_scratch_write(folder, "vocab.bpe", vocab, sizeof vocab - 1);
    t.v = heft_vocab_open(merges, &err);
    assert_non_null(t.v);
    heft_scratch_write(folder, "in", text, sizeof text - 1);
    try_format(&t, "npz", NULL);
    try_format(&t, "ids", NULL);
    try_format(&t, "bin", NULL);
    heft_scratch_write(folder, "in", line, sizeof line - 1);
    try_format(&t, "npy", "t");
    heft_vocab_close(t.v);
    free(merges);
    free(input);
    free(output);
    heft_scratch_free(folder);
}

/* ---- words longer than a job, on several threads -------------------------------------------- */

#define LONG_WORD 1300000
#define LONG_MOST ((LONG_WORD + 8) * 9)

/* Writes long pre-tokens one after the other, each of one repeated letter; all jobs share their
 * encoder. */
static size_t long_words(char *text)
{
    size_t n = 0;

    for (int word = 'a'; word < 'j'; word++) {
        memset(text + n, word, LONG_WORD);
        n += LONG_WORD;
        memcpy(text + n, " a b ", 5);
        n += 5;
    }
    return n;
}

static void encode_with(const struct heft_vocab *v, const char *input, const char *output,
                        unsigned threads)
{
    const struct heft_encode_options how = {.size = sizeof how,
                                            .output = output,
                                            .format = "bin",
                                            .overwrite = true,
                                            .threads = threads};
    struct heft_error err = {0};
    struct heft_encoding *e = heft_encode_plan(v, &input, 1, &how, &err);

    if (!e || !heft_encode_run(e, &err))
        fail_msg("%u threads: %s", threads, err.text);
    heft_encode_free(e);
}

static void assert_same(const char *folder)
{
    size_t n, m;
    char *const one = heft_scratch_read(folder, "1.bin", &n);
    char *const more = heft_scratch_read(folder, "4.bin", &m);

    assert_true(one && more);
    assert_int_equal(n, m);
    assert_memory_equal(one, more, n);
    free(one);
    free(more);
}

static void test_long_words(void **state)
{
    static const char vocab[] = "#version: 0.2\na a\nb b\nb bb\naa aa\n";
    struct heft_error err = {0};
    char *const folder = heft_scratch_new(), *const merges = heft_scratch_path(folder, "vocab.bpe");
    char *const input = heft_scratch_path(folder, "in"), *const text = malloc(LONG_MOST);
    char *const one = heft_scratch_path(folder, "1.bin"), *const more =
                                                              heft_scratch_path(folder, "4.bin");
    struct heft_vocab *v;

    (void)state;
    heft_scratch_write(folder, "vocab.bpe", vocab, sizeof vocab - 1);
    heft_scratch_write(folder, "in", text, long_words(text));
    v = heft_vocab_open(merges, &err);
    assert_non_null(v);
    encode_with(v, input, one, 1);
    for (int i = 0; i < 3; i++) {
        encode_with(v, input, more, 4);
        assert_same(folder);
    }
    heft_vocab_close(v);
    free(merges);
    free(input);
    free(text);
    free(one);
    free(more);
    heft_scratch_free(folder);
}

/* ---- more inputs than a job has marks, of one text ------------------------------------------- */

#define MANY 9000

/* Each input but the first begins with a text that merges with the end of the separator before it.
 */
static void test_many_inputs(void **state)
{
    static const char vocab[] = "#version: 0.2\n> .\n";
    static const char *inputs[MANY];
    const size_t ids = MANY * strlen(".<|endoftext|>") - (MANY - 1);
    struct heft_error err = {0};
    char *const folder = heft_scratch_new(), *const merges = heft_scratch_path(folder, "vocab.bpe");
    char *const input = heft_scratch_path(folder, "in"), *const output =
                                                             heft_scratch_path(folder, "out.bin");
    struct heft_encode_options how = {
        .size = sizeof how, .output = output, .combine = UINT64_MAX, .overwrite = true};
    struct heft_vocab *v;
    size_t n;

    (void)state;
    heft_scratch_write(folder, "vocab.bpe", vocab, sizeof vocab - 1);
    heft_scratch_write(folder, "in", ".", 1);
    v = heft_vocab_open(merges, &err);
    assert_non_null(v);
    for (size_t i = 0; i < MANY; i++)
        inputs[i] = input;
    for (how.threads = 1; how.threads <= 3; how.threads += 2) {
        struct heft_encoding *const e = heft_encode_plan(v, inputs, MANY, &how, &err);

        assert_true(e && heft_encode_run(e, &err));
        heft_encode_free(e);
        free(heft_scratch_read(folder, "out.bin", &n));
        assert_int_equal(n, 2 * ids);
    }
    heft_vocab_close(v);
    free(merges);
    free(input);
    free(output);
    heft_scratch_free(folder);
}

/* A plan writes nothing, so the outputs need not exist. */
static void test_devices(void **state)
{
    static const char vocab[] = "#version: 0.2\n> .\n";
    struct heft_error err = {0};
    char *const folder = heft_scratch_new(), *const merges = heft_scratch_path(folder, "vocab.bpe");
    char *const input = heft_scratch_path(folder, "in");
    struct heft_encode_options how = {.size = sizeof how, .output = "/dev/shm/heft-none.bin"};
    struct heft_encoding *e;
    struct heft_vocab *v;

    (void)state;
    heft_scratch_write(folder, "vocab.bpe", vocab, sizeof vocab - 1);
    heft_scratch_write(folder, "in", ".", 1);
    v = heft_vocab_open(merges, &err);
    assert_non_null(v);
    e = heft_encode_plan(v, (const char *const *)&input, 1, &how, &err);
    assert_non_null(e);
    heft_encode_free(e);
    how.output = "/dev/heft-none.bin";
    assert_null(heft_encode_plan(v, (const char *const *)&input, 1, &how, &err));
    assert_int_equal(err.code, HEFT_USAGE);
    heft_vocab_close(v);
    free(merges);
    free(input);
    heft_scratch_free(folder);
}

/* A list of rejected lines requires lines that may be rejected, an output and a single run. */
static void test_rejects(void **state)
{
    static const char vocab[] = "#version: 0.2\n> .\n";
    const struct heft_encode_options refused[] = {
        {.size = sizeof *refused, .output = "out.bin", .rejects = "list"},
        {.size = sizeof *refused, .jsonl_key = "t", .skip = true, .rejects = "list"},
        {.size = sizeof *refused,
         .output = "out.bin",
         .jsonl_key = "t",
         .skip = true,
         .rejects = "list",
         .resume = true}};
    struct heft_error err = {0};
    char *const folder = heft_scratch_new(), *const merges = heft_scratch_path(folder, "vocab.bpe");
    char *const input = heft_scratch_path(folder, "in");
    struct heft_vocab *v;

    (void)state;
    heft_scratch_write(folder, "vocab.bpe", vocab, sizeof vocab - 1);
    heft_scratch_write(folder, "in", ".", 1);
    v = heft_vocab_open(merges, &err);
    assert_non_null(v);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        err = (struct heft_error){0};
        assert_null(heft_encode_plan(v, (const char *const *)&input, 1, &refused[i], &err));
        assert_int_equal(err.code, HEFT_USAGE);
        assert_non_null(strstr(err.text, "option rejects"));
    }
    heft_vocab_close(v);
    free(merges);
    free(input);
    heft_scratch_free(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_failures),    cmocka_unit_test(test_long_words),
        cmocka_unit_test(test_many_inputs), cmocka_unit_test(test_devices),
        cmocka_unit_test(test_rejects),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
