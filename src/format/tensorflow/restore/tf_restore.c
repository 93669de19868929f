/* tf_restore.c: traces what LoadSavedModel does, in its order.
 *
 *     metagraph      the one whose set of tags equals the requested set
 *     assets         file paths are fed to the tensors that ask for them
 *     restore op     runs with the checkpoint's prefix                        (tf_restore_walk.c)
 *     init op        from the signature __saved_model_init_op, else the collection saved_model_main_op,
 *                    else legacy_init_op
 *
 * Without a checkpoint nothing is restored; the other steps remain. */
#include "format/tensorflow/restore/tf_restore.h"

#include "base/text.h"

#define INIT_SIGNATURE "__saved_model_init_op"
#define MAIN_OP        "saved_model_main_op"
#define LEGACY_INIT_OP "legacy_init_op"
#define PREFIX         "variables/variables"

/* ---- the metagraph, its assets and its checkpoint ---- */

static struct heft_tf_step step_of(enum heft_restore_kind kind, struct heft_str node,
                                   uint64_t where, const char *text)
{
    return (struct heft_tf_step){.kind = kind,
                                 .node = node,
                                 .op = HEFT_STR(""),
                                 .function = HEFT_STR(""),
                                 .where = where,
                                 .text = text,
                                 .target = HEFT_NONE};
}

static bool add_step(struct heft_tf_restore *r, enum heft_restore_kind kind, struct heft_str node,
                     uint64_t where, const char *text)
{
    const struct heft_tf_step step = step_of(kind, node, where, text);

    return text && heft_tf_restore_step(r, &step) && heft_tf_restore_weigh(r, where);
}

/* Position of the node that a tensor name ("save/Const:0") refers to. */
static uint64_t place_of(const struct heft_tf_restore *r, struct heft_str tensor)
{
    const char *const colon = tensor.n ? memchr(tensor.p, ':', tensor.n) : NULL;
    const struct heft_str name = {tensor.p, colon ? (size_t)(colon - tensor.p) : tensor.n};
    const uint32_t number = heft_tf_graph_node(r->graph, name);

    return number == HEFT_MAP_NONE ? HEFT_NO_OFFSET : r->graph->nodes[number].at.off;
}

static bool add_metagraph(struct heft_tf_restore *r)
{
    const size_t n = r->saved->n_graphs;

    return add_step(r, HEFT_RESTORE_METAGRAPH, HEFT_STR(""), r->graph->at.off,
                    n == 1 ? "the only metagraph"
                           : heft_tf_restore_text(r, "metagraph %zu of %zu", r->number + 1, n));
}

static bool add_assets(struct heft_tf_restore *r)
{
    for (size_t i = 0; i < r->graph->n_assets; i++) {
        const struct heft_tf_asset *const a = &r->graph->assets[i];

        if (!add_step(r, HEFT_RESTORE_ASSET, a->tensor, place_of(r, a->tensor),
                      heft_tf_restore_text(r, "receives the path of assets/%.*s",
                                           (int)a->filename.n, a->filename.p)))
            return false;
    }
    return true;
}

static bool is_of(const struct heft_model_source *source, const char *format)
{
    return source->format && strcmp(source->format->name, format) == 0;
}

bool heft_tf_restore_has_checkpoint(const struct heft_tf_restore *r)
{
    const struct heft_model *const model = r->model;

    for (size_t i = 0; i < model->n_sources; i++)
        if (i != r->source && model->sources[i].is_file &&
            (is_of(&model->sources[i], "tf-bundle") || is_of(&model->sources[i], "tf-v1")))
            return true;
    return false;
}

/* Name of the checkpoint: the file beside a .meta, else the SavedModel's bundle. */
static const char *prefix_of(struct heft_tf_restore *r)
{
    const struct heft_str path = heft_str_of(r->model->sources[r->source].path);
    const size_t folder = heft_path_folder(path.p);

    if (r->saved->form.kind == HEFT_TF_SAVED_MODEL)
        return PREFIX;
    return heft_tf_restore_text(
        r, "%.*s", (int)(path.n - folder - (heft_str_ends(path, ".meta") ? strlen(".meta") : 0)),
        path.p + folder);
}

