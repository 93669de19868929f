/* h5_walk.c: stores what the module reports about a file: datasets as entries, Keras' lists of
 * names, attributes and strings as values.
 *
 *     values   ├─ "attributes" ── path of the object ("/": the root) ── attribute
 *              └─ path of a dataset of strings */
#include "base/text.h"
#include "format/hdf5/h5_parts.h"

#define TEXT_BYTES ((uint64_t)16 << 20) /* limit for the bytes of all attributes and strings */

static struct heft_str str_of(struct heft_h5_text text)
{
    return (struct heft_str){text.p, text.n};
}

/* ---- datasets ---------------------------------------------------------------------------- */

static bool keep_text(struct heft_h5_reader *r, struct heft_str text, struct heft_str *out,
                      struct heft_error *err)
{
    const char *copy = heft_arena_text(&r->model->mem, text, err);

    *out = (struct heft_str){copy, text.n};
    return copy != NULL;
}

static bool keep_shape(struct heft_h5_reader *r, const struct heft_h5_dataset *found,
                       struct heft_h5_entry *entry, struct heft_error *err)
{
    uint64_t *shape = heft_arena_u64(&r->model->mem, found->rank, err);

    if (!shape)
        return false;
    for (unsigned d = 0; d < found->rank; d++)
        shape[d] = found->shape[d];
    entry->shape = shape;
    entry->rank = (uint8_t)found->rank;
    return true;
}

static bool keep_why(struct heft_h5_reader *r, const char *why, struct heft_h5_entry *entry,
                     struct heft_error *err)
{
    struct heft_error escaped = {0};

    heft_fail(&escaped, HEFT_UNSUPPORTED, HEFT_NO_OFFSET, "%s", why);
    entry->why = heft_arena_text(&r->model->mem, heft_str_of(escaped.text), err);
    return entry->why != NULL;
}

static bool on_dataset(void *ctx, const struct heft_h5_dataset *found, struct heft_error *err)
{
    struct heft_h5_reader *r = ctx;
    struct heft_h5_entry *entry;
    const uint64_t most = heft_limit_tensors(&r->model->limits, r->model->file_bytes);

    if (r->n_entries >= most)
        return heft_fail(err, HEFT_LIMIT, HEFT_NO_OFFSET,
                         "more than %" PRIu64 " datasets in %" PRIu64 " bytes: limits.tensors",
                         most, r->model->file_bytes);
    if (!heft_grow(&r->entries, &r->cap_entries, r->n_entries, 1, sizeof *r->entries, err))
        return false;
    entry = &r->entries[r->n_entries];
    *entry = (struct heft_h5_entry){.address = found->address,
                                    .bytes = found->bytes,
                                    .work = found->work,
                                    .offset = found->offset,
                                    .dtype = (uint8_t)found->dtype,
                                    .is_big = found->is_big,
                                    .is_elsewhere = found->is_elsewhere};
    if (!keep_text(r, str_of(found->path), &entry->path, err) ||
        !keep_shape(r, found, entry, err) || (found->why && !keep_why(r, found->why, entry, err)))
        return false;
    r->n_entries++;
    return true;
}

static bool on_note(void *ctx, struct heft_h5_text path, const char *text, struct heft_error *err)
{
    struct heft_h5_reader *r = ctx;

    return heft_model_note(r->model, HEFT_NOTE, r->source, HEFT_NO_OFFSET, err, "%.*s: %s",
                           (int)heft_min_u64(path.n, 200), path.p, text);
}

/* ---- lists of names ---------------------------------------------------------------------- */

/* True for "weight_names12", which is piece 12 of weight_names. */
static bool is_list(struct heft_str name, const char *word, uint32_t *number)
{
    const size_t n = strlen(word);

    *number = 0;
    if (!heft_str_starts(name, heft_str_of(word)) || name.n > n + 6)
        return false;
    for (size_t i = n; i < name.n; i++) {
        if (name.p[i] < '0' || name.p[i] > '9')
            return false;
        *number = *number * 10 + (uint32_t)(name.p[i] - '0');
    }
    return true;
}

static bool add_list(struct heft_h5_reader *r, struct heft_h5_list list,
                     const struct heft_h5_value *value, struct heft_error *err)
{
    const size_t n = value->kind == HEFT_H5_TEXTS ? value->n : 0;
    struct heft_str *names = heft_arena_zero(&r->model->mem, n, sizeof *names, err);

    if (!names || !heft_grow(&r->lists, &r->cap_lists, r->n_lists, 1, sizeof *r->lists, err))
        return false;
    for (size_t i = 0; i < n; i++)
        if (!keep_text(r, str_of(value->as.texts[i]), &names[i], err))
            return false;
    list.names = names;
    list.n = n;
    r->is_keras = true;
    r->lists[r->n_lists++] = list;
    return true;
}

/* ---- attributes and strings -------------------------------------------------------------- */

