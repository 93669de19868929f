/* heft_restore.c: public API: how a SavedModel is restored, and where the bytes of its variables
 * are. tf_restore.c provides the steps, the opened checkpoint the bytes. */
#include "base/require_arg.h"
#include "base/sized.h"
#include "api/checkpoint.h"
#include "format/tensorflow/bundle/tf_parts.h"
#include "format/tensorflow/restore/tf_restore.h"
#include "heft/heft.h"

/* Most steps in the search for parts that slices touch; no model needs as many. */
#define MOST_LOOKS UINT64_C(100000000)

struct piece {
    uint32_t part; /* part of the row; HEFT_NONE if the row is whole */
};
struct span {
    size_t first, n; /* range of pieces */
    uint32_t row;
};

struct heft_restore {
    struct heft_checkpoint *c;
    struct heft_arena mem;
    struct heft_tf_saved saved;
    struct heft_tf_restore walk;
    struct piece *pieces;
    struct span *spans; /* one per target */
    size_t n_pieces, cap_pieces;
    uint64_t looks;
};

/* ---- pieces of the targets ---- */

static bool add_piece(struct heft_restore *r, uint32_t part, struct heft_error *err)
{
    if (!heft_grow(&r->pieces, &r->cap_pieces, r->n_pieces, 1, sizeof *r->pieces, err))
        return false;
    r->pieces[r->n_pieces++] = (struct piece){part};
    return true;
}

/* True if a part and a slice share an element. */
static bool shares_element(const struct heft_row *row, const struct heft_part *part,
                           const struct heft_tf_spec *slice)
{
    for (unsigned i = 0; i < row->rank; i++)
        if (part->start[i] + part->extent[i] <= slice->start[i] ||
            slice->start[i] + slice->extent[i] <= part->start[i])
            return false;
    return true;
}

/* Row-major range from the first element of the slice to just after its last. */
static void range_of(const struct heft_row *row, const struct heft_tf_spec *slice, uint64_t *first,
                     uint64_t *end)
{
    *first = *end = 0;
    for (unsigned i = 0; i < row->rank; i++) {
        *first = *first * row->shape[i] + slice->start[i];
        *end = *end * row->shape[i] + (slice->start[i] + slice->extent[i] - 1);
    }
    ++*end;
}

/* Adds the parts that the slice touches. Parts are sorted by their start, and `reach` is
 * ascending. */
static bool add_met(struct heft_restore *r, const struct heft_row *row,
                    const struct heft_tf_spec *slice, struct heft_error *err)
{
    const struct heft_parts *const parts = row->parts;
    uint64_t first, end;
    uint32_t low = 0, high = parts->n;

    range_of(row, slice, &first, &end);
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;

        if (parts->list[middle].reach <= first)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < parts->n && parts->list[low].first < end; low++) {
        if (r->looks++ == MOST_LOOKS)
            return heft_fail(err, HEFT_LIMIT, HEFT_NO_OFFSET, "too many slices and parts");
        if (shares_element(row, &parts->list[low], slice) && !add_piece(r, low, err))
            return false;
    }
    return true;
}

/* Parses a slice of the row; one that does not fit means the whole row. */
static bool slice_of(const struct heft_row *row, struct heft_str text, struct heft_tf_spec *out)
{
    const char *why;

    return text.n && heft_tf_spec_parse(text, out, &why) && out->rank == row->rank &&
           memcmp(out->shape, row->shape, row->rank * sizeof *row->shape) == 0;
}

static bool locate_target(struct heft_restore *r, size_t i, struct heft_error *err)
{
    const struct heft_model *const model = &r->c->model;
    const struct heft_tf_name *const name = r->walk.targets[i].name;
    const struct heft_row *row;
    struct heft_tf_spec slice;
    bool ok = true;

    r->spans[i].first = r->n_pieces;
    r->spans[i].row = heft_model_row(model, name->key);
    if (r->spans[i].row == HEFT_NONE)
        return true;
    row = &model->rows[r->spans[i].row];
    if (!row->parts)
        ok = add_piece(r, HEFT_NONE, err);
    else if (!heft_row_is_shaped(row) && slice_of(row, name->spec, &slice))
        ok = add_met(r, row, &slice, err);
    else
        for (uint32_t k = 0; ok && k < row->parts->n; k++)
            ok = ++r->looks < MOST_LOOKS && add_piece(r, k, err);
    r->spans[i].n = r->n_pieces - r->spans[i].first;
    return ok;
}

