/* h5_titles.c: the names that Keras 3 gives to variables, for --names objects.
 *
 *     layers/lstm/vars             attribute name = "x"
 *     layers/lstm/cell/vars        attribute name = "lstm_cell"
 *     layers/lstm/cell/vars/0      ──► "x/lstm_cell/kernel"
 *
 * A group in a list is named after its class (layers/dense_1), another one after the attribute that
 * holds it (self.dense: any name). Groups of the first kind, or config.json of a .keras archive
 * (h5_config.c), tell the class, which numbers its variables in the order of their creation
 * (measured with Keras 3.15). Of other groups the title may be the one that Keras makes of the
 * class (layer_normalization_2): with a note. If the class is unknown, or has other variables or
 * shapes than the table, or quantized ones, the number is kept, with a note: "x/vars/0".
 *
 * Functional models add no name to the names of their contents, Sequential ones do; a model with an
 * input of its own starts again without a prefix. This applies to the root, too, which has the
 * title of the group vars; only Functional models store a group layers/input_layer. Names that two
 * tensors would have are used for neither.
 * SpectralNormalization saves the kernel of its layer a second time, which is not a tensor of its
 * own. */
#include "base/text.h"
#include "format/hdf5/h5_parts.h"

#define VARS       "vars"
#define LAYER      "/layer/" VARS "/0"
#define MOST_PARTS 64
#define MOST_NAMES 4
#define MOST_CLASS 32 /* longest class name that is looked up */
#define PIECE      ((size_t)1 << 16)
#define MOST_KEPT  16384 /* titles that shards remember: each shard reads all of them */

struct variable {
    const char *name;
    uint8_t needs; /* variables that a layer can do without */
};

/* How the shapes of a layer's variables are related. */
enum shapes {
    ANY_SHAPES,
    LAST_EQUAL, /* the last extents are equal: [in, out] and [out] */
    ALL_EQUAL,
};

struct class_names {
    const char *class_name;            /* as normalised by heft_h5_plain */
    struct variable names[MOST_NAMES]; /* variables in the order in which the class creates them */
    uint8_t least;                     /* of a class without config: with fewer variables it is
                                          unknown which are absent */
    uint8_t rank;                      /* of the first variable; 0: any */
    uint8_t shapes;                    /* enum shapes */
};

#define KERNEL_BIAS {{"kernel", 0}, {"bias", HEFT_H5_BIAS}}, 1
#define GAMMA_BETA  {{"gamma", HEFT_H5_SCALE}, {"beta", HEFT_H5_CENTER}}, 2
#define SEPARABLE   {{"depthwise_kernel", 0}, {"pointwise_kernel", 0}, {"bias", HEFT_H5_BIAS}}, 2
#define CELL        {{"kernel", 0}, {"recurrent_kernel", 0}, {"bias", HEFT_H5_BIAS}}, 2

