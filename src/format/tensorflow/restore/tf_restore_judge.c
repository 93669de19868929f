/* tf_restore_judge.c: checks that a checkpoint provides what its graph restores.
 *
 *    name of a restore op    the checkpoint has the key with that dtype, and the slice is within it
 *    variable                its dtype and shape are those of the value it receives
 *    key                     it is read by someone */
#include "base/text.h"
#include "format/tensorflow/bundle/tf_parts.h"
#include "format/tensorflow/restore/tf_restore.h"

#define TEXT(s) (int)heft_min_u64((s).n, 120), (s).p

/* ---- texts of dtypes and shapes ---- */

static const char *dtype_name(uint32_t number)
{
    const struct heft_tf_dtype *const dtype = heft_tf_dtype(number);

    if (!dtype)
        return "?";
    return dtype->dtype == HEFT_DTYPE_COUNT ? dtype->name : heft_dtype_name(dtype->dtype);
}

/* "[2, 3]" */
struct shape_text {
    char p[200];
};
static struct shape_text shape_text(unsigned rank, const uint64_t *dims)
{
    struct shape_text out = {"["};
    size_t at = 1;
    struct heft_error piece;

    for (unsigned i = 0; i < rank; i++) {
        heft_fail(&piece, HEFT_OK, 0, dims[i] == UINT64_MAX ? "%s?" : "%s%" PRIu64, i ? ", " : "",
                  dims[i]);
        if (at + strlen(piece.text) + 8 > sizeof out.p) {
            memcpy(out.p + at, ", …", sizeof ", …" - 1);
            at += sizeof ", …" - 1;
            break;
        }
        memcpy(out.p + at, piece.text, strlen(piece.text));
        at += strlen(piece.text);
    }
    out.p[at++] = ']';
    out.p[at] = '\0';
    return out;
}

/* ---- checking names ---- */

static bool judge_spec(struct heft_tf_restore *r, const struct heft_tf_read *read,
                       const struct heft_tf_name *name, const struct heft_row *row)
{
    struct heft_tf_spec spec;
    const char *why;

    if (name->spec.n == 0)
        return true;
    if (!heft_tf_spec_parse(name->spec, &spec, &why))
        return heft_tf_restore_find(r, HEFT_FINDING, read->where, "%.*s: \"%.*s\" of %.*s %s",
                                    TEXT(read->node), TEXT(name->spec), TEXT(name->key), why);
    if (spec.rank == row->rank &&
        memcmp(spec.shape, row->shape, spec.rank * sizeof *spec.shape) == 0)
        return true;
    return heft_tf_restore_find(
        r, HEFT_FINDING, read->where, "%.*s reads a slice of %.*s as %s, the tensor is %s",
        TEXT(read->node), TEXT(name->key), shape_text(spec.rank, spec.shape).p,
        shape_text(row->rank, row->shape).p);
}

static bool is_unreadable(const struct heft_model *model, struct heft_str key)
{
    for (size_t i = 0; i < model->n_unreadable; i++)
        if (heft_str_eq(model->unreadable[i].name, key))
            return true;
    return false;
}

static bool judge_name(struct heft_tf_restore *r, const struct heft_tf_read *read,
                       const struct heft_tf_name *name, uint8_t *used)
{
    const uint32_t at = heft_model_row(r->model, name->key);
    const struct heft_row *row;

    if (at == HEFT_NONE)
        return (r->model->n_unreadable < 1000 && is_unreadable(r->model, name->key)) ||
               heft_tf_restore_find(r, HEFT_FINDING, read->where,
                                    "%.*s reads \"%.*s\", which is not in the checkpoint",
                                    TEXT(read->node), TEXT(name->key));
    used[at] = 1;
    row = &r->model->rows[at];
    if (name->dtype && strcmp(dtype_name(name->dtype), heft_dtype_name(row->dtype)) != 0 &&
        !heft_tf_restore_find(r, HEFT_FINDING, read->where,
                              "%.*s reads \"%.*s\" as %s, the tensor is %s", TEXT(read->node),
                              TEXT(name->key), dtype_name(name->dtype),
                              heft_dtype_name(row->dtype)))
        return false;
    return judge_spec(r, read, name, row);
}

/* ---- checking variables ---- */

/* The shape that a target receives; false if an error was already reported for it. */
static bool given_shape(const struct heft_tf_restore *r, const struct heft_tf_name *name,
                        struct heft_tf_spec *out)
{
    const uint32_t at = heft_model_row(r->model, name->key);
    const char *why;

    if (name->spec.n)
        return heft_tf_spec_parse(name->spec, out, &why);
    if (at == HEFT_NONE || r->model->rows[at].rank > HEFT_SLICE_RANK)
        return false;
    out->rank = r->model->rows[at].rank;
    if (out->rank)
        memcpy(out->extent, r->model->rows[at].shape, out->rank * sizeof *out->extent);
    return true;
}

