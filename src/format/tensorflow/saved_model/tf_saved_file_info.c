/* tf_saved_file_info.c: the file info of a SavedModel: a tree, the same for binary and text form.
 *
 *     "schema_version": 1,
 *     "metagraphs": [{"tags": […], "tensorflow_version": …,
 *                     "signatures": {KEY: {"method": …, "inputs": {K: {"tensor", "dtype", "shape"}},
 *                                          "outputs": {…}}},
 *                     "assets": [FILENAME …], "saver": {…}, "collections": {NAME: {"kind", "count"}},
 *                     "nodes": n, "functions": {"count": n, "names": […]}, "ops": […],
 *                     "callables": {…}}]
 *
 * Maps are sorted by key. */
#include "base/text.h"
#include "format/tensorflow/bundle/tf_parts.h"
#include "format/tensorflow/saved_model/tf_saved.h"

#define KEY HEFT_STR

static bool put_texts(struct heft_tf_saving *s, struct heft_node *in, struct heft_str key,
                      const struct heft_str *texts, size_t n)
{
    struct heft_node *const list = heft_tree_list(&s->model->mem, in, key, s->err);
    bool ok = list != NULL;

    for (size_t i = 0; ok && i < n; i++)
        ok = heft_tree_text(&s->model->mem, list, KEY(""), texts[i], s->err);
    return ok;
}

/* ---- signatures ---- */

static const char *form_of(const struct heft_tf_info *info)
{
    return info->is_sparse ? "sparse" : "composite";
}

static bool put_info(struct heft_tf_saving *s, const struct heft_tf_graph *g, struct heft_node *in,
                     const struct heft_tf_info *info)
{
    struct heft_arena *const mem = &s->model->mem;
    struct heft_node *dict;
    struct heft_str key;

    if (!heft_tf_graph_weigh(g, g->at.off, s->err) || !heft_tf_key(mem, info->key, &key, s->err))
        return false;
    dict = heft_tree_dict(mem, in, key, s->err);
    return dict && heft_tree_text(mem, dict, KEY("tensor"), info->tensor, s->err) &&
           heft_tf_file_info_dtype(mem, dict, info->dtype, s->err) &&
           (!info->is_ref || heft_tree_bool(mem, dict, KEY("ref"), true, s->err)) &&
           heft_tf_file_info_shape(mem, dict, &info->shape, s->err) &&
           ((!info->is_sparse && !info->is_composite) ||
            heft_tree_text(mem, dict, KEY("form"), heft_str_of(form_of(info)), s->err));
}

static bool put_infos(struct heft_tf_saving *s, const struct heft_tf_graph *g, struct heft_node *in,
                      struct heft_str key, const struct heft_tf_infos *infos)
{
    struct heft_node *const dict = heft_tree_dict(&s->model->mem, in, key, s->err);
    bool ok = dict != NULL;

    for (size_t i = 0; ok && i < infos->n; i++)
        ok = put_info(s, g, dict, &infos->list[i]);
    return ok;
}

static bool put_signatures(struct heft_tf_saving *s, const struct heft_tf_graph *g,
                           struct heft_node *in)
{
    struct heft_arena *const mem = &s->model->mem;
    struct heft_node *const all = heft_tree_dict(mem, in, KEY("signatures"), s->err);
    bool ok = all != NULL;

    for (size_t i = 0; ok && i < g->n_signatures; i++) {
        const struct heft_tf_signature *const sig = &g->signatures[i];
        struct heft_node *one = NULL;
        struct heft_str key;

        ok = heft_tf_graph_weigh(g, g->at.off, s->err) &&
             heft_tf_key(mem, sig->key, &key, s->err) &&
             (one = heft_tree_dict(mem, all, key, s->err)) &&
             heft_tree_text(mem, one, KEY("method"), sig->method, s->err) &&
             put_infos(s, g, one, KEY("inputs"), &sig->inputs) &&
             put_infos(s, g, one, KEY("outputs"), &sig->outputs);
    }
    return ok;
}

/* ---- saver, collections, functions ---- */

static bool put_saver(struct heft_tf_saving *s, const struct heft_tf_graph *g, struct heft_node *in)
{
    static const char *const versions[] = {"LEGACY", "V1", "V2"};
    const struct heft_tf_saver *const saver = &g->saver;
    struct heft_arena *const mem = &s->model->mem;
    struct heft_node *dict;

    if (!saver->present)
        return heft_tree_null(mem, in, KEY("saver"), s->err);
    dict = heft_tree_dict(mem, in, KEY("saver"), s->err);
    return dict &&
           heft_tree_text(mem, dict, KEY("filename_tensor_name"), saver->filename_tensor, s->err) &&
           heft_tree_text(mem, dict, KEY("save_tensor_name"), saver->save_tensor, s->err) &&
           heft_tree_text(mem, dict, KEY("restore_op_name"), saver->restore_op, s->err) &&
           heft_tree_number(mem, dict, KEY("max_to_keep"), saver->max_to_keep, s->err) &&
           heft_tree_bool(mem, dict, KEY("sharded"), saver->sharded, s->err) &&
           heft_tree_real(mem, dict, KEY("keep_checkpoint_every_n_hours"), saver->keep_hours,
                          s->err) &&
           (saver->version >= 0 && saver->version < 3
                ? heft_tree_text(mem, dict, KEY("version"), heft_str_of(versions[saver->version]),
                                 s->err)
                : heft_tree_number(mem, dict, KEY("version"), saver->version, s->err));
}