static const struct class_names classes[] = {
    {"dense", KERNEL_BIAS, 2, LAST_EQUAL},
    {"einsumdense", KERNEL_BIAS, 0, ANY_SHAPES},
    {"conv1d", KERNEL_BIAS, 3, LAST_EQUAL},
    {"conv2d", KERNEL_BIAS, 4, LAST_EQUAL},
    {"conv3d", KERNEL_BIAS, 5, LAST_EQUAL},
    {"conv1dtranspose", KERNEL_BIAS, 3, ANY_SHAPES},
    {"conv2dtranspose", KERNEL_BIAS, 4, ANY_SHAPES},
    {"conv3dtranspose", KERNEL_BIAS, 5, ANY_SHAPES},
    {"depthwiseconv1d", KERNEL_BIAS, 3, ANY_SHAPES},
    {"depthwiseconv2d", KERNEL_BIAS, 4, ANY_SHAPES},
    {"separableconv1d", SEPARABLE, 3, ANY_SHAPES},
    {"separableconv2d", SEPARABLE, 4, ANY_SHAPES},
    {"embedding", {{"embeddings", 0}}, 1, 2, ANY_SHAPES},
    {"reversibleembedding",
     {{"embeddings", 0}, {"reverse_embeddings", HEFT_H5_REVERSE}},
     1,
     2,
     ANY_SHAPES},
    {"batchnormalization",
     {{"gamma", HEFT_H5_SCALE},
      {"beta", HEFT_H5_CENTER},
      {"moving_mean", 0},
      {"moving_variance", 0}},
     4,
     1,
     ALL_EQUAL},
    {"layernormalization", GAMMA_BETA, 0, ALL_EQUAL},
    {"groupnormalization", GAMMA_BETA, 1, ALL_EQUAL},
    {"rmsnormalization", {{"scale", 0}}, 1, 0, ANY_SHAPES},
    {"normalization", {{"mean", 0}, {"variance", 0}, {"count", 0}}, 3, 0, ANY_SHAPES},
    {"spectralnormalization", {{NULL, 0}, {"vector_u", 0}}, 2, 0, ANY_SHAPES},
    {"additiveattention", {{"scale", 0}}, 1, 1, ANY_SHAPES},
    {"prelu", {{"alpha", 0}}, 1, 0, ANY_SHAPES},
    {"lstmcell", CELL, 2, LAST_EQUAL},
    {"grucell", CELL, 2, LAST_EQUAL},
    {"simplernncell", CELL, 2, LAST_EQUAL},
    {"convlstmcell", CELL, 0, LAST_EQUAL},
};

/* Attributes of Keras' attention layers that hold layers of class EinsumDense. */
static const char *const projections[] = {
    "query_dense",  "key_dense",  "value_dense",  "gate_dense",  "output_dense",
    "_query_dense", "_key_dense", "_value_dense", "_gate_dense", "_output_dense",
};

/* Class of a group, as far as known. */
struct group_class {
    struct heft_str name; /* normalised; n = 0: none */
    const struct class_names *names;
    const struct heft_h5_class *config;
    bool is_inferred; /* from a title that Keras may have made */
};

/* Variables, for a note, and the first of their groups. */
struct noted {
    size_t n;
    struct heft_str title;
};

struct titler {
    struct heft_h5_reader *r;
    struct heft_strmap counts; /* group → number of variables */
    struct heft_strmap firsts; /* group → entry of its variable 0 */
    struct heft_strmap paths;  /* path → entry */
    struct heft_strmap names;  /* name → number of variables that would have it */
    size_t copies;
    bool has_root; /* names begin with the root's title */
    struct noted inferred, numbered;
    struct heft_error *err;
};

/* ---- paths ------------------------------------------------------------------------------- */

static size_t last_slash(struct heft_str path)
{
    size_t at = path.n;

    while (at > 0 && path.p[at - 1] != '/')
        at--;
    return at; /* begin of the last part */
}

/* Splits "G/vars/0" into "G" and 0. */
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

/* Looking up each group of a path takes time proportional to its parts times its length. */
static bool is_deep(struct heft_str path)
{
    size_t parts = 0;

    for (size_t i = 0; i < path.n; i++)
        parts += path.p[i] == '/';
    return parts > MOST_PARTS;
}

/* The class in a name, without its number: "dense_1" → "dense". */
static struct heft_str without_number(struct heft_str name)
{
    size_t end = name.n;

    while (end > 0 && name.p[end - 1] >= '0' && name.p[end - 1] <= '9')
        end--;
    if (end < name.n && end > 1 && name.p[end - 1] == '_')
        name.n = end - 1;
    return name;
}

static struct heft_str last_part(struct heft_str group)
{
    const size_t at = last_slash(group);

    return without_number((struct heft_str){group.p + at, group.n - at});
}

/* ---- classes ----------------------------------------------------------------------------- */

static const struct heft_str *title_of(const struct titler *t, struct heft_str group)
{
    const uint32_t at = heft_strmap_get(&t->r->titled, group);

    return at == HEFT_MAP_NONE ? NULL : &t->r->titles[at];
}

/* True if a group is an item of a list: it has a title, and the group above it has none. The root
 * is an object, not a list. */
static bool is_in_list(const struct titler *t, struct heft_str group)
{
    const size_t at = last_slash(group);

    return at > 0 && !title_of(t, (struct heft_str){group.p, at - 1});
}

