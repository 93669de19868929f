/* source_stream.c: copies of inputs in temporary files without names: of those that can only be read
 * sequentially, and of those that another process could not read. */
#include <errno.h>

#include "io/os.h"
#include "io/source.h"
#include "io/whole.h"

#define PIECE ((size_t)256 << 10)
#define LARGE ((size_t)1 << 20)
#define WHAT  "what can be read but once"
#define COPY  "a copy of the input"

/* A signal with a handler is the only way to end a wait. */
static bool fail_read(struct heft_error *err)
{
    if (errno == EINTR)
        return heft_fail(err, HEFT_CANCELLED, HEFT_NO_OFFSET, "interrupted");
    return heft_fail_errno(err, "read failed");
}

static bool copy_stream(int from, int to, uint64_t *size, struct heft_error *err)
{
    uint8_t *piece = heft_alloc(PIECE, err);
    int64_t got = piece ? 1 : 0;
    bool ok = piece != NULL;

    for (*size = 0; ok && got > 0;) {
        got = heft_os->read(from, piece, PIECE);
        ok = got >= 0 || fail_read(err);
        ok = ok && heft_temp_write(to, piece, (size_t)got, *size, WHAT, err);
        *size += ok ? (uint64_t)got : 0;
    }
    heft_free(piece);
    return ok;
}

static bool open_copy(struct heft_source *out, int from, const char *label, struct heft_error *err)
{
    const int fd = heft_temp_open(WHAT, err);
    uint64_t size;

    if (fd < 0)
        return heft_error_file(err, label);
    if (!copy_stream(from, fd, &size, err)) {
        (void)heft_os->close(fd);
        return heft_error_file(err, label);
    }
    heft_source_open_fd(out, fd, size, label);
    return true;
}

bool heft_source_open_stdin(struct heft_source *out, const char *label, struct heft_error *err)
{
    return open_copy(out, 0, label, err);
}

bool heft_source_open_stream(struct heft_source *out, const char *path, struct heft_error *err)
{
    const int from = heft_os->open_stream(path);
    bool ok;

    if (from < 0) {
        heft_fail_errno(err, "cannot be opened");
        return heft_error_file(err, path);
    }
    ok = open_copy(out, from, path, err);
    (void)heft_os->close(from);
    return ok;
}

static bool copy_source(const struct heft_source *from, int to, struct heft_error *err)
{
    uint8_t *const piece = heft_alloc(LARGE, err);
    bool ok = piece != NULL;
    size_t n;

    for (uint64_t at = 0; ok && at < from->size; at += n) {
        n = (size_t)heft_min_u64(from->size - at, LARGE);
        ok = heft_source_read(from, at, piece, n, err) &&
             heft_temp_write(to, piece, n, at, COPY, err);
    }
    heft_free(piece);
    return ok;
}

bool heft_source_open_copy(struct heft_source *out, const struct heft_source *from,
                           struct heft_error *err)
{
    const int fd = heft_temp_open(COPY, err);

    if (fd < 0)
        return heft_error_file(err, from->label);
    if (!copy_source(from, fd, err)) {
        (void)heft_os->close(fd);
        return heft_error_file(err, from->label);
    }
    heft_source_open_fd(out, fd, from->size, from->label);
    return true;
}
