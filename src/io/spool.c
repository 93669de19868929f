/* spool.c: decompressed members of archives, each in a region of a spool.
 *
 *     regions   0 … 1 MiB      memory
 *               1 MiB …        temporary file, from its begin */
#include "io/inflate_stream.h"
#include "io/pool.h"
#include "io/whole.h"

#define MEMORY ((uint64_t)1 << 20)
#define WHAT   "inflated data"

bool heft_spool_init(struct heft_spool *spool, struct heft_error *err)
{
    *spool = (struct heft_spool){.lock = heft_lock_new(err)};
    return spool->lock != NULL;
}

void heft_spool_release(struct heft_spool *spool)
{
    heft_source_close(&spool->file);
    heft_free(spool->memory);
    if (spool->lock)
        heft_lock_free(spool->lock);
    *spool = (struct heft_spool){0};
}

static bool open_file(struct heft_spool *spool, struct heft_error *err)
{
    int fd;

    if (spool->file.ops)
        return true;
    fd = heft_temp_open(WHAT, err);
    if (fd < 0)
        return false;
    heft_source_open_fd(&spool->file, fd, INT64_MAX, "temporary file for " WHAT);
    return true;
}

static bool place_in_memory(struct heft_spool *spool, uint64_t size, uint64_t *at,
                            struct heft_error *err)
{
    if (!spool->memory && !(spool->memory = heft_alloc(MEMORY, err)))
        return false;
    *at = spool->in_memory;
    spool->in_memory += size;
    return true;
}

static bool place_in_file(struct heft_spool *spool, uint64_t size, uint64_t *at,
                          struct heft_error *err)
{
    if (size > INT64_MAX - MEMORY - spool->in_file)
        return heft_fail(err, HEFT_LIMIT, HEFT_NO_OFFSET,
                         "%" PRIu64 " bytes of inflated data after %" PRIu64 " others", size,
                         spool->in_file);
    if (!open_file(spool, err))
        return false;
    *at = MEMORY + spool->in_file;
    spool->in_file += size;
    return true;
}

bool heft_spool_place(struct heft_spool *spool, const struct heft_stream *stream, uint64_t *at,
                      struct heft_error *err)
{
    /* Checked before space is allocated: no member can declare more than its packed bytes can
     * give. */
    bool ok = heft_stream_check_range(stream, err);

    if (ok) {
        heft_lock_take(spool->lock);
        ok = stream->size <= MEMORY - spool->in_memory
                 ? place_in_memory(spool, stream->size, at, err)
                 : place_in_file(spool, stream->size, at, err);
        heft_lock_drop(spool->lock);
    }
    return ok || heft_error_file(err, stream->parent->label);
}

bool heft_spool_read(const struct heft_spool *spool, uint64_t at, void *dst, size_t n,
                     struct heft_error *err)
{
    if (at >= MEMORY)
        return heft_source_read(&spool->file, at - MEMORY, dst, n, err);
    if (n > 0)
        memcpy(dst, spool->memory + at, n);
    return true;
}

/* A region being filled. */
struct region {
    const struct heft_spool *spool;
    uint64_t begin;
};

static bool fill_region(void *ctx, uint64_t off, const uint8_t *p, size_t n, struct heft_error *err)
{
    const struct region *region = ctx;
    const struct heft_spool *spool = region->spool;
    const uint64_t at = region->begin + off;

    if (at < MEMORY) {
        memcpy(spool->memory + at, p, n);
        return true;
    }
    return heft_temp_write(spool->file.fd, p, n, at - MEMORY, WHAT, err);
}

bool heft_spool_fill(const struct heft_spool *spool, uint64_t at, const struct heft_stream *stream,
                     struct heft_error *err)
{
    struct region region = {spool, at};

    return heft_stream_read(stream, fill_region, &region, err);
}
