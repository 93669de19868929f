/* tf_meta.c: the parts of a MetaGraphDef other than the graph: saver, collections, signatures,
 * assets. */
#include "base/sort.h"
#include "format/tensorflow/graph/tf_graph.h"

enum { KEY = 1, VALUE = 2 };
enum {
    SAVER_FILENAME = 1,
    SAVER_SAVE,
    SAVER_RESTORE,
    SAVER_KEEP,
    SAVER_SHARDED,
    SAVER_HOURS,
    SAVER_VERSION
};
enum { SIGNATURE_INPUTS = 1, SIGNATURE_OUTPUTS, SIGNATURE_METHOD };
enum { INFO_NAME = 1, INFO_DTYPE, INFO_SHAPE, INFO_SPARSE, INFO_COMPOSITE };
enum { ASSET_INFO = 1, ASSET_FILENAME = 2 };
enum { ANY_URL = 1, ANY_VALUE = 2 };
enum { LIST_VALUE = 1 };

#define ASSETS_COLLECTION "saved_model_assets"
#define ASSET_TYPE        "tensorflow.AssetFileDef"
#define MOST_ASSET        65536 /* bytes of an AssetFileDef */

/* ---- saver ---- */

bool heft_tf_saver_read(struct heft_tf_graph *g, struct heft_proto *p)
{
    struct heft_tf_saver *const s = &g->saver;
    uint32_t number;
    bool ok = true;

    s->present = true;
    while (ok && (number = heft_proto_pull(p))) {
        if (number == SAVER_FILENAME)
            ok = heft_tf_text(p, g->mem, &s->filename_tensor);
        else if (number == SAVER_SAVE)
            ok = heft_tf_text(p, g->mem, &s->save_tensor);
        else if (number == SAVER_RESTORE)
            ok = heft_tf_text(p, g->mem, &s->restore_op);
        else if (number == SAVER_KEEP)
            s->max_to_keep = (int32_t)heft_proto_i64(p);
        else if (number == SAVER_SHARDED)
            s->sharded = p->u64;
        else if (number == SAVER_HOURS)
            s->keep_hours = p->f64;
        else if (number == SAVER_VERSION)
            s->version = (int32_t)heft_proto_i64(p);
    }
    return ok && !p->failed;
}

/* ---- signatures ---- */

static bool read_info(struct heft_tf_graph *g, struct heft_proto *p, struct heft_tf_info *info)
{
    uint32_t number;
    bool ok = true;

    while (ok && (number = heft_proto_pull(p))) {
        if (number == INFO_DTYPE) {
            info->dtype = heft_tf_base_dtype(p->u64);
            info->is_ref = info->dtype != p->u64;
        } else if (number == INFO_SHAPE) {
            ok = heft_tf_shape_read(p, g->mem, &info->shape);
        } else if (number == INFO_NAME) {
            ok = heft_tf_text(p, g->mem, &info->tensor);
            info->is_sparse = info->is_composite = false;
        } else {
            info->is_sparse = number == INFO_SPARSE;
            info->is_composite = number == INFO_COMPOSITE;
            info->tensor = (struct heft_str){"", 0};
            ok = heft_proto_pass(p);
        }
    }
    return ok && !p->failed;
}

static bool read_info_entry(struct heft_tf_graph *g, struct heft_proto *p,
                            struct heft_tf_infos *infos)
{
    struct heft_tf_info info = {.key = {"", 0}, .tensor = {"", 0}};
    uint32_t number;
    bool ok = true;

    while (ok && (number = heft_proto_pull(p)))
        ok = number == KEY ? heft_tf_text(p, g->mem, &info.key) : read_info(g, p, &info);
    if (!ok || p->failed || !heft_grow(&infos->list, &infos->cap, infos->n, 1, sizeof info, p->err))
        return false;
    infos->list[infos->n++] = info;
    g->n_infos++;
    return heft_tf_graph_weigh(g, p->where, p->err);
}

static bool read_signature(struct heft_tf_graph *g, struct heft_proto *p,
                           struct heft_tf_signature *s)
{
    uint32_t number;
    bool ok = true;

