/* train_out.h: shared by the writers of a trained vocabulary. */
#ifndef HEFT_TRAIN_OUT_H
#define HEFT_TRAIN_OUT_H

#include "io/sink.h"
#include "tokens/train/train.h"

/* Characters of GPT-2's alphabet, by byte. */
struct heft_train_spelling {
    char text[256][2];
    uint8_t n[256];
};

struct heft_train_out {
    const struct heft_train_cells *cells;
    const struct heft_train_pattern *pattern;
    const char *const *specials; /* their ids follow those of the symbols */
    size_t n_specials;
    const struct heft_train_spelling *spelling; /* NULL: texts are written unchanged */
    struct heft_sink *sink;
    struct heft_buf buf;
    uint32_t file;
    uint64_t at; /* offset of the buffer in the file */
};

/* Writes the buffer if it is long enough. */
HEFT_CHECKED bool heft_train_write_full(struct heft_train_out *out, struct heft_error *err);
/* Appends a symbol in quotes. ascii: other characters are escaped. */
void heft_train_put_json(struct heft_train_out *out, uint32_t symbol, bool ascii);
/* Number of the first symbol that a merge makes. */
uint32_t heft_train_first_merge(const struct heft_train_cells *cells);
/* Contents of tokenizer.json. */
HEFT_CHECKED bool heft_train_put_tokenizer(struct heft_train_out *out, struct heft_error *err);

#endif
