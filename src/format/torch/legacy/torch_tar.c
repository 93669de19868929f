/* torch_tar.c: the tar of torch.save in 0.1.0 to 0.1.9.
 *
 *     sys_info   pickle {"protocol_version": 1000, …}                       ignored by torch
 *     storages   pickle n; n times: pickle (key, location, class), int64 count, count × size bytes;
 *                pickle [(key of the view, key of the storage, first element, elements), …]
 *     tensors    pickle n; n times: pickle (key, key of the storage or None, class),
 *                int32 dims, 4 bytes ignored, int64 size × dims, int64 stride × dims, int64 first
 *     pickle     the object; a persistent id is the decimal text of a storage's or tensor's key, or
 *                a tuple (class, source file, source text) that denotes the class
 *
 * Keys are addresses in the writing process, shared by storages and tensors. Members may come in any
 * order. A tensor has the dtype of its storage, as in torch. */
#include "core/registry.h"
#include "format/torch/pickle/torch_parts.h"
#include "wire/tar.h"

#include "base/endian.h"

#define FIRST_SMALL   ((uint64_t)1 << 10)
#define MAX_RANK      64    /* torch's own limit */
#define LARGEST_ZEROS 65536 /* bytes of empty blocks after the members that are inspected */

enum part { SYS_INFO, STORAGES, TENSORS, PICKLE, PARTS };
static const char *const NAMES[PARTS] = {"sys_info", "storages", "tensors", "pickle"};

struct tensor {
    uint32_t storage; /* position in t->storages */
    uint8_t rank;
    const uint64_t *shape, *stride; /* allocated in model->mem */
    uint64_t first;                 /* first element */
};

struct archive {
    struct heft_torch *t;
    struct heft_model *model;
    uint32_t source;
    struct heft_source file; /* a copy: the model may move its sources */
    struct heft_tar tar;
    const struct heft_tar_member *parts[PARTS];
    struct tensor *tensors;
    size_t n_tensors, cap_tensors;
    uint32_t *roots; /* per storage: the storage it is a view of, or HEFT_NONE */
    size_t cap_roots;
};

/* A member while it is read front to back. */
struct member {
    struct archive *a;
    struct heft_torch_stream in;
    uint64_t at;
    struct heft_arena mem; /* memory of the current pickle */
    struct heft_pickle pickle;
};

/* ---- probe ------------------------------------------------------------------------------- */

static int probe_tar(const struct heft_probe *sample)
{
    if (sample->head.n < HEFT_TAR_BLOCK || !heft_tar_is_header(sample->head.p))
        return 0;
    for (size_t i = 0; i < PARTS; i++)
        if (strncmp((const char *)sample->head.p, NAMES[i], 100) == 0)
            return 90;
    return memcmp(sample->head.p + 257, "ustar", 5) == 0 ? 40 : 0;
}

/* ---- members ----------------------------------------------------------------------------- */

static bool take_part(struct archive *a, const struct heft_tar_member *m, struct heft_error *err)
{
    for (size_t i = 0; i < PARTS; i++) {
        if (!heft_str_is(m->name, NAMES[i]))
            continue;
        if (m->is_folder)
            return heft_fail(err, HEFT_MALFORMED, m->header, "tar member %s is a directory",
                             NAMES[i]);
        if (a->parts[i])
            return heft_fail(err, HEFT_MALFORMED, m->header,
                             "duplicate member %s: the first one is at 0x%" PRIx64, NAMES[i],
                             a->parts[i]->header);
        a->parts[i] = m;
    }
    return true;
}

