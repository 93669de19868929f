/* train_merge.c: the most frequent pair of neighbours becomes a symbol, again and again.
 *
 *     cells    | gap | h | u | g | gap | h | u | g | s | gap |      a cell for each first symbol
 *     hu merged| gap |hu |hu | g | gap |hu |hu | g | s | gap |      told at its first and last cell
 *     hug      | gap |hug| - |hug| gap |hug| - |hug| s | gap |
 *
 * So the symbol before a place is told by the cell before it, and the one behind by adding cells;
 * merging costs the same in long words as in short ones.
 *
 * A pair of neighbours arises only when the newer of the two is merged, and from then on gets rarer:
 * what is too rare when it arises is forgotten at once, and a heap of counts that are too high, but
 * never too low, is right once its top is. Each pair keeps the places where it arose; those where it
 * is no more are passed over. */
#include "tokens/train.h"

#define NONE (HEFT_TRAIN_GAP - 1) /* within a symbol */

struct pair {
    uint64_t key;   /* left << 32 | right; UINT64_MAX: free */
    uint64_t count; /* 0: merged or too rare */
    uint32_t *places;
    uint32_t n;
};
struct ranked {
    uint64_t count, key;
};
/* Of the merge at hand: a pair that the new symbol makes. */
struct group {
    uint64_t key, count;
    uint32_t n, other;
    struct pair *pair;
};
struct found {
    uint32_t group, place;
};

struct training {
    struct heft_train_task *task;
    struct pair *pairs;
    unsigned bits;
    size_t n_pairs;
    struct ranked *heap;
    size_t n_heap, cap_heap;
    struct group *groups;
    size_t n_groups, cap_groups;
    struct found *found;
    size_t n_found, cap_found;
    uint32_t *before, *behind; /* number of the group + 1 of (symbol, new) and (new, symbol) */
    struct heft_error *err;
};

static uint64_t key_of(uint32_t left, uint32_t right)
{
    return (uint64_t)left << 32 | right;
}

/* ---- pairs ------------------------------------------------------------------------------- */

/* The pair of that key, or the free place for it. */
static struct pair *pair_at(const struct training *t, uint64_t key)
{
    const size_t mask = ((size_t)1 << t->bits) - 1;
    size_t i = (size_t)(key * UINT64_C(0x9E3779B97F4A7C15) >> (64 - t->bits));

    while (t->pairs[i].key != key && t->pairs[i].key != UINT64_MAX)
        i = (i + 1) & mask;
    return &t->pairs[i];
}

static bool set_bits(struct training *t, unsigned bits)
{
    struct pair *old = t->pairs;
    const size_t n = old ? (size_t)1 << t->bits : 0, wanted = (size_t)1 << bits;
    struct pair *pairs = heft_calloc(wanted, sizeof *pairs, t->err);

    if (!pairs)
        return false;
    for (size_t i = 0; i < wanted; i++)
        pairs[i].key = UINT64_MAX;
    t->pairs = pairs;
    t->bits = bits;
    t->n_pairs = 0;
    for (size_t i = 0; i < n; i++) {
        if (old[i].key == UINT64_MAX || old[i].count == 0)
            continue;
        *pair_at(t, old[i].key) = old[i];
        t->n_pairs++;
    }
    heft_free(old);
    return true;
}

/* Room for more pairs: the table grows unless most of it is pairs that are gone. */
static bool reserve(struct training *t, size_t more)
{
    size_t alive = 0;
    unsigned bits = t->bits;

    if ((t->n_pairs + more) * 2 <= (size_t)1 << t->bits)
        return true;
    for (size_t i = 0; i < (size_t)1 << t->bits; i++)
        alive += t->pairs[i].key != UINT64_MAX && t->pairs[i].count > 0;
    while ((alive + more) * 3 > (size_t)1 << bits)
        bits++;
    return set_bits(t, bits);
}

static void drop(struct pair *pair)
{
    heft_free(pair->places);
    pair->places = NULL;
    pair->count = 0;
}

static void lessen(struct training *t, uint64_t key, uint64_t count)
{
    struct pair *pair = pair_at(t, key);

    if (pair->key == UINT64_MAX || pair->count == 0)
        return;
    pair->count -= count;
    if (pair->count < t->task->min_frequency)
        drop(pair);
}

/* ---- the heap ---------------------------------------------------------------------------- */

static int compare_text(const struct heft_train_symbol *a, const struct heft_train_symbol *b)
{
    return heft_str_cmp((struct heft_str){a->text, a->n}, (struct heft_str){b->text, b->n});
}

/* Whether a merges before b. */
static bool is_before(const struct training *t, const struct ranked *a, const struct ranked *b)
{
    const struct heft_train_symbol *s = t->task->symbols;
    int order;

    if (a->count != b->count)
        return a->count > b->count;
    if (!t->task->largest_text_first)
        return a->key < b->key;
    order = compare_text(&s[a->key >> 32], &s[b->key >> 32]);
    if (order == 0)
        order = compare_text(&s[(uint32_t)a->key], &s[(uint32_t)b->key]);
    return order > 0;
}

