/* rules_reverse.c: turns a program round. The parser has checked that each rule with <=> can be, and has noted what
 * the way back needs, so that turning a program round twice gives the same program.
 *
 *     stages, ops           in reverse order; mappings keep theirs
 *     left, right           exchanged; words know their spelling
 *     gathered, spread      exchanged
 *     cat, stack, same      split, unstack, copy
 *     reshape               to the shape before
 *     also                  a row that may be there, and is equal */
#include "rules/rules_parts.h"

struct turning {
    const struct heft_rules *from;
    struct heft_rules *to;
    struct heft_error *err;
    const char **notes;
    uint32_t drop_line; /* of the first drop; 0: none */
};

/* ---- ops ------------------------------------------------------------------------------------------------ */

static enum heft_rule_op_kind inverse_kind(enum heft_rule_op_kind kind)
{
    switch (kind) {
    case HEFT_RULE_OP_SQUEEZE:
        return HEFT_RULE_OP_UNSQUEEZE;
    case HEFT_RULE_OP_UNSQUEEZE:
        return HEFT_RULE_OP_SQUEEZE;
    case HEFT_RULE_OP_CAT:
        return HEFT_RULE_OP_SPLIT;
    case HEFT_RULE_OP_SPLIT:
        return HEFT_RULE_OP_CAT;
    case HEFT_RULE_OP_STACK:
        return HEFT_RULE_OP_UNSTACK;
    case HEFT_RULE_OP_UNSTACK:
        return HEFT_RULE_OP_STACK;
    case HEFT_RULE_OP_SAME:
        return HEFT_RULE_OP_COPY;
    case HEFT_RULE_OP_COPY:
        return HEFT_RULE_OP_SAME;
    default:
        return kind;
    }
}

/* The inverse of a permutation. */
static bool invert_order(const struct turning *t, const struct heft_rule_op *op,
                         struct heft_rule_op *out)
{
    uint64_t *const order = heft_arena_u64(t->from->mem, op->n_order, t->err);

    if (!order)
        return false;
    for (uint32_t i = 0; i < op->n_order; i++)
        order[op->order[i]] = i;
    out->order = order;
    return true;
}

static bool turn_op(const struct turning *t, const struct heft_rule_op *op,
                    struct heft_rule_op *out)
{
    *out = *op;
    out->kind = (uint8_t)inverse_kind(op->kind);
    if (op->kind == HEFT_RULE_OP_RESHAPE) {
        out->args = op->before;
        out->n_args = op->n_before;
        out->before = op->args;
        out->n_before = op->n_args;
    }
    if (op->kind == HEFT_RULE_OP_PERMUTE || op->kind == HEFT_RULE_OP_REORDER)
        return invert_order(t, op, out);
    return true;
}

static bool turn_ops(const struct turning *t, const struct heft_remap *from, struct heft_remap *to)
{
    struct heft_rule_op *ops;

    if (from->n_ops == 0)
        return true;
    ops = heft_arena_zero(t->from->mem, from->n_ops, sizeof *ops, t->err);
    if (!ops)
        return false;
    to->ops = ops;
    for (uint32_t i = 0; i < from->n_ops; i++)
        if (!turn_op(t, &from->ops[from->n_ops - 1 - i], &ops[i]))
            return false;
    return true;
}

/* ---- mappings --------------------------------------------------------------------------------------------- */

static bool turn_slots(const struct turning *t, const struct heft_remap *from,
                       struct heft_remap *to)
{
    struct heft_slot *slots;

    if (from->n_slots == 0)
        return true;
    slots = heft_arena_zero(t->from->mem, from->n_slots, sizeof *slots, t->err);
    if (!slots)
        return false;
    to->slots = slots;
    for (uint32_t i = 0; i < from->n_slots; i++) {
        slots[i] = from->slots[i];
        if (slots[i].use == HEFT_SLOT_GATHERED)
            slots[i].use = HEFT_SLOT_SPREAD;
        else if (slots[i].use == HEFT_SLOT_SPREAD)
            slots[i].use = HEFT_SLOT_GATHERED;
    }
    return true;
}

static bool turn_mapping(const struct turning *t, const struct heft_remap *from,
                         struct heft_remap *to)
{
    *to = *from;
    if (from->kind != HEFT_REMAP_MOVE)
        return true;
    to->left = from->right;
    to->n_left = from->n_right;
    to->right = from->left;
    to->n_right = from->n_left;
    to->with = from->back_with;
    to->n_with = from->n_back_with;
    to->back_with = from->with;
    to->n_back_with = from->n_with;
    to->equal = from->also;
    to->n_equal = from->n_also;
    to->also = from->equal;
    to->n_also = from->n_equal;
    to->gathered = from->spread;
    to->spread = from->gathered;
    return turn_slots(t, from, to) && turn_ops(t, from, to);
}

