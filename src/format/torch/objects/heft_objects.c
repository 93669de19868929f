/* heft_objects.c: the public API for the graph of a pickle.
 *
 *     heft_objects_new ─► heft_checkpoint_open, with a taker ─► take_graph: keeps nodes and storages
 *
 * The file is opened as by heft_open, so that its tensors are checked. The taker moves the arena with
 * the graph out of the reader, which would release it. */
#include "api/checkpoint.h"
#include "base/require_arg.h"
#include "base/sized.h"
#include "format/torch/pickle/torch_walk.h"
#include "heft/heft.h"

struct kept_storage {
    const char *class_name;
    uint64_t begin, bytes; /* byte range in the model's storage */
    uint32_t storage;      /* of the model; HEFT_NONE: no data */
    uint32_t row;          /* a row on it that has elements; HEFT_NONE: none */
};

struct heft_objects {
    struct heft_tree_taker taker; /* called by the walk; must be the first member */
    struct heft_checkpoint *c;
    struct heft_arena graph;
    struct heft_pickle pickle; /* count is 0 if there is none */
    uint32_t *meanings;        /* per node that is a storage: its index in storages */
    uint32_t *row_of;          /* per node: the row that it makes, or HEFT_NONE */
    size_t cap_row_of;
    struct kept_storage *storages;
    size_t n_storages;
    bool big_endian;
};

/* ---- taking the graph ---------------------------------------------------------------------- */

static struct heft_objects *objects_of(const struct heft_torch_walk *w)
{
    return (struct heft_objects *)w->t->taker;
}

static bool pass(struct heft_torch_walk *w)
{
    (void)w;
    return true;
}

static bool reserve_rows(struct heft_objects *o, uint32_t nodes, struct heft_error *err)
{
    if (o->row_of)
        return true;
    o->row_of = heft_alloc((nodes + (size_t)1) * sizeof *o->row_of, err);
    if (o->row_of)
        memset(o->row_of, 0xff, (nodes + (size_t)1) * sizeof *o->row_of); /* HEFT_NONE */
    return o->row_of != NULL;
}

/* Records the row that a node makes: the newest one. */
static bool take_tensor(struct heft_torch_walk *w, uint32_t row)
{
    struct heft_objects *const o = objects_of(w);

    if (row == HEFT_NONE)
        return true;
    if (!reserve_rows(o, w->t->pickle.count, w->err))
        return false;
    o->row_of[w->row_nodes[w->n_row_cuts - 1]] = row;
    return true;
}

static uint64_t bytes_to_take(const struct heft_torch_walk *w)
{
    return w->t->pickle.count * sizeof(uint32_t) + w->t->n_storages * sizeof(struct kept_storage);
}

static bool take_storages(struct heft_objects *o, const struct heft_torch *t,
                          struct heft_error *err)
{
    o->storages = heft_calloc(t->n_storages + 1, sizeof *o->storages, err);
    if (!o->storages)
        return false;
    for (; o->n_storages < t->n_storages; o->n_storages++) {
        const struct heft_torch_storage *const s = &t->storages[o->n_storages];

        o->storages[o->n_storages] =
            (struct kept_storage){s->type->name, s->begin, s->bytes, s->storage, HEFT_NONE};
    }
    return true;
}

/* Containers whose persistent ids also denote tensors, and TorchScript, are not what Python's
 * unpickler sees. */
static bool take_graph(struct heft_torch *t, struct heft_error *err)
{
    struct heft_objects *const o = (struct heft_objects *)t->taker;

    if (t->container->tensor || t->is_script)
        return true;
    if (!reserve_rows(o, t->pickle.count, err) || !take_storages(o, t, err))
        return false;
    o->graph = t->graph;
    t->graph = (struct heft_arena){0};
    o->pickle = t->pickle;
    o->meanings = t->meanings;
    o->big_endian = t->is_big;
    return true;
}

/* ---- opening ------------------------------------------------------------------------------- */

