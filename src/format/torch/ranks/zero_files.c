/* zero_files.c: the files of a DeepSpeed checkpoint: their names, and their rows and values.
 *
 *     mp_rank_00_model_states.pt                       model file of stages 0 to 2
 *     zero_pp_rank_3_mp_rank_00_model_states.pt        of rank 3, stage 3
 *     bf16_zero_pp_rank_3_mp_rank_00_optim_states.pt   optimizer file of rank 3; also fp16_, or no prefix
 *     layer_02_expert_1_mp_rank_00_model_states.pt     experts: not read */
#include <stdlib.h>

#include "base/text.h"
#include "format/torch/ranks/zero.h"

/* ---- names ------------------------------------------------------------------------------- */

/* Takes a word off the front of *s. */
static bool take_word(struct heft_str *s, const char *word)
{
    const size_t n = strlen(word);

    if (s->n < n || memcmp(s->p, word, n) != 0)
        return false;
    s->p += n;
    s->n -= n;
    return true;
}

/* Takes a decimal number of at most 8 digits. */
static bool take_number(struct heft_str *s, uint32_t *out)
{
    size_t n = 0;

    *out = 0;
    while (n < s->n && n < 9 && s->p[n] >= '0' && s->p[n] <= '9')
        *out = *out * 10 + (uint32_t)(s->p[n++] - '0'); /* no overflow: 9 digits */
    s->p += n;
    s->n -= n;
    return n > 0 && n < 9;
}

static enum heft_zero_kind kind_of(struct heft_str rest)
{
    return heft_str_is(rest, "_model_states.pt")   ? HEFT_ZERO_MODEL
           : heft_str_is(rest, "_optim_states.pt") ? HEFT_ZERO_OPTIM
                                                   : HEFT_ZERO_OTHER;
}

/* Files of other kinds of parallelism. */
static const char *foreign_of(const char *name)
{
    static const struct {
        const char *glob, *why;
    } foreign[] = {
        {"layer_*_expert_*_model_states.pt", "experts (MoE)"},
        {"expp_rank_*_optim_states.pt", "experts (MoE)"},
        {"*_expp_rank_*_optim_states.pt", "experts (MoE)"},
        {"layer_[0-9]*-model_*states.pt", "pipeline parallelism"},
    };

    for (size_t i = 0; i < HEFT_COUNT(foreign); i++)
        if (heft_glob_match(heft_str_of(foreign[i].glob), heft_str_of(name)))
            return foreign[i].why;
    return NULL;
}

struct heft_zero_name heft_zero_judge(const char *name)
{
    struct heft_zero_name out = {.why = foreign_of(name)};
    struct heft_str s = heft_str_of(name);
    uint32_t model_rank;
    bool has_prefix;

    if (out.why) {
        out.kind = HEFT_ZERO_FOREIGN;
        return out;
    }
    has_prefix = take_word(&s, "bf16_") || take_word(&s, "fp16_");
    out.is_partitioned = take_word(&s, "zero_pp_rank_");
    if ((out.is_partitioned && (!take_number(&s, &out.rank) || !take_word(&s, "_"))) ||
        (has_prefix && !out.is_partitioned) || !take_word(&s, "mp_rank_") ||
        !take_number(&s, &model_rank))
        return out;
    out.kind = kind_of(s);
    if (out.kind != HEFT_ZERO_OTHER && model_rank > 0) {
        out.kind = HEFT_ZERO_FOREIGN;
        out.why = "tensor parallelism";
    }
    return out;
}

const char *heft_zero_entry(const char *const *names, size_t n, struct heft_error *err)
{
    const char *best = NULL, *foreign = NULL, *why = NULL;
    uint32_t rank = UINT32_MAX;

    for (size_t i = 0; i < n; i++) {
        const struct heft_zero_name name = heft_zero_judge(names[i]);
        const uint32_t order = name.is_partitioned ? name.rank + 1 : 0;

        if (name.kind == HEFT_ZERO_FOREIGN && !foreign) {
            foreign = names[i];
            why = name.why;
        }
        if (name.kind != HEFT_ZERO_MODEL || (best && order >= rank))
            continue;
        best = names[i];
        rank = order;
    }
    if (!best || !foreign)
        return best;
    heft_fail(err, HEFT_UNSUPPORTED, HEFT_NO_OFFSET,
              "the directory is a DeepSpeed checkpoint with %s (%.100s), whose parts cannot be "
              "joined without rules for their names; open the files one by one",
              why, foreign);
    return NULL;
}

/* ---- the directory ----------------------------------------------------------------------- */

static int by_rank(const void *a, const void *b)
{
    const struct heft_zero_file *x = a, *y = b;

    return (x->rank > y->rank) - (x->rank < y->rank);
}

/* Takes the names of one kind, in the order of their ranks. */
static bool take_files(struct heft_zero *z, const char *const *names, size_t n,
                       enum heft_zero_kind kind, bool is_partitioned, struct heft_zero_file **out,
                       uint32_t *count)
{
    *out = heft_arena_zero(&z->scratch, n + 1, sizeof **out, z->err);
    *count = 0;
    for (size_t i = 0; *out && i < n; i++) {
        const struct heft_zero_name name = heft_zero_judge(names[i]);

        if (name.kind == kind && name.is_partitioned == is_partitioned)
            (*out)[(*count)++] = (struct heft_zero_file){.name = names[i], .rank = name.rank};
    }
    if (!*out)
        return false;
    qsort(*out, *count, sizeof **out, by_rank);
    for (uint32_t i = 1; i < *count; i++)
        if ((*out)[i].rank == (*out)[i - 1].rank)
            return heft_fail(z->err, HEFT_MALFORMED, HEFT_NO_OFFSET,
                             "%.150s and %.150s are both of rank %u: files of two checkpoints",
                             (*out)[i - 1].name, (*out)[i].name, (*out)[i].rank);
    return true;
}

