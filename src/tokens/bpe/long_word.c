/* long_word.c: the search for the encoding, and which of its tokens are final. */
#include "tokens/bpe/long_word.h"

#define NONE      HEFT_CANONICAL_NONE
#define WINDOW    (HEFT_LONG_WHOLE + 1) /* bytes that arrive before final tokens are looked for … */
#define TOKENS    32                    /* … and at least this multiple of the longest token */
#define MOST      ((size_t)4 << 20)     /* bytes without a final token, at most */
#define MOST_HEAP ((size_t)1 << 20)     /* the same for merging by the heap */

/* ---- finding the path of tokens ---------------------------------------------------------- */

static bool is_dead(const struct heft_long *l, size_t at)
{
    return l->dead[at / 64] >> at % 64 & 1;
}

/* Boundary rank between a token and the text after it, which begins at `end`. */
static uint32_t boundary_at(const struct heft_long *l, uint32_t code, size_t end)
{
    return code == NONE
               ? HEFT_CANONICAL_ALWAYS
               : heft_canonical_boundary_rank(l->canonical, code, l->text + end, l->n - end);
}

/* Path: compatible tokens from the beginning of the text. */
struct path {
    uint32_t *codes;
    size_t n, at;            /* tokens; end of the last one in bytes */
    uint32_t last, boundary; /* last token, and its boundary rank */
};

/* Backtracks: removes tokens from the path until the removed one has a shorter prefix token, which
 * becomes *next. Marks the positions as dead. */
static bool go_back(struct heft_long *l, struct path *p, struct heft_trie_match *next,
                    struct heft_error *err)
{
    do {
        if (p->n == 0)
            return heft_fail(
                err, HEFT_MALFORMED, HEFT_NO_OFFSET,
                "no token of the vocabulary fits here: its merges contradict each other");
        l->dead[p->at / 64] |= UINT64_C(1) << p->at % 64;
        next->code = p->codes[--p->n];
        p->at -= l->canonical->tokens[next->code].length;
    } while ((next->code = heft_canonical_shorten(l->canonical, next->code)) == NONE);
    next->length = l->canonical->tokens[next->code].length;
    p->last = p->n ? p->codes[p->n - 1] : l->before;
    p->boundary = boundary_at(l, p->last, p->at);
    return true;
}

/* Extends the path to `stop`. is_far: no token that begins before `stop` comes near the end of the
 * text, so the end need not be checked. */
HEFT_INLINE bool go_on(struct heft_long *l, struct path *p, size_t stop, bool is_far, bool counts,
                       struct heft_error *err)
{
    struct heft_canonical *const canonical = l->canonical;
    const uint8_t *const text = l->text;
    const size_t n = l->n;
    uint32_t *codes = p->codes + p->n;
    uint32_t last = p->last, boundary = p->boundary;
    size_t at = p->at;

    while (at < stop) {
        struct heft_trie_match next =
            heft_trie_longest(&canonical->trie, text + at, is_far ? SIZE_MAX : n - at, counts);
        uint32_t behind;
        size_t end;

        for (;;) {
            end = at + next.length;
            behind = heft_canonical_boundary_rank(canonical, next.code, text + end,
                                                  is_far ? SIZE_MAX : n - end);
            if (heft_canonical_may_follow(canonical, behind, text + end,
                                          is_far ? SIZE_MAX : n - end) &&
                !is_dead(l, end) &&
                (last == NONE || heft_canonical_compatible(canonical, last, boundary, next.code)))
                break;
            next.code = heft_canonical_shorten(canonical, next.code);
            if (HEFT_LIKELY(next.code != NONE)) {
                next.length = canonical->tokens[next.code].length;
                continue;
            }
            *p = (struct path){p->codes, (size_t)(codes - p->codes), at, last, boundary};
            if (!go_back(l, p, &next, err))
                return false;
            codes = p->codes + p->n;
            at = p->at;
            last = p->last;
            boundary = p->boundary;
        }
        *codes++ = last = next.code;
        boundary = behind;
        at = end;
    }
    *p = (struct path){p->codes, (size_t)(codes - p->codes), at, last, boundary};
    return true;
}

