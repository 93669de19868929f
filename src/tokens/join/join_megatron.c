/* join_megatron.c: Megatron's pair of files.
 *
 *     .idx   "MMIDIDX\0\0" | u64 1 | u8 type | u64 sequences S | u64 D + 1 |
 *            S × i32 tokens | S × i64 byte offsets | (D + 1) × i64 first sequence of each document
 *
 *     lengths are copied; offsets are shifted by the bytes of the parts before; of the documents the
 *     leading 0 is left out, and the others are shifted by the sequences before */
#include "base/endian.h"
#include "tokens/join/join.h"

#define HEAD 34
#define ROWS (HEFT_JOIN_TABLE / 8) /* rows of a table that are read at a time */

static unsigned width_of(uint8_t code)
{
    static const uint8_t widths[] = {0, 1, 1, 2, 4, 8, 0, 0, 2};

    return code < HEFT_COUNT(widths) ? widths[code] : 0;
}

/* ---- reading a part ------------------------------------------------------------------------- */

/* The sizes of the tables must match that of the index: other modes of Megatron append one. */
static bool check_size(const struct heft_join_part *part, uint64_t documents,
                       struct heft_error *err)
{
    const uint64_t room = part->index.size - HEAD, sequences = part->sums.sequences;

    if (documents > 0 && sequences <= room / 12 && documents <= (room - 12 * sequences) / 8 &&
        room - 12 * sequences == 8 * documents)
        return true;
    return heft_fail(err, HEFT_MALFORMED, 18,
                     "%" PRIu64 " sequences and %" PRIu64
                     " document entries do not match the %" PRIu64 " bytes of the index",
                     sequences, documents, part->index.size);
}

static bool read_head(struct heft_join_part *part, struct heft_error *err)
{
    uint8_t head[HEAD];

    if (part->index.size < HEAD)
        return heft_fail(err, HEFT_MALFORMED, part->index.size, "the Megatron index is truncated");
    if (!heft_source_read(&part->index, 0, head, sizeof head, err))
        return false;
    if (memcmp(head, "MMIDIDX\0\0", 9) != 0)
        return heft_fail(err, HEFT_MALFORMED, 0,
                         "not a Megatron index; option format bin joins the ids alone");
    if (heft_le64(head + 9) != 1)
        return heft_fail(err, HEFT_UNSUPPORTED, 9,
                         "version %" PRIu64 " of Megatron's index; expected 1",
                         heft_le64(head + 9));
    part->type = (struct heft_join_type){.width = width_of(head[17]), .code = head[17]};
    if (part->type.width == 0)
        return heft_fail(err, HEFT_UNSUPPORTED, 17, "id type %u; expected 1 to 5, or 8", head[17]);
    part->sums.sequences = heft_le64(head + 18);
    part->sums.documents = heft_le64(head + 26) - 1;
    return check_size(part, heft_le64(head + 26), err);
}

static bool read_megatron(struct heft_join *j, struct heft_join_part *part, struct heft_error *err)
{
    const size_t n = strlen(part->path);

    (void)j;
    if (n < 4 || strcmp(part->path + n - 4, ".bin") != 0 ||
        !heft_join_open_beside(part, part->path, 4, ".idx", err))
        return false;
    if (!read_head(part, err))
        return heft_error_file(err, part->index_path.p);
    part->size = part->sums.bytes = part->ids.size;
    part->sums.tokens = part->ids.size / part->type.width;
    return true;
}

/* ---- writing the index ---------------------------------------------------------------------- */

static bool begin_megatron(struct heft_join *j, struct heft_error *err)
{
    const uint64_t at = HEAD + 12 * j->all.sequences;
    uint8_t head[HEAD], zero[8] = {0};

    memcpy(head, "MMIDIDX\0\0", 9);
    heft_put_le64(head + 9, 1);
    head[17] = j->type.code;
    heft_put_le64(head + 18, j->all.sequences);
    heft_put_le64(head + 26, j->all.documents + 1);
    return heft_sink_write(j->sink, j->beside, 0, head, sizeof head, err) &&
           heft_sink_write(j->sink, j->beside, at, zero, sizeof zero, err);
}

struct tables {
    uint8_t lengths[4 * ROWS], offsets[8 * ROWS];
};

/* Checks n sequences, which must lie in the .bin one after the other, and shifts their offsets. */
static bool shift_sequences(const struct heft_join *j, const struct heft_join_part *part,
                            struct tables *t, uint64_t first, size_t n, uint64_t *end,
                            struct heft_error *err)
{
    for (size_t i = 0; i < n; i++) {
        const uint32_t length = heft_le32(t->lengths + 4 * i);
        const uint64_t offset = heft_le64(t->offsets + 8 * i);

        if (length > INT32_MAX || offset != *end ||
            (uint64_t)length * part->type.width > part->size - *end)
            return heft_fail(err, HEFT_MALFORMED, HEAD + 4 * (first + i),
                             "sequence %" PRIu64 " of %" PRIu32 " ids at offset %" PRIu64
                             " of the %" PRIu64 " bytes of its .bin; expected offset %" PRIu64,
                             first + i, length, offset, part->size, *end);
        heft_put_le64(t->offsets + 8 * i, offset + j->done.bytes);
        *end += (uint64_t)length * part->type.width;
    }
    return true;
}

