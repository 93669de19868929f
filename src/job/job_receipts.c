/* job_receipts.c: receipts of parts, beside the first target.
 *
 *     .NAME.ID.part-K      "heft part 1\n" | id | what the commit needs | u32 CRC-32C of all before
 *     .NAME.ID.temp-N      one that is being written; renamed when it is on the disk
 *     .NAME.ID.part-0      a commit has begun to rename files
 */
#include <errno.h>

#include "base/checksum.h"
#include "base/endian.h"
#include "io/os.h"
#include "io/sink.h"
#include "io/whole.h"
#include "job/job_parts.h"

static const char MAGIC[12] = {'h', 'e', 'f', 't', ' ', 'p', 'a', 'r', 't', ' ', '1', '\n'};

#define HEAD         (sizeof MAGIC + HEFT_JOB_ID_DIGITS)
#define TRIES        100
#define MOST_RECEIPT ((uint64_t)256 << 20) /* bytes; that of a part of 32 TB is as large */

const char *heft_job_base(const struct heft_job *job)
{
    return job->whole ? job->whole : job->files[0];
}

const char *heft_job_receipt_path(struct heft_job *job, uint64_t part, struct heft_error *err)
{
    return heft_sink_shared_name(&job->mem, heft_job_base(job), job->id, "part", part, err);
}

static bool fails(struct heft_error *err, const char *what, const char *path)
{
    heft_fail_errno(err, what);
    return heft_error_file(err, path);
}

/* ---- writing ------------------------------------------------------------------------------- */

/* Creates a file under a name that no other process uses. -1 on failure. */
static int create_temp(struct heft_job *job, const char **path, struct heft_error *err)
{
    const uint64_t first = (uint64_t)heft_os_process() * TRIES;
    int fd = -1;

    for (uint64_t n = 0; fd < 0 && n < TRIES; n++) {
        *path =
            heft_sink_shared_name(&job->mem, heft_job_base(job), job->id, "temp", first + n, err);
        if (!*path)
            return -1;
        fd = heft_os->create(*path, 0666);
        if (fd < 0 && errno != EEXIST)
            break;
    }
    if (fd < 0)
        fails(err, "the receipt cannot be created", *path);
    return fd;
}

static bool write_temp(const struct heft_job *job, int fd, const struct heft_buf *text,
                       const char *path, struct heft_error *err)
{
    const bool written =
        heft_whole_write(fd, text->p, text->n, 0, err) || heft_error_file(err, path);
    const bool synced = !written || job->request.convert.no_sync || heft_os->sync(fd) == 0 ||
                        fails(err, "the receipt cannot be synced to the disk", path);
    const bool closed = heft_os->close(fd) == 0 || !written || !synced ||
                        fails(err, "the receipt cannot be closed", path);

    return written && synced && closed;
}

static bool sync_folder(struct heft_job *job, const char *path, struct heft_error *err)
{
    const size_t n = heft_path_folder(path);
    const char *const folder =
        heft_arena_text(&job->mem, n ? (struct heft_str){path, n} : HEFT_STR("."), err);

    return folder && (job->request.convert.no_sync || heft_os->sync_dir(folder) == 0 ||
                      fails(err, "directory cannot be synced to the disk", folder));
}

static void put_receipt(const struct heft_job *job, const struct heft_buf *body,
                        struct heft_buf *out)
{
    uint8_t crc[4];

    heft_buf_put(out, MAGIC, sizeof MAGIC);
    heft_buf_put(out, job->id, HEFT_JOB_ID_DIGITS);
    heft_buf_put(out, body->p, body->n);
    heft_put_le32(crc, out->failed ? 0 : heft_crc32c(0, out->p, out->n));
    heft_buf_put(out, crc, sizeof crc);
}

bool heft_job_receipt_save(struct heft_job *job, uint64_t part, const struct heft_buf *body,
                           struct heft_error *err)
{
    const char *const path = heft_job_receipt_path(job, part, err);
    struct heft_buf text = {0};
    const char *temp = NULL;
    int fd;
    bool ok;

    put_receipt(job, body, &text);
    ok = path && heft_buf_ok(&text, err);
    fd = ok ? create_temp(job, &temp, err) : -1;
    ok = fd >= 0 && write_temp(job, fd, &text, temp, err) &&
         (heft_os->rename(temp, path) == 0 || fails(err, "the receipt cannot be renamed", path));
    if (fd >= 0 && !ok)
        (void)heft_os->unlink(temp);
    heft_buf_release(&text);
    return ok && sync_folder(job, path, err);
}

/* ---- reading ------------------------------------------------------------------------------- */

