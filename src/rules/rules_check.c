/* rules_check.c: placeholders of a rule, and the sizes that its ops need, when the whole file is read. */
#include "rules/rules_parts.h"

struct pattern_list {
    const struct heft_pattern *patterns;
    uint32_t n;
};
enum { LEFT, WITH, RIGHT, ALSO, ZEROS, N_LISTS };

static void list_patterns(const struct heft_remap *m, struct pattern_list out[N_LISTS])
{
    out[LEFT] = (struct pattern_list){m->left, m->n_left};
    out[WITH] = (struct pattern_list){m->with, m->n_with};
    out[RIGHT] = (struct pattern_list){m->right, m->n_right};
    out[ALSO] = (struct pattern_list){m->also, m->n_also};
    out[ZEROS] = (struct pattern_list){m->zeros, m->n_zeros};
}

static struct heft_slot *slots_of(struct heft_remap *m)
{
    return (struct heft_slot *)(uintptr_t)m->slots; /* the reader's until it is done */
}

/* ---- what each placeholder is --------------------------------------------------------------------------- */

static bool resolve_slots(struct heft_rules_reader *r, struct heft_remap *m)
{
    struct heft_slot *const slots = slots_of(m);

    for (uint32_t i = 0; i < m->n_slots; i++) {
        const struct heft_str name = heft_str_of(slots[i].name);
        const uint32_t set = heft_strmap_get(&r->word_names, name);

        if (set == HEFT_MAP_NONE)
            continue;
        if (slots[i].kind == HEFT_SLOT_ANY)
            return heft_rules_refuse(r->rules, m->line, r->err,
                                     "found {%s*}, but %s is a set of words; expected {%s} or "
                                     "another name",
                                     slots[i].name, slots[i].name, slots[i].name);
        slots[i].kind = HEFT_SLOT_WORD;
        slots[i].words = &r->words[set];
    }
    return true;
}

/* A number takes all digits, so that none can follow it. */
static bool check_piece(const struct heft_rules_reader *r, const struct heft_remap *m,
                        const struct heft_pattern *p, uint32_t i)
{
    const struct heft_piece *const piece = &p->name.pieces[i];
    const struct heft_slot *const slot = piece->is_slot ? &m->slots[piece->slot] : NULL;
    char next = '\0';

    if (!slot)
        return true;
    if (i + 1 < p->name.n_pieces)
        next = piece[1].text.p[0]; /* no two placeholders are neighbours */
    if (slot->kind == HEFT_SLOT_NUMBER && next >= '0' && next <= '9')
        return heft_rules_refuse(
            r->rules, p->line, r->err,
            "the name %.*s has the number {%s} before a digit, expected another "
            "character",
            heft_rules_shown(p->name.text), p->name.text.p, slot->name);
    if (slot->kind == HEFT_SLOT_WORD && piece->digits)
        return heft_rules_refuse(r->rules, p->line, r->err,
                                 "the name %.*s has {%s:%u}, but %s is a set of words",
                                 heft_rules_shown(p->name.text), p->name.text.p, slot->name,
                                 (unsigned)piece->digits, slot->name);
    return true;
}

static bool check_pattern(const struct heft_rules_reader *r, const struct heft_remap *m,
                          const struct heft_pattern *p)
{
    for (uint32_t i = 0; i < p->name.n_pieces; i++)
        if (!check_piece(r, m, p, i))
            return false;
    if (p->file_slot != HEFT_RULES_NONE && m->slots[p->file_slot].kind != HEFT_SLOT_NUMBER)
        return heft_rules_refuse(
            r->rules, p->line, r->err,
            "found @{%s}, but %s is a set of words; expected the number of a file",
            m->slots[p->file_slot].name, m->slots[p->file_slot].name);
    return true;
}

static bool check_patterns(const struct heft_rules_reader *r, const struct heft_remap *m)
{
    struct pattern_list lists[N_LISTS];

    list_patterns(m, lists);
    for (unsigned k = 0; k < N_LISTS; k++)
        for (uint32_t i = 0; i < lists[k].n; i++)
            if (!check_pattern(r, m, &lists[k].patterns[i]))
                return false;
    return true;
}

/* ---- placeholders of both sides --------------------------------------------------------------------------- */

/* The slots of a pattern: bit i for slot i. */
static uint32_t slot_mask(const struct heft_pattern *p)
{
    uint32_t mask = 0;

    for (uint32_t i = 0; i < p->name.n_pieces; i++)
        if (p->name.pieces[i].is_slot)
            mask |= UINT32_C(1) << p->name.pieces[i].slot;
    if (p->file_slot != HEFT_RULES_NONE)
        mask |= UINT32_C(1) << p->file_slot;
    return mask;
}

static const char *lowest_slot(const struct heft_remap *m, uint32_t mask)
{
    return m->slots[heft_lowest_bit(mask)].name;
}

