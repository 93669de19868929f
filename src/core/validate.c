/* validate.c: validation of an opened model. Readers append untrusted rows, storages and names;
 * heft_model_validate is the only place that checks them, and all later code relies on it. */
#include "base/text.h"
#include "core/model.h"
#include "core/parts.h"

/* Extent of the innermost dimension; a scalar counts as one element. */
static uint64_t innermost_extent(unsigned rank, const uint64_t *shape)
{
    return rank > 0 ? shape[rank - 1] : 1;
}

static bool splits_block(enum heft_dtype dtype, unsigned rank, const uint64_t *shape)
{
    return heft_dtype_is_scaled(dtype) &&
           innermost_extent(rank, shape) % heft_dtype_block_elements(dtype) != 0;
}

static inline bool row_size(enum heft_dtype dtype, unsigned rank, const uint64_t *shape,
                            uint64_t *bytes)
{
    uint64_t n = 1;
    bool fits = true, empty = false;

    if (splits_block(dtype, rank, shape))
        return false;
    for (unsigned i = 0; i < rank; i++) {
        empty |= shape[i] == 0;
        fits = fits && heft_mul(n, shape[i], &n);
    }
    if (empty) {
        *bytes = 0;
        return true;
    }
    return fits && heft_dtype_bytes(dtype, n, bytes);
}

bool heft_row_size(enum heft_dtype dtype, unsigned rank, const uint64_t *shape, uint64_t *bytes)
{
    return row_size(dtype, rank, shape, bytes);
}

bool heft_row_check_size(const struct heft_row *row, uint64_t *bytes, uint64_t at,
                         struct heft_error *err)
{
    const enum heft_dtype dtype = (enum heft_dtype)row->dtype;

    if (row_size(dtype, row->rank, row->shape, bytes))
        return true;
    if (splits_block(dtype, row->rank, row->shape))
        return heft_fail(err, HEFT_MALFORMED, at,
                         "innermost extent %" PRIu64
                         " is not a multiple of %u, the elements in a block of %s",
                         innermost_extent(row->rank, row->shape), heft_dtype_block_elements(dtype),
                         heft_dtype_name(dtype));
    return heft_fail(err, HEFT_MALFORMED, at,
                     "shape × element size is not a whole number of bytes below 2^64");
}

bool heft_row_size_as(const struct heft_row *row, enum heft_dtype as, uint64_t *bytes,
                      struct heft_error *err)
{
    if (row_size(as, row->rank, row->shape, bytes))
        return true;
    if (splits_block(as, row->rank, row->shape))
        heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                  "cast to %s: the innermost extent %" PRIu64
                  " is not a multiple of %u, the elements in its blocks",
                  heft_dtype_name(as), innermost_extent(row->rank, row->shape),
                  heft_dtype_block_elements(as));
    else
        heft_fail(err, HEFT_LIMIT, HEFT_NO_OFFSET, "2^64 bytes or more after the cast");
    return heft_error_about(err, "tensor", row->name);
}

bool heft_row_check_decodes(const struct heft_row *row, struct heft_error *err)
{
    if (!(row->flags & HEFT_ROW_RAW))
        return true;
    heft_fail(err, HEFT_UNSUPPORTED, HEFT_NO_OFFSET,
              "%s in a big-endian file: writers disagree about the byte order of its scales, so "
              "that its blocks can only be copied",
              heft_dtype_name((enum heft_dtype)row->dtype));
    return heft_error_about(err, "tensor", row->name);
}

/* A row of varying-length elements occupies its whole storage. */
static bool check_varying(struct heft_row *row, const struct heft_storage *storage,
                          struct heft_error *err)
{
    uint64_t n = 1;

    for (unsigned i = 0; i < row->rank; i++)
        if (!heft_mul(n, row->shape[i], &n))
            return heft_fail(err, HEFT_MALFORMED, storage->off,
                             "the shape has 2^64 elements or more");
    row->bytes = storage->len;
    return (row->offset == 0 && !row->stride && row->flags == 0) ||
           heft_fail(err, HEFT_MALFORMED, storage->off,
                     "a view of varying-length elements, which must fill their storage");
}

/* Row-major: each dimension of extent 2 or more has the stride of a packed array. */
static bool is_row_major(const struct heft_row *row)
{
    uint64_t want = 1;

    for (unsigned i = row->rank; i > 0; i--) {
        if (row->shape[i - 1] == 1)
            continue;
        if (row->stride[i - 1] != want)
            return false;
        want *= row->shape[i - 1]; /* no overflow: the product was checked before */
    }
    return true;
}

/* Strides need elements of whole bytes; scaled blocks cannot be byte-swapped or negated either. */
static bool check_view(const struct heft_row *row, uint64_t at, struct heft_error *err)
{
    const enum heft_dtype dtype = (enum heft_dtype)row->dtype;

    if (row->stride && !heft_dtype_is_plain(dtype))
        return heft_fail(err, HEFT_UNSUPPORTED, at,
                         "%s with strides: %u elements share %u bytes, so it must be row-major",
                         heft_dtype_name(dtype), heft_dtype_block_elements(dtype),
                         heft_dtype_block_bytes(dtype));
    if ((row->flags & ~HEFT_ROW_RAW) && heft_dtype_is_scaled(dtype))
        return heft_fail(err, HEFT_UNSUPPORTED, at,
                         "%s in another byte order, or conjugated or negated: its blocks can "
                         "only be copied",
                         heft_dtype_name(dtype));
    return true;
}

