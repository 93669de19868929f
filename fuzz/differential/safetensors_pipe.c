/* safetensors_pipe.c: opens safetensors files that it reads from a pipe (answer_pipe.h) and answers
 * with their tensors, for safetensors_compare.py.
 *
 *     option   unused
 *     answer   u8 code of the error │ its text, or for each tensor:
 *              u32 length of the name │ name │ u32 rank │ u64 of each dimension │
 *              u64 bytes │ u32 CRC-32 of the data │ u8 length of the dtype │ dtype */
#include <stdlib.h>

#include "answer_pipe.h"
#include "base/checksum.h"
#include "base/endian.h"
#include "core/reader.h"
#include "core/registry.h"
#include "format/formats.h"

#define PIECE 65536

static void put_u32(struct heft_buf *to, uint32_t v)
{
    uint8_t raw[4];

    heft_put_le32(raw, v);
    heft_buf_put(to, raw, sizeof raw);
}

static void put_u64(struct heft_buf *to, uint64_t v)
{
    uint8_t raw[8];

    heft_put_le64(raw, v);
    heft_buf_put(to, raw, sizeof raw);
}

static bool sum_row(struct heft_reader *reader, const struct heft_row *row, uint32_t *crc,
                    struct heft_error *err)
{
    uint8_t piece[PIECE];
    bool ok = true;

    *crc = 0;
    for (uint64_t at = 0; ok && at < row->bytes; at += PIECE) {
        const size_t n = (size_t)heft_min_u64(PIECE, row->bytes - at);

        ok = heft_reader_row(reader, row, at, piece, n, err);
        *crc = heft_crc32(*crc, piece, n);
    }
    return ok;
}

static bool put_row(struct heft_buf *to, struct heft_reader *reader, const struct heft_row *row,
                    struct heft_error *err)
{
    const char *const dtype = heft_dtype_name((enum heft_dtype)row->dtype);
    uint32_t crc;

    if (!sum_row(reader, row, &crc, err))
        return false;
    put_u32(to, (uint32_t)row->name.n);
    heft_buf_str(to, row->name);
    put_u32(to, row->rank);
    for (unsigned d = 0; d < row->rank; d++)
        put_u64(to, row->shape[d]);
    put_u64(to, row->bytes);
    put_u32(to, crc);
    heft_buf_char(to, (char)strlen(dtype));
    heft_buf_text(to, dtype);
    return true;
}

static bool put_rows(struct heft_buf *to, const struct heft_model *model, struct heft_error *err)
{
    struct heft_reader reader = {0};
    bool ok = heft_reader_init(&reader, model, true, err);

    for (size_t i = 0; ok && i < model->n_rows; i++)
        ok = put_row(to, &reader, &model->rows[i], err);
    heft_reader_release(&reader);
    return ok;
}

static void open_file(struct heft_bytes bytes, uint32_t unused, struct heft_buf *answer)
{
    struct heft_buf rows = {0};
    struct heft_error err = {0};
    struct heft_source source;
    struct heft_model model;
    uint32_t index;
    bool ok;

    (void)unused;
    heft_model_init(&model, NULL, &heft_formats);
    heft_source_open_memory(&source, bytes, "input");
    ok = heft_model_add_file(&model, &source, "input", &index, &err) &&
         heft_registry_open_source(&model, index, "safetensors", &err) &&
         heft_model_validate(&model, &err) && put_rows(&rows, &model, &err);
    if (ok == (err.code != HEFT_OK))
        abort(); /* a failure has a code */
    heft_buf_char(answer, (char)err.code);
    if (ok)
        heft_buf_put(answer, rows.p, rows.n);
    else
        heft_buf_text(answer, err.text);
    heft_buf_release(&rows);
    heft_model_release(&model);
}

int main(void)
{
    return answer_pipe(open_file);
}
