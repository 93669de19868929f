/* ptd_rows.c: adds the contents of a .ptd's tables as storages, rows and blobs.
 *
 *     segments (old generation: the bytes of each tensor) ─► extents ─► storages
 *     entries ─► rows, with strides if dim_order differs from the dimensions' order; blobs
 *
 * Overlapping extents are one storage, so that entries that share bytes share a storage. */
#include <stdlib.h>

#include "base/endian.h"
#include "base/text.h"
#include "format/executorch/ptd_parts.h"

/* Peculiarities, reported once each, with their number and first position. */
enum oddity { UNSORTED, OVERLAP, UNUSED, WIDE, CROOKED, NO_SIZES, NOT_UTF8, EMPTY_KEY, ODDITIES };

static const struct {
    enum heft_severity severity;
    const char *one, *many;
} oddities[ODDITIES] = {
    [UNSORTED] = {HEFT_NOTE, "segment lies before the one that is listed before it",
                  "segments lie before those that are listed before them"},
    [OVERLAP] = {HEFT_NOTE, "segment overlaps another one", "segments overlap others"},
    [UNUSED] = {HEFT_NOTE, "segment is not referred to by any entry",
                "segments are not referred to by any entry"},
    [WIDE] = {HEFT_NOTE, "segment is larger than its tensor",
              "segments are larger than their tensors"},
    [CROOKED] = {HEFT_NOTE, "tensor is not aligned to the size of its elements",
                 "tensors are not aligned to the size of their elements"},
    [NO_SIZES] = {HEFT_NOTE, "layout has no sizes or dim_order: read as a scalar's",
                  "layouts have no sizes or dim_order: read as scalars'"},
    [NOT_UTF8] = {HEFT_FINDING, "key is not UTF-8: shown escaped",
                  "keys are not UTF-8: shown escaped"},
    [EMPTY_KEY] = {HEFT_NOTE, "key is empty", "keys are empty"},
};

/* Bytes of a storage: a segment, in the old generation a tensor. */
struct extent {
    uint64_t off, len;
    uint32_t index;
};
struct place {
    uint64_t within;
    uint32_t storage;
};

struct key {
    uint64_t at;
    uint32_t index; /* index of a row or a blob */
    bool is_tensor;
};

struct opening {
    struct heft_model *model;
    struct heft_ptd *ptd;
    struct heft_arena scratch;
    struct extent *extents;
    struct place *places;     /* range and storage of each extent */
    uint8_t *used;            /* for each segment: it is in use */
    struct key *keys;         /* including those of the model's other files */
    struct heft_strmap names; /* → index in keys */
    size_t n_extents, cap_extents, cap_keys;
    uint32_t n_keys, n_old; /* number of keys; number of those from other files */
    uint32_t source;
    struct {
        uint64_t n, at;
    } odd[ODDITIES];
};

static void note_odd(struct opening *o, enum oddity what, uint64_t at)
{
    if (o->odd[what].n++ == 0)
        o->odd[what].at = at;
}

/* ---- storages -------------------------------------------------------------------------------- */

static bool add_extent(struct opening *o, uint64_t off, uint64_t len, struct heft_error *err)
{
    if (!heft_grow(&o->extents, &o->cap_extents, o->n_extents, 1, sizeof *o->extents, err))
        return false;
    o->extents[o->n_extents] = (struct extent){off, len, (uint32_t)o->n_extents};
    o->n_extents++;
    return true;
}

static int by_place(const void *a, const void *b)
{
    const struct extent *x = a, *y = b;

    if (x->off != y->off)
        return x->off < y->off ? -1 : 1;
    return (x->len < y->len) - (x->len > y->len);
}

/* True if each begins after the end of those before; empty ones may be anywhere. */
static bool is_apart(const struct opening *o)
{
    uint64_t end = 0;

    for (size_t i = 0; i < o->n_extents; i++) {
        if (o->extents[i].len == 0)
            continue;
        if (o->extents[i].off < end)
            return false;
        end = o->extents[i].off +
              o->extents[i].len; /* no overflow: inside the file, or inside its expected length */
    }
    return true;
}

