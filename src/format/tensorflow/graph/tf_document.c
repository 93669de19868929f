/* tf_document.c: recognises and reads TensorFlow's graph documents.
 *
 *     SavedModel    = schema version, MetaGraphDef …
 *     MetaGraphDef  = tags, GraphDef, saver, collections, signatures, assets, object graph
 *     GraphDef      = nodes, functions, versions
 *
 * Each may be a file of its own, in binary or in text form. There is no magic number: the first
 * fields tell the kind. */
#include "format/tensorflow/graph/tf_document.h"

#include "core/registry.h"

enum { SAVED_VERSION = 1, SAVED_GRAPHS = 2 };

static const char whole[] = "SavedModel"; /* label of ranges that are not a part of a graph */

/* ---- form and kind of a document ---- */

/* Text form: the first word tells the kind. */
static enum heft_tf_kind kind_of_word(struct heft_str word)
{
    static const struct {
        const char *word;
        enum heft_tf_kind kind;
    } words[] = {{"saved_model_schema_version", HEFT_TF_SAVED_MODEL},
                 {"meta_graphs", HEFT_TF_SAVED_MODEL},
                 {"meta_info_def", HEFT_TF_META_GRAPH},
                 {"graph_def", HEFT_TF_META_GRAPH},
                 {"saver_def", HEFT_TF_META_GRAPH},
                 {"node", HEFT_TF_GRAPH_DEF},
                 {"library", HEFT_TF_GRAPH_DEF},
                 {"versions", HEFT_TF_GRAPH_DEF}};

    for (size_t i = 0; i < HEFT_COUNT(words); i++)
        if (heft_str_is(word, words[i].word))
            return words[i].kind;
    return HEFT_TF_UNKNOWN;
}

/* First word after white space and comments. */
static struct heft_str first_word(struct heft_bytes head)
{
    size_t at = 0, end;

    while (at < head.n && strchr(" \t\r\n\f\v#", head.p[at] ? head.p[at] : 'x')) {
        if (head.p[at] == '#')
            while (at < head.n && head.p[at] != '\n')
                at++;
        else
            at++;
    }
    for (end = at;
         end < head.n && ((head.p[end] >= 'a' && head.p[end] <= 'z') || head.p[end] == '_');)
        end++;
    return (struct heft_str){(const char *)head.p + at, end - at};
}

/* Opens a length-delimited field that fits into the rest of the file: returns its number, and the
 * cursor is at its content. */
static uint32_t open_field(struct heft_cur *cur, uint64_t left, uint64_t *len)
{
    struct heft_error ignored = {0};
    uint64_t tag;

    if (!heft_proto_varint(cur, &tag, &ignored) || (tag & 7) != HEFT_PROTO_LEN || tag > 127 ||
        !heft_proto_varint(cur, len, &ignored) || *len > left)
        return 0;
    return (uint32_t)tag >> 3;
}

/* True if the content is text that can be a name. */
static bool is_name(struct heft_cur *cur, uint64_t len)
{
    const struct heft_bytes name = heft_cur_take(cur, heft_min_u64(len, heft_cur_left(cur)));

    for (size_t i = 0; i < name.n; i++)
        if (name.p[i] <= ' ' || name.p[i] >= 0x7f)
            return false;
    return name.n > 0;
}

/* Kind of a document whose field 1 is length-delimited: a node (name, op) or a MetaInfoDef. */
static enum heft_tf_kind kind_of_first(struct heft_cur cur, uint64_t size)
{
    uint64_t len, inner;
    const uint32_t first = open_field(&cur, size, &len), second = open_field(&cur, len, &inner);
    struct heft_cur name = cur;

    if (first != 1)
        return HEFT_TF_UNKNOWN;
    if (second == 1 && is_name(&name, inner) && open_field(&name, len, &inner) == 2 &&
        is_name(&name, inner))
        return HEFT_TF_GRAPH_DEF;
    if (second == 2 && open_field(&cur, inner, &len) == 1 && open_field(&cur, len, &inner) == 1 &&
        is_name(&cur, inner))
        return HEFT_TF_META_GRAPH; /* stripped_op_list */
    if ((second == 4 || second == 5) && is_name(&name, inner))
        return HEFT_TF_META_GRAPH; /* without that list: a tag or TensorFlow's version */
    return HEFT_TF_UNKNOWN;
}

static enum heft_tf_kind kind_of_binary(struct heft_bytes head, uint64_t size)
{
    struct heft_cur cur = heft_cur_of(head, 0);
    uint64_t len, inner;
    uint32_t field;

    if (head.n > 1 && head.p[0] == 0x0a)
        return kind_of_first(cur, size);
    if (head.n > 4 && head.p[0] == 0x08 && head.p[1] < 0x80) {
        heft_cur_take(&cur, 2);
        size = UINT64_MAX; /* recognised by its version, even if truncated */
    }
    if (open_field(&cur, size, &len) != SAVED_GRAPHS)
        return HEFT_TF_UNKNOWN;
    field = len ? open_field(&cur, len, &inner) : 1;
    return field >= 1 && field <= 7 ? HEFT_TF_SAVED_MODEL : HEFT_TF_UNKNOWN;
}

