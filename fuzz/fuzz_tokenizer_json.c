/* fuzz_tokenizer_json.c: a tokenizer.json whose model has the 256 bytes and two merges, with the
 * input at a place that the first byte selects, modulo 4:
 *
 *     0   instead of the fields before the model: {INPUT, "model": …}
 *     1   fields of the model
 *     2   entries of the vocabulary after those of the bytes
 *     3   merges
 *
 * Invariants: those of expect_vocab.h. */
#include <stdint.h>

#include "expect_vocab.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define USUAL                                                                                      \
    "\"normalizer\":null,\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":false,"    \
    "\"use_regex\":true},\"decoder\":{\"type\":\"ByteLevel\"}"

/* Whether GPT-2 writes a byte as the character of the same number. */
static bool is_own(unsigned byte)
{
    return (byte >= 33 && byte <= 126) || (byte >= 161 && byte != 173);
}

/* Appends the character of a byte, as an escape; the others are numbered from 256. */
static void put_byte(struct heft_buf *to, unsigned byte)
{
    unsigned number = byte;

    if (!is_own(byte)) {
        number = 256;
        for (unsigned i = 0; i < byte; i++)
            number += !is_own(i);
    }
    heft_buf_printf(to, "\"\\u%04x\":%u", number, byte);
}

static void put_part(struct heft_buf *to, bool is_here, struct heft_bytes input, const char *usual)
{
    if (is_here)
        heft_buf_put(to, input.p, input.n);
    else
        heft_buf_text(to, usual);
}

static void put_file(struct heft_buf *to, unsigned place, struct heft_bytes input)
{
    heft_buf_char(to, '{');
    put_part(to, place == 0, input, USUAL);
    heft_buf_text(to, ",\"model\":{");
    put_part(to, place == 1, input, "\"type\":\"BPE\"");
    heft_buf_text(to, ",\"vocab\":{");
    for (unsigned byte = 0; byte < 256; byte++) {
        put_byte(to, byte);
        heft_buf_char(to, ',');
    }
    put_part(to, place == 2, input, "\"ab\":256,\"aab\":257");
    heft_buf_text(to, "},\"merges\":[");
    put_part(to, place == 3, input, "\"a b\",[\"a\",\"ab\"]");
    heft_buf_text(to, "]}}");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct heft_bytes none = {0};
    struct heft_buf file = {0};
    struct heft_error err = {0};
    struct heft_vocab *v;

    if (size < 1 || size > 1 << 16)
        return 0;
    put_file(&file, data[0] % 4, (struct heft_bytes){data + 1, size - 1});
    expect(!file.failed);
    v = heft_vocab_from((struct heft_bytes){(const uint8_t *)file.p, file.n}, none, NULL, &err);
    expect_outcome(v != NULL, &err);
    if (v)
        expect_vocab(v);
    heft_vocab_close(v);
    heft_buf_release(&file);
    return 0;
}
