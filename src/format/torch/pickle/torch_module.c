/* torch_module.c: modules that were pickled whole (torch.save(model)): objects of any class with
 * the attributes of torch.nn.Module.
 *
 *     Net  BUILD {"training": True, "scale": T2,
 *                 "_parameters": {"w": T0, "b": None}, "_buffers": {"mean": T1, "cache": T3},
 *                 "_non_persistent_buffers_set": {"cache"}, "_modules": {"fc": Linear …}}
 *
 *         rows    w, mean, fc.weight, fc.bias                    as state_dict names them
 *         values  {"training": True, "scale": tensor, "cache": tensor, "fc": {…}}
 *
 * The other attributes of a module remain visible as values, but tensors among them are not rows:
 * many are rows already (the flat weights of an LSTM), and the others are in no state dict. Empty
 * bookkeeping (hooks), which is most of a module's attributes, is left out. */
#include "format/torch/pickle/torch_walk.h"

static bool is_mapping(const struct heft_torch *t, uint32_t node)
{
    return heft_torch_is(t, node, HEFT_PICKLE_DICT) ||
           (heft_torch_is(t, node, HEFT_PICKLE_CALL) &&
            heft_torch_callee(t, node) == HEFT_TORCH_MAPPING);
}

/* ---- recognising modules ----------------------------------------------------------------- */

/* Attributes that make an object a module. The last of a repeated key counts. */
struct module {
    uint32_t parameters, buffers, modules, passing; /* buffers that are not saved */
};

static uint32_t *place_of(struct module *m, struct heft_str key)
{
    return heft_str_is(key, "_parameters")                   ? &m->parameters
           : heft_str_is(key, "_buffers")                    ? &m->buffers
           : heft_str_is(key, "_modules")                    ? &m->modules
           : heft_str_is(key, "_non_persistent_buffers_set") ? &m->passing
                                                             : NULL;
}

static bool find_module(const struct heft_torch_walk *w, size_t first, struct module *m)
{
    const struct heft_torch *t = w->t;

    *m = (struct module){HEFT_PICKLE_NIL, HEFT_PICKLE_NIL, HEFT_PICKLE_NIL, HEFT_PICKLE_NIL};
    for (size_t i = first; i < w->n_entries; i++) {
        const struct heft_torch_entry *e = &w->entries[i];
        uint32_t *place;

        if (!heft_torch_is_node(e->key) || !heft_torch_is_text(t, e->key))
            continue;
        place = place_of(m, heft_pickle_text(&t->pickle, e->key));
        if (place)
            *place = e->value;
    }
    return is_mapping(t, m->parameters) && is_mapping(t, m->modules) &&
           (m->buffers == HEFT_PICKLE_NIL || is_mapping(t, m->buffers));
}

/* ---- attributes of a module -------------------------------------------------------------- */

static bool is_empty(const struct heft_torch *t, uint32_t node)
{
    const struct heft_pickle_node *n = heft_torch_node(t, node);
    const uint32_t argument =
        n->kind == HEFT_PICKLE_CALL ? heft_torch_item(t, n->u.call.args, 0) : HEFT_PICKLE_NIL;

    switch ((enum heft_pickle_kind)n->kind) {
    case HEFT_PICKLE_NONE:
        return true;
    case HEFT_PICKLE_DICT:
    case HEFT_PICKLE_LIST:
    case HEFT_PICKLE_TUPLE:
    case HEFT_PICKLE_SET:
        return n->first == HEFT_PICKLE_NIL;
    case HEFT_PICKLE_CALL: /* True for OrderedDict() and set([]). */
        return (heft_torch_callee(t, node) == HEFT_TORCH_MAPPING ||
                heft_torch_callee(t, node) == HEFT_TORCH_SET) &&
               n->first == HEFT_PICKLE_NIL && n->state == HEFT_PICKLE_NIL &&
               heft_torch_count(t, n->u.call.args) <= 1 &&
               (argument == HEFT_PICKLE_NIL || (heft_torch_is(t, argument, HEFT_PICKLE_LIST) &&
                                                heft_torch_count(t, argument) == 0));
    default:
        return false;
    }
}

static bool is_packed(const struct heft_torch *t, uint32_t node)
{
    return heft_torch_is(t, node, HEFT_PICKLE_CALL) &&
           heft_torch_callee(t, node) == HEFT_TORCH_SCRIPT_OBJECT;
}

/* Marks the remaining attributes as outside the state dict, except packed weights of quantized
 * layers, which the layer's own code adds to the state dict under this name. */
static void keep_attributes(struct heft_torch_walk *w, size_t first)
{
    const struct heft_torch *t = w->t;
    struct module ignored;
    size_t kept = first;

    for (size_t i = first; i < w->n_entries; i++) {
        struct heft_torch_entry e = w->entries[i];
        const bool is_text = heft_torch_is_node(e.key) && heft_torch_is_text(t, e.key);
        const struct heft_str key =
            is_text ? heft_pickle_text(&t->pickle, e.key) : (struct heft_str){"", 0};

        if (place_of(&ignored, key) || (key.n && key.p[0] == '_' && is_empty(t, e.value)))
            continue;
        e.outside = !is_packed(t, e.value);
        w->entries[kept++] = e;
    }
    w->n_entries = kept;
}

/* ---- parameters, buffers, modules -------------------------------------------------------- */