static bool find_parts(struct archive *a, struct heft_error *err)
{
    size_t found = 0;

    for (size_t i = 0; i < a->tar.count; i++)
        if (!take_part(a, &a->tar.members[i], err))
            return false;
    for (size_t i = 0; i < PARTS; i++)
        found += a->parts[i] != NULL;
    if (found == 0)
        return heft_fail(err, HEFT_UNSUPPORTED, 0,
                         "this tar archive is not a torch checkpoint (no member storages, tensors "
                         "or pickle): unpack it first");
    for (size_t i = STORAGES; i < PARTS; i++)
        if (!a->parts[i])
            return heft_fail(err, HEFT_MALFORMED, a->tar.end, "the tar has no member %s", NAMES[i]);
    return a->parts[SYS_INFO] || heft_model_note(a->model, HEFT_NOTE, a->source, a->tar.end, err,
                                                 "the tar has no member sys_info");
}

static bool open_member(struct archive *a, enum part part, struct member *m, struct heft_error *err)
{
    const struct heft_tar_member *found = a->parts[part];

    *m = (struct member){.a = a};
    m->in =
        (struct heft_torch_stream){.model = a->model, .source = a->source, .origin = found->data};
    return heft_source_open_slice(&m->in.bytes, &a->file, found->data, found->size, a->file.label,
                                  err);
}

/* Reads the next pickle of a member and releases the previous one. */
static bool next_pickle(struct member *m, struct heft_error *err)
{
    heft_arena_release(&m->mem);
    if (!heft_torch_stream_pickle(&m->in, m->at, FIRST_SMALL, &m->pickle, &m->mem, err))
        return false;
    m->at += m->pickle.length;
    return true;
}

/* The same, with a claim for the pickle's bytes. */
static bool next_claimed(struct member *m, const char *what, struct heft_error *err)
{
    return next_pickle(m, err) &&
           heft_torch_stream_claim(&m->in, m->at - m->pickle.length, m->pickle.length, "pickle ",
                                   heft_str_of(what), err);
}

/* File offset of the last pickle, for errors. */
static uint64_t pickle_at(const struct member *m)
{
    return m->in.origin + m->at - m->pickle.length;
}

static bool read_integer(const struct heft_pickle *p, uint32_t node, int64_t *out)
{
    if (node == HEFT_PICKLE_NIL || p->nodes[node].kind != HEFT_PICKLE_INT)
        return false;
    *out = p->nodes[node].u.integer;
    return true;
}

static bool next_count(struct member *m, const char *what, int64_t *out, struct heft_error *err)
{
    const uint64_t most = heft_limit_tensors(&m->a->model->limits, m->a->model->file_bytes);

    if (!next_claimed(m, what, err))
        return false;
    if (!read_integer(&m->pickle, m->pickle.root, out) || *out < 0)
        return heft_fail(err, HEFT_MALFORMED, pickle_at(m), "the %s is not a non-negative integer",
                         what);
    return (uint64_t)*out <= most ||
           heft_fail(err, HEFT_LIMIT, pickle_at(m),
                     "%s: %" PRId64 ", the limit is %" PRIu64 " (limits.tensors)", what, *out,
                     most);
}

/* ---- keys -------------------------------------------------------------------------------- */

/* Adds a key: `meaning` is the position of a storage, or of a tensor with its bit set. */
static bool add_key(struct member *m, int64_t key, uint32_t meaning, struct heft_str *text,
                    struct heft_error *err)
{
    struct heft_torch *t = m->a->t;
    const char *copy = heft_arena_printf(&m->a->model->mem, err, "%" PRId64, key);
    uint32_t found;

    if (!copy)
        return false;
    *text = heft_str_of(copy);
    if (!heft_strmap_add(&t->keys, *text, meaning, &found, err))
        return false;
    return found == HEFT_MAP_NONE ||
           heft_fail(err, HEFT_MALFORMED, pickle_at(m), "duplicate storage or tensor %s", copy);
}

/* Finds the storage of a key; HEFT_MAP_NONE if there is none. */
static bool find_storage(const struct heft_torch *t, int64_t key, uint32_t *found,
                         struct heft_error *err)
{
    struct heft_buf text = {0};
    bool ok;