static bool is_projection(struct heft_str part)
{
    for (size_t i = 0; i < HEFT_COUNT(projections); i++)
        if (heft_str_is(part, projections[i]))
            return true;
    return false;
}

/* The class by the group's path. RNN layers name the cells that they create after their class. */
static struct heft_str class_by_path(const struct titler *t, struct heft_str group,
                                     struct heft_str title)
{
    const struct heft_str part = last_part(group);

    if (is_in_list(t, group))
        return part;
    if (is_projection(part))
        return HEFT_STR("einsum_dense");
    if (heft_str_is(part, "cell") && heft_str_ends(title, "_cell"))
        return title;
    return (struct heft_str){"", 0};
}

static const struct class_names *find_names(struct heft_str name)
{
    for (size_t i = 0; i < HEFT_COUNT(classes); i++)
        if (heft_str_is(name, classes[i].class_name))
            return &classes[i];
    return NULL;
}

/* Class of a group that has a title. room: for the name, MOST_CLASS letters. */
static struct group_class class_of(const struct titler *t, struct heft_str group,
                                   struct heft_str title, char *room)
{
    const struct heft_h5_config *const config = t->r->config;
    /* Projections of an attention have titles, "query", that other layers may have as names. */
    const bool is_listed = config && (is_in_list(t, group) || !is_projection(last_part(group)));
    struct group_class c = {.config = is_listed ? heft_h5_find_class(config, title) : NULL};

    c.name.p = room;
    if (c.config) {
        if (c.config->is_known)
            c.name = c.config->name;
    } else {
        const struct heft_str by_path = class_by_path(t, group, title);

        c.is_inferred = by_path.n == 0;
        c.name.n = heft_h5_plain(c.is_inferred ? without_number(title) : by_path, room, MOST_CLASS);
        if (config && heft_strmap_get(&config->foreign, c.name) != HEFT_MAP_NONE)
            c.name.n = 0;
    }
    c.names = find_names(c.name);
    return c;
}

/* The entry of a variable of the group, or NULL. The walk lists them in a row. */
static const struct heft_h5_entry *entry_of(const struct titler *t, struct heft_str group,
                                            uint32_t number)
{
    const uint32_t first = heft_strmap_get(&t->firsts, group);
    const struct heft_h5_entry *entry;
    struct heft_str of;
    uint64_t found;

    if (first == HEFT_MAP_NONE || first + (uint64_t)number >= t->r->n_entries)
        return NULL;
    entry = &t->r->entries[first + number];
    return split_path(entry->path, &of, &found) && heft_str_eq(of, group) && found == number ? entry
                                                                                             : NULL;
}

static bool are_related(const struct heft_h5_entry *a, const struct heft_h5_entry *b,
                        enum shapes shapes)
{
    if (shapes == LAST_EQUAL)
        return a->rank && b->rank && a->shape[a->rank - 1] == b->shape[b->rank - 1];
    return shapes == ANY_SHAPES ||
           (a->rank == b->rank &&
            (a->rank == 0 || memcmp(a->shape, b->shape, a->rank * sizeof *a->shape) == 0));
}

/* Whether the variables of a group have the shapes of that class. */
static bool has_shapes(const struct titler *t, struct heft_str group, const struct class_names *c,
                       uint32_t count)
{
    const struct heft_h5_entry *const first = entry_of(t, group, 0);

    if (!first || (c->rank && first->rank != c->rank))
        return false;
    for (uint32_t i = 1; i < count; i++) {
        const struct heft_h5_entry *const next = entry_of(t, group, i);

        if (!next || !are_related(first, next, (enum shapes)c->shapes))
            return false;
    }
    return true;
}

/* Name of a variable of that class, or NULL if only its number is known. */
static const char *name_of(const struct titler *t, const struct group_class *c,
                           struct heft_str group, uint64_t number)
{
    const uint32_t count = heft_strmap_get(&t->counts, group);
    const char *found = NULL;
    uint32_t n = 0;

