/* test_vocab.c: kinds of vocabularies, and errors of malformed ones. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tokens/vocab/vocab_open.h"
#include "tokens/bpe/encoder.h"
#include "tokens/bpe/vocab_ids.h"
#include "vocab_ranks.h"
#include "failures.h"

static const struct heft_vocab_options GPT2 = {.size = sizeof GPT2, .pattern = "gpt2"};

/* ---- vocabularies in memory -------------------------------------------------------------- */

static void put_alphabet(struct heft_buf *b, uint8_t byte)
{
    for (uint32_t c = 0; c < 0x144; c++)
        if (heft_alphabet_byte(c) == byte && c >= 0x80) {
            heft_buf_char(b, (char)(0xC0 | c >> 6));
            heft_buf_char(b, (char)(0x80 | (c & 0x3F)));
        } else if (heft_alphabet_byte(c) == byte) {
            if (c == '"' || c == '\\')
                heft_buf_char(b, '\\');
            heft_buf_char(b, (char)c);
        }
}

/* Writes {"!": 0, … "Ā": 188 …, EXTRA} without the byte `without` (256: all bytes). */
static void put_ids(struct heft_buf *b, unsigned without, const char *extra)
{
    uint8_t order[256];

    heft_alphabet_order(order);
    heft_buf_char(b, '{');
    for (unsigned id = 0; id < 256; id++) {
        if (order[id] == without)
            continue;
        heft_buf_char(b, '"');
        put_alphabet(b, order[id]);
        heft_buf_printf(b, "\":%u,", id);
    }
    heft_buf_text(b, extra);
    heft_buf_char(b, '}');
}

#define BYTE_LEVEL "{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"trim_offsets\":true}"
#define SPLIT(pattern, behavior)                                                                   \
    "{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Split\",\"pattern\":{\"Regex\":"        \
    "\"" pattern "\"},\"behavior\":\"" behavior "\",\"invert\":false},{\"type\":\"ByteLevel\","    \
    "\"add_prefix_space\":false,\"use_regex\":false}]}"
#define PATTERN                                                                                    \
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\\\p{L}+| ?\\\\p{N}+| ?[^\\\\s\\\\p{L}\\\\p{N}]+|"                 \
    "\\\\s+(?!\\\\S)|\\\\s+"

static void put_tokenizer(struct heft_buf *b, const char *top, const char *pre, const char *model,
                          const char *merges)
{
    heft_buf_printf(b, "{\"version\":\"1.0\",%s\"pre_tokenizer\":%s,\"model\":{%s\"vocab\":", top,
                    pre, model);
    put_ids(b, 256, "\"ab\":256,\"abc\":257,\"<|endoftext|>\":258");
    heft_buf_printf(b, ",\"merges\":%s}}", merges);
}

static struct heft_vocab *open_buf(struct heft_buf *text, struct heft_buf *ids,
                                   struct heft_error *err)
{
    struct heft_bytes of_ids = {ids ? (const uint8_t *)ids->p : NULL, ids ? ids->n : 0};
    struct heft_vocab *v =
        heft_vocab_from((struct heft_bytes){(const uint8_t *)text->p, text->n}, of_ids, &GPT2, err);

    heft_buf_release(text);
    if (ids)
        heft_buf_release(ids);
    return v;
}

/* Makes a vocabulary with each allocation failing in turn: HEFT_NOMEM until it succeeds. */
typedef struct heft_vocab *make_fn(struct heft_error *err);

static void make_without_memory(make_fn *make)
{
    struct failures fail = {.most = 10000};
    struct heft_vocab *v = NULL;
    struct heft_error err;

    while (!fail.done)
        FAIL_ALLOCATION(&fail, (v = make(&err)) != NULL, &err);
    assert_true(fail.n > 3);
    heft_vocab_close(v);
}

/* ---- damaged ones ------------------------------------------------------------------------ */

struct damaged {
    const char *text;
    enum heft_code code;
    /* relative to the start of the part that differs; HEFT_NO_OFFSET if the error has none */
    uint64_t offset;
    const char *message;
};

static void expect_error(const struct heft_vocab *v, const struct heft_error *err,
                         const struct damaged *d, uint64_t base)
{
    const uint64_t offset = d->offset == HEFT_NO_OFFSET ? d->offset : base + d->offset;

    if (v || err->code != d->code || err->offset != offset || !strstr(err->text, d->message))
        fail_msg("%s: code %d, offset %llu (from %llu), \"%s\"", d->text, (int)err->code,
                 (unsigned long long)err->offset, (unsigned long long)base, err->text);
}

