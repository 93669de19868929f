/* pickle_nodes.c: the store of nodes and items.
 *
 * Nodes and items grow by doubling inside the arena: a first guess from the pickle's length holds
 * for nearly every checkpoint, and pages that are never touched cost nothing.
 *
 * Items of a container are a chain of segments in one pool of u32:
 *
 *     first ─► next │ count │ item … ─► next │ count │ item …  ◄─ last
 *
 * A segment at the end of the pool grows in place, so appending one by one stays linear and a tuple
 * is always one segment. */
#include "wire/pickle_machine.h"

/* Room for `want` entries, at most `most`, in an array of the arena. `items` points to the array's
 * pointer. */
static bool widen(struct heft_pickle_machine *m, void *items, size_t each, size_t *cap, size_t want,
                  size_t most)
{
    size_t room = *cap < most / 2 ? *cap * 2 : most;
    void *wider, *old;

    if (room < want)
        room = want;
    if (room > SIZE_MAX / each)
        return heft_fail(m->err, HEFT_NOMEM, HEFT_NO_OFFSET, "out of memory for a pickle's values");
    memcpy(&old, items, sizeof old);
    wider = heft_arena_widen(m->arena, old, *cap * each, room * each, m->err);
    if (!wider)
        return false;
    memcpy(items, &wider, sizeof wider);
    *cap = room;
    return true;
}

bool heft_pickle_reserve(struct heft_pickle_machine *m)
{
    /* Seen in checkpoints: 5 to 8 bytes a value, and about one u32 of items for 4 bytes. */
    const size_t guess = heft_min_u64(m->n / 4, 1 << 20) + 16;
    const size_t nodes = heft_min_u64(guess, m->limits.nodes);

    return heft_grow(&m->stack, &m->cap_stack, 0, guess / 8 + 64, sizeof *m->stack, m->err) &&
           heft_grow(&m->marks, &m->cap_marks, 0, 16, sizeof *m->marks, m->err) &&
           heft_grow(&m->memo, &m->cap_memo, 0, guess / 2, sizeof *m->memo, m->err) &&
           widen(m, &m->nodes, sizeof *m->nodes, &m->cap_nodes, nodes, nodes) &&
           widen(m, &m->items, sizeof *m->items, &m->cap_items, guess, guess);
}

bool heft_pickle_node_room(struct heft_pickle_machine *m)
{
    if (m->n_nodes >= m->limits.nodes)
        return heft_pickle_fail(m, HEFT_LIMIT, "more than %" PRIu64 " values", m->limits.nodes);
    return widen(m, &m->nodes, sizeof *m->nodes, &m->cap_nodes, m->n_nodes + 1,
                 (size_t)m->limits.nodes); /* below 2^32 */
}

/* Values that are shared (DUP, BINGET) stand on the stack and in containers more than once, but not
 * many times over in any file that a pickler wrote. */
#define SHARING 4

bool heft_pickle_stack_room(struct heft_pickle_machine *m)
{
    if (m->depth / SHARING >= m->limits.nodes)
        return heft_pickle_fail(m, HEFT_LIMIT, "more than %" PRIu64 " values on the stack",
                                SHARING * m->limits.nodes);
    return heft_grow(&m->stack, &m->cap_stack, m->depth, 1, sizeof *m->stack, m->err);
}

static bool item_room(struct heft_pickle_machine *m, size_t k)
{
    /* Numbers in the pool are u32, the last one means none. */
    if (k >= HEFT_PICKLE_NIL - m->n_items)
        return heft_pickle_fail(m, HEFT_LIMIT, "containers hold more than 2^32 items");
    if (k <= m->cap_items - m->n_items)
        return true;
    if ((m->n_items + k) / (2 * SHARING) > m->limits.nodes) /* a segment has two words of its own */
        return heft_pickle_fail(m, HEFT_LIMIT, "containers hold more than %" PRIu64 " items",
                                2 * SHARING * m->limits.nodes);
    return widen(m, &m->items, sizeof *m->items, &m->cap_items, m->n_items + k, HEFT_PICKLE_NIL);
}

bool heft_pickle_add(struct heft_pickle_machine *m, uint32_t number, const uint32_t *list, size_t k)
{
    struct heft_pickle_node *node = &m->nodes[number];

    if (k == 0)
        return true;
    if (!item_room(m, k + HEFT_PICKLE_SEGMENT))
        return false;
    if (node->last == HEFT_PICKLE_NIL ||
        node->last + HEFT_PICKLE_SEGMENT + m->items[node->last + 1] != m->n_items) {
        const uint32_t segment = (uint32_t)m->n_items;

        m->items[m->n_items++] = HEFT_PICKLE_NIL;
        m->items[m->n_items++] = 0;
        if (node->last == HEFT_PICKLE_NIL)
            node->first = segment;
        else
            m->items[node->last] = segment;
        node->last = segment;
    }
    for (size_t i = 0; i < k; i++) /* mostly 1 to 4: cheaper than memcpy */
        m->items[m->n_items++] = list[i];
    m->items[node->last + 1] += (uint32_t)k;
    node->count += (uint32_t)k;
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