static bool copy_some(struct heft_join *j, struct heft_join_part *part, struct tables *t,
                      uint64_t first, size_t n, uint64_t *end, struct heft_error *err)
{
    const uint64_t to = j->done.sequences + first;
    const uint64_t offsets = HEAD + 4 * part->sums.sequences, all = HEAD + 4 * j->all.sequences;

    if (!heft_source_read(&part->index, HEAD + 4 * first, t->lengths, 4 * n, err) ||
        !heft_source_read(&part->index, offsets + 8 * first, t->offsets, 8 * n, err))
        return false;
    if (!shift_sequences(j, part, t, first, n, end, err))
        return heft_error_file(err, part->index_path.p);
    return heft_sink_write(j->sink, j->beside, HEAD + 4 * to, t->lengths, 4 * n, err) &&
           heft_sink_write(j->sink, j->beside, all + 8 * to, t->offsets, 8 * n, err);
}

static bool copy_sequences(struct heft_join *j, struct heft_join_part *part, struct tables *t,
                           struct heft_error *err)
{
    uint64_t end = 0;

    for (uint64_t first = 0; first < part->sums.sequences; first += ROWS) {
        const size_t n = (size_t)heft_min_u64(ROWS, part->sums.sequences - first);

        if (!copy_some(j, part, t, first, n, &end, err))
            return false;
    }
    if (end == part->size)
        return true;
    heft_fail(err, HEFT_MALFORMED, HEFT_NO_OFFSET,
              "its sequences end at %" PRIu64 " of the %" PRIu64 " bytes of its .bin", end,
              part->size);
    return heft_error_file(err, part->index_path.p);
}

/* Checks that documents ascend from 0 to the number of sequences, and shifts them. */
static bool shift_documents(const struct heft_join *j, const struct heft_join_part *part,
                            uint8_t *rows, uint64_t at, size_t n, uint64_t *last,
                            struct heft_error *err)
{
    for (size_t i = 0; i < n; i++) {
        const uint64_t v = heft_le64(rows + 8 * i);

        if (v < *last || v > part->sums.sequences || (at == 0 && i == 0 && v != 0))
            return heft_fail(err, HEFT_MALFORMED, HEAD + 12 * part->sums.sequences + 8 * (at + i),
                             "document %" PRIu64 " begins at sequence %" PRIu64 " of %" PRIu64
                             ", the one before at %" PRIu64,
                             at + i, v, part->sums.sequences, *last);
        *last = v;
        heft_put_le64(rows + 8 * i, v + j->done.sequences);
    }
    return true;
}

static bool copy_documents(struct heft_join *j, struct heft_join_part *part, uint8_t *rows,
                           struct heft_error *err)
{
    const uint64_t from = HEAD + 12 * part->sums.sequences, count = part->sums.documents + 1;
    const uint64_t to = HEAD + 12 * j->all.sequences + 8 * j->done.documents;
    uint64_t last = 0;

    for (uint64_t at = 0; at < count; at += ROWS) {
        const size_t n = (size_t)heft_min_u64(ROWS, count - at), skip = at == 0 ? 1 : 0;

        if (!heft_source_read(&part->index, from + 8 * at, rows, 8 * n, err))
            return false;
        if (!shift_documents(j, part, rows, at, n, &last, err))
            return heft_error_file(err, part->index_path.p);
        if (n > skip && !heft_sink_write(j->sink, j->beside, to + 8 * (at + skip), rows + 8 * skip,
                                         8 * (n - skip), err))
            return false;
    }
    if (last == part->sums.sequences)
        return true;
    heft_fail(err, HEFT_MALFORMED, HEFT_NO_OFFSET,
              "its documents end at sequence %" PRIu64 " of %" PRIu64, last, part->sums.sequences);
    return heft_error_file(err, part->index_path.p);
}

static bool copy_megatron(struct heft_join *j, struct heft_join_part *part, struct heft_error *err)
{
    struct tables *t = heft_alloc(sizeof *t, err);
    const bool ok =
        t && copy_sequences(j, part, t, err) && copy_documents(j, part, t->offsets, err);

    heft_free(t);
    return ok;
}

const struct heft_join_format heft_join_megatron = {.name = "megatron",
                                                    .read = read_megatron,
                                                    .begin = begin_megatron,
                                                    .copy = copy_megatron,
                                                    .index = {".idx"},
                                                    .is_renamed = true};
