/* vocab_ranks.c: a rank file → tokens and merges (vocab_derive.c).
 *
 *     IQ== 0        the bytes of a token in base64, and its rank, which is also its id
 *     Ig== 1
 *
 * "=" is the empty token, which takes an id and is never encoded to (last line of Whisper's file).
 * Special tokens are not in the file; for known vocabularies (vocab_known.c) their ids are known.
 */
#include "tokens/vocab/vocab_parts.h"

#define LONGEST HEFT_LONGEST_RANKED

/* ---- parsing lines: base64 and rank ------------------------------------------------------ */

static int base64_digit(uint8_t c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

bool heft_vocab_base64(struct heft_str text, uint8_t *out, size_t *n)
{
    const size_t last = text.n > 1 && text.p[text.n - 1] == '=';
    const size_t pads = last + (last && text.p[text.n - 2] == '=');
    uint32_t bits = 0;

    *n = 0;
    if (heft_str_is(text, "="))
        return true;
    if (text.n == 0 || text.n % 4)
        return false;
    for (size_t i = 0; i < text.n - pads; i++) {
        const int digit = base64_digit((uint8_t)text.p[i]);

        if (digit < 0)
            return false;
        bits = i % 4 ? bits << 6 | (uint32_t)digit : (uint32_t)digit;
        if (i % 4)
            out[(*n)++] = (uint8_t)(bits >> (6 - 2 * (i % 4)));
    }
    return (bits & ((1U << 2 * pads) - 1)) == 0 && *n > 0;
}

static bool to_rank(struct heft_str text, uint32_t *rank)
{
    uint64_t value = 0;

    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] < '0' || text.p[i] > '9' || value >= HEFT_MOST_IDS)
            return false;
        value = 10 * value + (uint64_t)(text.p[i] - '0');
    }
    *rank = (uint32_t)value;
    return text.n > 0 && value < HEFT_MOST_IDS;
}

static bool read_line(struct heft_str line, uint8_t *bytes, size_t *n, uint32_t *rank)
{
    const char *space = memchr(line.p, ' ', line.n);
    const size_t left = space ? (size_t)(space - line.p) : 0;

    return space && left <= LONGEST / 3 * 4 + 4 &&
           heft_vocab_base64((struct heft_str){line.p, left}, bytes, n) &&
           to_rank((struct heft_str){space + 1, line.n - left - 1}, rank);
}

bool heft_vocab_is_ranks(struct heft_bytes text)
{
    struct heft_str rest = {(const char *)text.p, text.n}, line;
    uint8_t bytes[LONGEST + 4];
    uint32_t rank;
    size_t n;

    return heft_vocab_line(&rest, &line) && read_line(line, bytes, &n, &rank);
}

static bool list_lines(struct heft_vocab_reading *r, struct heft_str text,
                       struct heft_listing *list)
{
    const char *begin = text.p;
    uint8_t *bytes = heft_vocab_bytes(r, text.n);
    struct heft_str line;
    size_t n;

    if (!bytes)
        return false;
    while (heft_vocab_line(&text, &line)) {
        struct heft_listed item = {.where = (uint64_t)(line.p - begin)};

        if (line.n == 0)
            continue;
        if (!read_line(line, bytes, &n, &item.id) || n > LONGEST)
            return heft_vocab_fail(r, item.where,
                                   "expected a line with a token of up to 128 bytes in base64, a "
                                   "space, and a rank below 2^20");
        item.word = (struct heft_str){(const char *)bytes, n};
        bytes += n; /* no overflow: their base64 is longer */
        if (!heft_vocab_add(r, list, &item))
            return false;
    }
    return true;
}

/* Gives <|endoftext|> the lowest free id: 50256 with GPT-2's ranks. */
static bool place_end(struct heft_vocab_reading *r)
{
    uint32_t id = 0;

    while (id < r->v->n_ids && r->v->tokens[id].p)
        id++;
    return heft_vocab_name_special(r, HEFT_STR(HEFT_END_OF_TEXT), id);
}

static bool read_ranks(struct heft_vocab_reading *r, struct heft_bytes text,
                       struct heft_listing *list)
{
    struct heft_vocab *v = r->v;
    const struct heft_vocab_known *known;

    if (!list_lines(r, (struct heft_str){(const char *)text.p, text.n}, list) ||
        !heft_vocab_place_ranks(r, list, (size_t)list->most + 1 + HEFT_VOCAB_EXTRA))
        return false;
    known = heft_vocab_known_ranks(v);
    return heft_vocab_derive(r, list) && heft_vocab_place_special(r, known) &&
           (!known || !known->ends_behind_last || place_end(r)) && heft_vocab_validate(r) &&
           heft_vocab_judge(r, HEFT_FORM_RANKS, known);
}

bool heft_vocab_read_ranks(struct heft_vocab_reading *r, struct heft_bytes text)
{
    struct heft_listing list = {0};
    const bool ok = read_ranks(r, text, &list);

    heft_free(list.items);
    return ok;
}
