/* long_word.c: the last token at each place, and what of the way back is final. */
#include "tokens/long_word.h"

#include "base/endian.h"

#define NONE       (UINT32_MAX >> 1)   /* above all codes */
#define MARK       (UINT32_C(1) << 31) /* in last[]: a way back passes here */
#define BYTES      256                 /* codes that are single bytes */
#define MOST_TRIE  ((size_t)4 << 20)   /* bytes of all tokens together */
#define KEPT_BITS  15
#define GUESS_BITS 12 /* rows of 32 */
#define CODE_BITS  25 /* of a code: there are at most HEFT_MOST_IDS merges and 256 more */
#define CODE       ((UINT64_C(1) << CODE_BITS) - 1)
#define WINDOW     (HEFT_LONG_WHOLE + 1) /* bytes before it is looked what is final */
#define MOST       ((size_t)4 << 20)     /* bytes of which nothing is final */
#define MOST_HEAP  ((size_t)1 << 20)     /* the same, where merging is by the heap */

struct heft_long_parts {
    uint32_t left, right; /* codes */
    uint32_t id, length;  /* the token's, in bytes */
    uint64_t tail;        /* its last 8 bytes, zeros before them */
};
struct heft_long_slot {
    uint32_t key;        /* parent << 8 | byte, plus 1; 0: free */
    uint32_t node, code; /* the child, and the token that it is */
};

/* ---- which tokens may be neighbours ------------------------------------------------------ */

/* The code of what two merge into; NONE: they do not. */
static uint32_t merged(const struct heft_long *l, uint32_t left, uint32_t right)
{
    const struct heft_pair_slot *slot =
        heft_pairs_find(l->pairs, l->parts[left].id, l->parts[right].id);

    return slot ? slot->rank + BYTES : NONE;
}

/* Takes the two tokens apart, the younger merge first, and asks each time whether the parts at the
 * border would have merged before that (below `limit`). Of two equal merges the left one is older. */
static bool is_kept(const struct heft_long *l, uint32_t left, uint32_t right, uint32_t limit)
{
    for (;;) {
        if (merged(l, left, right) < limit)
            return false;
        if (left >= BYTES && left > right) {
            limit = left;
            left = l->parts[left].right;
        } else if (right >= BYTES) {
            limit = right + 1;
            right = l->parts[right].left;
        } else {
            return true;
        }
    }
}

static bool is_compatible(const struct heft_long *l, uint32_t left, uint32_t right)
{
    const uint64_t key = ((uint64_t)left << 32 | right) << 1; /* codes have 25 bits */
    uint64_t *kept = &l->kept[key * UINT64_C(0x9E3779B97F4A7C15) >> (64 - KEPT_BITS)];

    if ((*kept & ~UINT64_C(1)) != key)
        *kept = key | is_kept(l, left, right, NONE);
    return *kept & 1;
}

/* ---- the trie ---------------------------------------------------------------------------- */

static struct heft_long_slot *slot_of(const struct heft_long *l, uint32_t parent, uint8_t byte)
{
    const uint32_t key = (parent << 8 | byte) + 1, mask = (UINT32_C(1) << l->slot_bits) - 1;
    uint32_t i = key * UINT32_C(0x9E3779B1) >> (32 - l->slot_bits);

    while (l->slots[i].key != key && l->slots[i].key != 0)
        i = (i + 1) & mask;
    return &l->slots[i];
}

/* From its last byte to its first. False: there is one of the same bytes. */
static bool insert(struct heft_long *l, uint32_t code, struct heft_str token, uint32_t *n_nodes)
{
    uint32_t node = (uint8_t)token.p[token.n - 1];
    struct heft_long_slot *slot = NULL;

    for (size_t i = token.n - 1; i-- > 0; node = slot->node) {
        const uint8_t byte = (uint8_t)token.p[i];

        slot = slot_of(l, node, byte);
        if (slot->key == 0)
            *slot = (struct heft_long_slot){(node << 8 | byte) + 1, (*n_nodes)++, NONE};
    }
    if (!slot || slot->code != NONE)
        return false;
    slot->code = code;
    l->longest = token.n > l->longest ? (uint32_t)token.n : l->longest;
    return true;
}

