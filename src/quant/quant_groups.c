/* quant_groups.c: the groups of a configuration of compressed-tensors.
 *
 *     {"quant_method": "compressed-tensors", "format": F, "config_groups":
 *         {"group_0": {"targets": ["Linear", "re:.*self_attn.*"], "weights": {…}, "format": F'}}}
 *
 * Targets are compiled once. Expressions are untrusted: at most MOST_PATTERN bytes, without back-references
 * and repetition counts, so that matching takes linear time. */
#include "quant/quant_groups.h"

#include "core/regexes.h"

#define MOST_PATTERN     1000 /* bytes */
#define MOST_TARGETS     4096
#define MOST_EXPRESSIONS 64

enum rank { EXACT, EXPRESSION, CLASS, RANKS };

struct target {
    struct heft_str text;
    struct heft_regex regex; /* if rank is EXPRESSION */
    enum rank rank;
    size_t group;
};
struct heft_quant_groups {
    struct heft_quant_group *list;
    struct target *targets;
    size_t n, n_targets, n_expressions;
};

/* ---- reading the configuration ------------------------------------------------------------------ */

static bool has_members(const struct heft_quant_node *node)
{
    return node && node->kind == HEFT_QUANT_DICT && node->child;
}

static bool refuse_node(struct heft_quant *q, const struct heft_quant_node *node, const char *what)
{
    return heft_quant_config_refuse(q->config, node, HEFT_UNSUPPORTED, q->err, "%s", what);
}

/* What makes a configuration impossible as a whole. */
static bool check_config(struct heft_quant *q)
{
    const struct heft_quant_node *const all = q->config->quantization;
    const struct heft_quant_node *const transform = heft_quant_get(all, "transform_config");
    const struct heft_quant_node *const sparse =
        heft_quant_get(heft_quant_get(all, "sparsity_config"), "format");
    const struct heft_quant_node *const status = heft_quant_get(all, "quantization_status");

    if (has_members(transform) && has_members(heft_quant_get(transform, "config_groups")))
        return refuse_node(q, transform, "transform_config: the weights are rotated");
    if (sparse && !heft_quant_is(sparse, "dense"))
        return refuse_node(q, sparse, "sparsity_config: sparse weights are not dequantized");
    if (status && status->kind == HEFT_QUANT_STRING && !heft_quant_is(status, "compressed"))
        return heft_quant_config_refuse(
            q->config, status, HEFT_UNSUPPORTED, q->err,
            "quantization_status is %.40s: only compressed weights are stored in another form",
            status->text.p);
    return true;
}

static size_t count_members(const struct heft_quant_node *node)
{
    size_t n = 0;

    for (const struct heft_quant_node *m = node ? node->child : NULL; m; m = m->next)
        n++;
    return n;
}

/* Syntax whose cost is not linear, or whose meaning differs from Python's. */
static bool is_simple(const char *pattern)
{
    for (const char *p = pattern; *p; p++) {
        if (*p == '{' || (*p == '(' && p[1] == '?' && p[2] != ':'))
            return false;
        if (*p == '\\' && p[1] && *++p >= '1' && *p <= '9')
            return false;
    }
    return true;
}

static bool compile_target(struct heft_quant *q, struct target *t,
                           const struct heft_quant_node *node)
{
    const char *const pattern = t->text.p + 3;
    struct heft_error found = {0};
    const char *anchored;

    t->rank = EXPRESSION;
    if (t->text.n <= MOST_PATTERN && is_simple(pattern)) {
        anchored = heft_arena_printf(q->mem, q->err, "^(?:%s)", pattern);
        if (!anchored)
            return false;
        if (heft_regex_compile(&t->regex, anchored, NULL, &found))
            return true;
    }
    return heft_quant_config_refuse(q->config, node, HEFT_UNSUPPORTED, q->err,
                                    "target pattern '%.100s' is not understood", t->text.p);
}

/* Each target is compared with each weight. */
static bool refuse_many(struct heft_quant *q, const struct heft_quant_node *node)
{
    return heft_quant_config_refuse(q->config, node, HEFT_LIMIT, q->err,
                                    "more than %d targets, or than %d expressions among them",
                                    MOST_TARGETS, MOST_EXPRESSIONS);
}

static bool add_target(struct heft_quant *q, struct heft_quant_groups *all,
                       const struct heft_quant_node *node)
{
    struct target *const t = &all->targets[all->n_targets];

    if (node->kind != HEFT_QUANT_STRING)
        return heft_quant_config_refuse(q->config, node, HEFT_MALFORMED, q->err,
                                        "targets: expected texts");
    *t = (struct target){.text = node->text, .group = all->n};
    all->n_targets++; /* also if the pattern is refused: it is released */
    if (heft_str_starts(t->text, HEFT_STR("re:")))
        return (all->n_expressions++ < MOST_EXPRESSIONS || refuse_many(q, node)) &&
               compile_target(q, t, node);
    t->rank = heft_str_is(t->text, "Linear") ? CLASS : EXACT;
    return true;
}

