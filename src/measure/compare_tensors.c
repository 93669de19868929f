/* compare_tensors.c: compares tensors, recorded ties and blobs with a list that heft digest printed.
 * First names, dtypes and shapes; then the digests of those that agree, in the file's order; then
 * what the list has and the checkpoint lacks. */
#include "measure/compare.h"

struct comparing {
    struct heft_comparison *c;
    const struct heft_model *model;
    struct heft_digest_items items;
    const struct heft_digest_entry **entries; /* of each item */
    size_t cap_entries;
    bool *seen; /* for each entry of the list */
};

static size_t number_of(const struct comparing *k, const struct heft_digest_entry *entry)
{
    return (size_t)(entry - k->c->list->entries);
}

/* Path of the file that has the first byte of an item; NULL if the storage is not in a file. */
static const char *file_of(const struct comparing *k, uint32_t storage)
{
    return k->model->sources[k->model->storages[storage].source].path;
}

static void put_shape(struct heft_buf *out, unsigned dtype, unsigned rank, const uint64_t *shape)
{
    heft_buf_printf(out, "%s ", heft_dtype_name((enum heft_dtype)dtype));
    heft_buf_indexes(out, shape, rank);
}

static bool is_same_type(const struct heft_row *row, const struct heft_digest_entry *entry)
{
    return row->dtype == entry->dtype && row->rank == entry->rank &&
           (row->rank == 0 ||
            memcmp(row->shape, entry->shape, row->rank * sizeof *row->shape) == 0);
}

static bool report_type(const struct comparing *k, const struct heft_row *row, struct heft_str name,
                        const struct heft_digest_entry *entry, struct heft_error *err)
{
    struct heft_buf found = {0}, listed = {0};
    const bool ok = (put_shape(&found, row->dtype, row->rank, row->shape),
                     put_shape(&listed, entry->dtype, entry->rank, entry->shape),
                     heft_buf_ok(&found, err) && heft_buf_ok(&listed, err));

    if (ok)
        heft_comparison_report(k->c, HEFT_FINDING, file_of(k, row->storage), HEFT_NO_OFFSET,
                               "tensor %s: %.*s, line %" PRIu64 " of the list has %.*s", name.p,
                               (int)heft_min_u64(found.n, 100), found.p, entry->line,
                               (int)heft_min_u64(listed.n, 100), listed.p);
    heft_buf_release(&found);
    heft_buf_release(&listed);
    return ok;
}

static bool add_item(struct comparing *k, enum heft_digest_kind kind, struct heft_str name,
                     uint32_t index, const struct heft_digest_entry *entry, struct heft_error *err)
{
    if (!heft_grow(&k->entries, &k->cap_entries, k->items.n, 1, sizeof *k->entries, err) ||
        !heft_digest_items_add(&k->items, kind, name, index, err))
        return false;
    k->entries[k->items.n - 1] = entry;
    return true;
}

/* Looks a tensor up by `name`, its own or a tied one. */
static bool match_row(struct comparing *k, enum heft_digest_kind kind, struct heft_str name,
                      uint32_t index, struct heft_error *err)
{
    const struct heft_row *const row = &k->model->rows[index];
    const struct heft_digest_entry *const entry = heft_digest_list_find(k->c->list, name, false);
    const char *reason;

    if (entry)
        k->seen[number_of(k, entry)] = true;
    if (!heft_digest_is_defined(k->model, row, &reason)) {
        heft_comparison_report(k->c, HEFT_NOTE, file_of(k, row->storage), HEFT_NO_OFFSET,
                               "tensor %s: %s has no digest: %s", name.p,
                               heft_dtype_name((enum heft_dtype)row->dtype), reason);
        return true;
    }
    if (!entry) {
        heft_comparison_report(k->c, HEFT_FINDING, file_of(k, row->storage), HEFT_NO_OFFSET,
                               "tensor %s: not in the list", name.p);
        return true;
    }
    return is_same_type(row, entry) ? add_item(k, kind, name, index, entry, err)
                                    : report_type(k, row, name, entry, err);
}

