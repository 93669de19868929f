/* h5_rows.c: adds entries as rows.
 *
 *     contiguous     a storage of the file itself, at the offset given by libhdf5
 *     chunked, compact, never written:
 *                    a storage of a source that the module decodes, in which such datasets follow
 *                    each other:   [ dataset ][ dataset ] …
 *
 * Links to the same dataset are rows with a shared storage. The space between contiguous data
 * belongs to libhdf5: headers, B-trees, heaps, compressed chunks; it gives no details about
 * them. */
#include <stdlib.h>

#include "format/hdf5/h5_parts.h"

#define PIECE ((size_t)1 << 20)

enum { MOST_TIMES = 32 };          /* decoded bytes for each byte of the file … */
#define ALWAYS (UINT64_C(1) << 30) /* … or this: libhdf5 decodes about 400 MB a second */

/* ---- a source of unpacked datasets --------------------------------------------------------- */

struct packed {
    uint64_t begin, bytes, address;
};

struct unpacker {
    const struct heft_h5_module *module;
    struct heft_h5_file *file;
    const struct packed *list; /* sorted by begin */
    size_t n;
};

static const struct packed *find_packed(const struct unpacker *u, uint64_t off)
{
    size_t low = 0, high = u->n;

    while (high - low > 1) {
        const size_t mid = low + (high - low) / 2;

        if (u->list[mid].begin <= off)
            low = mid;
        else
            high = mid;
    }
    return &u->list[low];
}

static bool read_unpacked(const struct heft_source *src, uint64_t off, void *dst, size_t n,
                          struct heft_error *err)
{
    const struct unpacker *u = src->self;
    uint8_t *p = dst;

    while (n > 0) {
        const struct packed *at = find_packed(u, off);
        const uint64_t in = off - at->begin;
        const size_t now = (size_t)heft_min_u64(n, at->bytes - in);
        struct heft_error found = {0};

        if (!u->module->read(u->file, at->address, in, p, now, &found))
            return heft_h5_blame(err, &found);
        p += now;
        off += now;
        n -= now;
    }
    return true;
}

static void close_unpacker(struct heft_source *src)
{
    struct unpacker *u = src->self;

    u->module->close(u->file);
}

static const struct heft_source_ops unpacker_ops = {.read = read_unpacked, .close = close_unpacker};

/* ---- storages ---------------------------------------------------------------------------- */

struct adder {
    struct heft_h5_reader *r;
    uint32_t *by_address; /* readable entries, sorted */
    size_t n;
    uint32_t *storage; /* for each entry, its storage */
    struct packed *packed;
    size_t n_packed;
    uint64_t unpacked; /* bytes to be decoded in total */
    uint64_t work;     /* bytes to be decompressed, some of them several times */
    uint32_t source;   /* source of the decoded data */
    struct heft_error *err;
};

static bool is_packed(const struct heft_h5_entry *entry)
{
    return entry->bytes > 0 && entry->offset == HEFT_H5_NOWHERE;
}

struct key {
    uint64_t address;
    uint32_t entry;
};

static int by_address(const void *a, const void *b)
{
    const struct key *x = a, *y = b;

    if (x->address != y->address)
        return x->address < y->address ? -1 : 1;
    return (x->entry > y->entry) - (x->entry < y->entry);
}

/* Sorts readable entries by object, so that links to one object are consecutive. */
static bool sort_entries(struct adder *a, struct heft_arena *mem)
{
    const struct heft_h5_reader *r = a->r;
    struct key *keys = heft_arena_zero(mem, r->n_entries, sizeof *keys, a->err);

    a->by_address = keys ? heft_arena_zero(mem, r->n_entries, sizeof *a->by_address, a->err) : NULL;
    a->storage =
        a->by_address ? heft_arena_zero(mem, r->n_entries, sizeof *a->storage, a->err) : NULL;
    if (!a->storage)
        return false;
    for (uint32_t i = 0; i < r->n_entries; i++)
        if (!r->entries[i].why)
            keys[a->n++] = (struct key){r->entries[i].address, i};
    qsort(keys, a->n, sizeof *keys, by_address);
    for (size_t i = 0; i < a->n; i++)
        a->by_address[i] = keys[i].entry;
    return true;
}

static const struct heft_h5_entry *entry_at(const struct adder *a, size_t i)
{
    return &a->r->entries[a->by_address[i]];
}

static bool same_object(const struct adder *a, size_t i)
{
    return i > 0 && entry_at(a, i)->address == entry_at(a, i - 1)->address;
}

/* Although each dataset is within the module's ratio, all together could need minutes of
 * decompression. */
