/* test_pretokens.c: chains of pre-tokenizers: behaviours, text in pieces, cuts. */
#include "tokens/split/pretokens.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "failures.h"

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

/* ---- random texts and chains --------------------------------------------------------------- */

#define MOST 600 /* bytes of a random text */

HEFT_WRAPS static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525 + 1013904223;
    return *seed >> 8;
}

static const char *const CHARACTERS[] = {"a",
                                         "b",
                                         "S",
                                         "t",
                                         "x",
                                         "1",
                                         "2",
                                         "-",
                                         "'",
                                         ".",
                                         "/",
                                         " ",
                                         "  ",
                                         "\n",
                                         "\r",
                                         "\t",
                                         "\xc3\xa9",
                                         "\xc2\xa0",
                                         "\xe6\xbc\xa2",
                                         "\xe3\x81\x81",
                                         "ab",
                                         "the "};

/* A text of few kinds of characters. */
static size_t make_text(uint32_t *seed, uint8_t *text)
{
    const size_t wanted = next_random(seed) % (MOST - 5);
    unsigned kinds[6];
    size_t n = 0;

    for (size_t i = 0; i < HEFT_COUNT(kinds); i++)
        kinds[i] = next_random(seed) % HEFT_COUNT(CHARACTERS);
    while (n < wanted) {
        const char *const c = CHARACTERS[kinds[next_random(seed) % HEFT_COUNT(kinds)]];

        memcpy(text + n, c, strlen(c));
        n += strlen(c);
    }
    return n;
}

static const char CL100K[] =
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| "
    "?[^\\s\\p{L}\\p{N}]+[\\r\\n]*"
    "|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";

static const char *const SPLITS[] = {
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+",
    CL100K,
    "\\p{N}{1,3}",
    "[\\p{Han}\\x{3040}-\\x{30FF}]+",
    "[\\r\\n]",
    "\\s?\\p{L}+",
    "-",
    "\\s+$",
    "'[^']*'",
    "(?:ab)+|a",
    "a*b*x|a|b",
    " ?[^\\s.]+",
    ".",
};

static struct heft_pretokens *make_chain(uint32_t *seed)
{
    struct heft_pretokens_step steps[4];
    struct heft_error err = {0};
    const size_t n = 1 + next_random(seed) % HEFT_COUNT(steps);
    struct heft_pretokens *p;

    for (size_t i = 0; i < n; i++)
        steps[i] = (struct heft_pretokens_step){
            .pattern = heft_str_of(SPLITS[next_random(seed) % HEFT_COUNT(SPLITS)]),
            .engine = HEFT_ENGINE_TOKENIZERS,
            .behavior = next_random(seed) % 2
                            ? HEFT_BEHAVIOR_ISOLATED
                            : (enum heft_pretokens_behavior)(next_random(seed) % 5),
            .invert = next_random(seed) % 4 == 0};
    p = heft_pretokens_new(steps, n, NULL, &err);
    if (!p)
        fail_msg("%s", err.text);
    return p;
}

/* Kept pre-tokens, as one begin and end after the other. */
struct kept {
    uint32_t places[2 * MOST];
    size_t n;
};

static void add_kept(struct kept *kept, const uint32_t *starts, size_t n)
{
    for (size_t i = 0; i + 1 < n; i++)
        if (!(starts[i] & HEFT_PRETOKEN_DROPPED)) {
            kept->places[kept->n++] = starts[i];
            kept->places[kept->n++] = starts[i + 1] & ~HEFT_PRETOKEN_DROPPED;
        }
}

/* Scans text[from, to) as a text of its own. */
static void scan_whole(const struct heft_pretokens *p, const uint8_t *text, size_t from, size_t to,
                       struct kept *kept)
{
    static uint32_t starts[MOST + 16];
    struct heft_pretokens_place place = {{0}};

    for (size_t at = from, n; at < to; at = starts[n - 1]) {
        n = heft_pretokens_scan(p, text, to, at, true, &place, starts, HEFT_COUNT(starts));
        assert_in_range(n, 2, HEFT_COUNT(starts));
        add_kept(kept, starts, n);
    }
}

static size_t character_end(const uint8_t *text, size_t n, size_t at)
{
    while (at < n && (text[at] & 0xC0) == 0x80)
        at++;
    return at;
}

