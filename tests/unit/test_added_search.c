/* test_added_search.c: the longest added token at a place, compared with a loop over all tokens;
 * places where a text may be split; many tokens, long tokens, and tokens that are refused. */
#include "tokens/prepare/added_search.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "failures.h"
#include "text_pieces.h"

#define MOST 40 /* tokens */
#define TEXT 80 /* bytes */

/* Random tokens of few letters, and texts of the same letters. */
struct drawn {
    char texts[MOST][8];
    struct heft_added_token tokens[MOST];
    size_t n;
    char text[TEXT];
    size_t text_n;
};

static void draw_tokens(struct drawn *drawn, uint32_t *state, const char *letters, unsigned flags)
{
    drawn->n = 1 + next_random(state, MOST);
    for (size_t i = 0; i < drawn->n; i++) {
        const uint32_t n = 1 + next_random(state, 6);

        for (uint32_t k = 0; k < n; k++)
            drawn->texts[i][k] = letters[next_random(state, (uint32_t)strlen(letters))];
        drawn->tokens[i] =
            (struct heft_added_token){.text = {drawn->texts[i], n},
                                      .id = (uint32_t)i,
                                      .strips_left = flags & 1 && next_random(state, 4) == 0,
                                      .strips_right = flags & 2 && next_random(state, 4) == 0,
                                      .is_single_word = flags & 4 && next_random(state, 4) == 0};
    }
}

static void draw_text(struct drawn *drawn, uint32_t *state, const char *letters)
{
    drawn->text_n = 1 + next_random(state, TEXT);
    for (size_t i = 0; i < drawn->text_n; i++)
        drawn->text[i] = letters[next_random(state, (uint32_t)strlen(letters))];
}

static const struct heft_added_token *find_slowly(const struct drawn *drawn, struct heft_str text,
                                                  bool *is_open)
{
    const struct heft_added_token *found = NULL;

    *is_open = false;
    for (size_t i = 0; i < drawn->n; i++) {
        const struct heft_added_token *token = &drawn->tokens[i];

        *is_open |= token->text.n > text.n && heft_str_starts(token->text, text);
        if (heft_str_starts(text, token->text) && (!found || token->text.n > found->text.n))
            found = token;
    }
    return found;
}

static void expect_same(const struct drawn *drawn, const struct heft_added_search *search)
{
    const uint8_t *text = (const uint8_t *)drawn->text;
    size_t last = 0;

    for (size_t at = 0; at < drawn->text_n; at++) {
        bool is_open;
        const struct heft_added_token *token =
            find_slowly(drawn, (struct heft_str){drawn->text + at, drawn->text_n - at}, &is_open);
        struct heft_added_match match;

        if (token || is_open) { /* no search passes over it */
            assert_int_equal(heft_added_search_next(search, text, drawn->text_n, at), at);
            assert_true(heft_added_search_next(search, text, drawn->text_n, last) <= at);
            last = at;
        }
        match = heft_added_search_at(search, text + at, drawn->text_n - at);
        assert_int_equal(match.n, token ? token->text.n : 0);
        assert_true(!token || match.id == token->id);
        assert_int_equal(match.is_open, is_open);
    }
}

static void test_all_places(void **unused)
{
    static const char *const LETTERS[] = {"ab", "abc", "abcdefghij", "a"};
    static struct drawn drawn;
    uint32_t state = 1;

    (void)unused;
    for (size_t i = 0; i < 400; i++) {
        const char *letters = LETTERS[i % HEFT_COUNT(LETTERS)];
        struct heft_error err = {0};
        struct heft_added_search *search;

        draw_tokens(&drawn, &state, letters, 0);
        search = heft_added_search_new(drawn.tokens, drawn.n, &err);
        assert_non_null(search);
        for (size_t k = 0; k < 20; k++) {
            draw_text(&drawn, &state, letters);
            expect_same(&drawn, search);
        }
        heft_added_search_free(search);
    }
}