static bool check_work(struct adder *a, const struct heft_h5_entry *entry)
{
    const uint64_t size = a->r->model->sources[a->r->source].source.size;
    const uint64_t asked = a->r->model->limits.unpacked;
    const uint64_t usual =
        heft_max_u64(size > UINT64_MAX / MOST_TIMES ? size : size * MOST_TIMES, ALWAYS);
    const uint64_t most = asked ? asked : usual;

    if (heft_add(a->work, entry->work, &a->work) && a->work <= most)
        return true;
    heft_fail(a->err, HEFT_LIMIT, HEFT_NO_OFFSET,
              "with it more than %" PRIu64 " bytes unpack from %" PRIu64 ": limits.unpacked", most,
              size);
    return heft_error_about(a->err, "dataset", entry->path);
}

/* Assigns decoded datasets their positions in the source. */
static bool list_packed(struct adder *a)
{
    struct heft_arena *mem = &a->r->model->mem; /* the list must live as long as the source */

    a->packed = heft_arena_zero(mem, a->n, sizeof *a->packed, a->err);
    if (!a->packed)
        return false;
    for (size_t i = 0; i < a->n; i++) {
        const struct heft_h5_entry *entry = entry_at(a, i);

        if (!is_packed(entry) || same_object(a, i))
            continue;
        a->packed[a->n_packed++] = (struct packed){a->unpacked, entry->bytes, entry->address};
        if (!heft_add(a->unpacked, entry->bytes, &a->unpacked))
            return heft_fail(a->err, HEFT_LIMIT, HEFT_NO_OFFSET,
                             "the decoded datasets have 2^64 bytes or more in total");
        if (!check_work(a, entry))
            return false;
    }
    return true;
}

/* The source takes over the module's file and closes it. */
static bool add_unpacker(struct adder *a)
{
    struct heft_h5_reader *r = a->r;
    struct unpacker *u;
    struct heft_source source = {.ops = &unpacker_ops, .size = a->unpacked, .fd = -1};

    if (a->n_packed == 0)
        return true;
    u = heft_arena_alloc(&r->model->mem, sizeof *u, a->err);
    if (!u)
        return false;
    *u = (struct unpacker){r->module, r->file, a->packed, a->n_packed};
    source.self = u;
    r->file = NULL;
    return heft_model_add_unpacked(r->model, &source, r->source, &a->source, a->err);
}

static bool add_storage(struct adder *a, const struct heft_h5_entry *entry, size_t *next_packed,
                        uint32_t *index)
{
    struct heft_storage storage = {
        .off = entry->bytes ? entry->offset : 0,
        .packed = entry->bytes,
        .len = entry->bytes,
        .source = a->r->source,
    };

    if (is_packed(entry)) {
        storage.off = a->packed[(*next_packed)++].begin;
        storage.source = a->source;
    }
    return heft_model_add_storage(a->r->model, &storage, index, a->err);
}

static bool add_storages(struct adder *a)
{
    size_t next_packed = 0;

    for (size_t i = 0; i < a->n; i++) {
        uint32_t *index = &a->storage[a->by_address[i]];

        if (same_object(a, i))
            *index = a->storage[a->by_address[i - 1]];
        else if (!add_storage(a, entry_at(a, i), &next_packed, index))
            return false;
    }
    return true;
}

/* ---- rows -------------------------------------------------------------------------------- */

/* Keeps the layer and weight name of a row, which its own name does not tell, for the writer. */
static bool attach_place(const struct adder *a, const struct heft_h5_entry *entry,
                         struct heft_str name)
{
    struct heft_model *const model = a->r->model;
    struct heft_h5_place *place;

    if (!entry->weight.p)
        return true;
    place = heft_arena_zero(&model->mem, 1, sizeof *place, a->err);
    if (!place)
        return false;
    *place = (struct heft_h5_place){
        .layer = entry->layer, .weight = entry->weight, .is_listed = entry->is_listed};
    return heft_model_attach(model, (struct heft_attachment){&heft_h5_place_kind, name, place},
                             a->err);
}

static bool add_unreadable(struct adder *a, const struct heft_h5_entry *entry, struct heft_str name)
{
    struct heft_model *model = a->r->model;

    if (!heft_model_add_unreadable(model, name, a->r->source, HEFT_NO_OFFSET, entry->why, a->err))
        return false;
    model->unreadable[model->n_unreadable - 1].is_elsewhere = entry->is_elsewhere;
    return true;
}

static bool add_row(struct adder *a, uint32_t at)
{
    const struct heft_h5_entry *entry = &a->r->entries[at];
    struct heft_model *model = a->r->model;
    const struct heft_str name = entry->name.p ? entry->name : entry->path;
    const struct heft_row row = {
        .name = name,
        .shape = entry->shape,
        .storage = a->storage[at],
        .dtype = entry->dtype,
        .rank = entry->rank,
        .flags = entry->is_big ? HEFT_ROW_SWAP : 0,
    };

    if (entry->is_copy)
        return true;
    if (entry->why)
        return add_unreadable(a, entry, name);
    return heft_model_add_row(model, &row, a->err) && attach_place(a, entry, name);
}

