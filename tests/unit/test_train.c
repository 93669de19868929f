/* test_train.c: vocabularies learned from texts, and the vocabulary of tests/golden/tokens. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "heft/tokens.h"
#include "io/source.h"
#include "wire/json.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "failures.h"

#define SMALL HEFT_TESTS "/golden/tokens/small"

/* ---- a directory ------------------------------------------------------------------------- */

struct folder {
    char path[64], text[80], out[80], file[96];
};

static void open_folder(struct folder *f)
{
    snprintf(f->path, sizeof f->path, "/tmp/heft-train-XXXXXX");
    assert_non_null(mkdtemp(f->path));
    snprintf(f->text, sizeof f->text, "%s/text", f->path);
    snprintf(f->out, sizeof f->out, "%s/out", f->path);
}

static const char *in_out(struct folder *f, const char *name)
{
    snprintf(f->file, sizeof f->file, "%s/%s", f->out, name);
    return f->file;
}

static void close_folder(struct folder *f)
{
    static const char *const names[] = {"vocab.bpe", "encoder.json", "vocab.tiktoken",
                                        "tokenizer.json"};

    for (size_t i = 0; i < HEFT_COUNT(names); i++)
        unlink(in_out(f, names[i]));
    unlink(f->out);
    rmdir(f->out);
    unlink(f->text);
    assert_int_equal(rmdir(f->path), 0);
}

static void put(const char *path, const void *bytes, size_t n)
{
    FILE *file = fopen(path, "wb");

    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, n, file), n);
    assert_int_equal(fclose(file), 0);
}

static struct heft_str get(const char *path, struct heft_arena *mem)
{
    struct heft_error err = {0};
    struct heft_source source;
    struct heft_bytes bytes;

    assert_true(heft_source_open_file(&source, path, &err));
    assert_true(heft_source_fetch(&source, 0, source.size, mem, &bytes, &err));
    heft_source_close(&source);
    return (struct heft_str){(const char *)bytes.p, bytes.n};
}

static bool train(struct folder *f, const struct heft_train_options *options,
                  struct heft_error *err)
{
    const char *const paths[] = {f->text};

    return heft_train(paths, 1, f->out, options, NULL, err);
}

static void assert_learns(enum heft_train_style style, uint32_t size, const char *text, size_t n,
                          const char *wanted)
{
    const struct heft_train_options options = {
        .size = sizeof options, .style = style, .vocab_size = size, .no_sync = true};
    struct heft_arena mem = {0};
    struct heft_error err = {0};
    struct folder f;
    struct heft_str merges;

    open_folder(&f);
    put(f.text, text, n);
    assert_true(train(&f, &options, &err));
    merges = get(style == HEFT_TRAIN_BYTES ? in_out(&f, "vocab.bpe") : f.out, &mem);
    assert_int_equal(merges.n, strlen(wanted));
    assert_memory_equal(merges.p, wanted, merges.n);
    heft_arena_release(&mem);
    close_folder(&f);
}

static void test_example(void **unused)
{
    (void)unused;
    assert_learns(HEFT_TRAIN_BYTES, 300, "aaabdaaabac", 11, "#version: 0.2\na a\na b\naa ab\n");
    assert_learns(HEFT_TRAIN_BYTES, 258, "aaabdaaabac", 11, "#version: 0.2\na a\n");
    assert_learns(HEFT_TRAIN_BYTES, 257, "aaabdaaabac", 11, "#version: 0.2\n");
    assert_learns(HEFT_TRAIN_BYTES, 300, "bc bc de de", 11, "#version: 0.2\nb c\nd e\nĠ de\n");
}

/* Expected merges are those of subword-nmt 0.3.8. */
static void test_subword(void **unused)
{
    (void)unused;
    assert_learns(HEFT_TRAIN_SUBWORD_NMT, 10, "low low lower\nlowest\r\n\n low", 27,
                  "#version: 0.2\nl o\nlo w</w>\nw e\nlo we\n");
}

/* ---- the vocabulary of tests/golden/tokens ------------------------------------------------ */

static void assert_same(const char *name, struct folder *f)
{
    struct heft_arena mem = {0};
    char path[256];
    struct heft_str a, b;

    snprintf(path, sizeof path, "%s/%s", SMALL, name);
    a = get(path, &mem);
    b = get(in_out(f, name), &mem);
    assert_int_equal(a.n, b.n);
    assert_memory_equal(a.p, b.p, a.n);
    heft_arena_release(&mem);
}

static void test_small_is_learned(void **unused)
{
    static const char *const paths[] = {SMALL "/text.txt"};
    struct heft_train_report report = HEFT_INIT(struct heft_train_report);
    struct heft_error err = {0};
    struct folder f;

    (void)unused;
    for (unsigned threads = 1; threads < 4; threads++) {
        const struct heft_train_options options = {
            .size = sizeof options, .vocab_size = 1000, .threads = threads, .no_sync = true};

        open_folder(&f);
        assert_true(heft_train(paths, 1, f.out, &options, &report, &err));
        assert_int_equal(report.ids, 1000);
        assert_int_equal(report.merges, 743);
        assert_same("vocab.bpe", &f);
        assert_same("encoder.json", &f);
        assert_same("tokenizer.json", &f);
        close_folder(&f);
    }
}