/* Scans a text that arrives in pieces, with room for few entries. */
static void scan_pieces(const struct heft_pretokens *p, const uint8_t *text, size_t n, size_t piece,
                        size_t room, struct kept *kept)
{
    struct heft_pretokens_place place = {{0}};
    uint32_t starts[MOST];
    size_t at = 0, end = 0;

    while (at < n) {
        const size_t found =
            at < end ? heft_pretokens_scan(p, text, end, at, end == n, &place, starts, room) : 0;

        assert_true(found <= room && (found >= 2 || end < n));
        if (found < 2) {
            end = character_end(text, n, end + piece < n ? end + piece : n);
            continue;
        }
        add_kept(kept, starts, found);
        at = starts[found - 1];
    }
}

static void expect_equal(const struct kept *a, const struct kept *b)
{
    assert_int_equal(a->n, b->n);
    assert_memory_equal(a->places, b->places, a->n * sizeof *a->places);
}

/* Text in pieces of any size, with room for any number of entries, has the pre-tokens of the whole.
 */
static void test_pieces(void **unused)
{
    uint32_t seed = 1;

    (void)unused;
    for (unsigned i = 0; i < 2000; i++) {
        struct heft_pretokens *const p = make_chain(&seed);
        static struct kept whole, pieces;
        uint8_t text[MOST];
        const size_t n = make_text(&seed, text);

        whole.n = pieces.n = 0;
        scan_whole(p, text, 0, n, &whole);
        scan_pieces(p, text, n, 1 + next_random(&seed) % (i % 2 ? 5 : MOST),
                    2 + next_random(&seed) % (i % 4 ? 4 : MOST - 2), &pieces);
        expect_equal(&whole, &pieces);
        heft_pretokens_free(p);
    }
}

/* A text that is cut has the pre-tokens of its parts. */
static void test_cuts(void **unused)
{
    uint32_t seed = 2;
    size_t cuts = 0;

    (void)unused;
    for (unsigned i = 0; i < 500; i++) {
        struct heft_pretokens *const p = make_chain(&seed);
        static struct kept whole, parts;
        uint8_t text[MOST];
        const size_t n = make_text(&seed, text);

        whole.n = 0;
        scan_whole(p, text, 0, n, &whole);
        for (size_t at = n, cut; (cut = heft_pretokens_cut_before(p, text, n, at)) > 0;
             at = cut - 1) {
            assert_true(cut <= at && cut < n);
            cuts++;
            parts.n = 0;
            scan_whole(p, text, 0, cut, &parts);
            scan_whole(p, text, cut, n, &parts);
            expect_equal(&whole, &parts);
        }
        heft_pretokens_free(p);
    }
    assert_true(cuts > 1000);
}

/* Places at which English text is cut, whatever the pattern of a usual vocabulary is. */
static void test_usual_cuts(void **unused)
{
    static const char TEXT[] = "The cat, 12 x.";
    const uint8_t *const text = (const uint8_t *)TEXT;
    const size_t n = sizeof TEXT - 1;

    (void)unused;
    for (size_t i = 0; i < 2; i++) {
        const struct heft_pretokens_step step = {.pattern = heft_str_of(SPLITS[i]),
                                                 .engine = HEFT_ENGINE_TOKENIZERS};
        struct heft_error err;
        struct heft_pretokens *const p = heft_pretokens_new(&step, 1, NULL, &err);

        assert_int_equal(heft_pretokens_cut_before(p, text, n, n), 13);
        assert_int_equal(heft_pretokens_cut_before(p, text, n, 12), 11);
        assert_int_equal(heft_pretokens_cut_before(p, text, n, 6), 3);
        assert_int_equal(heft_pretokens_cut_before(p, text, n, 2), 0);
        assert_int_equal(heft_pretokens_cut_before(p, text, 0, 0), 0);
        heft_pretokens_free(p);
    }
}

static void test_is_one(void **unused)
{
    static const struct heft_pretokens_step STEPS[] = {
        STEP("\\p{N}", HEFT_BEHAVIOR_REMOVED, false),
        STEP(" ?\\p{L}+|\\s", HEFT_BEHAVIOR_ISOLATED, false),
    };
    static const struct {
        const char *text;
        bool is_one;
    } ROWS[] = {{" ab", true}, {"ab ", false}, {"a1", false}, {"1", false}, {"-", true}};
    struct heft_error err;
    struct heft_pretokens *const p = heft_pretokens_new(STEPS, 2, NULL, &err);

    (void)unused;
    for (size_t i = 0; i < HEFT_COUNT(ROWS); i++)
        assert_int_equal(
            heft_pretokens_is_one(p, (const uint8_t *)ROWS[i].text, strlen(ROWS[i].text)),
            ROWS[i].is_one);
    heft_pretokens_free(p);
}

