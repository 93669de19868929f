/* layout.c: the map of every file: claims and storages in order, and the gaps between them.
 *
 *     claims ─┐
 *             ├─ sort by (source, offset) ─ walk ─ segments without holes
 *     storages┘
 *
 * A storage inside a claim (an array inside the pickle) is part of the claim and has no segment of
 * its own. Overlapping storages have a segment each; the later one says that it overlaps. A claim
 * that overlaps anything else is an error: the meaning of those bytes is ambiguous. */
#include <stdlib.h>

#include "base/text.h"
#include "core/model.h"

struct extent {
    uint64_t off, len;
    uint32_t source, which; /* which: index of a claim, or n_claims + index of a storage */
};

struct layout {
    const struct heft_model *model;
    struct heft_arena *arena;
    struct heft_segment *segments;
    size_t count;
    struct use *uses;    /* uses of storages by rows, parts and blobs, in order */
    uint32_t *first_use; /* for each storage, index of its first use; HEFT_NONE: unused */
};

struct use {
    uint32_t row, part, next; /* row: index of a row, or n_rows + index of a blob */
};

#define NAMES_SHOWN 4

static int by_source_and_offset(const void *a, const void *b)
{
    const struct extent *x = a, *y = b;

    if (x->source != y->source)
        return x->source < y->source ? -1 : 1;
    if (x->off != y->off)
        return x->off < y->off ? -1 : 1;
    if (x->len != y->len)
        return x->len > y->len ? -1 : 1; /* an enclosing extent comes first */
    return (x->which > y->which) - (x->which < y->which);
}

/* Bytes of a storage that exist: fewer than its size if the file is cut off inside it. */
static uint64_t bytes_there(const struct heft_model *model, const struct heft_storage *s)
{
    const struct heft_model_source *const file = &model->sources[s->source];

    if (!s->is_missing)
        return s->packed;
    return file->absent || s->off >= file->source.size
               ? 0
               : heft_min_u64(s->packed, file->source.size - s->off);
}

static struct extent *collect_extents(const struct heft_model *model, struct heft_arena *arena,
                                      size_t *n, struct heft_error *err)
{
    struct extent *all =
        heft_arena_zero(arena, model->n_claims + model->n_storages + 1, sizeof *all, err);
    size_t used = 0;

    if (!all)
        return NULL;
    for (size_t i = 0; i < model->n_claims; i++)
        if (model->claims[i].len)
            all[used++] = (struct extent){model->claims[i].off, model->claims[i].len,
                                          model->claims[i].source, (uint32_t)i};
    for (uint32_t i = 0; i < model->n_storages; i++) {
        const struct heft_storage *s = &model->storages[i];
        const uint64_t there = bytes_there(model, s);

        if (there && !s->is_within && model->sources[s->source].is_file)
            all[used++] = (struct extent){s->off, there, s->source, (uint32_t)model->n_claims + i};
    }
    qsort(all, used, sizeof *all, by_source_and_offset);
    *n = used;
    return all;
}

/* Prepends a use to the list of a storage. */
static void add_use(struct layout *layout, uint32_t storage, uint32_t row, uint32_t part, size_t *n)
{
    layout->uses[--*n] = (struct use){row, part, layout->first_use[storage]};
    layout->first_use[storage] = (uint32_t)*n;
}

static bool link_rows(struct layout *layout, struct heft_error *err)
{
    const struct heft_model *model = layout->model;
    size_t n = model->n_blobs;

    for (size_t i = 0; i < model->n_rows; i++)
        n += heft_row_pieces(&model->rows[i]);
    layout->first_use =
        heft_arena_alloc(layout->arena, (model->n_storages + 1) * sizeof(uint32_t), err);
    layout->uses = heft_arena_alloc(layout->arena, (n + 1) * sizeof *layout->uses, err);
    if (!layout->first_use || !layout->uses)
        return false;
    memset(layout->first_use, 0xff, (model->n_storages + 1) * sizeof(uint32_t));
    for (size_t i = model->n_blobs; i > 0; i--)
        add_use(layout, model->blobs[i - 1].storage, (uint32_t)(model->n_rows + i - 1), 0, &n);
    for (uint32_t i = (uint32_t)model->n_rows; i > 0; i--) {
        const struct heft_row *const row = &model->rows[i - 1];

        for (uint32_t k = heft_row_pieces(row); k > 0; k--)
            add_use(layout, heft_row_storage(row, k - 1), i - 1, k - 1, &n);
    }
    return true;
}

