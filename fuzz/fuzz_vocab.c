/* fuzz_vocab.c: any bytes as a vocabulary. If the first byte is 0, the next 0 separates ids from
 * merges.
 *
 * Invariants: those of expect_vocab.h. */
#include <stdint.h>

#include "expect_vocab.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Options, by the size of the input. */
static const char *const PATTERNS[] = {NULL,       "gpt2",      "llama3", "qwen2",
                                       "deepseek", "starcoder", "bloom",  "\\s?\\S+|\\s"};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *zero = size > 1 && data[0] == 0 ? memchr(data + 1, 0, size - 1) : NULL;
    const struct heft_bytes ids = {zero ? data + 1 : NULL, zero ? (size_t)(zero - data) - 1 : 0};
    const struct heft_bytes text = {zero ? zero + 1 : data, zero ? size - ids.n - 2 : size};
    struct heft_error err = {0};
    const struct heft_vocab_options how = {.size = sizeof how,
                                           .pattern = PATTERNS[size % HEFT_COUNT(PATTERNS)]};
    struct heft_vocab *v = heft_vocab_from(text, ids, &how, &err);

    expect_outcome(v != NULL, &err);
    if (!v)
        return 0;
    expect_vocab(v);
    heft_vocab_close(v);
    return 0;
}
