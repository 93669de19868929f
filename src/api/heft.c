/* heft.c: the public API for opening checkpoints, listing their contents, and reading tensors. */
#include "heft/heft.h"

#include "base/require_arg.h"
#include "base/sized.h"
#include "base/text.h"
#include "api/checkpoint.h"
#include "core/cast.h"
#include "api/rules_take.h"
#include "format/formats.h"
#include "core/cast_loops.h"
#include "core/derive.h"
#include "core/locate.h"
#include "core/registry.h"
#include "core/select.h"
#include "core/tree.h"
#include "core/usage.h"

#define STREAM_PIECE                                                                               \
    (4u << 20) /* bytes of a piece at most; all but the last consist of whole steps of
                                   a cast, and of whole blocks */

const char *heft_version(void)
{
    return HEFT_VERSION;
}

unsigned heft_version_number(void)
{
    return HEFT_VERSION_NUMBER;
}

/* ---- opening ----------------------------------------------------------------------------- */

/* Numbers the storages that several rows use. */
static bool find_shared(struct heft_checkpoint *c, struct heft_error *err)
{
    struct heft_model *model = &c->model;
    uint32_t *rows;
    uint32_t next = 0;

    if (model->no_shared_storage)
        return true;
    rows = heft_arena_zero(&model->mem, model->n_storages + 1, sizeof *rows, err);
    if (!rows)
        return false;
    for (size_t i = 0; i < model->n_rows; i++)
        rows[model->rows[i].storage] += !model->rows[i].parts;
    for (size_t i = 0; i < model->n_storages; i++)
        rows[i] = rows[i] > 1 && model->storages[i].len ? next++ : HEFT_NONE;
    c->shared = rows;
    return true;
}

static bool list_files(struct heft_checkpoint *c, struct heft_error *err)
{
    struct heft_model *model = &c->model;
    uint32_t *sources = heft_arena_zero(&model->mem, model->n_sources + 1, sizeof *sources, err);

    for (uint32_t i = 0; sources && i < model->n_sources; i++)
        if (model->sources[i].is_file)
            sources[model->sources[i].number] = i;
    c->file_sources = sources;
    return sources != NULL;
}

static bool take_options(struct heft_given_options *out, const struct heft_open_options *given,
                         struct heft_arena *mem, struct heft_error *err)
{
    return heft_require_options(given->options, given->n_options, err) &&
           heft_given_options_take(out, &heft_formats, given->options, given->n_options, mem, err);
}

bool heft_checkpoint_prepare(struct heft_checkpoint *c, struct heft_error *err)
{
    return find_shared(c, err) && list_files(c, err) && (c->lock = heft_lock_new(err)) &&
           heft_reader_init(&c->reader, &c->model, false, err);
}

bool heft_checkpoint_settle(struct heft_checkpoint *c, struct heft_error *err)
{
    const struct heft_dequantizer *const d = c->model.formats->dequantizer;

    return heft_model_validate(&c->model, err) && (!d || d->open(&c->model, err)) &&
           heft_checkpoint_prepare(c, err);
}

static struct heft_checkpoint *open_paths(const char *const *paths, size_t n_paths,
                                          const struct heft_open_options *o,
                                          const struct heft_open_request *request,
                                          const struct heft_files *files, struct heft_error *err)
{
    struct heft_limits limits;
    struct heft_checkpoint *c =
        HEFT_TAKE(heft_limits, &limits, o->limits, err) && heft_require_paths(paths, n_paths, err)
            ? heft_calloc(1, sizeof *c, err)
            : NULL;

    if (!c)
        return NULL;
    heft_error_begin(err);
    heft_model_init(&c->model, &limits, &heft_formats);
    if (request)
        c->model.request = *request;
    c->model.files = files;
    c->model.salvage = o->salvage;
    c->model.number_names = o->number_names;
    c->model.standard_input = o->standard_input && files == &heft_disk;
    if (take_options(&c->model.options, o, &c->model.mem, err) &&
        heft_registry_open(&c->model, paths, n_paths, o->format, err) &&
        heft_checkpoint_settle(c, err))
        return c;
    if (n_paths == 1)
        heft_error_file(err, paths[0]);
    heft_close(c);
    return NULL;
}