    if (!c->names)
        return NULL;
    for (size_t i = 0; i < MOST_NAMES; i++) {
        const struct variable *const v = &c->names->names[i];

        if ((!v->name && i + 1 >= c->names->least) || (c->config && v->needs & c->config->without))
            continue;
        if (n++ == number)
            found = v->name;
    }
    if (count != n && (c->config || count > n || count < c->names->least))
        return NULL;
    return has_shapes(t, group, c->names, count) ? found : NULL;
}

/* ---- names ------------------------------------------------------------------------------- */

/* Whether the root's title begins the names of its contents. */
static bool has_root(const struct titler *t)
{
    const struct heft_h5_config *const config = t->r->config;
    const struct heft_h5_class *const c = config ? heft_h5_find_class(config, t->r->root) : NULL;

    if (t->r->root.n == 0 || title_of(t, HEFT_STR("layers/input_layer")))
        return false;
    return !c || !c->is_known || !heft_str_is(c->name, "functional");
}

/* Appends the titles of the root and of the groups on the path. */
static void put_titles(const struct titler *t, struct heft_str group, struct heft_buf *out)
{
    char room[MOST_CLASS];

    if (t->has_root) {
        heft_buf_str(out, t->r->root);
        heft_buf_char(out, '/');
    }
    for (size_t end = 1; end <= group.n; end++) {
        const struct heft_str part = {group.p, end};
        const struct heft_str *const title =
            end == group.n || group.p[end] == '/' ? title_of(t, part) : NULL;
        struct group_class c;
        bool is_functional;

        if (!title)
            continue;
        c = class_of(t, part, *title, room);
        is_functional = heft_str_is(c.name, "functional");
        if (is_functional || (c.config && c.config->has_input))
            out->n = 0;
        if (!is_functional) {
            heft_buf_str(out, *title);
            heft_buf_char(out, '/');
        }
    }
}

static void note_title(struct noted *noted, struct heft_str title)
{
    if (!noted->n++)
        noted->title = title;
}

static bool make_name(struct titler *t, struct heft_str path, struct heft_str *out)
{
    const struct heft_str *title;
    struct heft_buf buf = {0};
    struct group_class c;
    char room[MOST_CLASS];
    struct heft_str group;
    const char *name;
    uint64_t number;

    *out = (struct heft_str){NULL, 0};
    if (is_deep(path) || !split_path(path, &group, &number) || !(title = title_of(t, group)))
        return true;
    c = class_of(t, group, *title, room);
    name = name_of(t, &c, group, number);
    put_titles(t, group, &buf);
    if (name) {
        heft_buf_text(&buf, name);
    } else {
        heft_buf_text(&buf, VARS "/");
        heft_buf_u64(&buf, number);
        note_title(&t->numbered, *title);
    }
    if (name && c.is_inferred)
        note_title(&t->inferred, *title);
    return heft_buf_take(&buf, &t->r->model->mem, out, t->err);
}

/* ---- kernels that are stored twice ------------------------------------------------------- */

static bool look_alike(const struct heft_h5_entry *a, const struct heft_h5_entry *b)
{
    return !a->why && !b->why && a->dtype == b->dtype && a->is_big == b->is_big &&
           a->bytes == b->bytes && a->rank == b->rank &&
           (a->rank == 0 || memcmp(a->shape, b->shape, a->rank * sizeof *a->shape) == 0) &&
           a->offset != HEFT_H5_NOWHERE && b->offset != HEFT_H5_NOWHERE;
}

static bool compare_bytes(const struct titler *t, const struct heft_h5_entry *a,
                          const struct heft_h5_entry *b, bool *same)
{
    uint8_t *const piece = heft_alloc(2 * PIECE, t->err);
    bool ok = piece != NULL;
    size_t now;

    for (uint64_t at = 0; ok && *same && at < a->bytes; at += now) {
        now = (size_t)heft_min_u64(PIECE, a->bytes - at);
        ok = heft_source_read(t->r->bytes, a->offset + at, piece, now, t->err) &&
             heft_source_read(t->r->bytes, b->offset + at, piece + PIECE, now, t->err);
        *same = ok && memcmp(piece, piece + PIECE, now) == 0;
    }
    heft_free(piece);
    return ok;
}

