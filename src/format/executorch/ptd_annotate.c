/* ptd_annotate.c: claims for every byte of a .ptd, and checks of its padding.
 *
 *     a walk over the tables visits each table, vtable, vector and string ─► one claim for each,
 *     also if it is shared ─► everything else, and the space between segments: padding
 *
 * A map of a very large number of objects would not be useful: then all tables are one range. */
#include <stdlib.h>

#include "format/executorch/ptd_parts.h"

#define MOST_CLAIMS 1000000

/* Descriptions of objects; those of an entry get its key. */
static const struct {
    const char *what;
    enum heft_flat_kind kind;
    const char *text;
} texts[] = {
    {"FlatTensor", HEFT_FLAT_TABLE, "root table FlatTensor"},
    {"DataSegment", HEFT_FLAT_TABLE, "table DataSegment"},
    {"NamedData", HEFT_FLAT_TABLE, "table NamedData of "},
    {"TensorMetadata", HEFT_FLAT_TABLE, "table TensorMetadata of "},
    {"TensorLayout", HEFT_FLAT_TABLE, "table TensorLayout of "},
    {"segments", HEFT_FLAT_VECTOR, "vector segments"},
    {"named_data", HEFT_FLAT_VECTOR, "vector named_data"},
    {"tensors", HEFT_FLAT_VECTOR, "vector tensors"},
    {"sizes", HEFT_FLAT_VECTOR, "vector sizes of "},
    {"dim_order", HEFT_FLAT_VECTOR, "vector dim_order of "},
    {"key", HEFT_FLAT_STRING, "key "},
};

/* Bitmap of the bytes of the tables: an object that is visited again has the same range as
 * before. */
struct plane {
    uint64_t *seen, *begins, *ends;
    uint64_t overlaps, first_overlap;
};

struct drawing {
    struct heft_model *view; /* NULL: no claims are added */
    const struct heft_ptd *ptd;
    struct plane things, fields; /* tables, vtables, vectors, strings; fields of tables */
    uint64_t *slack;             /* bytes of tables that may be fields */
    size_t first;                /* first claim of this file */
    size_t entry;                /* first claim of the current entry */
    uint32_t source;
};

static const char *text_of(enum heft_flat_kind kind, const char *what)
{
    for (size_t i = 0; i < HEFT_COUNT(texts); i++)
        if (texts[i].kind == kind && strcmp(texts[i].what, what) == 0)
            return texts[i].text;
    return "vtable";
}

static bool is_full(const struct drawing *d)
{
    return d->view->n_claims - d->first >= MOST_CLAIMS;
}

static bool claim_range(const struct drawing *d, uint64_t at, uint64_t len, const char *text,
                        struct heft_error *err)
{
    return !d->view || len == 0 || is_full(d) ||
           heft_model_claim(d->view, d->source, at, len, text, err);
}

/* ---- tables of the flatbuffer ---------------------------------------------------------------- */

static bool is_set(const uint64_t *bits, uint64_t at)
{
    return bits[at / 64] >> at % 64 & 1;
}

static void set_bit(uint64_t *bits, uint64_t at)
{
    bits[at / 64] |= (uint64_t)1 << at % 64;
}

static bool open_plane(struct plane *plane, uint64_t bytes, struct heft_arena *mem,
                       struct heft_error *err)
{
    const size_t n = (size_t)(bytes / 64 + 1);
    uint64_t *bits = heft_arena_zero(mem, 3 * n, sizeof *bits, err);

    if (bits)
        *plane = (struct plane){.seen = bits, .begins = bits + n, .ends = bits + 2 * n};
    return bits != NULL;
}

/* Marks the free bytes from `at` on, at most len; returns their number. */
static uint64_t mark_range(struct plane *plane, uint64_t at, uint64_t len)
{
    uint64_t n = 0;

    while (n < len && !is_set(plane->seen, at + n))
        set_bit(plane->seen, at + n++);
    if (n == len) {
        set_bit(plane->begins, at);
        set_bit(plane->ends, at + len - 1);
    } else if ((n > 0 || !is_set(plane->begins, at) || !is_set(plane->ends, at + len - 1)) &&
               plane->overlaps++ == 0) {
        plane->first_overlap = at;
    }
    return n;
}

static bool on_range(void *ctx, enum heft_flat_kind kind, uint64_t at, uint64_t len,
                     const char *what, struct heft_error *err)
{
    struct drawing *d = ctx;
    uint64_t n;

    if (kind == HEFT_FLAT_FIELD) {
        mark_range(&d->fields, at, len);
        return true;
    }
    n = mark_range(&d->things, at, len);
    for (uint64_t i = 4; kind == HEFT_FLAT_TABLE && i < n; i++) /* after the offset of the vtable */
        set_bit(d->slack, at + i);
    return claim_range(d, at, n, text_of(kind, what), err);
}

