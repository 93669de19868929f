/* decode.c: ids → bytes → text. Invalid UTF-8 becomes U+FFFD, one for each maximal prefix of a
 * character, as Python's errors='replace' does.
 *
 *     F0 9F 99 41   →  U+FFFD A       three bytes are the prefix of a character
 *     C0 80         →  U+FFFD U+FFFD  neither byte is a prefix */
#include "tokens/decode/decode.h"

#include "base/text.h"
#include "base/require_arg.h"
#include "base/sized.h"
#include "tokens/bpe/vocab_text.h"

#define ROOM ((size_t)1 << 16) /* bytes that are collected before they are handed out */

bool heft_decode(const struct heft_vocab *v, const uint32_t *ids, size_t n, void *out, size_t room,
                 size_t *bytes, struct heft_error *err)
{
    uint8_t *to = out;
    size_t total = 0;

    if (!heft_require_arg(v != NULL, "a vocabulary", err) ||
        !heft_require_arg(ids || n == 0, "a list of ids", err) ||
        !heft_require_arg((out || room == 0) && bytes, "a place for the answer", err))
        return false;
    for (size_t i = 0; i < n; i++) {
        size_t length;
        const uint8_t *token = heft_vocab_token(v, ids[i], &length);

        if (!token)
            return heft_fail(err, HEFT_MALFORMED, i,
                             "id %" PRIu32 " has no token; the vocabulary has %" PRIu32 " ids",
                             ids[i], heft_vocab_size(v));
        if (total < room)
            memcpy(to + total, token, heft_min_size(length, room - total));
        total += length; /* no overflow: at most HEFT_LONGEST times n */
    }
    *bytes = total;
    return true;
}

/* ---- ids to text ------------------------------------------------------------------------- */

struct heft_decoder {
    const struct heft_vocab *v;
    uint64_t count; /* ids decoded so far */
    size_t n;
    uint8_t bytes[ROOM + 2 * HEFT_LONGEST];
};

struct heft_decoder *heft_decoder_new(const struct heft_vocab *v, struct heft_error *err)
{
    struct heft_decoder *d =
        heft_require_arg(v != NULL, "a vocabulary", err) ? heft_calloc(1, sizeof *d, err) : NULL;

    if (d)
        d->v = v;
    return d;
}

void heft_decoder_free(struct heft_decoder *d)
{
    heft_free(d);
}

/* Whether `second` is a valid second byte of a character after `lead`. */
static bool is_second_byte(uint8_t lead, uint8_t second)
{
    if ((second & 0xC0) != 0x80)
        return false;
    switch (lead) {
    case 0xE0:
        return second >= 0xA0;
    case 0xED:
        return second < 0xA0;
    case 0xF0:
        return second >= 0x90;
    case 0xF4:
        return second < 0x90;
    default:
        return true;
    }
}

/* Length of the maximal prefix of a character at p, at least 1; n > 0, and no complete character is
 * at p. *is_open: more bytes may complete it. */
static size_t prefix_length(const uint8_t *p, size_t n, bool *is_open)
{
    const size_t wanted = p[0] < 0xC2 || p[0] > 0xF4 ? 1 : p[0] < 0xE0 ? 2 : p[0] < 0xF0 ? 3 : 4;
    size_t k = 1;

    if (k < wanted && k < n && is_second_byte(p[0], p[k]))
        for (k = 2; k < wanted && k < n && (p[k] & 0xC0) == 0x80;)
            k++;
    *is_open = k == n && k < wanted;
    return k;
}

static bool give_text(heft_text_fn *each, void *ctx, const void *text, size_t n,
                      struct heft_error *err)
{
    return n == 0 || each(ctx, text, n) ||
           heft_fail(err, HEFT_CANCELLED, HEFT_NO_OFFSET, "interrupted");
}

/* Hands out the collected text; keeps an incomplete character of up to 3 bytes, unless is_last. */
static bool flush_text(struct heft_decoder *d, bool is_last, heft_text_fn *each, void *ctx,
                       struct heft_error *err)
{
    size_t at = 0, kept = 0;

    while (at < d->n) {
        const size_t good = heft_utf8_check((struct heft_bytes){d->bytes + at, d->n - at});
        bool is_open;
        size_t bad;

        if (!give_text(each, ctx, d->bytes + at, good, err))
            return false;
        at += good;
        if (at == d->n)
            break;
        bad = prefix_length(d->bytes + at, d->n - at, &is_open);
        if (is_open && !is_last) {
            kept = bad;
            break;
        }
        if (!give_text(each, ctx, "\xEF\xBF\xBD", 3, err))
            return false;
        at += bad;
    }
    memmove(d->bytes, d->bytes + at, kept);
    d->n = kept;
    return true;
}

