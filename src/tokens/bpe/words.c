/* words.c: cache of pre-tokens, in batches: first the keys of all pre-tokens and prefetches of
 * their cache lines, then the lookups. */
#include "tokens/bpe/words.h"

#include "base/endian.h"
#include "io/pages.h"

#define BATCH       64
#define VALUE_BYTES 16
#define STORED      UINT16_MAX /* in place of a count: the entry has the ids' offset in the store */
#define LONG_MOST   256        /* bytes of a long pre-token that is cached */
#define LONG_PLACES 4          /* entries of a set */
#define MOST_HEAP                                                                                  \
    ((size_t)1                                                                                     \
     << 15) /* bytes; merging as many by the heap takes as long as building the tables … */
#define MOST_RANKED                                                                                \
    ((size_t)1 << 18) /* … and the same with ranks, whose merges are derived before */
#define LEAST       ((size_t)1 << 20)
#define FIRST_LINES 14 /* log2 of the initial lines: one for each token */
#define FIRST_LONGS 8  /* log2 of the initial number of sets … */
#define MORE_LONGS  2  /* … and of the factor by which it grows */

struct entry {
    uint64_t low, high;         /* the pre-token; all zero: free */
    uint8_t value[VALUE_BYTES]; /* ids, and in the last two bytes their count */
};
struct heft_word_line {
    struct entry entries[2];
};
struct heft_long_word {
    uint64_t hash; /* 0: free */
    uint32_t at;   /* offset in the store of the pre-token's bytes, then its ids */
    uint16_t n, count;
};

/* ---- keys of pre-tokens ------------------------------------------------------------------ */

struct key {
    uint64_t low, high;
};

/* By length: the bits of 16 bytes that belong to a pre-token, with the length in the last byte.
 * Pre-tokens of 16 bytes and more get a key that no entry has. */
#define LOW(n) (UINT64_MAX >> (64 - 8 * (n)))
#define FEW(n)                                                                                     \
    {                                                                                              \
        LOW(n), 0, (uint64_t)(n) << 56, 0                                                          \
    }
#define MANY(n)                                                                                    \
    {                                                                                              \
        UINT64_MAX, LOW((n)-8), (uint64_t)(n) << 56, 0                                             \
    }
static const struct {
    uint64_t low, high, set_high, unused; /* padded to a power of two for indexing */
} MASKS[HEFT_WORD_KEY + 2] = {
    {0, 0, 0, 0},
    FEW(1),
    FEW(2),
    FEW(3),
    FEW(4),
    FEW(5),
    FEW(6),
    FEW(7),
    FEW(8),
    MANY(9),
    MANY(10),
    MANY(11),
    MANY(12),
    MANY(13),
    MANY(14),
    MANY(15),
    {0, 0, UINT64_C(16) << 56, 0},
};

static inline struct key key_of(const uint8_t *word, size_t n)
{
    const size_t i = n <= HEFT_WORD_KEY ? n : HEFT_WORD_KEY + 1;

    return (struct key){heft_le64(word) & MASKS[i].low,
                        (heft_le64(word + 8) & MASKS[i].high) | MASKS[i].set_high};
}

/* The highest bits of a product depend on all lower bits. */
HEFT_WRAPS static inline size_t place_of(struct key key, unsigned bits)
{
    return (size_t)((key.low * UINT64_C(0x9E3779B97F4A7C15) +
                     key.high * UINT64_C(0xBF58476D1CE4E5B9)) >>
                    (64 - bits));
}

static inline struct heft_word_line *line_of(const struct heft_words *w, struct key key)
{
    return &w->lines[place_of(key, w->line_bits)];
}

static inline bool is_key(const struct entry *e, struct key key)
{
    return ((e->low ^ key.low) | (e->high ^ key.high)) == 0;
}

/* ---- writing ids, filling entries -------------------------------------------------------- */

