/* exec.c: runs a checked plan.
 *
 *     output  |--- chunk ---|--- chunk ---|--- chunk …      one job fills and writes one chunk, about 1 MiB
 *     ops     [PUT][ COPY        ][ROW][COPY][COPY]         from the ops that overlap it
 *
 * COPY ops that are adjacent in source and output are read with one call. If a storage has a stored
 * checksum and a single COPY takes all of it, the CRCs of its pieces are computed during the copy
 * and combined at the end (exec_sums.c), as are the plan's own sums. Any other storage with a
 * checksum is read once more by jobs of its own. Memory: two buffers a thread, whatever the file
 * sizes. */
#include "base/checksum.h"
#include "core/cast.h"
#include "core/derive.h"
#include "core/exec_parts.h"
#include "io/pool.h"

/* Bytes of a chunk of rows with short runs, each of which may read a whole storage; casts need as much
 * scratch again. With them fewer threads run, to stay below 64 MiB. */
#define GATHER_CHUNK   (16u << 20)
#define CAST_CHUNK     (8u << 20)
#define GATHER_THREADS 2

/* ---- one chunk: read, cast, write -------------------------------------------------------- */

static void note_losses(struct heft_exec *x, const struct heft_op *op,
                        const struct heft_cast_losses *lost)
{
    struct heft_cast_losses *const all = x->options->losses;

    if (!lost->finite && !lost->infinite)
        return;
    heft_lock_take(x->lock);
    x->overflowed += lost->finite;
    if (all) {
        all[op - x->plan->ops].finite += lost->finite;
        all[op - x->plan->ops].infinite += lost->infinite;
    }
    heft_lock_drop(x->lock);
}

bool heft_exec_fill_row(struct heft_exec *x, unsigned worker, const struct heft_op *op,
                        const struct heft_row *row, uint64_t from, uint8_t *dst, uint64_t n,
                        struct heft_error *err)
{
    const enum heft_dtype in = (enum heft_dtype)row->dtype, out = (enum heft_dtype)op->as;
    struct heft_cast_losses losses = {0};
    uint64_t in_bytes, out_bytes; /* bytes of `unit` elements before and after the cast */
    uint64_t most;                /* units at a time */
    uint32_t unit;
    uint8_t *scratch;

    if (in == out)
        return heft_reader_row(&x->reader, row, from, dst, (size_t)n, err);
    if (heft_derived_makes(row, out))
        return heft_derived_make_as(&x->reader, row, out, from, n, dst, err);
    unit = heft_cast_unit(in, out);
    in_bytes = heft_dtype_span(in, unit);
    out_bytes = heft_exec_cast_block(op);
    most = heft_max_u64(1, heft_derived_piece(row, x->chunk / in_bytes * unit) / unit);
    scratch = x->scratch + (size_t)worker * x->chunk; /* allocated if any op casts */
    for (uint64_t at = 0; at < n;) {
        const size_t count = (size_t)heft_min_u64(most, (n - at) / out_bytes);
        const uint64_t first = (from + at) / out_bytes;

        if (!heft_reader_row(&x->reader, row, first * in_bytes, scratch, (size_t)(count * in_bytes),
                             err))
            return false;
        heft_cast_counting(in, out, scratch, dst + at, count * unit, &losses);
        at += count * out_bytes;
    }
    if (losses.finite && heft_row_is_derived(row))
        return heft_derived_refuse(losses.finite, out, err);
    note_losses(x, op, &losses);
    return heft_cast_accept(out, &losses, err);
}

struct filling {
    struct heft_exec *x;
    const struct heft_exec_chunk *chunk;
    uint8_t *buffer;
    unsigned worker;
};

