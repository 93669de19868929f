/* families.h: split patterns of published vocabularies, as data. Vocabularies of one family split
 * and normalize texts alike. All of them use the character classes of Unicode 16.0, as tiktoken 0.14
 * and tokenizers 0.23 do. */
#ifndef HEFT_FAMILIES_H
#define HEFT_FAMILIES_H

#include "tokens/bpe/pattern.h"
#include "tokens/bpe/vocab.h"

struct heft_family {
    const char *name;
    const char *aliases; /* other names, separated by spaces */
    const struct heft_pretokens_step *steps;
    size_t n_steps;
    bool is_scanned; /* GPT-2's pattern, which word_scan.h finds without steps */
    bool is_nfc;
    bool is_either; /* tiktoken and tokenizers read the patterns alike */
    bool is_total;  /* the only pattern matches at every character */
};

/* Returns NULL for an unknown name. */
const struct heft_family *heft_family_named(const char *name);
/* Returns the family with these steps, or NULL. */
const struct heft_family *heft_family_of(const struct heft_pretokens_step *steps, size_t n,
                                         bool is_nfc);
/* Checks the option pattern: the name of a family, or a regular expression. */
HEFT_CHECKED bool heft_family_check(const char *pattern, struct heft_error *err);
/* Checks that a regular expression matches at every character: tiktoken drops the others, which would
 * lose text. */
HEFT_CHECKED bool heft_family_check_total(struct heft_str pattern, struct heft_error *err);
/* Appends the names of all families, separated by ", ". */
void heft_family_list(struct heft_buf *out);

/* Pattern of the pre-tokenizer Digits of tokenizers. Its numeric characters are those of Unicode 17.0,
 * which the pattern adds to those of 16.0. */
#define HEFT_DIGITS_PATTERN "[\\p{N}\U00011DE0-\U00011DE9\U00016FF4-\U00016FF6]"

#endif