static bool locate_all(struct heft_restore *r, struct heft_error *err)
{
    r->spans = heft_calloc(r->walk.n_targets + 1, sizeof *r->spans, err);
    for (size_t i = 0; r->spans && i < r->walk.n_targets; i++)
        if (!locate_target(r, i, err))
            return false;
    return r->spans != NULL;
}

/* ---- opening ---- */

static bool judge_checkpoint(struct heft_restore *r, struct heft_error *err)
{
    uint8_t *const used = heft_calloc(r->c->model.n_rows + 1, 1, err);
    const bool ok = used && heft_tf_restore_judge(&r->walk, used) &&
                    (r->saved.n_graphs > 1 || heft_tf_restore_unused(&r->walk, used));

    heft_free(used);
    return ok;
}

static bool check_kind(const struct heft_restore *r, struct heft_error *err)
{
    return r->saved.form.kind != HEFT_TF_GRAPH_DEF ||
           heft_fail(
               err, HEFT_UNSUPPORTED, HEFT_NO_OFFSET,
               "a GraphDef does not restore a checkpoint: only a SavedModel or a .meta file does");
}

/* The file PREFIX.meta beside PREFIX.index, which holds the graph of that checkpoint; NULL if
 * absent. */
static const char *find_meta(struct heft_restore *r, struct heft_error *err)
{
    const struct heft_model *const model = &r->c->model;

    for (size_t i = 0; i < model->n_sources; i++) {
        const struct heft_str path = heft_str_of(model->sources[i].path);
        const char *meta;

        if (!model->sources[i].is_file || !heft_str_ends(path, ".index"))
            continue;
        meta =
            heft_arena_printf(&r->mem, err, "%.*s.meta", (int)(path.n - strlen(".index")), path.p);
        if (!meta || heft_files_kind(model->files, meta) == HEFT_PATH_FILE)
            return meta;
    }
    return NULL;
}

static bool refuse_kind(struct heft_restore *r, struct heft_error *err)
{
    struct heft_error found = {0};
    const char *const meta = find_meta(r, &found);

    if (!meta && found.code != HEFT_OK) {
        *err = found;
        return false;
    }
    return heft_fail(
        err, HEFT_UNSUPPORTED, HEFT_NO_OFFSET,
        "a %s file does not restore a checkpoint: only a SavedModel or a .meta file does%s%s",
        r->c->model.format, meta ? "; the graph of this one is in " : "", meta ? meta : "");
}

static bool open_walk(struct heft_restore *r, const char *tags, struct heft_error *err)
{
    const struct heft_model *const model = &r->c->model;
    const uint32_t source = heft_tf_restore_source(model);
    size_t number;

    if (source == HEFT_NONE)
        return refuse_kind(r, err);
    if (heft_tf_names_objects(model))
        return heft_fail(
            err, HEFT_USAGE, HEFT_NO_OFFSET,
            "variables are restored from keys: open the checkpoint with keys as names");
    return (heft_tf_saved_read(&r->saved, &model->sources[source].source, &r->mem, err) &&
            check_kind(r, err) && heft_tf_restore_choose(&r->saved, tags, &number, err) &&
            heft_tf_restore_open(&r->walk, model, source, &r->saved, number, err) &&
            judge_checkpoint(r, err) && locate_all(r, err)) ||
           heft_error_file(err, model->sources[source].path);
}

struct heft_restore *heft_restore_new(struct heft_checkpoint *c,
                                      const struct heft_restore_options *options,
                                      struct heft_error *err)
{
    if (!heft_require_arg(c, "a checkpoint", err))
        return NULL;
    struct heft_restore_options o;
    struct heft_restore *const r =
        HEFT_TAKE(heft_restore_options, &o, options, err) ? heft_calloc(1, sizeof *r, err) : NULL;

    if (!r)
        return NULL;
    r->c = c;
    if (open_walk(r, o.tags, err))
        return r;
    heft_restore_free(r);
    return NULL;
}

void heft_restore_free(struct heft_restore *r)
{
    if (!r)
        return;
    heft_tf_restore_close(&r->walk);
    heft_tf_saved_release(&r->saved);
    heft_arena_release(&r->mem);
    heft_free(r->pieces);
    heft_free(r->spans);
    heft_free(r);
}

/* ---- results for the caller ---- */

/* Texts of the file are NUL-terminated; absent ones are NULL. */
static const char *text_of(struct heft_str text)
{
    return text.n ? text.p : "";
}