/* Gives the entry's key to its claims. */
static bool name_claims(void *ctx, uint32_t i, const struct heft_ptd_entry *e,
                        struct heft_error *err)
{
    struct drawing *d = ctx;

    (void)i;
    (void)err;
    for (size_t k = d->entry; d->view && k < d->view->n_claims; k++)
        if (heft_str_ends(heft_str_of(d->view->claims[k].what), " "))
            d->view->claims[k].of = e->key;
    d->entry = d->view ? d->view->n_claims : 0;
    return true;
}

/* Walks over all tables again: they were validated when the file was opened. */
static bool walk_tables(struct drawing *d, struct heft_arena *mem, struct heft_error *err)
{
    const struct heft_flat_watch watch = {on_range, d};
    const struct heft_ptd_visitor visitor = {name_claims, d};
    struct heft_ptd ptd = *d->ptd;
    uint32_t scalar; /* version, tensor_alignment: fields whose values are not needed here */

    d->slack = heft_arena_zero(mem, (size_t)(ptd.flat.end / 64 + 1), sizeof *d->slack, err);
    if (!d->slack || !open_plane(&d->things, ptd.flat.end, mem, err) ||
        !open_plane(&d->fields, ptd.flat.end, mem, err))
        return false;
    ptd.flat.watch = &watch;
    ptd.flat.budget = ptd.flat.end / 4;
    if (!heft_flat_root(&ptd.flat, "FlatTensor", &ptd.root, err) ||
        !heft_flat_u32(&ptd.flat, &ptd.root, 0, &scalar, err) ||
        (ptd.is_old && !heft_flat_u32(&ptd.flat, &ptd.root, 1, &scalar, err)) ||
        !heft_ptd_read_segments(&ptd, UINT64_MAX, mem, err))
        return false;
    d->entry = d->view ? d->view->n_claims : 0;
    return heft_ptd_read_entries(&ptd, UINT64_MAX, UINT64_MAX, &visitor, err);
}

typedef bool gap_fn(struct drawing *d, uint64_t at, uint64_t len, bool is_zero, void *ctx,
                    struct heft_error *err);

/* Calls `gap` for ranges of the tables that no object covers. */
static bool each_gap(struct drawing *d, gap_fn *gap, void *ctx, struct heft_error *err)
{
    const struct heft_flat *flat = &d->ptd->flat;

    for (uint64_t at = flat->low, end; at < flat->end; at = end) {
        bool is_zero = true;

        for (end = at; end < flat->end && !is_set(d->things.seen, end); end++)
            is_zero = is_zero && flat->p[end] == 0;
        if (end > at && !gap(d, at, end - at, is_zero, ctx, err))
            return false;
        while (end < flat->end && is_set(d->things.seen, end))
            end++;
    }
    return true;
}

static bool claim_gap(struct drawing *d, uint64_t at, uint64_t len, bool is_zero, void *ctx,
                      struct heft_error *err)
{
    (void)ctx;
    return claim_range(d, at, len, is_zero ? "padding" : "bytes that no table covers", err);
}

static bool draw_tables(struct drawing *d, struct heft_error *err)
{
    const struct heft_flat *flat = &d->ptd->flat;

    if (!walk_tables(d, &d->view->mem, err) || !each_gap(d, claim_gap, NULL, err))
        return false;
    if (!is_full(d))
        return true;
    d->view->n_claims = d->first;
    return claim_range(d, flat->low, flat->end - flat->low, "tables, vectors and strings", err);
}

/* ---- gaps between segments ------------------------------------------------------------------- */

struct span {
    uint64_t off, len;
};

static int by_place(const void *a, const void *b)
{
    const struct span *x = a, *y = b;

    return (x->off > y->off) - (x->off < y->off);
}

/* Storages of the file in order; none overlap. */
static struct span *storages_of(const struct heft_model *model, uint32_t source,
                                struct heft_arena *mem, size_t *n, struct heft_error *err)
{
    struct span *all = heft_arena_alloc(mem, model->n_storages * sizeof *all, err);

    *n = 0;
    for (size_t i = 0; all && i < model->n_storages; i++) {
        const struct heft_storage *s = &model->storages[i];

        if (s->source == source && s->len && !s->is_within)
            all[(*n)++] = (struct span){s->off, s->len};
    }
    if (all)
        qsort(all, *n, sizeof *all, by_place);
    return all;
}

typedef bool between_fn(void *ctx, uint64_t at, uint64_t len, struct heft_error *err);

