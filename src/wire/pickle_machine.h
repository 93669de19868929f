/* pickle_machine.h: internals of the pickle machine, shared by the pickle_*.c files.
 *
 *   pickle.c         the loop: opcode, argument, frame rule, errors; the public functions
 *   pickle_ops.c     the table of opcodes, and those for values, marks, memo and containers
 *   pickle_calls.c   globals, calls, persistent ids
 *   pickle_values.c  numbers and strings with binary arguments
 *   pickle_text.c    numbers and strings written as lines (protocol 0)
 *   pickle_lenient.c forms that CPython accepts and no pickler writes
 *   pickle_nodes.c   storage of nodes and items
 *   pickle_watch.c   a run with a callback for every step
 *   pickle_mend.c    a run that recovers what an incomplete pickle had built
 *
 * State of a run:
 *
 *   stack   node numbers; values are only pushed by number, so that sharing costs nothing
 *   marks   stack heights; `fence` is the newest one: an opcode reaches below it only by closing
 *           the mark
 *   memo    index → node: a plain array while indexes come as 0, 1, 2 … (as Python 3 writes), a
 *           hash map for all others, so that an index of 2^32-1 costs one entry
 *   items   one pool of u32 with the segments of all containers: next, count, item … */
#ifndef HEFT_PICKLE_MACHINE_H
#define HEFT_PICKLE_MACHINE_H

#include "base/map.h"
#include "wire/pickle.h"

/* Form of an opcode's argument. The loop parses it; handlers get it in `number` and `text`. */
enum heft_pickle_arg {
    HEFT_ARG_NONE,
    HEFT_ARG_U8,
    HEFT_ARG_U16,
    HEFT_ARG_U32,
    HEFT_ARG_I32, /* number: sign-extended */
    HEFT_ARG_U64,
    HEFT_ARG_F64,    /* number: the bits, big-endian in the pickle */
    HEFT_ARG_TEXT8,  /* u8 length, then text */
    HEFT_ARG_TEXT32, /* u32 length */
    HEFT_ARG_TEXT31, /* i32 length, not negative */
    HEFT_ARG_TEXT64, /* u64 length */
    HEFT_ARG_SHORT,  /* a line of at most HEFT_PICKLE_LINE bytes */
    HEFT_ARG_LINE,   /* a line of at most limits.text bytes */
    HEFT_ARG_NAMES   /* two lines of at most HEFT_PICKLE_NAME bytes: text, second */
};

#define HEFT_PICKLE_LINE                                                                           \
    4096                              /* bytes of a number or an id written as text: conversion
                                         takes quadratic time */
#define HEFT_PICKLE_NAME    1024      /* bytes of the module or name of a global */
#define HEFT_PICKLE_INTEGER (1 << 20) /* bytes of one integer */

#define HEFT_PICKLE_BIT(kind) (1U << (kind)) /* for sets of kinds */

struct heft_pickle_machine;
struct heft_pickle_op {
    const char *name; /* NULL: invalid opcode */
    uint8_t arg;      /* enum heft_pickle_arg */
    uint8_t a, b;     /* parameters of the handler: kinds, counts */
    bool (*run)(struct heft_pickle_machine *m);
};
extern const struct heft_pickle_op heft_pickle_ops[256];

struct heft_pickle_machine {
    const uint8_t *p; /* the pickle */
    size_t n, at;
    size_t op_at; /* position of the opcode being run */
    const struct heft_pickle_op *op;
    uint64_t number;                /* the opcode's argument: a number, */
    struct heft_bytes text, second; /* or one or two texts */
    size_t frame_end;               /* SIZE_MAX: outside any frame */
    uint32_t bent;                  /* lenient: the first opcode that crossed a frame */
    bool stopped;
    size_t next; /* begin of the next pickle */
    int protocol;
    uint32_t root;

    struct heft_pickle_node *nodes; /* in the arena, like items */
    size_t n_nodes, cap_nodes;
    uint32_t *items;
    size_t n_items, cap_items;
    uint32_t *stack; /* on the heap, like marks and memo: freed at the end of the run */
    size_t depth, cap_stack, fence;
    uint32_t *marks;
    size_t n_marks, cap_marks;
    uint32_t *memo;
    size_t n_memo, cap_memo;
    struct heft_u32map sparse;
    struct heft_strmap large; /* lenient: indexes beyond 32 bits, in decimal */

    struct heft_pickle_limits limits;
    uint64_t base;
    struct heft_arena *arena;
    struct heft_error *err;
};

/* pickle.c. Reports "NAME at 1234: …" for the current opcode. Always returns false. */
bool heft_pickle_fail(struct heft_pickle_machine *m, enum heft_code code, const char *format, ...)
    HEFT_PRINTF(3, 4);

/* pickle.c. A run in parts: begin, then step_once until m->stopped, then end, also after a
 * failure. */
