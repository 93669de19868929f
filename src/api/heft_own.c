/* heft_own.c: the public API for tensors in the caller's memory: a checkpoint that is made of them, and
 * saving them.
 *
 *     tensors      a         b                c (shares the storage of a)
 *     source      | a's storage | b's storage |     one "file" without a disk: bytes by position
 *                 0             pieces[1].begin
 *
 * Each storage is a piece of one source, in the order of the tensors. Reading the source copies from
 * the caller's memory or calls the fill callback, so that everything that works on files works on
 * it. */
#include "base/endian.h"
#include "base/require_arg.h"
#include "base/sized.h"
#include "base/text.h"
#include "api/checkpoint.h"
#include "core/convert.h"
#include "core/nd_view.h"
#include "format/formats.h"

#define NAME "memory" /* name of the source in listings and errors */

/* A storage of the caller that is not empty. */
struct piece {
    uint64_t begin, n; /* byte range in the source */
    const uint8_t *data;
    heft_fill_fn *fill; /* if data is NULL */
    void *ctx;
};

struct pieces {
    struct piece *list; /* ascending by begin, without holes */
    size_t n;
};

/* ---- the source ---------------------------------------------------------------------------- */

/* The piece with the byte `off`, which is in the source. */
static const struct piece *find_piece(const struct pieces *pieces, uint64_t off)
{
    size_t low = 0, high = pieces->n;

    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;

        if (pieces->list[middle].begin <= off)
            low = middle;
        else
            high = middle;
    }
    return &pieces->list[low];
}

/* Calls the callback. One that fails without filling its error has cancelled. */
static bool fill_bytes(const struct piece *piece, uint64_t off, void *dst, size_t n,
                       struct heft_error *err)
{
    struct heft_error why = {.offset = HEFT_NO_OFFSET};

    if (piece->fill(piece->ctx, off, dst, n, &why))
        return true;
    if (why.code == HEFT_OK)
        return heft_fail(err, HEFT_CANCELLED, HEFT_NO_OFFSET, "interrupted");
    *err = why;
    return false;
}

static bool read_own(const struct heft_source *src, uint64_t off, void *dst, size_t n,
                     struct heft_error *err)
{
    const struct pieces *const pieces = src->self;
    uint8_t *out = dst;

    for (const struct piece *p = find_piece(pieces, off); n > 0; p++) {
        const uint64_t from = off - p->begin;
        const size_t some = (size_t)heft_min_u64(n, p->n - from);

        if (p->data)
            memcpy(out, p->data + from, some);
        else if (!fill_bytes(p, from, out, some, err))
            return false;
        out += some;
        off += some;
        n -= some;
    }
    return true;
}

static const void *view_own(const struct heft_source *src, uint64_t off, size_t n)
{
    const struct piece *const p = find_piece(src->self, off);

    return p->data && n <= p->n - (off - p->begin) ? p->data + (off - p->begin) : NULL;
}

static const struct heft_source_ops own_ops = {.read = read_own, .view = view_own};

/* ---- checking tensors ---------------------------------------------------------------------- */

/* A tensor while the model is made. */
struct own {
    struct heft_row row; /* its storage is an index of `groups` */
    uint64_t extent;     /* bytes from its first element to the end of its last one */
    const uint8_t *data;
};

/* A storage: of one tensor, or of all with the same number. */
struct group {
    const uint8_t *data, *end;
    heft_fill_fn *fill;
    void *ctx;
    uint64_t n; /* bytes */
};

struct owner {
    struct heft_checkpoint *c;
    const struct heft_own_tensor *tensors; /* `stride` bytes from one to the next */
    size_t stride;
    struct own *own;
    struct group *groups;
    size_t n, n_groups;
    struct heft_strmap numbers; /* bytes of a storage number → index in groups */
    struct heft_arena scratch;
    struct heft_error *err;
};