static bool add_restoring(struct heft_tf_restore *r)
{
    const struct heft_tf_saver *const saver = &r->graph->saver;
    const char *const prefix = prefix_of(r);

    if (!prefix)
        return false;
    if (!saver->present || saver->restore_op.n == 0)
        return add_step(r, HEFT_RESTORE_RUN, HEFT_STR(""), HEFT_NO_OFFSET,
                        "nothing is restored: no saver");
    if (!heft_tf_restore_has_checkpoint(r))
        return add_step(r, HEFT_RESTORE_RUN, saver->restore_op, place_of(r, saver->restore_op),
                        heft_tf_restore_text(r, "would run if %s.index existed", prefix));
    return add_step(r, HEFT_RESTORE_FEED, saver->filename_tensor,
                    place_of(r, saver->filename_tensor),
                    heft_tf_restore_text(
                        r, "receives the path of %s: filename_tensor_name of saver_def", prefix)) &&
           add_step(r, HEFT_RESTORE_RUN, saver->restore_op, place_of(r, saver->restore_op),
                    "runs: restore_op_name of saver_def");
}

/* ---- the init op ---- */

struct single {
    struct heft_tf_restore *r;
    struct heft_str text;
};

static bool take_single(void *ctx, struct heft_str text, struct heft_error *err)
{
    struct single *const single = ctx;
    char *const kept = heft_arena_text(&single->r->mem, text, err);

    single->text = (struct heft_str){kept, text.n};
    return kept != NULL;
}

static bool add_collection(struct heft_tf_restore *r, const struct heft_tf_collection *collection)
{
    struct single single = {.r = r};

    if (collection->kind != HEFT_TF_NODE_LIST || collection->count != 1)
        return heft_tf_restore_find(r, HEFT_FINDING, collection->at.off,
                                    "collection %.*s has %" PRIu64 " entries, expected one node",
                                    (int)collection->name.n, collection->name.p, collection->count);
    if (!heft_tf_collection_each(r->graph, collection, take_single, &single, r->err))
        return false;
    return add_step(
        r, HEFT_RESTORE_INIT, single.text, place_of(r, single.text),
        heft_tf_restore_text(r, "runs: %.*s", (int)collection->name.n, collection->name.p));
}

/* The op of the signature __saved_model_init_op; NULL if absent. */
static const struct heft_tf_info *init_of_signature(const struct heft_tf_restore *r, bool *is_there)
{
    *is_there = false;
    for (size_t i = 0; i < r->graph->n_signatures; i++) {
        const struct heft_tf_infos *const outputs = &r->graph->signatures[i].outputs;

        if (!heft_str_is(r->graph->signatures[i].key, INIT_SIGNATURE))
            continue;
        *is_there = true;
        for (size_t k = 0; k < outputs->n; k++)
            if (heft_str_is(outputs->list[k].key, INIT_SIGNATURE))
                return &outputs->list[k];
    }
    return NULL;
}

static const struct heft_tf_collection *collection_of(const struct heft_tf_restore *r,
                                                      const char *name)
{
    for (size_t i = 0; i < r->graph->n_collections; i++)
        if (heft_str_is(r->graph->collections[i].name, name))
            return &r->graph->collections[i];
    return NULL;
}

static bool add_init(struct heft_tf_restore *r)
{
    const struct heft_tf_collection *collection;
    bool has_signature;
    const struct heft_tf_info *const init = init_of_signature(r, &has_signature);

    if (init)
        return add_step(r, HEFT_RESTORE_INIT, init->tensor, place_of(r, init->tensor),
                        "runs: " INIT_SIGNATURE);
    if (has_signature)
        return heft_tf_restore_find(r, HEFT_FINDING, r->graph->at.off,
                                    "the signature " INIT_SIGNATURE
                                    " has no output with that name");
    collection = collection_of(r, MAIN_OP);
    if (!collection)
        collection = collection_of(r, LEGACY_INIT_OP);
    return !collection || add_collection(r, collection);
}

/* ---- opening and closing ---- */

