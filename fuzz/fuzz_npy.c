/* fuzz_npy.c: opening .npy and .npz. An input with the signature of either is a file; any other is
 * the text of an array header, which is completed to a file.
 *
 * Invariants: those of open_format.h; a dtype that can be read as numbers can be written, and its
 * header is read back unchanged. */
#include <stdint.h>

#include "open_format.h"
#include "wire/npy.h"

extern const struct heft_format heft_format_npy, heft_format_npz;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect_same(const struct heft_npy *npy)
{
    const char *descr = heft_npy_descr((enum heft_dtype)npy->type.dtype);
    struct heft_buf buf = {0};
    struct heft_error err = {0};
    struct heft_npy again;
    size_t length;

    expect(descr != NULL);
    heft_npy_header(&buf, descr, npy->rank, npy->shape);
    expect(!buf.failed && buf.n % 64 == 0);
    expect(heft_npy_length((struct heft_bytes){(uint8_t *)buf.p, buf.n}, 0, &length, &err));
    expect(length == buf.n);
    expect(heft_npy_parse(&again, (struct heft_bytes){(uint8_t *)buf.p, buf.n}, 0, &err));
    expect(again.type.dtype == npy->type.dtype && again.rank == npy->rank &&
           again.bytes == npy->bytes);
    expect(memcmp(again.shape, npy->shape, npy->rank * sizeof *npy->shape) == 0);
    heft_buf_release(&buf);
}

static void parse(struct heft_bytes file)
{
    struct heft_error err = {0};
    struct heft_npy npy;
    size_t length;

    if (!heft_npy_length(file, 0, &length, &err) || length > file.n)
        return;
    file.n = length;
    if (!heft_npy_parse(&npy, file, 0, &err))
        expect(err.code != HEFT_OK && err.text[0]);
    else if (npy.type.kind == HEFT_NPY_NUMBERS)
        expect_same(&npy);
}

/* Builds an array of 64 zeros with this text as its header. */
static void array_of(struct heft_buf *out, const uint8_t *text, size_t n)
{
    static const uint8_t zeros[64];
    const uint8_t length[4] = {(uint8_t)n, (uint8_t)(n >> 8), (uint8_t)(n >> 16)};

    heft_buf_put(out, "\x93NUMPY\2", 8);
    heft_buf_put(out, length, sizeof length);
    heft_buf_put(out, text, n);
    heft_buf_put(out, zeros, sizeof zeros);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct heft_bytes file = {data, size};
    struct heft_buf array = {0};

    if (size > 1 << 20)
        return 0;
    if (size >= 2 && data[0] == 'P' && data[1] == 'K') {
        open_format(&heft_format_npz, file);
        return 0;
    }
    if (size < 6 || memcmp(data, "\x93NUMPY", 6) != 0) {
        array_of(&array, data, size);
        file = (struct heft_bytes){(const uint8_t *)array.p, array.n};
    }
    if (!array.failed) {
        parse(file);
        open_format(&heft_format_npy, file);
    }
    heft_buf_release(&array);
    return 0;
}
