/* test_ascii_words.c: words of ASCII that kernels find, compared with the automaton: every short
 * string of representatives of all classes of bytes, and random texts. */
#include "base/text.h"
#include "tokens/split/ascii_words.h"
#include "tokens/split/splitter.h"
#include "tokens/split/splitter_tables.h"
#include "tokens/split/word_rows.h"
#include "tokens/vocab/families.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

/* A byte or character of each class that the rules tell apart. */
static const char *const PARTS[] = {"a", "A", "1", " ", "\t", "\n", "'", "s", "/", ";", "\xC3\xA9"};
/* Those of contractions of three bytes, other white space and control characters, too. */
static const char *const MORE[] = {
    "a",         "B", "7", " ", "\t",   "\n",       "\r\n", "'", "s", "T",  "r",    "e",
    "L",         "l", "/", ";", "\x01", "\xC3\xA9", "v",    "m", "d", "\v", "    ", "\xE2\x80\x83",
    "'\xC5\xBF", "_"};

static uint64_t random_bits(void)
{
    static uint64_t seed = 11;

    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed >> 8;
}

static struct heft_splitter *compile(struct heft_str pattern, enum heft_splitter_engine engine)
{
    struct heft_error err = {0};
    struct heft_splitter *const s = heft_splitter_compile(pattern, engine, NULL, &err);

    if (!s)
        fail_msg("%.*s: %s", (int)pattern.n, pattern.p, err.text);
    return s;
}

static struct heft_splitter *compile_rules(const struct heft_ascii_rules *rules)
{
    struct heft_buf pattern = {0};
    struct heft_splitter *s;

    heft_ascii_rules_pattern(rules, &pattern);
    s = compile((struct heft_str){pattern.p, pattern.n}, HEFT_ENGINE_TIKTOKEN);
    heft_buf_release(&pattern);
    return s;
}

/* The rules of each number below N_RULES. */
#define N_RULES 72
static struct heft_ascii_rules rules_of(unsigned i)
{
    return (struct heft_ascii_rules){.is_known = true,
                                     .is_cased = i % 2,
                                     .digits = (uint8_t)(i / 2 % 4),
                                     .tail = (enum heft_ascii_tail)(i / 8 % 3),
                                     .contraction = (enum heft_ascii_contraction)(i / 24)};
}

static bool rules_are_equal(const struct heft_ascii_rules *a, const struct heft_ascii_rules *b)
{
    return a->is_known == b->is_known && a->is_cased == b->is_cased && a->digits == b->digits &&
           a->tail == b->tail && a->contraction == b->contraction;
}

/* The rules of a pattern are those that it was made of. */
static void test_rules_are_found(void **unused)
{
    (void)unused;
    for (unsigned i = 0; i < N_RULES; i++) {
        const struct heft_ascii_rules wanted = rules_of(i);
        struct heft_splitter *const s = compile_rules(&wanted);
        struct heft_ascii_rules found;
        struct heft_error err = {0};

        assert_true(heft_ascii_rules_find(&found, s, &err));
        if (!rules_are_equal(&found, &wanted))
            fail_msg("rules %u are not found", i);
        heft_splitter_free(s);
    }
}

static void test_families(void **unused)
{
    static const struct {
        const char *name;
        struct heft_ascii_rules rules;
    } KNOWN[] = {
        {"gpt4", {true, false, 3, HEFT_TAIL_LINES, HEFT_CONTRACTION_ALONE}},
        {"llama3", {true, false, 3, HEFT_TAIL_LINES, HEFT_CONTRACTION_ALONE}},
        {"qwen2", {true, false, 1, HEFT_TAIL_LINES, HEFT_CONTRACTION_ALONE}},
        {"qwen35", {true, false, 1, HEFT_TAIL_LINES, HEFT_CONTRACTION_ALONE}},
        {"nanochat", {true, false, 2, HEFT_TAIL_LINES, HEFT_CONTRACTION_ALONE}},
        {"o200k", {true, true, 3, HEFT_TAIL_LINES_AND_SLASHES, HEFT_CONTRACTION_ATTACHED}},
        {"tekken", {true, true, 1, HEFT_TAIL_LINES_AND_SLASHES, HEFT_CONTRACTION_NONE}},
        {"kimi", {true, true, 3, HEFT_TAIL_LINES, HEFT_CONTRACTION_ATTACHED}},
        {"r50k", {.is_known = false}},
        {"bloom", {.is_known = false}},
    };

    (void)unused;
    for (size_t i = 0; i < HEFT_COUNT(KNOWN); i++) {
        const struct heft_family *const family = heft_family_named(KNOWN[i].name);
        struct heft_splitter *const s = compile(family->steps[0].pattern, family->steps[0].engine);
        struct heft_ascii_rules found;
        struct heft_error err = {0};

        assert_true(heft_ascii_rules_find(&found, s, &err));
        if (KNOWN[i].rules.is_known ? !rules_are_equal(&found, &KNOWN[i].rules) : found.is_known)
            fail_msg("%s: known %d, cased %d, digits %d, tail %d, contractions %d", KNOWN[i].name,
                     found.is_known, found.is_cased, found.digits, (int)found.tail,
                     (int)found.contraction);
        heft_splitter_free(s);
    }
}

