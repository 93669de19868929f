/* gguf_split.c: sets of files, PREFIX-00001-of-00003.gguf and so on: any part stands for the set.
 *
 *     opened part ─► the others, by their names in the same directory ─► checks of the loader
 *                 ─► tensors and metadata in the order of the parts
 *
 * The first part has the metadata of all. A part that is missing is an error; if the caller names the
 * format, the parts that were given are opened as they are. */
#include <stdlib.h>

#include "format/gguf/gguf_read.h"

/* A file of the model with its place in the order of tensors. */
struct part {
    const struct heft_gguf_file *file;
    struct heft_str prefix; /* of its path */
    uint32_t number;        /* from 1; 0: not a part */
    uint32_t set;           /* source of the file of its set that was opened first */
};

struct joining {
    struct heft_model *model;
    struct part *parts;
    size_t n, cap;
    size_t seen; /* attachments that were looked at */
    struct heft_error *err;
};

/* ---- parts ------------------------------------------------------------------------------------ */

/* Adds the files that were opened since the last call. */
static bool add_parts(struct joining *j)
{
    const struct heft_model *const model = j->model;

    for (; j->seen < model->n_attachments; j->seen++) {
        const struct heft_attachment *const a = &model->attachments[j->seen];
        struct part part = {.file = a->data};
        uint32_t count;

        if (a->kind != &heft_gguf_kind)
            continue;
        part.set = part.file->source;
        if (part.file->split_count > 1 &&
            (!heft_gguf_split_parse(a->name, &part.prefix, &part.number, &count) ||
             count != part.file->split_count))
            part.number = 0;
        if (!heft_grow(&j->parts, &j->cap, j->n, 1, sizeof *j->parts, j->err))
            return false;
        j->parts[j->n++] = part;
    }
    return true;
}

/* The opened part of that number, or j->n. */
static size_t find_part(const struct joining *j, const struct part *of, uint32_t number)
{
    size_t i = 0;

    while (i < j->n &&
           !(j->parts[i].number == number && heft_str_eq(j->parts[i].prefix, of->prefix) &&
             j->parts[i].file->split_count == of->file->split_count))
        i++;
    return i;
}

static const char *path_of(const struct joining *j, const struct part *part)
{
    return j->model->sources[part->file->source].path;
}

static bool refuse_name(const struct joining *j, const struct part *part)
{
    heft_fail(j->err, HEFT_MALFORMED, HEFT_NO_OFFSET,
              "one of %" PRIu32 " parts (split.count), its name must end in -%05u-of-%05" PRIu32
              ".gguf for the others to be found; option from gguf opens it alone",
              part->file->split_count, part->file->split_no + 1u, part->file->split_count);
    return heft_error_file(j->err, path_of(j, part));
}

/* The error of a file that does not exist, as for the shards of an index. */
static bool refuse_missing(const struct joining *j, const struct part *part, const char *path)
{
    heft_fail(j->err, HEFT_IO, HEFT_NO_OFFSET,
              "is missing: the set has %" PRIu32
              " parts; option from gguf opens the parts that are given",
              part->file->split_count);
    return heft_error_file(j->err, path);
}

/* Opens the part of that number, which is not open yet. */
static bool open_part(struct joining *j, const struct part *of, uint32_t number)
{
    const char *const path = path_of(j, of);
    const size_t folder = heft_path_folder(path);
    const struct heft_str stem = {of->prefix.p + folder, of->prefix.n - folder};
    const char *const name =
        heft_gguf_split_name(&j->model->mem, stem, number, of->file->split_count, j->err);
    const char *const full =
        name ? heft_arena_printf(&j->model->mem, j->err, "%.*s%s", (int)folder, path, name) : NULL;
    const size_t before = j->n;
    uint32_t index;

    if (!full)
        return false;
    if (heft_files_kind(j->model->files, full) == HEFT_PATH_NONE)
        return refuse_missing(j, of, full);
    if (!heft_registry_open_sibling(j->model, of->file->source, heft_str_of(name), &index,
                                    j->err) ||
        !add_parts(j))
        return false;
    return (j->n == before + 1 && j->parts[before].number == number) ||
           (heft_fail(j->err, HEFT_MALFORMED, HEFT_NO_OFFSET,
                      "%s must be part %" PRIu32 " of %" PRIu32
                      " of a GGUF, but its split.count does not say so",
                      name, number, of->file->split_count) ||
            heft_error_file(j->err, path_of(j, of)));
}

/* ---- checks ----------------------------------------------------------------------------------- */

static uint64_t offset_of(const struct part *part, const char *key)
{
    const struct heft_gguf_pair *const pair = heft_gguf_find(part->file, key);

    return pair ? pair->value : 0;
}

static bool check_number(struct joining *j, const struct part *part)
{
    return part->file->split_no + 1u == part->number ||
           heft_model_note(j->model, HEFT_FINDING, part->file->source, offset_of(part, "split.no"),
                           j->err,
                           "split.no is %" PRIu32 ", must be %" PRIu32
                           " in this file: llama.cpp refuses the set",
                           part->file->split_no, part->number - 1u);
}

static bool check_tensors(struct joining *j, const struct part *part, uint64_t sum)
{
    return part->file->split_tensors == (int64_t)sum ||
           heft_model_note(j->model, HEFT_FINDING, part->file->source,
                           offset_of(part, "split.tensors.count"), j->err,
                           "split.tensors.count is %" PRId64 ", the files have %" PRIu64
                           " tensors: llama.cpp refuses the set",
                           part->file->split_tensors, sum);
}