static bool reserve_tables(struct heft_long *l, struct heft_error *err)
{
    size_t bytes = BYTES;

    for (uint32_t rank = 0; rank < l->v->n_merges && bytes <= MOST_TRIE; rank++)
        bytes += l->v->tokens[l->v->merges[rank].id].n;
    l->is_linear = bytes <= MOST_TRIE;
    if (!l->is_linear)
        return true;
    for (l->slot_bits = 8; (size_t)1 << l->slot_bits < bytes / 2 + bytes / 8; l->slot_bits++)
        ;
    l->n_codes = BYTES + l->v->n_merges;
    l->parts = heft_alloc(l->n_codes * sizeof *l->parts, err);
    l->slots = heft_calloc((size_t)1 << l->slot_bits, sizeof *l->slots, err);
    l->kept = heft_alloc(sizeof *l->kept << KEPT_BITS, err);
    l->guesses = heft_alloc(32 * sizeof *l->guesses << GUESS_BITS, err);
    return l->parts && l->slots && l->kept && l->guesses;
}

static uint64_t tail_of(struct heft_str token)
{
    uint8_t tail[8] = {0};
    const size_t n = heft_min_u64(token.n, sizeof tail);

    memcpy(tail + sizeof tail - n, token.p + token.n - n, n);
    return heft_le64(tail);
}

/* ---- which tokens are live --------------------------------------------------------------- */

#define WANTED (NONE - 1) /* in codes[]: a merge had it as a part before it was made */

/* A merge whose parts do not come together, as others are before it, never happens. False: what is
 * known does not settle it. */
static bool add_merge(struct heft_long *l, uint32_t rank, uint32_t *codes, uint32_t *n_nodes)
{
    const struct heft_merge *merge = &l->v->merges[rank];
    const struct heft_str token = l->v->tokens[merge->id];
    const uint32_t left = codes[merge->left], right = codes[merge->right], code = BYTES + rank;

    if (left >= WANTED)
        codes[merge->left] = WANTED;
    if (right >= WANTED)
        codes[merge->right] = WANTED;
    if (left >= WANTED || right >= WANTED || !is_kept(l, left, right, code))
        return true;
    if (codes[merge->id] != NONE)
        return false;
    codes[merge->id] = code;
    l->parts[code] =
        (struct heft_long_parts){left, right, merge->id, (uint32_t)token.n, tail_of(token)};
    return insert(l, code, token, n_nodes);
}

static void fill_tables(struct heft_long *l, uint32_t *codes)
{
    uint32_t n_nodes = BYTES;

    l->longest = 1;
    for (uint32_t id = 0; id < l->v->n_ids; id++)
        codes[id] = NONE;
    memset(l->kept, 0xFF, sizeof *l->kept << KEPT_BITS); /* a key that no pair has */
    memset(l->guesses, 0xFF, 32 * sizeof *l->guesses << GUESS_BITS);
    for (uint32_t byte = 0; byte < BYTES; byte++) {
        l->is_linear = l->is_linear && codes[l->v->byte_ids[byte]] == NONE;
        codes[l->v->byte_ids[byte]] = byte;
        l->parts[byte] =
            (struct heft_long_parts){byte, byte, l->v->byte_ids[byte], 1, (uint64_t)byte << 56};
    }
    for (uint32_t rank = 0; rank < l->v->n_merges && l->is_linear; rank++)
        l->is_linear = add_merge(l, rank, codes, &n_nodes);
}

static void release_tables(struct heft_long *l)
{
    heft_free(l->parts);
    heft_free(l->slots);
    heft_free(l->kept);
    heft_free(l->guesses);
    l->parts = NULL;
    l->slots = NULL;
    l->kept = NULL;
    l->guesses = NULL;
}

