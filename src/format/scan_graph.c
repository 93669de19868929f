/* scan_graph.c: the operations of TensorFlow graphs.
 *
 *     SavedModel ── MetaGraphDef ─┬─ GraphDef ─┬─ node: name, op, attr
 *                                 │            └─ library: functions ── node …
 *                                 ├─ asset_file_def
 *                                 └─ object graph ── metadata of Keras: JSON, scan_config.c
 *
 * Each operation is reported once in a graph and once in a function, where it is first met. One that
 * is neither registered by TensorFlow nor a function of the library needs another native library. */
#include "format/scan_parts.h"

#include "format/scan_ops.h"
#include "format/tf_messages.h"
#include "format/tf_saved.h"

/* keras_metadata.pb, beside a SavedModel of Keras 2.5 and later. */
static const struct heft_proto_field keras_node_fields[] = {
    {.number = 3, .name = "node_path", .type = HEFT_PROTO_STRING},
    {.number = 4, .name = "identifier", .type = HEFT_PROTO_STRING},
    {.number = 5, .name = "metadata", .type = HEFT_PROTO_STRING}};
static const struct heft_proto_message keras_node =
    HEFT_PROTO_MESSAGE("SavedObject", keras_node_fields);
static const struct heft_proto_field keras_metadata_fields[] = {
    {.number = 1, .name = "nodes", .type = HEFT_PROTO_SUB, .repeated = true, .sub = &keras_node}};
static const struct heft_proto_message keras_metadata =
    HEFT_PROTO_MESSAGE("SavedMetadata", keras_metadata_fields);

#define LONGEST   256   /* bytes of a name that are shown */
#define MOST_TOLD 50000 /* operations of one graph, each once a function */

struct text {
    char bytes[LONGEST];
    size_t n;
};

/* An operation that no table has, until all functions are known. */
struct stranger {
    struct heft_str op, node;
    uint64_t where;
};

struct graph {
    struct heft_scan *s;
    const struct heft_scan_place *place;
    struct heft_proto p;
    struct heft_arena mem;
    struct heft_strmap told, functions;
    struct stranger *strangers;
    size_t n_strangers, cap_strangers;
    struct text function;              /* that is being read; empty: the graph itself */
    struct text name, op, key, stream; /* of the node */
    uint64_t where;                    /* of the node */
    bool full;                         /* MOST_TOLD are */
    bool saves;                        /* the node takes what the saver makes */
    bool sure, odd;                    /* odd: an operation has a name that none can have */
    uint64_t nodes, assets, configs;
    uint64_t tables;       /* that are read from files */
    struct stranger table; /* the first of them */
};

static void keep(struct text *to, struct heft_str from)
{
    to->n = from.p ? (size_t)heft_min_u64(from.n, sizeof to->bytes) : 0;
    if (to->n)
        memcpy(to->bytes, from.p, to->n);
}

static struct heft_str text_of(const struct text *text)
{
    return (struct heft_str){text->bytes, text->n};
}

/* ---- reporting --------------------------------------------------------------------------- */

static bool tell(struct graph *g, const struct stranger *at, enum heft_danger danger,
                 const char *why, struct heft_error *err)
{
    struct heft_scan_place place = *g->place;
    const char *name = heft_arena_printf(&g->mem, err, "%.*s: %s (node %.*s)", (int)at->op.n,
                                         at->op.p, why, (int)at->node.n, at->node.p);
    struct heft_scan_item item = {.danger = danger,
                                  .record = place.record,
                                  .offset = heft_scan_offset(&place, at->where),
                                  .position = HEFT_NO_OFFSET,
                                  .what = "op",
                                  .name = name};

    if (name)
        heft_scan_report(g->s, &item);
    return name != NULL;
}

static bool has_word(struct heft_str text, const char *word)
{
    const size_t n = strlen(word);

    for (size_t i = 0; i + n <= text.n; i++)
        if (memcmp(text.p + i, word, n) == 0)
            return true;
    return false;
}

/* "save/…", "save_1/…": the saver's part of a graph. */
static bool is_saver_scope(struct heft_str name)
{
    size_t i = 4;

    if (!heft_str_starts(name, HEFT_STR("save")))
        return false;
    if (i < name.n && name.p[i] == '_')
        for (i++; i < name.n && name.p[i] >= '0' && name.p[i] <= '9';)
            i++;
    return i < name.n && name.p[i] == '/';
}

static bool is_saver_function(struct heft_str name)
{
    return has_word(name, "traced_save") || has_word(name, "traced_restore");
}