static bool check_receipt(const struct heft_job *job, struct heft_bytes all, struct heft_error *err)
{
    const size_t n = all.n - 4;

    if (all.n < HEAD + 4 || memcmp(all.p, MAGIC, sizeof MAGIC) != 0)
        return heft_fail(err, HEFT_MALFORMED, 0, "this is not a receipt; run the part again");
    if (memcmp(all.p + sizeof MAGIC, job->id, HEFT_JOB_ID_DIGITS) != 0)
        return heft_fail(err, HEFT_MALFORMED, sizeof MAGIC,
                         "this receipt is one of another plan; run the part again");
    return heft_crc32c(0, all.p, n) == heft_le32(all.p + n) ||
           heft_fail(err, HEFT_MALFORMED, n,
                     "the receipt is damaged: its CRC-32C is %08" PRIx32 ", it says %08" PRIx32
                     "; run the part again",
                     heft_crc32c(0, all.p, n), heft_le32(all.p + n));
}

bool heft_job_receipt_load(struct heft_job *job, uint64_t part, bool *found, struct heft_cur *body,
                           struct heft_error *err)
{
    const char *const path = heft_job_receipt_path(job, part, err);
    struct heft_source source;
    struct heft_os_stat st;
    struct heft_bytes all = {0};
    bool ok;

    *found = path && heft_os->stat_link(path, &st) == 0;
    if (!path || !*found)
        return path && (heft_os_is_missing(errno) || fails(err, "cannot be examined", path));
    if (!heft_source_open_file(&source, path, err))
        return false;
    ok = (source.size <= MOST_RECEIPT ||
          heft_fail(err, HEFT_LIMIT, HEFT_NO_OFFSET,
                    "a receipt of %" PRIu64 " bytes, at most %" PRIu64 "; run the part again",
                    source.size, MOST_RECEIPT)) &&
         heft_source_fetch(&source, 0, source.size, &job->mem, &all, err) &&
         check_receipt(job, all, err);
    heft_source_close(&source);
    if (!ok)
        return heft_error_file(err, path);
    *body = heft_cur_of((struct heft_bytes){all.p + HEAD, all.n - HEAD - 4}, HEAD);
    return true;
}

/* ---- all receipts of a plan ---------------------------------------------------------------- */

struct listing {
    struct heft_job *job;
    struct heft_str folder;
    const char *parts, *temps; /* begins of their names */
    const char **paths;
    size_t n, cap;
    struct heft_error *err;
    bool failed;
};

static bool add_receipt(void *ctx, const char *name)
{
    struct listing *const l = ctx;
    const char *path;

    if (strncmp(name, l->parts, strlen(l->parts)) != 0 &&
        strncmp(name, l->temps, strlen(l->temps)) != 0)
        return true;
    path = heft_arena_printf(&l->job->mem, l->err, "%.*s%s", (int)l->folder.n, l->folder.p, name);
    l->failed = !path || !heft_grow(&l->paths, &l->cap, l->n, 1, sizeof *l->paths, l->err);
    if (!l->failed)
        l->paths[l->n++] = path;
    return !l->failed;
}

/* Begin of the names of a kind: without the directory and the number, a single digit. */
static const char *begin_of(struct listing *l, const char *kind)
{
    char *const path = (char *)(uintptr_t)heft_sink_shared_name(&l->job->mem, heft_job_base(l->job),
                                                                l->job->id, kind, 0, l->err);

    if (path)
        path[strlen(path) - 1] = '\0';
    return path ? path + l->folder.n : NULL;
}

static bool list_receipts(struct listing *l)
{
    const char *const base = heft_job_base(l->job);
    const char *folder;

    l->folder = (struct heft_str){base, heft_path_folder(base)};
    folder = heft_arena_text(&l->job->mem, l->folder.n ? l->folder : HEFT_STR("."), l->err);
    l->parts = begin_of(l, "part");
    l->temps = begin_of(l, "temp");
    if (!folder || !l->parts || !l->temps)
        return false;
    return heft_os->list_dir(folder, add_receipt, l) == 0 || (!l->failed && errno == ENOENT) ||
           (!l->failed && fails(l->err, "directory cannot be read", folder));
}

bool heft_job_receipts_delete(struct heft_job *job, size_t *n, struct heft_error *err)
{
    struct listing l = {.job = job, .err = err};
    bool ok = list_receipts(&l);

    for (size_t i = 0; ok && i < l.n; i++) {
        if (heft_os->unlink(l.paths[i]) == 0)
            ++*n;
        else if (errno != ENOENT)
            ok = fails(err, "cannot be deleted", l.paths[i]);
    }
    heft_free(l.paths);
    return ok;
}

bool heft_job_has_receipts(struct heft_job *job, bool *has, struct heft_error *err)
{
    struct listing l = {.job = job, .err = err};
    const bool ok = list_receipts(&l);

    *has = l.n > 0;
    heft_free(l.paths);
    return ok;
}
