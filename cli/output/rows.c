/* rows.c: selects and sorts tensors; JSON of files for info, ls and explain. */
#include "output/rows.h"
#include "output/report.h"

#include <stdlib.h>
#include <string.h>

/* Sort key of a tensor. The sort is stable: equal keys keep file order. */
union sort_key {
    const char *name;
    struct {
        uint64_t major, minor;
    } number;
};

typedef int compare_fn(const union sort_key *x, const union sort_key *y);

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Compares two runs of digits as numbers; advances both pointers past their run. */
static int compare_digits(const char **x, const char **y)
{
    size_t n, m;
    int order;

    *x += strspn(*x, "0");
    *y += strspn(*y, "0");
    n = strspn(*x, "0123456789");
    m = strspn(*y, "0123456789");
    order = n == m ? memcmp(*x, *y, n) : n < m ? -1 : 1;
    *x += n;
    *y += m;
    return order;
}

/* Natural order: layers.2 before layers.10. Ties are broken by bytes. */
static int by_name(const union sort_key *x, const union sort_key *y)
{
    const char *a = x->name, *b = y->name;
    int order = 0;

    while (!order && (*a || *b)) {
        if (is_digit(*a) && is_digit(*b))
            order = compare_digits(&a, &b);
        else
            order = (unsigned char)*a++ - (unsigned char)*b++;
    }
    return order ? order : strcmp(x->name, y->name);
}

static int by_number(const union sort_key *x, const union sort_key *y)
{
    if (x->number.major != y->number.major)
        return x->number.major < y->number.major ? -1 : 1;
    return (x->number.minor > y->number.minor) - (x->number.minor < y->number.minor);
}

static union sort_key key_of(const struct heft_tensor *t, const char *sort)
{
    union sort_key key = {.number = {t->file, 0}};
    if (!strcmp(sort, "name"))
        key.name = t->name;
    else if (!strcmp(sort, "size"))
        key.number.major = UINT64_MAX - t->bytes; /* inverted, so that the largest comes first */
    else if (!strcmp(sort, "offset"))
        key.number.minor = t->offset;
    return key;
}

/* Merges two adjacent sorted runs of key indexes. */
static void merge_runs(const uint32_t *from, uint32_t *to, size_t mid, size_t end,
                       compare_fn *compare, const union sort_key *keys)
{
    size_t left = 0, right = mid;
    for (size_t i = 0; i < end; i++) {
        const bool take_left =
            right == end || (left < mid && compare(&keys[from[left]], &keys[from[right]]) <= 0);
        to[i] = take_left ? from[left++] : from[right++];
    }
}

/* Bottom-up merge sort of the indexes 0 … n-1. Returns `a` or `b`, whichever holds the result. */
static uint32_t *sort_numbers(uint32_t *a, uint32_t *b, size_t n, compare_fn *compare,
                              const union sort_key *keys)
{
    for (size_t i = 0; i < n; i++)
        a[i] = (uint32_t)i;
    for (size_t width = 1; width < n; width *= 2) {
        uint32_t *const done = b;
        for (size_t at = 0; at < n; at += 2 * width) {
            const size_t rest = n - at, end = rest < 2 * width ? rest : 2 * width;
            merge_runs(a + at, b + at, end < width ? end : width, end, compare, keys);
        }
        b = a;
        a = done;
    }
    return a;
}