/* Makes one storage of overlapping extents, so that their bytes are claimed once. */
static bool add_storages(struct opening *o, struct heft_error *err)
{
    uint64_t end = 0;
    uint32_t storage = 0;

    if (!is_apart(o))
        qsort(o->extents, o->n_extents, sizeof *o->extents, by_place);
    for (size_t i = 0; i < o->n_extents; i++) {
        const struct extent *e = &o->extents[i];
        const struct heft_storage whole = {
            .off = e->off, .len = e->len, .packed = e->len, .source = o->source, .is_pooled = true};
        struct heft_storage *last;

        if (e->len == 0 || e->off >= end || i == 0) {
            if (!heft_model_add_storage(o->model, &whole, &storage, err))
                return false;
        } else if (e->off + e->len > end) {
            last = &o->model->storages[storage];
            last->len = last->packed = e->off + e->len - last->off;
        }
        o->places[e->index] =
            (struct place){e->len ? e->off - o->model->storages[storage].off : 0, storage};
        end = heft_max_u64(end, e->len ? e->off + e->len : 0);
    }
    return true;
}

/* Notes peculiarities of the list of segments. */
static void judge_segments(struct opening *o)
{
    const struct heft_ptd *p = o->ptd;
    uint64_t end = 0;

    for (uint32_t i = 1; i < p->n_segments; i++)
        if (p->segments[i].off < p->segments[i - 1].off)
            note_odd(o, UNSORTED, p->segments[i].at);
    for (size_t i = 0; i < o->n_extents && !p->is_old; i++) { /* sorted if they overlap */
        if (o->extents[i].len && o->extents[i].off < end)
            note_odd(o, OVERLAP, o->extents[i].off);
        end = heft_max_u64(end, o->extents[i].len ? o->extents[i].off + o->extents[i].len : 0);
    }
    for (uint32_t i = 0; i < p->n_segments; i++)
        if (!o->used[i])
            note_odd(o, UNUSED, p->segments[i].at);
}

/* ---- rows and blobs -------------------------------------------------------------------------- */

/* The key; if it is not UTF-8, its escaped form. */
static bool name_entry(struct opening *o, const struct heft_ptd_entry *e, struct heft_str *name,
                       struct heft_error *err)
{
    const struct heft_bytes key = {(const uint8_t *)e->key.p, e->key.n};
    struct heft_buf text = {0};

    *name = e->key;
    if (e->key.n == 0)
        note_odd(o, EMPTY_KEY, e->key_at);
    if (heft_utf8_check(key) == key.n)
        return true;
    note_odd(o, NOT_UTF8, e->key_at);
    heft_buf_escaped(&text, e->key);
    return heft_buf_take(&text, &o->model->mem, name, err);
}

/* Sets the shape, and strides if the bytes are not in the dimensions' order: the innermost stride
 * is 1, each outer one the product of the extents inside it. */
bool heft_ptd_set_dims(struct heft_model *model, const struct heft_ptd_entry *e,
                       struct heft_row *row, struct heft_error *err)
{
    uint64_t *shape = heft_arena_u64(&model->mem, e->order ? 2u * e->rank : e->rank, err);
    uint64_t step = 1;

    if (!shape)
        return false;
    for (unsigned i = 0; i < e->rank; i++)
        shape[i] = heft_le32(e->sizes + 4 * (size_t)i);
    row->shape = shape;
    if (!e->order)
        return true;
    for (unsigned i = e->rank; i > 0; i--) {
        const uint8_t d = e->order[i - 1];

        shape[e->rank + d] = step;
        /* At most 16 factors of 31 bits: if this overflows, the size was refused or an extent is
         * 0 */
        step *= shape[d] ? shape[d] : 1;
    }
    row->stride = shape + e->rank;
    row->dim_order = e->order;
    return true;
}

/* A blob is a whole storage: inside one of several overlapping segments it gets its own part. */
static bool add_blob(struct opening *o, const struct heft_ptd_entry *e, struct heft_str name,
                     struct place place, struct heft_error *err)
{
    const struct heft_storage *whole = &o->model->storages[place.storage];
    const struct heft_storage part = {.off = whole->off + place.within,
                                      .len = e->bytes,
                                      .packed = e->bytes,
                                      .source = o->source,
                                      .is_within = true};

    if (whole->len != e->bytes && !heft_model_add_storage(o->model, &part, &place.storage, err))
        return false;
    return heft_model_add_blob(o->model, name, place.storage, "blob", err);
}

/* ---- keys ------------------------------------------------------------------------------------ */

