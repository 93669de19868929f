/* pickle_calls.c: globals, calls and persistent ids. They are recorded as nodes; nothing is looked
 * up, imported or called, whatever its name.
 *
 *     GLOBAL          "module\n" "name\n"           STACK_GLOBAL   module name      (both str)
 *     REDUCE, NEWOBJ  callee (arguments)            NEWOBJ_EX      callee (arguments) {keywords}
 *     INST            "module\n" "name\n", the values since the mark are the arguments
 *     OBJ             since the mark: callee, arguments
 *     BINPERSID       id                            PERSID         "id\n"
 *
 * Callees are GLOBAL, CALL or PERSID nodes. If Python could continue because a call returned a
 * suitable value (for arguments, names or keywords), the error is "unsupported"; if no value would
 * do, "malformed". */
#include "wire/pickle_machine.h"

#include "base/text.h"

/* ---- globals --------------------------------------------------------------------------------- */

static bool check_name(struct heft_pickle_machine *m, struct heft_bytes name, const char *what)
{
    const size_t good = m->limits.lenient ? heft_pickle_text_check(name) : heft_utf8_check(name);

    if (name.n == 0 && !m->limits.lenient)
        return heft_pickle_fail(m, HEFT_MALFORMED, "the %s is empty", what);
    if (name.n > HEFT_PICKLE_NAME)
        return heft_pickle_fail(m, HEFT_LIMIT, "a %s of %zu bytes, the limit is %d", what, name.n,
                                HEFT_PICKLE_NAME);
    if (good < name.n)
        return heft_pickle_fail(m, HEFT_MALFORMED, "the %s is not UTF-8 at byte %zu", what, good);
    for (size_t i = 0; i < name.n && !m->limits.lenient; i++)
        if (name.p[i] < 0x20 || name.p[i] == 0x7F)
            return heft_pickle_fail(m, HEFT_MALFORMED, "the %s has the control character 0x%02x",
                                    what, name.p[i]);
    return true;
}

/* The global named by two lines. The module becomes a node of its own. */
static bool make_global(struct heft_pickle_machine *m, uint32_t *number)
{
    struct heft_pickle_node *node;
    uint32_t module;
    uint8_t why;

    if (m->limits.lenient && heft_pickle_is_nameless(m->text, m->second, &why)) {
        node = heft_pickle_make(m, HEFT_PICKLE_GLOBAL, number);
        if (node)
            node->how = why;
        return node != NULL;
    }
    if (!check_name(m, m->text, "module") || !check_name(m, m->second, "name"))
        return false;
    node = heft_pickle_make(m, HEFT_PICKLE_STR, &module);
    if (!node)
        return false;
    node->u.text.p = m->text.p;
    node->len = (uint32_t)m->text.n; /* fits 32 bits: at most HEFT_PICKLE_NAME */
    node = heft_pickle_make(m, HEFT_PICKLE_GLOBAL, number);
    if (!node)
        return false;
    node->u.text.p = m->second.p;
    node->len = (uint32_t)m->second.n;
    node->module = module;
    return true;
}

bool heft_pickle_op_global(struct heft_pickle_machine *m)
{
    uint32_t number;

    return make_global(m, &number) && heft_pickle_push(m, number);
}

static bool name_text(struct heft_pickle_machine *m, uint32_t number, const char *what)
{
    const struct heft_pickle_node *node = &m->nodes[number];
    const unsigned computed =
        HEFT_PICKLE_BIT(HEFT_PICKLE_CALL) | HEFT_PICKLE_BIT(HEFT_PICKLE_PERSID);

    if (HEFT_PICKLE_BIT(node->kind) &
        (HEFT_PICKLE_BIT(HEFT_PICKLE_STR) | HEFT_PICKLE_BIT(HEFT_PICKLE_PY2STR)))
        return check_name(m, (struct heft_bytes){node->u.text.p, node->len}, what);
    return heft_pickle_fail(
        m, HEFT_PICKLE_BIT(node->kind) & computed ? HEFT_UNSUPPORTED : HEFT_MALFORMED,
        "the %s is %s, a str is needed", what, heft_pickle_kind_name(node->kind));
}

/* True if Python could continue, depending on the result of a call, or on a str that an import
 * returns (os.name). */
