/* nfc_composer.h: canonical decomposition, ordering and composition of characters, one after
 * another. It keeps one starter and its marks. */
#ifndef HEFT_NFC_COMPOSER_H
#define HEFT_NFC_COMPOSER_H

#include "base/mem.h"

#define HEFT_NFC_MARKS (1 << 19) /* limit of the marks of one character: 1 MiB, 2 bytes each */

struct heft_nfc_composer {
    uint32_t starter; /* 0: none; U+0000 is written at once, nothing composes with it */
    uint32_t *marks;  /* class << 24 | character, in the order of the text; on the heap */
    uint32_t *sorted; /* room for as many, to sort them */
    size_t n, cap, sorted_cap;
};

/* Appends to `out` what cannot change any more. HEFT_LIMIT for too many marks. */
HEFT_CHECKED bool heft_nfc_composer_put(struct heft_nfc_composer *c, uint32_t point,
                                        struct heft_buf *out, struct heft_error *err);
/* Appends the rest: the next character cannot change it. */
HEFT_CHECKED bool heft_nfc_composer_flush(struct heft_nfc_composer *c, struct heft_buf *out,
                                          struct heft_error *err);
void heft_nfc_composer_reset(struct heft_nfc_composer *c);
void heft_nfc_composer_release(struct heft_nfc_composer *c);

#endif
