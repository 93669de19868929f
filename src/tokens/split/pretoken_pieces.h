/* pretoken_pieces.h: one step of a chain of pre-tokenizers: the pieces into which it divides a
 * stretch of text, one after the other. */
#ifndef HEFT_PRETOKEN_PIECES_H
#define HEFT_PRETOKEN_PIECES_H

#include "tokens/split/pretokens.h"
#include "tokens/split/splitter_tables.h"

struct heft_piece_step {
    struct heft_splitter *splitter;
    enum heft_pretokens_behavior behavior;
    bool invert;
};

/* Stretch of text that a step divides: text[…, end). */
struct heft_piece_finder {
    const struct heft_piece_step *step;
    const uint8_t *text;
    size_t end;
    bool is_last;            /* the stretch ends at `end`; otherwise text follows */
    size_t match, match_end; /* a match that was found ahead; match_end 0: none */
    struct heft_dead_runs runs;
};

struct heft_piece {
    size_t end;
    bool is_open;    /* more text decides where it ends */
    bool is_gap;     /* text between matches, as far as it is known */
    bool is_dropped; /* it belongs to no pre-token */
};

/* The piece that begins at `at` (below end). Of an open piece that begins with a gap, `end` is how
 * far the gap reaches at least; of another open one it is `at`. */
struct heft_piece heft_piece_at(struct heft_piece_finder *finder, size_t at);

#endif
