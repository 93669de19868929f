/* decode_files.c: files of ids, detected by their content, read in batches.
 *
 *     PK…                  .npz: arrays of integers, in the order of the directory
 *     \x93NUMPY            .npy
 *     u32 20240520         llm.c: 256 × u32 (magic, version 1, number of ids, 0 …), ids of 2 bytes
 *     u32 20240801         the same with version 7 and ids of 4 bytes
 *     MMIDIDX\0\0          Megatron's index: u64 1 | u8 type | u64 sequences | u64 documents |
 *                          4-byte length each | 8-byte offset in X.bin each | …
 *     0-9 and white space  decimals
 *     otherwise            raw stream of ids of 2 or 4 bytes
 *
 * If X.bin has such an index beside it, it is read through the index. */
#include <errno.h>

#include "base/endian.h"
#include "io/os.h"
#include "tokens/decode/decode.h"
#include "tokens/input/npy_ids.h"

#define LLMC_HEAD     1024
#define MEGATRON_HEAD 34
#define PIECE         ((size_t)1 << 16) /* bytes of a compressed part or of decimals read at a time */

/* ---- reading the bytes of a part --------------------------------------------------------- */

static bool range_read(struct heft_stream_reader *range, void *out, size_t n,
                       struct heft_error *err)
{
    return heft_stream_take(range, out, n, err) &&
           (heft_stream_left(range) > 0 || heft_stream_end(range, err));
}

static bool range_begin(struct heft_ids_reader *r, const struct heft_stream *stream,
                        struct heft_error *err)
{
    heft_stream_close(&r->range);
    return heft_stream_open(&r->range, stream, PIECE, err);
}

/* Selects a range of a file as the current part, uncompressed. */
static bool range_plain(struct heft_ids_reader *r, const struct heft_source *source, uint64_t off,
                        uint64_t n, struct heft_error *err)
{
    const struct heft_stream stream = {
        .parent = source, .off = off, .packed = n, .size = n, .is_stored = true};

    return range_begin(r, &stream, err);
}

/* ---- parts of a file --------------------------------------------------------------------- */

static bool set_part(struct heft_ids_reader *r, unsigned width, bool is_signed, uint64_t count,
                     struct heft_error *err)
{
    uint64_t bytes;

    if (!heft_mul(count, width, &bytes) || bytes != heft_stream_left(&r->range))
        return heft_fail(err, HEFT_MALFORMED, heft_stream_offset(&r->range),
                         "%" PRIu64 " ids of %u bytes do not match the %" PRIu64 " bytes of data",
                         count, width, heft_stream_left(&r->range));
    r->width = width;
    r->is_signed = is_signed;
    r->left = count;
    return true;
}

/* Parses an array header. Error offsets count from its beginning, which is at `base` of the file.
 */
static bool read_header(struct heft_bytes header, uint64_t base, struct heft_npy_ids *array,
                        struct heft_error *err)
{
    if (heft_npy_plain_ids(header, array, err))
        return true;
    if (err->offset != HEFT_NO_OFFSET)
        err->offset = base == HEFT_NO_OFFSET ? base : base + err->offset;
    return false;
}

static bool begin_array(struct heft_ids_reader *r, struct heft_error *err)
{
    const uint64_t base = heft_stream_offset(&r->range);
    uint8_t head[HEFT_NPY_HEAD];
    struct heft_npy_ids array;
    uint8_t *header;
    size_t length;
    bool ok;

    if (!range_read(&r->range, head, sizeof head, err) ||
        !heft_npy_length((struct heft_bytes){head, sizeof head}, base, &length, err))
        return false;
    if (length < sizeof head)
        return heft_fail(err, HEFT_MALFORMED, base == HEFT_NO_OFFSET ? base : base + 8,
                         "an array header of %zu bytes is too short", length);
    header = heft_alloc(length, err);
    if (!header)
        return false;
    memcpy(header, head, sizeof head);
    ok = range_read(&r->range, header + sizeof head, length - sizeof head, err) &&
         read_header((struct heft_bytes){header, length}, base, &array, err) &&
         set_part(r, array.width, array.is_signed, array.count, err);
    heft_free(header);
    return ok;
}

