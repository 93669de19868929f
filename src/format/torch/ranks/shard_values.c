/* shard_values.c: sharded tensors among the values of files of torch.
 *
 *     w: ShardedTensor   state: ([Shard {tensor, metadata: {shard_offsets, shard_sizes}} …],
 *                                ShardedTensorMetadata {shards_metadata: [each rank's], size}, …)
 *        → rows w.state.0.0.tensor …
 *     w: DTensor         _spec: {mesh: {_coordinate_on_dim, …}, placements: [Shard {dim}, Replicate …],
 *                                tensor_meta: {args: (shape, …)}}
 *        → row w._local_tensor */
#include "base/text.h"
#include "format/torch/ranks/shard_pickles.h"
#include "format/torch/ranks/zero.h"

enum { MOST_MESH_DIMS = 16 };

/* ---- values ------------------------------------------------------------------------------ */

static bool is_of_class(const struct heft_value *v, const char *class_name)
{
    const char *dot =
        v && v->kind == HEFT_VALUE_OPAQUE && v->type_name ? strrchr(v->type_name, '.') : NULL;

    return dot && strcmp(dot + 1, class_name) == 0;
}

static const struct heft_value *item_of(const struct heft_value *list, unsigned index)
{
    const struct heft_value *v = heft_zero_is_list(list) ? list->first_child : NULL;

    while (v && index-- > 0)
        v = v->next_sibling;
    return v;
}

static bool refuse_object(struct heft_shards *s, uint32_t source, enum heft_code code,
                          const char *what)
{
    heft_fail(s->err, code, HEFT_NO_OFFSET, "%s", what);
    heft_error_about(s->err, "tensor", (struct heft_str){s->path.p, s->path.n});
    return heft_error_file(s->err, s->model->sources[source].path);
}

/* Reads a list of integers that are not negative; *n is their number, at most `most`. False, also
 * without an error in *err, if it is none. */
static bool read_numbers(struct heft_shards *s, const struct heft_value *list, unsigned most,
                         uint64_t **out, unsigned *n)
{
    const struct heft_value *v = heft_zero_is_list(list) ? list->first_child : NULL;

    *n = 0;
    if (!heft_zero_is_list(list))
        return false;
    for (; v; v = v->next_sibling)
        ++*n;
    if (*n > most)
        return false;
    *out = heft_arena_u64(&s->model->mem, *n + 1u, s->err);
    if (!*out)
        return false;
    *n = 0;
    for (v = list->first_child; v; v = v->next_sibling)
        if (!heft_zero_number(v, &(*out)[(*n)++]))
            return false;
    return true;
}

static unsigned most_dims(const struct heft_shards *s)
{
    return (unsigned)heft_min_u64(s->model->limits.rank, HEFT_ROW_DIMS);
}

static bool add_piece(struct heft_shards *s, const struct heft_shard_piece *piece)
{
    if (!heft_grow(&s->pieces, &s->cap, s->n, 1, sizeof *s->pieces, s->err))
        return false;
    s->pieces[s->n++] = *piece;
    return true;
}

/* Finds the row of the object's own name and a suffix. */
static bool find_row(struct heft_shards *s, uint32_t source, const char *suffix, size_t *row)
{
    const size_t n = s->path.n;
    bool ok;

    heft_buf_text(&s->path, suffix);
    ok = heft_buf_ok(&s->path, s->err) &&
         heft_shards_row(s, source, (struct heft_str){s->path.p, s->path.n}, row);
    s->path.n = n;
    return ok;
}

/* ---- ShardedTensor ----------------------------------------------------------------------- */

/* Reads offsets and sizes of a ShardMetadata into the piece. */
static bool read_box(struct heft_shards *s, const struct heft_value *metadata,
                     struct heft_shard_piece *piece)
{
    const struct heft_value *placement = heft_zero_member(metadata, "placement");
    uint64_t *start, *extent, holder, end;
    unsigned n, m;

    if (!read_numbers(s, heft_zero_member(metadata, "shard_offsets"), most_dims(s), &start, &n) ||
        !read_numbers(s, heft_zero_member(metadata, "shard_sizes"), most_dims(s), &extent, &m) ||
        n != piece->rank || m != piece->rank)
        return false;
    for (unsigned d = 0; d < n; d++)
        if (!heft_add(start[d], extent[d], &end) || end > piece->shape[d])
            return false;
    piece->start = start;
    piece->extent = extent;
    piece->holder =
        heft_zero_number(heft_zero_member(placement, "_rank"), &holder) ? (int64_t)holder : -1;
    return true;
}

