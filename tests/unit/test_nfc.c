/* test_nfc.c: normalization form C as tokenizers has it: texts, each code point and random texts
 * (nfc_with.py), in pieces of any size; limits and failures. */
#include "base/checksum.h"
#include "tokens/prepare/nfc.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "failures.h"
#include "text_pieces.h"
#include "nfc_with.inc"

static void expect_pieces(struct heft_str text, struct heft_str normal, size_t least)
{
    struct kept kept = {0};
    struct heft_error err = {0};
    struct heft_nfc_stage *s = heft_nfc_stage_new(sink_of_kept(&kept), &err);
    const struct heft_text_sink sink = heft_nfc_stage_sink(s);

    assert_true(put_pieces(sink, text, least, &err));
    assert_true(sink.cut(sink.ctx, 7, &err));
    assert_int_equal(kept.out.n, normal.n + 3);
    assert_memory_equal(kept.out.p, "\xFD", 1);
    assert_memory_equal(kept.out.p + 1, normal.p, normal.n);
    assert_memory_equal(kept.out.p + 1 + normal.n, "\xFE\7", 2);
    heft_nfc_stage_free(s);
    heft_buf_release(&kept.out);
}

static void test_texts(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < HEFT_COUNT(TEXTS); i++) {
        struct heft_error err = {0};
        struct heft_buf out = {0};

        assert_true(heft_nfc_text((struct heft_str){TEXTS[i].text, TEXTS[i].n}, &out, &err));
        if (out.n != TEXTS[i].normal_n || memcmp(out.p, TEXTS[i].normal, out.n) != 0)
            fail_msg("text %zu", i);
        heft_buf_release(&out);
        for (size_t least = 1; least <= TEXTS[i].n; least++)
            expect_pieces((struct heft_str){TEXTS[i].text, TEXTS[i].n},
                          (struct heft_str){TEXTS[i].normal, TEXTS[i].normal_n}, least);
    }
}

/* Normalizes the text, and appends the result to a checksum. The result does not change again. */
static void add_normal(uint32_t *crc, const char *text, size_t n)
{
    static struct heft_buf out, again;
    struct heft_error err = {0};

    out.n = again.n = 0;
    assert_true(heft_nfc_text((struct heft_str){text, n}, &out, &err));
    assert_true(heft_nfc_text((struct heft_str){out.p, out.n}, &again, &err));
    assert_int_equal(again.n, out.n);
    assert_memory_equal(again.p, out.p, out.n);
    heft_buf_char(&out, '\n');
    *crc = heft_crc32(*crc, out.p, out.n);
}

static void test_all_points(void **unused)
{
    uint32_t alone = 0, between = 0;

    (void)unused;
    for (uint32_t c = 0; c < 0x110000; c++) {
        char text[8] = "e";
        size_t n;

        if (c >= 0xD800 && c < 0xE000)
            continue;
        n = heft_utf8_put(text + 1, c);
        add_normal(&alone, text + 1, n);
        n += 1 + heft_utf8_put(text + 1 + n, 0x334);
        add_normal(&between, text, n);
    }
    assert_int_equal(alone, ALL_POINTS);
    assert_int_equal(between, AFTER_E);
}

static size_t random_text(uint32_t *state, char *text)
{
    size_t n = 0;

    for (uint32_t count = 1 + next_random(state, 12); count > 0; count--) {
        const uint32_t i = next_random(state, HEFT_COUNT(RANGES));
        const uint32_t c =
            RANGES[i].first + next_random(state, RANGES[i].last - RANGES[i].first + 1);

        n += heft_utf8_put(text + n, c);
    }
    return n;
}

static void test_random(void **unused)
{
    (void)unused;
    for (uint32_t batch = 0; batch < HEFT_COUNT(RANDOM); batch++) {
        uint32_t state = batch, crc = 0;

        for (size_t i = 0; i < BATCH; i++) {
            char text[64];

            add_normal(&crc, text, random_text(&state, text));
        }
        assert_int_equal(crc, RANDOM[batch]);
    }
}

/* Text that is settled stays as it is between any other texts. */
static void test_settled(void **unused)
{
    uint32_t state = 3;
    size_t count = 0;

    (void)unused;
    for (size_t i = 0; i < 30000; i++) {
        struct heft_error err = {0};
        struct heft_buf whole = {0}, parts = {0};
        char text[128];
        size_t n = random_text(&state, text), from, to;

        n += random_text(&state, text + n);
        from = next_random(&state, (uint32_t)n);
        to = from + 1 + next_random(&state, (uint32_t)(n - from));
        if (!heft_nfc_is_settled((const uint8_t *)text, n, from, to))
            continue;
        while (((uint8_t)text[from] & 0xC0) == 0x80)
            from--;
        while (((uint8_t)text[to] & 0xC0) == 0x80)
            to++;
        assert_true(heft_nfc_text((struct heft_str){text, n}, &whole, &err));
        assert_true(heft_nfc_text((struct heft_str){text, from}, &parts, &err));
        heft_buf_put(&parts, text + from, to - from);
        assert_true(heft_nfc_text((struct heft_str){text + to, n - to}, &parts, &err));
        assert_int_equal(parts.n, whole.n);
        assert_memory_equal(parts.p, whole.p, whole.n);
        heft_buf_release(&whole);
        heft_buf_release(&parts);
        count++;
    }
    assert_true(count > 1000);
    assert_true(heft_nfc_is_settled((const uint8_t *)"abcd", 4, 0, 3));
    assert_false(heft_nfc_is_settled((const uint8_t *)"abcd", 4, 0, 4));
    assert_false(heft_nfc_is_settled((const uint8_t *)"e\xCC\x81x", 4, 0, 1));
}