/* Parses a line of vectors.jsonl: "ids" and "text" in any order. */
static size_t read_vector(struct heft_str line, struct heft_arena *mem, struct heft_str *text,
                          uint32_t *ids, size_t room)
{
    struct heft_error err = {0};
    struct heft_json j;
    enum heft_json_token token;
    size_t n = 0;
    uint64_t id = 0;

    heft_json_begin(&j, (struct heft_bytes){(const uint8_t *)line.p, line.n}, 0, mem, &err);
    while ((token = heft_json_next(&j)) != HEFT_JSON_END) {
        assert_int_not_equal(token, HEFT_JSON_ERROR);
        if (token == HEFT_JSON_STRING) {
            text->p = heft_arena_text(mem, j.text, &err);
            text->n = j.text.n;
        } else if (token == HEFT_JSON_NUMBER) {
            assert_true(n < room && heft_json_u64(&j, &id));
            ids[n++] = (uint32_t)id;
        }
    }
    return n;
}

static void test_small_encodes(void **unused)
{
    static const char *const names[] = {SMALL, SMALL "/vocab.bpe"};
    static uint32_t wanted[4096], ids[4096];
    struct heft_error err = {0};

    (void)unused;
    for (size_t i = 0; i < HEFT_COUNT(names); i++) {
        struct heft_vocab *v = heft_vocab_open(names[i], &err);
        struct heft_encoder *e = v ? heft_encoder_new(v, NULL, &err) : NULL;
        struct heft_arena mem = {0};
        struct heft_str all = get(SMALL "/vectors.jsonl", &mem), text = {0};
        size_t lines = 0, n, count;

        assert_non_null(e);
        assert_int_equal(heft_vocab_end(v), 999);
        for (; all.n > 0; all.p += n + 1, all.n -= n + 1, lines++) {
            const char *const end = memchr(all.p, '\n', all.n);

            assert_non_null(end);
            n = (size_t)(end - all.p);
            count = read_vector((struct heft_str){all.p, n}, &mem, &text, wanted, 4096);
            assert_true(heft_encode(e, text.p, text.n, ids, 4096, &n, &err));
            assert_int_equal(n, count);
            assert_memory_equal(ids, wanted, n * sizeof *ids);
            n = (size_t)(end - all.p);
        }
        assert_true(lines > 200);
        heft_arena_release(&mem);
        heft_encoder_free(e);
        heft_vocab_close(v);
    }
}

/* ---- with little memory ------------------------------------------------------------------ */

/* Words of random letters, some of several bytes, some repeated often, and one word that is a third
 * of the text. */
static size_t make_text(char *text, size_t room)
{
    static const char *const letters[] = {"a",
                                          "b",
                                          "c",
                                          "d",
                                          "e",
                                          "x",
                                          "\xC3\xA9",
                                          "\xE4\xB8\xAD",
                                          "\xE4\xB9\xA6",
                                          "\xF0\x9D\x92\xB3"};
    uint32_t state = 1;
    size_t n = 0;

    while (n + 8 < room) {
        const char *letter;

        state = state * 1664525 + 1013904223;
        letter = letters[(state >> 16) % (n < room / 2 ? HEFT_COUNT(letters) : 4)];
        if (n < room / 3 || state >> 29 > 0)
            n += (size_t)snprintf(text + n, room - n, "%s", letter);
        else
            text[n++] = ' ';
    }
    return n;
}

static struct heft_str learn(enum heft_train_style style, uint64_t memory, uint64_t least,
                             const char *text, size_t n, struct heft_arena *mem)
{
    const struct heft_train_options options = {.size = sizeof options,
                                               .style = style,
                                               .vocab_size = 4000,
                                               .min_frequency = least,
                                               .memory = memory,
                                               .threads = 1,
                                               .no_sync = true};
    struct heft_error err = {0};
    struct heft_str merges;
    struct folder f;

    open_folder(&f);
    put(f.text, text, n);
    assert_true(train(&f, &options, &err));
    merges = get(style == HEFT_TRAIN_BYTES ? in_out(&f, "vocab.bpe") : f.out, mem);
    close_folder(&f);
    return merges;
}

/* With little memory, words go to a temporary file, pairs are counted in several passes, and
 * occurrences are stored in blocks: the merges are the same. */
static void test_little_memory(void **unused)
{
    static char text[120000];
    const size_t n = make_text(text, sizeof text);

    (void)unused;
    for (enum heft_train_style style = HEFT_TRAIN_BYTES; style <= HEFT_TRAIN_SUBWORD_NMT; style++) {
        for (uint64_t least = 1; least <= 3; least++) {
            struct heft_arena mem = {0};
            const struct heft_str usual = learn(style, 0, least, text, n, &mem);

            assert_true(usual.n > 10000);
            for (uint64_t memory = 3 * n + (1 << 16); memory < 4000000; memory *= 2) {
                const struct heft_str little = learn(style, memory, least, text, n, &mem);

                assert_int_equal(little.n, usual.n);
                assert_memory_equal(little.p, usual.p, usual.n);
            }
            heft_arena_release(&mem);
        }
    }
}

