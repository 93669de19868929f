/* text_sink.h: receiver of a text in pieces. Stages between a text and its pre-tokens are sinks that
 * pass it on to the next one. */
#ifndef HEFT_TEXT_SINK_H
#define HEFT_TEXT_SINK_H

#include "base/base.h"
#include "heft/tokens.h"

struct heft_text_sink {
    void *ctx;
    /* A piece of the text: valid UTF-8 of complete characters, valid until the call returns. */
    bool (*put)(void *ctx, const uint8_t *text, size_t n, struct heft_error *err);
    /* The text ends here: nothing before goes together with what follows. Then the id of an added
     * token that stood here, unless it is HEFT_NO_TOKEN; a new text may begin. */
    bool (*cut)(void *ctx, uint32_t id, struct heft_error *err);
};

#endif