/* Finds the copy of a kernel that SpectralNormalization stores: "sn/vars/0" has the same contents
 * as "sn/layer/vars/0". The class of the inner layer must have a kernel as its first variable. */
static bool find_copy(struct titler *t, struct heft_h5_entry *entry)
{
    struct heft_str group, path, layer;
    const struct heft_str *title;
    struct heft_buf buf = {0};
    char room[MOST_CLASS];
    uint64_t number;
    uint32_t at;
    bool same;

    if (is_deep(entry->path) || !split_path(entry->path, &group, &number) || number != 0 ||
        !(title = title_of(t, group)) ||
        !heft_str_is(class_of(t, group, *title, room).name, "spectralnormalization"))
        return true;
    heft_buf_str(&buf, group);
    heft_buf_text(&buf, LAYER);
    if (!heft_buf_take(&buf, &t->r->model->mem, &path, t->err))
        return false;
    layer = (struct heft_str){path.p, path.n - (sizeof "/" VARS "/0" - 1)};
    at = heft_strmap_get(&t->paths, path);
    title = title_of(t, layer);
    same = at != HEFT_MAP_NONE && title && class_of(t, layer, *title, room).names &&
           look_alike(entry, &t->r->entries[at]);
    if (same && !compare_bytes(t, entry, &t->r->entries[at], &same))
        return false;
    entry->is_copy = same;
    t->copies += same;
    return true;
}

static bool find_copies(struct titler *t)
{
    uint32_t found;

    for (uint32_t i = 0; i < t->r->n_entries; i++)
        if (!heft_strmap_add(&t->paths, t->r->entries[i].path, i, &found, t->err))
            return false;
    for (size_t i = 0; i < t->r->n_entries; i++)
        if (!find_copy(t, &t->r->entries[i]))
            return false;
    return t->copies == 0 ||
           heft_model_tell(t->r->model, t->r->source, t->err,
                           "%zu kernel%s stored twice, as SpectralNormalization does: each is "
                           "taken once",
                           t->copies, t->copies == 1 ? " is" : "s are");
}

/* ---- naming all entries ------------------------------------------------------------------ */

static bool count_name(struct heft_strmap *map, struct heft_str name, struct heft_error *err)
{
    const uint32_t before = heft_strmap_get(map, name);

    return heft_strmap_set(map, name, before == HEFT_MAP_NONE ? 1 : before + 1, err);
}

/* Quantized layers have a scale after their kernel, where others may have a bias. */
static bool is_quantized(const struct heft_h5_entry *entry)
{
    return entry->dtype == HEFT_I8 || entry->dtype == HEFT_U8;
}

/* Counts a variable; if it is quantized, as more than any class in the table has. */
static bool count_variable(struct titler *t, uint32_t number)
{
    const struct heft_h5_entry *const entry = &t->r->entries[number];
    struct heft_str group;
    uint64_t index;
    uint32_t found;

    if (!split_path(entry->path, &group, &index))
        return true;
    for (unsigned k = 0; k < (is_quantized(entry) ? MOST_NAMES + 1 : 1); k++)
        if (!count_name(&t->counts, group, t->err))
            return false;
    return index != 0 || heft_strmap_add(&t->firsts, group, number, &found, t->err);
}

static bool count_groups(struct titler *t)
{
    for (uint32_t i = 0; i < t->r->n_entries; i++)
        if (!count_variable(t, i))
            return false;
    return true;
}

static bool name_entries(struct titler *t, struct heft_str *names)
{
    struct heft_h5_reader *const r = t->r;

    for (size_t i = 0; i < r->n_entries; i++)
        if (!r->entries[i].is_copy &&
            (!make_name(t, r->entries[i].path, &names[i]) ||
             !count_name(&t->names, names[i].p ? names[i] : r->entries[i].path, t->err)))
            return false;
    for (size_t i = 0; i < r->n_entries; i++)
        if (names[i].p && heft_strmap_get(&t->names, names[i]) == 1)
            r->entries[i].name = names[i];
    return true;
}