/* Adds a key; its number, or that of an equal key. */
static bool add_key(struct opening *o, struct heft_str name, struct key key, uint32_t *found,
                    struct heft_error *err)
{
    if (!heft_grow(&o->keys, &o->cap_keys, o->n_keys, 1, sizeof *o->keys, err) ||
        !heft_strmap_add(&o->names, name, o->n_keys, found, err))
        return false;
    if (*found == HEFT_MAP_NONE)
        o->keys[o->n_keys++] = key;
    return true;
}

/* Adds the keys of other files. Duplicates among them are reported elsewhere. */
static bool add_old_keys(struct opening *o, struct heft_error *err)
{
    const struct heft_model *model = o->model;
    uint32_t found;

    for (uint32_t i = 0; i < model->n_rows; i++)
        if (!add_key(o, model->rows[i].name, (struct key){0, i, true}, &found, err))
            return false;
    for (uint32_t i = 0; i < model->n_blobs; i++)
        if (!add_key(o, model->blobs[i].name, (struct key){0, i, false}, &found, err))
            return false;
    o->n_old = o->n_keys;
    return true;
}

static bool same_dims(const struct heft_row *a, const struct heft_row *b)
{
    return a->dtype == b->dtype && a->rank == b->rank && !a->parts && !a->flags &&
           (a->rank == 0 || memcmp(a->shape, b->shape, a->rank * sizeof *a->shape) == 0) &&
           (a->dim_order != NULL) == (b->dim_order != NULL) &&
           (!a->dim_order || memcmp(a->dim_order, b->dim_order, a->rank) == 0);
}

/* Compares n bytes of two storages, from these offsets on. */
static bool same_bytes(const struct heft_model *model, const struct heft_storage *x, uint64_t at,
                       const struct heft_storage *y, uint64_t to, uint64_t n, bool *same,
                       struct heft_error *err)
{
    uint8_t one[4096], other[sizeof one];

    *same = x->coding == HEFT_CODING_RAW && heft_within(at, n, x->len);
    for (uint64_t done = 0; *same && done < n; done += sizeof one) {
        const size_t piece = (size_t)heft_min_u64(n - done, sizeof one);

        if (!heft_source_read(&model->sources[x->source].source, x->off + at + done, one, piece,
                              err) ||
            !heft_source_read(&model->sources[y->source].source, y->off + to + done, other, piece,
                              err))
            return false;
        *same = memcmp(one, other, piece) == 0;
    }
    return true;
}

/* True if the entry of that key in an earlier file is the same: equal bytes in the same layout. */
static bool is_same(const struct opening *o, const struct key *old, const struct heft_row *row,
                    uint64_t bytes, bool is_tensor, bool *same, struct heft_error *err)
{
    const struct heft_model *model = o->model;
    const struct heft_storage *y = &model->storages[row->storage];
    const uint32_t storage =
        old->is_tensor ? model->rows[old->index].storage : model->blobs[old->index].storage;
    const struct heft_storage *x = &model->storages[storage];

    *same = false;
    if (old->is_tensor != is_tensor)
        return true;
    if (is_tensor)
        return !same_dims(&model->rows[old->index], row) ||
               same_bytes(model, x, model->rows[old->index].offset, y, row->offset, bytes, same,
                          err);
    return x->len != y->len || same_bytes(model, x, 0, y, 0, bytes, same, err);
}

/* *again: it exists already, from another file. In a file keys are unique. */
static bool meet_key(struct opening *o, const struct heft_ptd_entry *e, const struct heft_row *row,
                     bool *again, struct heft_error *err)
{
    const struct heft_model *model = o->model;
    const uint32_t index = (uint32_t)(e->is_tensor ? model->n_rows : model->n_blobs);
    uint32_t found;

    if (!add_key(o, row->name, (struct key){e->key_at, index, e->is_tensor}, &found, err))
        return false;
    *again = false;
    if (found == HEFT_MAP_NONE)
        return true;
    if (found < o->n_old && !is_same(o, &o->keys[found], row, e->bytes, e->is_tensor, again, err))
        return false;
    if (*again)
        return true;
    if (found < o->n_old)
        heft_fail(err, HEFT_MALFORMED, e->key_at,
                  "another input has this key with other bytes or another layout");
    else
        heft_fail(err, HEFT_MALFORMED, e->key_at,
                  "a second entry has this key, the first is at 0x%" PRIx64, o->keys[found].at);
    return heft_error_about(err, "key", row->name);
}

