/* token_file.c: buffered writes to an output file. */
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
