/* heft_digest.c: the public API for digests, and for comparing them with a list. */
#include <stdio.h>

#include "api/checkpoint.h"
#include "api/rules_take.h"
#include "base/require_arg.h"
#include "base/sized.h"
#include "heft/digest.h"
#include "measure/compare.h"

#define MOST_LIST ((uint64_t)1 << 30) /* bytes of a list, which is parsed in memory */

/* ---- digests of tensors -------------------------------------------------------------------- */

struct printing {
    struct heft_checkpoint *c;
    const struct heft_digest_options *options;
    struct heft_digest_items items;
    bool (*each)(void *ctx, const struct heft_digest *digest);
    void *ctx;
};

static void note(const struct heft_digest_options *o, const char *text)
{
    if (o->note)
        o->note(o->note_ctx, text);
}

static void note_slow(const struct heft_digest_options *o, const struct heft_hasher *hasher)
{
    char text[sizeof hasher->why_slow.text + 80];

    if (hasher->why_slow.code == HEFT_OK)
        return;
    snprintf(text, sizeof text, "SHA-256 is computed more slowly than possible: %s",
             hasher->why_slow.text);
    note(o, text);
}

/* Adds a row, or notes why it has no digest. */
static bool add_row(struct printing *p, enum heft_digest_kind kind, struct heft_str name,
                    uint32_t index, struct heft_error *err)
{
    const struct heft_row *const row = &p->c->model.rows[index];
    struct heft_error text = {0};
    const char *reason;

    if (heft_digest_is_defined(&p->c->model, row, &reason))
        return heft_digest_items_add(&p->items, kind, name, index, err);
    heft_fail(&text, HEFT_OK, HEFT_NO_OFFSET, "tensor %s: %s has no digest: %s", name.p,
              heft_dtype_name((enum heft_dtype)row->dtype), reason);
    note(p->options, text.text);
    return true;
}

static bool add_rows(struct printing *p, struct heft_error *err)
{
    const struct heft_model *const model = &p->c->model;
    const struct heft_digest_options *const o = p->options;
    bool *const selected = heft_calloc(model->n_rows + 1, sizeof *selected, err);
    bool ok = selected && heft_select_rows(model, o->root, o->rules, o->n_rules, selected, err);

    for (size_t i = 0; ok && i < model->n_rows; i++)
        if (selected[i])
            ok = add_row(p, HEFT_DIGEST_TENSOR, model->rows[i].name, (uint32_t)i, err);
    heft_free(selected);
    return ok;
}

/* Adds recorded ties, except those whose name is that of a tensor. */
static bool add_ties(struct printing *p, const struct heft_selector *selector,
                     struct heft_error *err)
{
    const struct heft_model *const model = &p->c->model;

    for (size_t i = 0; i < model->n_ties; i++) {
        const struct heft_pair *const tie = &model->ties[i];
        const uint32_t row = heft_model_row(model, tie->value);

        if (row != HEFT_NONE && heft_model_row(model, tie->key) == HEFT_NONE &&
            heft_selector_takes(selector, tie->key) &&
            !add_row(p, HEFT_DIGEST_TIE, tie->key, row, err))
            return false;
    }
    return true;
}

static bool add_blobs(struct printing *p, const struct heft_selector *selector,
                      struct heft_error *err)
{
    const struct heft_model *const model = &p->c->model;

    for (size_t i = 0; p->options->blobs && i < model->n_blobs; i++)
        if (heft_selector_takes(selector, model->blobs[i].name) &&
            !heft_digest_items_add(&p->items, HEFT_DIGEST_BLOB, model->blobs[i].name, (uint32_t)i,
                                   err))
            return false;
    return true;
}

static bool add_all(struct printing *p, struct heft_error *err)
{
    struct heft_selector *const selector =
        heft_selector_new(p->options->root, p->options->rules, p->options->n_rules, err);
    const bool ok = selector && add_rows(p, err) && add_ties(p, selector, err) &&
                    heft_digest_items_join(&p->items, err) && add_blobs(p, selector, err);

    heft_selector_free(selector);
    return ok;
}