/* Patterns that differ from one with known rules in a single respect. */
static void test_other_patterns(void **unused)
{
    static const char *const PATTERNS[] = {
        "(?i:'s|'t|'re|'ve|'m|'ll)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| "
        "?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
        "'(?:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| "
        "?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
        "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,4}| "
        "?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
        "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| "
        "?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
        "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| "
        "?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+",
        "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| "
        "?[^\\s\\p{L}\\p{N}~]+[\\r\\n]*|~|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
    };

    (void)unused;
    for (size_t i = 0; i < HEFT_COUNT(PATTERNS); i++) {
        struct heft_splitter *const s = compile(heft_str_of(PATTERNS[i]), HEFT_ENGINE_TIKTOKEN);
        struct heft_ascii_rules found;
        struct heft_error err = {0};

        assert_true(heft_ascii_rules_find(&found, s, &err));
        if (found.is_known)
            fail_msg("pattern %zu has known rules", i);
        heft_splitter_free(s);
    }
}

/* Words that a kernel finds are those of the automaton; returns where it stops. */
static size_t compare_words(const struct heft_ascii_kernel *kernel, const struct heft_splitter *s,
                            const struct heft_ascii_rules *rules, const uint8_t *text, size_t n)
{
    static uint32_t starts[4096];
    const size_t count = kernel->scan(rules, text, n, 0, starts, HEFT_COUNT(starts));

    assert_int_equal(starts[0], 0);
    for (size_t i = 0; i + 1 < count; i++) {
        size_t end = 0;

        if (heft_splitter_match(s, text, n, starts[i], false, &end) != HEFT_SPLITTER_MATCH ||
            end != starts[i + 1])
            fail_msg("\"%.*s\": the word at %u ends at %zu, not %u", (int)n, (const char *)text,
                     starts[i], end, starts[i + 1]);
    }
    return starts[count - 1];
}

/* All strings of `length` parts, followed by letters: a block and a word. */
static void compare_strings(const struct heft_ascii_rules *rules, unsigned length)
{
    struct heft_splitter *const s = compile_rules(rules);
    uint8_t text[HEFT_ASCII_BLOCK + 1];
    unsigned places[8] = {0};

    for (bool is_over = false; !is_over;) {
        size_t n = 0;

        memset(text, 'b', sizeof text);
        for (unsigned i = 0; i < length; i++)
            for (const char *p = PARTS[places[i]]; *p; p++)
                text[n++] = (uint8_t)*p;
        compare_words(heft_ascii_kernel_at(0), s, rules, text, HEFT_ASCII_BLOCK);
        for (unsigned i = 0; i < length; i++) {
            is_over = i + 1 == length && places[i] + 1 == HEFT_COUNT(PARTS);
            places[i] = (places[i] + 1) % HEFT_COUNT(PARTS);
            if (places[i])
                break;
        }
    }
    heft_splitter_free(s);
}

static void test_all_rules_on_short_strings(void **unused)
{
    (void)unused;
    for (unsigned i = 0; i < N_RULES; i++) {
        const struct heft_ascii_rules rules = rules_of(i);

        compare_strings(&rules, 4);
    }
}

static void test_usual_rules_on_longer_strings(void **unused)
{
    static const struct heft_ascii_rules RULES[] = {
        {true, false, 3, HEFT_TAIL_LINES, HEFT_CONTRACTION_ALONE},
        {true, true, 3, HEFT_TAIL_LINES_AND_SLASHES, HEFT_CONTRACTION_ATTACHED},
    };

    (void)unused;
    for (size_t i = 0; i < HEFT_COUNT(RULES); i++)
        compare_strings(&RULES[i], 6);
}