static bool is_in_saver(const struct graph *g)
{
    return g->function.n ? is_saver_function(text_of(&g->function))
                         : is_saver_scope(text_of(&g->name));
}

static bool prints_to_file(const struct graph *g)
{
    return heft_str_is(text_of(&g->op), "PrintV2") &&
           heft_str_starts(text_of(&g->stream), HEFT_STR("file:"));
}

static bool refuse_rest(struct graph *g, bool *first)
{
    struct heft_error why = {0};

    *first = false;
    if (g->full)
        return true;
    g->full = true;
    heft_fail(&why, HEFT_LIMIT, heft_scan_offset(g->place, g->where),
              "more than %d operations to be told; the rest was not looked into", MOST_TOLD);
    heft_scan_break_off(g->s, &why);
    return true;
}

/* Whether this operation was met before in this function; remembers it. */
static bool is_first(struct graph *g, bool *first, struct heft_error *err)
{
    struct heft_str key = {NULL, 0};
    uint32_t found;

    if (g->told.count >= MOST_TOLD)
        return refuse_rest(g, first);
    key.p = heft_arena_printf(&g->mem, err, "%.*s %.*s%s%s", (int)g->op.n, g->op.bytes,
                              (int)g->function.n, g->function.bytes, is_in_saver(g) ? " saver" : "",
                              prints_to_file(g) ? " file" : "");
    if (!key.p)
        return false;
    key.n = strlen(key.p);
    if (!heft_strmap_add(&g->told, key, 1, &found, err))
        return false;
    *first = found == HEFT_MAP_NONE;
    return true;
}

static bool copy_node(struct graph *g, struct stranger *out, struct heft_error *err)
{
    *out = (struct stranger){.op = text_of(&g->op), .node = text_of(&g->name), .where = g->where};
    out->op.p = heft_arena_text(&g->mem, out->op, err);
    out->node.p = heft_arena_text(&g->mem, out->node, err);
    return out->op.p && out->node.p;
}

/* ---- one node ---------------------------------------------------------------------------- */

static bool is_table(struct heft_str op)
{
    return heft_str_starts(op, HEFT_STR("InitializeTableFromTextFile"));
}

static bool judge_known(struct graph *g, const struct heft_scan_op *op, struct heft_error *err)
{
    struct stranger node;

    if (prints_to_file(g))
        return copy_node(g, &node, err) &&
               tell(g, &node, HEFT_DANGER, "appends to a file at a path that the graph has", err);
    if (op->danger == HEFT_ALLOWED || (heft_scan_op_saves(text_of(&g->op)) && is_in_saver(g)))
        return true;
    if (!copy_node(g, &node, err))
        return false;
    if (!is_table(node.op))
        return tell(g, &node, op->danger, op->why, err);
    if (g->tables++ == 0) /* judged when it is known whether there are assets */
        g->table = node;
    return true;
}