/* Whether op b continues in the source where op a ends, so that one read serves both. */
static bool continues_op(const struct heft_model *model, const struct heft_op *a,
                         const struct heft_op *b)
{
    const struct heft_storage *s, *t;

    if (a->kind != HEFT_OP_COPY || b->kind != HEFT_OP_COPY)
        return false;
    s = &model->storages[a->u.copy.storage];
    t = &model->storages[b->u.copy.storage];
    if (model->sources[s->source].is_unpacked)
        return false; /* an unpacked source reports failures for each storage */
    return s->source == t->source && s->off + a->u.copy.from + a->len == t->off + b->u.copy.from;
}

/* Extends n by the following ops that are adjacent in both source and chunk, so that one read
 * gets them all. */
static uint64_t joint_length(const struct filling *f, size_t i, uint64_t at, uint64_t n)
{
    const struct heft_op *ops = f->x->plan->ops;
    uint64_t from;

    while (at + n < f->chunk->len && continues_op(f->x->model, &ops[i], &ops[i + 1]))
        n += heft_exec_clip(f->chunk, &ops[++i], &from);
    return n;
}

static bool read_copy(const struct filling *f, size_t i, uint64_t from, uint64_t at, uint64_t n,
                      struct heft_error *err)
{
    const struct heft_op *op = &f->x->plan->ops[i];
    const struct heft_storage *s = &f->x->model->storages[op->u.copy.storage];
    const struct heft_source *source = &f->x->model->sources[s->source].source;

    if (heft_source_read(source, s->off + op->u.copy.from + from, f->buffer + at, (size_t)n, err))
        return true;
    heft_error_file(err, f->x->model->sources[s->source].path);
    return heft_error_about(err, "tensor", heft_op_name(op));
}

/* Reads a range of a file outside the model. Fails if the file shrank after planning. */
static bool read_file(const struct heft_op *op, uint64_t from, void *dst, uint64_t n,
                      struct heft_error *err)
{
    struct heft_source source;
    bool ok;

    if (!heft_source_open_file(&source, op->u.file.path, err))
        return false;
    ok = heft_source_read(&source, op->u.file.from + from, dst, (size_t)n, err);
    heft_source_close(&source);
    return ok || heft_error_file(err, op->u.file.path);
}

static bool make_bytes(const struct heft_plan *plan, const struct heft_op *op, uint64_t from,
                       uint8_t *dst, size_t n, struct heft_error *err)
{
    const struct heft_maker *const maker = &plan->makers[op->u.made.maker];

    return maker->make(maker->ctx, op->u.made.from + from, dst, n, err);
}

/* Puts n bytes of op i, starting at `from`, into the buffer at `at`. *ready: the buffer is
 * filled up to there by an earlier joint read. */
static bool fill_op(const struct filling *f, size_t i, uint64_t from, uint64_t at, uint64_t n,
                    uint64_t *ready, struct heft_error *err)
{
    const struct heft_op *op = &f->x->plan->ops[i];

    switch ((enum heft_op_kind)op->kind) {
    case HEFT_OP_PUT:
        memcpy(f->buffer + at, op->u.bytes + from, (size_t)n);
        return true;
    case HEFT_OP_MADE:
        return make_bytes(f->x->plan, op, from, f->buffer + at, (size_t)n, err);
    case HEFT_OP_LATE:
        memset(f->buffer + at, 0, (size_t)n);
        return true;
    case HEFT_OP_ROW:
        return heft_exec_fill_row(f->x, f->worker, op, op->u.row, from, f->buffer + at, n, err) ||
               heft_error_about(err, "tensor", heft_op_name(op));
    case HEFT_OP_FILE:
        return read_file(op, from, f->buffer + at, n, err);
    case HEFT_OP_COPY:
        break;
    }
    if (*ready > at)
        return true;
    *ready = at + joint_length(f, i, at, n);
    return read_copy(f, i, from, at, *ready - at, err);
}

