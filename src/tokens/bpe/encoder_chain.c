/* encoder_chain.c: pre-tokens of a chain of split patterns → ids.
 *
 * The chain says nothing about a pre-token before it is complete, so its text is kept. To stay linear
 * it is tried again when the text has twice the length. */
#include "tokens/bpe/encoder_parts.h"

#define BATCH     4096 /* pre-tokens found at a time: their text stays in the CPU's cache */
#define MOST_KEPT ((size_t)64 << 20) /* bytes of a pre-token */
#define REFINED   9 /* longer pre-tokens may be split where no merge joins two characters */

/* Encodes a pre-token of any length. */
static bool encode_long(struct heft_encoder *e, const uint8_t *word, size_t n, uint8_t **out,
                        struct heft_error *err)
{
    struct heft_long *longer = &e->words.longer;

    heft_long_begin(longer);
    for (size_t at = 0, part; at < n; at += part) {
        part = heft_min_size(n - at, HEFT_LONG_WHOLE);
        if (!heft_long_feed(longer, word + at, part, err))
            return false;
        *out = heft_words_put(&e->words, longer->ids, longer->n_ids, *out);
    }
    if (!heft_long_end(longer, err))
        return false;
    *out = heft_words_put(&e->words, longer->ids, longer->n_ids, *out);
    return true;
}

/* Consecutive parts of pre-tokens, each encoded by itself. */
struct run {
    uint32_t starts[BATCH + 1];
    size_t n; /* parts; starts[n] is the end of the last one */
};

static bool encode_run(struct heft_encoder *e, const uint8_t *text, struct run *run, uint8_t **out,
                       struct heft_error *err)
{
    const size_t n = run->n;

    run->n = 0;
    if (n > 0)
        *out = heft_words_encode(&e->words, text, run->starts, n, *out, err);
    return *out != NULL;
}

static bool add_part(struct heft_encoder *e, const uint8_t *text, struct run *run, uint32_t from,
                     uint32_t to, uint8_t **out, struct heft_error *err)
{
    if (run->n == BATCH && !encode_run(e, text, run, out, err))
        return false;
    run->starts[run->n++] = from;
    run->starts[run->n] = to;
    return true;
}

/* Adds a part of a pre-token. If it is a token when it stands alone, it is not cached as such. */
static bool add_piece(struct heft_encoder *e, const uint8_t *text, struct run *run, uint32_t from,
                      uint32_t to, uint8_t **out, struct heft_error *err)
{
    if (to - from > HEFT_LONG_WHOLE)
        return encode_run(e, text, run, out, err) &&
               encode_long(e, text + from, to - from, out, err);
    if (HEFT_LIKELY(!heft_words_is_whole(&e->words, text + from, to - from)))
        return add_part(e, text, run, from, to, out, err);
    if (!encode_run(e, text, run, out, err))
        return false;
    *out = heft_words_part(&e->words, text + from, to - from, *out, err);
    return *out != NULL;
}

#define CUTS 128 /* places that are found at a time */

/* Finds at most CUTS places between characters in text[*at, to) that no merge crosses, and moves *at.
 * Whether a place is one cannot be predicted: there is no branch on it. */
static size_t find_cuts(const struct heft_part_cuts *cuts, const uint8_t *text, uint32_t *at,
                        uint32_t to, uint32_t *found)
{
    size_t n = 0;

    for (; *at < to && n < CUTS; ++*at)
        if (text[*at] >= 0xE0) {
            found[n] = *at;
            n += !heft_part_cuts_cross(cuts, text, *at);
        }
    return n;
}

/* Adds a pre-token in parts: runs of Chinese or Japanese are long and rarely repeat, their words and
 * characters do. Characters of 3 bytes and more that no merge joins with the bytes before begin a
 * part. */
static bool add_parts(struct heft_encoder *e, const uint8_t *text, struct run *run, uint32_t from,
                      uint32_t to, uint8_t **out, struct heft_error *err)
{
    uint32_t begin = from, at = from + HEFT_CUT_SIDE, found[CUTS + 1];

    while (at < to) {
        const size_t n = find_cuts(&e->cuts, text, &at, to, found);

        for (size_t i = 0; i < n; begin = found[i++])
            if (!add_piece(e, text, run, begin, found[i], out, err))
                return false;
    }
    return add_piece(e, text, run, begin, to, out, err);
}

/* Whether a pre-token is encoded in parts: if it ends with a wide character, or is very long. */
static bool has_parts(const uint8_t *word, uint32_t length)
{
    return length > REFINED && (word[length - 1] >= 0x80 || length > HEFT_LONG_WHOLE);
}

