/* npy.c: the header of a NumPy file, as numpy.lib.format writes it (layout in npy.h). */
#include "wire/npy.h"

#include "base/endian.h"

#define MAGIC                                                                                      \
    "\x93NUMPY\x01" /* six bytes of magic and the major version, 1; a minor version 0 follows */
#define PREFIX 10   /* magic, version, u16 length */
#define ALIGN  64   /* alignment of the data in the file */
#define GROWTH_DIGITS                                                                              \
    21 /* width of the first dimension, so that it can be rewritten when an
                            array grows */

const char *heft_npy_descr(enum heft_dtype dtype)
{
    static const char *const descr[HEFT_DTYPE_COUNT] = {
        [HEFT_BOOL] = "|b1", [HEFT_U8] = "|u1",    [HEFT_I8] = "|i1",  [HEFT_I16] = "<i2",
        [HEFT_U16] = "<u2",  [HEFT_F16] = "<f2",   [HEFT_I32] = "<i4", [HEFT_U32] = "<u4",
        [HEFT_F32] = "<f4",  [HEFT_C64] = "<c8",   [HEFT_F64] = "<f8", [HEFT_I64] = "<i8",
        [HEFT_U64] = "<u8",  [HEFT_C128] = "<c16",
    };

    return (unsigned)dtype < HEFT_DTYPE_COUNT ? descr[dtype] : NULL;
}

/* Writes a tuple as Python prints it: (), (3,), (2, 3). */
static void put_shape(struct heft_buf *buf, unsigned rank, const uint64_t *shape)
{
    heft_buf_char(buf, '(');
    for (unsigned i = 0; i < rank; i++) {
        heft_buf_text(buf, i ? ", " : "");
        heft_buf_u64(buf, shape[i]);
    }
    heft_buf_text(buf, rank == 1 ? ",)" : ")");
}

static void put_spaces(struct heft_buf *buf, size_t n)
{
    for (; n > 0; n--)
        heft_buf_char(buf, ' ');
}

static size_t count_digits(uint64_t v)
{
    size_t n = 1;

    while (v >= 10) {
        v /= 10;
        n++;
    }
    return n;
}

void heft_npy_header(struct heft_buf *buf, const char *descr, unsigned rank, const uint64_t *shape)
{
    const size_t begin = buf->n;
    size_t length;

    heft_buf_put(buf, MAGIC "\0\0", PREFIX);
    heft_buf_text(buf, "{'descr': '");
    heft_buf_text(buf, descr);
    heft_buf_text(buf, "', 'fortran_order': False, 'shape': ");
    put_shape(buf, rank, shape);
    heft_buf_text(buf, ", }");
    if (rank > 0)
        put_spaces(buf, GROWTH_DIGITS - count_digits(shape[0]));
    /* at least one space: a header that is aligned already grows by 64 bytes */
    put_spaces(buf, ALIGN - (buf->n - begin + 1) % ALIGN);
    heft_buf_char(buf, '\n');
    if (buf->failed)
        return;
    length = buf->n - begin - PREFIX; /* 255 dimensions of 20 digits are fewer than 2^16 bytes */
    heft_put_le16((uint8_t *)buf->p + begin + PREFIX - 2, (uint16_t)length);
}