/* The local shards: each has a row. */
static bool add_local(struct heft_shards *s, uint32_t source, const struct heft_value *list,
                      const struct heft_shard_piece *whole)
{
    const struct heft_value *shard = list ? list->first_child : NULL;

    for (unsigned k = 0; shard; shard = shard->next_sibling, k++) {
        struct heft_shard_piece piece = *whole;
        const char *suffix = heft_arena_printf(&s->scratch, s->err, ".state.0.%u.tensor", k);

        if (!suffix || !find_row(s, source, suffix, &piece.row))
            return false;
        if (piece.row == SIZE_MAX || !read_box(s, heft_zero_member(shard, "metadata"), &piece))
            return refuse_object(
                s, source, HEFT_MALFORMED,
                "a shard of a ShardedTensor has no tensor, or no offsets and sizes "
                "inside the tensor");
        if (!add_piece(s, &piece))
            return false;
    }
    return true;
}

static bool add_sharded(struct heft_shards *s, uint32_t source, struct heft_value *object)
{
    const struct heft_value *state = heft_zero_member(object, "state");
    const struct heft_value *metadata = item_of(state, 1);
    struct heft_shard_piece whole = {
        .value = object, .source = source, .row = SIZE_MAX, .holder = -1};
    uint64_t *shape;

    if (heft_str_ends((struct heft_str){s->path.p, s->path.n}, "_flat_param"))
        return refuse_object(
            s, source, HEFT_UNSUPPORTED,
            "a flat parameter of FSDP's LOCAL_STATE_DICT: the file has no names or "
            "shapes of its parameters; save it as SHARDED_STATE_DICT or "
            "FULL_STATE_DICT");
    if (!read_numbers(s, heft_zero_member(metadata, "size"), most_dims(s), &shape, &whole.rank))
        return s->err->code == HEFT_OK &&
               refuse_object(s, source, HEFT_MALFORMED, "a ShardedTensor without a size");
    whole.shape = shape;
    whole.name = (struct heft_str){
        heft_arena_text(&s->model->mem, (struct heft_str){s->path.p, s->path.n}, s->err),
        s->path.n};
    if (!whole.name.p || !add_local(s, source, item_of(state, 0), &whole))
        return false;
    metadata = heft_zero_member(metadata, "shards_metadata");
    for (const struct heft_value *v = heft_zero_is_list(metadata) ? metadata->first_child : NULL; v;
         v = v->next_sibling)
        if (!read_box(s, v, &whole) || !add_piece(s, &whole))
            return s->err->code == HEFT_OK &&
                   refuse_object(s, source, HEFT_MALFORMED,
                                 "a ShardMetadata has no offsets and sizes inside the tensor");
    return true;
}

/* ---- DTensor ----------------------------------------------------------------------------- */

/* A dimension of the device mesh: number of ranks, and the rank's coordinate. */
struct mesh_dim {
    uint64_t size, at;
};

/* Sizes of the mesh: of its layout (torch 2.9 and later: a list of axes, or a shape), else of the
 * tensor `mesh`. */
static bool read_sizes(struct heft_shards *s, uint32_t source, const struct heft_value *mesh,
                       struct mesh_dim *dims, unsigned *n)
{
    const struct heft_value *layout = heft_zero_member(mesh, "_layout");
    const struct heft_value *axes = heft_zero_member(layout, "axes");
    const struct heft_value *v = axes ? axes->first_child
                                 : heft_zero_member(layout, "shape")
                                     ? heft_zero_member(layout, "shape")->first_child
                                     : NULL;
    size_t row;

    for (*n = 0; v && *n < MOST_MESH_DIMS; v = v->next_sibling, ++*n) {
        const struct heft_value *shape = axes ? heft_zero_member(v, "shape") : v;

        if (heft_zero_is_list(shape))
            shape =
                shape->first_child && !shape->first_child->next_sibling ? shape->first_child : NULL;
        if (!heft_zero_number(shape, &dims[*n].size) || dims[*n].size == 0)
            return false;
    }
    if (*n > 0)
        return !v;
    if (!find_row(s, source, "._spec.mesh.mesh", &row) || row == SIZE_MAX ||
        s->model->rows[row].rank > MOST_MESH_DIMS)
        return false;
    *n = s->model->rows[row].rank;
    for (unsigned i = 0; i < *n; i++)
        if ((dims[i].size = s->model->rows[row].shape[i]) == 0)
            return false;
    return *n > 0;
}

static bool read_mesh(struct heft_shards *s, uint32_t source, const struct heft_value *mesh,
                      struct mesh_dim *dims, unsigned *n)
{
    const struct heft_value *at = heft_zero_member(mesh, "_coordinate_on_dim");
    unsigned i = 0;

