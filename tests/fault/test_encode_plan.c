/* test_encode_plan.c: encoding where memory or the system fails at every place; jobs in order;
 * int64 through the own deflate; patterns. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/checksum.h"
#include "base/endian.h"
#include "base/inflate.h"
#include "fault_os.h"
#include "io/ordered_pipeline.h"
#include "scratch.h"
#include "tokens/input/input_pattern.h"
#include "tokens/output/token_deflate.h"

#include <heft/tokens.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* ---- patterns ------------------------------------------------------------------------------- */

static void test_patterns(void **state)
{
    static const struct {
        const char *pattern, *name;
        bool matches;
    } cases[] = {
        {"*", "a", true},
        {"*.txt", "a.txt", true},
        {"*.txt", "a.txt2", false},
        {"a*b*c", "aXbXbc", true},
        {"a*b*c", "aXbX", false},
        {"?", "\xC3\xA9", true},
        {"?", "ab", false},
        {"?", "\xC3\xA9\xCC\x81", false},
        {"[\xC3\xA9]x", "\xC3\xA9x", true},
        {"[A-\xC3\xA9]", "\xC3\x9F", true},
        {"[A-\xC3\xA9]", "\xC3\xBF", false},
        {"[!\xC3\xA9]", "\xC3\xA9", false},
        {"[!\xC3\xA9]", "\xE4\xB8\xAD", true},
        {"?\xA9", "\xC3\xA9", false},
        {"?", "\xE9", true}, /* no UTF-8: a character a byte */
        {"??", "\xC3(", true},
        {"[\xE9]", "\xE9", true},
        {"*\xA9", "\xC3\xA9", false},
        {"[a-c]x", "bx", true},
        {"[!a-c]x", "bx", false},
        {"[]]", "]", true},
        {"[!]]", "a", true},
        {"[", "[", true},
        {"[a", "[a", true},
        {"**", "abc", true},
        {"", "", true},
        {"*a*a*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false},
    };

    (void)state;
    for (size_t i = 0; i < HEFT_COUNT(cases); i++)
        assert_int_equal(
            heft_name_matches(cases[i].pattern, strlen(cases[i].pattern), cases[i].name),
            cases[i].matches);
}

/* ---- deflate -------------------------------------------------------------------------------- */

static void check_deflate(const uint8_t *ids, size_t n, unsigned width)
{
    struct heft_error err = {0};
    struct heft_buf packed = {0};
    struct heft_inflate *z = heft_inflate_new(&err);
    uint8_t *wide = malloc(8 * n + 1), *out = wide;
    size_t room = 8 * n + 1;
    struct heft_bytes in;
    bool done = false;
    uint32_t crc;

    assert_true(heft_deflate_ids(&packed, ids, n, width, &crc, &err));
    heft_buf_put(&packed, "\3", 2); /* the last block */
    in = (struct heft_bytes){(const uint8_t *)packed.p, packed.n};
    while (!done)
        assert_true(heft_inflate_step(z, &in, &out, &room, &done, &err));
    assert_int_equal(room, 1);
    assert_int_equal(in.n, 0);
    assert_int_equal(crc, heft_crc32(0, wide, 8 * n));
    for (size_t i = 0; i < n; i++)
        assert_true(heft_le64(wide + 8 * i) ==
                    (width == 2 ? heft_le16(ids + 2 * i) : heft_le32(ids + 4 * i)));
    free(wide);
    heft_buf_release(&packed);
    heft_inflate_free(z);
}

static void test_deflate(void **state)
{
    static uint8_t ids[4 * 70000];
    uint32_t seed = 1;

    (void)state;
    for (size_t i = 0; i < 65536; i++)
        heft_put_le16(ids + 2 * i, (uint16_t)i);
    check_deflate(ids, 65536, 2);
    for (size_t n = 0; n < 20; n++)
        check_deflate(ids + 2 * n, n, 2);
    for (size_t i = 0; i < sizeof ids; i++) {
        seed = seed * 1664525u + 1013904223u;
        ids[i] = (uint8_t)(seed >> 24);
    }
    check_deflate(ids, 70000, 4);
    check_deflate(ids, 1, 4);
}

/* ---- jobs in order -------------------------------------------------------------------------- */

#define JOBS         400
#define SLOTS        5
#define MOST_WORKERS 4

struct counting {
    uint64_t given[SLOTS];  /* job in each slot */
    uint64_t worked[SLOTS]; /* what work made of it */
    atomic_uint_fast64_t done, too_early, together;
    atomic_bool busy[MOST_WORKERS];
    uint64_t taken, fail_at;
};

static bool waits(uint64_t job)
{
    return job % 3 == 1;
}

/* Some jobs take longer than the two behind them. */
static void tarry(uint64_t job)
{
    for (volatile unsigned i = 0; job % 6 == 2 && i < 100000;)
        i = i + 1;
}

static bool count_work(void *ctx, unsigned worker, unsigned slot, struct heft_error *err)
{
    struct counting *c = ctx;

    if (atomic_exchange(&c->busy[worker], true))
        c->together++;
    if (waits(c->given[slot]) && c->done < c->given[slot])
        c->too_early++;
    tarry(c->given[slot]);
    c->worked[slot] = c->given[slot] * 3;
    c->done++;
    atomic_store(&c->busy[worker], false);
    return c->given[slot] < c->fail_at ||
           heft_fail(err, HEFT_LIMIT, c->given[slot], "job of the test");
}

static bool count_take(void *ctx, unsigned slot, struct heft_error *err)
{
    struct counting *c = ctx;

    return c->worked[slot] == c->taken++ * 3 || heft_fail(err, HEFT_USAGE, 0, "out of order");
}

static void run_line(unsigned threads, uint64_t fail_at)
{
    struct counting c = {.fail_at = fail_at};
    const struct heft_pipeline_work how = {count_work, count_take, &c, threads, SLOTS};
    struct heft_error err = {0};
    struct heft_pipeline *line = heft_pipeline_new(&how, &err);
    bool ok = line != NULL;

    for (uint64_t i = 0; ok && i < JOBS; i++) {
        unsigned slot;

        ok = heft_pipeline_slot(line, &slot, &err);
        if (ok) {
            c.given[slot] = i;
            ok = heft_pipeline_submit(line, waits(i), &err);
        }
    }
    ok = ok && heft_pipeline_finish(line, &err);
    heft_pipeline_free(line);
    assert_int_equal(c.too_early, 0);
    assert_int_equal(c.together, 0);
    assert_int_equal(ok, fail_at > JOBS);
    assert_int_equal(c.taken, fail_at > JOBS ? JOBS : fail_at);
    if (!ok)
        assert_true(err.code == HEFT_LIMIT && err.offset == fail_at);
}

static void test_line(void **state)
{
    (void)state;
    for (unsigned threads = 1; threads <= MOST_WORKERS; threads++) {
        run_line(threads, UINT64_MAX);
        run_line(threads, 0);
        run_line(threads, 137);
        run_line(threads, JOBS - 1);
    }
}

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
    const struct heft_encode_options how = {.output = t->output,
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
    struct heft_error err = {0};
    uint64_t n;

    t->format = format;
    t->jsonl = jsonl;
    for (n = 1; n < MOST; n++) {
        bool ok;

        err = (struct heft_error){0};
        heft_alloc_fail_at(n);
        ok = encode_once(t, &err);
        heft_alloc_fail_at(0);
        if (ok)
            break;
        if (err.code != HEFT_NOMEM)
            fail_msg("%s: allocation %d: %s %s", format, (int)n, err.text, err.file);
        assert_int_not_equal(access(t->output, F_OK), 0);
    }
    assert_true(n > 1 && n < MOST);
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

/* Each a letter of its own, the next one behind it: their encoder is one for all. */
static size_t long_words(char *text)
{
    size_t n = 0;

    for (char word = 'a'; word < 'j'; word++) {
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
    const struct heft_encode_options how = {
        .output = output, .format = "bin", .overwrite = true, .threads = threads};
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

/* Each but the first begins with what the end of the separator before it merges with. */
static void test_many_inputs(void **state)
{
    static const char vocab[] = "#version: 0.2\n> .\n";
    static const char *inputs[MANY];
    const size_t ids = MANY * strlen(".<|endoftext|>") - (MANY - 1);
    struct heft_error err = {0};
    char *const folder = heft_scratch_new(), *const merges = heft_scratch_path(folder, "vocab.bpe");
    char *const input = heft_scratch_path(folder, "in"), *const output =
                                                             heft_scratch_path(folder, "out.bin");
    struct heft_encode_options how = {.output = output, .combine = UINT64_MAX, .overwrite = true};
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_patterns),   cmocka_unit_test(test_deflate),
        cmocka_unit_test(test_line),       cmocka_unit_test(test_failures),
        cmocka_unit_test(test_long_words), cmocka_unit_test(test_many_inputs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