static bool tell_noted(const struct titler *t, const struct noted *noted, const char *what)
{
    const size_t n = noted->n;

    return n == 0 ||
           heft_model_tell(t->r->model, t->r->source, t->err, "%zu variable%s %s (%.*s%s)", n,
                           n == 1 ? " is" : "s are", what, (int)heft_min_u64(noted->title.n, 60),
                           noted->title.p, n == 1 ? "" : ", …");
}

static bool tell_names(const struct titler *t)
{
    return tell_noted(t, &t->numbered,
                      "numbered instead of named: the class of the layer is unknown or has other "
                      "variables") &&
           tell_noted(t, &t->inferred, "named by the class in the layer's default name");
}

/* ---- titles ------------------------------------------------------------------------------ */

/* Attachments by which the shards of an index know the titles of earlier ones: the name is the group,
 * the data its title. Keras writes the title of a layer into the shard that is current before the
 * layer's variables open the next one. */
static const char titles_kind;

static bool push_title(struct heft_h5_reader *r, struct heft_str group, struct heft_str title,
                       struct heft_error *err)
{
    uint32_t found;

    if (group.n == 0) {
        r->root = title;
        return true;
    }
    if (!heft_grow(&r->titles, &r->cap_titles, r->n_titles, 1, sizeof *r->titles, err))
        return false;
    r->titles[r->n_titles] = title;
    return heft_strmap_add(&r->titled, group, (uint32_t)r->n_titles++, &found, err);
}

static bool keep_title(struct heft_h5_reader *r, struct heft_str group, struct heft_str title,
                       struct heft_error *err)
{
    struct heft_str *const kept = heft_arena_alloc(&r->model->mem, sizeof *kept, err);

    if (!kept)
        return false;
    *kept = title;
    if (r->model->n_attachments >= MOST_KEPT)
        return true; /* later shards number the variables of this layer */
    return heft_model_attach(r->model, (struct heft_attachment){&titles_kind, group, kept}, err);
}

/* Adds the titles of earlier shards, whose groups this one has no titles for. */
static bool recall_titles(struct heft_h5_reader *r, struct heft_error *err)
{
    for (size_t i = 0; r->model->inside_index && i < r->model->n_attachments; i++) {
        const struct heft_attachment *const kept = &r->model->attachments[i];
        const struct heft_str *const title = kept->data;
        const bool is_known =
            kept->name.n ? heft_strmap_get(&r->titled, kept->name) != HEFT_MAP_NONE : r->root.n > 0;

        if (kept->kind == &titles_kind && !is_known && !push_title(r, kept->name, *title, err))
            return false;
    }
    return true;
}

bool heft_h5_add_title(struct heft_h5_reader *r, struct heft_str path, struct heft_str title,
                       struct heft_error *err)
{
    const bool is_root = heft_str_is(path, VARS);
    struct heft_str group = path, kept;

    if (!(is_root || heft_str_ends(path, "/" VARS)) || title.n == 0 ||
        heft_utf8_check((struct heft_bytes){(const uint8_t *)title.p, title.n}) != title.n)
        return true;
    group.n = is_root ? 0 : path.n - sizeof VARS;
    group.p = heft_arena_text(&r->model->mem, group, err);
    kept = (struct heft_str){heft_arena_text(&r->model->mem, title, err), title.n};
    return group.p && kept.p && push_title(r, group, kept, err) &&
           (!r->model->inside_index || keep_title(r, group, kept, err));
}

bool heft_h5_title(struct heft_h5_reader *r, struct heft_error *err)
{
    struct titler t = {.r = r, .err = err};
    struct heft_str *names;
    bool ok;

    if (!recall_titles(r, err))
        return false;
    if (r->n_titles == 0)
        return true;
    t.has_root = has_root(&t);
    names = heft_calloc(r->n_entries + 1, sizeof *names, err);
    ok = names && count_groups(&t) && find_copies(&t) && name_entries(&t, names) && tell_names(&t);
    heft_strmap_release(&t.counts);
    heft_strmap_release(&t.firsts);
    heft_strmap_release(&t.paths);
    heft_strmap_release(&t.names);
    heft_free(names);
    return ok;
}
