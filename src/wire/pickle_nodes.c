/* pickle_nodes.c: storage of nodes and items.
 *
 * Nodes and items grow inside the arena, first by doubling, later by a quarter: the first estimate
 * from the pickle's length suffices for nearly every checkpoint, and untouched pages cost nothing.
 * Nodes, items, stack and memo share one memory budget, which limits.nodes sets, so that shared
 * values, which need no nodes, cannot exceed the memory that the limit of nodes stands for.
 *
 * Items of a container are a chain of segments in one pool of u32:
 *
 *     all │ last │ next │ count │ item … ─► next │ count │ item …
 *                  └ first                  └ last
 *
 * Only the first segment is preceded by the number of all items and the place of the last segment:
 * most nodes have no items, and need no room for them.
 *
 * A segment at the end of the pool grows in place, so that appending one by one is linear, and a
 * tuple is always one segment. */
#include "wire/pickle_machine.h"

#define WORD       sizeof(uint32_t)
#define NODE_WORDS (sizeof(struct heft_pickle_node) / WORD)
#define MOST_WORDS                                                                                 \
    (NODE_WORDS + 4) /* words for each node of limits.nodes; in a pickler's files a value takes
                        about one item, half a word before the items, and half a memo entry */
#define FIRST_WORDS ((uint64_t)1 << 16) /* additional words, for a tiny limit */
#define DOUBLING    ((size_t)1 << 20)   /* entries: larger arrays grow by a quarter */

static uint64_t words_of_nodes(const struct heft_pickle_machine *m)
{
    return m->limits.nodes * MOST_WORDS + FIRST_WORDS; /* limits.nodes < 2^32 */
}

/* What limits.bytes leaves beside the pickle itself. */
static uint64_t words_of_bytes(const struct heft_pickle_machine *m)
{
    return m->limits.bytes > m->n ? (m->limits.bytes - m->n) / WORD : 0;
}

static uint64_t words_left(const struct heft_pickle_machine *m)
{
    const uint64_t most = heft_min_u64(words_of_nodes(m), words_of_bytes(m));
    const uint64_t held = NODE_WORDS * m->cap_nodes + m->cap_items + m->cap_stack + m->cap_memo +
                          2 * m->sparse.cap + m->sparse.dense_cap;

    return most > held ? most - held : 0;
}

static bool over_budget(struct heft_pickle_machine *m)
{
    if (words_of_bytes(m) < words_of_nodes(m))
        return heft_pickle_fail(m, HEFT_LIMIT,
                                "values, items, stack and memo of more than %" PRIu64
                                " bytes, which is what the rest of the input leaves of "
                                "limits.nodes, limits.tensors and limits.expansion together",
                                words_of_bytes(m) * WORD);
    return heft_pickle_fail(m, HEFT_LIMIT,
                            "values, items, stack and memo of more than %" PRIu64
                            " bytes, which is what %" PRIu64 " values may take: limits.nodes",
                            words_of_nodes(m) * WORD, m->limits.nodes);
}

/* New capacity of an array with entries of `each` bytes and capacity `cap` that needs `want`, at
 * most `most` entries. */
static bool choose_room(struct heft_pickle_machine *m, size_t each, size_t cap, size_t want,
                        size_t most, size_t *room)
{
    const uint64_t afford = cap + words_left(m) * WORD / each;

    *room = cap + (cap < DOUBLING ? cap : cap / 4);
    *room = *room < most ? *room : most;
    *room = *room > want ? *room : want;
    *room = (size_t)heft_min_u64(*room, afford);
    if (*room < want)
        return over_budget(m);
    return *room <= SIZE_MAX / each ||
           heft_fail(m->err, HEFT_NOMEM, HEFT_NO_OFFSET, "out of memory for a pickle's values");
}

/* Enlarges an array in the arena to `want` entries, at most `most`. `items` points to the array's
 * pointer. */
static bool widen_array(struct heft_pickle_machine *m, void *items, size_t each, size_t *cap,
                        size_t want, size_t most)
{
    void *wider, *old;
    size_t room;

    if (!choose_room(m, each, *cap, want, most, &room))
        return false;
    memcpy(&old, items, sizeof old);
    wider = heft_arena_widen(m->arena, old, *cap * each, room * each, m->err);
    if (!wider)
        return false;
    memcpy(items, &wider, sizeof wider);
    *cap = room;
    return true;
}

/* Likewise for an array of numbers on the heap. */
static bool widen_heap(struct heft_pickle_machine *m, uint32_t **numbers, size_t *cap, size_t want)
{
    uint32_t *wider;
    size_t room;

    if (!choose_room(m, WORD, *cap, want, SIZE_MAX, &room))
        return false;
    wider = heft_realloc(*numbers, room * WORD, m->err);
    if (!wider)
        return false;
    *numbers = wider;
    *cap = room;
    return true;
}

#define WORTH_TRIMMING ((size_t)1 << 20) /* bytes */

/* Gives back the unused capacity of a large array in the arena, if its block allows it. */
static void trim_array(struct heft_pickle_machine *m, void *items, size_t each, size_t n,
                       size_t *cap)
{
    struct heft_error ignored = {0}; /* the array is still valid */
    void *smaller, *old;

    if ((*cap - n) * each < WORTH_TRIMMING)
        return;
    memcpy(&old, items, sizeof old);
    smaller = heft_arena_shrink(m->arena, old, *cap * each, n * each, &ignored);
    if (!smaller)
        return;
    memcpy(items, &smaller, sizeof smaller);
    *cap = n;
}

void heft_pickle_trim(struct heft_pickle_machine *m)
{
    trim_array(m, &m->nodes, sizeof *m->nodes, m->n_nodes, &m->cap_nodes);
    trim_array(m, &m->items, sizeof *m->items, m->n_items, &m->cap_items);
}

