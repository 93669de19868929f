/* part_receipt.c: writes the receipt of a part, and reads it strictly: a text is accepted if its values
 * give the same text again. */
#include "tokens/output/part_receipt.h"

#include "base/checksum.h"

static void put_lines(struct heft_buf *text, const struct heft_part_receipt *r)
{
    heft_buf_printf(text, "heft-part 1\npart %" PRIu64 "/%" PRIu64 "\n", r->index, r->count);
    heft_buf_printf(text, "options %016" PRIx64 "\nvocabulary %016" PRIx64 "\n", r->options,
                    r->vocabulary);
    heft_buf_printf(text, "inputs %" PRIu64 " %" PRIu64 " %016" PRIx64 "\n", r->inputs, r->bytes,
                    r->inputs_mark);
    for (unsigned i = 0; i < r->n_files; i++)
        heft_buf_printf(text, "file %" PRIu64 " %08" PRIx32 "\n", r->files[i].bytes,
                        r->files[i].crc32c);
}

void heft_part_receipt_put(struct heft_buf *text, const struct heft_part_receipt *receipt)
{
    put_lines(text, receipt);
    if (!text->failed)
        heft_buf_printf(text, "sum %08" PRIx32 "\n", heft_crc32c(0, text->p, text->n));
}

/* ---- reading -------------------------------------------------------------------------------- */

struct reading {
    struct heft_bytes text;
    size_t at;
};

static bool take_word(struct reading *r, const char *word)
{
    const size_t n = strlen(word);

    if (n > r->text.n - r->at || memcmp(r->text.p + r->at, word, n) != 0)
        return false;
    r->at += n;
    return true;
}

static int digit_of(uint8_t c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : 16;
}

/* Digits of a number; 0 if there are none. What does not fit in 64 bits gives another text. */
static uint64_t take_number(struct reading *r, unsigned base)
{
    uint64_t value = 0;

    for (; r->at < r->text.n && digit_of(r->text.p[r->at]) < (int)base; r->at++)
        value = value * base + (uint64_t)digit_of(r->text.p[r->at]);
    return value;
}

static void take_lines(struct reading *r, struct heft_part_receipt *out)
{
    (void)take_word(r, "heft-part 1\npart ");
    out->index = take_number(r, 10);
    (void)take_word(r, "/");
    out->count = take_number(r, 10);
    (void)take_word(r, "\noptions ");
    out->options = take_number(r, 16);
    (void)take_word(r, "\nvocabulary ");
    out->vocabulary = take_number(r, 16);
    (void)take_word(r, "\ninputs ");
    out->inputs = take_number(r, 10);
    (void)take_word(r, " ");
    out->bytes = take_number(r, 10);
    (void)take_word(r, " ");
    out->inputs_mark = take_number(r, 16);
    (void)take_word(r, "\n");
    while (out->n_files < HEFT_PART_FILES && take_word(r, "file ")) {
        struct heft_part_file *file = &out->files[out->n_files++];

        file->bytes = take_number(r, 10);
        (void)take_word(r, " ");
        file->crc32c = (uint32_t)take_number(r, 16);
        (void)take_word(r, "\n");
    }
}

/* Offset of the first byte that differs. */
static size_t difference(struct heft_bytes a, const struct heft_buf *b)
{
    size_t i = 0;

    while (i < a.n && i < b->n && a.p[i] == (uint8_t)b->p[i])
        i++;
    return i;
}

bool heft_part_receipt_parse(struct heft_part_receipt *out, struct heft_bytes text,
                             struct heft_error *err)
{
    struct reading r = {text, 0};
    struct heft_buf again = {0};
    size_t at;
    bool ok;

    *out = (struct heft_part_receipt){0};
    take_lines(&r, out);
    heft_part_receipt_put(&again, out);
    if (!heft_buf_ok(&again, err)) {
        heft_buf_release(&again);
        return false;
    }
    at = difference(text, &again);
    ok = text.n == again.n && at == text.n;
    heft_buf_release(&again);
    if (!ok)
        return heft_fail(err, HEFT_MALFORMED, at,
                         "not the receipt of a part, or changed after it was written");
    return (out->index >= 1 && out->index <= out->count && out->n_files >= 1) ||
           heft_fail(err, HEFT_MALFORMED, 0, "part %" PRIu64 " of %" PRIu64 " with %u files",
                     out->index, out->count, out->n_files);
}
