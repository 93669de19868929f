/* numpy_array.c: arrays of NumPy as tensors, and tensors as arrays.
 *
 *     numbers      a row: strides where the order is Fortran's, bytes swapped where it is '>'
 *     all others   named, with the reason why they are no tensors */
#include "format/numpy_parts.h"

#define NAMES_SHOWN 8  /* of metadata that is left out */
#define DESCR_SHOWN 80 /* bytes of a type */

/* ---- reading --------------------------------------------------------------------------------- */

/* Fortran's strides: the first dimension is packed. */
static const uint64_t *fortran_strides(struct heft_model *model, const struct heft_npy *npy,
                                       struct heft_error *err)
{
    uint64_t *stride = heft_arena_u64(&model->mem, npy->rank, err);
    uint64_t step = 1;

    for (unsigned i = 0; stride && i < npy->rank; i++) {
        stride[i] = step;
        step *= npy->shape[i]; /* the product was checked */
    }
    return stride;
}

static bool add_row(struct heft_model *model, const struct heft_numpy_array *array,
                    struct heft_error *err)
{
    const struct heft_npy *npy = &array->npy;
    const bool is_turned = npy->is_fortran && npy->rank > 1 && npy->count > 0;
    const char *name = heft_arena_text(&model->mem, array->name, err);
    uint64_t *shape = name ? heft_arena_u64(&model->mem, npy->rank, err) : NULL;
    struct heft_row row = {.name = {name, array->name.n},
                           .shape = shape,
                           .offset = array->begin,
                           .dtype = npy->type.dtype,
                           .rank = npy->rank};

    if (!shape || (is_turned && !(row.stride = fortran_strides(model, npy, err))))
        return false;
    memcpy(shape, npy->shape, npy->rank * sizeof *shape);
    if (npy->type.is_big && heft_dtype_info((enum heft_dtype)row.dtype)->word > 1)
        row.flags = HEFT_ROW_SWAP;
    return heft_model_add_storage(model, &array->storage, &row.storage, err) &&
           heft_model_add_row(model, &row, err);
}

static const char *reason(const struct heft_npy *npy)
{
    switch ((enum heft_npy_kind)npy->type.kind) {
    case HEFT_NPY_OBJECTS:
        return "an array of Python objects, which are a pickle: scan looks into it";
    case HEFT_NPY_RECORDS:
        return "an array of records, not of numbers";
    case HEFT_NPY_TEXTS:
    case HEFT_NPY_BYTES:
        return "an array of texts";
    case HEFT_NPY_DATES:
        return "an array of dates or times";
    case HEFT_NPY_VOIDS:
        return "an array of bytes without a meaning (V); other libraries write types so that NumPy "
               "lacks, as bfloat16";
    default:
        return "a type that heft does not know";
    }
}

static bool add_unreadable(struct heft_model *model, const struct heft_numpy_array *array,
                           struct heft_error *err)
{
    const struct heft_str descr = array->npy.descr;
    const char *why =
        heft_arena_printf(&model->mem, err, "type %.*s: %s",
                          (int)heft_min_u64(descr.n, DESCR_SHOWN), descr.p, reason(&array->npy));
    struct heft_storage storage = array->storage;
    uint32_t index;

    storage.is_other = true;
    return why && heft_model_add_storage(model, &storage, &index, err) &&
           heft_model_add_unreadable(model, array->name, storage.source, array->where, why, err);
}

static bool check_length(struct heft_model *model, const struct heft_numpy_array *array,
                         struct heft_error *err)
{
    const uint64_t there = array->storage.len - array->begin, wanted = array->npy.bytes;

    if (wanted > there) {
        heft_fail(err, HEFT_MALFORMED, array->where,
                  "an array of %" PRIu64 " bytes, %" PRIu64 " are there", wanted, there);
        return heft_error_about(err, "array", array->name);
    }
    if (array->npy.repeats &&
        !heft_model_note(model, HEFT_NOTE, array->storage.source, array->where, err,
                         "npy header of %.200s: a key is there twice; the last one counts",
                         array->name.p))
        return false;
    return true;
}

bool heft_numpy_add(struct heft_model *model, const struct heft_numpy_array *array,
                    struct heft_error *err)
{
    return check_length(model, array, err) &&
           (array->npy.type.kind == HEFT_NPY_NUMBERS ? add_row : add_unreadable)(model, array, err);
}

/* ---- writing --------------------------------------------------------------------------------- */

bool heft_numpy_holds(enum heft_dtype dtype)
{
    return heft_npy_descr(dtype) != NULL;
}

bool heft_numpy_header(struct heft_plan *plan, const struct heft_item *item,
                       struct heft_str *header, struct heft_error *err)
{
    const char *descr = heft_npy_descr((enum heft_dtype)item->as);
    struct heft_buf buf = {0};
    bool ok;

    if (!descr) {
        heft_fail(err, HEFT_UNSUPPORTED, HEFT_NO_OFFSET, "NumPy has no %s",
                  heft_dtype_name((enum heft_dtype)item->as));
        return heft_error_about(err, "tensor", item->name);
    }
    heft_npy_header(&buf, descr, item->row->rank, item->row->shape);
    ok = heft_buf_ok(&buf, err) && heft_buf_take(&buf, plan->mem, header, err);
    heft_buf_release(&buf);
    return ok;
}

bool heft_numpy_note_metadata(struct heft_plan *plan, const struct heft_cargo *cargo,
                              struct heft_error *err)
{
    struct heft_buf text = {0};
    struct heft_str line;

    if (cargo->n_metadata == 0)
        return true;
    heft_buf_text(&text, "left out, NumPy files have no metadata: ");
    for (size_t i = 0; i < cargo->n_metadata && i < NAMES_SHOWN; i++) {
        heft_buf_text(&text, i ? ", " : "");
        heft_buf_str(&text, cargo->metadata[i].key);
    }
    if (cargo->n_metadata > NAMES_SHOWN)
        heft_buf_printf(&text, " and %zu more", cargo->n_metadata - NAMES_SHOWN);
    return heft_buf_take(&text, plan->mem, &line, err) && heft_plan_note(plan, line.p, err);
}