/* Appends "layer.weight"; for a part, "layer.weight[0:2,4:8]". */
static void name_use(const struct heft_model *model, const struct use *use, struct heft_buf *text)
{
    const struct heft_row *row;
    const struct heft_part *part;

    if (use->row >= model->n_rows) {
        heft_buf_escaped(text, model->blobs[use->row - model->n_rows].name);
        return;
    }
    row = &model->rows[use->row];
    part = row->parts && !row->parts->shape ? &row->parts->list[use->part] : NULL;
    heft_buf_escaped(text, row->name);
    for (unsigned d = 0; part && d < row->rank; d++) {
        heft_buf_char(text, d ? ',' : '[');
        heft_buf_u64(text, part->start[d]);
        heft_buf_char(text, ':');
        heft_buf_u64(text, part->start[d] + part->extent[d]);
    }
    if (part)
        heft_buf_char(text, ']');
}

/* Text of a claim: "local header of archive/data/0". */
static const char *describe_claim(struct layout *layout, const struct heft_claim *claim,
                                  struct heft_error *err)
{
    struct heft_buf text = {0};
    struct heft_str out;

    if (claim->of.n == 0)
        return claim->what;
    heft_buf_text(&text, claim->what);
    heft_buf_escaped(&text, claim->of);
    return heft_buf_take(&text, layout->arena, &out, err) ? out.p : NULL;
}

/* Kind of a storage without a label, after its first user: tensor or blob. */
static const char *kind_of(const struct layout *layout, uint32_t storage)
{
    const uint32_t use = layout->first_use[storage];
    const size_t n = layout->model->n_rows;

    return use == HEFT_NONE || layout->uses[use].row < n
               ? "tensor"
               : layout->model->blobs[layout->uses[use].row - n].kind;
}

/* Text of a storage: "storage data/0: layer.weight, layer.tied". */
static const char *describe_storage(struct layout *layout, uint32_t storage, struct heft_error *err)
{
    const struct heft_model *model = layout->model;
    const struct heft_str label = model->storages[storage].label;
    const struct heft_storage_more *const more = model->storages[storage].more;
    const char *const what = more ? more->what : NULL;
    struct heft_buf text = {0};
    struct heft_str out;
    unsigned shown = 0;

    if (label.n) {
        heft_buf_text(&text, what ? what : "storage ");
        heft_buf_escaped(&text, label);
    } else {
        heft_buf_text(&text, kind_of(layout, storage));
    }
    for (uint32_t i = layout->first_use[storage]; i != HEFT_NONE; i = layout->uses[i].next) {
        if (shown == NAMES_SHOWN) {
            heft_buf_text(&text, ", …");
            break;
        }
        heft_buf_text(&text, shown++ ? ", " : label.n ? ": " : " ");
        name_use(model, &layout->uses[i], &text);
    }
    if (!shown && !what)
        heft_buf_text(&text, ", used by no tensor");
    if (model->storages[storage].is_missing)
        heft_buf_text(&text, ", cut off");
    return heft_buf_take(&text, layout->arena, &out, err) ? out.p : NULL;
}

static void add_segment(struct layout *layout, uint32_t source, uint64_t off, uint64_t len,
                        const char *what)
{
    layout->segments[layout->count++] =
        (struct heft_segment){.size = sizeof(struct heft_segment),
                              .file = layout->model->sources[source].number,
                              .offset = off,
                              .bytes = len,
                              .what = what ? what : "unclaimed",
                              .claimed = what != NULL};
}

/* Adds a gap: unclaimed bytes. Zeros count as padding if the writer of the file is known to pad. */
static bool add_gap(struct layout *layout, uint32_t source, uint64_t off, uint64_t len,
                    struct heft_error *err)
{
    const struct heft_model_source *const s = &layout->model->sources[source];
    bool zeros = false;

