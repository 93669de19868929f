/* torch_legacy_read.c: reads the stream of torch.save before 1.6: a file, or bytes within the
 * pickle of a tensor (torch_nested.c). Five pickles, then the storages.
 *
 *     pickle  0x1950A86A20F9469CFC6C            in any protocol: 80 02 8a 0a 6c fc 9c … 2e, "L1195…"
 *     pickle  1001
 *     pickle  {"protocol_version": 1001, "little_endian": True, "type_sizes": {…}}
 *     pickle  the object
 *     pickle  ["94278368614880", "94278455185632", …]      keys, sorted as text
 *     int64 count, count × size bytes           for each key of that list, always little-endian
 *
 *     BINPERSID ("storage", class, key, location, count, view)
 *                view: None, or (key of the view, first element, elements) of the storage `key`
 *     BINPERSID ("module", class, source file, source text)    denotes the class
 *
 * The fourth pickle gives the size of each storage, the fifth their order, and so their positions.
 * The storages are therefore placed between running the object's pickle and walking its graph. */
#include "format/torch/pickle/torch_legacy.h"

#define FIRST_SMALL                                                                                \
    ((uint64_t)1 << 10) /* bytes of the pickles around the object to read in the first attempt */
#define VERSION 1001

/* ---- persistent ids ---------------------------------------------------------------------- */

static bool add_storage(struct heft_torch *t, uint32_t id, const struct heft_torch_storage *s,
                        uint32_t root, struct heft_error *err)
{
    struct heft_torch_legacy *l = t->inside;

    if (!heft_grow(&l->roots, &l->cap_roots, t->n_storages, 1, sizeof *l->roots, err))
        return false;
    l->roots[t->n_storages] = root;
    return heft_torch_add_storage(t, id, s, err);
}

/* The root storage that an id refers to; it becomes the meaning of the id. */
static bool find_root(struct heft_torch *t, uint32_t id, const struct heft_torch_storage *s,
                      struct heft_error *err)
{
    const struct heft_torch_legacy *l = t->inside;
    uint32_t found;

    if (!heft_strmap_add(&t->keys, s->key, (uint32_t)t->n_storages, &found, err))
        return false;
    if (found == HEFT_MAP_NONE)
        return add_storage(t, id, s, HEFT_NONE, err);
    if (l->roots[found] != HEFT_NONE)
        return heft_fail(err, HEFT_UNSUPPORTED, heft_torch_where(t, id),
                         "storage %.*s is itself a view: a view of a view is not supported",
                         (int)heft_min_u64(s->key.n, 100), s->key.p);
    /* True if two ids may share a storage: the class of an empty storage does not matter. */
    if (s->elements == 0 && t->storages[found].elements == 0 && s->type != t->storages[found].type)
        return add_storage(t, id, s, found, err);
    return heft_torch_same_storage(t, id, found, s, err);
}

static bool bad_view(const struct heft_torch *t, uint32_t id, const char *why,
                     struct heft_error *err)
{
    return heft_fail(err, HEFT_MALFORMED, heft_torch_where(t, id), "storage view %s", why);
}

/* Parses (key, first element, elements), the description of a view. */
static bool read_view(const struct heft_torch *t, uint32_t id, uint32_t node,
                      const struct heft_torch_storage *root, struct heft_torch_storage *out,
                      struct heft_error *err)
{
    const uint32_t key = heft_torch_item(t, node, 0), first = heft_torch_item(t, node, 1),
                   count = heft_torch_item(t, node, 2);
    const uint64_t each = heft_torch_element_bytes(root->type);
    uint64_t from;

