/* vocab.c: tables of a vocabulary, and its public functions. */
#include "tokens/bpe/vocab.h"

#include <stdlib.h>

#include "base/sized.h"
#include "base/text.h"
#include "io/pages.h"
#include "tokens/bpe/byte_adjacency.h"
#include "tokens/bpe/pairs.h"
#include "tokens/bpe/ranked_tokens.h"
#include "tokens/bpe/vocab_text.h"

#define AHEAD 16  /* merges whose slots are prefetched */
#define SPARE 256 /* bytes between tables, for alignment */

/* ---- the alphabet of byte-level BPE ------------------------------------------------------ */

/* Printable characters of Latin-1: these bytes stand for themselves in GPT-2's alphabet. */
static bool is_plain(unsigned byte)
{
    return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

void heft_alphabet_order(uint8_t order[256])
{
    size_t n = 0;

    for (int plain = 1; plain >= 0; plain--)
        for (unsigned byte = 0; byte < 256; byte++)
            if (is_plain(byte) == plain)
                order[n++] = (uint8_t)byte;
}

int heft_alphabet_byte(uint32_t c)
{
    uint32_t other = 0x100;

    if (c < 256)
        return is_plain(c) ? (int)c : -1;
    for (unsigned byte = 0; byte < 256; byte++)
        if (!is_plain(byte) && other++ == c)
            return (int)byte;
    return -1;
}

/* ---- tables of pairs --------------------------------------------------------------------- */

static bool add_pair(struct heft_vocab *v, uint32_t rank, struct heft_error *err)
{
    const uint64_t pair = heft_pair_of(v->merges[rank].left, v->merges[rank].right);
    uint64_t *const slot = heft_pair_slot(v, pair);

    if (*slot != HEFT_NO_SLOT)
        return heft_fail(err, HEFT_MALFORMED, HEFT_NO_OFFSET,
                         "merge %" PRIu32 " repeats merge %" PRIu64, rank + 1,
                         (*slot & (HEFT_MOST_IDS - 1)) + 1);
    *slot = pair << HEFT_ID_BITS | rank;
    return true;
}

static unsigned slot_bits(size_t merges)
{
    unsigned bits = 4;

    while (((uint64_t)1 << bits) < 2 * (uint64_t)merges)
        bits++;
    return bits;
}

bool heft_vocab_room(struct heft_vocab *v, size_t ids, size_t merges, size_t bytes,
                     struct heft_error *err)
{
    return heft_pages_reserve(&v->mem,
                              ids * sizeof *v->tokens + merges * sizeof *v->merges +
                                  (sizeof *v->slots << slot_bits(merges)) + sizeof *v->pairs +
                                  sizeof *v->adjacency + bytes + SPARE,
                              err);
}

/* Allocates empty slots, in the spare memory if they fit. */
static bool make_slots(struct heft_vocab *v, size_t merges, struct heft_vocab_spare spare,
                       struct heft_error *err)
{
    v->slot_bits = slot_bits(merges);
    v->slots = sizeof *v->slots << v->slot_bits <= spare.n
                   ? spare.p
                   : heft_arena_alloc(&v->mem, sizeof *v->slots << v->slot_bits, err);
    if (!v->slots)
        return false;
    memset(v->slots, 0xFF, sizeof *v->slots << v->slot_bits);
    return true;
}

static bool make_lookups(struct heft_vocab *v, struct heft_error *err)
{
    v->pairs = heft_arena_zero(&v->mem, 1, sizeof *v->pairs, err);
    v->adjacency = heft_arena_alloc(&v->mem, sizeof *v->adjacency, err);
    return v->adjacency && v->pairs;
}

bool heft_vocab_pairs(struct heft_vocab *v, struct heft_vocab_spare spare, struct heft_error *err)
{
    const uint32_t last = v->n_merges ? v->n_merges - 1 : 0;

    if (!make_slots(v, v->n_merges, spare, err))
        return false;
    for (uint32_t rank = 0; rank < v->n_merges; rank++) {
        const struct heft_merge *later = &v->merges[rank + heft_min_u64(AHEAD, last - rank)];

        HEFT_PREFETCH(&v->slots[heft_pair_home(v, heft_pair_of(later->left, later->right))]);
        if (!add_pair(v, rank, err)) {
            v->n_merges = rank; /* merges before the one in error */
            return false;
        }
    }
    if (!make_lookups(v, err) || !heft_pairs_init(v->pairs, v, err))
        return false;
    heft_byte_adjacency_init(v->adjacency, v);
    return true;
}

bool heft_vocab_pairs_begin(struct heft_vocab *v, size_t merges, struct heft_error *err)
{
    return make_slots(v, merges, (struct heft_vocab_spare){0}, err) && make_lookups(v, err) &&
           heft_pairs_begin(v->pairs, v, merges, err);
}

void heft_vocab_pairs_add(struct heft_vocab *v, struct heft_merge merge)
{
    const uint64_t pair = heft_pair_of(merge.left, merge.right);
    const uint32_t rank = v->n_merges++;

    v->merges[rank] = merge;
    *heft_pair_slot(v, pair) = pair << HEFT_ID_BITS | rank;
    heft_pairs_add(v->pairs, rank);
}

void heft_vocab_pairs_end(struct heft_vocab *v)
{
    heft_byte_adjacency_init(v->adjacency, v);
}

bool heft_vocab_add_whole(struct heft_vocab *v, uint32_t id, struct heft_error *err)
{
    uint32_t found;

    v->text_ids = (uint32_t)heft_max_u64(v->text_ids, id + 1);
    return heft_strmap_add(&v->wholes, v->tokens[id], id, &found, err);
}

/* ---- public API -------------------------------------------------------------------------- */

void heft_vocab_close(struct heft_vocab *v)
{
    if (!v)
        return;
    if (v->pairs)
        heft_pairs_release(v->pairs);
    heft_ranked_free(v->ranked);
    heft_strmap_release(&v->wholes);
    heft_vocab_release_text(v);
    heft_free(v->specials);
    heft_arena_release(&v->mem);
    heft_free(v);
}

uint32_t heft_vocab_size(const struct heft_vocab *v)
{
    if (!v)
        return 0;
    return v->end != HEFT_NO_TOKEN && v->end >= v->n_ids ? v->end + 1 : v->n_ids;
}

const uint8_t *heft_vocab_token(const struct heft_vocab *v, uint32_t id, size_t *n)
{
    struct heft_str token = {0};

    if (!v || !n)
        return NULL;
    if (id < v->n_ids)
        token = v->tokens[id];
    if (!token.p && id == v->end && id != HEFT_NO_TOKEN)
        token = HEFT_STR(HEFT_END_OF_TEXT);
    *n = token.n;
    return (const uint8_t *)token.p;
}

uint32_t heft_vocab_end(const struct heft_vocab *v)
{
    return v ? v->end : HEFT_NO_TOKEN;
}

/* ---- special tokens ---------------------------------------------------------------------- */

bool heft_vocab_add_special(struct heft_vocab *v, struct heft_str text, uint32_t id,
                            struct heft_error *err)
{
    if (!heft_grow(&v->specials, &v->cap_specials, v->n_specials, 1, sizeof *v->specials, err))
        return false;
    v->specials[v->n_specials++] = (struct heft_special){text, id};
    return true;
}

bool heft_vocab_add_token(struct heft_vocab *v, const struct heft_added_token *token,
                          struct heft_error *err)
{
    if (!heft_grow(&v->added, &v->cap_added, v->n_added, 1, sizeof *v->added, err))
        return false;
    v->added[v->n_added++] = *token;
    return true;
}

static int by_id(const void *a, const void *b)
{
    const uint32_t x = ((const struct heft_special *)a)->id;
    const uint32_t y = ((const struct heft_special *)b)->id;

    return x < y ? -1 : x > y;
}

static bool is_listed(const struct heft_vocab *v, uint32_t id)
{
    for (size_t i = 0; i < v->n_specials; i++)
        if (v->specials[i].id == id)
            return true;
    return false;
}

static bool add_end(struct heft_vocab *v, struct heft_error *err)
{
    size_t n;
    const uint8_t *const token = heft_vocab_token(v, v->end, &n);
    const struct heft_str text = {(const char *)token, n};
    const char *copy;

    if (v->end == HEFT_NO_TOKEN || !token || is_listed(v, v->end))
        return true;
    if (heft_str_is(text, HEFT_END_OF_TEXT))
        return heft_vocab_add_special(v, HEFT_STR(HEFT_END_OF_TEXT), v->end, err);
    copy = heft_arena_text(&v->mem, text, err);
    return copy && heft_vocab_add_special(v, (struct heft_str){copy, n}, v->end, err);
}

bool heft_vocab_settle_specials(struct heft_vocab *v, struct heft_error *err)
{
    if (!add_end(v, err))
        return false;
    if (v->n_specials > 1)
        qsort(v->specials, v->n_specials, sizeof *v->specials, by_id);
    return true;
}

size_t heft_vocab_special_count(const struct heft_vocab *v)
{
    return v ? v->n_specials : 0;
}

bool heft_vocab_special_at(const struct heft_vocab *v, size_t index, struct heft_special_token *out)
{
    struct heft_special_token token = {0};

    if (!out || index >= heft_vocab_special_count(v))
        return false;
    token.text = v->specials[index].text.p;
    token.n = v->specials[index].text.n;
    token.id = v->specials[index].id;
    HEFT_FILL(heft_special_token, out, &token);
    return true;
}

/* ---- doubts and notes -------------------------------------------------------------------- */

const char *heft_vocab_doubt(const struct heft_vocab *v)
{
    return v ? v->doubt : NULL;
}

const char *heft_vocab_note(const struct heft_vocab *v, bool of_ids, size_t i)
{
    const size_t end = of_ids ? HEFT_REMARKS : HEFT_REMARK_DECODER;

    if (!v || (!of_ids && v->refusal.code))
        return NULL;
    for (size_t k = of_ids ? HEFT_REMARK_DECODER : 0; k < end; k++)
        if (v->remarks[k]) {
            if (i == 0)
                return v->remarks[k];
            i--;
        }
    return NULL;
}

bool heft_vocab_can_encode(const struct heft_vocab *v, struct heft_error *err)
{
    if (v->refusal.code == HEFT_OK)
        return true;
    *err = v->refusal;
    return false;
}
