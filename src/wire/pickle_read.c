/* pickle_read.c: a pickle whose end is not known: nothing but its STOP says where it is.
 *
 *     off                                                              end
 *      │ window of `first` bytes │ four times that │ …                  │
 *      ▼ opcode … '.' │ whatever follows                                ▼
 *
 * A pickle that fails for want of bytes is run again on a wider window, from its beginning: the
 * windows grow so fast that all of it takes a third more than the last run alone. */
#include "wire/pickle.h"

/* Opcodes with a length before their argument, and those whose argument is a line, or two. All
 * others have eight bytes at most. */
static const char LENGTHS[] = "XTBUC\x8b\x8c\x8d\x8e\x95\x96", LINES[] = "VSFLIPpg",
                  TWO_LINES[] = "ci";
#define SHORT_ARGUMENT 16

static bool is_one_of(uint8_t opcode, const char *set)
{
    return memchr(set, opcode, strlen(set)) != NULL;
}

/* Whether so many lines end in data[at …). */
static bool has_lines(struct heft_bytes data, size_t at, unsigned lines)
{
    for (; lines; lines--) {
        const uint8_t *end = memchr(data.p + at, '\n', data.n - at);

        if (!end)
            return false;
        at = (size_t)(end - data.p) + 1;
    }
    return true;
}

bool heft_pickle_wants_more(struct heft_bytes data, uint64_t at)
{
    if (at >= data.n || data.n - at < SHORT_ARGUMENT)
        return true;
    if (is_one_of(data.p[at], LINES) || is_one_of(data.p[at], TWO_LINES))
        return !has_lines(data, (size_t)at, is_one_of(data.p[at], LINES) ? 1 : 2);
    return is_one_of(data.p[at], LENGTHS);
}

static bool over_limit(const struct heft_pickle_place *place, struct heft_error *err)
{
    return heft_fail(err, HEFT_LIMIT,
                     place->base == HEFT_NO_OFFSET ? HEFT_NO_OFFSET : place->base + place->off,
                     "a pickle of more than %" PRIu64 " bytes: limits.pickle", place->cap);
}

bool heft_pickle_read(struct heft_pickle *out, const struct heft_source *src,
                      const struct heft_pickle_place *place,
                      const struct heft_pickle_limits *limits, struct heft_arena *arena,
                      struct heft_error *err)
{
    const bool placed = place->base != HEFT_NO_OFFSET;
    const uint64_t base = placed ? place->base + place->off : 0;
    const uint64_t most = heft_min_u64(place->end - place->off, place->cap);
    uint64_t n = heft_min_u64(most, place->first);
    struct heft_error why;
    struct heft_bytes data;

    for (;; n = heft_min_u64(most, 4 * n)) {
        if (!heft_source_fetch(src, place->off, n, arena, &data, err))
            return false;
        why = (struct heft_error){0};
        if (heft_pickle_run(out, data, base, limits, arena, &why)) {
            out->data.n = out->length;
            return true;
        }
        if (why.code != HEFT_MALFORMED || !heft_pickle_wants_more(data, why.offset - base))
            break;
        if (n == most && most == place->cap && most < place->end - place->off)
            return over_limit(place, err);
        if (n == most)
            break;
        heft_arena_release(arena);
    }
    *err = why;
    if (!placed)
        err->offset = HEFT_NO_OFFSET; /* positions stand in the text */
    return false;
}

void heft_pickle_become(struct heft_pickle *pickle, uint32_t persid, uint32_t global)
{
    struct heft_pickle_node *node = pickle->made + persid;
    const uint32_t at = node->at;

    *node = pickle->made[global];
    node->at = at;
}
