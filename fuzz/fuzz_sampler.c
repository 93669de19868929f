/* fuzz_sampler.c: any bytes as a file of ids. Invariants of files that open: arrays lie inside the
 * file and can be read, windows lie inside arrays. */
#include <assert.h>
#include <stdint.h>

#include "tokens/sampler/sampler.h"

#define MOST_BYTES 65536
#define PIECE      64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_all(const struct heft_sampler *s)
{
    for (size_t i = 0; i < s->n; i++) {
        for (uint64_t at = 0; at < s->arrays[i].n && at < MOST_BYTES; at += PIECE) {
            const size_t n = (size_t)heft_min_u64(PIECE, s->arrays[i].n - at);
            struct heft_error err = {0};
            uint32_t ids[PIECE];

            if (!heft_id_array_read(s, &s->arrays[i], at, n, ids, &err))
                assert(err.code == HEFT_MALFORMED);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct heft_sampler *s;
    struct heft_source source;
    struct heft_error err = {0};

    if (size > MOST_BYTES)
        return 0;
    s = heft_calloc(1, sizeof *s, &err);
    assert(s != NULL);
    heft_source_open_memory(&source, (struct heft_bytes){data, size}, "fuzz");
    if (heft_sampler_add_source(s, &source, 2, &err))
        read_all(s);
    else
        assert(err.code != HEFT_OK);
    heft_sampler_close(s);
    return 0;
}