/* Runs of parts; `kind` weighs some of them. */
static size_t make_text(uint8_t *text, size_t most)
{
    const uint64_t kind = random_bits();
    size_t n = 0;

    while (n + 64 < most) {
        const uint64_t bits = random_bits();
        const char *const part = MORE[bits % (kind & 1 ? 17 : HEFT_COUNT(MORE))];

        for (uint64_t times = 1 + (bits >> 20 & (kind & 2 ? 1 : 3)); times > 0; times--) {
            memcpy(text + n, part, strlen(part));
            n += strlen(part);
        }
    }
    return n;
}

static void test_random_texts(void **unused)
{
    uint8_t text[512];
    const struct heft_ascii_kernel *kernel;

    (void)unused;
    for (unsigned i = 0; i < N_RULES; i++) {
        const struct heft_ascii_rules rules = rules_of(i);
        struct heft_splitter *const s = compile_rules(&rules);

        for (unsigned round = 0; round < 400; round++) {
            const size_t n = make_text(text, 80 + random_bits() % 400);
            size_t end = 0;

            for (size_t k = 0; (kernel = heft_ascii_kernel_at(k)) != NULL; k++) {
                const size_t stop = compare_words(kernel, s, &rules, text, n);

                assert_true(k == 0 || stop == end); /* the kernels see the same */
                end = stop;
            }
        }
        heft_splitter_free(s);
    }
}

/* Ordinary text is read by the kernel up to its last block. */
static void test_progress(void **unused)
{
    static const char LINE[] = "    if (!is_open(file->name[10]))  // it's \"there\", isn't it?\n";
    uint8_t text[64 * sizeof LINE];
    size_t n = 0;

    (void)unused;
    for (; n + sizeof LINE <= sizeof text; n += sizeof LINE - 1)
        memcpy(text + n, LINE, sizeof LINE - 1);
    for (unsigned i = 0; i < N_RULES; i++) {
        const struct heft_ascii_rules rules = rules_of(i);
        struct heft_splitter *const s = compile_rules(&rules);

        assert_in_range(compare_words(heft_ascii_kernel_at(0), s, &rules, text, n),
                        n - HEFT_ASCII_BLOCK, n);
        heft_splitter_free(s);
    }
}

/* The scanner of a splitter finds the same words with a kernel and without one, whatever room it
 * has, and whether text follows or not. */
static void test_scanner(void **unused)
{
    static const char *const NAMES[] = {"llama3", "qwen2", "qwen35", "o200k", "tekken", "kimi"};
    uint8_t text[4096];
    static uint32_t wanted[16384], starts[16384];

    (void)unused;
    for (size_t i = 0; i < HEFT_COUNT(NAMES); i++) {
        const struct heft_family *const family = heft_family_named(NAMES[i]);
        struct heft_splitter *const s = compile(family->steps[0].pattern, family->steps[0].engine);

        for (unsigned round = 0; round < 600; round++) {
            const size_t n = make_text(text, 200 + random_bits() % 3800);
            const bool is_last = random_bits() % 2;
            const size_t room = 2 + random_bits() % (round % 2 ? 200 : 5000);
            const struct heft_ascii_kernel *const kernel = heft_ascii_kernel_at(round % 3);
            size_t n_wanted, count = 1, more = 2;

            s->words = NULL;
            n_wanted = heft_word_rows_scan(s, text, n, 0, is_last, wanted, HEFT_COUNT(wanted));
            s->words = kernel ? kernel : &heft_ascii_kernel_plain;
            assert_true(heft_ascii_rules_find(&s->rules, s, &(struct heft_error){0}));
            for (starts[0] = 0; more > 1 && starts[count - 1] < n; count += more - 1)
                more = heft_word_rows_scan(s, text, n, starts[count - 1], is_last,
                                           starts + count - 1, room);
            assert_int_equal(count, n_wanted);
            assert_memory_equal(starts, wanted, count * sizeof *starts);
        }
        heft_splitter_free(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rules_are_found),
        cmocka_unit_test(test_families),
        cmocka_unit_test(test_other_patterns),
        cmocka_unit_test(test_all_rules_on_short_strings),
        cmocka_unit_test(test_usual_rules_on_longer_strings),
        cmocka_unit_test(test_random_texts),
        cmocka_unit_test(test_progress),
        cmocka_unit_test(test_scanner),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