static bool prepare(struct heft_long *l, struct heft_error *err)
{
    uint32_t *const codes = heft_alloc(l->v->n_ids * sizeof *codes, err);

    l->is_ready = codes && reserve_tables(l, err);
    if (l->is_ready && l->is_linear)
        fill_tables(l, codes);
    heft_free(codes);
    if (!l->is_ready || !l->is_linear)
        release_tables(l);
    return l->is_ready;
}

/* ---- the word ---------------------------------------------------------------------------- */

static bool fits(const struct heft_long *l, size_t at, uint32_t code)
{
    return l->last[at] == NONE || is_compatible(l, l->last[at], code);
}

/* The token that ends at text[end]. The shortest first: most places have one of one byte. */
static uint32_t last_token(const struct heft_long *l, size_t end)
{
    size_t from = end - 1;
    uint32_t node = l->text[from], code = node;

    while (code == NONE || !fits(l, from, code)) {
        const struct heft_long_slot *slot = from ? slot_of(l, node, l->text[--from]) : NULL;

        if (!slot || slot->key == 0)
            return NONE;
        node = slot->node;
        code = slot->code;
    }
    return code;
}

/* Whether text[0, end) ends in that token. */
static bool ends_in(const struct heft_long *l, size_t end, uint32_t code)
{
    const struct heft_long_parts *token = &l->parts[code];
    const size_t n = token->length;

    if (n > end)
        return false;
    if (n <= 8 && end >= 8)
        return (heft_le64(l->text + end - 8) ^ token->tail) >> (64 - 8 * n) == 0;
    return memcmp(l->text + end - n, l->v->tokens[token->id].p, n) == 0;
}

/* The token that came the last time when this byte followed the same last token. One that is the
 * byte itself comes each time: that it fits depends on nothing else. Others have to be tried. */
static uint32_t guess(const struct heft_long *l, size_t end, uint64_t entry, uint64_t key)
{
    const uint32_t code = (uint32_t)(entry & CODE);

    if (entry >> CODE_BITS != key)
        return NONE;
    if (code < BYTES)
        return code;
    return ends_in(l, end, code) && fits(l, end - l->parts[code].length, code) ? code : NONE;
}

static uint32_t next_token(const struct heft_long *l, size_t end)
{
    const uint32_t before = l->last[end - 1], byte = l->text[end - 1];
    const uint32_t row = before * UINT32_C(0x9E3779B1) >> (32 - GUESS_BITS);
    const uint64_t key = (uint64_t)before << 8 | byte;
    uint64_t *const entry = &l->guesses[row * 32 + (byte & 31)];
    uint32_t code = before == NONE ? NONE : guess(l, end, *entry, key);

    if (code != NONE)
        return code;
    code = last_token(l, end);
    if (before != NONE && code != NONE)
        *entry = key << CODE_BITS | code;
    return code;
}

/* Where the ways back from the last `longest` places meet. */
static size_t final_place(const struct heft_long *l)
{
    size_t at = l->n, ways = l->longest;

    for (size_t i = 0; i < ways; i++)
        l->last[at - i] |= MARK;
    for (; ways > 1; at--) {
        const uint32_t code = l->last[at] & ~MARK;

        if (l->last[at] == code)
            continue;
        l->last[at] = code;
        if (l->last[at - l->parts[code].length] & MARK)
            ways--;
        l->last[at - l->parts[code].length] |= MARK;
    }
    while (!(l->last[at] & MARK))
        at--;
    l->last[at] &= ~MARK;
    return at;
}

/* The tokens before `end` are final. */
static bool hand_over(struct heft_long *l, size_t end, struct heft_error *err)
{
    size_t first = end;

    if (!heft_grow(&l->room, &l->cap_room, 0, end, sizeof *l->room, err))
        return false;
    for (size_t at = end; at > 0;) {
        const struct heft_long_parts *token = &l->parts[l->last[at]];

        l->room[--first] = token->id;
        at -= token->length;
    }
    l->ids = l->room + first;
    l->n_ids = end - first;
    l->n -= end;
    memmove(l->text, l->text + end, l->n);
    memmove(l->last, l->last + end, (l->n + 1) * sizeof *l->last);
    return true;
}

