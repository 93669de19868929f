/* tf_into_names.c: the names by which the tensors of a checkpoint can be addressed: keys, variable
 * names from the object graph, and object paths.
 *
 *     "dense/kernel/.ATTRIBUTES/VARIABLE_VALUE"     the key
 *     "sequential/dense/kernel"                     full_name
 *     "dense/kernel", "dense.kernel"                the object path, unescaped
 *     "table/table-keys"                            … with the attribute, for tensors that are not variables
 *
 * A name that matches two tensors matches none, unless it is a key. */
#include "format/tensorflow/bundle/tf_twins.h"
#include "format/tensorflow/write/tf_write.h"
#include "wire/proto.h"

#define GRAPH      "_CHECKPOINTABLE_OBJECT_GRAPH"
#define ATTRIBUTES "/.ATTRIBUTES/"
#define VALUE      "VARIABLE_VALUE"
#define SEVERAL    (HEFT_NONE - 1)
#define MOST_OUTER 8 /* parts that a name may have in front of a variable's name */

enum { GRAPH_NODE = 1, NODE_ATTRIBUTE = 2, ATTRIBUTE_FULL_NAME = 2, ATTRIBUTE_KEY = 3 };

static bool add_name(struct heft_strmap *map, struct heft_str name, uint32_t row,
                     struct heft_error *err)
{
    uint32_t found;

    if (name.n == 0)
        return true;
    if (!heft_strmap_add(map, name, row, &found, err))
        return false;
    return found == HEFT_MAP_NONE || found == row || heft_strmap_set(map, name, SEVERAL, err);
}

/* ---- paths of objects -------------------------------------------------------------------- */

/* End of the object path in a key; the key's length if it has none. */
static size_t path_end(struct heft_str key)
{
    const size_t n = sizeof ATTRIBUTES - 1;

    for (size_t at = 0; at + n <= key.n; at++)
        if (memcmp(key.p + at, ATTRIBUTES, n) == 0)
            return at;
    return key.n;
}

/* Adds the path that a key spells, its parts joined by `joint`: "d/.ATTRIBUTES/table-keys" gives
 * "d/table-keys". */
static bool add_way(struct heft_tf_names *names, struct heft_str key, size_t end, char joint,
                    uint32_t row, struct heft_error *err)
{
    const size_t from = end + sizeof ATTRIBUTES - 1;
    const struct heft_str rest = {key.p + from, key.n - from};
    char *text = heft_arena_alloc(&names->mem, key.n + 1, err);
    size_t to = 0;

    for (size_t i = 0; text && i < end; i++) {
        const char next = i + 1 < end ? key.p[i + 1] : '\0';

        if (key.p[i] == '.' && (next == '.' || next == 'S')) {
            text[to++] = next == 'S' ? '/' : '.';
            i++;
        } else {
            text[to++] = key.p[i] == '/' ? joint : key.p[i];
        }
    }
    if (text && !heft_str_is(rest, VALUE)) {
        if (to)
            text[to++] = joint;
        memcpy(text + to, rest.p, rest.n);
        to += rest.n;
    }
    return text && add_name(&names->ways, (struct heft_str){text, to}, row, err);
}

static bool add_ways(struct heft_tf_names *names, const struct heft_model *model,
                     struct heft_error *err)
{
    for (uint32_t i = 0; i < model->n_rows; i++) {
        const struct heft_str key = model->rows[i].name;
        const size_t end = path_end(key);

        if (end < key.n &&
            (!add_way(names, key, end, '/', i, err) || !add_way(names, key, end, '.', i, err)))
            return false;
    }
    return true;
}

/* ---- names of variables ------------------------------------------------------------------ */

static bool read_attribute(struct heft_tf_names *names, struct heft_cur cur, struct heft_error *err)
{
    struct heft_str name = {0}, key = {0};
    struct heft_proto_item item;
    uint32_t row;

    while (heft_proto_take(&cur, &item, err)) {
        const struct heft_str text = {(const char *)item.bytes.p, item.bytes.n};

        if (item.wire == HEFT_PROTO_LEN && item.number == ATTRIBUTE_FULL_NAME)
            name = text;
        if (item.wire == HEFT_PROTO_LEN && item.number == ATTRIBUTE_KEY)
            key = text;
    }
    if (cur.bad)
        return false;
    row = key.p ? heft_model_row(names->model, key) : HEFT_NONE;
    if (row == HEFT_NONE || !name.p)
        return true;
    if (names->full[row].n) /* with the attribute as the last part */
        return add_name(&names->variables, name, row, err);
    names->full[row] = name;
    return true;
}

