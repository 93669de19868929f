/* ptd_into.c: a copy of a .ptd with other weights under the same keys (doc/format/ptd.md).
 *
 *     OLD.ptd   "l2.bias" → bytes            a key that is a tensor's name
 *               "99dded…17" → bytes          a key that a delegate made of the bytes
 *     BASE      l1.weight → bytes ── SHA-256 ──► "99dded…17", or equal bytes under any key
 *     INPUT     l1.weight → new bytes ─────────► written under "99dded…17"
 *
 * Delegates store the weights of a convolution with other orders of dimensions: BASE is hashed in
 * these, too, and the new bytes are written in the same order. Other changes that a delegate makes
 * (packing, folded normalizations) leave no trace of the tensor, which is then an error.
 *
 * Equal tensors of BASE have one key, so that their new values must be equal, too. Keys that
 * nothing explains keep their bytes. Order and alignment are those of OLD.ptd. */
#include "base/text.h"
#include "format/executorch/ptd_digest.h"
#include "format/executorch/ptd_origin.h"

#define NAMES_SHOWN 8
#define LISTED      250 /* bytes of a list of names in a message, about */

/* Names for a message, of which the first are listed. */
struct names {
    struct heft_buf text;
    size_t n, shown;
};

struct into {
    struct heft_ptd_out *o;
    const char *path; /* of OLD.ptd */
    struct heft_model old;
    struct heft_reader reader; /* of old */
    struct heft_ptd_origins base;
    struct heft_strmap items; /* name → item */
    uint32_t *storage_of;     /* for each slot its storage of old */
    uint64_t left;            /* bytes of OLD.ptd that may still be hashed */
    struct names missing;     /* tensors of BASE with a key, and not in INPUT */
    struct names kept;        /* keys that nothing explains */
    bool keeps_missing;
    struct heft_error *err;
};

/* An entry of OLD.ptd. */
struct old_entry {
    struct heft_str key;
    const struct heft_row *row; /* a tensor; NULL: a blob */
    uint32_t storage;
    uint64_t bytes;
};

/* ---- lists of names in messages ------------------------------------------------------------ */

static void add_name(struct names *names, struct heft_str name)
{
    if (names->n == names->shown && names->n < NAMES_SHOWN && names->text.n + name.n < LISTED) {
        heft_buf_text(&names->text, names->n ? ", " : "");
        heft_buf_str(&names->text, name);
        names->shown++;
    }
    names->n++;
}

/* The list as a text in the plan's memory; NULL if that fails. */
static const char *list_names(const struct into *in, const struct names *names)
{
    const char *const text = names->text.p ? names->text.p : "";

    if (!heft_buf_ok(&names->text, in->err))
        return NULL;
    if (names->n > names->shown)
        return heft_arena_printf(in->o->plan->mem, in->err, "%.*s%s%zu more", (int)names->text.n,
                                 text, names->shown ? " and " : "", names->n - names->shown);
    return heft_arena_printf(in->o->plan->mem, in->err, "%.*s", (int)names->text.n, text);
}

/* Fails with the list if it is not empty: "2 tensors WHAT: a, bREMEDY". */
static bool is_empty(const struct into *in, const struct names *names, const char *what,
                     const char *remedy)
{
    const char *const list = names->n ? list_names(in, names) : NULL;

    return names->n == 0 ||
           (list && heft_fail(in->err, HEFT_USAGE, HEFT_NO_OFFSET, "%zu tensor%s %s: %s%s",
                              names->n, names->n == 1 ? "" : "s", what, list, remedy));
}

/* ---- OLD.ptd ------------------------------------------------------------------------------- */

static bool open_old(struct into *in)
{
    const struct heft_plan *const plan = in->o->plan;
    const char *const path = heft_plan_option(plan, HEFT_PTD_INTO).text;

    in->path = heft_arena_text(plan->mem, heft_str_of(path), in->err);
    if (!in->path)
        return false;
    if (heft_path_kind(path) == HEFT_PATH_DIR) {
        heft_fail(in->err, HEFT_USAGE, HEFT_NO_OFFSET,
                  "is a directory: into takes a .ptd if the output is one");
        return heft_error_file(in->err, path);
    }
    if (!heft_registry_open(&in->old, &path, 1, "ptd", in->err) ||
        !heft_model_validate(&in->old, in->err) ||
        !heft_reader_init(&in->reader, &in->old, false, in->err))
        return false;
    in->left = in->old.file_bytes;
    return true;
}

