/* rows.c: selection and order of tensors; what info, ls and explain say about files. */
#include "rows.h"
#include "report.h"

#include <stdlib.h>
#include <string.h>

struct sort_key {
    const char *name;
    uint64_t major, minor;
    size_t index;
};

static bool no_memory(struct heft_error *err)
{
    usage_error(err, "no memory for the list of tensors");
    err->code = HEFT_NOMEM;
    return false;
}

static int by_key(const void *a, const void *b)
{
    const struct sort_key *const x = a, *const y = b;
    const int names = x->name ? strcmp(x->name, y->name) : 0;
    if (names)
        return names;
    if (x->major != y->major)
        return x->major < y->major ? -1 : 1;
    if (x->minor != y->minor)
        return x->minor < y->minor ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

static struct sort_key key_of(const struct heft_tensor *t, size_t index, const char *sort)
{
    struct sort_key key = {.index = index};
    if (!strcmp(sort, "name"))
        key.name = t->name;
    else if (!strcmp(sort, "size"))
        key.major = UINT64_MAX - t->bytes; /* largest first */
    else
        key.major = t->file;
    if (!strcmp(sort, "offset"))
        key.minor = t->offset;
    return key;
}

static bool sort_rows(struct rows *rows, const char *sort, struct heft_error *err)
{
    struct sort_key *const keys = calloc(rows->n + 1, sizeof *keys);
    struct heft_tensor t;
    if (!keys)
        return no_memory(err);
    for (size_t k = 0; k < rows->n; k++)
        if (heft_tensor_at(rows->c, rows->order[k], &t))
            keys[k] = key_of(&t, rows->order[k], sort);
    qsort(keys, rows->n, sizeof *keys, by_key);
    for (size_t k = 0; k < rows->n; k++)
        rows->order[k] = keys[k].index;
    free(keys);
    return true;
}

static bool pick_rows(struct rows *rows, const struct options *options, struct heft_error *err)
{
    const size_t count = heft_tensor_count(rows->c);
    bool *const selected = malloc(count + 1);
    bool fine;

    rows->order = malloc((count + 1) * sizeof *rows->order);
    if (!selected || !rows->order) {
        free(selected);
        return no_memory(err);
    }
    fine = heft_select(rows->c, options->root, options->rules, options->n_rules, selected, err);
    rows->n = 0;
    for (size_t i = 0; fine && i < count; i++)
        if (selected[i])
            rows->order[rows->n++] = i;
    free(selected);
    return fine;
}

static bool measure_paths(struct rows *rows, struct heft_error *err)
{
    const size_t count = heft_file_count(rows->c);
    struct heft_file file;
    rows->path_widths = calloc(count + 1, sizeof *rows->path_widths);
    if (!rows->path_widths)
        return no_memory(err);
    for (size_t i = 0; i < count && heft_file_at(rows->c, i, &file); i++)
        rows->path_widths[i] = name_width(file.path, strlen(file.path));
    return true;
}

bool rows_select(struct rows *rows, const struct heft_checkpoint *c, const struct options *options,
                 struct heft_error *err)
{
    *rows = (struct rows){.c = c, .n = heft_tensor_count(c)};
    if (options->root && *options->root)
        rows->cut = strlen(options->root) + 1;
    if (!measure_paths(rows, err))
        return false;
    if (!options->root && !options->n_rules && !options->sort)
        return true;
    return pick_rows(rows, options, err) && (!options->sort || sort_rows(rows, options->sort, err));
}

void rows_release(struct rows *rows)
{
    free(rows->order);
    free(rows->path_widths);
}

bool rows_at(const struct rows *rows, size_t k, struct heft_tensor *t)
{
    if (k >= rows->n || !heft_tensor_at(rows->c, rows->order ? rows->order[k] : k, t))
        return false;
    if (rows->cut && rows->cut <= t->name_len) {
        t->name += rows->cut;
        t->name_len -= rows->cut;
    }
    return true;
}

size_t rows_path_width(const struct rows *rows, size_t file)
{
    return rows->path_widths[file];
}

void rows_put_path(struct out *out, const struct rows *rows, size_t file)
{
    struct heft_file f;
    if (heft_file_at(rows->c, file, &f))
        (void)out_name(out, f.path, strlen(f.path));
}

void json_files(struct out *out, const struct heft_checkpoint *c)
{
    struct heft_file file;
    json_key(out, "files");
    json_open(out, '[');
    for (size_t i = 0; heft_file_at(c, i, &file); i++) {
        json_open(out, '{');
        json_member_text(out, "path", file.path);
        json_member_u64(out, "bytes", file.bytes);
        json_close(out, '}');
    }
    json_close(out, ']');
}

void json_metadata(struct out *out, const struct heft_checkpoint *c)
{
    struct heft_metadata pair;
    json_key(out, "metadata");
    json_open(out, '{');
    for (size_t i = 0; heft_metadata_at(c, i, &pair); i++) {
        json_key_n(out, pair.key, pair.key_len);
        json_text(out, pair.value, pair.value_len);
    }
    json_close(out, '}');
}