static bool read_node(struct heft_tf_names *names, struct heft_cur cur, struct heft_error *err)
{
    struct heft_proto_item item;

    while (heft_proto_take(&cur, &item, err))
        if (item.number == NODE_ATTRIBUTE && item.wire == HEFT_PROTO_LEN &&
            !read_attribute(names, heft_proto_sub(&item), err))
            return false;
    return !cur.bad;
}

static bool read_graph(struct heft_tf_names *names, struct heft_error *err)
{
    const uint32_t row = heft_model_row(names->model, HEFT_STR(GRAPH));
    struct heft_proto_item item;
    struct heft_bytes bytes;
    struct heft_cur cur;
    uint64_t where;

    if (row == HEFT_NONE)
        return true;
    if (!heft_tf_read_graph(names->model, &names->model->rows[row], &names->mem, &bytes, &where,
                            err))
        return false;
    cur = heft_cur_of(bytes, where);
    while (heft_proto_take(&cur, &item, err))
        if (item.number == GRAPH_NODE && item.wire == HEFT_PROTO_LEN &&
            !read_node(names, heft_proto_sub(&item), err))
            return false;
    return !cur.bad;
}

/* ---- looking up names -------------------------------------------------------------------- */

/* The name without its first part, which a Keras Sequential model prepends to its layers' names. */
static struct heft_str below_root(struct heft_str name)
{
    const char *const slash = name.n ? memchr(name.p, '/', name.n) : NULL;

    if (!slash)
        return (struct heft_str){name.p, 0};
    return (struct heft_str){slash + 1, name.n - (size_t)(slash + 1 - name.p)};
}

/* Adds variable names. The name of a variable that is stored twice means the copy that functions
 * capture. */
static bool add_variables(struct heft_tf_names *names, struct heft_error *err)
{
    const struct heft_model *const model = names->model;
    struct heft_tf_twins found;

    if (!heft_tf_twins_find(model, 0, model->n_rows, names->full, names->twin, &found, err))
        return false;
    for (uint32_t i = 0; i < model->n_rows; i++)
        if ((names->twin[i] == HEFT_NONE || !heft_tf_is_copy(model->rows[i].name)) &&
            (!add_name(&names->variables, names->full[i], i, err) ||
             !add_name(&names->inner, below_root(names->full[i]), i, err)))
            return false;
    return true;
}

bool heft_tf_names_load(struct heft_tf_names *names, const struct heft_model *model,
                        struct heft_error *err)
{
    *names = (struct heft_tf_names){.model = model};
    names->full = heft_arena_zero(&names->mem, model->n_rows + 1, sizeof *names->full, err);
    names->twin = names->full
                      ? heft_arena_zero(&names->mem, model->n_rows + 1, sizeof *names->twin, err)
                      : NULL;
    return names->twin && read_graph(names, err) && add_variables(names, err) &&
           add_ways(names, model, err);
}

void heft_tf_names_release(struct heft_tf_names *names)
{
    heft_strmap_release(&names->variables);
    heft_strmap_release(&names->ways);
    heft_strmap_release(&names->inner);
    heft_arena_release(&names->mem);
}

static uint32_t one_of(const struct heft_strmap *map, struct heft_str name)
{
    const uint32_t row = heft_strmap_get(map, name);

    return row == HEFT_MAP_NONE || row == SEVERAL ? HEFT_NONE : row;
}

static uint32_t find_row(const struct heft_tf_names *names, struct heft_str name)
{
    uint32_t row = heft_model_row(names->model, name);

    if (row == HEFT_NONE)
        row = one_of(&names->variables, name);
    if (row == HEFT_NONE)
        row = one_of(&names->ways, name);
    if (row == HEFT_NONE && name.n && memchr(name.p, '/', name.n))
        row = one_of(&names->inner, name);
    return row;
}

uint32_t heft_tf_names_find(const struct heft_tf_names *names, struct heft_str name)
{
    const uint32_t row = find_row(names, name);

    if (row == HEFT_NONE &&
        heft_str_ends(name, ":0")) /* a tensor name of a graph: output 0 of the node */
        return find_row(names, (struct heft_str){name.p, name.n - 2});
    return row;
}

uint32_t heft_tf_names_find_inner(const struct heft_tf_names *names, struct heft_str name)
{
    const struct heft_str inner = below_root(name);

    return inner.n && memchr(inner.p, '/', inner.n) ? one_of(&names->inner, inner) : HEFT_NONE;
}

uint32_t heft_tf_names_find_end(const struct heft_tf_names *names, struct heft_str name)
{
    uint32_t row = HEFT_NONE;

    for (unsigned i = 0; i < MOST_OUTER && row == HEFT_NONE; i++) {
        name = below_root(name);
        if (!name.n || !memchr(name.p, '/', name.n))
            break;
        row = one_of(&names->variables, name);
    }
    return row;
}
