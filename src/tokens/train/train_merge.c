/* train_merge.c: BPE training: merges the most frequent pair of adjacent symbols, repeatedly.
 *
 * A pair arises only when the newer of its symbols is created, and gets rarer from then on. So a
 * pair that is too rare when it arises is dropped at once, and a heap whose counts are never too
 * low is exact as soon as its top is up to date (lazy deletion). Each pair has a list of the blocks
 * of cells where it arose; cells where it no longer is are skipped.
 *
 * A merge passes over its cells twice: first the symbols merge, and the counts of old and new
 * neighbours are updated; then new pairs that rank high enough get their lists. The work is linear
 * in the cells merged, and in all cells for each survey (train_survey.c). */
#include "tokens/train/train.h"
#include "tokens/train/train_survey.h"

/* A new pair that contains the symbol just created. */
struct group {
    uint64_t key, count;
    uint32_t n, last;             /* bytes of its future list, an upper bound */
    uint32_t *slot;               /* where its index is stored */
    struct heft_train_pair *pair; /* NULL: not kept */
};

struct training {
    struct heft_train_survey survey;
    struct heft_train_cells *cells;
    struct group *groups;
    size_t n_groups, cap_groups;
    uint32_t *before,
        *behind;   /* by symbol: index + 1 of the group (symbol, new) and (new, symbol) */
    size_t run;    /* run of the last cell */
    uint8_t *list; /* copy of the list of the pair being merged */
    uint32_t n_list;
    size_t cap_list;
    struct heft_error *err;
};

/* ---- occurrences of a pair --------------------------------------------------------------- */

static uint64_t count_at(struct training *t, uint32_t place)
{
    const struct heft_train_run *runs = t->cells->runs;

    if (place < runs[t->run].at || place >= runs[t->run + 1].at) {
        size_t low = 0, high = t->cells->n_runs;

        while (high - low > 1) {
            const size_t middle = low + (high - low) / 2;

            if (runs[middle].at <= place)
                low = middle;
            else
                high = middle;
        }
        t->run = low;
    }
    return runs[t->run].count;
}

/* Bitmap of the 64 bytes that equal `byte`. */
HEFT_WRAPS static uint64_t equal_bytes(const uint8_t *p, uint8_t byte)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), low = 0x7F * ones;
    uint64_t mask = 0;

    for (unsigned i = 0; i < 8; i++) {
        const uint64_t x = heft_le64(p + 8 * i) ^ ones * byte;
        const uint64_t zero = ~(((x & low) + low) | x | low);

        mask |= (zero >> 7) * UINT64_C(0x0102040810204080) >> 56 << 8 * i;
    }
    return mask;
}

/* Bitmap of the cells of a block at which the symbol may begin; *base is the first of these cells.
 */
static uint64_t candidate_cells(const struct training *t, uint32_t symbol, uint32_t block,
                                uint32_t *base)
{
    const struct heft_train_cells *c = t->cells;
    const uint32_t place = block << t->survey.shift;
    const uint64_t starts = c->marks[place >> 6].symbol;

    *base = place & ~UINT32_C(63);
    if (t->survey.shift == 0)
        return starts & UINT64_C(1) << (place & 63);
    return starts & equal_bytes(c->bytes + place, c->symbols[symbol].first);
}

/* Finds the next candidate that is the symbol; false if there is none. */
static bool next_place(const struct training *t, uint32_t symbol, uint32_t base, uint64_t *bits,
                       uint32_t *place)
{
    while (*bits) {
        *place = base + heft_lowest_bit(*bits);
        *bits &= *bits - 1;
        if (*place < t->cells->n && heft_train_is_start(t->cells, *place) &&
            heft_train_symbol_at(t->cells, *place) == symbol)
            return true;
    }
    return false;
}

/* Iterator over the blocks of the list. A second one runs ahead and prefetches the cells. */
#define AHEAD 8

