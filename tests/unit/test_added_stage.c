/* test_added_stage.c: added tokens in random texts as tokenizers finds them (added_with.py), in
 * pieces of any size, before and after normalization; white space that is stripped; failures. */
#include "base/checksum.h"
#include "tokens/prepare/added_tokens.h"
#include "tokens/prepare/nfc.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "failures.h"
#include "text_pieces.h"
#include "added_with.inc"

/* The stages of a set, from last to first. */
struct stages {
    struct heft_buf normal[32]; /* texts of tokens that are searched in normalized text */
    struct heft_added_search *raw, *normalized;
    struct heft_added_stage *last, *first;
    struct heft_nfc_stage *nfc;
    struct heft_text_sink sink;
};

static struct heft_added_search *new_search(struct stages *s, size_t set, bool is_normalized,
                                            struct heft_error *err)
{
    struct heft_added_token tokens[32];
    size_t n = 0;

    for (size_t i = 0; i < 32 && SETS[set].tokens[i].text; i++) {
        const unsigned flags = SETS[set].tokens[i].flags;
        struct heft_str text = heft_str_of(SETS[set].tokens[i].text);

        if (!(flags & NORMAL) == is_normalized)
            continue;
        if (is_normalized && SETS[set].flags & NFC) {
            if (!heft_nfc_text(text, &s->normal[i], err))
                return NULL;
            text = (struct heft_str){s->normal[i].p, s->normal[i].n};
        }
        tokens[n++] = (struct heft_added_token){.text = text,
                                                .id = (uint32_t)i,
                                                .strips_left = flags & LEFT,
                                                .strips_right = flags & RIGHT,
                                                .is_single_word = flags & WORD};
    }
    return heft_added_search_new(tokens, n, err);
}

static bool open_stages(struct stages *s, size_t set, struct kept *kept, struct heft_error *err)
{
    *s = (struct stages){.raw = new_search(s, set, false, err)};
    s->normalized = s->raw ? new_search(s, set, true, err) : NULL;
    s->last = s->normalized ? heft_added_stage_new(s->normalized, sink_of_kept(kept), err) : NULL;
    if (!s->last)
        return false;
    s->sink = heft_added_stage_sink(s->last);
    if (SETS[set].flags & NFC) {
        s->nfc = heft_nfc_stage_new(s->sink, err);
        if (!s->nfc)
            return false;
        s->sink = heft_nfc_stage_sink(s->nfc);
    }
    s->first = heft_added_stage_new(s->raw, s->sink, err);
    if (s->first)
        s->sink = heft_added_stage_sink(s->first);
    return s->first != NULL;
}

static void close_stages(struct stages *s)
{
    heft_added_stage_free(s->first);
    heft_nfc_stage_free(s->nfc);
    heft_added_stage_free(s->last);
    heft_added_search_free(s->raw);
    heft_added_search_free(s->normalized);
    for (size_t i = 0; i < 32; i++)
        heft_buf_release(&s->normal[i]);
}

static void random_text(size_t set, uint32_t *state, struct heft_buf *text)
{
    uint32_t parts = 0;

    while (SETS[set].parts[parts])
        parts++;
    text->n = 0;
    for (uint32_t count = 1 + next_random(state, 16); count > 0; count--)
        heft_buf_text(text, SETS[set].parts[next_random(state, parts)]);
}

static bool is_skipped(size_t set, size_t text)
{
    for (size_t i = 0; SETS[set].skipped[i]; i++)
        if (SETS[set].skipped[i] == text + 1)
            return true;
    return false;
}

/* The results of all texts of a set in pieces of at least `least` bytes. */
static uint32_t checksum_set(size_t set, size_t least)
{
    struct kept kept = {0};
    struct heft_error err = {0};
    struct stages s;
    struct heft_buf text = {0};
    uint32_t state = (uint32_t)set, crc = 0;

    assert_true(open_stages(&s, set, &kept, &err));
    for (size_t i = 0; i < TEXTS; i++) {
        kept = (struct kept){.out = {.p = kept.out.p, .cap = kept.out.cap}};
        random_text(set, &state, &text);
        assert_true(put_pieces(s.sink, (struct heft_str){text.p, text.n}, least, &err));
        assert_true(s.sink.cut(s.sink.ctx, HEFT_NO_TOKEN, &err));
        assert_memory_equal(kept.out.p + kept.out.n - 2, "\xFE\xFF", 2);
        kept.out.p[kept.out.n - 2] = (char)0xFF;
        if (!is_skipped(set, i))
            crc = heft_crc32(crc, kept.out.p, kept.out.n - 1);
    }
    close_stages(&s);
    heft_buf_release(&kept.out);
    heft_buf_release(&text);
    return crc;
}

static void test_random(void **unused)
{
    static const size_t SIZES[] = {100000, 1, 2, 3, 5, 8, 13, 40};

    (void)unused;
    for (size_t set = 0; set < HEFT_COUNT(SETS); set++)
        for (size_t i = 0; i < HEFT_COUNT(SIZES); i++)
            if (checksum_set(set, SIZES[i]) != SETS[set].crc)
                fail_msg("set %zu, pieces of %zu bytes", set, SIZES[i]);
}

static const struct heft_added_token STRIPPING[] = {
    {.text = {"<l>", 3}, .id = 1, .strips_left = true},
    {.text = {"<r>", 3}, .id = 2, .strips_right = true},
    {.text = {"<w>", 3}, .id = 3, .is_single_word = true},
};

struct one {
    struct kept kept;
    struct heft_added_search *search;
    struct heft_added_stage *stage;
    struct heft_text_sink sink;
};

