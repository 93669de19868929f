/* tf_write_graph.c: the object graph of a bundle that is written with other names.
 *
 *     TrackableObjectGraph { nodes: { attributes: { checkpoint_key: "old" → "new" } … } … }
 *
 * Everything else is copied unchanged, including unknown fields. */
#include "format/tensorflow/write/tf_write.h"
#include "wire/proto.h"
#include "wire/proto_write.h"
#include "wire/sstable_write.h"

#define MAX_GRAPH (64u << 20)

enum { GRAPH_NODE = 1, NODE_ATTRIBUTE = 2, ATTRIBUTE_KEY = 3 };

struct rewriter {
    const struct heft_tf_out *out;
    struct heft_strmap names; /* row name → item */
    struct heft_buf text;     /* output */
    struct heft_error *err;
};

static bool is_renamed(const struct heft_export_item *item)
{
    return !heft_str_eq(item->name, item->row->name);
}

static bool has_renames(const struct heft_export_list *exports)
{
    for (size_t i = 0; i < exports->n_items; i++)
        if (is_renamed(&exports->items[i]))
            return true;
    return false;
}

static bool map_names(struct rewriter *r)
{
    const struct heft_export_list *exports = r->out->exports;

    for (uint32_t i = 0; i < exports->n_items; i++)
        if (!heft_strmap_set(&r->names, exports->items[i].row->name, i, r->err))
            return false;
    return true;
}

static void copy_field(struct rewriter *r, const struct heft_proto_item *item,
                       const struct heft_cur *cur)
{
    const uint8_t *from = cur->p + (item->where - cur->base);

    heft_buf_put(&r->text, from, (size_t)(cur->p + cur->at - from));
}

static bool rewrite_attribute(struct rewriter *r, struct heft_cur cur)
{
    const size_t mark = heft_proto_put_begin(&r->text, NODE_ATTRIBUTE);
    struct heft_proto_item item;

    while (heft_proto_take(&cur, &item, r->err)) {
        const struct heft_str key = {(const char *)item.bytes.p, item.bytes.n};
        const bool is_key = item.number == ATTRIBUTE_KEY && item.wire == HEFT_PROTO_LEN;
        const uint32_t i = is_key ? heft_strmap_get(&r->names, key) : HEFT_MAP_NONE;

        if (i == HEFT_MAP_NONE)
            copy_field(r, &item, &cur);
        else
            heft_proto_put_bytes(&r->text, ATTRIBUTE_KEY, r->out->exports->items[i].name);
    }
    heft_proto_put_end(&r->text, mark);
    return !cur.bad;
}

static bool rewrite_node(struct rewriter *r, struct heft_cur cur)
{
    const size_t mark = heft_proto_put_begin(&r->text, GRAPH_NODE);
    struct heft_proto_item item;

    while (heft_proto_take(&cur, &item, r->err))
        if (item.number != NODE_ATTRIBUTE || item.wire != HEFT_PROTO_LEN)
            copy_field(r, &item, &cur);
        else if (!rewrite_attribute(r, heft_proto_sub(&item)))
            return false;
    heft_proto_put_end(&r->text, mark);
    return !cur.bad;
}

static bool rewrite_graph(struct rewriter *r, struct heft_cur cur)
{
    struct heft_proto_item item;

    while (heft_proto_take(&cur, &item, r->err))
        if (item.number != GRAPH_NODE || item.wire != HEFT_PROTO_LEN)
            copy_field(r, &item, &cur);
        else if (!rewrite_node(r, heft_proto_sub(&item)))
            return false;
    return !cur.bad && heft_buf_ok(&r->text, r->err);
}

bool heft_tf_read_graph(const struct heft_model *model, const struct heft_row *row,
                        struct heft_arena *mem, struct heft_bytes *out, uint64_t *where,
                        struct heft_error *err)
{
    const struct heft_storage *s = &model->storages[row->storage];
    const struct heft_source *source = &model->sources[s->source].source;
    struct heft_bytes stored;
    struct heft_cur cur;
    uint64_t length;

    if (row->dtype != HEFT_STRING || row->rank != 0)
        return heft_fail(err, HEFT_MALFORMED, s->off, "the object graph is not a single string");
    if (s->len > MAX_GRAPH)
        return heft_fail(err, HEFT_LIMIT, s->off,
                         "the object graph has %" PRIu64 " bytes, the limit is %u", s->len,
                         MAX_GRAPH);
    if ((heft_storage_check(s) && !heft_storage_check(s)(model, s, err)) ||
        !heft_source_fetch(source, s->off, s->len, mem, &stored, err))
        return false;
    cur = heft_cur_of(stored, s->off);
    if (!heft_proto_varint(&cur, &length, err))
        return false;
    (void)heft_cur_take(&cur, 4);
    *where = heft_cur_where(&cur);
    *out = heft_cur_take(&cur, length);
    return (!cur.bad && heft_cur_left(&cur) == 0) ||
           heft_fail(err, HEFT_MALFORMED, s->off,
                     "the string has %" PRIu64 " bytes, expected %" PRIu64, (uint64_t)stored.n,
                     length);
}

bool heft_tf_out_graph(struct heft_tf_out *out, struct heft_tf_piece *piece, struct heft_error *err)
{
    struct rewriter r = {.out = out, .text = {.budget = out->plan->mem->budget}, .err = err};
    struct heft_arena scratch = {.budget = out->plan->mem->budget};
    struct heft_bytes graph;
    uint64_t where;
    bool ok;

    if (piece->put.p || !has_renames(out->exports))
        return true;
    ok = heft_tf_read_graph(out->plan->model, piece->item.row, &scratch, &graph, &where, err) &&
         map_names(&r) && rewrite_graph(&r, heft_cur_of(graph, where)) &&
         heft_tf_put_string((struct heft_str){r.text.p, r.text.n}, out->plan->mem, &piece->put,
                            &piece->crc, err);
    piece->has_crc = true;
    heft_strmap_release(&r.names);
    heft_buf_release(&r.text);
    heft_arena_release(&scratch);
    return ok || heft_error_about(err, "tensor", piece->item.name);
}
