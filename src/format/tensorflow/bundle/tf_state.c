/* tf_state.c: the file `checkpoint` in a directory of TensorFlow checkpoints: a text protobuf that
 * names the latest checkpoint and all that are kept.
 *
 *     model_checkpoint_path: "model.ckpt-20"
 *     all_model_checkpoint_paths: "model.ckpt-10"
 *     all_model_checkpoint_paths: "model.ckpt-20"
 *     all_model_checkpoint_timestamps: 1700000000.5
 *
 * Paths are relative to the directory of the file, or absolute. Absolute paths are often stale:
 * their last component is looked up beside the file. */
#include "core/registry.h"
#include "core/tree.h"
#include "format/tensorflow/bundle/tf_locate.h"
#include "wire/proto.h"

#define MOST_BYTES (UINT64_C(16) << 20)

enum { LATEST = 1, ALL = 2 };

static const struct heft_proto_field fields[] = {
    {.number = LATEST, .name = "model_checkpoint_path", .type = HEFT_PROTO_STRING},
    {.number = ALL,
     .name = "all_model_checkpoint_paths",
     .type = HEFT_PROTO_STRING,
     .repeated = true},
    {.number = 3,
     .name = "all_model_checkpoint_timestamps",
     .type = HEFT_PROTO_DOUBLE,
     .repeated = true},
    {.number = 4, .name = "last_preserved_timestamp", .type = HEFT_PROTO_DOUBLE},
};
static const struct heft_proto_message state = HEFT_PROTO_MESSAGE("CheckpointState", fields);

struct reader {
    struct heft_model *model;
    uint32_t source;
    struct heft_str latest; /* as written in the file */
    struct heft_node *all;
    struct heft_error *err;
};

/* ---- reading the `checkpoint` file ------------------------------------------------------- */

static bool take_value(struct reader *r, struct heft_proto *p)
{
    struct heft_str path;

    if (p->field->number != LATEST && p->field->number != ALL)
        return true;
    if (!heft_proto_fetch(p, &r->model->mem, r->model->limits.name, &path, r->err))
        return false;
    if (p->field->number == LATEST)
        r->latest = path;
    return p->field->number != ALL ||
           heft_tree_text(&r->model->mem, r->all, HEFT_STR(""), path, r->err);
}

static bool read_events(struct reader *r, struct heft_proto *p)
{
    enum heft_proto_event event;

    while ((event = heft_proto_next(p)) > HEFT_PROTO_END)
        if (event == HEFT_PROTO_VALUE && !take_value(r, p))
            return false;
    return event == HEFT_PROTO_END;
}

static bool read_state(struct reader *r)
{
    const struct heft_source src = r->model->sources[r->source].source;
    struct heft_node *root = heft_model_file_info(r->model, r->err);
    const bool is_first = root && !heft_value_below(&root->value, "checkpoint");
    struct heft_node *node = /* if several directories are opened, the first */
        root
            ? heft_tree_dict(&r->model->mem, is_first ? root : NULL, HEFT_STR("checkpoint"), r->err)
            : NULL;
    struct heft_proto_doc doc = {0};
    struct heft_proto *p = heft_calloc(1, sizeof *p, r->err);
    bool ok = p && node && heft_proto_doc_open(&doc, &src, true, r->err) &&
              heft_proto_open(p, &doc, 0, doc.size, &state, r->err);

    if (ok) {
        r->all = heft_tree_list(&r->model->mem, node, HEFT_STR("all"), r->err);
        ok = r->all && read_events(r, p);
        heft_proto_close(p);
    }
    heft_proto_doc_close(&doc);
    heft_free(p);
    return ok && heft_tree_text(&r->model->mem, node, HEFT_STR("latest"), r->latest, r->err);
}

/* ---- opening the latest checkpoint ------------------------------------------------------- */

static struct heft_str last_part(struct heft_str path)
{
    size_t at = path.n;

    while (at > 0 && path.p[at - 1] != '/' && path.p[at - 1] != '\\')
        at--;
    return (struct heft_str){path.p + at, path.n - at};
}

/* Resolves a name beside the file; *found is true if a checkpoint of that name exists. */
static const char *look_for(const struct reader *r, struct heft_str name, bool *found)
{
    const char *here = r->model->sources[r->source].path;
    const int folder = (int)heft_path_folder(here);
    const char *path =
        heft_arena_printf(&r->model->mem, r->err, "%.*s%.*s", folder, here, (int)name.n, name.p);

    path = path ? heft_tf_locate_prefix(r->model->files, path, &r->model->mem, r->err) : NULL;
    *found = path && heft_files_kind(r->model->files, path) == HEFT_PATH_FILE;
    return path ? path + folder : NULL;
}

