/* fuzz_vocab_forms.c: a tekken.json or a pickled Encoding that has the 256 bytes, with the input at a
 * place that the first byte selects, modulo 5:
 *
 *     0   members of the config of a tekken.json
 *     1   tokens of its vocab after those of the bytes
 *     2   members after its vocab
 *     3   opcodes of a pickle after the items of the bytes, within the dict of ranks
 *     4   opcodes of a pickle after its ranks, within the state
 *
 * Invariants: those of expect_vocab.h. */
#include <stdint.h>

#include "expect_vocab.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CONFIG                                                                                     \
    "\"pattern\":\"\\\\s?\\\\w+|\\\\s?[^\\\\s\\\\w]+|\\\\s+\",\"default_vocab_size\":258,"         \
    "\"default_num_special_tokens\":2"

static void put_base64(struct heft_buf *to, unsigned byte)
{
    static const char DIGITS[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    heft_buf_char(to, DIGITS[byte >> 2]);
    heft_buf_char(to, DIGITS[(byte & 3) << 4]);
    heft_buf_text(to, "==");
}

static void put_tekken(struct heft_buf *to, unsigned place, struct heft_bytes input)
{
    heft_buf_text(to, "{\"config\":{");
    if (place == 0)
        heft_buf_put(to, input.p, input.n);
    else
        heft_buf_text(to, CONFIG);
    heft_buf_text(to, "},\"vocab\":[");
    for (unsigned byte = 0; byte < 256; byte++) {
        heft_buf_printf(to, "%s{\"rank\":%u,\"token_bytes\":\"", byte ? "," : "", byte);
        put_base64(to, byte);
        heft_buf_text(to, "\"}");
    }
    if (place == 1)
        heft_buf_put(to, input.p, input.n);
    heft_buf_text(to, "]");
    if (place == 2)
        heft_buf_put(to, input.p, input.n);
    heft_buf_text(to, "}");
}

static void put_text(struct heft_buf *to, const char *text)
{
    heft_buf_char(to, '\x8C');
    heft_buf_char(to, (char)strlen(text));
    heft_buf_text(to, text);
}

static void put_pickle(struct heft_buf *to, unsigned place, struct heft_bytes input)
{
    heft_buf_text(to, "\x80\4ctiktoken.core\nEncoding\n)\x81}(");
    put_text(to, "pat_str");
    put_text(to, "\\s?\\w+|\\s?[^\\s\\w]+|\\s+");
    put_text(to, "mergeable_ranks");
    heft_buf_text(to, "}(");
    for (unsigned byte = 0; byte < 256; byte++) {
        const char item[] = {'C', 1, (char)byte, 'K', (char)byte};

        heft_buf_put(to, item, sizeof item);
    }
    if (place == 3)
        heft_buf_put(to, input.p, input.n);
    heft_buf_char(to, 'u');
    if (place == 4)
        heft_buf_put(to, input.p, input.n);
    put_text(to, "special_tokens");
    heft_buf_text(to, "}ub.");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct heft_bytes none = {0}, input = {data + 1, size - (size > 0)};
    struct heft_buf file = {0};
    struct heft_error err = {0};
    struct heft_vocab *v;

    if (size < 1 || size > 1 << 16)
        return 0;
    (data[0] % 5 < 3 ? put_tekken : put_pickle)(&file, data[0] % 5, input);
    expect(!file.failed);
    v = heft_vocab_from((struct heft_bytes){(const uint8_t *)file.p, file.n}, none, NULL, &err);
    expect_outcome(v != NULL, &err);
    expect(v || size > 1 || data[0] % 5 == 0); /* without input, the files are valid */
    if (v)
        expect_vocab(v);
    heft_vocab_close(v);
    heft_buf_release(&file);
    return 0;
}
