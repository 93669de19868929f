/* pickle_ops.c: the table of all opcodes, and the handlers for values, marks, memo entries and
 * containers. Numbers and strings are in pickle_values.c and pickle_text.c, globals and calls in
 * pickle_calls.c.
 *
 * Valid targets of an opcode:
 *
 *     SETITEM(S)   DICT, CALL         APPEND(S)  LIST, CALL        ADDITEMS  SET, CALL
 *     BUILD        DICT, LIST, SET, CALL, and only once for a value: which of two states holds
 *                  depends on code that is never run, so a second one is unsupported */
#include "wire/pickle_machine.h"

/* ---- stack and marks ------------------------------------------------------------------------- */

bool heft_pickle_underflow(struct heft_pickle_machine *m, size_t k)
{
    const size_t have = m->depth - m->fence;

    return heft_pickle_fail(m, HEFT_MALFORMED, "stack holds %zu value%s%s, %zu %s needed", have,
                            have == 1 ? "" : "s", m->n_marks ? " above the mark" : "", k,
                            k == 1 ? "is" : "are");
}

bool heft_pickle_pop_mark(struct heft_pickle_machine *m, size_t *from)
{
    *from = m->fence;
    if (m->n_marks == 0)
        return heft_pickle_fail(m, HEFT_MALFORMED, "no mark is open, one is needed");
    heft_pickle_drop_mark(m);
    return true;
}

static bool op_mark(struct heft_pickle_machine *m)
{
    if (m->n_marks >= m->limits.marks)
        return heft_pickle_fail(m, HEFT_LIMIT, "more than %" PRIu64 " open marks", m->limits.marks);
    if (!heft_grow(&m->marks, &m->cap_marks, m->n_marks, 1, sizeof *m->marks, m->err))
        return false;
    m->marks[m->n_marks++] =
        (uint32_t)m->depth; /* no overflow: each of the data.n opcodes pushes at most one value */
    m->fence = m->depth;
    return true;
}

static bool op_pop(struct heft_pickle_machine *m)
{
    if (m->n_marks && m->depth == m->fence) {
        heft_pickle_drop_mark(m);
        return true;
    }
    if (!heft_pickle_need(m, 1))
        return false;
    m->depth--;
    return true;
}

static bool op_pop_mark(struct heft_pickle_machine *m)
{
    return heft_pickle_pop_mark(m, &m->depth);
}

static bool op_dup(struct heft_pickle_machine *m)
{
    return heft_pickle_need(m, 1) && heft_pickle_push(m, heft_pickle_top(m, 0));
}

/* ---- PROTO, FRAME, STOP ---------------------------------------------------------------------- */

static bool op_proto(struct heft_pickle_machine *m)
{
    const int protocol = (int)m->number; /* the argument has one byte */

    if (protocol > 5)
        return heft_pickle_fail(m, HEFT_UNSUPPORTED, "protocol %d, 0 to 5 are known", protocol);
    if (protocol > m->protocol)
        m->protocol = protocol;
    return true;
}

static bool op_frame(struct heft_pickle_machine *m)
{
    if (m->frame_end != SIZE_MAX && !heft_pickle_bend(m))
        return heft_pickle_fail(m, HEFT_MALFORMED, "a frame within the frame that ends at %zu",
                                m->frame_end);
    if (m->number > m->n - m->at && m->limits.at_end) {
        m->frame_end = SIZE_MAX; /* pickle.Unpickler takes what is left; the C unpickler stops */
        return true;
    }
    if (m->number > m->n - m->at)
        return heft_pickle_fail(m, HEFT_MALFORMED,
                                "a frame of %" PRIu64 " bytes, the pickle has %zu left", m->number,
                                m->n - m->at);
    m->frame_end = m->at + (size_t)m->number;
    return true;
}

static bool op_stop(struct heft_pickle_machine *m)
{
    if (!heft_pickle_need(m, 1))
        return false;
    m->root = heft_pickle_top(m, 0);
    m->stopped = true;
    m->next = m->at;
    if (m->limits.lenient && m->frame_end != SIZE_MAX && m->frame_end > m->at) {
        m->next = m->frame_end; /* both unpicklers have read up to there */
        return heft_pickle_bend(m);
    }
    return true;
}