    heft_buf_printf(&text, "%" PRId64, key);
    ok = heft_buf_ok(&text, err);
    if (ok)
        *found = heft_strmap_get(&t->keys, (struct heft_str){text.p, text.n});
    if (ok && *found & HEFT_TORCH_IS_TENSOR)
        *found = HEFT_MAP_NONE;
    heft_buf_release(&text);
    return ok;
}

/* The class in the pickle's tuple; NULL if it is not a known class. */
static const struct heft_torch_global *class_of(const struct heft_pickle *p, uint32_t node)
{
    if (node == HEFT_PICKLE_NIL || p->nodes[node].kind != HEFT_PICKLE_GLOBAL)
        return NULL;
    return heft_torch_lookup(heft_pickle_text(p, p->nodes[node].module), heft_pickle_text(p, node));
}

static bool is_tuple(const struct heft_pickle *p, uint32_t node, uint32_t count)
{
    return p->nodes[node].kind == HEFT_PICKLE_TUPLE && heft_pickle_count(p, node) == count;
}

/* ---- storages ---------------------------------------------------------------------------- */

static bool add_storage(struct archive *a, const struct heft_torch_storage *s, uint32_t root,
                        struct heft_error *err)
{
    struct heft_torch *t = a->t;

    if (!heft_grow(&a->roots, &a->cap_roots, t->n_storages, 1, sizeof *a->roots, err) ||
        !heft_grow(&t->storages, &t->cap_storages, t->n_storages, 1, sizeof *s, err))
        return false;
    a->roots[t->n_storages] = root;
    t->storages[t->n_storages++] = *s;
    return true;
}

/* Parses (key, location, class). */
static bool storage_head(struct member *m, struct heft_torch_storage *s, struct heft_error *err)
{
    const struct heft_pickle *p = &m->pickle;
    int64_t key;

    if (!is_tuple(p, p->root, 3) || !read_integer(p, heft_pickle_item(p, p->root, 0), &key))
        return heft_fail(err, HEFT_MALFORMED, pickle_at(m),
                         "a storage is not (key, location, class)");
    s->type = class_of(p, heft_pickle_item(p, p->root, 2));
    if (!s->type || (s->type->kind != HEFT_TORCH_STORAGE && s->type->kind != HEFT_TORCH_UNTYPED))
        return heft_fail(err, HEFT_MALFORMED, pickle_at(m),
                         "storage %" PRId64 ": its class is not a storage class", key);
    return add_key(m, key, (uint32_t)m->a->t->n_storages, &s->key, err);
}

static bool read_storage(struct member *m, struct heft_error *err)
{
    struct heft_torch_storage s = {.storage = HEFT_NONE};
    const uint64_t size = m->in.bytes.size;
    uint64_t head;

    if (!next_pickle(m, err) || !storage_head(m, &s, err))
        return false;
    if (!heft_within(m->at, 8, size))
        return heft_fail(err, HEFT_MALFORMED, m->in.origin + m->at,
                         "storage %s: member storages ends before its count", s.key.p);
    if (!heft_torch_stream_i64(&m->in, m->at, &s.elements, err))
        return false;
    if (s.elements < 0 ||
        !heft_mul((uint64_t)s.elements, heft_torch_element_bytes(s.type), &s.bytes) ||
        !heft_within(m->at + 8, s.bytes, size))
        return heft_fail(err, HEFT_MALFORMED, m->in.origin + m->at,
                         "storage %s needs %" PRId64
                         " elements of %u bytes, member storages has %" PRIu64 " bytes left",
                         s.key.p, s.elements, heft_torch_element_bytes(s.type), size - m->at - 8);
    head = pickle_at(m) - m->in.origin;
    if (!heft_torch_stream_storage(&m->in, m->at, s.key, &s, err) ||
        !heft_torch_stream_claim(&m->in, head, m->at + 8 - head, "header of storage ", s.key, err))
        return false;
    m->at += 8 + s.bytes;
    return add_storage(m->a, &s, HEFT_NONE, err);
}

