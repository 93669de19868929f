/* scan_graph.c: the operations of TensorFlow graphs.
 *
 *     SavedModel ── MetaGraphDef ─┬─ GraphDef ─┬─ node: name, op, attr
 *                                 │            └─ library: functions ── node …
 *                                 ├─ asset_file_def
 *                                 └─ object graph ── metadata of Keras: JSON, scan_config.c
 *
 * Each operation is reported once for the graph and once for each function, at its first node.
 * An operation that is neither registered by TensorFlow nor a function of the library needs
 * another native library.
 *
 * A saver writes files, and every model has one. It is recognised by its name (scope "save",
 * function "traced_save"), or, in a second pass, as a scope that contains only operations of
 * savers (scan_saver.c). In both cases no node outside of it may use its outputs, and no string
 * in it may be an absolute path. */
#include "scan/scan_parts.h"

#include "scan/scan_ops.h"
#include "scan/scan_saver.h"
#include "format/tensorflow/graph/tf_messages.h"
#include "format/tensorflow/graph/tf_document.h"

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

#define LONGEST       256   /* most bytes of a name in a finding */
#define MOST_REPORTED 50000 /* operations reported for one graph, each once a function */

struct text {
    char bytes[LONGEST];
    size_t n;
};

/* A node that is reported later, if at all. */
struct pending_node {
    struct heft_str op, node;
    uint64_t where;
};

/* A node that writes files in a scope that may be a saver's. */
struct saving {
    struct pending_node node;
    const struct heft_scan_op *op;
    uint32_t saver;
};

struct graph {
    struct heft_scan *s;
    const struct heft_scan_place *place;
    struct heft_proto p;
    struct heft_arena mem;
    struct heft_strmap reported, functions;
    struct pending_node *unregistered;
    size_t n_unregistered, cap_unregistered;
    struct text function;              /* function being read; empty in the graph itself */
    struct text name, op, key, stream; /* texts of the current node */
    uint64_t where;                    /* offset of the current node in the place, in bytes */
    bool full;                         /* MOST_REPORTED operations are reported */
    bool saves;                        /* the current node uses an output of the saver */
    bool sure, odd; /* kind of the message is known; an operation has an impossible name */
    uint64_t nodes, assets, configs;
    uint64_t tables;           /* number of tables that are initialised from text files */
    struct pending_node table; /* first node among those */
    struct saving *savings;
    size_t n_savings, cap_savings;
    struct heft_savers savers; /* scopes of the savings */
    bool again;                /* second pass, which judges the savers */
    bool has_path;             /* the current node has a string that is an absolute path */
};

static void keep_text(struct text *to, struct heft_str from)
{
    to->n = from.p ? (size_t)heft_min_u64(from.n, sizeof to->bytes) : 0;
    if (to->n)
        memcpy(to->bytes, from.p, to->n);
}

static struct heft_str text_of(const struct text *text)
{
    return (struct heft_str){text->bytes, text->n};
}

/* ---- reporting operations ---------------------------------------------------------------- */