    if ((!heft_torch_is(t, node, HEFT_PICKLE_TUPLE) && !heft_torch_is(t, node, HEFT_PICKLE_LIST)) ||
        heft_torch_count(t, node) != 3 || !heft_torch_is_text(t, key) ||
        !heft_torch_is(t, first, HEFT_PICKLE_INT) || !heft_torch_is(t, count, HEFT_PICKLE_INT))
        return bad_view(t, id, "is not (key, first element, elements)", err);
    if (heft_torch_node(t, first)->u.integer < 0 || heft_torch_node(t, count)->u.integer < 0)
        return bad_view(t, id, "has negative numbers", err);
    from = (uint64_t)heft_torch_node(t, first)->u.integer;
    *out = *root;
    out->key = heft_pickle_text(&t->pickle, key);
    out->elements = heft_torch_node(t, count)->u.integer;
    if (!heft_within(from, (uint64_t)out->elements, (uint64_t)root->elements))
        return heft_fail(
            err, HEFT_MALFORMED, heft_torch_where(t, id),
            "storage view covers elements %" PRIu64 " to +%" PRId64 ", storage %.*s has %" PRId64,
            from, out->elements, (int)heft_min_u64(root->key.n, 100), root->key.p, root->elements);
    out->begin = from * each; /* no overflow: within root->bytes */
    out->bytes = (uint64_t)out->elements * each;
    return true;
}

/* The view that an id refers to; sets t->meanings[id]. */
static bool find_view(struct heft_torch *t, uint32_t id, uint32_t node, struct heft_error *err)
{
    const struct heft_torch_legacy *l = t->inside;
    const uint32_t root = t->meanings[id];
    struct heft_torch_storage view;
    const struct heft_torch_storage *first;
    uint32_t found;

    if (!read_view(t, id, node, &t->storages[root], &view, err) ||
        !heft_strmap_add(&t->keys, view.key, (uint32_t)t->n_storages, &found, err))
        return false;
    if (found == HEFT_MAP_NONE)
        return add_storage(t, id, &view, root, err);
    first = &t->storages[found];
    if ((found != root && l->roots[found] != root) || first->begin != view.begin ||
        first->elements != view.elements || first->type != view.type)
        return bad_view(t, id, "differs from an earlier view with the same key", err);
    t->meanings[id] = found;
    return true;
}

/* ("module", class, source file, source text): the source is ignored. */
static bool is_module(const struct heft_torch *t, uint32_t args)
{
    return heft_torch_is(t, args, HEFT_PICKLE_TUPLE) &&
           heft_torch_is_word(t, heft_torch_item(t, args, 0), HEFT_STR("module"));
}

static bool take_persid(struct heft_torch *t, uint32_t id, struct heft_error *err)
{
    const uint32_t args = heft_torch_node(t, id)->u.call.args;
    struct heft_torch_storage s = {.storage = HEFT_NONE};
    bool is_meta;
    uint32_t view;

    if (is_module(t, args))
        return heft_torch_count(t, args) == 4
                   ? heft_torch_become_class(t, id, heft_torch_item(t, args, 1), err)
                   : heft_fail(err, HEFT_MALFORMED, heft_torch_where(t, id),
                               "persistent id has %u items, expected 4: (\"module\", class, file, "
                               "source)",
                               heft_torch_count(t, args));
    if (!heft_torch_read_persid(t, id, &s, &is_meta, &view, err))
        return false;
    if (view == HEFT_PICKLE_NIL)
        return heft_fail(err, HEFT_MALFORMED, heft_torch_where(t, id),
                         "persistent id has 5 items, a legacy stream has 6: (\"storage\", class, "
                         "key, location, elements, view)");
    return find_root(t, id, &s, err) &&
           (heft_torch_is(t, view, HEFT_PICKLE_NONE) || find_view(t, id, view, err));
}

static const struct heft_torch_container container = {.storage = take_persid};

/* ---- the pickles before the object ------------------------------------------------------- */

static bool read_magic(const struct heft_torch_stream *in, const struct heft_pickle *pickle,
                       uint64_t at, struct heft_error *err)
{
    return heft_torch_is_magic(pickle) ||
           heft_fail(
               err, HEFT_MALFORMED, heft_torch_stream_at(in, at),
               "the first pickle is not the magic number 0x1950a86a20f9469cfc6c of legacy streams");
}

