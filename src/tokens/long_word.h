/* long_word.h: words of any length, in linear time and bounded memory, as they come.
 *
 *     text      u n b e l i e v …
 *     last      u un b be …         of the encoding of the text up to here: its last token
 *
 * Let a token be live if its own bytes merge into it, and two live tokens compatible if the bytes of
 * both merge into just the two. A row of live tokens is the encoding of its bytes if and only if all
 * neighbours in it are compatible: a merge across a border depends on the two tokens there, and each
 * comes about inside as if it were alone. So the last token of the encoding up to here is the one
 * that ends here and is compatible with the last token of the encoding up to where it begins; there
 * is exactly one. Where the ways back from all places that a later token can begin at have met, the
 * tokens before are final.
 *
 * That needs merges whose parts come from earlier merges (ranks that rise). Vocabularies of which
 * that is not so merge by the heap, what cannot be cut being bounded. */
#ifndef HEFT_LONG_WORD_H
#define HEFT_LONG_WORD_H

#include "tokens/joints.h"
#include "tokens/merge.h"

#define HEFT_LONG_WHOLE 16384 /* bytes of which the ids come at once */

struct heft_long_parts;
struct heft_long_slot;
struct heft_long {
    const struct heft_vocab *v;
    const struct heft_pairs *pairs;
    const struct heft_joints *joints;
    struct heft_merger *merger;
    /* What is known of the vocabulary; made when the first long word comes. A token's code: a byte's
     * is the byte, else 256 and its merge's rank. */
    bool is_ready, is_linear;
    struct heft_long_parts *parts; /* by code */
    uint32_t n_codes, longest;
    struct heft_long_slot
        *slots; /* a trie of the tokens from behind: a node that is a token has its
                                     code */
    unsigned slot_bits;
    uint64_t *kept;    /* pairs of codes and whether they are compatible, as far as remembered */
    uint64_t *guesses; /* the token that came after this one when this byte did */
    /* The word. */
    uint8_t *text;
    uint32_t *last; /* [i]: the last token of text[0, i); [0]: the one before text[0] */
    size_t n, cap_text, cap_last;
    bool is_begun;
    /* What the last call made certain: the end of what is in `room`. */
    const uint32_t *ids;
    size_t n_ids;
    uint32_t *room;
    size_t cap_room;
};

void heft_long_init(struct heft_long *l, const struct heft_pairs *pairs,
                    const struct heft_joints *joints, struct heft_merger *merger);
void heft_long_release(struct heft_long *l);
/* Forgets a word that was begun. */
void heft_long_begin(struct heft_long *l);
/* The word goes on with these bytes, and ends. Ids that have become certain are in
 * l->ids until the next call. HEFT_LIMIT where the vocabulary does not let it be encoded in parts. */
HEFT_CHECKED bool heft_long_feed(struct heft_long *l, const uint8_t *bytes, size_t n,
                                 struct heft_error *err);
HEFT_CHECKED bool heft_long_end(struct heft_long *l, struct heft_error *err);
/* A word of up to HEFT_LONG_WHOLE bytes: begin, feed and end. */
HEFT_CHECKED bool heft_long_whole(struct heft_long *l, const uint8_t *word, size_t n,
                                  struct heft_error *err);

#endif