/* Sorts indexes and reads each name once: a list may have a million tensors. */
static bool sort_rows(struct rows *rows, const char *sort, struct heft_error *err)
{
    union sort_key *const keys = malloc((rows->n + 1) * sizeof *keys);
    uint32_t *const spare = malloc(2 * (rows->n + 1) * sizeof *spare);
    uint32_t *sorted, *other;
    struct heft_tensor t = HEFT_INIT(struct heft_tensor);
    if (!keys || !spare) {
        free(keys);
        free(spare);
        return no_memory(err, "the list of tensors");
    }
    for (size_t k = 0; k < rows->n && heft_tensor_at(rows->c, rows->order[k], &t); k++)
        keys[k] = key_of(&t, sort);
    sorted = sort_numbers(spare, spare + rows->n, rows->n,
                          strcmp(sort, "name") ? by_number : by_name, keys);
    other = sorted == spare ? spare + rows->n : spare;
    memcpy(other, rows->order, rows->n * sizeof *other);
    for (size_t k = 0; k < rows->n; k++)
        rows->order[k] = other[sorted[k]];
    free(keys);
    free(spare);
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
        return no_memory(err, "the list of tensors");
    }
    fine = heft_select(rows->c, options->root, options->rules, options->n_rules, selected, err);
    rows->n = 0;
    for (size_t i = 0; fine && i < count; i++)
        if (selected[i])
            rows->order[rows->n++] = (uint32_t)i;
    free(selected);
    return fine;
}

static bool measure_paths(struct rows *rows, struct heft_error *err)
{
    const size_t count = heft_file_count(rows->c);
    struct heft_file file = HEFT_INIT(struct heft_file);
    rows->paths = calloc(count + 1, sizeof *rows->paths);
    if (!rows->paths)
        return no_memory(err, "the list of tensors");
    for (size_t i = 0; i < count && heft_file_at(rows->c, i, &file); i++) {
        const size_t n = strlen(file.path);
        rows->paths[i] =
            (struct rows_path){file.path, n, name_width(file.path, n), name_is_plain(file.path, n)};
    }
    return true;
}

size_t rows_root_length(const char *root)
{
    const size_t n = root ? strlen(root) : 0;

    return n && root[n - 1] != '/' ? n + 1 : n;
}

bool rows_select(struct rows *rows, const struct heft_checkpoint *c, const struct options *options,
                 struct heft_error *err)
{
    *rows = (struct rows){.c = c, .n = heft_tensor_count(c), .rules.options = options};
    rows->cut = rows_root_length(options->root);
    if (!measure_paths(rows, err))
        return false;
    if (!options->root && !options->n_rules && !options->sort)
        return true;
    return rules_count(&rows->rules, options, c, err) && pick_rows(rows, options, err) &&
           (!options->sort || sort_rows(rows, options->sort, err));
}

void rows_release(struct rows *rows)
{
    free(rows->order);
    free(rows->paths);
    rules_release(&rows->rules);
}

bool rows_part_at(const struct rows *rows, size_t k, size_t part, struct heft_tensor_part *out)
{
    return heft_tensor_part_at(rows->c, rows->order ? rows->order[k] : k, part, out);
}

size_t rows_put_path(struct out *out, const struct rows *rows, size_t file)
{
    const struct rows_path *const path = &rows->paths[file];
    if (path->plain)
        out_bytes(out, path->text, path->n);
    else
        (void)out_name(out, path->text, path->n);
    return path->width;
}

void json_files(struct out *out, const struct heft_checkpoint *c)
{
    struct heft_file file = HEFT_INIT(struct heft_file);
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

void json_pairs(struct out *out, const char *key, const struct heft_checkpoint *c, pair_at_fn *at)
{
    struct heft_metadata pair;
    json_key(out, key);
    json_open(out, '{');
    for (size_t i = 0; at(c, i, &pair); i++) {
        json_key_n(out, pair.key, pair.key_len);
        json_text(out, pair.value, pair.value_len);
    }
    json_close(out, '}');
}

void json_blob(struct out *out, const struct heft_blob *blob)
{
    json_key(out, "name");
    json_text(out, blob->name, blob->name_len);
    json_member_text(out, "kind", blob->kind);
    json_member_u64(out, "bytes", blob->bytes);
    json_member_u64(out, "file", blob->file);
    json_member_u64(out, "offset", blob->offset);
    if (blob->stored != HEFT_STORED_PLAIN)
        json_member_u64(out, "stored_bytes", blob->stored_bytes);
}