static const struct damaged MERGES[] = {
    {"", HEFT_MALFORMED, 0, "the list has no merges"},
    {"#version: 0.2\n", HEFT_MALFORMED, 0, "the list has no merges"},
    {"#version: 0.2\na b\na c", HEFT_MALFORMED, 18, "has no newline"},
    {"a b\nab\n", HEFT_MALFORMED, 4, "expected a merge: two words"},
    {"a b\na  b\n", HEFT_MALFORMED, 4, "expected a merge: two words"},
    {"a b\n a\n", HEFT_MALFORMED, 4, "expected a merge: two words"},
    {"a b\na \n", HEFT_MALFORMED, 4, "expected a merge: two words"},
    {"a b\na\tb\n", HEFT_MALFORMED, 4, "expected a merge: two words"},
    {"a b\n\xe2\x82\xac b\n", HEFT_MALFORMED, 4, "expected a merge: two words"},
    {"a b\na b c\n", HEFT_MALFORMED, 4, "expected a merge: two words"},
    {"a b\nac b\n", HEFT_MALFORMED, 4, "neither a byte nor the result of an earlier merge"},
    {"a b\na b\n", HEFT_MALFORMED, 4, "an earlier merge has the same result"},
    {"a b\nb c\nab c\na bc\n", HEFT_MALFORMED, 13, "an earlier merge has the same result"},
    {"a b\n\xff c\n", HEFT_MALFORMED, 4, "not valid UTF-8"},
};

static void test_damaged_merges(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < HEFT_COUNT(MERGES); i++) {
        struct heft_error err = {0};
        struct heft_buf text = {0};

        heft_buf_text(&text, MERGES[i].text);
        expect_error(open_buf(&text, NULL, &err), &err, &MERGES[i], 0);
    }
}

static const struct damaged IDS[] = {
    {"\"ab\":255", HEFT_MALFORMED, 0, "id 255 belongs to another token"},
    {"\"\xE2\x82\xAC\":256,\"\xE2\x82\xAC\":257", HEFT_MALFORMED, 10,
     "a token has id 256 and id 257"},
    {"\"a\":256", HEFT_MALFORMED, 0, "a token has id 64 and id 256"},
    {"\"ab\":-1", HEFT_MALFORMED, 5, "not a non-negative integer"},
    {"\"ab\":1.5", HEFT_MALFORMED, 5, "not a non-negative integer"},
    {"\"ab\":\"1\"", HEFT_MALFORMED, 5, "not a non-negative integer"},
    {"\"ab\":null", HEFT_MALFORMED, 5, "not a non-negative integer"},
    {"\"ab\":1048576", HEFT_LIMIT, 5, "below 2^20"},
    {"\"ab\":16777216", HEFT_LIMIT, 5, "below 2^20"},
    /* the error is in the other file, at offset 0 */
    {"\"ac\":256", HEFT_MALFORMED, HEFT_NO_OFFSET, ""},
    {"\"ab\":256", HEFT_OK, HEFT_NO_OFFSET, ""},
    {"\"ab\":300,\"<|endoftext|>\":299", HEFT_OK, HEFT_NO_OFFSET, ""},
};

static void test_damaged_ids(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < HEFT_COUNT(IDS); i++) {
        struct heft_error err = {0};
        struct heft_buf text = {0}, ids = {0};
        struct heft_vocab *v;
        uint64_t base;

        put_ids(&ids, 256, "");
        base = ids.n - 1;
        ids.n = 0;
        put_ids(&ids, 256, IDS[i].text);
        heft_buf_text(&text, "a b\n");
        v = open_buf(&text, &ids, &err);
        if (IDS[i].code == HEFT_OK)
            assert_non_null(v);
        else if (IDS[i].offset == HEFT_NO_OFFSET)
            assert_true(!v && err.offset == 0 && strstr(err.text, "result of a merge has no id"));
        else
            expect_error(v, &err, &IDS[i], base);
        heft_vocab_close(v);
    }
}

static void test_missing_byte(void **unused)
{
    struct heft_error err = {0};
    struct heft_buf text = {0}, ids = {0};

    (void)unused;
    put_ids(&ids, 0x41, "\"ab\":256");
    heft_buf_text(&text, "a b\n");
    assert_null(open_buf(&text, &ids, &err));
    assert_non_null(strstr(err.text, "no token for the single byte 0x41"));
    err = (struct heft_error){0};
    put_ranks(&text, 0x00, "");
    assert_null(open_buf(&text, NULL, &err));
    assert_non_null(strstr(err.text, "no token for the single byte 0x00"));
}

