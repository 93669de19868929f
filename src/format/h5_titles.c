/* h5_titles.c: the names that Keras 3 gives variables, for --names objects.
 *
 *     layers/lstm/vars             attribute name = "x"
 *     layers/lstm/cell/vars        attribute name = "lstm_cell"
 *     layers/lstm/cell/vars/0      ──► "x/lstm_cell/kernel"
 *
 * Groups are called by class (dense, dense_1) or by attribute (cell), and the variables of one are
 * numbered in the order in which its class makes them (measured with Keras 3.15). Where the class is
 * not known, or has more variables than the table, or quantized ones, the number stays: "x/0".
 * Functional models give no name to what is in them, Sequential ones do; that of the root is in no
 * file of weights alone, and left out. Names that two tensors would have are given to none. */
#include "base/text.h"
#include "format/h5_parts.h"

#define VARS       "vars"
#define MOST_PARTS 64
#define MOST_NAMES 4

struct class_names {
    const char *group;             /* without its number */
    const char *names[MOST_NAMES]; /* in order; what is optional comes last */
    uint8_t least;                 /* with fewer variables it is not told which are absent */
};

static const struct class_names classes[] = {
    {"dense", {"kernel", "bias"}, 1},
    {"einsum_dense", {"kernel", "bias"}, 1},
    {"query_dense", {"kernel", "bias"}, 1},
    {"key_dense", {"kernel", "bias"}, 1},
    {"value_dense", {"kernel", "bias"}, 1},
    {"output_dense", {"kernel", "bias"}, 1},
    {"_query_dense", {"kernel", "bias"}, 1},
    {"_key_dense", {"kernel", "bias"}, 1},
    {"_value_dense", {"kernel", "bias"}, 1},
    {"_output_dense", {"kernel", "bias"}, 1},
    {"conv1d", {"kernel", "bias"}, 1},
    {"conv2d", {"kernel", "bias"}, 1},
    {"conv3d", {"kernel", "bias"}, 1},
    {"conv1d_transpose", {"kernel", "bias"}, 1},
    {"conv2d_transpose", {"kernel", "bias"}, 1},
    {"conv3d_transpose", {"kernel", "bias"}, 1},
    {"depthwise_conv1d", {"kernel", "bias"}, 1},
    {"depthwise_conv2d", {"kernel", "bias"}, 1},
    {"separable_conv1d", {"depthwise_kernel", "pointwise_kernel", "bias"}, 2},
    {"separable_conv2d", {"depthwise_kernel", "pointwise_kernel", "bias"}, 2},
    {"embedding", {"embeddings"}, 1},
    {"batch_normalization", {"gamma", "beta", "moving_mean", "moving_variance"}, 4},
    {"layer_normalization", {"gamma", "beta"}, 2},
    {"group_normalization", {"gamma", "beta"}, 2},
    {"rms_normalization", {"scale"}, 1},
    {"normalization", {"mean", "variance", "count"}, 3},
    {"p_re_lu", {"alpha"}, 1},
    {"cell", {"kernel", "recurrent_kernel", "bias"}, 2},
    {"lstm_cell", {"kernel", "recurrent_kernel", "bias"}, 2},
    {"gru_cell", {"kernel", "recurrent_kernel", "bias"}, 2},
    {"simple_rnn_cell", {"kernel", "recurrent_kernel", "bias"}, 2},
};

struct titler {
    struct heft_h5_reader *r;
    struct heft_strmap counts; /* group → variables */
    struct heft_strmap names;  /* given → how many would have it */
    struct heft_error *err;
};

/* ---- paths ------------------------------------------------------------------------------- */

static size_t last_slash(struct heft_str path)
{
    size_t at = path.n;

    while (at > 0 && path.p[at - 1] != '/')
        at--;
    return at; /* where the last part begins */
}

/* "G/vars/0" → "G" and 0. */
static bool split_path(struct heft_str path, struct heft_str *group, uint64_t *number)
{
    const size_t at = last_slash(path);
    struct heft_str vars = {path.p, at ? at - 1 : 0};

    *number = 0;
    for (size_t i = at; i < path.n; i++) {
        if (path.p[i] < '0' || path.p[i] > '9' || i - at > 6)
            return false;
        *number = *number * 10 + (uint64_t)(path.p[i] - '0');
    }
    if (at == path.n || !heft_str_ends(vars, "/" VARS))
        return false;
    *group = (struct heft_str){path.p, vars.n - sizeof VARS};
    return true;
}

/* Looking up each group of a path takes its parts times its length. */
static bool is_deep(struct heft_str path)
{
    size_t parts = 0;

    for (size_t i = 0; i < path.n; i++)
        parts += path.p[i] == '/';
    return parts > MOST_PARTS;
}

/* "layers/dense_1" → "dense". */
static struct heft_str class_of(struct heft_str group)
{
    const size_t at = last_slash(group);
    size_t end = group.n;

    while (end > at && group.p[end - 1] >= '0' && group.p[end - 1] <= '9')
        end--;
    if (end == group.n || end <= at + 1 || group.p[end - 1] != '_')
        end = group.n + 1;
    return (struct heft_str){group.p + at, end - 1 - at};
}