/* All names of a list have the placeholders of `mask`, and no others; `some`: not all of them. */
static bool check_equal(const struct heft_rules_reader *r, const struct heft_remap *m,
                        struct pattern_list list, uint32_t mask, bool some)
{
    for (uint32_t i = 0; i < list.n; i++) {
        const struct heft_pattern *const p = &list.patterns[i];
        const uint32_t own = slot_mask(p), more = own & ~mask, less = some ? 0 : mask & ~own;

        if (more)
            return heft_rules_refuse(
                r->rules, p->line, r->err, "the name %.*s has {%s}, which the names beside it lack",
                heft_rules_shown(p->name.text), p->name.text.p, lowest_slot(m, more));
        if (less)
            return heft_rules_refuse(r->rules, p->line, r->err,
                                     "the name %.*s lacks {%s}, which the names beside it have",
                                     heft_rules_shown(p->name.text), p->name.text.p,
                                     lowest_slot(m, less));
    }
    return true;
}

/* Checks the placeholders that only one side has: there may be one, and it must be a number. */
static bool check_single(struct heft_rules_reader *r, struct heft_remap *m,
                         const struct heft_pattern *p, uint32_t only, enum heft_slot_use use,
                         uint32_t *index)
{
    const char *const side = use == HEFT_SLOT_GATHERED ? "left" : "right";

    *index = HEFT_RULES_NONE;
    if (!only)
        return true;
    *index = heft_lowest_bit(only);
    if (only & (only - 1))
        return heft_rules_refuse(r->rules, p->line, r->err,
                                 "found {%s} and {%s} on the %s side only, expected at most one",
                                 lowest_slot(m, only), lowest_slot(m, only & (only - 1)), side);
    if (m->slots[*index].kind != HEFT_SLOT_NUMBER)
        return heft_rules_refuse(
            r->rules, p->line, r->err,
            "found {%s%s} on the %s side only, expected it on both sides; only "
            "a number can stand for several tensors",
            m->slots[*index].name, m->slots[*index].kind == HEFT_SLOT_ANY ? "*" : "", side);
    slots_of(m)[*index].use = (uint8_t)use;
    slots_of(m)[*index].variable =
        heft_strmap_get(&r->variable_names, heft_str_of(m->slots[*index].name));
    return true;
}

static bool check_sides(struct heft_rules_reader *r, struct heft_remap *m)
{
    struct pattern_list lists[N_LISTS];
    const uint32_t left = slot_mask(&m->left[0]), right = slot_mask(&m->right[0]);

    list_patterns(m, lists);
    return check_equal(r, m, lists[LEFT], left, false) &&
           check_equal(r, m, lists[WITH], left, true) &&
           check_equal(r, m, lists[RIGHT], right, false) &&
           check_equal(r, m, lists[ALSO], right, false) &&
           check_equal(r, m, lists[ZEROS], right, false) &&
           check_single(r, m, &m->left[0], left & ~right, HEFT_SLOT_GATHERED, &m->gathered) &&
           check_single(r, m, &m->right[0], right & ~left, HEFT_SLOT_SPREAD, &m->spread);
}

static bool check_further(const struct heft_rules_reader *r, const struct heft_remap *m)
{
    const struct heft_pattern *const further = m->n_also ? m->also : m->zeros;

    if (!further || m->n_right == 1)
        return true;
    return heft_rules_refuse(r->rules, further->line, r->err,
                             "found %s after %u results, expected one result",
                             m->n_also ? "also" : "zeros", (unsigned)m->n_right);
}

static bool check_way_back(const struct heft_rules_reader *r, const struct heft_remap *m)
{
    if (!m->both_ways)
        return true;
    if (m->n_zeros)
        return heft_rules_refuse(r->rules, m->zeros[0].line, r->err,
                                 "found zeros in a rule with <=>, expected =>: it has no way back");
    for (uint32_t i = 0; i < m->n_ops; i++)
        if (m->ops[i].kind == HEFT_RULE_OP_SLICE)
            return heft_rules_refuse(
                r->rules, m->ops[i].line, r->err,
                "found slice in a rule with <=>, expected =>: it has no way back");
    return true;
}

bool heft_remap_check(struct heft_rules_reader *r, struct heft_remap *m)
{
    if (!resolve_slots(r, m) || !check_patterns(r, m))
        return false;
    if (m->kind != HEFT_REMAP_MOVE)
        return true;
    return check_sides(r, m) && check_further(r, m) && check_way_back(r, m) &&
           heft_remap_check_levels(r, m) && heft_remap_check_shapes(r, m) &&
           heft_remap_check_sizes(r, m);
}

static bool has_file_slot(const struct heft_pattern *list, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (list[i].file_slot != HEFT_RULES_NONE)
            return true;
    return false;
}

bool heft_stages_have_file_slots(const struct heft_rules *rules)
{
    for (uint32_t s = 0; s < rules->n_stages; s++)
        for (uint32_t i = 0; i < rules->stages[s].n_mappings; i++) {
            const struct heft_remap *const m = &rules->stages[s].mappings[i];

            if (has_file_slot(m->left, m->n_left) || has_file_slot(m->with, m->n_with) ||
                has_file_slot(m->equal, m->n_equal))
                return true;
        }
    return false;
}