    while (ok && (number = heft_proto_pull(p))) {
        if (number == SIGNATURE_INPUTS || number == SIGNATURE_OUTPUTS)
            ok = read_info_entry(g, p, number == SIGNATURE_INPUTS ? &s->inputs : &s->outputs);
        else
            ok = number == SIGNATURE_METHOD ? heft_tf_text(p, g->mem, &s->method)
                                            : heft_proto_pass(p);
    }
    return ok && !p->failed;
}

bool heft_tf_signature_read(struct heft_tf_graph *g, struct heft_proto *p)
{
    struct heft_tf_signature *s;
    uint32_t number;
    bool ok = true;

    if (!heft_grow(&g->signatures, &g->cap_signatures, g->n_signatures, 1, sizeof *s, p->err))
        return false;
    s = &g->signatures[g->n_signatures++];
    *s = (struct heft_tf_signature){.key = {"", 0}, .method = {"", 0}};
    while (ok && (number = heft_proto_pull(p)))
        ok = number == KEY ? heft_tf_text(p, g->mem, &s->key) : read_signature(g, p, s);
    return ok && !p->failed;
}

/* ---- assets ---- */

static bool read_asset(struct heft_tf_graph *g, struct heft_proto *p, struct heft_tf_asset *asset)
{
    struct heft_tf_info info = {.tensor = {"", 0}};
    uint32_t number;
    bool ok = true;

    *asset = (struct heft_tf_asset){.filename = {"", 0}, .tensor = {"", 0}};
    while (ok && (number = heft_proto_pull(p)))
        ok = number == ASSET_INFO ? read_info(g, p, &info)
                                  : heft_tf_text(p, g->mem, &asset->filename);
    asset->tensor = info.tensor;
    return ok && !p->failed;
}

bool heft_tf_asset_read(struct heft_tf_graph *g, struct heft_proto *p)
{
    if (!heft_grow(&g->assets, &g->cap_assets, g->n_assets, 1, sizeof *g->assets, p->err) ||
        !read_asset(g, p, &g->assets[g->n_assets]))
        return false;
    g->n_assets++;
    return true;
}

/* ---- collections ---- */

/* Counts the elements of a list, packed or not. */
static bool count_list(struct heft_proto *p, uint64_t *count)
{
    uint32_t number;

    while ((number = heft_proto_pull(p))) {
        ++*count;
        if (!heft_proto_pass(p))
            return false;
    }
    return !p->failed;
}

static bool read_collection(struct heft_proto *p, struct heft_tf_collection *c)
{
    uint32_t number;

    while ((number = heft_proto_pull(p))) {
        if (number != c->kind)
            c->count = 0; /* a oneof: the last kind counts */
        c->kind = number;
        if (!count_list(p, &c->count))
            return false;
    }
    c->at = (struct heft_tf_range){p->off, p->len};
    return !p->failed;
}

bool heft_tf_collection_read(struct heft_tf_graph *g, struct heft_proto *p)
{
    struct heft_tf_collection c = {.name = {"", 0}};
    uint32_t number;
    bool ok = true;

    while (ok && (number = heft_proto_pull(p)))
        ok = number == KEY ? heft_tf_text(p, g->mem, &c.name) : read_collection(p, &c);
    if (!ok || p->failed ||
        !heft_grow(&g->collections, &g->cap_collections, g->n_collections, 1, sizeof c, p->err))
        return false;
    g->collections[g->n_collections++] = c;
    return true;
}

struct element_reader {
    heft_tf_element_fn *each;
    void *ctx;
    struct heft_arena scratch;
};

static bool pass_element(struct element_reader *r, struct heft_proto *p, struct heft_str text)
{
    if (!text.p && !heft_proto_fetch(p, &r->scratch, MOST_ASSET, &text, p->err))
        return false;
    return r->each(r->ctx, text, p->err);
}

static bool each_any(struct element_reader *r, struct heft_proto *p)
{
    uint32_t number;

    while ((number = heft_proto_pull(p)))
        if (number == ANY_VALUE ? !pass_element(r, p, p->text) : !heft_proto_pass(p))
            return false;
    return !p->failed;
}

