/* tf_table.c: reads a sorted table of TensorFlow, which is a bundle's index or a V1 checkpoint: its
 * first entry tells which. Claims everything that is not an entry, reports irregularities, and
 * passes the entries to a callback. */
#include "format/tensorflow/bundle/tf_bundle.h"

/* ---- kind of the table ---- */

/* The bytes after the lengths of the first entry, if its key is empty. */
static struct heft_bytes first_value(struct heft_bytes head, size_t at)
{
    const struct heft_bytes none = {head.p, 0};

    if (!heft_within(at, 3, head.n) || head.p[at] != 0 || head.p[at + 1] != 0)
        return none;
    at += 2;
    for (unsigned i = 0; i < 5 && at < head.n && head.p[at] & 0x80; i++)
        at++;
    at++;
    return at < head.n ? (struct heft_bytes){head.p + at, head.n - at} : none;
}

/* A snappy block starts with its length and then a literal; returns the offset of the literal's
 * bytes. */
static size_t skip_literal(struct heft_bytes head)
{
    size_t at = 0;

    while (at < 5 && at < head.n && head.p[at] & 0x80)
        at++;
    at++;
    if (at >= head.n || (head.p[at] & 3) != 0)
        return head.n;
    return at + 1 + (head.p[at] >> 2 >= 60 ? (size_t)(head.p[at] >> 2) - 59 : 0);
}

bool heft_tf_is_v1(struct heft_bytes head)
{
    struct heft_bytes value = first_value(head, 0);

    if (value.n == 0)
        value = first_value(head, skip_literal(head));
    return value.n > 0 && value.p[0] == 0x0a; /* V1 has a message in field 1, V2 a number */
}

/* ---- reading the table ---- */

struct walk {
    struct heft_tf_bundle *b;
    uint32_t source;
};

static bool note_odd(void *ctx, uint64_t off, const char *text, struct heft_error *err)
{
    const struct walk *w = ctx;

    return heft_model_note(w->b->model, HEFT_FINDING, w->source, off, err, "%s", text);
}

/* Claims the bytes of a block that are not entries. */
static bool claim_block(void *ctx, const struct heft_sstable_found *block, struct heft_error *err)
{
    static const char *const whats[] = {"data block", "metaindex block", "index block"};
    const struct walk *w = ctx;
    const uint64_t end =
        block->range.off + block->range.size; /* cannot overflow: the range was read */
    bool ok;

    if (block->kind != HEFT_SSTABLE_DATA)
        ok = heft_model_claim(w->b->model, w->source, block->range.off, block->range.size,
                              whats[block->kind], err);
    else if (block->is_packed)
        ok = heft_model_claim(w->b->model, w->source, block->range.off, block->range.size,
                              "data block, compressed with snappy", err);
    else
        ok = heft_model_claim(w->b->model, w->source, block->restarts, end - block->restarts,
                              "restart points of the data block", err);
    return ok &&
           heft_model_claim_of(w->b->model, w->source, end, HEFT_SSTABLE_TRAILER,
                               "type and CRC-32C of the ", heft_str_of(whats[block->kind]), err);
}

static bool claim_footer(const struct walk *w)
{
    const uint64_t size = w->b->model->sources[w->source].source.size;

    return heft_model_claim(w->b->model, w->source, size - HEFT_SSTABLE_FOOTER, HEFT_SSTABLE_FOOTER,
                            "footer", w->b->err);
}

bool heft_tf_claim_entry(const struct heft_tf_bundle *b, uint32_t source,
                         const struct heft_sstable_entry *e, const char *what, struct heft_str of)
{
    return e->is_packed || heft_model_claim_of(b->model, source, e->off, e->len, what, of, b->err);
}

bool heft_tf_walk(struct heft_tf_bundle *b, uint32_t source,
                  bool (*each)(struct heft_tf_bundle *b, const struct heft_sstable_entry *e))
{
    struct walk w = {b, source};
    const struct heft_sstable_watcher watcher = {claim_block, note_odd, &w};
    const struct heft_source src =
        b->model->sources[source]
            .source; /* a copy, because each() may reallocate the array of sources */
    struct heft_sstable_entry e;
    struct heft_sstable table;
    bool ok = heft_sstable_open(&table, &src, &watcher, b->err);

    while (ok && heft_sstable_next(&table, &e, b->err)) {
        ok = each(b, &e);
        if (!ok && e.is_packed)
            b->err->offset = e.off;
    }
    ok = ok && !table.failed && claim_footer(&w);
    heft_sstable_close(&table);
    return ok;
}

void heft_tf_release(struct heft_tf_bundle *b)
{
    heft_free(b->shards);
    heft_free(b->slices);
    heft_u32map_release(&b->shard_numbers);
    heft_strmap_release(&b->slice_keys);
    heft_buf_release(&b->key);
    heft_arena_release(&b->scratch);
}