/* Fills the buffer from the ops of the chunk, in order. */
static bool fill_chunk(const struct filling *f, struct heft_error *err)
{
    size_t i = f->chunk->first_op, piece = f->chunk->first_piece;
    uint64_t from, n, ready = 0;

    for (uint64_t at = 0; at < f->chunk->len; at += n, i++, piece++) {
        const struct heft_op *op = &f->x->plan->ops[i];

        n = heft_exec_clip(f->chunk, op, &from);
        if (!fill_op(f, i, from, at, n, &ready, err))
            return false;
        heft_exec_add_piece(f->x, op, piece, f->buffer + at, (size_t)n);
    }
    return true;
}

bool heft_exec_tell(struct heft_exec *x, uint64_t n, struct heft_error *err)
{
    bool go_on;

    if (!x->options->progress)
        return true;
    heft_lock_take(x->lock);
    x->done += n;
    go_on = x->options->progress(x->options->progress_ctx, x->done, x->total);
    heft_lock_drop(x->lock);
    return go_on || heft_fail(err, HEFT_CANCELLED, HEFT_NO_OFFSET, "interrupted");
}

bool heft_exec_same(const struct heft_exec *x, const struct heft_exec_chunk *place,
                    const uint8_t *wanted, const uint8_t *found, struct heft_error *err)
{
    size_t same = 0;

    if (memcmp(wanted, found, (size_t)place->len) == 0)
        return true;
    while (wanted[same] == found[same])
        same++;
    heft_fail(err, HEFT_MISMATCH, place->off + same, "reads 0x%02x, 0x%02x was written",
              found[same], wanted[same]);
    return heft_error_file(err, x->plan->files[place->file].path);
}

bool heft_exec_deliver(struct heft_exec *x, unsigned worker, const struct heft_exec_chunk *chunk,
                       const uint8_t *buffer, struct heft_error *err)
{
    uint8_t *found = x->buffers + (size_t)(x->threads + worker) * x->chunk;

    if (x->sink)
        return heft_sink_write(x->sink, chunk->file, chunk->off, buffer, (size_t)chunk->len, err);
    if (!heft_source_read(&x->written[chunk->file], chunk->off, found, (size_t)chunk->len, err))
        return false;
    heft_exec_blank_late(x, chunk, found);
    return heft_exec_same(x, chunk, buffer, found, err);
}

/* Reads a chunk of a storage for its checksum, or runs the format's own check of a whole
 * storage. */
static bool check_storage(struct heft_exec *x, const struct heft_exec_chunk *chunk, uint8_t *buffer,
                          struct heft_error *err)
{
    const enum heft_sum sum = (enum heft_sum)x->model->storages[chunk->storage].sum;
    const size_t n = (size_t)chunk->len;

    if (sum == HEFT_SUM_OWN)
        return heft_reader_check(&x->reader, chunk->storage, err) ||
               heft_exec_refuse(x, chunk->storage, err, err); /* adds the tensor's name */
    if (!heft_reader_storage(&x->reader, chunk->storage, chunk->off, buffer, n, err))
        return false;
    x->pieces[chunk->first_piece].stored = heft_sum_of(sum, buffer, n);
    return true;
}

/* Whether a chunk is a range of one file whose bytes need no checksum: gives descriptor and
 * offset. */
static bool is_range(const struct heft_exec *x, const struct heft_exec_chunk *chunk, int *fd,
                     uint64_t *off)
{
    const struct heft_op *const op = &x->plan->ops[chunk->first_op];
    const struct heft_model_source *source;
    const struct heft_storage *s;
    uint64_t from, at = heft_exec_clip(chunk, op, &from), ignored;

    if (!x->sink || !x->options->no_verify || op->kind != HEFT_OP_COPY || heft_exec_sums(op))
        return false;
    for (size_t i = 1; at < chunk->len; i++) {
        if (heft_exec_sums(&op[i]) || !continues_op(x->model, &op[i - 1], &op[i]))
            return false;
        at += heft_exec_clip(chunk, &op[i], &ignored);
    }
    s = &x->model->storages[op->u.copy.storage];
    source = &x->model->sources[s->source];
    *fd = heft_source_fd(&source->source, s->off + op->u.copy.from + from, off);
    return source->is_file && *fd >= 0;
}

