/* test_token_trie.c: longest token that starts a text, found by the trie and by comparison with
 * every token. */
#include <stdio.h>

#include "tokens/bpe/token_trie.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "failures.h"

#define TOKENS  400
#define LONGEST 9

static uint32_t state = 11;

static uint32_t any(uint32_t below)
{
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % below;
}

struct set {
    char bytes[TOKENS][LONGEST];
    size_t sizes[TOKENS];
    size_t n;
};

static struct heft_str token(const struct set *set, size_t i)
{
    return (struct heft_str){set->bytes[i], set->sizes[i]};
}

/* Fills a token with random bytes; `kinds` of them share each bit in the bitmaps of the trie. */
static void random_bytes(char *to, size_t n, unsigned kinds)
{
    for (size_t i = 0; i < n; i++)
        to[i] = (char)(uint8_t)(any(kinds) * 64 + any(3));
}

static bool has(const struct set *set, struct heft_str wanted)
{
    for (size_t i = 0; i < set->n; i++)
        if (heft_str_eq(token(set, i), wanted))
            return true;
    return false;
}

static void make_set(struct set *set, unsigned kinds)
{
    set->n = 0;
    for (unsigned tries = 0; tries < 2 * TOKENS && set->n < TOKENS; tries++) {
        const size_t n = 2 + any(LONGEST - 1);

        random_bytes(set->bytes[set->n], n, kinds);
        set->sizes[set->n] = n;
        if (!has(set, token(set, set->n)))
            set->n++;
    }
}

static struct heft_trie_match longest(const struct set *set, const uint8_t *text, size_t n)
{
    struct heft_trie_match best = {text[0], 1};

    for (uint32_t i = 0; i < set->n; i++)
        if (set->sizes[i] <= n && set->sizes[i] > best.length &&
            memcmp(set->bytes[i], text, set->sizes[i]) == 0)
            best = (struct heft_trie_match){256 + i, (uint32_t)set->sizes[i]};
    return best;
}

static struct heft_lock *lock;

/* Tokens of the set as an array of strings; static, reused by the next call. */
static const struct heft_str *words_of(const struct set *set)
{
    static struct heft_str words[TOKENS];

    for (size_t i = 0; i < set->n; i++)
        words[i] = token(set, i);
    return words;
}

static bool build(struct heft_trie *trie, const struct set *set, struct heft_error *err)
{
    size_t nodes = 0;
    bool ok;

    for (size_t i = 0; i < set->n; i++)
        nodes += set->sizes[i] - 2;
    ok = heft_trie_init(trie, words_of(set), lock, set->n, nodes, err);
    for (uint32_t i = 0; i < set->n && ok; i++)
        heft_trie_add(trie, i, 256 + i);
    return ok;
}

static void test_longest(void **unused)
{
    static struct set set;

    (void)unused;
    for (unsigned round = 0; round < 200; round++) {
        struct heft_trie trie = {0};
        struct heft_error err = {0};
        char text[LONGEST + 2];

        make_set(&set, 1 + round % 4);
        assert_true(build(&trie, &set, &err));
        for (unsigned i = 0; i < 2000; i++) {
            const size_t n = 1 + any(sizeof text - 1);
            const uint8_t *const bytes = (const uint8_t *)text;
            struct heft_trie_match match, wanted;

            random_bytes(text, sizeof text, 4);
            if (any(2)) {
                const size_t which = any((uint32_t)set.n);

                memcpy(text, set.bytes[which], set.sizes[which]);
            }
            match = heft_trie_longest(&trie, bytes, n, false);
            wanted = longest(&set, bytes, n);
            assert_int_equal(match.code, wanted.code);
            assert_int_equal(match.length, wanted.length);
        }
        heft_trie_release(&trie);
    }
}

/* Nodes are created only along the path of a text that is looked up. */
static void test_nodes_are_created_on_demand(void **unused)
{
    static struct set set = {.bytes = {"abcd", "abce", "xyzw"}, .sizes = {4, 4, 4}, .n = 3};
    static const struct {
        const char *text;
        uint32_t nodes;
    } steps[] = {{"ab", 1}, {"abx", 1}, {"abc", 2}, {"abcd", 4}, {"abce", 4}, {"xyzw", 6}};
    struct heft_trie trie = {0};
    struct heft_error err = {0};

    (void)unused;
    assert_true(build(&trie, &set, &err));
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        heft_trie_longest(&trie, (const uint8_t *)steps[i].text, strlen(steps[i].text), false);
        assert_int_equal(trie.n_nodes, steps[i].nodes);
    }
    heft_trie_release(&trie);
}

/* All tokens differ within their first two bytes, so that each has a path of its own: the maximum
 * number of nodes. */
static void test_maximum_of_nodes(void **unused)
{
    static struct set set;
    struct heft_trie trie = {0};
    struct heft_error err = {0};

    (void)unused;
    for (set.n = 0; set.n < TOKENS; set.n++) {
        memset(set.bytes[set.n], 'x', LONGEST);
        set.bytes[set.n][0] = (char)(uint8_t)(set.n / 256);
        set.bytes[set.n][1] = (char)(uint8_t)set.n;
        set.sizes[set.n] = LONGEST;
    }
    assert_true(build(&trie, &set, &err));
    for (uint32_t i = 0; i < TOKENS; i++)
        assert_int_equal(
            heft_trie_longest(&trie, (const uint8_t *)set.bytes[i], LONGEST, false).code, 256 + i);
    heft_trie_release(&trie);
}

static void test_no_memory(void **unused)
{
    static struct set set;

    (void)unused;
    make_set(&set, 2);
    for (struct failures fail = {.most = 20}; !fail.done;) {
        struct heft_trie trie = {0};
        struct heft_error err;

        FAIL_ALLOCATION(&fail, build(&trie, &set, &err), &err);
        heft_trie_release(&trie);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_longest),
        cmocka_unit_test(test_nodes_are_created_on_demand),
        cmocka_unit_test(test_maximum_of_nodes),
        cmocka_unit_test(test_no_memory),
    };
    struct heft_error err = {0};
    int failed;

    lock = heft_lock_new(&err);
    if (!lock)
        return 1;
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    heft_lock_free(lock);
    return failed;
}
