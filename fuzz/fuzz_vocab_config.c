/* fuzz_vocab_config.c: any bytes as the tokenizer_config.json or added_tokens.json of a vocabulary.
 * Invariants: success leaves remarks and no error, a failure leaves an error. The first byte
 * selects the file, the vocabulary, and whether a pattern is requested. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "tokens/vocab/vocab_parts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct heft_vocab_options how = {.size = sizeof how,
                                           .pattern = size && data[0] & 4 ? "gpt2" : NULL};
    const bool is_pair = size && data[0] & 2;
    struct heft_error err = {0};
    struct heft_vocab v = {0};
    struct heft_vocab_reading r = {.v = &v, .how = &how, .err = &err};
    const struct heft_bytes text = {data + (size > 0), size - (size > 0)};
    const bool ok = size && data[0] & 1 ? heft_vocab_read_added(&r, text)
                                        : heft_vocab_read_config(&r, text, is_pair);

    assert(ok == (err.code == HEFT_OK));
    for (size_t i = 0; i < HEFT_REMARKS; i++)
        assert(!v.remarks[i] || strlen(v.remarks[i]) < 256);
    assert(is_pair || v.refusal.code == HEFT_OK);
    heft_arena_release(&v.mem);
    return 0;
}
