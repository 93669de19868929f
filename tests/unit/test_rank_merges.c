/* test_rank_merges.c: encoding with ranks, and the merges derived from them, against the rule of
 * tiktoken: of all two neighbours whose joined bytes are a token, those of the lowest rank merge. */
#include <stdlib.h>

#include "tokens/vocab/vocab_open.h"
#include "tokens/bpe/encoder.h"
#include "tokens/bpe/ranked_tokens.h"
#include "vocab_ranks.h"
#include "text_pieces.h"

#define TOKENS 300 /* and the single bytes */
#define LONG   40  /* bytes of a token, at most */
#define WORD   60  /* bytes of a pre-token */

static struct drawn_token {
    uint8_t bytes[LONG];
    size_t n;
} drawn[256 + TOKENS];
static uint32_t n_drawn;

/* Letters of texts: of one byte, or mostly wide ones, some of which have bytes in common. */
#define LETTERS 5
static const char *const SETS[][LETTERS] = {{"a", "b", "c", "d", "e"},
                                            {"中", "丽", "文", "a", "\xf0\x9f\x98\x80"}};
static const char *const *letters;

/* Returns the rank, or HEFT_NO_TOKEN. */
static uint32_t rank_of(const uint8_t *p, size_t n)
{
    for (uint32_t i = 0; i < n_drawn; i++)
        if (drawn[i].n == n && memcmp(drawn[i].bytes, p, n) == 0)
            return i;
    return HEFT_NO_TOKEN;
}

static size_t encode_by_rule(const uint8_t *word, size_t n, uint32_t *ids)
{
    size_t at[WORD + 1], parts = n;

    for (size_t i = 0; i <= n; i++)
        at[i] = i;
    for (;;) {
        uint32_t best = HEFT_NO_TOKEN;
        size_t place = 0;

        for (size_t i = 0; i + 1 < parts; i++) {
            const uint32_t rank = rank_of(word + at[i], at[i + 2] - at[i]);

            place = rank < best ? i : place;
            best = rank < best ? rank : best;
        }
        if (best == HEFT_NO_TOKEN)
            break;
        memmove(at + place + 1, at + place + 2, (parts - place - 1) * sizeof *at);
        parts--;
    }
    for (size_t i = 0; i < parts; i++)
        ids[i] = rank_of(word + at[i], at[i + 1] - at[i]);
    return parts;
}

/* Appends a letter, or one of its bytes. */
static size_t put_letter(uint32_t *seed, uint8_t *out, bool is_byte)
{
    const char *const letter = letters[next_random(seed, LETTERS)];
    const size_t n = strlen(letter);

    if (is_byte)
        out[0] = (uint8_t)letter[next_random(seed, (uint32_t)n)];
    else
        memcpy(out, letter, n);
    return is_byte ? 1 : n;
}

/* Appends an earlier token, or a byte. */
static size_t put_token(uint32_t *seed, uint8_t *out)
{
    const uint32_t i = next_random(seed, n_drawn - 256 + LETTERS);

    if (i < LETTERS)
        return put_letter(seed, out, true);
    memcpy(out, drawn[256 + i - LETTERS].bytes, drawn[256 + i - LETTERS].n);
    return drawn[256 + i - LETTERS].n;
}

/* Adds a token of random letters, or of two earlier tokens joined. */
static void draw_token(uint32_t *seed, bool is_joined)
{
    uint8_t bytes[2 * LONG];
    size_t n = 0;

    if (is_joined) {
        n = put_token(seed, bytes);
        n += put_token(seed, bytes + n);
    } else
        for (unsigned k = 2 + next_random(seed, 6); k > 0; k--)
            n += put_letter(seed, bytes + n, false);
    if (n > LONG || rank_of(bytes, n) != HEFT_NO_TOKEN)
        return;
    memcpy(drawn[n_drawn].bytes, bytes, n);
    drawn[n_drawn++].n = n;
}

/* `joined` of eight are two tokens joined; shuffled: a token may have a lower rank than its parts. */
static void draw_tokens(uint32_t *seed, uint32_t joined, bool is_shuffled)
{
    for (n_drawn = 0; n_drawn < 256; n_drawn++) {
        drawn[n_drawn].bytes[0] = (uint8_t)n_drawn;
        drawn[n_drawn].n = 1;
    }
    for (uint32_t i = 0; i < TOKENS; i++)
        draw_token(seed, next_random(seed, 8) < joined);
    for (uint32_t i = n_drawn - 1; is_shuffled && i > 256; i--) {
        const uint32_t k = 256 + next_random(seed, i - 255);
        const struct drawn_token kept = drawn[i];

        drawn[i] = drawn[k];
        drawn[k] = kept;
    }
}

