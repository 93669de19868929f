/* tf_saved_files.c: the files beside a saved_model.pb: variables, assets, fingerprint, warm-up
 * requests. All may be missing; tf_saved_lacks.c judges whether the graph needs variables. */
#include "format/tensorflow/bundle/tf_locate.h"
#include "format/tensorflow/saved_model/tf_saved.h"
#include "wire/sstable.h"

#define KEY         HEFT_STR
#define VARIABLES   "variables/variables.index"
#define FINGERPRINT "fingerprint.pb"
#define WARMUP      "assets.extra/tf_serving_warmup_requests"

#define MOST_ASSETS 500 /* each takes an open file */

enum { PRINT_VERSION = 6, PRINT_UUID = 7, PRODUCER = 1 };

/* True if a file of that name lies beside the document. */
static bool is_there(struct heft_tf_saving *s, const char *name, bool *there)
{
    const char *const path = s->model->sources[s->source].path;
    const char *const slash = strrchr(path, '/');
    const char *const full = heft_arena_printf(&s->model->mem, s->err, "%.*s%s",
                                               slash ? (int)(slash - path) + 1 : 0, path, name);

    *there = full && heft_files_kind(s->model->files, full) == HEFT_PATH_FILE;
    return full != NULL;
}

/* ---- variables ---- */

static bool open_variables(struct heft_tf_saving *s)
{
    const size_t first = s->model->n_rows;
    uint32_t index;
    bool there;

    return is_there(s, VARIABLES, &there) &&
           (!there ||
            heft_registry_open_sibling(s->model, s->source, KEY(VARIABLES), &index, s->err)) &&
           heft_tf_saved_lacks(s, first, there);
}

/* ---- the checkpoint beside a .meta ---- */

/* True if the file is a sorted table; a name proves nothing. */
static bool is_table(const struct heft_files *files, const char *path, bool *is,
                     struct heft_error *err)
{
    uint8_t tail[8]; /* the last bytes of a table: its magic number */
    struct heft_source file;
    bool ok;

    *is = false;
    if (heft_files_kind(files, path) != HEFT_PATH_FILE)
        return true;
    ok = heft_files_open(files, &file, path, err);
    if (ok && file.size >= sizeof tail) {
        ok = heft_source_read(&file, file.size - sizeof tail, tail, sizeof tail, err);
        *is = ok && heft_sstable_is((struct heft_bytes){tail, sizeof tail});
    }
    heft_source_close(&file);
    return ok || heft_error_file(err, path);
}

/* Accepts a file that is named like a V1 checkpoint or its first shard, and notes if it is not
 * one. */
static bool take_v1(struct heft_tf_saving *s, const char *file, size_t folder)
{
    bool is;

    if (!is_table(s->model->files, file, &is, s->err))
        return false;
    if (is)
        s->checkpoint = file + folder;
    return is || heft_files_kind(s->model->files, file) != HEFT_PATH_FILE ||
           heft_model_note(
               s->model, HEFT_NOTE, s->source, HEFT_NO_OFFSET, s->err,
               "%s, named like its checkpoint, is not one or is truncated: no variables are read",
               file + folder);
}

/* Looks beside PREFIX.meta for PREFIX.index, else for a V1 checkpoint PREFIX or its first shard. */
bool heft_tf_saved_find_checkpoint(struct heft_tf_saving *s)
{
    struct heft_arena *const mem = &s->model->mem;
    const struct heft_str path = heft_str_of(s->model->sources[s->source].path);
    const size_t folder = heft_path_folder(path.p);
    const char *prefix, *file;

    if (s->saved->form.kind != HEFT_TF_META_GRAPH || !heft_str_ends(path, ".meta"))
        return true;
    prefix = heft_arena_text(mem, (struct heft_str){path.p, path.n - strlen(".meta")}, s->err);
    file = prefix ? heft_arena_printf(mem, s->err, "%s.index", prefix) : NULL;
    if (!file)
        return false;
    if (heft_files_kind(s->model->files, file) == HEFT_PATH_FILE) {
        s->checkpoint = file + folder;
        return true;
    }
    file = heft_tf_locate_prefix(s->model->files, prefix, mem, s->err);
    return file && take_v1(s, file, folder);
}

/* ---- files in assets/ ---- */

/* Adds a whole file as a blob. */
static bool add_blob(struct heft_tf_saving *s, struct heft_str name, uint32_t source)
{
    const uint64_t size = s->model->sources[source].source.size;
    const struct heft_storage storage = {
        .source = source, .packed = size, .len = size, .label = name};
    uint32_t index;

    return heft_model_add_storage(s->model, &storage, &index, s->err) &&
           heft_model_add_blob(s->model, name, index, "asset", s->err);
}

static bool add_asset(struct heft_tf_saving *s, const struct heft_tf_asset *asset,
                      struct heft_strmap *known)
{
    struct heft_arena *const mem = &s->model->mem;
    const char *path, *name;
    uint32_t found, source;
    bool there;