static bool refuse_tensor(const struct owner *o, const struct heft_own_tensor *t, const char *text)
{
    heft_fail(o->err, HEFT_USAGE, HEFT_NO_OFFSET, "%s", text);
    return heft_error_about(o->err, "tensor", (struct heft_str){t->name, t->name_len});
}

static bool check_tensor(const struct owner *o, const struct heft_own_tensor *t, size_t index)
{
    if (!t->name)
        return heft_fail(o->err, HEFT_USAGE, HEFT_NO_OFFSET, "tensor %zu has no name", index);
    if (heft_utf8_check((struct heft_bytes){(const uint8_t *)t->name, t->name_len}) != t->name_len)
        return refuse_tensor(o, t, "the name is not valid UTF-8");
    if (heft_dtype_varies(t->dtype))
        return refuse_tensor(o, t, "the dtype has no elements of a fixed size");
    if (t->rank > o->c->model.limits.rank)
        return refuse_tensor(o, t, "has too many dimensions, at most 64 are possible");
    if (t->rank > 0 && !t->shape)
        return refuse_tensor(o, t, "has no shape");
    if (t->data && t->fill)
        return refuse_tensor(o, t, "has data and a fill callback, expected one of them");
    return true;
}

/* Turns an error of validation, which is about files, into one about the call. */
static bool blame_caller(struct heft_error *err)
{
    if (err->code == HEFT_MALFORMED || err->code == HEFT_UNSUPPORTED || err->code == HEFT_LIMIT) {
        err->code = HEFT_USAGE;
        err->offset = HEFT_NO_OFFSET;
        err->file[0] = '\0';
    }
    return false;
}

/* Makes the row; its size and extent are checked before its storage exists. */
static bool take_row(struct owner *o, const struct heft_own_tensor *t, struct own *own)
{
    const bool swaps = heft_is_big_endian() && heft_dtype_info(t->dtype)->word > 1;
    struct heft_row *const row = &own->row;

    *row = (struct heft_row){.dtype = (uint8_t)t->dtype,
                             .rank = (uint8_t)t->rank,
                             .flags = swaps ? HEFT_ROW_SWAP : 0,
                             .name.n = t->name_len};
    row->name.p =
        heft_arena_text(&o->c->model.mem, (struct heft_str){t->name, t->name_len}, o->err);
    row->shape = heft_arena_copy_u64(&o->c->model.mem, t->shape, t->rank, o->err);
    row->stride = t->strides && t->rank > 0
                      ? heft_arena_copy_u64(&o->c->model.mem, t->strides, t->rank, o->err)
                      : NULL;
    if (!row->name.p || !row->shape || (t->strides && t->rank > 0 && !row->stride))
        return false;
    if (!heft_row_check_size(row, &row->bytes, HEFT_NO_OFFSET, o->err)) {
        blame_caller(o->err);
        return heft_error_about(o->err, "tensor", row->name);
    }
    if (row->stride && row->bytes > 0 && !heft_dtype_is_plain(t->dtype))
        return refuse_tensor(o, t, "has strides, but its elements are not whole bytes");
    if (!heft_row_extent(row, &own->extent) || own->extent > SIZE_MAX / 2)
        return refuse_tensor(o, t, "the strides exceed the address space");
    if (row->bytes > 0 && !t->data && !t->fill)
        return refuse_tensor(o, t, "has neither data nor a fill callback");
    return true;
}

/* ---- grouping tensors by their storages ---------------------------------------------------- */

static bool find_group(struct owner *o, const struct heft_own_tensor *t, struct group **out)
{
    const struct heft_str key = {(const char *)&t->storage, sizeof t->storage};
    uint32_t found = HEFT_MAP_NONE;

    if (t->storage != 0 &&
        !heft_strmap_add(&o->numbers, key, (uint32_t)o->n_groups, &found, o->err))
        return false;
    *out = &o->groups[found == HEFT_MAP_NONE ? o->n_groups++ : found];
    return true;
}

/* Enlarges the storage by a tensor that is not empty. Its offset is only known when all tensors of
 * the storage are. */
