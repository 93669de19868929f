/* tf_constants.c: constants of graphs as rows: the weights of frozen models, and values captured by
 * functions. A row is named like its node, or FUNCTION/node; with several metagraphs the name
 * starts with TAGS/. Raw content in a binary document is used as a range of the file. Content in
 * text form, or in typed fields, is decoded into memory, up to a limit. */
#include "format/tensorflow/bundle/tf_bundle.h"
#include "format/tensorflow/saved_model/tf_saved.h"
#include "format/tensorflow/graph/tf_tensor.h"

#define MOST_DECODED (UINT64_C(48) << 20) /* decoded bytes of all constants */
#define MOST_RANK    64
#define MOST_STRINGS 1000000 /* strings of one constant */

struct reader {
    struct heft_tf_saving *s;
    const struct heft_tf_graph *graph;
    struct heft_arena scratch;
    uint64_t decoded;
};

static bool add_unreadable(struct reader *r, struct heft_str name, uint64_t where,
                           const char *reason)
{
    return heft_model_add_unreadable(r->s->model, name, r->s->source, where, reason, r->s->err);
}

/* Records one constant as unreadable; the others are still read. */
static bool lose_by(struct reader *r, struct heft_str name, const struct heft_error *found)
{
    const char *reason;

    if (found->code != HEFT_MALFORMED && found->code != HEFT_LIMIT &&
        found->code != HEFT_UNSUPPORTED) {
        *r->s->err = *found;
        return false;
    }
    reason = heft_arena_printf(&r->s->model->mem, r->s->err, "%s", found->text);
    return reason && add_unreadable(r, name, found->offset, reason);
}

static bool row_name(struct reader *r, const struct heft_tf_function *f, struct heft_str node,
                     struct heft_str *out)
{
    const struct heft_tf_graph *const g = r->graph;
    struct heft_buf name = {0};

    for (size_t i = 0; r->s->saved->n_graphs > 1 && i < g->n_tags; i++) {
        heft_buf_str(&name, g->tags[i]);
        heft_buf_char(&name, i + 1 < g->n_tags ? ',' : '/');
    }
    if (f) {
        heft_buf_str(&name, f->name);
        heft_buf_char(&name, '/');
    }
    heft_buf_str(&name, node);
    return heft_buf_take(&name, &r->s->model->mem, out, r->s->err);
}

static bool too_much(const struct heft_tf_tensor *t, struct heft_error *err)
{
    return heft_fail(err, HEFT_LIMIT, t->at.off,
                     "constants that are not raw bytes decode to more than %" PRIu64 " MiB",
                     MOST_DECODED >> 20);
}

/* Sets the storage of the elements: a range of the document, or decoded bytes. */
static bool set_storage(struct reader *r, const struct heft_tf_tensor *t, uint64_t count,
                        size_t each, struct heft_storage *out, struct heft_error *err)
{
    const struct heft_tf_saving *const s = r->s;
    const uint64_t bytes = out->len; /* count * each, already checked */
    uint8_t *copy;

    if (t->has_content && t->bytes != bytes)
        return heft_fail(err, HEFT_MALFORMED, t->content.off,
                         "the content has %" PRIu64 " bytes, dtype and shape need %" PRIu64,
                         t->bytes, bytes);
    if (t->has_content && !s->saved->doc.is_text) {
        out->off = t->content.off;
        return true;
    }
    if (r->decoded > MOST_DECODED || bytes > MOST_DECODED - r->decoded)
        return too_much(t, err);
    r->decoded += bytes;
    copy = heft_arena_alloc(&s->model->mem, (size_t)bytes, err);
    if (!copy ||
        !(t->has_content ? heft_proto_copy(&s->saved->doc, t->content.off, t->content.len, copy,
                                           (size_t)bytes, err)
                         : heft_tf_tensor_fill(&s->saved->doc, t, (size_t)count, each, copy, err)))
        return false;
    return heft_model_add_memory(s->model, (struct heft_bytes){copy, (size_t)bytes}, "a constant",
                                 s->source, t->at.off, t->at.len, &out->source, err);
}

/* ---- strings: converted to the form of a bundle, so that one reader serves both ---- */

static void put_strings(struct heft_buf *out, const struct heft_str *strings, size_t n,
                        uint32_t *crc)
{
    *crc = 0;
    for (size_t i = 0; i < n; i++)
        heft_tf_put_length(out, strings[i].n, crc);
    heft_tf_put_sum(out, crc);
    for (size_t i = 0; i < n; i++)
        heft_tf_put_text(out, strings[i], crc);
}

static bool place_strings(struct reader *r, const struct heft_tf_tensor *t, uint64_t count,
                          struct heft_storage *out, struct heft_error *err)
{
    const struct heft_storage_more more = {.check = heft_tf_check_strings, .count = count};
    struct heft_buf laid = {0};
    struct heft_str *strings, bytes;