/* A long text of all kinds of parts, in pieces of sizes about those of its parts. */
static void test_long_pieces(void **unused)
{
    static const size_t SIZES[] = {1, 2, 3, 31, 32, 33, 63, 64, 65, 255, 256, 257, 5000};
    struct heft_buf text = {0}, normal = {0};
    struct heft_error err = {0};
    uint32_t state = 1;

    (void)unused;
    while (text.n < 40000) {
        char part[64];
        const uint32_t low = next_random(&state, 400);

        for (uint32_t i = 0; i < low; i++)
            heft_buf_char(&text, (char)('a' + next_random(&state, 26)));
        heft_buf_put(&text, part, random_text(&state, part));
    }
    assert_true(heft_nfc_text((struct heft_str){text.p, text.n}, &normal, &err));
    for (size_t i = 0; i < HEFT_COUNT(SIZES); i++)
        expect_pieces((struct heft_str){text.p, text.n}, (struct heft_str){normal.p, normal.n},
                      SIZES[i]);
    heft_buf_release(&text);
    heft_buf_release(&normal);
}

/* Marks of two classes in turns: they are all sorted. */
static void test_many_marks(void **unused)
{
    struct heft_buf text = {0}, out = {0};
    struct heft_error err = {0};

    (void)unused;
    heft_buf_char(&text, 'a');
    for (size_t i = 0; i < 1 << 18; i++)
        heft_buf_text(&text, "\xCC\x81\xCC\xA3"); /* U+0301 U+0323 */
    assert_true(heft_nfc_text((struct heft_str){text.p, text.n}, &out, &err));
    assert_int_equal(out.n, text.n); /* U+1EA1 has as many bytes as a and U+0323 */
    assert_memory_equal(out.p, "\xE1\xBA\xA1\xCC\xA3", 5);
    assert_memory_equal(out.p + out.n - 4, "\xCC\x81\xCC\x81", 4);
    heft_buf_text(&text, "\xCC\x81");
    assert_false(heft_nfc_text((struct heft_str){text.p, text.n}, &out, &err));
    assert_int_equal(err.code, HEFT_LIMIT);
    heft_buf_release(&text);
    heft_buf_release(&out);
}

static void test_reset(void **unused)
{
    struct heft_error err = {0};
    struct kept kept = {0};
    struct heft_nfc_stage *s = heft_nfc_stage_new(sink_of_kept(&kept), &err);
    const struct heft_text_sink sink = heft_nfc_stage_sink(s);

    (void)unused;
    assert_true(sink.put(sink.ctx, (const uint8_t *)"xe", 2, &err));
    heft_nfc_stage_reset(s);
    assert_true(sink.put(sink.ctx, (const uint8_t *)"\xCC\x81", 2, &err));
    assert_true(sink.cut(sink.ctx, HEFT_NO_TOKEN, &err));
    assert_int_equal(kept.out.n, 6);
    assert_memory_equal(kept.out.p, "\xFDx\xCC\x81\xFE\xFF", 6);
    heft_nfc_stage_free(s);
    heft_nfc_stage_free(NULL);
    heft_buf_release(&kept.out);
}

static bool normalize_parts(void *ctx, struct heft_error *err)
{
    const struct heft_str text = *(const struct heft_str *)ctx;
    struct kept kept = {0};
    struct heft_nfc_stage *s = heft_nfc_stage_new(sink_of_kept(&kept), err);
    bool ok = s != NULL;

    if (ok) {
        const struct heft_text_sink sink = heft_nfc_stage_sink(s);

        ok = put_pieces(sink, text, 100, err) && sink.cut(sink.ctx, 1, err);
    }
    heft_nfc_stage_free(s);
    heft_buf_release(&kept.out);
    return ok;
}

static void test_failures(void **unused)
{
    struct heft_buf text = {0};
    struct heft_str s;

    (void)unused;
    for (size_t i = 0; i < 60; i++)
        heft_buf_text(&text, i % 20 ? "\xCC\x81\xCC\xA3" : "some letters e\xCC\x81, a");
    s = (struct heft_str){text.p, text.n};
    fail_each_allocation(normalize_parts, &s, 100);
    heft_buf_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts),       cmocka_unit_test(test_all_points),
        cmocka_unit_test(test_random),      cmocka_unit_test(test_settled),
        cmocka_unit_test(test_long_pieces), cmocka_unit_test(test_many_marks),
        cmocka_unit_test(test_reset),       cmocka_unit_test(test_failures),
    };

    return cmocka_run_group_tests_name("nfc", tests, NULL, NULL);
}