/* Takes over the inputs, also on failure. */
static struct heft_checkpoint *open_inputs(const char *const *paths, size_t n_paths,
                                           const struct heft_open_options *o,
                                           const struct heft_open_request *request,
                                           struct heft_input_files *inputs, struct heft_error *err)
{
    struct heft_checkpoint *const c =
        open_paths(paths, n_paths, o, request, heft_input_files_of(inputs), err);

    if (c)
        c->inputs = inputs;
    else
        heft_input_files_close(inputs);
    return c;
}

struct heft_checkpoint *heft_checkpoint_open(const char *const *paths, size_t n_paths,
                                             const struct heft_open_options *options,
                                             const struct heft_open_request *request,
                                             struct heft_error *err)
{
    struct heft_input_files *inputs;
    struct heft_open_options o;

    if (!HEFT_TAKE(heft_open_options, &o, options, err))
        return NULL;
    if (request && request->files)
        return open_paths(paths, n_paths, &o, request, request->files, err);
    if (!heft_input_files_take(&inputs, o.inputs, o.n_inputs, err))
        return NULL;
    return open_inputs(paths, n_paths, &o, request, inputs, err);
}

const char *heft_checkpoint_locate(const char *path, const struct heft_open_options *options,
                                   const struct heft_files *files, struct heft_arena *mem,
                                   struct heft_error *err)
{
    struct heft_given_options given = {0};
    struct heft_located located;

    if (!take_options(&given, options, mem, err))
        return NULL;
    return heft_locate(&heft_formats, files, path, &given, mem, &located, err) ? located.paths[0]
                                                                               : NULL;
}

struct heft_checkpoint *heft_open_many(const char *const *paths, size_t n_paths,
                                       const struct heft_open_options *options,
                                       struct heft_error *err)
{
    return heft_checkpoint_open(paths, n_paths, options, NULL, err);
}

struct heft_checkpoint *heft_open(const char *path, const struct heft_open_options *options,
                                  struct heft_error *err)
{
    return heft_open_many(&path, 1, options, err);
}

/* Takes over the inputs, also on failure. They are opened as a whole. */
static struct heft_checkpoint *open_root(struct heft_input_files *inputs,
                                         const struct heft_open_options *options,
                                         struct heft_error *err)
{
    const char *const root = heft_input_files_root(inputs);
    struct heft_open_options o;

    if (HEFT_TAKE(heft_open_options, &o, options, err)) {
        if (o.n_inputs == 0)
            return open_inputs(&root, 1, &o, NULL, inputs, err);
        heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                  "the options have inputs, too; give them to heft_open");
    }
    heft_input_files_close(inputs);
    return NULL;
}

struct heft_checkpoint *heft_open_inputs(const struct heft_input *inputs, size_t n,
                                         const struct heft_open_options *options,
                                         struct heft_error *err)
{
    struct heft_input_files *const files = heft_input_files_new(inputs, n, err);

    return files ? open_root(files, options, err) : NULL;
}

struct heft_checkpoint *heft_open_memory(const void *data, size_t n,
                                         const struct heft_open_options *options,
                                         struct heft_error *err)
{
    const struct heft_input in = {.size = sizeof in, .name = "memory", .bytes = n, .data = data};

    if (!heft_require_arg(data || n == 0, "bytes", err))
        return NULL;
    return heft_open_inputs(&in, 1, options, err);
}

struct heft_checkpoint *heft_open_fd(int fd, uint64_t offset, uint64_t bytes,
                                     const struct heft_open_options *options,
                                     struct heft_error *err)
{
    struct heft_input_files *const files = heft_input_files_fd(fd, offset, bytes, err);

    return files ? open_root(files, options, err) : NULL;
}

struct heft_checkpoint *heft_retain(struct heft_checkpoint *c)
{
    if (c)
        atomic_fetch_add(&c->retained, 1);
    return c;
}

void heft_close(struct heft_checkpoint *c)
{
    if (!c || atomic_fetch_sub(&c->retained, 1) != 0)
        return;
    heft_checkpoint_drop_views(c);
    heft_reader_release(&c->reader);
    heft_lock_free(c->lock);
    if (c->view)
        heft_rules_view_release(c);
    else
        heft_model_release(&c->model);
    heft_input_files_close(c->inputs);
    heft_free(c);
}

const char *heft_choice_at(const struct heft_checkpoint *c, size_t index)
{
    if (!c)
        return NULL;
    return index < c->model.n_choices ? c->model.choices[index] : NULL;
}

