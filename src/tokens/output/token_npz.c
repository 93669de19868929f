/* token_npz.c: an .npz with names as numpy.savez_compressed gives them, one array of int64 for each
 * unit, written as the ids come. Sizes in the local header are filled in when the member ends.
 *
 *     ┌ local header, "arr_0.npy", zip64 extra │ 05 …  128 bytes of npy header, stored │
 *     │ blocks of ids │ 03 00 the last block ┘ …
 *     ├ central entries ┤ [zip64 end records] │ end record ┘
 *
 * Arrays of other files come before the open unit, so its number and the length of its name may
 * change until it ends. A padding field in its local header absorbs the difference. */
#include "base/checksum.h"
#include "base/endian.h"
#include "base/mem.h"
#include "tokens/input/npz_in.h"
#include "tokens/output/token_deflate.h"
#include "tokens/output/token_out.h"
#include "wire/npy.h"

#define LOCAL     30
#define ZIP64     20 /* bytes of the zip64 extra field in a local header */
#define NAME_ROOM 32 /* bytes for a name that may change and its padding of at least 4 */
#define STORED    5  /* bytes of a stored block's header */
#define NPY       128
#define DATE_1980 0x21
#define ROW       30 /* one member: u64 at | u64 size | u64 packed | u32 CRC-32 | u16 method */

struct member {
    uint64_t number; /* number N of the array arr_N */
    uint64_t at, size, packed;
    uint32_t crc;
    uint16_t method;
};

struct later {
    char *path;
    uint64_t first; /* number of its first array */
};

struct heft_npz_state {
    struct later *later; /* files whose arrays follow when the open member has ended */
    size_t n_later, cap_later;
    uint64_t next; /* number of the next array */
    struct member open;
    uint64_t data; /* offset of the open member's data */
    bool is_open;
};

static size_t name_of(char name[NAME_ROOM], uint64_t number)
{
    struct heft_buf buf = {.p = name, .cap = NAME_ROOM};

    heft_buf_text(&buf, "arr_");
    heft_buf_u64(&buf, number);
    heft_buf_text(&buf, ".npy");
    return buf.n;
}

/* ---- records of the zip --------------------------------------------------------------------- */

/* Bytes for name and extra fields in a local header; fixed if the name may change. */
static size_t local_room(const struct heft_token_file *f, uint64_t number)
{
    char name[NAME_ROOM];

    return ZIP64 + (f->how->has_arrays ? NAME_ROOM : name_of(name, number));
}

static size_t make_local(const struct heft_token_file *f, const struct member *m, uint8_t *to)
{
    char name[NAME_ROOM];
    const size_t n = name_of(name, m->number), room = local_room(f, m->number);
    const size_t padding = room - ZIP64 - n;
    uint8_t *extra = to + LOCAL + n;

    memset(to, 0, LOCAL + room);
    memcpy(to, "PK\3\4", 4);
    heft_put_le16(to + 4, 45);
    heft_put_le16(to + 8, m->method);
    heft_put_le16(to + 12, DATE_1980);
    heft_put_le32(to + 14, m->crc);
    heft_put_le32(to + 18, UINT32_MAX);
    heft_put_le32(to + 22, UINT32_MAX);
    heft_put_le16(to + 26, (uint16_t)n);
    heft_put_le16(to + 28, (uint16_t)(ZIP64 + padding));
    memcpy(to + LOCAL, name, n);
    heft_put_le16(extra, 1);
    heft_put_le16(extra + 2, 16);
    heft_put_le64(extra + 4, m->size);
    heft_put_le64(extra + 12, m->packed);
    if (padding >= 4) {
        heft_put_le16(extra + ZIP64,
                      0xD935); /* id of a padding field, the one that Android's tools use */
        heft_put_le16(extra + ZIP64 + 2, (uint16_t)(padding - 4));
    }
    return LOCAL + room;
}

static void put_number(struct heft_buf *buf, uint64_t v, unsigned bytes)
{
    uint8_t all[8];

    heft_put_le64(all, v);
    heft_buf_put(buf, all, bytes);
}

