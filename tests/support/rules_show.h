/* rules_show.h: prints a program of rules, for comparing programs and for the eyes of a test. The syntax is that of
 * rules files as far as they can say it; `copy`, `equal` and the notes of the parser are added. */
#ifndef HEFT_RULES_SHOW_H
#define HEFT_RULES_SHOW_H

#include "rules/rules_program.h"

struct rules_show {
    struct heft_buf *out;
    const struct heft_rules *rules;
    const struct heft_remap *mapping;
};

/* In postfix notation, as it is stored: "$heads d * 2 /". */
static inline void show_expr(const struct rules_show *s, const struct heft_expr *e)
{
    static const char operators[] = "+-*/";

    if (e->n == 0)
        heft_buf_text(s->out, "_");
    for (uint32_t i = 0; i < e->n; i++) {
        const struct heft_term *const t = &e->terms[i];

        heft_buf_text(s->out, i ? " " : "");
        if (t->kind == HEFT_TERM_NUMBER)
            heft_buf_u64(s->out, t->number);
        else if (t->kind == HEFT_TERM_VARIABLE)
            heft_buf_printf(s->out, "$%s", s->rules->variables[t->index].name);
        else if (t->kind == HEFT_TERM_NAME)
            heft_buf_text(s->out, s->mapping->sizes[t->index]);
        else
            heft_buf_char(s->out, operators[t->kind - HEFT_TERM_ADD]);
    }
}

static inline void show_exprs(const struct rules_show *s, const struct heft_expr *list, uint32_t n)
{
    heft_buf_char(s->out, '[');
    for (uint32_t i = 0; i < n; i++) {
        heft_buf_text(s->out, i ? ", " : "");
        show_expr(s, &list[i]);
    }
    heft_buf_char(s->out, ']');
}

static inline void show_pattern(const struct rules_show *s, const struct heft_pattern *p)
{
    for (uint32_t i = 0; i < p->name.n_pieces; i++) {
        const struct heft_piece *const piece = &p->name.pieces[i];

        if (!piece->is_slot) {
            heft_buf_str(s->out, piece->text);
            continue;
        }
        heft_buf_printf(s->out, "{%s", s->mapping->slots[piece->slot].name);
        if (s->mapping->slots[piece->slot].kind == HEFT_SLOT_ANY)
            heft_buf_char(s->out, '*');
        if (s->mapping->slots[piece->slot].kind == HEFT_SLOT_WORD)
            heft_buf_text(s->out, piece->side ? "@right" : "@left");
        if (piece->digits)
            heft_buf_printf(s->out, ":%u", (unsigned)piece->digits);
        heft_buf_char(s->out, '}');
    }
    if (p->file_slot != HEFT_RULES_NONE)
        heft_buf_printf(s->out, " @{%s}", s->mapping->slots[p->file_slot].name);
    if (p->has_shape) {
        heft_buf_char(s->out, ' ');
        show_exprs(s, p->shape, p->n_dims);
    }
    if (p->dtype >= 0)
        heft_buf_printf(s->out, " %s", heft_dtype_name((enum heft_dtype)p->dtype));
}

static inline void show_patterns(const struct rules_show *s, const char *word,
                                 const struct heft_pattern *list, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        heft_buf_text(s->out, i ? ", " : word);
        show_pattern(s, &list[i]);
    }
}

static inline void show_op(const struct rules_show *s, const struct heft_rule_op *op)
{
    static const char *const names[] = {"squeeze", "unsqueeze", "permute", "transpose", "reshape",
                                        "slice",   "reorder",   "cat",     "stack",     "same",
                                        "split",   "unstack",   "copy"};
    static const char *const levels[] = {"", " by number", " by names"};

    heft_buf_printf(s->out, " | %s", names[op->kind]);
    if (op->kind != HEFT_RULE_OP_PERMUTE && op->kind != HEFT_RULE_OP_TRANSPOSE &&
        op->kind != HEFT_RULE_OP_RESHAPE && op->kind != HEFT_RULE_OP_SAME &&
        op->kind != HEFT_RULE_OP_COPY)
        heft_buf_printf(s->out, " %u", (unsigned)op->axis);
    for (uint32_t i = 0; i < op->n_order; i++)
        heft_buf_printf(s->out, " %u", (unsigned)op->order[i]);
    if (op->n_args) {
        heft_buf_char(s->out, ' ');
        show_exprs(s, op->args, op->n_args);
    }
    heft_buf_text(s->out, levels[op->level]);
    if (op->kind == HEFT_RULE_OP_RESHAPE && s->mapping->both_ways) {
        heft_buf_text(s->out, " from ");
        show_exprs(s, op->before, op->n_before);
    }
}

