/* long_list.c: lists of which a tree has only the first items, made as a whole when they are asked
 * for. */
#include "core/long_list.h"

struct heft_long_list *heft_long_list_add(struct heft_arena *mem, struct heft_node *in,
                                          struct heft_str key, struct heft_error *err)
{
    struct heft_long_list *const list = heft_arena_zero(mem, 1, sizeof *list, err);

    return list && heft_tree_add(mem, in, key, HEFT_VALUE_LIST, &list->node, err) ? list : NULL;
}

bool heft_long_list_whole(const struct heft_model *model, const struct heft_value *list,
                          struct heft_arena *mem, const struct heft_value **out,
                          struct heft_error *err)
{
    const struct heft_long_list *const whole = (const struct heft_long_list *)(const void *)list;

    *out = list;
    return list->more == 0 || whole->read(model, whole, mem, out, err);
}

/* ---- comparing ------------------------------------------------------------------------------- */

struct pair {
    const struct heft_value *x, *y;
};

static uint64_t bits_of(double number)
{
    uint64_t bits;

    memcpy(&bits, &number, sizeof bits);
    return bits;
}

static bool is_same(const struct heft_value *x, const struct heft_value *y)
{
    if (x->kind != y->kind)
        return false;
    switch (x->kind) {
    case HEFT_VALUE_BOOL:
        return x->as.boolean == y->as.boolean;
    case HEFT_VALUE_INT:
        return x->as.integer == y->as.integer;
    case HEFT_VALUE_FLOAT:
        return bits_of(x->as.number) == bits_of(y->as.number);
    default:
        return heft_str_eq((struct heft_str){x->text, x->text_len},
                           (struct heft_str){y->text, y->text_len});
    }
}

/* Compares whole lists in step, with a stack of the siblings that are still to compare. */
static bool compare(struct pair first, bool *is_equal, struct heft_error *err)
{
    struct pair *stack = NULL;
    size_t n = 0, cap = 0;
    bool ok = heft_grow(&stack, &cap, 0, 1, sizeof *stack, err);

    if (ok)
        stack[n++] = first;
    while (ok && *is_equal && n > 0) {
        const struct pair at = stack[--n];

        *is_equal = !at.x == !at.y && (!at.x || is_same(at.x, at.y));
        if (!*is_equal || !at.x)
            continue;
        ok = heft_grow(&stack, &cap, n, 2, sizeof *stack, err);
        if (ok) {
            stack[n++] = (struct pair){at.x->next_sibling, at.y->next_sibling};
            stack[n++] = (struct pair){at.x->first_child, at.y->first_child};
        }
    }
    heft_free(stack);
    return ok;
}

bool heft_long_list_equal(const struct heft_model *a, const struct heft_value *x,
                          const struct heft_model *b, const struct heft_value *y, bool *is_equal,
                          struct heft_error *err)
{
    struct heft_arena mem_a = {0}, mem_b = {0};
    const struct heft_value *whole_x, *whole_y;
    bool ok;

    *is_equal = x->kind == y->kind && (x->more == y->more || x->more == 0 || y->more == 0);
    ok = !*is_equal ||
         (heft_long_list_whole(a, x, &mem_a, &whole_x, err) &&
          heft_long_list_whole(b, y, &mem_b, &whole_y, err) &&
          compare((struct pair){whole_x->first_child, whole_y->first_child}, is_equal, err));
    heft_arena_release(&mem_a);
    heft_arena_release(&mem_b);
    return ok;
}
