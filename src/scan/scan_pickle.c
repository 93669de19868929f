/* scan_pickle.c: consecutive pickles, as repeated calls of pickle.load read them.
 *
 *     pickle │ pickle │ …     bytes after the first STOP are a trick: a program that loads one
 *                             pickle never sees them
 *     magic │ 1001 │ {…} │ object │ [keys] │ storages
 *                             a legacy torch stream: five pickles, and for each key i64 count, then
 *                             that many numbers
 *
 * The end of a pickle is known only after it was run (heft_pickle_find). Many texts look like a
 * pickle without PROTO. It counts as a pickle if it imports something and ends with STOP, if it
 * calls something or imports a danger before an error, if only a limit of heft ends it, or if
 * its name says pickle. */
#include "scan/scan_parts.h"

#include "base/endian.h"
#include "base/dtype.h"
#include "format/torch/pickle/torch_globals.h"

#define FIRST_WINDOW ((uint64_t)1 << 20)
#define NEXT_WINDOW  ((uint64_t)64 << 10) /* first window after a pickle: usually nothing follows */
#define ONE_WINDOW                                                                                 \
    ((uint64_t)1 << 10) /* first window for one pickle among other data: usually short */
#define MOST_IN_ROW 10000

/* Consecutive pickles of a place. */
struct row {
    struct heft_scan *s;
    const struct heft_scan_place *place;
    struct heft_pickle_window window;
    struct heft_arena mem; /* owns the window */
};

/* Pays for bytes read in a quiet place, because there may be many of them. */
static bool pay_window(void *ctx, uint64_t bytes)
{
    const struct row *row = ctx;

    return !row->place->quiet || heft_scan_pay(row->s, row->place, bytes);
}

static void open_row(struct row *row, struct heft_scan *s, const struct heft_scan_place *place)
{
    *row = (struct row){.s = s,
                        .place = place,
                        .window = {.src = place->src,
                                   .whole = place->bytes,
                                   .mem = &row->mem,
                                   .least = NEXT_WINDOW,
                                   .pay = pay_window,
                                   .ctx = row}};
}

static bool is_real(const struct heft_scan_place *place, const struct heft_pickle *pickle,
                    bool done, const struct heft_error *why)
{
    const struct heft_bytes data = pickle->data;
    const bool has_proto = data.n >= 2 && data.p[0] == 0x80 && data.p[1] <= 5;

    if (place->named)
        return true;
    /* A pickle with an error before its first value does not count: 80 00 may also be the size
     * of a safetensors header. After an opcode that leaves its frame, the C unpickler may
     * continue. */
    if (has_proto && !place->quiet)
        return done || why->code == HEFT_LIMIT || pickle->count > 0 ||
               pickle->bent != HEFT_PICKLE_NIL;
    if (done)
        return has_proto || heft_scan_has_names(pickle);
    if (has_proto && heft_scan_has_names(pickle))
        return true;
    return why->code == HEFT_LIMIT || pickle->bent != HEFT_PICKLE_NIL ||
           heft_scan_acts(place, pickle);
}

/* Judges a pickle after its run, and calls the callback. */
static bool judge_pickle(struct heft_scan *s, const struct heft_scan_place *place, uint64_t at,
                         const struct heft_pickle *pickle, const struct heft_error *why,
                         struct heft_scan_run *run, struct heft_error *err)
{
    run->length = pickle->next;
    run->is_magic = run->done && heft_torch_is_magic(pickle);
    run->real = is_real(place, pickle, run->done, why);
    if (!run->real)
        return true;
    if (!run->done)
        heft_scan_report_failure(s, why);
    return heft_scan_judge(s, place, at, pickle, err) &&
           (!run->visit || !run->done || run->visit(run->ctx, pickle, err));
}

/* Runs and judges the pickle at `at`; `first`: bytes of the first window. */
static bool run_pickle(struct row *row, uint64_t at, uint64_t first, struct heft_scan_run *run,
                       struct heft_error *err)
{
    const struct heft_scan_place *place = row->place;
    struct heft_scan *s = row->s;
    const struct heft_pickle_limits limits = {.opcodes = s->limits->opcodes,
                                              .nodes = s->nodes ? s->nodes : 1,
                                              .text = s->limits->pickle,
                                              .lenient = true};
    const struct heft_pickle_place where = {.off = at,
                                            .end = place->src->size,
                                            .base = place->base,
                                            .first = first,
                                            .cap = s->limits->pickle};
    struct heft_arena graph = {0};
    struct heft_error why = {0};
    struct heft_pickle pickle;
    enum heft_pickle_end end;
    bool ok = true;