static const struct damaged RANKS[] = {
    {"YWI= 255\n", HEFT_MALFORMED, 0, "rank 255 belongs to another token"},
    {"YQ== 256\n", HEFT_MALFORMED, 0, "a token has rank 97 and rank 256"},
    {"YWI 256\n", HEFT_MALFORMED, 0, "in base64"},
    {"YWJ= 256\n", HEFT_MALFORMED, 0, "in base64"},
    {"Y=I= 256\n", HEFT_MALFORMED, 0, "in base64"},
    {"YW\xc3\xa9 256\n", HEFT_MALFORMED, 0, "in base64"},
    {"==== 256\n", HEFT_MALFORMED, 0, "in base64"},
    {"YWI= \n", HEFT_MALFORMED, 0, "a rank below 2^20"},
    {"YWI=\n", HEFT_MALFORMED, 0, "a rank below 2^20"},
    {"YWI= -1\n", HEFT_MALFORMED, 0, "a rank below 2^20"},
    {"YWI= 0x9\n", HEFT_MALFORMED, 0, "a rank below 2^20"},
    {"YWI= 1048576\n", HEFT_MALFORMED, 0, "a rank below 2^20"},
    {"YWI= 99999999999999999999\n", HEFT_MALFORMED, 0, "a rank below 2^20"},
    {" 256\n", HEFT_MALFORMED, 0, "in base64"},
};

static void test_damaged_ranks(void **unused)
{
    struct heft_buf text = {0};
    uint64_t base;

    (void)unused;
    put_ranks(&text, 256, "");
    base = text.n;
    heft_buf_release(&text);
    for (size_t i = 0; i < HEFT_COUNT(RANKS); i++) {
        struct heft_error err = {0};

        put_ranks(&text, 256, RANKS[i].text);
        expect_error(open_buf(&text, NULL, &err), &err, &RANKS[i], base);
    }
}

