/* train_cells.c: lays the distinct pre-tokens out in the order of their counts, and numbers their
 * initial symbols.
 *
 *     counts     1           2        …   4096 and higher
 *     words    │ a bb ccc … │ d ee … │ … │ the │ of │ …     one run for each count; frequent pre-tokens
 *                                                            have a run of their own */
#include "tokens/train/train.h"
#include "tokens/unicode/utf8.h"
#include "tokens/bpe/vocab.h"

#define BYTES      256
#define WORD_END   "</w>"
#define MOST_CHARS 0x110000
#define SMALL      4096 /* pre-tokens with lower counts share a run with those of equal count */
#define ROOM       64   /* zeros after the bytes */

/* ---- words, sorted by class -------------------------------------------------------------- */

struct layout {
    struct heft_train_cells *cells;
    uint64_t at[SMALL +
                1]; /* bytes of the pre-tokens of each count, frequent ones last; then the next free
                position */
    uint64_t frequent; /* pre-tokens */
};

static size_t class_of(uint64_t count)
{
    return count < SMALL ? (size_t)count : SMALL;
}

static bool measure_word(void *ctx, struct heft_str word, uint64_t count, struct heft_error *err)
{
    struct layout *l = ctx;

    (void)err;
    l->at[class_of(count)] += word.n;
    l->frequent += count >= SMALL;
    return true;
}

static bool place_word(void *ctx, struct heft_str word, uint64_t count, struct heft_error *err)
{
    struct layout *l = ctx;
    struct heft_train_cells *c = l->cells;
    const uint32_t at = (uint32_t)l->at[class_of(count)];

    (void)err;
    memcpy(c->bytes + at, word.p, word.n);
    c->marks[at >> 6].word |= UINT64_C(1) << (at & 63);
    l->at[class_of(count)] += word.n;
    if (count >= SMALL)
        c->runs[c->n_runs++] = (struct heft_train_run){at, count};
    return true;
}

/* Replaces the number of bytes of each count by the position of its run. */
static void make_runs(struct layout *l)
{
    struct heft_train_cells *c = l->cells;
    uint64_t at = 0;

    for (size_t count = 0; count <= SMALL; count++) {
        const uint64_t n = l->at[count];

        l->at[count] = at;
        if (n > 0 && count < SMALL)
            c->runs[c->n_runs++] = (struct heft_train_run){(uint32_t)at, count};
        at += n;
    }
}

static void mark_end(struct heft_train_cells *c)
{
    c->runs[c->n_runs] = (struct heft_train_run){c->n, 0};
    c->marks[c->n >> 6].word |= UINT64_C(1) << (c->n & 63);
    c->marks[c->n >> 6].symbol |= UINT64_C(1) << (c->n & 63);
}

static bool lay_out(struct heft_train_cells *c, const struct heft_words *words,
                    struct heft_error *err)
{
    struct layout l = {.cells = c};

    c->n = (uint32_t)words->n_text;
    if (!heft_words_each(words, measure_word, &l, err))
        return false;
    c->bytes = heft_calloc((size_t)c->n + ROOM, 1, err);
    c->marks = heft_calloc((size_t)(c->n >> 6) + 2, sizeof *c->marks, err);
    c->runs = heft_calloc(SMALL + (size_t)l.frequent + 1, sizeof *c->runs, err);
    if (!c->bytes || !c->marks || !c->runs)
        return false;
    make_runs(&l);
    if (!heft_words_each(words, place_word, &l, err))
        return false;
    mark_end(c);
    return true;
}

/* ---- symbols ----------------------------------------------------------------------------- */

/* Adds the symbol of the character of n bytes at p; `is_final`: with the mark of the end of a
 * pre-token. */
static bool add_leaf(struct heft_train_cells *c, const uint8_t *p, size_t n, bool is_final,
                     struct heft_error *err)
{
    struct heft_train_symbol *s;
    uint8_t text[8] = {0};