static bool read_version(const struct heft_torch_stream *in, const struct heft_pickle *pickle,
                         uint64_t at, struct heft_error *err)
{
    const struct heft_pickle_node *root = heft_pickle_at(pickle, pickle->root);

    if (root->kind != HEFT_PICKLE_INT)
        return heft_fail(err, HEFT_MALFORMED, heft_torch_stream_at(in, at),
                         "the protocol version is not an integer, expected %d", VERSION);
    return root->u.integer == VERSION ||
           heft_fail(err, HEFT_UNSUPPORTED, heft_torch_stream_at(in, at),
                     "protocol version %" PRId64 ", expected %d", root->u.integer, VERSION);
}

/* Reads the system information, which torch ignores: its byte order was never that of the
 * storages. */
static bool read_system(const struct heft_torch_stream *in, const struct heft_pickle *pickle,
                        uint64_t at, struct heft_error *err)
{
    struct heft_pickle_iter iter = heft_pickle_items(pickle, pickle->root);
    uint32_t key, value;

    if (heft_pickle_at(pickle, pickle->root)->kind != HEFT_PICKLE_DICT)
        return heft_model_note(in->model, HEFT_NOTE, in->source, in->origin + at, err,
                               "the third pickle is not a dict that describes the system");
    while (heft_pickle_next(&iter, &key) && heft_pickle_next(&iter, &value)) {
        const struct heft_pickle_node *k = heft_pickle_at(pickle, key),
                                      *v = heft_pickle_at(pickle, value);

        if ((k->kind == HEFT_PICKLE_STR || k->kind == HEFT_PICKLE_PY2STR) &&
            heft_str_is(heft_pickle_text(pickle, key), "little_endian") &&
            v->kind == HEFT_PICKLE_BOOL && v->u.integer == 0 &&
            !heft_model_note(
                in->model, HEFT_NOTE, in->source, in->origin + at, err,
                "written on a big-endian machine: its storages are little-endian nevertheless"))
            return false;
    }
    return true;
}

static const struct preface {
    const char *name;
    bool (*read)(const struct heft_torch_stream *in, const struct heft_pickle *pickle, uint64_t at,
                 struct heft_error *err);
} PREFACES[] = {
    {"magic number", read_magic},
    {"protocol version", read_version},
    {"system", read_system},
};

static bool read_prefaces(const struct heft_torch_stream *in, uint64_t *at, struct heft_error *err)
{
    struct heft_arena mem = {0};
    struct heft_pickle pickle;
    bool ok = true;

    for (size_t i = 0; ok && i < HEFT_COUNT(PREFACES); i++) {
        ok = heft_torch_stream_pickle(in, *at, FIRST_SMALL, &pickle, &mem, err) &&
             PREFACES[i].read(in, &pickle, *at, err) &&
             (in->is_nested || heft_torch_stream_claim(in, *at, pickle.length, "pickle ",
                                                       heft_str_of(PREFACES[i].name), err));
        *at += ok ? pickle.length : 0;
        heft_arena_release(&mem);
    }
    return ok;
}

/* ---- the pickle of the object ------------------------------------------------------------ */

/* A nested stream is refused as a whole: its missing parts are missing from the outer pickle. */
static bool is_salvaged(const struct heft_torch_stream *in)
{
    return in->model->salvage && !in->is_nested;
}

/* Ids without a usable storage were added as lost ones, which are not in the list of keys. */
static bool set_lost_apart(struct heft_torch_legacy *l, struct heft_error *err)
{
    const struct heft_torch *t = l->t;

    if (!heft_grow(&l->roots, &l->cap_roots, t->n_storages, 1, sizeof *l->roots, err))
        return false;
    for (uint32_t i = 0; i < t->n_storages; i++)
        if (t->storages[i].lost)
            l->roots[i] = i;
    return true;
}