/* Adds the member's name to an error and, if it has no offset, that of the member's data. */
static bool name_member(const struct heft_zip_entry *entry, struct heft_error *err)
{
    if (err->offset == HEFT_NO_OFFSET && err->code != HEFT_NOMEM && err->code != HEFT_IO)
        err->offset = entry->data;
    return heft_error_about(err, "array", entry->name);
}

static bool begin_member(struct heft_ids_reader *r, struct heft_error *err)
{
    const struct heft_zip_entry *entry = &r->zip.entries[r->part];
    const struct heft_stream stream = heft_zip_stream(&r->file, entry);

    if (entry->name.n < 4 || memcmp(entry->name.p + entry->name.n - 4, ".npy", 4) != 0)
        return heft_fail(err, HEFT_UNSUPPORTED, entry->header, "%s is not an array", entry->name.p);
    return (range_begin(r, &stream, err) && begin_array(r, err)) || name_member(entry, err);
}

static bool begin_sequence(struct heft_ids_reader *r, struct heft_error *err)
{
    const uint64_t length_at = r->lengths + 4 * r->part, pointer_at = r->pointers + 8 * r->part;
    uint8_t length[4], pointer[8];
    uint64_t count, at;

    if (!heft_source_read(&r->file, length_at, length, sizeof length, err) ||
        !heft_source_read(&r->file, pointer_at, pointer, sizeof pointer, err))
        return false;
    count = heft_le32(length);
    at = heft_le64(pointer);
    if (count > INT32_MAX || !heft_within(at, count * r->width, r->data.size))
        return heft_fail(err, HEFT_MALFORMED, length_at,
                         "sequence %" PRIu64 " of %" PRIu64 " ids at offset %" PRIu64
                         " exceeds the %" PRIu64 " bytes of its .bin",
                         r->part, count, at, r->data.size);
    r->left = count;
    return range_plain(r, &r->data, at, count * r->width, err);
}

static bool begin_part(struct heft_ids_reader *r, struct heft_error *err)
{
    const bool ok = r->kind == HEFT_IDS_NPZ        ? begin_member(r, err)
                    : r->kind == HEFT_IDS_MEGATRON ? begin_sequence(r, err)
                                                   : true;

    r->part++;
    return ok;
}

/* ---- ids of a part ----------------------------------------------------------------------- */

bool heft_ids_fail(const struct heft_ids_reader *r, size_t i, struct heft_error *err,
                   const char *what)
{
    const uint8_t *p = r->bytes + i * r->width;
    const uint64_t where = r->where == HEFT_NO_OFFSET ? r->where : r->where + i * r->width;
    uint64_t id = 0;

    if (r->kind == HEFT_IDS_DECIMALS)
        return heft_decimals_fail(r, i, err, what);
    for (unsigned k = r->width; k > 0; k--)
        id = id << 8 | p[k - 1];
    if (r->is_signed && r->width < 8 && id >> (8 * r->width - 1))
        id |= ~UINT64_C(0) << 8 * r->width;
    if (r->is_signed)
        heft_fail(err, HEFT_MALFORMED, where, "id %" PRId64 " %s", (int64_t)id, what);
    else
        heft_fail(err, HEFT_MALFORMED, where, "id %" PRIu64 " %s", id, what);
    if (r->kind == HEFT_IDS_MEGATRON)
        heft_error_file(err, r->data_path);
    return r->kind == HEFT_IDS_NPZ ? name_member(&r->zip.entries[r->part - 1], err) : false;
}

/* Converts a batch; ids beyond any vocabulary become HEFT_NO_TOKEN. */
static void to_ids(const struct heft_ids_reader *r, size_t n, uint32_t *ids)
{
    const uint8_t *p = r->bytes;

    for (size_t i = 0; i < n; i++, p += r->width) {
        uint64_t id = 0;

        for (unsigned k = r->width; k > 0; k--)
            id = id << 8 | p[k - 1];
        if (id > UINT32_MAX || (r->is_signed && id >> (8 * r->width - 1)))
            id = HEFT_NO_TOKEN;
        ids[i] = (uint32_t)id;
    }
}