static bool extend(struct heft_long *l, size_t from, struct heft_error *err)
{
    for (size_t at = from + 1; at <= l->n; at++) {
        l->last[at] = next_token(l, at);
        if (l->last[at] == NONE)
            return heft_fail(err, HEFT_MALFORMED, HEFT_NO_OFFSET,
                             "no token of the vocabulary can end here: its merges contradict "
                             "each other");
    }
    return true;
}

static bool feed_linear(struct heft_long *l, size_t from, struct heft_error *err)
{
    if (!extend(l, from, err))
        return false;
    if (l->n < WINDOW)
        return true;
    return hand_over(l, final_place(l), err) &&
           (l->n < MOST || heft_fail(err, HEFT_LIMIT, HEFT_NO_OFFSET,
                                     "%zu bytes of a word of which no token is final", l->n));
}

/* ---- by the heap ------------------------------------------------------------------------- */

static bool hand_over_heap(struct heft_long *l, size_t end, struct heft_error *err)
{
    if (!heft_grow(&l->room, &l->cap_room, 0, end, sizeof *l->room, err) ||
        !heft_merge_word(l->merger, l->pairs, l->text, end, l->room, &l->n_ids, err))
        return false;
    l->ids = l->room;
    l->n -= end;
    memmove(l->text, l->text + end, l->n);
    return true;
}

static bool feed_heap(struct heft_long *l, size_t from, struct heft_error *err)
{
    const size_t known = from < WINDOW ? 1 : from; /* before it there was no cut */
    size_t end = l->n;

    if (l->n < WINDOW)
        return true;
    while (end > known && heft_can_join(l->joints, l->text[end - 2], l->text[end - 1]))
        end--;
    if (end > known)
        return hand_over_heap(l, end - 1, err);
    return l->n < MOST_HEAP ||
           heft_fail(err, HEFT_LIMIT, HEFT_NO_OFFSET,
                     "a word of %zu bytes that cannot be cut: the merges of this vocabulary are "
                     "not in the order in which tokens are made",
                     l->n);
}

/* ---- the door ---------------------------------------------------------------------------- */

void heft_long_init(struct heft_long *l, const struct heft_pairs *pairs,
                    const struct heft_joints *joints, struct heft_merger *merger)
{
    *l = (struct heft_long){.v = pairs->v, .pairs = pairs, .joints = joints, .merger = merger};
}

void heft_long_release(struct heft_long *l)
{
    release_tables(l);
    heft_free(l->text);
    heft_free(l->last);
    heft_free(l->room);
    *l = (struct heft_long){0};
}

void heft_long_begin(struct heft_long *l)
{
    l->n = 0;
    l->is_begun = false;
}

bool heft_long_feed(struct heft_long *l, const uint8_t *bytes, size_t n, struct heft_error *err)
{
    const size_t from = l->n;

    l->n_ids = 0;
    if ((!l->is_ready && !prepare(l, err)) || !heft_grow(&l->text, &l->cap_text, l->n, n, 1, err) ||
        !heft_grow(&l->last, &l->cap_last, l->n + 1, n, sizeof *l->last, err))
        return false;
    if (!l->is_begun)
        l->last[0] = NONE;
    l->is_begun = true;
    memcpy(l->text + l->n, bytes, n);
    l->n += n;
    return l->is_linear ? feed_linear(l, from, err) : feed_heap(l, from, err);
}

bool heft_long_whole(struct heft_long *l, const uint8_t *word, size_t n, struct heft_error *err)
{
    heft_long_begin(l);
    return heft_long_feed(l, word, n, err) && heft_long_end(l, err);
}

bool heft_long_end(struct heft_long *l, struct heft_error *err)
{
    const size_t n = l->n;

    l->n_ids = 0;
    l->is_begun = false;
    return n == 0 || (l->is_linear ? hand_over(l, n, err) : hand_over_heap(l, n, err));
}
