/* added_search.c: the longest added token at a place of a text, by binary search in the sorted
 * tokens. Places are found by the first two bytes of tokens, and by a hash of the first four (a Bloom
 * filter with one function), which one place in 16 passes by chance if there are many tokens.
 *
 * The longest token T that the text begins with is the last token E that is not after the text in
 * the order of bytes, or a prefix of it: whatever lies between T and the text begins with T. So each
 * token refers to its longest proper prefix among the tokens, and to one some steps further (the
 * jump pointers of a skew-binary list): the ancestor that is no longer than what E and the text have
 * in common is found in O(log n) steps.
 *
 * Time: no more than 4096 · log2(n) bytes are compared at a place, 8 at a time, whatever text and
 * tokens are. Memory: 32 bytes a token besides its text. */
#include "tokens/prepare/added_search.h"
#include "base/sort.h"
#include "base/text.h"
#include "tokens/prepare/word_chars.h"
#include "tokens/unicode/utf8.h"

#define NONE   UINT32_MAX
#define MOST   (1 << 20) /* tokens: as many as ids */
#define BLOCK  64        /* bytes that are tested together for the begin of a token */
#define BEGINS 4         /* most begins that are compared with each place */

struct entry {
    const uint8_t *text;
    uint32_t parent, jump; /* shorter tokens that this one begins with; NONE: there is none */
    uint32_t id;
    uint16_t n, depth; /* bytes; number of parents */
    bool strips_left, strips_right, is_single_word;
};

/* Begin of a token: its first byte, and if `mask` is 0xFF its second. */
struct begin {
    uint8_t first, second, mask;
};

struct heft_added_search {
    struct entry *entries; /* sorted by bytes; a prefix comes first */
    uint32_t n;
    uint32_t from[257];    /* first entry of each first byte */
    uint64_t pairs[1024];  /* bitmap of the first two bytes */
    uint64_t shorts[1024]; /* the same of tokens of less than 4 bytes */
    uint64_t *quads;       /* bitmap of hashes of the first 4 bytes */
    unsigned quad_bits;
    struct begin begins[BEGINS];
    bool has_begins; /* they cover all tokens; else the bitmap is used alone */
    size_t longest;
    bool strips_left, strips_right, is_single_word; /* a token does */
};

static unsigned pair_at(const uint8_t *p)
{
    return (unsigned)p[0] << 8 | p[1];
}

static bool has_bit(const uint64_t *bitmap, size_t i)
{
    return bitmap[i / 64] >> i % 64 & 1;
}

HEFT_WRAPS static size_t quad_at(const struct heft_added_search *s, const uint8_t *p)
{
    uint32_t word;

    memcpy(&word, p, sizeof word);
    return word * UINT32_C(0x9E3779B1) >> (32 - s->quad_bits);
}

/* ---- building ---------------------------------------------------------------------------------- */

static bool comes_after(const void *ctx, uint32_t a, uint32_t b)
{
    const struct heft_added_token *tokens = ctx;

    return heft_str_cmp(tokens[a].text, tokens[b].text) > 0;
}

static bool check_token(const struct heft_added_token *token, size_t i, struct heft_error *err)
{
    const struct heft_bytes text = {(const uint8_t *)token->text.p, token->text.n};

    if (text.n > HEFT_ADDED_LONGEST)
        return heft_fail(err, HEFT_LIMIT, HEFT_NO_OFFSET,
                         "added token %zu has %zu bytes; at most %d are supported", i, text.n,
                         HEFT_ADDED_LONGEST);
    if (heft_utf8_check(text) < text.n)
        return heft_fail(err, HEFT_MALFORMED, HEFT_NO_OFFSET, "added token %zu is not valid UTF-8",
                         i);
    return true;
}

