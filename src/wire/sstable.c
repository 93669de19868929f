/* sstable.c: a table: its footer, and the walk through all blocks in the index.
 *
 *     footer   metaindex handle, index handle, zeros up to 40, magic     48 bytes */
#include "wire/sstable.h"

#include "base/checksum.h"
#include "base/cursor.h"
#include "base/varint.h"
#include "wire/sstable_parts.h"

#define HANDLES (HEFT_SSTABLE_FOOTER - 8) /* bytes of both */

bool heft_sstable_is(struct heft_bytes tail)
{
    return tail.n >= 8 && memcmp(tail.p + tail.n - 8, HEFT_SSTABLE_MAGIC, 8) == 0;
}

static bool report_odd(struct heft_sstable *t, uint64_t off, const char *text,
                       struct heft_error *err)
{
    return !t->watcher.odd || t->watcher.odd(t->watcher.ctx, off, text, err);
}

static bool report_block(struct heft_sstable *t, enum heft_sstable_kind kind,
                         const struct heft_sstable_block *block, struct heft_error *err)
{
    const struct heft_sstable_found found = {.kind = kind,
                                             .range = block->range,
                                             .is_packed = block->is_packed,
                                             .restarts = heft_sstable_where(block, block->n)};

    return !t->watcher.block || t->watcher.block(t->watcher.ctx, &found, err);
}

/* ---- handles ----------------------------------------------------------------------------- */

static bool take_varint(struct heft_cur *cur, uint64_t *out)
{
    const unsigned n = heft_varint_get(cur->p + cur->at, heft_cur_left(cur), out);

    if (n == 0 || n > HEFT_VARINT_MOST)
        return false;
    cur->at += n;
    return true;
}

static bool take_handle(struct heft_cur *cur, struct heft_sstable_range *out)
{
    return take_varint(cur, &out->off) && take_varint(cur, &out->size);
}

/* True if block and trailer end before the next part of the file. */
static bool block_fits(const struct heft_sstable *t, struct heft_sstable_range range)
{
    return t->limit >= HEFT_SSTABLE_TRAILER &&
           heft_within(range.off, range.size, t->limit - HEFT_SSTABLE_TRAILER);
}

static bool refuse_handle(const struct heft_sstable *t, struct heft_sstable_range range,
                          uint64_t where, const char *what, struct heft_error *err)
{
    return heft_fail(err, HEFT_MALFORMED, where,
                     "%s is said to be %" PRIu64 " bytes at %" PRIu64
                     "; with its trailer it must end at %" PRIu64 " or before",
                     what, range.size, range.off, t->limit);
}

/* ---- opening ----------------------------------------------------------------------------- */

static bool read_footer(struct heft_sstable *t, struct heft_sstable_range *metaindex,
                        struct heft_sstable_range *index, struct heft_error *err)
{
    uint8_t footer[HEFT_SSTABLE_FOOTER];
    struct heft_cur cur = heft_cur_of((struct heft_bytes){footer, HANDLES}, 0);
    uint64_t at;

    if (t->src->size < HEFT_SSTABLE_FOOTER)
        return heft_fail(err, HEFT_MALFORMED, 0,
                         "file has %" PRIu64 " bytes, the footer of a table alone has 48",
                         t->src->size);
    at = t->src->size - HEFT_SSTABLE_FOOTER;
    if (!heft_source_read(t->src, at, footer, sizeof footer, err))
        return false;
    if (!heft_sstable_is((struct heft_bytes){footer, sizeof footer}))
        return heft_fail(
            err, HEFT_MALFORMED, at + HANDLES,
            "the file does not end with the magic number of a table: it is cut off, or "
            "none");
    if (!take_handle(&cur, metaindex) || !take_handle(&cur, index))
        return heft_fail(err, HEFT_MALFORMED, at,
                         "the footer does not hold two handles (offset and size, as varints)");
    for (size_t i = 1; i < cur.at; i++)
        if (footer[i] == 0 && footer[i - 1] >= 0x80)
            return report_odd(t, at + i, "a varint of the footer is longer than its number needs",
                              err);
    for (size_t i = cur.at; i < HANDLES; i++)
        if (footer[i] != 0)
            return report_odd(t, at + i, "bytes in the footer's padding, which must be zeros", err);
    return true;
}

/* Readers do not use it, but it must be as writers leave it: empty, between data and index. */
static bool read_metaindex(struct heft_sstable *t, struct heft_sstable_range metaindex,
                           struct heft_sstable_range index, struct heft_error *err)
{
    const uint64_t where = t->src->size - HEFT_SSTABLE_FOOTER;

    if (!block_fits(t, metaindex) ||
        metaindex.off + metaindex.size + HEFT_SSTABLE_TRAILER != index.off)
        return report_odd(t, where, "the metaindex handle does not name the block before the index",
                          err);
    t->limit = metaindex.off;
    if (!heft_sstable_load(&t->data, t->src, metaindex, err) ||
        !report_block(t, HEFT_SSTABLE_METAINDEX, &t->data, err))
        return false;
    return t->data.n == 0 ||
           report_odd(t, metaindex.off, "the metaindex block is not empty, as it must be", err);
}