/* Parses (key of the view, key of the storage, first element, elements). */
static bool read_view(struct member *m, uint32_t node, struct heft_error *err)
{
    const struct heft_pickle *p = &m->pickle;
    struct heft_torch *t = m->a->t;
    struct heft_torch_storage s;
    int64_t numbers[4];
    uint32_t root;

    for (uint32_t i = 0; i < 4; i++)
        if (!is_tuple(p, node, 4) || !read_integer(p, heft_pickle_item(p, node, i), &numbers[i]))
            return heft_fail(err, HEFT_MALFORMED, pickle_at(m),
                             "a storage view is not (key, storage, first element, elements)");
    if (!find_storage(t, numbers[1], &root, err))
        return false;
    if (root == HEFT_MAP_NONE)
        return heft_fail(err, HEFT_MALFORMED, pickle_at(m),
                         "view %" PRId64 " refers to the unknown storage %" PRId64, numbers[0],
                         numbers[1]);
    if (m->a->roots[root] != HEFT_NONE)
        return heft_fail(err, HEFT_UNSUPPORTED, pickle_at(m),
                         "view %" PRId64 " refers to another view, %" PRId64 ": not supported",
                         numbers[0], numbers[1]);
    s = t->storages[root];
    if (numbers[2] < 0 || numbers[3] < 0 ||
        !heft_within((uint64_t)numbers[2], (uint64_t)numbers[3], (uint64_t)s.elements))
        return heft_fail(err, HEFT_MALFORMED, pickle_at(m),
                         "view %" PRId64 " covers elements %" PRId64 " to +%" PRId64
                         ", storage %s has %" PRId64,
                         numbers[0], numbers[2], numbers[3], s.key.p, s.elements);
    s.begin = (uint64_t)numbers[2] * heft_torch_element_bytes(s.type);
    s.elements = numbers[3];
    s.bytes = (uint64_t)numbers[3] * heft_torch_element_bytes(s.type);
    return add_key(m, numbers[0], (uint32_t)t->n_storages, &s.key, err) &&
           add_storage(m->a, &s, root, err);
}

static bool read_views(struct member *m, struct heft_error *err)
{
    struct heft_pickle_iter iter;
    uint32_t node;

    if (!next_claimed(m, "storage views", err))
        return false;
    if (m->pickle.nodes[m->pickle.root].kind != HEFT_PICKLE_LIST)
        return heft_fail(err, HEFT_MALFORMED, pickle_at(m), "the storage views are not a list");
    iter = heft_pickle_items(&m->pickle, m->pickle.root);
    while (heft_pickle_next(&iter, &node))
        if (!read_view(m, node, err))
            return false;
    return true;
}

static bool read_storages(struct member *m, struct heft_error *err)
{
    int64_t count;

    if (!next_count(m, "number of storages", &count, err))
        return false;
    for (int64_t i = 0; i < count; i++)
        if (!read_storage(m, err))
            return false;
    return read_views(m, err) && heft_torch_stream_end(&m->in, m->at, "the storage views", err);
}

/* ---- tensors ----------------------------------------------------------------------------- */

/* Computes the last element. Strides of dimensions with one element are meaningless, and so are all
 * strides of an empty tensor. */
static bool find_last_element(const struct tensor *tensor, bool *is_empty, uint64_t *last)
{
    uint64_t step;

    *last = tensor->first;
    *is_empty = false;
    for (unsigned i = 0; i < tensor->rank; i++)
        *is_empty |= tensor->shape[i] == 0;
    for (unsigned i = 0; i < tensor->rank && !*is_empty; i++)
        if (tensor->shape[i] > 1 && (!heft_mul(tensor->shape[i] - 1, tensor->stride[i], &step) ||
                                     !heft_add(*last, step, last)))
            return false;
    return true;
}

