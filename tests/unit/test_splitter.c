/* test_splitter.c: matches of split patterns: the words that tokenizers finds with the patterns of
 * the published vocabularies (splitter_words.py), differences of the two engines, look-ahead, and
 * what is refused. */
#include "base/checksum.h"
#include "base/endian.h"
#include "base/text.h"
#include "tokens/split/splitter_tables.h"
#include "tokens/split/splitter.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "failures.h"

#define N_TEXTS 22
#define CHUNK   4096 /* characters of a text, as in splitter_words.py */

struct known_pattern {
    const char *name;
    enum heft_splitter_engine engine;
    unsigned n_symbols;
    uint32_t crc; /* of the lengths of the words of test_characters */
    const char *pattern;
    const char *lengths[N_TEXTS]; /* of the words of each text */
};
#include "splitter_words.inc"
_Static_assert(HEFT_COUNT(TEXTS) == N_TEXTS, "lengths for each text");

static struct heft_splitter *compile(const char *pattern, enum heft_splitter_engine engine)
{
    struct heft_error err = {0};
    struct heft_splitter *const s = heft_splitter_compile(heft_str_of(pattern), engine, NULL, &err);

    if (!s)
        fail_msg("%s: %s", pattern, err.text);
    return s;
}

/* End of the match or of the gap at `at`. */
static size_t word_end(const struct heft_splitter *s, const uint8_t *text, size_t n, size_t at)
{
    size_t end = at, unused;

    switch (heft_splitter_match(s, text, n, at, true, &end)) {
    case HEFT_SPLITTER_MATCH:
        return end;
    case HEFT_SPLITTER_NONE:
        end = at;
        do {
            end += heft_utf8_width(text[end]);
        } while (end < n &&
                 heft_splitter_match(s, text, n, end, true, &unused) == HEFT_SPLITTER_NONE);
        return end;
    default:
        fail_msg("open at the end of a text");
        return n;
    }
}

static void draw_lengths(const struct heft_splitter *s, struct heft_str text, char *out)
{
    const uint8_t *const bytes = (const uint8_t *)text.p;

    for (size_t at = 0, end; at < text.n; at = end) {
        end = word_end(s, bytes, text.n, at);
        out += sprintf(out, at ? " %zu" : "%zu", end - at);
    }
}

static void test_words(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < HEFT_COUNT(PATTERNS); i++) {
        struct heft_splitter *const s = compile(PATTERNS[i].pattern, PATTERNS[i].engine);

        assert_int_equal(s->symbols.n_symbols, PATTERNS[i].n_symbols);
        for (size_t k = 0; k < N_TEXTS; k++) {
            char got[400];

            draw_lengths(s, TEXTS[k], got);
            if (strcmp(got, PATTERNS[i].lengths[k]) != 0)
                fail_msg("%s: text %zu: %s, not %s", PATTERNS[i].name, k, got,
                         PATTERNS[i].lengths[k]);
        }
        heft_splitter_free(s);
    }
}

/* The next character of the test: all of the first two planes, every 251st of the others. */
static uint32_t next_character(uint32_t c)
{
    return c == 0xD7FF ? 0xE000 : c < 0x20000 - 1 ? c + 1 : c == 0x20000 - 1 ? 0x20000 : c + 251;
}

/* CHUNK characters from *c on, each between `before` and `after`. */
static size_t make_text(uint32_t *c, const char *before, const char *after, uint8_t *text)
{
    size_t n = 0;

    for (size_t i = 0; i < CHUNK && *c < 0x110000; i++, *c = next_character(*c)) {
        n += (size_t)sprintf((char *)text + n, "%s", before);
        n += heft_utf8_put((char *)text + n, *c);
        n += (size_t)sprintf((char *)text + n, "%s", after);
    }
    return n;
}

static uint32_t add_lengths(const struct heft_splitter *s, const uint8_t *text, size_t n,
                            uint32_t crc)
{
    for (size_t at = 0, end; at < n; at = end) {
        uint8_t length[4];

        end = word_end(s, text, n, at);
        heft_put_le32(length, (uint32_t)(end - at));
        crc = heft_crc32(crc, length, sizeof length);
    }
    return crc;
}