struct reader {
    uint32_t at, block; /* offset in the list; the last block + 1 */
};
struct blocks {
    struct reader here, ahead;
};

static bool read_block(const struct training *t, struct reader *r)
{
    uint64_t step;

    if (r->at >= t->n_list)
        return false;
    r->at += (uint32_t)heft_train_number_get(t->list + r->at, &step);
    r->block += (uint32_t)step;
    return true;
}

static void look_ahead(const struct training *t, struct blocks *b)
{
    if (read_block(t, &b->ahead)) {
        const uint32_t place = (b->ahead.block - 1) << t->survey.shift;

        HEFT_PREFETCH(t->cells->bytes + place);
        HEFT_PREFETCH(&t->cells->marks[place >> 6]);
    }
}

static struct blocks begin_blocks(const struct training *t)
{
    struct blocks b = {0};

    for (unsigned i = 0; i < AHEAD; i++)
        look_ahead(t, &b);
    return b;
}

static bool next_block(const struct training *t, struct blocks *b, uint32_t *block)
{
    look_ahead(t, b);
    if (!read_block(t, &b->here))
        return false;
    *block = b->here.block - 1;
    return true;
}

/* ---- one merge: replacing the pair ------------------------------------------------------- */

/* Counts an occurrence of a new pair and creates its group at the first one; *slot is the index of
 * the group + 1. */
static bool count_group(struct training *t, uint32_t *slot, uint64_t key, uint32_t place,
                        uint64_t count)
{
    struct group *g;

    if (*slot == 0) {
        if (!heft_grow(&t->groups, &t->cap_groups, t->n_groups, 1, sizeof *t->groups, t->err))
            return false;
        t->groups[t->n_groups++] = (struct group){.key = key, .slot = slot};
        *slot = (uint32_t)t->n_groups;
    }
    g = &t->groups[*slot - 1];
    g->count += count;
    g->n += (uint32_t)heft_train_survey_step(&t->survey, &g->last, place);
    return true;
}

static bool leave_left(struct training *t, uint32_t left, uint32_t fresh, uint32_t place,
                       uint64_t count)
{
    const uint32_t from = heft_train_before(t->cells, place);
    const uint32_t before = heft_train_symbol_at(t->cells, from);

    if (before == fresh) /* the pair was created by the merge just before this one */
        t->groups[t->behind[left] - 1].count -= count;
    else
        heft_train_pairs_lessen(&t->survey.pairs, heft_train_pair_key(before, left), count);
    return count_group(t, &t->before[before], heft_train_pair_key(before, fresh), from, count);
}

static bool leave_right(struct training *t, uint32_t right, uint32_t fresh, uint32_t place,
                        uint32_t end, uint64_t count)
{
    const uint32_t behind = heft_train_symbol_at(t->cells, end);

    heft_train_pairs_lessen(&t->survey.pairs, heft_train_pair_key(right, behind), count);
    return count_group(t, &t->behind[behind], heft_train_pair_key(fresh, behind), place, count);
}

static void merge_cells(struct heft_train_cells *c, uint32_t place, uint32_t middle, uint32_t end,
                        uint32_t fresh)
{
    c->marks[middle >> 6].symbol &= ~(UINT64_C(1) << (middle & 63));
    if (end - place > 2)
        heft_train_put_number(c->bytes + place, fresh);
    else
        c->two[heft_train_ends(c, end) << 16 | (uint32_t)c->bytes[place] << 8 | c->bytes[middle]] =
            fresh;
}

/* Merges `left` at `place` with the symbol after it, if that is `right`. */
static bool merge_at(struct training *t, uint32_t left, uint32_t right, uint32_t fresh,
                     uint32_t place, bool *merged)
{
    struct heft_train_cells *c = t->cells;
    const uint32_t middle = place + c->symbols[left].cells, end = middle + c->symbols[right].cells;
    uint64_t count;

    if (heft_train_is_word(c, middle) || heft_train_symbol_at(c, middle) != right)
        return true;
    *merged = true;
    count = count_at(t, place);
    if ((!heft_train_is_word(c, place) && !leave_left(t, left, fresh, place, count)) ||
        (!heft_train_is_word(c, end) && !leave_right(t, right, fresh, place, end, count)))
        return false;
    merge_cells(c, place, middle, end, fresh);
    return true;
}

