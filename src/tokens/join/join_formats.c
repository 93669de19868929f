/* join_formats.c: formats without an index: bin, npy, llm.c and decimals. */
#include <stdio.h>

#include "base/endian.h"
#include "tokens/input/npy_ids.h"
#include "tokens/join/join.h"

#define LLMC_HEAD 1024
#define HEAD      64 /* bytes of a file that show whether it has decimals */

/* ---- bin ------------------------------------------------------------------------------------ */

/* Reads the header of llm.c; *width is 0 if it is none. */
static bool read_llmc_head(const struct heft_source *ids, unsigned *width, uint32_t *tokens,
                           struct heft_error *err)
{
    uint8_t head[12];
    uint32_t magic, version;

    *width = *tokens = 0;
    if (ids->size < LLMC_HEAD)
        return true;
    if (!heft_source_read(ids, 0, head, sizeof head, err))
        return false;
    magic = heft_le32(head);
    version = heft_le32(head + 4);
    *width = magic == 20240520 && version == 1 ? 2 : magic == 20240801 && version == 7 ? 4 : 0;
    *tokens = heft_le32(head + 8);
    return true;
}

bool heft_join_is_llmc(const struct heft_source *ids, bool *is_llmc, struct heft_error *err)
{
    uint32_t tokens;
    unsigned width;

    *is_llmc = false;
    if (!read_llmc_head(ids, &width, &tokens, err))
        return false;
    *is_llmc = width > 0 && ids->size - LLMC_HEAD == (uint64_t)tokens * width;
    return true;
}

/* Refuses files with a header: it would be taken for ids. */
static bool check_bare(const struct heft_source *ids, struct heft_error *err)
{
    uint8_t magic[6] = {0};
    bool is_llmc;

    if (!heft_source_read(ids, 0, magic, (size_t)heft_min_u64(sizeof magic, ids->size), err) ||
        !heft_join_is_llmc(ids, &is_llmc, err))
        return false;
    if (is_llmc)
        return heft_fail(err, HEFT_USAGE, 0,
                         "a file of llm.c; use option format llmc for all parts");
    if (memcmp(magic, "\x93NUMPY", 6) == 0)
        return heft_fail(err, HEFT_USAGE, 0,
                         "an array of NumPy; use option format npy for all parts");
    return memcmp(magic, "PK\3\4", 4) != 0 ||
           heft_fail(err, HEFT_USAGE, 0, "a zip archive; expected ids without a header");
}

static bool read_bin(struct heft_join *j, struct heft_join_part *part, struct heft_error *err)
{
    const uint64_t size = part->ids.size;
    const unsigned width = j->how.width ? j->how.width : 2;

    if (!check_bare(&part->ids, err))
        return false;
    if (size % width != 0)
        return heft_fail(err, HEFT_MALFORMED, size - size % width,
                         "%" PRIu64 " bytes are not a multiple of the %u bytes of an id", size,
                         width);
    part->size = part->sums.bytes = size;
    part->type.width = j->how.width;
    part->sums.tokens = j->how.width ? size / width : 0;
    return true;
}

/* ---- npy ------------------------------------------------------------------------------------ */

static bool take_shape(struct heft_join_part *part, struct heft_bytes header,
                       struct heft_error *err)
{
    struct heft_npy_ids ids;
    struct heft_npy npy;

    if (!heft_npy_plain_ids(header, &ids, err) || !heft_npy_parse(&npy, header, 0, err))
        return false;
    if (npy.rank != 1 && npy.rank != 2)
        return heft_fail(err, HEFT_UNSUPPORTED, 8, "an array of %u dimensions; expected 1 or 2",
                         npy.rank);
    part->type = (struct heft_join_type){.width = ids.width,
                                         .is_signed = ids.is_signed,
                                         .rank = npy.rank,
                                         .row = npy.rank == 2 ? npy.shape[1] : 0};
    part->begin = npy.data;
    part->size = npy.bytes;
    part->sums.tokens = npy.count;
    part->sums.sequences = npy.shape[0];
    return part->ids.size - npy.data == npy.bytes ||
           heft_fail(err, HEFT_MALFORMED, npy.data,
                     "an array of %" PRIu64 " bytes; the file has %" PRIu64 " after its header",
                     npy.bytes, part->ids.size - npy.data);
}

