/* heft_trace.c: public API: the walk through a pickle, and from its tensors to their bytes.
 * torch_trace.c provides the steps, the opened file the tensors with their provenance. */
#include "base/require_arg.h"
#include "base/sized.h"
#include "base/text.h"
#include "api/checkpoint.h"
#include "core/registry.h"
#include "format/torch/pickle/torch_parts.h"
#include "format/torch/pickle/torch_provenance.h"
#include "format/torch/trace/torch_trace.h"
#include "heft/heft.h"
#include "io/input_files.h"

/* Default limit on opcodes: lower than for opening, since a printed line costs more than an
 * opcode. */
#define MOST_OPCODES 15000000

struct tensors {
    struct heft_tracer *tr;
    struct heft_checkpoint *c;
    struct heft_provenance provenance;
    struct heft_buf id, record;
};

/* Opens the file as heft_open does, and records where its rows come from. */
static struct heft_checkpoint *open_with_provenance(const char *path, const struct heft_tracer *tr,
                                                    struct heft_provenance *provenance,
                                                    struct heft_error *err)
{
    const struct heft_open_options options = {
        .size = sizeof options, .format = tr->options->format, .limits = tr->options->limits};
    const struct heft_torch_request wanted = {.provenance = provenance};
    struct heft_open_request request = heft_torch_ask(&wanted);

    request.files = tr->files;
    return heft_checkpoint_open(&path, 1, &options, &request, err);
}

/* Formats a storage id as the reader understood it: ("storage", BFloat16Storage, "0", "cpu", 64). */
static bool put_id(struct tensors *t, uint32_t number, struct heft_error *err)
{
    const struct heft_provenance_storage *s;

    t->id.n = 0;
    if (number != HEFT_NONE) {
        s = &t->provenance.storages[number];
        heft_buf_text(&t->id, "(\"storage\", ");
        heft_buf_text(&t->id, s->type);
        heft_buf_text(&t->id, ", \"");
        heft_buf_escaped(&t->id, s->key);
        heft_buf_text(&t->id, "\", \"");
        heft_buf_escaped(&t->id, s->location);
        heft_buf_text(&t->id, "\", ");
        heft_buf_u64(&t->id, (uint64_t)s->elements);
        heft_buf_char(&t->id, ')');
    }
    heft_buf_char(&t->id, '\0');
    return heft_buf_ok(&t->id, err);
}

/* Joins "archive/data.pkl" and the storage's "data/0" to "archive/data/0". */
static bool put_record(struct tensors *t, const struct heft_storage *storage,
                       struct heft_error *err)
{
    const struct heft_str pickle = heft_str_of(t->tr->record);
    size_t root = pickle.n;

    t->record.n = 0;
    while (root && pickle.p[root - 1] != '/')
        root--;
    if (t->tr->is_zip) {
        heft_buf_escaped(&t->record, (struct heft_str){pickle.p, root});
        heft_buf_escaped(&t->record, storage->label);
    }
    heft_buf_char(&t->record, '\0');
    return heft_buf_ok(&t->record, err);
}

static bool each_tensor(struct tensors *t, const struct heft_provenance_row *row,
                        struct heft_error *err)
{
    const struct heft_model *model = &t->c->model;
    struct heft_tensor found = {.size = sizeof found};
    struct heft_trace_tensor tensor = {.tensor = &found,
                                       .has_key = row->key_at != HEFT_NONE,
                                       .key_position = row->key_at,
                                       .made_position = row->made_at};
    const struct heft_trace_watcher *w = t->tr->watcher;

    if (!put_id(t, row->storage, err) ||
        !put_record(t, &model->storages[model->rows[row->row].storage], err) ||
        !heft_tensor_at(t->c, row->row, &found))
        return false;
    tensor.id = t->id.p;
    tensor.record = t->record.p;
    t->tr->total->tensors++;
    t->tr->is_stopped = w->tensor && !w->tensor(w->ctx, &tensor);
    return true;
}

/* Hands out the tensors made by the pickles of the walk. */
static bool hand_out(struct tensors *t, struct heft_error *err)
{
    for (size_t i = 0; i < t->provenance.n_rows && !t->tr->is_stopped; i++)
        if (t->provenance.rows[i].pickle_at == t->tr->at &&
            !each_tensor(t, &t->provenance.rows[i], err))
            return false;
    return true;
}

/* Opens the file as heft_open does, after its steps were shown and the tables for them released. A
 * record requested by name may belong to an archive that heft cannot open: then the steps are the
 * whole answer. */
