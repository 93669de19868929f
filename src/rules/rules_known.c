/* rules_known.c: which names of sizes are known, and when. A name is known from a shape of the side that is read if
 * it is the only unknown one of an expression, and occurs once in it. */
#include "rules/rules_parts.h"

struct known {
    const struct heft_rules_reader *reader;
    const struct heft_remap *mapping;
    bool is[HEFT_RULES_SIZES];
};

/* Number of unknown names in an expression, repetitions included; *index is one of them. */
static uint32_t count_unknown(const struct known *k, const struct heft_expr *e, uint32_t *index)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < e->n; i++)
        if (e->terms[i].kind == HEFT_TERM_NAME && !k->is[e->terms[i].index]) {
            *index = e->terms[i].index;
            n++;
        }
    return n;
}

/* One pass over the shapes of a list; true if a name has become known. */
static bool learn_once(struct known *k, const struct heft_pattern *list, uint32_t n)
{
    bool learned = false;

    for (uint32_t i = 0; i < n; i++)
        for (uint32_t d = 0; d < list[i].n_dims; d++) {
            uint32_t index = 0;

            if (count_unknown(k, &list[i].shape[d], &index) == 1) {
                k->is[index] = true;
                learned = true;
            }
        }
    return learned;
}

static void learn_left(struct known *k)
{
    const struct heft_remap *const m = k->mapping;
    bool more = true;

    while (more) {
        more = learn_once(k, m->left, m->n_left);
        more |= learn_once(k, m->with, m->n_with);
    }
}

static void learn_right(struct known *k)
{
    while (learn_once(k, k->mapping->right, k->mapping->n_right))
        ;
}

static bool check_expressions(const struct known *k, const struct heft_expr *list, uint32_t n,
                              uint32_t line, const char *where)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t index = 0;

        if (count_unknown(k, &list[i], &index))
            return heft_rules_refuse(k->reader->rules, line ? line : list[i].line, k->reader->err,
                                     "the size %s is not known %s; expected it in a shape there",
                                     k->mapping->sizes[index], where);
    }
    return true;
}

/* What the ops need when the left side is read. */
static bool check_forward(struct known *k)
{
    const struct heft_remap *const m = k->mapping;

    learn_left(k);
    for (uint32_t i = 0; i < m->n_ops; i++)
        if (!check_expressions(k, m->ops[i].args, m->ops[i].n_args, 0, "from the left side"))
            return false;
    return true;
}

/* What the ops need when the right side is read: the shapes before reshapes, and shares. */
static bool check_backward(struct known *k)
{
    static const char where[] = "from the right side, for the way back";
    const struct heft_remap *const m = k->mapping;

    learn_right(k);
    for (uint32_t i = 0; i < m->n_ops; i++) {
        const struct heft_rule_op *const op = &m->ops[i];
        const bool reshapes = op->kind == HEFT_RULE_OP_RESHAPE;

        if (!check_expressions(k, reshapes ? op->before : op->args,
                               reshapes ? op->n_before : op->n_args, op->line, where))
            return false;
    }
    return true;
}

static bool check_list(const struct known *k, const struct heft_pattern *list, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t d = 0; d < list[i].n_dims; d++) {
            uint32_t index = 0;

            if (count_unknown(k, &list[i].shape[d], &index))
                return heft_rules_refuse(
                    k->reader->rules, list[i].shape[d].line, k->reader->err,
                    "the shape %.100s cannot be solved for %s, expected it alone "
                    "or beside known sizes in one place",
                    list[i].shape_text, k->mapping->sizes[index]);
        }
    return true;
}

/* All shapes of a rule together tell all names; on the way back those of companions are not there. */
static bool check_union(struct known *k, bool has_with)
{
    const struct heft_remap *const m = k->mapping;
    bool more = true;

    while (more) {
        more = learn_once(k, m->left, m->n_left);
        more |= has_with && learn_once(k, m->with, m->n_with);
        more |= learn_once(k, m->right, m->n_right);
    }
    return check_list(k, m->left, m->n_left) && (!has_with || check_list(k, m->with, m->n_with)) &&
           check_list(k, m->right, m->n_right);
}

static void count_uses(const struct heft_expr *list, uint32_t n, uint32_t *uses)
{
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t t = 0; t < list[i].n; t++)
            if (list[i].terms[t].kind == HEFT_TERM_NAME)
                uses[list[i].terms[t].index]++;
}

/* In a rule with => a name that stands once, on the right, says nothing. */
static bool check_idle(const struct known *k)
{
    const struct heft_remap *const m = k->mapping;
    uint32_t uses[HEFT_RULES_SIZES] = {0};

    for (uint32_t i = 0; i < m->n_left; i++)
        count_uses(m->left[i].shape, m->left[i].n_dims, uses);
    for (uint32_t i = 0; i < m->n_with; i++)
        count_uses(m->with[i].shape, m->with[i].n_dims, uses);
    for (uint32_t i = 0; i < m->n_right; i++)
        count_uses(m->right[i].shape, m->right[i].n_dims, uses);
    for (uint32_t i = 0; i < m->n_right; i++)
        for (uint32_t d = 0; d < m->right[i].n_dims; d++) {
            const struct heft_expr *const e = &m->right[i].shape[d];

            for (uint32_t t = 0; t < e->n; t++)
                if (e->terms[t].kind == HEFT_TERM_NAME && uses[e->terms[t].index] == 1)
                    return check_expressions(k, e, 1, 0, "from the left side");
        }
    return true;
}

bool heft_remap_check_sizes(struct heft_rules_reader *r, const struct heft_remap *mapping)
{
    struct known forward = {.reader = r, .mapping = mapping}, backward = forward;

    if (!check_forward(&forward))
        return false;
    if (mapping->both_ways ? !check_backward(&backward) : !check_idle(&forward))
        return false;
    return check_union(&forward, true) && (!mapping->both_ways || check_union(&backward, false));
}