const char *heft_idle_option_at(const struct heft_checkpoint *c, size_t index)
{
    const struct heft_format_option *const option =
        c ? heft_model_idle_option(&c->model, index) : NULL;

    return option ? option->name : NULL;
}

/* ---- contents of a checkpoint ------------------------------------------------------------ */

const char *heft_format(const struct heft_checkpoint *c)
{
    if (!c)
        return "";
    return c->model.format ? c->model.format : "";
}

const char *heft_format_version(const struct heft_checkpoint *c)
{
    if (!c)
        return "";
    return c->model.version ? c->model.version : "";
}

size_t heft_file_count(const struct heft_checkpoint *c)
{
    if (!c)
        return 0;
    return c->model.n_files;
}

bool heft_file_at(const struct heft_checkpoint *c, size_t index, struct heft_file *out)
{
    if (!(c && out))
        return false;
    const struct heft_model_source *source;

    if (index >= c->model.n_files)
        return false;
    source = &c->model.sources[c->file_sources[index]];
    HEFT_FILL(heft_file, out,
              &((struct heft_file){.path = source->path, .bytes = source->source.size}));
    return true;
}

size_t heft_tensor_count(const struct heft_checkpoint *c)
{
    if (!c)
        return 0;
    return c->model.n_rows;
}

uint64_t heft_tensor_elements(const struct heft_checkpoint *c, size_t index)
{
    if (!c || index >= c->model.n_rows)
        return 0;
    const struct heft_row *const row = &c->model.rows[index];
    uint64_t n = 1;

    for (unsigned d = 0; d < row->rank; d++)
        if (row->shape[d] == 0)
            return 0;
    for (unsigned d = 0; d < row->rank; d++)
        n *= row->shape[d]; /* no overflow: validation checked the product */
    return n;
}

static int64_t shared_number(const struct heft_checkpoint *c, uint32_t storage)
{
    return c->shared && c->shared[storage] != HEFT_NONE ? (int64_t)c->shared[storage] : -1;
}

static enum heft_stored how_stored(const struct heft_model *model,
                                   const struct heft_model_source *source,
                                   const struct heft_storage *storage)
{
    const struct heft_format *format;

    if (HEFT_LIKELY(source->is_file))
        return storage->coding == HEFT_CODING_DEFLATE ? HEFT_STORED_DEFLATE : HEFT_STORED_PLAIN;
    if (source->is_unpacked)
        return HEFT_STORED_PACKED;
    format = model->sources[source->origin].format;
    return format && format->has_messages ? HEFT_STORED_PROTOBUF : HEFT_STORED_PICKLE;
}

static inline struct heft_place find_place(const struct heft_model *model,
                                           const struct heft_storage *storage, uint64_t offset)
{
    const struct heft_model_source *source = &model->sources[storage->source];
    const enum heft_stored stored = how_stored(model, source, storage);

    if (HEFT_LIKELY(stored == HEFT_STORED_PLAIN))
        return (struct heft_place){source->number, storage->off + offset, storage->packed, stored};
    if (stored == HEFT_STORED_DEFLATE)
        return (struct heft_place){source->number, storage->off, storage->packed, stored};
    return (struct heft_place){source->number, source->origin_off, source->origin_len, stored};
}

struct heft_place heft_checkpoint_place(const struct heft_checkpoint *c, uint32_t index,
                                        uint64_t offset)
{
    return find_place(&c->model, &c->model.storages[index], offset);
}

static bool lacks_part(const struct heft_checkpoint *c, const struct heft_parts *parts)
{
    for (uint32_t k = 0; k < parts->n; k++)
        if (c->model.storages[parts->list[k].storage].is_missing)
            return true;
    return false;
}

/* Sets all members of *out except its size. */
HEFT_INLINE void describe_tensor(const struct heft_checkpoint *c, const struct heft_row *row,
                                 struct heft_tensor *out)
{
    const struct heft_storage *const storage = &c->model.storages[row->storage];
    const struct heft_place place = find_place(&c->model, storage, row->offset);

    out->name = row->name.p;
    out->name_len = row->name.n;
    out->dtype = (enum heft_dtype)row->dtype;
    out->rank = row->rank;
    out->shape = row->shape;
    out->strides = row->stride;
    out->bytes = row->bytes;
    out->file = place.file;
    out->offset = place.offset;
    out->stored = place.stored;
    out->stored_bytes = place.stored_bytes;
    out->storage = row->parts ? -1 : shared_number(c, row->storage);
    out->big_endian = (row->flags & HEFT_ROW_SWAP) != 0;
    out->conjugated = (row->flags & HEFT_ROW_CONJ) != 0;
    out->negated = (row->flags & HEFT_ROW_NEG) != 0;
    out->missing = row->parts ? lacks_part(c, row->parts) : storage->is_missing;
}