static void put_central(struct heft_buf *buf, const struct member *m)
{
    char name[NAME_ROOM];
    const size_t n = name_of(name, m->number);
    const bool big = m->size >= UINT32_MAX || m->packed >= UINT32_MAX;
    const bool far = m->at >= UINT32_MAX;
    const unsigned extra = big ? (far ? 24 : 16) : far ? 8 : 0;

    heft_buf_put(buf, "PK\1\2", 4);
    put_number(buf, 3 << 8 | 45, 2); /* attributes are those of Unix */
    put_number(buf, 45, 2);
    put_number(buf, 0, 2);
    put_number(buf, m->method, 2);
    put_number(buf, 0, 2);
    put_number(buf, DATE_1980, 2);
    put_number(buf, m->crc, 4);
    put_number(buf, big ? UINT32_MAX : m->packed, 4);
    put_number(buf, big ? UINT32_MAX : m->size, 4);
    put_number(buf, n, 2);
    put_number(buf, extra ? extra + 4 : 0, 2);
    put_number(buf, 0, 2 + 2 + 2);
    put_number(buf, (uint64_t)0600 << 16, 4);
    put_number(buf, far ? UINT32_MAX : m->at, 4);
    heft_buf_put(buf, name, n);
    if (extra == 0)
        return;
    put_number(buf, 1, 2);
    put_number(buf, extra, 2);
    if (big) {
        put_number(buf, m->size, 8);
        put_number(buf, m->packed, 8);
    }
    if (far)
        put_number(buf, m->at, 8);
}

static void put_ends(struct heft_buf *buf, uint64_t entries, uint64_t at, uint64_t size)
{
    const bool wide = entries >= UINT16_MAX || at >= UINT32_MAX || size >= UINT32_MAX;

    if (wide) {
        heft_buf_put(buf, "PK\6\6", 4);
        put_number(buf, 44, 8);
        put_number(buf, 3 << 8 | 45, 2);
        put_number(buf, 45, 2);
        put_number(buf, 0, 8);
        put_number(buf, entries, 8);
        put_number(buf, entries, 8);
        put_number(buf, size, 8);
        put_number(buf, at, 8);
        heft_buf_put(buf, "PK\6\7", 4);
        put_number(buf, 0, 4);
        put_number(buf, at + size, 8);
        put_number(buf, 1, 4);
    }
    heft_buf_put(buf, "PK\5\6", 4);
    put_number(buf, 0, 4);
    put_number(buf, wide ? UINT16_MAX : entries, 2);
    put_number(buf, wide ? UINT16_MAX : entries, 2);
    put_number(buf, wide ? UINT32_MAX : size, 4);
    put_number(buf, wide ? UINT32_MAX : at, 4);
    put_number(buf, 0, 2);
}

/* ---- members of our own --------------------------------------------------------------------- */

static bool put_local(struct heft_token_file *f, const struct member *m, struct heft_error *err)
{
    uint8_t header[LOCAL + ZIP64 + NAME_ROOM];
    const size_t n = make_local(f, m, header);

    return heft_token_put(f, header, n, err);
}

/* A stored block: its length is known in advance, so it can be written last. */
static bool make_npy(uint8_t block[STORED + NPY], uint64_t count, struct heft_error *err)
{
    struct heft_buf buf = {0};
    bool ok;

    heft_npy_header(&buf, "<i8", 1, &count);
    ok = heft_buf_ok(&buf, err) && (buf.n == NPY || heft_fail(err, HEFT_LIMIT, HEFT_NO_OFFSET,
                                                              "an array is too long for NumPy"));
    memcpy(block, "\0\x80\0\x7f\xff", STORED);
    if (ok)
        memcpy(block + STORED, buf.p, NPY);
    heft_buf_release(&buf);
    return ok;
}

static bool begin_member(struct heft_token_file *f, struct heft_error *err)
{
    struct heft_npz_state *z = f->npz;
    uint8_t block[STORED + NPY];

    z->open = (struct member){.number = z->next, .at = f->at, .method = 8};
    if (!put_local(f, &z->open, err) || !make_npy(block, 0, err))
        return false;
    z->data = f->at;
    z->is_open = true;
    return heft_token_put(f, block, sizeof block, err);
}

/* Number of members that are completely written: those before the open one and before the files
 * that follow it. */
static uint64_t count_members(const struct heft_token_file *f)
{
    const struct heft_npz_state *z = f->npz;

    return z->n_later > 0 ? z->later[0].first : z->next;
}

static bool keep_member(struct heft_token_file *f, const struct member *m, struct heft_error *err)
{
    uint8_t row[ROW];

    heft_put_le64(row, m->at);
    heft_put_le64(row + 8, m->size);
    heft_put_le64(row + 16, m->packed);
    heft_put_le32(row + 24, m->crc);
    heft_put_le16(row + 28, m->method);
    return heft_row_store_put(&f->rows, m->number, 1, row, err);
}

