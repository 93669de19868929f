/* token_formats.c: formats that store ids nearly unchanged.
 *
 *     llmc       256 numbers of 4 bytes: 20240520, 1, tokens, 0 …   (ids of 4 bytes: 20240801, 7)
 *     megatron   .bin: ids concatenated
 *                .idx: "MMIDIDX\0\0" | u64 1 | u8 dtype (8: uint16, 4: int32) | u64 sequences S |
 *                      u64 documents + 1 | S × i32 tokens | S × i64 byte offsets |
 *                      (S + 1) × i64 first sequence of each document */
#include "base/endian.h"
#include "base/mem.h"
#include "tokens/output/token_out.h"
#include "wire/npy.h"

#define LLMC_HEADER 1024
#define LENGTH      4  /* bytes of a row: the length of a sequence */
#define DIGITS      10 /* digits of an id; 11 characters with its blank */

static bool begin_plain(struct heft_token_file *f, struct heft_error *err)
{
    (void)f, (void)err;
    return true;
}

static bool unit_plain(struct heft_token_file *f, struct heft_error *err)
{
    (void)f, (void)err;
    return true;
}

static bool end_plain(struct heft_token_file *f, struct heft_error *err)
{
    (void)f, (void)err;
    return true;
}

/* ---- .npy ----------------------------------------------------------------------------------- */

static bool npy_header(struct heft_token_file *f, struct heft_buf *buf, struct heft_error *err)
{
    const uint64_t window = f->how->window;
    const uint64_t shape[] = {window ? f->tokens / window : f->tokens, window};

    heft_npy_header(buf, f->how->width == 2 ? "<u2" : "<u4", window ? 2 : 1, shape);
    return heft_buf_ok(buf, err);
}

static bool begin_npy(struct heft_token_file *f, struct heft_error *err)
{
    struct heft_buf buf = {0};
    const bool ok = npy_header(f, &buf, err) && heft_token_put(f, buf.p, buf.n, err);

    heft_buf_release(&buf);
    return ok;
}

static bool end_npy(struct heft_token_file *f, struct heft_error *err)
{
    struct heft_buf buf = {0};
    const bool ok = npy_header(f, &buf, err) && heft_token_patch(f, 0, buf.p, buf.n, err);

    heft_buf_release(&buf);
    return ok;
}

/* ---- llm.c ---------------------------------------------------------------------------------- */

static bool begin_llmc(struct heft_token_file *f, struct heft_error *err)
{
    static const uint8_t zeros[LLMC_HEADER];

    return heft_token_put(f, zeros, sizeof zeros, err);
}

static bool end_llmc(struct heft_token_file *f, struct heft_error *err)
{
    uint8_t head[12];

    if (f->tokens > INT32_MAX)
        return heft_fail(err, HEFT_LIMIT, HEFT_NO_OFFSET,
                         "%" PRIu64 " tokens exceed the limit of an llm.c file, 2147483647 (option "
                         "shard_tokens writes several files)",
                         f->tokens);
    heft_put_le32(head, f->how->width == 2 ? 20240520 : 20240801);
    heft_put_le32(head + 4, f->how->width == 2 ? 1 : 7);
    heft_put_le32(head + 8, (uint32_t)f->tokens);
    return heft_token_patch(f, 0, head, sizeof head, err);
}

/* ---- Megatron ------------------------------------------------------------------------------- */

static bool unit_megatron(struct heft_token_file *f, struct heft_error *err)
{
    uint8_t length[LENGTH];

    if (f->unit_tokens > INT32_MAX)
        return heft_fail(err, HEFT_LIMIT, HEFT_NO_OFFSET,
                         "a document of %" PRIu64
                         " tokens exceeds the limit of Megatron's index, 2147483647",
                         f->unit_tokens);
    heft_put_le32(length, (uint32_t)f->unit_tokens);
    return heft_row_store_put(&f->rows, f->units, 1, length, err);
}

static uint64_t count_sequences(const struct heft_token_file *f)
{
    return f->units;
}

static bool flush_index(struct heft_token_file *f, struct heft_buf *buf, uint64_t *at,
                        struct heft_error *err)
{
    const bool ok = heft_buf_ok(buf, err) &&
                    (buf->n == 0 || heft_sink_write(f->sink, f->beside, *at, buf->p, buf->n, err));

    *at += buf->n;
    buf->n = 0;
    return ok;
}

static void put_u64(struct heft_buf *buf, uint64_t v)
{
    uint8_t bytes[8];

    heft_put_le64(bytes, v);
    heft_buf_put(buf, bytes, 8);
}

/* Writes one of the three columns of the index. */
static bool put_column(struct heft_token_file *f, int column, struct heft_buf *buf, uint64_t *at,
                       struct heft_error *err)
{
    uint64_t sum = 0;
    uint8_t length[LENGTH];