    if (!read_sizes(s, source, mesh, dims, n) || !heft_zero_is_list(at))
        return false;
    for (at = at->first_child; at; at = at->next_sibling, i++)
        if (i == *n || !heft_zero_number(at, &dims[i].at) || dims[i].at >= dims[i].size)
            return false;
    return i == *n;
}

/* Cuts the box of a rank by the placement on one dimension of the mesh, as torch.chunk does. */
static bool place_box(struct heft_shards *s, uint32_t source, const struct heft_value *placement,
                      const struct mesh_dim *mesh, struct heft_shard_piece *piece, uint64_t *start,
                      uint64_t *extent)
{
    uint64_t d, share, skip;

    if (is_of_class(placement, "Replicate"))
        return true;
    if (!is_of_class(placement, "Shard"))
        return refuse_object(
            s, source, HEFT_UNSUPPORTED,
            "a DTensor with a placement other than Shard and Replicate; save it with "
            "torch.distributed.checkpoint");
    if (!heft_zero_number(heft_zero_member(placement, "dim"), &d) || d >= piece->rank)
        return refuse_object(s, source, HEFT_MALFORMED,
                             "a DTensor is sharded along no dimension of it");
    share = extent[d] / mesh->size + (extent[d] % mesh->size > 0);
    skip = share && mesh->at > extent[d] / share ? extent[d]
                                                 : heft_min_u64(share * mesh->at, extent[d]);
    start[d] += skip; /* no overflow: inside the tensor */
    extent[d] = heft_min_u64(share, extent[d] - skip);
    return true;
}

/* Whether the row has the extents that the placements give. */
static bool has_extents(const struct heft_row *row, const struct heft_shard_piece *piece)
{
    bool same = row->rank == piece->rank;

    for (unsigned d = 0; same && d < piece->rank; d++)
        same = row->shape[d] == piece->extent[d];
    return same;
}

/* Fills start and extent of a piece for one coordinate of the mesh. */
static bool place_coordinate(struct heft_shards *s, uint32_t source,
                             const struct heft_value *placements, const struct mesh_dim *dims,
                             unsigned n, struct heft_shard_piece *piece)
{
    const struct heft_value *placement = placements->first_child;
    uint64_t *start = heft_arena_u64(&s->model->mem, 2u * piece->rank + 1u, s->err);
    uint64_t *extent = start ? start + piece->rank : NULL;
    unsigned i = 0;

    if (!start)
        return false;
    for (unsigned d = 0; d < piece->rank; d++) {
        start[d] = 0;
        extent[d] = piece->shape[d];
    }
    piece->start = start;
    piece->extent = extent;
    for (; placement && i < n; placement = placement->next_sibling, i++)
        if (!place_box(s, source, placement, &dims[i], piece, start, extent))
            return false;
    return (!placement && i == n) ||
           refuse_object(
               s, source, HEFT_MALFORMED,
               "a DTensor with other numbers of placements and of dimensions of its mesh");
}

/* Adds the pieces of all coordinates of the mesh, so that one that no file has is missed. Only for the
 * first file that has the tensor. */
static bool expect_others(struct heft_shards *s, uint32_t source, const struct heft_value *spec,
                          struct mesh_dim *dims, unsigned n, struct heft_shard_piece piece)
{
    const struct heft_value *rank =
        heft_zero_member(heft_zero_member(spec, "mesh"), "_flatten_rank_map");
    uint64_t total = 1;
    uint32_t before;

    if (!heft_strmap_add(&s->expected, piece.name, 0, &before, s->err) || before != HEFT_MAP_NONE)
        return s->err->code == HEFT_OK;
    for (unsigned i = 0; i < n; i++)
        if (!heft_mul(total, dims[i].size, &total) || total > s->budget)
            return heft_fail(s->err, HEFT_LIMIT, HEFT_NO_OFFSET,
                             "the meshes of the DTensors have more parts than 4 × limits.tensors");
    s->budget -= total;
    piece.row = SIZE_MAX;
    rank = heft_zero_is_list(rank) ? rank->first_child : NULL;
    for (uint64_t k = 0; k < total; k++) {
        uint64_t left = k, holder = k;

        for (unsigned i = n; i > 0; i--) {
            dims[i - 1].at = left % dims[i - 1].size;
            left /= dims[i - 1].size;
        }
        if (rank && !heft_zero_number(rank, &holder))
            holder = k;
        rank = rank ? rank->next_sibling : NULL;
        piece.holder = (int64_t)heft_min_u64(holder, INT64_MAX);
        if (!place_coordinate(s, source, heft_zero_member(spec, "placements"), dims, n, &piece) ||
            !add_piece(s, &piece))
            return false;
    }
    return true;
}

