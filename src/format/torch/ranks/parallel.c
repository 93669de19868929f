/* parallel.c: directories of models that tensor parallelism splits by name, without saying how.
 *
 *     consolidated.00.pth, consolidated.01.pth …               Meta: params.json beside them
 *     mp_rank_00/model_optim_rng.pt, mp_rank_01/… …            Megatron, before torch_dist
 *     mp_rank_00_000/model_optim_rng.pt …                      with pipeline parallelism
 *     latest_checkpointed_iteration.txt                        Megatron: "100" for iter_0000100/
 *     metadata.json                                            Megatron: "sharded_backend": "zarr"
 *
 * The files have the same names. They are opened together, and each name gets the number of its file; only
 * rules for the names can join them. */
#include "base/text.h"
#include "format/torch/ranks/parallel.h"

enum { LONGEST_NUMBER = 32, LONGEST_JSON = 4096 };

/* ---- small files ------------------------------------------------------------------------- */

/* Reads a small file of the directory; NULL, without an error, if there is none. */
static const char *read_small(const struct heft_folder *folder, const char *name, size_t most,
                              struct heft_arena *mem, struct heft_error *err)
{
    struct heft_error ignored = {0};
    struct heft_source file;
    struct heft_bytes text;
    const char *path = NULL;
    bool ok;

    if (!heft_folder_has(folder, name) || !(path = heft_folder_join(folder, name, mem, err)) ||
        heft_files_kind(folder->files, path) != HEFT_PATH_FILE ||
        !heft_files_open(folder->files, &file, path, &ignored))
        return NULL;
    ok = file.size <= most && heft_source_fetch(&file, 0, file.size, mem, &text, &ignored);
    heft_source_close(&file);
    return ok ? heft_arena_text(mem, (struct heft_str){(const char *)text.p, text.n}, err) : NULL;
}

static bool refuse_zarr(const struct heft_folder *folder, struct heft_arena *mem,
                        struct heft_error *err)
{
    const char *text = read_small(folder, "metadata.json", LONGEST_JSON, mem, err);

    if (!text || !strstr(text, "\"sharded_backend\"") || !strstr(text, "\"zarr\""))
        return err->code == HEFT_OK;
    return heft_fail(
        err, HEFT_UNSUPPORTED, HEFT_NO_OFFSET,
        "the directory is a checkpoint of Megatron or NeMo with the backend zarr, which "
        "heft does not read; save it with torch_dist");
}

/* ---- numbered files ---------------------------------------------------------------------- */

/* Whether a name is "consolidated.NN.pth". */
static bool is_consolidated(const char *name)
{
    return heft_glob_match(HEFT_STR("consolidated.[0-9][0-9].pth"), heft_str_of(name));
}

/* Name of the file in a directory mp_rank_00: relative to the folder. NULL if it is none, or on an error. */
static const char *file_of_rank(const struct heft_folder *folder, const char *name,
                                struct heft_arena *mem, struct heft_error *err)
{
    static const char *const files[] = {"model_optim_rng.pt", "model_rng.pt", "model_weights.ckpt"};

    if (!heft_glob_match(HEFT_STR("mp_rank_[0-9][0-9]*"), heft_str_of(name)))
        return NULL;
    for (size_t i = 0; i < HEFT_COUNT(files); i++) {
        const char *file = heft_arena_printf(mem, err, "%s/%s", name, files[i]);
        const char *path = file ? heft_folder_join(folder, file, mem, err) : NULL;

        if (!path)
            return NULL;
        if (heft_files_kind(folder->files, path) == HEFT_PATH_FILE)
            return file;
    }
    return NULL;
}

/* Refuses numbers that are missing among consolidated.00.pth … */
static bool check_numbers(const char *const *names, size_t n, struct heft_error *err)
{
    for (size_t i = 0; i < n; i++) {
        const char *digits = names[i] + strlen("consolidated.");
        const unsigned number = (unsigned)(digits[0] - '0') * 10 + (unsigned)(digits[1] - '0');

        if (number != i)
            return heft_fail(err, HEFT_MALFORMED, HEFT_NO_OFFSET,
                             "consolidated.%02zu.pth is missing: the directory has %zu files of a "
                             "model-parallel model, and %s",
                             i, n, names[n - 1]);
    }
    return true;
}