static bool take_item(void *ctx, size_t item, const uint8_t *digest, const struct heft_error *why,
                      struct heft_error *err)
{
    const struct printing *const p = ctx;
    const struct heft_digest_item *const it = &p->items.list[item];
    struct heft_digest out = {
        (enum heft_digest_kind)it->kind,         it->name.p, it->name.n, it->index,
        heft_digest_item_bytes(&p->items, item), {0}};

    if (!digest) {
        *err = *why;
        return false;
    }
    memcpy(out.sha256, digest, sizeof out.sha256);
    return p->each(p->ctx, &out) || heft_fail(err, HEFT_CANCELLED, HEFT_NO_OFFSET, "interrupted");
}

static struct heft_digest_how how_of(const struct heft_digest_options *o,
                                     const struct heft_hasher *hasher)
{
    return (struct heft_digest_how){hasher, o->threads, o->progress, o->progress_ctx};
}

bool heft_digest_tensors(struct heft_checkpoint *c, const struct heft_digest_options *options,
                         bool (*each)(void *ctx, const struct heft_digest *digest), void *ctx,
                         struct heft_error *err)
{
    struct heft_digest_options o;
    struct heft_hasher hasher;
    struct heft_rule *rules;

    if (!heft_require_arg(c && each, "an argument", err) ||
        !HEFT_TAKE(heft_digest_options, &o, options, err) || !heft_hasher_open(&hasher, err) ||
        !(rules = heft_rules_take(o.rules, o.n_rules, err)))
        return false;
    o.rules = rules;
    struct printing p = {.c = c, .options = &o, .each = each, .ctx = ctx};
    const struct heft_digest_how how = how_of(p.options, &hasher);
    bool ok;

    p.items.reader = &c->reader;
    note_slow(p.options, &hasher);
    ok = add_all(&p, err) && heft_digest_items_run(&p.items, &how, take_item, &p, err);
    heft_digest_items_release(&p.items);
    heft_free(rules);
    return ok;
}

/* ---- digests of files ---------------------------------------------------------------------- */

static const struct heft_model_source *file_of(const struct printing *p, size_t item)
{
    return &p->c->model.sources[p->c->file_sources[item]];
}

static uint64_t file_bytes(void *ctx, size_t item)
{
    return file_of(ctx, item)->source.size;
}

static bool read_file(void *ctx, size_t item, struct heft_digest_worker *worker,
                      struct heft_error *err)
{
    const struct heft_model_source *const file = file_of(ctx, item);

    if (file->is_missing)
        heft_fail_missing(err, "the file is missing");
    else if (heft_digest_put_source(worker, &file->source, err))
        return true;
    return heft_error_file(err, file->path);
}

static bool is_pulled(void *ctx, size_t item)
{
    return !file_of(ctx, item)->is_missing;
}

static bool pull_file(void *ctx, size_t item, uint64_t off, uint8_t *dst, size_t n,
                      struct heft_error *err)
{
    const struct heft_model_source *const file = file_of(ctx, item);

    return heft_source_read(&file->source, off, dst, n, err) || heft_error_file(err, file->path);
}

static bool take_file(void *ctx, size_t item, const uint8_t *digest, const struct heft_error *why,
                      struct heft_error *err)
{
    const struct printing *const p = ctx;
    const char *const path = file_of(p, item)->path;
    struct heft_digest out = {
        HEFT_DIGEST_FILE, path, strlen(path), item, file_of(p, item)->source.size, {0}};

    if (!digest) {
        *err = *why;
        return false;
    }
    memcpy(out.sha256, digest, sizeof out.sha256);
    return p->each(p->ctx, &out) || heft_fail(err, HEFT_CANCELLED, HEFT_NO_OFFSET, "interrupted");
}

bool heft_digest_files(struct heft_checkpoint *c, const struct heft_digest_options *options,
                       bool (*each)(void *ctx, const struct heft_digest *digest), void *ctx,
                       struct heft_error *err)
{
    struct heft_digest_options o;
    struct heft_hasher hasher;

