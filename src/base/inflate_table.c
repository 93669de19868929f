/* inflate_table.c: a table that tells literals and whole matches from the next bits.
 *
 * Its index is built bit by bit: what n bits tell is what one bit less told, twice, and over that
 * goes what needs exactly n of them. So a length stands where its distance is not within reach,
 * and a literal alone where no second one is. */
#include "base/inflate_parts.h"

enum {
    BITS = HEFT_INFLATE_BITS,
    MATCHES = 258, /* lengths, if all are in reach */
    BEFORE = 8,    /* where the parts of an entry begin */
    LEAST = 16,
    LENGTH = 32,
    LITERAL = 40,
    SECOND = 48,
    KIND = 56,
};

/* The distance of a literal, of which nothing is copied: what is that far away was written long ago,
 * so that its load waits for no store. */
#define STALE UINT64_C(512)

/* Code words, low bit first, with the entries they make; those of n bits begin at first[n]. */
struct words {
    uint32_t first[BITS + 2];
    uint16_t word[MATCHES];
    uint64_t entry[MATCHES];
};

struct build {
    struct words literals;
    struct words lengths;   /* entries without distance */
    struct words matches;   /* of the lengths, with the extra bits within the word: length only */
    struct words distances; /* what a distance adds to an entry */
};

static uint64_t taking(uint32_t all, uint32_t before)
{
    return all | (uint64_t)before << BEFORE;
}

static uint64_t other(enum heft_inflate_kind kind, uint32_t length)
{
    return (uint64_t)kind << KIND | (uint64_t)length << LITERAL | HEFT_INFLATE_OTHER << LENGTH;
}

static void add(struct words *words, uint32_t *made, uint32_t word, uint64_t entry)
{
    words->word[*made] = (uint16_t)word;
    words->entry[(*made)++] = entry;
}

/* Literals and lengths. */
static void set_symbols(struct build *b, const struct heft_inflate_code *code)
{
    uint32_t literals = 0, lengths = 0, place = 0;

    for (uint32_t n = 1; n <= BITS; n++) {
        b->literals.first[n] = literals;
        b->lengths.first[n] = lengths;
        for (uint32_t k = 0; k < code->count[n]; k++, place++) {
            const uint32_t symbol = code->symbols[place];
            const uint32_t word = heft_inflate_reverse((uint16_t)(place - code->shift[n]), n);

            if (symbol < HEFT_INFLATE_END)
                add(&b->literals, &literals, word,
                    taking(n, n) | STALE << LEAST | (uint64_t)symbol << LITERAL |
                        UINT64_C(1) << KIND);
            else if (symbol - HEFT_INFLATE_END - 1 < HEFT_COUNT(heft_inflate_lengths))
                add(&b->lengths, &lengths, word,
                    taking(n + heft_inflate_lengths[symbol - HEFT_INFLATE_END - 1].extra, n) |
                        other(HEFT_INFLATE_LENGTH,
                              heft_inflate_lengths[symbol - HEFT_INFLATE_END - 1].least));
        }
    }
    b->literals.first[BITS + 1] = literals;
    b->lengths.first[BITS + 1] = lengths;
}

static void set_distances(struct heft_inflate *z, struct words *words)
{
    const struct heft_inflate_code *code = &z->distances;
    uint32_t made = 0, place = 0;

    memset(z->far, 0, sizeof z->far);
    for (uint32_t n = 1; n <= BITS; n++) {
        words->first[n] = made;
        for (uint32_t k = 0; k < code->count[n]; k++, place++) {
            const uint32_t symbol = code->symbols[place];
            const uint32_t word = heft_inflate_reverse((uint16_t)(place - code->shift[n]), n);
            uint64_t entry;

            if (symbol >= HEFT_COUNT(heft_inflate_distances))
                continue;
            entry = taking(n + heft_inflate_distances[symbol].extra, n) |
                    (uint64_t)heft_inflate_distances[symbol].least << LEAST;
            add(words, &made, word, entry);
            for (uint32_t i = word; n <= HEFT_INFLATE_FAR_BITS && i < HEFT_COUNT(z->far);
                 i += 1u << n)
                z->far[i] = (uint32_t)entry;
        }
    }
    words->first[BITS + 1] = made;
}