/* For programs that were built for another version of the struct. */
static HEFT_NOINLINE void describe_other_size(const struct heft_checkpoint *c,
                                              const struct heft_row *row, struct heft_tensor *out)
{
    struct heft_tensor t;

    describe_tensor(c, row, &t);
    HEFT_FILL(heft_tensor, out, &t);
}

bool heft_tensor_at(const struct heft_checkpoint *c, size_t index, struct heft_tensor *out)
{
    if (!c || !out || index >= c->model.n_rows)
        return false;
    if (HEFT_LIKELY(out->size == sizeof *out)) /* described in place, without a copy */
        describe_tensor(c, &c->model.rows[index], out);
    else
        describe_other_size(c, &c->model.rows[index], out);
    return true;
}

size_t heft_tensor_part_count(const struct heft_checkpoint *c, size_t index)
{
    if (!c)
        return 0;
    const struct heft_parts *const parts =
        index < c->model.n_rows ? c->model.rows[index].parts : NULL;

    return parts && !parts->shape ? parts->n : 0; /* boxes of a shaped row have another shape */
}

bool heft_tensor_part_at(const struct heft_checkpoint *c, size_t index, size_t part,
                         struct heft_tensor_part *out)
{
    if (!(c && out))
        return false;
    const struct heft_row *row = index < c->model.n_rows ? &c->model.rows[index] : NULL;
    const struct heft_part *p;
    struct heft_place place;
    struct heft_tensor_part found;

    if (!row || part >= heft_tensor_part_count(c, index))
        return false;
    p = &row->parts->list[part];
    place = heft_checkpoint_place(c, p->storage, p->offset);
    found = (struct heft_tensor_part){
        .start = p->start,
        .extent = p->extent,
        .strides = p->stride,
        .file = place.file,
        .offset = place.offset,
        .stored = place.stored,
        .stored_bytes = place.stored_bytes,
        .big_endian = (p->flags & HEFT_ROW_SWAP) != 0,
        .conjugated = (p->flags & HEFT_ROW_CONJ) != 0,
        .negated = (p->flags & HEFT_ROW_NEG) != 0,
    };
    if (!heft_row_size((enum heft_dtype)row->dtype, row->rank, p->extent, &found.bytes))
        return false; /* after validation the row has a size */
    HEFT_FILL(heft_tensor_part, out, &found);
    return true;
}

bool heft_tensor_find(const struct heft_checkpoint *c, const char *name, size_t name_len,
                      size_t *index)
{
    if (!(c && (name || name_len == 0) && index))
        return false;
    const uint32_t found = heft_model_find(&c->model, (struct heft_str){name, name_len});

    if (found == HEFT_NONE)
        return false;
    *index = found;
    return true;
}

bool heft_storage_use(const struct heft_checkpoint *c, uint64_t *stored, uint64_t *used,
                      struct heft_error *err)
{
    if (!heft_require_arg(c && stored && used, "an argument", err))
        return false;
    return heft_model_usage(&c->model, stored, used, err);
}

size_t heft_unread_count(const struct heft_checkpoint *c)
{
    if (!c)
        return 0;
    return c->model.n_unreadable;
}

bool heft_unread_at(const struct heft_checkpoint *c, size_t index, struct heft_unread *out)
{
    if (!(c && out))
        return false;
    if (index >= c->model.n_unreadable)
        return false;
    HEFT_FILL(heft_unread, out,
              &((struct heft_unread){.name = c->model.unreadable[index].name.p,
                                     .reason = c->model.unreadable[index].reason}));
    return true;
}

static bool pair_at(const struct heft_pair *pairs, size_t n, size_t index,
                    struct heft_metadata *out)
{
    if (index >= n)
        return false;
    *out = (struct heft_metadata){pairs[index].key.p, pairs[index].value.p, pairs[index].key.n,
                                  pairs[index].value.n};
    return true;
}

size_t heft_metadata_count(const struct heft_checkpoint *c)
{
    if (!c)
        return 0;
    return c->model.n_metadata;
}

