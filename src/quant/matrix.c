/* matrix.c: see matrix.h. A box is read as a row of rank 2 with strides of its own (core/gather.c). */
#include "quant/matrix.h"

static bool refuse_row(const struct heft_row *row, const char *how, struct heft_error *err)
{
    heft_fail(err, HEFT_UNSUPPORTED, HEFT_NO_OFFSET,
              "is stored %s, so that it cannot be dequantized; convert it to safetensors first",
              how);
    return heft_error_about(err, "tensor", row->name);
}

static uint64_t step_of(const struct heft_row *row, unsigned dim)
{
    uint64_t step = 1;

    if (row->stride)
        return row->stride[dim];
    for (unsigned d = row->rank; d - 1 > dim; d--)
        step *= row->shape[d - 1];
    return step;
}

/* Joins the dimensions before the last one. */
static bool join_rows(const struct heft_row *row, struct heft_matrix *out, struct heft_error *err)
{
    const unsigned last = row->rank - 2u;

    out->step[0] = step_of(row, last);
    out->rows = row->shape[last];
    for (unsigned d = last; d > 0; d--) {
        if (row->shape[d - 1] != 1 && step_of(row, d - 1) != out->rows * out->step[0])
            return refuse_row(row, "with strides", err);
        out->rows *= row->shape[d - 1];
    }
    return true;
}

bool heft_matrix_of(const struct heft_row *row, struct heft_matrix *out, struct heft_error *err)
{
    *out = (struct heft_matrix){.row = row, .rows = 1, .columns = 1, .step = {1, 1}};
    if (row->parts)
        return refuse_row(row, "in parts", err);
    if (row->rank == 0)
        return true;
    if (row->rank == 1) {
        out->rows = row->shape[0];
        out->step[0] = step_of(row, 0);
        return true;
    }
    out->columns = row->shape[row->rank - 1];
    out->step[1] = step_of(row, row->rank - 1u);
    return join_rows(row, out, err);
}

void heft_matrix_transpose(struct heft_matrix *m)
{
    const struct heft_matrix old = *m;

    m->rows = old.columns;
    m->columns = old.rows;
    m->step[0] = old.step[1];
    m->step[1] = old.step[0];
}

bool heft_matrix_read(const struct heft_matrix *m, struct heft_reader *reader,
                      const struct heft_box *box, void *dst, struct heft_error *err)
{
    const uint32_t each = heft_dtype_block_bytes((enum heft_dtype)m->row->dtype);
    const uint64_t shape[2] = {box->rows, box->columns};
    const bool is_packed =
        (m->step[1] == 1 || box->columns == 1) && (box->rows == 1 || m->step[0] == box->columns);
    struct heft_row part = *m->row;

    if (box->rows == 0 || box->columns == 0)
        return true;
    part.shape = shape;
    part.rank = 2;
    part.stride = is_packed ? NULL : m->step;
    part.offset += (box->row * m->step[0] + box->column * m->step[1]) * each;
    part.bytes = box->rows * box->columns * each;
    return heft_reader_row(reader, &part, 0, dst, (size_t)part.bytes, err) ||
           heft_error_about(err, "tensor", m->row->name);
}
