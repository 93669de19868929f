/* torch_keys.c: keys that occur twice in a dictionary of the pickle.
 *
 *     {"a": 1, "b": 2, "a": 3}   →   "a": 3, "b": 2
 *
 * The keys of ordinary dictionaries are distinct texts: those of small dictionaries are compared in
 * pairs, those of large ones by their hashes; a table is built only if that is inconclusive. */
#include "format/torch/pickle/torch_walk.h"

#define FEW_KEYS 8 /* up to this many, comparing in pairs is cheaper than a hash table */

/* The text by which keys are compared: one text for numbers that Python considers equal (1, 1.0,
 * True); objects by identity. */
static bool key_text(struct heft_torch_walk *w, uint32_t node, struct heft_buf *buf,
                     struct heft_str *out)
{
    const struct heft_pickle_node *n = heft_torch_node(w->t, node);
    const double number = n->kind == HEFT_PICKLE_FLOAT ? n->u.number : 0.5;
    const char *copy;

    buf->n = 0;
    if (n->kind == HEFT_PICKLE_INT || n->kind == HEFT_PICKLE_BOOL)
        heft_buf_printf(buf, "%" PRId64, n->u.integer);
    else if (number >= -1e15 && number <= 1e15 && number == (double)(int64_t)number)
        heft_buf_printf(buf, "%" PRId64, (int64_t)number);
    else if (n->kind == HEFT_PICKLE_CALL || n->kind == HEFT_PICKLE_PERSID)
        heft_buf_printf(buf, "#%" PRIu32, node);
    else if (!heft_torch_key(w->t, node, node, buf, w->err))
        return false;
    if (!heft_buf_ok(buf, w->err) || !heft_torch_spend_name(w, buf->n))
        return false;
    copy = heft_arena_text(&w->t->graph, (struct heft_str){buf->p, buf->n}, w->err);
    *out = (struct heft_str){copy, buf->n};
    return copy != NULL;
}

struct dedupe {
    struct heft_strmap texts, others;
    struct heft_differ differ;
    struct heft_buf buf;
};

static bool find_same(struct heft_torch_walk *w, struct dedupe *d, size_t position, uint32_t *same)
{
    const uint32_t key = w->entries[position].key;
    const bool is_text = heft_torch_is_text(w->t, key);
    struct heft_str text;

    if (is_text)
        text = heft_pickle_text(&w->t->pickle, key);
    else if (!key_text(w, key, &d->buf, &text))
        return false;
    return heft_strmap_add(is_text ? &d->texts : &d->others, text, (uint32_t)position, same,
                           w->err);
}

static bool drop_repeated(struct heft_torch_walk *w, struct dedupe *d, size_t first)
{
    size_t kept = first;

    for (size_t i = first; i < w->n_entries; i++) {
        const struct heft_torch_entry e = w->entries[i];
        uint32_t same = HEFT_MAP_NONE;

        w->entries[kept] = e;
        if (heft_torch_is_node(e.key) && !find_same(w, d, kept, &same))
            return false;
        if (same != HEFT_MAP_NONE)
            w->entries[same] =
                (struct heft_torch_entry){w->entries[same].key, e.value, e.outside, false};
        else
            kept++;
    }
    w->n_entries = kept;
    return true;
}

/* Notes numbers and the like that are spelled like a text key of the same dictionary. */
static bool mark_quoted(struct heft_torch_walk *w, struct dedupe *d, size_t first)
{
    for (size_t i = first; i < w->n_entries && d->texts.count && d->others.count; i++) {
        const uint32_t key = w->entries[i].key;
        uint32_t same;

        if (!heft_torch_is_node(key) || heft_torch_is_text(w->t, key))
            continue;
        d->buf.n = 0;
        if (!heft_torch_key(w->t, key, i - first, &d->buf, w->err) || !heft_buf_ok(&d->buf, w->err))
            return false;
        same = heft_strmap_get(&d->texts, (struct heft_str){d->buf.n ? d->buf.p : "", d->buf.n});
        if (same != HEFT_MAP_NONE)
            w->entries[same].quoted = true;
    }
    return true;
}

/* True if many keys are distinct texts, as in a state dictionary. False also on error. */
static bool texts_differ(struct heft_torch_walk *w, struct dedupe *d, size_t first, bool *yes)
{
    size_t i = first;

    if (!heft_differ_reserve(&d->differ, w->n_entries - first, w->err))
        return false;
    for (; i < w->n_entries; i++) {
        const uint32_t key = w->entries[i].key;

        if (!heft_torch_is_node(key) || !heft_torch_is_text(w->t, key) ||
            !heft_differ_show(&d->differ, heft_pickle_text(&w->t->pickle, key)))
            break;
    }
    *yes = i == w->n_entries;
    return true;
}

/* True if few keys are distinct texts: the usual small dictionary. */
static bool clearly_unique(const struct heft_torch_walk *w, size_t first)
{
    const struct heft_pickle *pickle = &w->t->pickle;

    if (w->n_entries - first > FEW_KEYS)
        return false;
    for (size_t i = first; i < w->n_entries; i++) {
        if (!heft_torch_is_node(w->entries[i].key))
            continue;
        if (!heft_torch_is_text(w->t, w->entries[i].key))
            return w->n_entries - first == 1;
        for (size_t k = first; k < i; k++)
            if (heft_torch_is_node(w->entries[k].key) &&
                heft_str_eq(heft_pickle_text(pickle, w->entries[i].key),
                            heft_pickle_text(pickle, w->entries[k].key)))
                return false;
    }
    return true;
}

bool heft_torch_settle_keys(struct heft_torch_walk *w, size_t first)
{
    struct dedupe d = {0};
    bool ok, unique, has_keys = false;

    for (size_t i = first; i < w->n_entries && !has_keys; i++)
        has_keys = heft_torch_is_node(w->entries[i].key);
    if (!has_keys || clearly_unique(w, first))
        return true;
    if (w->n_entries >= HEFT_MAP_NONE)
        return heft_fail(w->err, HEFT_LIMIT, HEFT_NO_OFFSET, "more than 2^32 dictionary items");
    ok = texts_differ(w, &d, first, &unique) &&
         (unique || (drop_repeated(w, &d, first) && mark_quoted(w, &d, first)));
    heft_differ_release(&d.differ);
    heft_strmap_release(&d.texts);
    heft_strmap_release(&d.others);
    heft_buf_release(&d.buf);
    return ok;
}
