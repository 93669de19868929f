/* safetensors_write.c: plans a safetensors file: length, header, then the tensors back to back
 * (layout in safetensors.c). The output is deterministic: names are sorted where the reference
 * implementation has no fixed order. */
#include "base/endian.h"
#include "base/sort.h"
#include "base/text.h"
#include "format/safetensors/safetensors_parts.h"

enum { USUAL_ALIGNMENT = 8 };

/* ---- the header ----------------------------------------------------------------------------- */

struct layout {
    struct heft_plan *plan;
    const struct heft_export_list *exports;
    uint64_t alignment; /* option alignment; 1: not given */
    struct heft_str
        metadata; /* the entry of the metadata and a comma; n is 0: that of the exports */
    const uint32_t *order;
};

/* The reference's order: dtypes in descending order of their declaration (so that every tensor of
 * whole bytes is aligned), then names by bytes. With option alignment, tensors whose sizes are
 * multiples of it come first: as there are no gaps between tensors, these are the ones that can be
 * aligned. */
static bool item_after(const void *ctx, uint32_t a, uint32_t b)
{
    const struct layout *const l = ctx;
    const struct heft_export_item *const items = l->exports->items;
    const bool a_first = items[a].bytes % l->alignment == 0;
    const bool b_first = items[b].bytes % l->alignment == 0;

    if (l->alignment > 1 && a_first != b_first)
        return b_first;
    if (items[a].as != items[b].as)
        return items[a].as < items[b].as;
    return heft_str_cmp(items[a].name, items[b].name) > 0;
}

static bool pair_after(const void *ctx, uint32_t a, uint32_t b)
{
    const struct heft_pair *pairs = ctx;

    return heft_str_cmp(pairs[a].key, pairs[b].key) > 0;
}

static void put_pair(struct heft_buf *buf, struct heft_str key, struct heft_str value)
{
    heft_buf_json(buf, key, false);
    heft_buf_char(buf, ':');
    heft_buf_json(buf, value, false);
}

/* Writes the metadata, sorted by keys (the reference writes them in random order). `mark`: the hub's
 * entry format=pt is added unless the key exists. */
static bool put_pairs(struct heft_buf *buf, const struct heft_export_list *exports, size_t n,
                      bool mark, struct heft_error *err)
{
    const struct heft_str format = HEFT_STR("format"), pt = HEFT_STR("pt");
    const uint32_t *order = heft_sort_indices(n, pair_after, exports->metadata, exports->mem, err);

    if (!order)
        return false;
    heft_buf_text(buf, "\"" METADATA "\":{");
    for (size_t i = 0; i < n; i++) {
        const struct heft_pair *pair = &exports->metadata[order[i]];
        const int where = heft_str_cmp(pair->key, format);

        if (mark && where > 0) {
            put_pair(buf, format, pt);
            heft_buf_char(buf, ',');
        }
        mark = mark && where < 0;
        put_pair(buf, pair->key, pair->value);
        heft_buf_text(buf, i + 1 < n || mark ? "," : "");
    }
    if (mark)
        put_pair(buf, format, pt);
    heft_buf_text(buf, "},");
    return true;
}

/* If there are several files, the other entries are in the index. A single file of tensors in memory
 * has no other entries than the caller's, as the reference's save_file writes it. */
static bool put_metadata(struct heft_buf *buf, const struct heft_export_list *exports,
                         struct heft_error *err)
{
    const bool is_shard = exports->n_shards > 1;
    const bool mark = is_shard || !exports->model->metadata_is_exact;
    const size_t n = is_shard ? 0 : exports->n_metadata;

    return (n == 0 && !mark) || put_pairs(buf, exports, n, mark, err);
}

static bool put_entry(struct heft_buf *buf, const struct heft_export_item *item, uint64_t *at,
                      struct heft_error *err)
{
    const struct heft_row *row = item->row;