/* Copies a chunk within the kernel (copy_file_range, reflink) if possible; *copied says whether
 * it was. */
static bool copy_chunk(const struct heft_exec *x, const struct heft_exec_chunk *chunk, bool *copied,
                       struct heft_error *err)
{
    uint64_t off;
    int fd;

    *copied = false;
    return !is_range(x, chunk, &fd, &off) ||
           heft_sink_copy(x->sink, chunk->file, chunk->off, fd, off, chunk->len, copied, err);
}

static bool run_job(void *ctx, unsigned worker, uint64_t index, struct heft_error *err)
{
    struct heft_exec *x = ctx;
    const struct heft_exec_chunk *chunk = &x->chunks[x->first_chunk + index];
    const struct filling f = {x, chunk, x->buffers + (size_t)worker * x->chunk, worker};
    bool done = false;

    if (chunk->streams)
        return heft_exec_stream(x, worker, chunk, err);
    if (chunk->rows)
        return heft_exec_run_block(x, worker, chunk, err);
    if (chunk->file == HEFT_NONE) {
        if (!check_storage(x, chunk, f.buffer, err))
            return false;
    } else if (!copy_chunk(x, chunk, &done, err) ||
               (!done && !heft_exec_write_memory(x, worker, chunk, &done, err))) {
        return false;
    } else if (!done &&
               (!fill_chunk(&f, err) || !heft_exec_deliver(x, worker, chunk, f.buffer, err))) {
        return false;
    }
    return heft_exec_tell(x, chunk->len, err);
}

/* ---- running all chunks ------------------------------------------------------------------ */

/* Whether a row is cast in a buffer of its own. */
static bool casts_something(const struct heft_plan *plan)
{
    for (size_t i = 0; i < plan->n_ops; i++)
        if (plan->ops[i].kind == HEFT_OP_ROW && plan->ops[i].as != plan->ops[i].u.row->dtype &&
            !heft_derived_makes(plan->ops[i].u.row, (enum heft_dtype)plan->ops[i].as))
            return true;
    return false;
}

static unsigned choose_threads(const struct heft_exec *x)
{
    const unsigned n = heft_pool_threads(x->options->threads, x->n_chunks);

    if (x->options->threads || n == 1)
        return n;
    if (heft_exec_only_writes(x))
        return 1;
    return x->chunk > HEFT_EXEC_CHUNK && n > GATHER_THREADS ? GATHER_THREADS : n;
}

static bool take_buffers(struct heft_exec *x, struct heft_error *err)
{
    x->threads = choose_threads(x);
    if (!heft_budget_allows(x->mem.budget, x->n_pieces * sizeof *x->pieces, err))
        return false;
    x->buffers = heft_alloc((size_t)x->threads * (x->written ? 2 : 1) * x->chunk, err);
    x->pieces = x->buffers ? heft_calloc(x->n_pieces + 1, sizeof *x->pieces, err) : NULL;
    if (x->pieces && x->plan && casts_something(x->plan)) {
        x->scratch = heft_alloc((size_t)x->threads * x->chunk, err);
        return x->scratch != NULL;
    }
    return x->pieces != NULL;
}

bool heft_exec_run_chunks(struct heft_exec *x, size_t first, size_t n, struct heft_error *err)
{
    struct heft_pool_work work = {run_job, x, n, 1};

    if (!take_buffers(x, err))
        return false;
    work.threads = x->threads;
    x->first_chunk = first;
    return heft_pool_run(&work, err);
}

static bool gathers_something(const struct heft_plan *plan)
{
    for (size_t i = 0; i < plan->n_ops; i++)
        if (plan->ops[i].kind == HEFT_OP_ROW &&
            (plan->ops[i].u.row->stride || heft_row_gathers(plan->ops[i].u.row)))
            return true;
    return false;
}

