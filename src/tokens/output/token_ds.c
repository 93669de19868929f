/* token_ds.c: .ds of datatrove: the ids, the ends of documents, and a description. */
#include "tokens/output/token_ds.h"

#include <stdio.h>
#include <string.h>

#include "tokens/output/token_out.h"

/* datatrove writes the size of an id twice if the tokenizer is unknown. */
static const char *unknown_name(unsigned width)
{
    return width == 2 ? "Unknown Tokenizer|2" : "Unknown Tokenizer|4";
}

/* Formats a number of three digits as Python does: a binary fraction, rounded. Returns the number of
 * digits before the point. */
static int format_scaled(char text[32], double value, int exponent)
{
    (void)snprintf(text, 32, "%.*f", 2 - exponent % 3, value);
    return (int)strspn(text, "0123456789");
}

/* Appends the number; the decimal point of printf depends on the locale. */
static void put_scaled(struct heft_buf *to, const char *text)
{
    const size_t whole = strspn(text, "0123456789");
    const char *fraction = text + whole;

    heft_buf_put(to, text, whole);
    if (!*fraction)
        return;
    fraction += strcspn(fraction, "0123456789");
    heft_buf_char(to, '.');
    heft_buf_text(to, fraction);
}

/* As humanize.metric of version 4.17: three digits; 9.999 is 10.0, and 999.9 is 1.00 k. */
static void put_metric(struct heft_buf *to, uint64_t tokens)
{
    char text[32];
    double value = (double)tokens;
    int exponent = 0;

    for (uint64_t rest = tokens; rest >= 10; rest /= 10)
        exponent++;
    for (int i = 0; i < exponent / 3; i++)
        value /= 1000;
    if (format_scaled(text, value, exponent) > exponent % 3 + 1) {
        exponent++;
        (void)format_scaled(text, exponent % 3 ? value : value / 1000, exponent);
    }
    put_scaled(to, text);
    heft_buf_char(to, ' ');
    if (exponent >= 3)
        heft_buf_char(to, "kMGTPE"[exponent / 3 - 1]);
    heft_buf_char(to, 'T');
}

void heft_ds_metadata(struct heft_buf *to, const char *name, unsigned width, uint64_t tokens)
{
    heft_buf_printf(to, "%s|%u\n%" PRIu64 "\n", name ? name : unknown_name(width), width, tokens);
    put_metric(to, tokens);
}

/* ---- the format ----------------------------------------------------------------------------- */

static bool begin_ds(struct heft_token_file *f, struct heft_error *err)
{
    (void)f, (void)err;
    return true;
}

static bool unit_ds(struct heft_token_file *f, struct heft_error *err)
{
    (void)f, (void)err;
    return true;
}

static bool end_ds(struct heft_token_file *f, struct heft_error *err)
{
    struct heft_buf text = {0};
    bool ok;

    heft_ds_metadata(&text, f->how->tokenizer, f->how->width, f->tokens);
    ok = heft_buf_ok(&text, err) && heft_sink_write(f->sink, f->beside + 1, 0, text.p, text.n, err);
    heft_buf_release(&text);
    return ok;
}

const struct heft_token_format heft_tokens_ds = {.name = "ds",
                                                 .extension = ".ds",
                                                 .is_described = true,
                                                 .exact = true,
                                                 .begin = begin_ds,
                                                 .unit = unit_ds,
                                                 .end = end_ds};
