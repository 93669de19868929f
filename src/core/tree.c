/* tree.c: builds trees of values node by node. */
#include "core/tree.h"

#include "base/text.h"

static bool set_key(struct heft_arena *mem, const struct heft_node *in, struct heft_str key,
                    struct heft_value *value, struct heft_error *err)
{
    if (!in) {
        value->key = "";
        return true;
    }
    if (in->value.kind == HEFT_VALUE_LIST) {
        value->key = heft_arena_printf(mem, err, "%" PRIu64, in->n);
        value->key_len = value->key ? strlen(value->key) : 0;
    } else {
        value->key = heft_arena_text(mem, key, err);
        value->key_len = key.n;
    }
    return value->key != NULL;
}

bool heft_tree_add(struct heft_arena *mem, struct heft_node *in, struct heft_str key,
                   enum heft_value_kind kind, struct heft_node *node, struct heft_error *err)
{
    if (!set_key(mem, in, key, &node->value, err))
        return false;
    node->value.kind = kind;
    if (!in)
        return true;
    if (in->last)
        in->last->value.next_sibling = &node->value;
    else
        in->value.first_child = &node->value;
    in->last = node;
    in->n++;
    return true;
}

static struct heft_node *add_node(struct heft_arena *mem, struct heft_node *in, struct heft_str key,
                                  enum heft_value_kind kind, struct heft_error *err)
{
    struct heft_node *node = heft_arena_zero(mem, 1, sizeof *node, err);

    return node && heft_tree_add(mem, in, key, kind, node, err) ? node : NULL;
}

struct heft_node *heft_tree_dict(struct heft_arena *mem, struct heft_node *in, struct heft_str key,
                                 struct heft_error *err)
{
    return add_node(mem, in, key, HEFT_VALUE_DICT, err);
}

struct heft_node *heft_tree_list(struct heft_arena *mem, struct heft_node *in, struct heft_str key,
                                 struct heft_error *err)
{
    return add_node(mem, in, key, HEFT_VALUE_LIST, err);
}

struct heft_node *heft_tree_shared(struct heft_arena *mem, struct heft_node *in,
                                   struct heft_str key, enum heft_value_kind kind,
                                   struct heft_error *err)
{
    for (const struct heft_value *v = in->value.first_child; v; v = v->next_sibling)
        if (v->kind == kind && heft_str_eq((struct heft_str){v->key, v->key_len}, key))
            return (struct heft_node *)v; /* all members were made by add_node() */
    return add_node(mem, in, key, kind, err);
}

bool heft_tree_null(struct heft_arena *mem, struct heft_node *in, struct heft_str key,
                    struct heft_error *err)
{
    return add_node(mem, in, key, HEFT_VALUE_NULL, err) != NULL;
}

bool heft_tree_bool(struct heft_arena *mem, struct heft_node *in, struct heft_str key, bool value,
                    struct heft_error *err)
{
    struct heft_node *node = add_node(mem, in, key, HEFT_VALUE_BOOL, err);

    if (node)
        node->value.as.boolean = value;
    return node != NULL;
}

bool heft_tree_number(struct heft_arena *mem, struct heft_node *in, struct heft_str key,
                      int64_t value, struct heft_error *err)
{
    struct heft_node *node = add_node(mem, in, key, HEFT_VALUE_INT, err);

    if (node)
        node->value.as.integer = value;
    return node != NULL;
}

bool heft_tree_unsigned(struct heft_arena *mem, struct heft_node *in, struct heft_str key,
                        uint64_t value, struct heft_error *err)
{
    struct heft_node *node;

    if (value <= INT64_MAX)
        return heft_tree_number(mem, in, key, (int64_t)value, err);
    node = add_node(mem, in, key, HEFT_VALUE_BIGINT, err);
    if (!node)
        return false;
    node->value.text = heft_arena_printf(mem, err, "0x%" PRIx64, value);
    node->value.text_len = node->value.text ? strlen(node->value.text) : 0;
    return node->value.text != NULL;
}

bool heft_tree_real(struct heft_arena *mem, struct heft_node *in, struct heft_str key, double value,
                    struct heft_error *err)
{
    struct heft_node *node = add_node(mem, in, key, HEFT_VALUE_FLOAT, err);

    if (node)
        node->value.as.number = value;
    return node != NULL;
}

bool heft_tree_text(struct heft_arena *mem, struct heft_node *in, struct heft_str key,
                    struct heft_str value, struct heft_error *err)
{
    const struct heft_bytes bytes = {(const uint8_t *)value.p, value.n};
    const bool is_text = heft_utf8_check(bytes) == value.n;
    struct heft_node *node =
        add_node(mem, in, key, is_text ? HEFT_VALUE_STRING : HEFT_VALUE_BYTES, err);

    if (!node)
        return false;
    node->value.text = heft_arena_text(mem, value, err);
    node->value.text_len = value.n;
    return node->value.text != NULL;
}
