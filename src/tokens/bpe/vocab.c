/* vocab.c: tables of a vocabulary, and its public functions. */
#include "tokens/bpe/vocab.h"

#include "io/pages.h"
#include "tokens/bpe/byte_adjacency.h"
#include "tokens/bpe/pairs.h"

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

bool heft_vocab_pairs(struct heft_vocab *v, struct heft_vocab_spare spare, struct heft_error *err)
{
    const uint32_t last = v->n_merges ? v->n_merges - 1 : 0;

    v->slot_bits = slot_bits(v->n_merges);
    v->slots = sizeof *v->slots << v->slot_bits <= spare.n
                   ? spare.p
                   : heft_arena_alloc(&v->mem, sizeof *v->slots << v->slot_bits, err);
    if (!v->slots)
        return false;
    memset(v->slots, 0xFF, sizeof *v->slots << v->slot_bits);
    for (uint32_t rank = 0; rank < v->n_merges; rank++) {
        const struct heft_merge *later = &v->merges[rank + heft_min_u64(AHEAD, last - rank)];

        HEFT_PREFETCH(&v->slots[heft_pair_home(v, heft_pair_of(later->left, later->right))]);
        if (!add_pair(v, rank, err)) {
            v->n_merges = rank; /* merges before the one in error */
            return false;
        }
    }
    v->pairs = heft_arena_zero(&v->mem, 1, sizeof *v->pairs, err);
    v->adjacency = heft_arena_alloc(&v->mem, sizeof *v->adjacency, err);
    if (!v->adjacency || !v->pairs || !heft_pairs_init(v->pairs, v, err))
        return false;
    heft_byte_adjacency_init(v->adjacency, v);
    return true;
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
    heft_strmap_release(&v->wholes);
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
