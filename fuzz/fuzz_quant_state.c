/* fuzz_quant_state.c: any bytes as the state of a weight of bitsandbytes. The first byte chooses the type. Invariants:
 * an error has an offset inside the text, or none; sizes are powers of two; the product of the shape is the number of
 * elements; nested sizes are there or not together with a finite offset. */
#include <math.h>
#include <stdint.h>

#include "expect.h"
#include "quant/quant_state.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_size(uint64_t n)
{
    expect(n > 0 && n <= INT32_MAX && (n & (n - 1)) == 0);
}

static void check_state(const struct heft_quant_state *state)
{
    uint64_t elements = 1;

    check_size(state->blocksize);
    expect(state->dtype == HEFT_BF16 || state->dtype == HEFT_F16 || state->dtype == HEFT_F32);
    expect(state->rank > 0 && state->rank <= HEFT_QUANT_STATE_DIMS);
    for (unsigned d = 0; d < state->rank; d++)
        expect(heft_mul(elements, state->shape[d], &elements));
    expect(elements == state->elements && elements > 0);
    if (state->nested_blocksize)
        check_size(state->nested_blocksize);
    expect(isfinite(state->nested_offset));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct heft_quant_state state;
    struct heft_error err = {0};
    struct heft_arena mem = {0};
    uint8_t *copy;
    bool ok;

    if (size == 0)
        return 0;
    copy = malloc(size); /* exactly, so that sanitizers see every access beyond it */
    expect(copy != NULL);
    memcpy(copy, data + 1, size - 1);
    ok = heft_quant_state_parse((struct heft_bytes){copy, size - 1}, data[0] & 1 ? "fp4" : "nf4",
                                &mem, &state, &err);
    expect_outcome(ok, &err);
    if (ok)
        check_state(&state);
    else
        expect(err.offset == HEFT_NO_OFFSET || err.offset <= size);
    heft_arena_release(&mem);
    free(copy);
    return 0;
}
