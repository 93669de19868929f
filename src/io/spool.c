/* spool.c: a deflated range of a source, inflated once, as a source of its own.
 *
 *     parent ─pread→ [256 KiB] ─inflate→ [256 KiB] ─→ memory (up to 1 MiB) or an unlinked file
 *
 * The declared size is a wall: one byte more than it is asked for, to see that none comes, and no
 * stream inflates further than that. */
#include "io/source.h"

#include "base/checksum.h"
#include "base/inflate.h"
#include "io/os.h"

#define PIECE      ((size_t)256 << 10)
#define MAX_MEMORY ((uint64_t)1 << 20)

struct spool {
    uint8_t *memory; /* NULL where it is in a file */
    struct heft_source inner;
};

static bool spool_read(const struct heft_source *src, uint64_t off, void *dst, size_t n,
                       struct heft_error *err)
{
    const struct spool *spool = src->self;

    return heft_source_read(&spool->inner, off, dst, n, err);
}

static void spool_free(struct spool *spool)
{
    heft_source_close(&spool->inner);
    heft_free(spool->memory);
    heft_free(spool);
}

static void spool_close(struct heft_source *src)
{
    spool_free(src->self);
}

static const struct heft_source_ops spool_ops = {spool_read, spool_close};

static bool spool_open(struct spool *spool, uint64_t size, const char *label,
                       struct heft_error *err)
{
    int fd;

    if (size <= MAX_MEMORY) {
        spool->memory = heft_alloc((size_t)size, err);
        if (!spool->memory)
            return false;
        heft_source_open_memory(&spool->inner, (struct heft_bytes){spool->memory, (size_t)size},
                                label);
        return true;
    }
    fd = heft_os->temp();
    if (fd < 0)
        return heft_fail_errno(err, "no temporary file for inflated data");
    heft_source_open_fd(&spool->inner, fd, size, label);
    return true;
}

static bool spool_put(struct spool *spool, uint64_t off, const uint8_t *p, size_t n,
                      struct heft_error *err)
{
    if (spool->memory) {
        memcpy(spool->memory + off, p, n);
        return true;
    }
    while (n > 0) {
        const int64_t put = heft_os->pwrite(spool->inner.fd, p, n, off);

        if (put < 0)
            return heft_fail_errno(err, "temporary file for inflated data cannot be written");
        if (put == 0)
            return heft_fail(
                err, HEFT_IO, HEFT_NO_OFFSET,
                "temporary file for inflated data takes no more than %" PRIu64 " bytes", off);
        p += put;
        off += (uint64_t)put;
        n -= (size_t)put;
    }
    return true;
}

/* One pass over the stream. */
struct pass {
    const struct heft_source *parent;
    uint64_t at, left; /* of the packed bytes: what has not been read yet */
    uint64_t size;     /* declared */
    uint64_t made;
    uint32_t crc;
    struct heft_inflate *z;
    struct spool *spool;
    uint8_t *in, *out;
    struct heft_bytes view; /* read, not yet consumed */
};

static bool refill(struct pass *pass, struct heft_error *err)
{
    const size_t n = (size_t)heft_min_u64(pass->left, PIECE);

    if (pass->view.n != 0 || n == 0)
        return true;
    if (!heft_source_read(pass->parent, pass->at, pass->in, n, err))
        return false;
    pass->view = (struct heft_bytes){pass->in, n};
    pass->at += n;
    pass->left -= n;
    return true;
}

/* Inflates one buffer's worth. */
static bool inflate_some(struct pass *pass, bool *done, struct heft_error *err)
{
    const size_t room = (size_t)heft_min_u64(pass->size - pass->made + 1, PIECE);
    const size_t before = pass->view.n;
    uint8_t *end = pass->out;
    size_t free_n = room;
    size_t n;

    if (!refill(pass, err) || !heft_inflate_step(pass->z, &pass->view, &end, &free_n, done, err))
        return false;
    n = room - free_n;
    if (n > pass->size - pass->made)
        return heft_fail(err, HEFT_MALFORMED, HEFT_NO_OFFSET,
                         "the deflate stream gives more than the %" PRIu64 " bytes declared",
                         pass->size);
    if (!*done && n == 0 && pass->left == 0 && pass->view.n == before)
        return heft_fail(err, HEFT_MALFORMED, HEFT_NO_OFFSET,
                         "the deflate stream breaks off after %" PRIu64 " of %" PRIu64 " bytes",
                         pass->made, pass->size);
    pass->crc = heft_crc32(pass->crc, pass->out, n);
    if (!spool_put(pass->spool, pass->made, pass->out, n, err))
        return false;
    pass->made += n;
    return true;
}

static bool inflate_all(struct pass *pass, struct heft_error *err)
{
    bool done = false;

    while (!done)
        if (!inflate_some(pass, &done, err))
            return false;
    if (pass->made != pass->size)
        return heft_fail(err, HEFT_MALFORMED, HEFT_NO_OFFSET,
                         "the deflate stream gives %" PRIu64 " bytes, %" PRIu64 " are declared",
                         pass->made, pass->size);
    if (pass->view.n != 0 || pass->left != 0)
        return heft_fail(err, HEFT_MALFORMED, HEFT_NO_OFFSET,
                         "%" PRIu64 " bytes follow the end of the deflate stream",
                         pass->view.n + pass->left);
    return true;
}

static bool run_pass(struct pass *pass, bool check_crc, uint32_t crc, struct heft_error *err)
{
    bool ok;

    pass->z = heft_inflate_new(err);
    pass->in = pass->z ? heft_alloc(2 * PIECE, err) : NULL;
    if (pass->in)
        pass->out = pass->in + PIECE;
    ok = pass->in && inflate_all(pass, err);
    if (ok && check_crc && pass->crc != crc)
        ok = heft_fail(err, HEFT_MISMATCH, HEFT_NO_OFFSET,
                       "CRC-32 of the inflated data is %08" PRIx32 ", %08" PRIx32 " is stored",
                       pass->crc, crc);
    heft_free(pass->in);
    heft_inflate_free(pass->z);
    return ok;
}

bool heft_source_open_inflated(struct heft_source *out, const struct heft_source *parent,
                               uint64_t off, uint64_t packed, uint64_t size, bool check_crc,
                               uint32_t crc, const char *label, struct heft_error *err)
{
    struct pass pass = {.parent = parent, .at = off, .left = packed, .size = size};

    if (!label)
        label = parent->label;
    if (size == UINT64_MAX) { /* one more byte is asked for */
        heft_fail(err, HEFT_MALFORMED, HEFT_NO_OFFSET,
                  "%" PRIu64 " bytes declared for a deflate stream", size);
        return heft_error_file(err, label);
    }
    if (!heft_within(off, packed, parent->size)) {
        heft_fail(err, HEFT_MALFORMED, off,
                  "file ends at %" PRIu64 ", a deflate stream of %" PRIu64 " bytes wanted",
                  parent->size, packed);
        return heft_error_file(err, parent->label);
    }
    pass.spool = heft_calloc(1, sizeof *pass.spool, err);
    if (!pass.spool)
        return false;
    if (!spool_open(pass.spool, size, label, err) || !run_pass(&pass, check_crc, crc, err)) {
        spool_free(pass.spool);
        return heft_error_file(err, label);
    }
    *out = (struct heft_source){
        .ops = &spool_ops,
        .self = pass.spool,
        .size = size,
        .fd = pass.spool->inner.fd,
        .label = label,
    };
    return true;
}
