/* test_vocab_usual.c: the fast reader of vocabularies in the usual spelling gives the same result
 * as the general readers; tokens marked as self-encoding encode to themselves. */
#include <stdlib.h>

#include "base/text.h"
#include "tokens/bpe/merge.h"
#include "tokens/vocab/vocab_parts.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { MERGES = 700, IDS = 256 + MERGES + 1, LONGEST = 90, GIANT = 600 };

/* Random merges of a few letters, some of which are escaped in JSON; many are never used. */
struct drawn {
    uint8_t bytes[IDS][GIANT];
    size_t n[IDS];
    uint32_t left[IDS], right[IDS];
};
static struct drawn drawn;
static uint32_t characters[256]; /* byte alphabet: code point by byte */
static uint32_t state = 1;

static uint32_t draw(uint32_t below)
{
    state = state * 1664525U + 1013904223U;
    return (state >> 8) % below;
}

static bool is_known(const struct drawn *d, uint32_t count)
{
    for (uint32_t id = 0; id < count; id++)
        if (d->n[id] == d->n[count] && memcmp(d->bytes[id], d->bytes[count], d->n[id]) == 0)
            return true;
    return false;
}

static void draw_one(struct drawn *d, uint32_t id, const uint32_t *letters, size_t n_letters)
{
    do {
        const uint32_t made = id - 256;
        uint32_t *const left = &d->left[id], *const right = &d->right[id];

        *left = made && draw(3) ? 256 + draw(made) : letters[draw((uint32_t)n_letters)];
        *right = made && draw(3) ? 256 + draw(made) : letters[draw((uint32_t)n_letters)];
        d->n[id] = d->n[*left] + d->n[*right];
        if (d->n[id] > LONGEST)
            continue;
        memcpy(d->bytes[id], d->bytes[*left], d->n[*left]);
        memcpy(d->bytes[id] + d->n[*left], d->bytes[*right], d->n[*right]);
    } while (d->n[id] > LONGEST || is_known(d, id));
}

static void draw_all(struct drawn *d)
{
    uint8_t order[256];
    uint32_t letters[8];
    size_t n = 0;

    heft_alphabet_order(order);
    for (uint32_t c = 0; c < HEFT_ALPHABET_ROOM; c++)
        if (heft_alphabet_byte(c) >= 0)
            characters[heft_alphabet_byte(c)] = c;
    for (uint32_t id = 0; id < 256; id++) {
        d->bytes[id][0] = order[id];
        d->n[id] = 1;
        if (strchr(" ab\"\\/\xe9", order[id]) && order[id])
            letters[n++] = id;
    }
    for (uint32_t id = 256; id < IDS - 1; id++)
        draw_one(d, id, letters, n);
}

static void put_word(struct heft_buf *b, const uint8_t *p, size_t n, bool json, bool ascii)
{
    struct heft_buf word = {0};

    for (size_t i = 0; i < n; i++) {
        char text[4];

        heft_buf_put(&word, text, heft_utf8_put(text, characters[p[i]]));
    }
    if (json)
        heft_buf_json(b, (struct heft_str){word.p, word.n}, ascii);
    else
        heft_buf_put(b, word.p, word.n);
    heft_buf_release(&word);
}

/* Spelling of the files. */
struct spelling {
    bool ascii, compact, reversed; /* of encoder.json; reversed: ids against the order of merges */
    bool shuffled;                 /* of merges: parts may come after the merges that use them */
    const char *newline;
    bool is_usual;
};

static uint32_t id_of(const struct spelling *s, uint32_t i)
{
    return s->reversed && i >= 256 ? IDS - 2 - (i - 256) : i;
}

static void put_item(struct heft_buf *b, const struct spelling *s, uint32_t i)
{
    put_word(b, drawn.bytes[i], drawn.n[i], true, s->ascii);
    heft_buf_printf(b, s->compact ? ":%u," : ": %u, ", id_of(s, i));
}