static const struct {
    /* text of the error; NULL if the vocabulary is valid */
    const char *top, *pre, *model, *merges, *message;
} JSON[] = {
    {"", BYTE_LEVEL, "\"type\":\"BPE\",", "[\"a b\",\"ab c\"]", NULL},
    {"", SPLIT(PATTERN, "Isolated"), "\"type\":\"BPE\",", "[[\"a\",\"b\"],[\"ab\",\"c\"]]", NULL},
    {"\"normalizer\":null,\"truncation\":null,", BYTE_LEVEL,
     "\"type\":\"BPE\",\"dropout\":null,\"byte_fallback\":false,\"end_of_word_suffix\":\"\",",
     "[\"a b\"]", NULL},
    {"\"normalizer\":{\"type\":\"NFKC\"},", BYTE_LEVEL, "\"type\":\"BPE\",", "[]",
     "normalizer.type \"NFKC\""},
    {"\"padding\":{\"strategy\":1},", BYTE_LEVEL, "\"type\":\"BPE\",", "[]", NULL},
    {"\"post_processor\":{\"type\":\"TemplateProcessing\"},", BYTE_LEVEL, "\"type\":\"BPE\",", "[]",
     NULL},
    {"\"post_processor\":{\"type\":\"Speed\"},", BYTE_LEVEL, "\"type\":\"BPE\",", "[]",
     "post_processor.type \"Speed\""},
    {"\"decoder\":{\"type\":\"Metaspace\"},", BYTE_LEVEL, "\"type\":\"BPE\",", "[]",
     "decoder.type \"Metaspace\""},
    {"\"speed\":\"high\",", BYTE_LEVEL, "\"type\":\"BPE\",", "[]", "speed \"high\""},
    {"", "null", "\"type\":\"BPE\",", "[]", "pre_tokenizer null"},
    {"", "{\"type\":\"Whitespace\"}", "\"type\":\"BPE\",", "[]",
     "pre_tokenizer.type \"Whitespace\""},
    {"", "{\"type\":\"ByteLevel\"}", "\"type\":\"BPE\",", "[]",
     "no pre_tokenizer.add_prefix_space"},
    {"", "{\"type\":\"ByteLevel\",\"add_prefix_space\":true}", "\"type\":\"BPE\",", "[]",
     "pre_tokenizer.add_prefix_space true"},
    {"", "{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"use_regex\":false}",
     "\"type\":\"BPE\",", "[]", "pre_tokenizer.use_regex false"},
    {"", SPLIT(PATTERN, "Doubled"), "\"type\":\"BPE\",", "[]",
     "pre_tokenizer.pretokenizers.0.behavior \"Doubled\""},
    {"", BYTE_LEVEL, "", "[\"a b\"]", NULL},
    {"", BYTE_LEVEL, "\"type\":\"WordPiece\",", "[]", "model.type \"WordPiece\""},
    {"", BYTE_LEVEL, "\"type\":\"BPE\",\"dropout\":0.1,", "[]", "model.dropout 0.1"},
    {"", BYTE_LEVEL, "\"type\":\"BPE\",\"dropout\":0.0,", "[]", NULL},
    {"", BYTE_LEVEL, "\"type\":\"BPE\",\"dropout\":0,", "[]", NULL},
    {"", BYTE_LEVEL, "\"type\":\"BPE\",\"dropout\":-0.0e9,", "[]", NULL},
    {"", BYTE_LEVEL, "\"type\":\"BPE\",\"dropout\":1e-400,", "[]", NULL},
    {"", BYTE_LEVEL, "\"type\":\"BPE\",\"dropout\":7e-46,", "[]", NULL},
    {"", BYTE_LEVEL, "\"type\":\"BPE\",\"dropout\":7.1e-46,", "[]", "model.dropout 7.1e-46"},
    {"", BYTE_LEVEL, "\"type\":\"BPE\",\"dropout\":1,", "[]", "model.dropout 1"},
    {"", BYTE_LEVEL, "\"type\":\"BPE\",\"dropout\":false,", "[]", "model.dropout false"},
    {"", BYTE_LEVEL, "\"type\":\"BPE\",\"dropout\":\"0\",", "[]", "model.dropout \"0\""},
    {"", BYTE_LEVEL, "\"type\":\"BPE\",\"byte_fallback\":true,", "[]", NULL},
    {"", BYTE_LEVEL, "\"type\":\"BPE\",\"byte_fallback\":1,", "[]", "model.byte_fallback 1"},
    {"", BYTE_LEVEL, "\"type\":\"BPE\",\"end_of_word_suffix\":\"</w>\",", "[]",
     "model.end_of_word_suffix \"</w>\""},
    {"", BYTE_LEVEL, "\"type\":\"BPE\",", "[\"a\"]", "expected a merge: two words"},
    {"", BYTE_LEVEL, "\"type\":\"BPE\",", "[[\"a\"]]", "expected a string or a pair"},
    {"", BYTE_LEVEL, "\"type\":\"BPE\",", "[[\"a\",\"b\",\"c\"]]", "expected a string or a pair"},
    {"", BYTE_LEVEL, "\"type\":\"BPE\",", "[3]", "expected a string or a pair"},
    {"", BYTE_LEVEL, "\"type\":\"BPE\",", "[\"a c\"]", "result of a merge has no id"},
    {"", BYTE_LEVEL, "\"type\":\"BPE\",", "[\"a b\",\"a b\"]", NULL},
    {"", BYTE_LEVEL, "\"type\":\"BPE\",", "7", "model.merges 7"},
    {"\"added_tokens\":[{\"id\":258,\"content\":\"<|endoftext|>\",\"special\":true}],", BYTE_LEVEL,
     "\"type\":\"BPE\",", "[\"a b\"]", NULL},
    {"\"added_tokens\":[{\"id\":259,\"content\":\"<|endoftext|>\",\"special\":true}],", BYTE_LEVEL,
     "\"type\":\"BPE\",", "[\"a b\"]", "another id in added_tokens"},
    {"\"added_tokens\":[{\"id\":257,\"content\":\"<pad>\",\"special\":true}],", BYTE_LEVEL,
     "\"type\":\"BPE\",", "[\"a b\"]", "id 257 becomes 259 in the tokenizers library"},
    {"\"added_tokens\":[{\"id\":260,\"content\":\"<pad>\",\"special\":true}],", BYTE_LEVEL,
     "\"type\":\"BPE\",", "[\"a b\"]", "id 260 becomes 259 in the tokenizers library"},
    {"\"added_tokens\":[{\"content\":\"<pad>\",\"special\":true}],", BYTE_LEVEL,
     "\"type\":\"BPE\",", "[\"a b\"]", "lacks an id below 2^20 or content"},
    {"\"added_tokens\":[{\"id\":1048576,\"content\":\"<pad>\",\"special\":true}],", BYTE_LEVEL,
     "\"type\":\"BPE\",", "[\"a b\"]", "lacks an id below 2^20 or content"},
    {"\"added_tokens\":[{\"id\":300,\"content\":\"x\",\"special\":true},"
     "{\"id\":301,\"content\":\"x\",\"special\":true}],",
     BYTE_LEVEL, "\"type\":\"BPE\",", "[\"a b\"]", "duplicate added token"},
};

