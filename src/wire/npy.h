/* npy.h: the header of a NumPy file, as numpy.lib.format reads and writes it (doc/format/npy.md).
 *
 *     "\x93NUMPY" 01 00 | u16 length | {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
 *                       | spaces | \n         the whole is a multiple of 64; room is left for the
 *                                             first dimension to grow to 21 digits
 *     02 00 and 03 00 have a u32 length; 03 00 is UTF-8, the others are Latin-1
 *
 * The text is a literal of Python: it is parsed, never evaluated. */
#ifndef HEFT_NPY_H
#define HEFT_NPY_H

#include "base/mem.h"
#include "heft/types.h"

/* ---- writing ---- */

/* "<f4" and the like; NULL where NumPy has no such type (BF16, F8…). */
const char *heft_npy_descr(enum heft_dtype dtype);
/* Appends the header of a C-order array; failures stick in buf. */
void heft_npy_header(struct heft_buf *buf, const char *descr, unsigned rank, const uint64_t *shape);

/* ---- reading ---- */

enum { HEFT_NPY_HEAD = 12 };         /* bytes that tell how long a header is */
enum { HEFT_NPY_RANK = 64 };         /* dimensions, as NumPy 2 */
enum { HEFT_NPY_LONGEST = 1 << 16 }; /* bytes of a header; NumPy itself stops at 10000 */

enum heft_npy_kind {
    HEFT_NPY_NUMBERS,
    HEFT_NPY_TEXTS,   /* "<U5": UTF-32 */
    HEFT_NPY_BYTES,   /* "|S5" */
    HEFT_NPY_DATES,   /* "<M8[D]", "<m8[ns]" */
    HEFT_NPY_VOIDS,   /* "|V2" */
    HEFT_NPY_OBJECTS, /* "|O": the data are a pickle */
    HEFT_NPY_RECORDS, /* a list of fields, or a type with a shape of its own */
    HEFT_NPY_LONG,    /* "<f16": a long double of the machine that wrote it, or two */
    HEFT_NPY_UNKNOWN  /* what NumPy does not know either */
};

struct heft_npy_type {
    uint8_t kind;
    uint8_t dtype; /* of NUMBERS */
    bool is_big;
    uint64_t each; /* bytes of an element; 0 where nothing is known of them */
};

struct heft_npy {
    struct heft_npy_type type;
    struct heft_str descr; /* as the header has it, for people: a part of it, without quotes */
    bool is_fortran;
    bool repeats; /* a key is there twice: the last one counts, as for NumPy */
    uint8_t version;
    uint8_t rank;
    uint64_t shape[HEFT_NPY_RANK];
    uint64_t count, bytes; /* of the array */
    uint64_t data;         /* where that begins, from the header's begin on */
};

/* "f4", "<i8", "float32", "?": what NumPy makes of a text. */
struct heft_npy_type heft_npy_type_of(struct heft_str code);
/* How long the header is that begins with these bytes (HEFT_NPY_HEAD of them, or all there are),
 * of which the first is at `base` of the file. */
HEFT_CHECKED bool heft_npy_length(struct heft_bytes head, uint64_t base, size_t *length,
                                  struct heft_error *err);
/* Reads a header: all of its bytes. Borrows them. `base` as above; HEFT_NO_OFFSET: of no file. */
HEFT_CHECKED bool heft_npy_parse(struct heft_npy *out, struct heft_bytes header, uint64_t base,
                                 struct heft_error *err);

#endif
