/* tf_saved.c: TensorFlow's SavedModel: graphs, and a tensor bundle beside them.
 *
 *     FOLDER/saved_model.pb             SavedModel, protobuf: metagraphs, each with its tags
 *            saved_model.pbtxt          … or the same in text form
 *            variables/variables.…      one tensor bundle for all metagraphs; may be missing
 *            assets/…                   files that a graph refers to
 *            assets.extra/…             files for serving: warm-up requests
 *            fingerprint.pb             hashes
 *
 *     SavedModel    = schema version, MetaGraphDef …
 *     MetaGraphDef  = tags, GraphDef, saver, collections, signatures, assets, object graph
 *
 * Rows are those of the bundle, and on request the constants of the graphs. A single GraphDef (frozen
 * graph) or MetaGraphDef (.meta) can be opened as well: its constants are its rows. Graphs are never
 * executed. See doc/format/saved-model.md. */
#include "format/tensorflow/saved_model/tf_saved.h"

#define CONSTANTS "constants" /* option of reading */

/* ---- SavedModel or single graph ---- */

static int probe_saved(const struct heft_probe *sample)
{
    return heft_tf_form_of(sample->head, sample->size).kind == HEFT_TF_SAVED_MODEL ? 80 : 0;
}

static int probe_graph(const struct heft_probe *sample)
{
    const enum heft_tf_kind kind = heft_tf_form_of(sample->head, sample->size).kind;

    return kind == HEFT_TF_GRAPH_DEF || kind == HEFT_TF_META_GRAPH ? 70 : 0;
}

/* ---- opening ---- */

static bool set_version(struct heft_tf_saving *s)
{
    const struct heft_str version = s->saved->graphs[0].tensorflow_version;
    struct heft_str clean;

    if (version.n == 0)
        return true;
    if (!heft_tf_key(&s->model->mem, version, &clean, s->err))
        return false;
    s->model->version = heft_arena_printf(&s->model->mem, s->err, "TensorFlow %s", clean.p);
    return s->model->version != NULL;
}

static bool note_unknown(struct heft_tf_saving *s)
{
    if (s->saved->unknown == 0)
        return true;
    return heft_model_note(s->model, HEFT_NOTE, s->source, HEFT_NO_OFFSET, s->err,
                           "%" PRIu64 " unknown fields were skipped", s->saved->unknown);
}

static bool equal_tags(const struct heft_tf_graph *a, const struct heft_tf_graph *b)
{
    size_t same = 0;

    for (size_t i = 0; i < a->n_tags; i++)
        for (size_t k = 0; k < b->n_tags; k++)
            same += heft_str_eq(a->tags[i], b->tags[k]);
    return a->n_tags == b->n_tags && same == a->n_tags;
}

/* Notes metagraphs with equal tags: only the first can be loaded. */
static bool note_tags(struct heft_tf_saving *s)
{
    const struct heft_tf_saved *const saved = s->saved;

    for (size_t i = 1; i < saved->n_graphs; i++)
        for (size_t k = 0; k < i; k++)
            if (equal_tags(&saved->graphs[i], &saved->graphs[k]))
                return heft_model_note(s->model, HEFT_FINDING, s->source, saved->graphs[i].at.off,
                                       s->err, "two metagraphs have the same tags");
    return true;
}

static bool wants_constants(const struct heft_model *model)
{
    return heft_given_options_get(&model->options, CONSTANTS).is_given;
}

static bool open_document(struct heft_tf_saving *s)
{
    const bool has_variables = s->saved->form.kind == HEFT_TF_SAVED_MODEL || s->checkpoint;

    return set_version(s) && note_unknown(s) && note_tags(s) && heft_tf_saved_file_info(s) &&
           ((has_variables && !wants_constants(s->model)) || heft_tf_constants(s)) &&
           heft_tf_saved_claims(s);
}

/* Opens the files beside the document. */
static bool open_rest(struct heft_tf_saving *s)
{
    const size_t first = s->model->n_rows;
    uint32_t index;

    if (s->saved->form.kind == HEFT_TF_SAVED_MODEL)
        return heft_tf_saved_files(s);
    return !s->checkpoint ||
           (heft_registry_open_sibling(s->model, s->source, heft_str_of(s->checkpoint), &index,
                                       s->err) &&
            heft_tf_saved_lacks(s, first, true));
}

static bool open_as(struct heft_model *model, uint32_t source, bool is_saved,
                    struct heft_error *err)
{
    const struct heft_source src = model->sources[source].source;
    struct heft_tf_saved saved;
    struct heft_tf_wants wants = {0};
    struct heft_tf_saving s = {
        .model = model, .source = source, .saved = &saved, .err = err, .wants = &wants};
    bool ok = heft_tf_saved_read(&saved, &src, &model->mem, err);

    if (ok && (saved.form.kind == HEFT_TF_SAVED_MODEL) != is_saved)
        ok = heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "this is %s: open it as %s",
                       is_saved ? "a single graph" : "a SavedModel",
                       is_saved ? "tf-graph" : "saved-model");
    ok = ok && heft_tf_saved_find_checkpoint(&s) && open_document(&s) && open_rest(&s);
    heft_tf_wants_release(&wants);
    heft_tf_saved_release(&saved);
    if (ok)
        model->format = is_saved ? "saved-model" : "tf-graph";
    return ok;
}

static bool open_saved(struct heft_model *model, uint32_t source, struct heft_error *err)
{
    return open_as(model, source, true, err);
}

static bool open_graph(struct heft_model *model, uint32_t source, struct heft_error *err)
{
    return open_as(model, source, false, err);
}

/* ---- entries of the table of formats ---- */

static const struct heft_format_option options[] = {
    {.name = CONSTANTS,
     .use = HEFT_OPTION_READS,
     .elsewhere = HEFT_ELSEWHERE_NOTED,
     .help = "also list constants of a SavedModel's graphs"},
    {0},
};

static const struct heft_not_written not_written[] = {
    {"saved-model", "a SavedModel is not made of weights alone; option into writes a copy of "
                    "one with them"},
    {0},
};

const struct heft_format heft_format_saved_model = {
    .name = "saved-model",
    .summary = "TensorFlow's SavedModel: graphs, signatures, variables",
    .has_path_names = true,
    .not_written = not_written,
    .locator = &heft_tf_saved_locator,
    .probe = probe_saved,
    .open = open_saved,
    .verify = heft_tf_restore_verify,
    .has_messages = true,
    .options = options,
};

static const struct heft_file_name graph_names[] = {
    {".pb", .rank = HEFT_FILE_DATA},
    {".pbtxt", .rank = HEFT_FILE_TEXT},
    {0},
};

static const struct heft_not_written graph_not_written[] = {
    {"pb", "a graph or a SavedModel is not made of weights alone; option into writes a copy of "
           "a SavedModel with them"},
    {0},
};

const struct heft_format heft_format_tf_graph = {
    .name = "tf-graph",
    .summary = "a single TensorFlow graph: a frozen GraphDef or a MetaGraphDef",
    .has_path_names = true,
    .names = graph_names,
    .not_written = graph_not_written,
    .probe = probe_graph,
    .open = open_graph,
    .verify = heft_tf_restore_verify,
    .has_messages = true,
    .options = options,
};
