/* test_long_word.c: BPE by backtracking over tokens that do not overlap, compared with the
 * definition (one merge after the other) and with merging by a heap, on random vocabularies. */
#include <stdio.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "io/pool.h"
#include "slow_merge.h"
#include "tokens/bpe/long_word.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "failures.h"

static uint32_t state = 7;

static uint32_t any(uint32_t below)
{
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % below;
}

/* ---- vocabularies ------------------------------------------------------------------------ */

#define TOKENS  64
#define LONGEST 40

struct made {
    char tokens[TOKENS][LONGEST + 1];
    size_t n;
};

static bool is_there(const struct made *made, const char *token)
{
    for (size_t i = 0; i < made->n; i++)
        if (strcmp(made->tokens[i], token) == 0)
            return true;
    return false;
}

/* Vocabulary of random merges over the first letters of the alphabet; each merge comes after those
 * that make its parts. */
static struct heft_vocab *random_vocab(unsigned letters, size_t tokens)
{
    struct made made = {.n = letters};
    char lines[TOKENS][2 * LONGEST + 4];
    char path[] = "/tmp/long-XXXXXX", named[sizeof path + 4];
    struct heft_error err = {0};
    struct heft_vocab *v;
    size_t n_lines = 0;
    FILE *f;

    for (unsigned i = 0; i < letters; i++)
        made.tokens[i][0] = (char)('a' + i);
    for (unsigned tries = 0; tries < 1000 && made.n < tokens; tries++) {
        const char *left = made.tokens[any((uint32_t)made.n)];
        const char *right = made.tokens[any((uint32_t)made.n)];
        char token[2 * LONGEST + 1];

        if (strlen(left) + strlen(right) > LONGEST)
            continue;
        snprintf(token, sizeof token, "%s%s", left, right);
        if (is_there(&made, token))
            continue;
        snprintf(lines[n_lines++], sizeof lines[0], "%s %s\n", left, right);
        memcpy(made.tokens[made.n++], token, strlen(token) + 1);
    }
    f = fdopen(mkstemp(path), "w");
    assert_non_null(f);
    fputs("#version: 0.2\n", f);
    for (size_t i = 0; i < n_lines; i++)
        fputs(lines[i], f);
    fclose(f);
    snprintf(named, sizeof named, "%s.bpe", path);
    assert_int_equal(rename(path, named), 0);
    v = heft_vocab_open(named, &err);
    unlink(named);
    return v;
}

/* Puts the merges into a random order, which no published vocabulary has. */
static struct heft_vocab *shuffled(struct heft_vocab *v)
{
    if (!v)
        return NULL;
    v->self_encoding = NULL; /* was computed for the previous order */
    v->is_self_encoding = false;
    for (uint32_t i = v->n_merges; i > 1; i--) {
        const uint32_t other = any(i);
        const struct heft_merge merge = v->merges[i - 1];

        v->merges[i - 1] = v->merges[other];
        v->merges[other] = merge;
    }
    for (uint32_t rank = 0; rank < v->n_merges; rank++) {
        const uint64_t pair = heft_pair_of(v->merges[rank].left, v->merges[rank].right);

        *heft_pair_slot(v, pair) = pair << HEFT_ID_BITS | rank;
    }
    return v;
}

/* ---- the word in pieces ------------------------------------------------------------------ */

#define MOST 100000

struct setting {
    struct heft_vocab *v;
    struct heft_pairs pairs;
    struct heft_byte_adjacency adjacency;
    struct heft_merger merger;
    struct heft_long l;
};

static bool set_up(struct setting *s, struct heft_vocab *v)
{
    struct heft_error err = {0};

    *s = (struct setting){.v = v};
    if (!v)
        return false;
    heft_byte_adjacency_init(&s->adjacency, v);
    assert_true(heft_pairs_init(&s->pairs, v, &err));
    if (any(2)) /* a processor without vector instructions */
        s->pairs.kernel = &heft_kernel_plain;
    heft_long_init(&s->l, &s->pairs, &s->adjacency, &s->merger);
    return true;
}