static bool open_latest(const struct reader *r, const char *relative)
{
    struct heft_model *model = r->model;
    uint32_t index;
    bool ok;

    model->inside_index = true;
    ok = heft_registry_open_sibling(model, r->source, heft_str_of(relative), &index, r->err);
    model->inside_index = false;
    return ok;
}

/* Returns the only index of the directory, for a file that names a deleted checkpoint. NULL without
 * an error if there is none or more than one. */
static const char *only_index(const struct reader *r)
{
    const char *here = r->model->sources[r->source].path;
    const char *folder =
        heft_arena_printf(&r->model->mem, r->err, "%.*s.", (int)heft_path_folder(here), here);
    const char *const *names, *found = NULL;
    size_t n;

    if (!folder || !heft_files_list(r->model->files, folder, &r->model->mem, &names, &n, r->err))
        return NULL;
    for (size_t i = 0; i < n; i++) {
        if (!heft_str_ends(heft_str_of(names[i]), ".index"))
            continue;
        if (found)
            return NULL;
        found = names[i];
    }
    return found;
}

/* Opens a substitute for a checkpoint that does not exist. */
static bool follow_stale(const struct reader *r, const char *relative)
{
    const char *only = only_index(r);

    if (!only)
        return r->err->code == HEFT_OK &&
               open_latest(r, relative); /* the error names the missing checkpoint */
    return heft_model_note(r->model, HEFT_NOTE, r->source, HEFT_NO_OFFSET, r->err,
                           "names %s, which does not exist; opening %s, the only checkpoint here",
                           relative, only) &&
           open_latest(r, only);
}

static bool open_named(const struct reader *r)
{
    const struct heft_str base = last_part(r->latest);
    const bool is_relative =
        r->latest.n > base.n && r->latest.p[0] != '/' && !memchr(r->latest.p, '\0', r->latest.n);
    const char *relative = NULL;
    bool found = false;

    if (base.n == 0 || memchr(base.p, '\0', base.n))
        return heft_fail(r->err, HEFT_MALFORMED, 0,
                         "model_checkpoint_path is missing: it names the latest checkpoint");
    if (heft_str_is(base, "..") || heft_str_is(base, "."))
        return heft_fail(r->err, HEFT_UNSAFE, 0, "names the checkpoint \"%.*s\"", (int)base.n,
                         base.p);
    if (is_relative) {
        relative = look_for(r, r->latest, &found);
        if (!relative && (r->err->code == HEFT_NOMEM || r->err->code == HEFT_IO))
            return false;
        *r->err = (struct heft_error){0};
    }
    if (!found)
        relative = look_for(r, base, &found);
    return relative && (found ? open_latest : follow_stale)(r, relative);
}

static bool open_state(struct heft_model *model, uint32_t source, struct heft_error *err)
{
    struct reader r = {model, source, {"", 0}, NULL, err};
    const uint64_t size = model->sources[source].source.size;

    if (model->inside_index)
        return heft_fail(err, HEFT_MALFORMED, 0, "a checkpoint file must not name another one");
    if (size > MOST_BYTES)
        return heft_fail(err, HEFT_LIMIT, HEFT_NO_OFFSET,
                         "the checkpoint file has %" PRIu64 " bytes, the limit is 16 MiB", size);
    return read_state(&r) &&
           heft_model_claim(model, source, 0, size, "names of checkpoints", err) && open_named(&r);
}

/* True if the text begins with one of the file's fields, after blanks and comments. */
static int probe(const struct heft_probe *sample)
{
    const struct heft_bytes head = sample->head;
    size_t at = 0;

    while (at < head.n && head.p[at] && strchr(" \t\r\n#", head.p[at])) {
        if (head.p[at] == '#')
            while (at < head.n && head.p[at] != '\n')
                at++;
        else
            at++;
    }
    for (size_t i = 0; i < HEFT_COUNT(fields); i++) {
        const size_t n = strlen(fields[i].name);

        if (heft_within(at, n + 1, head.n) && memcmp(head.p + at, fields[i].name, n) == 0)
            return 95;
    }
    return 0;
}

static const struct heft_file_name names[] = {
    {"checkpoint", .rank = HEFT_FILE_LATEST, .kind = HEFT_NAME_WHOLE},
    {0},
};

extern const struct heft_format heft_format_tf_state;
const struct heft_format heft_format_tf_state = {
    .name = "tf-checkpoint",
    .summary = "file `checkpoint` in a directory of TensorFlow checkpoints: opens the latest",
    .has_path_names = true,
    .names = names,
    .probe = probe,
    .open = open_state,
};
