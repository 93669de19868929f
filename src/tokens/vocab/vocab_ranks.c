/* vocab_ranks.c: a rank file → tokens and merges (vocab_place.c).
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

/* By character: its six bits; 64: it is none of base64. */
#define NONE 64
static const uint8_t DIGITS[256] = {
    NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE,
    NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE,
    NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, 62,   NONE, NONE, NONE, 63,
    52,   53,   54,   55,   56,   57,   58,   59,   60,   61,   NONE, NONE, NONE, NONE, NONE, NONE,
    NONE, 0,    1,    2,    3,    4,    5,    6,    7,    8,    9,    10,   11,   12,   13,   14,
    15,   16,   17,   18,   19,   20,   21,   22,   23,   24,   25,   NONE, NONE, NONE, NONE, NONE,
    NONE, 26,   27,   28,   29,   30,   31,   32,   33,   34,   35,   36,   37,   38,   39,   40,
    41,   42,   43,   44,   45,   46,   47,   48,   49,   50,   51,   NONE, NONE, NONE, NONE, NONE,
    NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE,
    NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE,
    NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE,
    NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE,
    NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE,
    NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE,
    NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE,
    NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE,
};

/* Decodes n characters, a multiple of 4. Returns the OR of their digits: NONE or more if one is
 * invalid. */
static unsigned decode_groups(const uint8_t *text, size_t n, uint8_t *out)
{
    unsigned all = 0;

    for (size_t i = 0; i < n; i += 4, out += 3) {
        const unsigned a = DIGITS[text[i]], b = DIGITS[text[i + 1]];
        const unsigned c = DIGITS[text[i + 2]], d = DIGITS[text[i + 3]];
        const uint32_t bits = a << 18 | b << 12 | c << 6 | d;

        all |= a | b | c | d;
        out[0] = (uint8_t)(bits >> 16);
        out[1] = (uint8_t)(bits >> 8);
        out[2] = (uint8_t)bits;
    }
    return all;
}