/* Reads dims, 4 ignored bytes, sizes, strides, first element. */
static bool read_numbers(struct member *m, int64_t key, struct tensor *tensor,
                         struct heft_error *err)
{
    const uint64_t at = m->in.origin + m->at, left = m->in.bytes.size - m->at;
    uint8_t raw[8 + 16 * MAX_RANK + 8];
    uint64_t *numbers;
    int32_t rank;

    if (left < 8)
        return heft_fail(err, HEFT_MALFORMED, at, "tensor %" PRId64 ": member tensors ends here",
                         key);
    if (!heft_source_read(&m->in.bytes, m->at, raw, 8, err))
        return false;
    rank = (int32_t)heft_le32(raw);
    if (rank < 0 || rank > MAX_RANK)
        return heft_fail(err, rank < 0 ? HEFT_MALFORMED : HEFT_LIMIT, at,
                         "tensor %" PRId64 " has %" PRId32 " dimensions, expected 0 to %d", key,
                         rank, MAX_RANK);
    tensor->rank = (uint8_t)rank;
    if (left < 16 + 16 * (uint64_t)tensor->rank)
        return heft_fail(err, HEFT_MALFORMED, at,
                         "tensor %" PRId64 " has %u dimensions, member tensors has only %" PRIu64
                         " bytes left",
                         key, tensor->rank, left);
    numbers =
        heft_arena_zero(&m->a->model->mem, 2 * (size_t)tensor->rank + 2, sizeof *numbers, err);
    if (!numbers ||
        !heft_source_read(&m->in.bytes, m->at + 8, raw, 16 * (size_t)tensor->rank + 8, err))
        return false;
    for (size_t i = 0; i < 2 * (size_t)tensor->rank; i++)
        numbers[i] = heft_le64(raw + 8 * i);
    tensor->shape = numbers;
    tensor->stride = numbers + tensor->rank;
    tensor->first = heft_le64(raw + 16 * (size_t)tensor->rank);
    for (size_t i = 0; i < 2 * (size_t)tensor->rank; i++)
        if (numbers[i] > INT64_MAX)
            return heft_fail(err, HEFT_MALFORMED, at, "tensor %" PRId64 " has a negative %s", key,
                             i < tensor->rank ? "size" : "stride");
    return true;
}

static bool check_numbers(struct member *m, int64_t key, const struct tensor *tensor,
                          struct heft_error *err)
{
    const struct heft_torch_storage *s = &m->a->t->storages[tensor->storage];
    const uint64_t at = m->in.origin + m->at;
    uint64_t last;
    bool is_empty;

    if (tensor->first > INT64_MAX)
        return heft_fail(err, HEFT_MALFORMED, at, "tensor %" PRId64 " has a negative offset", key);
    if (!find_last_element(tensor, &is_empty, &last))
        return heft_fail(err, HEFT_MALFORMED, at,
                         "tensor %" PRId64 " has strides that overflow 64 bits", key);
    return is_empty || last < (uint64_t)s->elements ||
           heft_fail(err, HEFT_MALFORMED, at,
                     "tensor %" PRId64 " begins at element %" PRIu64 " and reaches %" PRIu64
                     ", storage %s has %" PRId64 " elements",
                     key, tensor->first, last, s->key.p, s->elements);
}

/* Adds a tensor without a storage: it is empty. */
static bool without_storage(struct member *m, int64_t key, struct tensor *tensor,
                            struct heft_error *err)
{
    const struct heft_pickle *p = &m->pickle;
    const struct heft_torch_global *class = class_of(p, heft_pickle_item(p, p->root, 2));
    struct heft_torch_storage s = {.key = HEFT_STR("None"), .type = class};
    const struct heft_storage none = {.off = m->in.origin + m->at, .source = m->a->source};