/* Lengths with their extra bits, as far as a distance of `least` bits is within reach. */
static void set_matches(struct words *words, const struct words *lengths, uint32_t least)
{
    uint32_t made = 0;

    for (uint32_t n = 1; n <= BITS; n++) {
        words->first[n] = made;
        for (uint32_t i = 0; n + least <= BITS && i < lengths->first[n + 1]; i++) {
            const uint64_t entry = lengths->entry[i];
            const uint32_t before = (uint32_t)(entry >> BEFORE & 0xff);

            if ((entry & 0xff) != n)
                continue;
            for (uint32_t extra = 0; extra < 1u << (n - before); extra++)
                add(words, &made, lengths->word[i] | extra << before,
                    taking(n, n) | ((entry >> LITERAL & 0xffff) + extra) << LENGTH);
        }
    }
    words->first[BITS + 1] = made;
}

/* A match that the fast loop copies without looking has its length in one place, others in another. */
static uint64_t joined(uint32_t near, uint64_t match, uint64_t distance)
{
    const uint32_t length = (uint32_t)(match >> LENGTH), least = (uint32_t)(distance >> LEAST);

    if (length <= near && (least >= 8 || length <= least))
        return match + distance;
    return (match & 0xffff) + distance + other(HEFT_INFLATE_MATCH, length);
}

static void join_matches(uint64_t *table, uint32_t near, const struct build *b, uint32_t n)
{
    const struct words *matches = &b->matches, *distances = &b->distances;

    for (uint32_t k = 1; k < n; k++)
        for (uint32_t i = matches->first[k]; i < matches->first[k + 1]; i++)
            for (uint32_t j = distances->first[n - k]; j < distances->first[n - k + 1]; j++)
                table[matches->word[i] | (uint32_t)distances->word[j] << k] =
                    joined(near, matches->entry[i], distances->entry[j]);
}

static void join_literals(uint64_t *table, const struct words *literals, uint32_t n)
{
    const uint64_t step = (UINT64_C(1) << (SECOND - LITERAL)) - 1;

    for (uint32_t k = 1; k < n; k++)
        for (uint32_t j = literals->first[n - k]; j < literals->first[n - k + 1]; j++) {
            const uint64_t second = literals->entry[j];
            const uint64_t moved = second + (second >> LITERAL & 0xff) * (step << LITERAL);

            for (uint32_t i = literals->first[k]; i < literals->first[k + 1]; i++)
                table[literals->word[i] | (uint32_t)literals->word[j] << k] =
                    literals->entry[i] + moved;
        }
}

static void put(uint64_t *table, const struct words *words, uint32_t n)
{
    for (uint32_t i = words->first[n]; i < words->first[n + 1]; i++)
        table[words->word[i]] = words->entry[i];
}

static uint32_t shortest(const struct heft_inflate_code *code)
{
    uint32_t n = 1;

    while (n < HEFT_INFLATE_MOST && code->count[n] == 0)
        n++;
    return n;
}

/* 8 bytes where hardly a match is longer: the fewer are read of what has just been written, the less
 * often a load waits until stores beside each other are done. */
static uint32_t near_of(const struct words *lengths)
{
    uint32_t some = 0, many = 0;

    for (uint32_t n = 1; n <= BITS; n++)
        for (uint32_t i = lengths->first[n]; i < lengths->first[n + 1]; i++)
            *((lengths->entry[i] >> LITERAL & 0xffff) > 8 ? &many : &some) += 1u << (BITS - n);
    return many < some / 16 ? 8 : 16;
}

void heft_inflate_table_init(struct heft_inflate *z)
{
    struct build b;

    set_symbols(&b, &z->literals);
    set_distances(z, &b.distances);
    set_matches(&b.matches, &b.lengths, shortest(&z->distances));
    z->near = near_of(&b.lengths);
    z->table[0] = other(HEFT_INFLATE_SYMBOL, 0);
    for (uint32_t n = 1; n <= BITS; n++) {
        memcpy(z->table + (1u << (n - 1)), z->table, sizeof *z->table << (n - 1));
        put(z->table, &b.literals, n);
        put(z->table, &b.lengths, n);
        join_literals(z->table, &b.literals, n);
        join_matches(z->table, z->near, &b, n);
    }
}
