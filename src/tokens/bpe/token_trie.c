/* token_trie.c: lazily built trie. Tokens wait in a list at the node that their first bytes lead
 * to; when a search reaches that node, each moves on by one byte. */
#include "tokens/bpe/token_trie.h"

#define STARTS 65536

struct heft_trie_item {
    uint32_t word, code;
    uint16_t n;       /* length of the token in bytes … */
    uint8_t third[6]; /* … and its third to eighth byte */
};

bool heft_trie_init(struct heft_trie *trie, const struct heft_str *words, struct heft_lock *lock,
                    size_t tokens, size_t nodes, struct heft_error *err)
{
    *trie = (struct heft_trie){
        .words = words, .lock = lock, .n_nodes = 1, .n_items = 1, .cap_nodes = nodes + 1};
    trie->starts = heft_calloc(STARTS, sizeof *trie->starts, err);
    trie->nodes = heft_calloc(trie->cap_nodes, sizeof *trie->nodes, err);
    trie->twins = heft_calloc(trie->cap_nodes, sizeof *trie->twins, err);
    trie->items = heft_alloc((tokens + 1) * sizeof *trie->items, err);
    trie->next = heft_alloc((tokens + 1) * sizeof *trie->next, err);
    return trie->starts && trie->nodes && trie->twins && trie->items && trie->next;
}

static uint32_t first_of(const struct heft_trie_place *place)
{
    return atomic_load_explicit(&place->first, memory_order_relaxed);
}

static void set_first(struct heft_trie_place *place, uint32_t first)
{
    atomic_store_explicit(&place->first, first, memory_order_relaxed);
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

/* Puts an item at a node that no other thread sees yet, `depth` bytes deep: the token ends there or
 * waits. */
static void put_item(struct heft_trie *trie, struct heft_trie_place *place, uint32_t number,
                     size_t depth)
{
    const struct heft_trie_item *const item = &trie->items[number];

    if (item->n == depth) {
        place->token |= item->code << 8;
        return;
    }
    place->more |= bit_of(byte_of(trie, item, depth));
    trie->next[number] = first_of(place) & ~HEFT_TRIE_WAITING;
    set_first(place, HEFT_TRIE_WAITING | number);
}

void heft_trie_add(struct heft_trie *trie, uint32_t word, uint32_t code)
{
    const struct heft_str bytes = trie->words[word];
    const uint32_t number = trie->n_items++;
    struct heft_trie_item *const item = &trie->items[number];

    *item = (struct heft_trie_item){.word = word, .code = code, .n = (uint16_t)bytes.n};
    memcpy(item->third, bytes.p + 2, heft_min_size(bytes.n - 2, sizeof item->third));
    put_item(trie, heft_trie_start(trie, (const uint8_t *)bytes.p), number, 2);
}

/* Finds or creates the child of `place` for a byte; children begin at `first`. A node in use has a
 * code or waiting items. */
static uint32_t node_of(struct heft_trie *trie, const struct heft_trie_place *place, uint32_t first,
                        uint8_t byte)
{
    struct heft_trie_place *const nodes = trie->nodes;
    uint32_t at = first + heft_count_ones(place->more & (bit_of(byte) - 1));

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

/* Moves each item of a list to the child for its next byte. */
static void spread_items(struct heft_trie *trie, const struct heft_trie_place *place,
                         uint32_t first, uint32_t number, size_t depth)
{
    while (number) {
        const uint8_t byte = byte_of(trie, &trie->items[number], depth);
        const uint32_t next = trie->next[number];

        put_item(trie, &trie->nodes[node_of(trie, place, first, byte)], number, depth + 1);
        number = next;
    }
}

/* Creates the children of a node, unless another thread was first. The release store publishes them
 * complete. */
uint32_t heft_trie_unfold(struct heft_trie *trie, struct heft_trie_place *place, size_t depth)
{
    uint32_t first, waiting;

    heft_lock_take(trie->lock);
    first = waiting = first_of(place);
    if (waiting & HEFT_TRIE_WAITING) {
        first = trie->n_nodes;
        trie->n_nodes += heft_count_ones(place->more);
        spread_items(trie, place, first, waiting & ~HEFT_TRIE_WAITING, depth);
        atomic_store_explicit(&place->first, first, memory_order_release);
    }
    heft_lock_drop(trie->lock);
    return first;
}

void heft_trie_release(struct heft_trie *trie)
{
    heft_free(trie->starts);
    heft_free(trie->nodes);
    heft_free(trie->twins);
    heft_free(trie->next);
    heft_free(trie->items);
    *trie = (struct heft_trie){0};
}