static bool op_buffer(struct heft_pickle_machine *m)
{
    if (m->limits.lenient) /* the loading program may provide a buffer */
        return heft_pickle_new(m, HEFT_PICKLE_NONE) && heft_pickle_op_binpersid(m);
    return heft_pickle_fail(m, HEFT_UNSUPPORTED,
                            "asks for an out-of-band buffer, which is missing");
}

static bool op_readonly(struct heft_pickle_machine *m)
{
    return heft_pickle_need(m, 1); /* makes the top read-only, which has no effect here */
}

static bool op_ext(struct heft_pickle_machine *m)
{
    if (m->limits.lenient) /* the pickle itself may have registered a class */
        return heft_pickle_new_nameless(m, HEFT_PICKLE_COMPUTED);
    return heft_pickle_fail(m, HEFT_UNSUPPORTED,
                            "code %" PRId64 " of a private registry of classes",
                            (int64_t)m->number);
}

/* ---- memo ------------------------------------------------------------------------------------ */

bool heft_pickle_memo_set(struct heft_pickle_machine *m, uint32_t index)
{
    if (!heft_pickle_need(m, 1))
        return false;
    if (index < m->n_memo) {
        m->memo[index] = heft_pickle_top(m, 0);
        return true;
    }
    if (heft_pickle_memo_count(m) >= m->limits.nodes)
        return heft_pickle_fail(m, HEFT_LIMIT, "more than %" PRIu64 " memo entries",
                                m->limits.nodes);
    if (index > m->n_memo || m->sparse.count || m->large.count)
        return heft_pickle_sparse_room(m) &&
               heft_u32map_set(&m->sparse, index, heft_pickle_top(m, 0), m->err);
    if (!heft_pickle_memo_room(m))
        return false;
    m->memo[m->n_memo++] = heft_pickle_top(m, 0);
    return true;
}

bool heft_pickle_memo_get(struct heft_pickle_machine *m, uint32_t index)
{
    const uint32_t node = index < m->n_memo ? m->memo[index] : heft_u32map_get(&m->sparse, index);

    if (HEFT_UNLIKELY(node == HEFT_MAP_NONE))
        return heft_pickle_fail(m, HEFT_MALFORMED, "memo entry %" PRIu32 " was never put", index);
    return heft_pickle_push(m, node);
}

static bool op_put(struct heft_pickle_machine *m)
{
    return heft_pickle_memo_set(m, (uint32_t)m->number);
}

static bool op_get(struct heft_pickle_machine *m)
{
    return heft_pickle_memo_get(m, (uint32_t)m->number);
}

static bool op_memoize(struct heft_pickle_machine *m)
{
    /* every entry took an opcode, so the count fits into 32 bits */
    m->number = heft_pickle_memo_count(m);
    return heft_pickle_memo_set(m, (uint32_t)m->number);
}

/* ---- values without argument ----------------------------------------------------------------- */

/* None, (), [], {}, set(): op->a is the kind. */
static bool op_empty(struct heft_pickle_machine *m)
{
    return heft_pickle_new(m, (enum heft_pickle_kind)m->op->a) != NULL;
}

static bool op_bool(struct heft_pickle_machine *m)
{
    struct heft_pickle_node *node = heft_pickle_new(m, HEFT_PICKLE_BOOL);

    if (!node)
        return false;
    node->u.integer = m->op->a;
    return true;
}

/* ---- containers ------------------------------------------------------------------------------ */

/* Replaces the values from stack[from] on by a container with these items. */
static bool gather_items(struct heft_pickle_machine *m, enum heft_pickle_kind kind, size_t from)
{
    uint32_t number;

    if (!heft_pickle_make(m, kind, &number) ||
        !heft_pickle_add(m, number, m->stack + from, m->depth - from))
        return false;
    m->depth = from;
    return heft_pickle_push(m, number);
}

/* TUPLE1, TUPLE2, TUPLE3: op->a is the number of items. */
static bool op_tuple_n(struct heft_pickle_machine *m)
{
    return heft_pickle_need(m, m->op->a) && gather_items(m, HEFT_PICKLE_TUPLE, m->depth - m->op->a);
}

