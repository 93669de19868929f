/* test_vocab_pattern.c: the split pattern of vocabularies: known to be GPT-2's, or unknown. */
#include "tokens/vocab/vocab_open.h"
#include "vocab_ranks.h"

static const struct heft_vocab_options GPT2 = {.size = sizeof GPT2, .pattern = "gpt2"};

/* Writes 90000 merges: of two letters, of two such pairs, and `odd` merges of a point with four
 * letters. */
static void put_many(struct heft_buf *b, unsigned odd)
{
    const unsigned words = 90000 - 676 - odd;

    for (unsigned i = 0; i < 676; i++)
        heft_buf_printf(b, "%c %c\n", (int)('a' + i / 26), (int)('a' + i % 26));
    for (unsigned i = 0; i < words + odd; i++) {
        const unsigned k = i < words ? i : i - words;
        const char four[4] = {(char)('a' + k / 17576), (char)('a' + k / 676 % 26),
                              (char)('a' + k / 26 % 26), (char)('a' + k % 26)};

        heft_buf_printf(b, i < words ? "%.2s %.2s\n" : ". %.2s%.2s\n", four, four + 2);
    }
}

/* Vocabularies with tokens that GPT-2's pattern would split. Without a pattern option, encoding is
 * refused if there are too many; with it, encoding works but heft_vocab_doubt reports them. */
static void test_other_pattern(void **unused)
{
    struct heft_error err = {0};
    struct heft_buf text = {0};
    struct heft_vocab *v;

    (void)unused;
    for (unsigned odd = 90000 / 64 + 4; odd <= 90000 / 64 + 5; odd++) {
        struct heft_error refused = {0};

        put_many(&text, odd);
        v = heft_vocab_from((struct heft_bytes){(const uint8_t *)text.p, text.n},
                            (struct heft_bytes){0}, NULL, &err);
        assert_non_null(v);
        assert_int_equal(heft_vocab_can_encode(v, &refused), odd == 90000 / 64 + 4);
        heft_vocab_close(v);
        if (odd > 90000 / 64 + 4) {
            assert_int_equal(refused.code, HEFT_UNSUPPORTED);
            assert_non_null(strstr(refused.text, "1411 of 90000 merged tokens are not pre-tokens"));
        }
        v = heft_vocab_from((struct heft_bytes){(const uint8_t *)text.p, text.n},
                            (struct heft_bytes){0}, &GPT2, &err);
        heft_buf_release(&text);
        assert_non_null(v);
        assert_true(heft_vocab_can_encode(v, &err));
        assert_int_equal(heft_vocab_doubt(v) != NULL, odd > 90000 / 64 + 4);
        heft_vocab_close(v);
    }
}

static struct heft_vocab *open_ranks(const char *more, const struct heft_vocab_options *how)
{
    struct heft_error err = {0};
    struct heft_buf text = {0};
    struct heft_vocab *v;

    put_ranks(&text, 256, more);
    v = heft_vocab_from((struct heft_bytes){(const uint8_t *)text.p, text.n},
                        (struct heft_bytes){0}, how, &err);
    heft_buf_release(&text);
    if (!v)
        fail_msg("%s", err.text);
    return v;
}

/* A file of ranks contains no pattern. If it is not a known one, it decodes, and encodes only with
 * a pattern option. */
static void test_unproven_pattern(void **unused)
{
    struct heft_vocab *v = open_ranks("YWI= 256\n", NULL);
    struct heft_error err = {0};
    char text[8];
    size_t n;

    (void)unused;
    assert_null(heft_encoder_new(v, NULL, &err));
    assert_int_equal(err.code, HEFT_UNSUPPORTED);
    assert_non_null(strstr(err.text, "no split pattern"));
    assert_true(heft_decode(v, (const uint32_t[]){256, 'c'}, 2, text, sizeof text, &n, &err));
    assert_int_equal(n, 3);
    assert_memory_equal(text, "abc", 3);
    heft_vocab_close(v);
    v = open_ranks("YWI= 256\n", &GPT2);
    EXPECT_IDS(v, "abc", 256, 'c');
    heft_vocab_close(v);
}

/* "=" is the empty token in base64: it has an id, no text is encoded to it, and it decodes to no
 * bytes. */