static inline void show_slots(const struct rules_show *s)
{
    static const char *const kinds[] = {"number", "text", "word"};
    static const char *const uses[] = {"", " gathered", " spread"};

    for (uint32_t i = 0; i < s->mapping->n_slots; i++) {
        const struct heft_slot *const slot = &s->mapping->slots[i];

        heft_buf_printf(s->out, "%s%s %s%s%s", i ? ", " : "    # ", slot->name, kinds[slot->kind],
                        uses[slot->use], slot->variable == HEFT_RULES_NONE ? "" : " $");
    }
    heft_buf_text(s->out, s->mapping->n_slots ? "\n" : "");
}

static inline void show_mapping(struct rules_show *s, const struct heft_remap *m)
{
    static const char *const words[] = {"drop ", "keep ", ""};

    s->mapping = m;
    heft_buf_printf(s->out, "%u: %s", (unsigned)m->line, words[m->kind]);
    if (m->optional && m->kind == HEFT_REMAP_MOVE)
        heft_buf_text(s->out, "? ");
    show_patterns(s, "", m->left, m->n_left);
    show_patterns(s, " equal ", m->equal, m->n_equal);
    show_patterns(s, " with ", m->with, m->n_with);
    for (uint32_t i = 0; i < m->n_ops; i++)
        show_op(s, &m->ops[i]);
    if (m->kind == HEFT_REMAP_MOVE)
        heft_buf_text(s->out, m->both_ways ? " <=> " : " => ");
    show_patterns(s, "", m->right, m->n_right);
    show_patterns(s, " also ", m->also, m->n_also);
    show_patterns(s, " zeros ", m->zeros, m->n_zeros);
    show_patterns(s, " back with ", m->back_with, m->n_back_with);
    heft_buf_char(s->out, '\n');
    show_slots(s);
}

static inline void show_variables(const struct rules_show *s)
{
    for (uint32_t i = 0; i < s->rules->n_variables; i++) {
        const struct heft_variable *const v = &s->rules->variables[i];

        heft_buf_printf(s->out, "let $%s =", v->name);
        if (v->is_given)
            heft_buf_text(s->out, " given");
        if (v->file)
            heft_buf_printf(s->out, " json %s", v->file);
        for (uint32_t k = 0; k < v->n_keys; k++)
            heft_buf_printf(s->out, "%s%s", k ? "." : " ", v->keys[k]);
        if (v->value.n) {
            heft_buf_char(s->out, ' ');
            show_expr(s, &v->value);
        }
        if (v->otherwise.n) {
            heft_buf_text(s->out, " else ");
            show_expr(s, &v->otherwise);
        }
        heft_buf_char(s->out, '\n');
    }
}

/* Appends the program to `out`. */
static inline void rules_show(const struct heft_rules *rules, struct heft_buf *out)
{
    struct rules_show s = {.out = out, .rules = rules};

    heft_buf_printf(out, "rules \"%s\"\n", rules->title);
    show_variables(&s);
    for (uint32_t i = 0; i < rules->n_stages; i++) {
        const struct heft_stage *const stage = &rules->stages[i];

        heft_buf_text(out, i ? "then\n" : "");
        for (uint32_t k = 0; k < stage->n_renames; k++)
            heft_buf_printf(out, "%s rename %s => %s\n", stage->renames[k].optional ? "?" : "",
                            stage->renames[k].pattern, stage->renames[k].replacement);
        for (uint32_t k = 0; k < stage->n_mappings; k++)
            show_mapping(&s, &stage->mappings[k]);
    }
}

#endif
