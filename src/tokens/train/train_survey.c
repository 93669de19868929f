/* train_survey.c: counts the pairs of all cells and lists where they occur: as many of the most
 * frequent as memory allows.
 *
 * If there are more pairs than the table holds, one pass over the cells counts them in a sieve of
 * one saturating byte for each hash: an upper bound of the count of each pair (a counting Bloom
 * filter with one hash). A threshold is chosen that few hashes reach; only pairs above it are
 * counted exactly, in several passes if necessary, each for a share of the hashes. After each pass
 * the table keeps the most frequent. */
#include "base/map.h"
#include "tokens/train/train.h"
#include "tokens/train/train_number.h"
#include "tokens/train/train_survey.h"

#define LEVELS 256

/* ---- pairs in the cells, one after another ----------------------------------------------- */

struct walk {
    uint32_t from, left; /* position and symbol of the pair's left part */
    uint32_t at, right;
    uint64_t starts; /* bits of the symbols after `at` in its block of 64 cells */
    size_t run;
};

static struct walk walk_begin(const struct heft_train_cells *c)
{
    return (struct walk){.right = heft_train_symbol_at(c, 0),
                         .starts = c->marks[0].symbol & ~UINT64_C(1)};
}

HEFT_INLINE bool walk_on(const struct heft_train_cells *c, struct walk *w)
{
    do {
        size_t i = w->at >> 6;

        w->from = w->at;
        w->left = w->right;
        while (w->starts == 0)
            w->starts = c->marks[++i].symbol;
        w->at = (uint32_t)(i * 64 + heft_lowest_bit(w->starts));
        w->starts &= w->starts - 1;
        if (w->at >= c->n)
            return false;
        w->right = heft_train_symbol_at(c, w->at);
    } while (heft_train_is_word(c, w->at));
    while (w->from >= c->runs[w->run + 1].at)
        w->run++;
    return true;
}

/* ---- the sieve: lower bounds of counts --------------------------------------------------- */

struct sieve {
    uint8_t *counts; /* indexed by hash; the maximum stands for all higher counts */
    unsigned bits;
    uint64_t reach[LEVELS + 1]; /* number of hashes with at least this count */
    unsigned level;
    uint32_t slices, slice;
};

static uint8_t *count_of(const struct sieve *s, uint64_t hash)
{
    return &s->counts[hash & (((uint64_t)1 << s->bits) - 1)];
}

static bool make_sieve(const struct heft_train_cells *c, struct sieve *s, struct heft_error *err)
{
    struct walk w = walk_begin(c);

    s->bits = heft_highest_bit(c->n | 1 << 12) - 1;
    s->counts = heft_calloc((size_t)1 << s->bits, 1, err);
    if (!s->counts)
        return false;
    while (walk_on(c, &w)) {
        uint8_t *count = count_of(s, heft_mix(heft_train_pair_key(w.left, w.right)));

        *count = (uint8_t)heft_min_u64(LEVELS - 1, *count + c->runs[w.run].count);
    }
    for (size_t i = 0; i < (size_t)1 << s->bits; i++)
        s->reach[s->counts[i]]++;
    for (unsigned level = LEVELS - 1; level > 0; level--)
        s->reach[level - 1] += s->reach[level];
    return true;
}

static bool passes_sieve(const struct sieve *s, uint64_t key)
{
    const uint64_t hash = heft_mix(key);

    return (hash >> 40) % s->slices == s->slice && *count_of(s, hash) >= s->level;
}

/* ---- counting pairs ---------------------------------------------------------------------- */

bool heft_train_survey_is_too_long(const struct heft_train_cells *c, uint64_t key)
{
    return c->symbols[key >> 32].n + c->symbols[(uint32_t)key].n > HEFT_TRAIN_LONGEST;
}

/* Counts all pairs, or those that pass the sieve. *full: they do not fit. */
static bool count_pairs(struct heft_train_survey *t, const struct sieve *sieve, bool *full,
                        struct heft_error *err)
{
    const struct heft_train_cells *c = t->pairs.cells;
    struct walk w = walk_begin(c);

    *full = false;
    while (walk_on(c, &w)) {
        const uint64_t key = heft_train_pair_key(w.left, w.right);
        struct heft_train_pair *pair;

        if (sieve && !passes_sieve(sieve, key))
            continue;
        pair = heft_train_pairs_find(&t->pairs, key);
        if (!pair) {
            if (heft_train_survey_is_too_long(c, key))
                continue;
            *full = heft_train_pairs_is_full(&t->pairs);
            if (*full)
                return true;
            pair = heft_train_pairs_add(&t->pairs, key, err);
            if (!pair)
                return false;
        }
        pair->count += c->runs[w.run].count;
        pair->n += (uint32_t)heft_train_survey_step(t, &pair->last, w.from);
    }
    return true;
}

static bool begin_count(struct heft_train_survey *t, uint64_t least, struct heft_error *err)
{
    t->pairs.least = (struct heft_train_ranked){least, UINT64_MAX};
    return heft_train_pairs_clear(&t->pairs, err);
}

