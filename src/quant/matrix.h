/* matrix.h: reads boxes of stored rows as matrices, also transposed ones. */
#ifndef HEFT_MATRIX_H
#define HEFT_MATRIX_H

#include "core/reader.h"

/* A stored row as a matrix; its leading dimensions count as rows. */
struct heft_matrix {
    const struct heft_row *row; /* NULL: there is none */
    uint64_t rows, columns;
    uint64_t step[2]; /* elements from one row to the next, and from one column to the next */
};
struct heft_box {
    uint64_t row, rows, column, columns;
};

/* The matrix of a validated row of a plain dtype: of rank 2 or more, or a vector as one column.
 * HEFT_UNSUPPORTED for rows in parts, and for strides of leading dimensions that cannot be joined. */
HEFT_CHECKED bool heft_matrix_of(const struct heft_row *row, struct heft_matrix *out,
                                 struct heft_error *err);
/* Exchanges rows and columns. */
void heft_matrix_transpose(struct heft_matrix *matrix);
/* Reads the elements of a box, row-major and little-endian. */
HEFT_CHECKED bool heft_matrix_read(const struct heft_matrix *matrix, struct heft_reader *reader,
                                   const struct heft_box *box, void *dst, struct heft_error *err);

#endif