static void test_tokenizer_json(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < HEFT_COUNT(JSON); i++) {
        struct heft_error err = {0};
        struct heft_buf text = {0};
        struct heft_vocab *v;

        put_tokenizer(&text, JSON[i].top, JSON[i].pre, JSON[i].model, JSON[i].merges);
        v = open_buf(&text, NULL, &err);
        if (v && !heft_vocab_can_encode(v, &err)) {
            heft_vocab_close(v);
            v = NULL;
        }
        if (JSON[i].message ? v || !strstr(err.text, JSON[i].message) : !v)
            fail_msg("row %zu: code %d, \"%s\"", i, (int)err.code, err.text);
        heft_vocab_close(v);
    }
}

/* ---- lawful ones ------------------------------------------------------------------------- */

static void test_lines(void **unused)
{
    struct heft_error err = {0};
    struct heft_buf text = {0}, ids = {0};
    struct heft_vocab *v;

    (void)unused;
    heft_buf_text(&text, "#version: 0.2\r\na b\r\nab c\r\n");
    v = open_buf(&text, NULL, &err);
    assert_non_null(v);
    EXPECT_IDS(v, "abc ab", 257, 220, 256);
    assert_int_equal(heft_vocab_end(v), 258);
    heft_vocab_close(v);
    /* OpenAI's encoder.py splits at newlines and drops the text after the last one. */
    heft_buf_text(&text, "#version: 0.2\na b\nab c");
    put_ids(&ids, 256, "\"ab\":300,\"abc\":301");
    v = open_buf(&text, &ids, &err);
    assert_non_null(v);
    EXPECT_IDS(v, "abc ab", 300, 66, 220, 300);
    assert_int_equal(heft_vocab_size(v), 302);
    assert_int_equal(heft_vocab_end(v), HEFT_NO_TOKEN);
    heft_vocab_close(v);
}

static void test_error_of_an_earlier_call(void **unused)
{
    struct heft_error err = {.code = HEFT_MALFORMED, .text = "an earlier one"};
    struct heft_buf text = {0}, ids = {0};
    struct heft_vocab *v;

    (void)unused;
    heft_buf_text(&text, "a b\n");
    put_ids(&ids, 256, "\"ab\":256");
    v = open_buf(&text, &ids, &err);
    assert_non_null(v);
    heft_vocab_close(v);
}

/* "ab" ranks before "bc": "abcd" is merged from "ab" and "cd", never through "bc". "xyz" is not a
 * result of merges, and is a token only if it is a whole pre-token. */
static void test_ranks(void **unused)
{
    struct heft_error err = {0};
    struct heft_buf text = {0};
    struct heft_vocab *v;

    (void)unused;
    put_ranks(&text, 256, "YWI= 256\nYmM= 257\nY2Q= 258\nYWJjZA== 259\neHl6 260\n");
    v = open_buf(&text, NULL, &err);
    assert_non_null(v);
    assert_int_equal(heft_vocab_end(v), HEFT_NO_TOKEN);
    EXPECT_IDS(v, "abcd abc", 259, ' ', 256, 'c');
    EXPECT_IDS(v, "xyz", 260);
    EXPECT_IDS(v, "xyzx", 'x', 'y', 'z', 'x');
    EXPECT_IDS(v, "xyz xyz", 260, ' ', 'x', 'y', 'z');
    heft_vocab_close(v);
}

static void test_ignore_merges(void **unused)
{
    struct heft_error err = {0};
    struct heft_buf text = {0};
    struct heft_vocab *v;

    (void)unused;
    for (int whole = 0; whole < 2; whole++) {
        put_tokenizer(&text, "", BYTE_LEVEL,
                      whole ? "\"type\":\"BPE\",\"ignore_merges\":true," : "\"type\":\"BPE\",",
                      "[\"a b\"]");
        v = open_buf(&text, NULL, &err);
        assert_non_null(v);
        if (whole)
            EXPECT_IDS(v, "abc", 257);
        else
            EXPECT_IDS(v, "abc", 256, 66);
        assert_int_equal(heft_vocab_end(v), 258);
        heft_vocab_close(v);
    }
}