static bool put_collection(struct heft_tf_saving *s, struct heft_node *in,
                           const struct heft_tf_collection *c)
{
    static const char *const kinds[] = {"none",       "node_list",  "bytes_list",
                                        "int64_list", "float_list", "any_list"};
    struct heft_arena *const mem = &s->model->mem;
    struct heft_node *dict;
    struct heft_str key;

    if (!heft_tf_key(mem, c->name, &key, s->err))
        return false;
    dict = heft_tree_dict(mem, in, key, s->err);
    return dict && heft_tree_text(mem, dict, KEY("kind"), heft_str_of(kinds[c->kind]), s->err) &&
           heft_tree_number(mem, dict, KEY("count"), (int64_t)c->count, s->err);
}

static bool put_collections(struct heft_tf_saving *s, const struct heft_tf_graph *g,
                            struct heft_node *in)
{
    struct heft_node *const all = heft_tree_dict(&s->model->mem, in, KEY("collections"), s->err);
    bool ok = all != NULL;

    for (size_t i = 0; ok && i < g->n_collections; i++)
        ok = heft_tf_graph_weigh(g, g->collections[i].at.off, s->err) &&
             put_collection(s, all, &g->collections[i]);
    return ok;
}

static bool put_functions(struct heft_tf_saving *s, const struct heft_tf_graph *g,
                          struct heft_node *in)
{
    struct heft_arena *const mem = &s->model->mem;
    struct heft_node *const dict = heft_tree_dict(mem, in, KEY("functions"), s->err);
    struct heft_node *names = NULL;
    bool ok = dict && heft_tree_number(mem, dict, KEY("count"), (int64_t)g->n_functions, s->err) &&
              (names = heft_tree_list(mem, dict, KEY("names"), s->err));

    for (size_t i = 0; ok && i < g->n_functions; i++)
        ok = heft_tf_graph_weigh(g, g->functions[i].at.off, s->err) &&
             heft_tree_text(mem, names, KEY(""), g->functions[i].name, s->err);
    return ok;
}

static bool put_assets(struct heft_tf_saving *s, const struct heft_tf_graph *g,
                       struct heft_node *in)
{
    struct heft_node *const list = heft_tree_list(&s->model->mem, in, KEY("assets"), s->err);
    bool ok = list != NULL;

    for (size_t i = 0; ok && i < g->n_assets; i++)
        ok = heft_tree_text(&s->model->mem, list, KEY(""), g->assets[i].filename, s->err);
    return ok;
}

static bool put_ops(struct heft_tf_saving *s, const struct heft_tf_graph *g, struct heft_node *in)
{
    struct heft_arena scratch = {0};
    struct heft_str *ops = NULL;
    size_t n;
    const bool ok =
        heft_tf_ops(g, &scratch, &ops, &n, s->err) && put_texts(s, in, KEY("ops"), ops, n);

    heft_arena_release(&scratch);
    return ok;
}

static bool put_versions(struct heft_tf_saving *s, const struct heft_tf_graph *g,
                         struct heft_node *in)
{
    struct heft_arena *const mem = &s->model->mem;

    return heft_tree_text(mem, in, KEY("tensorflow_version"), g->tensorflow_version, s->err) &&
           heft_tree_text(mem, in, KEY("tensorflow_git_version"), g->tensorflow_git_version,
                          s->err);
}

static bool put_graph(struct heft_tf_saving *s, const struct heft_tf_graph *g,
                      struct heft_node *list)
{
    struct heft_arena *const mem = &s->model->mem;
    struct heft_node *const dict = heft_tree_dict(mem, list, KEY(""), s->err);

    return dict && put_texts(s, dict, KEY("tags"), g->tags, g->n_tags) &&
           put_signatures(s, g, dict) &&
           heft_tf_restore_file_info(s, (size_t)(g - s->saved->graphs), dict) &&
           put_assets(s, g, dict) && put_saver(s, g, dict) && put_collections(s, g, dict) &&
           put_versions(s, g, dict) &&
           heft_tree_number(mem, dict, KEY("nodes"), (int64_t)g->n_nodes, s->err) &&
           put_functions(s, g, dict) && put_ops(s, g, dict) &&
           (!g->has_objects || heft_tf_file_info_functions(s, g, dict));
}

bool heft_tf_saved_file_info(struct heft_tf_saving *s)
{
    struct heft_arena *const mem = &s->model->mem;
    struct heft_node *const root = heft_model_file_info(s->model, s->err);
    struct heft_node *list = NULL;
    bool ok =
        root &&
        (s->saved->form.kind != HEFT_TF_SAVED_MODEL ||
         heft_value_below(&root->value,
                          "schema_version") || /* if several models are opened, the first */
         heft_tree_number(mem, root, KEY("schema_version"), s->saved->schema_version, s->err)) &&
        (list = heft_tree_shared(mem, root, KEY("metagraphs"), HEFT_VALUE_LIST, s->err));

    for (size_t i = 0; ok && i < s->saved->n_graphs; i++)
        ok = put_graph(s, &s->saved->graphs[i], list);
    return ok;
}
