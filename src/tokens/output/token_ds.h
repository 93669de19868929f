/* token_ds.h: the description beside datatrove's .ds, as its TokenizedFile writes it:
 *
 *     NAME|2\n           the tokenizer, and bytes of an id
 *     1234567\n          tokens
 *     1.23 MT            the same as humanize.metric(tokens, unit="T") prints it; no newline */
#ifndef HEFT_TOKEN_DS_H
#define HEFT_TOKEN_DS_H

#include "base/mem.h"

/* Appends the description to a buffer, whose errors are sticky. The name is that of the tokenizer;
 * NULL: unknown. */
void heft_ds_metadata(struct heft_buf *to, const char *name, unsigned width, uint64_t tokens);

#endif