static bool find_member(struct heft_token_file *f, uint64_t number, struct member *m,
                        struct heft_error *err)
{
    uint8_t row[ROW];

    if (!heft_row_store_get(&f->rows, number, 1, row, err))
        return false;
    *m = (struct member){.number = number,
                         .at = heft_le64(row),
                         .size = heft_le64(row + 8),
                         .packed = heft_le64(row + 16),
                         .crc = heft_le32(row + 24),
                         .method = heft_le16(row + 28)};
    return true;
}

static bool end_member(struct heft_token_file *f, struct heft_error *err)
{
    struct heft_npz_state *z = f->npz;
    struct member *m = &z->open;
    uint8_t block[STORED + NPY], header[LOCAL + ZIP64 + NAME_ROOM];
    uint64_t bytes;
    size_t n;

    if (!heft_mul(f->unit_tokens, 8, &bytes) || !make_npy(block, f->unit_tokens, err) ||
        !heft_token_put(f, "\3", 2, err)) /* an empty block of fixed codes, marked as the last */
        return false;
    m->number = z->next++;
    m->packed = f->at - z->data;
    m->size = NPY + bytes;
    m->crc = heft_crc32_combine(heft_crc32(0, block + STORED, NPY), m->crc, bytes);
    n = make_local(f, m, header);
    z->is_open = false;
    return heft_token_patch(f, z->data, block, sizeof block, err) &&
           heft_token_patch(f, m->at, header, n, err) && keep_member(f, m, err);
}

/* ---- arrays copied from other files ---------------------------------------------------------- */

struct copying {
    struct heft_token_file *f;
    uint64_t number;
};

static bool copy_begin(void *ctx, const struct heft_npz_array *array, struct heft_error *err)
{
    struct copying *c = ctx;
    const struct member m = {.number = c->number++,
                             .at = c->f->at,
                             .size = array->size,
                             .packed = array->packed,
                             .crc = array->crc,
                             .method = array->method};

    return keep_member(c->f, &m, err) && put_local(c->f, &m, err);
}

static bool copy_bytes(void *ctx, const uint8_t *p, size_t n, struct heft_error *err)
{
    const struct copying *c = ctx;

    return heft_token_put(c->f, p, n, err);
}

static bool copy_arrays(struct heft_token_file *f, const char *path, uint64_t first,
                        struct heft_error *err)
{
    struct copying c = {f, first};

    return heft_npz_copy(path, copy_begin, copy_bytes, &c, err);
}

static bool keep_later(struct heft_npz_state *z, struct heft_str path, uint64_t first,
                       struct heft_error *err)
{
    char *copy;

    if (!heft_grow(&z->later, &z->cap_later, z->n_later, 1, sizeof *z->later, err))
        return false;
    copy = heft_calloc(path.n + 1, 1, err);
    if (!copy)
        return false;
    memcpy(copy, path.p, path.n);
    z->later[z->n_later++] = (struct later){copy, first};
    return true;
}

static void forget_later(struct heft_npz_state *z)
{
    while (z->n_later > 0)
        heft_free(z->later[--z->n_later].path);
}

static bool copy_later(struct heft_token_file *f, struct heft_error *err)
{
    struct heft_npz_state *z = f->npz;

    for (size_t i = 0; i < z->n_later; i++)
        if (!copy_arrays(f, z->later[i].path, z->later[i].first, err))
            return false;
    forget_later(z);
    return true;
}

static bool arrays_npz(struct heft_token_file *f, const char *path, uint64_t count,
                       struct heft_error *err)
{
    struct heft_npz_state *z = f->npz;
    const uint64_t first = z->next;

    z->next += count;
    return z->is_open ? keep_later(z, heft_str_of(path), first, err)
                      : copy_arrays(f, path, first, err);
}

/* ---- state in the journal -------------------------------------------------------------------- */

/* u64 next number | u64 is open, u64 at, u64 data, u64 CRC-32 | u64 files that follow, each: u64
 * first number, path */
static void save_npz(const struct heft_token_file *f, struct heft_buf *record)
{
    const struct heft_npz_state *z = f->npz;

    heft_journal_u64(record, z->next);
    heft_journal_u64(record, z->is_open);
    heft_journal_u64(record, z->open.at);
    heft_journal_u64(record, z->data);
    heft_journal_u64(record, z->open.crc);
    heft_journal_u64(record, z->n_later);
    for (size_t i = 0; i < z->n_later; i++) {
        heft_journal_u64(record, z->later[i].first);
        heft_journal_bytes(record, z->later[i].path, strlen(z->later[i].path));
    }
}

