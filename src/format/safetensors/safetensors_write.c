/* safetensors_write.c: plans a safetensors file: length, header, then the tensors back to back
 * (layout in safetensors.c). The output is deterministic: names are sorted where the reference
 * implementation has no fixed order. */
#include "base/endian.h"
#include "base/sort.h"
#include "base/text.h"
#include "format/safetensors/safetensors_parts.h"

/* ---- the header ----------------------------------------------------------------------------- */

/* The reference's order: dtypes in descending order of their declaration (so that every tensor of
 * whole bytes is aligned), then names by bytes. */
static bool item_after(const void *ctx, uint32_t a, uint32_t b)
{
    const struct heft_export_item *items = ctx;

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

/* Writes the hub's metadata: format=pt, and the other entries if there is only one file (else they
 * are in the index). The reference writes keys in random order; here they are sorted. */
static bool put_metadata(struct heft_buf *buf, const struct heft_export_list *exports,
                         struct heft_error *err)
{
    const struct heft_str format = HEFT_STR("format"), pt = HEFT_STR("pt");
    const size_t n = exports->n_shards > 1 ? 0 : exports->n_metadata;
    const uint32_t *order = heft_sort_indices(n, pair_after, exports->metadata, exports->mem, err);
    bool done = false;

    if (!order)
        return false;
    heft_buf_text(buf, "\"" METADATA "\":{");
    for (size_t i = 0; i < n; i++) {
        const struct heft_pair *pair = &exports->metadata[order[i]];
        const int where = heft_str_cmp(pair->key, format);

        if (!done && where > 0) {
            put_pair(buf, format, pt);
            heft_buf_char(buf, ',');
        }
        done |= where >= 0;
        put_pair(buf, pair->key, pair->value);
        heft_buf_text(buf, i + 1 < n || !done ? "," : "");
    }
    if (!done)
        put_pair(buf, format, pt);
    heft_buf_char(buf, '}');
    return true;
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
    heft_buf_char(buf, ',');
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
    heft_buf_text(buf, "]}");
    return true;
}

/* Writes length, header, and spaces up to a multiple of 8. */
static bool put_header(struct heft_buf *buf, const struct heft_export_list *exports,
                       const uint32_t *order, struct heft_error *err)
{
    uint64_t at = 0;

    heft_buf_put(buf, "\0\0\0\0\0\0\0\0{", PREFIX + 1);
    if (!put_metadata(buf, exports, err))
        return false;
    for (size_t i = 0; i < exports->n_items && buf->n <= PREFIX + MAX_HEADER; i++)
        if (!put_entry(buf, &exports->items[order[i]], &at, err))
            return false;
    heft_buf_char(buf, '}');
    while (!buf->failed && buf->n % 8 != 0)
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

bool heft_safetensors_plan(struct heft_plan *plan, uint32_t file,
                           const struct heft_export_list *exports, struct heft_error *err)
{
    const uint32_t *order =
        heft_sort_indices(exports->n_items, item_after, exports->items, exports->mem, err);
    struct heft_buf buf = {0};
    struct heft_str header;
    bool ok = order && put_header(&buf, exports, order, err) &&
              heft_buf_take(&buf, plan->mem, &header, err) &&
              heft_plan_put(plan, file, header, err);

    heft_buf_release(&buf);
    for (size_t i = 0; ok && i < exports->n_items; i++)
        ok = heft_plan_item(plan, file, &exports->items[order[i]], err);
    return ok;
}
