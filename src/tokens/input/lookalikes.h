/* lookalikes.h: files that are taken for texts or vocabularies and are neither, known by their first bytes. */
#ifndef HEFT_LOOKALIKES_H
#define HEFT_LOOKALIKES_H

#include "base/base.h"

#define HEFT_LOOKALIKE_HEAD 512 /* bytes that are enough */

/* What a file that begins so is, with an article; NULL: none of those. No text begins so. */
const char *heft_stranger(struct heft_bytes head);
/* What a text that begins so may be beside a text: "JSON lines", "WARC records"; NULL: nothing else. */
const char *heft_text_lookalike(struct heft_bytes head);

#endif