struct heft_tf_form heft_tf_form_of(struct heft_bytes head, uint64_t size)
{
    struct heft_tf_form form = {.kind = kind_of_binary(head, size)};

    if (form.kind == HEFT_TF_UNKNOWN && heft_proto_is_text(head)) {
        form.kind = kind_of_word(first_word(head));
        form.is_text = true;
    }
    return form;
}

/* ---- reading the metagraphs ---- */

static struct heft_tf_graph *add_graph(struct heft_tf_saved *saved, uint64_t where,
                                       struct heft_error *err)
{
    if (saved->n_graphs == HEFT_TF_MOST_GRAPHS) {
        heft_fail(err, HEFT_LIMIT, where, "the file has more than %d metagraphs",
                  HEFT_TF_MOST_GRAPHS);
        return NULL;
    }
    if (!heft_grow(&saved->graphs, &saved->cap_graphs, saved->n_graphs, 1, sizeof *saved->graphs,
                   err))
        return NULL;
    saved->graphs[saved->n_graphs] = (struct heft_tf_graph){0};
    return &saved->graphs[saved->n_graphs++];
}

static bool read_saved(struct heft_tf_saved *saved, struct heft_proto *p, struct heft_arena *mem)
{
    uint32_t number;

    while ((number = heft_proto_pull(p))) {
        struct heft_tf_graph *graph;

        if (!heft_tf_part(&saved->parts, p->where, whole, p->err))
            return false;
        if (number == SAVED_VERSION) {
            saved->schema_version = heft_proto_i64(p);
            continue;
        }
        graph = add_graph(saved, p->where, p->err);
        if (!graph || !heft_tf_graph_read(graph, p, mem, &saved->parts))
            return false;
    }
    if (p->failed)
        return false;
    if (saved->n_graphs == 0)
        return heft_fail(p->err, HEFT_MALFORMED, 0, "the SavedModel has no metagraph");
    if (saved->schema_version != 0 && saved->schema_version != 1)
        return heft_fail(p->err, HEFT_UNSUPPORTED, 0,
                         "unknown SavedModel schema version %" PRId64 ", expected 0 or 1",
                         saved->schema_version);
    return true;
}

static bool read_kind(struct heft_tf_saved *saved, struct heft_proto *p, struct heft_arena *mem)
{
    struct heft_tf_graph *graph;

    if (saved->form.kind == HEFT_TF_SAVED_MODEL)
        return read_saved(saved, p, mem);
    graph = add_graph(saved, 0, p->err);
    if (!graph)
        return false;
    return saved->form.kind == HEFT_TF_META_GRAPH
               ? heft_tf_graph_read(graph, p, mem, &saved->parts)
               : heft_tf_graph_read_def(graph, p, mem, &saved->parts);
}

static const struct heft_proto_message *message_of(enum heft_tf_kind kind)
{
    if (kind == HEFT_TF_SAVED_MODEL)
        return &heft_tf_saved_model;
    return kind == HEFT_TF_META_GRAPH ? &heft_tf_meta_graph : &heft_tf_graph;
}

static bool detect_form(struct heft_tf_saved *saved, const struct heft_source *src,
                        struct heft_error *err)
{
    struct heft_arena scratch = {0};
    struct heft_bytes head;
    const bool ok =
        heft_source_fetch(src, 0, heft_min_u64(src->size, HEFT_PROBE_HEAD), &scratch, &head, err);

    if (ok)
        saved->form = heft_tf_form_of(head, src->size);
    heft_arena_release(&scratch);
    if (!ok || saved->form.kind != HEFT_TF_UNKNOWN)
        return ok;
    return heft_fail(err, HEFT_MALFORMED, 0,
                     "not a SavedModel or TensorFlow graph, neither in binary nor in text form");
}

bool heft_tf_saved_read(struct heft_tf_saved *saved, const struct heft_source *src,
                        struct heft_arena *mem, struct heft_error *err)
{
    struct heft_proto p = {0};
    bool ok;

    *saved = (struct heft_tf_saved){0};
    ok = detect_form(saved, src, err) &&
         heft_proto_doc_open(&saved->doc, src, saved->form.is_text, err) &&
         heft_proto_open(&p, &saved->doc, 0, saved->doc.size, message_of(saved->form.kind), err) &&
         heft_tf_part(&saved->parts, 0, whole, err) && read_kind(saved, &p, mem);
    saved->unknown = p.unknown;
    heft_proto_close(&p);
    return ok;
}

void heft_tf_saved_release(struct heft_tf_saved *saved)
{
    for (size_t i = 0; i < saved->n_graphs; i++)
        heft_tf_graph_release(&saved->graphs[i]);
    heft_free(saved->graphs);
    heft_free(saved->parts.list);
    heft_proto_doc_close(&saved->doc);
    *saved = (struct heft_tf_saved){0};
}