/* Letters, digits, underscores; ">" behind a library's name; "/" and "." in functions. */
static bool is_op_name(struct heft_str name)
{
    for (size_t i = 0; i < name.n; i++) {
        const char c = name.p[i];

        if (!((c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
              memchr("_>/.-", c, 5)))
            return false;
    }
    return name.n > 0;
}

static bool judge_node(struct graph *g, struct heft_error *err)
{
    const struct heft_scan_op *op = heft_scan_op(text_of(&g->op));
    bool first = false;

    g->odd |= !g->sure && !is_op_name(text_of(&g->op));
    if (g->odd)
        return true;
    g->nodes++;
    if (op && op->danger == HEFT_ALLOWED && !prints_to_file(g))
        return true;
    if (!is_first(g, &first, err))
        return false;
    if (!first)
        return true;
    if (op)
        return judge_known(g, op, err);
    return heft_grow(&g->strangers, &g->cap_strangers, g->n_strangers, 1, sizeof *g->strangers,
                     err) &&
           copy_node(g, &g->strangers[g->n_strangers++], err);
}

/* ---- the walk ---------------------------------------------------------------------------- */

static bool add_function(struct graph *g, struct heft_error *err)
{
    struct heft_str name = text_of(&g->function);
    uint32_t found;

    name.p = heft_arena_text(&g->mem, name, err);
    return name.p && heft_strmap_add(&g->functions, name, 1, &found, err);
}

static bool take_metadata(struct graph *g, struct heft_error *err)
{
    struct heft_scan_place inner = *g->place;
    struct heft_arena mem = {0};
    struct heft_str json;
    struct heft_scan_json ignored;
    bool ok;

    g->configs++;
    ok = heft_proto_fetch(&g->p, &mem, HEFT_SCAN_UNPACKED, &json, err) &&
         heft_scan_config(g->s, &inner, (struct heft_bytes){(const uint8_t *)json.p, json.n},
                          &ignored, err);

    heft_arena_release(&mem);
    return ok;
}

/* A node that takes what the saver's part makes, or calls it, saves whenever the graph runs. The
 * saver itself is called by name, or from the graph's own nodes. */
static bool tell_saving(struct graph *g, struct heft_error *err)
{
    struct stranger node;
    bool first;

    if (is_in_saver(g))
        return true;
    return is_first(g, &first, err) &&
           (!first || (copy_node(g, &node, err) &&
                       tell(g, &node, HEFT_DANGER, "runs the saver, which writes files", err)));
}

static bool takes_saver(struct heft_str input)
{
    if (input.n && input.p[0] == '^')
        input = (struct heft_str){input.p + 1, input.n - 1};
    return is_saver_scope(input);
}

static bool take_value(struct graph *g, struct heft_error *err)
{
    const struct heft_proto_message *in = g->p.message;
    const uint32_t number = g->p.field->number;

    if (in == &heft_tf_node && number == 1)
        keep(&g->name, g->p.text);
    else if (in == &heft_tf_node && number == 2)
        keep(&g->op, g->p.text);
    else if (in == &heft_tf_node && number == 3 && !g->function.n && takes_saver(g->p.text))
        g->saves = true;
    else if (in == &heft_tf_name_attrs && number == 1 && g->function.n &&
             is_saver_function(g->p.text))
        g->saves = true;
    else if (in == &heft_tf_attr_entry && number == 1)
        keep(&g->key, g->p.text);
    else if (in == &heft_tf_attr_value && number == 2 &&
             heft_str_is(text_of(&g->key), "output_stream"))
        keep(&g->stream, g->p.text);
    else if (in == &heft_tf_op_def && number == 1) {
        keep(&g->function, g->p.text);
        return add_function(g, err);
    } else if (((in == &heft_tf_user_object && number == 3) ||
                (in == &keras_node && number == 5)) &&
               g->p.u64 > 0)
        return take_metadata(g, err);
    return true;
}

/* What holds neither nodes nor functions: values of tensors, and the lists of operations and
 * devices that a graph was made with. */
static bool is_idle(const struct heft_proto_message *message)
{
    return message == &heft_tf_tensor || message == &heft_tf_op_list ||
           message == &heft_tf_meta_info || message == &heft_tf_arg_def ||
           message == &heft_tf_attr_def || message == &heft_tf_opaque;
}

static bool take_event(struct graph *g, enum heft_proto_event event, struct heft_error *err)
{
    if (event == HEFT_PROTO_VALUE)
        return take_value(g, err);
    if (event == HEFT_PROTO_ENTER && is_idle(g->p.message))
        return heft_proto_skip(&g->p);
    if (event == HEFT_PROTO_ENTER && g->p.message == &heft_tf_node) {
        g->name.n = g->op.n = g->stream.n = 0;
        g->saves = false;
        g->where = g->p.where;
    } else if (event == HEFT_PROTO_ENTER && g->p.message == &heft_tf_attr_entry) {
        g->key.n = 0;
    } else if (event == HEFT_PROTO_ENTER && g->p.message == &heft_tf_asset_file) {
        g->assets++;
    } else if (event == HEFT_PROTO_LEAVE && g->p.field && g->p.field->sub == &heft_tf_node) {
        return judge_node(g, err) && (!g->saves || tell_saving(g, err));
    } else if (event == HEFT_PROTO_LEAVE && g->p.field && g->p.field->sub == &heft_tf_function) {
        g->function.n = 0;
    }
    return true;
}

static bool walk(struct graph *g, const struct heft_proto_doc *doc,
                 const struct heft_proto_message *root, struct heft_error *why,
                 struct heft_error *err)
{
    enum heft_proto_event event;
    bool ok = true;

    if (!heft_proto_open(&g->p, doc, 0, doc->size, root, why))
        return true;
    while (ok && (event = heft_proto_next(&g->p)) > HEFT_PROTO_END)
        ok = take_event(g, event, err) || (g->p.failed && why->code != HEFT_OK);
    heft_proto_close(&g->p);
    return ok;
}

static bool tell_strangers(struct graph *g, struct heft_error *err)
{
    for (size_t i = 0; i < g->n_strangers; i++)
        if (heft_strmap_get(&g->functions, g->strangers[i].op) == HEFT_MAP_NONE &&
            !tell(g, &g->strangers[i], HEFT_UNKNOWN,
                  "TensorFlow has no such operation: it comes from another native library", err))
            return false;
    return !g->tables || g->assets ||
           tell(g, &g->table, HEFT_UNKNOWN,
                "reads a text file into a table, and the graph has no assets", err);
}

static void release(struct graph *g)
{
    heft_free(g->strangers);
    heft_strmap_release(&g->told);
    heft_strmap_release(&g->functions);
    heft_arena_release(&g->mem);
}

/* The place as a message of that kind. sure: by its name or its first bytes it is; else names that
 * are none say that it is another one. *found: it has nodes. */
static bool try_root(struct heft_scan *s, const struct heft_scan_place *place,
                     const struct heft_proto_doc *doc, const struct heft_proto_message *root,
                     bool sure, bool *found, struct heft_error *err)
{
    struct graph g = {.s = s, .place = place, .sure = sure};
    struct heft_error why = {0};
    bool ok = walk(&g, doc, root, &why, err);

    *found =
        ok && !g.odd &&
        (g.nodes > 0 || g.configs > 0 || (why.code == HEFT_OK && (g.functions.count || g.assets)));
    ok = ok && (!*found || tell_strangers(&g, err));
    if (ok && *found && why.code != HEFT_OK)
        heft_scan_break_off(s, &why);
    release(&g);
    if (why.code == HEFT_NOMEM || why.code == HEFT_IO) {
        *err = why;
        return false;
    }
    return ok;
}

/* ---- which message it is ------------------------------------------------------------------ */

/* Readers go by names: saved_model.pb is a SavedModel, whatever it begins with. *only: no other kind
 * of message is tried. */
static const struct heft_proto_message *root_of(struct heft_str name, enum heft_tf_kind kind)
{
    if (heft_str_is(name, "saved_model.pb") || heft_str_is(name, "saved_model.pbtxt"))
        return &heft_tf_saved_model;
    if (heft_str_ends(name, ".meta") || kind == HEFT_TF_META_GRAPH)
        return &heft_tf_meta_graph;
    if (kind == HEFT_TF_GRAPH_DEF)
        return &heft_tf_graph;
    return kind == HEFT_TF_SAVED_MODEL ? &heft_tf_saved_model : NULL;
}

static bool try_roots(struct heft_scan *s, const struct heft_scan_place *place,
                      const struct heft_proto_doc *doc, const struct heft_proto_message *root,
                      bool *found, struct heft_error *err)
{
    static const struct heft_proto_message *const roots[] = {&heft_tf_graph, &heft_tf_meta_graph,
                                                             &heft_tf_saved_model, &keras_metadata};
    bool ok = !root || try_root(s, place, doc, root, true, found, err);

    for (size_t i = 0; ok && !*found && i < HEFT_COUNT(roots); i++)
        ok = try_root(s, place, doc, roots[i], false, found, err);
    return ok;
}

static bool try_form(struct heft_scan *s, const struct heft_scan_place *place, bool is_text,
                     const struct heft_proto_message *root, bool *found, struct heft_error *err)
{
    struct heft_proto_doc doc = {0};
    struct heft_error why = {0};
    bool ok;

    if (heft_proto_doc_open(&doc, place->src, is_text, &why)) {
        ok = try_roots(s, place, &doc, root, found, err);
        heft_proto_doc_close(&doc);
        return ok;
    }
    if (why.code == HEFT_NOMEM || why.code == HEFT_IO) {
        *err = why;
        return false;
    }
    heft_scan_break_off(s, &why);
    return true;
}

bool heft_scan_graph(struct heft_scan *s, const struct heft_scan_place *place,
                     struct heft_bytes head, bool *found, struct heft_error *err)
{
    const struct heft_str name = heft_scan_name(s, place);
    const struct heft_tf_form form = heft_tf_form_of(head, place->src->size);
    const struct heft_proto_message *root = root_of(name, form.kind);
    const bool may_be_text = form.is_text || heft_str_ends(name, ".pbtxt");

    *found = false;
    if (heft_str_is(name, "keras_metadata.pb"))
        root = &keras_metadata;
    if (!may_be_text && !try_form(s, place, false, root, found, err))
        return false;
    return *found || !may_be_text || try_form(s, place, true, root, found, err);
}
