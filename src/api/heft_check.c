/* heft_check.c: the public API for the byte map and for verification. */
#include <stdio.h>

#include "base/require_arg.h"
#include "base/sized.h"
#include "base/text.h"
#include "api/checkpoint.h"
#include "format/formats.h"
#include "core/exec.h"
#include "core/registry.h"

/* ---- the byte map ------------------------------------------------------------------------ */

struct heft_map {
    struct heft_arena mem;
    const struct heft_segment *segments;
    size_t count;
};

/* A view of the model with its own list of claims, to which formats add their annotations. */
static bool begin_view(const struct heft_model *model, struct heft_model *view,
                       struct heft_error *err)
{
    *view = *model;
    view->mem = (struct heft_arena){0};
    view->claims = NULL;
    view->cap_claims = 0;
    if (!heft_grow(&view->claims, &view->cap_claims, 0, model->n_claims + 1, sizeof *view->claims,
                   err))
        return false;
    if (model->n_claims)
        memcpy(view->claims, model->claims, model->n_claims * sizeof *view->claims);
    return true;
}

static bool draw_formats(struct heft_model *view, struct heft_error *err)
{
    for (uint32_t i = 0; i < view->n_sources; i++) { /* sources are numbered by u32 */
        const struct heft_format *format = view->sources[i].format;

        if (format && format->annotate && !format->annotate(view, i, err))
            return heft_error_file(err, view->sources[i].path);
    }
    return true;
}

static bool is_drawn(const struct heft_model *model)
{
    for (size_t i = 0; i < model->n_sources; i++)
        if (model->sources[i].format && model->sources[i].format->annotate)
            return true;
    return false;
}

static bool make_map(const struct heft_model *model, struct heft_map *map, struct heft_error *err)
{
    struct heft_model view;
    bool ok;

    if (!is_drawn(model))
        return heft_model_map(model, &map->mem, &map->segments, &map->count, err);
    ok = begin_view(model, &view, err) && draw_formats(&view, err) &&
         heft_model_map(&view, &map->mem, &map->segments, &map->count, err);

    heft_free(view.claims);
    heft_arena_release(&view.mem);
    return ok;
}

struct heft_map *heft_map_new(struct heft_checkpoint *c, struct heft_error *err)
{
    if (!heft_require_arg(c, "a checkpoint", err))
        return NULL;
    struct heft_map *map = heft_calloc(1, sizeof *map, err);

    if (!map)
        return NULL;
    if (make_map(&c->model, map, err))
        return map;
    heft_map_free(map);
    return NULL;
}

size_t heft_map_count(const struct heft_map *map)
{
    if (!map)
        return 0;
    return map->count;
}

bool heft_map_at(const struct heft_map *map, size_t index, struct heft_segment *out)
{
    if (!(map && out))
        return false;
    if (index >= map->count)
        return false;
    HEFT_FILL(heft_segment, out, &map->segments[index]);
    return true;
}

void heft_map_free(struct heft_map *map)
{
    if (!map)
        return;
    heft_arena_release(&map->mem);
    heft_free(map);
}

/* ---- verifying --------------------------------------------------------------------------- */

struct verifier {
    struct heft_checkpoint *c;
    void (*each)(void *ctx, const struct heft_finding *finding);
    void *ctx;
};

static const char *path_of(const struct heft_model *model, uint32_t source)
{
    return source < model->n_sources ? model->sources[source].path : NULL;
}

static void report_finding(const struct verifier *v, enum heft_severity severity, const char *file,
                           uint64_t offset, const char *text)
{
    const struct heft_finding finding = {sizeof finding, severity, file, offset, text};

    if (v->each)
        v->each(v->ctx, &finding);
}

static void report_notes(const struct verifier *v)
{
    const struct heft_model *model = &v->c->model;

    for (size_t i = 0; i < model->n_notes; i++) {
        const struct heft_note *note = &model->notes[i];

        report_finding(v, note->severity, path_of(model, note->source), note->offset, note->text);
    }
    for (size_t i = 0; i < model->n_unreadable; i++) {
        const struct heft_unreadable *lost = &model->unreadable[i];
        struct heft_error text = {0};

        heft_fail(&text, HEFT_UNSUPPORTED, lost->offset, "cannot be read: %s", lost->reason);
        heft_error_about(&text, "tensor", lost->name);
        report_finding(v, lost->is_finding ? HEFT_FINDING : HEFT_NOTE, path_of(model, lost->source),
                       lost->offset, text.text);
    }
}