static void spell(const struct spelling *s, struct heft_buf *ids, struct heft_buf *merges)
{
    const char *const end = s->compact ? "\"<|endoftext|>\":%u" : "\"<|endoftext|>\": %u";

    heft_buf_char(ids, '{');
    if (!s->is_usual) { /* the highest id is not the last: left to the general reader */
        heft_buf_printf(ids, end, IDS - 1);
        heft_buf_char(ids, ',');
    }
    for (uint32_t i = 0; i < IDS - 1; i++)
        put_item(ids, s, i);
    if (s->is_usual)
        heft_buf_printf(ids, end, IDS - 1);
    else
        ids->n -= s->compact ? 1 : 2;
    heft_buf_char(ids, '}');
    heft_buf_printf(merges, "#version: 0.2%s", s->newline);
    for (uint32_t k = 256; k < IDS - 1; k++) {
        /* each merge once: 223 and MERGES are coprime */
        const uint32_t i = s->shuffled ? 256 + (k - 256) * 223 % MERGES : k;

        put_word(merges, drawn.bytes[drawn.left[i]], drawn.n[drawn.left[i]], false, false);
        heft_buf_char(merges, ' ');
        put_word(merges, drawn.bytes[drawn.right[i]], drawn.n[drawn.right[i]], false, false);
        heft_buf_text(merges, s->newline);
    }
}

static struct heft_bytes bytes_of(const struct heft_buf *b)
{
    return (struct heft_bytes){(const uint8_t *)b->p, b->n};
}

/* Returns true if the fast reader accepts the files. */
static bool is_read_so(const struct heft_buf *ids, const struct heft_buf *merges)
{
    struct heft_error err = {0};
    struct heft_vocab v = {.end = HEFT_NO_TOKEN};
    struct heft_vocab_reading r = {.v = &v, .err = &err, .least_special = HEFT_NO_TOKEN};
    bool ok;

    for (uint32_t c = 0; c < HEFT_ALPHABET_ROOM; c++)
        r.bytes[c] = (int16_t)heft_alphabet_byte(c);
    ok = heft_vocab_usual_ids(&r, bytes_of(ids)) && heft_vocab_usual_merges(&r, bytes_of(merges));
    assert_int_equal(err.code, HEFT_OK);
    heft_vocab_ids_release(&r.ids);
    heft_arena_release(&v.mem);
    return ok;
}

static struct heft_vocab *open_so(const struct spelling *s)
{
    struct heft_buf ids = {0}, merges = {0};
    struct heft_error err = {0};
    struct heft_vocab *v;

    spell(s, &ids, &merges);
    assert_int_equal(is_read_so(&ids, &merges), s->is_usual);
    v = heft_vocab_from(bytes_of(&merges), bytes_of(&ids), NULL, &err);
    if (!v)
        fail_msg("%s", err.text);
    heft_buf_release(&ids);
    heft_buf_release(&merges);
    return v;
}

static void expect_drawn(const struct heft_vocab *v, const struct spelling *s)
{
    assert_int_equal(v->n_ids, IDS);
    assert_int_equal(v->n_merges, MERGES);
    assert_int_equal(v->end, IDS - 1);
    for (uint32_t i = 0; i < IDS - 1; i++) {
        const struct heft_str token = v->tokens[id_of(s, i)];

        assert_int_equal(token.n, drawn.n[i]);
        assert_memory_equal(token.p, drawn.bytes[i], token.n);
    }
    for (uint32_t i = 0; i < MERGES; i++) {
        assert_int_equal(v->merges[i].left, id_of(s, drawn.left[256 + i]));
        assert_int_equal(v->merges[i].right, id_of(s, drawn.right[256 + i]));
        assert_int_equal(v->merges[i].id, id_of(s, 256 + i));
    }
}

/* Checks each token by merging its bytes. If merges are shuffled, some tokens that encode to
 * themselves are not marked as such. */