static const char *dtype_of(uint32_t number)
{
    const struct heft_tf_dtype *const dtype = heft_tf_dtype(number);

    if (!dtype || number == 0)
        return "";
    return dtype->dtype == HEFT_DTYPE_COUNT ? dtype->name : heft_dtype_name(dtype->dtype);
}

const char *heft_restore_tag(const struct heft_restore *r, size_t index)
{
    if (!r)
        return NULL;
    return index < r->walk.graph->n_tags ? text_of(r->walk.graph->tags[index]) : NULL;
}

void heft_restore_metagraph(const struct heft_restore *r, size_t *number, size_t *count)
{
    if (!(r && number && count))
        return;
    *number = r->walk.number;
    *count = r->saved.n_graphs;
}

bool heft_restore_step_at(const struct heft_restore *r, size_t index, struct heft_restore_step *out)
{
    if (!(r && out))
        return false;
    const struct heft_tf_step *step;
    struct heft_restore_step found;

    if (index >= r->walk.n_steps)
        return false;
    step = &r->walk.steps[index];
    found =
        (struct heft_restore_step){.kind = step->kind,
                                   .depth = step->depth,
                                   .node = text_of(step->node),
                                   .op = text_of(step->op),
                                   .function = text_of(step->function),
                                   .offset = step->where,
                                   .text = step->text,
                                   .key = "",
                                   .slice = "",
                                   .dtype = "",
                                   .target = step->target == HEFT_NONE ? SIZE_MAX : step->target};
    if (step->name) {
        found.key = text_of(step->name->key);
        found.slice = text_of(step->name->spec);
        found.dtype = dtype_of(step->name->dtype);
        found.index = step->name->number;
        found.takers = step->name->takers;
    }
    HEFT_FILL(heft_restore_step, out, &found);
    return true;
}

bool heft_restore_target_at(const struct heft_restore *r, size_t index,
                            struct heft_restore_target *out)
{
    if (!(r && out))
        return false;
    const struct heft_tf_target *t;
    struct heft_restore_target found;

    if (index >= r->walk.n_targets)
        return false;
    t = &r->walk.targets[index];
    found = (struct heft_restore_target){
        .variable = text_of(t->variable),
        .node = text_of(t->node),
        .op = text_of(t->op),
        .by = text_of(t->by),
        .role = t->role,
        .object = text_of(t->object),
        .key = text_of(t->name->key),
        .slice = text_of(t->name->spec),
        .dtype = dtype_of(t->dtype),
        .has_shape = t->has_shape,
        .rank = t->has_shape ? t->shape.rank : 0,
        .shape = t->shape.dims,
        .tensor = r->spans[index].row == HEFT_NONE ? SIZE_MAX : r->spans[index].row,
        .pieces = r->spans[index].n};
    HEFT_FILL(heft_restore_target, out, &found);
    return true;
}

bool heft_restore_piece_at(const struct heft_restore *r, size_t target, size_t piece,
                           struct heft_restore_piece *out)
{
    if (!(r && out))
        return false;
    const struct heft_model *const model = &r->c->model;
    const struct heft_storage *storage;
    const struct heft_row *row;
    struct heft_place place;
    struct heft_restore_piece found;
    uint32_t part, number;

    if (target >= r->walk.n_targets || piece >= r->spans[target].n)
        return false;
    row = &model->rows[r->spans[target].row];
    part = r->pieces[r->spans[target].first + piece].part;
    number = part == HEFT_NONE ? row->storage : row->parts->list[part].storage;
    storage = &model->storages[number];
    place = heft_checkpoint_place(r->c, number,
                                  part == HEFT_NONE ? row->offset : row->parts->list[part].offset);
    found = (struct heft_restore_piece){.file = place.file,
                                        .offset = place.offset,
                                        .bytes = storage->len,
                                        .has_sum = storage->sum != HEFT_SUM_NONE,
                                        .has_crc = storage->sum == HEFT_SUM_CRC32C,
                                        .crc = storage->crc};
    HEFT_FILL(heft_restore_piece, out, &found);
    return true;
}

bool heft_restore_finding_at(const struct heft_restore *r, size_t index, struct heft_finding *out)
{
    if (!(r && out))
        return false;
    const struct heft_tf_finding *f;

    if (index >= r->walk.n_findings)
        return false;
    f = &r->walk.findings[index];
    HEFT_FILL(heft_finding, out,
              &((struct heft_finding){.severity = f->severity,
                                      .file = r->c->model.sources[f->source].path,
                                      .offset = f->where,
                                      .text = f->text}));
    return true;
}
