/* input_bytes.c: bytes of a file or a pipe in order, decompressed if packed. */
#include "tokens/input/input_bytes.h"

#include <errno.h>

#include "io/os.h"
#include "tokens/input/lookalikes.h"

#define PACKED ((size_t)128 << 10)
#define HEAD   64 /* bytes that identify packed files and files that are no text */

/* Decides after an interrupted call whether to try again. */
static bool is_interrupted(const struct heft_input_bytes *in, bool *go_on, struct heft_error *err)
{
    if (errno != EINTR)
        return false;
    *go_on = !in->asked.go_on || in->asked.go_on(in->asked.ctx, err);
    return true;
}

/* read and open_stream return on signals; false with an error if the caller wants to stop. */
static bool wait_read(const struct heft_input_bytes *in, uint8_t *to, size_t room, int64_t *got,
                      struct heft_error *err)
{
    bool go_on = true;

    do
        *got = heft_os->read(in->fd, to, room);
    while (*got < 0 && is_interrupted(in, &go_on, err) && go_on);
    return go_on;
}

static bool wait_open(struct heft_input_bytes *in, struct heft_error *err)
{
    bool go_on = true;

    do
        in->fd = heft_os->open_stream(in->path);
    while (in->fd < 0 && is_interrupted(in, &go_on, err) && go_on);
    return go_on && (in->fd >= 0 || heft_fail_errno(err, "cannot be opened"));
}

/* Reads from the system. A regular file is read up to its size when it was opened: bytes appended
 * later are ignored, a file that has shrunk is an error. */
static bool pull_bytes(struct heft_input_bytes *in, uint8_t *to, size_t room, size_t *n,
                       struct heft_error *err)
{
    const bool is_sized =
        in->is_regular && in->size > 0; /* files in /proc have size 0, and contents */
    const uint64_t left = is_sized ? in->size - in->read : room;
    int64_t got;

    *n = 0;
    if (left == 0)
        return true;
    room = (size_t)heft_min_u64(room, left);
    if (is_sized)
        got = heft_os->pread(in->fd, to, room, in->read);
    else if (!wait_read(in, to, room, &got, err))
        return false;
    if (got < 0) {
        heft_fail_errno(err, "read failed");
        err->offset = in->read;
        return heft_error_file(err, in->path);
    }
    if (got == 0 && is_sized) {
        heft_fail(err, HEFT_IO, in->read,
                  "file ended at %" PRIu64 " while it was being read (was %" PRIu64 " bytes)",
                  in->read, in->size);
        return heft_error_file(err, in->path);
    }
    *n = (size_t)got;
    in->read += (uint64_t)got;
    return true;
}

static bool check_stranger(struct heft_input_bytes *in, struct heft_bytes head,
                           struct heft_error *err)
{
    const char *stranger = heft_stranger(head);

    in->is_known = true;
    return !stranger ||
           heft_fail(err, HEFT_UNSUPPORTED, 0,
                     "%s; expected text, JSON lines or .npz, uncompressed or as .gz or .zst%s",
                     stranger,
                     heft_stranger_is_table(stranger)
                         ? "; pyarrow turns it into JSON lines (heft-encode(1), PARQUET)"
                         : "");
}

/* Whether a .gz or .zst file is shorter than the four bytes that identify it. */
static bool is_cut_pack(const char *path, struct heft_bytes head)
{
    static const uint8_t GZIP[] = {0x1F, 0x8B, 0x08}, ZSTD[] = {0x28, 0xB5, 0x2F, 0xFD};
    const size_t n = strlen(path);

    if (head.n == 0)
        return false;
    return (n > 3 && strcmp(path + n - 3, ".gz") == 0 && head.n < 4 &&
            memcmp(head.p, GZIP, heft_min_size(sizeof GZIP, head.n)) == 0) ||
           (n > 4 && strcmp(path + n - 4, ".zst") == 0 && head.n < 4 &&
            memcmp(head.p, ZSTD, head.n) == 0);
}

