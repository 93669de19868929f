/* pickle_mend.c: recovers what an incomplete pickle had built.
 *
 * A pickler writes a container first and fills it in batches, so that the stack always shows the
 * containers under construction, from the root up:
 *
 *     root │ mark │ key value key value … key container │ mark │ key value … key callee │ mark │ …
 *            └ of the root, to be set on it at the end    └ of that container             └ arguments
 *
 * Marks are closed from the top down: the values above a mark are added to the container directly
 * below it, if that can still grow; arguments of a call that is missing are dropped. Then the
 * single opcodes that are missing (SETITEM, BUILD) are applied at the bottom. */
#include "wire/pickle_machine.h"

#define BATCH 1000 /* items that Python's pickler sets in one batch */

static bool is_one_of(const struct heft_pickle_machine *m, uint32_t node, unsigned kinds)
{
    return (HEFT_PICKLE_BIT(heft_pickle_kind(m, node)) & kinds) != 0;
}

static bool is_key(const struct heft_pickle_machine *m, uint32_t node)
{
    return is_one_of(m, node,
                     HEFT_PICKLE_BIT(HEFT_PICKLE_STR) | HEFT_PICKLE_BIT(HEFT_PICKLE_PY2STR) |
                         HEFT_PICKLE_BIT(HEFT_PICKLE_INT));
}

/* OrderedDict(), or an object made by NEWOBJ: without arguments, so it is filled later. */
static bool is_bare_call(const struct heft_pickle_machine *m, uint32_t node)
{
    const struct heft_pickle_node *n = &m->nodes[node];

    return n->kind == HEFT_PICKLE_CALL && n->u.call.args != HEFT_PICKLE_NIL &&
           heft_pickle_filled(m, n->u.call.args) == 0;
}

/* True if the value takes pairs, and may be between two batches. */
static bool takes_pairs(const struct heft_pickle_machine *m, uint32_t node)
{
    return (heft_pickle_kind(m, node) == HEFT_PICKLE_DICT || is_bare_call(m, node)) &&
           heft_pickle_filled(m, node) % (2 * BATCH) == 0;
}

static bool takes_items(const struct heft_pickle_machine *m, uint32_t node)
{
    return is_one_of(m, node,
                     HEFT_PICKLE_BIT(HEFT_PICKLE_LIST) | HEFT_PICKLE_BIT(HEFT_PICKLE_SET)) &&
           heft_pickle_filled(m, node) % BATCH == 0;
}

/* A global at the end, or before a value that is not a key of the same kind as the first, is about
 * to be called. */
static bool is_callee(const struct heft_pickle_machine *m, size_t at, size_t first)
{
    return heft_pickle_kind(m, m->stack[at]) == HEFT_PICKLE_GLOBAL &&
           (at + 1 == m->depth ||
            heft_pickle_kind(m, m->stack[at + 1]) != heft_pickle_kind(m, m->stack[first]));
}

/* BUILD: the dict on top holds the attributes of the object below it. */
static void build_top(struct heft_pickle_machine *m, size_t from)
{
    uint32_t object;

    if (m->depth < from + 2 || heft_pickle_kind(m, heft_pickle_top(m, 0)) != HEFT_PICKLE_DICT)
        return;
    object = heft_pickle_top(m, 1);
    if (heft_pickle_kind(m, object) != HEFT_PICKLE_CALL ||
        m->nodes[object].state != HEFT_PICKLE_NIL)
        return;
    m->nodes[object].state = heft_pickle_top(m, 0);
    m->depth--;
}

static bool add_pairs(struct heft_pickle_machine *m, uint32_t node, size_t from)
{
    size_t n = 0;

    if ((m->depth - from) % 2)
        build_top(m, from);
    while (from + n + 1 < m->depth && !is_callee(m, from + n + 1, from))
        n += 2;
    if (n && m->nodes[node].kind == HEFT_PICKLE_CALL)
        m->nodes[node].pairs = true;
    return heft_pickle_add(m, node, m->stack + from, n);
}

static bool add_items(struct heft_pickle_machine *m, uint32_t node, size_t from)
{
    size_t n = 0;

    while (from + n < m->depth && !is_callee(m, from + n, from + n))
        n++;
    return heft_pickle_add(m, node, m->stack + from, n);
}

/* Closes the newest mark, whose values begin at stack[from]. */
static bool close_mark(struct heft_pickle_machine *m, size_t from)
{
    const uint32_t under = from ? m->stack[from - 1] : HEFT_PICKLE_NIL;
    bool ok = true;

    if (under != HEFT_PICKLE_NIL && takes_pairs(m, under))
        ok = add_pairs(m, under, from);
    else if (under != HEFT_PICKLE_NIL && takes_items(m, under))
        ok = add_items(m, under, from);
    m->depth = from;
    return ok;
}

/* Finishes the values without marks: builds attributes, sets single items. */
static bool close_rest(struct heft_pickle_machine *m)
{
    bool ok = true;

    while (ok && m->depth > 1) {
        const size_t before = m->depth;

        build_top(m, 0);
        if (m->depth < before)
            continue;
        if (m->depth > 2 && is_key(m, heft_pickle_top(m, 1)) &&
            takes_pairs(m, heft_pickle_top(m, 2)) &&
            heft_pickle_kind(m, heft_pickle_top(m, 0)) != HEFT_PICKLE_GLOBAL) {
            ok = add_pairs(m, heft_pickle_top(m, 2), m->depth - 2);
            m->depth--;
        }
        m->depth--;
    }
    return ok;
}

static bool close_containers(struct heft_pickle_machine *m)
{
    bool ok = true;

    while (ok && m->n_marks) {
        const size_t from = m->marks[m->n_marks - 1];

        heft_pickle_drop_mark(m);
        ok = close_mark(m, from);
    }
    if (!ok || !close_rest(m))
        return false;
    if (m->depth == 1 && heft_pickle_kind(m, m->stack[0]) != HEFT_PICKLE_GLOBAL)
        m->root = m->stack[0];
    m->at = m->n; /* ignore the rest */
    return true;
}

bool heft_pickle_salvage(struct heft_pickle *out, struct heft_bytes data, uint64_t base,
                         const struct heft_pickle_limits *limits, struct heft_arena *arena,
                         struct heft_error *why, struct heft_error *err)
{
    struct heft_pickle_machine m;
    bool done = heft_pickle_begin(&m, out, data, base, limits, arena, why) &&
                heft_pickle_loop(&m, &out->opcodes);

    if (!done && (why->code == HEFT_MALFORMED || why->code == HEFT_UNSUPPORTED)) {
        m.err = err;
        done = close_containers(&m) && m.root != HEFT_PICKLE_NIL;
    }
    if (!done && err->code == HEFT_OK)
        *err = *why;
    heft_pickle_end(&m, out);
    return done;
}
