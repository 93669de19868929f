/* source.c: random access to files, memory and slices; mappings; paths. */
#include "io/source.h"

#include <errno.h>

#include "io/files.h"
#include "io/os.h"
#include "io/whole.h"

/* ---- sources of files ---------------------------------------------------------------------- */

static bool file_read(const struct heft_source *src, uint64_t off, void *dst, size_t n,
                      struct heft_error *err)
{
    size_t got;

    if (!heft_whole_read(src->fd, dst, n, src->start + off, &got, err)) {
        err->offset -= src->start;
        return heft_error_file(err, src->label);
    }
    if (got == n)
        return true;
    heft_fail(err, HEFT_IO, off + got,
              "file ended at %" PRIu64 " while it was being read (was %" PRIu64 " bytes)",
              off + got, src->size);
    return heft_error_file(err, src->label);
}

static void file_close(struct heft_source *src)
{
    (void)heft_os->close(src->fd); /* opened for reading: a failure loses nothing */
}

static const struct heft_source_ops file_ops = {.read = file_read, .close = file_close};
static const struct heft_source_ops part_ops = {.read = file_read};

static bool check_file(int fd, uint64_t *size, struct heft_error *err)
{
    struct heft_os_stat st;

    if (heft_os->stat_fd(fd, &st) != 0)
        return heft_fail_errno(err, "cannot be examined");
    if (st.is_dir)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "is a directory; expected a file");
    if (!st.is_file)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "not a regular file");
    *size = st.size;
    return true;
}

bool heft_source_open_file(struct heft_source *out, const char *path, struct heft_error *err)
{
    const int fd = heft_os->open_read(path);
    uint64_t size = 0;

    if (fd < 0) {
        /* ENXIO: a socket; ENODEV: a device without a driver. */
        if (errno == ENXIO || errno == ENODEV)
            heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "not a regular file");
        else
            heft_fail_errno(err, "cannot be opened");
        return heft_error_file(err, path);
    }
    if (!check_file(fd, &size, err)) {
        (void)heft_os->close(fd);
        return heft_error_file(err, path);
    }
    heft_source_open_fd(out, fd, size, path);
    return true;
}

void heft_source_open_fd(struct heft_source *out, int fd, uint64_t size, const char *label)
{
    *out = (struct heft_source){.ops = &file_ops, .size = size, .fd = fd, .label = label};
}

void heft_source_open_part(struct heft_source *out, int fd, uint64_t start, uint64_t size,
                           const char *label)
{
    *out = (struct heft_source){
        .ops = &part_ops, .size = size, .fd = fd, .start = start, .label = label};
}

/* ---- sources in memory --------------------------------------------------------------------- */

static bool memory_read(const struct heft_source *src, uint64_t off, void *dst, size_t n,
                        struct heft_error *err)
{
    (void)err;
    memcpy(dst, (const uint8_t *)src->self + off, n); /* the caller heft_source_read has checked
                                                         the range */
    return true;
}

static const void *memory_view(const struct heft_source *src, uint64_t off, size_t n)
{
    (void)n;
    return (const uint8_t *)src->self + off;
}

static const struct heft_source_ops memory_ops = {.read = memory_read, .view = memory_view};

void heft_source_open_memory(struct heft_source *out, struct heft_bytes bytes, const char *label)
{
    *out = (struct heft_source){
        .ops = &memory_ops,
        .self = (void *)(uintptr_t)bytes.p, /* the bytes are never written to */
        .size = bytes.n,
        .fd = -1,
        .label = label,
    };
}

/* ---- slices of sources --------------------------------------------------------------------- */

/* `self` is the root source: a slice of a slice refers to the same root, with the offsets added
 * up. */
static bool slice_read(const struct heft_source *src, uint64_t off, void *dst, size_t n,
                       struct heft_error *err)
{
    const struct heft_source *root = src->self;

    return root->ops->read(root, src->base + off, dst, n,
                           err); /* no overflow: the range was checked when the slice was opened */
}

static const struct heft_source_ops slice_ops = {.read = slice_read};

static bool is_slice(const struct heft_source *src)
{
    return src->ops == &slice_ops;
}