/* Calls `gap` for ranges between tables, storages and the end of the segments. */
static bool each_between(const struct heft_model *model, uint32_t source, struct heft_arena *mem,
                         between_fn *between, void *ctx, struct heft_error *err)
{
    const struct heft_ptd *p = model->sources[source].kept;
    const uint64_t end = heft_min_u64(p->base + p->room, p->size);
    uint64_t at = p->flat.end;
    size_t n;
    const struct span *all = storages_of(model, source, mem, &n, err);

    for (size_t i = 0; all && i < n; i++) {
        if (all[i].off > at && !between(ctx, at, all[i].off - at, err))
            return false;
        at = all[i].off + all[i].len;
    }
    return all && (at >= end || between(ctx, at, end - at, err));
}

static bool claim_between(void *ctx, uint64_t at, uint64_t len, struct heft_error *err)
{
    const struct drawing *d = ctx;

    return heft_model_claim(d->view, d->source, at, len, "padding", err);
}

bool heft_ptd_annotate(struct heft_model *view, uint32_t source, struct heft_error *err)
{
    const struct heft_ptd *p = view->sources[source].kept;
    struct drawing d = {.view = view, .ptd = p, .first = view->n_claims, .source = source};
    const uint64_t end = heft_min_u64(p->base + p->room, p->size);

    return draw_tables(&d, err) && each_between(view, source, &view->mem, claim_between, &d, err) &&
           (end == p->size ||
            heft_model_claim(view, source, end, p->size - end, "bytes after the segments", err));
}

/* ---- verifying the gaps ---------------------------------------------------------------------- */

struct looking {
    const struct heft_model *model;
    const struct heft_reporter *to;
    uint32_t source;
    uint64_t odd, first; /* number of bytes other than zero, and the first of them */
};

static void count_odd(struct looking *l, uint64_t at)
{
    if (l->odd++ == 0)
        l->first = at;
}

static void tell_odd(struct looking *l, const char *one, const char *many)
{
    struct heft_error line = {0};

    if (l->odd == 0)
        return;
    heft_fail(&line, HEFT_OK, l->first, "%" PRIu64 " %s", l->odd, l->odd == 1 ? one : many);
    l->to->report(l->to->ctx, HEFT_NOTE, l->source, l->first, line.text);
    l->odd = 0;
}

static void tell_overlaps(struct looking *l, const struct plane *plane, const char *one,
                          const char *many)
{
    l->odd = plane->overlaps;
    l->first = plane->first_overlap;
    tell_odd(l, one, many);
}

static bool count_gap(struct drawing *d, uint64_t at, uint64_t len, bool is_zero, void *ctx,
                      struct heft_error *err)
{
    (void)d;
    (void)len;
    (void)err;
    if (!is_zero)
        count_odd(ctx, at);
    return true;
}

/* Bytes of tables that belong to no known field: zeros, unless a newer writer has put fields
 * there. */
static void look_inside(struct looking *l, const struct drawing *d)
{
    const struct heft_flat *flat = &d->ptd->flat;
    bool before = false;

    for (uint64_t at = flat->low; at < flat->end; at++) {
        const bool odd = flat->p[at] != 0 && is_set(d->slack, at) && !is_set(d->fields.seen, at);

        if (odd && !before)
            count_odd(l, at);
        before = odd;
    }
}

/* Reads padding of any length. */
static bool look_between(void *ctx, uint64_t at, uint64_t len, struct heft_error *err)
{
    struct looking *l = ctx;
    bool zeros;

    if (!heft_source_zeros(&l->model->sources[l->source].source, at, len, &zeros, err))
        return false;
    if (!zeros)
        count_odd(l, at);
    return true;
}

static bool look_for_odd(struct looking *l, struct heft_arena *mem, struct heft_error *err)
{
    const struct heft_ptd *p = l->model->sources[l->source].kept;
    const uint64_t pad = 8 + HEFT_PTD_HEADER;
    struct drawing d = {.ptd = p, .source = l->source};

    if (!walk_tables(&d, mem, err) || !each_gap(&d, count_gap, l, err))
        return false;
    tell_odd(l, "place in the tables has bytes that nothing refers to",
             "places in the tables have bytes that nothing refers to");
    look_inside(l, &d);
    tell_odd(l, "place in a table has bytes of no field that is known",
             "places in tables have bytes of no field that is known");
    tell_overlaps(l, &d.things, "table, vector or string overlaps another",
                  "tables, vectors or strings overlap");
    tell_overlaps(l, &d.fields, "field of a table overlaps another", "fields of tables overlap");
    if (!look_between(l, pad, p->flat.low - pad, err) ||
        !each_between(l->model, l->source, mem, look_between, l, err))
        return false;
    tell_odd(l, "padding is not zero", "paddings are not zero");
    return true;
}

bool heft_ptd_verify(const struct heft_model *model, uint32_t source,
                     const struct heft_reporter *to, struct heft_error *err)
{
    struct looking l = {.model = model, .to = to, .source = source};
    struct heft_arena mem = {0};
    const bool ok = look_for_odd(&l, &mem, err);

    heft_arena_release(&mem);
    return ok && heft_ptd_check_keys(model, source, to, err);
}
