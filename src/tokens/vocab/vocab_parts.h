/* vocab_parts.h: shared by the readers of vocabulary files. */
#ifndef HEFT_VOCAB_PARTS_H
#define HEFT_VOCAB_PARTS_H

#include "tokens/bpe/ranked_tokens.h"
#include "tokens/vocab/vocab_open.h"
#include "wire/json.h"

#define HEFT_ALPHABET_ROOM                                                                         \
    0x180 /* characters up to U+017F: one byte, or two with a first byte from C2 to C5 */

/* A token listed in a file with its id. */
struct heft_listed {
    struct heft_str word; /* as spelled in the file; lives as long as the file's text */
    uint64_t where;
    uint32_t id;
    bool is_special; /* represents its own characters; no merge makes it */
};
struct heft_listing {
    struct heft_listed *items;
    size_t n, cap;
    uint32_t most; /* the highest id */
};

/* Source of the split pattern (vocab_pattern.c). */
enum heft_vocab_form {
    HEFT_FORM_ORIGINAL, /* vocab.bpe, with encoder.json or without */
    HEFT_FORM_RANKS,
    HEFT_FORM_MERGES, /* merges.txt, and lists with any other name */
};
struct heft_vocab_known {
    const char *family;    /* name of its split pattern */
    bool ends_behind_last; /* <|endoftext|> has the lowest free id */
    const char *same_ids;  /* family whose pattern gives the same ids, and is faster; NULL: none */
    bool is_reached;       /* each token is what its bytes merge into, as deriving the merges
                              shows; false if it is not known */
};

struct heft_beside;
struct heft_vocab_reading {
    struct heft_vocab *v;
    const struct heft_vocab_options *how; /* options of the caller; NULL: defaults */
    enum heft_vocab_form form;            /* form of a list of merges */
    struct heft_vocab_ids ids;            /* token → id */
    struct heft_strmap foreign;           /* tokens that no merge makes → id */
    struct heft_strmap added;             /* added_tokens of a tokenizer.json */
    struct heft_beside *beside;           /* added tokens beside merges and ids; NULL: not read */
    uint32_t least_special;               /* lowest id of a special token */
    bool is_unproven;                     /* texts are refused only for want of a pattern */
    int16_t bytes[HEFT_ALPHABET_ROOM];    /* byte of each character of GPT-2's alphabet; -1: none */
    uint8_t *to; /* room for the bytes of the next token, if no file lists them */
    struct heft_error *err;
};

/* Fails with HEFT_MALFORMED. Always false. */
bool heft_vocab_fail(struct heft_vocab_reading *r, uint64_t offset, const char *what);
HEFT_CHECKED bool heft_vocab_check_text(struct heft_vocab_reading *r, struct heft_bytes text);
/* Allocates n bytes for tokens. */
HEFT_CHECKED uint8_t *heft_vocab_bytes(struct heft_vocab_reading *r, size_t n);

/* ---- vocab_words.c ----------------------------------------------------------------------- */

/* Reads the members of an object after its opening brace: {"word": id, …}. */
HEFT_CHECKED bool heft_vocab_list(struct heft_vocab_reading *r, struct heft_json *json,
                                  struct heft_listing *list);
HEFT_CHECKED bool heft_vocab_add(struct heft_vocab_reading *r, struct heft_listing *list,
                                 const struct heft_listed *item);
/* Decodes characters of the alphabet to bytes at `out`, which has room for word.n. False: another
 * character, or none. */
bool heft_vocab_word_bytes(const struct heft_vocab_reading *r, struct heft_str word, uint8_t *out,
                           size_t *n);
/* Turns listed tokens into tokens of the vocabulary; every single byte must be one. */
HEFT_CHECKED bool heft_vocab_place(struct heft_vocab_reading *r, const struct heft_listing *list);
HEFT_CHECKED bool heft_vocab_place_bytes(struct heft_vocab_reading *r);
/* Adds the merge "A B" at offset `where`. Its tokens are placed, and merges have room. */
HEFT_CHECKED bool heft_vocab_merge(struct heft_vocab_reading *r, struct heft_str line,
                                   uint64_t where, bool has_ids);
/* Builds the tables of pairs, after the last lookup of a word. HEFT_MALFORMED for a duplicate merge. */
HEFT_CHECKED bool heft_vocab_validate(struct heft_vocab_reading *r);
/* vocab_repeats.c: the same for merges whose ids are listed: of a pair that occurs several times only the
 * last merge is kept. */
HEFT_CHECKED bool heft_vocab_validate_listed(struct heft_vocab_reading *r);
/* Returns the id of the token that a merge makes, or HEFT_MAP_NONE. */
uint32_t heft_vocab_result(const struct heft_vocab_reading *r, struct heft_str token);
HEFT_CHECKED bool heft_vocab_reserve(struct heft_vocab_reading *r, size_t merges);
/* Reads the list of merges, which without encoder.json determines the ids. */
HEFT_CHECKED bool heft_vocab_read_merges(struct heft_vocab_reading *r, struct heft_str text,
                                         bool has_ids);
/* Checks, as far as the ids allow, that the list is not truncated. */
HEFT_CHECKED bool heft_vocab_check_end(struct heft_vocab_reading *r, struct heft_str text);
/* Takes the next line without its newline; the last line may lack one. */
bool heft_vocab_line(struct heft_str *text, struct heft_str *line);

/* ---- vocab_listing.c --------------------------------------------------------------------- */