    if (!class || class->kind != HEFT_TORCH_CLASS)
        return heft_fail(err, HEFT_MALFORMED, pickle_at(m),
                         "tensor %" PRId64 " has no storage and its class is not a tensor class",
                         key);
    tensor->storage = (uint32_t)m->a->t->n_storages;
    return heft_model_add_storage(m->a->model, &none, &s.storage, err) &&
           add_storage(m->a, &s, HEFT_NONE, err);
}

/* True for a tensor without a storage and without dimensions: it is empty, of shape (0), since
 * scalars came later. */
static bool is_nothing(const struct archive *a, const struct tensor *tensor)
{
    return a->t->storages[tensor->storage].bytes == 0 &&
           heft_str_is(a->t->storages[tensor->storage].key, "None");
}

static bool tensor_head(struct member *m, struct tensor *tensor, int64_t *key,
                        struct heft_error *err)
{
    const struct heft_pickle *p = &m->pickle;
    const uint32_t named = heft_pickle_item(p, p->root, 1);
    int64_t storage;

    if (!is_tuple(p, p->root, 3) || !read_integer(p, heft_pickle_item(p, p->root, 0), key))
        return heft_fail(err, HEFT_MALFORMED, pickle_at(m),
                         "a tensor is not (key, storage, class)");
    if (p->nodes[named].kind == HEFT_PICKLE_NONE)
        return without_storage(m, *key, tensor, err);
    if (!read_integer(p, named, &storage))
        return heft_fail(err, HEFT_MALFORMED, pickle_at(m),
                         "tensor %" PRId64 ": its storage is not a key", *key);
    if (!find_storage(m->a->t, storage, &tensor->storage, err))
        return false;
    return tensor->storage != HEFT_MAP_NONE ||
           heft_fail(err, HEFT_MALFORMED, pickle_at(m),
                     "tensor %" PRId64 " refers to the unknown storage %" PRId64, *key, storage);
}

static bool read_tensor(struct member *m, struct heft_error *err)
{
    struct archive *a = m->a;
    struct tensor tensor = {0};
    struct heft_str text;
    uint64_t bytes;
    int64_t key = 0;

    if (!next_pickle(m, err) || !tensor_head(m, &tensor, &key, err) ||
        !add_key(m, key, (uint32_t)a->n_tensors | HEFT_TORCH_IS_TENSOR, &text, err) ||
        !read_numbers(m, key, &tensor, err))
        return false;
    bytes = 16 + 16 * (uint64_t)tensor.rank;
    if (tensor.rank == 0 && is_nothing(a, &tensor))
        tensor.rank = 1;
    if (!check_numbers(m, key, &tensor, err))
        return false;
    if (!heft_grow(&a->tensors, &a->cap_tensors, a->n_tensors, 1, sizeof tensor, err) ||
        !heft_torch_stream_claim(&m->in, m->at - m->pickle.length, m->pickle.length + bytes,
                                 "tensor ", text, err))
        return false;
    a->tensors[a->n_tensors++] = tensor;
    m->at += bytes;
    return true;
}

static bool read_tensors(struct member *m, struct heft_error *err)
{
    int64_t count;

    if (!next_count(m, "number of tensors", &count, err))
        return false;
    for (int64_t i = 0; i < count; i++)
        if (!read_tensor(m, err))
            return false;
    return heft_torch_stream_end(&m->in, m->at, "the last tensor", err);
}

/* ---- persistent ids ---------------------------------------------------------------------- */

