/* fuzz_tf_bundle.c: sorted tables of TensorFlow, as indexes and as V1 checkpoints. An input with
 * the footer of a table is a file; of any other the first byte selects the meaning of the rest: a
 * data block, plain or packed, which is completed to a table with valid checksums, or the bytes of
 * a string tensor.
 *
 * Invariants: those of open_format.h; strings are passed on if their checksum matches. */
#include <stdint.h>

#include "format/formats.h"
#include "format/tensorflow/bundle/tf_bundle.h"
#include "open_format.h"
#include "wire/proto_write.h"
#include "wire/sstable_write.h"

extern const struct heft_format heft_format_tf_bundle, heft_format_tf_v1;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void put_block(struct heft_buf *out, const void *p, size_t n, uint8_t type)
{
    const size_t begin = out->n;
    uint8_t crc[4];

    heft_buf_put(out, p, n);
    heft_buf_char(out, (char)type);
    if (out->failed)
        return;
    heft_put_le32(crc, heft_crc_mask(heft_crc32c(0, out->p + begin, n + 1)));
    heft_buf_put(out, crc, sizeof crc);
}

static void put_handle(struct heft_buf *out, size_t off, size_t n)
{
    uint8_t bytes[10];

    heft_buf_put(out, bytes, heft_varint_put(bytes, off));
    heft_buf_put(out, bytes, heft_varint_put(bytes, n));
}

/* Builds a table of this block; its key in the index is greater than all keys. */
static void table_of(struct heft_buf *out, const uint8_t *block, size_t n, uint8_t type)
{
    struct heft_buf index = {0};
    size_t metaindex, end;

    put_block(out, block, n, type);
    metaindex = out->n;
    put_block(out, "\0\0\0\0\1\0\0\0", 8, 0);
    end = out->n;
    heft_buf_put(&index, "\0\1\0\xff", 4);
    put_handle(&index, 0, n);
    if (!index.failed)
        index.p[2] = (char)(index.n - 4);
    heft_buf_put(&index, "\0\0\0\0\1\0\0\0", 8);
    put_block(out, index.p, index.n, 0);
    put_handle(out, metaindex, 8);
    put_handle(out, end, index.n);
    while (!out->failed && (out->n - end - index.n - 5) < 40)
        heft_buf_char(out, '\0');
    heft_buf_put(out, HEFT_SSTABLE_MAGIC, 8);
    heft_buf_release(&index);
}

static void open_table(struct heft_bytes file)
{
    open_format(heft_tf_is_v1(file) ? &heft_format_tf_v1 : &heft_format_tf_bundle, file);
}

static bool count_string(void *ctx, const char *text, size_t n)
{
    uint64_t *const bytes = ctx;

    *bytes += text != NULL ? n : 0;
    return true;
}

static void read_strings(const uint8_t *data, size_t size)
{
    const struct heft_storage_more more = {.count = data[0]};
    struct heft_storage storage = {.len = size - 1, .packed = size - 1, .more = &more};
    struct heft_error err = {0}, again = {0};
    struct heft_source source;
    struct heft_model model;
    uint64_t bytes = 0;
    uint32_t index;

    heft_model_init(&model, NULL, &heft_formats);
    heft_source_open_memory(&source, (struct heft_bytes){data + 1, size - 1}, "strings");
    expect(heft_model_add_file(&model, &source, "strings", &index, &err));
    if (heft_tf_check_strings(&model, &storage, &err)) {
        expect(heft_tf_strings(&model, &storage, count_string, &bytes, &again));
        expect(bytes < size);
    } else {
        expect(err.code != HEFT_OK && err.text[0]);
    }
    if (!heft_tf_check_variants(&model, &storage, &again))
        expect(again.code != HEFT_OK && again.text[0]);
    again = (struct heft_error){0};
    if (!heft_tf_strings(&model, &storage, count_string, &bytes, &again))
        expect(again.code != HEFT_OK && again.text[0]);
    heft_model_release(&model);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct heft_buf table = {0};

    if (size < 2 || size > 1 << 20)
        return 0;
    if (heft_sstable_is((struct heft_bytes){data, size})) {
        open_table((struct heft_bytes){data, size});
        return 0;
    }
    if (data[0] == 2) {
        read_strings(data + 1, size - 1);
        return 0;
    }
    table_of(&table, data + 1, size - 1, data[0] & 1);
    if (!table.failed)
        open_table((struct heft_bytes){(const uint8_t *)table.p, table.n});
    heft_buf_release(&table);
    return 0;
}