static bool feed_ids(struct heft_decoder *d, const uint32_t *ids, size_t n, heft_text_fn *each,
                     void *ctx, struct heft_error *err)
{
    for (size_t i = 0; i < n; i++, d->count++) {
        size_t length;
        const uint8_t *token = heft_vocab_token(d->v, ids[i], &length);

        if (!token)
            return heft_fail(err, HEFT_MALFORMED, d->count,
                             "id %" PRIu32 " has no token; the vocabulary has %" PRIu32 " ids",
                             ids[i], heft_vocab_size(d->v));
        if (d->n >= ROOM && !flush_text(d, false, each, ctx, err))
            return false;
        memcpy(d->bytes + d->n, token, length); /* fits: at most 2 * HEFT_LONGEST bytes */
        d->n += length;
    }
    return flush_text(d, false, each, ctx, err);
}

static void begin_again(struct heft_decoder *d)
{
    d->n = 0;
    d->count = 0;
}

static bool require_decoder(const struct heft_decoder *d, heft_text_fn *each,
                            struct heft_error *err)
{
    return heft_require_arg(d != NULL, "a decoder", err) &&
           heft_require_arg(each != NULL, "a function", err);
}

bool heft_decoder_feed(struct heft_decoder *d, const uint32_t *ids, size_t n, heft_text_fn *each,
                       void *ctx, struct heft_error *err)
{
    bool ok;

    if (!require_decoder(d, each, err) || !heft_require_arg(ids || n == 0, "a list of ids", err))
        return false;
    ok = feed_ids(d, ids, n, each, ctx, err);
    if (!ok)
        begin_again(d);
    return ok;
}

bool heft_decoder_finish(struct heft_decoder *d, heft_text_fn *each, void *ctx,
                         struct heft_error *err)
{
    bool ok;

    if (!require_decoder(d, each, err))
        return false;
    ok = flush_text(d, true, each, ctx, err);
    begin_again(d);
    return ok;
}

/* ---- decoding files ---------------------------------------------------------------------- */

static bool check_ids(const struct heft_vocab *v, const struct heft_ids_reader *r,
                      const uint32_t *ids, size_t n, struct heft_error *err)
{
    size_t length;

    for (size_t i = 0; i < n; i++)
        if (!heft_vocab_token(v, ids[i], &length))
            return heft_ids_fail(r, i, err, "has no token in this vocabulary");
    return true;
}

static bool decode_ids(struct heft_ids_reader *r, struct heft_decoder *d, heft_text_fn *each,
                       void *ctx, struct heft_error *err)
{
    uint32_t ids[HEFT_IDS_BATCH];
    size_t n = 1;

    while (n > 0)
        if (!heft_ids_next(r, ids, &n, err) || !check_ids(d->v, r, ids, n, err) ||
            !heft_decoder_feed(d, ids, n, each, ctx, err))
            return false;
    return true;
}

/* Width of a raw stream if the caller does not say it. Ids need 4 bytes only if one is above 65535;
 * if only <|endoftext|> is, the file may have either width. */
static struct heft_ids_width width_of(const struct heft_vocab *v, unsigned said)
{
    const unsigned narrow = heft_vocab_text_ids(v, false) <= 65536 ? 2 : 4,
                   wide = heft_vocab_size(v) <= 65536 ? 2 : 4;

    if (said)
        return (struct heft_ids_width){said, true};
    return (struct heft_ids_width){narrow == wide ? wide : 0, false};
}

static bool decode_path(struct heft_decoder *d, const char *path, struct heft_ids_width width,
                        heft_text_fn *each, void *ctx, struct heft_error *err)
{
    struct heft_ids_reader r = {0};
    const bool ok = heft_ids_open(&r, path, width, err) && decode_ids(&r, d, each, ctx, err);

    if (!ok && err->code != HEFT_USAGE && err->code != HEFT_NOMEM)
        heft_error_file(err, path);
    heft_ids_close(&r);
    return ok;
}

static bool check_width(unsigned width, struct heft_error *err)
{
    return width == 0 || width == 2 || width == 4 ||
           heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "ids of %u bytes; expected 2 or 4", width);
}

bool heft_decode_files_with(const struct heft_vocab *v, const char *const *paths, size_t n,
                            const struct heft_decode_options *options, heft_text_fn *each,
                            void *ctx, struct heft_error *err)
{
    struct heft_decode_options o;
    struct heft_decoder *d =
        HEFT_TAKE(heft_decode_options, &o, options, err) ? heft_decoder_new(v, err) : NULL;
    bool ok = d && heft_require_arg(each != NULL, "a function", err) &&
              heft_require_paths(paths, n, err) && check_width(o.width, err);

    for (size_t i = 0; ok && i < n; i++)
        ok = decode_path(d, paths[i], width_of(v, o.width), each, ctx, err);
    ok = ok && heft_decoder_finish(d, each, ctx, err);
    heft_decoder_free(d);
    return ok;
}

bool heft_decode_files(const struct heft_vocab *v, const char *const *paths, size_t n,
                       heft_text_fn *each, void *ctx, struct heft_error *err)
{
    return heft_decode_files_with(v, paths, n, NULL, each, ctx, err);
}

bool heft_decode_file(const struct heft_vocab *v, const char *path, heft_text_fn *each, void *ctx,
                      struct heft_error *err)
{
    return heft_decode_files(v, &path, 1, each, ctx, err);
}