bool heft_ids_next(struct heft_ids_reader *r, uint32_t *ids, size_t *count, struct heft_error *err)
{
    size_t n;

    *count = 0;
    if (r->kind == HEFT_IDS_DECIMALS)
        return heft_decimals_next(r, ids, count, err);
    while (r->left == 0) {
        if (r->part == r->parts)
            return true;
        if (!begin_part(r, err))
            return false;
    }
    n = heft_min_size(HEFT_IDS_BATCH, r->left);
    r->where = heft_stream_offset(&r->range);
    if (!range_read(&r->range, r->bytes, n * r->width, err))
        return r->kind == HEFT_IDS_NPZ ? name_member(&r->zip.entries[r->part - 1], err) : false;
    to_ids(r, n, ids);
    r->left -= n;
    *count = n;
    return true;
}

/* ---- formats of files -------------------------------------------------------------------- */

static bool open_npz(struct heft_ids_reader *r, struct heft_error *err)
{
    r->kind = HEFT_IDS_NPZ;
    if (!heft_zip_open(&r->zip, &r->file, NULL, &r->mem, err))
        return false;
    r->parts = r->zip.count;
    return true;
}

static bool open_llmc(struct heft_ids_reader *r, unsigned width, struct heft_error *err)
{
    uint8_t head[12];
    uint32_t version;

    r->kind = HEFT_IDS_LLMC;
    if (r->file.size < LLMC_HEAD)
        return heft_fail(err, HEFT_MALFORMED, r->file.size,
                         "the header is truncated; expected 1024 bytes");
    if (!heft_source_read(&r->file, 0, head, sizeof head, err))
        return false;
    version = heft_le32(head + 4);
    if (version != (width == 2 ? 1 : 7))
        return heft_fail(err, HEFT_UNSUPPORTED, 4,
                         "version %" PRIu32
                         " of llm.c's format; expected 1 (ids of 2 bytes) or 7 (4 bytes)",
                         version);
    return range_plain(r, &r->file, LLMC_HEAD, r->file.size - LLMC_HEAD, err) &&
           set_part(r, width, false, heft_le32(head + 8), err);
}

static unsigned megatron_width(uint8_t type, bool *is_signed)
{
    static const uint8_t WIDTHS[] = {0, 1, 1, 2, 4, 8, 0, 0, 2};

    *is_signed = type >= 2 && type <= 5;
    return type < HEFT_COUNT(WIDTHS) ? WIDTHS[type] : 0;
}

/* Opens X.bin for X.idx. */
static bool open_data(struct heft_ids_reader *r, const char *path, struct heft_error *err)
{
    const size_t n = strlen(path);

    if (n < 4 || strcmp(path + n - 4, ".idx") != 0)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "a Megatron index must be named NAME.idx, beside NAME.bin");
    r->data_path = heft_arena_printf(&r->mem, err, "%.*s.bin", (int)(n - 4), path);
    return r->data_path && heft_source_open_file(&r->data, r->data_path, err);
}

/* Checks that the tables fit into the index: a length and an offset for each sequence, a number for
 * each document. */
static bool check_index(const struct heft_source *index, uint64_t sequences, uint64_t documents,
                        struct heft_error *err)
{
    uint64_t of_sequences, of_documents, n;

    if (heft_mul(sequences, 12, &of_sequences) && heft_mul(documents, 8, &of_documents) &&
        heft_add(of_sequences, of_documents, &n) && heft_within(MEGATRON_HEAD, n, index->size))
        return true;
    return heft_fail(err, HEFT_MALFORMED, 18,
                     "%" PRIu64 " sequences and %" PRIu64
                     " document entries do not fit into the %" PRIu64 " bytes of the index",
                     sequences, documents, index->size);
}