static void sink_down(struct training *t, struct ranked item)
{
    size_t i = 0;

    for (size_t k = 1; k < t->n_heap; k = 2 * i + 1) {
        if (k + 1 < t->n_heap && is_before(t, &t->heap[k + 1], &t->heap[k]))
            k++;
        if (!is_before(t, &t->heap[k], &item))
            break;
        t->heap[i] = t->heap[k];
        i = k;
    }
    t->heap[i] = item;
}

static bool push(struct training *t, uint64_t count, uint64_t key)
{
    const struct ranked item = {count, key};
    size_t i = t->n_heap;

    if (!heft_grow(&t->heap, &t->cap_heap, t->n_heap, 1, sizeof *t->heap, t->err))
        return false;
    t->n_heap++;
    for (; i > 0 && is_before(t, &item, &t->heap[(i - 1) / 2]); i = (i - 1) / 2)
        t->heap[i] = t->heap[(i - 1) / 2];
    t->heap[i] = item;
    return true;
}

/* The pair to merge next, or NULL. */
static struct pair *next_pair(struct training *t)
{
    while (t->n_heap > 0) {
        struct ranked top = t->heap[0];
        struct pair *pair = pair_at(t, top.key);
        const uint64_t count = pair->key == UINT64_MAX ? 0 : pair->count;

        if (count == top.count)
            return pair;
        top.count = count;
        if (count == 0) {
            t->n_heap--;
            top = t->heap[t->n_heap];
        }
        if (t->n_heap > 0)
            sink_down(t, top);
    }
    return NULL;
}

/* ---- the first pairs --------------------------------------------------------------------- */

static bool count_pairs(struct training *t)
{
    const struct heft_train_task *task = t->task;

    for (size_t i = 1; i < task->n_cells; i++) {
        const uint32_t left = task->cells[i - 1].symbol, right = task->cells[i].symbol;
        struct pair *pair;

        if (left == HEFT_TRAIN_GAP || right == HEFT_TRAIN_GAP)
            continue;
        pair = pair_at(t, key_of(left, right));
        if (pair->key == UINT64_MAX) {
            if (!reserve(t, 1))
                return false;
            pair = pair_at(t, key_of(left, right));
            pair->key = key_of(left, right);
            t->n_pairs++;
        }
        pair->count += task->words[task->cells[i].word].count;
        pair->n++;
    }
    return true;
}

static bool make_room(struct training *t, struct pair *pair)
{
    pair->places = heft_alloc(pair->n * sizeof *pair->places, t->err);
    pair->n = 0;
    return pair->places && push(t, pair->count, pair->key);
}

static bool place_pairs(struct training *t)
{
    const struct heft_train_task *task = t->task;

    for (size_t i = 0; i < (size_t)1 << t->bits; i++) {
        if (t->pairs[i].key == UINT64_MAX)
            continue;
        if (t->pairs[i].count < task->min_frequency)
            t->pairs[i].count = 0;
        else if (!make_room(t, &t->pairs[i]))
            return false;
    }
    for (size_t i = 1; i < task->n_cells; i++) {
        const uint32_t left = task->cells[i - 1].symbol, right = task->cells[i].symbol;
        struct pair *pair;

        if (left == HEFT_TRAIN_GAP || right == HEFT_TRAIN_GAP)
            continue;
        pair = pair_at(t, key_of(left, right));
        if (pair->count > 0)
            pair->places[pair->n++] = (uint32_t)(i - 1);
    }
    return true;
}

/* ---- one merge --------------------------------------------------------------------------- */

/* A pair that arises, or arises once more, with the new symbol, at `place`; `slot` is where its
 * group is told. */
static bool gather(struct training *t, uint32_t *slot, uint64_t key, uint32_t other, uint32_t place,
                   uint64_t count)
{
    if (*slot == 0) {
        if (!heft_grow(&t->groups, &t->cap_groups, t->n_groups, 1, sizeof *t->groups, t->err))
            return false;
        t->groups[t->n_groups++] = (struct group){.key = key, .other = other};
        *slot = (uint32_t)t->n_groups;
    }
    if (!heft_grow(&t->found, &t->cap_found, t->n_found, 1, sizeof *t->found, t->err))
        return false;
    t->groups[*slot - 1].count += count;
    t->groups[*slot - 1].n++;
    t->found[t->n_found++] = (struct found){*slot - 1, place};
    return true;
}

