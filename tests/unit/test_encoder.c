/* test_encoder.c: pre-tokens by bitmaps compared with pre-tokens by the pattern, texts in pieces,
 * merging. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tokens/bpe/encoder.h"
#include "tokens/bpe/merge.h"
#include "tokens/bpe/word_scan.h"
#include "tokens/bpe/pattern.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "failures.h"

static uint32_t state = 1;

static uint32_t any(uint32_t below)
{
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % below;
}

static const char *const PARTS[] = {
    "a",      "Z",          "s",      "t",      "re",     "l",      "l", "d",  "v",
    "e",      "1",          "9",      " ",      "  ",     "'",      "'", "\n", ".",
    "!",      "\t",         "\u00a0", "\u3000", "\u0301", "\u00e9", "x", "\0", "中",
    "\u2028", "\U0001f600", "٣",      "\u00b2", "the",    "\r\n",   " ", "'s", "한"};

static size_t random_text(char *text, size_t parts)
{
    size_t n = 0;

    for (size_t i = 0; i < parts; i++) {
        const char *part = PARTS[any(HEFT_COUNT(PARTS))];
        const size_t length = *part ? strlen(part) : 1;

        memcpy(text + n, part, length);
        n += length;
    }
    memset(text + n, 0, HEFT_SPLIT_PAD);
    return n;
}

/* Collects the start of each pre-token, window by window. */
static size_t scan_all(const struct heft_scan *scan, const uint8_t *text, size_t n, bool is_last,
                       uint32_t *out)
{
    static uint32_t starts[HEFT_SCAN_ROOM];
    size_t at = 0, count = 0, k = 2;

    while (at < n && k > 1) {
        k = heft_scan_words(scan, text, n, at, is_last, starts);
        for (size_t i = 0; i + 1 < k; i++)
            out[count++] = starts[i];
        at = k > 1 ? starts[k - 1] : at;
    }
    out[count] = (uint32_t)at;
    return count;
}

static void test_scan_is_pattern(void **unused)
{
    static struct heft_classes classes;
    static char text[200000];
    static uint32_t starts[200000];
    struct heft_error err = {0};
    const struct heft_kernel *found;

    (void)unused;
    assert_true(heft_classes_init(&classes, NULL, &err));
    for (size_t kernel = 0; (found = heft_scan_kernel_at(kernel)) != NULL; kernel++) {
        const struct heft_scan scan = {&classes, found, NULL};

        for (unsigned round = 0; round < 3000; round++) {
            const size_t n = random_text(text, 1 + any(round % 100 ? 200 : 20000));
            const uint8_t *p = (const uint8_t *)text;
            const size_t words = scan_all(&scan, p, n, true, starts);
            size_t at = 0;

            for (size_t i = 0; i < words; i++) {
                assert_int_equal(starts[i], at);
                at = heft_split_word(&classes, p, n, at);
            }
            assert_int_equal(at, n);
            assert_int_equal(starts[words], n);
        }
    }
}

/* Boundaries reported for the beginning of a text stay valid whatever text follows. */
static void test_scan_of_open_text(void **unused)
{
    static struct heft_classes classes;
    static char text[4096];
    static uint32_t part[4096], whole[4096];
    struct heft_error err = {0};

    (void)unused;
    assert_true(heft_classes_init(&classes, NULL, &err));
    for (unsigned round = 0; round < 20000; round++) {
        const struct heft_scan scan = {&classes, heft_scan_kernel(), NULL};
        const size_t n = random_text(text, 1 + any(300));
        size_t cut = any((uint32_t)n + 1);
        size_t words;

        while (cut < n && ((uint8_t)text[cut] & 0xC0) == 0x80)
            cut++;
        (void)scan_all(&scan, (const uint8_t *)text, n, true, whole);
        words = scan_all(&scan, (const uint8_t *)text, cut, false, part);
        for (size_t i = 0; i < words + (part[words] < cut); i++)
            assert_int_equal(part[i], whole[i]);
    }
}

/* ---- a vocabulary ------------------------------------------------------------------------ */

static const char MERGES[] = "#version: 0.2\na b\nĠ t\nh e\nĠt he\na a\naa a\nab c\n";