bool heft_exec_init(struct heft_exec *x, const struct heft_plan *plan,
                    const struct heft_model *model, const struct heft_exec_options *options,
                    struct heft_error *err)
{
    *x = (struct heft_exec){
        .plan = plan, .model = model, .options = options, .chunk = HEFT_EXEC_CHUNK};
    x->mem.budget = plan ? plan->mem->budget : NULL;
    if (plan && gathers_something(plan))
        x->chunk = casts_something(plan) ? CAST_CHUNK : GATHER_CHUNK;
    x->lock = heft_lock_new(err);
    return x->lock && heft_reader_init(&x->reader, model, options->no_verify, err);
}

void heft_exec_release(struct heft_exec *x)
{
    heft_sink_free(x->sink);
    for (size_t i = 0; x->written && i < x->plan->n_files; i++)
        heft_source_close(&x->written[i]);
    heft_reader_release(&x->reader);
    heft_lock_free(x->lock);
    heft_free(x->buffers);
    heft_free(x->scratch);
    heft_free(x->pieces);
    heft_budget_return(x->mem.budget, x->n_chunks * sizeof *x->chunks);
    heft_free(x->chunks);
    heft_arena_release(&x->mem);
}

/* Source file whose bytes are exactly those of output `file`; NULL if there is none. */
static const struct heft_model_source *twin_of(const struct heft_exec *x, size_t file)
{
    const struct heft_plan_file *f = &x->plan->files[file];
    const struct heft_op *op = f->ops ? x->plan->ops + f->first : NULL;
    const struct heft_storage *s;
    const struct heft_model_source *source;

    if (!x->plan->may_link || x->options->plan || !x->options->no_verify || !op ||
        op->kind != HEFT_OP_COPY)
        return NULL;
    s = &x->model->storages[op->u.copy.storage];
    source = &x->model->sources[s->source];
    if (!source->is_file || source->source.fd < 0 || source->source.size != f->size ||
        s->off + op->u.copy.from != 0)
        return NULL;
    for (size_t i = 0; i < f->ops; i++)
        if (op[i].sum != HEFT_NONE || (i && !continues_op(x->model, &op[i - 1], &op[i])))
            return NULL;
    return source;
}

/* Sink and plan use the same file numbers. */
static bool add_output(struct heft_exec *x, size_t file, struct heft_error *err)
{
    const struct heft_plan_file *f = &x->plan->files[file];
    const struct heft_model_source *twin = twin_of(x, file);
    uint32_t index;

    return twin ? heft_sink_add_link(x->sink, f->path, &twin->source, twin->path,
                                     &x->is_linked[file], &index, err)
                : heft_sink_add(x->sink, f->path, f->size, &index, err);
}

static bool make_folders(struct heft_exec *x, struct heft_error *err)
{
    const struct heft_plan *plan = x->plan;

    if (plan->whole && !heft_sink_whole(x->sink, plan->whole, err))
        return false;
    for (size_t i = 0; i < plan->n_folders; i++)
        if (!heft_sink_folder(x->sink, plan->folders[i], err))
            return false;
    return !x->options->folder || heft_sink_folder(x->sink, x->options->folder, err);
}

bool heft_exec_open_outputs(struct heft_exec *x, struct heft_error *err)
{
    const struct heft_exec_options *const o = x->options;
    const struct heft_sink_options options = {
        .overwrite = o->overwrite,
        .no_sync = o->no_sync,
        .retires_first = x->plan->retires_first,
        .plan = o->plan,
        .is_begun = o->is_begun,
        .is_resumed = o->is_resumed,
    };

    x->sink = heft_sink_new(&options, err);
    x->is_linked = heft_arena_zero(&x->mem, x->plan->n_files + 1, sizeof *x->is_linked, err);
    if (!x->sink || !x->is_linked || !make_folders(x, err))
        return false;
    for (size_t i = 0; i < x->plan->n_files; i++)
        if (!add_output(x, i, err))
            return false;
    for (size_t i = 0; i < x->options->n_retire; i++)
        if (!heft_sink_retire(x->sink, x->options->retire[i], err))
            return false;
    return true;
}

