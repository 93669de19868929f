/* pretokens.c: chains of pre-tokenizers.
 *
 * The usual chain is one pattern: its words are found by word_rows.c. For others, division descends:
 * each piece of a step is divided by the next one, and the pieces of the last step are the
 * pre-tokens. */
#include "tokens/split/pretokens.h"

#include "tokens/split/pretoken_pieces.h"

#define SPAN 4096 /* bytes that are looked at first */

struct heft_pretokens {
    struct heft_piece_step steps[HEFT_PRETOKENS_STEPS];
    size_t n;
    bool is_plain; /* one step, all of whose matches are the pre-tokens */
};

/* Writes a text as a pattern. */
static void quote_literal(struct heft_buf *out, struct heft_str text)
{
    for (size_t i = 0; i < text.n; i++) {
        if (strchr("\\.+*?()|[]{}^$#&-~", text.p[i]) && text.p[i])
            heft_buf_char(out, '\\');
        heft_buf_char(out, text.p[i]);
    }
}

static bool compile_step(struct heft_piece_step *out, const struct heft_pretokens_step *step,
                         const char *unicode, struct heft_error *err)
{
    struct heft_buf quoted = {0};
    struct heft_str pattern = step->pattern;
    bool ok = true;

    if (step->is_literal) {
        quote_literal(&quoted, step->pattern);
        ok = heft_buf_ok(&quoted, err);
        pattern = (struct heft_str){quoted.p, quoted.n};
    }
    if (ok)
        out->splitter = heft_splitter_compile(pattern, step->engine, unicode, err);
    out->behavior = step->behavior;
    out->invert = step->invert;
    heft_buf_release(&quoted);
    return out->splitter;
}

/* Whether the pieces of a step are the words of its rows. */
static bool has_rows(const struct heft_piece_step *step)
{
    return step->splitter->rows.ascii &&
           (step->behavior == HEFT_BEHAVIOR_ISOLATED ||
            (step->behavior == HEFT_BEHAVIOR_REMOVED && step->invert && step->splitter->is_total));
}

struct heft_pretokens *heft_pretokens_new(const struct heft_pretokens_step *steps, size_t n,
                                          const char *unicode, struct heft_error *err)
{
    struct heft_pretokens *p = NULL;
    bool ok = n <= HEFT_PRETOKENS_STEPS ||
              heft_fail(err, HEFT_LIMIT, HEFT_NO_OFFSET,
                        "chain has %zu pre-tokenizers, the limit is %d", n, HEFT_PRETOKENS_STEPS);

    p = ok ? heft_calloc(1, sizeof *p, err) : NULL;
    ok = p != NULL;
    for (; ok && p->n < n; p->n++)
        ok = compile_step(&p->steps[p->n], &steps[p->n], unicode, err);
    if (ok) {
        p->is_plain = n == 1 && has_rows(&p->steps[0]);
        return p;
    }
    heft_pretokens_free(p);
    return NULL;
}

void heft_pretokens_free(struct heft_pretokens *p)
{
    for (size_t i = 0; p && i < p->n; i++)
        heft_splitter_free(p->steps[i].splitter);
    heft_free(p);
}

/* A division in progress. */
struct division {
    const struct heft_pretokens *p;
    const uint8_t *text;
    uint32_t *starts;
    size_t n_starts, room;
    size_t ends[HEFT_PRETOKENS_STEPS]; /* of the pieces being divided; 0: not known */
};

static bool emit(struct division *d, size_t end, bool is_dropped)
{
    if (d->n_starts == d->room)
        return false;
    if (is_dropped)
        d->starts[d->n_starts - 1] |= HEFT_PRETOKEN_DROPPED;
    d->starts[d->n_starts++] = (uint32_t)end;
    return true;
}

/* Divides text[at, end) by the last step, whose words are those of its rows. is_last as below. */
static bool divide_by_rows(struct division *d, size_t at, size_t end, bool is_last)
{
    uint32_t *const starts = d->starts + d->n_starts - 1;

    d->n_starts += heft_word_rows_scan(d->p->steps[d->p->n - 1].splitter, d->text, end, at, is_last,
                                       starts, d->room - d->n_starts + 1) -
                   1;
    return d->starts[d->n_starts - 1] == end;
}

/* Divides text[at, end) by the steps from `step` on. is_last: the stretch ends at `end`. Returns
 * false if more text or more room is needed. */