static bool place_piece(struct heft_shards *s, uint32_t source, const struct heft_value *spec,
                        struct heft_shard_piece *piece)
{
    struct mesh_dim dims[MOST_MESH_DIMS];
    const struct heft_value *placements = heft_zero_member(spec, "placements");
    unsigned n;

    if (!read_mesh(s, source, heft_zero_member(spec, "mesh"), dims, &n) ||
        !heft_zero_is_list(placements))
        return s->err->code == HEFT_OK &&
               refuse_object(s, source, HEFT_UNSUPPORTED,
                             "a DTensor whose mesh has no sizes and coordinates as torch 2.13 has "
                             "them");
    if (!place_coordinate(s, source, placements, dims, n, piece))
        return false;
    if (!has_extents(&s->model->rows[piece->row], piece))
        return refuse_object(
            s, source, HEFT_MALFORMED,
            "a DTensor whose local tensor has another shape than its placements give");
    return expect_others(s, source, spec, dims, n, *piece);
}

static bool add_dtensor(struct heft_shards *s, uint32_t source, struct heft_value *object)
{
    const struct heft_value *spec = heft_zero_member(object, "_spec");
    const struct heft_value *meta = heft_zero_member(heft_zero_member(spec, "tensor_meta"), "args");
    struct heft_shard_piece piece = {.value = object, .source = source, .holder = -1};
    uint64_t *shape, holder;

    if (!find_row(s, source, "._local_tensor", &piece.row))
        return false;
    if (piece.row == SIZE_MAX ||
        !read_numbers(s, item_of(meta, 0), most_dims(s), &shape, &piece.rank))
        return s->err->code == HEFT_OK; /* of another release: it stays as it is */
    piece.shape = shape;
    if (heft_zero_number(heft_zero_member(heft_zero_member(spec, "mesh"), "_rank"), &holder))
        piece.holder = (int64_t)holder;
    piece.name = (struct heft_str){
        heft_arena_text(&s->model->mem, (struct heft_str){s->path.p, s->path.n}, s->err),
        s->path.n};
    if (!piece.name.p)
        return false;
    if (place_piece(s, source, spec, &piece))
        return add_piece(s, &piece);
    if (s->err->code != HEFT_UNSUPPORTED || s->model->n_files > 1)
        return false;
    *s->err = (struct heft_error){0}; /* a file alone is shown as it is */
    return true;
}

/* ---- the walk ---------------------------------------------------------------------------- */

/* A dict whose members are visited. */
struct level {
    const struct heft_value *next;
    size_t path; /* bytes of its own path */
};

struct levels {
    struct level *list;
    size_t n, cap;
};

static bool visit_value(struct heft_shards *s, uint32_t source, const struct heft_value *v,
                        struct levels *levels)
{
    if (is_of_class(v, "ShardedTensor"))
        return add_sharded(s, source,
                           (struct heft_value *)v); /* made by a reader in the model's memory */
    if (is_of_class(v, "DTensor"))
        return add_dtensor(s, source, (struct heft_value *)v);
    if (v->kind != HEFT_VALUE_DICT)
        return true;
    if (!heft_grow(&levels->list, &levels->cap, levels->n, 1, sizeof *levels->list, s->err))
        return false;
    levels->list[levels->n++] = (struct level){v->first_child, s->path.n};
    return true;
}

/* Visits the dicts of one file, which are a tree. */
static bool walk_tree(struct heft_shards *s, const struct heft_model_tree *tree,
                      struct levels *levels)
{
    s->path.n = 0;
    levels->n = 0;
    if (!visit_value(s, tree->source, tree->root, levels))
        return false;
    while (levels->n) {
        struct level *top = &levels->list[levels->n - 1];
        const struct heft_value *v = top->next;

        if (!v) {
            levels->n--;
            continue;
        }
        top->next = v->next_sibling;
        s->path.n = top->path;
        heft_buf_text(&s->path, s->path.n ? "." : "");
        heft_buf_put(&s->path, v->key, v->key_len);
        if (!heft_buf_ok(&s->path, s->err) || !visit_value(s, tree->source, v, levels))
            return false;
    }
    return true;
}

bool heft_shards_find(struct heft_shards *s)
{
    struct levels levels = {0};
    bool ok = true;

    for (size_t i = 0; ok && i < s->model->n_trees; i++)
        ok = walk_tree(s, &s->model->trees[i], &levels);
    heft_free(levels.list);
    return ok;
}
