/* token_trie.c: nodes as they come, by a hash table; then in their order. */
#include "tokens/token_trie.h"

#define STARTS 65536 /* numbers below it are places of starts[] */

struct heft_trie_made {
    uint64_t more;
    uint32_t parent, token;
    uint32_t at; /* among the settled */
};
struct heft_trie_slot {
    uint32_t key;    /* the parent's number << 8 | byte, plus 1; 0: free */
    uint32_t number; /* its own */
};

bool heft_trie_begin(struct heft_trie_builder *b, struct heft_trie *trie, size_t nodes,
                     struct heft_error *err)
{
    *b = (struct heft_trie_builder){.trie = trie, .slot_bits = 8};
    while ((size_t)1 << b->slot_bits < nodes + nodes / 4)
        b->slot_bits++;
    trie->starts = heft_calloc(STARTS, sizeof *trie->starts, err);
    b->made = heft_alloc(nodes * sizeof *b->made, err);
    b->slots = heft_calloc((size_t)1 << b->slot_bits, sizeof *b->slots, err);
    return trie->starts && b->made && b->slots;
}

static struct heft_trie_slot *slot_of(const struct heft_trie_builder *b, uint32_t key)
{
    const uint32_t mask = (UINT32_C(1) << b->slot_bits) - 1;
    uint32_t i = key * UINT32_C(0x9E3779B1) >> (32 - b->slot_bits);

    while (b->slots[i].key != key && b->slots[i].key != 0)
        i = (i + 1) & mask;
    return &b->slots[i];
}

static uint64_t bit_of(uint8_t byte)
{
    return UINT64_C(1) << (byte & 63);
}

/* The number of the node behind another one. */
static uint32_t go_on(struct heft_trie_builder *b, uint32_t parent, uint8_t byte)
{
    const uint32_t key = (parent << 8 | byte) + 1;
    struct heft_trie_slot *slot = slot_of(b, key);

    if (slot->key)
        return slot->number;
    if (parent < STARTS)
        b->trie->starts[parent].more |= bit_of(byte);
    else
        b->made[parent - STARTS].more |= bit_of(byte);
    b->made[b->n_made] = (struct heft_trie_made){.parent = parent, .token = byte};
    *slot = (struct heft_trie_slot){key, STARTS + b->n_made++};
    return slot->number;
}

bool heft_trie_add(struct heft_trie_builder *b, struct heft_str token, uint32_t code)
{
    const uint8_t *const bytes = (const uint8_t *)token.p;
    uint32_t number = (uint32_t)bytes[0] << 8 | bytes[1], *to;

    for (size_t i = 2; i < token.n; i++)
        number = go_on(b, number, bytes[i]);
    to = number < STARTS ? &b->trie->starts[number].token : &b->made[number - STARTS].token;
    if (*to >> 8)
        return false;
    *to |= code << 8;
    return true;
}

/* A place's nodes lie together from where its first one comes; twins behind what is there by then. A
 * node that is there has a code, or nodes behind it. */
static void put(const struct heft_trie_builder *b, struct heft_trie_made *made, uint32_t *n)
{
    struct heft_trie_place *const nodes = b->trie->nodes;
    struct heft_trie_place *const parent = made->parent < STARTS
                                               ? &b->trie->starts[made->parent]
                                               : &nodes[b->made[made->parent - STARTS].at];
    uint32_t at;

    if (parent->first == 0) {
        parent->first = *n;
        *n += heft_count_bits(parent->more);
    }
    at = parent->first + heft_count_bits(parent->more & (bit_of((uint8_t)made->token) - 1));
    if (nodes[at].more || nodes[at].token >> 8) {
        while (b->trie->twins[at])
            at = b->trie->twins[at];
        at = b->trie->twins[at] = (*n)++;
    }
    nodes[at] = (struct heft_trie_place){made->more, made->token, 0};
    made->at = at;
}

bool heft_trie_settle(struct heft_trie_builder *b, struct heft_error *err)
{
    uint32_t n = 1;

    b->trie->nodes = heft_calloc((size_t)b->n_made + 1, sizeof *b->trie->nodes, err);
    b->trie->twins = heft_calloc((size_t)b->n_made + 1, sizeof *b->trie->twins, err);
    if (!b->trie->nodes || !b->trie->twins)
        return false;
    for (uint32_t i = 0; i < b->n_made; i++)
        put(b, &b->made[i], &n);
    return true;
}

void heft_trie_builder_release(struct heft_trie_builder *b)
{
    heft_free(b->made);
    heft_free(b->slots);
    *b = (struct heft_trie_builder){0};
}

void heft_trie_release(struct heft_trie *trie)
{
    heft_free(trie->starts);
    heft_free(trie->nodes);
    heft_free(trie->twins);
    *trie = (struct heft_trie){0};
}