/* Counts slice by slice of the hashes; the table keeps the most frequent so far. */
static bool count_slices(struct heft_train_survey *t, struct sieve *s, struct heft_error *err)
{
    const uint64_t least = s->level > t->min_frequency ? s->level : t->min_frequency;
    bool full;

    if (!begin_count(t, least, err))
        return false;
    s->slice = 0;
    while (s->slice < s->slices) {
        if (!count_pairs(t, s, &full, err) || (full && !begin_count(t, least, err)) ||
            !heft_train_pairs_thin(&t->pairs, t->most_pairs, t->most_bytes, err))
            return false;
        if (full) {
            s->slices *= 2;
            s->slice = 0;
        } else {
            s->slice++;
        }
    }
    return true;
}

/* Lowers the threshold until there are enough pairs: twice as many as merges are wanted, or a share
 * of what fits. */
static bool count_sieved(struct heft_train_survey *t, uint32_t wanted, struct sieve *s,
                         struct heft_error *err)
{
    const uint64_t enough = heft_min_u64(2 * (uint64_t)wanted, t->most_pairs / 8);
    const uint64_t lowest = heft_min_u64(t->min_frequency, LEVELS - 1);

    if (!make_sieve(t->pairs.cells, s, err))
        return false;
    for (s->level = LEVELS - 1; s->level > lowest && s->reach[s->level - 1] <= 2 * t->most_pairs;)
        s->level--;
    for (;; s->level -= (unsigned)heft_min_u64(s->level / 4 + 1, s->level - lowest)) {
        s->slices = (uint32_t)(s->reach[s->level] / t->most_pairs + 1);
        if (!count_slices(t, s, err))
            return false;
        if (s->level == lowest || t->pairs.n >= enough)
            return true;
    }
}

/* ---- listing the occurrences ------------------------------------------------------------- */

static bool give_lists(struct heft_train_survey *t, struct heft_error *err)
{
    for (size_t i = 0; i < (size_t)1 << t->pairs.bits; i++) {
        struct heft_train_pair *pair = &t->pairs.slots[i];

        if (pair->key != UINT64_MAX && !heft_train_pairs_give_list(&t->pairs, pair, err))
            return false;
    }
    return true;
}

static void place_pairs(struct heft_train_survey *t)
{
    const struct heft_train_cells *c = t->pairs.cells;
    struct walk w = walk_begin(c);

    while (walk_on(c, &w)) {
        struct heft_train_pair *pair =
            heft_train_pairs_find(&t->pairs, heft_train_pair_key(w.left, w.right));

        if (pair)
            heft_train_survey_put(t, pair, w.from);
    }
}

/* While there are no lists, the table may use twice the memory. */
bool heft_train_survey_pairs(struct heft_train_survey *t, uint32_t wanted, struct heft_error *err)
{
    const unsigned bits = t->pairs.most_bits;
    struct sieve sieve = {0};
    bool full, ok;

    t->pairs.most_bits++;
    ok = begin_count(t, t->min_frequency, err) && count_pairs(t, NULL, &full, err) &&
         (full ? count_sieved(t, wanted, &sieve, err)
               : heft_train_pairs_thin(&t->pairs, t->most_pairs, t->most_bytes, err));
    heft_free(sieve.counts);
    t->pairs.most_bits = bits;
    if (ok && t->pairs.bits > bits)
        ok = heft_train_pairs_set_bits(&t->pairs, bits, err);
    ok = ok && give_lists(t, err);
    if (ok)
        place_pairs(t);
    return ok;
}

/* ---- memory limits ----------------------------------------------------------------------- */

#define LEAST_BITS 8
#define USUAL      (UINT64_C(176) << 20) /* bytes for cells and pairs, or more for many cells: … */
#define EACH       3                     /* … so many bytes a cell */

bool heft_train_survey_begin(struct heft_train_survey *t, const struct heft_train_task *task,
                             struct heft_error *err)
{
    const uint64_t n = task->cells.n, usual = EACH * n > USUAL ? EACH * n : USUAL;
    const uint64_t rest = heft_min_u64(usual, task->memory) - n - n / 4;
    const uint64_t slots = rest / 4 / sizeof(struct heft_train_pair);

    t->pairs.cells = &task->cells;
    t->pairs.largest_text_first = task->largest_text_first;
    t->pairs.most_bits = slots >> LEAST_BITS ? heft_highest_bit(slots) : LEAST_BITS;
    t->min_frequency = task->min_frequency;
    t->most_pairs = ((size_t)5 << t->pairs.most_bits) / 8;
    t->most_bytes =
        rest -
        heft_min_u64(rest / 2, (uint64_t)54 << t->pairs.most_bits); /* memory for slots and heap */
    t->pairs.most_pool = t->most_bytes / 32 * 33;
    t->shift = EACH * n <= t->most_bytes ? 0 : 6;
    return heft_train_pairs_clear(&t->pairs, err);
}