static bool read_npy(struct heft_join *j, struct heft_join_part *part, struct heft_error *err)
{
    uint8_t head[HEFT_NPY_HEAD] = {0};
    const size_t n = (size_t)heft_min_u64(sizeof head, part->ids.size);
    struct heft_arena mem = {0};
    struct heft_bytes header = {0};
    size_t length = 0;
    bool ok = heft_source_read(&part->ids, 0, head, n, err) &&
              heft_npy_length((struct heft_bytes){head, n}, 0, &length, err) &&
              heft_source_fetch(&part->ids, 0, length, &mem, &header, err) &&
              take_shape(part, header, err);

    (void)j;
    part->sums.bytes = part->ids.size;
    heft_arena_release(&mem);
    return ok;
}

static bool begin_npy(struct heft_join *j, struct heft_error *err)
{
    const uint64_t shape[] = {j->all.sequences, j->type.row};
    struct heft_buf header = {0};
    char descr[8];
    bool ok;

    (void)snprintf(descr, sizeof descr, "%c%c%u", j->type.width > 1 ? '<' : '|',
                   j->type.is_signed ? 'i' : 'u', j->type.width);
    heft_npy_header(&header, descr, j->type.rank, shape);
    ok = heft_buf_ok(&header, err) && heft_join_put(j, header.p, header.n, err);
    heft_buf_release(&header);
    return ok;
}

/* ---- llm.c ---------------------------------------------------------------------------------- */

static bool read_llmc(struct heft_join *j, struct heft_join_part *part, struct heft_error *err)
{
    uint32_t tokens;
    unsigned width;

    (void)j;
    if (!read_llmc_head(&part->ids, &width, &tokens, err))
        return false;
    if (width == 0)
        return heft_fail(err, HEFT_MALFORMED, 0, "no header of llm.c");
    part->begin = LLMC_HEAD;
    part->size = (uint64_t)tokens * width;
    part->type.width = width;
    part->sums.tokens = tokens;
    part->sums.bytes = part->ids.size;
    return part->ids.size - LLMC_HEAD == part->size ||
           heft_fail(err, HEFT_MALFORMED, 8,
                     "%" PRIu32 " ids of %u bytes do not match the %" PRIu64
                     " bytes after the header",
                     tokens, width, part->ids.size - LLMC_HEAD);
}

static bool begin_llmc(struct heft_join *j, struct heft_error *err)
{
    uint8_t head[LLMC_HEAD] = {0};

    if (j->all.tokens > INT32_MAX)
        return heft_fail(err, HEFT_LIMIT, HEFT_NO_OFFSET,
                         "%" PRIu64 " tokens exceed the limit of an llm.c file, 2147483647",
                         j->all.tokens);
    heft_put_le32(head, j->type.width == 2 ? 20240520 : 20240801);
    heft_put_le32(head + 4, j->type.width == 2 ? 1 : 7);
    heft_put_le32(head + 8, (uint32_t)j->all.tokens);
    return heft_join_put(j, head, sizeof head, err);
}

/* ---- decimals ------------------------------------------------------------------------------- */

static bool is_space(uint8_t c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

static bool read_ids(struct heft_join *j, struct heft_join_part *part, struct heft_error *err)
{
    uint8_t head[HEAD];
    const size_t n = (size_t)heft_min_u64(sizeof head, part->ids.size);

    (void)j;
    if (!heft_source_read(&part->ids, 0, head, n, err))
        return false;
    for (size_t i = 0; i < n; i++)
        if (!is_space(head[i]) && (head[i] < '0' || head[i] > '9'))
            return heft_fail(err, HEFT_MALFORMED, i, "byte %02x; expected decimal numbers",
                             head[i]);
    part->size = part->sums.bytes = part->ids.size;
    return true;
}

/* Ends the last number of a part that has no newline at its end. */
static bool end_line(struct heft_join *j, struct heft_join_part *part, struct heft_error *err)
{
    uint8_t last = '\n';

    if (part->size > 0 && !heft_source_read(&part->ids, part->size - 1, &last, 1, err))
        return false;
    return is_space(last) || heft_join_put(j, "\n", 1, err);
}

/* ---- the table of formats ------------------------------------------------------------------- */

const struct heft_join_format heft_join_bin = {.name = "bin", .read = read_bin};
const struct heft_join_format heft_join_npy = {.name = "npy", .read = read_npy, .begin = begin_npy};
const struct heft_join_format heft_join_llmc = {
    .name = "llmc", .read = read_llmc, .begin = begin_llmc};
const struct heft_join_format heft_join_ids = {.name = "ids", .read = read_ids, .copy = end_line};