static void tear_down(struct setting *s)
{
    heft_long_release(&s->l);
    heft_merger_release(&s->merger);
    heft_pairs_release(&s->pairs);
    heft_vocab_close(s->v);
}

static size_t take(const struct heft_long *l, uint32_t *ids, size_t count)
{
    assert_true(count + l->n_ids <= MOST);
    if (l->n_ids)
        memcpy(ids + count, l->ids, l->n_ids * sizeof *ids);
    return count + l->n_ids;
}

static size_t encode_in_pieces(struct heft_long *l, const uint8_t *word, size_t n, size_t most,
                               uint32_t *ids)
{
    struct heft_error err = {0};
    size_t count = 0;

    heft_long_begin(l);
    for (size_t at = 0, k; at < n; at += k) {
        k = 1 + any((uint32_t)most);
        k = k < n - at ? k : n - at;
        assert_true(heft_long_feed(l, word + at, k, &err));
        count = take(l, ids, count);
        assert_true(l->n <= 2 * HEFT_LONG_WHOLE || !l->canonical);
    }
    assert_true(heft_long_end(l, &err));
    return take(l, ids, count);
}

static void random_word(uint8_t *word, size_t n, unsigned letters)
{
    const uint32_t period = any(3) ? (uint32_t)n : 1 + any(12);

    for (size_t i = 0; i < n; i++)
        word[i] = i < period ? (uint8_t)('a' + any(letters)) : word[i - period];
}

static void check_words(struct setting *s, unsigned letters, unsigned words, size_t longest)
{
    static uint8_t word[MOST];
    static uint32_t ids[MOST], wanted[MOST];

    for (unsigned i = 0; i < words; i++) {
        const size_t n = 1 + any((uint32_t)longest);
        struct heft_error err = {0};
        size_t count, n_wanted;

        random_word(word, n, letters);
        if (n < 100)
            n_wanted = merge_slowly(s->v, word, n, wanted);
        else
            assert_true(heft_merge_word(&s->merger, &s->pairs, word, n, wanted, &n_wanted, &err));
        count = encode_in_pieces(&s->l, word, n, any(2) ? 7 : 5000, ids);
        assert_int_equal(count, n_wanted);
        assert_memory_equal(ids, wanted, count * sizeof *ids);
    }
}

static void test_random_vocabularies(void **unused)
{
    struct setting s;
    unsigned linear = 0;

    (void)unused;
    for (unsigned round = 0; round < 1500; round++) {
        const unsigned letters = 1 + any(4);

        if (!set_up(&s, random_vocab(letters, letters + 1 + any(TOKENS - 5))))
            continue;
        check_words(&s, letters, 100, 60);
        linear += s.l.canonical != NULL;
        tear_down(&s);
    }
    assert_true(linear > 1000);
}

/* If a merge comes before those that make its parts, backtracking does not apply: heft_long must
 * detect this and use the heap. */
static void test_any_order(void **unused)
{
    struct setting s;
    unsigned linear = 0, others = 0;

    (void)unused;
    for (unsigned round = 0; round < 1500; round++) {
        const unsigned letters = 1 + any(3);

        if (!set_up(&s, shuffled(random_vocab(letters, letters + 1 + any(10)))))
            continue;
        check_words(&s, letters, 100, 40);
        linear += s.l.canonical != NULL;
        others += s.l.canonical == NULL;
        tear_down(&s);
    }
    assert_true(linear > 100 && others > 100);
}

/* Words longer than one window: tokens are emitted before the end. */
static void test_very_long(void **unused)
{
    struct setting s;

    (void)unused;
    for (unsigned round = 0; round < 20; round++) {
        const unsigned letters = 1 + any(4);

        assert_true(set_up(&s, random_vocab(letters, letters + 1 + any(TOKENS - 5))));
        check_words(&s, letters, 3, MOST - 1);
        tear_down(&s);
    }
}

