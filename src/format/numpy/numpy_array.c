/* numpy_array.c: converts arrays of NumPy to tensors, and tensors to array headers.
 *
 *     numbers      a row: with strides if in Fortran order, with bytes swapped if '>'
 *     texts        values (numpy_texts.c)
 *     dates, void  blobs, with type and shape in the file info
 *     all others   named, with the reason why they are not tensors */
#include "format/numpy/numpy_parts.h"

#include "wire/zip.h"

#define DESCR_SHOWN    80                   /* bytes of a type in messages */
#define MOST_INFLATED  ((uint64_t)32 << 20) /* bytes of decompressed blobs in memory … */
#define LEAST_INFLATED 4096                 /* … each of which counts as so many at least */

/* ---- rows ------------------------------------------------------------------------------------ */

/* Strides of Fortran order: the first dimension is contiguous. */
static const uint64_t *fortran_strides(struct heft_model *model, const struct heft_npy *npy,
                                       struct heft_error *err)
{
    uint64_t *stride = heft_arena_u64(&model->mem, npy->rank, err);
    uint64_t step = 1;

    for (unsigned i = 0; stride && i < npy->rank; i++) {
        stride[i] = step;
        step *= npy->shape[i]; /* cannot overflow: the product was checked */
    }
    return stride;
}

static bool add_row(struct heft_model *model, const struct heft_numpy_array *array,
                    struct heft_error *err)
{
    const struct heft_npy *npy = &array->npy;
    const bool is_turned = npy->is_fortran && npy->rank > 1 && npy->count > 0;
    uint64_t *shape = heft_arena_u64(&model->mem, npy->rank, err);
    struct heft_row row = {.name = array->name,
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

static const char *reason_for(const struct heft_npy *npy)
{
    switch ((enum heft_npy_kind)npy->type.kind) {
    case HEFT_NPY_OBJECTS:
        return "an array of Python objects, which are a pickle: scan looks into it";
    case HEFT_NPY_RECORDS:
        return "an array of records, not of numbers";
    case HEFT_NPY_LONG:
        return "a long double, whose format is the one of the machine that wrote it";
    default:
        return "NumPy has no such type";
    }
}

static bool add_unreadable(struct heft_model *model, const struct heft_numpy_array *array,
                           const char *because, struct heft_error *err)
{
    const struct heft_str descr = array->npy.descr;
    struct heft_storage storage = array->storage;
    struct heft_buf why = {0}; /* the model keeps a copy, shared by equal reasons */
    uint32_t index;
    bool ok;

    storage.is_other = true;
    heft_buf_printf(&why, "type %.*s: %s", (int)heft_min_u64(descr.n, DESCR_SHOWN), descr.p,
                    because);
    ok = heft_buf_ok(&why, err) && heft_model_add_storage(model, &storage, &index, err) &&
         heft_model_add_unreadable(model, array->name, storage.source, array->where, why.p, err);
    heft_buf_release(&why);
    return ok;
}

/* ---- values and blobs ------------------------------------------------------------------------ */

bool heft_numpy_fetch(const struct heft_model *model, const struct heft_numpy_array *array,
                      struct heft_arena *mem, struct heft_bytes *out, struct heft_error *err)
{
    const struct heft_storage *s = &array->storage;
    const struct heft_source *src = &model->sources[s->source].source;
    const struct heft_zip_entry entry = {.name = s->label,
                                         .data = s->off,
                                         .packed = s->packed,
                                         .size = s->len,
                                         .crc = s->crc,
                                         .method = HEFT_ZIP_DEFLATED};

    if (s->coding == HEFT_CODING_RAW)
        return heft_source_fetch(src, s->off + array->begin, array->npy.bytes, mem, out, err);
    if (!heft_zip_fetch(src, &entry, s->len, true, mem, out, err))
        return false;
    out->p += array->begin;
    out->n = (size_t)array->npy.bytes;
    return true;
}

static bool add_texts(struct heft_model *model, const struct heft_numpy_array *array,
                      struct heft_numpy_texts *texts, struct heft_error *err)
{
    struct heft_storage storage = array->storage;
    const char *why = NULL;
    uint32_t index;

    if (!heft_numpy_add_texts(model, array, texts, &why, err))
        return false;
    if (why)
        return add_unreadable(model, array, why, err);
    storage.is_other = true;
    return heft_model_add_storage(model, &storage, &index, err);
}

/* Adds type and shape of a blob to the file info. */
static bool report_file_info(struct heft_model *model, const struct heft_numpy_array *array,
                             struct heft_numpy_texts *texts, struct heft_error *err)
{
    const struct heft_npy *npy = &array->npy;
    struct heft_node *about, *arrays, *shape;