static void test_empty_token(void **unused)
{
    struct heft_vocab *v = open_ranks("YWI= 256\n= 257\n", &GPT2);
    struct heft_error err = {0};
    size_t n = 7;
    char text[8];

    (void)unused;
    EXPECT_IDS(v, "abc", 256, 'c');
    assert_true(heft_decode(v, (const uint32_t[]){257, 'c', 257}, 3, text, sizeof text, &n, &err));
    assert_int_equal(n, 1);
    assert_int_equal(heft_vocab_size(v), 258);
    heft_vocab_close(v);
}

/* The end-of-text token is a token of any name, or an id without a token. */
static void test_end_token(void **unused)
{
    struct heft_vocab_options how = {.size = sizeof how, .pattern = "gpt2", .eot_token = "ab"};
    struct heft_error err = {0};
    struct heft_vocab *v = open_ranks("YWI= 256\n", &how);
    size_t n = 0;

    (void)unused;
    assert_int_equal(heft_vocab_end(v), 256);
    heft_vocab_close(v);
    how.eot_token = "<|endoftext|>";
    v = heft_vocab_open_with(NULL, &how, &err);
    if (!v && heft_builtin_count == 0)
        return;
    assert_int_equal(heft_vocab_end(v), 50256);
    heft_vocab_close(v);
    how.eot_token = "50400";
    v = heft_vocab_open_with(NULL, &how, &err);
    assert_int_equal(heft_vocab_end(v), 50400);
    assert_int_equal(heft_vocab_size(v), 50401);
    assert_memory_equal(heft_vocab_token(v, 50400, &n), "<|endoftext|>", 13);
    assert_null(heft_vocab_token(v, 50399, &n));
    heft_vocab_close(v);
    how.eot_token = "</s>";
    assert_null(heft_vocab_open_with(NULL, &how, &err));
    assert_int_equal(err.code, HEFT_USAGE);
    how.eot_token = NULL;
    how.pattern = "cl100";
    assert_null(heft_vocab_open_with(NULL, &how, &err));
    assert_non_null(strstr(err.text, "one of gpt2, r50k, "));
    how.pattern = "";
    assert_null(heft_vocab_open_with(NULL, &how, &err));
    assert_int_equal(err.code, HEFT_USAGE);
    how.pattern = "\\p{L}+\xFF";
    assert_null(heft_vocab_open_with(NULL, &how, &err));
    assert_non_null(strstr(err.text, "not valid UTF-8"));
}

/* The ranks of GPT-2 and of p50k_base are recognised with lines in any order, but not with one
 * token changed. */
static void test_known_ranks(void **unused)
{
    struct heft_error err = {0};
    struct heft_vocab *gpt2 = heft_vocab_open(NULL, &err);

    (void)unused;
    for (int kind = 0; gpt2 && kind < 4;
         kind++) { /* 1: reversed lines; 2: p50k_base; 3: one token changed */
        struct heft_buf text = {0};
        struct heft_vocab *v;

        for (uint32_t i = 0; i < 50256; i++) {
            const uint32_t id = kind == 1 ? 50255 - i : i;
            const struct heft_str token =
                kind == 3 && id == 40000 ? HEFT_STR("xqxqxq") : gpt2->tokens[id];

            put_base64(&text, (const uint8_t *)token.p, token.n);
            heft_buf_printf(&text, " %u\n", (unsigned)id);
        }
        for (uint32_t n = 2; kind == 2 && n < 26; n++) {
            put_base64(&text, (const uint8_t *)"                          ", n);
            heft_buf_printf(&text, " %u\n", (unsigned)(50255 + n));
        }
        v = heft_vocab_from((struct heft_bytes){(const uint8_t *)text.p, text.n},
                            (struct heft_bytes){0}, NULL, &err);
        heft_buf_release(&text);
        assert_non_null(v);
        assert_int_equal(heft_vocab_can_encode(v, &err), kind != 3);
        assert_int_equal(heft_vocab_end(v), kind == 3 ? HEFT_NO_TOKEN : 50256);
        heft_vocab_close(v);
    }
    heft_vocab_close(gpt2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_other_pattern), cmocka_unit_test(test_unproven_pattern),
        cmocka_unit_test(test_known_ranks),   cmocka_unit_test(test_empty_token),
        cmocka_unit_test(test_end_token),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
