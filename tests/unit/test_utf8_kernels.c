/* test_utf8_kernels.c: what the kernel calls valid is valid, and ends with a character; it reads valid
 * text nearly to its end, and stops before each error, at any place. */
#include "base/text.h"
#include "base/processor.h"
#include "base/utf8_kernels.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { MOST = 400, LEFT = 64 };

static uint64_t random_bits(void)
{
    static uint64_t seed = 3;

    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed >> 8;
}

/* The definition: ranges of the second byte by the lead byte. Returns the length of a character; 0: it
 * is none. */
static size_t character_at(const uint8_t *p, size_t n)
{
    const uint8_t lead = p[0];
    const size_t length = lead < 0x80   ? 1
                          : lead < 0xC2 ? 0
                          : lead < 0xE0 ? 2
                          : lead < 0xF0 ? 3
                          : lead < 0xF5 ? 4
                                        : 0;
    const uint8_t low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    const uint8_t high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;

    if (length == 0 || length > n)
        return 0;
    for (size_t i = 1; i < length; i++)
        if (p[i] < (i == 1 ? low : 0x80) || p[i] > (i == 1 ? high : 0xBF))
            return 0;
    return length;
}

/* End of the valid characters at the begin. */
static size_t valid_end(const uint8_t *p, size_t n)
{
    size_t at = 0;

    for (size_t length; at < n && (length = character_at(p + at, n - at)) > 0;)
        at += length;
    return at;
}

/* The bytes are at the end of an allocation, and at different distances from multiples of 32. */
static void check(const uint8_t *bytes, size_t n)
{
    static const size_t SHIFTS[] = {0, 1, 7, 31};

    for (size_t i = 0; i < HEFT_COUNT(SHIFTS); i++) {
        uint8_t *const block = malloc(n + SHIFTS[i]), *const p = block + SHIFTS[i];
        const size_t end = valid_end(bytes, n);
        size_t part, at = 0;

        assert_non_null(block);
        memcpy(p, bytes, n);
        part = heft_utf8_valid_part(p, n);
        assert_in_range(part, 0, end);
        while (at < part)
            at += character_at(p + at, n - at);
        assert_int_equal(at, part);
        if (heft_processor_has(HEFT_HAS_AVX2) && end == n && n >= LEFT)
            assert_in_range(part, n - LEFT, n);
        assert_int_equal(heft_utf8_check((struct heft_bytes){p, n}), end);
        free(block);
    }
}

static size_t put_random(uint8_t *to)
{
    static const uint32_t LIMITS[] = {0x80, 0x800, 0xD800, 0x10000, 0x110000};
    const uint32_t c = (uint32_t)(random_bits() % LIMITS[random_bits() % HEFT_COUNT(LIMITS)]);

    return heft_utf8_put((char *)to, c >= 0xD800 && c < 0xE000 ? 0x4E00 : c);
}

static size_t make_text(uint8_t *text)
{
    const size_t most = random_bits() % (MOST - 8);
    size_t n = 0;

    while (n < most)
        n += put_random(text + n);
    return n;
}

static void test_valid_texts(void **unused)
{
    uint8_t text[MOST];

    (void)unused;
    for (unsigned round = 0; round < 5000; round++)
        check(text, make_text(text));
}

/* Each pair of bytes, and each third byte after the leads, in ASCII and in Chinese, across blocks. */
static void test_all_pairs(void **unused)
{
    uint8_t text[96 + 6];

    (void)unused;
    for (unsigned pair = 0; pair < 65536; pair++)
        for (unsigned where = 30; where <= 33; where++) {
            memset(text, 'a', sizeof text);
            text[where] = (uint8_t)(pair >> 8);
            text[where + 1] = (uint8_t)pair;
            check(text, 96);
            text[where + 2] = 0x80;
            check(text, 96);
            text[where + 3] = 0xBF;
            check(text, 96);
        }
}

/* Valid texts with a byte changed, removed or doubled. */
static void test_damaged_texts(void **unused)
{
    uint8_t text[MOST + 1];

    (void)unused;
    for (unsigned round = 0; round < 30000; round++) {
        size_t n = make_text(text), at;

        if (n == 0)
            continue;
        at = random_bits() % n;
        switch (random_bits() % 3) {
        case 0:
            text[at] = (uint8_t)random_bits();
            break;
        case 1:
            memmove(text + at, text + at + 1, --n - at);
            break;
        default:
            memmove(text + at + 1, text + at, n - at);
            n++;
        }
        check(text, n);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_valid_texts),
        cmocka_unit_test(test_all_pairs),
        cmocka_unit_test(test_damaged_texts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