static struct heft_vocab *small_vocab(void)
{
    char path[] = "/tmp/tokens-XXXXXX", named[sizeof path + 4];
    const int fd = mkstemp(path);
    struct heft_error err = {0};
    struct heft_vocab *v;

    assert_true(fd >= 0 && write(fd, MERGES, sizeof MERGES - 1) == (ssize_t)sizeof MERGES - 1);
    close(fd);
    snprintf(named, sizeof named, "%s.bpe", path);
    assert_int_equal(rename(path, named), 0);
    v = heft_vocab_open(named, &err);
    unlink(named);
    assert_non_null(v);
    return v;
}

static void test_small_vocabulary(void **unused)
{
    struct heft_vocab *v = small_vocab();
    struct heft_error err = {0};
    struct heft_encoder *e = heft_encoder_new(v, NULL, &err);
    const uint32_t wanted[] = {256 + 6, 256 + 3, 220, 256 + 0, 256 + 5, 256 + 0};
    uint32_t ids[16];
    char text[16];
    size_t n, bytes;

    (void)unused;
    assert_non_null(e);
    assert_int_equal(heft_vocab_size(v), 264);
    assert_int_equal(heft_vocab_end(v), 263);
    assert_true(heft_encode(e, "abc the abaaaab", 15, ids, 16, &n, &err));
    assert_true(n >= 3);
    assert_memory_equal(ids, wanted, 4 * sizeof *ids);
    assert_true(heft_decode(v, ids, n, text, sizeof text, &bytes, &err));
    assert_int_equal(bytes, 15);
    assert_memory_equal(text, "abc the abaaaab", 15);
    heft_encoder_free(e);
    heft_vocab_close(v);
}

/* ---- pieces ------------------------------------------------------------------------------ */

struct list {
    uint32_t ids[200000];
    size_t n;
};

static bool append(void *ctx, const uint32_t *ids, size_t count)
{
    struct list *list = ctx;

    memcpy(list->ids + list->n, ids, count * sizeof *ids);
    list->n += count;
    return true;
}

static void test_pieces(void **unused)
{
    static char text[200000];
    static struct list whole, pieces;
    struct heft_vocab *v = small_vocab();
    struct heft_error err = {0};
    struct heft_encoder *e = heft_encoder_new(v, NULL, &err);

    (void)unused;
    for (unsigned round = 0; round < 300; round++) {
        const size_t n = random_text(text, 1 + any(round % 50 ? 100 : 20000));
        const uint32_t most = 1 + any(round % 3 ? 8 : 70000);

        assert_true(heft_encode(e, text, n, whole.ids, HEFT_COUNT(whole.ids), &whole.n, &err));
        pieces.n = 0;
        for (size_t at = 0, k; at < n; at += k) {
            k = 1 + any(most);
            k = k < n - at ? k : n - at;
            assert_true(heft_encoder_feed(e, text + at, k, append, &pieces, &err));
        }
        assert_true(heft_encoder_finish(e, append, &pieces, &err));
        assert_int_equal(pieces.n, whole.n);
        assert_memory_equal(pieces.ids, whole.ids, whole.n * sizeof *whole.ids);
    }
    heft_encoder_free(e);
    heft_vocab_close(v);
}

/* ---- words that fill a window and more --------------------------------------------------- */

#define GIANT 90000

/* Reference encoder: pre-token by pre-token, split by the pattern and merged with a heap. */
static size_t encode_plainly(const struct heft_vocab *v, const uint8_t *text, size_t n,
                             uint32_t *ids)
{
    static struct heft_classes classes;
    struct heft_merger merger = {0};
    struct heft_pairs pairs;
    struct heft_error err = {0};
    size_t total = 0;

    assert_true(heft_classes_init(&classes, NULL, &err) && heft_pairs_init(&pairs, v, &err));
    for (size_t at = 0, end; at < n; at = end) {
        size_t count;

        end = heft_split_word(&classes, text, n, at);
        assert_true(
            heft_merge_word(&merger, &pairs, text + at, end - at, ids + total, &count, &err));
        total += count;
    }
    heft_merger_release(&merger);
    heft_pairs_release(&pairs);
    return total;
}