static bool fits_shape(const struct heft_tf_shape *shape, unsigned rank, const uint64_t *extent)
{
    bool ok = shape->rank == rank;

    for (unsigned i = 0; ok && i < rank; i++)
        ok = shape->dims[i] < 0 || (uint64_t)shape->dims[i] == extent[i];
    return ok;
}

static bool judge_target(struct heft_tf_restore *r, const struct heft_tf_target *t)
{
    struct heft_tf_spec given;

    if (t->dtype && t->name->dtype && t->dtype != t->name->dtype && !t->is_cast &&
        !heft_tf_restore_find(r, HEFT_FINDING, t->where,
                              "%.*s is %s and receives %s, from \"%.*s\"", TEXT(t->variable),
                              dtype_name(t->dtype), dtype_name(t->name->dtype), TEXT(t->name->key)))
        return false;
    if (!t->has_shape || t->is_reshaped || !given_shape(r, t->name, &given) ||
        fits_shape(&t->shape, given.rank, given.extent))
        return true;
    return heft_tf_restore_find(r, HEFT_FINDING, t->where,
                                "%.*s is %s and receives %s, from \"%.*s\"", TEXT(t->variable),
                                shape_text(t->shape.rank, (const uint64_t *)t->shape.dims).p,
                                shape_text(given.rank, given.extent).p, TEXT(t->name->key));
}

bool heft_tf_restore_judge(struct heft_tf_restore *r, uint8_t *used)
{
    const struct heft_tf_saver *const saver = &r->graph->saver;

    if (!heft_tf_restore_has_checkpoint(r))
        return true;
    if (heft_tf_names_objects(r->model))
        return heft_tf_restore_find(
            r, HEFT_NOTE, HEFT_NO_OFFSET,
            "not compared with the graph: tensors are named by objects, the graph restores keys");
    if ((!saver->present || saver->restore_op.n == 0) && r->model->n_rows &&
        !heft_tf_restore_find(r, HEFT_NOTE, r->graph->at.off,
                              "the checkpoint is never restored: no saver"))
        return false;
    for (size_t i = 0; i < r->n_reads; i++)
        for (uint32_t k = 0; k < r->reads[i].n; k++)
            if (!judge_name(r, &r->reads[i], &r->reads[i].names[k], used))
                return false;
    for (size_t i = 0; i < r->n_targets; i++)
        if (!judge_target(r, &r->targets[i]))
            return false;
    return heft_tf_restore_objects(r, used);
}

/* ---- keys that nothing reads ---- */

/* True for optimizer state and counters, which a model for inference does not read. */
static bool is_bookkeeping(struct heft_str key)
{
    static const char *const parts[] = {"*.OPTIMIZER_SLOT/*",
                                        "optimizer/*",
                                        "*/optimizer/*",
                                        "save_counter/*",
                                        "global_step*",
                                        "beta?_power*",
                                        "*/Adam",
                                        "*/Adam_1",
                                        "*/Momentum",
                                        "*/RMSProp",
                                        "*/RMSProp_1",
                                        "*/Adagrad",
                                        "*/Ftrl",
                                        "*/Ftrl_1",
                                        "*/adam_m",
                                        "*/adam_v",
                                        "*/ExponentialMovingAverage"};

    for (size_t i = 0; i < HEFT_COUNT(parts); i++)
        if (heft_glob_match(heft_str_of(parts[i]), key))
            return true;
    return false;
}

/* False for constants of the graph, which are not keys of the checkpoint. */
static bool is_of_model(const struct heft_tf_restore *r, const struct heft_row *row)
{
    const uint32_t source = r->model->storages[heft_row_storage(row, 0)].source;

    return source == r->source ||
           (!r->model->sources[source].is_file && r->model->sources[source].origin == r->source);
}

bool heft_tf_restore_unused(struct heft_tf_restore *r, const uint8_t *used)
{
    const struct heft_model *const model = r->model;
    const size_t n = heft_tf_names_objects(model) ? 0 : model->n_rows;

    for (size_t i = 0; i < n; i++) {
        const struct heft_row *const row = &model->rows[i];
        const struct heft_storage *const storage = &model->storages[heft_row_storage(row, 0)];

        if (used[i] || heft_str_is(row->name, HEFT_TF_OBJECT_KEY) || is_of_model(r, row))
            continue;
        if (!heft_tf_restore_find(r, is_bookkeeping(row->name) ? HEFT_NOTE : HEFT_FINDING,
                                  HEFT_NO_OFFSET, "\"%.*s\" is not restored to any variable",
                                  TEXT(row->name)))
            return false;
        r->findings[r->n_findings - 1].source = storage->source;
    }
    return true;
}