bool heft_exec_run(const struct heft_plan *plan, const struct heft_exec_options *options,
                   uint64_t *overflowed, struct heft_error *err)
{
    struct heft_exec x;
    const struct heft_exec_judge refuse = {heft_exec_refuse, &x};
    const bool ok = heft_exec_init(&x, plan, plan->model, options, err) &&
                    heft_exec_open_outputs(&x, err) && heft_exec_cut(&x, err) &&
                    heft_exec_run_chunks(&x, 0, x.n_chunks, err) &&
                    heft_exec_judge_all(&x, &refuse, err) && heft_exec_late(&x, err) &&
                    heft_sink_commit(x.sink, err);

    *overflowed = x.overflowed;
    heft_exec_release(&x);
    return ok;
}

static bool open_written(struct heft_exec *x, struct heft_error *err)
{
    x->written = heft_arena_zero(&x->mem, x->plan->n_files + 1, sizeof *x->written, err);
    for (size_t i = 0; x->written && i < x->plan->n_files; i++) {
        const struct heft_plan_file *file = &x->plan->files[i];

        if (!heft_source_open_file(&x->written[i], file->path, err))
            return false;
        if (x->written[i].size != file->size) {
            heft_fail(err, HEFT_MISMATCH, HEFT_NO_OFFSET,
                      "has %" PRIu64 " bytes, %" PRIu64 " were written", x->written[i].size,
                      file->size);
            return heft_error_file(err, file->path);
        }
    }
    return x->written != NULL;
}

bool heft_exec_compare(const struct heft_plan *plan, const struct heft_exec_options *options,
                       struct heft_error *err)
{
    struct heft_exec x;
    bool ok = heft_exec_init(&x, plan, plan->model, options, err) && open_written(&x, err);

    x.chunk = heft_min_size(x.chunk, CAST_CHUNK); /* it has two buffers */
    ok = ok && heft_exec_cut(&x, err) && heft_exec_run_chunks(&x, 0, x.n_chunks, err) &&
         heft_exec_late(&x, err);
    heft_exec_release(&x);
    return ok;
}

/* Storages that are checked as a whole, one job each. */
struct wholes {
    struct heft_exec *x;
    const uint32_t *list;
    uint8_t *is_bad; /* result for each entry of the list */
};

static bool check_one(void *ctx, unsigned worker, uint64_t index, struct heft_error *err)
{
    const struct wholes *w = ctx;
    const uint32_t storage = w->list[index];
    struct heft_error found = {0};

    (void)worker;
    w->is_bad[index] = !heft_reader_check(&w->x->reader, storage, &found);
    return heft_exec_tell(w->x, w->x->model->storages[storage].len, err);
}

/* Repeats the check of a storage that failed, to get its error: a mismatch or malformed data is
 * reported to the judge; any other error ends the run. */
static bool check_whole(struct heft_exec *x, const struct heft_exec_judge *j, uint32_t storage,
                        struct heft_error *err)
{
    struct heft_error found = {0};

    if (heft_reader_check(&x->reader, storage, &found))
        return true; /* transient error: the check succeeded on retry */
    if (found.offset == HEFT_NO_OFFSET)
        found.offset = x->model->storages[storage].off;
    if (found.code == HEFT_MISMATCH || found.code == HEFT_MALFORMED)
        return j->bad(j->ctx, storage, &found, err);
    *err = found;
    return false;
}

static bool is_wanted(const struct heft_exec_options *options, uint32_t storage)
{
    return !options->wanted || options->wanted[storage];
}

static bool checks_itself(const struct heft_storage *storage)
{
    return storage->len > 0 &&
           (storage->coding == HEFT_CODING_DEFLATE || storage->sum == HEFT_SUM_OWN);
}