bool heft_sstable_open(struct heft_sstable *t, const struct heft_source *src,
                       const struct heft_sstable_watcher *watcher, struct heft_error *err)
{
    struct heft_sstable_range metaindex, index;

    *t = (struct heft_sstable){.src = src, .watcher = *watcher};
    if (!read_footer(t, &metaindex, &index, err))
        return false;
    t->limit = src->size - HEFT_SSTABLE_FOOTER;
    if (!block_fits(t, index))
        return refuse_handle(t, index, src->size - HEFT_SSTABLE_FOOTER, "the index block", err);
    t->limit = index.off;
    return heft_sstable_load(&t->index, src, index, err) &&
           report_block(t, HEFT_SSTABLE_INDEX, &t->index, err) &&
           read_metaindex(t, metaindex, index, err);
}

void heft_sstable_close(struct heft_sstable *t)
{
    heft_sstable_unload(&t->index);
    heft_sstable_unload(&t->data);
    heft_buf_release(&t->bound);
    heft_buf_release(&t->last);
    *t = (struct heft_sstable){0};
}

/* ---- walking ----------------------------------------------------------------------------- */

static int compare_keys(struct heft_bytes a, const struct heft_buf *b)
{
    return heft_str_cmp((struct heft_str){(const char *)a.p, a.n}, (struct heft_str){b->p, b->n});
}

static bool keep_key(struct heft_buf *to, struct heft_bytes key, struct heft_error *err)
{
    to->n = 0;
    heft_buf_put(to, key.p, key.n);
    return heft_buf_ok(to, err);
}

/* Reports only the first violation of the order: later ones usually follow from it. */
static bool tell_order(struct heft_sstable *t, uint64_t off, const char *text,
                       struct heft_error *err)
{
    if (t->told_order)
        return true;
    t->told_order = true;
    return report_odd(t, off, text, err);
}

static bool check_key(struct heft_sstable *t, const struct heft_sstable_entry *entry,
                      struct heft_error *err)
{
    if (t->has_last && compare_keys(entry->key, &t->last) <= 0)
        return tell_order(t, entry->off, "the key is not greater than the one before it", err);
    if (!t->has_last || entry->in_block > 0)
        return true;
    return compare_keys(entry->key, &t->bound) > 0 ||
           tell_order(
               t, entry->off,
               "the first key of a block is not greater than the index's of the block before", err);
}

/* At the end of a block: checks its restarts, and its last key against the index. */
static bool leave_block(struct heft_sstable *t, struct heft_error *err)
{
    const struct heft_sstable_block *block = &t->data;

    t->has_block = false;
    if (!heft_sstable_restarts_hold(block) &&
        !tell_order(t, heft_sstable_where(block, block->n),
                    "the restarts do not all name entries with whole keys, in order", err))
        return false;
    return !t->has_last ||
           compare_keys((struct heft_bytes){(const uint8_t *)t->last.p, t->last.n},
                        &t->index.key) <= 0 ||
           tell_order(t, block->range.off, "the last key of the block is greater than the index's",
                      err);
}

static bool enter_block(struct heft_sstable *t, struct heft_error *err)
{
    struct heft_sstable_entry entry;
    struct heft_sstable_range range;
    struct heft_cur cur;

    if (!keep_key(&t->bound, (struct heft_bytes){(const uint8_t *)t->index.key.p, t->index.key.n},
                  err) ||
        !heft_sstable_step(&t->index, &entry, err))
        return false;
    cur = heft_cur_of(entry.value, entry.value_at);
    if (!take_handle(&cur, &range))
        return heft_fail(err, HEFT_MALFORMED, entry.value_at,
                         "an entry of the index block has no handle (offset and size, varints)");
    if (!block_fits(t, range))
        return refuse_handle(t, range, entry.value_at, "a data block", err);
    if (range.off < t->end)
        return heft_fail(err, HEFT_MALFORMED, entry.value_at,
                         "a data block begins at %" PRIu64
                         ", in the one before, which ends at %" PRIu64,
                         range.off, t->end);
    t->end = range.off + range.size + HEFT_SSTABLE_TRAILER;
    t->has_block = true;
    return heft_sstable_load(&t->data, t->src, range, err) &&
           report_block(t, HEFT_SSTABLE_DATA, &t->data, err);
}

static bool end_index(struct heft_sstable *t, struct heft_error *err)
{
    const struct heft_sstable_block *index = &t->index;

    return heft_sstable_restarts_hold(index) ||
           tell_order(t, heft_sstable_where(index, index->n),
                      "the restarts do not all name entries with whole keys, in order", err);
}

bool heft_sstable_next(struct heft_sstable *t, struct heft_sstable_entry *entry,
                       struct heft_error *err)
{
    t->failed = true;
    while (!t->has_block || t->data.at == t->data.n) {
        if (t->has_block && !leave_block(t, err))
            return false;
        if (t->index.at == t->index.n) {
            t->failed = !end_index(t, err);
            return false;
        }
        if (!enter_block(t, err))
            return false;
    }
    if (!heft_sstable_step(&t->data, entry, err) || !check_key(t, entry, err) ||
        !keep_key(&t->last, entry->key, err))
        return false;
    t->has_last = true;
    t->failed = false;
    return true;
}