static bool read_object(struct heft_torch_legacy *l, uint64_t *at, struct heft_error *err)
{
    const bool ok = is_salvaged(l->in) ? heft_torch_legacy_salvage_object(l, *at, err)
                                       : heft_torch_stream_object(l->in, *at, l->t, err);

    *at += ok ? l->t->pickle.length : 0;
    return ok && set_lost_apart(l, err);
}

/* ---- keys of the storages ---------------------------------------------------------------- */

static bool bad_key(const struct heft_torch_legacy *l, uint64_t at, struct heft_str key,
                    const char *why, struct heft_error *err)
{
    return heft_fail(err, HEFT_MALFORMED, heft_torch_stream_at(l->in, at),
                     "the list of storage keys %s %.*s", why, (int)heft_min_u64(key.n, 100), key.p);
}

static bool take_key(struct heft_torch_legacy *l, const struct heft_pickle *keys, uint32_t node,
                     uint64_t at, struct heft_error *err)
{
    const uint8_t kind = heft_pickle_at(keys, node)->kind;
    struct heft_torch *t = l->t;
    struct heft_str key;
    uint32_t found;

    if (kind != HEFT_PICKLE_STR && kind != HEFT_PICKLE_PY2STR)
        return bad_key(l, at, HEFT_STR("text"), "contains an invalid", err);
    key = heft_pickle_text(keys, node);
    found = heft_strmap_get(&t->keys, key);
    if (found == HEFT_MAP_NONE)
        return bad_key(l, at, key, "refers to an unknown storage", err);
    if (l->roots[found] != HEFT_NONE)
        return bad_key(l, at, key, "refers to a view, not a storage:", err);
    if (t->storages[found].used)
        return bad_key(l, at, key, "has a duplicate:", err);
    t->storages[found].used = true; /* temporarily: restored by all_keys */
    if (!heft_grow(&l->order, &l->cap_order, l->n_order, 1, sizeof *l->order, err))
        return false;
    l->order[l->n_order++] = found;
    return true;
}

static bool all_keys(struct heft_torch_legacy *l, uint64_t at, struct heft_error *err)
{
    struct heft_torch *t = l->t;

    for (size_t i = 0; i < t->n_storages; i++)
        if (l->roots[i] == HEFT_NONE && !t->storages[i].used)
            return bad_key(l, at, t->storages[i].key, "lacks", err);
    for (size_t i = 0; i < t->n_storages; i++)
        t->storages[i].used = false;
    return true;
}

static bool read_keys(struct heft_torch_legacy *l, uint64_t *at, struct heft_error *err)
{
    struct heft_arena mem = {0};
    struct heft_pickle keys;
    struct heft_pickle_iter iter;
    uint32_t node;
    uint8_t kind;
    bool ok = heft_torch_legacy_keys(l, *at, &keys, &mem, err);

    if (ok) {
        iter = heft_pickle_items(&keys, keys.root);
        kind = heft_pickle_at(&keys, keys.root)->kind;
        if (kind != HEFT_PICKLE_LIST && kind != HEFT_PICKLE_TUPLE)
            ok = heft_fail(err, HEFT_MALFORMED, heft_torch_stream_at(l->in, *at),
                           "the fifth pickle is not a list of storage keys");
        while (ok && heft_pickle_next(&iter, &node))
            ok = take_key(l, &keys, node, *at, err);
        ok = ok && all_keys(l, *at, err) &&
             (l->in->is_nested || heft_torch_stream_claim(l->in, *at, keys.length, "pickle ",
                                                          HEFT_STR("storage keys"), err));
        *at += ok ? keys.length : 0;
    }
    heft_arena_release(&mem);
    return ok;
}