static bool check_wholes(struct heft_exec *x, const struct heft_exec_judge *j, const uint32_t *list,
                         size_t n, struct heft_error *err)
{
    struct wholes w = {x, list, heft_arena_zero(&x->mem, n + 1, 1, err)};
    const struct heft_pool_work work = {check_one, &w, n,
                                        heft_pool_threads(x->options->threads, n)};

    if (!w.is_bad || (n > 0 && !heft_pool_run(&work, err)))
        return false;
    for (size_t i = 0; i < n; i++)
        if (w.is_bad[i] && !(heft_exec_tell(x, 0, err) && check_whole(x, j, list[i], err)))
            return false;
    return true;
}

/* Whether a storage may still be read. Storages may overlap, thousands of them covering a whole
 * file, so the bytes read are limited to twice the size of the file; storages beyond the limit
 * are reported. Only RAW storages count: inflating has a limit of its own. */
static bool afford_storage(const struct heft_model *model, uint64_t *asked, uint32_t storage,
                           const struct heft_exec_judge *j, bool *may, struct heft_error *err)
{
    const struct heft_storage *const s = &model->storages[storage];
    const uint64_t size = model->sources[s->source].source.size;
    struct heft_error why = {0};

    *may = s->coding == HEFT_CODING_DEFLATE ||
           (heft_add(asked[s->source], s->len, &asked[s->source]) && asked[s->source] / 2 <= size);
    if (*may)
        return true;
    heft_fail(&why, HEFT_LIMIT, s->off,
              "%" PRIu64 " bytes are not checked: with them more than twice the file's %" PRIu64
              " would be read, so much overlaps",
              s->len, size);
    heft_error_file(&why, model->sources[s->source].path);
    return j->bad(j->ctx, storage, &why, err);
}

/* Divides the wanted storages: those that are checked as a whole go onto the list, the others
 * are cut into chunks. */
static bool choose_storages(struct heft_exec *x, const struct heft_row *only,
                            const struct heft_exec_judge *j, uint32_t *wholes, size_t *n_wholes,
                            struct heft_error *err)
{
    const struct heft_model *model = x->model;
    const size_t n = only ? heft_row_pieces(only) : model->n_storages;
    uint64_t *asked = heft_arena_zero(&x->mem, model->n_sources + 1, sizeof *asked, err);
    bool ok = asked != NULL;

    for (uint32_t k = 0; ok && k < n; k++) {
        const uint32_t s = only ? heft_row_storage(only, k) : k;
        const bool whole = checks_itself(&model->storages[s]);
        bool may;

        if (!is_wanted(x->options, s) || (!whole && !heft_exec_is_checkable(x, s)))
            continue;
        ok = afford_storage(model, asked, s, j, &may, err);
        if (may && whole) {
            wholes[(*n_wholes)++] = s;
            if (!heft_add(x->total, model->storages[s].len, &x->total))
                x->total = UINT64_MAX; /* saturated; shown to the user only */
        } else if (may) {
            ok = heft_exec_cut_storage(x, s, err);
        }
    }
    return ok;
}

bool heft_exec_verify(const struct heft_model *model, const struct heft_row *only,
                      const struct heft_exec_options *options, heft_exec_bad_fn *bad, void *ctx,
                      struct heft_error *err)
{
    const struct heft_exec_judge j = {bad, ctx};
    const size_t n = only ? heft_row_pieces(only) : model->n_storages;
    struct heft_exec x;
    bool ok = heft_exec_init(&x, NULL, model, options, err);
    uint32_t *wholes = ok ? heft_arena_alloc(&x.mem, (n + 1) * sizeof *wholes, err) : NULL;
    size_t n_wholes = 0;

    ok = wholes && choose_storages(&x, only, &j, wholes, &n_wholes, err) &&
         heft_exec_run_chunks(&x, 0, x.n_chunks, err) && heft_exec_judge_all(&x, &j, err) &&
         check_wholes(&x, &j, wholes, n_wholes, err);
    heft_exec_release(&x);
    return ok;
}