/* TUPLE, LIST, FROZENSET: op->a is the kind. */
static bool op_gather(struct heft_pickle_machine *m)
{
    size_t from;

    return heft_pickle_pop_mark(m, &from) && gather_items(m, (enum heft_pickle_kind)m->op->a, from);
}

static bool refuse_odd_count(struct heft_pickle_machine *m, size_t values)
{
    return heft_pickle_fail(m, HEFT_MALFORMED,
                            "%zu value%s above the mark, keys and values come in pairs", values,
                            values == 1 ? "" : "s");
}

static bool op_dict(struct heft_pickle_machine *m)
{
    size_t from;

    if (!heft_pickle_pop_mark(m, &from))
        return false;
    if ((m->depth - from) % 2)
        return refuse_odd_count(m, m->depth - from);
    return gather_items(m, HEFT_PICKLE_DICT, from);
}

static bool wrong_target(struct heft_pickle_machine *m, uint32_t node)
{
    return heft_pickle_fail(m, HEFT_MALFORMED, "applied to %s made at %" PRIu32,
                            heft_pickle_kind_name(heft_pickle_kind(m, node)), m->nodes[node].at);
}

/* Targets that CPython accepts beyond those that a pickler writes. */
static bool takes_anything(const struct heft_pickle_machine *m, unsigned kind)
{
    const unsigned targets =
        HEFT_PICKLE_BIT(HEFT_PICKLE_GLOBAL) | HEFT_PICKLE_BIT(HEFT_PICKLE_PERSID) |
        HEFT_PICKLE_BIT(HEFT_PICKLE_LIST) | HEFT_PICKLE_BIT(HEFT_PICKLE_BYTEARRAY);

    return m->limits.lenient && (HEFT_PICKLE_BIT(kind) & targets);
}

/* Moves the values from stack[from] on into the container below them: op->a is its kind (an object
 * is also allowed); op->b: keys and values, else items. */
static bool fill_container(struct heft_pickle_machine *m, size_t from)
{
    struct heft_pickle_node *node;
    uint32_t target;

    if (from <= m->fence) {
        m->depth = from;
        return heft_pickle_underflow(m, 1);
    }
    target = m->stack[from - 1];
    node = &m->nodes[target];
    if (m->limits.lenient && from == m->depth) { /* no items: any target is accepted */
        node->pairs = node->pairs || node->kind == HEFT_PICKLE_GLOBAL;
        return true;
    }
    if (node->kind != m->op->a && node->kind != HEFT_PICKLE_CALL && !takes_anything(m, node->kind))
        return wrong_target(m, target);
    if (node->kind == HEFT_PICKLE_CALL && from < m->depth) {
        if (node->first != HEFT_PICKLE_NIL && node->pairs != (m->op->b != 0) && !m->limits.lenient)
            return heft_pickle_fail(m, HEFT_UNSUPPORTED,
                                    "an object takes both items and keys with values");
        node->pairs = m->op->b != 0;
    }
    if (!heft_pickle_add(m, target, m->stack + from, m->depth - from))
        return false;
    m->depth = from;
    return true;
}

/* APPEND, SETITEM */
static bool op_fill_one(struct heft_pickle_machine *m)
{
    const size_t values = m->op->b ? 2 : 1;

    return heft_pickle_need(m, values + 1) && fill_container(m, m->depth - values);
}

/* APPENDS, SETITEMS, ADDITEMS */
static bool op_fill(struct heft_pickle_machine *m)
{
    size_t from;

    if (!heft_pickle_pop_mark(m, &from))
        return false;
    if (m->op->b && (m->depth - from) % 2) {
        const size_t values = m->depth - from;

        m->depth--; /* pickle.Unpickler sets the complete pairs before it fails */
        return (!m->limits.lenient || fill_container(m, from)) && refuse_odd_count(m, values);
    }
    return fill_container(m, from);
}

