/* nfc.h: Unicode normalization form C with the data of Unicode 9.0, as the tokenizers library has
 * it: marks that are newer do not reorder and do not compose. */
#ifndef HEFT_NFC_H
#define HEFT_NFC_H

#include "base/text.h"
#include "tokens/prepare/text_sink.h"

/* Normalizes a whole text of valid UTF-8; appends to `out`. */
HEFT_CHECKED bool heft_nfc_text(struct heft_str text, struct heft_buf *out, struct heft_error *err);

/* Whether normalization leaves the characters of text[from, to) as they are, whatever stands before
 * and after the n bytes of valid UTF-8; from < to. May be false more often than necessary. */
bool heft_nfc_is_settled(const uint8_t *text, size_t n, size_t from, size_t to);

/* Stage: passes normalized text on to `next`. Text that is normalized already, nearly all there is,
 * is passed on in place. HEFT_LIMIT for more than 1 MiB of marks on one character. */
struct heft_nfc_stage;
struct heft_nfc_stage *heft_nfc_stage_new(struct heft_text_sink next, struct heft_error *err);
void heft_nfc_stage_free(struct heft_nfc_stage *s);
struct heft_text_sink heft_nfc_stage_sink(struct heft_nfc_stage *s);
/* Drops an unfinished text. */
void heft_nfc_stage_reset(struct heft_nfc_stage *s);

#endif