static bool add_one(struct heft_h5_reader *r, struct heft_node *in, struct heft_str key,
                    const struct heft_h5_value *value, size_t i, struct heft_error *err)
{
    struct heft_arena *mem = &r->model->mem;

    switch (value->kind) {
    case HEFT_H5_TEXTS:
        return heft_tree_text(mem, in, key, str_of(value->as.texts[i]), err);
    case HEFT_H5_INTS:
        return heft_tree_number(mem, in, key, value->as.ints[i], err);
    case HEFT_H5_BOOLS:
        return heft_tree_bool(mem, in, key, value->as.ints[i] != 0, err);
    case HEFT_H5_FLOATS:
        return heft_tree_real(mem, in, key, value->as.floats[i], err);
    default:
        return heft_tree_null(mem, in, key, err);
    }
}

static bool add_value(struct heft_h5_reader *r, struct heft_node *in, struct heft_str key,
                      const struct heft_h5_value *value, struct heft_error *err)
{
    const size_t n = value->kind == HEFT_H5_NOTHING ? 0 : value->n;
    struct heft_node *list;

    if (!value->is_list)
        return add_one(r, in, key, value, 0, err);
    list = heft_tree_list(&r->model->mem, in, key, err);
    for (size_t i = 0; list && i < n; i++)
        if (!add_one(r, list, key, value, i, err))
            return false;
    return list != NULL;
}

/* Keys must be UTF-8: invalid bytes are escaped. */
static bool make_key(struct heft_h5_reader *r, struct heft_str text, struct heft_str *out,
                     struct heft_error *err)
{
    struct heft_buf buf = {0};

    *out = text;
    if (heft_utf8_check((struct heft_bytes){(const uint8_t *)text.p, text.n}) == text.n)
        return true;
    heft_buf_escaped(&buf, text);
    return heft_buf_take(&buf, &r->model->mem, out, err);
}

/* The dict of an object's attributes, which are reported consecutively. */
static bool open_object(struct heft_h5_reader *r, struct heft_str path, struct heft_error *err)
{
    struct heft_arena *mem = &r->model->mem;
    struct heft_str key;

    if (r->object_values && heft_str_eq(path, r->object))
        return true;
    if (!r->attributes)
        r->attributes = heft_tree_dict(mem, r->values, HEFT_STR("attributes"), err);
    if (!r->attributes || !keep_text(r, path, &r->object, err) ||
        !make_key(r, path.n ? path : HEFT_STR("/"), &key, err))
        return false;
    r->object_values = heft_tree_dict(mem, r->attributes, key, err);
    return r->object_values != NULL;
}

static bool begin_values(struct heft_h5_reader *r, struct heft_error *err)
{
    if (!r->values)
        r->values = heft_tree_dict(&r->model->mem, NULL, HEFT_STR(""), err);
    return r->values != NULL;
}

static bool is_own_mark(struct heft_str path, struct heft_str name,
                        const struct heft_h5_value *value)
{
    return path.n == 0 && heft_str_is(name, HEFT_H5_NAMES) && value->kind == HEFT_H5_TEXTS &&
           value->n == 1 && heft_str_is(str_of(value->as.texts[0]), HEFT_H5_PATHS);
}

static bool on_value(void *ctx, struct heft_h5_text where, struct heft_h5_text what,
                     const struct heft_h5_value *value, struct heft_error *err)
{
    const struct heft_str path = str_of(where), name = str_of(what);
    struct heft_h5_list list = {.group = {NULL, 0}};
    struct heft_h5_reader *r = ctx;
    struct heft_str key;

    if (!begin_values(r, err))
        return false;
    if (name.n == 0)
        return make_key(r, path, &key, err) && add_value(r, r->values, key, value, err);
    if (is_own_mark(path, name, value)) {
        r->by_path = true;
        return true;
    }
    if (r->by_path && path.n == 0 && heft_str_is(name, HEFT_H5_KERAS))
        return true;
    if (heft_h5_names_objects(r->model) && heft_str_is(name, "name") &&
        value->kind == HEFT_H5_TEXTS && value->n == 1 &&
        !heft_h5_add_title(r, path, str_of(value->as.texts[0]), err))
        return false;
    list.is_layers = is_list(name, HEFT_H5_LAYERS, &list.number);
    if (list.is_layers || is_list(name, HEFT_H5_WEIGHTS, &list.number))
        return keep_text(r, path, &list.group, err) && add_list(r, list, value, err);
    return open_object(r, path, err) && make_key(r, name, &key, err) &&
           add_value(r, r->object_values, key, value, err);
}

bool heft_h5_walk(struct heft_h5_reader *r, struct heft_error *err)
{
    const struct heft_model *model = r->model;
    const struct heft_h5_visitor visitor = {
        .ctx = r,
        .dataset = on_dataset,
        .value = on_value,
        .note = on_note,
        .links = 4 * heft_limit_tensors(&model->limits, model->file_bytes),
        .path = model->limits.name,
        .text_bytes = TEXT_BYTES,
    };
    struct heft_error found = {0};

    if (!r->module->walk(r->file, &visitor, &found))
        return heft_h5_blame(err, &found);
    if (r->attributes || (r->values && r->values->n))
        r->model->values = &r->values->value;
    return true;
}
