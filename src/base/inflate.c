/* inflate.c: raw deflate, part by part, and the window between steps. */
#include "base/inflate_parts.h"

struct heft_inflate *heft_inflate_new(struct heft_error *err)
{
    struct heft_inflate *z = heft_alloc(sizeof *z, err);

    if (!z)
        return NULL;
    z->fast = heft_inflate_fast_at(0);
    z->bits = 0;
    z->n_bits = 0;
    z->part = HEFT_INFLATE_HEAD;
    z->is_last = z->is_fixed = false;
    z->match = (struct heft_inflate_match){0};
    z->window_n = 0;
    return z;
}

bool heft_inflate_fail(struct heft_error *err, const char *what)
{
    return heft_fail(err, HEFT_MALFORMED, HEFT_NO_OFFSET, "the deflate stream has %s", what);
}

/* Bytes of a stored block: some may be among the bits. */
static void copy_stored(struct heft_inflate *z, struct heft_inflate_io *io, bool *more)
{
    size_t n;

    while (z->left > 0 && z->n_bits > 0 && io->out < io->out_end) {
        *io->out++ = (uint8_t)z->bits;
        heft_inflate_drop(z, 8);
        z->left--;
    }
    n = (size_t)heft_min_u64((size_t)(io->in_end - io->in), (size_t)(io->out_end - io->out));
    n = (size_t)heft_min_u64(n, z->left);
    if (n > 0)
        memcpy(io->out, io->in, n);
    io->out += n;
    io->in += n;
    z->left -= (uint32_t)n;
    if (z->left == 0)
        heft_inflate_end_block(z);
    else
        *more = false;
}

static bool has_plenty(const struct heft_inflate_io *io)
{
    return io->in_end - io->in >= HEFT_INFLATE_FAST_IN + 8 &&
           io->out_end - io->out >= HEFT_INFLATE_FAST_OUT;
}

static bool symbols(struct heft_inflate *z, struct heft_inflate_io *io, bool *more,
                    struct heft_error *err)
{
    heft_inflate_copy(z, io);
    if (has_plenty(io))
        return z->fast(z, io, err);
    if (io->out < io->out_end)
        return heft_inflate_symbol(z, io, more, err);
    *more = false;
    return true;
}

static bool run_parts(struct heft_inflate *z, struct heft_inflate_io *io, struct heft_error *err)
{
    bool more = true, ok = true;

    while (ok && more && z->part != HEFT_INFLATE_DONE) {
        if (z->part == HEFT_INFLATE_BROKEN)
            ok = heft_inflate_fail(err, "been found to be wrong before");
        else if (z->part == HEFT_INFLATE_SYMBOLS)
            ok = symbols(z, io, &more, err);
        else if (z->part == HEFT_INFLATE_STORED)
            copy_stored(z, io, &more);
        else
            ok = heft_inflate_head(z, io, &more, err);
    }
    if (!ok)
        z->part = HEFT_INFLATE_BROKEN;
    return ok;
}

/* Whole bytes among the bits go back to the input, unless the step ended for want of more. Of those
 * which were read by steps before none are left then: they were too few for what came next, so that
 * took all of them. */
static void give_back(struct heft_inflate *z, struct heft_inflate_io *io)
{
    const size_t n = (size_t)heft_min_u64(z->n_bits / 8, (size_t)(io->in - io->in_begin));

    if (z->part != HEFT_INFLATE_DONE && io->out < io->out_end)
        return;
    io->in -= n;
    z->n_bits -= 8 * (uint32_t)n;
    z->bits &= (UINT64_C(1) << z->n_bits) - 1;
}

/* What was made last stays in the window. It slides when it is full, so that every byte is moved
 * about twice. */
static void keep_window(struct heft_inflate *z, const uint8_t *p, size_t n)
{
    if (n >= HEFT_INFLATE_WINDOW) {
        p += n - HEFT_INFLATE_WINDOW;
        n = HEFT_INFLATE_WINDOW;
        z->window_n = 0;
    } else if (n > sizeof z->window - z->window_n) {
        memmove(z->window, z->window + z->window_n - HEFT_INFLATE_WINDOW, HEFT_INFLATE_WINDOW);
        z->window_n = HEFT_INFLATE_WINDOW;
    }
    if (n > 0)
        memcpy(z->window + z->window_n, p, n);
    z->window_n += n;
}

bool heft_inflate_step(struct heft_inflate *z, struct heft_bytes *in, uint8_t **out, size_t *out_n,
                       bool *done, struct heft_error *err)
{
    struct heft_inflate_io io = {in->p, in->p, NULL, *out, *out, NULL};
    bool ok;

    if (in->n == 0) /* its p may be NULL, to which nothing can be added, not even 0 */
        io.in = io.in_begin = z->window;
    if (*out_n == 0)
        io.out = io.out_begin = z->window;
    io.in_end = io.in + in->n;
    io.out_end = io.out + *out_n;
    ok = run_parts(z, &io, err);
    *done = z->part == HEFT_INFLATE_DONE;
    if (!ok)
        return false;
    give_back(z, &io);
    if (in->n > 0)
        in->p = io.in;
    in->n = (size_t)(io.in_end - io.in);
    if (*out_n > 0) {
        keep_window(z, *out, (size_t)(io.out - io.out_begin));
        *out = io.out;
    }
    *out_n = (size_t)(io.out_end - io.out);
    return true;
}

void heft_inflate_free(struct heft_inflate *z)
{
    heft_free(z);
}
