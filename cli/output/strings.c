/* strings.c: prints tensors of strings as nested JSON arrays. */
#include "output/strings.h"

struct writer {
    struct out *out;
    struct heft_tensor tensor;
    uint64_t at; /* number of strings so far */
};

/* Number of dimensions in which the string at this index is the first element. */
static unsigned dims_begun(const struct writer *w)
{
    uint64_t block = 1;
    unsigned n = 0;
    while (n < w->tensor.rank) {
        block *=
            w->tensor.shape[w->tensor.rank - 1 - n]; /* no overflow: the product is below 2^63 */
        if (w->at % block)
            break;
        n++;
    }
    return n;
}

static bool is_utf8(const char *text, size_t n)
{
    size_t bytes;
    for (size_t at = 0; at < n; at += bytes)
        if (utf8_next(text + at, n - at, &bytes) < 0)
            return false;
    return true;
}

static void put_base64(struct out *out, const char *text, size_t n)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t at = 0; at < n; at += 3) {
        const size_t left = n - at;
        unsigned long bits = (unsigned long)(unsigned char)text[at] << 16;
        bits |= left > 1 ? (unsigned long)(unsigned char)text[at + 1] << 8 : 0;
        bits |= left > 2 ? (unsigned char)text[at + 2] : 0;
        out_char(out, digits[bits >> 18 & 63]);
        out_char(out, digits[bits >> 12 & 63]);
        out_char(out, left > 1 ? digits[bits >> 6 & 63] : '=');
        out_char(out, left > 2 ? digits[bits & 63] : '=');
    }
}

static bool put_string(void *ctx, const char *text, size_t n)
{
    struct writer *const w = ctx;
    const unsigned opens = dims_begun(w);
    for (unsigned i = 0; i < opens; i++)
        json_open(w->out, '[');
    if (is_utf8(text, n)) {
        json_text(w->out, text, n);
    } else {
        json_open(w->out, '{');
        json_key(w->out, "b64");
        out_char(w->out, '"');
        put_base64(w->out, text, n);
        out_char(w->out, '"');
        json_close(w->out, '}');
    }
    w->at++;
    for (unsigned i = dims_begun(w); i > 0; i--)
        json_close(w->out, ']');
    return w->out->error == 0;
}

bool json_strings(struct out *out, struct heft_checkpoint *c, size_t index, struct heft_error *err)
{
    struct writer w = {.out = out, .tensor = HEFT_INIT(struct heft_tensor)};
    /* The error of the output is reported when it is closed. */
    if (!heft_tensor_at(c, index, &w.tensor) ||
        (!heft_tensor_strings(c, index, put_string, &w, err) && err->code != HEFT_CANCELLED))
        return false;
    if (w.at == 0) {
        json_open(out, '[');
        json_close(out, ']');
    }
    out_char(out, '\n');
    out->separate = false;
    return true;
}