static bool op_build(struct heft_pickle_machine *m)
{
    const unsigned targets = HEFT_PICKLE_BIT(HEFT_PICKLE_DICT) | HEFT_PICKLE_BIT(HEFT_PICKLE_LIST) |
                             HEFT_PICKLE_BIT(HEFT_PICKLE_SET) | HEFT_PICKLE_BIT(HEFT_PICKLE_CALL);
    struct heft_pickle_node *node;

    if (!heft_pickle_need(m, 2))
        return false;
    node = &m->nodes[heft_pickle_top(m, 1)];
    if (!(HEFT_PICKLE_BIT(node->kind) & targets) && !m->limits.lenient)
        return wrong_target(m, heft_pickle_top(m, 1));
    if (node->state != HEFT_PICKLE_NIL && m->limits.lenient) {
        m->depth--;
        return heft_pickle_add_state(m, heft_pickle_top(m, 0), m->stack[m->depth]);
    }
    if (node->state != HEFT_PICKLE_NIL)
        return heft_pickle_fail(m, HEFT_UNSUPPORTED,
                                "a second state for the value made at %" PRIu32, node->at);
    node->state = heft_pickle_top(m, 0);
    m->depth--;
    return true;
}

/* ---- table of opcodes ------------------------------------------------------------------------ */

#define NONE  HEFT_ARG_NONE
#define OP(k) HEFT_PICKLE_##k