    end = heft_pickle_find(&pickle, &row->window, &where, &limits, &graph, &why);
    run->done = end == HEFT_PICKLE_STOPPED;
    if (end == HEFT_PICKLE_UNREAD) {
        *err = why;
        ok = false;
    } else if (end != HEFT_PICKLE_UNPAID) {
        ok = judge_pickle(s, place, at, &pickle, &why, run, err);
    }
    heft_arena_release(&graph);
    return ok;
}

bool heft_scan_pickle(struct heft_scan *s, const struct heft_scan_place *place, uint64_t at,
                      struct heft_scan_run *run, struct heft_error *err)
{
    struct row row;
    bool ok;

    *run = (struct heft_scan_run){.visit = run->visit, .ctx = run->ctx};
    if (at >= place->src->size)
        return true;
    open_row(&row, s, place);
    ok = run_pickle(&row, at, ONE_WINDOW, run, err);
    heft_arena_release(&row.mem);
    return ok;
}

/* ---- the rest of a legacy stream --------------------------------------------------------- */

struct legacy {
    struct heft_strmap sizes; /* key of a storage → bytes of an element */
    struct heft_arena mem;
    uint32_t *listed; /* bytes of an element, for each key in the fifth pickle */
    uint32_t n;
    bool known; /* all of them are known */
};

uint32_t heft_scan_element_size(const struct heft_pickle *pickle, uint32_t type)
{
    const struct heft_torch_global *known;
    struct heft_str name;

    if (heft_pickle_at(pickle, type)->kind != HEFT_PICKLE_GLOBAL ||
        heft_pickle_at(pickle, type)->module == HEFT_PICKLE_NIL)
        return 0;
    name = heft_pickle_text(pickle, type);
    known = heft_torch_lookup(heft_pickle_text(pickle, heft_pickle_at(pickle, type)->module), name);
    if (!known)
        return 0;
    if (known->kind == HEFT_TORCH_UNTYPED)
        return 1;
    if (known->dtype < HEFT_DTYPE_COUNT)
        return heft_dtype_element_bytes((enum heft_dtype)known->dtype);
    if (heft_str_is(name, "QInt32Storage"))
        return 4;
    return known->kind == HEFT_TORCH_STORAGE && name.p[0] == 'Q' ? 1 : 0;
}

static bool keep_sizes(void *ctx, const struct heft_pickle *pickle, struct heft_error *err)
{
    struct legacy *l = ctx;

    for (uint32_t i = 0; i < pickle->count; i++) {
        const struct heft_pickle_node *node = heft_pickle_at(pickle, i);
        uint32_t type, key;
        struct heft_str text;

        if (node->kind != HEFT_PICKLE_PERSID ||
            heft_pickle_at(pickle, node->u.call.args)->kind != HEFT_PICKLE_TUPLE)
            continue;
        type = heft_pickle_item(pickle, node->u.call.args, 1);
        key = heft_pickle_item(pickle, node->u.call.args, 2);
        if (key == HEFT_PICKLE_NIL || (heft_pickle_at(pickle, key)->kind != HEFT_PICKLE_STR &&
                                       heft_pickle_at(pickle, key)->kind != HEFT_PICKLE_PY2STR))
            continue;
        text = heft_pickle_text(pickle, key);
        if (text.n > 1024 || heft_strmap_get(&l->sizes, text) != HEFT_MAP_NONE)
            continue;
        text.p = heft_arena_text(&l->mem, text, err);
        if (!text.p || !heft_strmap_set(&l->sizes, text, heft_scan_element_size(pickle, type), err))
            return false;
    }
    return true;
}

static bool keep_list(void *ctx, const struct heft_pickle *pickle, struct heft_error *err)
{
    const struct heft_pickle_node *root = heft_pickle_at(pickle, pickle->root);
    struct legacy *l = ctx;
    struct heft_pickle_iter iter = heft_pickle_items(pickle, pickle->root);
    uint32_t key;

    l->listed = heft_arena_alloc(
        &l->mem, (size_t)heft_pickle_count(pickle, pickle->root) * sizeof *l->listed, err);
    l->known = l->listed && root->kind == HEFT_PICKLE_LIST;
    while (l->known && heft_pickle_next(&iter, &key)) {
        const unsigned kind = heft_pickle_at(pickle, key)->kind;

        l->listed[l->n] = HEFT_MAP_NONE;
        if (kind == HEFT_PICKLE_STR || kind == HEFT_PICKLE_PY2STR)
            l->listed[l->n] = heft_strmap_get(&l->sizes, heft_pickle_text(pickle, key));
        l->known = l->listed[l->n] != HEFT_MAP_NONE && l->listed[l->n] != 0;
        l->n++;
    }
    return l->listed != NULL;
}