    if (heft_str_is(item->name, METADATA))
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "no tensor of a safetensors file may be named " METADATA);
    if (item->as >= DTYPE_COUNT)
        return heft_fail(err, HEFT_UNSUPPORTED, HEFT_NO_OFFSET, "safetensors has no %s",
                         heft_dtype_name((enum heft_dtype)item->as)) ||
               heft_error_about(err, "tensor", item->name);
    heft_buf_json(buf, item->name, false);
    heft_buf_text(buf, ":{\"dtype\":\"");
    heft_buf_text(buf, heft_dtype_name((enum heft_dtype)item->as));
    heft_buf_text(buf, "\",\"shape\":[");
    for (unsigned i = 0; i < row->rank; i++) {
        heft_buf_text(buf, i ? "," : "");
        heft_buf_u64(buf, row->shape[i]);
    }
    heft_buf_text(buf, "],\"data_offsets\":[");
    heft_buf_u64(buf, *at);
    heft_buf_char(buf, ',');
    *at += item->bytes;
    heft_buf_u64(buf, *at);
    heft_buf_text(buf, "]},");
    return true;
}

/* Writes length, header, and spaces up to the alignment. */
static bool put_header(struct heft_buf *buf, const struct layout *l, struct heft_error *err)
{
    const struct heft_export_list *const exports = l->exports;
    uint64_t at = 0;

    heft_buf_put(buf, "\0\0\0\0\0\0\0\0{", PREFIX + 1);
    heft_buf_str(buf, l->metadata);
    if (l->metadata.n == 0 && !put_metadata(buf, exports, err))
        return false;
    for (size_t i = 0; i < exports->n_items && buf->n <= PREFIX + MAX_HEADER; i++)
        if (!put_entry(buf, &exports->items[l->order[i]], &at, err))
            return false;
    if (!buf->failed && buf->p[buf->n - 1] == ',')
        buf->n--;
    heft_buf_char(buf, '}');
    while (!buf->failed && buf->n % heft_max_u64(l->alignment, USUAL_ALIGNMENT) != 0)
        heft_buf_char(buf, ' ');
    if (!heft_buf_ok(buf, err))
        return false;
    if (buf->n - PREFIX > MAX_HEADER)
        return heft_fail(err, HEFT_LIMIT, HEFT_NO_OFFSET,
                         "the header would have more than %d bytes, and no reader takes it; write "
                         "more, smaller shards",
                         MAX_HEADER);
    heft_put_le64((uint8_t *)buf->p, buf->n - PREFIX);
    return true;
}

static bool plan_tensors(const struct layout *l, uint32_t file, struct heft_error *err)
{
    for (size_t i = 0; i < l->exports->n_items; i++)
        if (!heft_plan_item(l->plan, file, &l->exports->items[l->order[i]], err))
            return false;
    return true;
}

enum { ALIGNMENT, N_OPTIONS };
const struct heft_format_option heft_safetensors_options[N_OPTIONS + 1] = {
    [ALIGNMENT] = {.name = "alignment",
                   .kind = HEFT_OPTION_NUMBER,
                   .value = "N",
                   .least = USUAL_ALIGNMENT,
                   .most = 1048576,
                   .help = "align data to N bytes, a power of two"},
};

/* Plans a file with the order, which the alignment decides. */
static bool plan_file(struct layout *l, uint32_t file, struct heft_error *err)
{
    const struct heft_export_list *const exports = l->exports;
    struct heft_buf buf = {.budget = l->plan->mem->budget};
    struct heft_str header;
    bool ok;

    l->order = heft_sort_indices(exports->n_items, item_after, l, exports->mem, err);
    ok = l->order && put_header(&buf, l, err) && heft_buf_take(&buf, l->plan->mem, &header, err) &&
         heft_plan_put(l->plan, file, header, err) && plan_tensors(l, file, err);
    heft_buf_release(&buf);
    return ok;
}

bool heft_safetensors_plan(struct heft_plan *plan, uint32_t file,
                           const struct heft_export_list *exports, struct heft_error *err)
{
    struct layout l = {.plan = plan, .exports = exports};

    return heft_plan_alignment(plan, ALIGNMENT, &l.alignment, err) && plan_file(&l, file, err);
}

bool heft_safetensors_plan_with(struct heft_plan *plan, uint32_t file,
                                const struct heft_export_list *exports, struct heft_str metadata,
                                struct heft_error *err)
{
    struct layout l = {.plan = plan, .exports = exports, .alignment = 1, .metadata = metadata};

    return plan_file(&l, file, err);
}