    for (uint64_t i = 0; i < f->units; i++) {
        if (!heft_row_store_get(&f->rows, i, 1, length, err))
            return false;
        if (column == 0)
            heft_buf_put(buf, length, LENGTH);
        else
            put_u64(buf, column == 1 ? sum : i);
        sum += (uint64_t)heft_le32(length) * f->how->width;
        if (i % 4096 == 4095 && !flush_index(f, buf, at, err))
            return false;
    }
    if (column == 2)
        put_u64(buf, f->units);
    return flush_index(f, buf, at, err);
}

static bool end_megatron(struct heft_token_file *f, struct heft_error *err)
{
    struct heft_buf buf = {0};
    uint64_t at = 0;
    bool ok = true;

    heft_buf_put(&buf, "MMIDIDX\0\0", 9);
    put_u64(&buf, 1);
    heft_buf_char(&buf, f->how->width == 2 ? 8 : 4);
    put_u64(&buf, f->units);
    put_u64(&buf, f->units + 1);
    for (int column = 0; ok && column < 3; column++)
        ok = put_column(f, column, &buf, &at, err);
    heft_buf_release(&buf);
    return ok;
}

/* ---- decimals ------------------------------------------------------------------------------- */

static char *put_decimal(char *to, uint32_t v)
{
    char digits[DIGITS];
    unsigned n = 0;

    do
        digits[n++] = (char)('0' + v % 10);
    while ((v /= 10) > 0);
    while (n > 0)
        *to++ = digits[--n];
    return to;
}

static bool pack_some(struct heft_job *job, size_t from, size_t to, struct heft_error *err)
{
    char *p;

    if (!heft_grow(&job->pieces, &job->cap_pieces, job->n_pieces, 1, sizeof *job->pieces, err))
        return false;
    if (!heft_buf_room(&job->packed, (to - from) * (DIGITS + 1)))
        return heft_buf_ok(&job->packed, err);
    p = job->packed.p + job->packed.n;
    for (size_t i = from; i < to; i++) {
        const uint8_t *id = job->ids + i * job->width;

        p = put_decimal(p, job->width == 2 ? heft_le16(id) : heft_le32(id));
        *p++ = ' ';
    }
    job->packed.n = (size_t)(p - job->packed.p);
    job->pieces[job->n_pieces++] =
        (struct heft_job_piece){.end = job->packed.n, .n_ids = to - from};
    return true;
}

static bool pack_ids(struct heft_job *job, struct heft_error *err)
{
    return heft_job_units(job, pack_some, err);
}

/* Writes a blank before each id except the first of a line; the blank at the end of a piece is
 * written with the next. */
static bool piece_ids(struct heft_token_file *f, const uint8_t *bytes, size_t n,
                      const struct heft_job_piece *piece, struct heft_error *err)
{
    const bool is_first = f->unit_tokens == piece->n_ids;

    return (is_first || heft_token_put(f, " ", 1, err)) && heft_token_put(f, bytes, n - 1, err);
}

static bool unit_ids(struct heft_token_file *f, struct heft_error *err)
{
    return heft_token_put(f, "\n", 1, err);
}

/* ---- the table of formats ------------------------------------------------------------------- */

const struct heft_token_format heft_tokens_bin = {.name = "bin",
                                                  .extension = ".bin",
                                                  .exact = true,
                                                  .begin = begin_plain,
                                                  .unit = unit_plain,
                                                  .end = end_plain};
const struct heft_token_format heft_tokens_npy = {.name = "npy",
                                                  .extension = ".npy",
                                                  .exact = true,
                                                  .begin = begin_npy,
                                                  .unit = unit_plain,
                                                  .end = end_npy};
const struct heft_token_format heft_tokens_llmc = {.name = "llmc",
                                                   .extension = ".llmc",
                                                   .exact = true,
                                                   .begin = begin_llmc,
                                                   .unit = unit_plain,
                                                   .end = end_llmc};
const struct heft_token_format heft_tokens_megatron = {.name = "megatron",
                                                       .extension = ".idx",
                                                       .index = ".idx",
                                                       .begin = begin_plain,
                                                       .unit = unit_megatron,
                                                       .end = end_megatron,
                                                       .row = LENGTH,
                                                       .rows_are = "lengths of sequences",
                                                       .count_rows = count_sequences};
const struct heft_token_format heft_tokens_ids = {.name = "ids",
                                                  .extension = ".ids",
                                                  .begin = begin_plain,
                                                  .unit = unit_ids,
                                                  .end = end_plain,
                                                  .pack = pack_ids,
                                                  .piece = piece_ids};
