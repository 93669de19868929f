/* tf_saved_lacks.c: tensors that a SavedModel restores but its checkpoint does not hold.
 *
 *     no variables.index     a lack if a restore op reads a name, if one cannot be followed, or if the
 *                            object graph has variables. TensorFlow 2 needs the file even for a model
 *                            without variables, whose restore op reads the object graph
 *     an index               a lack for each name that is read and is not among its keys
 *
 * A graph that reads nothing (frozen, or initialized by its own ops) lacks nothing. */
#include "base/text.h"
#include "format/tensorflow/bundle/tf_parts.h"
#include "format/tensorflow/saved_model/tf_saved.h"

#define INDEX       "variables/variables.index"
#define NAMES_SHOWN 3

static uint64_t count_variables(const struct heft_tf_saved *saved)
{
    uint64_t n = 0;

    for (size_t i = 0; i < saved->n_graphs; i++)
        for (size_t k = 0; k < saved->graphs[i].n_objects; k++)
            n += saved->graphs[i].objects[k].kind == HEFT_TF_VARIABLE;
    return n;
}

/* Appends a key to a list that ends as "a, b, c and 9 more". */
static void put_key(struct heft_buf *list, size_t number, struct heft_str key)
{
    if (number >= NAMES_SHOWN)
        return;
    heft_buf_text(list, number ? ", " : "");
    heft_buf_str(list, (struct heft_str){key.p, heft_min_size(key.n, 80)});
}

/* Moves the list into the arena, cut to the length of a line. */
static bool take_list(struct heft_tf_saving *s, struct heft_buf *list, size_t n,
                      struct heft_str *out)
{
    if (n > NAMES_SHOWN)
        heft_buf_printf(list, " and %zu more", n - NAMES_SHOWN);
    return heft_buf_take(list, &s->model->mem, out, s->err);
}

static bool lack_all(struct heft_tf_saving *s)
{
    const struct heft_tf_wants *const w = s->wants;
    struct heft_buf list = {0};
    struct heft_str text;

    for (size_t i = 0; i < w->n && i < NAMES_SHOWN; i++)
        put_key(&list, i, w->list[i].key);
    return take_list(s, &list, w->n, &text) &&
           heft_model_lack(s->model, HEFT_FINDING, s->source, s->err,
                           INDEX " is missing: the graph restores %zu tensor%s from it: %s", w->n,
                           w->n == 1 ? "" : "s", text.p);
}

static bool lack_index(struct heft_tf_saving *s)
{
    const uint64_t variables = count_variables(s->saved);

    if (s->wants->n)
        return lack_all(s);
    if (variables)
        return heft_model_lack(s->model, HEFT_FINDING, s->source, s->err,
                               INDEX " is missing: the model has %" PRIu64 " variable%s", variables,
                               variables == 1 ? "" : "s");
    if (s->is_unfollowed)
        return heft_model_lack(s->model, HEFT_FINDING, s->source, s->err,
                               INDEX " is missing: the graph has a restore op");
    return s->n_names == 0 ||
           heft_model_lack(s->model, HEFT_FINDING, s->source, s->err,
                           INDEX
                           " is missing: TensorFlow 2 needs it even for a model without variables");
}

/* Maps the names that the checkpoint has, including those already reported as unreadable. */
static bool map_keys(struct heft_tf_saving *s, size_t first, struct heft_strmap *keys)
{
    const struct heft_model *const model = s->model;
    uint32_t found;
    bool ok = true;

    for (size_t i = first; ok && i < model->n_rows; i++)
        ok = heft_strmap_add(keys, model->rows[i].name, 0, &found, s->err);
    for (size_t i = 0; ok && i < model->n_unreadable; i++)
        ok = heft_strmap_add(keys, model->unreadable[i].name, 0, &found, s->err);
    return ok;
}

static bool lack_keys(struct heft_tf_saving *s, const struct heft_strmap *keys)
{
    const struct heft_tf_wants *const w = s->wants;
    struct heft_buf list = {0};
    struct heft_str text;
    size_t n = 0;

    for (size_t i = 0; i < w->n; i++)
        if (heft_strmap_get(keys, w->list[i].key) == HEFT_MAP_NONE)
            put_key(&list, n++, w->list[i].key);
    return take_list(s, &list, n, &text) &&
           (n == 0 || heft_model_lack(s->model, HEFT_NOTE, s->source, s->err,
                                      "the checkpoint lacks %zu of the %zu tensors that the graph "
                                      "restores: %s",
                                      n, w->n, text.p));
}

bool heft_tf_saved_lacks(struct heft_tf_saving *s, size_t first, bool has_index)
{
    struct heft_strmap keys = {0};
    bool ok;

    if (!has_index)
        return lack_index(s);
    if (heft_tf_names_objects(s->model) || s->wants->n == 0)
        return true; /* rows are not named by their keys */
    ok = map_keys(s, first, &keys) && lack_keys(s, &keys);
    heft_strmap_release(&keys);
    return ok;
}