/* Reports files that contradict an earlier one. */
static void report_differing(const struct verifier *v)
{
    static const char *const kinds[] = {"metadata", "tie", "value"};
    const struct heft_model *model = &v->c->model;

    for (size_t i = 0; i < heft_model_listed_differing(model); i++) {
        const struct heft_differing *d = &model->differing[i];
        struct heft_error text = {0};

        heft_fail(&text, HEFT_OK, HEFT_NO_OFFSET, "%s %s: an earlier file has another",
                  kinds[d->kind], d->key.p);
        report_finding(v, HEFT_NOTE, path_of(model, d->source), HEFT_NO_OFFSET, text.text);
    }
}

/* Reports overlaps, and bytes without a purpose. */
static bool report_layout(const struct verifier *v, struct heft_error *err)
{
    struct heft_error found = {0};
    struct heft_map *map = heft_map_new(v->c, &found);
    char text[96];
    uint64_t end = 0;
    size_t file = SIZE_MAX;

    if (!map && found.code != HEFT_MALFORMED) {
        *err = found;
        return false;
    }
    if (!map)
        report_finding(v, HEFT_FINDING, found.file, found.offset, found.text);
    for (size_t i = 0; map && i < map->count; i++) {
        const struct heft_segment *s = &map->segments[i];

        end = s->file == file ? end : 0;
        file = s->file;
        if (s->overlaps) {
            snprintf(text, sizeof text, "tensor data overlaps bytes up to 0x%" PRIx64, end);
            report_finding(v, HEFT_FINDING, path_of(&v->c->model, v->c->file_sources[file]),
                           s->offset, text);
        }
        end = heft_max_u64(end, s->offset + s->bytes);
        if (s->claimed)
            continue;
        snprintf(text, sizeof text, "%" PRIu64 " byte%s that nothing in the file refers to",
                 s->bytes, s->bytes == 1 ? "" : "s");
        report_finding(v, HEFT_FINDING, path_of(&v->c->model, v->c->file_sources[s->file]),
                       s->offset, text);
    }
    heft_map_free(map);
    return true;
}

static void on_finding(void *ctx, enum heft_severity severity, uint32_t source, uint64_t offset,
                       const char *text)
{
    const struct verifier *v = ctx;

    report_finding(v, severity, path_of(&v->c->model, source), offset, text);
}

/* Reports the findings of formats that read more of their files for verification. */
static bool report_formats(struct verifier *v, struct heft_error *err)
{
    const struct heft_model *model = &v->c->model;
    const struct heft_reporter to = {on_finding, v};

    for (uint32_t i = 0; i < model->n_sources; i++) { /* sources are numbered by u32 */
        const struct heft_format *format = model->sources[i].format;

        if (format && format->verify && !format->verify(model, i, &to, err))
            return heft_error_file(err, model->sources[i].path);
    }
    return true;
}

static bool report_storage(void *ctx, uint32_t storage, const struct heft_error *why,
                           struct heft_error *err)
{
    const struct verifier *v = ctx;
    const struct heft_model *model = &v->c->model;

    (void)err;
    report_finding(v, HEFT_FINDING, path_of(model, model->storages[storage].source), why->offset,
                   why->text);
    return true;
}

/* Format of the file from which a source was made; NULL for a file that only another format
 * reads. */
static const struct heft_format *format_of_file(const struct heft_model *model, uint32_t source)
{
    const struct heft_model_source *from = &model->sources[source];

    return from->is_file ? from->format : model->sources[from->origin].format;
}

/* Counts files with a checksum over all their storages. */
static void count_files(const struct heft_model *model, struct heft_verified *out)
{
    for (uint32_t i = 0; i < model->n_sources; i++) {
        const struct heft_format *format = model->sources[i].format;

        if (!model->sources[i].is_file || !format)
            continue;
        out->checksums += format->check != NULL;
        out->tables += format->has_block_sums;
    }
}