static bool is_over(struct into *in, uint64_t bytes)
{
    if (bytes > in->left) {
        heft_fail(in->err, HEFT_MALFORMED, HEFT_NO_OFFSET,
                  "its keys have more bytes than the file, because segments overlap");
        heft_error_file(in->err, in->path);
        return true;
    }
    in->left -= bytes;
    return false;
}

/* First origin of an entry of OLD.ptd by the digest in its key, else by that of its bytes; in *at,
 * HEFT_NONE if there is none. */
static bool find_by_digest(struct into *in, const struct old_entry *entry, uint32_t *at)
{
    const struct heft_row whole = {.shape = &entry->bytes,
                                   .bytes = entry->bytes,
                                   .storage = entry->storage,
                                   .dtype = HEFT_U8,
                                   .rank = 1};
    uint8_t digest[HEFT_SHA256_BYTES];

    *at = HEFT_NONE;
    if (!in->base.is_open)
        return true;
    if (heft_ptd_parse_digest(entry->key, digest) &&
        (*at = heft_ptd_origins_find(&in->base, digest)) != HEFT_NONE)
        return true;
    if (in->old.storages[entry->storage].is_missing)
        return true;
    if (is_over(in, entry->bytes) ||
        !heft_ptd_hash_row(&in->reader, entry->row ? entry->row : &whole, digest, in->err))
        return false;
    *at = heft_ptd_origins_find(&in->base, digest);
    return true;
}

/* ---- new bytes of a key -------------------------------------------------------------------- */

/* Compares dtype and shape with those of the tensor `old`, which is `whose`. */
static bool fits(struct into *in, const struct heft_export_item *item, const struct heft_row *old,
                 const char *whose)
{
    const enum heft_dtype wanted = (enum heft_dtype)old->dtype;
    struct heft_buf found = {0}, expected = {0};

    if (item->as != old->dtype) {
        heft_fail(in->err, HEFT_USAGE, HEFT_NO_OFFSET, "is %s, %s has %s; cast '%s=%s' would do",
                  heft_dtype_name((enum heft_dtype)item->as), whose, heft_dtype_name(wanted),
                  item->from.p, heft_dtype_name(wanted));
        return heft_error_about(in->err, "tensor", item->name);
    }
    if (item->row->rank == old->rank &&
        (old->rank == 0 ||
         memcmp(item->row->shape, old->shape, old->rank * sizeof *old->shape) == 0))
        return true;
    heft_buf_indexes(&found, item->row->shape, item->row->rank);
    heft_buf_indexes(&expected, old->shape, old->rank);
    if (heft_buf_ok(&found, in->err) && heft_buf_ok(&expected, in->err)) {
        heft_fail(in->err, HEFT_USAGE, HEFT_NO_OFFSET, "has shape %.*s, %s has %.*s",
                  (int)heft_min_u64(found.n, 100), found.p, whose,
                  (int)heft_min_u64(expected.n, 100), expected.p);
        heft_error_about(in->err, "tensor", item->name);
    }
    heft_buf_release(&found);
    heft_buf_release(&expected);
    return false;
}

/* Content of an item whose dimensions are stored in that order; NULL: row-major. */
static bool make_content(struct into *in, const struct heft_export_item *item, const uint8_t *order,
                         struct heft_ptd_content *out)
{
    const bool is_moved = order && !heft_ptd_keeps_order(item->row, order);
    const struct heft_row *row = item->row;

    if (is_moved && (row->parts || !heft_dtype_is_plain((enum heft_dtype)row->dtype))) {
        heft_fail(
            in->err, HEFT_UNSUPPORTED, HEFT_NO_OFFSET,
            "its key needs another order of dimensions, which is not supported for tensors in "
            "parts or of block types");
        return heft_error_about(in->err, "tensor", item->name);
    }
    if (is_moved && !(row = heft_ptd_permuted_row(row, order, in->o->plan->mem, in->err)))
        return false;
    *out = (struct heft_ptd_content){row, item->bytes, item->as};
    return true;
}

/* ---- matching a key ------------------------------------------------------------------------ */