HEFT_INLINE bool go_to_end(struct heft_long *l, struct path *p, bool counts, struct heft_error *err)
{
    const size_t most = l->canonical->longest + 2; /* bytes that a step may look at */

    return go_on(l, p, l->n > most ? l->n - most : 0, true, counts, err) &&
           go_on(l, p, l->n, false, counts, err);
}

HEFT_COUNTING static bool go_counting(struct heft_long *l, struct path *p, struct heft_error *err)
{
    return go_to_end(l, p, true, err);
}

static bool go_plain(struct heft_long *l, struct path *p, struct heft_error *err)
{
    return go_to_end(l, p, false, err);
}

/* Encodes the text after the token l->before into codes in l->room. */
static bool find_path(struct heft_long *l, size_t *count, struct heft_error *err)
{
    struct path p = {.codes = l->room, .last = l->before, .boundary = boundary_at(l, l->before, 0)};
    const bool ok = l->pairs->kernel->counts ? go_counting(l, &p, err) : go_plain(l, &p, err);

    *count = p.n;
    return ok;
}

/* ---- tokens that no further text can change ---------------------------------------------- */

/* Marks the ends of all tokens that begin at text[at] and are compatible with the token that ends
 * there. Returns whether a token that begins there may end after the text. */
static bool reach_on(struct heft_long *l, size_t from, size_t at)
{
    const uint8_t *const text = l->text + at;
    const size_t n = l->n - at;
    const uint32_t last = l->reached[at - from], boundary = boundary_at(l, last, at);
    struct heft_trie_place *place;

    if (last != NONE && heft_canonical_compatible(l->canonical, last, boundary, text[0]))
        l->reached[at - from + 1] = text[0];
    if (n == 1)
        return true;
    place = heft_trie_start(&l->canonical->trie, text);
    for (size_t i = 2; place; i++) {
        const uint32_t code = place->token >> 8;

        if (last != NONE && code && heft_canonical_compatible(l->canonical, last, boundary, code))
            l->reached[at - from + i] = code;
        if (i == n)
            return place->more != 0;
        place = heft_trie_step(&l->canonical->trie, place, text[i], i, false);
    }
    return false;
}

/* Whether every possible continuation of the text keeps the path up to `from`. */
static bool is_final(struct heft_long *l, size_t from, uint32_t before)
{
    bool ok = true;

    for (size_t i = 0; i <= l->n - from; i++)
        l->reached[i] = NONE;
    l->reached[0] = before;
    for (size_t at = from; at < l->n && ok; at++)
        ok = !reach_on(l, from, at) || l->reached[at - from] != NONE;
    return ok;
}

/* Returns how many tokens of the path are final. Looks further back if they depend on more of the
 * text. */
static size_t final_part(struct heft_long *l, size_t count)
{
    size_t tail = 2 * (size_t)l->canonical->longest, place = l->n;

    for (; count > 0 && tail < l->n; tail *= 4) {
        while (count > 0 && place + tail > l->n)
            place -= l->canonical->tokens[l->room[--count]].length;
        if (count > 0 && is_final(l, place, l->room[count - 1]))
            return count;
    }
    return 0;
}

/* ---- handing over ids -------------------------------------------------------------------- */

/* Moves the first `count` tokens to l->ids, and removes their bytes from the text. */
static void hand_over(struct heft_long *l, size_t count)
{
    size_t bytes = 0;

    l->before = count ? l->room[count - 1] : l->before;
    for (size_t i = 0; i < count; i++) {
        bytes += l->canonical->tokens[l->room[i]].length;
        l->room[i] = l->canonical->tokens[l->room[i]].id;
    }
    l->ids = l->room;
    l->n_ids = count;
    l->n -= bytes;
    memmove(l->text, l->text + bytes, l->n);
}

static bool encode_text(struct heft_long *l, size_t *count, struct heft_error *err)
{
    const size_t words = l->n / 64 + 1;

    if (!heft_grow(&l->room, &l->cap_room, 0, l->n, sizeof *l->room, err) ||
        !heft_grow(&l->dead, &l->cap_dead, 0, words, sizeof *l->dead, err) ||
        !heft_grow(&l->reached, &l->cap_reached, 0, l->n + 1, sizeof *l->reached, err))
        return false;
    memset(l->dead, 0, words * sizeof *l->dead);
    return find_path(l, count, err);
}