/* *inner: data decoded from a record, a pickle for example, which the record's checksum covers. */
static void count_storage(const struct heft_model *model, const struct heft_storage *s,
                          struct heft_verified *out, uint64_t *inner)
{
    const struct heft_format *format = format_of_file(model, s->source);
    const struct heft_model_source *from = &model->sources[s->source];
    const bool covered = format && (format->check || format->has_block_sums);

    if (s->len == 0 || s->is_missing || s->is_within)
        return;
    if (!from->is_file && !from->is_unpacked) {
        *inner += !covered;
    } else if (covered || s->sum != HEFT_SUM_NONE) {
        out->bytes += s->packed;
        out->checksums += s->sum != HEFT_SUM_NONE;
    } else {
        *(from->is_unpacked ? &out->unpacked : &out->unchecked) += 1;
    }
}

static void count_verified(const struct heft_model *model, struct heft_verified *out)
{
    uint64_t inner = 0;

    *out = (struct heft_verified){0};
    count_files(model, out);
    for (size_t i = 0; i < model->n_storages; i++)
        count_storage(model, &model->storages[i], out, &inner);
    if (out->checksums == 0)
        out->unchecked += inner;
}

bool heft_verify(struct heft_checkpoint *c, const struct heft_verify_options *options,
                 void (*each)(void *ctx, const struct heft_finding *finding), void *ctx,
                 struct heft_error *err)
{
    if (!heft_require_arg(c, "a checkpoint", err))
        return false;
    struct verifier v = {c, each, ctx};
    struct heft_verify_options o;
    struct heft_verified verified;

    if (!HEFT_TAKE(heft_verify_options, &o, options, err))
        return false;
    const struct heft_exec_options exec = {
        .threads = o.threads, .progress = o.progress, .progress_ctx = o.progress_ctx};

    if (o.verified) {
        count_verified(&c->model, &verified);
        HEFT_FILL(heft_verified, o.verified, &verified);
    }
    report_notes(&v);
    report_differing(&v);
    return report_layout(&v, err) && report_formats(&v, err) &&
           heft_exec_verify(&c->model, NULL, &exec, report_storage, &v, err);
}

static bool refuse_storage(void *ctx, uint32_t storage, const struct heft_error *why,
                           struct heft_error *err)
{
    const struct heft_checkpoint *c = ctx;

    *err = *why;
    err->code = HEFT_MISMATCH;
    return heft_error_file(err, path_of(&c->model, c->model.storages[storage].source));
}

/* Compares checksums over several tensors, once for each checkpoint. */
static bool check_sources(struct heft_checkpoint *c, struct heft_error *err)
{
    bool ok;

    heft_lock_take(c->lock);
    ok = c->is_checked || heft_registry_check_sources(&c->model, err);
    c->is_checked = ok;
    heft_lock_drop(c->lock);
    return ok;
}

bool heft_checkpoint_check_row(struct heft_checkpoint *c, const struct heft_row *row,
                               const struct heft_exec_options *exec, struct heft_error *err)
{
    return check_sources(c, err) && heft_exec_verify(&c->model, row, exec, refuse_storage, c, err);
}

bool heft_tensor_check(struct heft_checkpoint *c, size_t index, struct heft_error *err)
{
    if (!heft_require_arg(c, "a checkpoint", err))
        return false;
    const struct heft_exec_options exec = {0};
    const struct heft_row *row;

    if (index >= c->model.n_rows)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "tensor number %zu does not exist",
                         index);
    row = &c->model.rows[index];
    return heft_checkpoint_check_row(c, row, &exec, err) ||
           heft_error_about(err, "tensor", row->name);
}

bool heft_blob_check(struct heft_checkpoint *c, size_t index, struct heft_error *err)
{
    if (!heft_require_arg(c, "a checkpoint", err))
        return false;
    const struct heft_exec_options exec = {0};
    const struct heft_model_blob *blob;
    struct heft_row whole = {0}; /* any row that uses the storage */

    if (index >= c->model.n_blobs)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "blob number %zu does not exist", index);
    blob = &c->model.blobs[index];
    whole.storage = blob->storage;
    return heft_exec_verify(&c->model, &whole, &exec, refuse_storage, c, err) ||
           heft_error_about(err, blob->kind, blob->name);
}

/* ---- damage ------------------------------------------------------------------------------ */

