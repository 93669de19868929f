/* torch_provenance.c: records which opcodes made each row, on request (torch_provenance.h).
 *
 *    X "tok.weight"  c torch._utils … ( ( X "storage" … t Q K 0 … t R
 *    key_at                            └─ the provenance's storage ─┘     made_at */
#include "format/torch/pickle/torch_provenance.h"
#include "format/torch/pickle/torch_parts.h"

#define LOCATION 64 /* bytes kept of a location such as "cuda:0" */

/* A copy in the model, cut to a limit: many ids may share the text. */
static bool keep_text(struct heft_torch *t, struct heft_str text, struct heft_str *out,
                      struct heft_error *err)
{
    out->n = text.n;
    out->p = heft_arena_text(&t->model->mem, text, err);
    return out->p != NULL;
}

static bool is_key(const struct heft_torch *t, uint32_t node, struct heft_str key)
{
    return node != HEFT_PICKLE_NIL && heft_torch_is_text(t, node) &&
           heft_str_eq(heft_pickle_text(&t->pickle, node), key);
}

/* The id of a row's storage in this pickle: a tuple with its key or the key of a view of it, or the
 * key alone. NIL if it comes from another pickle. */
static uint32_t id_of(const struct heft_torch *t, const struct heft_torch_made *made)
{
    const struct heft_torch_storage *s;
    uint32_t args;

    if (made->from == 0 || made->from > t->n_storages)
        return HEFT_PICKLE_NIL;
    s = &t->storages[made->from - 1];
    if (s->storage != made->row.storage || s->id == 0 || s->id > t->pickle.count ||
        !heft_torch_is(t, s->id - 1, HEFT_PICKLE_PERSID))
        return HEFT_PICKLE_NIL;
    args = heft_torch_node(t, s->id - 1)->u.call.args;
    if (is_key(t, args, s->key) || is_key(t, heft_torch_item(t, args, 2), s->key) ||
        is_key(t, heft_torch_item(t, heft_torch_item(t, args, 5), 0), s->key))
        return args;
    return HEFT_PICKLE_NIL;
}

static struct heft_str text_of(const struct heft_torch *t, uint32_t node, struct heft_str otherwise)
{
    return node != HEFT_PICKLE_NIL && heft_torch_is_text(t, node)
               ? heft_pickle_text(&t->pickle, node)
               : otherwise;
}

/* Fills the five fields, from the id's tuple if it is one. */
static bool fill_storage(struct heft_torch *t, const struct heft_torch_storage *from, uint32_t args,
                         struct heft_provenance_storage *out, struct heft_error *err)
{
    const bool is_tuple = heft_torch_is(t, args, HEFT_PICKLE_TUPLE);
    const uint32_t elements = is_tuple ? heft_torch_item(t, args, 4) : HEFT_PICKLE_NIL;
    const uint32_t at = is_tuple ? heft_torch_item(t, args, 3) : HEFT_PICKLE_NIL;
    const uint32_t key = is_tuple ? heft_torch_item(t, args, 2) : args;
    struct heft_str location = text_of(t, at, HEFT_STR(""));

    location.n = (size_t)heft_min_u64(location.n, LOCATION);
    out->type = from->type->name;
    out->elements = heft_torch_is(t, elements, HEFT_PICKLE_INT)
                        ? heft_torch_node(t, elements)->u.integer
                        : from->elements;
    return keep_text(t, text_of(t, key, from->key), &out->key, err) &&
           keep_text(t, location, &out->location, err);
}

/* Number of a storage in the provenance; the first row that uses it adds it. */
static bool storage_of(struct heft_torch *t, const struct heft_torch_made *made, uint32_t *number,
                       struct heft_error *err)
{
    struct heft_provenance *provenance = t->provenance;
    const uint32_t args = id_of(t, made);
    struct heft_torch_storage *from;
    struct heft_provenance_storage *s;

    if (args == HEFT_PICKLE_NIL)
        return true;
    from = &t->storages[made->from - 1];
    if (from->provenance == 0) {
        if (!heft_grow(&provenance->storages, &provenance->cap_storages, provenance->n_storages, 1,
                       sizeof *s, err))
            return false;
        s = &provenance->storages[provenance->n_storages];
        s->storage = made->row.storage;
        if (!fill_storage(t, from, args, s, err))
            return false;
        from->provenance = (uint32_t)++provenance->n_storages; /* fits: fewer than nodes */
    }
    *number = from->provenance - 1;
    return true;
}

bool heft_torch_keep_provenance(struct heft_torch *t, uint32_t key, uint32_t node,
                                const struct heft_torch_made *made, struct heft_error *err)
{
    struct heft_provenance *provenance = t->provenance;
    struct heft_provenance_row row = {.pickle_at = t->pickle_at,
                                      .row =
                                          (uint32_t)t->model->n_rows - 1, /* fits: at most 2^32 */
                                      .storage = HEFT_NONE,
                                      .key_at = HEFT_NONE,
                                      .made_at = heft_torch_node(t, node)->at};

    if (key < t->pickle.count)
        row.key_at = heft_torch_node(t, key)->at;
    if (!storage_of(t, made, &row.storage, err))
        return false;
    if (!heft_grow(&provenance->rows, &provenance->cap_rows, provenance->n_rows, 1, sizeof row,
                   err))
        return false;
    provenance->rows[provenance->n_rows++] = row;
    return true;
}

void heft_provenance_release(struct heft_provenance *provenance)
{
    heft_free(provenance->storages);
    heft_free(provenance->rows);
    *provenance = (struct heft_provenance){0};
}
