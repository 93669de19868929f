/* inflate.c: raw deflate by ISA-L.
 *
 * ISA-L reads up to 8 bytes beyond the symbol it decodes. Each step returns the bytes it does not
 * need to its caller, because the next step may bring other memory. */
#include "base/inflate.h"

#include <isa-l/igzip_lib.h>

#define MOST ((size_t)1 << 30) /* bytes per call: ISA-L counts in 32 bits */

struct heft_inflate {
    struct inflate_state state;
    bool is_broken;
};

struct heft_inflate *heft_inflate_new(struct heft_error *err)
{
    struct heft_inflate *z = heft_alloc(sizeof *z, err);

    if (z)
        heft_inflate_reset(z);
    return z;
}

void heft_inflate_reset(struct heft_inflate *z)
{
    isal_inflate_init(&z->state);
    z->is_broken = false;
}

/* Returns whole bytes that were read ahead. Bytes of earlier steps stay in the bit buffer: fewer
 * than a byte was left of them. */
static void give_back(struct inflate_state *s, size_t taken)
{
    const uint32_t whole = s->read_in_length > 0 ? (uint32_t)s->read_in_length / 8 : 0;
    const uint32_t n = (uint32_t)heft_min_u64(whole, taken);

    s->next_in -= n;
    s->avail_in += n;
    s->read_in_length -= (int32_t)(8 * n);
    if (n > 0)
        s->read_in &= (UINT64_C(1) << s->read_in_length) - 1;
}

static const char *fault_of(int status)
{
    switch (status) {
    case ISAL_INVALID_BLOCK:
        return "an invalid block header";
    case ISAL_INVALID_SYMBOL:
        return "an invalid code";
    default:
        return "a match that begins before the data";
    }
}

bool heft_inflate_step(struct heft_inflate *z, struct heft_bytes *in, uint8_t **out, size_t *out_n,
                       bool *done, struct heft_error *err)
{
    struct inflate_state *const s = &z->state;
    const uint32_t given = (uint32_t)heft_min_u64(in->n, MOST);
    const uint32_t room = (uint32_t)heft_min_u64(*out_n, MOST);
    int status;

    *done = s->block_state == ISAL_BLOCK_FINISH;
    if (z->is_broken)
        return heft_fail(err, HEFT_MALFORMED, HEFT_NO_OFFSET,
                         "the deflate stream is invalid, as reported before");
    if (*done)
        return true;
    s->next_in = (uint8_t *)(uintptr_t)in->p; /* ISA-L does not write to its input */
    s->avail_in = given;
    s->next_out = *out;
    s->avail_out = room;
    status = isal_inflate(s);
    z->is_broken = status < 0;
    if (z->is_broken)
        return heft_fail(err, HEFT_MALFORMED, HEFT_NO_OFFSET, "the deflate stream has %s",
                         fault_of(status));
    *done = s->block_state == ISAL_BLOCK_FINISH;
    if (*done || s->avail_out == 0)
        give_back(s, given - s->avail_in);
    if (given > s->avail_in)
        in->p += given - s->avail_in;
    in->n -= given - s->avail_in;
    if (room > s->avail_out)
        *out += room - s->avail_out;
    *out_n -= room - s->avail_out;
    return true;
}

void heft_inflate_free(struct heft_inflate *z)
{
    heft_free(z);
}
