/* torch_trail.c: remembers which opcodes made a row, where somebody asked (core/trail.h).
 *
 *     X "tok.weight"  c torch._utils … ( ( X "storage" … t Q K 0 … t R
 *     key_at                            └─ the trail's storage ─┘     made_at */
#include "core/trail.h"
#include "format/torch_parts.h"

#define LOCATION 64 /* bytes kept of "cuda:0" */

/* A copy in the model; texts are shared by many ids, so each is bounded. */
static bool keep(struct heft_torch *t, struct heft_str text, struct heft_str *out,
                 struct heft_error *err)
{
    out->n = text.n;
    out->p = heft_arena_text(&t->model->mem, text, err);
    return out->p != NULL;
}

/* The id that a row's storage has in this pickle: it names the storage's key, as a tuple or alone.
 * NIL: it has none, the storage came out of another pickle or stands in this one as bytes. */
static uint32_t id_of(const struct heft_torch *t, const struct heft_torch_made *made)
{
    const struct heft_torch_storage *s = &t->storages[made->from ? made->from - 1 : 0];
    uint32_t args, key;

    if (made->from == 0 || made->from > t->n_storages || s->storage != made->row.storage ||
        s->id == 0 || s->id > t->pickle.count || !heft_torch_is(t, s->id - 1, HEFT_PICKLE_PERSID))
        return HEFT_PICKLE_NIL;
    args = heft_torch_node(t, s->id - 1)->u.call.args;
    key = heft_torch_is(t, args, HEFT_PICKLE_TUPLE) ? heft_torch_item(t, args, 2) : args;
    if (key == HEFT_PICKLE_NIL || !heft_torch_is_text(t, key) ||
        (s->begin == 0 && !heft_str_eq(heft_pickle_text(&t->pickle, key), s->key)))
        return HEFT_PICKLE_NIL;
    return args;
}

static struct heft_str location_of(const struct heft_torch *t, uint32_t args)
{
    const uint32_t node =
        heft_torch_is(t, args, HEFT_PICKLE_TUPLE) ? heft_torch_item(t, args, 3) : HEFT_PICKLE_NIL;
    struct heft_str text = {"", 0};

    if (node != HEFT_PICKLE_NIL && heft_torch_is_text(t, node))
        text = heft_pickle_text(&t->pickle, node);
    text.n = (size_t)heft_min_u64(text.n, LOCATION);
    return text;
}

/* The trail's number of a storage: the first row that looks into it enters it. */
static bool storage_of(struct heft_torch *t, const struct heft_torch_made *made, uint32_t *number,
                       struct heft_error *err)
{
    struct heft_trail *trail = t->model->trail;
    const uint32_t args = id_of(t, made);
    struct heft_torch_storage *from;
    struct heft_trail_storage *s;

    if (args == HEFT_PICKLE_NIL)
        return true;
    from = &t->storages[made->from - 1];
    if (from->trail == 0) {
        if (!heft_grow(&trail->storages, &trail->cap_storages, trail->n_storages, 1, sizeof *s,
                       err))
            return false;
        s = &trail->storages[trail->n_storages];
        s->type = from->type->name;
        s->elements = from->elements;
        s->storage = made->row.storage;
        if (!keep(t, from->key, &s->key, err) || !keep(t, location_of(t, args), &s->location, err))
            return false;
        from->trail = (uint32_t)++trail->n_storages; /* fewer than nodes */
    }
    *number = from->trail - 1;
    return true;
}

bool heft_torch_keep_trail(struct heft_torch *t, uint32_t key, uint32_t node,
                           const struct heft_torch_made *made, struct heft_error *err)
{
    struct heft_trail *trail = t->model->trail;
    struct heft_trail_row row = {.pickle_at = t->pickle_at,
                                 .row = (uint32_t)t->model->n_rows - 1, /* at most 2^32 */
                                 .storage = HEFT_NONE,
                                 .key_at = HEFT_NONE,
                                 .made_at = heft_torch_node(t, node)->at};

    if (key < t->pickle.count)
        row.key_at = heft_torch_node(t, key)->at;
    if (!storage_of(t, made, &row.storage, err))
        return false;
    if (!heft_grow(&trail->rows, &trail->cap_rows, trail->n_rows, 1, sizeof row, err))
        return false;
    trail->rows[trail->n_rows++] = row;
    return true;
}