static bool report_op(struct graph *g, const struct pending_node *at, enum heft_danger danger,
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

/* True for "save", "save_12". */
static bool is_saver_part(struct heft_str part)
{
    size_t i = 4;

    if (!heft_str_starts(part, HEFT_STR("save")))
        return false;
    if (i < part.n && part.p[i] == '_')
        for (i++; i < part.n && part.p[i] >= '0' && part.p[i] <= '9';)
            i++;
    return i == part.n;
}

/* True for a name below the scope of a saver: "save/…", "name/save_1/…". */
static bool is_saver_scope(struct heft_str name)
{
    for (size_t i = 0; i < name.n;) {
        const char *slash = memchr(name.p + i, '/', name.n - i);
        const size_t end = slash ? (size_t)(slash - name.p) : name.n;

        if (slash && is_saver_part((struct heft_str){name.p + i, end - i}))
            return true;
        i = end + 1;
    }
    return false;
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

static bool refuse_rest(struct graph *g)
{
    struct heft_error why = {0};

    if (g->full)
        return true;
    g->full = true;
    heft_fail(&why, HEFT_LIMIT, heft_scan_offset(g->place, g->where),
              "more than %d findings in one graph; the rest was not scanned", MOST_REPORTED);
    heft_scan_report_failure(g->s, &why);
    return true;
}

/* Sets *first if this operation was not met before in this function, and remembers it. */
static bool is_first(struct graph *g, bool *first, struct heft_error *err)
{
    struct heft_str key = {NULL, 0};
    uint32_t found;

    *first = false;
    if (g->reported.count >= MOST_REPORTED)
        return refuse_rest(g);
    key.p = heft_arena_printf(&g->mem, err, "%.*s %.*s%s%s", (int)g->op.n, g->op.bytes,
                              (int)g->function.n, g->function.bytes, is_in_saver(g) ? " saver" : "",
                              prints_to_file(g) ? " file" : "");
    if (!key.p)
        return false;
    key.n = strlen(key.p);
    if (!heft_strmap_add(&g->reported, key, 1, &found, err))
        return false;
    *first = found == HEFT_MAP_NONE;
    return true;
}

static bool copy_node(struct graph *g, struct pending_node *out, struct heft_error *err)
{
    *out =
        (struct pending_node){.op = text_of(&g->op), .node = text_of(&g->name), .where = g->where};
    out->op.p = heft_arena_text(&g->mem, out->op, err);
    out->node.p = heft_arena_text(&g->mem, out->node, err);
    return out->op.p && out->node.p;
}

/* ---- judging a node ---------------------------------------------------------------------- */

static bool is_table(struct heft_str op)
{
    return heft_str_starts(op, HEFT_STR("InitializeTableFromTextFile"));
}

static bool judge_known(struct graph *g, const struct heft_scan_op *op, struct heft_error *err)
{
    struct pending_node node;

    if (prints_to_file(g))
        return copy_node(g, &node, err) &&
               report_op(g, &node, HEFT_DANGER, "appends to a file at a path in the graph", err);
    if (op->danger == HEFT_ALLOWED || (heft_scan_op_saves(text_of(&g->op)) && is_in_saver(g)))
        return true;
    if (!copy_node(g, &node, err))
        return false;
    if (!is_table(node.op))
        return report_op(g, &node, op->danger, op->why, err);
    if (g->tables++ == 0) /* reported at the end, if the graph turns out to have no assets */
        g->table = node;
    return true;
}

/* True for a possible name of an operation: letters, digits, underscores; ">" after a library's
 * name; "/", "." and "-" in names of functions. */
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

/* True for a node that saves, in a scope that is not a saver's by its name: the other nodes of
 * the scope decide. */
static bool may_be_saver(const struct graph *g)
{
    return !g->function.n && heft_scan_op_saves(text_of(&g->op)) && !is_in_saver(g) &&
           heft_saver_scope(text_of(&g->name)).n > 0;
}

static bool add_saving(struct graph *g, const struct heft_scan_op *op, struct heft_error *err)
{
    struct saving *saving;

    if (g->n_savings >= MOST_REPORTED)
        return refuse_rest(g);
    if (!heft_grow(&g->savings, &g->cap_savings, g->n_savings, 1, sizeof *g->savings, err))
        return false;
    saving = &g->savings[g->n_savings++];
    saving->op = op;
    return copy_node(g, &saving->node, err) &&
           heft_savers_add(&g->savers, saving->node.node, &saving->saver, err);
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
    if (may_be_saver(g))
        return add_saving(g, op, err);
    if (!is_first(g, &first, err))
        return false;
    if (!first)
        return true;
    if (op)
        return judge_known(g, op, err);
    return heft_grow(&g->unregistered, &g->cap_unregistered, g->n_unregistered, 1,
                     sizeof *g->unregistered, err) &&
           copy_node(g, &g->unregistered[g->n_unregistered++], err);
}

/* ---- walking the document ---------------------------------------------------------------- */

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

/* Reports an absolute path inside a saver: the path is supposed to come from the program that
 * saves. */
static bool report_saver_path(struct graph *g, struct heft_error *err)
{
    struct pending_node node;
    bool first;

    if (!is_in_saver(g))
        return true;
    return is_first(g, &first, err) &&
           (!first || (copy_node(g, &node, err) &&
                       report_op(g, &node, HEFT_DANGER, "a saver with a path of its own", err)));
}

/* Reports a node that uses outputs of the saver or calls it: it saves whenever the graph runs.
 * The saver itself is run by name, or by nodes of the graph outside of functions. Nodes that
 * save are judged elsewhere ("name/save" of the oldest savers uses "name/save/tensor_names"). */
static bool report_saver_use(struct graph *g, struct heft_error *err)
{
    struct pending_node node;
    bool first;

    if (is_in_saver(g) || heft_scan_op_saves(text_of(&g->op)))
        return true;
    return is_first(g, &first, err) &&
           (!first ||
            (copy_node(g, &node, err) &&
             report_op(g, &node, HEFT_DANGER, "runs the saver, which writes files", err)));
}

static bool takes_saver(struct heft_str input)
{
    if (input.n && input.p[0] == '^')
        input = (struct heft_str){input.p + 1, input.n - 1};
    return is_saver_scope(input);
}

/* Takes a tensor of a signature: every caller of the model fetches it, so it must not be one of
 * a saver. */
static bool judge_fetched(struct graph *g, struct heft_error *err)
{
    struct pending_node node = {.op = HEFT_STR("a signature"), .where = g->p.where};

    if (g->again) {
        if (!heft_savers_take(&g->savers, g->p.text, err))
            return false;
        heft_savers_judge(&g->savers, HEFT_STR(""), HEFT_STR(""), false);
        return true;
    }
    if (!is_saver_scope(g->p.text))
        return true;
    keep_text(&g->name, g->p.text);
    node.node = text_of(&g->name);
    return report_op(g, &node, HEFT_DANGER, "runs the saver, which writes files", err);
}

static bool take_value(struct graph *g, struct heft_error *err)
{
    const struct heft_proto_message *in = g->p.message;
    const uint32_t number = g->p.field->number;

    if (in == &heft_tf_node && number == 1)
        keep_text(&g->name, g->p.text);
    else if (in == &heft_tf_node && number == 2)
        keep_text(&g->op, g->p.text);
    else if (in == &heft_tf_node && number == 3 && !g->function.n && g->again)
        return heft_savers_take(&g->savers, g->p.text, err);
    else if (in == &heft_tf_node && number == 3 && !g->function.n && takes_saver(g->p.text))
        g->saves = true;
    else if (in == &heft_tf_tensor && number == 8)
        g->has_path |= heft_saver_is_path(g->p.text);
    else if (in == &heft_tf_tensor_info && number == 1)
        return judge_fetched(g, err);
    else if (in == &heft_tf_name_attrs && number == 1 && g->function.n &&
             is_saver_function(g->p.text))
        g->saves = true;
    else if (in == &heft_tf_attr_entry && number == 1)
        keep_text(&g->key, g->p.text);
    else if (in == &heft_tf_attr_value && number == 2 &&
             heft_str_is(text_of(&g->key), "output_stream"))
        keep_text(&g->stream, g->p.text);
    else if (in == &heft_tf_op_def && number == 1) {
        keep_text(&g->function, g->p.text);
        return add_function(g, err);
    } else if (((in == &heft_tf_user_object && number == 3) ||
                (in == &keras_node && number == 5)) &&
               g->p.u64 > 0 && !g->again)
        return take_metadata(g, err);
    return true;
}

/* True if strings of the current tensor matter: those of constants of a saver, and those of a
 * node whose name and operation are not yet known. */
static bool may_have_path(const struct graph *g)
{
    if (g->op.n && !heft_str_is(text_of(&g->op), "Const"))
        return false;
    return !g->name.n || (g->again ? heft_savers_find(&g->savers, text_of(&g->name)) != HEFT_NONE
                                   : is_in_saver(g));
}

/* True for messages that contain neither nodes nor functions: values of tensors, and the lists
 * of operations and devices that the graph was built with. */
static bool is_idle(const struct graph *g, const struct heft_proto_message *message)
{
    if (message == &heft_tf_tensor)
        return !may_have_path(g);
    return message == &heft_tf_op_list || message == &heft_tf_meta_info ||
           message == &heft_tf_arg_def || message == &heft_tf_attr_def ||
           message == &heft_tf_opaque;
}

static bool take_event(struct graph *g, enum heft_proto_event event, struct heft_error *err)
{
    if (event == HEFT_PROTO_VALUE)
        return take_value(g, err);
    if (event == HEFT_PROTO_ENTER && is_idle(g, g->p.message))
        return heft_proto_skip(&g->p);
    if (event == HEFT_PROTO_ENTER && g->p.message == &heft_tf_node) {
        g->name.n = g->op.n = g->stream.n = 0;
        g->saves = g->has_path = false;
        g->where = g->p.where;
    } else if (event == HEFT_PROTO_ENTER && g->p.message == &heft_tf_attr_entry) {
        g->key.n = 0;
    } else if (event == HEFT_PROTO_ENTER && g->p.message == &heft_tf_asset_file) {
        g->assets++;
    } else if (event == HEFT_PROTO_LEAVE && g->p.field && g->p.field->sub == &heft_tf_node) {
        if (g->again) {
            if (!g->function.n)
                heft_savers_judge(&g->savers, text_of(&g->name), text_of(&g->op), g->has_path);
            return true;
        }
        return judge_node(g, err) && (!g->saves || report_saver_use(g, err)) &&
               (!g->has_path || report_saver_path(g, err));
    } else if (event == HEFT_PROTO_LEAVE && g->p.field && g->p.field->sub == &heft_tf_function) {
        g->function.n = 0;
    }
    return true;
}

static bool walk_document(struct graph *g, const struct heft_proto_doc *doc,
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

/* Second pass: reports the savings whose scopes are not savers. */
static bool report_savings(struct graph *g, const struct heft_proto_doc *doc,
                           const struct heft_proto_message *root, struct heft_error *err)
{
    struct heft_error why = {0}; /* malformed bytes: reported by the first pass */
    bool ok = true, first;

    if (!g->n_savings)
        return true;
    g->again = true;
    g->function.n = 0;
    if (heft_scan_pay(g->s, g->place, doc->size))
        ok = walk_document(g, doc, root, &why, err);
    if (ok && (why.code == HEFT_NOMEM || why.code == HEFT_IO)) {
        *err = why;
        return false;
    }
    for (size_t i = 0; ok && i < g->n_savings; i++) {
        const struct saving *saving = &g->savings[i];

        if (heft_savers_is_saver(&g->savers, saving->saver))
            continue;
        keep_text(&g->op, saving->node.op);
        ok = is_first(g, &first, err) &&
             (!first || report_op(g, &saving->node, saving->op->danger, saving->op->why, err));
    }
    return ok;
}

static bool report_unregistered(struct graph *g, struct heft_error *err)
{
    for (size_t i = 0; i < g->n_unregistered; i++)
        if (heft_strmap_get(&g->functions, g->unregistered[i].op) == HEFT_MAP_NONE &&
            !report_op(g, &g->unregistered[i], HEFT_UNKNOWN,
                       "TensorFlow has no such operation: it needs another native library", err))
            return false;
    return !g->tables || g->assets ||
           report_op(g, &g->table, HEFT_UNKNOWN,
                     "reads a text file into a table, and the graph has no assets", err);
}

static void release_graph(struct graph *g)
{
    heft_free(g->unregistered);
    heft_free(g->savings);
    heft_savers_release(&g->savers);
    heft_strmap_release(&g->reported);
    heft_strmap_release(&g->functions);
    heft_arena_release(&g->mem);
}

/* Walks the place as a message of the given type. sure: its name or first bytes say that it is
 * of this type; otherwise an impossible name of an operation means that it is not. *found: it
 * has nodes, functions, assets or configurations. */
static bool try_root(struct heft_scan *s, const struct heft_scan_place *place,
                     const struct heft_proto_doc *doc, const struct heft_proto_message *root,
                     bool sure, bool *found, struct heft_error *err)
{
    struct graph g = {.s = s, .place = place, .sure = sure};
    struct heft_error why = {0};
    bool ok = walk_document(&g, doc, root, &why, err);

    *found =
        ok && !g.odd &&
        (g.nodes > 0 || g.configs > 0 || (why.code == HEFT_OK && (g.functions.count || g.assets)));
    ok = ok && (!*found || (report_savings(&g, doc, root, err) && report_unregistered(&g, err)));
    if (ok && *found && why.code != HEFT_OK)
        heft_scan_report_refused(s, place, &why);
    release_graph(&g);
    if (why.code == HEFT_NOMEM || why.code == HEFT_IO) {
        *err = why;
        return false;
    }
    return ok;
}

/* ---- finding the type of the message ------------------------------------------------------ */

/* Returns the type of the message, NULL if unknown. Readers go by file names: saved_model.pb is
 * a SavedModel, whatever its first bytes are. */
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
    heft_scan_report_refused(s, place, &why);
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