/* A pre-token that is a token as a whole must not be split. */
static bool may_split(const struct heft_encoder *e, const uint8_t *word, uint32_t length)
{
    return has_parts(word, length) && !heft_words_is_whole(&e->words, word, length);
}

#define GROUP 64 /* pre-tokens that are examined together */

/* Whether bytes of n pre-tokens are beyond ASCII, or one is dropped or may be very long. */
static bool are_unusual(const uint8_t *text, const uint32_t *starts, size_t n)
{
    const uint32_t from = starts[0], to = starts[n];
    uint64_t bytes = 0;
    uint32_t flags = 0;

    for (size_t i = 0; i <= n; i++)
        flags |= starts[i];
    if (flags & HEFT_PRETOKEN_DROPPED || to - from > HEFT_LONG_WHOLE)
        return true;
    for (size_t at = from; at < to; at += 8) /* HEFT_ENCODER_ROOM bytes follow the text */
        bytes |= heft_le64(text + at);
    return bytes & UINT64_C(0x8080808080808080);
}

/* Whether none of n pre-tokens is dropped or encoded in parts. */
static bool are_plain(const uint8_t *text, const uint32_t *starts, size_t n)
{
    if (HEFT_LIKELY(!are_unusual(text, starts, n)))
        return true;
    for (size_t i = 0; i < n; i++)
        if ((starts[i] | starts[i + 1]) & HEFT_PRETOKEN_DROPPED ||
            has_parts(text + starts[i], starts[i + 1] - starts[i]))
            return false;
    return true;
}

/* Encodes n pre-tokens, some of which are dropped or encoded in parts. */
static bool encode_parts(struct heft_encoder *e, const uint8_t *text, const uint32_t *starts,
                         size_t n, uint8_t **out, struct heft_error *err)
{
    struct run run;

    run.n = 0;
    for (size_t i = 0; i < n; i++) {
        const uint32_t from = starts[i] & ~HEFT_PRETOKEN_DROPPED;
        const uint32_t to = starts[i + 1] & ~HEFT_PRETOKEN_DROPPED;
        const bool is_dropped = starts[i] & HEFT_PRETOKEN_DROPPED;

        if (is_dropped                             ? !encode_run(e, text, &run, out, err)
            : may_split(e, text + from, to - from) ? !add_parts(e, text, &run, from, to, out, err)
                                                   : !add_part(e, text, &run, from, to, out, err))
            return false;
    }
    return encode_run(e, text, &run, out, err);
}

/* Encodes the pre-tokens between e->starts[0], e->starts[1] … e->starts[n]. */
static bool encode_found(struct heft_encoder *e, const uint8_t *text, size_t n, uint8_t **out,
                         struct heft_error *err)
{
    for (size_t from = 0, to; from < n; from = to) {
        const uint32_t *const starts = e->starts + from;
        const bool is_plain = are_plain(text, starts, heft_min_size(n - from, GROUP));

        for (to = from + heft_min_size(n - from, GROUP); to < n; to += heft_min_size(n - to, GROUP))
            if (are_plain(text, e->starts + to, heft_min_size(n - to, GROUP)) != is_plain)
                break;
        if (!is_plain) {
            if (!encode_parts(e, text, starts, to - from, out, err))
                return false;
            continue;
        }
        *out = heft_words_encode(&e->words, text, starts, to - from, *out, err);
        if (!*out)
            return false;
    }
    return true;
}

bool heft_encoder_chain(struct heft_encoder *e, const uint8_t *text, size_t n, bool is_last,
                        uint8_t **out, size_t *done, struct heft_error *err)
{
    size_t at = 0, count = 2;

    *done = 0;
    if (!is_last && n < e->wanted)
        return true;
    while (at < n && count > 1) {
        count = heft_pretokens_scan(e->pretokens, text, n, at, is_last, &e->place, e->starts,
                                    BATCH + 1);
        if (count > 1) {
            if (!encode_found(e, text, count - 1, out, err))
                return false;
            at = e->starts[count - 1] & ~HEFT_PRETOKEN_DROPPED;
        }
    }
    *done = at;
    e->wanted = at < n ? 2 * (n - at) : 0;
    return n - at < MOST_KEPT ||
           heft_fail(err, HEFT_LIMIT, heft_encoder_has_stages(e) ? HEFT_NO_OFFSET : e->offset + at,
                     "a pre-token of more than 64 MiB");
}