/* Characters of all categories in three contexts. */
static void test_characters(void **unused)
{
    static const char *const CONTEXTS[][2] = {{"a", "b "}, {" ", "1\n"}, {"'s.", " "}};
    static uint8_t text[12 * CHUNK];

    (void)unused;
    for (size_t i = 0; i < HEFT_COUNT(PATTERNS); i++) {
        struct heft_splitter *const s = compile(PATTERNS[i].pattern, PATTERNS[i].engine);
        uint32_t crc = 0;

        for (size_t k = 0; k < HEFT_COUNT(CONTEXTS); k++)
            for (uint32_t c = 0; c < 0x110000;) {
                const size_t n = make_text(&c, CONTEXTS[k][0], CONTEXTS[k][1], text);

                crc = add_lengths(s, text, n, crc);
            }
        if (crc != PATTERNS[i].crc)
            fail_msg("%s: checksum %08x, not %08x", PATTERNS[i].name, crc, PATTERNS[i].crc);
        heft_splitter_free(s);
    }
}

/* The matches in a text, separated by bars; characters at which none begins in <>. */
static void draw_matches(const struct heft_splitter *s, const char *text, char *out)
{
    const size_t n = strlen(text);

    *out = '\0';
    for (size_t at = 0, end = 0; at < n; at = end) {
        const enum heft_splitter_result result =
            heft_splitter_match(s, (const uint8_t *)text, n, at, true, &end);

        assert_int_not_equal(result, HEFT_SPLITTER_OPEN);
        if (result == HEFT_SPLITTER_NONE)
            end = at + heft_utf8_width((uint8_t)text[at]);
        out += sprintf(out, result == HEFT_SPLITTER_NONE ? "<%.*s>" : "%.*s|", (int)(end - at),
                       text + at);
    }
}

static void expect_matches(const char *pattern, enum heft_splitter_engine engine, const char *text,
                           const char *wanted)
{
    struct heft_splitter *const s = compile(pattern, engine);
    char got[400];

    draw_matches(s, text, got);
    assert_string_equal(got, wanted);
    heft_splitter_free(s);
}

static void test_engines_differ(void **unused)
{
    (void)unused;
    expect_matches("[0-9]{1,3}+", HEFT_ENGINE_TIKTOKEN, "1234567", "123|456|7|");
    expect_matches("[0-9]{1,3}+", HEFT_ENGINE_TOKENIZERS, "1234567", "1234567|");
    expect_matches("ab?$|.", HEFT_ENGINE_TOKENIZERS, "ab\naba", "ab|<\n>a|b|a|");
    expect_matches("ab?$|.", HEFT_ENGINE_TIKTOKEN, "ab\naba", "a|b|<\n>a|b|a|");
    expect_matches("a{2}?b|.", HEFT_ENGINE_TOKENIZERS, "aabb", "aab|b|");
    expect_matches("a{2}?b|.", HEFT_ENGINE_TIKTOKEN, "abaab", "a|b|aab|");
    expect_matches("a{2}?b", HEFT_ENGINE_TOKENIZERS, "b", "b|");
}

static void test_constructs(void **unused)
{
    static const struct {
        const char *pattern, *text, *wanted;
    } ROWS[] = {
        {"a+?b|a", "aaab", "aaab|"},
        {"a+?", "aaa", "a|a|a|"},
        {"a??b|a", "abaa", "ab|a|a|"},
        {"x{2,3}?", "xxxxx", "xx|xx|<x>"},
        {"x{2,3}", "xxxxx", "xxx|xx|"},
        {"x{3,}|y", "xxxxyxx", "xxxx|y|<x><x>"},
        {"a*+a|b", "aab", "<a><a>b|"}, /* possessive: no a is left */
        {"a++b|a", "aaab", "aaab|"},
        {"a?+a|b", "aab", "aa|b|"},
        {"a|ab|abc", "abc", "a|<b><c>"}, /* the first alternative, not the longest */
        {"abc|ab|a", "abab", "ab|ab|"},
        {"a(?=b|$)|.", "aaba", "a|a|b|a|"},
        {"a(?!b)|b", "aaba", "a|<a>b|a|"},
        {"a(?!$)|b", "aaba", "a|a|b|<a>"},
        {"a(?=[^b])|b", "aabc", "a|<a>b|<c>"},
        {"a\\z|b", "aba", "<a>b|a|"},
        {"(a|b)+c", "abacab", "abac|<a><b>"},
        {"[^a-c&&[b-z]]+", "adbc", "ad|<b><c>"}, /* the complement of the intersection */
        {"[a-z&&[^aeiou]]+", "hello", "h|<e>ll|<o>"},
        {"[a-f&&b-z&&[cde]]+", "abcdef", "<a><b>cde|<f>"},
        {"[]a]+|\\[", "a]][", "a]]|[|"},
        {"[a\\-z]+", "a-zb", "a-z|<b>"},
        {"[a-c-]+", "a-cd", "a-c|<d>"},
        {"[[a-c][x]y]+", "abxyz", "abxy|<z>"},
        {"\\x41\\x{e9}\\u00e9", "A\xc3\xa9\xc3\xa9", "A\xc3\xa9\xc3\xa9|"},
        {"(?i:'S|k)", "'s'\xc5\xbfK\xe2\x84\xaa", "'s|'\xc5\xbf|K|\xe2\x84\xaa|"},
        {"(?i)ab[^c]", "ABxABC", "ABx|<A><B><C>"},
        {"a(?:(?i)b)c", "aBc", "aBc|"},
        {"\\d+|\\D", "12a", "12|a|"},
        {"\\p{Lu}\\p{Ll}+|\\P{L}", "Ab1", "Ab|1|"},
        {"\\p{Nd}|\\p{Sc}", "1$\xc2\xbd", "1|$|<\xc2\xbd>"},
        {"\\.\\ \\+", ". +", ". +|"},
        {"\\t\\n\\r\\f\\v\\a\\e", "\t\n\r\f\v\a\x1b", "\t\n\r\f\v\a\x1b|"},
        {"a{0}b", "ab", "<a>b|"},
        {"(?:a?){3}b", "aaab", "aaab|"},
        {".", "a\n", "a|<\n>"},
    };

    (void)unused;
    for (size_t i = 0; i < 2 * HEFT_COUNT(ROWS); i++)
        expect_matches(ROWS[i / 2].pattern, i % 2 ? HEFT_ENGINE_TIKTOKEN : HEFT_ENGINE_TOKENIZERS,
                       ROWS[i / 2].text, ROWS[i / 2].wanted);
}

