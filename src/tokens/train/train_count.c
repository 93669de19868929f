/* train_count.c: pre-tokens of a text → a hash table of counts, which is flushed to a temporary
 * file before it exceeds its limit of memory (train_spill.c). */
#include "base/map.h"
#include "tokens/bpe/pattern.h"
#include "tokens/train/train.h"

#define DOUBT                                                                                      \
    8 /* a pre-token that ends at least so many bytes before the end of the text is complete */
#define FIRST_BITS 12
#define SALT       UINT64_C(0x9E3779B97F4A7C15)

/* ---- hash table of words ----------------------------------------------------------------- */

HEFT_WRAPS static uint32_t hash_of(struct heft_str word)
{
    uint64_t h = heft_map_seed() ^ word.n, piece;

    while (word.n >= 8) {
        memcpy(&piece, word.p, 8);
        h = (h ^ piece) * SALT;
        h ^= h >> 32;
        word.p += 8;
        word.n -= 8;
    }
    piece = 0;
    if (word.n)
        memcpy(&piece, word.p, word.n);
    h = (h ^ piece) * SALT;
    return (uint32_t)(h >> 32);
}

static uint64_t memory_of(const struct heft_counts *c)
{
    return c->n * sizeof *c->words + (sizeof *c->slots << c->slot_bits) + c->n_text;
}

/* Rebuilds the slots with `bits` bits of the hash. Frees the old ones first. */
static bool set_slots(struct heft_counts *c, unsigned bits, struct heft_error *err)
{
    const size_t mask = ((size_t)1 << bits) - 1;

    heft_free(c->slots);
    c->slot_bits = 0;
    c->slots = heft_calloc((size_t)1 << bits, sizeof *c->slots, err);
    if (!c->slots)
        return false;
    c->slot_bits = bits;
    for (size_t w = 0; w < c->n; w++) {
        size_t i = c->words[w].hash & mask;

        while (c->slots[i])
            i = (i + 1) & mask;
        c->slots[i] = (uint32_t)(w + 1);
    }
    return true;
}

static bool append_word(struct heft_counts *c, struct heft_str word, uint32_t hash, uint64_t times,
                        struct heft_error *err)
{
    if (word.n > UINT32_MAX / 2)
        return heft_fail(err, HEFT_LIMIT, HEFT_NO_OFFSET, "a pre-token of %zu bytes is too long",
                         word.n);
    if (!heft_grow(&c->words, &c->cap, c->n, 1, sizeof *c->words, err) ||
        !heft_grow(&c->text, &c->cap_text, c->n_text, word.n, 1, err))
        return false;
    memcpy(c->text + c->n_text, word.p, word.n);
    c->words[c->n++] = (struct heft_counted){c->n_text, times, (uint32_t)word.n, hash};
    c->n_text += word.n;
    return true;
}

/* Makes room for one more pre-token. */
static bool make_room(struct heft_counts *c, size_t n, struct heft_error *err)
{
    if (c->n > 0 && (c->n >= UINT32_MAX / 2 || memory_of(c) + n > c->most) &&
        !heft_counts_flush(c, err))
        return false;
    return (c->slots && (c->n + 1) * 2 <= (size_t)1 << c->slot_bits) ||
           set_slots(c, c->slots ? c->slot_bits + 1 : FIRST_BITS, err);
}

bool heft_counts_add(struct heft_counts *c, struct heft_str word, uint64_t times,
                     struct heft_error *err)
{
    const uint32_t hash = hash_of(word);
    size_t mask, i;

    if (!make_room(c, word.n, err))
        return false;
    mask = ((size_t)1 << c->slot_bits) - 1;
    for (i = hash & mask; c->slots[i]; i = (i + 1) & mask) {
        struct heft_counted *w = &c->words[c->slots[i] - 1];

        if (w->hash == hash && w->n == word.n && !memcmp(c->text + w->at, word.p, word.n)) {
            w->count += times;
            return true;
        }
    }
    if (!append_word(c, word, hash, times, err))
        return false;
    c->slots[i] = (uint32_t)c->n;
    return true;
}

bool heft_counts_each(const struct heft_counts *c, heft_count_fn *each, void *ctx,
                      struct heft_error *err)
{
    for (size_t w = 0; w < c->n; w++)
        if (!each(ctx, (struct heft_str){c->text + c->words[w].at, c->words[w].n},
                  c->words[w].count, err))
            return false;
    return true;
}

