/* test_pretokens.c: chains of pre-tokenizers: behaviours, division in pieces, cuts. */
#include "tokens/split/pretokens.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#define STEP(text, behavior, invert)                                                               \
    {                                                                                              \
        {text, sizeof(text) - 1}, false, HEFT_ENGINE_TOKENIZERS, behavior, invert                  \
    }

/* The pre-tokens of a text, separated by bars; two of them at a time. */
static void draw_pretokens(const struct heft_pretokens *p, const char *text, char *out)
{
    const size_t n = strlen(text);
    struct heft_pretokens_place place = {{0}};
    uint32_t starts[3];
    size_t n_starts;

    *out = '\0';
    for (size_t at = 0; at < n; at = starts[n_starts - 1]) {
        n_starts = heft_pretokens_scan(p, (const uint8_t *)text, n, at, true, &place, starts, 3);
        assert_in_range(n_starts, 2, 3);
        for (size_t i = 0; i + 1 < n_starts; i++) {
            const uint32_t from = starts[i] & ~HEFT_PRETOKEN_DROPPED;
            const uint32_t to = starts[i + 1] & ~HEFT_PRETOKEN_DROPPED;

            if (!(starts[i] & HEFT_PRETOKEN_DROPPED))
                out += sprintf(out, "%.*s|", (int)(to - from), text + from);
        }
    }
}

static void expect_pretokens(const struct heft_pretokens_step *steps, size_t n, const char *text,
                             const char *wanted)
{
    struct heft_error err = {0};
    struct heft_pretokens *const p = heft_pretokens_new(steps, n, NULL, &err);
    char got[400];

    if (!p)
        fail_msg("%s", err.text);
    draw_pretokens(p, text, got);
    assert_string_equal(got, wanted);
    heft_pretokens_free(p);
}

/* As tokenizers 0.23.3 divides a--b-c- by the text "-". */
static void test_behaviors(void **unused)
{
    static const char *const WANTED[][2] = {
        [HEFT_BEHAVIOR_ISOLATED] = {"a|-|-|b|-|c|-|", "a|-|-|b|-|c|-|"},
        [HEFT_BEHAVIOR_REMOVED] = {"a|b|c|", "-|-|-|-|"},
        [HEFT_BEHAVIOR_MERGED_WITH_PREVIOUS] = {"a-|-|b-|c-|", "a|-|-b|-c|-|"},
        [HEFT_BEHAVIOR_MERGED_WITH_NEXT] = {"a|-|-b|-c|-|", "a-|-|b-|c-|"},
        [HEFT_BEHAVIOR_CONTIGUOUS] = {"a|--|b|-|c|-|", "a|--|b|-|c|-|"},
    };

    (void)unused;
    for (unsigned i = 0; i < 2 * HEFT_COUNT(WANTED); i++) {
        struct heft_pretokens_step step =
            STEP("-", (enum heft_pretokens_behavior)(i / 2), i % 2 != 0);

        expect_pretokens(&step, 1, "a--b-c-", WANTED[i / 2][i % 2]);
        step.is_literal = true;
        expect_pretokens(&step, 1, "a--b-c-", WANTED[i / 2][i % 2]);
    }
}

/* A step sees only its piece, so the end of a piece ends the look-ahead. */
static void test_chain(void **unused)
{
    static const struct heft_pretokens_step STEPS[] = {
        STEP("\\p{N}", HEFT_BEHAVIOR_ISOLATED, false),
        STEP("'s| ?\\p{L}+| ?\\p{N}+|\\s+(?!\\S)|\\s+", HEFT_BEHAVIOR_ISOLATED, false),
    };

    (void)unused;
    expect_pretokens(STEPS, 2, "a  1b  c", "a|  |1|b| | c|");
    expect_pretokens(STEPS + 1, 1, "a  1b  c", "a| | 1|b| | c|");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_behaviors),
        cmocka_unit_test(test_chain),
    };

    return cmocka_run_group_tests_name("pretokens", tests, NULL, NULL);
}
