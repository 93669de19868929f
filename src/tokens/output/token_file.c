/* token_file.c: buffered writes to an output file. */
#include "base/endian.h"
#include "tokens/output/token_out_parts.h"

static bool write_at(struct heft_token_file *f, uint64_t at, const void *p, size_t n,
                     struct heft_error *err)
{
    const struct heft_token_out_how *how = f->how;

    if (!how->written)
        return heft_sink_write(f->sink, f->index, at, p, n, err);
    return how->written(how->written_ctx, p, n) ||
           heft_fail(err, HEFT_CANCELLED, HEFT_NO_OFFSET, "interrupted");
}

bool heft_token_buffers(struct heft_token_file *f, struct heft_error *err)
{
    if (!f->buffer && !(f->buffer = heft_alloc(HEFT_TOKEN_BUFFER, err)))
        return false;
    return f->ends || !heft_token_has_ends(f->how) ||
           (f->ends = heft_alloc(HEFT_TOKEN_BUFFER, err)) != NULL;
}

bool heft_token_flush(struct heft_token_file *f, struct heft_error *err)
{
    const size_t n = f->n_buffer;

    f->n_buffer = 0;
    return n == 0 || write_at(f, f->at - n, f->buffer, n, err);
}

bool heft_token_put(struct heft_token_file *f, const void *p, size_t n, struct heft_error *err)
{
    if (n > HEFT_TOKEN_BUFFER - f->n_buffer && !heft_token_flush(f, err))
        return false;
    if (n > HEFT_TOKEN_BUFFER) {
        f->at += n;
        return write_at(f, f->at - n, p, n, err);
    }
    memcpy(f->buffer + f->n_buffer, p, n);
    f->n_buffer += n;
    f->at += n;
    return true;
}

bool heft_token_patch(struct heft_token_file *f, uint64_t at, const void *p, size_t n,
                      struct heft_error *err)
{
    const uint64_t written = f->at - f->n_buffer;

    if (at >= written && n <= f->at - at) {
        memcpy(f->buffer + (at - written), p, n);
        return true;
    }
    return heft_token_flush(f, err) && write_at(f, at, p, n, err);
}

bool heft_token_put_end(struct heft_token_file *f, struct heft_error *err)
{
    if (!f->ends)
        return true;
    if (f->n_ends == HEFT_TOKEN_BUFFER && !heft_token_flush_ends(f, err))
        return false;
    heft_put_le64(f->ends + f->n_ends, f->tokens);
    f->n_ends += 8;
    f->ends_at += 8;
    return true;
}

bool heft_token_flush_ends(struct heft_token_file *f, struct heft_error *err)
{
    const size_t n = f->n_ends;

    f->n_ends = 0;
    return n == 0 || heft_sink_write(f->sink, f->beside, f->ends_at - n, f->ends, n, err);
}
