/* pretoken_pieces.c: matches and the gaps between them, joined to pieces as the behaviour of a step
 * says. A piece depends on nothing before it, so division can begin at any piece, and also within
 * a gap. */
#include "tokens/split/pretoken_pieces.h"

#include "tokens/unicode/utf8.h"

/* A match or a gap. */
struct item {
    size_t end;
    bool is_match, is_open;
};

static enum heft_splitter_result match_at(struct heft_piece_finder *f, size_t at, size_t *end)
{
    const struct heft_splitter *const s = f->step->splitter;

    return s->needs_runs
               ? heft_splitter_match_again(s, f->text, f->end, at, f->is_last, end, &f->runs)
               : heft_splitter_match(s, f->text, f->end, at, f->is_last, end);
}

/* First character from `at` on at which a match may begin; end if there is none. */
static size_t skip_strangers(const struct heft_piece_finder *f, size_t at)
{
    const bool *const may_begin = f->step->splitter->may_begin;

    while (at < f->end && f->text[at] < 0x80 && !may_begin[f->text[at]])
        at++;
    return at;
}

/* The gap that begins at `at`, where no match does. */
static struct item gap_at(struct heft_piece_finder *f, size_t at)
{
    size_t to = at;

    do {
        enum heft_splitter_result result;
        size_t end = 0;

        to = skip_strangers(f, to + heft_utf8_width(f->text[to]));
        if (to == f->end)
            break;
        result = match_at(f, to, &end);
        if (result == HEFT_SPLITTER_OPEN)
            return (struct item){to, false, true};
        if (result == HEFT_SPLITTER_MATCH) {
            f->match = to;
            f->match_end = end;
            return (struct item){to, false, false};
        }
    } while (to < f->end);
    return (struct item){f->end, false, !f->is_last};
}

static struct item item_at(struct heft_piece_finder *f, size_t at)
{
    size_t end = at;

    if (f->match_end && f->match == at)
        return (struct item){f->match_end, true, false};
    switch (match_at(f, at, &end)) {
    case HEFT_SPLITTER_MATCH:
        return (struct item){end, true, false};
    case HEFT_SPLITTER_OPEN:
        return (struct item){at, true, true};
    default:
        return gap_at(f, at);
    }
}

/* Whether the item after the first one belongs to the same piece. */
static bool joins_next(const struct heft_piece_step *step, bool first_is_match, bool next_is_match)
{
    switch (step->behavior) {
    case HEFT_BEHAVIOR_MERGED_WITH_PREVIOUS:
        return first_is_match == step->invert && next_is_match != step->invert;
    case HEFT_BEHAVIOR_MERGED_WITH_NEXT:
        return first_is_match != step->invert && next_is_match == step->invert;
    case HEFT_BEHAVIOR_CONTIGUOUS:
        return first_is_match == next_is_match;
    default:
        return false;
    }
}

static bool may_join(const struct heft_piece_step *step, bool first_is_match)
{
    return joins_next(step, first_is_match, true) || joins_next(step, first_is_match, false);
}

struct heft_piece heft_piece_at(struct heft_piece_finder *f, size_t at)
{
    const struct item first = item_at(f, at);
    const bool is_contiguous = f->step->behavior == HEFT_BEHAVIOR_CONTIGUOUS;
    struct heft_piece piece = {.end = first.end,
                               .is_open = first.is_open,
                               .is_gap = !first.is_match,
                               .is_dropped = f->step->behavior == HEFT_BEHAVIOR_REMOVED &&
                                             first.is_match != f->step->invert};

    while (!piece.is_open && may_join(f->step, first.is_match)) {
        struct item next;

        if (piece.end == f->end) {
            piece.is_open = !f->is_last;
            break;
        }
        next = item_at(f, piece.end);
        if (next.is_open) {
            piece.is_open = true;
            break;
        }
        if (!joins_next(f->step, first.is_match, next.is_match))
            break;
        piece.end = next.end;
        piece.is_gap = false;
        if (!is_contiguous)
            break;
    }
    if (piece.is_open && !piece.is_gap)
        piece.end = at;
    return piece;
}