static bool open_megatron(struct heft_ids_reader *r, const char *path, struct heft_error *err)
{
    uint8_t head[MEGATRON_HEAD];

    r->kind = HEFT_IDS_MEGATRON;
    if (r->file.size < sizeof head)
        return heft_fail(err, HEFT_MALFORMED, r->file.size, "the Megatron index is truncated");
    if (!heft_source_read(&r->file, 0, head, sizeof head, err))
        return false;
    if (heft_le64(head + 9) != 1)
        return heft_fail(err, HEFT_UNSUPPORTED, 9,
                         "version %" PRIu64 " of Megatron's index; expected 1",
                         heft_le64(head + 9));
    r->width = megatron_width(head[17], &r->is_signed);
    if (r->width == 0)
        return heft_fail(err, HEFT_UNSUPPORTED, 17, "id type %u; expected 1 to 5, or 8", head[17]);
    r->parts = heft_le64(head + 18);
    r->lengths = MEGATRON_HEAD;
    if (!check_index(&r->file, r->parts, heft_le64(head + 26), err))
        return false;
    r->pointers = r->lengths + 4 * r->parts;
    return open_data(r, path, err);
}

/* Refuses an index beside X.bin that ends elsewhere: X.bin may have been rewritten without it. */
static bool check_whole(const struct heft_ids_reader *r, struct heft_error *err)
{
    const uint64_t last = r->parts - 1;
    uint8_t length[4] = {0}, pointer[8] = {0};
    uint64_t end = UINT64_MAX;

    if (r->parts > 0 &&
        (!heft_source_read(&r->file, r->lengths + 4 * last, length, sizeof length, err) ||
         !heft_source_read(&r->file, r->pointers + 8 * last, pointer, sizeof pointer, err)))
        return false;
    if (heft_add(heft_le64(pointer), (uint64_t)heft_le32(length) * r->width, &end) &&
        end == r->data.size)
        return true;
    heft_fail(err, HEFT_MALFORMED, HEFT_NO_OFFSET,
              "the index beside it ends at %" PRIu64 " of its %" PRIu64
              " bytes: it belongs to another file",
              end, r->data.size);
    return heft_error_file(err, r->data_path);
}

/* Whether 2-byte ids look like 4-byte ids below 65536: every second one is 0. */
static bool looks_wide(const struct heft_ids_reader *r, struct heft_bytes head)
{
    uint32_t even = 0, odd = 0;

    for (size_t i = 0; i + 4 <= head.n; i += 4) {
        even |= heft_le16(head.p + i);
        odd |= heft_le16(head.p + i + 2);
    }
    return head.n == HEFT_IDS_HEAD && r->file.size % 4 == 0 && even != 0 && odd == 0;
}

static bool check_stream(const struct heft_ids_reader *r, struct heft_bytes head,
                         struct heft_ids_width width, struct heft_error *err)
{
    if (width.is_said)
        return true;
    if (width.bytes == 0)
        return heft_fail(err, HEFT_UNSUPPORTED, HEFT_NO_OFFSET,
                         "ids of 2 bytes or of 4: only the end of text needs 4 (option "
                         "width says it)");
    return width.bytes == 4 || !looks_wide(r, head) ||
           heft_fail(err, HEFT_UNSUPPORTED, HEFT_NO_OFFSET,
                     "every second id is 0, as in ids of 4 bytes, but the vocabulary has ids of 2 "
                     "(option width says it)");
}

static bool open_stream(struct heft_ids_reader *r, unsigned width, struct heft_error *err)
{
    return r->file.size % width == 0
               ? range_plain(r, &r->file, 0, r->file.size, err) &&
                     set_part(r, width, false, r->file.size / width, err)
               : heft_fail(err, HEFT_MALFORMED, r->file.size - r->file.size % width,
                           "%" PRIu64 " bytes are not a multiple of the %u bytes of an id",
                           r->file.size, width);
}

static bool open_decimals(struct heft_ids_reader *r, struct heft_error *err)
{
    r->kind = HEFT_IDS_DECIMALS;
    return range_plain(r, &r->file, 0, r->file.size, err);
}