/* Completes the set of a part, and checks what llama.cpp's loader does. */
static bool complete_set(struct joining *j, size_t at)
{
    const struct part first = j->parts[at];
    uint64_t sum = 0;

    for (uint32_t k = 1; k <= first.file->split_count; k++) {
        size_t i = find_part(j, &first, k);

        if (i == j->n && !open_part(j, &first, k))
            return false;
        j->parts[i].set = first.file->source;
        sum += j->parts[i].file->n_tensors;
        if (!check_number(j, &j->parts[i]))
            return false;
    }
    for (uint32_t k = 1; k <= first.file->split_count; k++)
        if (!check_tensors(j, &j->parts[find_part(j, &first, k)], sum))
            return false;
    return true;
}

/* Whether all parts of the set were given. */
static bool is_complete(const struct joining *j, const struct part *part)
{
    for (uint32_t k = 1; k <= part->file->split_count; k++)
        if (part->number == 0 || find_part(j, part, k) == j->n)
            return false;
    return true;
}

static bool note_alone(struct joining *j, const struct part *part)
{
    return heft_model_tell(j->model, part->file->source, j->err,
                           "part %" PRIu32 " of %" PRIu32
                           " is opened without the others, as the format was given",
                           part->file->split_no + 1u, part->file->split_count);
}

static bool join_sets(struct joining *j)
{
    for (size_t i = 0; i < j->n; i++) {
        const struct part *const part = &j->parts[i];
        const bool is_part = part->file->split_count > 1 && part->set == part->file->source;
        const bool is_seen = is_part && part->number > 0 && i > find_part(j, part, part->number);

        if (!is_part || is_seen)
            continue;
        if (j->model->format_is_given && !is_complete(j, part)) {
            if (!note_alone(j, part))
                return false;
        } else if (part->number == 0) {
            return refuse_name(j, part);
        } else if (!complete_set(j, i)) {
            return false;
        }
    }
    return true;
}

/* ---- order ------------------------------------------------------------------------------------ */

static int by_place(const void *a, const void *b)
{
    const struct part *const x = a, *const y = b;

    if (x->set != y->set)
        return x->set < y->set ? -1 : 1;
    if (x->number != y->number)
        return x->number < y->number ? -1 : 1;
    return (x->file->source > y->file->source) - (x->file->source < y->file->source);
}

static uint32_t source_of(const struct heft_model *model, const struct heft_row *row)
{
    return model->storages[heft_row_storage(row, 0)].source;
}

/* Sorts rows by the rank of their source, keeping the order of those of one source: counting sort. */
static bool sort_rows(struct joining *j, const uint32_t *rank)
{
    struct heft_model *const model = j->model;
    struct heft_row *const old = heft_calloc(model->n_rows + 1, sizeof *old, j->err);
    size_t *const next = heft_calloc(model->n_sources + 1, sizeof *next, j->err);
    const bool ok = old && next;

    if (ok) {
        memcpy(old, model->rows, model->n_rows * sizeof *old);
        for (size_t i = 0; i < model->n_rows; i++)
            next[rank[source_of(model, &old[i])] + 1]++;
        for (size_t i = 1; i <= model->n_sources; i++)
            next[i] += next[i - 1];
        for (size_t i = 0; i < model->n_rows; i++)
            model->rows[next[rank[source_of(model, &old[i])]]++] = old[i];
    }
    heft_free(old);
    heft_free(next);
    return ok;
}

/* Sorts the few trees of values likewise, by insertion. */
static void sort_trees(struct heft_model *model, const uint32_t *rank)
{
    for (size_t i = 1; i < model->n_trees; i++) {
        const struct heft_model_tree tree = model->trees[i];
        size_t k = i;

        for (; k > 0 && rank[model->trees[k - 1].source] > rank[tree.source]; k--)
            model->trees[k] = model->trees[k - 1];
        model->trees[k] = tree;
    }
}

/* Puts tensors and values into the order of the parts, if parts were opened in another. The rows of
 * other formats may be referred to by their numbers; they keep their order. */
static bool put_in_order(struct joining *j)
{
    struct heft_model *const model = j->model;
    uint32_t *rank;
    bool is_sorted = true, ok = true;

    qsort(j->parts, j->n, sizeof *j->parts, by_place);
    for (size_t i = 1; i < j->n; i++)
        is_sorted = is_sorted && j->parts[i - 1].file->source < j->parts[i].file->source;
    if (is_sorted || j->n != model->n_sources)
        return true;
    rank = heft_calloc(model->n_sources, sizeof *rank, j->err);
    for (size_t i = 0; rank && i < j->n; i++)
        rank[j->parts[i].file->source] = (uint32_t)i;
    ok = rank && sort_rows(j, rank);
    if (ok)
        sort_trees(model, rank);
    heft_free(rank);
    return ok;
}

bool heft_gguf_join(struct heft_model *model, struct heft_error *err)
{
    struct joining j = {.model = model, .err = err};
    const bool ok =
        add_parts(&j) && (j.n == 0 || (join_sets(&j) && put_in_order(&j) &&
                                       heft_gguf_describe(model, j.parts[0].file, err)));

    heft_free(j.parts);
    return ok;
}