/* A match is open exactly if the text that may follow can change it or its end. */
static void test_open(void **unused)
{
    struct heft_splitter *const s = compile("\\s+(?!\\S)|\\s+|a+", HEFT_ENGINE_TOKENIZERS);
    const uint8_t *const text = (const uint8_t *)"  aa ";
    size_t end = 0;

    (void)unused;
    assert_int_equal(heft_splitter_match(s, text, 2, 0, false, &end), HEFT_SPLITTER_OPEN);
    assert_int_equal(heft_splitter_match(s, text, 3, 0, false, &end), HEFT_SPLITTER_MATCH);
    assert_int_equal(end, 1);
    assert_int_equal(heft_splitter_match(s, text, 2, 0, true, &end), HEFT_SPLITTER_MATCH);
    assert_int_equal(end, 2);
    assert_int_equal(heft_splitter_match(s, text, 4, 2, false, &end), HEFT_SPLITTER_OPEN);
    assert_int_equal(heft_splitter_match(s, text, 5, 2, false, &end), HEFT_SPLITTER_MATCH);
    assert_int_equal(end, 4);
    heft_splitter_free(s);
}

static void test_total(void **unused)
{
    static const struct {
        const char *pattern;
        uint32_t stranger; /* 0: total */
    } ROWS[] = {
        {"\\s+(?!\\S)|\\s+|\\S+", 0},
        {"\\s+$|\\S", '\t'},
        {"a+|[^a]", 0},
        {"[^a]|ab", 'a'},
        {"[^a]|a(?!b)", 'a'},
        {"[^a]|a(?=b|$)|a", 0},
        {".", '\n'},
        {"[^\\x{3000}]", 0x3000},
        {"\\P{Lu}|\\p{L}x*", 0},
    };

    (void)unused;
    for (size_t i = 0; i < HEFT_COUNT(ROWS); i++) {
        struct heft_splitter *const s = compile(ROWS[i].pattern, HEFT_ENGINE_TIKTOKEN);
        uint32_t stranger;

        assert_int_equal(heft_splitter_is_total(s, &stranger), ROWS[i].stranger == 0);
        assert_int_equal(stranger, ROWS[i].stranger);
        heft_splitter_free(s);
    }
}

/* U+0295 is a small letter in 16.0, and a letter without case from 17.0 on. */
static void test_unicode(void **unused)
{
    static const char *const VERSIONS[] = {NULL, "16.0", "17.0"};
    struct heft_error err = {0};

    (void)unused;
    for (size_t i = 0; i < HEFT_COUNT(VERSIONS); i++) {
        struct heft_splitter *const s =
            heft_splitter_compile(HEFT_STR("\\p{Lo}"), HEFT_ENGINE_TIKTOKEN, VERSIONS[i], &err);
        size_t end;

        assert_non_null(s);
        assert_int_equal(heft_splitter_match(s, (const uint8_t *)"\xca\x95", 2, 0, true, &end),
                         i == 2 ? HEFT_SPLITTER_MATCH : HEFT_SPLITTER_NONE);
        heft_splitter_free(s);
    }
    assert_null(heft_splitter_compile(HEFT_STR("a"), HEFT_ENGINE_TIKTOKEN, "15.1", &err));
    assert_int_equal(err.code, HEFT_UNSUPPORTED);
}

