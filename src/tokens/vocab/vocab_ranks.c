/* vocab_ranks.c: a rank file → tokens and merges.
 *
 *     IQ== 0        the bytes of a token in base64, and its rank, which is also its id
 *     Ig== 1
 *
 * In this format any two neighbours merge if their joined bytes are a token. Yet each token is made
 * by only one pair: its bytes merge as they would alone, since nothing outside takes part, and that
 * process has one last pair. This pair becomes the merge. A token that its own bytes do not merge
 * into is used only if it equals a pre-token.
 *
 * "=" is the empty token, which takes an id and is never encoded to (last line of Whisper's file).
 * Special tokens are not in the file; for known vocabularies (vocab_known.c) their ids are known.
 */
#include "tokens/vocab/vocab_parts.h"

#define LONGEST   128               /* bytes of a token: the longest of GPT-2 and its successors */
#define MOST_FILE ((size_t)8 << 20) /* limit for the file; o200k_base has 3.6 MB */
#define NO_RANK   UINT32_MAX

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

/* Decodes base64; false if invalid or empty. *n: number of bytes. */
static bool from_base64(struct heft_str text, uint8_t *out, size_t *n)
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
           from_base64((struct heft_str){line.p, left}, bytes, n) &&
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
static void place_end(struct heft_vocab *v)
{
    for (v->end = 0; v->end < v->n_ids && v->tokens[v->end].p;)
        v->end++;
    v->n_ids = v->end < v->n_ids ? v->n_ids : v->end + 1;
    v->tokens[v->end] = HEFT_STR(HEFT_END_OF_TEXT);
}

static bool place_ranks(struct heft_vocab_reading *r, const struct heft_listing *list)
{
    struct heft_vocab *v = r->v;
    uint32_t found;

    v->n_ids = list->most + 1;
    v->tokens =
        heft_arena_zero(&v->mem, (size_t)v->n_ids + HEFT_VOCAB_EXTRA, sizeof *v->tokens, r->err);
    if (!v->tokens || !heft_vocab_ids_reserve(&r->ids, &v->mem, v->tokens, list->n, r->err))
        return false;
    for (size_t i = 0; i < list->n; i++) {
        const struct heft_listed *item = &list->items[i];

        if (v->tokens[item->id].p)
            return heft_fail(r->err, HEFT_MALFORMED, item->where,
                             "rank %" PRIu32 " belongs to another token already", item->id);
        v->tokens[item->id] = item->word;
        if (item->word.n == 0)
            continue;
        if (!heft_vocab_ids_add(&r->ids, item->id, &found, r->err))
            return false;
        if (found != HEFT_MAP_NONE)
            return heft_fail(r->err, HEFT_MALFORMED, item->where,
                             "a token has rank %" PRIu32 " and rank %" PRIu32, found, item->id);
    }
    return heft_vocab_place_bytes(r);
}

/* ---- merges, derived from the ranks ------------------------------------------------------ */

/* Bytes of a token divided into parts: part i is bytes [at[i], at[i + 1]); ranks[i] is that of
 * merging it with the next. */
struct parting {
    const char *p;
    uint32_t ranks[LONGEST];
    uint16_t at[LONGEST + 1];
    size_t n;
};

static uint32_t rank_of(const struct heft_vocab_reading *r, const struct parting *parts, size_t i)
{
    if (i + 2 > parts->n)
        return NO_RANK;
    return heft_vocab_ids_get(&r->ids, (struct heft_str){parts->p + parts->at[i],
                                                         (size_t)parts->at[i + 2] - parts->at[i]});
}

static size_t lowest_rank(const struct parting *parts)
{
    size_t best = 0;

    for (size_t i = 1; i + 1 < parts->n; i++)
        if (parts->ranks[i] < parts->ranks[best])
            best = i;
    return best;
}

/* Merges until two parts are left, or none can merge. */
static void part_token(const struct heft_vocab_reading *r, struct heft_str token,
                       struct parting *parts)
{
    parts->p = token.p;
    parts->n = token.n;
    for (size_t i = 0; i <= token.n; i++)
        parts->at[i] = (uint16_t)i;
    for (size_t i = 0; i < token.n; i++)
        parts->ranks[i] = rank_of(r, parts, i);
    while (parts->n > 2) {
        const size_t best = lowest_rank(parts);

        if (parts->ranks[best] == NO_RANK)
            return;
        parts->n--;
        memmove(parts->at + best + 1, parts->at + best + 2,
                (parts->n - best) * sizeof parts->at[0]);
        memmove(parts->ranks + best, parts->ranks + best + 1,
                (parts->n - best) * sizeof parts->ranks[0]);
        parts->ranks[best] = rank_of(r, parts, best);
        if (best > 0)
            parts->ranks[best - 1] = rank_of(r, parts, best - 1);
    }
}

static bool add_merge(struct heft_vocab_reading *r, uint32_t id)
{
    struct heft_vocab *v = r->v;
    const struct heft_str token = v->tokens[id];
    struct parting parts;

    part_token(r, token, &parts);
    if (parts.n > 2)
        return heft_vocab_add_whole(v, id, r->err);
    v->merges[v->n_merges++] =
        (struct heft_merge){heft_vocab_ids_get(&r->ids, (struct heft_str){token.p, parts.at[1]}),
                            heft_vocab_ids_get(&r->ids, (struct heft_str){token.p + parts.at[1],
                                                                          token.n - parts.at[1]}),
                            id};
    return true;
}

static bool read_ranks(struct heft_vocab_reading *r, struct heft_bytes text,
                       struct heft_listing *list)
{
    struct heft_vocab *v = r->v;
    const struct heft_vocab_known *known;
    uint32_t ranks;

    if (text.n > MOST_FILE)
        return heft_fail(r->err, HEFT_LIMIT, HEFT_NO_OFFSET, "a rank file of more than 8 MiB");
    if (!list_lines(r, (struct heft_str){(const char *)text.p, text.n}, list) ||
        !place_ranks(r, list) || !heft_vocab_reserve(r, list->n))
        return false;
    ranks = v->n_ids;
    known = heft_vocab_known_ranks(v);
    if (!heft_vocab_place_special(r, known))
        return false;
    for (uint32_t id = 0; id < ranks; id++)
        if (v->tokens[id].p && v->tokens[id].n > 1 && !add_merge(r, id))
            return false;
    if (known && known->ends_behind_last)
        place_end(v);
    return heft_vocab_validate(r) && heft_vocab_judge(r, HEFT_FORM_RANKS, known);
}

bool heft_vocab_read_ranks(struct heft_vocab_reading *r, struct heft_bytes text)
{
    struct heft_listing list = {0};
    const bool ok = read_ranks(r, text, &list);

    heft_free(list.items);
    return ok;
}
