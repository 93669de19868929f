/* vocab_json.h: a tokenizer.json while it is read: shared by its readers.
 *
 *     vocab_json.c       the document, the model
 *     vocab_pipeline.c   normalizer, pre_tokenizer, post_processor, decoder
 *     vocab_added.c      added_tokens
 *     vocab_model.c      the model's tokens and merges → the vocabulary */
#ifndef HEFT_VOCAB_JSON_H
#define HEFT_VOCAB_JSON_H

#include "tokens/vocab/vocab_parts.h"

struct heft_vocab_document {
    struct heft_vocab_reading *r;
    struct heft_json json;
    struct heft_listing vocab;  /* model.vocab */
    struct heft_listing listed; /* added_tokens, by index those of r->v->added */
    struct heft_bytes merges;   /* the text of the array of merges, including brackets */
    bool ignore_merges, byte_fallback;
    struct heft_pretokens_step steps[HEFT_PRETOKENS_STEPS];
    size_t n_steps;
    bool is_nfc;
    bool has_bytes;      /* a byte-level pre-tokenizer or decoder was seen */
    bool has_byte_level; /* the byte-level pre-tokenizer, which must be the last, was seen */
    bool has_decoder;
    bool is_tekken; /* the document is a tekken.json, not a tokenizer.json */
    char path[160]; /* names of the current value and its containers, joined by dots */
    size_t path_n;
};

/* A member of an object: its name, and the reader of its value, whose first token is `token`. */
struct heft_vocab_member {
    const char *name;
    bool (*read)(struct heft_vocab_document *d, enum heft_json_token token);
};
#define HEFT_MOST_MEMBERS 16
/* Reads the members of an object after its opening brace. Refuses unknown names; a name that occurs
 * twice is malformed. */
HEFT_CHECKED bool heft_document_members(struct heft_vocab_document *d,
                                        const struct heft_vocab_member *members, size_t n);
/* Appends a name to the path; returns the length to which heft_document_leave resets it. */
size_t heft_document_enter(struct heft_vocab_document *d, struct heft_str name);
size_t heft_document_enter_index(struct heft_vocab_document *d, size_t index);
void heft_document_leave(struct heft_vocab_document *d, size_t length);
/* Skips the rest of a value whose first token is `token`. */
HEFT_CHECKED bool heft_document_pass(struct heft_vocab_document *d, enum heft_json_token token);

/* Refuses to encode texts. Records the first refusal, which is the most informative. is_fatal: ids
 * cannot be decoded, either; returns false. */
HEFT_CHECKED bool heft_document_refuse(struct heft_vocab_document *d, uint64_t where,
                                       const char *what, bool is_fatal);
/* The same for the value at d->path, which is named with its text; then skips the value. */
HEFT_CHECKED bool heft_document_refuse_value(struct heft_vocab_document *d,
                                             enum heft_json_token token, bool is_fatal);
/* Reads true or false. Other values are refused. */
HEFT_CHECKED bool heft_document_bool(struct heft_vocab_document *d, enum heft_json_token token,
                                     bool *out);

/* ---- vocab_pipeline.c -------------------------------------------------------------------- */

HEFT_CHECKED bool heft_document_normalizer(struct heft_vocab_document *d,
                                           enum heft_json_token token);
HEFT_CHECKED bool heft_document_pre_tokenizer(struct heft_vocab_document *d,
                                              enum heft_json_token token);
HEFT_CHECKED bool heft_document_post_processor(struct heft_vocab_document *d,
                                               enum heft_json_token token);
HEFT_CHECKED bool heft_document_decoder(struct heft_vocab_document *d, enum heft_json_token token);
/* Refuses a document without a complete pipeline; else sets the vocabulary's pattern. */
HEFT_CHECKED bool heft_document_settle_pipeline(struct heft_vocab_document *d);

/* ---- vocab_added.c ----------------------------------------------------------------------- */

HEFT_CHECKED bool heft_document_added(struct heft_vocab_document *d, enum heft_json_token token);
/* Marks tokens of the model that added_tokens repeats, and adds those it lacks. */
HEFT_CHECKED bool heft_document_join_added(struct heft_vocab_document *d);

/* ---- vocab_model.c ----------------------------------------------------------------------- */

/* Builds the vocabulary from tokens and merges. */
HEFT_CHECKED bool heft_document_build(struct heft_vocab_document *d);

#endif