static bool divide(struct division *d, size_t step, size_t at, size_t end, bool is_last)
{
    struct heft_piece_finder finder = {
        .step = &d->p->steps[step], .text = d->text, .end = end, .is_last = is_last};

    if (step == d->p->n)
        return is_last && emit(d, end, false);
    if (step == d->p->n - 1 && has_rows(&d->p->steps[step]))
        return divide_by_rows(d, at, end, is_last);
    while (at < end) {
        const struct heft_piece piece = d->ends[step] > at
                                            ? (struct heft_piece){.end = d->ends[step]}
                                            : heft_piece_at(&finder, at);
        bool ok = piece.end > at;

        if (ok && piece.is_dropped)
            ok = emit(d, piece.end, true);
        else if (ok) {
            d->ends[step] = piece.is_open ? 0 : piece.end;
            ok = divide(d, step + 1, at, piece.end, !piece.is_open);
        }
        if (!ok || piece.is_open)
            return false;
        at = piece.end;
    }
    return is_last;
}

static size_t divide_span(const struct heft_pretokens *p, const uint8_t *text, size_t end,
                          size_t at, bool is_last, struct heft_pretokens_place *place,
                          uint32_t *starts, size_t room)
{
    struct division d = {.p = p, .text = text, .starts = starts, .n_starts = 1, .room = room};
    size_t last;

    for (size_t i = 0; i < p->n; i++)
        d.ends[i] = at + place->left[i];
    starts[0] = (uint32_t)at;
    divide(&d, 0, at, end, is_last);
    last = starts[d.n_starts - 1];
    for (size_t i = 0; i < p->n; i++)
        place->left[i] = d.ends[i] > last ? (uint32_t)(d.ends[i] - last) : 0;
    return d.n_starts;
}

/* Bytes that are looked at: as many as may be needed to fill the entries, and all of the pieces
 * that contain the place. */
static size_t first_span(const struct heft_pretokens *p, const struct heft_pretokens_place *place,
                         size_t room)
{
    size_t span = SPAN > 8 * room ? SPAN : 8 * room;

    for (size_t i = 0; i < p->n; i++)
        span = span > place->left[i] ? span : place->left[i];
    return span;
}

size_t heft_pretokens_scan(const struct heft_pretokens *p, const uint8_t *text, size_t n, size_t at,
                           bool is_last, struct heft_pretokens_place *place, uint32_t *starts,
                           size_t room)
{
    if (p->is_plain)
        return heft_word_rows_scan(p->steps[0].splitter, text, n, at, is_last, starts, room);
    for (size_t span = first_span(p, place, room);; span *= 2) {
        const bool is_whole = span >= n - at;
        const size_t end = is_whole ? n : heft_utf8_begin(text, at + span);
        const size_t found =
            divide_span(p, text, end, at, is_whole && is_last, place, starts, room);

        if (found > 1 || is_whole)
            return found;
    }
}

bool heft_pretokens_is_one(const struct heft_pretokens *p, const uint8_t *text, size_t n)
{
    struct heft_pretokens_place place = {{0}};
    uint32_t starts[2];

    return heft_pretokens_scan(p, text, n, 0, true, &place, starts, 2) == 2 && starts[0] == 0 &&
           starts[1] == n;
}

/* Whether a text may be cut between the characters at `before` and at `at`: down the chain, both
 * are in a gap, which the next step divides, until a match surely ends or begins between them. */
static bool may_cut(const struct heft_pretokens *p, const uint8_t *text, size_t before, size_t at)
{
    for (size_t i = 0; i < p->n; i++) {
        const struct heft_splitter *const s = p->steps[i].splitter;
        const bool joins = p->steps[i].behavior != HEFT_BEHAVIOR_ISOLATED &&
                           p->steps[i].behavior != HEFT_BEHAVIOR_REMOVED;
        unsigned width;
        const unsigned x = heft_symbol_at(&s->symbols, text + before, &width);
        const unsigned y = heft_symbol_at(&s->symbols, text + at, &width);
        const unsigned cut = heft_cut_between(&s->cuts, x, y);

        if (cut & HEFT_CUT_SURE && !joins)
            return true;
        if (!(cut & HEFT_CUT_GAP))
            return false;
    }
    return false;
}

size_t heft_pretokens_cut_before(const struct heft_pretokens *p, const uint8_t *text, size_t n,
                                 size_t at)
{
    size_t before;

    if (n == 0)
        return 0;
    at = heft_utf8_begin(text, at < n ? at : n - 1);
    for (; at > 0; at = before) {
        before = heft_utf8_begin(text, at - 1);
        if (may_cut(p, text, before, at))
            return at;
    }
    return 0;
}