/* Ids that an entry has room for. */
static inline size_t most_of(unsigned width)
{
    return width == 1 ? 7 : 3;
}

static size_t most_ids(const struct heft_words *w)
{
    return most_of(w->width);
}

/* Writes the same id from `out` to `end`; may overwrite a few bytes after it. */
static uint8_t *put_same(const struct heft_words *w, uint32_t id, uint8_t *out, uint8_t *end)
{
    const uint64_t ids =
        id * (w->width == 1 ? UINT64_C(0x0001000100010001) : UINT64_C(0x0000000100000001));

    for (; out < end; out += sizeof ids)
        heft_put_le64(out, ids);
    return end;
}

/* Whether an entry can represent the ids: those beyond its room must equal the last that it has. */
static bool fits_entry(const struct heft_words *w, const uint32_t *ids, size_t count)
{
    const size_t most = most_ids(w);

    while (count > most && ids[count - 1] == ids[most - 1])
        count--;
    return count <= most;
}

static inline size_t count_of(const struct entry *e)
{
    return heft_le16(e->value + VALUE_BYTES - 2);
}

/* Writes the ids of an entry that has them in the store, sixteen bytes at a time. */
static uint8_t *put_stored(const struct heft_words *w, const struct entry *e, uint8_t *out)
{
    const uint8_t *const ids = w->store + heft_le32(e->value);
    const size_t bytes = (size_t)heft_le32(e->value + 4) << w->width;

    for (size_t i = 0; i < bytes; i += 16)
        memcpy(out + i, ids + i, 16);
    return out + bytes;
}

/* Writes the ids of an entry that stands for more than it holds, as indented lines of many blanks
 * do. */
static uint8_t *put_entry(const struct heft_words *w, const struct entry *e, size_t count,
                          uint8_t *out)
{
    const size_t room = most_ids(w) << w->width;
    const uint8_t *last = e->value + room - ((size_t)1 << w->width);

    if (count == STORED)
        return put_stored(w, e, out);
    memcpy(out, e->value, room);
    return put_same(w, w->width == 1 ? heft_le16(last) : heft_le32(last), out + room,
                    out + (count << w->width));
}

/* Sixteen at a time, which compilers turn into a few instructions. */
static uint8_t *put_narrow(const uint32_t *ids, size_t count, uint8_t *out)
{
    uint16_t narrow[16];

    for (; count >= HEFT_COUNT(narrow); count -= HEFT_COUNT(narrow), ids += HEFT_COUNT(narrow)) {
        for (size_t i = 0; i < HEFT_COUNT(narrow); i++)
            narrow[i] = (uint16_t)ids[i];
        for (size_t i = 0; i < HEFT_COUNT(narrow); i++)
            heft_put_le16(out + 2 * i, narrow[i]);
        out += sizeof narrow;
    }
    for (; count > 0; count--, ids++, out += 2)
        heft_put_le16(out, (uint16_t)*ids);
    return out;
}

uint8_t *heft_words_put(const struct heft_words *w, const uint32_t *ids, size_t count, uint8_t *out)
{
    if (w->width == 1)
        return put_narrow(ids, count, out);
    for (size_t i = 0; i < count; i++, out += 4)
        heft_put_le32(out, ids[i]);
    return out;
}

/* Returns the token that a pre-token equals, if it need not be merged; else HEFT_MAP_NONE. Merging
 * reaches tokens that have merges. */
static uint32_t find_whole(const struct heft_words *w, const uint8_t *word, size_t n)
{
    if (n > w->v->longest)
        return HEFT_MAP_NONE;
    return w->v->ranked ? heft_ranked_find(w->v->ranked, word, n)
                        : heft_strmap_get(&w->v->wholes, (struct heft_str){(const char *)word, n});
}

static bool merge_any(struct heft_words *w, const uint8_t *word, size_t n, size_t *count,
                      struct heft_error *err)
{
    return w->v->ranked
               ? heft_merge_word_ranked(&w->merger, w->v->ranked, word, n, w->ids, count, err)
               : heft_merge_word(&w->merger, w->v->pairs, word, n, w->ids, count, err);
}

