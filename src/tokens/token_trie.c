/* token_trie.c: tokens wait at the place that their first bytes lead to; when it is asked for, each goes
 * on by one byte. */
#include "tokens/token_trie.h"

#define STARTS 65536

struct heft_trie_item {
    uint32_t word, code;
    uint32_t next; /* that waits at the same place; 0: none */
};

bool heft_trie_init(struct heft_trie *trie, const struct heft_str *words, size_t tokens,
                    size_t nodes, struct heft_error *err)
{
    *trie = (struct heft_trie){.words = words,
                               .n_nodes = 1,
                               .n_items = 1,
                               .cap_nodes = nodes + 1,
                               .cap_items = tokens + 1};
    trie->starts = heft_calloc(STARTS, sizeof *trie->starts, err);
    trie->nodes = heft_calloc(trie->cap_nodes, sizeof *trie->nodes, err);
    trie->twins = heft_calloc(trie->cap_nodes, sizeof *trie->twins, err);
    trie->items = heft_alloc(trie->cap_items * sizeof *trie->items, err);
    return trie->starts && trie->nodes && trie->twins && trie->items;
}

bool heft_trie_copy(struct heft_trie *trie, const struct heft_trie *from, struct heft_error *err)
{
    if (!heft_trie_init(trie, from->words, from->cap_items - 1, from->cap_nodes - 1, err))
        return false;
    memcpy(trie->starts, from->starts, STARTS * sizeof *trie->starts);
    memcpy(trie->items, from->items, from->n_items * sizeof *trie->items);
    trie->n_items = from->n_items;
    return true;
}

static uint64_t bit_of(uint8_t byte)
{
    return UINT64_C(1) << (byte & 63);
}

/* An item comes to a place, by as many bytes: it ends there, or waits. */
static void arrive(struct heft_trie *trie, struct heft_trie_place *place, uint32_t number,
                   size_t depth)
{
    struct heft_trie_item *const item = &trie->items[number];
    const struct heft_str word = trie->words[item->word];

    if (word.n == depth) {
        place->token |= item->code << 8;
        return;
    }
    place->more |= bit_of((uint8_t)word.p[depth]);
    item->next = place->first & ~HEFT_TRIE_WAITING;
    place->first = HEFT_TRIE_WAITING | number;
}

void heft_trie_add(struct heft_trie *trie, uint32_t word, uint32_t code)
{
    const uint32_t number = trie->n_items++;

    trie->items[number] = (struct heft_trie_item){word, code, 0};
    arrive(trie, heft_trie_start(trie, (const uint8_t *)trie->words[word].p), number, 2);
}

/* The node behind a place. One that is there has a code, or items. */
static uint32_t node_of(struct heft_trie *trie, const struct heft_trie_place *place, uint8_t byte)
{
    struct heft_trie_place *const nodes = trie->nodes;
    uint32_t at = place->first + heft_count_bits(place->more & (bit_of(byte) - 1));

    if (nodes[at].more || nodes[at].token >> 8) {
        while ((uint8_t)nodes[at].token != byte && trie->twins[at])
            at = trie->twins[at];
        if ((uint8_t)nodes[at].token == byte)
            return at;
        at = trie->twins[at] = trie->n_nodes++;
    }
    nodes[at].token = byte;
    return at;
}

void heft_trie_unfold(struct heft_trie *trie, struct heft_trie_place *place, size_t depth)
{
    uint32_t number = place->first & ~HEFT_TRIE_WAITING;

    place->first = trie->n_nodes;
    trie->n_nodes += heft_count_bits(place->more);
    while (number) {
        const struct heft_trie_item *item = &trie->items[number];
        const uint8_t byte = (uint8_t)trie->words[item->word].p[depth];
        const uint32_t next = item->next;

        arrive(trie, &trie->nodes[node_of(trie, place, byte)], number, depth + 1);
        number = next;
    }
}

void heft_trie_release(struct heft_trie *trie)
{
    heft_free(trie->starts);
    heft_free(trie->nodes);
    heft_free(trie->twins);
    heft_free(trie->items);
    *trie = (struct heft_trie){0};
}