/* The tensors that have one key: their items, and those that INPUT lacks. */
struct match {
    struct heft_ptd_content *contents;
    uint32_t *items;
    size_t n, n_missing;
    struct heft_str missing;
};

static bool add_match(struct into *in, struct match *m, const struct old_entry *entry,
                      const struct heft_ptd_origin *origin, struct heft_str name)
{
    const uint32_t number = heft_strmap_get(&in->items, name);
    const uint8_t *const of_blob = origin ? origin->order : NULL;
    const uint8_t *const order = entry->row ? entry->row->dim_order : of_blob;
    const struct heft_export_item *item;

    if (number == HEFT_MAP_NONE) {
        m->missing = name;
        m->n_missing++;
        return true;
    }
    item = &in->o->exports->items[number];
    if ((origin && !fits(in, item, origin->row, "the base")) ||
        (entry->row && !fits(in, item, entry->row, "the .ptd")) ||
        !make_content(in, item, order, &m->contents[m->n]))
        return false;
    if (item->bytes != entry->bytes) {
        heft_fail(in->err, HEFT_USAGE, HEFT_NO_OFFSET,
                  "has %" PRIu64 " bytes, its key in the .ptd has %" PRIu64, item->bytes,
                  entry->bytes);
        return heft_error_about(in->err, "tensor", item->name);
    }
    in->o->slot_of[number] = (uint32_t)in->o->n;
    m->items[m->n++] = number;
    return true;
}

/* Finds the tensors of a key: by its name, else by digests. */
static bool find_matches(struct into *in, struct match *m, const struct old_entry *entry)
{
    const uint32_t named = heft_strmap_get(&in->base.by_name, entry->key);
    uint32_t at;

    if (named != HEFT_MAP_NONE) {
        return add_match(in, m, entry, &in->base.list[named], entry->key);
    }
    if (heft_strmap_get(&in->items, entry->key) != HEFT_MAP_NONE)
        return add_match(in, m, entry, NULL, entry->key);
    if (!find_by_digest(in, entry, &at))
        return false;
    for (; at != HEFT_NONE; at = in->base.list[at].next) {
        if (!add_match(in, m, entry, &in->base.list[at], in->base.list[at].name))
            return false;
    }
    return true;
}

static bool refuse_together(struct into *in, const struct old_entry *entry, struct heft_str one,
                            struct heft_str other, const char *why)
{
    return heft_fail(in->err, HEFT_USAGE, HEFT_NO_OFFSET,
                     "%.*s and %.*s have the same bytes in the base and so one key, %.*s: %s",
                     (int)heft_min_u64(one.n, 100), one.p, (int)heft_min_u64(other.n, 100), other.p,
                     (int)heft_min_u64(entry->key.n, 80), entry->key.p, why);
}

/* Tensors with one key must all be given, with equal bytes. */
static bool check_together(struct into *in, const struct match *m, const struct old_entry *entry)
{
    const struct heft_export_item *const items = in->o->exports->items;
    struct heft_arena mem = {.budget = in->o->scratch.budget};
    uint32_t *const first = heft_arena_zero(&mem, m->n + 1, sizeof *first, in->err);
    bool ok = first != NULL;

    if (ok && m->n && m->n_missing)
        ok = refuse_together(in, entry, items[m->items[0]].from, m->missing,
                             "only the first has new weights");
    if (ok && m->n > 1)
        ok = heft_ptd_share(in->o->exports->model, m->contents, m->n, first, mem.budget, in->err);
    for (size_t i = 1; ok && i < m->n; i++)
        if (first[i] != 0)
            ok = refuse_together(in, entry, items[m->items[0]].from, items[m->items[i]].from,
                                 "their new bytes differ");
    heft_arena_release(&mem);
    return ok;
}

/* ---- the slots ----------------------------------------------------------------------------- */

static bool copy_layout(struct into *in, const struct heft_row *row, struct heft_ptd_slot *slot)
{
    struct heft_arena *const mem = in->o->plan->mem;
    uint64_t *const shape = heft_arena_u64(mem, row->rank + 1u, in->err);
    uint8_t *const order = shape ? heft_arena_zero(mem, row->rank + 1u, 1, in->err) : NULL;

    if (!order)
        return false;
    if (row->rank)
        memcpy(shape, row->shape, row->rank * sizeof *shape);
    if (row->rank && row->dim_order)
        memcpy(order, row->dim_order, row->rank);
    slot->shape = shape;
    slot->order = row->dim_order ? order : NULL;
    slot->rank = row->rank;
    slot->dtype = row->dtype;
    slot->is_tensor = true;
    return true;
}