static bool is_computed(const struct heft_pickle_machine *m, uint32_t number)
{
    return m->limits.lenient &&
           (HEFT_PICKLE_BIT(heft_pickle_kind(m, number)) &
            (HEFT_PICKLE_BIT(HEFT_PICKLE_CALL) | HEFT_PICKLE_BIT(HEFT_PICKLE_PERSID) |
             HEFT_PICKLE_BIT(HEFT_PICKLE_GLOBAL)));
}

static struct heft_bytes text_of(const struct heft_pickle_machine *m, uint32_t number)
{
    return (struct heft_bytes){m->nodes[number].u.text.p, m->nodes[number].len};
}

/* The value of a Python 2 string that is not UTF-8 depends on the reader's encoding. If one of the
 * two is neither a call nor a text, both unpicklers stop. */
static bool is_nameless(const struct heft_pickle_machine *m, uint32_t module, uint32_t name,
                        uint8_t *why)
{
    const unsigned texts = HEFT_PICKLE_BIT(HEFT_PICKLE_STR) | HEFT_PICKLE_BIT(HEFT_PICKLE_PY2STR);

    *why = HEFT_PICKLE_COMPUTED;
    if (is_computed(m, module) || is_computed(m, name))
        return true;
    if (!m->limits.lenient || !(HEFT_PICKLE_BIT(heft_pickle_kind(m, module)) & texts) ||
        !(HEFT_PICKLE_BIT(heft_pickle_kind(m, name)) & texts))
        return false;
    if (heft_pickle_text_check(text_of(m, module)) < m->nodes[module].len ||
        heft_pickle_text_check(text_of(m, name)) < m->nodes[name].len)
        return true;
    return heft_pickle_is_nameless(text_of(m, module), text_of(m, name), why);
}

bool heft_pickle_op_stack_global(struct heft_pickle_machine *m)
{
    struct heft_pickle_node *node;
    uint32_t module, name;
    uint8_t why;

    if (!heft_pickle_need(m, 2))
        return false;
    module = heft_pickle_top(m, 1);
    name = heft_pickle_top(m, 0);
    if (is_nameless(m, module, name, &why)) {
        m->depth -= 2;
        return heft_pickle_new_nameless(m, why);
    }
    if (!name_text(m, module, "module") || !name_text(m, name, "name"))
        return false;
    m->depth -= 2;
    node = heft_pickle_new(m, HEFT_PICKLE_GLOBAL);
    if (!node)
        return false;
    node->u.text = m->nodes[name].u.text;
    node->len = m->nodes[name].len;
    node->module = module;
    return true;
}

/* ---- calls: recorded as nodes, never executed ------------------------------------------------ */

static bool check_callee(struct heft_pickle_machine *m, uint32_t callee)
{
    const unsigned callees = HEFT_PICKLE_BIT(HEFT_PICKLE_GLOBAL) |
                             HEFT_PICKLE_BIT(HEFT_PICKLE_CALL) |
                             HEFT_PICKLE_BIT(HEFT_PICKLE_PERSID);

    if (HEFT_LIKELY(HEFT_PICKLE_BIT(heft_pickle_kind(m, callee)) & callees))
        return true;
    return heft_pickle_fail(m, HEFT_MALFORMED, "the callee is %s, a global is needed",
                            heft_pickle_kind_name(heft_pickle_kind(m, callee)));
}

static bool check_argument(struct heft_pickle_machine *m, uint32_t node, enum heft_pickle_kind kind)
{
    const unsigned computed =
        HEFT_PICKLE_BIT(HEFT_PICKLE_CALL) | HEFT_PICKLE_BIT(HEFT_PICKLE_PERSID);

    if (HEFT_LIKELY(heft_pickle_kind(m, node) == kind) || m->limits.lenient)
        return true;
    return heft_pickle_fail(
        m,
        HEFT_PICKLE_BIT(heft_pickle_kind(m, node)) & computed ? HEFT_UNSUPPORTED : HEFT_MALFORMED,
        "the arguments are %s, %s is needed", heft_pickle_kind_name(heft_pickle_kind(m, node)),
        heft_pickle_kind_name(kind));
}