static bool add_group(struct heft_quant *q, struct heft_quant_groups *all,
                      const struct heft_quant_node *node)
{
    const struct heft_quant_node *const targets = heft_quant_get(node, "targets");
    const struct heft_str format = heft_quant_text(heft_quant_get(node, "format"));
    struct heft_quant_group *const group = &all->list[all->n];

    *group = (struct heft_quant_group){
        .weights = heft_quant_get(node, "weights"),
        .format =
            format.n ? format : heft_quant_text(heft_quant_get(q->config->quantization, "format")),
        .name = node->key.p};
    for (const struct heft_quant_node *t = targets ? targets->child : NULL; t; t = t->next)
        if (!add_target(q, all, t))
            return false;
    all->n++;
    return true;
}

static bool read_groups(struct heft_quant *q)
{
    const struct heft_quant_node *const dict =
        heft_quant_get(q->config->quantization, "config_groups");
    struct heft_quant_groups *const all = heft_arena_zero(q->mem, 1, sizeof *all, q->err);
    size_t targets = 0;

    if (!all || !check_config(q))
        return false;
    if (!has_members(dict))
        return refuse_node(q, q->config->quantization, "config_groups is missing");
    for (const struct heft_quant_node *m = dict->child; m; m = m->next)
        targets += count_members(heft_quant_get(m, "targets"));
    if (targets > MOST_TARGETS)
        return refuse_many(q, dict);
    all->list = heft_arena_zero(q->mem, count_members(dict), sizeof *all->list, q->err);
    all->targets = heft_arena_zero(q->mem, targets + 1, sizeof *all->targets, q->err);
    if (!all->list || !all->targets)
        return false;
    q->groups = all;
    for (const struct heft_quant_node *m = dict->child; m; m = m->next)
        if (!add_group(q, all, m)) {
            heft_quant_groups_release(q);
            return false;
        }
    return true;
}

void heft_quant_groups_release(struct heft_quant *q)
{
    for (size_t i = 0; q->groups && i < q->groups->n_targets; i++)
        heft_regex_release(&q->groups->targets[i].regex);
    q->groups = NULL;
    heft_strmap_release(&q->layer_names);
}

/* ---- choosing a group --------------------------------------------------------------------------- */

static bool matches(struct target *t, struct heft_str module)
{
    switch (t->rank) {
    case EXACT:
        return heft_str_eq(t->text, module);
    case EXPRESSION:
        return heft_regex_matches(&t->regex, module);
    default:
        return true;
    }
}

/* Whether two values are the same: both trees are walked in the order of the text. */
static bool same_values(const struct heft_quant_node *a, const struct heft_quant_node *b)
{
    const struct heft_quant_node *x = a, *y = b;

    while (x && y) {
        if (x->kind != y->kind || x->integer != y->integer || !heft_str_eq(x->text, y->text) ||
            (x != a && !heft_str_eq(x->key, y->key)) || !x->child != !y->child)
            return false;
        if (x->child) {
            x = x->child;
            y = y->child;
            continue;
        }
        while (x != a && y != b && !x->next && !y->next) {
            x = x->parent;
            y = y->parent;
        }
        if (x == a || y == b)
            return x == a && y == b;
        x = x->next;
        y = y->next;
    }
    return x == y;
}

static bool same_groups(const struct heft_quant_group *a, const struct heft_quant_group *b)
{
    return a == b || (heft_str_eq(a->format, b->format) && same_values(a->weights, b->weights));
}

/* The group that a target of that rank chooses, or NULL; *other: a different one, chosen as well. */
static const struct heft_quant_group *choose(struct heft_quant_groups *all, enum rank rank,
                                             struct heft_str module,
                                             const struct heft_quant_group **other)
{
    const struct heft_quant_group *found = NULL;

    for (size_t i = 0; i < all->n_targets; i++) {
        struct target *const t = &all->targets[i];

        if (t->rank != rank || !matches(t, module))
            continue;
        if (found && !same_groups(found, &all->list[t->group]))
            *other = &all->list[t->group];
        else
            found = &all->list[t->group];
    }
    return found;
}

bool heft_quant_group_of(struct heft_quant *q, const struct heft_row *weight,
                         struct heft_str module, struct heft_quant_group *out)
{
    const struct heft_quant_group *found = NULL, *other = NULL;
    const struct heft_str name = heft_quant_join(q, module, "");

    if (!name.p || (!q->groups && !read_groups(q)))
        return false;
    for (unsigned rank = 0; !found && rank < RANKS; rank++)
        found = choose(q->groups, (enum rank)rank, name, &other);
    if (!found && q->groups->n == 1)
        found = q->groups->list; /* targets may be classes of modules, which files do not name */
    if (other)
        return heft_quant_refuse(q, weight, HEFT_UNSUPPORTED,
                                 "%s and %s of config_groups differ, and both have it as a target",
                                 found->name, other->name);
    if (!found || !found->weights || found->weights->kind != HEFT_QUANT_DICT)
        return heft_quant_refuse(q, weight, HEFT_UNSUPPORTED,
                                 "no group of config_groups has it as a target");
    *out = *found;
    if (heft_quant_get(found->weights, "dynamic") &&
        heft_quant_get(found->weights, "dynamic")->kind == HEFT_QUANT_BOOL &&
        heft_quant_get(found->weights, "dynamic")->integer)
        return heft_quant_refuse(q, weight, HEFT_UNSUPPORTED,
                                 "the weights of %s are quantized dynamically", found->name);
    return true;
}