bool heft_vocab_base64(struct heft_str text, uint8_t *out, size_t *n)
{
    const size_t last = text.n > 1 && text.p[text.n - 1] == '=';
    const size_t pads = last + (last && text.p[text.n - 2] == '=');
    uint8_t end[4] = {'A', 'A', 'A', 'A'}, bytes[3];
    size_t whole;

    *n = 0;
    if (heft_str_is(text, "="))
        return true;
    if (text.n == 0 || text.n % 4)
        return false;
    whole = text.n - (pads ? 4 : 0);
    memcpy(end, text.p + whole, text.n - whole - pads);
    if ((decode_groups((const uint8_t *)text.p, whole, out) | decode_groups(end, 4, bytes)) >= NONE)
        return false;
    *n = whole / 4 * 3;
    if (pads == 0)
        return true;
    memcpy(out + *n, bytes, 3 - pads);
    *n += 3 - pads;
    return bytes[2] == 0 && (pads == 1 || bytes[1] == 0);
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
    size_t right = line.n; /* where the rank begins */

    while (right > 0 && line.p[right - 1] != ' ')
        right--;
    return right > 0 && right <= LONGEST / 3 * 4 + 5 &&
           heft_vocab_base64((struct heft_str){line.p, right - 1}, bytes, n) &&
           to_rank((struct heft_str){line.p + right, line.n - right}, rank);
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
    size_t n = 1;

    for (size_t i = 0; i < text.n; i++)
        n += text.p[i] == '\n';
    if (!bytes || !heft_grow(&list->items, &list->cap, 0, n, sizeof *list->items, r->err))
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

/* ---- the usual form ---------------------------------------------------------------------- */

/* Fast reader of files as tiktoken writes them: ranks ascend, each line ends with a newline and none is
 * empty, numbers have no leading zeros. The text is then in the form that known vocabularies are
 * recognised by. */
#define LINE_ROOM 256 /* bytes that reading a line may look at */
#define AHEAD     8   /* tokens whose slots are prefetched */

struct usual {
    struct heft_vocab_reading *r;
    const uint8_t *p; /* the next line; LINE_ROOM bytes may be read */
    uint8_t *to;      /* where the bytes of the next token go */
    uint32_t next;    /* least id of the next token */
    size_t n, room;   /* tokens; bound of their ids */
    struct heft_vocab_asked asked[AHEAD];
    uint32_t ids[AHEAD];
};

/* Decodes the last group of a token, "xx==" or "xxx="; 0: it is none. */
static size_t decode_last(const uint8_t *p, uint8_t *out)
{
    const unsigned a = DIGITS[p[0]], b = DIGITS[p[1]], c = p[2] == '=' ? 0 : DIGITS[p[2]];

    if ((a | b | c) >= NONE || p[4] != ' ' || (p[2] == '=' ? b & 15 : c & 3))
        return 0;
    out[0] = (uint8_t)(a << 2 | b >> 4);
    out[1] = (uint8_t)(b << 4 | c >> 2);
    return p[2] == '=' ? 1 : 2;
}

/* Decodes a token up to its blank. Returns the number of bytes; 0: another form. */
static size_t take_token(struct usual *u)
{
    const uint8_t *const end = u->p + LONGEST / 3 * 4 + 4;
    uint8_t *to = u->to;
    unsigned all = 0;
    size_t last = 0;

    for (; u->p < end && *u->p != ' '; u->p += 4) {
        if (HEFT_UNLIKELY(u->p[3] == '=')) {
            last = decode_last(u->p, to);
            all |= last ? 0 : NONE;
        } else
            all |= decode_groups(u->p, 4, to);
        to += last ? last : 3;
    }
    return all < NONE && *u->p == ' ' ? (size_t)(to - u->to) : 0;
}

/* Reads a number up to its newline; HEFT_NO_TOKEN: another form. */
static uint32_t take_number(struct usual *u)
{
    const uint8_t *const first = ++u->p;
    uint32_t value = 0;

    for (; *u->p >= '0' && *u->p <= '9' && value < HEFT_MOST_IDS; u->p++)
        value = 10 * value + (uint32_t)(*u->p - '0');
    return u->p > first && *u->p == '\n' && (*first != '0' || u->p == first + 1) ? value
                                                                                 : HEFT_NO_TOKEN;
}

/* Enters the i-th token; its slot was asked for. False without an error: two tokens are equal. */
static bool enter_token(struct usual *u, size_t i)
{
    uint32_t found;

    return heft_vocab_ids_put(&u->r->ids, &u->asked[i % AHEAD], u->ids[i % AHEAD], &found,
                              u->r->err) &&
           found == HEFT_MAP_NONE;
}

static bool take_line(struct usual *u)
{
    const size_t n = take_token(u);
    const uint32_t id = n > 0 && n <= LONGEST ? take_number(u) : HEFT_NO_TOKEN;
    const struct heft_str word = {(const char *)u->to, n};

    u->p++;
    if (id < u->next || id >= u->room || (u->n >= AHEAD && !enter_token(u, u->n - AHEAD)))
        return false;
    u->r->v->tokens[id] = word;
    u->ids[u->n % AHEAD] = id;
    heft_vocab_ids_ask(&u->r->ids, word, &u->asked[u->n++ % AHEAD]);
    u->next = id + 1;
    u->to += n;
    return true;
}

/* Takes all lines; the last ones from a copy, behind which may be read. */
static bool take_lines(struct usual *u, struct heft_bytes text)
{
    const uint8_t *const end = text.p + text.n;
    uint8_t copy[2 * LINE_ROOM] = {0};
    size_t left;

    for (u->p = text.p; (size_t)(end - u->p) > LINE_ROOM;)
        if (!take_line(u))
            return false;
    left = (size_t)(end - u->p);
    memcpy(copy, u->p, left);
    for (u->p = copy; u->p < copy + left;)
        if (!take_line(u))
            return false;
    for (size_t i = u->n - heft_min_size(u->n, AHEAD); i < u->n; i++)
        if (!enter_token(u, i))
            return false;
    return u->p == copy + left;
}

/* The rank of the last line, which is the highest. */
static bool find_last(struct heft_bytes text, uint32_t *rank)
{
    struct heft_str line = {(const char *)text.p, text.n ? text.n - 1 : 0};
    uint8_t bytes[LONGEST + 4];
    size_t from = line.n, n;

    while (from > 0 && line.n - from < LINE_ROOM && line.p[from - 1] != '\n')
        from--;
    line.p += from;
    line.n -= from;
    return text.n > 0 && text.p[text.n - 1] == '\n' && read_line(line, bytes, &n, rank);
}

/* False without an error: another form, or invalid; nothing is kept. */
static bool read_usual(struct heft_vocab_reading *r, struct heft_bytes text, size_t *n)
{
    struct usual u = {.r = r};
    uint32_t last;
    bool ok;

    if (!find_last(text, &last))
        return false;
    u.room = (size_t)last + 1;
    u.to = heft_vocab_bytes(r, text.n);
    ok = u.to &&
         heft_vocab_reserve_ranks(r, heft_min_size(u.room, text.n / 7 + 1),
                                  u.room + HEFT_VOCAB_EXTRA) &&
         take_lines(&u, text);
    r->v->n_ids = (uint32_t)u.room;
    *n = u.n;
    if (ok)
        return true;
    heft_vocab_ids_release(&r->ids);
    r->v->tokens = NULL;
    return false;
}

/* ---- the file ---------------------------------------------------------------------------- */

static bool read_any(struct heft_vocab_reading *r, struct heft_bytes text,
                     struct heft_listing *list)
{
    return list_lines(r, (struct heft_str){(const char *)text.p, text.n}, list) &&
           heft_vocab_place_ranks(r, list, (size_t)list->most + 1 + HEFT_VOCAB_EXTRA);
}

static bool read_ranks(struct heft_vocab_reading *r, struct heft_bytes text,
                       struct heft_listing *list)
{
    struct heft_vocab *v = r->v;
    const struct heft_vocab_known *known;
    size_t n;
    const bool is_usual = read_usual(r, text, &n);

    if (is_usual ? !heft_vocab_settle_ranks(r, (size_t)v->n_ids + HEFT_VOCAB_EXTRA)
                 : r->err->code != HEFT_OK || !read_any(r, text, list))
        return false;
    known = is_usual ? heft_vocab_known_lines((struct heft_str){(const char *)text.p, text.n}, n)
                     : heft_vocab_known_ranks(v);
    v->ranked->is_reached = known && known->is_reached;
    return heft_vocab_place_special(r, known) &&
           (!known || !known->ends_behind_last || place_end(r)) &&
           heft_vocab_judge(r, HEFT_FORM_RANKS, known);
}

bool heft_vocab_read_ranks(struct heft_vocab_reading *r, struct heft_bytes text)
{
    struct heft_listing list = {0};
    const bool ok = read_ranks(r, text, &list);

    heft_free(list.items);
    return ok;
}
