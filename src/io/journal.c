/* journal.c: appends records and syncs them; only complete records count. */
#include "io/journal.h"

#include <errno.h>

#include "base/checksum.h"
#include "io/os.h"
#include "io/whole.h"

static const char MAGIC[16] = "heft journal 1\n";

#define HEAD    8 /* bytes before a piece */
#define GOES_ON (UINT32_C(1) << 31)

struct heft_journal {
    char *path;
    uint64_t end; /* end of the last complete record; while a record is written, of its last
                     piece */
    int fd;
    bool no_sync;
};

/* ---- encoding records ----------------------------------------------------------------------- */

void heft_journal_u64(struct heft_buf *record, uint64_t v)
{
    uint8_t bytes[8];

    heft_put_le64(bytes, v);
    heft_buf_put(record, bytes, sizeof bytes);
}

void heft_journal_bytes(struct heft_buf *record, const void *p, size_t n)
{
    heft_journal_u64(record, n);
    heft_buf_put(record, p, n);
}

bool heft_journal_ends(const struct heft_cur *record, struct heft_error *err)
{
    return (heft_cur_ok(record) && heft_cur_left(record) == 0) ||
           heft_fail(err, HEFT_MALFORMED, heft_cur_where(record),
                     "the record of a journal was not written by this version of heft");
}

/* ---- reading a journal ---------------------------------------------------------------------- */

struct reading {
    struct heft_journal *j;
    uint64_t size; /* size of the file */
    uint8_t *buf;
    size_t cap;
    size_t n;     /* bytes of the piece in the buffer; SIZE_MAX: none was complete */
    bool goes_on; /* another piece of this record follows */
};

static bool read_piece(struct reading *r, uint64_t at, struct heft_error *err)
{
    const int fd = r->j->fd;
    uint64_t left = r->size - at;
    uint8_t head[HEAD];
    size_t got, wanted;

    r->n = SIZE_MAX;
    if (left < HEAD || !heft_whole_read(fd, head, HEAD, at, &got, err))
        return left < HEAD;
    wanted = heft_le32(head) & ~GOES_ON;
    left -= HEAD;
    if (got < HEAD || wanted > left)
        return true;
    if (!heft_grow(&r->buf, &r->cap, 0, wanted, 1, err) ||
        !heft_whole_read(fd, r->buf, wanted, at + HEAD, &got, err))
        return false;
    r->goes_on = (heft_le32(head) & GOES_ON) != 0;
    if (got == wanted && heft_crc32c(0, r->buf, wanted) == heft_le32(head + 4))
        r->n = wanted;
    return true;
}

/* Finds the end of the record at j->end; 0 if it is incomplete. */
static bool find_end(struct reading *r, uint64_t *end, struct heft_error *err)
{
    uint64_t at = r->j->end;

    for (*end = 0; *end == 0;) {
        if (!read_piece(r, at, err))
            return false;
        if (r->n == SIZE_MAX)
            return true;
        at += HEAD + r->n;
        *end = r->goes_on ? 0 : at;
    }
    return true;
}

static bool tell_record(struct reading *r, uint64_t end, heft_journal_fn *each, void *ctx,
                        struct heft_error *err)
{
    for (uint64_t at = r->j->end; at < end; at += HEAD + r->n) {
        struct heft_cur piece;

        if (!read_piece(r, at, err))
            return false;
        if (r->n == SIZE_MAX)
            return heft_fail(err, HEFT_IO, at, "changes while it is read");
        piece = heft_cur_of((struct heft_bytes){r->buf, r->n}, at + HEAD);
        if (!each(ctx, r->goes_on, &piece, err))
            return false;
    }
    r->j->end = end;
    return true;
}

static bool read_all(struct heft_journal *j, uint64_t size, heft_journal_fn *each, void *ctx,
                     struct heft_error *err)
{
    struct reading r = {.j = j, .size = size};
    uint64_t end;
    bool ok;

    while ((ok = find_end(&r, &end, err)) && end > 0)
        if (!tell_record(&r, end, each, ctx, err)) {
            ok = false;
            break;
        }
    heft_free(r.buf);
    return ok;
}

bool heft_journal_read(struct heft_journal *j, heft_journal_fn *each, void *ctx,
                       struct heft_error *err)
{
    struct heft_os_stat st;
    char magic[sizeof MAGIC];
    size_t got = 0;

