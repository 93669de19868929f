/* inflate.c: raw deflate through ISA-L. Its state (about 100 KiB, window included) is all the
 * memory a stream needs. */
#include "base/inflate.h"

#include <isa-l/igzip_lib.h>

/* ISA-L counts in 32 bits. */
#define PIECE ((size_t)1 << 30)

struct heft_inflate {
    struct inflate_state state;
};

struct heft_inflate *heft_inflate_new(struct heft_error *err)
{
    struct heft_inflate *z = heft_alloc(sizeof *z, err);

    if (!z)
        return NULL;
    isal_inflate_init(&z->state);
    z->state.crc_flag = ISAL_DEFLATE;
    return z;
}

static const char *reason_of(int status)
{
    switch (status) {
    case ISAL_INVALID_BLOCK:
        return "a block header that deflate does not have";
    case ISAL_INVALID_SYMBOL:
        return "a code that its table does not have";
    case ISAL_INVALID_LOOKBACK:
        return "a reference to before its beginning";
    default:
        return "data that is not deflate";
    }
}

/* ISA-L reads up to eight bytes ahead. At the end of the stream those that were not needed go back
 * to the input. */
static bool give_back(struct heft_inflate *z, size_t taken, struct heft_error *err)
{
    const int bits = z->state.read_in_length;
    const size_t ahead = bits > 0 ? (size_t)bits / 8 : 0;

    if (ahead > taken)
        return heft_fail(err, HEFT_MALFORMED, HEFT_NO_OFFSET,
                         "at least %zu bytes follow the end of the deflate stream", ahead);
    z->state.next_in -= ahead;
    z->state.avail_in += (uint32_t)ahead;
    z->state.read_in_length = 0;
    return true;
}

bool heft_inflate_step(struct heft_inflate *z, struct heft_bytes *in, uint8_t **out, size_t *out_n,
                       bool *done, struct heft_error *err)
{
    const uint32_t in_n = (uint32_t)(in->n < PIECE ? in->n : PIECE);
    const uint32_t room = (uint32_t)(*out_n < PIECE ? *out_n : PIECE);
    struct inflate_state *state = &z->state;
    int status;

    *done = state->block_state == ISAL_BLOCK_FINISH;
    if (*done)
        return true;
    state->next_in = (uint8_t *)(uintptr_t)in->p; /* only read */
    state->avail_in = in_n;
    state->next_out = *out;
    state->avail_out = room;
    status = isal_inflate(state);
    if (status < 0)
        return heft_fail(err, HEFT_MALFORMED, HEFT_NO_OFFSET, "the deflate stream has %s",
                         reason_of(status));

    *done = state->block_state == ISAL_BLOCK_FINISH;
    if (*done && !give_back(z, in_n - state->avail_in, err))
        return false;
    if (in_n > 0) /* of none p may be NULL, to which nothing can be added, not even 0 */
        in->p += in_n - state->avail_in;
    in->n -= in_n - state->avail_in;
    if (room > 0)
        *out += room - state->avail_out;
    *out_n -= room - state->avail_out;
    return true;
}

void heft_inflate_free(struct heft_inflate *z)
{
    heft_free(z);
}