bool heft_row_extent(const struct heft_row *row, uint64_t *extent)
{
    uint64_t last = 0, step;

    if (!row->stride || row->bytes == 0) {
        *extent = row->bytes;
        return true;
    }
    for (unsigned i = 0; i < row->rank; i++)
        if (!heft_mul(row->shape[i] - 1, row->stride[i], &step) || !heft_add(last, step, &last))
            return false;
    return heft_add(last, 1, &last) && heft_dtype_bytes((enum heft_dtype)row->dtype, last, extent);
}

bool heft_model_check_geometry(const struct heft_model *model, struct heft_row *row,
                               struct heft_error *err)
{
    const struct heft_storage *const storage = &model->storages[row->storage];
    uint64_t extent;

    row->original_strides = row->stride;
    if (heft_dtype_varies((enum heft_dtype)row->dtype))
        return check_varying(row, storage, err);
    if (!heft_row_check_size(row, &row->bytes, storage->off, err))
        return false;
    if (row->bytes == 0) {
        row->stride = NULL;
        return row->offset <= storage->len ||
               heft_fail(err, HEFT_MALFORMED, storage->off,
                         "starts at byte %" PRIu64 " of a storage of %" PRIu64, row->offset,
                         storage->len);
    }
    if (row->stride && is_row_major(row))
        row->stride = NULL;
    if (!check_view(row, storage->off, err))
        return false;
    if (!heft_row_extent(row, &extent))
        return heft_fail(err, HEFT_MALFORMED, storage->off, "strides overflow 64 bits");
    if (!heft_within(row->offset, extent, storage->len))
        return heft_fail(err, HEFT_MALFORMED, storage->off,
                         "needs %" PRIu64 " bytes at offset %" PRIu64 " of a storage of %" PRIu64,
                         extent, row->offset, storage->len);
    if (row->bytes / 16 > storage->len && row->bytes > model->limits.view)
        return heft_fail(err, HEFT_LIMIT, storage->off,
                         "expands %" PRIu64 " stored bytes to %" PRIu64 ", the limit is %" PRIu64,
                         storage->len, row->bytes, model->limits.view);
    return true;
}

/* Whether the size of the previous row applies to this one: same shape (by pointer), dtype and
 * flags, and a storage of exactly that many bytes. True for most rows, because readers share the
 * array of a repeated shape. */
static inline bool is_alike(const struct heft_row *row, const struct heft_row *before,
                            const struct heft_storage *storage)
{
    return before && row->shape == before->shape && row->rank == before->rank &&
           row->dtype == before->dtype && row->flags == before->flags && !before->parts &&
           !row->stride && row->offset == 0 && storage->len == before->bytes;
}

/* `before`: the previous row, already checked; or NULL. */
static inline bool check_row(struct heft_model *model, struct heft_row *row,
                             const struct heft_row *before, struct heft_error *err)
{
    const struct heft_storage *storage;

    if (row->parts && row->parts->n > 0)
        row->storage = row->parts->list[0].storage; /* for error messages */
    if (row->storage >= model->n_storages || (unsigned)row->dtype >= HEFT_DTYPE_COUNT)
        return heft_fail(err, HEFT_MALFORMED, HEFT_NO_OFFSET,
                         "the row has no valid storage or dtype");
    storage = &model->storages[row->storage];
    if (row->rank > model->limits.rank)
        return heft_fail(err, HEFT_LIMIT, storage->off, "%u dimensions, the limit is %" PRIu64,
                         row->rank, model->limits.rank);
    if (row->name.n > model->limits.name)
        return heft_fail(err, HEFT_LIMIT, storage->off,
                         "a name of %zu bytes, the limit is %" PRIu64, row->name.n,
                         model->limits.name);
    if (heft_utf8_check((struct heft_bytes){(const uint8_t *)row->name.p, row->name.n}) !=
        row->name.n)
        return heft_fail(err, HEFT_MALFORMED, storage->off, "the name is not valid UTF-8");
    if (row->parts)
        return heft_parts_validate(model, row, err);
    if (!is_alike(row, before, storage))
        return heft_model_check_geometry(model, row, err);
    row->original_strides = NULL;
    row->bytes = before->bytes;
    return true;
}

bool heft_model_check_row(struct heft_model *model, struct heft_row *row, struct heft_error *err)
{
    return check_row(model, row, NULL, err);
}

static inline bool check_storage(const struct heft_model *model, const struct heft_storage *storage,
                                 struct heft_error *err)
{
    const struct heft_source *source;

