/* tf_write_pieces.c: the lists of a bundle that is planned, and what is put into its pieces. */
#include "format/tensorflow/bundle/tf_bundle.h"
#include "format/tensorflow/write/tf_write.h"
#include "wire/sstable_write.h"

bool heft_tf_out_piece(struct heft_tf_out *out, const struct heft_tf_piece *piece,
                       struct heft_error *err)
{
    if (!heft_budget_take(out->plan->mem->budget, sizeof *piece, err) ||
        !heft_grow(&out->pieces, &out->cap_pieces, out->n_pieces, 1, sizeof *piece, err))
        return false;
    out->pieces[out->n_pieces++] = *piece;
    return true;
}

bool heft_tf_out_line(struct heft_tf_out *out, const struct heft_tf_line *line,
                      struct heft_error *err)
{
    if (!heft_budget_take(out->plan->mem->budget, sizeof *line, err) ||
        !heft_grow(&out->lines, &out->cap_lines, out->n_lines, 1, sizeof *line, err))
        return false;
    out->lines[out->n_lines++] = *line;
    return true;
}

bool heft_tf_out_swap(struct heft_tf_out *out, const struct heft_model *model,
                      const struct heft_storage *storage, struct heft_tf_piece *piece,
                      struct heft_error *err)
{
    struct heft_tf_swapped *swapped;

    if (heft_storage_check(storage) == heft_tf_check_variants_big)
        return heft_fail(err, HEFT_UNSUPPORTED, HEFT_NO_OFFSET,
                         "variants of big-endian bundles cannot be written: their content may be "
                         "big-endian, too");
    if (heft_storage_check(storage) != heft_tf_check_strings_big || storage->len == 0)
        return true;
    swapped = heft_arena_alloc(out->plan->mem, sizeof *swapped, err);
    if (!swapped)
        return false;
    if (!heft_tf_swap_strings(model, storage, swapped, err))
        return heft_error_file(err, model->sources[storage->source].path);
    piece->swapped = swapped;
    piece->crc = heft_crc_mask(swapped->crc);
    return true;
}

/* True for what follows the prefix in the file names of a bundle: ".index",
 * ".data-00000-of-00001". */
bool heft_tf_in_set(struct heft_str rest)
{
    static const char form[] = ".data-00000-of-00000";

    if (heft_str_is(rest, ".index"))
        return true;
    if (rest.n != sizeof form - 1)
        return false;
    for (size_t i = 0; i < rest.n; i++)
        if (form[i] == '0' ? rest.p[i] < '0' || rest.p[i] > '9' : rest.p[i] != form[i])
            return false;
    return true;
}

bool heft_tf_put_string(struct heft_str text, struct heft_arena *mem, struct heft_str *bytes,
                        uint32_t *crc, struct heft_error *err)
{
    struct heft_buf buf = {0};
    uint32_t sum = 0;

    heft_tf_put_length(&buf, text.n, &sum);
    heft_tf_put_sum(&buf, &sum);
    heft_tf_put_text(&buf, text, &sum);
    *crc = heft_crc_mask(sum);
    return heft_buf_take(&buf, mem, bytes, err);
}
