/* pickle_quick.c: the opcodes of which checkpoints are made, where nothing about them is unusual.
 *
 *     X "w" q 1  h 2 ( ( h 3 h 4 X "0" q 5 h 6 M 64 t Q  K 0 K 8 K 8 0x86 K 8 K 1 0x86 … t R
 *
 * Some thirty opcodes a tensor, of two dozen kinds. This loop runs those and stops before the first
 * that it cannot be sure of: another opcode, the end of the pickle or of a frame near, a value
 * missing or of another kind, no room left. That one has not been touched, and the table
 * (pickle_ops.c), which knows all opcodes and every error, runs it. So nothing here fails, and what
 * is done is what the table would have done. */
#include "wire/pickle_machine.h"

#include "base/endian.h"

#define HEAD      5 /* the longest opcode here with its argument, but for text */
#define WORD      8
#define TOP_BITS  UINT64_C(0x8080808080808080)
#define TUPLE_ONE 0x85 /* TUPLE1, TUPLE2, TUPLE3 follow each other */

/* A new node on the stack: there is room, see sure. */
static inline struct heft_pickle_node *put(struct heft_pickle_machine *m,
                                           enum heft_pickle_kind kind)
{
    m->stack[m->depth++] = (uint32_t)m->n_nodes;
    return heft_pickle_clear(m, m->n_nodes++, kind);
}

static inline void put_int(struct heft_pickle_machine *m, enum heft_pickle_kind kind, int64_t value)
{
    put(m, kind)->u.integer = value;
}

static inline bool has(const struct heft_pickle_machine *m, size_t values)
{
    return m->depth - m->fence >= values;
}

/* Text of n ASCII bytes at p. */
static inline bool put_text(struct heft_pickle_machine *m, const uint8_t *p, size_t n,
                            const uint8_t *end)
{
    struct heft_pickle_node *node;
    uint64_t seen = 0;
    size_t i = 0;

    if (n > m->limits.text || end - p < WORD || n > (size_t)(end - p) - WORD)
        return false; /* words are read: up to 7 bytes behind the text */
    for (; n - i >= WORD; i += WORD)
        seen |= heft_le64(p + i);
    if (n > i) /* the bytes behind the text are shifted out */
        seen |= heft_le64(p + i) << 8 * (WORD - (n - i));
    if (seen & TOP_BITS)
        return false;
    node = put(m, HEFT_PICKLE_STR);
    node->u.text.p = p;
    node->len = (uint32_t)n; /* at most limits.text */
    return true;
}

static inline bool put_again(struct heft_pickle_machine *m, size_t index)
{
    if (index >= m->n_memo)
        return false;
    m->stack[m->depth++] = m->memo[index];
    return true;
}

static inline bool memo_set(struct heft_pickle_machine *m, size_t index)
{
    if (!has(m, 1) || index > m->n_memo || index >= m->cap_memo || m->sparse.count ||
        m->large.count || index >= m->limits.nodes)
        return false;
    m->memo[index] = heft_pickle_top(m, 0);
    if (index == m->n_memo)
        m->n_memo++;
    return true;
}

static inline bool mark(struct heft_pickle_machine *m)
{
    if (m->n_marks >= m->limits.marks || m->n_marks == m->cap_marks)
        return false;
    m->marks[m->n_marks++] = (uint32_t)m->depth; /* at most data.n values were pushed */
    m->fence = m->depth;
    return true;
}

/* The last k values become a tuple: one segment of items. */
static inline bool tuple(struct heft_pickle_machine *m, size_t k)
{
    uint32_t *items = m->items + m->n_items;
    struct heft_pickle_node *node;

    if (k == 0 || !has(m, k) || k + HEFT_PICKLE_SEGMENT >= m->cap_items - m->n_items)
        return false;
    m->depth -= k;
    items[0] = HEFT_PICKLE_NIL;
    items[1] = (uint32_t)k;
    for (size_t i = 0; i < k; i++)
        items[HEFT_PICKLE_SEGMENT + i] = m->stack[m->depth + i];
    node = put(m, HEFT_PICKLE_TUPLE);
    node->first = node->last = (uint32_t)m->n_items;
    node->count = (uint32_t)k;
    m->n_items += HEFT_PICKLE_SEGMENT + k;
    return true;
}

static inline bool tuple_from_mark(struct heft_pickle_machine *m)
{
    if (m->n_marks == 0 || !tuple(m, m->depth - m->fence))
        return false;
    heft_pickle_drop_mark(m);
    return true;
}