bool heft_tf_restore_open(struct heft_tf_restore *r, const struct heft_model *model,
                          uint32_t source, const struct heft_tf_saved *saved, size_t number,
                          struct heft_error *err)
{
    *r = (struct heft_tf_restore){.model = model,
                                  .saved = saved,
                                  .graph = &saved->graphs[number],
                                  .source = source,
                                  .number = number,
                                  .err = err};
    return heft_tf_graph_index(r->graph, err) && add_metagraph(r) && add_assets(r) &&
           add_restoring(r) &&
           (!r->graph->saver.present || r->graph->saver.restore_op.n == 0 ||
            heft_tf_restore_walk(r)) &&
           add_init(r);
}

void heft_tf_restore_close(struct heft_tf_restore *r)
{
    heft_free(r->steps);
    heft_free(r->reads);
    heft_free(r->targets);
    heft_free(r->findings);
    heft_arena_release(&r->mem);
    *r = (struct heft_tf_restore){0};
}

uint32_t heft_tf_restore_source(const struct heft_model *model)
{
    for (uint32_t i = 0; i < model->n_sources; i++)
        if (is_of(&model->sources[i], "saved-model") || is_of(&model->sources[i], "tf-graph"))
            return i;
    return HEFT_NONE;
}

/* ---- choosing a metagraph by its tags ---- */

/* Takes the next tag of "serve, gpu"; false at the end. */
static bool next_tag(struct heft_str *tags, struct heft_str *out)
{
    const char *const comma = tags->n ? memchr(tags->p, ',', tags->n) : NULL;
    const size_t n = comma ? (size_t)(comma - tags->p) : tags->n;

    if (tags->n == 0)
        return false;
    *out = (struct heft_str){tags->p, n};
    tags->p += comma ? n + 1 : n;
    tags->n -= comma ? n + 1 : n;
    while (out->n && out->p[out->n - 1] == ' ')
        out->n--;
    while (out->n && *out->p == ' ')
        *out = (struct heft_str){out->p + 1, out->n - 1};
    return true;
}

static bool has_tag(const struct heft_tf_graph *graph, struct heft_str tag)
{
    for (size_t i = 0; i < graph->n_tags; i++)
        if (heft_str_eq(graph->tags[i], tag))
            return true;
    return false;
}

static bool is_listed(struct heft_str tags, struct heft_str wanted)
{
    struct heft_str tag;

    while (next_tag(&tags, &tag))
        if (heft_str_eq(tag, wanted))
            return true;
    return false;
}

/* True if both are equal as sets. */
static bool has_tags(const struct heft_tf_graph *graph, struct heft_str tags)
{
    struct heft_str rest = tags, tag;

    while (next_tag(&rest, &tag))
        if (!has_tag(graph, tag))
            return false;
    for (size_t i = 0; i < graph->n_tags; i++)
        if (!is_listed(tags, graph->tags[i]))
            return false;
    return true;
}

static bool list_them(const struct heft_tf_saved *saved, const char *what, struct heft_error *err)
{
    struct heft_buf list = {0};

    for (size_t i = 0; i < saved->n_graphs; i++) {
        heft_buf_text(&list, i ? "; " : "");
        for (size_t k = 0; k < saved->graphs[i].n_tags; k++) {
            heft_buf_text(&list, k ? "," : "");
            heft_buf_str(&list, saved->graphs[i].tags[k]);
        }
        if (saved->graphs[i].n_tags == 0)
            heft_buf_text(&list, "(none)");
    }
    if (heft_buf_ok(&list, err))
        heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "%s, there are: %.*s", what,
                  (int)heft_min_u64(list.n, 300), list.p);
    heft_buf_release(&list);
    return false;
}

bool heft_tf_restore_choose(const struct heft_tf_saved *saved, const char *tags, size_t *number,
                            struct heft_error *err)
{
    *number = 0;
    if (!tags)
        return saved->n_graphs == 1 ||
               list_them(saved, "several metagraphs: choose one by its tags", err);
    for (; *number < saved->n_graphs; ++*number)
        if (has_tags(&saved->graphs[*number], heft_str_of(tags)))
            return true;
    return list_them(saved, "no metagraph has exactly these tags", err);
}