/* The items of a mapping, except those that are None. */
static bool add_present(struct heft_torch_walk *w, uint32_t mapping)
{
    size_t kept = w->n_entries;

    if (!heft_torch_add_mapping(w, mapping))
        return false;
    for (size_t i = kept; i < w->n_entries; i++)
        if (!heft_torch_is_nothing(w->t, w->entries[i].value))
            w->entries[kept++] = w->entries[i];
    w->n_entries = kept;
    return true;
}

/* The items of a set: {…}, or set([…]) in protocols below 4. */
static uint32_t items_of_set(const struct heft_torch *t, uint32_t node)
{
    if (heft_torch_is(t, node, HEFT_PICKLE_CALL) && heft_torch_callee(t, node) == HEFT_TORCH_SET)
        node = heft_torch_item(t, heft_torch_node(t, node)->u.call.args, 0);
    return heft_torch_is(t, node, HEFT_PICKLE_SET) || heft_torch_is(t, node, HEFT_PICKLE_LIST)
               ? node
               : HEFT_PICKLE_NIL;
}

static bool read_names(struct heft_torch_walk *w, uint32_t set, struct heft_strmap *names)
{
    struct heft_pickle_iter iter = heft_pickle_items(&w->t->pickle, set);
    uint32_t item, same;

    if (!heft_torch_spend(w, set, heft_torch_count(w->t, set)))
        return false;
    while (heft_pickle_next(&iter, &item))
        if (heft_torch_is_text(w->t, item) &&
            !heft_strmap_add(names, heft_pickle_text(&w->t->pickle, item), 0, &same, w->err))
            return false;
    return true;
}

/* Marks non-persistent buffers as outside the state dict. */
static bool set_apart(struct heft_torch_walk *w, size_t first, uint32_t set)
{
    struct heft_strmap names = {0};
    bool ok;

    if (set == HEFT_PICKLE_NIL || heft_torch_count(w->t, set) == 0)
        return true;
    ok = read_names(w, set, &names);
    for (size_t i = first; ok && i < w->n_entries; i++) {
        const uint32_t key = w->entries[i].key;

        if (heft_torch_is_text(w->t, key))
            w->entries[i].outside =
                heft_strmap_get(&names, heft_pickle_text(&w->t->pickle, key)) != HEFT_MAP_NONE;
    }
    heft_strmap_release(&names);
    return ok;
}

bool heft_torch_open_module(struct heft_torch_walk *w, size_t first)
{
    struct module m;
    size_t buffers;

    if (!find_module(w, first, &m))
        return true;
    keep_attributes(w, first);
    if (!add_present(w, m.parameters))
        return false;
    buffers = w->n_entries;
    return (m.buffers == HEFT_PICKLE_NIL || add_present(w, m.buffers)) &&
           set_apart(w, buffers, items_of_set(w->t, m.passing)) && add_present(w, m.modules);
}

/* ---- tensors outside the state dict ------------------------------------------------------ */

/* Formats a tensor without a row: "tensor F32 [2, 3]". */
bool heft_torch_add_outsider(struct heft_torch_walk *w, uint32_t node, const struct heft_row *row,
                             struct heft_value *value)
{
    struct heft_buf buf = {0};
    struct heft_str text;
    bool ok;

    heft_buf_printf(&buf, "tensor %s [", heft_dtype_name((enum heft_dtype)row->dtype));
    for (unsigned i = 0; i < row->rank; i++)
        heft_buf_printf(&buf, i ? ", %" PRIu64 : "%" PRIu64, row->shape[i]);
    heft_buf_char(&buf, ']');
    ok = heft_torch_spend_name(w, buf.n) && heft_buf_take(&buf, &w->t->model->mem, &text, w->err) &&
         heft_grow(&w->outsiders, &w->cap_outsiders, w->n_outsiders, 1, sizeof *w->outsiders,
                   w->err);
    heft_buf_release(&buf);
    if (!ok)
        return false;
    value->kind = HEFT_VALUE_OPAQUE;
    value->type_name = text.p;
    w->outsiders[w->n_outsiders++] = (struct heft_torch_outsider){value, node};
    return true;
}

static bool note_outsiders(struct heft_torch_walk *w, uint64_t n)
{
    return n == 0 ||
           heft_model_note(w->t->model, HEFT_NOTE, w->t->source, HEFT_NO_OFFSET, w->err,
                           "%" PRIu64 " tensor%s of modules outside the state dict (attributes, "
                           "non-persistent buffers): listed as values",
                           n, n == 1 ? "" : "s");
}

bool heft_torch_settle_outsiders(struct heft_torch_walk *w, size_t begin)
{
    struct heft_u32map rows = {0};
    uint64_t left = 0;
    bool ok = true;

    /* the first row of a node is kept */
    for (size_t i = w->n_outsiders ? w->n_row_cuts : 0; ok && i > 0; i--)
        ok = heft_u32map_set(&rows, w->row_nodes[i - 1], (uint32_t)(i - 1), w->err);
    for (size_t i = 0; ok && i < w->n_outsiders; i++) {
        struct heft_value *value = w->outsiders[i].value;
        const uint32_t row = heft_u32map_get(&rows, w->outsiders[i].node);

        if (row == HEFT_MAP_NONE) {
            left++;
            continue;
        }
        value->kind = HEFT_VALUE_TENSOR;
        value->type_name = NULL;
        value->text = w->t->model->rows[begin + row].name.p;
        value->text_len = w->t->model->rows[begin + row].name.n;
    }
    heft_u32map_release(&rows);
    return ok && note_outsiders(w, left);
}
