/* journal.c: records appended and synced, the last whole one counts. */
#include "io/journal.h"

#include <errno.h>

#include "base/checksum.h"
#include "io/os.h"
#include "io/whole.h"

static const char MAGIC[16] = "heft journal 1\n";

#define HEAD 8 /* of a record */

struct heft_journal {
    char *path;
    uint64_t end; /* of the last whole record */
    int fd;
    bool no_sync;
};

/* ---- records -------------------------------------------------------------------------------- */

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
                     "a journal's record with other contents than this heft writes");
}

/* ---- reading -------------------------------------------------------------------------------- */

/* The record at j->end into *buf; *n is SIZE_MAX where none is whole there. */
static bool read_record(struct heft_journal *j, uint64_t size, uint8_t **buf, size_t *cap,
                        size_t *n, struct heft_error *err)
{
    uint8_t head[HEAD];
    uint64_t left = size - j->end;
    size_t got, wanted;

    *n = SIZE_MAX;
    if (left < HEAD || !heft_whole_read(j->fd, head, HEAD, j->end, &got, err))
        return left < HEAD;
    wanted = heft_le32(head);
    left -= HEAD;
    if (got < HEAD || wanted > left)
        return true;
    if (!heft_grow(buf, cap, 0, wanted, 1, err) ||
        !heft_whole_read(j->fd, *buf, wanted, j->end + HEAD, &got, err))
        return false;
    if (got == wanted && heft_crc32c(0, *buf, wanted) == heft_le32(head + 4))
        *n = wanted;
    return true;
}

static bool read_all(struct heft_journal *j, uint64_t size, heft_journal_fn *each, void *ctx,
                     struct heft_error *err)
{
    uint8_t *buf = NULL;
    size_t cap = 0, n;
    bool ok;

    while ((ok = read_record(j, size, &buf, &cap, &n, err)) && n != SIZE_MAX) {
        struct heft_cur record = heft_cur_of((struct heft_bytes){buf, n}, j->end + HEAD);

        ok = each(ctx, &record, err);
        if (!ok)
            break;
        j->end += HEAD + n;
    }
    heft_free(buf);
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
    else if (got < sizeof magic) /* killed before its first record */
        return true;
    else if (memcmp(magic, MAGIC, sizeof MAGIC) != 0)
        heft_fail(err, HEFT_UNSUPPORTED, HEFT_NO_OFFSET, "no journal of this version of heft");
    else if (read_all(j, st.size, each, ctx, err) &&
             (heft_os->cut(j->fd, j->end) == 0 || heft_fail_errno(err, "cannot be cut off")))
        return true;
    return heft_error_file(err, j->path);
}

/* ---- writing -------------------------------------------------------------------------------- */

static bool put(struct heft_journal *j, const void *p, size_t n, struct heft_error *err)
{
    if (!heft_whole_write(j->fd, p, n, j->end, err))
        return false;
    j->end += n;
    return true;
}

bool heft_journal_append(struct heft_journal *j, const struct heft_buf *record,
                         struct heft_error *err)
{
    uint8_t head[HEAD];

    if (!heft_buf_ok(record, err))
        return false;
    if (record->n > UINT32_MAX)
        return heft_fail(err, HEFT_LIMIT, HEFT_NO_OFFSET, "a journal's record of 4 GiB");
    heft_put_le32(head, (uint32_t)record->n);
    heft_put_le32(head + 4, heft_crc32c(0, record->p, record->n));
    return ((put(j, head, HEAD, err) && put(j, record->p, record->n, err)) &&
            (j->no_sync || heft_os->sync(j->fd) == 0 ||
             heft_fail_errno(err, "cannot be synced to the disk"))) ||
           heft_error_file(err, j->path);
}

/* ---- life ----------------------------------------------------------------------------------- */

static bool hold(struct heft_journal *j, struct heft_error *err)
{
    if (heft_os->lock(j->fd) == 0)
        return true;
    if (errno == EWOULDBLOCK)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "another process is at work with it");
    return heft_fail_errno(err, "cannot be locked");
}

static bool begin(struct heft_journal *j, bool make, struct heft_error *err)
{
    j->fd = make ? heft_os->create(j->path, 0666) : heft_os->open_write(j->path);
    if (j->fd < 0)
        return heft_fail_errno(err, make ? "cannot be created" : "cannot be opened");
    return hold(j, err) && (!make || put(j, MAGIC, sizeof MAGIC, err));
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
        if (begin(j, make, err)) {
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
        (void)heft_os->unlink(j->path); /* while the lock is held */
    if (j->fd >= 0)
        (void)heft_os->close(j->fd);
    heft_free(j->path);
    heft_free(j);
}