static size_t merge_short(struct heft_words *w, const uint8_t *word, size_t n)
{
    return w->v->ranked ? heft_merge_short_ranked(w->v->ranked, word, n, w->ids)
                        : heft_merge_short(w->v->pairs, word, n, w->ids);
}

uint8_t *heft_words_part(struct heft_words *w, const uint8_t *part, size_t n, uint8_t *out,
                         struct heft_error *err)
{
    size_t count;

    return merge_any(w, part, n, &count, err) ? heft_words_put(w, w->ids, count, out) : NULL;
}

/* Whether the pre-token equals a token and need not be merged; its id goes to w->ids. */
static bool is_whole(struct heft_words *w, const uint8_t *word, size_t n)
{
    if (!w->v->ranked && HEFT_LIKELY(w->v->wholes.count == 0))
        return false;
    w->ids[0] = find_whole(w, word, n);
    return w->ids[0] != HEFT_MAP_NONE;
}

/* Merges a pre-token that is not cached. The first long ones go by the heap: a text with few of
 * them does not pay for the tables of long_word.h. The ids live until the next call. NULL on
 * failure. */
static const uint32_t *merge_word(struct heft_words *w, const uint8_t *word, size_t n,
                                  size_t *count, struct heft_error *err)
{
    if (is_whole(w, word, n)) {
        *count = 1;
        return w->ids;
    }
    if (n <= HEFT_MERGE_SHORT) {
        *count = merge_short(w, word, n);
        return w->ids;
    }
    if (w->by_heap < (w->v->ranked ? MOST_RANKED : MOST_HEAP)) {
        w->by_heap += n;
        return merge_any(w, word, n, count, err) ? w->ids : NULL;
    }
    if (!heft_long_whole(&w->longer, word, n, err))
        return NULL;
    *count = w->longer.n_ids;
    return w->longer.ids;
}

/* Returns the first entry of the line; the former first becomes the second. */
static struct entry *open_entry(struct heft_words *w, struct key key)
{
    struct heft_word_line *line = line_of(w, key);

    line->entries[1] = line->entries[0];
    line->entries[0] = (struct entry){.low = key.low, .high = key.high};
    return &line->entries[0];
}

static void remember_word(struct heft_words *w, struct key key, const uint32_t *ids, size_t count)
{
    struct entry *e = open_entry(w, key);

    w->n_new++;
    heft_words_put(w, ids, heft_min_size(count, most_ids(w)), e->value);
    heft_put_le16(e->value + VALUE_BYTES - 2, (uint16_t)count);
}

/* ---- the cache of long pre-tokens -------------------------------------------------------- */

HEFT_WRAPS static uint64_t hash_of(const uint8_t *word, size_t n)
{
    uint64_t hash = n * UINT64_C(0x9E3779B97F4A7C15), last = 0;
    size_t i = 0;

    for (; i + 8 <= n; i += 8) {
        hash = (hash ^ heft_le64(word + i)) * UINT64_C(0xBF58476D1CE4E5B9);
        hash ^= hash >> 29;
    }
    if (i < n)
        last = heft_le64(word + i) & LOW(n - i);
    hash = (hash ^ last) * UINT64_C(0x94D049BB133111EB);
    hash ^= hash >> 31;
    return hash ? hash : 1;
}

static struct heft_long_word *find_long(struct heft_long_word *places, const uint8_t *store,
                                        uint64_t hash, const uint8_t *word, size_t n)
{
    for (size_t i = 0; i < LONG_PLACES; i++)
        if (places[i].hash == hash && places[i].n == n &&
            memcmp(store + places[i].at, word, n) == 0)
            return &places[i];
    return NULL;
}

/* More sets: the entries of one set go to the consecutive sets that replace it.
 */
