/* vocab.c: the tables of a vocabulary, and the public questions to it. */
#include "tokens/bpe/vocab.h"

#include "io/pages.h"
#include "tokens/bpe/joints.h"
#include "tokens/bpe/pairs.h"

#define AHEAD 16  /* merges whose slots are on their way */
#define SPARE 256 /* bytes between tables, for their alignment */

/* ---- the alphabet ------------------------------------------------------------------------ */

/* Bytes that stand for themselves: printable ones of Latin-1. */
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

/* ---- pairs ------------------------------------------------------------------------------- */

static bool add_pair(struct heft_vocab *v, uint32_t rank, struct heft_error *err)
{
    const uint64_t pair = heft_pair_of(v->merges[rank].left, v->merges[rank].right);
    uint64_t *const slot = heft_pair_slot(v, pair);

    if (*slot != HEFT_NO_SLOT)
        return heft_fail(err, HEFT_MALFORMED, HEFT_NO_OFFSET,
                         "merge %" PRIu32 " is merge %" PRIu64 " once more", rank + 1,
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
                                  sizeof *v->joints + bytes + SPARE,
                              err);
}

bool heft_vocab_pairs(struct heft_vocab *v, struct heft_vocab_spare spare, struct heft_error *err)
{
    const uint32_t last = v->n_merges - 1; /* where there is one */

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
            v->n_merges = rank; /* so many come before it */
            return false;
        }
    }
    v->pairs = heft_arena_zero(&v->mem, 1, sizeof *v->pairs, err);
    v->joints = heft_arena_alloc(&v->mem, sizeof *v->joints, err);
    if (!v->joints || !v->pairs || !heft_pairs_init(v->pairs, v, err))
        return false;
    heft_joints_init(v->joints, v);
    return true;
}

/* The longest token, and the highest id of a text. */
static void measure(struct heft_vocab *v)
{
    for (uint32_t id = 0; id < v->n_ids; id++)
        if (v->tokens[id].p && v->tokens[id].n > v->longest)
            v->longest = (uint32_t)v->tokens[id].n;
    for (size_t i = 0; i < HEFT_COUNT(v->byte_ids); i++)
        v->text_ids = (uint32_t)heft_max_u64(v->text_ids, v->byte_ids[i] + 1);
    for (uint32_t i = 0; i < v->n_merges; i++)
        v->text_ids = (uint32_t)heft_max_u64(v->text_ids, v->merges[i].id + 1);
}

bool heft_vocab_add_whole(struct heft_vocab *v, uint32_t id, struct heft_error *err)
{
    uint32_t found;

    v->text_ids = (uint32_t)heft_max_u64(v->text_ids, id + 1);
    return heft_strmap_add(&v->wholes, v->tokens[id], id, &found, err);
}

/* ---- the end of text ---------------------------------------------------------------------- */

/* A number below 2^20 in decimal, else HEFT_NO_TOKEN. */
static uint32_t number_of(const char *text)
{
    uint64_t value = 0;

    for (const char *c = text; *c; c++) {
        value = 10 * value + (uint64_t)(*c - '0');
        if (*c < '0' || *c > '9' || value >= HEFT_MOST_IDS)
            return HEFT_NO_TOKEN;
    }
    return *text ? (uint32_t)value : HEFT_NO_TOKEN;
}

/* A special token comes before one that is spelled alike: texts do not encode to it. */
static uint32_t find_token(const struct heft_vocab *v, const char *name)
{
    uint32_t found = HEFT_NO_TOKEN;

    for (uint32_t id = v->n_ids; id-- > 0;)
        if (v->tokens[id].p && heft_str_is(v->tokens[id], name) &&
            (found == HEFT_NO_TOKEN || id >= v->text_ids))
            found = id;
    return found;
}

static bool choose_end(struct heft_vocab *v, const struct heft_vocab_options *how,
                       struct heft_error *err)
{
    const char *name = how ? how->eot_token : NULL;

    if (!name)
        return true;
    v->end = number_of(name);
    if (v->end == HEFT_NO_TOKEN)
        v->end = find_token(v, name);
    return v->end != HEFT_NO_TOKEN ||
           heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                     "option eot_token %s: neither a token of the vocabulary nor an id below 2^20",
                     name);
}

static bool check_pattern(const struct heft_vocab_options *how, struct heft_error *err)
{
    return !how || !how->pattern || strcmp(how->pattern, "gpt2") == 0 ||
           heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                     "option pattern %s: only gpt2 is built in; a tokenizer.json says its own",
                     how->pattern);
}

/* ---- the door ---------------------------------------------------------------------------- */

static struct heft_vocab *finish(struct heft_vocab *v, bool ok)
{
    if (ok) {
        measure(v);
        return v;
    }
    heft_vocab_close(v);
    return NULL;
}

struct heft_vocab *heft_vocab_open_with(const char *path, const struct heft_vocab_options *options,
                                        struct heft_error *err)
{
    struct heft_vocab *v;

    heft_error_begin(err);
    v = check_pattern(options, err) ? heft_calloc(1, sizeof *v, err) : NULL;
    v = finish(v,
               v && (path ? heft_vocab_read(v, path, options, err) : heft_vocab_builtin(v, err)));
    return !v || choose_end(v, options, err) ? v : finish(v, false);
}

struct heft_vocab *heft_vocab_open(const char *path, struct heft_error *err)
{
    return heft_vocab_open_with(path, NULL, err);
}

struct heft_vocab *heft_vocab_from(struct heft_bytes text, struct heft_bytes ids,
                                   const struct heft_vocab_options *how, struct heft_error *err)
{
    struct heft_vocab *v;

    heft_error_begin(err);
    v = heft_calloc(1, sizeof *v, err);
    return finish(v, v && heft_vocab_parse(v, text, ids, how, err));
}

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
        if (v->remarks[k] && i-- == 0)
            return v->remarks[k];
    return NULL;
}
