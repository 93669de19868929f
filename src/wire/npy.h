/* npy.h: the header of a NumPy file, read and written as numpy.lib.format does (doc/format/npy.md).
 *
 *     "\x93NUMPY" 01 00 | u16 length | {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
 *                       | spaces | \n         the total is a multiple of 64; the first dimension
 *                                             can grow to 21 digits
 *     02 00 and 03 00 have a u32 length; 03 00 is UTF-8, the others are Latin-1
 *
 * The text is a Python literal: it is parsed, never evaluated. */
#ifndef HEFT_NPY_H
#define HEFT_NPY_H

#include "base/mem.h"
#include "heft/types.h"

/* ---- writing ---- */

/* For example "<f4"; NULL if NumPy has no such type (BF16, F8…). */
const char *heft_npy_descr(enum heft_dtype dtype);
/* Appends the header of a C-order array; errors are sticky in buf. */
void heft_npy_header(struct heft_buf *buf, const char *descr, unsigned rank, const uint64_t *shape);

/* ---- reading ---- */

enum { HEFT_NPY_HEAD = 12 };         /* bytes needed to know a header's length */
enum { HEFT_NPY_RANK = 64 };         /* dimensions, as in NumPy 2 */
enum { HEFT_NPY_LONGEST = 1 << 16 }; /* bytes of a header; NumPy's own limit is 10000 */

enum heft_npy_kind {
    HEFT_NPY_NUMBERS,
    HEFT_NPY_TEXTS,   /* "<U5": UTF-32 */
    HEFT_NPY_BYTES,   /* "|S5" */
    HEFT_NPY_DATES,   /* "<M8[D]", "<m8[ns]" */
    HEFT_NPY_VOIDS,   /* "|V2" */
    HEFT_NPY_OBJECTS, /* "|O": the data are a pickle */
    HEFT_NPY_RECORDS, /* a list of fields, or a type with a sub-array shape */
    HEFT_NPY_LONG,    /* "<f16": long double of the writer's machine, or a pair of them */
    HEFT_NPY_UNKNOWN  /* unknown to NumPy, too */
};

struct heft_npy_type {
    uint8_t kind;
    uint8_t dtype; /* for HEFT_NPY_NUMBERS: enum heft_dtype */
    bool is_big;
    uint64_t each; /* bytes of an element; 0 if unknown */
};

struct heft_npy {
    struct heft_npy_type type;
    struct heft_str descr; /* as written in the header, without quotes, cut to a readable length */
    bool is_fortran;
    bool repeats; /* a key occurs twice: the last one counts, as in NumPy */
    uint8_t version;
    uint8_t rank;
    uint64_t shape[HEFT_NPY_RANK];
    uint64_t count, bytes; /* elements of the array, and its bytes */
    uint64_t data;         /* offset of the data from the header's begin */
};

/* "f4", "<i8", "float32", "?": interprets a type code as NumPy does. */
struct heft_npy_type heft_npy_type_of(struct heft_str code);
/* Length of the header that begins with the bytes `head`: at least HEFT_NPY_HEAD bytes, or the
 * whole file if it is shorter. `base` is the file offset of head.p, for errors. */
HEFT_CHECKED bool heft_npy_length(struct heft_bytes head, uint64_t base, size_t *length,
                                  struct heft_error *err);
/* Parses a complete header, whose bytes must outlive *out. `base` as above; HEFT_NO_OFFSET if the
 * header is not in a file. */
HEFT_CHECKED bool heft_npy_parse(struct heft_npy *out, struct heft_bytes header, uint64_t base,
                                 struct heft_error *err);

#endif