/* Finds for each storage a row with elements, through which it is mapped. */
static bool find_rows(struct heft_objects *o, struct heft_error *err)
{
    const struct heft_model *const model = &o->c->model;
    uint32_t *const row_on = heft_alloc((model->n_storages + 1) * sizeof *row_on, err);

    if (!row_on)
        return false;
    memset(row_on, 0xff, (model->n_storages + 1) * sizeof *row_on); /* HEFT_NONE */
    for (uint32_t i = 0; i < model->n_rows; i++)
        if (!model->rows[i].parts && model->rows[i].bytes > 0)
            row_on[model->rows[i].storage] = i;
    for (size_t i = 0; i < o->n_storages; i++)
        if (o->storages[i].storage != HEFT_NONE)
            o->storages[i].row = row_on[o->storages[i].storage];
    heft_free(row_on);
    return true;
}

static bool open_objects(struct heft_objects *o, const char *path,
                         const struct heft_open_options *options, struct heft_error *err)
{
    const struct heft_torch_request wanted = {.taker = &o->taker};
    const struct heft_open_request request = heft_torch_ask(&wanted);

    o->c = heft_checkpoint_open(&path, 1, options, &request, err);
    return o->c && find_rows(o, err);
}

struct heft_objects *heft_objects_new(const char *path, const struct heft_open_options *options,
                                      struct heft_error *err)
{
    struct heft_objects *o;

    if (!heft_require_arg(path, "a path", err))
        return NULL;
    o = heft_calloc(1, sizeof *o, err);
    if (!o)
        return NULL;
    o->taker = (struct heft_tree_taker){.open = pass,
                                        .tensor = take_tensor,
                                        .value = pass,
                                        .close = pass,
                                        .bytes = bytes_to_take,
                                        .take = take_graph};
    if (open_objects(o, path, options, err))
        return o;
    heft_objects_free(o);
    return NULL;
}

void heft_objects_free(struct heft_objects *o)
{
    if (!o)
        return;
    heft_arena_release(&o->graph);
    heft_free(o->row_of);
    heft_free(o->storages);
    heft_close(o->c);
    heft_free(o);
}

struct heft_checkpoint *heft_objects_checkpoint(const struct heft_objects *o)
{
    return o ? o->c : NULL;
}

/* ---- objects ------------------------------------------------------------------------------- */

uint32_t heft_objects_root(const struct heft_objects *o)
{
    return o && o->pickle.count ? o->pickle.root : HEFT_NO_OBJECT;
}

size_t heft_objects_count(const struct heft_objects *o)
{
    return o ? o->pickle.count : 0;
}

/* The kinds of both are in the same order. */
_Static_assert((int)HEFT_OBJECT_BYTEARRAY == (int)HEFT_PICKLE_BYTEARRAY &&
                   (int)HEFT_OBJECT_DICT == (int)HEFT_PICKLE_DICT &&
                   (int)HEFT_OBJECT_CALL == (int)HEFT_PICKLE_CALL &&
                   (int)HEFT_OBJECT_STORAGE == (int)HEFT_PICKLE_PERSID,
               "enum heft_object_kind follows enum heft_pickle_kind");

static void describe_leaf(const struct heft_objects *o, uint32_t index, struct heft_object *out)
{
    const struct heft_pickle_node *const n = &o->pickle.nodes[index];
    const bool has_text = (n->kind >= HEFT_PICKLE_STR && n->kind <= HEFT_PICKLE_BYTEARRAY) ||
                          n->kind == HEFT_PICKLE_BIGINT || n->kind == HEFT_PICKLE_GLOBAL;

    if (n->kind == HEFT_PICKLE_BOOL || n->kind == HEFT_PICKLE_INT)
        out->integer = n->u.integer;
    if (n->kind == HEFT_PICKLE_FLOAT)
        out->number = n->u.number;
    if (has_text) {
        out->bytes = n->u.text.p;
        out->n_bytes = n->len;
    }
    if (n->kind == HEFT_PICKLE_GLOBAL && n->module != HEFT_PICKLE_NIL) {
        out->module = o->pickle.nodes[n->module].u.text.p;
        out->n_module = o->pickle.nodes[n->module].len;
    }
}

static struct heft_object describe(const struct heft_objects *o, uint32_t index)
{
    const struct heft_pickle_node *const n = &o->pickle.nodes[index];
    const bool is_call = n->kind == HEFT_PICKLE_CALL;
    struct heft_object out = {
        .kind = (enum heft_object_kind)n->kind,
        .callee = is_call ? n->u.call.callee : HEFT_NO_OBJECT,
        .arguments = is_call ? n->u.call.args : HEFT_NO_OBJECT,
        .keywords = is_call ? n->module : HEFT_NO_OBJECT,
        .state = n->state,
        .has_pairs = is_call && n->pairs,
        .is_new = is_call && (n->how == HEFT_PICKLE_NEWOBJ || n->how == HEFT_PICKLE_NEWOBJ_EX),
        .storage = HEFT_NO_OBJECT,
        .tensor = SIZE_MAX};

