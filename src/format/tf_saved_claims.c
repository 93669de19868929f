/* tf_saved_claims.c: what each range of a document is, for explain and for what nobody understands.
 *
 * The document is cut where a field of another kind begins, down to the nodes and functions of a
 * graph; the constants that are rows claim their own bytes, which are left out:
 *
 *     │ SavedModel │ information │ nodes of the graph ░░ constant ░░ nodes … │ functions │ saver │ … */
#include "format/tf_saved.h"

#include <stdlib.h>

#define MOST_PARTS 65536

enum { SAVED_GRAPHS = 2, META_GRAPH = 2 };

struct part {
    uint64_t off;
    const char *what;
};

struct parts {
    struct part *list;
    size_t n, cap;
};

static const char *const meta_parts[] = {[1] = "what the meta graph is: tags, versions, ops",
                                         [2] = "graph",
                                         [3] = "saver",
                                         [4] = "collections",
                                         [5] = "signatures",
                                         [6] = "assets",
                                         [7] = "object graph"};
static const char *const graph_parts[] = {[1] = "nodes of the graph",
                                          [2] = "functions",
                                          [3] = "graph version",
                                          [4] = "graph versions",
                                          [5] = "debug information"};

static bool begin_part(struct parts *parts, uint64_t off, const char *what, struct heft_error *err)
{
    if (parts->n == MOST_PARTS || (parts->n && parts->list[parts->n - 1].what == what))
        return true;
    if (!heft_grow(&parts->list, &parts->cap, parts->n, 1, sizeof *parts->list, err))
        return false;
    parts->list[parts->n++] = (struct part){off, what};
    return true;
}

static bool walk_graph(struct parts *parts, struct heft_proto *p)
{
    uint32_t number;

    while ((number = heft_proto_pull(p)))
        if (!begin_part(parts, p->where, graph_parts[number], p->err) || !heft_proto_pass(p))
            return false;
    return !p->failed;
}

static bool walk_meta(struct parts *parts, struct heft_proto *p)
{
    uint32_t number;
    bool ok = true;

    while (ok && (number = heft_proto_pull(p)))
        ok = begin_part(parts, p->where, meta_parts[number], p->err) &&
             (number == META_GRAPH ? walk_graph(parts, p) : heft_proto_pass(p));
    return ok && !p->failed;
}

static bool walk(struct parts *parts, struct heft_proto *p, enum heft_tf_kind kind)
{
    uint32_t number;
    bool ok = true;

    if (kind == HEFT_TF_GRAPH_DEF)
        return walk_graph(parts, p);
    if (kind == HEFT_TF_META_GRAPH)
        return walk_meta(parts, p);
    while (ok && (number = heft_proto_pull(p)))
        ok = begin_part(parts, p->where, "SavedModel", p->err) &&
             (number == SAVED_GRAPHS ? walk_meta(parts, p) : heft_proto_pass(p));
    return ok && !p->failed;
}

/* ---- around constants ---- */

static int by_offset(const void *a, const void *b)
{
    const struct heft_storage *const x = *(const struct heft_storage *const *)a;
    const struct heft_storage *const y = *(const struct heft_storage *const *)b;

    return (x->off > y->off) - (x->off < y->off);
}

/* The storages that lie in the document, by offset. */
static const struct heft_storage **find_storages(struct heft_tf_saving *s, size_t *n)
{
    const struct heft_model *const model = s->model;
    const struct heft_storage **const list =
        heft_alloc((model->n_storages + 1) * sizeof *list, s->err);

    *n = 0;
    for (size_t i = 0; list && i < model->n_storages; i++)
        if (model->storages[i].source == s->source && model->storages[i].packed)
            list[(*n)++] = &model->storages[i];
    if (list && *n)
        qsort(list, *n, sizeof *list, by_offset);
    return list;
}

static bool claim(struct heft_tf_saving *s, uint64_t begin, uint64_t end, const char *what)
{
    return begin >= end || heft_model_claim(s->model, s->source, begin, end - begin, what, s->err);
}

static bool claim_parts(struct heft_tf_saving *s, const struct parts *parts,
                        const struct heft_storage **storages, size_t n)
{
    uint64_t at = 0;
    size_t k = 0;
    bool ok = true;

    for (size_t i = 0; ok && i < parts->n; i++) {
        const uint64_t end = i + 1 < parts->n ? parts->list[i + 1].off : s->saved->doc.size;

        for (; ok && k < n && storages[k]->off < end; k++) {
            ok = claim(s, at, storages[k]->off, parts->list[i].what);
            at = storages[k]->off + storages[k]->packed;
        }
        ok = ok && claim(s, at, end, parts->list[i].what);
        at = at > end ? at : end;
    }
    return ok;
}

bool heft_tf_saved_claims(struct heft_tf_saving *s)
{
    static const struct heft_proto_message *const messages[] = {
        [HEFT_TF_SAVED_MODEL] = &heft_tf_saved_model,
        [HEFT_TF_META_GRAPH] = &heft_tf_meta_graph,
        [HEFT_TF_GRAPH_DEF] = &heft_tf_graph};
    const enum heft_tf_kind kind = s->saved->form.kind;
    const struct heft_storage **storages;
    struct parts parts = {0};
    struct heft_proto p;
    size_t n;
    bool ok = heft_proto_open(&p, &s->saved->doc, 0, s->saved->doc.size, messages[kind], s->err) &&
              begin_part(&parts, 0, "SavedModel", s->err) && walk(&parts, &p, kind);

    heft_proto_close(&p);
    storages = find_storages(s, &n);
    ok = ok && storages && claim_parts(s, &parts, storages, n);
    heft_free(storages);
    heft_free(parts.list);
    return ok;
}
