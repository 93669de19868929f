/* vocab_beside.h: added tokens that transformers reads beside vocab.json and merges.txt:
 *
 *     tokenizer_config.json     added_tokens_decoder: {"151643": {"content": "<x>", "special": true, …}}
 *                               bos_token … mask_token, image_token …: "<x>", or an AddedToken
 *                               extra_special_tokens, additional_special_tokens
 *     special_tokens_map.json   the same names; read if there is no added_tokens_decoder
 *     added_tokens.json         {"<x>": 151643}; read if there is no added_tokens_decoder
 *
 * What they mean is transformers 5's: tokens of the decoder or of added_tokens.json in the order of
 * their ids, then special ones that have a name. A token of the vocabulary keeps its id; others are
 * numbered behind it, whatever the files say: files that say otherwise refuse texts. */
#ifndef HEFT_VOCAB_BESIDE_H
#define HEFT_VOCAB_BESIDE_H

#include "tokens/vocab/vocab_parts.h"

#define HEFT_BESIDE_NAMES 7 /* bos_token, eos_token, unk_token, sep_token, pad_token, … */

struct heft_beside_token {
    struct heft_added_token token;
    struct heft_str key; /* of a named token */
    uint64_t where;
    uint32_t index; /* the id that the files say; HEFT_NO_TOKEN: none */
    bool has_normalized;
    bool is_text;   /* given as text, not as an object */
    bool is_kept;   /* a name that special_tokens_map.json does not change */
    bool is_silent; /* an object of tokenizer_config.json, which makes no token of
                       added_tokens.json special */
};
struct heft_beside_list {
    struct heft_beside_token *items; /* on the heap */
    size_t n, cap;
};
struct heft_beside {
    struct heft_beside_list added; /* added_tokens_decoder, or added_tokens.json */
    struct heft_beside_list named; /* with a name of their own, as image_token */
    struct heft_beside_list
        extra; /* extra_special_tokens, or additional_special_tokens in their place */
    struct heft_beside_list late; /* additional_special_tokens that take their place at the end */
    struct heft_beside_token usual[HEFT_BESIDE_NAMES];
    bool is_said[HEFT_BESIDE_NAMES]; /* also null is said */
    bool has_decoder, has_added_file;
    bool has_extra;   /* `extra` is said: `late` does not count */
    bool is_renewing; /* the class adds its special tokens once more, without settings */
    bool is_other;    /* the class has other tokens and a pipeline that heft does not follow here */
    const char *const *names;  /* the class's tokens, by name, unless said otherwise; NULL: none */
    struct heft_error refusal; /* why texts cannot be encoded with the added tokens */
};

void heft_beside_release(struct heft_beside *beside);
/* Reads a file; where it says what heft does not know, it is refused. */
HEFT_CHECKED bool heft_beside_read_config(struct heft_vocab_reading *r, struct heft_beside *beside,
                                          struct heft_bytes text);
HEFT_CHECKED bool heft_beside_read_map(struct heft_vocab_reading *r, struct heft_beside *beside,
                                       struct heft_bytes text);
HEFT_CHECKED bool heft_beside_read_added(struct heft_vocab_reading *r, struct heft_beside *beside,
                                         struct heft_bytes text);
/* Places the tokens, after vocab.json and before the merges. */
HEFT_CHECKED bool heft_beside_place(struct heft_vocab_reading *r, struct heft_beside *beside);

#endif