    describe_leaf(o, index, &out);
    if (n->kind >= HEFT_PICKLE_TUPLE && n->kind != HEFT_PICKLE_GLOBAL &&
        n->kind != HEFT_PICKLE_PERSID)
        out.n_items = heft_pickle_count(&o->pickle, index);
    if (n->kind == HEFT_PICKLE_PERSID)
        out.storage = o->meanings[index];
    if (o->row_of[index] != HEFT_NONE)
        out.tensor = o->row_of[index];
    return out;
}

bool heft_object_at(const struct heft_objects *o, uint32_t index, struct heft_object *out)
{
    struct heft_object found;

    if (!o || !out || index >= o->pickle.count)
        return false;
    found = describe(o, index);
    HEFT_FILL(heft_object, out, &found);
    return true;
}

bool heft_object_items(const struct heft_objects *o, uint32_t index, uint32_t *items, size_t n)
{
    struct heft_object found = HEFT_INIT(struct heft_object);
    struct heft_pickle_iter iter;

    if (!heft_object_at(o, index, &found) || n > found.n_items || (n && !items))
        return false;
    iter = heft_pickle_items(&o->pickle, index);
    for (size_t i = 0; i < n; i++)
        if (!heft_pickle_next(&iter, &items[i]))
            return false;
    return true;
}

/* ---- storages ------------------------------------------------------------------------------ */

bool heft_object_storage_at(const struct heft_objects *o, uint32_t index,
                            struct heft_object_storage *out)
{
    const struct kept_storage *s;
    struct heft_object_storage found;

    if (!o || !out || index >= o->n_storages)
        return false;
    s = &o->storages[index];
    found = (struct heft_object_storage){.class_name = s->class_name,
                                         .bytes = s->bytes,
                                         .big_endian = o->big_endian,
                                         .has_data = s->storage != HEFT_NONE};
    HEFT_FILL(heft_object_storage, out, &found);
    return true;
}

/* The storage, if it has data; else HEFT_USAGE. */
static const struct kept_storage *find_storage(const struct heft_objects *o, uint32_t index,
                                               struct heft_error *err)
{
    if (o && index < o->n_storages && o->storages[index].storage != HEFT_NONE)
        return &o->storages[index];
    heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "there is no storage %u with data", index);
    return NULL;
}

bool heft_object_storage_read(struct heft_objects *o, uint32_t index, void *dst, size_t size,
                              struct heft_error *err)
{
    const struct kept_storage *const s = find_storage(o, index, err);

    if (!s)
        return false;
    if (size != s->bytes || (size && !dst))
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "the storage has %" PRIu64 " bytes, not %zu", s->bytes, size);
    if (o->c->model.storages[s->storage].is_missing)
        return heft_reader_refuse_missing(&o->c->model, s->storage, err);
    return size == 0 || heft_reader_storage(&o->c->reader, s->storage, s->begin, dst, size, err);
}

bool heft_object_storage_view(struct heft_objects *o, uint32_t index, void **data,
                              struct heft_error *err)
{
    const struct kept_storage *const s = find_storage(o, index, err);
    const struct heft_view_options how = {.size = sizeof how, .writable = true, .strided = true};
    struct heft_view view = HEFT_INIT(struct heft_view);
    const struct heft_storage *kept;

    if (!s || !heft_require_arg(data, "an argument", err))
        return false;
    kept = &o->c->model.storages[s->storage];
    if (s->row == HEFT_NONE || kept->coding != HEFT_CODING_RAW)
        return heft_fail(err, HEFT_UNSUPPORTED, HEFT_NO_OFFSET,
                         "the storage is compressed, or empty: read it instead");
    if (!heft_source_check_end(&o->c->model.sources[kept->source].source, kept->off, kept->len,
                               err) ||
        !heft_tensor_view(o->c, s->row, &how, &view, err))
        return false;
    *data = (uint8_t *)view.data - o->c->model.rows[s->row].offset + s->begin;
    return true;
}
