/* rules_levels.c: how many tensors an op of a rule works on. Several come in by a gathered number, by names beside
 * each other, or by both, and go out by names, by a spread number, or by both:
 *
 *     a.{E}, b.{E} | stack 0 | cat 1 <=> c        stack joins by number, then cat the two names
 *                                                 back: split 1 for the names, then unstack 0 by number */
#include "rules/rules_parts.h"

struct levels {
    struct heft_rules_reader *reader;
    struct heft_remap *mapping;
    bool number_in, names_in;   /* still to be joined */
    bool names_out, number_out; /* still to be divided */
    bool has_divided;
};

static bool refuse_op(const struct levels *l, const struct heft_rule_op *op, const char *problem)
{
    return heft_rules_refuse(l->reader->rules, op->line, l->reader->err, "found %s %s",
                             heft_op_name(op->kind), problem);
}

/* Shares: one for each name. */
static bool check_shares(const struct levels *l, const struct heft_rule_op *op, uint32_t names)
{
    if (op->n_args == 0)
        return true;
    if (op->level == HEFT_LEVEL_NUMBER)
        return refuse_op(
            l, op, "with shares of a placeholder's tensors, expected equal parts without them");
    if (op->n_args == names)
        return true;
    return heft_rules_refuse(l->reader->rules, op->line, l->reader->err,
                             "found %s with %u shares for %u names, expected one for each",
                             heft_op_name(op->kind), (unsigned)op->n_args, (unsigned)names);
}

/* A number of tensors that only `let $E` can tell. */
static bool check_count(const struct levels *l, const struct heft_rule_op *op, uint32_t slot,
                        const char *why)
{
    const struct heft_slot *s;

    if (op->level != HEFT_LEVEL_NUMBER)
        return true;
    s = &l->mapping->slots[slot];
    return s->variable != HEFT_RULES_NONE ||
           heft_rules_refuse(l->reader->rules, op->line, l->reader->err,
                             "found %s of {%s}%s, expected let $%s for how many there are",
                             heft_op_name(op->kind), s->name, why, s->name);
}

static bool take_join(struct levels *l, struct heft_rule_op *op)
{
    if (l->has_divided)
        return refuse_op(l, op, "behind split or unstack, expected then between them");
    if (!l->number_in && !l->names_in)
        return refuse_op(l, op,
                         "of one tensor, expected several names or a placeholder that is on "
                         "the left only");
    op->level = (uint8_t)(l->number_in ? HEFT_LEVEL_NUMBER : HEFT_LEVEL_NAMES);
    if (l->number_in)
        l->number_in = false;
    else
        l->names_in = false;
    if (!check_shares(l, op, l->mapping->n_left))
        return false;
    return !l->mapping->both_ways || op->kind == HEFT_RULE_OP_STACK ||
           check_count(l, op, l->mapping->gathered, " in a rule with <=>");
}

static bool take_divide(struct levels *l, struct heft_rule_op *op)
{
    if (l->number_in || l->names_in)
        return refuse_op(l, op, "of several tensors, expected cat, stack or same before it");
    if (!l->names_out && !l->number_out)
        return refuse_op(l, op,
                         "into one tensor, expected several names or a placeholder that is on "
                         "the right only");
    l->has_divided = true;
    op->level = (uint8_t)(l->names_out ? HEFT_LEVEL_NAMES : HEFT_LEVEL_NUMBER);
    if (l->names_out)
        l->names_out = false;
    else
        l->number_out = false;
    if (!check_shares(l, op, l->mapping->n_right))
        return false;
    return op->kind == HEFT_RULE_OP_UNSTACK || check_count(l, op, l->mapping->spread, "");
}

/* Nothing is left to be joined or divided. */
static bool check_rest(const struct levels *l)
{
    const struct heft_remap *const m = l->mapping;
    const struct heft_rules *const rules = l->reader->rules;
    struct heft_error *const err = l->reader->err;

    if (l->number_in)
        return heft_rules_refuse(
            rules, m->left[0].line, err,
            "found {%s} on the left side only, expected cat, stack or same for its "
            "tensors, or the placeholder on the right, too",
            m->slots[m->gathered].name);
    if (l->names_in)
        return heft_rules_refuse(rules, m->left[1].line, err,
                                 "found %u names on the left, expected cat, stack or same for them",
                                 (unsigned)m->n_left);
    if (l->names_out)
        return heft_rules_refuse(rules, m->right[1].line, err,
                                 "found %u names on the right, expected split or unstack for them",
                                 (unsigned)m->n_right);
    if (l->number_out)
        return heft_rules_refuse(
            rules, m->right[0].line, err,
            "found {%s} on the right side only, expected split or unstack, or the "
            "placeholder on the left, too",
            m->slots[m->spread].name);
    return true;
}

bool heft_remap_check_levels(struct heft_rules_reader *r, struct heft_remap *mapping)
{
    struct levels l = {.reader = r,
                       .mapping = mapping,
                       .number_in = mapping->gathered != HEFT_RULES_NONE,
                       .names_in = mapping->n_left > 1,
                       .names_out = mapping->n_right > 1,
                       .number_out = mapping->spread != HEFT_RULES_NONE};
    struct heft_rule_op *const ops = heft_remap_ops(mapping);

    for (uint32_t i = 0; i < mapping->n_ops; i++) {
        bool ok = true;

        ops[i].level = HEFT_LEVEL_EACH;
        if (heft_op_joins(ops[i].kind))
            ok = take_join(&l, &ops[i]);
        else if (heft_op_divides(ops[i].kind))
            ok = take_divide(&l, &ops[i]);
        if (!ok)
            return false;
    }
    return check_rest(&l);
}