/* Reads the first bytes; a pipe may deliver them one at a time. */
static bool pull_head(struct heft_input_bytes *in, struct heft_error *err)
{
    size_t n = 0, more = 1;
    enum heft_pack pack;

    while (n < HEAD && more > 0) {
        if (!pull_bytes(in, in->packed + n, HEAD - n, &more, err))
            return false;
        n += more;
    }
    in->waiting = (struct heft_bytes){in->packed, n};
    pack = heft_pack_of(in->waiting);
    if (pack == HEFT_PACK_NONE && is_cut_pack(in->path, in->waiting))
        return heft_fail(err, HEFT_MALFORMED, n, "the compressed data is truncated");
    if (pack == HEFT_PACK_NONE)
        return check_stranger(in, in->waiting, err);
    in->unpack = heft_unpack_new(pack, err);
    return in->unpack != NULL;
}

static bool open_path(struct heft_input_bytes *in, struct heft_error *err)
{
    struct heft_os_stat st = {0};

    if (strcmp(in->path, "-") == 0)
        in->fd = 0;
    else if (!wait_open(in, err))
        return false;
    if (heft_os->stat_fd(in->fd, &st) != 0)
        return heft_fail_errno(err, "cannot be examined");
    if (st.is_dir)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "is a directory; expected a file");
    in->is_regular =
        st.is_file && in->fd != 0; /* part of standard input may have been read by others */
    in->size = st.size;
    return true;
}

bool heft_input_open(struct heft_input_bytes *in, const char *path, struct heft_input_asked asked,
                     struct heft_error *err)
{
    *in = (struct heft_input_bytes){.path = path, .asked = asked, .fd = -1};
    in->packed = heft_alloc(PACKED, err);
    if (in->packed && open_path(in, err) && pull_head(in, err))
        return true;
    heft_input_close(in);
    return heft_error_file(err, path);
}

/* Adds the offset in the packed file to an error. */
static bool fail_packed(const struct heft_input_bytes *in, struct heft_error *err)
{
    if (err->offset == HEFT_NO_OFFSET && err->code != HEFT_NOMEM)
        err->offset = in->read - in->waiting.n;
    return false;
}

static bool read_packed(struct heft_input_bytes *in, uint8_t *to, size_t room, size_t *n,
                        struct heft_error *err)
{
    const size_t wanted = room;

    while (room == wanted) {
        if (in->waiting.n == 0) {
            size_t more;

            if (!pull_bytes(in, in->packed, PACKED, &more, err))
                return false;
            if (more == 0)
                in->ended = true;
            in->waiting = (struct heft_bytes){in->packed, more};
        }
        if (!heft_unpack_step(in->unpack, &in->waiting, &to, &room, err))
            return fail_packed(in, err);
        if (in->ended && room == wanted)
            break;
    }
    *n = wanted - room;
    if (*n > 0 && !in->is_known && !check_stranger(in, (struct heft_bytes){to - *n, *n}, err))
        return false;
    return *n > 0 || heft_unpack_end(in->unpack, err) || fail_packed(in, err);
}

bool heft_input_read(struct heft_input_bytes *in, uint8_t *to, size_t room, size_t *n,
                     struct heft_error *err)
{
    if (in->unpack)
        return read_packed(in, to, room, n, err) || heft_error_file(err, in->path);
    if (in->waiting.n == 0)
        return pull_bytes(in, to, room, n, err);
    *n = (size_t)heft_min_u64(room, in->waiting.n);
    memcpy(to, in->waiting.p, *n);
    in->waiting.p += *n;
    in->waiting.n -= *n;
    return true;
}

bool heft_input_seek(struct heft_input_bytes *in, uint64_t at, struct heft_error *err)
{
    uint8_t some[4096];
    size_t n;

    if (!in->unpack && in->is_regular && at <= in->size && in->size > 0) {
        in->read = at;
        in->waiting.n = 0;
        return true;
    }
    for (; at > 0; at -= n) {
        if (!heft_input_read(in, some, (size_t)heft_min_u64(at, sizeof some), &n, err))
            return false;
        if (n == 0) {
            heft_fail(err, HEFT_IO, HEFT_NO_OFFSET,
                      "the input ends before the checkpoint of the interrupted run");
            return heft_error_file(err, in->path);
        }
    }
    return true;
}

void heft_input_close(struct heft_input_bytes *in)
{
    if (in->fd > 0)
        (void)heft_os->close(in->fd); /* opened for reading only: close cannot lose data */
    heft_unpack_free(in->unpack);
    heft_free(in->packed);
    *in = (struct heft_input_bytes){.fd = -1};
}