static bool join_group(struct owner *o, const struct heft_own_tensor *t, const struct own *own,
                       struct group *group)
{
    const uint8_t *const data = t->data;

    if (group->n == 0 && !t->data) {
        *group = (struct group){.fill = t->fill, .ctx = t->ctx, .n = own->extent};
        return true;
    }
    if (group->n == 0) {
        *group = (struct group){.data = data, .end = data + own->extent, .n = own->extent};
        return true;
    }
    if (group->fill != t->fill || group->ctx != t->ctx)
        return refuse_tensor(o, t,
                             "its storage has another fill callback or context than this tensor");
    if (t->fill) {
        group->n = heft_max_u64(group->n, own->extent);
        return true;
    }
    if ((uintptr_t)data < (uintptr_t)group->data)
        group->data = data;
    if ((uintptr_t)(data + own->extent) > (uintptr_t)group->end)
        group->end = data + own->extent;
    group->n = (uint64_t)((uintptr_t)group->end - (uintptr_t)group->data);
    return true;
}

static bool take_tensor(struct owner *o, size_t index)
{
    const void *const given = (const char *)o->tensors + index * o->stride;
    struct own *const own = &o->own[index];
    struct heft_own_tensor t;
    struct group *group;

    if (!HEFT_TAKE(heft_own_tensor, &t, given, o->err) || !check_tensor(o, &t, index) ||
        !take_row(o, &t, own) || !find_group(o, &t, &group))
        return false;
    own->data = t.data;
    own->row.storage = (uint32_t)(group - o->groups);
    return own->extent == 0 || join_group(o, &t, own, group);
}

static bool take_tensors(struct owner *o)
{
    o->own = heft_arena_zero(&o->scratch, o->n + 1, sizeof *o->own, o->err);
    o->groups = heft_arena_zero(&o->scratch, o->n + 1, sizeof *o->groups, o->err);
    if (!o->own || !o->groups)
        return false;
    for (size_t i = 0; i < o->n; i++)
        if (!take_tensor(o, i))
            return false;
    return true;
}

/* ---- the model ----------------------------------------------------------------------------- */

/* Adds the source with all pieces, and a storage for each group, with the same index. */
static bool add_storages(struct owner *o)
{
    struct heft_model *const model = &o->c->model;
    struct pieces *const pieces = heft_arena_zero(&model->mem, 1, sizeof *pieces, o->err);
    struct heft_source source = {.ops = &own_ops, .self = pieces, .fd = -1, .label = NAME};
    uint32_t index;

    if (!pieces || !heft_model_reserve(model, o->n_groups, o->n, o->err) ||
        !(pieces->list =
              heft_arena_zero(&model->mem, o->n_groups + 1, sizeof *pieces->list, o->err)))
        return false;
    for (size_t i = 0; i < o->n_groups; i++) {
        const struct group *const g = &o->groups[i];
        const struct heft_storage storage = {
            .off = source.size, .packed = g->n, .len = g->n, .source = 0};

        if (g->n > 0)
            pieces->list[pieces->n++] = (struct piece){source.size, g->n, g->data, g->fill, g->ctx};
        if (!heft_model_add_storage(model, &storage, &index, o->err))
            return false;
        if (!heft_add(source.size, g->n, &source.size))
            return heft_fail(o->err, HEFT_USAGE, HEFT_NO_OFFSET,
                             "the tensors have 2^64 bytes or more");
    }
    return heft_model_add_file(model, &source, NAME, &index, o->err);
}

static bool add_rows(struct owner *o)
{
    for (size_t i = 0; i < o->n; i++) {
        struct heft_row *const row = &o->own[i].row;
        const struct group *const g = &o->groups[row->storage];

        if (g->data && o->own[i].extent > 0)
            row->offset = (uint64_t)(o->own[i].data - g->data);
        if (!heft_model_add_row(&o->c->model, row, o->err))
            return false;
    }
    return true;
}