    if (!heft_grow(&c->symbols, &c->cap_symbols, c->n_symbols, 1, sizeof *c->symbols, err))
        return false;
    memcpy(text, p, n);
    s = &c->symbols[c->n_symbols++];
    *s = (struct heft_train_symbol){.left = HEFT_TRAIN_LEAF,
                                    .right = heft_le32(text),
                                    .n = (uint16_t)n,
                                    .cells = (uint16_t)n,
                                    .first = n < 3 ? p[0] : (uint8_t)(c->n_symbols - 1)};
    if (is_final) {
        memcpy(text + n, WORD_END, sizeof WORD_END - 1);
        s->n += sizeof WORD_END - 1;
    }
    s->prefix = heft_be64(text);
    return true;
}

static bool spread_bytes(struct heft_train_cells *c, struct heft_error *err)
{
    uint8_t order[BYTES];

    heft_alphabet_order(order);
    for (uint32_t i = 0; i < BYTES; i++) {
        c->one[order[i]] = i;
        if (!add_leaf(c, &order[i], 1, false, err))
            return false;
    }
    for (size_t i = 0; i < c->n >> 6; i++)
        c->marks[i].symbol = UINT64_MAX;
    c->marks[c->n >> 6].symbol |= (UINT64_C(1) << (c->n & 63)) - 1;
    return true;
}

/* Returns the symbol of the character of n bytes at p. *slot: index + 1 of a character seen before.
 */
static bool leaf_of(struct heft_train_cells *c, const uint8_t *p, size_t n, bool is_final,
                    uint32_t *slot, struct heft_error *err)
{
    if (*slot == 0) {
        if (!add_leaf(c, p, n, is_final, err))
            return false;
        *slot = c->n_symbols;
    }
    if (n == 1)
        c->one[(uint32_t)is_final << 8 | p[0]] = *slot - 1;
    else if (n == 2)
        c->two[(uint32_t)is_final << 16 | (uint32_t)p[0] << 8 | p[1]] = *slot - 1;
    return true;
}

static bool spread_characters(struct heft_train_cells *c, struct heft_error *err)
{
    uint32_t *seen = heft_calloc(2 * (size_t)MOST_CHARS, sizeof *seen, err);
    bool ok = seen != NULL;
    unsigned n;

    c->has_ends = true;
    for (uint32_t place = 0; ok && place < c->n; place += n) {
        uint8_t *p = c->bytes + place;
        const uint32_t character = heft_utf8_at(p, &n);
        const bool is_final = heft_train_is_word(c, place + n);
        uint32_t *slot = &seen[is_final * MOST_CHARS + character];

        ok = leaf_of(c, p, n, is_final, slot, err);
        c->marks[place >> 6].symbol |= UINT64_C(1) << (place & 63);
        if (ok && n > 2)
            heft_train_put_number(p, *slot - 1);
    }
    heft_free(seen);
    return ok;
}

bool heft_train_spread(struct heft_train_cells *c, const struct heft_words *words,
                       enum heft_train_style style, struct heft_error *err)
{
    if (!lay_out(c, words, err))
        return false;
    c->one = heft_calloc(2 << 8, sizeof *c->one, err);
    c->two = heft_calloc(2 << 16, sizeof *c->two, err);
    return c->one && c->two &&
           (style == HEFT_TRAIN_BYTES ? spread_bytes(c, err) : spread_characters(c, err));
}

void heft_train_cells_release(struct heft_train_cells *c)
{
    heft_free(c->bytes);
    heft_free(c->marks);
    heft_free(c->runs);
    heft_free(c->symbols);
    heft_free(c->one);
    heft_free(c->two);
    *c = (struct heft_train_cells){0};
}

/* ---- texts of symbols -------------------------------------------------------------------- */

static void put_leaf(const struct heft_train_symbol *s, char *to)
{
    uint8_t text[4];

    heft_put_le32(text, s->right);
    memcpy(to, text, s->cells);
    memcpy(to + s->cells, WORD_END, (size_t)(s->n - s->cells));
}

void heft_train_text(const struct heft_train_cells *c, uint32_t symbol, char *to)
{
    /* right parts still to be written: each has at least a byte */
    uint32_t waiting[HEFT_TRAIN_LONGEST];
    size_t n = 0;

    for (;;) {
        const struct heft_train_symbol *s = &c->symbols[symbol];

        if (s->left != HEFT_TRAIN_LEAF) {
            waiting[n++] = s->right;
            symbol = s->left;
            continue;
        }
        put_leaf(s, to);
        to += s->n;
        if (n == 0)
            return;
        symbol = waiting[--n];
    }
}
