/* put_pieces.h: passes a text to a sink in pieces, each in memory of its own, so that a sanitizer sees
 * reads beyond one. */
#ifndef PUT_PIECES_H
#define PUT_PIECES_H

#include <stdlib.h>
#include <string.h>

#include "expect.h"
#include "tokens/prepare/text_sink.h"
#include "tokens/unicode/utf8.h"

/* Pieces of whole characters, of `most` bytes or a little more; then the end of the text, with an id. */
static inline void put_pieces(struct heft_text_sink sink, const uint8_t *text, size_t n,
                              unsigned most, uint32_t id)
{
    struct heft_error err = {0};

    for (size_t at = 0, end; at < n; at = end) {
        uint8_t *piece;

        for (end = at; end < n && end - at < most;)
            end += heft_utf8_width(text[end]);
        piece = malloc(end - at);
        expect(piece != NULL);
        memcpy(piece, text + at, end - at);
        expect_success(sink.put(sink.ctx, piece, end - at, &err), &err);
        free(piece);
    }
    expect_success(sink.cut(sink.ctx, id, &err), &err);
}

#endif