static bool each_of_list(struct element_reader *r, struct heft_proto *p, uint32_t kind)
{
    const bool has_text = kind == HEFT_TF_NODE_LIST || kind == HEFT_TF_BYTES_LIST;
    uint32_t number;
    bool ok = true;

    while (ok && (number = heft_proto_pull(p))) {
        if (kind == HEFT_TF_ANY_LIST)
            ok = each_any(r, p);
        else
            ok = !has_text || pass_element(r, p, p->text);
    }
    return ok && !p->failed;
}

bool heft_tf_collection_each(const struct heft_tf_graph *g,
                             const struct heft_tf_collection *collection, heft_tf_element_fn *each,
                             void *ctx, struct heft_error *err)
{
    struct element_reader r = {.each = each, .ctx = ctx};
    struct heft_proto p;
    uint32_t number;
    bool ok = heft_proto_open(&p, g->doc, collection->at.off, collection->at.len,
                              &heft_tf_collection, err);

    while (ok && (number = heft_proto_pull(&p)))
        ok = number == collection->kind ? each_of_list(&r, &p, number) : heft_proto_pass(&p);
    ok = ok && !p.failed;
    heft_proto_close(&p);
    heft_arena_release(&r.scratch);
    return ok;
}

/* ---- assets in a collection, as TensorFlow 1 writes them ----
 *
 * Each is an Any message: a type URL and the bytes of an AssetFileDef. The text form may spell the
 * AssetFileDef out instead. */

static bool is_asset(struct heft_str url)
{
    return heft_str_ends(url, "/" ASSET_TYPE);
}

/* Reads an AssetFileDef at a range of a document. */
static bool asset_at(struct heft_tf_graph *g, const struct heft_proto_doc *doc, uint64_t off,
                     uint64_t len, struct heft_error *err)
{
    struct heft_proto p;
    const bool ok =
        heft_proto_open(&p, doc, off, len, &heft_tf_asset_file, err) && heft_tf_asset_read(g, &p);

    heft_proto_close(&p);
    return ok;
}

/* The value of an Any message. */
struct any_value {
    uint64_t off, len, bytes;
    bool present;
};

/* Reads an AssetFileDef from an Any's value: always binary, also in a document in text form. */
static bool asset_in(struct heft_tf_graph *g, const struct any_value *value, struct heft_error *err)
{
    struct heft_source source;
    struct heft_proto_doc doc;
    uint8_t *copy;
    bool ok;

    if (!g->doc->is_text)
        return asset_at(g, g->doc, value->off, value->len, err);
    if (value->bytes > MOST_ASSET)
        return heft_fail(err, HEFT_LIMIT, value->off, "the asset description has %" PRIu64 " bytes",
                         value->bytes);
    copy = heft_arena_alloc(g->mem, (size_t)value->bytes, err);
    if (!copy || !heft_proto_copy(g->doc, value->off, value->len, copy, (size_t)value->bytes, err))
        return false;
    heft_source_open_memory(&source, (struct heft_bytes){copy, (size_t)value->bytes}, "an asset");
    ok = heft_proto_doc_open(&doc, &source, false, err) && asset_at(g, &doc, 0, doc.size, err);
    heft_proto_doc_close(&doc);
    heft_source_close(&source);
    return ok;
}

/* The value may precede the type URL, so both are collected first. */
static bool asset_of_any(struct heft_tf_graph *g, struct heft_proto *p)
{
    struct any_value value = {0};
    bool is_one = false, ok = true;
    uint32_t number;

    while (ok && (number = heft_proto_pull(p))) {
        if (number == ANY_URL)
            is_one = is_asset(p->text);
        else if (number == ANY_VALUE)
            value = (struct any_value){p->off, p->len, p->u64, true};
        else if (number == HEFT_PROTO_ANY && is_asset(p->text))
            ok = asset_at(g, p->doc, p->off, p->len, p->err);
    }
    if (!ok || p->failed)
        return false;
    return !is_one || !value.present || asset_in(g, &value, p->err);
}