static inline bool reduce(struct heft_pickle_machine *m)
{
    struct heft_pickle_node *node;
    uint32_t callee, args;

    if (!has(m, 2))
        return false;
    callee = heft_pickle_top(m, 1);
    args = heft_pickle_top(m, 0);
    if (heft_pickle_kind(m, callee) != HEFT_PICKLE_GLOBAL ||
        heft_pickle_kind(m, args) != HEFT_PICKLE_TUPLE)
        return false;
    m->depth -= 2;
    node = put(m, HEFT_PICKLE_CALL);
    node->how = HEFT_PICKLE_REDUCE;
    node->u.call.callee = callee;
    node->u.call.args = args;
    return true;
}

static inline bool persid(struct heft_pickle_machine *m)
{
    struct heft_pickle_node *node;
    uint32_t id;

    if (!has(m, 1))
        return false;
    id = m->stack[--m->depth];
    node = put(m, HEFT_PICKLE_PERSID);
    node->u.call.callee = HEFT_PICKLE_NIL;
    node->u.call.args = id;
    return true;
}

/* Runs the opcode at p, HEAD bytes or more before the end. Its length, 0 where it is not for here.
 */
static inline size_t step(struct heft_pickle_machine *m, const uint8_t *p, const uint8_t *end)
{
    size_t n;

    switch (p[0]) {
    case 'h': /* BINGET */
        return put_again(m, p[1]) ? 2 : 0;
    case 'j': /* LONG_BINGET */
        return put_again(m, heft_le32(p + 1)) ? 5 : 0;
    case 'q': /* BINPUT */
        return memo_set(m, p[1]) ? 2 : 0;
    case 'r': /* LONG_BINPUT */
        return memo_set(m, heft_le32(p + 1)) ? 5 : 0;
    case 0x94: /* MEMOIZE */
        return memo_set(m, m->n_memo) ? 1 : 0;
    case '(': /* MARK */
        return mark(m) ? 1 : 0;
    case 't': /* TUPLE */
        return tuple_from_mark(m) ? 1 : 0;
    case TUPLE_ONE:
    case TUPLE_ONE + 1:
    case TUPLE_ONE + 2:
        return tuple(m, p[0] - TUPLE_ONE + 1U) ? 1 : 0;
    case ')': /* EMPTY_TUPLE */
        put(m, HEFT_PICKLE_TUPLE);
        return 1;
    case 'K': /* BININT1 */
        put_int(m, HEFT_PICKLE_INT, p[1]);
        return 2;
    case 'M': /* BININT2 */
        put_int(m, HEFT_PICKLE_INT, heft_le16(p + 1));
        return 3;
    case 'J': /* BININT */
        put_int(m, HEFT_PICKLE_INT, (int32_t)heft_le32(p + 1));
        return 5;
    case 0x88: /* NEWTRUE */
    case 0x89: /* NEWFALSE */
        put_int(m, HEFT_PICKLE_BOOL, p[0] == 0x88);
        return 1;
    case 'X': /* BINUNICODE */
        n = heft_le32(p + 1);
        return put_text(m, p + 5, n, end) ? 5 + n : 0;
    case 0x8C: /* SHORT_BINUNICODE */
        return put_text(m, p + 2, p[1], end) ? 2 + (size_t)p[1] : 0;
    case 'R': /* REDUCE */
        return reduce(m) ? 1 : 0;
    case 'Q': /* BINPERSID */
        return persid(m) ? 1 : 0;
    default:
        return 0;
    }
}

/* How many opcodes may run before room is short: each makes at most one node and one value. */
static uint64_t sure(const struct heft_pickle_machine *m, uint64_t left)
{
    return heft_min_u64(left, heft_min_u64(m->cap_nodes - m->n_nodes, m->cap_stack - m->depth));
}

void heft_pickle_quick(struct heft_pickle_machine *m, uint64_t *opcodes)
{
    const uint8_t *p = m->p + m->at;
    const size_t stop = m->n < m->frame_end ? m->n : m->frame_end;
    const uint8_t *end = m->p + stop;
    uint64_t left = m->limits.opcodes - *opcodes;
    bool known = stop >= HEAD;

    while (known && sure(m, left) > 0) {
        uint64_t run = 0;

        for (const uint64_t most = sure(m, left); run < most; run++) {
            size_t length;

            m->op_at = (size_t)(p - m->p);
            length = p <= end - HEAD ? step(m, p, end) : 0;
            known = length > 0;
            if (!known)
                break;
            p += length;
        }
        left -= run;
    }
    m->at = (size_t)(p - m->p);
    *opcodes = m->limits.opcodes - left;
}