static bool walk_tensors(struct heft_tracer *tr, const char *path, struct heft_error *err)
{
    struct tensors t = {.tr = tr};
    struct heft_error why = {0};
    bool ok;

    if (!heft_tracer_shrink(tr))
        return false;
    t.c = open_with_provenance(path, tr, &t.provenance, &why);
    ok = t.c ? hand_out(&t, err) : tr->options->record && why.code == HEFT_UNSUPPORTED;
    if (!t.c && !ok)
        *err = why;
    heft_close(t.c);
    heft_provenance_release(&t.provenance);
    heft_buf_release(&t.id);
    heft_buf_release(&t.record);
    return ok;
}

/* Finds the storages of a file that is not an archive by opening it, as far as possible. A file of
 * another format has no pickle. */
static bool find_places(struct heft_tracer *tr, const char *path)
{
    struct heft_error why = {0};
    struct heft_provenance provenance = {0};
    struct heft_checkpoint *c = open_with_provenance(path, tr, &provenance, &why);
    bool ok = true;

    if (why.code == HEFT_NOMEM || why.code == HEFT_IO) { /* else the walk shows what is broken */
        *tr->err = why;
        ok = false;
    }
    if (c && strcmp(heft_format(c), "pickle") != 0 && strncmp(heft_format(c), "torch", 5) != 0)
        ok = heft_fail(tr->err, HEFT_UNSUPPORTED, HEFT_NO_OFFSET,
                       "a %s file has no pickle to trace", heft_format(c));
    for (size_t i = 0; c && ok && i < provenance.n_storages; i++) {
        const struct heft_provenance_storage *s = &provenance.storages[i];
        const struct heft_storage *storage = &c->model.storages[s->storage];
        const struct heft_trace_place place = {storage->off, storage->packed, false};
        const char *key = heft_arena_text(&tr->mem, s->key, tr->err);

        ok = key && heft_tracer_place(tr, (struct heft_str){key, s->key.n}, &place);
    }
    heft_close(c);
    heft_provenance_release(&provenance);
    return ok;
}

static bool check_zip(const struct heft_source *source, bool *is_zip, struct heft_error *err)
{
    uint8_t head[4] = {0};

    if (source->size >= sizeof head && !heft_source_read(source, 0, head, sizeof head, err))
        return false;
    *is_zip = memcmp(head, "PK\3\4", 4) == 0;
    return true;
}

static bool trace_source(struct heft_tracer *tr, struct heft_source *source, const char *path)
{
    bool is_zip;

    source->label = path;
    return check_zip(source, &is_zip, tr->err) && (is_zip || find_places(tr, path)) &&
           heft_torch_trace(tr) &&
           (tr->is_stopped || tr->options->to || walk_tensors(tr, path, tr->err)) &&
           (!tr->is_stopped || heft_fail(tr->err, HEFT_CANCELLED, HEFT_NO_OFFSET, "interrupted"));
}

static bool trace_path(const char *path, const struct heft_trace_options *options,
                       const struct heft_files *files, const struct heft_trace_watcher *watcher,
                       struct heft_trace_total *total, struct heft_error *err)
{
    struct heft_source source;
    struct heft_limits asked, limits;
    struct heft_tracer tr = {.src = &source,
                             .limits = &limits,
                             .files = files,
                             .options = options,
                             .watcher = watcher,
                             .total = total,
                             .err = err};
    bool ok;

    if (!HEFT_TAKE(heft_limits, &asked, options->limits, err))
        return false;
    limits = heft_limits_complete(&asked);
    if (!asked.opcodes)
        limits.opcodes = heft_min_u64(limits.opcodes, MOST_OPCODES);
    if (!heft_files_open(files, &source, path, err))
        return heft_error_file(err, path);
    ok = trace_source(&tr, &source, path) || heft_error_file(err, path);
    heft_tracer_release(&tr);
    heft_source_close(&source);
    return ok;
}

bool heft_trace(const char *path, const struct heft_trace_options *options,
                const struct heft_trace_watcher *watcher, struct heft_trace_total *total,
                struct heft_error *err)
{
    struct heft_trace_options o;
    struct heft_trace_watcher w;
    struct heft_trace_total counts = {0};
    struct heft_input_files *inputs;
    bool ok;

    if (!HEFT_TAKE(heft_trace_options, &o, options, err) ||
        !heft_input_files_take(&inputs, o.inputs, o.n_inputs, err))
        return false;
    ok = heft_require_arg(path && watcher && total, "an argument", err) &&
         HEFT_TAKE(heft_trace_watcher, &w, watcher, err);
    if (ok) {
        heft_error_begin(err);
        ok = trace_path(path, &o, heft_input_files_of(inputs), &w, &counts, err);
        HEFT_FILL(heft_trace_total, total, &counts);
    }
    heft_input_files_close(inputs);
    return ok;
}