/* ---- claims ------------------------------------------------------------------------------ */

static int by_number(const void *a, const void *b)
{
    const uint64_t x = ((const uint64_t *)a)[0], y = ((const uint64_t *)b)[0];

    return (x > y) - (x < y);
}

static bool claim_range(struct adder *a, uint64_t begin, uint64_t end, const char *what)
{
    return end <= begin ||
           heft_model_claim(a->r->model, a->r->source, begin, end - begin, what, a->err);
}

/* Checks that data is inside HDF5's part of the file, and after the superblock. */
static bool check_span(struct adder *a, uint64_t off, uint64_t n, uint64_t at)
{
    if (off < at)
        heft_fail(
            a->err, HEFT_MALFORMED, off,
            "a dataset's bytes begin here, within those of another or the superblock's, which "
            "end at %" PRIu64,
            at);
    else if (!heft_within(off, n, a->r->end))
        heft_fail(a->err, HEFT_MALFORMED, off,
                  "%" PRIu64 " bytes of a dataset begin here, HDF5's part of the file ends at "
                  "%" PRIu64,
                  n, a->r->end);
    else
        return true;
    return false;
}

/* Claims bytes after the end stated in the superblock, which libhdf5 does not read. */
static bool leave_tail(struct adder *a)
{
    const uint64_t end = a->r->end, size = a->r->bytes->size;

    return size <= end || (claim_range(a, end, size, "bytes after HDF5's part") &&
                           heft_model_leave(a->r->model, a->r->source, end, a->err,
                                            "%" PRIu64 " byte%s after HDF5's part of the file",
                                            size - end, size - end == 1 ? "" : "s"));
}

/* Claims all of HDF5's own part that is not contiguous data. */
static bool claim_rest(struct adder *a, struct heft_arena *mem)
{
    static const char what[] = "HDF5 structures and packed data";
    uint64_t(*spans)[2] = heft_arena_zero(mem, a->n, sizeof *spans, a->err);
    uint64_t at = a->r->behind;
    size_t n = 0;

    if (!spans || !claim_range(a, 0, a->r->base, "user block") ||
        !claim_range(a, a->r->base, at, "superblock"))
        return false;
    for (size_t i = 0; i < a->n; i++) {
        const struct heft_h5_entry *entry = entry_at(a, i);

        if (entry->bytes == 0 || is_packed(entry) || same_object(a, i))
            continue;
        spans[n][0] = entry->offset;
        spans[n++][1] = entry->bytes;
    }
    qsort(spans, n, sizeof *spans, by_number);
    for (size_t i = 0; i < n; i++) {
        if (!check_span(a, spans[i][0], spans[i][1], at) || !claim_range(a, at, spans[i][0], what))
            return false;
        at = spans[i][0] + spans[i][1];
    }
    return claim_range(a, at, a->r->end, what) && leave_tail(a);
}

bool heft_h5_add_rows(struct heft_h5_reader *r, struct heft_error *err)
{
    struct adder a = {.r = r, .err = err};
    struct heft_arena mem = {0};
    bool ok = sort_entries(&a, &mem) && list_packed(&a) && add_unpacker(&a) && add_storages(&a);

    for (size_t i = 0; ok && i < r->n_order; i++)
        ok = add_row(&a, r->order[i]);
    ok = ok && claim_rest(&a, &mem);
    heft_arena_release(&mem);
    return ok;
}

/* ---- verifying --------------------------------------------------------------------------- */

static bool read_all(const struct heft_source *source, uint64_t off, uint64_t n, uint8_t *piece,
                     struct heft_error *err)
{
    while (n > 0) {
        const size_t now = (size_t)heft_min_u64(n, PIECE);

        if (!heft_source_read(source, off, piece, now, err))
            return false;
        off += now;
        n -= now;
    }
    return true;
}

/* A system error is not a finding. */
static bool tell_or_fail(const struct heft_reporter *to, uint32_t source,
                         const struct heft_error *found, struct heft_error *err)
{
    if (found->code == HEFT_NOMEM || found->code == HEFT_IO) {
        *err = *found;
        return false;
    }
    to->report(to->ctx, HEFT_FINDING, source, HEFT_NO_OFFSET, found->text);
    return true;
}

bool heft_h5_verify(const struct heft_model *model, uint32_t source, const struct heft_reporter *to,
                    struct heft_error *err)
{
    uint8_t *piece = heft_alloc(PIECE, err);
    bool ok = piece != NULL;

    for (size_t i = 0; ok && i < model->n_storages; i++) {
        const struct heft_storage *storage = &model->storages[i];
        const struct heft_model_source *from = &model->sources[storage->source];
        struct heft_error found = {0};

        if (!from->is_unpacked || from->origin != source ||
            read_all(&from->source, storage->off, storage->len, piece, &found))
            continue;
        ok = tell_or_fail(to, source, &found, err);
    }
    heft_free(piece);
    return ok;
}