    if (storage->source >= model->n_sources)
        return heft_fail(err, HEFT_MALFORMED, HEFT_NO_OFFSET, "storage without a source");
    source = &model->sources[storage->source].source;
    if (!storage->is_missing && !heft_within(storage->off, storage->packed, source->size)) {
        heft_fail(err, HEFT_MALFORMED, storage->off,
                  "%" PRIu64 " bytes of tensor data start here, but the file ends at %" PRIu64,
                  storage->packed, source->size);
        return heft_error_file(err, source->label);
    }
    return storage->coding != HEFT_CODING_RAW || storage->len == storage->packed ||
           heft_fail(err, HEFT_MALFORMED, storage->off, "an uncompressed storage with two lengths");
}

bool heft_model_check_storage(const struct heft_model *model, const struct heft_storage *storage,
                              struct heft_error *err)
{
    return check_storage(model, storage, err);
}

/* Adds the names of the tensor and the file to an error. */
static bool blame_row(const struct heft_model *model, const struct heft_row *row,
                      struct heft_error *err)
{
    heft_error_about(err, "tensor", row->name);
    if (row->storage < model->n_storages)
        heft_error_file(err, model->sources[model->storages[row->storage].source].path);
    return false;
}

/* Number of the file that holds a row. */
static uint32_t file_number_of(const struct heft_model *model, const struct heft_row *row)
{
    return model->sources[model->storages[row->storage].source].number;
}

static bool check_unique(struct heft_model *model, struct heft_error *err)
{
    const struct heft_row *rows = model->rows;
    size_t twice;
    uint32_t first;

    if (model->names_ascend)
        return true;
    if (!heft_strmap_add_column(&model->names, &rows->name, sizeof *rows, model->n_rows, 0, &twice,
                                &first, err))
        return false;
    if (twice == model->n_rows)
        return true;
    if (file_number_of(model, &rows[first]) == file_number_of(model, &rows[twice]))
        heft_fail(err, HEFT_MALFORMED, model->storages[rows[twice].storage].off,
                  "a second tensor of this name; names must be unique");
    else
        heft_fail(
            err, HEFT_MALFORMED, model->storages[rows[twice].storage].off,
            "a second tensor of this name: %s has one. Files with the same names may be ranks "
            "of a model-parallel save (consolidated.00.pth, mp_rank_00), which rules files put "
            "together; without rules, open each by itself",
            model->sources[model->storages[rows[first].storage].source].path);
    return blame_row(model, &rows[twice], err);
}

static bool check_storages(const struct heft_model *model, size_t from, struct heft_error *err)
{
    for (size_t i = from; i < model->n_storages; i++)
        if (!check_storage(model, &model->storages[i], err))
            return false;
    return true;
}

/* Checks rows and storages in one pass, and records two properties that save work later: names
 * in ascending order, and one storage for each row. */
static bool check_rows(struct heft_model *model, struct heft_error *err)
{
    bool ascend = true, apart = true;

    for (size_t i = 0; i < model->n_rows; i++) {
        struct heft_row *row = &model->rows[i];

        if (i < model->n_storages && !check_storage(model, &model->storages[i], err))
            return false;
        if (!check_row(model, row, i > 0 ? row - 1 : NULL, err))
            return blame_row(model, row, err);
        ascend = ascend && (i == 0 || heft_str_cmp(row[-1].name, row->name) < 0);
        apart = apart && !row->parts && row->storage == i;
    }
    model->names_ascend = ascend;
    model->no_shared_storage = apart;
    return check_storages(model, heft_min_size(model->n_rows, model->n_storages), err);
}

/* An invalid storage is reported in preference to an invalid row: it is often the cause. */
static bool check_all(struct heft_model *model, struct heft_error *err)
{
    struct heft_error found = {0};

    if (check_rows(model, &found))
        return true;
    if (check_storages(model, 0, err))
        *err = found;
    return false;
}

static bool note_taken_tie(struct heft_model *model, const struct heft_pair *tie,
                           struct heft_error *err)
{
    return heft_model_tell(model, tie->source, err,
                           "the metadata says that %.200s is %.200s; another file has a tensor of "
                           "that name, which takes precedence",
                           tie->key.p, tie->value.p);
}

/* Drops recorded ties whose dropped name is a tensor of another file. Their records stay in
 * tie_names, so that they do not return as metadata; lookups find the tensor first. */
static bool validate_ties(struct heft_model *model, struct heft_error *err)
{
    size_t kept = 0;

    for (size_t i = 0; i < model->n_ties; i++) {
        const struct heft_pair tie = model->ties[i];
        const bool is_tie = heft_model_row(model, tie.key) == HEFT_NONE;

        if (!heft_strmap_set(&model->tie_names, tie.key, (uint32_t)kept, err) ||
            (!is_tie && !note_taken_tie(model, &tie, err)))
            return false;
        if (is_tie)
            model->ties[kept++] = tie;
    }
    model->n_ties = kept;
    return true;
}

bool heft_model_validate(struct heft_model *model, struct heft_error *err)
{
    if ((model->salvage && !heft_model_drop_lost(model, err)) || !heft_model_merge(model, err))
        return false;
    if (!check_all(model, err) || !heft_model_number_names(model, err) ||
        !check_unique(model, err) || !heft_model_validate_blobs(model, err))
        return false;
    return validate_ties(model, err);
}