    if (!heft_strmap_add(known, asset->filename, 0, &found, s->err))
        return false;
    if (found != HEFT_MAP_NONE)
        return true; /* already added for another metagraph */
    if (known->count > MOST_ASSETS)
        return heft_fail(s->err, HEFT_LIMIT, HEFT_NO_OFFSET, "the model has more than %d assets",
                         MOST_ASSETS);
    if (!heft_registry_check_relative(asset->filename, s->err))
        return false;
    path = heft_arena_printf(mem, s->err, "assets/%s", asset->filename.p);
    if (!path || !is_there(s, path, &there))
        return false;
    if (!there)
        return heft_model_note(s->model, HEFT_FINDING, s->source, HEFT_NO_OFFSET, s->err,
                               "the asset %s is missing", asset->filename.p);
    name = heft_arena_printf(mem, s->err, "asset:%s", asset->filename.p);
    return name &&
           heft_registry_add_sibling(s->model, s->source, heft_str_of(path), &source, s->err) &&
           add_blob(s, heft_str_of(name), source);
}

static bool add_assets(struct heft_tf_saving *s)
{
    struct heft_strmap known = {0};
    bool ok = true;

    for (size_t i = 0; ok && i < s->saved->n_graphs; i++)
        for (size_t k = 0; ok && k < s->saved->graphs[i].n_assets; k++)
            ok = add_asset(s, &s->saved->graphs[i].assets[k], &known);
    heft_strmap_release(&known);
    return ok;
}

/* ---- fingerprint.pb ---- */

static bool put_hash(struct heft_tf_saving *s, struct heft_node *in, const struct heft_proto *p)
{
    struct heft_arena *const mem = &s->model->mem;
    const char *const decimal = heft_arena_printf(mem, p->err, "%" PRIu64, p->u64);

    return decimal &&
           heft_tree_text(mem, in, heft_str_of(p->field->name), heft_str_of(decimal), p->err);
}

static bool put_uuid(struct heft_tf_saving *s, struct heft_node *in, struct heft_proto *p)
{
    struct heft_str text;

    return heft_tf_text(p, &s->model->mem, &text) &&
           heft_tree_text(&s->model->mem, in, KEY("uuid"), text, p->err);
}

static bool put_version(struct heft_tf_saving *s, struct heft_node *in, struct heft_proto *p)
{
    int64_t producer = 0;
    uint32_t number;

    while ((number = heft_proto_pull(p)))
        if (number == PRODUCER)
            producer = heft_proto_i64(p);
    return !p->failed && heft_tree_number(&s->model->mem, in, KEY("producer"), producer, p->err);
}

/* Reads each field once: repeated fields are followed up to the eighth. */
static bool read_fingerprint(struct heft_tf_saving *s, struct heft_proto *p, struct heft_node *in)
{
    uint32_t number, said = 0;
    bool ok = true;

    while (ok && (number = heft_proto_pull(p))) {
        if (said >> number & 1)
            return heft_fail(p->err, HEFT_MALFORMED, p->where, "%s appears twice", p->field->name);
        said |= 1U << number;
        if (number == PRINT_VERSION)
            ok = put_version(s, in, p);
        else
            ok = number == PRINT_UUID ? put_uuid(s, in, p) : put_hash(s, in, p);
    }
    return ok && !p->failed;
}

/* TensorFlow only logs the fingerprint, so faults in it are findings. */
static bool add_fingerprint(struct heft_tf_saving *s)
{
    struct heft_node *const root = heft_model_file_info(s->model, s->err);
    struct heft_node *node = NULL;
    struct heft_error found = {0};
    struct heft_proto_doc doc = {0};
    struct heft_proto p = {0};
    struct heft_source src;
    uint32_t source;
    bool ok;

    if (!root ||
        !heft_registry_add_sibling(s->model, s->source, KEY(FINGERPRINT), &source, s->err) ||
        !(node = heft_tree_dict(&s->model->mem, root, KEY("fingerprint"), s->err)))
        return false;
    src = s->model->sources[source].source;
    ok = heft_proto_doc_open(&doc, &src, false, &found) &&
         heft_proto_open(&p, &doc, 0, doc.size, &heft_tf_fingerprint, &found) &&
         read_fingerprint(s, &p, node);
    heft_proto_close(&p);
    heft_proto_doc_close(&doc);
    if (!ok && found.code != HEFT_MALFORMED && found.code != HEFT_LIMIT) {
        *s->err = found;
        return false;
    }
    if (!ok && !heft_model_note(s->model, HEFT_FINDING, source, found.offset, s->err,
                                "fingerprint: %s", found.text))
        return false;
    return heft_model_claim(s->model, source, 0, src.size, "fingerprint", s->err);
}

static bool add_warmup(struct heft_tf_saving *s)
{
    uint32_t source;

    return heft_registry_add_sibling(s->model, s->source, KEY(WARMUP), &source, s->err) &&
           heft_tf_warmup(s, source);
}

bool heft_tf_saved_files(struct heft_tf_saving *s)
{
    bool has_print, has_warmup;

    return open_variables(s) && add_assets(s) && is_there(s, FINGERPRINT, &has_print) &&
           (!has_print || add_fingerprint(s)) && is_there(s, WARMUP, &has_warmup) &&
           (!has_warmup || add_warmup(s));
}