static bool load_later(struct heft_token_file *f, struct heft_cur *record, struct heft_error *err)
{
    struct heft_npz_state *z = f->npz;
    const uint64_t count = heft_cur_u64(record);

    forget_later(z);
    for (uint64_t i = 0; i < count && heft_cur_ok(record); i++) {
        const uint64_t first = heft_cur_u64(record);
        const struct heft_bytes path = heft_journal_take(record);

        if (!keep_later(z, (struct heft_str){(const char *)path.p, path.n}, first, err))
            return false;
    }
    return true;
}

static bool load_npz(struct heft_token_file *f, struct heft_cur *record, struct heft_error *err)
{
    struct heft_npz_state *z = f->npz ? f->npz : heft_calloc(1, sizeof *z, err);

    f->npz = z;
    if (!z)
        return false;
    z->next = heft_cur_u64(record);
    z->is_open = heft_cur_u64(record) != 0;
    z->open = (struct member){.at = heft_cur_u64(record), .method = 8};
    z->data = heft_cur_u64(record);
    z->open.crc = (uint32_t)heft_cur_u64(record);
    return load_later(f, record, err);
}

/* ---- functions of the format ----------------------------------------------------------------- */

static bool begin_npz(struct heft_token_file *f, struct heft_error *err)
{
    if (!f->npz)
        f->npz = heft_calloc(1, sizeof *f->npz, err);
    if (!f->npz)
        return false;
    forget_later(f->npz);
    f->npz->next = 0;
    f->npz->is_open = false;
    return true;
}

static bool pack_some(struct heft_job *job, size_t from, size_t to, struct heft_error *err)
{
    struct heft_job_piece piece = {.n_ids = to - from};

    if (!heft_grow(&job->pieces, &job->cap_pieces, job->n_pieces, 1, sizeof piece, err) ||
        !heft_deflate_ids(&job->packed, job->ids + from * job->width, to - from, job->width,
                          &piece.crc, err))
        return false;
    piece.end = job->packed.n;
    job->pieces[job->n_pieces++] = piece;
    return true;
}

static bool pack_npz(struct heft_job *job, struct heft_error *err)
{
    return heft_job_units(job, pack_some, err);
}

static bool piece_npz(struct heft_token_file *f, const uint8_t *bytes, size_t n,
                      const struct heft_job_piece *piece, struct heft_error *err)
{
    struct heft_npz_state *z = f->npz;

    if (!z->is_open && !begin_member(f, err))
        return false;
    z->open.crc = heft_crc32_combine(z->open.crc, piece->crc, piece->n_ids * 8);
    return heft_token_put(f, bytes, n, err);
}

static bool unit_npz(struct heft_token_file *f, struct heft_error *err)
{
    return (f->npz->is_open || begin_member(f, err)) && end_member(f, err) && copy_later(f, err);
}

static bool put_directory(struct heft_token_file *f, struct heft_buf *buf, struct heft_error *err)
{
    const uint64_t begin = f->at, n = f->npz->next;
    struct member m;

    for (uint64_t i = 0; i < n; i++) {
        buf->n = 0;
        if (!find_member(f, i, &m, err))
            return false;
        put_central(buf, &m);
        if (!heft_buf_ok(buf, err) || !heft_token_put(f, buf->p, buf->n, err))
            return false;
    }
    buf->n = 0;
    put_ends(buf, n, begin, f->at - begin);
    return heft_buf_ok(buf, err) && heft_token_put(f, buf->p, buf->n, err);
}

static bool end_npz(struct heft_token_file *f, struct heft_error *err)
{
    struct heft_buf buf = {0};
    const bool ok = copy_later(f, err) && put_directory(f, &buf, err);

    heft_buf_release(&buf);
    return ok;
}

static void release_npz(struct heft_token_file *f)
{
    if (!f->npz)
        return;
    forget_later(f->npz);
    heft_free(f->npz->later);
    heft_free(f->npz);
}

const struct heft_token_format heft_tokens_npz = {.name = "npz",
                                                  .extension = ".npz",
                                                  .begin = begin_npz,
                                                  .unit = unit_npz,
                                                  .end = end_npz,
                                                  .release = release_npz,
                                                  .pack = pack_npz,
                                                  .piece = piece_npz,
                                                  .arrays = arrays_npz,
                                                  .row = ROW,
                                                  .rows_are = "an archive's directory",
                                                  .count_rows = count_members,
                                                  .save = save_npz,
                                                  .load = load_npz};