static struct heft_vocab *open_drawn(void)
{
    const struct heft_vocab_options how = {.size = sizeof how, .pattern = "\\S+|\\s+"};
    struct heft_error err = {0};
    struct heft_buf text = {0};
    struct heft_vocab *v;

    for (uint32_t i = 0; i < n_drawn; i++) {
        put_base64(&text, drawn[i].bytes, drawn[i].n);
        heft_buf_printf(&text, " %u\n", i);
    }
    v = heft_vocab_from((struct heft_bytes){(const uint8_t *)text.p, text.n},
                        (struct heft_bytes){0}, &how, &err);
    assert_non_null(v);
    heft_buf_release(&text);
    return v;
}

struct explained {
    const uint32_t *wanted;
    size_t n;
    unsigned words;
};

static bool take_explained(void *ctx, const struct heft_word *word)
{
    struct explained *const x = ctx;

    x->words++;
    assert_int_equal(word->n_ids, x->n);
    assert_memory_equal(word->ids, x->wanted, x->n * sizeof *word->ids);
    assert_int_equal(word->n_merges, word->is_whole ? 0 : word->n - x->n);
    return true;
}

/* By the derived merges. */
static void expect_explained(const struct heft_vocab *v, const uint8_t *word, size_t n,
                             const uint32_t *wanted, size_t n_wanted)
{
    struct explained x = {wanted, n_wanted, 0};
    struct heft_error err = {0};

    assert_true(heft_explain_text(v, NULL, (const char *)word, n, take_explained, &x, &err));
    assert_int_equal(x.words, 1);
}

/* A pre-token that equals a token is that token, however its bytes merge. */
static void expect_word(const struct heft_vocab *v, struct heft_encoder *e, uint32_t *seed)
{
    struct heft_error err = {0};
    uint8_t word[WORD];
    uint32_t ids[WORD], wanted[WORD];
    size_t n = 0, count, n_wanted;

    for (unsigned k = 1 + next_random(seed, WORD / 4); k > 0; k--)
        n += put_letter(seed, word + n, false);
    wanted[0] = rank_of(word, n);
    n_wanted = wanted[0] != HEFT_NO_TOKEN ? 1 : encode_by_rule(word, n, wanted);
    assert_true(heft_encode(e, word, n, ids, WORD, &count, &err));
    assert_int_equal(count, n_wanted);
    assert_memory_equal(ids, wanted, n_wanted * sizeof *ids);
    expect_explained(v, word, n, wanted, n_wanted);
}

/* Tokens that are marked encode to themselves. */
static void expect_marks(const struct heft_vocab *v)
{
    struct heft_error err = {0};
    const struct heft_vocab *const merged = heft_vocab_merged(v, &err);
    uint32_t ids[LONG], n_marked = 0;

    assert_non_null(merged);

    for (uint32_t id = 0; id < n_drawn; id++) {
        const bool is_self = encode_by_rule(drawn[id].bytes, drawn[id].n, ids) == 1;
        const bool is_marked = heft_vocab_is_self_encoding(merged, id);

        assert_true(is_self || !is_marked);
        assert_int_equal(heft_ranked_reaches(v->ranked, id), is_self);
        assert_int_equal(heft_ranked_reaches(v->ranked, id), is_self);
        n_marked += is_marked;
    }
    assert_true(n_marked > 256);
}

/* Encodes so many long words that the next ones are not merged by the heap. */
static void use_long_words(struct heft_encoder *e, uint32_t *seed)
{
    struct heft_error err = {0};
    uint8_t word[WORD];
    uint32_t ids[WORD];
    size_t count;

    for (unsigned i = 0; i < 10000; i++) {
        size_t n = 0;

        while (n < WORD - 4)
            n += put_letter(seed, word + n, false);
        assert_true(heft_encode(e, word, n, ids, WORD, &count, &err));
    }
}

static void expect_words(const struct heft_vocab *v, uint32_t *seed, bool is_used)
{
    struct heft_error err = {0};
    struct heft_encoder *const e = heft_encoder_new(v, NULL, &err);

    assert_non_null(e);
    if (is_used)
        use_long_words(e, seed);
    for (unsigned i = 0; i < 200; i++)
        expect_word(v, e, seed);
    heft_encoder_free(e);
}

/* Wide letters: long words are encoded in parts (part_cuts.h). */
static void test_at_random(void **unused)
{
    uint32_t seed = 1, other = 2;

    (void)unused;
    for (uint32_t round = 0; round < 36; round++) {
        struct heft_vocab *v;

        letters = SETS[round % 2];
        draw_tokens(&seed, round % 9, round % 4 >= 2);
        v = open_drawn();
        expect_words(v, &seed, false);
        expect_marks(v);
        expect_words(v, &other, round % 9 == 3);
        heft_vocab_close(v);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_at_random),
    };

    return cmocka_run_group_tests_name("rank_merges", tests, NULL, NULL);
}
