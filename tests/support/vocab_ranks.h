/* vocab_ranks.h: rank files in memory, and the expected ids of texts. */
#ifndef HEFT_TEST_VOCAB_RANKS_H
#define HEFT_TEST_VOCAB_RANKS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tokens/bpe/vocab.h"

static inline void put_base64(struct heft_buf *b, const uint8_t *p, size_t n)
{
    static const char DIGITS[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    for (size_t i = 0; i < n; i += 3) {
        const uint32_t bits = (uint32_t)p[i] << 16 | (i + 1 < n ? (uint32_t)p[i + 1] << 8 : 0) |
                              (i + 2 < n ? p[i + 2] : 0U);

        for (unsigned k = 0; k < 4; k++)
            heft_buf_char(b, i + k > n ? '=' : DIGITS[bits >> (18 - 6 * k) & 63]);
    }
}

/* Writes ranks of all bytes but `without`, then `extra`. */
static inline void put_ranks(struct heft_buf *b, unsigned without, const char *extra)
{
    for (unsigned byte = 0; byte < 256; byte++) {
        const uint8_t p = (uint8_t)byte;

        if (byte == without)
            continue;
        put_base64(b, &p, 1);
        heft_buf_printf(b, " %u\n", byte);
    }
    heft_buf_text(b, extra);
}

static inline void expect_ids(const struct heft_vocab *v, const char *text, const uint32_t *wanted,
                              size_t n)
{
    struct heft_error err = {0};
    struct heft_encoder *e = heft_encoder_new(v, NULL, &err);
    uint32_t ids[64];
    size_t count;

    assert_non_null(e);
    assert_true(heft_encode(e, text, strlen(text), ids, 64, &count, &err));
    assert_int_equal(count, n);
    assert_memory_equal(ids, wanted, n * sizeof *ids);
    heft_encoder_free(e);
}

#define EXPECT_IDS(v, text, ...)                                                                   \
    expect_ids(v, text, (const uint32_t[]){__VA_ARGS__},                                           \
               sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

#endif