/* Reads encoder.json. */
HEFT_CHECKED bool heft_vocab_read_ids(struct heft_vocab_reading *r, struct heft_bytes text);

/* ---- vocab_usual.c ----------------------------------------------------------------------- */

/* Fast readers: all of encoder.json; all of vocab.bpe, after encoder.json. False without an error
 * (unless memory is short): not in the usual form, or invalid; nothing is kept. */
HEFT_CHECKED bool heft_vocab_usual_ids(struct heft_vocab_reading *r, struct heft_bytes text);
HEFT_CHECKED bool heft_vocab_usual_merges(struct heft_vocab_reading *r, struct heft_bytes text);

/* ---- vocab_config.c ---------------------------------------------------------------------- */

/* Reads tokenizer_config.json beside merges and ids (is_pair), or beside a tokenizer.json. */
HEFT_CHECKED bool heft_vocab_read_config(struct heft_vocab_reading *r, struct heft_bytes text,
                                         bool is_pair);
/* Reads added_tokens.json beside a tokenizer.json. */
HEFT_CHECKED bool heft_vocab_read_added(struct heft_vocab_reading *r, struct heft_bytes text);

/* ---- functions of the other files -------------------------------------------------------- */

HEFT_CHECKED bool heft_vocab_read_json(struct heft_vocab_reading *r, struct heft_bytes text);
HEFT_CHECKED bool heft_vocab_read_tekken(struct heft_vocab_reading *r, struct heft_bytes text);
bool heft_vocab_is_pickle(struct heft_bytes text);
HEFT_CHECKED bool heft_vocab_read_pickle(struct heft_vocab_reading *r, struct heft_bytes text);
/* Whether the first line is one of a rank file. */
bool heft_vocab_is_ranks(struct heft_bytes text);
HEFT_CHECKED bool heft_vocab_read_ranks(struct heft_vocab_reading *r, struct heft_bytes text);

/* ---- vocab_ranks.c, vocab_place.c -------------------------------------------------------- */

/* Decodes base64; "=" is the empty text, as in Python. False if invalid or empty. *n: number of
 * bytes. */
bool heft_vocab_base64(struct heft_str text, uint8_t *out, size_t *n);
/* Turns tokens listed with their ranks into tokens of the vocabulary. Their bytes are followed by
 * HEFT_VOCAB_PAD readable ones, and live as long as it. v->tokens has room for `room` ids or more. */
HEFT_CHECKED bool heft_vocab_place_ranks(struct heft_vocab_reading *r,
                                         const struct heft_listing *list, size_t room);

/* The same in steps: room for n tokens with ids below `room`; then each token is entered in r->ids and
 * v->tokens, and v->n_ids is set; then the rest. */
HEFT_CHECKED bool heft_vocab_reserve_ranks(struct heft_vocab_reading *r, size_t n, size_t room);
HEFT_CHECKED bool heft_vocab_settle_ranks(struct heft_vocab_reading *r, size_t room);

/* ---- vocab_known.c ----------------------------------------------------------------------- */

/* Returns the published vocabulary that equals this one, or NULL. */
const struct heft_vocab_known *heft_vocab_known_merges(const struct heft_vocab *v);
const struct heft_vocab_known *heft_vocab_known_ranks(const struct heft_vocab *v);
/* The same for `count` rank lines, in the form that is hashed. */
const struct heft_vocab_known *heft_vocab_known_lines(struct heft_str text, size_t count);
/* Names a special token, whose id has room in v->tokens. Its text, followed by a NUL, must live as
 * long as the vocabulary. */
HEFT_CHECKED bool heft_vocab_name_special(struct heft_vocab_reading *r, struct heft_str text,
                                          uint32_t id);
/* Places the special tokens of a known rank file: at most HEFT_VOCAB_EXTRA behind the highest rank.
 * known may be NULL. */
#define HEFT_VOCAB_EXTRA 2048
HEFT_CHECKED bool heft_vocab_place_special(struct heft_vocab_reading *r,
                                           const struct heft_vocab_known *known);

/* ---- vocab_pattern.c --------------------------------------------------------------------- */

struct heft_family;
/* Sets the vocabulary's split pattern. A pattern that is that of a known family gets its name; the
 * texts of other patterns must live as long as the vocabulary. */
HEFT_CHECKED bool heft_vocab_take_steps(struct heft_vocab_reading *r, const char *name,
                                        const struct heft_pretokens_step *steps, size_t n,
                                        bool is_nfc);
HEFT_CHECKED bool heft_vocab_take_family(struct heft_vocab_reading *r,
                                         const struct heft_family *family);
/* The same for a regular expression of tiktoken. */
HEFT_CHECKED bool heft_vocab_take_regex(struct heft_vocab_reading *r, const char *name,
                                        struct heft_str pattern);
/* Whether the option pattern is a regular expression, not a name. */
bool heft_vocab_is_regex(const char *pattern);
/* Notes that the option pattern is not used, because the file states its own pattern. */
void heft_vocab_ignore_stated(struct heft_vocab_reading *r);
/* Sets v->doubt if the pattern that the caller stated, compiled, is implausible. */
HEFT_CHECKED bool heft_vocab_weigh_stated(struct heft_vocab *v, struct heft_error *err);
/* Sets the split pattern of merges or ranks, v->unicode and v->refusal, once the merges are read. */
HEFT_CHECKED bool heft_vocab_judge(struct heft_vocab_reading *r, enum heft_vocab_form form,
                                   const struct heft_vocab_known *known);

#endif