/* Lets the slot keep its bytes. */
static bool keep_bytes(struct into *in, const struct old_entry *entry, struct heft_ptd_slot *slot)
{
    const struct heft_storage *const storage = &in->old.storages[entry->storage];

    if (storage->is_missing)
        return heft_reader_refuse_missing(&in->old, entry->storage, in->err);
    slot->file = in->path;
    slot->from = storage->off + (entry->row ? entry->row->offset : 0);
    in->o->contents[in->o->n] = (struct heft_ptd_content){NULL, entry->bytes, HEFT_U8};
    return true;
}

static void take_match(struct into *in, const struct match *m, const struct old_entry *entry,
                       struct heft_ptd_slot *slot)
{
    struct heft_export_item *const items = in->o->exports->items;

    in->o->contents[in->o->n] = m->contents[0];
    for (size_t i = 0; i < m->n; i++) {
        struct heft_export_item *const item = &items[m->items[i]];

        if (item->is_keyed)
            continue;
        item->name = slot->name;
        item->is_keyed = true;
        item->is_blob = !entry->row;
        if (item->is_blob) /* its elements in the order of the blob */
            item->row = m->contents[i].row;
    }
}

static bool add_slot(struct into *in, struct match *m, const struct old_entry *entry)
{
    struct heft_ptd_slot *const slot = &in->o->slots[in->o->n];

    m->n = m->n_missing = 0;
    slot->name.n = entry->key.n;
    slot->name.p = heft_arena_text(in->o->plan->mem, entry->key, in->err);
    if (!slot->name.p || (entry->row && !copy_layout(in, entry->row, slot)) ||
        !find_matches(in, m, entry) || !check_together(in, m, entry))
        return false;
    in->o->first[in->o->n] = (uint32_t)in->o->n;
    in->storage_of[in->o->n] = entry->storage;
    if (m->n)
        take_match(in, m, entry, slot);
    else if (!keep_bytes(in, entry, slot))
        return false;
    if (!m->n && m->n_missing && !in->keeps_missing)
        add_name(&in->missing, m->missing);
    if (!m->n && !m->n_missing)
        add_name(&in->kept, entry->key);
    in->o->n++;
    return true;
}

static struct old_entry entry_of_row(const struct heft_row *row)
{
    return (struct old_entry){row->name, row, row->storage, row->bytes};
}

static struct old_entry entry_of_blob(const struct into *in, const struct heft_model_blob *blob)
{
    return (struct old_entry){blob->name, NULL, blob->storage, in->old.storages[blob->storage].len};
}

/* Adds the entries of OLD.ptd in their order: each blob stands behind a number of rows. */
static bool add_slots(struct into *in, struct match *m)
{
    size_t k = 0;

    for (size_t i = 0; i <= in->old.n_rows; i++) {
        for (; k < in->old.n_blobs && (in->old.blobs[k].behind <= i || i == in->old.n_rows); k++) {
            const struct old_entry blob = entry_of_blob(in, &in->old.blobs[k]);

            if (!add_slot(in, m, &blob))
                return false;
        }
        if (i < in->old.n_rows) {
            const struct old_entry row = entry_of_row(&in->old.rows[i]);

            if (!add_slot(in, m, &row))
                return false;
        }
    }
    return true;
}

/* ---- what is left over ---------------------------------------------------------------------- */

static bool check_missing(const struct into *in)
{
    return is_empty(in, &in->missing, "missing from the new weights",
                    " (option keep-missing keeps those of the .ptd)");
}

/* Every tensor of INPUT must have a key. */
static bool check_unused(const struct into *in)
{
    const struct heft_export_list *const exports = in->o->exports;
    struct names lost = {0}, extra = {0};
    bool ok;

    for (size_t i = 0; i < exports->n_items; i++)
        if (in->o->slot_of[i] == HEFT_NONE)
            add_name(heft_strmap_get(&in->base.by_name, exports->items[i].name) != HEFT_MAP_NONE
                         ? &lost
                         : &extra,
                     exports->items[i].name);
    ok = is_empty(in, &extra,
                  in->base.is_open ? "in neither the base nor the .ptd" : "not in the .ptd",
                  in->base.is_open ? ""
                                   : "; if a delegate named its keys by their bytes, option base "
                                     "tells which tensors they are") &&
         is_empty(in, &lost, "of the base not found in the .ptd, as bytes or as SHA-256 in a key",
                  "; the delegate may have packed or folded them: export the program again, or "
                  "leave them out if they are unchanged");
    heft_buf_release(&lost.text);
    heft_buf_release(&extra.text);
    return ok;
}