/* Finds the longest token that entry i begins with, on the way from the entry before it. */
static void link_entry(struct heft_added_search *s, uint32_t i)
{
    struct entry *entry = &s->entries[i];
    uint32_t parent = i > 0 ? i - 1 : NONE;

    while (parent != NONE && (s->entries[parent].n > entry->n ||
                              memcmp(s->entries[parent].text, entry->text, s->entries[parent].n)))
        parent = s->entries[parent].parent;
    entry->parent = entry->jump = parent;
    if (parent == NONE)
        return;
    entry->depth = (uint16_t)(s->entries[parent].depth + 1);
    if (s->entries[parent].jump != NONE) {
        const struct entry *jump = &s->entries[s->entries[parent].jump];

        if (jump->jump != NONE &&
            s->entries[parent].depth - jump->depth == jump->depth - s->entries[jump->jump].depth)
            entry->jump = jump->jump;
    }
}

static void set_bit(uint64_t *bitmap, size_t i)
{
    bitmap[i / 64] |= UINT64_C(1) << i % 64;
}

/* A token of one byte begins with 256 pairs. */
static void add_pair(uint64_t *pairs, const struct entry *entry)
{
    if (entry->n > 1)
        set_bit(pairs, pair_at(entry->text));
    else
        memset(pairs + entry->text[0] * 4, 0xFF, 256 / 8);
}

static void add_begin(struct heft_added_search *s, const struct entry *entry)
{
    add_pair(s->pairs, entry);
    if (entry->n < 4)
        add_pair(s->shorts, entry);
    else
        set_bit(s->quads, quad_at(s, entry->text));
}

static void add_entry(struct heft_added_search *s, const struct heft_added_token *token)
{
    struct entry *entry = &s->entries[s->n];

    *entry = (struct entry){
        .text = (const uint8_t *)token->text.p,
        .n = (uint16_t)token->text.n,
        .id = token->id,
        .strips_left = token->strips_left,
        .strips_right = token->strips_right,
        .is_single_word = token->is_single_word,
    };
    s->strips_left |= token->strips_left;
    s->strips_right |= token->strips_right;
    s->is_single_word |= token->is_single_word;
    if (entry->n > s->longest)
        s->longest = entry->n;
    link_entry(s, s->n++);
    add_begin(s, entry);
}

/* Counts the begins in `unit` bits of the bitmap: 1, pairs of bytes, or 256, first bytes. Stores
 * the first of them. */
static unsigned gather_begins(struct heft_added_search *s, unsigned unit)
{
    unsigned count = 0;

    for (unsigned pair = 0; pair < 65536; pair++) {
        if (s->pairs[pair / 64] == 0)
            pair |= 63;
        if (!has_bit(s->pairs, pair))
            continue;
        if (count < BEGINS)
            s->begins[count] =
                (struct begin){(uint8_t)(pair >> 8), (uint8_t)pair, unit == 1 ? 0xFF : 0};
        count++;
        if (unit > 1)
            pair |= unit - 1;
    }
    for (unsigned i = count; count > 0 && i < BEGINS; i++)
        s->begins[i] = s->begins[0];
    return count;
}

static void index_entries(struct heft_added_search *s)
{
    uint32_t i = 0;

    for (unsigned byte = 0; byte < 256; byte++) {
        s->from[byte] = i;
        while (i < s->n && s->entries[i].text[0] == byte)
            i++;
    }
    s->from[256] = i;
    s->has_begins = gather_begins(s, 1) <= BEGINS || gather_begins(s, 256) <= BEGINS;
}

static bool check_tokens(const struct heft_added_token *tokens, size_t n, struct heft_error *err)
{
    if (n > MOST)
        return heft_fail(err, HEFT_LIMIT, HEFT_NO_OFFSET,
                         "%zu added tokens; at most %d are supported", n, MOST);
    for (size_t i = 0; i < n; i++)
        if (!check_token(&tokens[i], i, err))
            return false;
    return true;
}

