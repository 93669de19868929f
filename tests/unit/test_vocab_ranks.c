/* test_vocab_ranks.c: rank files in the form that the fast reader takes, against the same tokens in
 * others, and errors in both. */
#include <stdlib.h>

#include "tokens/vocab/vocab_open.h"
#include "tokens/bpe/encoder.h"
#include "tokens/bpe/ranked_tokens.h"
#include "vocab_ranks.h"
#include "text_pieces.h"

#define TOKENS 700

enum form {
    USUAL,
    RETURNS,    /* lines end with CR LF */
    OPEN,       /* the last line has no newline */
    BLANK_LINE, /* there is an empty line */
    ZEROS,      /* ranks have leading zeros */
    SWAPPED,    /* two lines are in the wrong order */
    FORMS
};

static struct drawn {
    uint8_t bytes[HEFT_LONGEST_RANKED];
    size_t n;
    uint32_t id;
} drawn[TOKENS];

/* Single bytes, then tokens of all lengths, which a number makes different; some ids are left out. */
static void draw_tokens(uint32_t *seed, bool has_gaps)
{
    uint32_t id = 0;

    for (size_t i = 0; i < TOKENS; i++, id += has_gaps ? 1 + next_random(seed, 3) : 1) {
        drawn[i].id = id;
        drawn[i].n = i < 256 ? 1 : 2 + next_random(seed, HEFT_LONGEST_RANKED - 1);
        for (size_t k = 0; k < drawn[i].n; k++)
            drawn[i].bytes[k] = (uint8_t)next_random(seed, 256);
        drawn[i].bytes[0] = (uint8_t)i;
        if (i >= 256)
            drawn[i].bytes[1] = (uint8_t)(i >> 8 | 0x80);
    }
}

static void put_line(struct heft_buf *text, const struct drawn *token, enum form form, bool is_last)
{
    put_base64(text, token->bytes, token->n);
    heft_buf_printf(text, form == ZEROS ? " 0%u" : " %u", token->id);
    if (form == RETURNS)
        heft_buf_char(text, '\r');
    if (form != OPEN || !is_last)
        heft_buf_char(text, '\n');
    if (form == BLANK_LINE && is_last)
        heft_buf_char(text, '\n');
}

/* The first n tokens. */
static void put_file(struct heft_buf *text, size_t n, enum form form)
{
    text->n = 0;
    for (size_t i = 0; i < n; i++) {
        const size_t at = form == SWAPPED && i + 2 >= n ? 2 * n - 3 - i : i;

        put_line(text, &drawn[at], form, i + 1 == n);
    }
}

static struct heft_vocab *open_text(const struct heft_buf *text, struct heft_error *err)
{
    return heft_vocab_from((struct heft_bytes){(const uint8_t *)text->p, text->n},
                           (struct heft_bytes){0}, NULL, err);
}

static void expect_tokens(const struct heft_vocab *v, size_t n)
{
    assert_int_equal(heft_vocab_size(v), drawn[n - 1].id + 1);
    assert_int_equal(v->ranked->n_longer, n - 256);
    for (size_t i = 0; i < n; i++) {
        size_t length;
        const uint8_t *const token = heft_vocab_token(v, drawn[i].id, &length);

        assert_int_equal(length, drawn[i].n);
        assert_memory_equal(token, drawn[i].bytes, length);
        assert_true(heft_ranked_has(v->ranked, drawn[i].id));
        assert_int_equal(heft_ranked_find(v->ranked, token, length), drawn[i].id);
    }
}

/* Files of many lengths: the last lines are read in another way. */
static void test_forms(void **unused)
{
    struct heft_buf text = {0};
    uint32_t seed = 1;

    (void)unused;
    for (unsigned round = 0; round < 2; round++) {
        draw_tokens(&seed, round);
        for (size_t n = 256; n <= TOKENS; n += n < 300 ? 1 : 57)
            for (enum form form = USUAL; form < FORMS; form++) {
                struct heft_error err = {0};
                struct heft_vocab *v;

                put_file(&text, n, form);
                v = open_text(&text, &err);
                assert_non_null(v);
                expect_tokens(v, n);
                heft_vocab_close(v);
            }
    }
    heft_buf_release(&text);
}

/* Lines in the middle and at the end of a file whose other lines have the usual form. */
static const struct {
    const char *line, *message;
} WRONG[] = {
    {"AA== 9999\n", "rank 0 and rank 9999"}, {"YWI= 0\n", "belongs to another token already"},
    {"YWI=9999\n", "expected a line"},       {"YWI 9999\n", "expected a line"},
    {"YWJ= 9999\n", "expected a line"},      {"YR== 9999\n", "expected a line"},
    {"Y=== 9999\n", "expected a line"},      {"YW=I 9999\n", "expected a line"},
    {"YWI=YWI= 9999\n", "expected a line"},  {"YW-I 9999\n", "expected a line"},
    {"YWI= \n", "expected a line"},          {"YWI= 99 9\n", "expected a line"},
    {"YWI= 1048576\n", "expected a line"},   {"YWI= 99999999999999999999\n", "expected a line"},
    {" 9999\n", "expected a line"},          {"YWI= 9999 YWI= 9999\n", "expected a line"},
};

static void expect_wrong(struct heft_buf *text, size_t i, bool is_last)
{
    struct heft_error err = {0};
    size_t where;

    put_file(text, 300, USUAL);
    where = text->n;
    heft_buf_text(text, WRONG[i].line);
    for (size_t k = 300; !is_last && k < TOKENS; k++)
        put_line(text, &drawn[k], USUAL, false);
    assert_null(open_text(text, &err));
    assert_int_equal(err.code, HEFT_MALFORMED);
    assert_non_null(strstr(err.text, WRONG[i].message));
    assert_int_equal(err.offset, where);
}

static void test_wrong(void **unused)
{
    struct heft_buf text = {0};
    uint32_t seed = 1;

    (void)unused;
    draw_tokens(&seed, false);
    for (size_t i = 0; i < sizeof WRONG / sizeof *WRONG; i++) {
        expect_wrong(&text, i, false);
        expect_wrong(&text, i, true);
    }
    heft_buf_release(&text);
}

/* A token of 129 bytes is too long, in any place. */
static void test_too_long(void **unused)
{
    uint8_t bytes[HEFT_LONGEST_RANKED + 1] = "a";
    struct heft_buf text = {0};

    (void)unused;
    for (size_t n = HEFT_LONGEST_RANKED; n <= HEFT_LONGEST_RANKED + 1; n++) {
        struct heft_error err = {0};
        struct heft_vocab *v;

        text.n = 0;
        put_ranks(&text, 256, "");
        put_base64(&text, bytes, n);
        heft_buf_text(&text, " 256\n");
        v = open_text(&text, &err);
        assert_int_equal(v != NULL, n == HEFT_LONGEST_RANKED);
        heft_vocab_close(v);
    }
    heft_buf_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms),
        cmocka_unit_test(test_wrong),
        cmocka_unit_test(test_too_long),
    };

    return cmocka_run_group_tests_name("vocab_ranks", tests, NULL, NULL);
}