/* Keys that nothing explains keep their bytes. */
static bool tell_kept(const struct into *in)
{
    const size_t n = in->kept.n;
    const char *const what =
        in->base.is_open ? "no tensor of the base explains" : "the new weights do not have";
    const char *const list = n ? list_names(in, &in->kept) : NULL;

    if (n == 0)
        return true;
    if (!list)
        return false;
    if (!in->base.is_open && !in->keeps_missing)
        return heft_fail(in->err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "%zu key%s of the .ptd that %s: %s (option base tells which tensors they "
                         "are; option keep-missing keeps them)",
                         n, n == 1 ? "" : "s", what, list);
    if (in->o->plan->request.is_strict)
        return heft_fail(in->err, HEFT_USAGE, HEFT_NO_OFFSET, "%zu key%s of the .ptd that %s: %s",
                         n, n == 1 ? "" : "s", what, list);
    return heft_plan_note(in->o->plan,
                          heft_arena_printf(in->o->plan->mem, in->err,
                                            "%zu key%s of the .ptd that %s, kept: %s", n,
                                            n == 1 ? "" : "s", what, list),
                          in->err);
}

/* ---- layout -------------------------------------------------------------------------------- */

static bool lies_at(const struct into *in, uint64_t alignment)
{
    uint64_t base = UINT64_MAX, end = 0;

    for (size_t i = 0; i < in->old.n_storages; i++)
        base = heft_min_u64(base, in->old.storages[i].off);
    for (size_t i = 0; i < in->old.n_storages; i++) {
        const struct heft_storage *const s = &in->old.storages[i];

        if (s->off % alignment || (i && s->off - base != end + heft_plan_padding(end, alignment)))
            return false;
        end = s->off - base + s->len;
    }
    return true;
}

/* The alignment with which OLD.ptd was written: 128, or the smallest that gives its offsets; else
 * the largest that all of them have. */
static uint64_t old_alignment(const struct into *in)
{
    uint64_t all = HEFT_PTD_MAX_ALIGNMENT;

    if (lies_at(in, in->o->alignment))
        return in->o->alignment;
    for (uint64_t a = 1; a <= HEFT_PTD_MAX_ALIGNMENT; a *= 2)
        if (lies_at(in, a))
            return a;
    for (size_t i = 0; i < in->old.n_storages; i++)
        while (in->old.storages[i].off % all)
            all /= 2;
    return all;
}

/* Slots on one storage of OLD.ptd, in their order. */
struct shared {
    struct heft_ptd_content *contents;
    uint32_t *slots, *first; /* slot of each content, and the first content with its bytes */
};

/* Lets the slots of a chain that begins at `slot` share a segment: those with new bytes if these are
 * equal, those that are kept if they were the same range. */
static bool share_chain(const struct into *in, struct shared *s, uint32_t slot,
                        const uint32_t *next)
{
    struct heft_ptd_out *const o = in->o;
    uint32_t kept = HEFT_NONE;
    size_t n = 0;

    for (uint32_t i = slot; i != HEFT_NONE; i = next[i])
        if (o->contents[i].row) {
            s->slots[n] = i;
            s->contents[n++] = o->contents[i];
        } else if (kept == HEFT_NONE) {
            kept = i;
        } else if (o->contents[i].bytes == o->contents[kept].bytes &&
                   o->slots[i].from == o->slots[kept].from) {
            o->first[i] = kept;
        }
    if (n > 1 &&
        !heft_ptd_share(o->exports->model, s->contents, n, s->first, o->scratch.budget, in->err))
        return false;
    for (size_t i = 0; n > 1 && i < n; i++)
        o->first[s->slots[i]] = s->slots[s->first[i]];
    return true;
}

