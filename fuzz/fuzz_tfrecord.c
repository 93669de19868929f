/* fuzz_tfrecord.c: warm-up requests: TFRecord files of PredictionLogs.
 *
 * Random lengths and checksums are rarely valid: an input whose first byte is odd is the data of
 * one record, which gets a valid frame.
 *
 * Invariants: an invalid record is a finding, never an error, and the tree of values is finite. */
#include <stdint.h>

#include "base/checksum.h"
#include "base/endian.h"
#include "format/formats.h"
#include "format/tensorflow/saved_model/tf_saved.h"
#include "open_format.h"
#include "wire/sstable_write.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void frame(struct heft_buf *out, const uint8_t *data, size_t n)
{
    uint8_t word[8];

    heft_put_le64(word, n);
    heft_buf_put(out, word, 8);
    heft_put_le32(word, heft_crc_mask(heft_crc32c(0, word, 8)));
    heft_buf_put(out, word, 4);
    heft_buf_put(out, data, n);
    heft_put_le32(word, heft_crc_mask(heft_crc32c(0, data, n)));
    heft_buf_put(out, word, 4);
}

static void read_file(struct heft_bytes file)
{
    struct heft_error err = {0};
    struct heft_source source;
    struct heft_model model;
    struct heft_tf_saving s = {.model = &model, .err = &err};
    uint32_t index;

    heft_model_init(&model, NULL, &heft_formats);
    heft_source_open_memory(&source, file, "fuzz");
    expect(heft_model_add_file(&model, &source, "fuzz", &index, &err));
    expect(heft_tf_warmup(&s, index) && model.file_info);
    expect_values(&model);
    heft_model_release(&model);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct heft_buf framed = {0};

    if (size < 1 || size > 1 << 14)
        return 0;
    if (data[0] & 1)
        frame(&framed, data + 1, size - 1);
    else
        heft_buf_put(&framed, data + 1, size - 1);
    if (!framed.failed)
        read_file((struct heft_bytes){(const uint8_t *)framed.p, framed.n});
    heft_buf_release(&framed);
    return 0;
}
