/* text_stages.h: what happens to a text before it is split, by a vocabulary: added tokens are cut out
 * of the raw text, what is between them is normalized, and cut again by the tokens that are looked
 * for in normalized text. This is the order of the tokenizers library. */
#ifndef HEFT_TEXT_STAGES_H
#define HEFT_TEXT_STAGES_H

#include "tokens/bpe/vocab_text.h"
#include "tokens/prepare/nfc.h"

struct heft_text_stages {
    struct heft_added_stage *raw, *normalized; /* NULL: not needed */
    struct heft_nfc_stage *nfc;
    struct heft_text_sink first; /* put is NULL: there are no stages */
};

/* Builds the stages that the vocabulary needs; the last one passes the text on to `next`. special:
 * special tokens are found, too. */
HEFT_CHECKED bool heft_text_stages_init(struct heft_text_stages *s, const struct heft_vocab *v,
                                        bool special, struct heft_text_sink next,
                                        struct heft_error *err);
void heft_text_stages_release(struct heft_text_stages *s);
/* Drops an unfinished text. */
void heft_text_stages_reset(struct heft_text_stages *s);

#endif