static void spread_longs(struct heft_words *w, struct heft_long_word *to, unsigned bits)
{
    for (size_t i = (size_t)LONG_PLACES << w->long_bits; i > 0; i--) {
        const struct heft_long_word *const known = &w->longs[i - 1];
        struct heft_long_word *const places = to + (known->hash >> (64 - bits)) * LONG_PLACES;

        if (known->hash == 0)
            continue;
        memmove(places + 1, places, (LONG_PLACES - 1) * sizeof *places);
        *places = *known;
    }
    w->longs = to;
    w->long_bits = bits;
}

/* Without memory the table keeps its size. */
static void grow_longs(struct heft_words *w)
{
    const unsigned bits = w->long_bits + MORE_LONGS < w->most_long_bits ? w->long_bits + MORE_LONGS
                                                                        : w->most_long_bits;
    struct heft_error unused = {0};
    void *const old = w->longs_block, *block = NULL;
    struct heft_long_word *to = heft_pages_zero(LONG_PLACES * sizeof *to << bits, &block, &unused);

    w->n_new_longs = 0;
    if (!to) {
        w->most_long_bits = w->long_bits;
        return;
    }
    spread_longs(w, to, bits);
    w->longs_block = block;
    heft_free(old);
}

/* Also forgets the entries of lines whose ids are in the store. */
static void forget_longs(struct heft_words *w)
{
    for (size_t i = 0; i >> w->line_bits == 0; i++)
        for (size_t k = 0; k < HEFT_COUNT(w->lines->entries); k++)
            if (count_of(&w->lines[i].entries[k]) == STORED)
                w->lines[i].entries[k] = (struct entry){0};
    memset(w->longs, 0, LONG_PLACES * sizeof *w->longs << w->long_bits);
    w->store_used = 0;
}

/* Inserts at the front of its set; the last entry is dropped. */
static void remember_long(struct heft_words *w, struct heft_long_word *places, uint64_t hash,
                          const uint8_t *word, size_t n, const uint32_t *ids, size_t count)
{
    const size_t bytes = n + (count << w->width);
    uint8_t *to;

    if (bytes > w->store_cap - w->store_used)
        forget_longs(w);
    to = w->store + w->store_used;
    memcpy(to, word, n);
    heft_words_put(w, ids, count, to + n);
    memmove(places + 1, places, (LONG_PLACES - 1) * sizeof *places);
    *places = (struct heft_long_word){hash, (uint32_t)w->store_used, (uint16_t)n, (uint16_t)count};
    w->store_used += bytes;
    if (++w->n_new_longs >> w->long_bits && w->long_bits < w->most_long_bits)
        grow_longs(w);
}

/* Inserts a pre-token that has a key, and more ids than an entry. */
static void remember_stored(struct heft_words *w, struct key key, const uint32_t *ids, size_t count)
{
    struct entry *e;

    if (count << w->width > w->store_cap - w->store_used)
        forget_longs(w);
    e = open_entry(w, key);
    w->n_new++;
    heft_put_le32(e->value, (uint32_t)w->store_used);
    heft_put_le32(e->value + 4, (uint32_t)count);
    heft_put_le16(e->value + VALUE_BYTES - 2, STORED);
    w->store_used = (size_t)(heft_words_put(w, ids, count, w->store + w->store_used) - w->store);
}

/* Where a long pre-token is looked for. */
struct long_place {
    uint64_t hash; /* 0: it is not cached */
    struct heft_long_word *places;
};

static struct long_place place_long(const struct heft_words *w, const uint8_t *word, size_t n)
{
    const uint64_t hash = n <= LONG_MOST ? hash_of(word, n) : 0;

    return (struct long_place){hash, w->longs + (hash >> (64 - w->long_bits)) * LONG_PLACES};
}