/* Whether a regular file is there; an error if that cannot be told. */
static bool find_file(const char *path, bool *is_there, struct heft_error *err)
{
    struct heft_os_stat st = {0};

    if (heft_os->stat_path(path, &st) != 0 && !heft_os_is_missing(errno)) {
        heft_fail_errno(err, "cannot be examined");
        return heft_error_file(err, path);
    }
    *is_there = st.is_file;
    return true;
}

/* Looks for X.idx beside X.bin; if it is an index, it replaces the file. */
static bool find_index(struct heft_ids_reader *r, const char *path, const char **index,
                       struct heft_error *err)
{
    const size_t n = strlen(path);
    struct heft_source source = {0};
    uint8_t magic[9] = {0};
    bool is_there = false;

    *index = NULL;
    if (n < 4 || strcmp(path + n - 4, ".bin") != 0)
        return true;
    *index = heft_arena_printf(&r->mem, err, "%.*s.idx", (int)(n - 4), path);
    if (!*index)
        return false;
    if (!find_file(*index, &is_there, err))
        return false;
    if (!is_there || !heft_source_open_file(&source, *index, err))
        *index = NULL;
    else if (source.size < sizeof magic ||
             !heft_source_read(&source, 0, magic, sizeof magic, err) ||
             memcmp(magic, HEFT_MEGATRON_MAGIC, sizeof magic) != 0)
        *index = NULL;
    if (*index) {
        heft_source_close(&r->file);
        r->file = source;
        return true;
    }
    heft_source_close(&source);
    return err->code == HEFT_OK;
}

static bool open_kind(struct heft_ids_reader *r, const char *path, struct heft_ids_width width,
                      struct heft_error *err)
{
    uint8_t head[HEFT_IDS_HEAD] = {0};
    const size_t n = heft_min_size(sizeof head, r->file.size);
    const char *index;

    if (!heft_source_read(&r->file, 0, head, n, err))
        return false;
    if (memcmp(head, "PK\3\4", 4) == 0 || memcmp(head, "PK\5\6", 4) == 0)
        return open_npz(r, err);
    r->parts = r->part = 0;
    if (memcmp(head, "\x93NUMPY", 6) == 0) {
        r->kind = HEFT_IDS_NPY;
        return range_plain(r, &r->file, 0, r->file.size, err) && begin_array(r, err);
    }
    if (memcmp(head, HEFT_MEGATRON_MAGIC, 9) == 0)
        return open_megatron(r, path, err);
    if (heft_le32(head) == 20240520 || heft_le32(head) == 20240801)
        return open_llmc(r, heft_le32(head) == 20240520 ? 2 : 4, err);
    if (!find_index(r, path, &index, err))
        return false;
    if (index)
        return open_megatron(r, index, err) && check_whole(r, err);
    if (heft_decimals_are((struct heft_bytes){head, n}, r->file.size, path,
                          width.bytes ? width.bytes : 2))
        return open_decimals(r, err);
    return check_stream(r, (struct heft_bytes){head, n}, width, err) &&
           open_stream(r, width.bytes, err);
}

bool heft_ids_open(struct heft_ids_reader *r, const char *path, struct heft_ids_width width,
                   struct heft_error *err)
{
    heft_error_begin(err);
    *r = (struct heft_ids_reader){.where = HEFT_NO_OFFSET};
    r->bytes = heft_alloc((size_t)HEFT_IDS_BATCH * 8, err);
    return r->bytes &&
           (strcmp(path, "-") == 0 ? heft_source_open_stdin(&r->file, path, err)
                                   : heft_source_open_file(&r->file, path, err)) &&
           open_kind(r, path, width, err);
}

void heft_ids_close(struct heft_ids_reader *r)
{
    heft_stream_close(&r->range);
    heft_source_close(&r->file);
    heft_source_close(&r->data);
    heft_arena_release(&r->mem);
    heft_free(r->bytes);
    *r = (struct heft_ids_reader){0};
}