bool heft_metadata_at(const struct heft_checkpoint *c, size_t index, struct heft_metadata *out)
{
    if (!(c && out))
        return false;
    return pair_at(c->model.metadata, c->model.n_metadata, index, out);
}

size_t heft_tie_count(const struct heft_checkpoint *c)
{
    if (!c)
        return 0;
    return c->model.n_ties;
}

bool heft_tie_at(const struct heft_checkpoint *c, size_t index, struct heft_metadata *out)
{
    if (!(c && out))
        return false;
    return pair_at(c->model.ties, c->model.n_ties, index, out);
}

size_t heft_difference_count(const struct heft_checkpoint *c)
{
    if (!c)
        return 0;
    return c->model.n_differing;
}

bool heft_difference_at(const struct heft_checkpoint *c, size_t index, struct heft_difference *out)
{
    if (!(c && out))
        return false;
    const struct heft_differing *d;

    if (index >= heft_model_listed_differing(&c->model))
        return false;
    d = &c->model.differing[index];
    HEFT_FILL(heft_difference, out,
              &((struct heft_difference){.kind = d->kind,
                                         .key = d->key.p,
                                         .key_len = d->key.n,
                                         .file = c->model.sources[d->source].number,
                                         .value = d->value}));
    return true;
}

const struct heft_value *heft_values(const struct heft_checkpoint *c)
{
    if (!c)
        return NULL;
    return c->model.values;
}

const struct heft_value *heft_file_info(const struct heft_checkpoint *c)
{
    if (!c)
        return NULL;
    return c->model.file_info ? &c->model.file_info->value : NULL;
}

const struct heft_value *heft_value_find(const struct heft_checkpoint *c, const char *path)
{
    if (!(c && path))
        return NULL;
    const struct heft_value *value = heft_value_below(c->model.values, path);

    return value ? value : heft_value_below(heft_file_info(c), path);
}

bool heft_select(const struct heft_checkpoint *c, const char *root, const struct heft_rule *rules,
                 size_t n_rules, bool *selected, struct heft_error *err)
{
    struct heft_rule *const own = heft_require_arg(c && selected, "an argument", err)
                                      ? heft_rules_take(rules, n_rules, err)
                                      : NULL;
    const bool ok = own && heft_select_rows(&c->model, root, own, n_rules, selected, err);

    heft_free(own);
    return ok;
}

/* ---- reading tensors --------------------------------------------------------------------- */

const struct heft_row *heft_checkpoint_row(const struct heft_checkpoint *c, size_t index,
                                           struct heft_error *err)
{
    if (index < c->model.n_rows)
        return &c->model.rows[index];
    heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "tensor number %zu does not exist, there are %zu",
              index, c->model.n_rows);
    return NULL;
}

bool heft_checkpoint_slice(const struct heft_checkpoint *c, size_t index,
                           const struct heft_range *ranges, size_t n_ranges,
                           const enum heft_dtype *as, struct heft_arena *mem, struct heft_row *out,
                           struct heft_error *err)
{
    const struct heft_row *row = heft_checkpoint_row(c, index, err);

    if (!row)
        return false;
    *out = *row;
    return n_ranges == 0 ||
           heft_row_slice_as(row, ranges, n_ranges, as ? *as : (enum heft_dtype)row->dtype, mem,
                             out, err) ||
           heft_error_about(err, "tensor", row->name);
}

bool heft_checkpoint_stream(struct heft_checkpoint *c, const struct heft_row *row,
                            bool (*each)(void *ctx, const void *piece, size_t n), void *ctx,
                            struct heft_error *err)
{
    uint32_t most = STREAM_PIECE;
    uint8_t *piece;
    bool ok;

    if (!heft_dtype_varies((enum heft_dtype)row->dtype))
        most -= most % (uint32_t)heft_dtype_span((enum heft_dtype)row->dtype, HEFT_CAST_STEP);
    piece = heft_alloc((size_t)heft_min_u64(row->bytes, most), err);
    ok = piece != NULL;
    for (uint64_t off = 0; ok && off < row->bytes; off += most) {
        const size_t n = (size_t)heft_min_u64(most, row->bytes - off);

        ok = heft_reader_row(&c->reader, row, off, piece, n, err) ||
             heft_error_about(err, "tensor", row->name);
        if (ok && !each(ctx, piece, n))
            ok = heft_fail(err, HEFT_CANCELLED, HEFT_NO_OFFSET, "interrupted");
    }
    heft_free(piece);
    return ok;
}