/* Writes the ids of a pre-token that is cached there; NULL: it is not. */
static uint8_t *put_long(const struct heft_words *w, const struct long_place *at,
                         const uint8_t *word, size_t n, uint8_t *out)
{
    const struct heft_long_word *const known =
        at->hash ? find_long(at->places, w->store, at->hash, word, n) : NULL;
    size_t bytes;

    if (!known)
        return NULL;
    bytes = (size_t)known->count << w->width;
    memcpy(out, w->store + known->at + n, bytes);
    return out + bytes;
}

uint8_t *heft_words_one(struct heft_words *w, const uint8_t *word, size_t n, uint8_t *out,
                        struct heft_error *err)
{
    const struct long_place at = place_long(w, word, n);
    uint8_t *const end = put_long(w, &at, word, n, out);
    const uint32_t *ids;
    size_t count;

    if (end)
        return end;
    ids = merge_word(w, word, n, &count, err);
    if (!ids)
        return NULL;
    if (at.hash)
        remember_long(w, at.places, at.hash, word, n, ids, count);
    return heft_words_put(w, ids, count, out);
}

/* ---- lines of the cache ------------------------------------------------------------------ */

/* Grows the lines: the entries of one go to the consecutive lines that replace it, in their order.
 */
static void spread_lines(struct heft_words *w, struct heft_word_line *to, unsigned bits)
{
    const size_t n = (size_t)1 << w->line_bits;
    const struct heft_word_line *const from = w->lines;

    w->lines = to;
    w->line_bits = bits;
    for (size_t i = 0; i < n; i++)
        for (size_t k = HEFT_COUNT(from->entries); k > 0; k--) {
            const struct entry *const e = &from[i].entries[k - 1];

            if (e->low | e->high)
                *open_entry(w, (struct key){e->low, e->high}) = *e;
        }
}

/* Grows once the text is known to have many pre-tokens. Without memory the table keeps its size. */
static void grow_lines(struct heft_words *w)
{
    struct heft_error unused = {0};
    void *const old = w->lines_block, *block = NULL;
    struct heft_word_line *to =
        heft_pages_zero(sizeof *w->lines << w->most_line_bits, &block, &unused);

    if (!to) {
        w->most_line_bits = w->line_bits;
        return;
    }
    spread_lines(w, to, w->most_line_bits);
    w->lines_block = block;
    heft_free(old);
}

/* ---- tokens that merging does not reach -------------------------------------------------- */

/* Returns NULL if the line does not have the key. */
static inline const struct entry *find_entry(const struct heft_word_line *line, struct key key)
{
    const struct entry *e = line->entries + !is_key(line->entries, key);

    return HEFT_LIKELY(is_key(e, key)) ? e : NULL;
}

/* Returns the token that a pre-token equals, or HEFT_MAP_NONE. If the pre-token is cached, which is
 * likely, it equals one only if it has one id, and no other table is asked. */
static uint32_t find_ranked(const struct heft_words *w, const uint8_t *word, size_t n)
{
    const struct key key = key_of(word, n);
    const struct entry *const known = n <= HEFT_WORD_KEY ? find_entry(line_of(w, key), key) : NULL;

    if (!known)
        return find_whole(w, word, n);
    if (count_of(known) > 1)
        return HEFT_MAP_NONE;
    return w->width == 1 ? heft_le16(known->value) : heft_le32(known->value);
}

bool heft_words_is_whole(const struct heft_words *w, const uint8_t *word, size_t n)
{
    uint32_t id;

    if (HEFT_LIKELY(!w->has_wholes))
        return false;
    if (!w->v->ranked)
        return find_whole(w, word, n) != HEFT_MAP_NONE;
    id = find_ranked(w, word, n);
    return id != HEFT_MAP_NONE && !heft_ranked_reaches(w->v->ranked, id);
}

/* ---- encoding batches -------------------------------------------------------------------- */

