/* vocab_parts.h: what the readers of vocabulary files share. */
#ifndef HEFT_VOCAB_PARTS_H
#define HEFT_VOCAB_PARTS_H

#include "tokens/bpe/vocab_ids.h"
#include "tokens/vocab/vocab_open.h"
#include "wire/json.h"

#define HEFT_ALPHABET_ROOM 0x180 /* characters of two bytes from C2 to C5, and those before them */

/* A token that a file lists with its id. */
struct heft_listed {
    struct heft_str word; /* as the file spells it; lives as long as the file's text */
    uint64_t where;
    uint32_t id;
    bool is_special; /* stands for its own characters, and no merge makes it */
};
struct heft_listing {
    struct heft_listed *items;
    size_t n, cap;
    uint32_t most; /* the highest id */
};

/* Which pattern cuts texts, and what follows from it: vocab_pattern.c. */
enum heft_vocab_form {
    HEFT_FORM_ORIGINAL, /* vocab.bpe, with or without encoder.json */
    HEFT_FORM_RANKS,
    HEFT_FORM_MERGES, /* merges.txt, and lists of any other name */
};
struct heft_vocab_known {
    const char *name;
    bool is_gpt2;          /* goes with GPT-2's pattern */
    bool ends_behind_last; /* <|endoftext|> has the lowest id that is free */
};

struct heft_vocab_reading {
    struct heft_vocab *v;
    const struct heft_vocab_options *how; /* NULL: none */
    enum heft_vocab_form form;            /* of a list of merges */
    struct heft_vocab_ids ids;            /* bytes of a token → its id */
    struct heft_strmap added;             /* added_tokens of a tokenizer.json */
    uint32_t least_special;               /* of the ids of special tokens */
    int16_t bytes[HEFT_ALPHABET_ROOM];    /* of the alphabet's characters; -1: none */
    uint8_t *to;                          /* bytes of the next token, where no file lists them */
    struct heft_error *err;
};

/* Fails as malformed. Always false. */
bool heft_vocab_fail(struct heft_vocab_reading *r, uint64_t offset, const char *what);
HEFT_CHECKED bool heft_vocab_check_text(struct heft_vocab_reading *r, struct heft_bytes text);
/* Room for n bytes of tokens. */
HEFT_CHECKED uint8_t *heft_vocab_bytes(struct heft_vocab_reading *r, size_t n);

/* ---- vocab_words.c ----------------------------------------------------------------------- */

/* The members of an object whose bracket was read: {"word": id, …}. */
HEFT_CHECKED bool heft_vocab_list(struct heft_vocab_reading *r, struct heft_json *json,
                                  struct heft_listing *list);
HEFT_CHECKED bool heft_vocab_add(struct heft_vocab_reading *r, struct heft_listing *list,
                                 const struct heft_listed *item);
/* The listed become tokens; every byte must be one. */
HEFT_CHECKED bool heft_vocab_place(struct heft_vocab_reading *r, const struct heft_listing *list);
HEFT_CHECKED bool heft_vocab_place_bytes(struct heft_vocab_reading *r);
/* "A B" at `where`, of tokens that are placed; the merges have room. */
HEFT_CHECKED bool heft_vocab_merge(struct heft_vocab_reading *r, struct heft_str line,
                                   uint64_t where, bool has_ids);
/* All words were looked for: the tables of pairs. Where a merge stands there twice, v->n_merges is
 * how many come before it. */
HEFT_CHECKED bool heft_vocab_validate(struct heft_vocab_reading *r);
/* The id of what a merge makes, or HEFT_MAP_NONE. */
uint32_t heft_vocab_result(const struct heft_vocab_reading *r, struct heft_str token);
HEFT_CHECKED bool heft_vocab_reserve(struct heft_vocab_reading *r, size_t merges);
/* The list of merges, which without encoder.json numbers the tokens. */
HEFT_CHECKED bool heft_vocab_read_merges(struct heft_vocab_reading *r, struct heft_str text,
                                         bool has_ids);
/* That such a list was not cut off, as far as the ids tell. */
HEFT_CHECKED bool heft_vocab_check_end(struct heft_vocab_reading *r, struct heft_str text);
/* Where the merge of that rank lies in such a list. */
uint64_t heft_vocab_merge_at(struct heft_str text, size_t rank);
/* The next line without its end; an end of text without a newline gives the rest. */
bool heft_vocab_line(struct heft_str *text, struct heft_str *line);

/* ---- vocab_listing.c --------------------------------------------------------------------- */

/* encoder.json. */
HEFT_CHECKED bool heft_vocab_read_ids(struct heft_vocab_reading *r, struct heft_bytes text);

/* ---- vocab_usual.c ----------------------------------------------------------------------- */

/* All of encoder.json, all of vocab.bpe where that was read. False, and no error unless memory is
 * short: not of the usual form, or something is wrong; nothing is left of it. */
HEFT_CHECKED bool heft_vocab_usual_ids(struct heft_vocab_reading *r, struct heft_bytes text);
HEFT_CHECKED bool heft_vocab_usual_merges(struct heft_vocab_reading *r, struct heft_bytes text);

/* ---- vocab_config.c ---------------------------------------------------------------------- */

/* tokenizer_config.json beside merges and ids (is_pair), or beside a tokenizer.json. */
HEFT_CHECKED bool heft_vocab_read_config(struct heft_vocab_reading *r, struct heft_bytes text,
                                         bool is_pair);
/* added_tokens.json beside a tokenizer.json. */
HEFT_CHECKED bool heft_vocab_read_added(struct heft_vocab_reading *r, struct heft_bytes text);

/* ---- others ------------------------------------------------------------------------------ */

HEFT_CHECKED bool heft_vocab_read_json(struct heft_vocab_reading *r, struct heft_bytes text);
/* True where the first line is one of a rank file. */
bool heft_vocab_is_ranks(struct heft_bytes text);
HEFT_CHECKED bool heft_vocab_read_ranks(struct heft_vocab_reading *r, struct heft_bytes text);

/* ---- vocab_known.c, vocab_pattern.c ------------------------------------------------------ */

/* The published vocabulary that it is, NULL: none. Of ranks its special tokens are placed: there is room
 * for HEFT_VOCAB_EXTRA of them. */
#define HEFT_VOCAB_EXTRA 32
const struct heft_vocab_known *heft_vocab_known_merges(const struct heft_vocab *v);
const struct heft_vocab_known *heft_vocab_known_ranks(struct heft_vocab *v);
/* Once its merges are there: fills v->unicode, v->refusal and v->doubt. */
HEFT_CHECKED bool heft_vocab_judge(struct heft_vocab_reading *r, enum heft_vocab_form form,
                                   const struct heft_vocab_known *known);

#endif
