/* test_safe_split.c: texts split at a safe position have the pre-tokens of the whole text: every
 * short text, and long ones. */
#include "tokens/bpe/safe_split.h"
#include "tokens/bpe/pattern.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static const char *const LETTERS[] = {"a", "s",  "l",      "e",      "r",      "1", " ",
                                      "'", "\n", "\u3000", "\u00e9", "\u0663", "."};
#define MOST 5 /* maximum characters of the texts that are enumerated */

static struct heft_classes classes;

/* Writes the start of each pre-token of text[from, n) to `out`, then n. Returns their number. */
static size_t words_of(const uint8_t *text, size_t n, size_t from, size_t *out)
{
    size_t count = 0;

    for (size_t at = from; at < n; at = heft_split_word(&classes, text, n, at))
        out[count++] = at;
    out[count] = n;
    return count;
}

/* Pre-tokens of text[0, cut) and of text[cut, n), split separately, are those of the whole text. */
static void check_cut(const uint8_t *text, size_t n, size_t cut)
{
    uint8_t left[64 + HEFT_SPLIT_PAD] = {0};
    size_t whole[64], parts[128];
    const size_t words = words_of(text, n, 0, whole);
    size_t count;

    memcpy(left, text, cut);
    count = words_of(left, cut, 0, parts);
    count += words_of(text, n, cut, parts + count);
    assert_int_equal(count, words);
    assert_memory_equal(parts, whole, (count + 1) * sizeof *parts);
}

static bool is_lead(const uint8_t *text, size_t at)
{
    return (text[at] & 0xC0) != 0x80;
}

/* Checks all safe splits of a text, and that heft_safe_split_before finds the last one from every
 * later position. Returns the number of cuts. */
static size_t check_text(const uint8_t *text, size_t n)
{
    size_t cuts = 0;

    for (size_t at = 0, last = 0; at <= n + 2; at++) {
        const size_t cut = heft_safe_split_before(&classes, text, n, at);

        assert_true(cut <= at && (cut < n || n == 0));
        if (cut == last)
            continue;
        assert_true(cut == at && is_lead(text, cut));
        check_cut(text, n, cut);
        last = cut;
        cuts++;
    }
    return cuts;
}

static void test_every_short_text(void **unused)
{
    struct heft_error err = {0};
    size_t cuts = 0, texts = 0;

    (void)unused;
    assert_true(heft_classes_init(&classes, NULL, &err));
    for (size_t length = 0, all = 1; length <= MOST; length++, all *= HEFT_COUNT(LETTERS))
        for (size_t number = 0; number < all; number++) {
            uint8_t text[64] = {0};
            size_t n = 0;

            for (size_t i = 0, rest = number; i < length; i++, rest /= HEFT_COUNT(LETTERS)) {
                const char *letter = LETTERS[rest % HEFT_COUNT(LETTERS)];

                memcpy(text + n, letter, strlen(letter));
                n += strlen(letter);
            }
            cuts += check_text(text, n);
            texts++;
        }
    assert_int_equal(texts, 1 + 13 + 169 + 2197 + 28561 + 371293);
    assert_true(cuts > texts);
}

/* Positions that callers rely on. */
static void test_places(void **unused)
{
    static const struct {
        const char *text;
        size_t at, cut;
    } cases[] = {
        {"one two", 6, 3},      {"one two", 3, 3},  {"one two", 2, 0}, {"one  two", 7, 3},
        {"x=12", 3, 2},         {"x=12", 1, 1},     {"I'd", 2, 1},     {"'s", 1, 0},
        {"a\nb", 2, 2},         {"a\n\nb", 3, 1},   {"\nb", 1, 0},     {"aaaa", 4, 0},
        {"a\u3000b", 4, 4},     {"a\u3000b", 3, 1}, {"", 0, 0},        {"a ", 1, 1},
        {"\u00e9\u0663", 3, 2},
    };

    struct heft_error err = {0};

    (void)unused;
    assert_true(heft_classes_init(&classes, NULL, &err));
    for (size_t i = 0; i < HEFT_COUNT(cases); i++)
        assert_int_equal(heft_safe_split_before(&classes, (const uint8_t *)cases[i].text,
                                                strlen(cases[i].text), cases[i].at),
                         cases[i].cut);
}

/* "e" and U+0301 become a letter: the word goes on behind them. */
static void test_normalized_word(void **unused)
{
    static const char TEXT[] = "one cafe\u0301s two";
    struct heft_safe_split split = {0};
    struct heft_error err = {0};

    (void)unused;
    assert_true(heft_classes_init(&split.classes, NULL, &err));
    assert_int_equal(heft_safe_split_find(&split, (const uint8_t *)TEXT, strlen(TEXT), 10), 10);
    split.is_nfc = true;
    assert_int_equal(heft_safe_split_find(&split, (const uint8_t *)TEXT, strlen(TEXT), 10), 3);
    assert_int_equal(heft_safe_split_find(&split, (const uint8_t *)TEXT, strlen(TEXT), 11), 11);
}

/* A token that is looked for in normalized text, and a text that has it only then. */
static void test_normalized_token(void **unused)
{
    static const struct heft_added_token TOKEN = {.text = {"\u00e91x", 4}, .is_normalized = true};
    static const char TEXT[] = "we have some words e\u03011x and more";
    struct heft_safe_split split = {.is_nfc = true};
    struct heft_error err = {0};
    struct heft_added_search *search = heft_added_search_new(&TOKEN, 1, &err);

    (void)unused;
    assert_non_null(search);
    assert_true(heft_classes_init(&split.classes, NULL, &err));
    assert_int_equal(heft_safe_split_find(&split, (const uint8_t *)TEXT, strlen(TEXT), 23), 23);
    split.searches[true] = search;
    assert_int_equal(heft_safe_split_find(&split, (const uint8_t *)TEXT, strlen(TEXT), 24), 12);
    assert_int_equal(heft_safe_split_find(&split, (const uint8_t *)TEXT, strlen(TEXT), 28), 28);
    heft_added_search_free(search);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_normalized_token),
        cmocka_unit_test(test_normalized_word),
        cmocka_unit_test(test_every_short_text),
        cmocka_unit_test(test_places),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