static bool match_rows(struct comparing *k, struct heft_error *err)
{
    for (size_t i = 0; i < k->model->n_rows; i++)
        if (!match_row(k, HEFT_DIGEST_TENSOR, k->model->rows[i].name, (uint32_t)i, err))
            return false;
    for (size_t i = 0; i < k->model->n_ties; i++) {
        const struct heft_pair *const tie = &k->model->ties[i];
        const uint32_t row = heft_model_row(k->model, tie->value);

        if (row != HEFT_NONE && heft_model_row(k->model, tie->key) == HEFT_NONE &&
            !match_row(k, HEFT_DIGEST_TIE, tie->key, row, err))
            return false;
    }
    return true;
}

static bool match_blob(struct comparing *k, uint32_t index, struct heft_error *err)
{
    const struct heft_model_blob *const blob = &k->model->blobs[index];
    const struct heft_digest_entry *const entry =
        heft_digest_list_find(k->c->list, blob->name, true);
    const uint64_t bytes = k->model->storages[blob->storage].len;

    if (!entry) {
        heft_comparison_report(k->c, HEFT_FINDING, file_of(k, blob->storage), HEFT_NO_OFFSET,
                               "%s %s: not in the list", blob->kind, blob->name.p);
        return true;
    }
    k->seen[number_of(k, entry)] = true;
    if (entry->bytes == bytes)
        return add_item(k, HEFT_DIGEST_BLOB, blob->name, index, entry, err);
    heft_comparison_report(k->c, HEFT_FINDING, file_of(k, blob->storage), HEFT_NO_OFFSET,
                           "%s %s: %" PRIu64 " bytes, line %" PRIu64 " of the list has %" PRIu64,
                           blob->kind, blob->name.p, bytes, entry->line, entry->bytes);
    return true;
}

/* Blobs are compared if the list has any: heft digest prints them with --all. */
static bool match_blobs(struct comparing *k, struct heft_error *err)
{
    for (size_t i = 0; k->c->list->blobs.count > 0 && i < k->model->n_blobs; i++)
        if (!match_blob(k, (uint32_t)i, err))
            return false;
    return true;
}

static bool take(void *ctx, size_t item, const uint8_t *digest, const struct heft_error *why,
                 struct heft_error *err)
{
    struct comparing *const k = ctx;
    const struct heft_digest_item *const it = &k->items.list[item];
    const struct heft_digest_entry *const entry = k->entries[item];
    const bool is_blob = it->kind == HEFT_DIGEST_BLOB;
    char found[HEFT_SHA256_TEXT], listed[HEFT_SHA256_TEXT];

    if (!digest)
        return heft_comparison_forgive(k->c, why, err);
    k->c->compared.digests++;
    k->c->compared.bytes += heft_digest_item_bytes(&k->items, item);
    if (memcmp(digest, entry->sha256, HEFT_SHA256_BYTES) == 0)
        return true;
    heft_sha256_text(digest, found);
    heft_sha256_text(entry->sha256, listed);
    heft_comparison_report(k->c, HEFT_FINDING,
                           file_of(k, is_blob ? k->model->blobs[it->index].storage
                                              : k->model->rows[it->index].storage),
                           HEFT_NO_OFFSET, "%s %s: SHA-256 %s, line %" PRIu64 " of the list has %s",
                           is_blob ? k->model->blobs[it->index].kind : "tensor", it->name.p, found,
                           entry->line, listed);
    return true;
}

static void report_missing(const struct comparing *k)
{
    const struct heft_digest_list *const list = k->c->list;

    for (size_t i = 0; i < list->n; i++)
        if (!k->seen[i])
            heft_comparison_report(
                k->c, HEFT_FINDING, list->path, list->entries[i].off,
                "line %" PRIu64 ": %s %s: not in the checkpoint", list->entries[i].line,
                list->entries[i].is_blob ? "blob" : "tensor", list->entries[i].name.p);
}

bool heft_compare_tensors(struct heft_comparison *c, struct heft_error *err)
{
    struct comparing k = {.c = c};
    bool ok;

    k.model = c->reader->model;
    k.items.reader = c->reader;
    k.seen = heft_calloc(c->list->n + 1, sizeof *k.seen, err);
    ok = k.seen && match_rows(&k, err) && heft_digest_items_join(&k.items, err) &&
         match_blobs(&k, err) && heft_digest_items_run(&k.items, &c->how, take, &k, err);
    if (ok)
        report_missing(&k);
    heft_digest_items_release(&k.items);
    heft_free(k.entries);
    heft_free(k.seen);
    return ok;
}