HEFT_CHECKED bool heft_pickle_begin(struct heft_pickle_machine *m, struct heft_pickle *out,
                                    struct heft_bytes data, uint64_t base,
                                    const struct heft_pickle_limits *limits,
                                    struct heft_arena *arena, struct heft_error *err);
HEFT_CHECKED bool heft_pickle_step_once(struct heft_pickle_machine *m, uint64_t *opcodes);
/* Runs opcodes until STOP. */
HEFT_CHECKED bool heft_pickle_loop(struct heft_pickle_machine *m, uint64_t *opcodes);
/* Sets *out to the graph built so far. */
void heft_pickle_hand_over(const struct heft_pickle_machine *m, struct heft_pickle *out);
void heft_pickle_end(struct heft_pickle_machine *m, struct heft_pickle *out);
/* pickle.c. An opcode crosses its frame: readers disagree about it. False if this is an error. */
HEFT_CHECKED bool heft_pickle_bend(struct heft_pickle_machine *m);

/* pickle_nodes.c. Initial allocation; afterwards nodes, items and stack are never NULL. */
HEFT_CHECKED bool heft_pickle_reserve(struct heft_pickle_machine *m);
/* Gives back unused capacity of nodes and items. */
void heft_pickle_trim(struct heft_pickle_machine *m);
HEFT_CHECKED bool heft_pickle_node_room(struct heft_pickle_machine *m);
HEFT_CHECKED bool heft_pickle_memo_room(struct heft_pickle_machine *m); /* for the next index … */
HEFT_CHECKED bool
heft_pickle_sparse_room(struct heft_pickle_machine *m); /* … or for one out of order */
/* Appends k items to a container. */
HEFT_CHECKED bool heft_pickle_add(struct heft_pickle_machine *m, uint32_t node,
                                  const uint32_t *list, size_t k);

/* Makes node `number` an empty node of that kind, created by the current opcode. */
static inline struct heft_pickle_node *heft_pickle_clear(struct heft_pickle_machine *m,
                                                         size_t number, enum heft_pickle_kind kind)
{
    struct heft_pickle_node *node = &m->nodes[number];

    *node = (struct heft_pickle_node){.kind = (uint8_t)kind,
                                      .at = (uint32_t)m->op_at,
                                      .state = HEFT_PICKLE_NIL,
                                      .first = HEFT_PICKLE_NIL,
                                      .module = HEFT_PICKLE_NIL};
    return node;
}

/* Creates a node; NULL on failure. The pointer is valid until the next node is created. */
HEFT_CHECKED static inline struct heft_pickle_node *
heft_pickle_make(struct heft_pickle_machine *m, enum heft_pickle_kind kind, uint32_t *number)
{
    if (HEFT_UNLIKELY(m->n_nodes == m->cap_nodes) && !heft_pickle_node_room(m))
        return NULL;
    *number = (uint32_t)m->n_nodes; /* below limits.nodes, which is below 2^32 */
    return heft_pickle_clear(m, m->n_nodes++, kind);
}

/* Pushes a value. */
HEFT_CHECKED bool heft_pickle_stack_room(struct heft_pickle_machine *m);

HEFT_CHECKED static inline bool heft_pickle_push(struct heft_pickle_machine *m, uint32_t node)
{
    if (HEFT_UNLIKELY(m->depth == m->cap_stack) && !heft_pickle_stack_room(m))
        return false;
    m->stack[m->depth++] = node;
    return true;
}

/* Creates and pushes a node, which the caller fills. */
HEFT_CHECKED static inline struct heft_pickle_node *heft_pickle_new(struct heft_pickle_machine *m,
                                                                    enum heft_pickle_kind kind)
{
    uint32_t number;
    struct heft_pickle_node *node = heft_pickle_make(m, kind, &number);

    return node && heft_pickle_push(m, number) ? node : NULL;
}
HEFT_CHECKED static inline bool heft_pickle_new_int(struct heft_pickle_machine *m, int64_t value)
{
    struct heft_pickle_node *node = heft_pickle_new(m, HEFT_PICKLE_INT);

    if (!node)
        return false;
    node->u.integer = value;
    return true;
}
HEFT_CHECKED static inline bool heft_pickle_new_text(struct heft_pickle_machine *m,
                                                     enum heft_pickle_kind kind,
                                                     struct heft_bytes text)
{
    struct heft_pickle_node *node = heft_pickle_new(m, kind);

    if (!node)
        return false;
    node->u.text.p = text.p;
    node->len = (uint32_t)text.n; /* less than 4 GiB, as the pickle; decoding only shrinks it or,
                                     for latin-1, at most doubles limits.text */
    return true;
}

/* The value at a depth below the top: heft_pickle_top(m, 0) is the top itself. */
static inline uint32_t heft_pickle_top(const struct heft_pickle_machine *m, size_t below)
{
    return m->stack[m->depth - 1 - below];
}