static void open_one(struct one *one, const struct heft_added_token *tokens, size_t n)
{
    struct heft_error err = {0};

    *one = (struct one){.search = heft_added_search_new(tokens, n, &err)};
    assert_non_null(one->search);
    one->stage = heft_added_stage_new(one->search, sink_of_kept(&one->kept), &err);
    assert_non_null(one->stage);
    one->sink = heft_added_stage_sink(one->stage);
}

static void close_one(struct one *one, const char *expected, size_t n)
{
    struct heft_error err = {0};

    assert_true(one->sink.cut(one->sink.ctx, HEFT_NO_TOKEN, &err));
    assert_int_equal(one->kept.out.n, n);
    assert_memory_equal(one->kept.out.p, expected, n);
    heft_added_stage_free(one->stage);
    heft_added_search_free(one->search);
    heft_buf_release(&one->kept.out);
}

#define CLOSE_ONE(one, expected) close_one(one, expected, sizeof(expected) - 1)

/* White space of 1 MiB on both sides of tokens, in pieces of 7 bytes and whole. */
static void test_long_space(void **unused)
{
    static const size_t pieces[] = {7, (size_t)1 << 22};

    (void)unused;
    for (size_t k = 0; k < HEFT_COUNT(pieces); k++) {
        struct heft_buf text = {0};
        struct heft_error err = {0};
        struct one one;

        heft_buf_text(&text, "a");
        for (size_t i = 0; i < 1 << 18; i++)
            heft_buf_text(&text, "\xE3\x80\x80\n");
        heft_buf_text(&text, "<l>b<r>");
        for (size_t i = 0; i < 1 << 20; i++)
            heft_buf_char(&text, '\t');
        heft_buf_text(&text, "c <w>");
        open_one(&one, STRIPPING, HEFT_COUNT(STRIPPING));
        assert_true(put_pieces(one.sink, (struct heft_str){text.p, text.n}, pieces[k], &err));
        CLOSE_ONE(&one, "\xFD"
                        "a\xFE\1\xFD"
                        "b\xFE\2\xFD"
                        "c \xFE\3\xFE\xFF");
        heft_buf_release(&text);
    }
}

static void test_limit(void **unused)
{
    struct heft_error err = {0};
    struct heft_buf spaces = {0};
    struct one one;
    bool ok = true;

    (void)unused;
    for (size_t i = 0; i < 1 << 20; i++)
        heft_buf_char(&spaces, ' ');
    open_one(&one, STRIPPING, 1);
    for (size_t i = 0; i < 64; i++)
        assert_true(one.sink.put(one.sink.ctx, (const uint8_t *)spaces.p, spaces.n, &err));
    ok = one.sink.put(one.sink.ctx, (const uint8_t *)spaces.p, spaces.n, &err);
    assert_false(ok);
    assert_int_equal(err.code, HEFT_LIMIT);
    heft_added_stage_reset(one.stage);
    assert_true(one.sink.put(one.sink.ctx, (const uint8_t *)"b", 1, &err));
    CLOSE_ONE(&one, "\xFD"
                    "b\xFE\xFF");
    heft_buf_release(&spaces);
}

/* An id from outside is passed on after what was held; the next text begins anew. */
static void test_cuts(void **unused)
{
    struct heft_error err = {0};
    struct one one;

    (void)unused;
    open_one(&one, STRIPPING, HEFT_COUNT(STRIPPING));
    assert_true(put_pieces(one.sink, heft_str_of("a <r>"), 100, &err));
    assert_true(one.sink.cut(one.sink.ctx, 9, &err));
    assert_true(put_pieces(one.sink, heft_str_of(" x<"), 100, &err));
    assert_true(one.sink.cut(one.sink.ctx, 8, &err));
    assert_true(put_pieces(one.sink, heft_str_of("l><w> "), 100, &err));
    assert_true(one.sink.cut(one.sink.ctx, 7, &err));
    assert_true(put_pieces(one.sink, heft_str_of("<l"), 100, &err));
    heft_added_stage_reset(one.stage);
    assert_true(put_pieces(one.sink, heft_str_of("><w>"), 100, &err));
    CLOSE_ONE(&one, "\xFD"
                    "a \xFE\2\xFE\11\xFD x<\xFE\10\xFDl>\xFE\3\xFD \xFE\7\xFD>\xFE\3\xFE\xFF");
    heft_added_stage_free(NULL);
    heft_added_search_free(NULL);
}

static bool search_parts(void *ctx, struct heft_error *err)
{
    const size_t set = *(const size_t *)ctx;
    struct kept kept = {0};
    struct heft_buf text = {0};
    struct stages s;
    uint32_t state = 3;
    bool ok = open_stages(&s, set, &kept, err);

    for (size_t i = 0; ok && i < 5; i++) {
        random_text(set, &state, &text);
        ok = heft_buf_ok(&text, err) &&
             put_pieces(s.sink, (struct heft_str){text.p, text.n}, 3, err) &&
             s.sink.cut(s.sink.ctx, HEFT_NO_TOKEN, err);
    }
    close_stages(&s);
    heft_buf_release(&kept.out);
    heft_buf_release(&text);
    return ok;
}

static void test_failures(void **unused)
{
    static const size_t FAILING[] = {1, 4, 10};

    (void)unused;
    for (size_t i = 0; i < HEFT_COUNT(FAILING); i++) {
        size_t set = FAILING[i];

        fail_each_allocation(search_parts, &set, 100);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),   cmocka_unit_test(test_long_space),
        cmocka_unit_test(test_limit),    cmocka_unit_test(test_cuts),
        cmocka_unit_test(test_failures),
    };

    return cmocka_run_group_tests_name("added_stage", tests, NULL, NULL);
}