const struct heft_pickle_op heft_pickle_ops[256] = {
    /* protocol, stack, memo */
    [0x80] = {"PROTO", HEFT_ARG_U8, 0, 0, op_proto},
    [0x95] = {"FRAME", HEFT_ARG_U64, 0, 0, op_frame},
    ['.'] = {"STOP", NONE, 0, 0, op_stop},
    ['('] = {"MARK", NONE, 0, 0, op_mark},
    ['0'] = {"POP", NONE, 0, 0, op_pop},
    ['1'] = {"POP_MARK", NONE, 0, 0, op_pop_mark},
    ['2'] = {"DUP", NONE, 0, 0, op_dup},
    ['q'] = {"BINPUT", HEFT_ARG_U8, 0, 0, op_put},
    ['r'] = {"LONG_BINPUT", HEFT_ARG_U32, 0, 0, op_put},
    ['p'] = {"PUT", HEFT_ARG_SHORT, 0, 0, heft_pickle_op_put_line},
    [0x94] = {"MEMOIZE", NONE, 0, 0, op_memoize},
    ['h'] = {"BINGET", HEFT_ARG_U8, 0, 0, op_get},
    ['j'] = {"LONG_BINGET", HEFT_ARG_U32, 0, 0, op_get},
    ['g'] = {"GET", HEFT_ARG_SHORT, 0, 0, heft_pickle_op_get_line},
    /* numbers */
    ['N'] = {"NONE", NONE, OP(NONE), 0, op_empty},
    [0x88] = {"NEWTRUE", NONE, 1, 0, op_bool},
    [0x89] = {"NEWFALSE", NONE, 0, 0, op_bool},
    ['K'] = {"BININT1", HEFT_ARG_U8, 0, 0, heft_pickle_op_int},
    ['M'] = {"BININT2", HEFT_ARG_U16, 0, 0, heft_pickle_op_int},
    ['J'] = {"BININT", HEFT_ARG_I32, 0, 0, heft_pickle_op_int},
    [0x8A] = {"LONG1", HEFT_ARG_TEXT8, 0, 0, heft_pickle_op_long},
    [0x8B] = {"LONG4", HEFT_ARG_TEXT31, 0, 0, heft_pickle_op_long},
    ['I'] = {"INT", HEFT_ARG_SHORT, 0, 0, heft_pickle_op_int_line},
    ['L'] = {"LONG", HEFT_ARG_SHORT, 0, 0, heft_pickle_op_long_line},
    ['F'] = {"FLOAT", HEFT_ARG_SHORT, 0, 0, heft_pickle_op_float_line},
    ['G'] = {"BINFLOAT", HEFT_ARG_F64, 0, 0, heft_pickle_op_float},
    /* text and bytes */
    ['X'] = {"BINUNICODE", HEFT_ARG_TEXT32, 0, 0, heft_pickle_op_str},
    [0x8C] = {"SHORT_BINUNICODE", HEFT_ARG_TEXT8, 0, 0, heft_pickle_op_str},
    [0x8D] = {"BINUNICODE8", HEFT_ARG_TEXT64, 0, 0, heft_pickle_op_str},
    ['V'] = {"UNICODE", HEFT_ARG_LINE, 0, 0, heft_pickle_op_unicode_line},
    ['U'] = {"SHORT_BINSTRING", HEFT_ARG_TEXT8, OP(PY2STR), 0, heft_pickle_op_raw},
    ['T'] = {"BINSTRING", HEFT_ARG_TEXT31, OP(PY2STR), 0, heft_pickle_op_raw},
    ['S'] = {"STRING", HEFT_ARG_LINE, 0, 0, heft_pickle_op_string_line},
    ['C'] = {"SHORT_BINBYTES", HEFT_ARG_TEXT8, OP(BYTES), 0, heft_pickle_op_raw},
    ['B'] = {"BINBYTES", HEFT_ARG_TEXT32, OP(BYTES), 0, heft_pickle_op_raw},
    [0x8E] = {"BINBYTES8", HEFT_ARG_TEXT64, OP(BYTES), 0, heft_pickle_op_raw},
    [0x96] = {"BYTEARRAY8", HEFT_ARG_TEXT64, OP(BYTEARRAY), 0, heft_pickle_op_raw},
    [0x97] = {"NEXT_BUFFER", NONE, 0, 0, op_buffer},
    [0x98] = {"READONLY_BUFFER", NONE, 0, 0, op_readonly},
    /* containers */
    [')'] = {"EMPTY_TUPLE", NONE, OP(TUPLE), 0, op_empty},
    [0x85] = {"TUPLE1", NONE, 1, 0, op_tuple_n},
    [0x86] = {"TUPLE2", NONE, 2, 0, op_tuple_n},
    [0x87] = {"TUPLE3", NONE, 3, 0, op_tuple_n},
    ['t'] = {"TUPLE", NONE, OP(TUPLE), 0, op_gather},
    [']'] = {"EMPTY_LIST", NONE, OP(LIST), 0, op_empty},
    ['l'] = {"LIST", NONE, OP(LIST), 0, op_gather},
    ['a'] = {"APPEND", NONE, OP(LIST), 0, op_fill_one},
    ['e'] = {"APPENDS", NONE, OP(LIST), 0, op_fill},
    ['}'] = {"EMPTY_DICT", NONE, OP(DICT), 0, op_empty},
    ['d'] = {"DICT", NONE, 0, 0, op_dict},
    ['s'] = {"SETITEM", NONE, OP(DICT), 1, op_fill_one},
    ['u'] = {"SETITEMS", NONE, OP(DICT), 1, op_fill},
    [0x8F] = {"EMPTY_SET", NONE, OP(SET), 0, op_empty},
    [0x90] = {"ADDITEMS", NONE, OP(SET), 0, op_fill},
    [0x91] = {"FROZENSET", NONE, OP(FROZENSET), 0, op_gather},
    /* globals and calls */
    ['c'] = {"GLOBAL", HEFT_ARG_NAMES, 0, 0, heft_pickle_op_global},
    [0x93] = {"STACK_GLOBAL", NONE, 0, 0, heft_pickle_op_stack_global},
    ['R'] = {"REDUCE", NONE, OP(REDUCE), 0, heft_pickle_op_call},
    [0x81] = {"NEWOBJ", NONE, OP(NEWOBJ), 0, heft_pickle_op_call},
    [0x92] = {"NEWOBJ_EX", NONE, OP(NEWOBJ_EX), 0, heft_pickle_op_newobj_ex},
    ['i'] = {"INST", HEFT_ARG_NAMES, OP(INST), 0, heft_pickle_op_inst},
    ['o'] = {"OBJ", NONE, OP(OBJ), 0, heft_pickle_op_obj},
    ['b'] = {"BUILD", NONE, 0, 0, op_build},
    ['Q'] = {"BINPERSID", NONE, 0, 0, heft_pickle_op_binpersid},
    ['P'] = {"PERSID", HEFT_ARG_SHORT, 0, 0, heft_pickle_op_persid},
    [0x82] = {"EXT1", HEFT_ARG_U8, 0, 0, op_ext},
    [0x83] = {"EXT2", HEFT_ARG_U16, 0, 0, op_ext},
    [0x84] = {"EXT4", HEFT_ARG_I32, 0, 0, op_ext},
};
