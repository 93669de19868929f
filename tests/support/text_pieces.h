/* text_pieces.h: a text in pieces for stages, and a receiver that keeps what comes out of them.
 * Include it after cmocka.h. */
#ifndef TEXT_PIECES_H
#define TEXT_PIECES_H

#include <stdlib.h>

#include "base/text.h"
#include "tokens/prepare/text_sink.h"
#include "tokens/unicode/utf8.h"

/* What a receiver got: texts begin with the byte 0xFD, a cut is 0xFE and the lowest byte of its id.
 * Neither is in UTF-8. */
struct kept {
    struct heft_buf out;
    bool is_text;   /* the last thing is text */
    bool is_joined; /* cuts without a token are not kept: texts before and after are one */
};

static inline bool keep_text(void *ctx, const uint8_t *text, size_t n, struct heft_error *err)
{
    struct kept *kept = ctx;

    assert_true(n > 0);
    assert_int_equal(heft_utf8_check((struct heft_bytes){text, n}), n);
    if (!kept->is_text)
        heft_buf_char(&kept->out, (char)0xFD);
    kept->is_text = true;
    heft_buf_put(&kept->out, text, n);
    return heft_buf_ok(&kept->out, err);
}

static inline bool keep_cut(void *ctx, uint32_t id, struct heft_error *err)
{
    struct kept *kept = ctx;

    if (kept->is_joined && id == HEFT_NO_TOKEN)
        return true;
    kept->is_text = false;
    heft_buf_char(&kept->out, (char)0xFE);
    heft_buf_char(&kept->out, (char)id);
    return heft_buf_ok(&kept->out, err);
}

static inline struct heft_text_sink sink_of_kept(struct kept *kept)
{
    return (struct heft_text_sink){kept, keep_text, keep_cut};
}

/* Puts a text in pieces of at least `least` bytes, each in memory of its exact size. */
static inline bool put_pieces(struct heft_text_sink sink, struct heft_str text, size_t least,
                              struct heft_error *err)
{
    bool ok = true;

    for (size_t at = 0, end; ok && at < text.n; at = end) {
        uint8_t *piece;

        for (end = at; end < text.n && end - at < least;)
            end = heft_min_size(text.n, end + heft_utf8_width((uint8_t)text.p[end]));
        piece = malloc(end - at);
        assert_non_null(piece);
        memcpy(piece, text.p + at, end - at);
        ok = sink.put(sink.ctx, piece, end - at, err);
        free(piece);
    }
    return ok;
}

/* Random numbers below n, as the scripts have them that wrote the expected checksums. */
HEFT_WRAPS static inline uint32_t next_random(uint32_t *state, uint32_t n)
{
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 8) % n;
}

#endif