/* A token with characters outside the byte alphabet stands for its own UTF-8 bytes. Text is never
 * encoded to it, neither as a whole pre-token nor in place of equal bytes. */
static void test_foreign_words(void **unused)
{
    struct heft_error err = {0};
    struct heft_buf text = {0};
    struct heft_vocab *v;
    size_t n = 0;

    (void)unused;
    heft_buf_text(&text,
                  "{\"pre_tokenizer\":" BYTE_LEVEL ",\"model\":{\"ignore_merges\":true,\"vocab\":");
    put_ids(&text, 256, "\"ä¸\":256,\"ä¸Ń\":257,\"中\":258,\"文\":259");
    heft_buf_text(&text, ",\"merges\":[\"ä ¸\",\"ä¸ Ń\"]}}");
    v = open_buf(&text, NULL, &err);
    if (!v)
        fail_msg("code %d, \"%s\"", (int)err.code, err.text);
    EXPECT_IDS(v, "中", 257);
    EXPECT_IDS(v, "文", 162, 244, 229);
    assert_memory_equal(heft_vocab_token(v, 259, &n), "文", 3);
    assert_int_equal(n, 3);
    heft_vocab_close(v);
}

static bool same_ids(void *ctx, const struct heft_word *word)
{
    struct {
        uint32_t ids[4096];
        size_t n;
    } *all = ctx;

    memcpy(all->ids + all->n, word->ids, word->n_ids * sizeof *word->ids);
    all->n += word->n_ids;
    return true;
}

/* All pairs of bytes merge: 65792 ids, so that the encoder needs 4 bytes per id. */
static void test_wide_ids(void **unused)
{
    struct heft_error err = {0};
    struct heft_buf text = {0};
    struct heft_vocab *v;
    struct heft_encoder *e;
    uint8_t order[256];
    uint32_t ids[512], state = 7;
    size_t n;
    struct {
        uint32_t ids[4096];
        size_t n;
    } all;

    (void)unused;
    heft_alphabet_order(order);
    put_ranks(&text, 256, "");
    for (unsigned i = 0; i < 65536; i++) {
        const uint8_t pair[2] = {order[i >> 8], order[i & 255]};

        put_base64(&text, pair, 2);
        heft_buf_printf(&text, " %u\n", 256 + i);
    }
    v = open_buf(&text, NULL, &err);
    assert_non_null(v);
    assert_int_equal(heft_vocab_size(v), 65792);
    e = heft_encoder_new(v, NULL, &err);
    assert_non_null(e);
    assert_int_equal(heft_encoder_width(e), 4);
    for (unsigned round = 0; round < 2000; round++) {
        char line[300];
        const size_t length = 1 + round % 280;

        for (size_t i = 0; i < length; i++) {
            state = state * 1664525u + 1013904223u;
            line[i] = "abcxyzABC 0189'.!\n"[state >> 16 & 15];
        }
        all.n = 0;
        assert_true(heft_explain_text(v, NULL, line, length, same_ids, &all, &err));
        assert_true(heft_encode(e, line, length, ids, 512, &n, &err));
        assert_int_equal(n, all.n);
        assert_memory_equal(ids, all.ids, n * sizeof *ids);
    }
    heft_encoder_free(e);
    heft_vocab_close(v);
}

/* The built-in vocabulary of GPT-2, or an error that says how to obtain it. */
static void test_builtin(void **unused)
{
    struct heft_error err = {0};
    struct heft_vocab *v = heft_vocab_open(NULL, &err);

    (void)unused;
    if (!v) {
        assert_int_equal(heft_builtin_count, 0);
        assert_int_equal(err.code, HEFT_USAGE);
        assert_non_null(strstr(err.text, "scripts/samples vocab"));
        return;
    }
    assert_true(v->is_self_encoding);
    assert_int_equal(heft_vocab_size(v), 50257);
    assert_int_equal(heft_vocab_end(v), 50256);
    for (uint32_t id = 0; id < 13; id++) {
        size_t n = 0;
        const uint8_t *token = heft_vocab_token(v, id, &n);

        assert_true(n == 1 && token[0] == '!' + id);
    }
    EXPECT_IDS(v, "they're", 9930, 821);
    heft_vocab_close(v);
}

/* ---- memory ------------------------------------------------------------------------------ */

static struct heft_buf merges_text, ids_text, ranks_text, json_text;