static bool take_persid(struct heft_torch *t, uint32_t id, struct heft_error *err)
{
    const uint32_t args = heft_torch_node(t, id)->u.call.args;
    struct heft_buf number = {0};
    struct heft_str key = {NULL, 0};

    if (heft_torch_is(t, args, HEFT_PICKLE_TUPLE) && heft_torch_count(t, args) == 3)
        return heft_torch_become_class(t, id, heft_torch_item(t, args, 0), err);
    if (heft_torch_is(t, args, HEFT_PICKLE_INT))
        heft_buf_printf(&number, "%" PRId64, heft_torch_node(t, args)->u.integer);
    if (!heft_buf_ok(&number, err))
        return false;
    if (number.n)
        key = (struct heft_str){number.p, number.n};
    else if (heft_torch_is_text(t, args))
        key = heft_pickle_text(&t->pickle, args);
    t->meanings[id] = heft_strmap_get(&t->keys, key);
    if (t->meanings[id] == HEFT_MAP_NONE)
        heft_fail(err, HEFT_MALFORMED, heft_torch_where(t, id),
                  "persistent id \"%.*s\": no storage or tensor has that key",
                  (int)heft_min_u64(key.n, 100), key.n ? key.p : "");
    heft_buf_release(&number);
    return t->meanings[id] != HEFT_MAP_NONE;
}

static bool tensor_of(struct heft_torch *t, uint32_t id, struct heft_torch_made *out,
                      struct heft_error *err)
{
    const struct archive *a = t->inside;
    const struct tensor *tensor = &a->tensors[t->meanings[id] & ~HEFT_TORCH_IS_TENSOR];
    const struct heft_torch_storage *s = &t->storages[tensor->storage];

    if (s->type->dtype == HEFT_DTYPE_COUNT && s->type->kind != HEFT_TORCH_UNTYPED) {
        out->found = HEFT_TORCH_UNREAD;
        out->reason = heft_arena_printf(&t->model->mem, err, "of the type torch.%s", s->type->name);
        return out->reason != NULL;
    }
    out->found = HEFT_TORCH_ROW;
    out->row =
        (struct heft_row){.storage = s->storage,
                          .dtype = s->type->kind == HEFT_TORCH_UNTYPED ? HEFT_U8 : s->type->dtype,
                          .rank = tensor->rank,
                          .shape = tensor->shape,
                          .stride = tensor->stride,
                          .offset = s->begin};
    if (tensor->first < (uint64_t)s->elements)
        out->row.offset += tensor->first * heft_torch_element_bytes(s->type);
    return true;
}

static const struct heft_torch_container container = {.storage = take_persid, .tensor = tensor_of};

/* ---- the pickled object ------------------------------------------------------------------ */

/* Sets the version: "tar, as torch 0.1.0 to 0.1.9 writes it, pickle protocol 2". */
static bool name_version(struct archive *a, struct heft_error *err)
{
    const struct heft_pickle *pickle = &a->t->pickle;

    a->model->format = "torch-tar";
    a->model->version = heft_arena_printf(
        &a->model->mem, err, "tar, as torch 0.1.0 to 0.1.9 writes it, %s%s",
        heft_torch_protocol(pickle), heft_torch_is_python2(pickle) ? ", Python 2" : "");
    return a->model->version != NULL;
}

static bool read_object(struct member *m, struct heft_error *err)
{
    struct heft_torch *t = m->a->t;

    if (!heft_torch_stream_object(&m->in, 0, t, err) || !name_version(m->a, err) ||
        !heft_torch_walk(t, err) || !heft_torch_claim_pickle(t, err))
        return false;
    m->a->model->values = t->values;
    return heft_torch_stream_end(&m->in, t->pickle.length, "the pickle's STOP", err);
}

/* Reads sys_info, which torch ignores: the integer widths of the writing machine. */
static bool read_system(struct member *m, struct heft_error *err)
{
    return next_claimed(m, "system", err) &&
           heft_torch_stream_end(&m->in, m->at, "the pickle of the system", err);
}

/* ---- claims ------------------------------------------------------------------------------ */

static bool is_part(const struct archive *a, const struct heft_tar_member *m)
{
    for (size_t i = 0; i < PARTS; i++)
        if (a->parts[i] == m)
            return true;
    return false;
}