/* The pair of left and right at `place` becomes `fresh`. */
static bool merge_at(struct training *t, uint32_t left, uint32_t right, uint32_t fresh,
                     uint32_t place)
{
    struct heft_train_cell *cells = t->task->cells;
    const struct heft_train_symbol *symbols = t->task->symbols;
    const uint32_t middle = place + symbols[left].cells, end = middle + symbols[right].cells;
    const uint32_t before = cells[place - 1].symbol, behind = cells[end].symbol;
    const uint64_t count = t->task->words[cells[place].word].count;

    if (before == fresh)
        t->groups[t->behind[left] - 1].count -= count; /* it arose by the merge before this one */
    else if (before != HEFT_TRAIN_GAP)
        lessen(t, key_of(before, left), count);
    if (behind != HEFT_TRAIN_GAP)
        lessen(t, key_of(right, behind), count);
    cells[middle - 1].symbol = NONE;
    cells[middle].symbol = NONE;
    cells[place].symbol = fresh;
    cells[end - 1].symbol = fresh;
    return (before == HEFT_TRAIN_GAP || gather(t, &t->before[before], key_of(before, fresh), before,
                                               place - symbols[before].cells, count)) &&
           (behind == HEFT_TRAIN_GAP ||
            gather(t, &t->behind[behind], key_of(fresh, behind), behind, place, count));
}

/* Whether readers of vocabularies, ours among them, would refuse its text. */
static bool is_too_long(const struct training *t, uint64_t key)
{
    return t->task->symbols[key >> 32].n + t->task->symbols[(uint32_t)key].n > HEFT_TRAIN_LONGEST;
}

/* What was gathered becomes pairs. */
static bool settle_groups(struct training *t)
{
    bool ok = reserve(t, t->n_groups);

    for (size_t i = 0; i < t->n_groups; i++) {
        struct group *g = &t->groups[i];

        t->before[g->other] = t->behind[g->other] = 0;
        if (!ok || g->count < t->task->min_frequency || is_too_long(t, g->key))
            continue;
        g->pair = pair_at(t, g->key);
        *g->pair = (struct pair){.key = g->key, .count = g->count, .n = g->n};
        t->n_pairs++;
        ok = make_room(t, g->pair);
    }
    for (size_t i = 0; ok && i < t->n_found; i++) {
        struct pair *pair = t->groups[t->found[i].group].pair;

        if (pair)
            pair->places[pair->n++] = t->found[i].place;
    }
    t->n_groups = t->n_found = 0;
    return ok;
}

static bool merge_pair(struct training *t, struct pair *pair)
{
    const struct heft_train_cell *cells = t->task->cells;
    const uint32_t left = (uint32_t)(pair->key >> 32), right = (uint32_t)pair->key;
    const uint32_t fresh = t->task->n_symbols - 1, step = t->task->symbols[left].cells;
    uint32_t *places = pair->places;
    bool ok = true;

    pair->places = NULL;
    pair->count = 0;
    for (uint32_t i = 0; ok && i < pair->n; i++) {
        const uint32_t place = places[i];

        if (cells[place].symbol == left && cells[place + step].symbol == right)
            ok = merge_at(t, left, right, fresh, place);
    }
    heft_free(places);
    return ok && settle_groups(t);
}

/* ---- the whole --------------------------------------------------------------------------- */

static bool add_symbol(struct heft_train_task *task, uint32_t left, uint32_t right,
                       struct heft_error *err)
{
    const struct heft_train_symbol *a = &task->symbols[left], *b = &task->symbols[right];
    char *text = heft_arena_alloc(task->mem, (size_t)a->n + b->n, err);

    if (!text)
        return false;
    memcpy(text, a->text, a->n);
    memcpy(text + a->n, b->text, b->n);
    task->symbols[task->n_symbols++] =
        (struct heft_train_symbol){text, a->n + b->n, a->cells + b->cells, left, right};
    return true;
}

static bool train(struct training *t)
{
    struct heft_train_task *task = t->task;
    struct pair *pair;

    t->before = heft_calloc(task->most_symbols, sizeof *t->before, t->err);
    t->behind = heft_calloc(task->most_symbols, sizeof *t->behind, t->err);
    if (!t->before || !t->behind || !set_bits(t, 12) || !count_pairs(t) || !place_pairs(t))
        return false;
    while (task->n_symbols < task->most_symbols && (pair = next_pair(t)) != NULL)
        if (!add_symbol(task, (uint32_t)(pair->key >> 32), (uint32_t)pair->key, t->err) ||
            !merge_pair(t, pair))
            return false;
    return true;
}

bool heft_train_merge(struct heft_train_task *task, struct heft_error *err)
{
    struct training t = {.task = task, .err = err};
    const bool ok = train(&t);

    for (size_t i = 0; t.pairs && i < (size_t)1 << t.bits; i++)
        heft_free(t.pairs[i].places);
    heft_free(t.pairs);
    heft_free(t.heap);
    heft_free(t.groups);
    heft_free(t.found);
    heft_free(t.before);
    heft_free(t.behind);
    return ok;
}