static bool new_call(struct heft_pickle_machine *m, uint32_t callee, uint32_t args, uint32_t kwargs)
{
    struct heft_pickle_node *node = heft_pickle_new(m, HEFT_PICKLE_CALL);

    if (!node)
        return false;
    node->how = m->op->a;
    node->u.call.callee = callee;
    node->u.call.args = args;
    node->module = kwargs;
    return true;
}

/* The values from stack[from] on are the arguments; those from stack[base] on are popped. */
static bool call_with(struct heft_pickle_machine *m, uint32_t callee, size_t from, size_t base)
{
    uint32_t args;

    if (!heft_pickle_make(m, HEFT_PICKLE_TUPLE, &args) ||
        !heft_pickle_add(m, args, m->stack + from, m->depth - from))
        return false;
    m->depth = base;
    return new_call(m, callee, args, HEFT_PICKLE_NIL);
}

/* The C++ pickler calls an enumeration's class with a plain value. */
static bool is_bare(const struct heft_pickle_machine *m, uint32_t args)
{
    return m->limits.bare && m->op->a == HEFT_PICKLE_REDUCE &&
           HEFT_PICKLE_BIT(heft_pickle_kind(m, args)) &
               (HEFT_PICKLE_BIT(HEFT_PICKLE_INT) | HEFT_PICKLE_BIT(HEFT_PICKLE_FLOAT) |
                HEFT_PICKLE_BIT(HEFT_PICKLE_STR));
}

/* REDUCE, NEWOBJ: op->a is the opcode. */
bool heft_pickle_op_call(struct heft_pickle_machine *m)
{
    uint32_t callee, args;

    if (!heft_pickle_need(m, 2))
        return false;
    callee = heft_pickle_top(m, 1);
    args = heft_pickle_top(m, 0);
    if (is_bare(m, args))
        return check_callee(m, callee) && call_with(m, callee, m->depth - 1, m->depth - 2);
    if (!check_callee(m, callee) || !check_argument(m, args, HEFT_PICKLE_TUPLE))
        return false;
    m->depth -= 2;
    return new_call(m, callee, args, HEFT_PICKLE_NIL);
}

bool heft_pickle_op_newobj_ex(struct heft_pickle_machine *m)
{
    uint32_t callee, args, kwargs;

    if (!heft_pickle_need(m, 3))
        return false;
    callee = heft_pickle_top(m, 2);
    args = heft_pickle_top(m, 1);
    kwargs = heft_pickle_top(m, 0);
    if (!check_callee(m, callee) || !check_argument(m, args, HEFT_PICKLE_TUPLE) ||
        !check_argument(m, kwargs, HEFT_PICKLE_DICT))
        return false;
    m->depth -= 3;
    return new_call(m, callee, args, kwargs);
}

bool heft_pickle_op_inst(struct heft_pickle_machine *m)
{
    uint32_t callee;
    size_t from;

    if (m->n_marks == 0 && !m->limits.lenient) /* pickle.Unpickler imports before it checks the
                                                  mark */
        return heft_pickle_pop_mark(m, &from);
    return make_global(m, &callee) && heft_pickle_pop_mark(m, &from) &&
           call_with(m, callee, from, from);
}

bool heft_pickle_op_obj(struct heft_pickle_machine *m)
{
    size_t from;

    if (m->n_marks && !heft_pickle_need(m, 1))
        return false;
    return heft_pickle_pop_mark(m, &from) && check_callee(m, m->stack[from]) &&
           call_with(m, m->stack[from], from + 1, from);
}

static bool new_persid(struct heft_pickle_machine *m, uint32_t id)
{
    struct heft_pickle_node *node = heft_pickle_new(m, HEFT_PICKLE_PERSID);

    if (!node)
        return false;
    node->u.call.callee = HEFT_PICKLE_NIL;
    node->u.call.args = id;
    return true;
}

bool heft_pickle_op_binpersid(struct heft_pickle_machine *m)
{
    if (!heft_pickle_need(m, 1))
        return false;
    m->depth--;
    return new_persid(m, m->stack[m->depth]);
}

bool heft_pickle_op_persid(struct heft_pickle_machine *m)
{
    return heft_pickle_op_str(m) && heft_pickle_op_binpersid(m);
}