/* width: a copy of w->width, which the compiler knows not to change by the writes. */
static inline uint8_t *put_known(const struct heft_words *w, unsigned width, const struct entry *e,
                                 uint8_t *out)
{
    const size_t count = count_of(e);

    memcpy(out, e->value, VALUE_BYTES);
    return HEFT_LIKELY(count <= most_of(width)) ? out + (count << width)
                                                : put_entry(w, e, count, out);
}

/* Encodes a pre-token that has a key but no entry. */
static uint8_t *encode_new(struct heft_words *w, const uint8_t *word, size_t n, struct key key,
                           uint8_t *out)
{
    const size_t count = is_whole(w, word, n) ? 1 : merge_short(w, word, n);

    if (HEFT_LIKELY(fits_entry(w, w->ids, count)))
        remember_word(w, key, w->ids, count);
    else
        remember_stored(w, key, w->ids, count);
    return heft_words_put(w, w->ids, count, out);
}

static size_t same_at_end(const uint8_t *word, size_t n)
{
    const uint64_t eight = word[n - 1] * UINT64_C(0x0101010101010101);
    size_t at = n;

    while (at >= 8 && heft_le64(word + at - 8) == eight)
        at -= 8;
    while (at > 0 && word[at - 1] == word[n - 1])
        at--;
    return n - at;
}

/* Number of bytes at the end that are all equal and never merge with each other, without the first
 * of them: each is a token. */
static size_t single_tail(const struct heft_words *w, const uint8_t *word, size_t n)
{
    const uint8_t byte = word[n - 1];

    if (heft_bytes_adjoin(w->v->adjacency, byte, byte) || w->has_wholes)
        return 0;
    return same_at_end(word, n) - 1;
}

/* Encodes the part before such bytes, which is mostly short and cached, as the newline before an
 * indentation is. */
static uint8_t *encode_long(struct heft_words *w, const uint8_t *word, size_t n, uint8_t *out,
                            struct heft_error *err)
{
    const size_t tail = single_tail(w, word, n), head = n - tail;
    const struct key key = key_of(word, head);
    const struct entry *known = head <= HEFT_WORD_KEY ? find_entry(line_of(w, key), key) : NULL;

    if (known)
        out = put_known(w, w->width, known, out);
    else
        out = head <= HEFT_WORD_KEY ? encode_new(w, word, head, key, out)
                                    : heft_words_one(w, word, head, out, err);
    return out ? put_same(w, w->v->byte_ids[word[n - 1]], out, out + (tail << w->width)) : NULL;
}

static uint8_t *encode_other(struct heft_words *w, const uint8_t *word, size_t n, struct key key,
                             uint8_t *out, struct heft_error *err)
{
    return n > HEFT_WORD_KEY ? encode_long(w, word, n, out, err) : encode_new(w, word, n, key, out);
}

struct asked {
    struct key key;
    struct heft_word_line *line;
};

static void ask_word(const struct heft_words *w, const uint8_t *text, const uint32_t *starts,
                     size_t n, struct asked *asked)
{
    for (size_t i = 0; i < n; i++) {
        asked[i].key = key_of(text + starts[i], starts[i + 1] - starts[i]);
        asked[i].line = line_of(w, asked[i].key);
        HEFT_PREFETCH(asked[i].line);
    }
}

uint8_t *heft_words_encode(struct heft_words *w, const uint8_t *text, const uint32_t *starts,
                           size_t n, uint8_t *out, struct heft_error *err)
{
    struct asked asked[BATCH];
    const unsigned width = w->width;

    for (size_t from = 0; from < n; from += BATCH) {
        const size_t batch = heft_min_size(n - from, BATCH);
        const uint32_t *s = starts + from;

        if (HEFT_UNLIKELY(w->n_new >> w->line_bits) && w->line_bits < w->most_line_bits)
            grow_lines(w);
        ask_word(w, text, s, batch, asked);
        for (size_t i = 0; i < batch; i++) {
            const struct entry *known = find_entry(asked[i].line, asked[i].key);

            if (HEFT_LIKELY(known))
                out = put_known(w, width, known, out);
            else
                out = encode_other(w, text + s[i], s[i + 1] - s[i], asked[i].key, out, err);
            if (HEFT_UNLIKELY(!out))
                return NULL;
        }
    }
    return out;
}