static size_t giant_text(uint8_t *text, const char *before, const char *unit, const char *behind)
{
    size_t n = strlen(before);

    memcpy(text, before, n);
    for (size_t bytes = 40000; bytes > 0 && bytes <= 40000; bytes -= strlen(unit)) {
        memcpy(text + n, unit, strlen(unit));
        n += strlen(unit);
    }
    memcpy(text + n, behind, strlen(behind) + 1);
    n += strlen(behind);
    memset(text + n, 0, HEFT_SPLIT_PAD);
    return n;
}

static void test_giant_words(void **unused)
{
    static const char *const UNITS[] = {"a",  "ab",     " ", "\n", "\u3000",
                                        "中", "\u00e9", ".", "1",  "\U0001f600"};
    static const char *const ENDS[] = {"", " ", "x", "\n x", "'s", ". a", "\u3000y"};
    static uint8_t text[GIANT];
    static uint32_t wanted[GIANT];
    static struct list got;
    struct heft_vocab *v = small_vocab();
    struct heft_error err = {0};
    struct heft_encoder *e = heft_encoder_new(v, NULL, &err);

    (void)unused;
    for (size_t i = 0; i < HEFT_COUNT(UNITS) * HEFT_COUNT(ENDS) * HEFT_COUNT(ENDS); i++) {
        const char *unit = UNITS[i % HEFT_COUNT(UNITS)];
        const char *before = ENDS[i / HEFT_COUNT(UNITS) % HEFT_COUNT(ENDS)];
        const char *behind = ENDS[i / HEFT_COUNT(UNITS) / HEFT_COUNT(ENDS)];
        const size_t n = giant_text(text, before, unit, behind);
        const size_t count = encode_plainly(v, text, n, wanted);
        const size_t piece = 1 + any(30000);

        got.n = 0;
        for (size_t at = 0; at < n; at += piece)
            assert_true(heft_encoder_feed(e, text + at, piece < n - at ? piece : n - at, append,
                                          &got, &err));
        assert_true(heft_encoder_finish(e, append, &got, &err));
        assert_int_equal(got.n, count);
        assert_memory_equal(got.ids, wanted, count * sizeof *wanted);
    }
    heft_encoder_free(e);
    heft_vocab_close(v);
}

/* Encodes lines that begin with blanks: pre-tokens of one cache entry, of more ids than an entry
 * holds, and longer ones. The vocabulary has as many ids as two bytes can represent, or more. */
static void check_blanks(struct heft_vocab *v)
{
    static const char *const BEFORE[] = {
        "",
        "\n",
        "x\n",
        "\n\n",
        "\t",
        "a\r\n",
        ".\u3000",
        "\n\n\n\n\n\n\n\n\n\n\n\n\n\n", /* with the blank, as long as a cache key */
        "\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n",
    };
    struct heft_error err = {0};
    struct heft_encoder *e = heft_encoder_new(v, NULL, &err);

    for (unsigned round = 0; round < 2; round++)
        for (size_t i = 0; i < 60 * HEFT_COUNT(BEFORE); i++) {
            uint32_t wanted[80], ids[80];
            uint8_t text[80 + HEFT_SPLIT_PAD] = {0};
            const size_t before = strlen(BEFORE[i / 60]), n = before + i % 60 + 1;
            size_t count, n_wanted;

            memset(text, i % 7 ? ' ' : '\t', n);
            memcpy(text, BEFORE[i / 60], before);
            text[n - 1] = 'x';
            n_wanted = encode_plainly(v, text, n, wanted);
            assert_true(heft_encode(e, text, n, ids, 80, &count, &err));
            assert_int_equal(count, n_wanted);
            assert_memory_equal(ids, wanted, count * sizeof *ids);
        }
    heft_encoder_free(e);
}

static void test_blanks(void **unused)
{
    struct heft_vocab *v = small_vocab();

    (void)unused;
    check_blanks(v);
    v->n_ids = 70000; /* more than the tables for 2-byte ids cover */
    v->self_encoding = NULL;
    v->is_self_encoding = false;
    check_blanks(v);
    heft_vocab_close(v);
}