bool heft_pickle_reserve(struct heft_pickle_machine *m)
{
    /* measured in checkpoints: 5 to 8 bytes for a value, and about one u32 of items for 4 bytes */
    const size_t guess = heft_min_size(m->n / 4, 1 << 20) + 16;
    const size_t nodes = heft_min_size(guess, m->limits.nodes);

    return heft_grow(&m->stack, &m->cap_stack, 0, nodes / 8 + 64, sizeof *m->stack, m->err) &&
           heft_grow(&m->marks, &m->cap_marks, 0, 16, sizeof *m->marks, m->err) &&
           heft_grow(&m->memo, &m->cap_memo, 0, nodes / 2 + 8, sizeof *m->memo, m->err) &&
           widen_array(m, &m->nodes, sizeof *m->nodes, &m->cap_nodes, nodes, nodes) &&
           widen_array(m, &m->items, sizeof *m->items, &m->cap_items, nodes + 16, nodes + 16);
}

bool heft_pickle_node_room(struct heft_pickle_machine *m)
{
    if (m->n_nodes >= m->limits.nodes)
        return heft_pickle_fail(m, HEFT_LIMIT, "more than %" PRIu64 " values", m->limits.nodes);
    return widen_array(m, &m->nodes, sizeof *m->nodes, &m->cap_nodes, m->n_nodes + 1,
                       (size_t)m->limits.nodes); /* below 2^32 */
}

bool heft_pickle_stack_room(struct heft_pickle_machine *m)
{
    return widen_heap(m, &m->stack, &m->cap_stack, m->depth + 1);
}

bool heft_pickle_memo_room(struct heft_pickle_machine *m)
{
    return m->n_memo < m->cap_memo || widen_heap(m, &m->memo, &m->cap_memo, m->n_memo + 1);
}

bool heft_pickle_sparse_room(struct heft_pickle_machine *m)
{
    /* Growing doubles the slots, or adds half to the plain array; both take a word or two for each
     * entry. */
    return words_left(m) > 2 * m->sparse.cap + m->sparse.dense_cap / 2 || over_budget(m);
}

static bool item_room(struct heft_pickle_machine *m, size_t k)
{
    /* Indexes in the pool are u32; the last value means none. */
    if (k >= HEFT_PICKLE_NIL - m->n_items)
        return heft_pickle_fail(m, HEFT_LIMIT, "containers hold more than 2^32 items");
    return k <= m->cap_items - m->n_items ||
           widen_array(m, &m->items, sizeof *m->items, &m->cap_items, m->n_items + k,
                       HEFT_PICKLE_NIL);
}

/* Appends an empty segment, and returns its place in the pool. */
static uint32_t begin_segment(struct heft_pickle_machine *m)
{
    const uint32_t segment = (uint32_t)m->n_items;

    m->items[m->n_items++] = HEFT_PICKLE_NIL;
    m->items[m->n_items++] = 0;
    return segment;
}

/* The segment to which the next items are added: the last one if it ends the pool, else a new
 * one. */
static uint32_t open_segment(struct heft_pickle_machine *m, struct heft_pickle_node *node)
{
    uint32_t *head, last;

    if (node->first == HEFT_PICKLE_NIL) {
        m->n_items += HEFT_PICKLE_HEAD;
        node->first = begin_segment(m);
        head = m->items + node->first - HEFT_PICKLE_HEAD;
        head[0] = 0;
        return head[1] = node->first;
    }
    head = m->items + node->first - HEFT_PICKLE_HEAD;
    last = head[1];
    if (last + HEFT_PICKLE_SEGMENT + m->items[last + 1] != m->n_items) {
        head[1] = begin_segment(m);
        m->items[last] = head[1];
    }
    return head[1];
}

bool heft_pickle_add(struct heft_pickle_machine *m, uint32_t number, const uint32_t *list, size_t k)
{
    struct heft_pickle_node *node = &m->nodes[number];
    uint32_t segment;

    if (k == 0)
        return true;
    if (!item_room(m, k + HEFT_PICKLE_SEGMENT + HEFT_PICKLE_HEAD))
        return false;
    segment = open_segment(m, node);
    for (size_t i = 0; i < k; i++) /* mostly 1 to 4: cheaper than memcpy */
        m->items[m->n_items++] = list[i];
    m->items[segment + 1] += (uint32_t)k;
    m->items[node->first - HEFT_PICKLE_HEAD] += (uint32_t)k;
    return true;
}

const char *heft_pickle_kind_name(unsigned kind)
{
    static const char *const names[] = {[HEFT_PICKLE_NONE] = "None",
                                        [HEFT_PICKLE_BOOL] = "a bool",
                                        [HEFT_PICKLE_INT] = "an int",
                                        [HEFT_PICKLE_BIGINT] = "an int",
                                        [HEFT_PICKLE_FLOAT] = "a float",
                                        [HEFT_PICKLE_STR] = "a str",
                                        [HEFT_PICKLE_PY2STR] = "a string",
                                        [HEFT_PICKLE_BYTES] = "bytes",
                                        [HEFT_PICKLE_BYTEARRAY] = "bytearray",
                                        [HEFT_PICKLE_TUPLE] = "a tuple",
                                        [HEFT_PICKLE_LIST] = "a list",
                                        [HEFT_PICKLE_DICT] = "a dict",
                                        [HEFT_PICKLE_SET] = "a set",
                                        [HEFT_PICKLE_FROZENSET] = "a frozenset",
                                        [HEFT_PICKLE_GLOBAL] = "a global",
                                        [HEFT_PICKLE_CALL] = "an object",
                                        [HEFT_PICKLE_PERSID] = "a persistent object"};

    return kind < HEFT_COUNT(names) ? names[kind] : "?";
}