/* Rewrites the list with only the blocks of the new symbol: fewer steps never take more bytes. */
static bool merge_places(struct training *t, uint32_t left, uint32_t right, uint32_t fresh)
{
    struct blocks blocks = begin_blocks(t);
    uint32_t block, base, place, last = 0, n = 0;

    while (next_block(t, &blocks, &block)) {
        uint64_t bits = candidate_cells(t, left, block, &base);
        bool merged = false;

        while (next_place(t, left, base, &bits, &place))
            if (!merge_at(t, left, right, fresh, place, &merged))
                return false;
        if (merged)
            n += (uint32_t)heft_train_number_put(t->list + n, block + 1 - last);
        if (merged)
            last = block + 1;
    }
    t->n_list = n;
    return true;
}

/* ---- one merge: counting the new pairs --------------------------------------------------- */

static void put_place(struct training *t, uint32_t slot, uint32_t place)
{
    struct heft_train_pair *pair = t->groups[slot - 1].pair;

    if (pair)
        heft_train_survey_put(&t->survey, pair, place);
}

/* Adds the cell to the lists of the new symbol's pairs; for two new symbols side by side, the left
 * one adds it. */
static void put_pairs(struct training *t, uint32_t fresh, uint32_t place)
{
    const struct heft_train_cells *c = t->cells;
    const uint32_t end = place + c->symbols[fresh].cells;

    if (!heft_train_is_word(c, place)) {
        const uint32_t from = heft_train_before(c, place), left = heft_train_symbol_at(c, from);

        if (left != fresh)
            put_place(t, t->before[left], from);
    }
    if (!heft_train_is_word(c, end)) {
        const uint32_t right = heft_train_symbol_at(c, end);

        put_place(t, right == fresh ? t->before[fresh] : t->behind[right], place);
    }
}

static void put_places(struct training *t, uint32_t fresh)
{
    struct blocks blocks = begin_blocks(t);
    uint32_t block, base, place;

    while (next_block(t, &blocks, &block)) {
        uint64_t bits = candidate_cells(t, fresh, block, &base);

        while (next_place(t, fresh, base, &bits, &place))
            put_pairs(t, fresh, place);
    }
}

/* Turns a group that ranks high enough into a pair, and drops others if it needs their memory. */
static bool keep_group(struct training *t, const struct group *g)
{
    struct heft_train_survey *s = &t->survey;
    struct heft_train_pair *pair;

    if (!heft_train_pairs_want(&s->pairs, g->count, g->key) ||
        heft_train_survey_is_too_long(t->cells, g->key))
        return true;
    if (heft_train_pairs_is_full(&s->pairs) ||
        s->pairs.pool.live + heft_train_pair_cost(g->n) > s->most_bytes) {
        if (!heft_train_pairs_thin(&s->pairs, s->most_pairs / 32 * 31, s->most_bytes / 32 * 31,
                                   t->err))
            return false;
        if (!heft_train_pairs_want(&s->pairs, g->count, g->key))
            return true;
    }
    pair = heft_train_pairs_add(&s->pairs, g->key, t->err);
    if (!pair)
        return false;
    pair->count = g->count;
    pair->n = g->n;
    return heft_train_pairs_give_list(&s->pairs, pair, t->err) &&
           heft_train_pairs_push(&s->pairs, pair, t->err);
}