/* More long pre-tokens than the cache holds: those that return are found in it or merged again. */
static void test_long_words(void **unused)
{
    struct heft_vocab *v = small_vocab();
    struct heft_error err = {0};
    struct heft_encoder *e = heft_encoder_new(
        v, &(struct heft_encoder_options){.size = sizeof(struct heft_encoder_options), .cache = 1},
        &err);

    (void)unused;
    for (unsigned round = 0; round < 20000; round++) {
        uint8_t text[64 + HEFT_SPLIT_PAD] = {0};
        uint32_t wanted[64], ids[64];
        uint64_t letters = any(6000);
        const size_t n = (size_t)(16 + letters % 45);
        size_t count, n_wanted;

        for (size_t i = 0; i < n; i++) {
            letters = (letters + 1) * UINT64_C(0x9E3779B97F4A7C15);
            text[i] = (uint8_t) "abchet"[(letters >> 32) % 6];
        }
        n_wanted = encode_plainly(v, text, n, wanted);
        assert_true(heft_encode(e, text, n, ids, 64, &count, &err));
        assert_int_equal(count, n_wanted);
        assert_memory_equal(ids, wanted, count * sizeof *ids);
    }
    heft_encoder_free(e);
    heft_vocab_close(v);
}

/* Short pre-tokens of more ids than an entry has, and more of them than the store has room for. */
static void check_many_ids(struct heft_vocab *v)
{
    struct heft_error err = {0};
    struct heft_encoder *e = heft_encoder_new(
        v, &(struct heft_encoder_options){.size = sizeof(struct heft_encoder_options), .cache = 1},
        &err);

    for (unsigned round = 0; round < 40000; round++) {
        uint8_t text[16 + HEFT_SPLIT_PAD] = {0};
        uint32_t wanted[16], ids[16];
        uint64_t letters = any(14000);
        const size_t n = (size_t)(8 + letters % 8);
        size_t count, n_wanted;

        for (size_t i = 0; i < n; i++) {
            letters = (letters + 1) * UINT64_C(0x9E3779B97F4A7C15);
            text[i] = (uint8_t) "zqxjkvhe"[(letters >> 32) % 8];
        }
        n_wanted = encode_plainly(v, text, n, wanted);
        assert_true(heft_encode(e, text, n, ids, 16, &count, &err));
        assert_int_equal(count, n_wanted);
        assert_memory_equal(ids, wanted, count * sizeof *ids);
    }
    heft_encoder_free(e);
}

static void test_many_ids(void **unused)
{
    struct heft_vocab *v = small_vocab();

    (void)unused;
    check_many_ids(v);
    v->n_ids = 70000; /* ids of four bytes */
    v->self_encoding = NULL;
    v->is_self_encoding = false;
    check_many_ids(v);
    heft_vocab_close(v);
}

/* ---- what encoders remember --------------------------------------------------------------- */

#define SHORT_WORDS 40000
#define LONG_WORDS  6000
#define MANY        (SHORT_WORDS * 8 + LONG_WORDS * 32)

/* More different pre-tokens than an encoder has entries for at first, each twice. */
static size_t many_words(uint8_t *text)
{
    size_t n = 0;

    for (unsigned i = 0; i < SHORT_WORDS / 2 + LONG_WORDS / 2; i++) {
        const size_t begin = n, repeated = i % 8 == 0 ? 20 : 0;

        text[n++] = ' ';
        for (unsigned rest = i + 1; rest > 0; rest /= 5)
            text[n++] = (uint8_t)("abcht"[rest % 5]);
        for (size_t k = 0; k < repeated; k++)
            text[n++] = (uint8_t)("abcht"[(i >> k % 16) % 5]);
        memcpy(text + n, text + begin, n - begin);
        n += n - begin;
    }
    memset(text + n, 0, HEFT_SPLIT_PAD);
    return n;
}

/* `nth`: number of the allocation that fails, from the first; 0 for none. */
static bool check_many(const struct heft_vocab *v, size_t cache, unsigned nth, const uint8_t *text,
                       size_t n, const uint32_t *wanted, size_t n_wanted)
{
    static uint32_t ids[MANY];
    const struct heft_encoder_options options = {.size = sizeof options, .cache = cache};
    struct heft_error err = {0};
    struct heft_encoder *e = heft_encoder_new(v, &options, &err);
    size_t count = 0;
    bool ok;

    heft_alloc_fail_at(nth);
    ok = heft_encode(e, text, n, ids, MANY, &count, &err);
    heft_alloc_fail_at(0);
    assert_int_equal(err.code, ok ? HEFT_OK : HEFT_NOMEM);
    if (ok) {
        assert_int_equal(count, n_wanted);
        assert_memory_equal(ids, wanted, count * sizeof *ids);
    }
    heft_encoder_free(e);
    return ok;
}