/* The next place after many bytes, at each offset within a block. */
static void test_far_places(void **unused)
{
    static const struct heft_added_token TOKENS[] = {{.text = {"<|a|>", 5}}, {.text = {"[b", 2}}};
    struct heft_error err = {0};
    struct heft_added_search *search = heft_added_search_new(TOKENS, 2, &err);
    uint8_t text[300];

    (void)unused;
    assert_non_null(search);
    for (size_t n = 1; n < 200; n++) {
        memset(text, '<', sizeof text);
        assert_int_equal(heft_added_search_next(search, text, n, 0), n - 1);
        text[n - 1] = '[';
        text[n] = 'b';
        assert_int_equal(heft_added_search_next(search, text, n + 1, 0), n - 1);
        memcpy(text + n, "<|a|>", 5);
        assert_int_equal(heft_added_search_next(search, text, n + 5, 0), n);
        assert_int_equal(heft_added_search_next(search, text, sizeof text, 0), n);
    }
    heft_added_search_free(search);
}

static void keep_parts(const struct heft_added_search *search, const struct drawn *drawn, size_t at,
                       struct kept *kept)
{
    struct heft_error err = {0};
    struct heft_added_stage *stage = heft_added_stage_new(search, sink_of_kept(kept), &err);
    const struct heft_text_sink sink = heft_added_stage_sink(stage);

    *kept = (struct kept){.is_joined = true};
    assert_true(put_pieces(sink, (struct heft_str){drawn->text, at}, 100, &err));
    assert_true(sink.cut(sink.ctx, HEFT_NO_TOKEN, &err));
    assert_true(
        put_pieces(sink, (struct heft_str){drawn->text + at, drawn->text_n - at}, 100, &err));
    assert_true(sink.cut(sink.ctx, HEFT_NO_TOKEN, &err));
    heft_added_stage_free(stage);
}

/* Where a text may be split, its parts give what the whole gives. Returns the number of places. */
static size_t count_cuts(const struct heft_added_search *search, const struct drawn *drawn,
                         uint32_t *state)
{
    struct kept whole, parts;
    size_t count = 0;

    keep_parts(search, drawn, 0, &whole);
    for (size_t at = 1; at < drawn->text_n; at++) {
        const size_t from = next_random(state, 3) ? 0 : next_random(state, (uint32_t)at);
        const size_t after = drawn->text_n - at;
        const size_t n =
            at - from + (next_random(state, 3) ? after : next_random(state, (uint32_t)after));

        if (!heft_added_search_is_cut(search, (const uint8_t *)drawn->text + from, n, at - from))
            continue;
        keep_parts(search, drawn, at, &parts);
        assert_int_equal(parts.out.n, whole.out.n);
        assert_memory_equal(parts.out.p, whole.out.p, whole.out.n);
        heft_buf_release(&parts.out);
        count++;
    }
    heft_buf_release(&whole.out);
    return count;
}

static void test_cuts(void **unused)
{
    struct drawn *drawn = calloc(1, sizeof *drawn);
    uint32_t state = 5;

    (void)unused;
    assert_non_null(drawn);
    for (unsigned flags = 0; flags < 8; flags++) {
        size_t count = 0;

        for (size_t i = 0; i < 60; i++) {
            struct heft_error err = {0};
            struct heft_added_search *search;

            draw_tokens(drawn, &state, "ab <", flags);
            search = heft_added_search_new(drawn->tokens, drawn->n, &err);
            assert_non_null(search);
            for (size_t k = 0; k < 5; k++) {
                draw_text(drawn, &state, i % 2 ? "ab <x" : "ab <xyz  x");
                count += count_cuts(search, drawn, &state);
            }
            heft_added_search_free(search);
        }
        assert_true(count > 300);
    }
    free(drawn);
}

static void test_no_tokens(void **unused)
{
    struct heft_error err = {0};
    struct heft_added_search *search = heft_added_search_new(NULL, 0, &err);

    (void)unused;
    assert_non_null(search);
    assert_int_equal(heft_added_search_next(search, (const uint8_t *)"abc", 3, 0), 3);
    assert_true(heft_added_search_is_cut(search, (const uint8_t *)"abc", 3, 1));
    heft_added_search_free(search);
}

static void test_refused(void **unused)
{
    static char text[4097];
    struct heft_added_token tokens[] = {{.text = {"<s>", 3}}, {.text = {text, sizeof text}}};
    struct heft_error err = {0};
    struct heft_added_search *search;

    (void)unused;
    memset(text, 'a', sizeof text);
    assert_null(heft_added_search_new(tokens, 2, &err));
    assert_int_equal(err.code, HEFT_LIMIT);
    assert_non_null(strstr(err.text, "added token 1 has 4097 bytes"));
    tokens[1].text.n = 4096;
    search = heft_added_search_new(tokens, 2, &err);
    assert_non_null(search);
    heft_added_search_free(search);
    tokens[1].text = HEFT_STR("a\xFF");
    assert_null(heft_added_search_new(tokens, 2, &err));
    assert_int_equal(err.code, HEFT_MALFORMED);
}