/* ---- entries --------------------------------------------------------------------------------- */

/* The runtime returns addresses in the mapped file: kernels assume that they are aligned. */
static bool is_crooked(const struct opening *o, const struct heft_ptd_entry *e)
{
    return e->is_tensor && e->bytes &&
           (o->ptd->segments[e->segment].off + e->offset) % heft_dtype_info(e->dtype)->word != 0;
}

static bool add_entry(void *ctx, uint32_t i, const struct heft_ptd_entry *e, struct heft_error *err)
{
    struct opening *o = ctx;
    const struct place place = o->places[o->ptd->is_old ? i : e->segment];
    struct heft_row row = {.offset = place.within,
                           .storage = place.storage,
                           .dtype = (uint8_t)e->dtype,
                           .rank = e->rank};
    bool again;

    if (!name_entry(o, e, &row.name, err) ||
        (e->is_tensor && !heft_ptd_set_dims(o->model, e, &row, err)) ||
        !meet_key(o, e, &row, &again, err))
        return false;
    if (e->lacks_sizes)
        note_odd(o, NO_SIZES, e->at);
    if (e->is_tensor && !o->ptd->is_old && e->bytes < o->ptd->segments[e->segment].len)
        note_odd(o, WIDE, e->at);
    if (is_crooked(o, e))
        note_odd(o, CROOKED, e->at);
    o->used[e->segment] = 1;
    if (again)
        return true;
    return e->is_tensor ? heft_model_add_row(o->model, &row, err)
                        : add_blob(o, e, row.name, place, err);
}

static bool add_old_extent(void *ctx, uint32_t i, const struct heft_ptd_entry *e,
                           struct heft_error *err)
{
    struct opening *o = ctx;

    (void)i;
    return add_extent(o, o->ptd->segments[e->segment].off + e->offset, e->bytes, err);
}

/* Segments are extents; in the old generation the entries, which are read a second time for
 * this. */
static bool collect_extents(struct opening *o, uint64_t most, struct heft_error *err)
{
    const struct heft_ptd_visitor visitor = {add_old_extent, o};
    struct heft_ptd *p = o->ptd;

    if (p->is_old)
        return heft_ptd_read_entries(p, most, o->model->limits.name, &visitor, err);
    for (uint32_t i = 0; i < p->n_segments; i++)
        if (!add_extent(o, p->segments[i].off, p->segments[i].len, err))
            return false;
    return true;
}

static bool tell_odd(const struct opening *o, struct heft_error *err)
{
    for (unsigned i = 0; i < ODDITIES; i++)
        if (o->odd[i].n && !heft_model_note(o->model, oddities[i].severity, o->source, o->odd[i].at,
                                            err, "%" PRIu64 " %s%s", o->odd[i].n,
                                            o->odd[i].n == 1 ? oddities[i].one : oddities[i].many,
                                            o->odd[i].n == 1 ? "" : "; the first is here"))
            return false;
    return true;
}

static bool add_all(struct opening *o, struct heft_error *err)
{
    const uint64_t most = heft_limit_tensors(&o->model->limits, o->model->file_bytes);
    const struct heft_ptd_visitor visitor = {add_entry, o};
    struct heft_ptd *p = o->ptd;

    if (!heft_ptd_read_segments(p, most, &o->model->mem, err) || !collect_extents(o, most, err))
        return false;
    o->places = heft_arena_alloc(&o->scratch, o->n_extents * sizeof *o->places, err);
    o->used = heft_arena_zero(&o->scratch, p->n_segments, 1, err);
    if (!o->places || !o->used || !add_storages(o, err) || !add_old_keys(o, err) ||
        !heft_ptd_read_entries(p, most, o->model->limits.name, &visitor, err))
        return false;
    judge_segments(o);
    return tell_odd(o, err);
}

bool heft_ptd_add_all(struct heft_model *model, uint32_t source, struct heft_ptd *ptd,
                      struct heft_error *err)
{
    struct opening o = {.model = model, .ptd = ptd, .source = source};
    const bool ok = add_all(&o, err);

    heft_free(o.extents);
    heft_free(o.keys);
    heft_strmap_release(&o.names);
    heft_arena_release(&o.scratch);
    return ok;
}