static struct heft_vocab *make_of(const struct heft_buf *text, const struct heft_buf *ids,
                                  struct heft_error *err)
{
    const struct heft_bytes of_ids = {ids ? (const uint8_t *)ids->p : NULL, ids ? ids->n : 0};

    return heft_vocab_from((struct heft_bytes){(const uint8_t *)text->p, text->n}, of_ids, &GPT2,
                           err);
}
static struct heft_vocab *make_merges(struct heft_error *err)
{
    return make_of(&merges_text, NULL, err);
}
static struct heft_vocab *make_pair(struct heft_error *err)
{
    return make_of(&merges_text, &ids_text, err);
}
static struct heft_vocab *make_ranks(struct heft_error *err)
{
    return make_of(&ranks_text, NULL, err);
}
static struct heft_vocab *make_json(struct heft_error *err)
{
    return make_of(&json_text, NULL, err);
}

static void expect_special(const struct heft_vocab *v, size_t index, const char *text, uint32_t id)
{
    struct heft_special_token token = HEFT_INIT(struct heft_special_token);

    assert_true(heft_vocab_special_at(v, index, &token));
    assert_string_equal(token.text, text);
    assert_int_equal(token.n, strlen(text));
    assert_int_equal(token.id, id);
}

/* By id: those that a tokenizer.json marks, in its vocabulary or beside it, and the end of text. */
static void test_special_tokens(void **unused)
{
    static const char added[] =
        "\"added_tokens\":[{\"id\":259,\"content\":\"<x\\u00e9>\",\"special\":true},"
        "{\"id\":260,\"content\":\"word\",\"special\":false},"
        "{\"id\":257,\"content\":\"abc\",\"special\":true}],";
    struct heft_special_token token = HEFT_INIT(struct heft_special_token);
    struct heft_error err = {0};
    struct heft_buf text = {0};
    struct heft_vocab *v;

    (void)unused;
    put_tokenizer(&text, added, BYTE_LEVEL, "\"type\":\"BPE\",", "[\"a b\"]");
    v = open_buf(&text, NULL, &err);
    if (!v)
        fail_msg("%s", err.text);
    assert_int_equal(heft_vocab_special_count(v), 3);
    expect_special(v, 0, "abc", 257);
    expect_special(v, 1, "<|endoftext|>", 258);
    expect_special(v, 2, "<x\xC3\xA9>", 259);
    assert_false(heft_vocab_special_at(v, 3, &token));
    heft_vocab_close(v);
    heft_buf_text(&text, "#version: 0.2\na b\n");
    v = open_buf(&text, NULL, &err);
    assert_non_null(v);
    assert_int_equal(heft_vocab_special_count(v), 1);
    expect_special(v, 0, "<|endoftext|>", 257);
    heft_vocab_close(v);
}

#define FAMILIES HEFT_TESTS "/golden/tokens/families/"

static struct heft_vocab *make_tekken(struct heft_error *err)
{
    return heft_vocab_open(FAMILIES "tekken.json", err);
}
static struct heft_vocab *make_pickle(struct heft_error *err)
{
    return heft_vocab_open(FAMILIES "nanochat.pkl", err);
}
static struct heft_vocab *make_pipeline(struct heft_error *err)
{
    return heft_vocab_open(FAMILIES "gpt-neox.tokenizer.json", err);
}
static struct heft_vocab *make_stated(struct heft_error *err)
{
    const struct heft_vocab_options how = {.size = sizeof how, .pattern = "\\S+|\\s+"};

    return heft_vocab_open_with(FAMILIES "gpt4.tiktoken", &how, err);
}

static void test_no_memory(void **unused)
{
    (void)unused;
    make_without_memory(make_tekken);
    make_without_memory(make_pickle);
    make_without_memory(make_pipeline);
    make_without_memory(make_stated);
    heft_buf_text(&merges_text, "#version: 0.2\na b\nab c\n");
    put_ids(&ids_text, 256, "\"ab\":300,\"abc\":301");
    put_ranks(&ranks_text, 256, "YWI= 256\neHl6 260\n");
    put_tokenizer(&json_text,
                  "\"added_tokens\":[{\"id\":259,\"content\":\"<pad>\",\"special\":true}],",
                  BYTE_LEVEL, "\"type\":\"BPE\",\"ignore_merges\":true,", "[[\"a\",\"b\"]]");
    make_without_memory(make_merges);
    make_without_memory(make_pair);
    make_without_memory(make_ranks);
    make_without_memory(make_json);
    heft_buf_release(&merges_text);
    heft_buf_release(&ids_text);
    heft_buf_release(&ranks_text);
    heft_buf_release(&json_text);
}

