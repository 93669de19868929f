/* vocab_usual.c: fast readers of encoder.json and vocab.bpe in the form in which they are
 * published:
 *
 *     {"!": 0, "\"": 1, …, "\u0120t": 256, …, "<|endoftext|>": 50256}
 *
 *     #version: 0.2
 *     Ġ t
 *
 * The first is an object of words of the alphabet, with the escapes of JSON and ids of up to seven
 * digits, the highest one last; the second has lines that end with \n. Anything else, valid or not,
 * is left to the general readers from the beginning; they report errors.
 *
 * Scans eight letters at a time up to the next one that is escaped. Lookups are batched, so that
 * their slots are prefetched. */
#include "base/digits.h"
#include "base/hex.h"
#include "tokens/vocab/vocab_parts.h"

#define EACH(byte) (UINT64_C(0x0101010101010101) * (byte))
#define HIGH       EACH(0x80)
#define BATCH      32
#define LINE       512 /* longest line of a merge in bytes */
#define BATCH_ROOM (BATCH * 64 + LINE)
#define LEAST_ITEM 6 /* bytes of the shortest item, "a":0, */

struct walk {
    const int16_t *bytes; /* indexed by character of the alphabet */
    const uint8_t *p, *end;
    uint8_t *to; /* where bytes of words are written */
};

static inline bool is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}

/* ---- decoding words ---------------------------------------------------------------------- */

HEFT_WRAPS static inline uint64_t zero_bytes(uint64_t x)
{
    return (x - EACH(1)) & ~x;
}

/* Bitmap whose lowest set bit belongs to the first byte that is not a letter standing for itself.
 */
HEFT_WRAPS static inline uint64_t stop_bits(uint64_t x, bool quoted)
{
    const uint64_t unlike =
        (x + EACH(1)) | (x - EACH(0x21)) | x; /* a top bit for each byte outside 0x21 … 0x7E */

    return (quoted ? unlike | zero_bytes(x ^ EACH('"')) | zero_bytes(x ^ EACH('\\')) : unlike) &
           HIGH;
}

/* Returns the character of the escape whose backslash is at w->p, and its length in *n; for an
 * unknown escape a character outside the alphabet. */
static uint32_t escaped_character(const struct walk *w, size_t *n)
{
    const uint8_t *const p = w->p + 1;
    uint32_t c = 0;

    *n = 2;
    if (p < w->end && (*p == '"' || *p == '\\' || *p == '/'))
        return *p;
    if (w->end - p < 5 || *p != 'u')
        return 0;
    for (int i = 1; i < 5; i++) {
        const unsigned digit = heft_hex_digit(p[i]);

        if (digit == HEFT_NO_HEX)
            return 0;
        c = c << 4 | digit;
    }
    *n = 6;
    return c;
}

/* Takes one character in any spelling. False: not in the alphabet. */
static bool take_letter(struct walk *w, bool quoted)
{
    uint32_t c = w->p < w->end ? *w->p : 0;
    size_t n = 1;

    if (quoted && c == '"')
        return false;
    if (quoted && c == '\\') {
        c = escaped_character(w, &n);
    } else if (c >= 0xC2 && c <= 0xC5 && w->end - w->p > 1 && (w->p[1] & 0xC0) == 0x80) {
        c = (c & 0x1F) << 6 | (w->p[1] & 0x3F);
        n = 2;
    } else if (c >= 0x80) {
        return false;
    }
    if (c >= HEFT_ALPHABET_ROOM || w->bytes[c] < 0)
        return false;
    *w->to++ = (uint8_t)w->bytes[c];
    w->p += n;
    return true;
}

/* Takes a leading space, U+0120, without a branch: most words have one, unpredictably. */
static inline void take_space(struct walk *w, bool quoted)
{
    const uint64_t x = heft_le64(w->p);
    const size_t raw = (x & 0xFFFF) == 0xA0C4;
    const size_t escape = quoted && (x & UINT64_C(0xFFFFFFFFFFFF)) == UINT64_C(0x30323130755C);

    *w->to = ' ';
    w->to += raw + escape;
    w->p += 2 * raw + 6 * escape;
}

