/* zip_unread.c: local headers that are not read when an archive is opened.
 *
 *     local header  name  padding   payload   descriptor │ local header of the next record
 *     e->header                     data, a multiple of 64  limit
 *
 * Where each read takes long (an input over a network), reading a header for each of some hundred
 * records would take seconds. PyTorch's archives have no gaps and align payloads to 64 bytes (or
 * more), so that the payload of a stored record follows from the central directory: it ends before
 * the descriptor at `limit`. Records for which that does not give a multiple of 64 are read as usual,
 * and so are all records if the first or the last one lies elsewhere.
 * The others are compared with their local header when the first of their bytes is read. A single
 * record that lies elsewhere is HEFT_UNSUPPORTED then: its offset has been listed. */
#include <stdatomic.h>

#include "wire/zip_parts.h"

enum {
    ALIGNMENT = 64,
    HEADS = 4 + 16 + 4, /* of a zip64 field with two sizes, and of the padding */
};

/* ---- places of payloads ------------------------------------------------------------------ */

/* Whether the payload can begin at `data`: at the first multiple of 64 (or more, if it is one) behind
 * the name and the heads of extra fields. A later one would leave a gap. */
static bool fits(const struct heft_zip_entry *e, uint64_t data)
{
    const uint64_t least = e->header + HEFT_ZIP_LOCAL_HEAD + e->name.n;
    uint64_t alignment;

    if (data % ALIGNMENT != 0 || data < least || data - least > UINT16_MAX)
        return false;
    alignment = data & (~data + 1); /* its lowest bit */
    return data - least < alignment + HEADS;
}

/* Descriptors have a signature and sizes of 32 or 64 bits, whose lengths differ by 8: at most one of
 * them leads to a multiple of 64. */
bool heft_zip_find_payload(struct heft_zip_entry *e, unsigned flags, uint64_t limit)
{
    static const unsigned lengths[] = {16, 24};
    const bool has_descriptor = (flags & HEFT_ZIP_DESCRIPTOR) != 0;

    if (e->method != HEFT_ZIP_STORED || e->packed == 0 || e->packed > limit)
        return false;
    for (size_t i = 0; i < HEFT_COUNT(lengths); i++) {
        const uint64_t after = has_descriptor ? lengths[i] : 0;

        if (after > limit - e->packed || !fits(e, limit - e->packed - after))
            continue;
        e->data = limit - e->packed - after;
        e->end = limit;
        return true;
    }
    return false;
}

/* ---- the source that compares them ------------------------------------------------------- */

struct record {
    struct heft_zip_entry entry, next; /* next: without a name if it is the last */
    uint64_t limit;                    /* begin of the next record or of the directory */
    unsigned flags;                    /* in the directory */
};
struct comparing {
    struct heft_source below;
    struct record *list; /* in the order of the file */
    size_t n;
    _Atomic(bool) *is_equal; /* for each of them */
};

static bool compare_one(const struct comparing *c, size_t i, struct heft_error *err)
{
    const struct record *const u = &c->list[i];
    struct heft_zip_entry e = u->entry;

    if (atomic_load_explicit(&c->is_equal[i], memory_order_relaxed))
        return true;
    if (!heft_zip_check_local(&c->below, &e, u->next.name.p ? &u->next : NULL, u->flags, u->limit,
                              err))
        return heft_error_file(err, c->below.label);
    if (e.data != u->entry.data) {
        heft_fail(err, HEFT_UNSUPPORTED, e.header + 28,
                  "record \"%.*s\": its payload begins at %" PRIu64 ", expected at %" PRIu64
                  " as in other archives of torch: open the input without is_slow",
                  heft_zip_shown(e.name), e.name.p, e.data, u->entry.data);
        return heft_error_file(err, c->below.label);
    }
    atomic_store_explicit(&c->is_equal[i], true, memory_order_relaxed);
    return true;
}

/* First record that ends after `off`. */
static size_t first_after(const struct comparing *c, uint64_t off)
{
    size_t low = 0, high = c->n;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (c->list[middle].limit <= off)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Compares the local headers of all records with a payload in [off, off+n). */
static bool compare_range(const struct comparing *c, uint64_t off, uint64_t n,
                          struct heft_error *err)
{
    for (size_t i = first_after(c, off); i < c->n && c->list[i].entry.data < off + n; i++)
        if (off < c->list[i].entry.data + c->list[i].entry.packed && !compare_one(c, i, err))
            return false;
    return true;
}

static bool read_compared(const struct heft_source *src, uint64_t off, void *dst, size_t n,
                          struct heft_error *err)
{
    const struct comparing *const c = src->self;

    return compare_range(c, off, n, err) && heft_source_read(&c->below, off, dst, n, err);
}

static const void *view_compared(const struct heft_source *src, uint64_t off, size_t n)
{
    const struct comparing *const c = src->self;
    struct heft_error ignored = {0};
    struct heft_mapping map;

    return compare_range(c, off, n, &ignored) &&
                   heft_source_map(&c->below, off, n, false, &map, &ignored)
               ? map.data /* borrowed: the source below has no descriptor */
               : NULL;
}

static void close_compared(struct heft_source *src)
{
    struct comparing *const c = src->self;

    heft_source_close(&c->below);
}

static const struct heft_source_ops compared_ops = {
    .read = read_compared, .close = close_compared, .view = view_compared};

static void fill_record(struct record *out, const struct heft_zip *zip,
                        const struct heft_zip_unread *unread)
{
    *out = (struct record){
        .entry = zip->entries[unread->index], .limit = unread->limit, .flags = unread->flags};
    if (unread->next < zip->count)
        out->next = zip->entries[unread->next];
}

bool heft_zip_compare_later(const struct heft_zip *zip, struct heft_source *src,
                            struct heft_arena *arena, struct heft_error *err)
{
    struct comparing *c;

    if (zip->n_unread == 0)
        return true;
    c = heft_arena_zero(arena, 1, sizeof *c, err);
    if (!c)
        return false;
    *c = (struct comparing){.below = *src, .n = zip->n_unread};
    c->list = heft_arena_zero(arena, c->n, sizeof *c->list, err);
    c->is_equal = heft_arena_zero(arena, c->n, sizeof *c->is_equal, err);
    if (!c->list || !c->is_equal)
        return false;
    for (size_t i = 0; i < c->n; i++)
        fill_record(&c->list[i], zip, &zip->unread[i]);
    src->ops = &compared_ops;
    src->self = c;
    return true;
}