/* Shares segments as in OLD.ptd, as far as the new bytes allow it. */
static bool share_segments(const struct into *in)
{
    struct heft_ptd_out *const o = in->o;
    struct heft_arena mem = {.budget = o->scratch.budget};
    struct shared s = {heft_arena_zero(&mem, o->n + 1, sizeof *s.contents, in->err),
                       heft_arena_zero(&mem, o->n + 1, sizeof *s.slots, in->err),
                       heft_arena_zero(&mem, o->n + 1, sizeof *s.first, in->err)};
    uint32_t *const next = heft_arena_zero(&mem, o->n + 1, sizeof *next, in->err);
    uint32_t *const begin = heft_arena_zero(&mem, in->old.n_storages + 1, sizeof *begin, in->err);
    bool ok = s.contents && s.slots && s.first && next && begin;

    for (size_t i = 0; ok && i < in->old.n_storages; i++)
        begin[i] = HEFT_NONE;
    for (size_t i = o->n; ok && i > 0; i--) {
        next[i - 1] = begin[in->storage_of[i - 1]];
        begin[in->storage_of[i - 1]] = (uint32_t)(i - 1);
    }
    for (size_t i = 0; ok && i < in->old.n_storages; i++)
        ok = begin[i] == HEFT_NONE || share_chain(in, &s, begin[i], next);
    heft_arena_release(&mem);
    return ok;
}

/* ---- the whole ----------------------------------------------------------------------------- */

static bool take_items(struct into *in)
{
    const struct heft_export_list *const exports = in->o->exports;
    uint32_t other;

    in->o->slot_of =
        heft_arena_zero(&in->o->scratch, exports->n_items + 1, sizeof *in->o->slot_of, in->err);
    if (!in->o->slot_of)
        return false;
    for (size_t i = 0; i < exports->n_items; i++)
        in->o->slot_of[i] = HEFT_NONE;
    for (uint32_t i = 0; i < exports->n_items; i++)
        if (!heft_ptd_check_dims(&exports->items[i], in->err) ||
            !heft_strmap_add(&in->items, exports->items[i].name, i, &other, in->err))
            return false;
    return exports->n_blobs == 0 ||
           heft_fail(
               in->err, HEFT_UNSUPPORTED, HEFT_NO_OFFSET,
               "the new weights have blobs, such as %.*s: only tensors can be put into a .ptd",
               (int)heft_min_u64(exports->blobs[0].name.n, 100), exports->blobs[0].name.p);
}

/* Tensors of one key at most: those of the base, each in its orders. */
static bool fill_slots(struct into *in)
{
    const size_t n = in->base.n + 1, n_slots = in->old.n_rows + in->old.n_blobs;
    struct match m = {0};

    m.contents = heft_arena_zero(&in->o->scratch, n, sizeof *m.contents, in->err);
    m.items = heft_arena_zero(&in->o->scratch, n, sizeof *m.items, in->err);
    in->storage_of = heft_arena_zero(&in->o->scratch, n_slots + 1, sizeof *in->storage_of, in->err);
    return m.contents && m.items && in->storage_of && heft_ptd_out_room(in->o, n_slots, in->err) &&
           add_slots(in, &m);
}

static void release_into(struct into *in)
{
    heft_buf_release(&in->missing.text);
    heft_buf_release(&in->kept.text);
    heft_strmap_release(&in->items);
    heft_ptd_origins_release(&in->base);
    heft_reader_release(&in->reader);
    heft_model_release(&in->old);
}

bool heft_ptd_into(struct heft_ptd_out *o, struct heft_error *err)
{
    const struct heft_option_value base = heft_plan_option(o->plan, HEFT_PTD_BASE);
    struct into in = {.o = o, .err = err};
    bool ok;

    in.keeps_missing = heft_plan_option(o->plan, HEFT_PTD_KEEP_MISSING).is_given;
    heft_model_init(&in.old, &o->plan->model->limits, o->plan->model->formats);
    ok = open_old(&in) &&
         (!base.is_given || heft_ptd_origins_open(&in.base, o->plan, base.text, err)) &&
         take_items(&in) && fill_slots(&in) && check_unused(&in) && check_missing(&in) &&
         tell_kept(&in) && share_segments(&in);
    if (ok && !heft_plan_option(o->plan, HEFT_PTD_SEGMENT_ALIGNMENT).is_given)
        o->alignment = old_alignment(&in);
    o->plan->adds_tensors = ok;
    release_into(&in);
    return ok;
}