static void test_many_words(void **unused)
{
    static uint8_t text[MANY + HEFT_SPLIT_PAD];
    static uint32_t wanted[MANY];
    struct heft_vocab *v = small_vocab();
    const size_t n = many_words(text), count = encode_plainly(v, text, n, wanted);
    unsigned good = 0;

    (void)unused;
    assert_true(n <= MANY);
    assert_true(check_many(v, 0, 0, text, n, wanted, count));
    /* the cache never grows beyond its first size */
    assert_true(check_many(v, 1, 0, text, n, wanted, count));
    for (unsigned nth = 1; nth <= 12; nth++)
        good += check_many(v, 0, nth, text, n, wanted, count);
    assert_true(good > 3); /* a cache that cannot grow is not an error */
    heft_vocab_close(v);
}

/* Each allocation fails once: the error is reported, nothing leaks, and a new text can be encoded.
 */
static void test_no_memory(void **unused)
{
    static uint8_t text[GIANT];
    static struct list got;
    const size_t n = giant_text(text, "the ", "ab", " \u3000y abc");
    struct heft_vocab *v = small_vocab();

    (void)unused;
    for (struct failures fail = {.most = 100}; !fail.done;) {
        struct heft_error err;
        struct heft_encoder *e;

        got.n = 0;
        FAIL_ALLOCATION(&fail,
                        (e = heft_encoder_new(v, NULL, &err)) &&
                            heft_encoder_feed(e, text, n, append, &got, &err) &&
                            heft_encoder_finish(e, append, &got, &err),
                        &err);
        err = (struct heft_error){0};
        got.n = 0;
        assert_true(!e || (heft_encoder_feed(e, "ab", 2, append, &got, &err) &&
                           heft_encoder_finish(e, append, &got, &err) && got.n == 1));
        heft_encoder_free(e);
    }
    heft_vocab_close(v);
}

static void test_bad_text(void **unused)
{
    static const struct {
        const char *text;
        size_t n, at;
    } cases[] = {
        {"ab\xFF", 3, 2},
        {"ab\xC3", 3, 2},
        {"\xED\xA0\x80", 3, 0},
        {"a\xC0\x80", 3, 1},
        {"abc\xF4\x90\x80\x80", 7, 3},
        {"\xE2\x82", 2, 0},
    };
    struct heft_vocab *v = small_vocab();
    struct heft_error err = {0};
    struct heft_encoder *e = heft_encoder_new(v, NULL, &err);
    uint32_t ids[16];
    size_t n;

    (void)unused;
    for (size_t i = 0; i < HEFT_COUNT(cases); i++) {
        err = (struct heft_error){0};
        assert_false(heft_encode(e, cases[i].text, cases[i].n, ids, 16, &n, &err));
        assert_int_equal(err.code, HEFT_MALFORMED);
        assert_int_equal(err.offset, cases[i].at);
    }
    err = (struct heft_error){0};
    assert_true(heft_encode(e, "ab", 2, ids, 16, &n, &err)); /* the encoder is reset */
    assert_int_equal(n, 1);
    assert_false(heft_encode(e, "ab ab", 5, ids, 1, &n, &err));
    assert_int_equal(err.code, HEFT_USAGE);
    assert_non_null(strstr(err.text, "more ids than the room given, 1"));
    n = 0;
    assert_true(heft_encode(e, "ab", 2, ids, 16, &n, &err));
    assert_int_equal(n, 1);
    heft_encoder_free(e);
    heft_vocab_close(v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scan_is_pattern),  cmocka_unit_test(test_scan_of_open_text),
        cmocka_unit_test(test_small_vocabulary), cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_bad_text),         cmocka_unit_test(test_giant_words),
        cmocka_unit_test(test_blanks),           cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_long_words),       cmocka_unit_test(test_many_ids),
        cmocka_unit_test(test_many_words),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
