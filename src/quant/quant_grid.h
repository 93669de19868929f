/* quant_grid.h: weights that are codes times a grid of scales.
 *
 *     codes [.., rows, columns]      element (r, c) of a slice = value[code] · scale(r / bm, c / bn)
 *     scales [.., gr, gc]            scale = stored scale, or that times (or divided by) one factor a slice
 *
 * Each operation in F32, rounded once; no FMA. FP8 in all its forms, MXFP4, NVFP4, I8 with one scale a row. */
#ifndef HEFT_QUANT_GRID_H
#define HEFT_QUANT_GRID_H

#include "quant/quant.h"

enum heft_quant_code {
    HEFT_QUANT_CODE_BYTE, /* one byte: F8_E4M3, F8_E5M2, I8, by the dtype of the row */
    HEFT_QUANT_CODE_E2M1  /* a 4-bit float (E2M1); two in a byte, the low nibble first */
};
enum heft_quant_factor { HEFT_QUANT_NO_FACTOR, HEFT_QUANT_TIMES, HEFT_QUANT_DIVIDED };

struct heft_quant_grid {
    const struct heft_row *codes, *scales;
    const struct heft_row *factor; /* F32: one for the tensor, or one for each slice; or NULL */
    enum heft_quant_code code;
    enum heft_quant_factor how;
    /* dtype of the stored scales: F32, BF16, F16, F8_E8M0 (also of U8 rows), F8_E4M3 */
    enum heft_dtype scale_as;
    uint64_t rows, columns;             /* of a slice; columns count elements */
    uint64_t block_rows, block_columns; /* of the elements of one scale */
    uint64_t grid_rows, grid_columns;   /* scales of a slice */
    bool one_slice;                     /* all slices have the scales of the first */
};

/* After codes, scales and code: sets rows and columns and the dtype of the scales. Refuses other dtypes, and a
 * weight of fewer than two dimensions. */
HEFT_CHECKED bool heft_quant_grid_begin(struct heft_quant *q, struct heft_quant_grid *grid);
/* Sets blocks of the size (rows, columns); the scales must be [.., ⌈rows/bm⌉, ⌈columns/bn⌉]. */
HEFT_CHECKED bool heft_quant_grid_blocks(struct heft_quant *q, struct heft_quant_grid *grid,
                                         const uint64_t block[2]);
/* Adds the derived row of a grid, whose shape is that of the codes with `columns`, in the place of `row`.
 * `identity` names the scheme; the grid's parameters are appended. */
HEFT_CHECKED bool heft_quant_grid_add(struct heft_quant *q, uint32_t row, struct heft_str name,
                                      const struct heft_quant_grid *grid, enum heft_dtype as,
                                      const char *identity);

#endif
