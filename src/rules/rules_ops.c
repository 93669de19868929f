/* rules_ops.c: ops with their arguments. */
#include "rules/rules_parts.h"

enum arguments {
    ARGS_NONE,
    ARGS_AXIS,        /* squeeze 0 */
    ARGS_PERMUTATION, /* permute 2 0 1 */
    ARGS_TWO,         /* transpose 0 1 */
    ARGS_EXTENTS,     /* reshape n 2 d */
    ARGS_SLICE,       /* slice 0 :n */
    ARGS_REORDER,     /* reorder 0 1 0 2 */
    ARGS_SHARES       /* cat 0, cat 0 q k v */
};

static const struct {
    const char *name;
    uint8_t kind, arguments;
    const char *usage;
} ops[] = {
    {"squeeze", HEFT_RULE_OP_SQUEEZE, ARGS_AXIS, "squeeze DIMENSION"},
    {"unsqueeze", HEFT_RULE_OP_UNSQUEEZE, ARGS_AXIS, "unsqueeze DIMENSION"},
    {"permute", HEFT_RULE_OP_PERMUTE, ARGS_PERMUTATION, "permute DIMENSION…, each once"},
    {"transpose", HEFT_RULE_OP_TRANSPOSE, ARGS_TWO, "transpose DIMENSION DIMENSION"},
    {"reshape", HEFT_RULE_OP_RESHAPE, ARGS_EXTENTS, "reshape SIZE…"},
    {"slice", HEFT_RULE_OP_SLICE, ARGS_SLICE, "slice DIMENSION FROM:TO"},
    {"reorder", HEFT_RULE_OP_REORDER, ARGS_REORDER, "reorder DIMENSION BLOCK…, each from 0 once"},
    {"cat", HEFT_RULE_OP_CAT, ARGS_SHARES, "cat DIMENSION [SHARE…]"},
    {"stack", HEFT_RULE_OP_STACK, ARGS_AXIS, "stack DIMENSION"},
    {"same", HEFT_RULE_OP_SAME, ARGS_NONE, "same"},
    {"split", HEFT_RULE_OP_SPLIT, ARGS_SHARES, "split DIMENSION [SHARE…]"},
    {"unstack", HEFT_RULE_OP_UNSTACK, ARGS_AXIS, "unstack DIMENSION"},
};

const char *heft_op_name(enum heft_rule_op_kind kind)
{
    for (size_t i = 0; i < HEFT_COUNT(ops); i++)
        if (ops[i].kind == kind)
            return ops[i].name;
    return "copy";
}

struct op_reading {
    struct heft_rules_reader *reader;
    struct heft_remap *mapping;
    struct heft_rule_op *op;
    const char *usage;
    uint64_t *order;
    struct heft_expr *args;
};

/* Whether an argument comes next. */
static bool has_argument(const struct heft_rules_reader *r)
{
    return r->token.kind == HEFT_TOKEN_WORD && !heft_reader_is_word(r, "=>") &&
           !heft_reader_is_word(r, "<=>");
}

static bool take_dimension(struct op_reading *o, uint64_t *out)
{
    struct heft_rules_reader *const r = o->reader;
    const struct heft_str text = r->token.text;
    uint64_t n = 0;
    size_t i = 0;

    if (!has_argument(r))
        return heft_reader_expected(r, o->usage);
    if (text.n > 1 && text.p[0] == '-')
        return heft_reader_expected(r, "a number from 0 on; dimensions count from the first one");
    for (; i < text.n && i < 4 && text.p[i] >= '0' && text.p[i] <= '9'; i++)
        n = n * 10 + (uint64_t)(text.p[i] - '0');
    if (i == 0 || i < text.n || n >= HEFT_RULES_DIMS)
        return heft_reader_expected(r, "a number from 0 to 63");
    *out = n;
    return heft_reader_advance(r);
}

static bool take_order(struct op_reading *o)
{
    uint64_t *more =
        heft_reader_room(o->reader->mem, o->order, o->op->n_order, sizeof *more, o->reader->err);

    if (!more)
        return false;
    o->order = more;
    o->op->order = more;
    return take_dimension(o, &more[o->op->n_order]) && ++o->op->n_order;
}

