/* lookalikes.h: formats that are mistaken for texts or vocabularies, recognised by their first
 * bytes. */
#ifndef HEFT_LOOKALIKES_H
#define HEFT_LOOKALIKES_H

#include "base/base.h"

/* Returns the format of a file that begins with `head`, with an article; NULL: none of these. No
 * text begins like this. */
const char *heft_stranger(struct heft_bytes head);
/* Whether it is a table of rows, of Parquet or Arrow. */
bool heft_stranger_is_table(const char *stranger);
/* Returns what a text that begins with `head` may be: "JSON lines", "WARC records"; NULL: plain
 * text. */
const char *heft_text_lookalike(struct heft_bytes head);

#endif