    if (s->pads && !heft_source_zeros(&s->source, off, len, &zeros, err))
        return false;
    add_segment(layout, source, off, len, zeros ? "padding (zeros)" : NULL);
    return true;
}

/* Claim of an extent; NULL if it is a storage. */
static const struct heft_claim *claim_of(const struct heft_model *model, const struct extent *e)
{
    return e->which < model->n_claims ? &model->claims[e->which] : NULL;
}

static bool report_overlap(const struct heft_model *model, const struct extent *e, uint64_t end,
                           struct heft_error *err)
{
    const struct heft_claim *claim = claim_of(model, e);

    heft_fail(err, HEFT_MALFORMED, e->off, "%s%s overlaps bytes up to 0x%" PRIx64,
              claim ? claim->what : "tensor data", claim ? claim->of.p : "", end);
    return heft_error_file(err, model->sources[e->source].path);
}

/* Makes the segments of one source from its sorted extents. */
static bool walk_source(struct layout *layout, uint32_t source, const struct extent *all, size_t n,
                        struct heft_error *err)
{
    uint64_t at = 0;
    bool in_claim = false;

    for (size_t i = 0; i < n; i++) {
        const struct extent *e = &all[i];
        const struct heft_claim *claim = claim_of(layout->model, e);
        const char *what;

        if (e->off < at) {
            if (in_claim && !claim && e->len <= at - e->off)
                continue;
            if (claim || in_claim)
                return report_overlap(layout->model, e, at, err);
        }
        if (e->off > at && !add_gap(layout, source, at, e->off - at, err))
            return false;
        what = claim ? describe_claim(layout, claim, err)
                     : describe_storage(layout, e->which - (uint32_t)layout->model->n_claims, err);
        if (!what)
            return false;
        add_segment(layout, source, e->off, e->len, what);
        layout->segments[layout->count - 1].overlaps = e->off < at;
        at = heft_max_u64(at, e->off + e->len); /* inside the source: validated */
        in_claim = claim != NULL;
    }
    return at >= layout->model->sources[source].source.size ||
           add_gap(layout, source, at, layout->model->sources[source].source.size - at, err);
}

static bool claims_inside(const struct heft_model *model, struct heft_error *err)
{
    for (size_t i = 0; i < model->n_claims; i++) {
        const struct heft_claim *c = &model->claims[i];

        if (!heft_within(c->off, c->len, model->sources[c->source].source.size)) {
            heft_fail(err, HEFT_MALFORMED, c->off, "%s%s reaches past the end of the file", c->what,
                      c->of.p);
            return heft_error_file(err, model->sources[c->source].path);
        }
    }
    return true;
}

/* Upper bound of the number of segments: the extents, the gaps before them, and a gap at the end
 * of each source. */
static size_t count_segments(const struct heft_model *model, const struct extent *all, size_t n)
{
    size_t count = n + model->n_sources;
    uint64_t at = 0;

    for (size_t i = 0; i < n; i++) {
        if (i && all[i].source != all[i - 1].source)
            at = 0;
        count += all[i].off > at;
        at = heft_max_u64(at, all[i].off + all[i].len); /* inside the source: validated */
    }
    return count;
}

bool heft_model_map(const struct heft_model *model, struct heft_arena *arena,
                    const struct heft_segment **segments, size_t *count, struct heft_error *err)
{
    struct layout layout = {.model = model, .arena = arena};
    size_t n = 0, first = 0, end;
    struct extent *all;

    if (!claims_inside(model, err) || !(all = collect_extents(model, arena, &n, err)) ||
        !link_rows(&layout, err))
        return false;
    layout.segments =
        heft_arena_zero(arena, count_segments(model, all, n) + 1, sizeof *layout.segments, err);
    if (!layout.segments)
        return false;
    for (uint32_t source = 0; source < model->n_sources; source++) {
        for (end = first; end < n && all[end].source == source; end++)
            continue;
        if (model->sources[source].is_file &&
            !walk_source(&layout, source, all + first, end - first, err))
            return false;
        first = end;
    }
    *segments = layout.segments;
    *count = layout.count;
    return true;
}