bool heft_source_open_slice(struct heft_source *out, const struct heft_source *parent, uint64_t off,
                            uint64_t len, const char *label, struct heft_error *err)
{
    if (!heft_within(off, len, parent->size)) {
        heft_fail(err, HEFT_MALFORMED, off,
                  "file ends at %" PRIu64 ", %" PRIu64 " bytes expected at %" PRIu64, parent->size,
                  len, off);
        return heft_error_file(err, parent->label);
    }
    *out = (struct heft_source){
        .ops = &slice_ops,
        .self = is_slice(parent) ? parent->self : (void *)(uintptr_t)parent,
        .base = parent->base + off,
        .size = len,
        .fd = parent->fd,
        .start = parent->start,
        .is_called = parent->is_called,
        .is_slow = parent->is_slow,
        .label = label ? label : parent->label,
    };
    return true;
}

/* ---- reading ------------------------------------------------------------------------------- */

/* A slice labelled with its file's name reports offsets in that file; one with a label of its own,
 * offsets in itself. */
static uint64_t shown_base(const struct heft_source *src)
{
    const struct heft_source *root = is_slice(src) ? src->self : src;

    if (src->label == root->label ||
        (src->label && root->label && strcmp(src->label, root->label) == 0))
        return src->base;
    return 0;
}

static bool check_range(const struct heft_source *src, uint64_t off, uint64_t n,
                        struct heft_error *err)
{
    const uint64_t base = shown_base(src);

    if (HEFT_LIKELY(heft_within(off, n, src->size)))
        return true;
    heft_fail(err, HEFT_MALFORMED, off <= UINT64_MAX - base ? base + off : off,
              "file ends at %" PRIu64 ", %" PRIu64 " bytes expected at %" PRIu64, base + src->size,
              n, off <= UINT64_MAX - base ? base + off : off);
    return heft_error_file(err, src->label);
}

bool heft_source_read(const struct heft_source *src, uint64_t off, void *dst, size_t n,
                      struct heft_error *err)
{
    if (!check_range(src, off, n, err))
        return false;
    return n == 0 || src->ops->read(src, off, dst, n, err);
}

bool heft_source_fetch(const struct heft_source *src, uint64_t off, uint64_t n,
                       struct heft_arena *arena, struct heft_bytes *out, struct heft_error *err)
{
    uint8_t *copy;
    size_t size;

    if (!check_range(src, off, n, err))
        return false;
    if (!heft_size(n, &size))
        return heft_fail(err, HEFT_NOMEM, off, "%" PRIu64 " bytes do not fit into memory", n);
    copy = heft_arena_alloc(arena, size, err);
    if (!copy || !heft_source_read(src, off, copy, size, err))
        return false;
    *out = (struct heft_bytes){copy, size};
    return true;
}

bool heft_source_zeros(const struct heft_source *src, uint64_t off, uint64_t n, bool *zeros,
                       struct heft_error *err)
{
    uint8_t piece[4096];

    *zeros = true;
    for (uint64_t at = 0; at < n && *zeros;) {
        const size_t some = (size_t)heft_min_u64(n - at, sizeof piece);

        if (!heft_source_read(src, off + at, piece, some, err)) /* checks the range */
            return false;
        for (size_t i = 0; i < some; i++)
            *zeros = *zeros && piece[i] == 0;
        at += some;
    }
    return true;
}

int heft_source_fd(const struct heft_source *src, uint64_t off, uint64_t *fd_off)
{
    if (src->fd < 0 || !src->ops)
        return -1;
    *fd_off = src->start + src->base + off;
    return src->fd;
}

void heft_source_close(struct heft_source *src)
{
    if (src->ops && src->ops->close)
        src->ops->close(src);
    *src = (struct heft_source){.fd = -1};
}

/* ---- mappings ------------------------------------------------------------------------------ */

static bool map_file(int fd, uint64_t off, size_t n, bool writable, struct heft_mapping *out,
                     struct heft_error *err)
{
    const size_t before = (size_t)(off % heft_os_page()); /* a mapping begins at a page */
    void *address;