static bool add_metadata(struct owner *o, const struct heft_metadata *metadata, size_t n)
{
    struct heft_strmap keys = {0};
    uint32_t found;
    bool ok = true;

    for (size_t i = 0; ok && i < n; i++) {
        const struct heft_metadata *const m = &metadata[i];
        const struct heft_pair pair = {.key = {m->key, m->key_len},
                                       .value = {m->value, m->value_len}};

        if (!m->key || !m->value)
            ok = heft_fail(o->err, HEFT_USAGE, HEFT_NO_OFFSET,
                           "metadata %zu is NULL, expected a key and a value", i);
        else if (heft_utf8_check((struct heft_bytes){(const uint8_t *)m->key, m->key_len}) !=
                     m->key_len ||
                 heft_utf8_check((struct heft_bytes){(const uint8_t *)m->value, m->value_len}) !=
                     m->value_len)
            ok =
                heft_fail(o->err, HEFT_USAGE, HEFT_NO_OFFSET, "metadata %zu is not valid UTF-8", i);
        else if ((ok = heft_strmap_add(&keys, pair.key, 0, &found, o->err)) &&
                 found != HEFT_MAP_NONE)
            ok = heft_fail(o->err, HEFT_USAGE, HEFT_NO_OFFSET,
                           "the metadata has the key %.200s twice", m->key);
        ok = ok && heft_model_add_metadata(&o->c->model, &pair, o->err);
    }
    heft_strmap_release(&keys);
    return ok;
}

static bool make_model(struct owner *o, const struct heft_metadata *metadata, size_t n_metadata)
{
    struct heft_model *const model = &o->c->model;

    model->format = NAME;
    model->metadata_is_exact = true;
    return take_tensors(o) && add_storages(o) && add_rows(o) &&
           add_metadata(o, metadata, n_metadata) && heft_checkpoint_settle(o->c, o->err);
}

struct heft_checkpoint *heft_from_tensors(const struct heft_own_tensor *tensors, size_t n,
                                          const struct heft_metadata *metadata, size_t n_metadata,
                                          struct heft_error *err)
{
    /* The caller's tensors are trusted; only what the model can represent is limited. */
    static const struct heft_limits limits = {
        .tensors = UINT32_MAX - 1, .view = UINT64_MAX, .rank = HEFT_ND_VIEW_DIMS};
    struct owner o = {.tensors = tensors, .n = n, .err = err};
    bool ok;

    if (!heft_require_arg((tensors || n == 0) && (metadata || n_metadata == 0), "an argument",
                          err) ||
        !HEFT_STRIDE(heft_own_tensor, &o.stride, tensors, n, err))
        return NULL;
    if (n >= UINT32_MAX - 1) {
        heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "%zu tensors, expected fewer than 2^32 - 2", n);
        return NULL;
    }
    o.c = heft_calloc(1, sizeof *o.c, err);
    if (!o.c)
        return NULL;
    heft_model_init(&o.c->model, &limits, &heft_formats);
    o.c->model.files = &heft_disk;
    ok = make_model(&o, metadata, n_metadata);
    heft_strmap_release(&o.numbers);
    heft_arena_release(&o.scratch);
    if (ok)
        return o.c;
    blame_caller(err);
    heft_close(o.c);
    return NULL;
}

bool heft_save(const struct heft_own_tensor *tensors, size_t n,
               const struct heft_metadata *metadata, size_t n_metadata,
               const struct heft_convert_options *options, struct heft_error *err)
{
    struct heft_checkpoint *const c = heft_require_arg(options, "options", err)
                                          ? heft_from_tensors(tensors, n, metadata, n_metadata, err)
                                          : NULL;
    struct heft_conversion *const conversion = c ? heft_convert_plan(c, options, err) : NULL;
    const bool ok = conversion && heft_convert_run(conversion, NULL, err);

    heft_convert_free(conversion);
    heft_close(c);
    return ok;
}