/* ---- what is refused --------------------------------------------------------------------- */

static void test_refused(void **unused)
{
    static const struct {
        const char *text;
        size_t n;
        struct heft_train_options options;
        enum heft_code code;
        uint64_t at;
    } cases[] = {
        {"abc", 3, {.vocab_size = 256}, HEFT_USAGE, HEFT_NO_OFFSET},
        {"abc", 3, {.vocab_size = 1 << 24}, HEFT_USAGE, HEFT_NO_OFFSET},
        {"", 0, {.vocab_size = 300}, HEFT_USAGE, HEFT_NO_OFFSET},
        {"ab \xFF", 4, {.vocab_size = 300}, HEFT_MALFORMED, 3},
        {"ab \xE4\xB8", 5, {.vocab_size = 300}, HEFT_MALFORMED, 3},
        {"ab \xED\xA0\x80", 6, {.vocab_size = 300}, HEFT_MALFORMED, 3},
        {"ab \xFF", 4, {.style = HEFT_TRAIN_SUBWORD_NMT, .vocab_size = 3}, HEFT_MALFORMED, 3},
        {"  \n", 3, {.style = HEFT_TRAIN_SUBWORD_NMT, .vocab_size = 3}, HEFT_USAGE, HEFT_NO_OFFSET},
        {"abc def", 7, {.vocab_size = 300, .memory = 100}, HEFT_LIMIT, HEFT_NO_OFFSET},
        {"abc", 3, {.vocab_size = 300, .unicode = "8.0"}, HEFT_USAGE, HEFT_NO_OFFSET},
    };

    (void)unused;
    for (size_t i = 0; i < HEFT_COUNT(cases); i++) {
        struct heft_error err = {0};
        struct folder f;

        open_folder(&f);
        put(f.text, cases[i].text, cases[i].n);
        assert_false(train(&f, &cases[i].options, &err));
        assert_int_equal(err.code, cases[i].code);
        assert_int_equal(err.offset, cases[i].at);
        assert_int_equal(heft_path_kind(f.out), HEFT_PATH_NONE);
        close_folder(&f);
    }
}

static void test_existing(void **unused)
{
    struct heft_train_options options = {
        .size = sizeof options, .vocab_size = 300, .no_sync = true};
    struct heft_error err = {0};
    struct folder f;

    (void)unused;
    open_folder(&f);
    put(f.text, "aaabdaaabac", 11);
    assert_true(train(&f, &options, &err));
    assert_false(train(&f, &options, &err));
    assert_int_equal(heft_path_kind(in_out(&f, "vocab.bpe")), HEFT_PATH_FILE);
    options.overwrite = true;
    err = (struct heft_error){0};
    assert_true(train(&f, &options, &err));
    close_folder(&f);
}

/* gzip of "aaabdaaabac low low lower lowest" */
static const uint8_t PACKED[] = {0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03,
                                 0x4b, 0x4c, 0x4c, 0x4c, 0x4a, 0x49, 0x04, 0x12, 0x89, 0xc9,
                                 0x0a, 0x39, 0xf9, 0xe5, 0x30, 0x9c, 0x5a, 0x04, 0x26, 0x8b,
                                 0x4b, 0x00, 0x2a, 0xbb, 0xde, 0x78, 0x20, 0x00, 0x00, 0x00};

static void test_no_memory(void **unused)
{
    static char words[12000];
    const struct {
        enum heft_train_style style;
        const void *text;
        size_t n;
        uint64_t memory;
    } cases[] = {{HEFT_TRAIN_BYTES, "aaabdaaabac low low lower lowest", 32, 0},
                 {HEFT_TRAIN_BYTES, PACKED, sizeof PACKED, 0},
                 {HEFT_TRAIN_SUBWORD_NMT, "aaabdaaabac low low lower lowest", 32, 0},
                 {HEFT_TRAIN_SUBWORD_NMT, words, make_text(words, sizeof words), 102000}};

    (void)unused;
    for (size_t i = 0; i < HEFT_COUNT(cases); i++) {
        const struct heft_train_options options = {.size = sizeof options,
                                                   .style = cases[i].style,
                                                   .vocab_size = 400,
                                                   .threads = 1,
                                                   .memory = cases[i].memory,
                                                   .no_sync = true};
        struct heft_error err;
        struct folder f;

        open_folder(&f);
        put(f.text, cases[i].text, cases[i].n);
        for (struct failures fail = {.most = 10000}; !fail.done;) {
            FAIL_ALLOCATION(&fail, train(&f, &options, &err), &err);
            if (!fail.done)
                assert_int_equal(heft_path_kind(f.out), HEFT_PATH_NONE);
        }
        close_folder(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),          cmocka_unit_test(test_subword),
        cmocka_unit_test(test_small_is_learned), cmocka_unit_test(test_small_encodes),
        cmocka_unit_test(test_little_memory),    cmocka_unit_test(test_refused),
        cmocka_unit_test(test_existing),         cmocka_unit_test(test_no_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