/* ---- one vocabulary, spelled in many ways ------------------------------------------------ */

/* Spellings that the fast reader accepts and those left to the general reader give the same
 * vocabulary. */
static void test_spellings(void **unused)
{
    static const char *const spellings[] = {
        "\"ab\":256,\"abc\":257,\"<|endoftext|>\":258",
        " \"a\\u0062\" : 256 ,\n\t\"\\u0061\\u0062\\u0063\":257,\r\"<|endoftext|>\": 258 ",
        "\"\\u003C|endofte\\u0078t|\\u003e\":258,\"abc\":257,\"ab\":256",
        "\"<|endoftext|>\":258,\"ab\":256,\"x y\":259,\"abc\":257",
        "\"ab\":256,\"abc\":257,\"<|endoftext|>\":258,\"\\ud83d\\ude00\":259",
        "\"ab\":256,\"\xC5\x84\":259,\"abc\":257,\"\xE2\x82\xAC\":260,\"<|endoftext|>\":258",
    };
    (void)unused;
    for (size_t i = 0; i < HEFT_COUNT(spellings); i++) {
        struct heft_buf text = {0}, ids = {0};
        struct heft_error err = {0};
        struct heft_vocab *v;
        size_t n = 0;

        heft_buf_text(&text, "#version: 0.2\na b\nab c\n");
        put_ids(&ids, 256, spellings[i]);
        v = open_buf(&text, &ids, &err);
        if (!v)
            fail_msg("spelling %zu: %s", i, err.text);
        assert_int_equal(heft_vocab_end(v), 258);
        assert_memory_equal(heft_vocab_token(v, 257, &n), "abc", 3);
        assert_int_equal(n, 3);
        expect_ids(v, "abcab", (const uint32_t[]){257, 256}, 2);
        heft_vocab_close(v);
    }
}

/* Tokens of all lengths that differ in one byte. */
static void test_vocab_ids(void **unused)
{
    enum { LENGTHS = 40, EACH = 8 };
    static char bytes[LENGTHS * EACH + 1][LENGTHS + HEFT_VOCAB_PAD];
    static struct heft_str tokens[LENGTHS * EACH + 1];
    struct heft_vocab_ids ids = {0};
    struct heft_arena mem = {0};
    struct heft_error err = {0};
    uint32_t found = 0;

    (void)unused;
    assert_true(heft_vocab_ids_reserve(&ids, &mem, tokens, HEFT_COUNT(tokens), &err));
    for (uint32_t id = 0; id < LENGTHS * EACH; id++) {
        const size_t n = id / EACH + 1;

        memset(bytes[id], 'x', n);
        bytes[id][id % EACH % n] = (char)('a' + id % EACH);
        tokens[id] = (struct heft_str){bytes[id], n};
        assert_int_equal(heft_vocab_ids_get(&ids, tokens[id]), HEFT_MAP_NONE);
        assert_true(heft_vocab_ids_add(&ids, id, &found, &err));
        assert_int_equal(found, HEFT_MAP_NONE);
    }
    for (uint32_t id = 0; id < LENGTHS * EACH; id++)
        assert_int_equal(heft_vocab_ids_get(&ids, tokens[id]), id);
    for (uint32_t id = 0; id < LENGTHS * EACH; id += 7) {
        tokens[LENGTHS * EACH] = tokens[id];
        assert_true(heft_vocab_ids_add(&ids, LENGTHS * EACH, &found, &err));
        assert_int_equal(found, id);
    }
    assert_int_equal(heft_vocab_ids_get(&ids, (struct heft_str){bytes[0], 0}), HEFT_MAP_NONE);
    heft_vocab_ids_release(&ids);
    heft_arena_release(&mem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_damaged_merges),
        cmocka_unit_test(test_damaged_ids),
        cmocka_unit_test(test_missing_byte),
        cmocka_unit_test(test_damaged_ranks),
        cmocka_unit_test(test_tokenizer_json),
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_error_of_an_earlier_call),
        cmocka_unit_test(test_ranks),
        cmocka_unit_test(test_ignore_merges),
        cmocka_unit_test(test_foreign_words),
        cmocka_unit_test(test_wide_ids),
        cmocka_unit_test(test_builtin),
        cmocka_unit_test(test_special_tokens),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_spellings),
        cmocka_unit_test(test_vocab_ids),
    };

    return cmocka_run_group_tests_name("vocab", tests, NULL, NULL);
}