    if (texts->is_full)
        return true;
    texts->nodes += 4U + npy->rank;
    if (texts->nodes > heft_numpy_most_nodes(model)) {
        texts->nodes = heft_numpy_most_nodes(model);
        texts->is_full = true;
        return heft_model_note(model, HEFT_NOTE, array->storage.source, array->where, err,
                               "from here on, types and shapes of dates and void are not listed");
    }
    about = heft_model_file_info(model, err);
    if (!about)
        return false;
    arrays = about->last && strcmp(about->last->value.key, "arrays") == 0
                 ? about->last
                 : heft_tree_dict(&model->mem, about, HEFT_STR("arrays"), err);
    arrays = arrays ? heft_tree_dict(&model->mem, arrays, array->name, err) : NULL;
    if (!arrays || !heft_tree_text(&model->mem, arrays, HEFT_STR("descr"), npy->descr, err) ||
        !heft_tree_bool(&model->mem, arrays, HEFT_STR("fortran_order"), npy->is_fortran, err))
        return false;
    shape = heft_tree_list(&model->mem, arrays, HEFT_STR("shape"), err);
    for (unsigned i = 0; shape && i < npy->rank; i++)
        if (!heft_tree_number(&model->mem, shape, HEFT_STR(""), (int64_t)npy->shape[i], err))
            return false;
    return shape != NULL;
}

/* A blob is a whole storage. A deflated storage includes the array's header, so its data is
 * decompressed into a storage of its own. */
static bool inflate_blob(struct heft_model *model, const struct heft_numpy_array *array,
                         uint32_t *storage, struct heft_error *err)
{
    struct heft_storage packed = array->storage, plain = {.label = packed.label};
    struct heft_bytes bytes;
    uint32_t index;

    packed.is_other = true;
    plain.len = plain.packed = array->npy.bytes;
    return heft_numpy_fetch(model, array, &model->mem, &bytes, err) &&
           heft_model_add_memory(model, bytes, array->name.p, packed.source, packed.off,
                                 packed.packed, &plain.source, err) &&
           heft_model_add_storage(model, &packed, &index, err) &&
           heft_model_add_storage(model, &plain, storage, err);
}

static bool add_blob(struct heft_model *model, const struct heft_numpy_array *array,
                     struct heft_numpy_texts *texts, struct heft_error *err)
{
    const char *kind = array->npy.type.kind == HEFT_NPY_DATES ? "date array" : "void array";
    const uint64_t cost = heft_max_u64(array->storage.len, LEAST_INFLATED);
    uint32_t storage;

    if (array->storage.coding == HEFT_CODING_DEFLATE) {
        if (cost > MOST_INFLATED - texts->inflated)
            return add_unreadable(model, array, "beyond what is inflated into memory: 32 MiB", err);
        texts->inflated += cost;
        if (!inflate_blob(model, array, &storage, err))
            return false;
    } else if (!heft_model_add_storage(model, &array->storage, &storage, err)) {
        return false;
    }
    return heft_model_add_blob(model, array->name, storage, kind, err) &&
           report_file_info(model, array, texts, err);
}

/* ---- adding an array ------------------------------------------------------------------------- */

static bool check_length(struct heft_model *model, const struct heft_numpy_array *array,
                         struct heft_error *err)
{
    const uint64_t there = array->storage.len - array->begin, wanted = array->npy.bytes;

    if (wanted > there)
        return heft_fail(err, HEFT_MALFORMED, array->where,
                         "an array of %" PRIu64 " bytes, %" PRIu64 " are there", wanted, there);
    return !array->npy.repeats ||
           heft_model_note(model, HEFT_NOTE, array->storage.source, array->where, err,
                           "npy header of %.*s: a key occurs twice; the last one counts",
                           (int)heft_min_u64(array->name.n, 200), array->name.p);
}

bool heft_numpy_add(struct heft_model *model, const struct heft_numpy_array *array,
                    struct heft_numpy_texts *texts, struct heft_error *err)
{
    if (!check_length(model, array, err))
        return false;
    switch ((enum heft_npy_kind)array->npy.type.kind) {
    case HEFT_NPY_NUMBERS:
        return add_row(model, array, err);
    case HEFT_NPY_TEXTS:
    case HEFT_NPY_BYTES:
        return add_texts(model, array, texts, err);
    case HEFT_NPY_DATES:
    case HEFT_NPY_VOIDS:
        return add_blob(model, array, texts, err);
    default:
        return add_unreadable(model, array, reason_for(&array->npy), err);
    }
}

/* ---- headers of new arrays ------------------------------------------------------------------- */

bool heft_numpy_supports_dtype(enum heft_dtype dtype)
{
    return heft_npy_descr(dtype) != NULL;
}

bool heft_numpy_header(struct heft_plan *plan, const struct heft_export_item *item,
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
