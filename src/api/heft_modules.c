/* heft_modules.c: the public API for the tree of modules. */
#include "base/require_arg.h"
#include "base/sized.h"
#include "api/checkpoint.h"
#include "api/rules_take.h"
#include "core/select.h"
#include "measure/module_tree.h"

struct heft_modules {
    const struct heft_model *model;
    struct heft_module_tree tree;
    struct heft_arena mem; /* owns the texts: fewer bytes than the names of the tensors have */
    const char **texts;    /* of each node; NULL for a tensor, whose text ends its name */
};

/* Parts of names are not followed by a NUL: copies the texts of modules. */
static bool copy_texts(struct heft_modules *m, struct heft_error *err)
{
    m->texts = heft_arena_zero(&m->mem, m->tree.n, sizeof *m->texts, err);
    for (size_t i = 0; m->texts && i < m->tree.n; i++) {
        if (m->tree.nodes[i].is_tensor)
            continue;
        m->texts[i] =
            heft_arena_text(&m->mem, heft_module_text(&m->tree, m->model, (uint32_t)i), err);
        if (!m->texts[i])
            return false;
    }
    return m->texts != NULL;
}

static struct heft_str text_of(const struct heft_modules *m, uint32_t node)
{
    const struct heft_str text = heft_module_text(&m->tree, m->model, node);

    return m->texts[node] ? (struct heft_str){m->texts[node], text.n} : text;
}

static bool build_tree(struct heft_modules *m, const char *root, const struct heft_rule *rules,
                       size_t n_rules, struct heft_error *err)
{
    struct heft_rule *own;
    bool *selected, ok;

    if (!root && !n_rules)
        return heft_module_tree_build(&m->tree, m->model, NULL, NULL, err);
    own = heft_rules_take(rules, n_rules, err);
    selected = own ? heft_calloc(m->model->n_rows + 1, sizeof *selected, err) : NULL;
    ok = selected && heft_select_rows(m->model, root, own, n_rules, selected, err) &&
         heft_module_tree_build(&m->tree, m->model, selected, root, err);
    heft_free(selected);
    heft_free(own);
    return ok;
}

struct heft_modules *heft_modules_new(const struct heft_checkpoint *c, const char *root,
                                      const struct heft_rule *rules, size_t n_rules,
                                      struct heft_error *err)
{
    struct heft_modules *m =
        heft_require_arg(c, "an argument", err) ? heft_calloc(1, sizeof *m, err) : NULL;

    if (!m)
        return NULL;
    m->model = &c->model;
    if (build_tree(m, root, rules, n_rules, err) && copy_texts(m, err))
        return m;
    heft_modules_free(m);
    return NULL;
}

static size_t public_index(uint32_t index)
{
    return index == HEFT_NONE ? HEFT_NO_MODULE : index;
}

/* The last number in the first component of a node's text. */
static uint64_t index_of(const struct heft_modules *m, uint32_t node)
{
    const struct heft_module_node *n = &m->tree.nodes[node];
    const struct heft_str text = heft_module_text(&m->tree, m->model, node);

    return heft_module_index(text, n->separator, &(uint32_t){0}, &(uint32_t){0});
}

bool heft_modules_at(const struct heft_modules *m, size_t node, struct heft_module *out)
{
    const struct heft_module_node *n;
    struct heft_str name, last;
    struct heft_module found;

    if (!m || !out || node >= m->tree.n)
        return false;
    n = &m->tree.nodes[node];
    name = text_of(m, (uint32_t)node);
    last = text_of(m, n->last);
    found = (struct heft_module){
        .name = name.p,
        .name_len = name.n,
        .separator = n->separator,
        .count = n->count,
        .last = last.p,
        .last_len = last.n,
        .tensors = n->tensors,
        .parameters = n->parameters,
        .bytes = n->bytes,
        .dtypes = {n->dtypes[0], n->dtypes[1]},
        .tensor = n->is_tensor ? n->row : HEFT_NO_MODULE,
        .is_tied = n->is_tied,
        .parent = public_index(n->parent),
        .first_child = public_index(n->first_child),
        .next = public_index(n->next),
    };
    if (n->count > 1)
        found.step = (index_of(m, n->last) - index_of(m, (uint32_t)node)) / (n->count - 1);
    HEFT_FILL(heft_module, out, &found);
    return true;
}

void heft_modules_tied(const struct heft_modules *m, struct heft_modules_sum *out)
{
    if (m && out)
        HEFT_FILL(heft_modules_sum, out,
                  &((struct heft_modules_sum){.tensors = m->tree.tied,
                                              .parameters = m->tree.tied_parameters,
                                              .bytes = m->tree.tied_bytes}));
}

void heft_modules_free(struct heft_modules *m)
{
    if (!m)
        return;
    heft_module_tree_release(&m->tree);
    heft_arena_release(&m->mem);
    heft_free(m);
}