struct refusal {
    const char *pattern;
    uint64_t offset;
    const char *text; /* part of the message */
};

static void expect_refusals(const struct refusal *rows, size_t n, enum heft_code code,
                            enum heft_splitter_engine engine)
{
    for (size_t i = 0; i < n; i++) {
        struct heft_error err = {0};

        if (heft_splitter_compile(heft_str_of(rows[i].pattern), engine, NULL, &err))
            fail_msg("%s is accepted", rows[i].pattern);
        if (err.code != code || err.offset != rows[i].offset || !strstr(err.text, rows[i].text))
            fail_msg("%s: code %d, offset %d: %s", rows[i].pattern, (int)err.code, (int)err.offset,
                     err.text);
    }
}

static void test_unsupported(void **unused)
{
    static const struct refusal ROWS[] = {
        {"a(?<=b)", 1, "look-behind (?<=…)"},
        {"a(?<!b)", 1, "look-behind (?<!…)"},
        {"(?>a)", 0, "atomic group"},
        {"(?#a)", 0, "comment"},
        {"(?<n>a)", 0, "named group"},
        {"(?P<n>a)", 0, "named group"},
        {"(?(1)a)", 0, "conditional group"},
        {"(?~a)", 0, "absent operator"},
        {"(?s:a)", 0, "options other than (?i…)"},
        {"(?im:a)", 0, "options other than (?i…)"},
        {"a(?i)b", 1, "(?i) after the begin of a group"},
        {"(*FAIL)", 0, "verb"},
        {"a|(b)\\1", 5, "back-reference"},
        {"\\k<n>", 0, "back-reference"},
        {"a\\b", 1, "word boundary"},
        {"\\w", 0, "\\w"},
        {"[\\w]", 1, "\\w"},
        {"\\h", 0, "hexadecimal digit"},
        {"\\A", 0, "begin of the text"},
        {"a\\Z", 1, "\\Z"},
        {"\\G", 0, "\\G"},
        {"\\K", 0, "\\K"},
        {"\\R", 0, "more than one character"},
        {"\\0", 0, "octal"},
        {"\\cA", 0, "control"},
        {"\\q", 0, "\\q"},
        {"^a", 0, "begin of a line"},
        {"a(?=bc)", 1, "look-ahead of other than exactly one character"},
        {"a(?!b*)", 1, "look-ahead of other than exactly one character"},
        {"a(?=)", 1, "look-ahead of other than exactly one character"},
        {"a(?=b)+", 6, "repetition of a look-ahead"},
        {"(?:a*)*", 6, "may be empty"},
        {"(?:a|)+", 6, "may be empty"},
        {"(?:ab)++", 6, "possessive"},
        {"a**", 2, "repetition of a repetition"},
        {"a{2}{3}", 4, "repetition of a repetition"},
        {"a{x}", 1, "brace"},
        {"{", 0, "brace"},
        {"\\p{Greek}", 0, "\\p{Greek}"},
        {"[[:alpha:]]", 1, "POSIX"},
        {"[a&&]", 4, "empty side"},
        {"[a--b]", 1, "without a character at its end"},
        {"[--b]", 1, "-- in a class"},
        {"[a~~b]", 2, "~~"},
        {"[a-\\s]", 1, "without a character at its end"},
        {"[\\s-a]", 1, "without a character at its begin"},
        {"\\u{41}", 0, "\\u{…}"},
        {"(?i:\xc3\xa9)", 4, "beyond ASCII"},
        {"(?i:\\p{L})", 4, "\\p{…} in (?i…)"},
        {"(?i:[\\p{L}])", 5, "\\p{…} in (?i…)"},
        {"a*", HEFT_NO_OFFSET, "matches the empty text"},
        {"a|", HEFT_NO_OFFSET, "matches the empty text"},
        {"$", HEFT_NO_OFFSET, "matches the empty text"},
        {"(?:ab)*c|.", HEFT_NO_OFFSET, "quadratic"},
    };
    static const struct refusal OF_ONIGURUMA[] = {
        {"(?i:ss)", 4, "ligatures"},
        {"\\xe9", 0, "\\xHH above 7F"},
    };

    (void)unused;
    expect_refusals(ROWS, HEFT_COUNT(ROWS), HEFT_UNSUPPORTED, HEFT_ENGINE_TOKENIZERS);
    expect_refusals(ROWS, HEFT_COUNT(ROWS), HEFT_UNSUPPORTED, HEFT_ENGINE_TIKTOKEN);
    expect_refusals(OF_ONIGURUMA, 2, HEFT_UNSUPPORTED, HEFT_ENGINE_TOKENIZERS);
}