/* If no token is final, tries again when the text has twice the length. */
static bool feed_linear(struct heft_long *l, struct heft_error *err)
{
    const size_t least = TOKENS * (size_t)l->canonical->longest;
    size_t count;

    if (l->n < l->wanted || l->n < least)
        return true;
    if (!encode_text(l, &count, err))
        return false;
    count = final_part(l, count);
    hand_over(l, count);
    l->wanted = count ? WINDOW : 2 * l->n;
    return l->n < MOST ||
           heft_fail(err, HEFT_LIMIT, HEFT_NO_OFFSET,
                     "a pre-token of %zu bytes whose first token depends on its end", l->n);
}

static bool end_linear(struct heft_long *l, struct heft_error *err)
{
    size_t count;

    if (!encode_text(l, &count, err))
        return false;
    hand_over(l, count);
    return true;
}

/* ---- the fallback: merging by a heap ----------------------------------------------------- */

static bool hand_over_heap(struct heft_long *l, size_t end, struct heft_error *err)
{
    if (!heft_grow(&l->room, &l->cap_room, 0, end, sizeof *l->room, err) ||
        !heft_merge_word(l->merger, l->pairs, l->text, end, l->room, &l->n_ids, err))
        return false;
    l->ids = l->room;
    l->n -= end;
    memmove(l->text, l->text + end, l->n);
    return true;
}

static bool feed_heap(struct heft_long *l, size_t from, struct heft_error *err)
{
    const size_t known = from < WINDOW ? 1 : from; /* no split position before it */
    size_t end = l->n;

    if (l->n < WINDOW)
        return true;
    while (end > known && heft_bytes_adjoin(l->adjacency, l->text[end - 2], l->text[end - 1]))
        end--;
    if (end > known)
        return hand_over_heap(l, end - 1, err);
    return l->n < MOST_HEAP || heft_fail(err, HEFT_LIMIT, HEFT_NO_OFFSET,
                                         "a pre-token of %zu bytes cannot be split: some merges of "
                                         "this vocabulary come before those of their parts",
                                         l->n);
}

/* ---- public API -------------------------------------------------------------------------- */

void heft_long_init(struct heft_long *l, const struct heft_pairs *pairs,
                    const struct heft_byte_adjacency *adjacency, struct heft_merger *merger)
{
    *l = (struct heft_long){.pairs = pairs, .adjacency = adjacency, .merger = merger};
    heft_long_begin(l);
}

void heft_long_init_of(struct heft_long *l, const struct heft_vocab *v, struct heft_merger *merger)
{
    heft_long_init(l, v->pairs, v->adjacency, merger);
    l->ranked = v->ranked ? v : NULL;
}

void heft_long_release(struct heft_long *l)
{
    heft_free(l->text);
    heft_free(l->dead);
    heft_free(l->reached);
    heft_free(l->room);
    *l = (struct heft_long){0};
}

void heft_long_begin(struct heft_long *l)
{
    l->n = 0;
    l->before = NONE;
    l->wanted = WINDOW;
}

static bool get_ready(struct heft_long *l, struct heft_error *err)
{
    if (l->is_ready)
        return true;
    if (l->ranked) {
        const struct heft_vocab *const merged = heft_vocab_merged(l->ranked, err);

        if (!merged)
            return false;
        l->pairs = merged->pairs;
        l->adjacency = merged->adjacency;
    }
    l->is_ready = heft_canonical_of(l->pairs, &l->canonical, err);
    return l->is_ready;
}

bool heft_long_feed(struct heft_long *l, const uint8_t *bytes, size_t n, struct heft_error *err)
{
    const size_t from = l->n;

    l->n_ids = 0;
    if (!get_ready(l, err) || !heft_grow(&l->text, &l->cap_text, l->n, n, 1, err))
        return false;
    memcpy(l->text + l->n, bytes, n);
    l->n += n;
    return l->canonical ? feed_linear(l, err) : feed_heap(l, from, err);
}

bool heft_long_whole(struct heft_long *l, const uint8_t *word, size_t n, struct heft_error *err)
{
    heft_long_begin(l);
    return heft_long_feed(l, word, n, err) && heft_long_end(l, err);
}

bool heft_long_end(struct heft_long *l, struct heft_error *err)
{
    l->n_ids = 0;
    return l->n == 0 || (l->canonical ? end_linear(l, err) : hand_over_heap(l, l->n, err));
}