/* Takes characters of the alphabet up to and including `last`. */
static inline bool take_word(struct walk *w, uint8_t last, struct heft_str *word)
{
    uint8_t *const first = w->to, *to;
    const uint8_t *p, *const end = w->end;

    if (end - w->p >= 8)
        take_space(w, last == '"');
    do {
        uint64_t stop = 0;

        for (p = w->p, to = w->to; stop == 0 && end - p >= 8;) {
            const uint64_t x = heft_le64(p);
            size_t n;

            stop = stop_bits(x, last == '"');
            n = stop ? heft_lowest_bit(stop) / 8 : 8;
            memcpy(to, p, 8);
            p += n;
            to += n;
        }
        w->p = p;
        w->to = to;
    } while ((p == end || *p != last) && take_letter(w, last == '"'));
    *word = (struct heft_str){(const char *)first, (size_t)(w->to - first)};
    return w->p < end && *w->p++ == last && word->n > 0;
}

/* ---- encoder.json ------------------------------------------------------------------------ */

static inline void skip_blanks(struct walk *w)
{
    const uint8_t *p = w->p;

    while (p < w->end && *p <= ' ' && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t'))
        p++;
    w->p = p;
}

/* Skips `c` with blanks on both sides. */
static inline bool take_byte(struct walk *w, char c)
{
    skip_blanks(w);
    if (w->p == w->end || *w->p != (uint8_t)c)
        return false;
    w->p++;
    skip_blanks(w);
    return true;
}

/* Takes an id of up to seven digits. */
static inline bool take_id(struct walk *w, uint32_t *id)
{
    const uint8_t *const first = w->p;
    uint64_t number;
    unsigned n;

    if (w->end - w->p < 8) {
        for (*id = 0; w->p < w->end && is_digit(*w->p); w->p++)
            *id = *id * 10 + (uint32_t)(*w->p - '0');
        return w->p > first && (*first != '0' || w->p - first == 1);
    }
    n = heft_few_digits(first, &number);
    *id = n > 0 ? (uint32_t)number : 0;
    w->p += n;
    return n > 0;
}

/* Words taken but not placed yet. */
struct batch {
    struct heft_vocab_asked asked[BATCH];
    uint32_t ids[BATCH];
    size_t n;
};

static bool place_batch(struct heft_vocab_reading *r, struct batch *batch)
{
    uint32_t found;

    for (size_t i = 0; i < batch->n; i++)
        if (!heft_vocab_ids_put(&r->ids, &batch->asked[i], batch->ids[i], &found, r->err) ||
            found != HEFT_MAP_NONE)
            return false;
    batch->n = 0;
    return true;
}

/* Assigns an id, below v->n_ids, to `word`. */
static bool place_word(struct heft_vocab_reading *r, struct batch *batch, struct heft_str word,
                       uint32_t id)
{
    struct heft_vocab *v = r->v;

    if (word.n > HEFT_LONGEST || id >= v->n_ids || v->tokens[id].p)
        return false;
    v->tokens[id] = word;
    if (word.n == sizeof HEFT_END_OF_TEXT - 1 && heft_str_is(word, HEFT_END_OF_TEXT)) {
        r->least_special = v->end = id;
        return true;
    }
    batch->ids[batch->n] = id;
    heft_vocab_ids_ask(&r->ids, word, &batch->asked[batch->n]);
    return ++batch->n < BATCH || place_batch(r, batch);
}

static bool place_items(struct heft_vocab_reading *r, struct walk *w)
{
    struct batch batch;
    struct heft_str word;
    uint32_t id;

    batch.n = 0;
    if (!take_byte(w, '{'))
        return false;
    do {
        if (w->p == w->end || *w->p++ != '"')
            return false;
        if (!take_word(w, '"', &word) || !take_byte(w, ':') || !take_id(w, &id) ||
            !place_word(r, &batch, word, id))
            return false;
    } while (take_byte(w, ','));
    return take_byte(w, '}') && w->p == w->end && place_batch(r, &batch);
}

/* Returns the number of ids, given that the last one is the highest; 0: unknown. */
static uint32_t count_ids(struct heft_bytes text)
{
    size_t n = text.n;
    uint32_t id = 0;

    while (n > 0 && (strchr(" \t\r\n}", text.p[n - 1]) && text.p[n - 1]))
        n--;
    for (uint32_t unit = 1; n > 0 && is_digit(text.p[n - 1]) && unit <= 1000000; n--) {
        id += unit * (uint32_t)(text.p[n - 1] - '0');
        unit *= 10;
    }
    return id < HEFT_MOST_IDS && id < text.n / LEAST_ITEM ? id + 1 : 0;
}

/* Allocates the bytes of words last: their room is as large as the file, and mostly not used up. */
static bool read_ids(struct heft_vocab_reading *r, struct heft_bytes text)
{
    struct walk w = {.bytes = r->bytes, .p = text.p, .end = text.p + text.n};
    struct heft_vocab *v = r->v;

    v->n_ids = count_ids(text);
    if (v->n_ids <= 256 || v->n_ids >= HEFT_MOST_MERGES ||
        !heft_vocab_room(v, v->n_ids, v->n_ids, text.n, r->err))
        return false;
    v->tokens = heft_arena_zero(&v->mem, v->n_ids, sizeof *v->tokens, r->err);
    if (!v->tokens || !heft_vocab_ids_reserve(&r->ids, &v->mem, v->tokens, v->n_ids, r->err) ||
        !heft_vocab_reserve(r, v->n_ids))
        return false;
    w.to = heft_vocab_bytes(r, text.n);
    return w.to && place_items(r, &w);
}

bool heft_vocab_usual_ids(struct heft_vocab_reading *r, struct heft_bytes text)
{
    struct heft_vocab *v = r->v;

    if (read_ids(r, text))
        return true;
    heft_vocab_ids_release(&r->ids);
    heft_arena_release(&v->mem);
    v->tokens = NULL;
    v->merges = NULL;
    r->least_special = v->end = HEFT_NO_TOKEN;
    return false;
}

/* ---- vocab.bpe --------------------------------------------------------------------------- */

struct merge {
    struct heft_vocab_asked left, right;
};

static bool take_merge(const struct heft_vocab_reading *r, struct walk *w, struct merge *merge)
{
    struct heft_str left, right;

    if (!take_word(w, ' ', &left) || !take_word(w, '\n', &right))
        return false;
    heft_vocab_ids_ask(&r->ids, left, &merge->left);
    heft_vocab_ids_ask(&r->ids, right, &merge->right);
    return true;
}

static bool add_merge(struct heft_vocab_reading *r, const struct merge *merge)
{
    const struct heft_str left = merge->left.word, right = merge->right.word;
    const struct heft_str token = {left.p, left.n + right.n}; /* adjacent in memory */
    struct heft_vocab *v = r->v;
    const uint32_t id = heft_vocab_result(r, token);
    const uint32_t left_id = heft_vocab_ids_find(&r->ids, &merge->left);
    const uint32_t right_id = heft_vocab_ids_find(&r->ids, &merge->right);

    if (id == HEFT_MAP_NONE || left_id == HEFT_MAP_NONE || right_id == HEFT_MAP_NONE)
        return false;
    v->merges[v->n_merges++] = (struct heft_merge){left_id, right_id, id};
    return true;
}

/* Room for one merge for each id: only unusual vocabularies make an id twice. */
static bool read_merges(struct heft_vocab_reading *r, struct heft_bytes text)
{
    struct walk w = {.bytes = r->bytes, .p = text.p};
    const uint8_t *const end = text.p + text.n;
    uint8_t room[BATCH_ROOM + HEFT_VOCAB_PAD];
    struct merge merges[BATCH];

    while (w.p < end) {
        size_t n = 0;

        w.to = room;
        while (w.p < end && n < BATCH && w.to <= room + BATCH_ROOM - LINE) {
            w.end = w.p + heft_min_u64((uint64_t)(end - w.p), LINE);
            if (!take_merge(r, &w, &merges[n++]))
                return false;
        }
        if (n > r->v->n_ids - r->v->n_merges)
            return false;
        for (size_t i = 0; i < n; i++)
            if (!add_merge(r, &merges[i]))
                return false;
    }
    return r->v->n_merges > 0;
}

bool heft_vocab_usual_merges(struct heft_vocab_reading *r, struct heft_bytes text)
{
    const struct heft_str version = HEFT_STR("#version");
    const uint8_t *first = text.p;

    if (text.n == 0 || text.p[text.n - 1] != '\n' || r->v->n_ids >= HEFT_MOST_MERGES ||
        (!r->v->merges && !heft_vocab_reserve(r, r->v->n_ids)))
        return false;
    if (heft_str_starts((struct heft_str){(const char *)text.p, text.n}, version))
        first = (const uint8_t *)memchr(text.p, '\n', text.n) + 1;
    if (read_merges(r, (struct heft_bytes){first, text.n - (size_t)(first - text.p)}))
        return true;
    r->v->n_merges = 0;
    return false;
}
