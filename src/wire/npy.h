/* npy.h: the header of a NumPy file, byte-exact as numpy.lib.format writes it (specs: huggingface
 * §4.1).
 *
 *     "\x93NUMPY" 01 00 | u16 length | {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
 * | spaces | \n the whole is a multiple of 64; room is left for the first dimension to grow to 21
 * digits
 */
#ifndef HEFT_NPY_H
#define HEFT_NPY_H

#include "base/mem.h"
#include "heft/types.h"

/* "<f4" and the like; NULL where NumPy has no such type (BF16, F8…). */
const char *heft_npy_descr(enum heft_dtype dtype);
/* Appends the header of a C-order array; failures stick in buf. */
void heft_npy_header(struct heft_buf *buf, const char *descr, unsigned rank, const uint64_t *shape);

#endif