static void forget_words(struct heft_counts *c)
{
    heft_free(c->words);
    heft_free(c->slots);
    heft_free(c->text);
    *c = (struct heft_counts){.most = c->most, .spill = c->spill};
}

bool heft_counts_flush(struct heft_counts *c, struct heft_error *err)
{
    const bool ok = c->n == 0 || heft_spill_put(&c->spill, c, err);

    forget_words(c);
    return ok;
}

void heft_counts_release(struct heft_counts *c)
{
    forget_words(c);
    heft_spill_release(&c->spill);
}

/* ---- counting pre-tokens ----------------------------------------------------------------- */

static bool add_word(struct heft_word_counter *counter, const uint8_t *text, size_t from, size_t to,
                     struct heft_error *err)
{
    counter->total++;
    return heft_counts_add(&counter->counts,
                           (struct heft_str){(const char *)text + from, to - from}, 1, err);
}

static bool count_pattern(struct heft_word_counter *counter, const uint8_t *text, size_t n,
                          bool is_last, size_t *done, struct heft_error *err)
{
    size_t at = 0, count;

    while (at < n) {
        count = heft_scan_words(counter->scan, text, n, at, is_last, counter->starts);
        for (size_t i = 0; i + 1 < count; i++)
            if (!add_word(counter, text, counter->starts[i], counter->starts[i + 1], err))
                return false;
        if (count > 1) {
            at = counter->starts[count - 1];
        } else if (n - at > HEFT_SCAN_WINDOW) { /* a pre-token longer than a window */
            const size_t end = heft_split_word(counter->scan->classes, text, n, at);

            if (!is_last && end + DOUBT > n)
                break;
            if (!add_word(counter, text, at, end, err))
                return false;
            at = end;
        } else {
            break;
        }
    }
    *done = at;
    return true;
}

static bool count_chain(struct heft_word_counter *counter, const uint8_t *text, size_t n,
                        bool is_last, size_t *done, struct heft_error *err)
{
    size_t at = 0, count = 2;

    while (at < n && count > 1) {
        count = heft_pretokens_scan(counter->pretokens, text, n, at, is_last, &counter->place,
                                    counter->starts, HEFT_SCAN_ROOM);
        for (size_t i = 0; i + 1 < count; i++)
            if (!(counter->starts[i] & HEFT_PRETOKEN_DROPPED) &&
                !add_word(counter, text, counter->starts[i],
                          counter->starts[i + 1] & ~HEFT_PRETOKEN_DROPPED, err))
                return false;
        if (count > 1)
            at = counter->starts[count - 1] & ~HEFT_PRETOKEN_DROPPED;
    }
    if (is_last)
        counter->place = (struct heft_pretokens_place){0}; /* the next text begins */
    *done = at;
    return true;
}

/* ---- counting words of subword-nmt ------------------------------------------------------- */

/* Length of the line end at p, as Python's splitlines has it: NEL, LS and PS have several bytes. */
static size_t line_end(const uint8_t *p)
{
    if ((p[0] >= 0x0A && p[0] <= 0x0D) || (p[0] >= 0x1C && p[0] <= 0x1E))
        return 1;
    if (p[0] == 0xC2 && p[1] == 0x85)
        return 2;
    return p[0] == 0xE2 && p[1] == 0x80 && (p[2] == 0xA8 || p[2] == 0xA9) ? 3 : 0;
}

/* Pre-tokens are separated by blanks and line ends. A line end other than CR and LF belongs to the
 * pre-token before it. */
static bool count_lines(struct heft_word_counter *counter, const uint8_t *text, size_t n,
                        bool is_last, size_t *done, struct heft_error *err)
{
    size_t from = 0;

    for (size_t i = 0; i < n; i++) {
        const size_t end = text[i] == ' ' ? 1 : line_end(text + i);
        const bool is_cut = text[i] == ' ' || text[i] == '\r' || text[i] == '\n';
        const size_t to = is_cut ? i : i + end;

        if (end == 0)
            continue;
        if (to > from && !add_word(counter, text, from, to, err))
            return false;
        from = i + end;
        i = from - 1;
    }
    if (is_last && from < n && !add_word(counter, text, from, n, err))
        return false;
    *done = is_last ? n : from;
    return true;
}

bool heft_count_words(struct heft_word_counter *counter, const uint8_t *text, size_t n,
                      bool is_last, size_t *done, struct heft_error *err)
{
    if (counter->scan)
        return count_pattern(counter, text, n, is_last, done, err);
    return counter->pretokens ? count_chain(counter, text, n, is_last, done, err)
                              : count_lines(counter, text, n, is_last, done, err);
}
