/* tf_ops.c: the ops that a graph uses, counted like saved_model_cli: ops of its nodes, and of the
 * nodes of all functions called by op name or by the attribute f of PartitionedCall and
 * StatefulPartitionedCall. Names of functions are not ops. */
#include "format/tensorflow/graph/tf_graph.h"

#include <stdlib.h>

struct walk {
    const struct heft_tf_graph *graph;
    uint8_t *used;      /* for each word: it is an op in use */
    uint32_t *function; /* for each word: the function of that name, or HEFT_TF_NONE */
    uint32_t *waiting;  /* functions whose nodes are still to be visited */
    size_t n_waiting;
};

static void mark_used(struct walk *w, uint32_t word)
{
    if (w->used[word])
        return;
    w->used[word] = 1;
    if (w->function[word] != HEFT_TF_NONE)
        w->waiting[w->n_waiting++] = w->function[word];
}

static bool is_call(struct heft_str op)
{
    return heft_str_is(op, "PartitionedCall") || heft_str_is(op, "StatefulPartitionedCall");
}

static void use_nodes(struct walk *w, const struct heft_tf_node_entry *nodes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        mark_used(w, nodes[i].op);
        if (nodes[i].func != HEFT_TF_NONE && is_call(w->graph->words[nodes[i].op]))
            mark_used(w, nodes[i].func);
    }
}

static int by_text(const void *a, const void *b)
{
    return heft_str_cmp(*(const struct heft_str *)a, *(const struct heft_str *)b);
}

/* Allocates the tables. A function is queued at most once, so `waiting` cannot overflow. */
static bool allocate_tables(struct walk *w, struct heft_arena *mem, struct heft_error *err)
{
    const struct heft_tf_graph *const g = w->graph;

    w->used = heft_arena_zero(mem, g->n_words, 1, err);
    w->function = heft_arena_alloc(mem, g->n_words * sizeof *w->function, err);
    w->waiting = heft_arena_alloc(mem, g->n_words * sizeof *w->waiting, err);
    if (!w->used || !w->function || !w->waiting)
        return false;
    memset(w->function, 0xff, g->n_words * sizeof *w->function);
    for (size_t i = 0; i < g->n_functions; i++) {
        const uint32_t word = heft_strmap_get(&g->word_map, g->functions[i].name);

        if (word != HEFT_MAP_NONE)
            w->function[word] = (uint32_t)i;
    }
    return true;
}

bool heft_tf_ops(const struct heft_tf_graph *g, struct heft_arena *mem, struct heft_str **ops,
                 size_t *n, struct heft_error *err)
{
    struct heft_arena scratch = {0};
    struct walk w = {.graph = g};
    bool ok = allocate_tables(&w, &scratch, err);

    *n = 0;
    if (ok)
        use_nodes(&w, g->nodes, g->n_nodes);
    while (ok && w.n_waiting) {
        const struct heft_tf_function *const f = &g->functions[w.waiting[--w.n_waiting]];

        if (f->n)
            use_nodes(&w, g->inner + f->first, f->n);
    }
    ok = ok && (*ops = heft_arena_alloc(mem, (g->n_words + 1) * sizeof **ops, err));
    for (size_t i = 0; ok && i < g->n_words; i++)
        if (w.used[i] && w.function[i] == HEFT_TF_NONE)
            (*ops)[(*n)++] = g->words[i];
    if (ok && *n)
        qsort(*ops, *n, sizeof **ops, by_text);
    heft_arena_release(&scratch);
    return ok;
}