    if (count > MOST_STRINGS)
        return heft_fail(err, HEFT_LIMIT, t->at.off, "the constant has more than %d strings",
                         MOST_STRINGS);
    strings = heft_arena_alloc(&r->scratch, (size_t)(count + 1) * sizeof *strings, err);
    if (!strings ||
        !heft_tf_tensor_strings(&r->s->saved->doc, t, (size_t)count, &r->scratch, strings, err))
        return false;
    for (size_t i = 0; i < count; i++)
        r->decoded += strings[i].n + 10;
    if (r->decoded > MOST_DECODED)
        return too_much(t, err);
    put_strings(&laid, strings, (size_t)count, &out->crc);
    if (!heft_buf_take(&laid, &r->s->model->mem, &bytes, err))
        return false;
    out->len = bytes.n;
    out->sum = HEFT_SUM_OWN;
    return heft_model_add_more(r->s->model, out, &more, err) &&
           heft_model_add_memory(
               r->s->model, (struct heft_bytes){(const uint8_t *)bytes.p, bytes.n}, "a constant",
               r->s->source, t->at.off, t->at.len, &out->source, err);
}

/* ---- rows ---- */

static bool copy_shape(struct reader *r, const struct heft_tf_shape *shape, struct heft_row *row,
                       struct heft_error *err)
{
    uint64_t *const dims = heft_arena_u64(&r->s->model->mem, shape->rank, err);

    if (!dims)
        return false;
    if (shape->rank > MOST_RANK)
        return heft_fail(err, HEFT_LIMIT, HEFT_NO_OFFSET, "%" PRIu32 " dimensions", shape->rank);
    for (uint32_t i = 0; i < shape->rank; i++)
        dims[i] = (uint64_t)shape->dims[i];
    row->shape = dims;
    row->rank = (uint8_t)shape->rank;
    return true;
}

/* Fills row and storage of a tensor; errors are about this tensor. */
static bool make_row(struct reader *r, struct heft_tf_range at, struct heft_row *row,
                     struct heft_storage *storage, struct heft_error *err)
{
    struct heft_tf_tensor t;
    const struct heft_tf_dtype *dtype;
    uint64_t count;

    if (!heft_tf_tensor_read(&r->s->saved->doc, at, &r->scratch, &t, err) ||
        !heft_tf_tensor_count(&t, at.off, &count, err))
        return false;
    dtype = heft_tf_dtype(t.dtype);
    if (!dtype || dtype->dtype >= HEFT_DTYPE_COUNT ||
        (dtype->dtype != HEFT_STRING &&
         heft_dtype_element_bytes((enum heft_dtype)dtype->dtype) == 0))
        return heft_fail(err, HEFT_UNSUPPORTED, at.off, "unsupported constant dtype: %s",
                         dtype ? dtype->label : "unknown");
    row->dtype = dtype->dtype;
    if (!copy_shape(r, &t.shape, row, err))
        return false;
    if (row->dtype == HEFT_STRING)
        return place_strings(r, &t, count, storage, err);
    if (!heft_row_size((enum heft_dtype)row->dtype, row->rank, row->shape, &storage->len))
        return heft_fail(err, HEFT_MALFORMED, at.off, "dtype and shape need more than 2^64 bytes");
    return set_storage(r, &t, count, heft_dtype_element_bytes((enum heft_dtype)dtype->dtype),
                       storage, err);
}

static bool add_constant(struct reader *r, const struct heft_tf_function *f,
                         const struct heft_tf_node_entry *entry)
{
    struct heft_storage storage = {.source = r->s->source};
    struct heft_row row = {0};
    struct heft_error found = {0};
    struct heft_tf_node node;

    if (!heft_tf_graph_weigh(r->graph, entry->at.off, r->s->err) ||
        !heft_tf_node_read(&r->s->saved->doc, entry->at, &r->scratch, &node, r->s->err) ||
        !row_name(r, f, entry->name, &row.name))
        return false;
    if (!node.has_value)
        return add_unreadable(r, row.name, entry->at.off, "the Const has no value");
    if (!make_row(r, node.value, &row, &storage, &found))
        return lose_by(r, row.name, &found);
    storage.packed = storage.len;
    return heft_model_add_storage(r->s->model, &storage, &row.storage, r->s->err) &&
           heft_model_add_row(r->s->model, &row, r->s->err);
}

static bool is_constant(const struct heft_tf_graph *g, const struct heft_tf_node_entry *node)
{
    return heft_str_is(g->words[node->op], "Const");
}

static bool add_all(struct reader *r, const struct heft_tf_function *f,
                    const struct heft_tf_node_entry *nodes, size_t n)
{
    bool ok = true;

    for (size_t i = 0; ok && i < n; i++) {
        if (!is_constant(r->graph, &nodes[i]))
            continue;
        ok = add_constant(r, f, &nodes[i]);
        heft_arena_release(&r->scratch);
    }
    return ok;
}

bool heft_tf_constants(struct heft_tf_saving *s)
{
    struct reader r = {.s = s};
    bool ok = true;

    for (size_t i = 0; ok && i < s->saved->n_graphs; i++) {
        const struct heft_tf_graph *const g = &s->saved->graphs[i];

        r.graph = g;
        ok = add_all(&r, NULL, g->nodes, g->n_nodes);
        for (size_t k = 0; ok && k < g->n_functions; k++)
            ok = add_all(&r, &g->functions[k], g->inner + g->functions[k].first, g->functions[k].n);
    }
    heft_arena_release(&r.scratch);
    return ok;
}
