/* test_encoder_chain.c: vocabularies with chains of patterns, added tokens and normalization: texts in
 * pieces, safe splits, no memory. */
#include "heft/tokens.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "failures.h"
#include "tokens/bpe/safe_split.h"

#define MOST 4000

static const char *const FILES[] = {"gpt-neox.tokenizer.json",
                                    "roberta.tokenizer.json",
                                    "qwen2.tokenizer.json",
                                    "o200k.tokenizer.json",
                                    "deepseek3.tokenizer.json",
                                    "deepseek-coder.tokenizer.json",
                                    "bloom.tokenizer.json",
                                    "starcoder2.tokenizer.json",
                                    "tekken.json",
                                    "nanochat.pkl"};
static const char *const PARTS[] = {
    "a",    "The",  "ing",   " ",      "  ",     "\n",     "\r\n",          "'s",          "1",
    "2345", ".",    "/",     "é",      "e",      "\u0301", "\u0327",        "\u3000",      "中",
    "文",   "ひ",   "한",    "\u1100", "\u1161", "<mask>", "<|endoftext|>", "<tool_call>", "    ",
    "A",    "HTTP", "\u212b"};
static uint32_t state = 7;

static uint32_t any(uint32_t below)
{
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % below;
}

static size_t make_text(char *text)
{
    size_t n = 0;

    for (unsigned k = any(60); k > 0; k--) {
        const char *const part = PARTS[any(HEFT_COUNT(PARTS))];

        memcpy(text + n, part, strlen(part));
        n += strlen(part);
    }
    return n;
}

static struct heft_vocab *open_family(const char *file)
{
    const char *const golden = getenv("GOLDEN");
    struct heft_error err = {0};
    char path[1000];
    struct heft_vocab *v;

    snprintf(path, sizeof path, "%s/tokens/families/%s", golden ? golden : "tests/golden", file);
    v = heft_vocab_open(path, &err);
    if (!v)
        fail_msg("%s: %s", path, err.text);
    return v;
}

struct list {
    uint32_t ids[MOST];
    size_t n;
};

static bool append(void *ctx, const uint32_t *ids, size_t count)
{
    struct list *list = ctx;

    assert_true(list->n + count <= MOST);
    memcpy(list->ids + list->n, ids, count * sizeof *ids);
    list->n += count;
    return true;
}

static void encode_whole(struct heft_encoder *e, const char *text, size_t n, struct list *list)
{
    struct heft_error err = {0};

    assert_true(heft_encode(e, text, n, list->ids, MOST, &list->n, &err));
}

static void encode_pieces(struct heft_encoder *e, const char *text, size_t n, struct list *list)
{
    struct heft_error err = {0};

    list->n = 0;
    for (size_t at = 0, some; at < n; at += some) {
        some = heft_min_size(n - at, 1 + any(9));
        assert_true(heft_encoder_feed(e, text + at, some, append, list, &err));
    }
    assert_true(heft_encoder_finish(e, append, list, &err));
}

static void assert_same(const struct list *a, const struct list *b, const char *file)
{
    if (a->n != b->n || memcmp(a->ids, b->ids, a->n * sizeof *a->ids) != 0)
        fail_msg("%s: %zu ids, expected %zu", file, a->n, b->n);
}

static void check_pieces(const char *file, bool special)
{
    static struct list whole, pieces;
    struct heft_vocab *const v = open_family(file);
    const struct heft_encoder_options how = {.size = sizeof how, .special = special};
    struct heft_error err = {0};
    struct heft_encoder *const e = heft_encoder_new(v, &how, &err);
    char text[1000];

    if (!e)
        fail_msg("%s: %s", file, err.text);
    for (unsigned round = 0; round < 400; round++) {
        const size_t n = make_text(text);

        encode_whole(e, text, n, &whole);
        encode_pieces(e, text, n, &pieces);
        assert_same(&pieces, &whole, file);
    }
    heft_encoder_free(e);
    heft_vocab_close(v);
}

static void test_pieces(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < HEFT_COUNT(FILES); i++) {
        check_pieces(FILES[i], false);
        check_pieces(FILES[i], true);
    }
}

/* The ids of the parts of a text that is split where it may be are those of the whole. */
static void check_splits(const char *file)
{
    static struct list whole, parts, part;
    struct heft_vocab *const v = open_family(file);
    struct heft_error err = {0};
    struct heft_encoder *const e = heft_encoder_new(v, NULL, &err);
    struct heft_safe_split *const s = calloc(1, sizeof *s);
    char text[1000];

    assert_true(e && s && heft_safe_split_init(s, v, NULL, false, &err));
    for (unsigned round = 0; round < 400; round++) {
        const size_t n = make_text(text);
        const size_t at =
            n ? heft_safe_split_find(s, (const uint8_t *)text, n, any((uint32_t)n)) : 0;

        encode_whole(e, text, n, &whole);
        encode_whole(e, text, at, &parts);
        encode_whole(e, text + at, n - at, &part);
        append(&parts, part.ids, part.n);
        assert_same(&parts, &whole, file);
    }
    heft_safe_split_release(s);
    free(s);
    heft_encoder_free(e);
    heft_vocab_close(v);
}

static void test_safe_splits(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < HEFT_COUNT(FILES); i++)
        check_splits(FILES[i]);
}

static bool encode_once(void *ctx, struct heft_error *err)
{
    const struct heft_vocab *const v = ctx;
    static const char TEXT[] = "The e\u0301 中文 <tool_call> 12345  x";
    struct heft_encoder *const e = heft_encoder_new(v, NULL, err);
    uint32_t ids[64];
    size_t n;
    const bool ok = e && heft_encode(e, TEXT, sizeof TEXT - 1, ids, 64, &n, err);

    heft_encoder_free(e);
    return ok;
}

static void test_no_memory(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < HEFT_COUNT(FILES); i++) {
        struct heft_vocab *const v = open_family(FILES[i]);

        fail_each_allocation(encode_once, v, 400);
        heft_vocab_close(v);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_safe_splits),
        cmocka_unit_test(test_no_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