static bool assets_of(struct heft_tf_graph *g, const struct heft_tf_collection *c,
                      struct heft_error *err)
{
    struct heft_proto p;
    uint32_t number;
    bool ok = heft_proto_open(&p, g->doc, c->at.off, c->at.len, &heft_tf_collection, err);

    while (ok && (number = heft_proto_pull(&p))) {
        if (number != HEFT_TF_ANY_LIST) {
            ok = heft_proto_pass(&p);
            continue;
        }
        while (ok && heft_proto_pull(&p))
            ok = asset_of_any(g, &p);
    }
    ok = ok && !p.failed;
    heft_proto_close(&p);
    return ok;
}

/* ---- sorting, one item per name ---- */

/* An array of `each` bytes an item; every item begins with its name. */
struct named_items {
    const char *p;
    size_t each;
};

static bool name_after(const void *ctx, uint32_t a, uint32_t b)
{
    const struct named_items *const items = ctx;
    const struct heft_str *const x = (const void *)(items->p + a * items->each);
    const struct heft_str *const y = (const void *)(items->p + b * items->each);

    return heft_str_cmp(*x, *y) > 0;
}

/* Stable: the last of a map's entries with the same key counts. */
static bool sort_by_name(void *items, size_t n, size_t each, struct heft_error *err)
{
    const struct named_items named = {items, each};
    struct heft_arena mem = {0};
    const uint32_t *order;
    char *copy;

    if (n < 2)
        return true;
    order = heft_sort_indices(n, name_after, &named, &mem, err);
    copy = order ? heft_arena_alloc(&mem, n * each, err) : NULL;
    for (size_t i = 0; copy && i < n; i++)
        memcpy(copy + i * each, named.p + order[i] * each, each);
    if (copy)
        memcpy(items, copy, n * each);
    heft_arena_release(&mem);
    return copy != NULL;
}

/* True if item i of a sorted array is followed by one with the same name. */
static bool is_replaced(const void *items, size_t i, size_t n, size_t each)
{
    const char *const at = (const char *)items + i * each;

    return i + 1 < n && heft_str_eq(*(const struct heft_str *)(const void *)at,
                                    *(const struct heft_str *)(const void *)(at + each));
}

/* Sorts items and keeps the last one of each name. */
static bool sort_unique(void *items, size_t *n, size_t each, struct heft_error *err)
{
    size_t kept = 0;

    if (!sort_by_name(items, *n, each, err))
        return false;
    for (size_t i = 0; i < *n; i++)
        if (!is_replaced(items, i, *n, each))
            memmove((char *)items + kept++ * each, (char *)items + i * each, each);
    *n = kept;
    return true;
}

static bool order_signatures(struct heft_tf_graph *g, struct heft_error *err)
{
    size_t kept = 0;

    if (!sort_by_name(g->signatures, g->n_signatures, sizeof *g->signatures, err))
        return false;
    for (size_t i = 0; i < g->n_signatures; i++) {
        if (is_replaced(g->signatures, i, g->n_signatures, sizeof *g->signatures)) {
            heft_free(g->signatures[i].inputs.list);
            heft_free(g->signatures[i].outputs.list);
        } else {
            g->signatures[kept++] = g->signatures[i];
        }
    }
    g->n_signatures = kept;
    for (size_t i = 0; i < kept; i++) {
        struct heft_tf_signature *const s = &g->signatures[i];

        if (!sort_unique(s->inputs.list, &s->inputs.n, sizeof *s->inputs.list, err) ||
            !sort_unique(s->outputs.list, &s->outputs.n, sizeof *s->outputs.list, err))
            return false;
    }
    return true;
}

bool heft_tf_meta_finish(struct heft_tf_graph *g, struct heft_error *err)
{
    if (!order_signatures(g, err) ||
        !sort_unique(g->collections, &g->n_collections, sizeof *g->collections, err) ||
        !sort_unique(g->concretes, &g->n_concretes, sizeof *g->concretes, err))
        return false;
    for (size_t i = 0; g->n_assets == 0 && i < g->n_collections; i++)
        if (heft_str_is(g->collections[i].name, ASSETS_COLLECTION))
            return assets_of(g, &g->collections[i], err);
    return true;
}