static bool add_entries(struct heft_added_search *s, const struct heft_added_token *tokens,
                        size_t n, struct heft_error *err)
{
    struct heft_arena mem = {0};
    uint32_t *order;

    s->quad_bits = 5 + heft_highest_bit(n | 256); /* 16 bits or more for each token */
    s->entries = heft_calloc(n, sizeof *s->entries, err);
    s->quads =
        s->entries ? heft_calloc(((size_t)1 << s->quad_bits) / 64, sizeof *s->quads, err) : NULL;
    order = s->quads ? heft_sort_indices(n, comes_after, tokens, &mem, err) : NULL;
    for (size_t i = 0; order && i < n; i++) {
        const struct heft_str text = tokens[order[i]].text;

        if (text.n > 0 && (i == 0 || !heft_str_eq(tokens[order[i - 1]].text, text)))
            add_entry(s, &tokens[order[i]]);
    }
    heft_arena_release(&mem);
    return order != NULL;
}

struct heft_added_search *heft_added_search_new(const struct heft_added_token *tokens, size_t n,
                                                struct heft_error *err)
{
    struct heft_added_search *s = heft_calloc(1, sizeof *s, err);

    if (!s)
        return NULL;
    if (n > 0 && !(check_tokens(tokens, n, err) && add_entries(s, tokens, n, err))) {
        heft_added_search_free(s);
        return NULL;
    }
    index_entries(s);
    return s;
}

void heft_added_search_free(struct heft_added_search *s)
{
    if (!s)
        return;
    heft_free(s->entries);
    heft_free(s->quads);
    heft_free(s);
}

/* ---- searching --------------------------------------------------------------------------------- */

size_t heft_added_search_longest(const struct heft_added_search *s)
{
    return s->longest;
}

bool heft_added_search_has_left(const struct heft_added_search *s)
{
    return s->strips_left;
}

bool heft_added_search_has_word(const struct heft_added_search *s)
{
    return s->is_single_word;
}

/* True if a token may begin at the first of n bytes, at least 2. */
static bool may_begin(const struct heft_added_search *s, const uint8_t *p, size_t n)
{
    return has_bit(s->pairs, pair_at(p)) &&
           (n < 4 || has_bit(s->quads, quad_at(s, p)) || has_bit(s->shorts, pair_at(p)));
}

/* True if a token may begin at one of the first BLOCK bytes of BLOCK + 1. Compilers make SIMD
 * instructions of it. */
static bool may_begin_within(const struct begin begins[BEGINS], const uint8_t *p)
{
    const struct begin a = begins[0], b = begins[1], c = begins[2], d = begins[3];
    uint8_t found = 0;

    for (unsigned i = 0; i < BLOCK; i++) {
        const uint8_t x = p[i], y = p[i + 1];

        found |= (uint8_t)((x == a.first) & (((y ^ a.second) & a.mask) == 0));
        found |= (uint8_t)((x == b.first) & (((y ^ b.second) & b.mask) == 0));
        found |= (uint8_t)((x == c.first) & (((y ^ c.second) & c.mask) == 0));
        found |= (uint8_t)((x == d.first) & (((y ^ d.second) & d.mask) == 0));
    }
    return found != 0;
}

/* Place by place, up to `end`, which is below n. */
static size_t step_next(const struct heft_added_search *s, const uint8_t *text, size_t n, size_t at,
                        size_t end)
{
    while (at < end && !may_begin(s, text + at, n - at))
        at++;
    return at;
}

size_t heft_added_search_next(const struct heft_added_search *s, const uint8_t *text, size_t n,
                              size_t at)
{
    if (s->n == 0 || at >= n)
        return n;
    while (s->has_begins && n - at > BLOCK) {
        size_t found;

        if (!may_begin_within(s->begins, text + at)) {
            at += BLOCK;
            continue;
        }
        found = step_next(s, text, n, at, at + BLOCK);
        if (found < at + BLOCK)
            return found;
        at += BLOCK;
    }
    at = step_next(s, text, n, at, n - 1);
    if (at == n - 1 && s->from[text[at]] == s->from[text[at] + 1])
        return n;
    return at;
}