    if (!heft_require_arg(c && each, "an argument", err) ||
        !HEFT_TAKE(heft_digest_options, &o, options, err) || !heft_hasher_open(&hasher, err))
        return false;
    struct printing p = {.c = c, .options = &o, .each = each, .ctx = ctx};
    const struct heft_digest_run run = {.items = c->model.n_files,
                                        .bytes = file_bytes,
                                        .read = read_file,
                                        .pull = pull_file,
                                        .is_pulled = is_pulled,
                                        .take = take_file,
                                        .ctx = &p,
                                        .hasher = &hasher,
                                        .threads =
                                            heft_pool_threads(p.options->threads, c->model.n_files),
                                        .progress = p.options->progress,
                                        .progress_ctx = p.options->progress_ctx};

    note_slow(p.options, &hasher);
    return heft_digest_run(&run, err);
}

/* ---- lists ----------------------------------------------------------------------------------- */

static bool read_list(struct heft_digest_list *list, const struct heft_files *files,
                      struct heft_error *err)
{
    struct heft_source file;
    char *text;
    size_t n;
    bool ok;

    if (!heft_files_open(files, &file, list->path, err))
        return false;
    if (file.size > MOST_LIST || !heft_size(file.size, &n)) {
        heft_fail(err, HEFT_LIMIT, HEFT_NO_OFFSET,
                  "a list of %" PRIu64 " bytes, the limit is 1 GiB", file.size);
        heft_source_close(&file);
        return heft_error_file(err, list->path);
    }
    text = heft_arena_alloc(&list->mem, n + 1, err);
    ok = text && heft_source_read(&file, 0, text, n, err) &&
         (heft_digest_list_parse(list, text, n, err) || heft_error_file(err, list->path));
    heft_source_close(&file);
    return ok;
}

static struct heft_digest_list *open_list(const char *path, const struct heft_files *files,
                                          struct heft_error *err)
{
    struct heft_digest_list *list;

    if (!heft_require_arg(path != NULL, "a path", err) ||
        !(list = heft_calloc(1, sizeof *list, err)))
        return NULL;
    list->path = heft_arena_text(&list->mem, heft_str_of(path), err);
    list->kind = HEFT_LIST_HUB;
    if (list->path && (strcmp(path, "hub") == 0 || read_list(list, files, err)))
        return list;
    heft_digest_list_close(list);
    return NULL;
}

struct heft_digest_list *heft_digest_list_open(const char *path,
                                               const struct heft_open_options *options,
                                               struct heft_error *err)
{
    struct heft_open_options o;
    struct heft_input_files *inputs;
    struct heft_digest_list *list;

    if (!HEFT_TAKE(heft_open_options, &o, options, err) ||
        !heft_input_files_take(&inputs, o.inputs, o.n_inputs, err))
        return NULL;
    list = open_list(path, heft_input_files_of(inputs), err);
    heft_input_files_close(inputs);
    return list;
}

enum heft_list_kind heft_digest_list_kind(const struct heft_digest_list *list)
{
    return list ? list->kind : HEFT_LIST_TENSORS;
}

size_t heft_digest_list_count(const struct heft_digest_list *list)
{
    return list ? list->n : 0;
}

void heft_digest_list_close(struct heft_digest_list *list)
{
    if (!list)
        return;
    heft_digest_list_release(list);
    heft_free(list);
}

bool heft_compare_digests(struct heft_checkpoint *c, const char *const *inputs, size_t n_inputs,
                          const struct heft_digest_list *list,
                          const struct heft_compare_options *options,
                          void (*each)(void *ctx, const struct heft_finding *finding), void *ctx,
                          struct heft_error *err)
{
    struct heft_compare_options o;
    struct heft_hasher hasher;

    if (!heft_require_arg(list && each, "an argument", err) ||
        !heft_require_arg(c || list->kind != HEFT_LIST_TENSORS, "a checkpoint", err) ||
        !heft_require_paths(inputs, n_inputs, err) ||
        !HEFT_TAKE(heft_compare_options, &o, options, err) || !heft_hasher_open(&hasher, err))
        return false;
    struct heft_comparison k = {
        .reader = c ? &c->reader : NULL,
        .inputs = inputs,
        .n_inputs = n_inputs,
        .files = c ? c->model.files : &heft_disk,
        .list = list,
        .how = {&hasher, o.threads, o.progress, o.progress_ctx},
        .each = each,
        .ctx = ctx,
    };
    const bool ok = heft_compare(&k, err);

    if (o.compared)
        HEFT_FILL(heft_compared, o.compared, &k.compared);
    return ok;
}