bool heft_tensor_stream(struct heft_checkpoint *c, size_t index, const struct heft_range *ranges,
                        size_t n_ranges, bool (*each)(void *ctx, const void *piece, size_t n),
                        void *ctx, struct heft_error *err)
{
    if (!heft_require_arg(c && (ranges || n_ranges == 0) && each, "an argument", err))
        return false;
    struct heft_arena mem = {0};
    struct heft_row row;
    const bool ok = heft_checkpoint_slice(c, index, ranges, n_ranges, NULL, &mem, &row, err) &&
                    heft_checkpoint_stream(c, &row, each, ctx, err);

    heft_arena_release(&mem);
    return ok;
}

struct listener {
    bool (*each)(void *ctx, const char *text, size_t n);
    void *ctx;
    bool is_stopped;
};

static bool pass_on(void *ctx, const char *text, size_t n)
{
    struct listener *l = ctx;

    l->is_stopped = !l->each(l->ctx, text, n);
    return !l->is_stopped;
}

bool heft_tensor_strings(struct heft_checkpoint *c, size_t index,
                         bool (*each)(void *ctx, const char *text, size_t n), void *ctx,
                         struct heft_error *err)
{
    if (!heft_require_arg(c && each, "an argument", err))
        return false;
    const struct heft_row *row = heft_checkpoint_row(c, index, err);
    struct listener l = {each, ctx, false};
    const struct heft_storage *storage;

    if (!row)
        return false;
    storage = &c->model.storages[row->storage];
    if (storage->is_missing) {
        heft_reader_refuse_missing(&c->model, row->storage, err);
    } else if (row->dtype != HEFT_STRING || !heft_storage_strings(storage)) {
        heft_fail(err, HEFT_UNSUPPORTED, storage->off, "%s: the dtype is not a string",
                  heft_dtype_name((enum heft_dtype)row->dtype));
    } else if (heft_storage_strings(storage)(&c->model, storage, pass_on, &l, err)) {
        return !l.is_stopped || heft_fail(err, HEFT_CANCELLED, HEFT_NO_OFFSET, "interrupted");
    } else {
        heft_error_file(err, c->model.sources[storage->source].path);
    }
    return heft_error_about(err, "tensor", row->name);
}

/* ---- parsing slices ---------------------------------------------------------------------- */

/* Parses a decimal number with an optional sign; negative numbers count from the end of the
 * dimension. */
static bool parse_index(const char **text, uint64_t dim, uint64_t *out)
{
    const bool negative = **text == '-';
    uint64_t n = 0;

    *text += negative;
    if (**text < '0' || **text > '9')
        return false;
    for (; **text >= '0' && **text <= '9'; (*text)++)
        if (!heft_mul(n, 10, &n) || !heft_add(n, (uint64_t)(**text - '0'), &n))
            return false;
    if (negative && n > dim)
        return false;
    *out = negative ? dim - n : n;
    return true;
}

/* Parses a range of one dimension: "3", "1:4", ":4", "1:" or ":". */
static bool parse_range(const char **text, uint64_t dim, struct heft_range *out)
{
    const char *p = *text;

    while (*p == ' ')
        p++;
    *out = (struct heft_range){0, dim, false};
    if (*p != ':' && !parse_index(&p, dim, &out->start))
        return false;
    if (*p == ':') {
        p++;
        if (*p && *p != ',' && *p != ' ' && !parse_index(&p, dim, &out->stop))
            return false;
    } else {
        out->stop = out->start + 1;
        out->drop = true;
    }
    while (*p == ' ')
        p++;
    *text = p;
    return *p == '\0' || *p == ',';
}

bool heft_slice_parse(const struct heft_checkpoint *c, size_t index, const char *text,
                      struct heft_range *ranges, size_t *n_ranges, struct heft_error *err)
{
    if (!heft_require_arg(c && text && ranges && n_ranges, "an argument", err))
        return false;
    const struct heft_row *row = heft_checkpoint_row(c, index, err);
    const char *p = text;
    size_t n = 0;

    if (!row)
        return false;
    do {
        if (n == row->rank)
            return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                             "slice \"%s\" has more parts than the tensor's %u dimensions", text,
                             row->rank);
        if (!parse_range(&p, row->shape[n], &ranges[n]))
            return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                             "slice \"%s\": part %zu is not an index or start:stop", text, n + 1);
        n++;
    } while (*p++ == ',');
    *n_ranges = n;
    return true;
}