/* ---- setup and release ------------------------------------------------------------------- */

/* A token to be entered into its line. */
struct seedling {
    struct key key;
    uint32_t id;
};

static void plant_token(struct heft_words *w, const struct seedling *seedlings, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct entry *e = open_entry(w, seedlings[i].key);

        heft_put_le32(e->value, seedlings[i].id); /* the low half is the id of two bytes */
        heft_put_le16(e->value + VALUE_BYTES - 2, 1);
    }
}

/* Enters the self-encoding tokens, as many as there is room for. Lower ids are more frequent: they
 * are entered last, and so come first. */
static void plant_tokens(struct heft_words *w)
{
    const uint64_t room = HEFT_COUNT(w->lines->entries) << w->line_bits;
    uint8_t word[2 * HEFT_WORD_ROOM] = {0};
    struct seedling batch[BATCH];
    size_t n = 0;

    for (uint32_t left = (uint32_t)heft_min_u64(w->v->n_ids, room); left > 0; left--) {
        const uint32_t id = left - 1;
        struct heft_str token;

        if (!heft_vocab_is_self_encoding(w->v, id) || w->v->tokens[id].n > HEFT_WORD_KEY)
            continue;
        token = w->v->tokens[id];
        memcpy(word, token.p, token.n);
        batch[n] = (struct seedling){key_of(word, token.n), id};
        HEFT_PREFETCH(line_of(w, batch[n].key));
        if (++n == BATCH) {
            plant_token(w, batch, n);
            n = 0;
        }
    }
    plant_token(w, batch, n);
}

static unsigned bits_below(size_t bytes, size_t each)
{
    unsigned bits = 4;

    while (each << (bits + 1) <= bytes)
        bits++;
    return bits;
}

static unsigned first_line_bits(const struct heft_vocab *v, unsigned most)
{
    unsigned bits = FIRST_LINES;

    while (v->n_ids >> bits && bits < most)
        bits++;
    return bits < most ? bits : most;
}

bool heft_words_init(struct heft_words *w, const struct heft_vocab *v, size_t cache, unsigned width,
                     struct heft_error *err)
{
    const size_t bytes = cache > LEAST ? cache : LEAST;

    *w = (struct heft_words){.v = v, .has_wholes = heft_vocab_has_wholes(v), .width = width};
    w->most_line_bits = bits_below(bytes / 3 * 2, sizeof *w->lines);
    w->line_bits = first_line_bits(v, w->most_line_bits);
    w->most_long_bits = bits_below(bytes / 8, LONG_PLACES * sizeof *w->longs);
    w->long_bits = (unsigned)heft_min_u64(FIRST_LONGS, w->most_long_bits);
    w->store_cap = bytes / 4;
    heft_long_init_of(&w->longer, v, &w->merger);
    w->store = heft_alloc(w->store_cap + HEFT_WORD_ROOM, err);
    w->ids = heft_alloc(HEFT_LONG_WHOLE * sizeof *w->ids, err);
    w->lines = heft_pages_zero(sizeof *w->lines << w->line_bits, &w->lines_block, err);
    w->longs =
        heft_pages_zero(LONG_PLACES * sizeof *w->longs << w->long_bits, &w->longs_block, err);
    if (!w->ids || !w->store || !w->lines || !w->longs)
        return false;
    plant_tokens(w);
    return true;
}

void heft_words_release(struct heft_words *w)
{
    heft_merger_release(&w->merger);
    heft_free(w->lines_block);
    heft_free(w->longs_block);
    heft_free(w->ids);
    heft_free(w->store);
    heft_long_release(&w->longer);
    *w = (struct heft_words){0};
}