/* Bytes that no merge has, those of code 0 among them. */
static void test_no_merges(void **unused)
{
    static uint8_t word[3 * HEFT_LONG_WHOLE];
    static uint32_t ids[MOST];
    struct setting s;

    (void)unused;
    assert_true(set_up(&s, random_vocab(2, 3)));
    for (unsigned byte = 0; byte < 256; byte += 255) {
        memset(word, (int)byte, sizeof word);
        assert_int_equal(encode_in_pieces(&s.l, word, sizeof word, 5000, ids), sizeof word);
        assert_non_null(s.l.canonical);
        for (size_t i = 0; i < sizeof word; i++)
            assert_int_equal(ids[i], s.v->byte_ids[byte]);
    }
    tear_down(&s);
}

/* ---- several threads --------------------------------------------------------------------- */

#define WORDS  8
#define LENGTH 3000

struct crowd {
    struct setting s;
    uint8_t words[WORDS][LENGTH];
    uint32_t wanted[WORDS][LENGTH];
    size_t n[WORDS];
    atomic_uint linear; /* jobs that used backtracking */
};

static bool encode_all(void *ctx, unsigned worker, uint64_t index, struct heft_error *err)
{
    struct crowd *crowd = ctx;
    struct heft_merger merger = {0};
    struct heft_long l;
    bool ok = true;

    (void)worker;
    heft_long_init(&l, &crowd->s.pairs, &crowd->s.adjacency, &merger);
    for (size_t i = 0; i < WORDS && ok; i++) {
        const size_t k = (i + index) % WORDS;

        ok = heft_long_whole(&l, crowd->words[k], LENGTH, err) &&
             ((l.n_ids == crowd->n[k] &&
               memcmp(l.ids, crowd->wanted[k], l.n_ids * sizeof *l.ids) == 0) ||
              heft_fail(err, HEFT_MISMATCH, HEFT_NO_OFFSET, "word %zu", k));
    }
    crowd->linear += l.canonical != NULL;
    heft_long_release(&l);
    heft_merger_release(&merger);
    return ok;
}

/* All threads fill the shared cache of facts about the vocabulary at the same time. */
static void test_threads(void **unused)
{
    static struct crowd crowd;
    const struct heft_pool_work work = {encode_all, &crowd, 16, 4};
    struct heft_error err = {0};

    (void)unused;
    for (unsigned round = 0; round < 100; round++) {
        const unsigned letters = 2 + any(3);

        assert_true(set_up(&crowd.s, random_vocab(letters, TOKENS)));
        for (size_t i = 0; i < WORDS; i++) {
            random_word(crowd.words[i], LENGTH, letters);
            assert_true(heft_merge_word(&crowd.s.merger, &crowd.s.pairs, crowd.words[i], LENGTH,
                                        crowd.wanted[i], &crowd.n[i], &err));
        }
        assert_true(heft_pool_run(&work, &err));
        tear_down(&crowd.s);
    }
    assert_true(crowd.linear > 1000);
}

static void test_byte_adjacency(void **unused)
{
    struct setting s;

    (void)unused;
    assert_true(set_up(&s, random_vocab(2, 3))); /* one merge, of a and b */
    for (unsigned left = 0; left < 256; left++)
        for (unsigned right = 0; right < 256; right++) {
            const uint32_t rank = heft_vocab_pair(s.v, s.v->byte_ids[left], s.v->byte_ids[right]);

            assert_int_equal(heft_bytes_adjoin(&s.adjacency, (uint8_t)left, (uint8_t)right),
                             rank != HEFT_NO_RANK);
        }
    tear_down(&s);
}

/* Each allocation fails once: the error is reported and nothing leaks. */
static void test_no_memory(void **unused)
{
    static uint8_t word[40000];
    struct setting s;

    (void)unused;
    random_word(word, sizeof word, 2);
    for (struct failures fail = {.most = 100}; !fail.done;) {
        struct heft_error err;

        assert_true(set_up(&s, random_vocab(2, 20)));
        heft_long_begin(&s.l);
        FAIL_ALLOCATION(&fail,
                        heft_long_feed(&s.l, word, sizeof word, &err) && heft_long_end(&s.l, &err),
                        &err);
        tear_down(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_vocabularies), cmocka_unit_test(test_any_order),
        cmocka_unit_test(test_very_long),           cmocka_unit_test(test_no_merges),
        cmocka_unit_test(test_byte_adjacency),      cmocka_unit_test(test_threads),
        cmocka_unit_test(test_no_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
