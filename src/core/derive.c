/* derive.c: see derive.h. */
#include "core/derive.h"

bool heft_derived_refuse(uint64_t n, enum heft_dtype to, struct heft_error *err)
{
    return heft_fail(err, HEFT_UNSUPPORTED, HEFT_NO_OFFSET,
                     "%" PRIu64 " dequantized %s beyond the range of %s%s", n,
                     n == 1 ? "value is" : "values are", heft_dtype_name(to),
                     to == HEFT_F16 ? "; option dequantize takes BF16 or F32, too" : "");
}

bool heft_derived_make_as(struct heft_reader *reader, const struct heft_row *row,
                          enum heft_dtype as, uint64_t from, uint64_t n, uint8_t *out,
                          struct heft_error *err)
{
    const struct heft_recipe *const recipe = row->parts->recipe;
    const uint64_t each = heft_dtype_element_bytes(as);
    uint64_t overflowed = 0;

    return recipe->make_as(recipe, reader, as, from / each, n / each, out, &overflowed, err) &&
           (overflowed == 0 || heft_derived_refuse(overflowed, as, err));
}

bool heft_derive_named(const char *text, enum heft_dtype *out, struct heft_error *err)
{
    *out = HEFT_DTYPE_COUNT;
    if (!*text || (heft_dtype_named(text, out) &&
                   (*out == HEFT_BF16 || *out == HEFT_F16 || *out == HEFT_F32)))
        return true;
    return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                     "option dequantize: '%.40s': expected BF16, F16 or F32", text);
}

bool heft_derived_dtype(const struct heft_row *row, const char *asked, enum heft_dtype *out,
                        struct heft_error *err)
{
    *out = (enum heft_dtype)row->dtype;
    if (heft_row_is_derived(row))
        *out = (enum heft_dtype)row->parts->recipe->as;
    else if (asked && heft_dtype_is_scaled(*out) && !heft_derive_named(asked, out, err))
        return false;
    if (*out == HEFT_DTYPE_COUNT)
        *out = HEFT_F32;
    return true;
}

/* ---- the derived model --------------------------------------------------------------------- */

static bool fill_names(struct heft_model *out, struct heft_error *err)
{
    size_t twice;
    uint32_t first;

    out->names_ascend = true;
    for (size_t i = 1; i < out->n_rows && out->names_ascend; i++)
        out->names_ascend = heft_str_cmp(out->rows[i - 1].name, out->rows[i].name) < 0;
    if (out->names_ascend)
        return true;
    if (!heft_strmap_add_column(&out->names, &out->rows->name, sizeof *out->rows, out->n_rows, 0,
                                &twice, &first, err))
        return false;
    if (twice == out->n_rows)
        return true;
    heft_fail(err, HEFT_MALFORMED, HEFT_NO_OFFSET,
              "two tensors would have this name after dequantizing");
    return heft_error_about(err, "tensor", out->rows[twice].name);
}

/* `behind` of a blob counts rows of the opened model before it. */
static bool move_blobs(struct heft_model *out, const struct heft_derived_rows *rows,
                       struct heft_arena *mem, struct heft_error *err)
{
    struct heft_model_blob *const blobs =
        heft_arena_zero(mem, out->n_blobs + 1, sizeof *blobs, err);
    size_t row = 0;

    if (!blobs)
        return false;
    for (size_t i = 0; i < out->n_blobs; i++) {
        while (row < rows->n && rows->from[row] < out->blobs[i].behind)
            row++;
        blobs[i] = out->blobs[i];
        blobs[i].behind = row;
    }
    out->blobs = blobs;
    return true;
}

bool heft_derived_model(struct heft_model *out, const struct heft_model *model,
                        const struct heft_derived_rows *rows, struct heft_arena *mem,
                        struct heft_error *err)
{
    *out = *model;
    out->rows = rows->list;
    out->n_rows = rows->n;
    out->no_shared_storage = false;
    out->has_tree = false; /* the objects of the file are about the stored tensors */
    out->names = (struct heft_strmap){0};
    return move_blobs(out, rows, mem, err) && fill_names(out, err);
}

void heft_derived_model_release(struct heft_model *derived)
{
    heft_strmap_release(&derived->names);
}
