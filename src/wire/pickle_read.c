/* pickle_read.c: pickles of unknown length, which end at their STOP.
 *
 *     off                                                              end
 *      │ window of `first` bytes │ four times that │ …                  │
 *      ▼ opcode … '.' │ other data                                      ▼
 *
 * A pickle that is cut off by the window is run again on a larger window, from its begin: windows
 * grow so fast that all runs together take a third more than the last one. */
#include "wire/pickle.h"

/* Opcodes with a length before their argument, and those whose argument is a line, or two. All
 * others have at most eight bytes. */
static const char LENGTHS[] = "XTBUC\x8b\x8c\x8d\x8e\x95\x96", LINES[] = "VSFLIPpg",
                  TWO_LINES[] = "ci";
#define SHORT_ARGUMENT 16

static bool is_one_of(uint8_t opcode, const char *set)
{
    return memchr(set, opcode, strlen(set)) != NULL;
}

/* True if so many lines end in data[at …). */
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

/* ---- windows ----------------------------------------------------------------------------- */

static bool open_window(struct heft_pickle_window *w, uint64_t at, uint64_t n,
                        struct heft_error *err)
{
    w->from = at;
    if (w->whole.p) {
        w->bytes = (struct heft_bytes){w->whole.p + at, w->whole.n - (size_t)at};
        return true;
    }
    w->bytes = (struct heft_bytes){0};
    heft_arena_release(w->mem);
    return heft_source_fetch(w->src, at, n, w->mem, &w->bytes, err);
}

static bool has_position(const struct heft_pickle_window *w, uint64_t at)
{
    return at >= w->from && at - w->from < w->bytes.n;
}

static enum heft_pickle_end end_too_long(const struct heft_pickle_place *place,
                                         struct heft_error *why)
{
    heft_fail(why, HEFT_LIMIT, why->offset,
              "a pickle of more than %" PRIu64 " bytes: limits.pickle", place->cap);
    return HEFT_PICKLE_TOO_LONG;
}

/* The offset of an error is that of the pickle, plus the position reached by the machine. */
static bool is_cut_off(struct heft_bytes data, uint64_t base, const struct heft_error *why)
{
    return why->code == HEFT_MALFORMED &&
           heft_pickle_wants_more(data, base == HEFT_NO_OFFSET ? 0 : why->offset - base);
}

enum heft_pickle_end heft_pickle_find(struct heft_pickle *out, struct heft_pickle_window *w,
                                      const struct heft_pickle_place *place,
                                      const struct heft_pickle_limits *limits,
                                      struct heft_arena *arena, struct heft_error *why)
{
    const uint64_t base = place->base == HEFT_NO_OFFSET ? HEFT_NO_OFFSET : place->base + place->off;
    const uint64_t room = place->end - place->off, most = heft_min_u64(room, place->cap);
    struct heft_pickle_limits l = limits ? *limits : (struct heft_pickle_limits){0};
    uint64_t n = heft_min_u64(most, place->first);

    if (!has_position(w, place->off) && !open_window(w, place->off, n, why))
        return HEFT_PICKLE_UNREAD;
    for (;;) {
        const size_t skip = (size_t)(place->off - w->from);
        const struct heft_bytes data = {w->bytes.p + skip,
                                        (size_t)heft_min_u64(w->bytes.n - skip, most)};

        *why = (struct heft_error){0};
        l.at_end = data.n == room;
        if (heft_pickle_run(out, data, base, &l, arena, why))
            return HEFT_PICKLE_STOPPED;
        if (why->code == HEFT_NOMEM)
            return HEFT_PICKLE_UNREAD;
        if (l.at_end || !is_cut_off(data, base, why))
            return HEFT_PICKLE_BROKEN;
        if (data.n == most)
            return end_too_long(place, why);
        heft_arena_release(arena);
        n = heft_min_u64(most, heft_max_u64(4 * (uint64_t)data.n, w->least));
        if (w->pay && !w->pay(w->ctx, n))
            return HEFT_PICKLE_UNPAID;
        if (!open_window(w, place->off, n, why))
            return HEFT_PICKLE_UNREAD;
    }
}

bool heft_pickle_read(struct heft_pickle *out, const struct heft_source *src,
                      const struct heft_pickle_place *place,
                      const struct heft_pickle_limits *limits, struct heft_arena *arena,
                      struct heft_error *err)
{
    const bool placed = place->base != HEFT_NO_OFFSET;
    struct heft_pickle_window w = {.src = src, .mem = arena};
    struct heft_pickle_place at = *place;
    struct heft_error why = {0};
    enum heft_pickle_end end;

    at.base = placed ? place->base : 0;
    end = heft_pickle_find(out, &w, &at, limits, arena, &why);
    if (end == HEFT_PICKLE_STOPPED) {
        out->data.n = out->length;
        return true;
    }
    if (end == HEFT_PICKLE_TOO_LONG)
        why.offset = at.base + at.off;
    if (!placed && end != HEFT_PICKLE_UNREAD)
        why.offset = HEFT_NO_OFFSET; /* positions are given in the text */
    *err = why;
    return false;
}

void heft_pickle_become(struct heft_pickle *pickle, uint32_t persid, uint32_t global)
{
    struct heft_pickle_node *node = pickle->made + persid;
    const uint32_t at = node->at;

    *node = pickle->made[global];
    node->at = at;
}