/* ---- names ------------------------------------------------------------------------------- */

/* NULL: the number stays. */
static const char *name_of(struct heft_str group, uint64_t number, uint32_t count)
{
    const struct heft_str name = class_of(group);

    for (size_t i = 0; i < HEFT_COUNT(classes); i++) {
        const struct class_names *const c = &classes[i];

        if (!heft_str_is(name, c->group))
            continue;
        if (count < c->least || count > MOST_NAMES || number >= count)
            return NULL;
        return c->names[count - 1] ? c->names[number] : NULL;
    }
    return NULL;
}

static const struct heft_str *title_of(const struct titler *t, struct heft_str group)
{
    const uint32_t at = heft_strmap_get(&t->r->titled, group);

    return at == HEFT_MAP_NONE ? NULL : &t->r->titles[at];
}

/* The titles of the groups that lead there, the root's left out. */
static void put_titles(const struct titler *t, struct heft_str group, struct heft_buf *out)
{
    for (size_t end = 1; end <= group.n; end++) {
        const struct heft_str part = {group.p, end};
        const struct heft_str *title;

        if ((end < group.n && group.p[end] != '/') || heft_str_is(class_of(part), "functional"))
            continue;
        title = title_of(t, part);
        if (!title)
            continue;
        heft_buf_str(out, *title);
        heft_buf_char(out, '/');
    }
}

static bool make_name(const struct titler *t, struct heft_str path, struct heft_str *out)
{
    struct heft_buf buf = {0};
    struct heft_str group;
    const char *name;
    uint64_t number;
    uint32_t count;

    *out = (struct heft_str){NULL, 0};
    if (is_deep(path) || !split_path(path, &group, &number) || !title_of(t, group))
        return true;
    count = heft_strmap_get(&t->counts, group);
    name = name_of(group, number, count);
    put_titles(t, group, &buf);
    if (name)
        heft_buf_text(&buf, name);
    else
        heft_buf_u64(&buf, number);
    return heft_buf_take(&buf, &t->r->model->mem, out, t->err);
}

static bool count_name(struct heft_strmap *map, struct heft_str name, struct heft_error *err)
{
    const uint32_t before = heft_strmap_get(map, name);

    return heft_strmap_set(map, name, before == HEFT_MAP_NONE ? 1 : before + 1, err);
}

/* Quantized layers have a scale behind their kernel, where others may have a bias. */
static bool is_quantized(const struct heft_h5_entry *entry)
{
    return entry->dtype == HEFT_I8 || entry->dtype == HEFT_U8;
}

/* Of a group with a quantized variable: more than any class of the table has. */
static bool count_groups(struct titler *t)
{
    struct heft_str group;
    uint64_t number;

    for (size_t i = 0; i < t->r->n_entries; i++) {
        const struct heft_h5_entry *const entry = &t->r->entries[i];
        bool ok = true;

        if (!split_path(entry->path, &group, &number))
            continue;
        for (unsigned k = 0; ok && k < (is_quantized(entry) ? MOST_NAMES + 1 : 1); k++)
            ok = count_name(&t->counts, group, t->err);
        if (!ok)
            return false;
    }
    return true;
}

static bool name_entries(struct titler *t, struct heft_str *names)
{
    struct heft_h5_reader *const r = t->r;

    for (size_t i = 0; i < r->n_entries; i++)
        if (!make_name(t, r->entries[i].path, &names[i]) ||
            !count_name(&t->names, names[i].p ? names[i] : r->entries[i].path, t->err))
            return false;
    for (size_t i = 0; i < r->n_entries; i++)
        if (names[i].p && heft_strmap_get(&t->names, names[i]) == 1)
            r->entries[i].name = names[i];
    return true;
}

bool heft_h5_add_title(struct heft_h5_reader *r, struct heft_str path, struct heft_str title,
                       struct heft_error *err)
{
    struct heft_str group = {path.p, path.n - sizeof VARS}, kept;
    uint32_t found;

    if (!heft_str_ends(path, "/" VARS) || title.n == 0 ||
        heft_utf8_check((struct heft_bytes){(const uint8_t *)title.p, title.n}) != title.n)
        return true;
    group.p = heft_arena_text(&r->model->mem, group, err);
    kept = (struct heft_str){heft_arena_text(&r->model->mem, title, err), title.n};
    if (!group.p || !kept.p ||
        !heft_grow(&r->titles, &r->cap_titles, r->n_titles, 1, sizeof *r->titles, err))
        return false;
    r->titles[r->n_titles] = kept;
    return heft_strmap_add(&r->titled, group, (uint32_t)r->n_titles++, &found, err);
}

bool heft_h5_title(struct heft_h5_reader *r, struct heft_error *err)
{
    struct titler t = {.r = r, .err = err};
    struct heft_str *names;
    bool ok;

    if (r->n_titles == 0)
        return true;
    names = heft_calloc(r->n_entries + 1, sizeof *names, err);
    ok = names && count_groups(&t) && name_entries(&t, names);
    heft_strmap_release(&t.counts);
    heft_strmap_release(&t.names);
    heft_free(names);
    return ok;
}