/* *some: there are pairs whose lists are to be filled. */
static bool keep_groups(struct training *t, bool *some)
{
    *some = false;
    for (size_t i = 0; i < t->n_groups; i++)
        if (!keep_group(t, &t->groups[i]))
            return false;
    for (size_t i = 0; i < t->n_groups; i++) {
        struct heft_train_pair *pair = heft_train_pairs_find(&t->survey.pairs, t->groups[i].key);

        t->groups[i].pair = pair;
        *some |= pair != NULL;
    }
    return true;
}

static bool make_pairs(struct training *t, uint32_t fresh)
{
    bool some, ok = keep_groups(t, &some);

    if (ok && some)
        put_places(t, fresh);
    for (size_t i = 0; i < t->n_groups; i++)
        *t->groups[i].slot = 0;
    t->n_groups = 0;
    return ok;
}

/* ---- the loop over all merges ------------------------------------------------------------ */

static bool add_symbol(struct training *t, uint32_t left, uint32_t right)
{
    struct heft_train_cells *c = t->cells;
    const struct heft_train_symbol *a, *b;
    uint16_t cells;

    if (!heft_grow(&c->symbols, &c->cap_symbols, c->n_symbols, 1, sizeof *c->symbols, t->err))
        return false;
    a = &c->symbols[left];
    b = &c->symbols[right];
    cells = (uint16_t)(a->cells + b->cells);
    c->symbols[c->n_symbols] = (struct heft_train_symbol){
        .prefix = a->n < 8 ? a->prefix | b->prefix >> 8 * a->n : a->prefix,
        .left = left,
        .right = right,
        .n = (uint16_t)(a->n + b->n),
        .cells = cells,
        .first = cells == 2 ? a->first : (uint8_t)c->n_symbols};
    c->n_symbols++;
    return true;
}

/* Copies the pair's list, since lists move. */
static bool take_list(struct training *t, const struct heft_train_pair *pair)
{
    if (!heft_grow(&t->list, &t->cap_list, 0, pair->n, 1, t->err))
        return false;
    memcpy(t->list, heft_train_pairs_list(&t->survey.pairs, pair), pair->n);
    t->n_list = pair->n;
    return true;
}

static bool merge_pair(struct training *t, struct heft_train_pair *pair)
{
    const uint32_t left = (uint32_t)(pair->key >> 32), right = (uint32_t)pair->key;
    const uint32_t fresh = t->cells->n_symbols;

    if (!take_list(t, pair) || !add_symbol(t, left, right))
        return false;
    heft_train_pairs_drop(&t->survey.pairs, pair);
    return merge_places(t, left, right, fresh) && make_pairs(t, fresh);
}

static bool survey_pairs(struct training *t, const struct heft_train_task *task)
{
    return heft_train_survey_pairs(&t->survey, task->most_symbols - t->cells->n_symbols, t->err);
}

static bool merge_all(struct training *t, const struct heft_train_task *task)
{
    struct heft_train_pairs *pairs = &t->survey.pairs;

    t->before = heft_calloc(task->most_symbols, sizeof *t->before, t->err);
    t->behind = heft_calloc(task->most_symbols, sizeof *t->behind, t->err);
    if (!t->before || !t->behind || !heft_train_survey_begin(&t->survey, task, t->err) ||
        !survey_pairs(t, task))
        return false;
    while (t->cells->n_symbols < task->most_symbols) {
        struct heft_train_pair *pair = heft_train_pairs_next(pairs);

        if (!pair && pairs->least.count == task->min_frequency && pairs->least.key == UINT64_MAX)
            return true;
        if (pair ? !merge_pair(t, pair) : !survey_pairs(t, task))
            return false;
    }
    return true;
}

bool heft_train_merge(struct heft_train_task *task, struct heft_error *err)
{
    struct training t = {.cells = &task->cells, .err = err};
    const bool ok = merge_all(&t, task);

    heft_train_pairs_release(&t.survey.pairs);
    heft_free(t.groups);
    heft_free(t.list);
    heft_free(t.before);
    heft_free(t.behind);
    return ok;
}