    if (heft_os->stat_fd(j->fd, &st) != 0)
        heft_fail_errno(err, "cannot be examined");
    else if (!heft_whole_read(j->fd, magic, sizeof magic, 0, &got, err))
        return heft_error_file(err, j->path);
    else if (got < sizeof magic) /* the writer was killed before its first record */
        return true;
    else if (memcmp(magic, MAGIC, sizeof MAGIC) != 0)
        heft_fail(err, HEFT_UNSUPPORTED, HEFT_NO_OFFSET, "not a journal of this version of heft");
    else if (read_all(j, st.size, each, ctx, err) &&
             (heft_os->cut(j->fd, j->end) == 0 || heft_fail_errno(err, "cannot be truncated")))
        return true;
    return heft_error_file(err, j->path);
}

/* ---- appending records ---------------------------------------------------------------------- */

static bool append_bytes(struct heft_journal *j, const void *p, size_t n, struct heft_error *err)
{
    if (!heft_whole_write(j->fd, p, n, j->end, err))
        return false;
    j->end += n;
    return true;
}

static bool put_piece(struct heft_journal *j, const struct heft_buf *piece, bool goes_on,
                      struct heft_error *err)
{
    uint8_t head[HEAD];

    if (!heft_buf_ok(piece, err))
        return false;
    if (piece->n >= GOES_ON)
        return heft_fail(err, HEFT_LIMIT, HEFT_NO_OFFSET,
                         "the record of a journal has 2 GiB, which is too large");
    heft_put_le32(head, (uint32_t)piece->n | (goes_on ? GOES_ON : 0));
    heft_put_le32(head + 4, heft_crc32c(0, piece->p, piece->n));
    return append_bytes(j, head, HEAD, err) && append_bytes(j, piece->p, piece->n, err);
}

bool heft_journal_begin(struct heft_journal *j, const struct heft_buf *piece,
                        struct heft_error *err)
{
    return put_piece(j, piece, true, err) || heft_error_file(err, j->path);
}

bool heft_journal_append(struct heft_journal *j, const struct heft_buf *piece,
                         struct heft_error *err)
{
    return (put_piece(j, piece, false, err) &&
            (j->no_sync || heft_os->sync(j->fd) == 0 ||
             heft_fail_errno(err, "cannot be synced to the disk"))) ||
           heft_error_file(err, j->path);
}

/* ---- opening and closing -------------------------------------------------------------------- */

static bool take_lock(struct heft_journal *j, struct heft_error *err)
{
    if (heft_os->lock(j->fd) == 0)
        return true;
    if (errno == EWOULDBLOCK)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "another process has locked it");
    return heft_fail_errno(err, "cannot be locked");
}

static bool open_locked(struct heft_journal *j, bool make, struct heft_error *err)
{
    j->fd = make ? heft_os->create(j->path, 0666) : heft_os->open_write(j->path);
    if (j->fd < 0)
        return heft_fail_errno(err, make ? "cannot be created" : "cannot be opened");
    return take_lock(j, err) && (!make || append_bytes(j, MAGIC, sizeof MAGIC, err));
}

bool heft_journal_open(const char *path, bool make, bool no_sync, struct heft_journal **out,
                       struct heft_error *err)
{
    struct heft_os_stat st;
    const size_t n = strlen(path) + 1;
    struct heft_journal *j;

    *out = NULL;
    if (!make && heft_os->stat_path(path, &st) != 0) {
        if (errno == ENOENT)
            return true;
        heft_fail_errno(err, "cannot be examined");
        return heft_error_file(err, path);
    }
    j = heft_calloc(1, sizeof *j, err);
    if (!j)
        return false;
    j->fd = -1;
    j->no_sync = no_sync;
    j->path = heft_alloc(n, err);
    if (j->path) {
        memcpy(j->path, path, n);
        if (open_locked(j, make, err)) {
            j->end = sizeof MAGIC;
            *out = j;
            return true;
        }
        heft_error_file(err, path);
    }
    heft_journal_close(j, make && j->fd >= 0);
    return false;
}

void heft_journal_close(struct heft_journal *j, bool remove)
{
    if (!j)
        return;
    if (remove)
        (void)heft_os->unlink(j->path); /* deleted while the lock is still held */
    if (j->fd >= 0)
        (void)heft_os->close(j->fd);
    heft_free(j->path);
    heft_free(j);
}