/* Of two tokens with the same text the first counts; a token without text is never found. */
static void test_equal(void **unused)
{
    static const struct heft_added_token TOKENS[] = {
        {.text = {"", 0}, .id = 1}, {.text = {"ab", 2}, .id = 2}, {.text = {"ab", 2}, .id = 3}};
    struct heft_error err = {0};
    struct heft_added_search *search = heft_added_search_new(TOKENS, 3, &err);

    (void)unused;
    assert_non_null(search);
    assert_int_equal(heft_added_search_at(search, (const uint8_t *)"abc", 3).id, 2);
    assert_int_equal(heft_added_search_at(search, (const uint8_t *)"xbc", 3).n, 0);
    heft_added_search_free(search);
}

/* 100,000 tokens; a text of all of them and of others like them. */
static void test_many(void **unused)
{
    enum { N = 100000 };
    static char texts[N][16];
    static struct heft_added_token tokens[N];
    struct heft_error err = {0};
    struct heft_added_search *search;

    (void)unused;
    for (uint32_t i = 0; i < N; i++) {
        const int n = snprintf(texts[i], sizeof texts[i], "<%" PRIu32 ">", i * 7 % N);

        tokens[i] = (struct heft_added_token){.text = {texts[i], (size_t)n}, .id = i};
    }
    search = heft_added_search_new(tokens, N, &err);
    assert_non_null(search);
    for (uint32_t i = 0; i < N; i++) {
        const struct heft_added_match match =
            heft_added_search_at(search, (const uint8_t *)texts[i], tokens[i].text.n);

        assert_int_equal(match.id, i);
        assert_int_equal(match.n, tokens[i].text.n);
        assert_false(match.is_open);
    }
    assert_int_equal(heft_added_search_at(search, (const uint8_t *)"<123456>", 8).n, 0);
    heft_added_search_free(search);
}

/* Prefixes of one another, 1 to 4096 times the same letter, in texts that leave them at any length. */
static void test_nested(void **unused)
{
    enum { N = 4096 };
    static char longest[N], text[N + 1];
    static struct heft_added_token tokens[N];
    struct heft_error err = {0};
    struct heft_added_search *search;

    (void)unused;
    memset(longest, 'a', sizeof longest);
    memset(text, 'a', sizeof text);
    for (uint32_t i = 0; i < N; i++)
        tokens[i] = (struct heft_added_token){.text = {longest, i + 1}, .id = i};
    search = heft_added_search_new(tokens, N, &err);
    assert_non_null(search);
    for (size_t n = 1; n <= N; n++) {
        struct heft_added_match match;

        text[n] = n % 2 ? 'b' : ' ';
        match = heft_added_search_at(search, (const uint8_t *)text, sizeof text);
        assert_int_equal(match.n, n);
        assert_int_equal(match.id, n - 1);
        text[n] = 'a';
        assert_int_equal(heft_added_search_at(search, (const uint8_t *)text, n).is_open, n < N);
    }
    heft_added_search_free(search);
}

static bool build_search(void *ctx, struct heft_error *err)
{
    const struct drawn *drawn = ctx;
    struct heft_added_search *search = heft_added_search_new(drawn->tokens, drawn->n, err);
    const bool ok = search != NULL;

    heft_added_search_free(search);
    return ok;
}

static void test_failures(void **unused)
{
    static struct drawn drawn;
    uint32_t state = 9;

    (void)unused;
    draw_tokens(&drawn, &state, "abc", 0);
    fail_each_allocation(build_search, &drawn, 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_places), cmocka_unit_test(test_far_places),
        cmocka_unit_test(test_cuts),       cmocka_unit_test(test_no_tokens),
        cmocka_unit_test(test_refused),    cmocka_unit_test(test_equal),
        cmocka_unit_test(test_many),       cmocka_unit_test(test_nested),
        cmocka_unit_test(test_failures),
    };

    return cmocka_run_group_tests_name("added_search", tests, NULL, NULL);
}