/* All of 0 … n-1, each once. */
static bool check_permutation(const struct op_reading *o)
{
    uint64_t seen = 0;

    for (uint32_t i = 0; i < o->op->n_order; i++)
        if (o->order[i] >= o->op->n_order || seen >> o->order[i] & 1)
            return heft_rules_refuse(
                o->reader->rules, o->op->line, o->reader->err,
                "found %s with %" PRIu64 ", expected each number from 0 to %u once",
                heft_op_name(o->op->kind), o->order[i], (unsigned)o->op->n_order - 1);
        else
            seen |= UINT64_C(1) << o->order[i];
    return true;
}

static bool take_permutation(struct op_reading *o)
{
    do {
        if (o->op->n_order == HEFT_RULES_DIMS)
            return heft_reader_expected(o->reader, "at most 64 numbers");
        if (!take_order(o))
            return false;
    } while (has_argument(o->reader));
    return check_permutation(o);
}

static bool add_argument(struct op_reading *o, struct heft_str text, uint32_t line)
{
    const uint32_t n = o->op->n_args;
    struct heft_expr *more =
        heft_reader_room(o->reader->mem, o->args, n, sizeof *more, o->reader->err);

    if (!more)
        return false;
    o->args = more;
    o->op->args = more;
    more[n] = (struct heft_expr){.line = line};
    o->op->n_args = n + 1;
    return text.n == 0 || heft_expr_parse(o->reader, o->mapping, text, line, &more[n]);
}

static bool take_expressions(struct op_reading *o, uint32_t most)
{
    struct heft_rules_reader *const r = o->reader;

    while (has_argument(r)) {
        if (o->op->n_args == most)
            return heft_reader_expected(r, o->usage);
        if (!add_argument(o, r->token.text, r->token.line) || !heft_reader_advance(r))
            return false;
    }
    return true;
}

static bool take_bounds(struct op_reading *o)
{
    struct heft_rules_reader *const r = o->reader;
    const struct heft_str text = r->token.text;
    const char *colon = has_argument(r) ? memchr(text.p, ':', text.n) : NULL;
    struct heft_str from, to;

    if (!colon)
        return heft_reader_expected(r, "FROM:TO, either of which may be left out");
    from = (struct heft_str){text.p, (size_t)(colon - text.p)};
    to = (struct heft_str){colon + 1, text.n - from.n - 1};
    if (from.n == 0 && to.n == 0)
        return heft_reader_expected(r, "a number before or after the colon");
    return add_argument(o, from, r->token.line) && add_argument(o, to, r->token.line) &&
           heft_reader_advance(r);
}

static bool take_arguments(struct op_reading *o, enum arguments arguments)
{
    const uint32_t names = HEFT_RULES_NAMES;

    switch (arguments) {
    case ARGS_NONE:
        return true;
    case ARGS_AXIS:
        return take_dimension(o, &o->op->axis);
    case ARGS_PERMUTATION:
        return take_permutation(o);
    case ARGS_TWO:
        return take_order(o) && take_order(o);
    case ARGS_EXTENTS:
        return has_argument(o->reader) ? take_expressions(o, HEFT_RULES_DIMS)
                                       : heft_reader_expected(o->reader, o->usage);
    case ARGS_SLICE:
        return take_dimension(o, &o->op->axis) && take_bounds(o);
    case ARGS_REORDER:
        return take_dimension(o, &o->op->axis) && take_permutation(o);
    case ARGS_SHARES:
        return take_dimension(o, &o->op->axis) && take_expressions(o, names);
    }
    return true;
}

/* What may follow an op: a bar, or the arrow. */
static bool check_end(const struct op_reading *o)
{
    const struct heft_rules_reader *const r = o->reader;

    if (has_argument(r) || r->token.kind == HEFT_TOKEN_QUOTED || r->token.kind == HEFT_TOKEN_SHAPE)
        return heft_reader_expected(r, o->usage);
    return true;
}

bool heft_op_parse(struct heft_rules_reader *r, struct heft_remap *mapping,
                   struct heft_rule_op *out)
{
    struct op_reading o = {.reader = r, .mapping = mapping, .op = out};

    *out = (struct heft_rule_op){.line = r->token.line};
    for (size_t i = 0; i < HEFT_COUNT(ops); i++)
        if (heft_reader_is_word(r, ops[i].name)) {
            out->kind = ops[i].kind;
            o.usage = ops[i].usage;
            return heft_reader_advance(r) && take_arguments(&o, ops[i].arguments) && check_end(&o);
        }
    return heft_reader_expected(r, "an op: squeeze, unsqueeze, permute, transpose, reshape, slice, "
                                   "reorder, cat, stack, same, split or unstack");
}
