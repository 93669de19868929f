/* token_trie.c: tokens wait at the place that their first bytes lead to; when it is asked for, each goes
 * on by one byte. */
#include "tokens/token_trie.h"

#include "io/pages.h"

#define STARTS 65536

struct heft_trie_item {
    uint32_t word, code;
    uint16_t n;       /* bytes of the word … */
    uint8_t third[6]; /* … and those from the third on, as far as there is room */
};

static bool init(struct heft_trie *trie, struct heft_error *err)
{
    trie->starts =
        heft_pages_zero((STARTS + trie->cap_nodes) * sizeof *trie->starts, &trie->block, err);
    trie->nodes = trie->starts ? trie->starts + STARTS : NULL;
    trie->twins = heft_calloc(trie->cap_nodes, sizeof *trie->twins, err);
    trie->next = heft_alloc(trie->cap_items * sizeof *trie->next, err);
    return trie->starts && trie->twins && trie->next;
}

bool heft_trie_init(struct heft_trie *trie, const struct heft_str *words, size_t tokens,
                    size_t nodes, struct heft_error *err)
{
    *trie = (struct heft_trie){.words = words,
                               .n_nodes = 1,
                               .n_items = 1,
                               .cap_nodes = nodes + 1,
                               .cap_items = tokens + 1};
    trie->items = trie->added = heft_alloc(trie->cap_items * sizeof *trie->added, err);
    return trie->added && init(trie, err);
}

bool heft_trie_copy(struct heft_trie *trie, const struct heft_trie *from, struct heft_error *err)
{
    *trie = (struct heft_trie){.words = from->words,
                               .items = from->items,
                               .n_nodes = 1,
                               .n_items = from->n_items,
                               .cap_nodes = from->cap_nodes,
                               .cap_items = from->cap_items};
    if (!init(trie, err))
        return false;
    memcpy(trie->starts, from->starts, STARTS * sizeof *trie->starts);
    memcpy(trie->next, from->next, from->n_items * sizeof *trie->next);
    return true;
}

static uint64_t bit_of(uint8_t byte)
{
    return UINT64_C(1) << (byte & 63);
}

static uint8_t byte_of(const struct heft_trie *trie, const struct heft_trie_item *item,
                       size_t depth)
{
    return depth < 2 + sizeof item->third ? item->third[depth - 2]
                                          : (uint8_t)trie->words[item->word].p[depth];
}

/* An item comes to a place, by as many bytes: it ends there, or waits. */
static void arrive(struct heft_trie *trie, struct heft_trie_place *place, uint32_t number,
                   size_t depth)
{
    const struct heft_trie_item *const item = &trie->items[number];

    if (item->n == depth) {
        place->token |= item->code << 8;
        return;
    }
    place->more |= bit_of(byte_of(trie, item, depth));
    trie->next[number] = place->first & ~HEFT_TRIE_WAITING;
    place->first = HEFT_TRIE_WAITING | number;
}

void heft_trie_add(struct heft_trie *trie, uint32_t word, uint32_t code)
{
    const struct heft_str bytes = trie->words[word];
    const uint32_t number = trie->n_items++;
    struct heft_trie_item *const item = &trie->added[number];

    *item = (struct heft_trie_item){.word = word, .code = code, .n = (uint16_t)bytes.n};
    memcpy(item->third, bytes.p + 2, heft_min_u64(bytes.n - 2, sizeof item->third));
    arrive(trie, heft_trie_start(trie, (const uint8_t *)bytes.p), number, 2);
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
        const uint8_t byte = byte_of(trie, item, depth);
        const uint32_t next = trie->next[number];

        arrive(trie, &trie->nodes[node_of(trie, place, byte)], number, depth + 1);
        number = next;
    }
}

void heft_trie_release(struct heft_trie *trie)
{
    heft_free(trie->block);
    heft_free(trie->twins);
    heft_free(trie->next);
    heft_free(trie->added);
    *trie = (struct heft_trie){0};
}