/* Takes the names that are sorted as the folder's are: two digits, and three for the others. */
static bool collect(const struct heft_folder *folder, struct heft_arena *mem, const char ***names,
                    size_t *n, bool *is_meta, struct heft_error *err)
{
    *names = heft_arena_zero(mem, folder->n + 1, sizeof **names, err);
    *n = 0;
    *is_meta = false;
    for (size_t i = 0; *names && i < folder->n; i++)
        if (is_consolidated(folder->names[i]))
            (*names)[(*n)++] = folder->names[i];
    *is_meta = *n > 0;
    for (size_t i = 0; *names && !*is_meta && i < folder->n; i++) {
        const char *file = file_of_rank(folder, folder->names[i], mem, err);

        if (file)
            (*names)[(*n)++] = file;
        else if (err->code != HEFT_OK)
            return false;
    }
    return *names && (!*is_meta || *n < 2 || check_numbers(*names, *n, err));
}

static bool find_files(const struct heft_folder *folder, struct heft_arena *mem,
                       struct heft_file_set *out, struct heft_error *err)
{
    const char **names;
    bool is_meta;
    size_t n;

    if (!collect(folder, mem, &names, &n, &is_meta, err))
        return false;
    if (n == 0 || (is_meta && n == 1)) /* one file is the model */
        return true;
    *out = (struct heft_file_set){.names = names, .n = n, .is_numbered = n > 1};
    if (n > 1)
        out->note = heft_arena_printf(mem, err,
                                      "%s and %zu more are parts of a model-parallel model: each "
                                      "name has @K, the number of its "
                                      "file; a conversion needs rules for the names",
                                      names[0], n - 1);
    return n == 1 || out->note;
}

/* ---- Megatron's newest iteration --------------------------------------------------------- */

/* Directory that latest_checkpointed_iteration.txt names; NULL if there is none, or on an error. */
static const char *newest_iteration(const struct heft_folder *folder, struct heft_arena *mem,
                                    struct heft_error *err)
{
    const char *text =
        read_small(folder, "latest_checkpointed_iteration.txt", LONGEST_NUMBER, mem, err);
    uint64_t number = 0;
    size_t n = 0;

    if (!text)
        return NULL;
    if (strncmp(text, "release", 7) == 0)
        return "release";
    for (; text[n] >= '0' && text[n] <= '9' && n < 12; n++)
        number = number * 10 + (uint64_t)(text[n] - '0');
    return n > 0 && n < 12 ? heft_arena_printf(mem, err, "iter_%07" PRIu64, number) : NULL;
}

/* Puts the directory in front of the names of a set. */
static bool move_below(struct heft_file_set *set, const char *below, struct heft_arena *mem,
                       struct heft_error *err)
{
    const char **names = heft_arena_zero(mem, set->n, sizeof *names, err);

    for (size_t i = 0; names && i < set->n; i++)
        if (!(names[i] = heft_arena_printf(mem, err, "%s/%s", below, set->names[i])))
            return false;
    set->names = names;
    return names != NULL;
}

static bool find_newest(const struct heft_folder *folder, struct heft_arena *mem,
                        struct heft_file_set *out, struct heft_error *err)
{
    static const char *const metadata[] = {".metadata"};
    struct heft_folder below = {.files = folder->files};
    const char *name = newest_iteration(folder, mem, err);
    const char *path = name ? heft_folder_join(folder, name, mem, err) : NULL;
    struct heft_error ignored = {0};

    if (!path || heft_files_kind(folder->files, path) != HEFT_PATH_DIR ||
        !heft_folder_list(&below, path, mem, &ignored))
        return err->code == HEFT_OK;
    if (!refuse_zarr(&below, mem, err))
        return false;
    if (heft_folder_has(&below, ".metadata"))
        *out = (struct heft_file_set){.names = metadata, .n = 1};
    else if (!find_files(&below, mem, out, err))
        return false;
    return out->n == 0 || move_below(out, name, mem, err);
}

bool heft_parallel_find_set(const struct heft_folder *folder, struct heft_arena *mem,
                            struct heft_file_set *out, struct heft_error *err)
{
    return refuse_zarr(folder, mem, err) && find_files(folder, mem, out, err) &&
           (out->n > 0 || find_newest(folder, mem, out, err));
}