    if (n > SIZE_MAX - before)
        return heft_fail(err, HEFT_NOMEM, off, "%zu bytes do not fit into memory", n);
    address = heft_os->map(fd, off - before, n + before, writable);
    if (!address) {
        heft_fail_errno(err, "cannot be mapped");
        err->offset = off;
        return false;
    }
    *out = (struct heft_mapping){(uint8_t *)address + before, address, n + before};
    return true;
}

const void *heft_source_view(const struct heft_source *src, uint64_t off, size_t n)
{
    const struct heft_source *root = is_slice(src) ? src->self : src;

    if (!root->ops->view || off > src->size || n > src->size - off)
        return NULL;
    return root->ops->view(root, src->base + off, n);
}

/* Borrows the bytes of a source that has an address for them. */
static bool borrow_bytes(const struct heft_source *src, uint64_t off, size_t n, bool writable,
                         struct heft_mapping *out, struct heft_error *err)
{
    const void *const data = writable ? NULL : heft_source_view(src, off, n);

    if (!data)
        return heft_fail(err, HEFT_UNSUPPORTED, off, "cannot be mapped%s, only read",
                         writable ? " as a writable view" : "");
    *out = (struct heft_mapping){(uint8_t *)(uintptr_t)data, NULL, n};
    return true;
}

bool heft_source_map(const struct heft_source *src, uint64_t off, uint64_t n, bool writable,
                     struct heft_mapping *out, struct heft_error *err)
{
    static const uint8_t nothing[1];
    const struct heft_source *root = is_slice(src) ? src->self : src;
    uint64_t at;
    size_t size;
    int fd;

    if (!check_range(src, off, n, err))
        return false;
    if (!heft_size(n, &size)) {
        heft_fail(err, HEFT_NOMEM, off, "%" PRIu64 " bytes do not fit into memory", n);
        return heft_error_file(err, root->label);
    }
    fd = heft_source_fd(src, off, &at);
    if (size == 0) {
        *out = (struct heft_mapping){(uint8_t *)(uintptr_t)nothing, NULL, 0};
        return true;
    }
    if (fd < 0 && borrow_bytes(src, off, size, writable, out, err))
        return true;
    if (fd >= 0 && map_file(fd, at, size, writable, out, err))
        return true;
    if (fd >= 0)
        err->offset -= src->start;
    return heft_error_file(err, root->label);
}

bool heft_source_check_end(const struct heft_source *src, uint64_t off, uint64_t n,
                           struct heft_error *err)
{
    struct heft_os_stat st;
    uint64_t at;
    const int fd = heft_source_fd(src, off, &at);

    if (fd < 0)
        return true;
    if (heft_os->stat_fd(fd, &st) != 0)
        heft_fail_errno(err, "cannot be examined");
    else if (heft_within(at, n, st.size))
        return true;
    else
        heft_fail(err, HEFT_IO, st.size - heft_min_u64(st.size, src->start),
                  "the file shrank: it ends at %" PRIu64 ", %" PRIu64 " bytes expected at %" PRIu64,
                  st.size, n, at);
    return heft_error_file(err, is_slice(src) ? ((const struct heft_source *)src->self)->label
                                              : src->label);
}

void heft_mapping_release(struct heft_mapping *map)
{
    if (map->address)
        (void)heft_os->unmap(map->address, map->length);
    *map = (struct heft_mapping){0};
}

/* ---- paths and directories ----------------------------------------------------------------- */

enum heft_path_kind heft_path_kind(const char *path)
{
    return heft_files_kind(&heft_disk, path);
}

bool heft_path_is_folder(const char *path, bool *is_folder, struct heft_error *err)
{
    struct heft_os_stat st = {0};

    if (heft_os->stat_path(path, &st) != 0 && !heft_os_is_missing(errno)) {
        heft_fail_errno(err, "cannot be examined");
        return heft_error_file(err, path);
    }
    *is_folder = st.is_dir;
    return true;
}

size_t heft_path_folder(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? (size_t)(slash - path) + 1 : 0;
}

bool heft_path_list(const char *folder, struct heft_arena *arena, const char *const **names,
                    size_t *count, struct heft_error *err)
{
    return heft_files_list(&heft_disk, folder, arena, names, count, err);
}
