/* heft_index.c: public API: the walk through the index of a TensorFlow checkpoint. tf_tell.c
 * formats the entries. */
#include "base/require_arg.h"
#include "base/sized.h"
#include "api/checkpoint.h"
#include "core/registry.h"
#include "format/tensorflow/bundle/tf_tell.h"
#include "heft/heft.h"
#include "io/input_files.h"

struct walk {
    const struct heft_files *files;
    struct heft_arena mem;
    struct heft_source source;
    struct heft_sstable table;
    struct heft_tf_teller teller;
    struct heft_buf text, key;
};

static bool is_table_format(const struct heft_format *format)
{
    return format && (strcmp(format->name, "tf-bundle") == 0 || strcmp(format->name, "tf-v1") == 0);
}

/* True for files that lead to an index, by their name or location. */
static bool leads_on(const char *name)
{
    static const char *const names[] = {"checkpoint", "saved_model.pb", "saved_model.pbtxt"};

    for (size_t i = 0; i < HEFT_COUNT(names); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

/* Opens such a file to find the index. Options of reading selected the path, or name the tensors, which
 * does not matter here. */
static const char *find_index(struct walk *w, const char *path,
                              const struct heft_open_options *options, struct heft_error *err)
{
    const struct heft_open_request request = {.files = w->files};
    struct heft_open_options how = *options;

    how.n_options = 0;
    struct heft_checkpoint *c = heft_checkpoint_open(&path, 1, &how, &request, err);
    const char *found = c ? path : NULL;

    for (size_t i = 0; c && i < c->model.n_sources; i++)
        if (is_table_format(c->model.sources[i].format)) {
            found = heft_arena_text(&w->mem, heft_str_of(c->model.sources[i].path), err);
            break;
        }
    heft_close(c);
    return found;
}

static const char *find_table(struct walk *w, const char *given,
                              const struct heft_open_options *options, struct heft_error *err)
{
    const char *path = heft_checkpoint_locate(given, options, w->files, &w->mem, err);

    if (!path)
        return NULL;
    return leads_on(path + heft_path_folder(path)) ? find_index(w, path, options, err) : path;
}

static bool is_sstable(struct walk *w, bool *is_index, struct heft_error *err)
{
    const uint64_t size = w->source.size, n = heft_min_u64(size, 8);
    const uint64_t begin = heft_min_u64(size, HEFT_PROBE_HEAD);
    struct heft_bytes head, tail;

    if (!heft_source_fetch(&w->source, 0, begin, &w->mem, &head, err) ||
        !heft_source_fetch(&w->source, size - n, n, &w->mem, &tail, err))
        return false;
    *is_index = heft_sstable_is(tail);
    w->teller.is_v1 = *is_index && heft_tf_is_v1(head);
    return true;
}

static bool report_entry(struct walk *w, const struct heft_sstable_entry *e, heft_index_fn *each,
                         void *ctx, struct heft_error *err)
{
    struct heft_index_entry entry = {.block = e->block,
                                     .offset = e->off,
                                     .bytes = e->len,
                                     .in_block = e->in_block,
                                     .is_packed = e->is_packed,
                                     .key_len = e->key.n,
                                     .shared = e->shared,
                                     .value = e->value.p,
                                     .value_len = e->value.n};

    w->text.n = w->key.n = 0;
    if (!heft_tf_tell(&w->teller, e, &w->text, err))
        return false;
    heft_buf_char(&w->text, '\0');
    heft_buf_put(&w->key, e->key.p, e->key.n);
    heft_buf_char(&w->key, '\0');
    if (!heft_buf_ok(&w->text, err) || !heft_buf_ok(&w->key, err))
        return false;
    entry.text = w->text.p;
    entry.key = w->key.p;
    return each(ctx, &entry) || heft_fail(err, HEFT_CANCELLED, HEFT_NO_OFFSET, "interrupted");
}

static bool walk_table(struct walk *w, heft_index_fn *each, void *ctx, struct heft_error *err)
{
    struct heft_sstable_entry e;
    bool ok = heft_sstable_open(&w->table, &w->source, &(struct heft_sstable_watcher){0}, err);

    while (ok && heft_sstable_next(&w->table, &e, err))
        ok = report_entry(w, &e, each, ctx, err);
    ok = ok && !w->table.failed;
    heft_sstable_close(&w->table);
    return ok;
}

static bool walk_path(struct walk *w, const char *path, const struct heft_open_options *options,
                      heft_index_fn *each, void *ctx, bool *is_index, struct heft_error *err)
{
    const char *table = find_table(w, path, options, err);
    bool ok = table && heft_files_open(w->files, &w->source, table, err);

    if (ok) {
        ok = is_sstable(w, is_index, err) && (!*is_index || walk_table(w, each, ctx, err));
        heft_source_close(&w->source);
    }
    if (!ok)
        heft_error_file(err, table ? table : path);
    heft_tf_teller_release(&w->teller);
    heft_buf_release(&w->text);
    heft_buf_release(&w->key);
    heft_arena_release(&w->mem);
    return ok;
}

bool heft_index_walk(const char *path, const struct heft_open_options *options, heft_index_fn *each,
                     void *ctx, bool *is_index, struct heft_error *err)
{
    struct heft_open_options o;
    struct heft_input_files *inputs;
    struct walk w = {0};
    bool ok;

    if (!HEFT_TAKE(heft_open_options, &o, options, err) ||
        !heft_input_files_take(&inputs, o.inputs, o.n_inputs, err))
        return false;
    w.files = heft_input_files_of(inputs);
    ok = heft_require_arg(path && each && is_index, "an argument", err);
    if (ok) {
        *is_index = false;
        ok = walk_path(&w, path, &o, each, ctx, is_index, err);
    }
    heft_input_files_close(inputs);
    return ok;
}