/* Number of items of a container or a CALL. */
static inline uint32_t heft_pickle_filled(const struct heft_pickle_machine *m, uint32_t node)
{
    const uint32_t first = m->nodes[node].first;

    return first == HEFT_PICKLE_NIL ? 0 : m->items[first - HEFT_PICKLE_HEAD];
}

static inline uint8_t heft_pickle_kind(const struct heft_pickle_machine *m, uint32_t node)
{
    return m->nodes[node].kind;
}

/* pickle_ops.c. Reports that the values above the newest mark are too few. */
bool heft_pickle_underflow(struct heft_pickle_machine *m, size_t k);
HEFT_CHECKED static inline bool heft_pickle_need(struct heft_pickle_machine *m, size_t k)
{
    return HEFT_LIKELY(m->depth - m->fence >= k) || heft_pickle_underflow(m, k);
}
static inline void heft_pickle_drop_mark(struct heft_pickle_machine *m)
{
    m->n_marks--;
    m->fence = m->n_marks ? m->marks[m->n_marks - 1] : 0;
}
/* Closes the newest mark; the values above it begin at stack[*from]. */
HEFT_CHECKED bool heft_pickle_pop_mark(struct heft_pickle_machine *m, size_t *from);
HEFT_CHECKED bool heft_pickle_memo_set(struct heft_pickle_machine *m, uint32_t index);
HEFT_CHECKED bool heft_pickle_memo_get(struct heft_pickle_machine *m, uint32_t index);

/* pickle_calls.c: handlers. */
bool heft_pickle_op_global(struct heft_pickle_machine *m);
bool heft_pickle_op_stack_global(struct heft_pickle_machine *m);
bool heft_pickle_op_call(struct heft_pickle_machine *m); /* op->a: enum heft_pickle_how */
bool heft_pickle_op_newobj_ex(struct heft_pickle_machine *m);
bool heft_pickle_op_inst(struct heft_pickle_machine *m);
bool heft_pickle_op_obj(struct heft_pickle_machine *m);
bool heft_pickle_op_binpersid(struct heft_pickle_machine *m);
bool heft_pickle_op_persid(struct heft_pickle_machine *m);

/* pickle_values.c: handlers with binary arguments. */
bool heft_pickle_op_int(struct heft_pickle_machine *m);
bool heft_pickle_op_long(struct heft_pickle_machine *m);
bool heft_pickle_op_float(struct heft_pickle_machine *m);
bool heft_pickle_op_str(struct heft_pickle_machine *m);
bool heft_pickle_op_raw(struct heft_pickle_machine *m); /* op->a: enum heft_pickle_kind */
/* Creates an integer from little-endian two's complement: INT if it fits into 64 bits, else a
 * BIGINT that borrows the bytes. */
HEFT_CHECKED bool heft_pickle_new_long(struct heft_pickle_machine *m, struct heft_bytes number);
/* Index of the first byte that is neither UTF-8 nor an encoded surrogate; n if all are. */
size_t heft_pickle_text_check(struct heft_bytes text);

static inline size_t heft_pickle_memo_count(const struct heft_pickle_machine *m)
{
    return m->n_memo + m->sparse.count + m->large.count;
}

/* pickle_lenient.c: forms that CPython accepts and no pickler writes. Each of the first three
 * returns true if the line is such a number; *line is then its plain form, in the arena. */
bool heft_pickle_lenient_integer(struct heft_pickle_machine *m, struct heft_bytes *line);
bool heft_pickle_lenient_float(struct heft_pickle_machine *m, struct heft_bytes *line);
bool heft_pickle_lenient_index(struct heft_pickle_machine *m, struct heft_bytes *line);
HEFT_CHECKED bool heft_pickle_put_large(struct heft_pickle_machine *m, struct heft_bytes index);
HEFT_CHECKED bool heft_pickle_get_large(struct heft_pickle_machine *m, struct heft_bytes index);
HEFT_CHECKED bool heft_pickle_last_line(struct heft_pickle_machine *m, struct heft_bytes *line);
/* True if the name cannot be known; *why is the reason. */
bool heft_pickle_is_nameless(struct heft_bytes module, struct heft_bytes name, uint8_t *why);
HEFT_CHECKED bool heft_pickle_new_nameless(struct heft_pickle_machine *m, unsigned why);
/* Adds a second state to the node. */
HEFT_CHECKED bool heft_pickle_add_state(struct heft_pickle_machine *m, uint32_t node,
                                        uint32_t state);

/* pickle_text.c: handlers with lines. */
bool heft_pickle_op_int_line(struct heft_pickle_machine *m);
bool heft_pickle_op_long_line(struct heft_pickle_machine *m);
bool heft_pickle_op_float_line(struct heft_pickle_machine *m);
bool heft_pickle_op_string_line(struct heft_pickle_machine *m);
bool heft_pickle_op_unicode_line(struct heft_pickle_machine *m);
bool heft_pickle_op_put_line(struct heft_pickle_machine *m);
bool heft_pickle_op_get_line(struct heft_pickle_machine *m);

#endif