bool heft_zero_list(struct heft_zero *z)
{
    const char *path = z->model->sources[z->source].path;
    const size_t n = heft_path_folder(path);
    const char *folder = n ? heft_arena_printf(&z->scratch, z->err, "%.*s", (int)n, path) : ".";
    const char *const *names, *entry;
    size_t count;

    if (!folder || !heft_files_list(z->model->files, folder, &z->scratch, &names, &count, z->err))
        return false;
    entry = heft_zero_entry(names, count, z->err);
    if (!entry)
        return z->err->code == HEFT_OK &&
               heft_fail(z->err, HEFT_MALFORMED, HEFT_NO_OFFSET,
                         "no file of its directory is named as DeepSpeed names model files: "
                         "mp_rank_00_model_states.pt");
    return take_files(z, names, count, HEFT_ZERO_MODEL, heft_zero_judge(entry).is_partitioned,
                      &z->models, &z->n_models) &&
           take_files(z, names, count, HEFT_ZERO_OPTIM, true, &z->optims, &z->n_optims);
}

/* ---- contents ---------------------------------------------------------------------------- */

/* Opens a file as what torch.save writes, now or before 1.6. */
static bool open_file(struct heft_zero *z, struct heft_zero_file *file, const char *path)
{
    struct heft_model *model = z->model;
    const char *own = model->sources[z->source].path;
    uint8_t magic[4] = {0};

    file->source = z->source;
    if (strcmp(own + heft_path_folder(own), path) != 0 &&
        !heft_registry_add_sibling(model, z->source, heft_str_of(path), &file->source, z->err))
        return false;
    if (model->sources[file->source].source.size >= sizeof magic &&
        !heft_source_read(&model->sources[file->source].source, 0, magic, sizeof magic, z->err))
        return false;
    return heft_registry_open_source(
        model, file->source, memcmp(magic, "PK\3\4", 4) == 0 ? "torch" : "torch-legacy", z->err);
}

/* Moves the rows that the model has from `first` on to the file. */
static bool take_rows(struct heft_zero *z, struct heft_zero_file *file, size_t first)
{
    const size_t n = z->model->n_rows - first;

    file->rows = heft_arena_zero(&z->scratch, n + 1, sizeof *file->rows, z->err);
    if (!file->rows || !heft_strmap_reserve(&file->by_name, n, z->err))
        return false;
    for (size_t i = 0; i < n; i++) {
        uint32_t before;

        file->rows[i] = z->model->rows[first + i];
        if (!heft_strmap_add(&file->by_name, file->rows[i].name, (uint32_t)i, &before, z->err))
            return false;
    }
    file->n_rows = n;
    return true;
}

bool heft_zero_read(struct heft_zero *z, struct heft_zero_file *file, const char *path)
{
    struct heft_model *model = z->model;
    const struct heft_model_counts before = model->counts;

    if (!open_file(z, file, path) || !take_rows(z, file, before.n_rows))
        return false;
    file->values = model->n_trees > before.n_trees ? model->trees[before.n_trees].root : NULL;
    model->n_rows = before.n_rows;
    model->n_trees = before.n_trees;
    model->n_attachments = before.n_attachments;
    model->n_unreadable = before.n_unreadable;
    model->name_bytes = before.name_bytes;
    return true;
}

void heft_zero_release_files(struct heft_zero *z)
{
    for (uint32_t i = 0; i < z->n_models; i++)
        heft_strmap_release(&z->models[i].by_name);
    for (uint32_t i = 0; i < z->n_optims; i++)
        heft_strmap_release(&z->optims[i].by_name);
    heft_buf_release(&z->text);
}

const struct heft_row *heft_zero_row(const struct heft_zero_file *file, struct heft_str name)
{
    const uint32_t at = heft_strmap_get(&file->by_name, name);

    return at == HEFT_MAP_NONE ? NULL : &file->rows[at];
}

bool heft_zero_row_text(struct heft_zero *z, const struct heft_zero_file *file,
                        const struct heft_row **out)
{
    const bool ok = heft_buf_ok(&z->text, z->err);

    *out = ok ? heft_zero_row(file, (struct heft_str){z->text.p, z->text.n}) : NULL;
    z->text.n = 0;
    return ok;
}

bool heft_zero_row_below(struct heft_zero *z, const struct heft_zero_file *file, const char *prefix,
                         struct heft_str name, const struct heft_row **out)
{
    heft_buf_text(&z->text, prefix);
    heft_buf_str(&z->text, name);
    return heft_zero_row_text(z, file, out);
}

bool heft_zero_refuse(struct heft_zero *z, const struct heft_zero_file *file, const char *format,
                      ...)
{
    va_list args;

    va_start(args, format);
    heft_fail_args(z->err, HEFT_MALFORMED, HEFT_NO_OFFSET, format, args);
    va_end(args);
    return heft_error_file(z->err, z->model->sources[file->source].path);
}