static bool claim_members(struct archive *a, const struct heft_torch_stream *in,
                          struct heft_error *err)
{
    for (size_t i = 0; i < a->tar.count; i++) {
        const struct heft_tar_member *m = &a->tar.members[i];
        const uint64_t end = m->data + m->size;

        if (!heft_torch_stream_claim(in, m->header, m->data - m->header, "tar header of ", m->name,
                                     err) ||
            !heft_torch_stream_claim(in, end, m->end - end, "padding of ", m->name, err))
            return false;
        if (is_part(a, m) || m->is_folder)
            continue;
        if (!heft_torch_stream_claim(in, m->data, m->size, "member ", m->name, err) ||
            !heft_model_note(a->model, HEFT_NOTE, a->source, m->header, err,
                             "member %.200s is not part of a torch checkpoint", m->name.p))
            return false;
    }
    return true;
}

/* Claims empty blocks up to the end of the file; anything else there is a finding. */
static bool claim_end(struct archive *a, const struct heft_torch_stream *in, struct heft_error *err)
{
    const uint64_t n = heft_min_u64(in->bytes.size - a->tar.end, LARGEST_ZEROS);
    struct heft_arena mem = {0};
    struct heft_bytes tail;
    size_t zeros = 0;
    bool ok = heft_source_fetch(&in->bytes, a->tar.end, n, &mem, &tail, err);

    while (ok && zeros < tail.n && tail.p[zeros] == 0)
        zeros++;
    heft_arena_release(&mem);
    return ok &&
           heft_torch_stream_claim(in, a->tar.end, zeros, "end of the tar", HEFT_STR(""), err) &&
           heft_torch_stream_end(in, a->tar.end + zeros, "the end of the tar", err);
}

/* ---- open -------------------------------------------------------------------------------- */

static bool read_part(struct archive *a, enum part part,
                      bool (*read)(struct member *m, struct heft_error *err),
                      struct heft_error *err)
{
    struct member m;
    bool ok = true;

    if (a->parts[part]) {
        ok = open_member(a, part, &m, err) && read(&m, err);
        heft_arena_release(&m.mem);
    }
    return ok;
}

static bool read_archive(struct archive *a, struct heft_error *err)
{
    const struct heft_torch_stream in = heft_torch_file_stream(a->model, a->source);
    const struct heft_limits *l = &a->model->limits;

    a->file = in.bytes;
    return heft_tar_open(&a->tar, &a->file, heft_limit_entries(l, a->model->file_bytes),
                         &a->model->mem, err) &&
           find_parts(a, err) && read_part(a, SYS_INFO, read_system, err) &&
           read_part(a, STORAGES, read_storages, err) && read_part(a, TENSORS, read_tensors, err) &&
           read_part(a, PICKLE, read_object, err) && claim_members(a, &in, err) &&
           claim_end(a, &in, err);
}

static bool open_tar(struct heft_model *model, uint32_t source, struct heft_error *err)
{
    struct heft_torch t = {.container = &container,
                           .what = "object",
                           .is_object = true,
                           .budget = model->limits.expansion};
    struct archive a = {.t = &t, .model = model, .source = source};
    bool ok;

    t.inside = &a;
    ok = read_archive(&a, err);
    heft_torch_release(&t);
    heft_tar_release(&a.tar);
    heft_free(a.tensors);
    heft_free(a.roots);
    return ok;
}

static const struct heft_file_name names[] = {
    {".tar", .rank = HEFT_FILE_DATA},
    {0},
};

static const struct heft_not_written not_written[] = {
    {"tar",
     "the tar format can only be read; write torch (since 1.6) or torch-legacy (before 1.6)"},
    {0},
};

const struct heft_format heft_format_torch_tar = {
    .name = "torch-tar",
    .summary = "PyTorch checkpoints from before 0.1.10 (a tar)",
    .names = names,
    .not_written = not_written,
    .probe = probe_tar,
    .open = open_tar,
};