bool heft_missing_at(const struct heft_checkpoint *c, size_t file, uint64_t *expected,
                     bool *at_least)
{
    if (!(c && expected && at_least))
        return false;
    const struct heft_model_source *source;

    if (file >= c->model.n_files)
        return false;
    source = &c->model.sources[c->file_sources[file]];
    *expected = source->expected;
    *at_least = source->at_least;
    return source->expected > source->source.size;
}

static void fill_finding(const struct heft_checkpoint *c, const struct heft_note *note,
                         struct heft_finding *out)
{
    HEFT_FILL(heft_finding, out,
              &((struct heft_finding){.severity = note->severity,
                                      .file = path_of(&c->model, note->source),
                                      .offset = note->offset,
                                      .text = note->text}));
}

bool heft_damage_at(const struct heft_checkpoint *c, size_t index, struct heft_finding *out)
{
    if (!(c && out))
        return false;
    for (size_t i = 0; i < c->model.n_notes; i++) {
        const struct heft_note *note = &c->model.notes[i];

        if (note->is_damage && index == 0) {
            fill_finding(c, note, out);
            return true;
        }
        index -= note->is_damage;
    }
    return false;
}

bool heft_lack_at(const struct heft_checkpoint *c, size_t index, struct heft_finding *out)
{
    if (!(c && out))
        return false;
    for (size_t i = 0; i < c->model.n_notes; i++) {
        const struct heft_note *note = &c->model.notes[i];

        if (note->is_lack && index == 0) {
            fill_finding(c, note, out);
            return true;
        }
        index -= note->is_lack;
    }
    return false;
}

bool heft_left_at(const struct heft_checkpoint *c, size_t index, struct heft_finding *out)
{
    if (!(c && out))
        return false;
    for (size_t i = 0; i < c->model.n_notes; i++) {
        const struct heft_note *note = &c->model.notes[i];

        if (note->is_left && index == 0) {
            fill_finding(c, note, out);
            return true;
        }
        index -= note->is_left;
    }
    return false;
}

/* ---- formats and sizes ------------------------------------------------------------------- */

static bool format_info(const struct heft_format *format, struct heft_format_info *out)
{
    if (format)
        HEFT_FILL(heft_format_info, out,
                  &((struct heft_format_info){.name = format->name,
                                              .summary = format->summary,
                                              .reads = format->open != NULL,
                                              .writes = heft_format_writes(format)}));
    return format != NULL;
}

bool heft_format_at(size_t index, struct heft_format_info *out)
{
    if (!out)
        return false;
    return format_info(heft_registry_at(&heft_formats, index), out);
}

bool heft_format_find(const char *name, struct heft_format_info *out)
{
    if (!(name && out))
        return false;
    return format_info(heft_registry_named(&heft_formats, name), out);
}

/* NULL if the format cannot be written, or the dtype is invalid. */
static const struct heft_format *writer_of(const char *name, enum heft_dtype dtype)
{
    const struct heft_format *format = heft_registry_named(&heft_formats, name);

    return format && heft_format_writes(format) && (unsigned)dtype < HEFT_DTYPE_COUNT ? format
                                                                                      : NULL;
}

bool heft_format_supports_dtype(const char *format, enum heft_dtype dtype)
{
    if (!format)
        return false;
    const struct heft_format *writer = writer_of(format, dtype);

    return writer && heft_registry_supports_dtype(writer, dtype);
}

bool heft_format_instead(const char *format, enum heft_dtype dtype, enum heft_dtype *out)
{
    if (!(format && out))
        return false;
    const struct heft_format *writer = writer_of(format, dtype);
    const enum heft_dtype to = writer ? heft_registry_instead(writer, dtype) : HEFT_DTYPE_COUNT;

    if (to == HEFT_DTYPE_COUNT)
        return false;
    *out = to;
    return true;
}

bool heft_parse_bytes(const char *text, uint64_t *out, struct heft_error *err)
{
    if (!heft_require_arg(text && out, "an argument", err))
        return false;
    return heft_parse_size(heft_str_of(text), out, err);
}

bool heft_parse_count(const char *text, uint64_t *out, struct heft_error *err)
{
    if (!heft_require_arg(text && out, "an argument", err))
        return false;
    return heft_parse_number(heft_str_of(text), out, err);
}