static void test_malformed(void **unused)
{
    static const struct refusal ROWS[] = {
        {"a)", 1, "closes no group"},
        {"a(b", 1, "without a closing parenthesis"},
        {"a[b", 1, "without a closing bracket"},
        {"[]", 0, "without a closing bracket"},
        {"+a", 0, "repetition of nothing"},
        {"a|*", 2, "repetition of nothing"},
        {"a\\", 1, "ends in a backslash"},
        {"a{3,2}", 1, "maximum is below its minimum"},
        {"[z-a]", 1, "end is before its begin"},
        {"\\x{110000}", 0, "beyond U+10FFFF"},
        {"\\x{41", 0, "closing brace"},
        {"\\xg", 0, "too few hexadecimal digits"},
        {"\\u004", 0, "too few hexadecimal digits"},
        {"\\p{L", 0, "closing brace"},
        {"ab\xff", 2, "not valid UTF-8"},
    };

    (void)unused;
    expect_refusals(ROWS, HEFT_COUNT(ROWS), HEFT_MALFORMED, HEFT_ENGINE_TOKENIZERS);
    expect_refusals(ROWS, HEFT_COUNT(ROWS), HEFT_MALFORMED, HEFT_ENGINE_TIKTOKEN);
}

static void test_limits(void **unused)
{
    static char deep[202], classes[103], kinds[300 * 4], sets[HEFT_SYNTAX_BYTES];
    static char longest[HEFT_SYNTAX_BYTES + 2];
    const struct refusal rows[] = {
        {"(a|b)*a(a|b){20}", HEFT_NO_OFFSET, "more than 4096 states"},
        {"a{0,1000000}", HEFT_NO_OFFSET, "8192 parts"},
        {"(((a{1,30}){1,30}){1,30}){1,30}", HEFT_NO_OFFSET, "8192 parts"},
        {"(?:a?){2000}a{2000}", HEFT_NO_OFFSET, "too complex"},
        {deep, 50, "50 groups and classes"},
        {classes, 50, "50 groups and classes"},
        {kinds, HEFT_NO_OFFSET, "255 classes"},
        {sets, HEFT_NO_OFFSET, "1024 different sets"},
        {longest, HEFT_NO_OFFSET, "has 16385 bytes"},
    };

    (void)unused;
    memset(deep, '(', 100);
    memset(deep + 100, ')', 100);
    memset(classes, '[', 51);
    memset(classes + 51, 'a', 1);
    for (uint32_t i = 0, n = 0; i < 299; i++) {
        n += (uint32_t)heft_utf8_put(kinds + n, 0x4E00 + 2 * i);
        kinds[n++] = '|';
        kinds[n] = '\0';
    }
    for (uint32_t i = 0, n = 0; i < 1025; i++) {
        n += (uint32_t)heft_utf8_put(sets + n, 0x4E00 + 2 * i);
        sets[n] = '\0';
    }
    memset(longest, 'a', HEFT_SYNTAX_BYTES + 1);
    expect_refusals(rows, HEFT_COUNT(rows), HEFT_LIMIT, HEFT_ENGINE_TIKTOKEN);
}

/* A number of repetitions of the empty text takes no time. */
static void test_empty_repetition(void **unused)
{
    (void)unused;
    expect_matches("(?:(?:){4000000000}){4000000000}a", HEFT_ENGINE_TIKTOKEN, "a", "a|");
    expect_matches("(?:a{0}){4000000000}b", HEFT_ENGINE_TOKENIZERS, "b", "b|");
}

static void test_failing_allocations(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < HEFT_COUNT(PATTERNS); i += 5)
        for (struct failures fail = {.most = 4000}; !fail.done;) {
            struct heft_splitter *s = NULL;
            struct heft_error err;

            FAIL_ALLOCATION(&fail,
                            (s = heft_splitter_compile(heft_str_of(PATTERNS[i].pattern),
                                                       PATTERNS[i].engine, NULL, &err)) != NULL,
                            &err);
            heft_splitter_free(s);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_characters),
        cmocka_unit_test(test_engines_differ),
        cmocka_unit_test(test_constructs),
        cmocka_unit_test(test_open),
        cmocka_unit_test(test_total),
        cmocka_unit_test(test_unicode),
        cmocka_unit_test(test_unsupported),
        cmocka_unit_test(test_malformed),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_empty_repetition),
        cmocka_unit_test(test_failing_allocations),
    };

    return cmocka_run_group_tests_name("splitter", tests, NULL, NULL);
}