/* ---- what is left out --------------------------------------------------------------------------------------- */

static bool add_note(struct turning *t, uint32_t line, const char *text)
{
    const char **more =
        heft_reader_room(t->from->mem, t->notes, t->to->n_notes, sizeof *more, t->err);

    if (!more)
        return false;
    t->notes = more;
    t->to->notes = more;
    more[t->to->n_notes] = heft_arena_printf(t->from->mem, t->err, "%.160s:%u: %s", t->from->file,
                                             (unsigned)line, text);
    return more[t->to->n_notes++] != NULL;
}

/* A stage whose rules all have no way back would let everything through unchanged. */
static bool check_stage(const struct turning *t, const struct heft_stage *stage)
{
    const struct heft_remap *lost = NULL;

    for (uint32_t i = 0; i < stage->n_mappings; i++) {
        const struct heft_remap *const m = &stage->mappings[i];

        if (m->kind == HEFT_REMAP_MOVE && m->both_ways)
            return true;
        if (m->kind == HEFT_REMAP_MOVE && !lost)
            lost = m;
    }
    return !lost || heft_rules_refuse(t->from, lost->line, t->err,
                                      "the rules of this stage have no way back, expected <=> for "
                                      "--reverse");
}

static bool turn_stage(struct turning *t, const struct heft_stage *from, struct heft_stage *to)
{
    struct heft_remap *mappings;
    uint32_t n = 0;

    if (from->n_renames)
        return heft_rules_refuse(t->from, from->renames[0].line, t->err,
                                 "a rename has no way back, expected rules with <=> for --reverse");
    if (!check_stage(t, from))
        return false;
    mappings = heft_arena_zero(t->from->mem, from->n_mappings, sizeof *mappings, t->err);
    if (!mappings)
        return false;
    for (uint32_t i = 0; i < from->n_mappings; i++) {
        const struct heft_remap *const m = &from->mappings[i];
        bool ok;

        if (m->kind == HEFT_REMAP_MOVE && !m->both_ways)
            ok = add_note(t, m->line, "this rule (=>) has no way back and is left out");
        else
            ok = turn_mapping(t, m, &mappings[n++]);
        if (m->kind == HEFT_REMAP_DROP && t->drop_line == 0)
            t->drop_line = m->line;
        if (!ok)
            return false;
    }
    to->mappings = mappings;
    to->n_mappings = n;
    return true;
}

/* ---- the whole ------------------------------------------------------------------------------------------------ */

static bool has_way_back(const struct heft_rules *rules)
{
    for (uint32_t s = 0; s < rules->n_stages; s++)
        for (uint32_t i = 0; i < rules->stages[s].n_mappings; i++)
            if (rules->stages[s].mappings[i].kind == HEFT_REMAP_MOVE &&
                rules->stages[s].mappings[i].both_ways)
                return true;
    return false;
}

static bool turn_stages(struct turning *t)
{
    const uint32_t n = t->from->n_stages;
    struct heft_stage *const stages = heft_arena_zero(t->from->mem, n, sizeof *stages, t->err);

    if (!stages)
        return false;
    t->to->stages = stages;
    for (uint32_t i = 0; i < n; i++)
        if (!turn_stage(t, &t->from->stages[n - 1 - i], &stages[i]))
            return false;
    return t->drop_line == 0 ||
           add_note(t, t->drop_line, "tensors that a drop left out do not come back");
}

/* Line of the first rule; for what concerns them all. */
static uint32_t first_line(const struct heft_rules *rules)
{
    const struct heft_stage *const s = &rules->stages[0];

    return s->n_renames ? s->renames[0].line : s->mappings[0].line;
}

const struct heft_rules *heft_rules_reverse(const struct heft_rules *rules, struct heft_error *err)
{
    struct turning t = {.from = rules, .err = err};

    t.to = heft_arena_zero(rules->mem, 1, sizeof *t.to, err);
    if (!t.to)
        return NULL;
    *t.to = *rules;
    t.to->is_reversed = !rules->is_reversed;
    t.to->notes = NULL;
    t.to->n_notes = 0;
    for (uint32_t s = 0; s < rules->n_stages; s++)
        if (rules->stages[s].n_renames && !turn_stage(&t, &rules->stages[s], NULL))
            return NULL;
    if (!has_way_back(rules)) {
        heft_rules_refuse(rules, first_line(rules), err,
                          "the file has no rule with <=>, expected one for --reverse");
        return NULL;
    }
    if (!turn_stages(&t))
        return NULL;
    t.to->has_file_slots = heft_stages_have_file_slots(t.to);
    return t.to;
}