static bool find_order(struct heft_torch_legacy *l, uint64_t *at, struct heft_error *err)
{
    struct heft_error found = {0};

    if (!is_salvaged(l->in))
        return read_keys(l, at, err);
    if (read_keys(l, at, &found))
        return true;
    if (heft_model_forgives(l->in->model, &found))
        return heft_torch_legacy_mend_order(l, at, &found, err);
    *err = found;
    return false;
}

/* ---- storages ---------------------------------------------------------------------------- */

/* Reports how many bytes are missing: all sizes are known, and so is the expected end of the file. */
static bool cut_off(const struct heft_torch_legacy *l, size_t i, uint64_t at,
                    struct heft_error *err)
{
    const uint64_t size = l->in->bytes.size;
    const struct heft_str key = l->t->storages[l->order[i]].key;
    uint64_t end = at;
    bool fits = true;

    for (size_t k = i; k < l->n_order && fits; k++)
        fits = heft_add(end, 8, &end) && heft_add(end, l->t->storages[l->order[k]].bytes, &end);
    if (!fits)
        return heft_fail(err, HEFT_MALFORMED, heft_torch_stream_at(l->in, at),
                         "storages from %.*s on reach beyond 2^64 bytes",
                         (int)heft_min_u64(key.n, 100), key.p);
    return heft_fail(err, HEFT_MALFORMED, heft_torch_stream_at(l->in, at),
                     "the file is truncated: storages end at byte %" PRIu64
                     ", the file has %" PRIu64 " (%" PRIu64 " missing, from storage %.*s on)",
                     end, size, end - size, (int)heft_min_u64(key.n, 100), key.p);
}

static bool place_storage(const struct heft_torch_legacy *l, size_t i, uint64_t *at,
                          struct heft_error *err)
{
    const struct heft_torch_storage *s = &l->t->storages[l->order[i]];
    int64_t count;

    if (!heft_within(*at, 8, l->in->bytes.size))
        return cut_off(l, i, *at, err);
    if (!heft_torch_stream_i64(l->in, *at, &count, err))
        return false;
    if (count != s->elements)
        return heft_torch_legacy_bad_count(l, *at, s, count, err);
    if (!heft_within(*at + 8, s->bytes, l->in->bytes.size))
        return cut_off(l, i, *at, err);
    if (!heft_torch_legacy_place(l, i, *at, err))
        return false;
    *at += 8 + s->bytes;
    return true;
}

static bool place_all(const struct heft_torch_legacy *l, uint64_t *at, struct heft_error *err)
{
    if (l->n_order == 0 && l->in->is_nested &&
        !heft_torch_stream_claim(l->in, 0, *at, "torch stream in ", HEFT_STR("object"), err))
        return false;
    for (size_t i = 0; i < l->n_order; i++)
        if (!place_storage(l, i, at, err))
            return false;
    return true;
}

static bool place_storages(struct heft_torch_legacy *l, uint64_t *at, struct heft_error *err)
{
    struct heft_torch *t = l->t;

    if (is_salvaged(l->in) ? !heft_torch_legacy_salvage_storages(l, at, err)
                           : !place_all(l, at, err))
        return false;
    for (size_t i = 0; i < t->n_storages; i++)
        if (l->roots[i] != HEFT_NONE)
            t->storages[i].storage = t->storages[l->roots[i]].storage;
    return true;
}

/* ---- reading ----------------------------------------------------------------------------- */

bool heft_torch_read_legacy(const struct heft_torch_stream *in, struct heft_torch *t, uint64_t *end,
                            struct heft_error *err)
{
    struct heft_torch_legacy l = {.in = in, .t = t};
    uint64_t at = 0;
    bool ok;

    t->container = &container;
    t->inside = &l;
    t->what = "object";
    ok = read_prefaces(in, &at, err) && read_object(&l, &at, err) &&
         (t->broken ? heft_torch_legacy_lose_all(&l, &at, err)
                    : find_order(&l, &at, err) && place_storages(&l, &at, err));
    *end = at;
    t->inside = NULL;
    heft_free(l.roots);
    heft_free(l.order);
    return ok;
}