/* Skips the storages and moves *at to the end of the last. False if the stream is malformed. */
static bool skip_storages(const struct legacy *l, const struct heft_scan_place *place, uint64_t *at,
                          struct heft_error *why)
{
    for (uint32_t i = 0; i < l->n; i++) {
        uint8_t count[8];
        uint64_t bytes;

        if (!heft_source_read(place->src, *at, count, sizeof count, why))
            return false;
        if (!heft_mul(heft_le64(count), l->listed[i], &bytes) ||
            !heft_within(*at + sizeof count, bytes, place->src->size))
            return heft_fail(why, HEFT_MALFORMED, heft_scan_offset(place, *at),
                             "storage %" PRIu32 " of %" PRIu32 " has %" PRIu64
                             " elements, the file ends before their last",
                             i + 1, l->n, heft_le64(count));
        *at += sizeof count + bytes;
    }
    return true;
}

static bool scan_after(struct heft_scan *s, const struct heft_scan_place *place, uint64_t at,
                       const char *what, struct heft_error *err)
{
    struct heft_scan_run run = {0};

    return heft_scan_report_text(s, place, at, HEFT_DANGER, "trick",
                                 heft_arena_printf(&s->mem, err, "%" PRIu64 " bytes after %s",
                                                   place->src->size - at, what)) &&
           heft_scan_pickle(s, place, at, &run, err);
}

static bool scan_storages(struct heft_scan *s, const struct legacy *l,
                          const struct heft_scan_place *place, uint64_t at, struct heft_error *err)
{
    struct heft_error why = {0};

    if (!l->known)
        return true; /* the end of the storages is not known */
    if (!skip_storages(l, place, &at, &why)) {
        heft_scan_report_failure(s, &why);
        return true;
    }
    return at == place->src->size || scan_after(s, place, at, "the last storage", err);
}

/* Scans the legacy stream after the magic number. */
static bool scan_legacy(struct heft_scan *s, const struct heft_scan_place *place, uint64_t at,
                        struct heft_error *err)
{
    static heft_scan_visit *const visits[] = {NULL, NULL, keep_sizes, keep_list};
    struct heft_scan_place rest = *place;
    struct legacy legacy = {0};
    struct heft_scan_run run = {.ctx = &legacy, .done = true};
    bool ok = true;

    rest.named = true; /* every following item must be a pickle */
    for (size_t i = 0; ok && run.done && i < HEFT_COUNT(visits); i++) {
        run.visit = visits[i];
        ok = heft_scan_pickle(s, &rest, at, &run, err);
        at += run.length;
    }
    if (ok && run.done)
        ok = scan_storages(s, &legacy, place, at, err);
    heft_strmap_release(&legacy.sizes);
    heft_arena_release(&legacy.mem);
    return ok;
}

/* ---- consecutive pickles ----------------------------------------------------------------- */

static bool too_many(struct heft_scan *s, const struct heft_scan_place *place, uint64_t at)
{
    struct heft_error why = {0};

    heft_fail(&why, HEFT_LIMIT, heft_scan_offset(place, at), "more than %d consecutive pickles",
              MOST_IN_ROW);
    heft_scan_report_failure(s, &why);
    return true;
}

/* Scans the pickles after the first, which ended at `at`. reported: the first counts as a
 * pickle, so any following bytes are a trick. */
static bool scan_row(struct row *row, uint64_t at, bool reported, struct heft_error *err)
{
    const struct heft_scan_place *place = row->place;
    const uint64_t first = at;
    struct heft_scan *s = row->s;
    struct heft_scan_run run = {.done = true};

    if (reported && !heft_scan_report_text(
                        s, place, at, HEFT_DANGER, "trick",
                        heft_arena_printf(&s->mem, err, "%" PRIu64 " bytes after the pickle's STOP",
                                          place->src->size - at)))
        return false;
    for (unsigned i = 0; run.done && at < place->src->size; i++) {
        if (i == MOST_IN_ROW)
            return too_many(s, place, at);
        run = (struct heft_scan_run){0};
        if (!run_pickle(row, at, NEXT_WINDOW, &run, err))
            return false;
        if (run.real && !reported &&
            !heft_scan_report_text(s, place, first, HEFT_DANGER, "trick",
                                   "a pickle after other bytes that end with STOP"))
            return false;
        reported |= run.real;
        at += run.length;
    }
    return true;
}

bool heft_scan_pickles(struct heft_scan *s, const struct heft_scan_place *place, uint64_t at,
                       struct heft_error *err)
{
    struct heft_scan_place rest = *place;
    struct heft_scan_run run = {0};
    struct row row;
    bool ok;

    if (at >= place->src->size)
        return true;
    open_row(&row, s, place);
    ok = run_pickle(&row, at, FIRST_WINDOW, &run, err);
    at += run.length;
    rest.named = false; /* the following bytes may be anything */
    row.place = &rest;
    if (ok && run.is_magic)
        ok = scan_legacy(s, place, at, err);
    else if (ok && run.done && at < place->src->size)
        ok = scan_row(&row, at, run.real, err);
    heft_arena_release(&row.mem);
    return ok;
}