static void expect_self_encoding(const struct heft_vocab *v, bool is_shuffled)
{
    struct heft_merger merger = {0};
    struct heft_error err = {0};
    uint32_t ids[GIANT];
    size_t count, n_self = 0;

    for (uint32_t id = 0; id < v->n_ids; id++) {
        const struct heft_str token = v->tokens[id];

        if (id == v->end)
            continue;
        assert_true(heft_merge_word(&merger, v->pairs, (const uint8_t *)token.p, token.n, ids,
                                    &count, &err));
        if (heft_vocab_is_self_encoding(v, id))
            assert_true(count == 1 && ids[0] == id);
        else
            assert_true(count > 1 || is_shuffled);
        n_self += heft_vocab_is_self_encoding(v, id);
    }
    assert_in_range(n_self, 257, IDS - 50); /* both kinds occurred */
    assert_false(v->is_self_encoding || heft_vocab_is_self_encoding(v, v->end));
    heft_merger_release(&merger);
}

static void test_spellings(void **unused)
{
    static const struct spelling spellings[] = {
        {true, false, false, false, "\n", true},   {true, true, false, false, "\n", true},
        {false, true, false, false, "\n", true},   {false, false, true, false, "\n", true},
        {true, false, true, false, "\n", true},    {true, false, false, false, "\r\n", false},
        {false, true, true, false, "\r\n", false},
    };

    (void)unused;
    for (unsigned round = 0; round < 2; round++) {
        draw_all(&drawn);
        for (size_t i = 0; i < HEFT_COUNT(spellings); i++) {
            struct heft_vocab *v = open_so(&spellings[i]);

            expect_drawn(v, &spellings[i]);
            expect_self_encoding(v, false);
            heft_vocab_close(v);
        }
    }
}

static void test_any_order(void **unused)
{
    const struct spelling s = {true, false, false, true, "\n", true};

    (void)unused;
    for (unsigned round = 0; round < 10; round++) {
        struct heft_vocab *v;

        draw_all(&drawn);
        v = open_so(&s);
        expect_self_encoding(v, true);
        heft_vocab_close(v);
    }
}

/* A vocabulary in the usual spelling with one error is left to the general reader, which reports
 * it. */
static void expect_wrong(const char *item, const char *line, const char *message)
{
    struct heft_buf ids = {0}, merges = {0};
    struct heft_error err = {0};
    struct heft_vocab *v;
    const struct spelling usual = {true, false, false, false, "\n", true};

    spell(&usual, &ids, &merges);
    ids.n -= sizeof "\"<|endoftext|>\": 956}" - 1;
    heft_buf_printf(&ids, "%s\"<|endoftext|>\": %u}", item, IDS);
    heft_buf_text(&merges, line);
    assert_false(is_read_so(&ids, &merges));
    v = heft_vocab_from(bytes_of(&merges), bytes_of(&ids), NULL, &err);
    if (message ? v || !strstr(err.text, message) : !v)
        fail_msg("%s %s: %s", item, line, err.text);
    heft_vocab_close(v);
    heft_buf_release(&ids);
    heft_buf_release(&merges);
}

static void test_wrong(void **unused)
{
    char word[GIANT + 8] = "";

    (void)unused;
    draw_all(&drawn);
    expect_wrong("\"a\": 956, ", "", "a token has id 64 and id 956");
    expect_wrong("\"zz\": 300, ", "", "belongs to another token");
    expect_wrong("\"zz\": 958, ", "", NULL);
    expect_wrong("\"zz\": 0300, ", "", "");
    expect_wrong("\"\\u00zz\": 956, ", "", "");
    expect_wrong("\"z\xff\": 956, ", "", "not valid UTF-8");
    expect_wrong("\"z\": 12345678, ", "", "below 2^20");
    expect_wrong("", "z z\n", "result of a merge has no id");
    expect_wrong("", "a b", NULL); /* a last line without a line feed is ignored */
    expect_wrong("", "a\n", "expected a merge: two words");
    expect_wrong("", "a b c\n", "expected a merge: two words");
    expect_wrong("", "a \xc4\n", "not valid UTF-8");
    expect_wrong("", "\n", NULL);
    memset(word, 'x', GIANT);
    strcpy(word + GIANT, " x\n");
    expect_wrong("", word, "neither a byte nor the result of an earlier merge");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spellings),
        cmocka_unit_test(test_any_order),
        cmocka_unit_test(test_wrong),
    };

    return cmocka_run_group_tests_name("vocab_usual", tests, NULL, NULL);
}