/* Length of what two texts of n bytes have in common; the first `at` bytes are known to be. */
static size_t common_length(const uint8_t *a, const uint8_t *b, size_t n, size_t at)
{
    while (n - at >= 8 && memcmp(a + at, b + at, 8) == 0)
        at += 8;
    while (at < n && a[at] == b[at])
        at++;
    return at;
}

/* Place among the sorted tokens. */
struct place {
    uint32_t after;                     /* first entry after the text */
    size_t common_before, common_after; /* what its neighbours and the text have in common */
};

/* Binary search. What the text has in common with both ends, it has in common with all between. */
static struct place find_place(const struct heft_added_search *s, const uint8_t *text, size_t n)
{
    uint32_t low = s->from[text[0]], high = s->from[text[0] + 1];
    struct place place = {high, 0, 0};

    while (low < high) {
        const uint32_t mid = low + (high - low) / 2;
        const struct entry *entry = &s->entries[mid];
        const size_t known =
            place.common_before < place.common_after ? place.common_before : place.common_after;
        const size_t common = common_length(entry->text, text, heft_min_size(entry->n, n), known);

        if (common == entry->n || (common < n && entry->text[common] < text[common])) {
            low = mid + 1;
            place.common_before = common;
        } else {
            high = mid;
            place.common_after = common;
        }
    }
    place.after = high;
    return place;
}

/* Returns the longest of an entry and its prefixes that has at most n bytes. */
static uint32_t prefix_within(const struct heft_added_search *s, uint32_t i, size_t n)
{
    while (i != NONE && s->entries[i].n > n) {
        const uint32_t jump = s->entries[i].jump;

        i = jump != NONE && s->entries[jump].n > n ? jump : s->entries[i].parent;
    }
    return i;
}

struct heft_added_match heft_added_search_at(const struct heft_added_search *s, const uint8_t *text,
                                             size_t n)
{
    const struct place place = find_place(s, text, n);
    const uint32_t i =
        place.common_before > 0 ? prefix_within(s, place.after - 1, place.common_before) : NONE;
    struct heft_added_match match = {0};

    if (i != NONE) {
        const struct entry *entry = &s->entries[i];

        match = (struct heft_added_match){
            entry->id, entry->n, entry->strips_left, entry->strips_right, entry->is_single_word,
            false};
    }
    match.is_open = place.common_after == n;
    return match;
}

/* ---- cuts -------------------------------------------------------------------------------------- */

static bool is_space_at(const uint8_t *text, size_t at)
{
    unsigned width;

    return heft_is_white_space(heft_utf8_at(text + at, &width));
}

/* True if a token at `from` does not go across `at`, and does not depend on what follows it. */
static bool ends_before(const struct heft_added_search *s, const uint8_t *text, size_t n,
                        size_t from, size_t at)
{
    const struct place place = find_place(s, text + from, n - from);
    uint32_t i;

    if (place.common_after == n - from)
        return false;
    if (place.common_before == 0)
        return true;
    i = prefix_within(s, place.after - 1, place.common_before);
    if (i != NONE && s->entries[i].n > at - from)
        return false;
    return i == NONE || s->entries[i].n < at - from ||
           !(s->entries[i].strips_right || s->entries[i].is_single_word);
}

/* Tokens that begin before `at` or, as their neighbour counts, there. */
static bool tokens_allow(const struct heft_added_search *s, const uint8_t *text, size_t n,
                         size_t at)
{
    for (size_t from = at - s->longest; from < at; from++)
        if (may_begin(s, text + from, n - from) && !ends_before(s, text, n, from, at))
            return false;
    return !s->is_single_word || heft_added_search_next(s, text, n, at) != at;
}

bool heft_added_search_is_cut(const struct heft_added_search *s, const uint8_t *text, size_t n,
                              size_t at)
{
    bool is_after_space;

    if (s->n == 0)
        return true;
    if (at < s->longest || at >= n)
        return false;
    is_after_space = is_space_at(text, heft_utf8_before(text, at));
    if (is_after_space && (s->strips_left || (s->strips_right && is_space_at(text, at))))
        return false;
    return tokens_allow(s, text, n, at);
}