/* Without a step the text is one pre-token. */
static void test_no_step(void **unused)
{
    (void)unused;
    expect_pretokens(NULL, 0, "a b", "a b|");
}

/* Repetitions that lead nowhere, in long texts: each byte is read a few times. */
static void test_linear_time(void **unused)
{
    static const struct {
        const char *pattern, *unit;
        size_t n;
    } ROWS[] = {{"\\s+$", " ", 1}, {"a*b|a", "a", 200000}, {"a*b*c|a|b", "ab", 400000}};
    static uint8_t text[400001];
    static uint32_t starts[400016];

    (void)unused;
    for (size_t i = 0; i < HEFT_COUNT(ROWS); i++) {
        const struct heft_pretokens_step step = {.pattern = heft_str_of(ROWS[i].pattern),
                                                 .engine = HEFT_ENGINE_TOKENIZERS};
        const size_t unit = strlen(ROWS[i].unit), n = 200000 * unit;
        struct heft_pretokens_place place = {{0}};
        struct heft_error err;
        struct heft_pretokens *const p = heft_pretokens_new(&step, 1, NULL, &err);

        for (size_t k = 0; k < n; k++)
            text[k] = (uint8_t)ROWS[i].unit[k / 200000];
        text[n] = 'x';
        assert_int_equal(
            heft_pretokens_scan(p, text, n + 1, 0, true, &place, starts, HEFT_COUNT(starts)),
            ROWS[i].n == 1 ? 2 : ROWS[i].n + 2);
        heft_pretokens_free(p);
    }
}

static void test_refusals(void **unused)
{
    static const struct heft_pretokens_step STEPS[HEFT_PRETOKENS_STEPS + 1] = {
        STEP("a", HEFT_BEHAVIOR_ISOLATED, false), STEP("(", HEFT_BEHAVIOR_ISOLATED, false)};
    const struct heft_pretokens_step empty = {.is_literal = true};
    struct heft_error err;

    (void)unused;
    assert_null(heft_pretokens_new(STEPS, HEFT_COUNT(STEPS), NULL, &err));
    assert_int_equal(err.code, HEFT_LIMIT);
    assert_null(heft_pretokens_new(STEPS, 2, NULL, &err));
    assert_int_equal(err.code, HEFT_MALFORMED);
    assert_int_equal(err.offset, 0);
    assert_null(heft_pretokens_new(&empty, 1, NULL, &err));
    assert_int_equal(err.code, HEFT_UNSUPPORTED);
}

/* Every character that means something in a pattern is itself in a literal. */
static void test_literals(void **unused)
{
    static const char SIGNS[] = "\\.+*?()|[]{}^$#&-~a ";

    (void)unused;
    for (size_t i = 0; i + 1 < sizeof SIGNS; i++) {
        const char text[] = {'x', SIGNS[i], 'x', SIGNS[i], '\0'};
        const char wanted[] = {'x', '|', SIGNS[i], '|', 'x', '|', SIGNS[i], '|', '\0'};
        const struct heft_pretokens_step step = {.pattern = {&SIGNS[i], 1}, .is_literal = true};

        expect_pretokens(&step, 1, text, wanted);
    }
}

static void test_failing_allocations(void **unused)
{
    static const struct heft_pretokens_step STEPS[] = {
        STEP("\\p{N}{1,3}", HEFT_BEHAVIOR_ISOLATED, false),
        STEP("\\s+$|a*b|.", HEFT_BEHAVIOR_ISOLATED, false),
        {{"a.b", 3}, true, HEFT_ENGINE_TOKENIZERS, HEFT_BEHAVIOR_ISOLATED, false},
    };

    (void)unused;
    for (struct failures fail = {.most = 1000}; !fail.done;) {
        struct heft_pretokens *p = NULL;
        struct heft_error err;

        FAIL_ALLOCATION(&fail, (p = heft_pretokens_new(STEPS, 3, NULL, &err)) != NULL, &err);
        heft_pretokens_free(p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_behaviors),
        cmocka_unit_test(test_chain),
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_cuts),
        cmocka_unit_test(test_usual_cuts),
        cmocka_unit_test(test_is_one),
        cmocka_unit_test(test_no_step),
        cmocka_unit_test(test_linear_time),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_literals),
        cmocka_unit_test(test_failing_allocations),
    };

    return cmocka_run_group_tests_name("pretokens", tests, NULL, NULL);
}
