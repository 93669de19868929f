/* locate_names.c: the names in a folder as checkpoints, and which of them is meant.
 *
 *     model.safetensors                           a file
 *     model.safetensors.index.json                an index
 *     model-00001-of-00003.safetensors …          files of an index, or a set without one
 *     diffusion_pytorch_model.fp16.safetensors    a variant
 *
 * The lowest rank is chosen: well-known names in the order in which the frameworks look for them,
 * then what an index or a table names, then single files; what belongs to a training run beside the
 * model comes last. Names of the same rank are several checkpoints, unless they are forms of one. */
#include "core/locate_parts.h"

#include "base/map.h"
#include "base/text.h"
#include "io/source.h"

/* Of names: the lower, the better known. */
enum {
    PER_STEM = 100,
    VARIANT = 50, /* "model.fp16" comes behind "model" */
    DISTRIBUTED = 5000,
    TF_STATE = 6000,
    NAMED = 7000,
    SINGLE = 8000,
    DATA = 8500, /* files that lie beside models for other reasons, too */
    TF_BUNDLE = 9000,
    TF_META = 9100,
    TEXT = 9300,
    STRANGER = 9500,
    COMPANION = 9900
};

/* As transformers, diffusers and peft look for them. */
static const char *const stems[] = {"model",         "pytorch_model", "diffusion_pytorch_model",
                                    "adapter_model", "consolidated",  "tf_model"};

static const struct {
    const char *ext;
    uint32_t rank; /* of a single file */
} extensions[] = {
    {".safetensors", SINGLE}, {".bin", SINGLE},      {".pth", SINGLE},
    {".pt", SINGLE},          {".ckpt", SINGLE},     {".h5", SINGLE},
    {".hdf5", SINGLE},        {".keras", SINGLE},    {".npz", DATA},
    {".npy", DATA},           {".ptd", SINGLE},      {".pte", SINGLE},
    {".pt2", SINGLE},         {".ptl", SINGLE},      {".pkl", DATA},
    {".pickle", DATA},        {".pb", DATA},         {".pbtxt", TEXT},
    {".tar", DATA},           {".index", TF_BUNDLE}, {".meta", TF_META},
    {".msgpack", STRANGER},   {".onnx", STRANGER},   {".tflite", STRANGER},
    {".gguf", STRANGER},      {".ggml", STRANGER},   {".mlmodel", STRANGER},
    {".nemo", STRANGER},      {".nc", STRANGER},     {".mat", STRANGER},
    {".parquet", STRANGER},   {".arrow", STRANGER},
};
enum { FORMS = 4 }; /* the first: one model may lie there in several of them */

/* What training writes beside a model, and what is no model. */
static const char *const companions[] = {
    "training_args.*",
    "optimizer*",
    "scheduler*",
    "lr_scheduler*",
    "scaler*",
    "rng_state*",
    "random_states*",
    "sampler*",
    "*optim_states.pt",
    "custom_checkpoint_*",
    "trainer_state*",
    "keras_metadata.pb",
    "fingerprint.pb",
    "graph.pbtxt",
    "tokenizer*",
    "vocab*",
    "preprocessor*",
    "tfhub_module.pb",
    "*label_map.pbtxt",
    "*_[0-9][0-9][0-9][0-9][0-9].weights.h5", /* the files of Keras' NAME.weights.json */
};

static bool is_companion(struct heft_str name)
{
    for (size_t i = 0; i < HEFT_COUNT(companions); i++)
        if (heft_glob_match(heft_str_of(companions[i]), name))
            return true;
    return false;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Digits before the end of s, 4 to 9 of them, with `word` before them: both are cut off. */
static bool cut_number(struct heft_str *s, const char *word, uint32_t *number)
{
    const size_t n = strlen(word);
    size_t at = s->n;

    while (at > 0 && is_digit(s->p[at - 1]))
        at--;
    if (s->n - at < 4 || s->n - at > 9 || at < n || memcmp(s->p + at - n, word, n) != 0)
        return false;
    *number = 0;
    for (size_t i = at; i < s->n; i++)
        *number = *number * 10 + (uint32_t)(s->p[i] - '0');
    s->n = at - n;
    return true;
}

/* "model-00001-of-00003" → "model", 1 of 3; of: 0 where it has none. */
static void cut_shard(struct heft_str *stem, uint32_t *number, uint32_t *of)
{
    struct heft_str s = *stem;

    *of = 0;
    if (!cut_number(&s, "-of-", of) || !cut_number(&s, "-", number) || s.n == 0)
        *of = 0;
    else
        *stem = s;
}

/* "model-00001-of-00003.fp16" and "model.fp16-00001-of-00003": the variant is cut, too. */
bool heft_stem_variant(struct heft_str *stem, struct heft_str *variant)
{
    for (size_t i = 0; i < HEFT_COUNT(stems); i++) {
        const size_t n = strlen(stems[i]);

        if (stem->n > n + 1 && memcmp(stem->p, stems[i], n) == 0 && stem->p[n] == '.' &&
            !memchr(stem->p + n + 1, '.', stem->n - n - 1)) {
            *variant = (struct heft_str){stem->p + n + 1, stem->n - n - 1};
            stem->n = n;
            return true;
        }
    }
    return false;
}

/* "model.safetensors.index.json" → "model.safetensors"; "model.safetensors.index.fp16.json", too. */
static bool cut_index(struct heft_str *name, bool *variant)
{
    static const char mark[] = ".index";
    struct heft_str s = *name;

    if (!heft_str_ends(s, ".json"))
        return false;
    s.n -= strlen(".json");
    if (!heft_str_ends(s, mark)) {
        while (s.n > 0 && s.p[s.n - 1] != '.')
            s.n--;
        s.n -= s.n > 0;
        *variant = true;
    }
    if (!heft_str_ends(s, mark) || s.n == sizeof mark - 1)
        return false;
    s.n -= sizeof mark - 1;
    *name = s;
    return true;
}

static bool cut_extension(struct heft_str *name, uint32_t *order)
{
    for (uint32_t i = 0; i < HEFT_COUNT(extensions); i++)
        if (heft_str_ends(*name, extensions[i].ext) && name->n > strlen(extensions[i].ext)) {
            name->n -= strlen(extensions[i].ext);
            *order = i;
            return true;
        }
    return false;
}

struct judged {
    struct heft_candidate c;
    uint32_t number; /* of a file of a set */
};

static uint32_t rank_of(const struct heft_candidate *c, bool variant, uint32_t order)
{
    for (uint32_t i = 0; i < HEFT_COUNT(stems); i++)
        if (heft_str_is(c->stem, stems[i]) && extensions[order].rank == SINGLE)
            return i * PER_STEM + (variant ? VARIANT : 0) + 2 * order + (c->is_index || c->of);
    if (c->is_index || c->of)
        return NAMED;
    return extensions[order].rank;
}

/* False where the name is none of a checkpoint. */
static bool judge_special(const char *name, struct heft_candidate *out)
{
    const struct heft_str s = heft_str_of(name);
    uint32_t rank = 0;

    if (heft_str_is(s, ".metadata"))
        rank = DISTRIBUTED;
    else if (heft_str_is(s, "checkpoint"))
        rank = TF_STATE;
    else if (heft_str_ends(s, ".weights.json"))
        rank = NAMED;
    *out = (struct heft_candidate){.name = name, .stem = s, .ext = "", .rank = rank};
    return rank != 0;
}

static bool judge_name(const char *name, struct judged *out)
{
    struct heft_str stem = heft_str_of(name);
    struct heft_candidate *c = &out->c;
    struct heft_str ignored;
    bool variant = false;
    uint32_t order = 0;

    if (judge_special(name, c))
        return true;
    *c = (struct heft_candidate){.name = name};
    if (name[0] == '.')
        return false;
    c->is_index = cut_index(&stem, &variant);
    if (!cut_extension(&stem, &order))
        return false;
    cut_shard(&stem, &out->number, &c->of);
    variant |= heft_stem_variant(&stem, &ignored);
    if (!c->of && !c->is_index)
        cut_shard(&stem, &out->number, &c->of);
    c->stem = stem;
    c->ext = extensions[order].ext;
    c->rank = is_companion(heft_str_of(name)) ? COMPANION : rank_of(c, variant, order);
    return true;
}

/* ---- sets -------------------------------------------------------------------------------- */

struct judging {
    struct heft_candidates *out;
    struct heft_strmap sets;    /* "STEM|OF|RANK.EXT" → its index in the list */
    struct heft_strmap indexes; /* "STEM.EXT" */
    struct heft_arena *mem;
    struct heft_error *err;
};

static bool add_to_set(struct judging *j, const struct judged *file)
{
    const struct heft_candidate *c = &file->c;
    const char *key = heft_arena_printf(j->mem, j->err, "%.*s|%u|%u%s", (int)c->stem.n, c->stem.p,
                                        c->of, c->rank, c->ext);
    struct heft_candidate *set;
    uint32_t at;

    if (!key || !heft_strmap_add(&j->sets, heft_str_of(key), (uint32_t)j->out->n, &at, j->err))
        return false;
    if (at == HEFT_MAP_NONE) {
        at = (uint32_t)j->out->n++;
        j->out->list[at] = *c;
        j->out->list[at].least = j->out->list[at].most = file->number;
    }
    set = &j->out->list[at];
    set->files++;
    set->least = file->number < set->least ? file->number : set->least;
    set->most = file->number > set->most ? file->number : set->most;
    return true;
}

bool heft_candidate_has(const struct heft_candidate *set, const char *name, uint32_t *number)
{
    struct judged file;

    if (!judge_name(name, &file) || file.c.of != set->of || file.c.rank != set->rank ||
        file.c.ext != set->ext || !heft_str_eq(file.c.stem, set->stem))
        return false;
    *number = file.number;
    return true;
}

static const char *index_key(struct judging *j, const struct heft_candidate *c)
{
    return heft_arena_printf(j->mem, j->err, "%.*s%s", (int)c->stem.n, c->stem.p, c->ext);
}

/* An index names the files of its set. */
static bool drop_indexed_sets(struct judging *j)
{
    struct heft_candidates *all = j->out;
    const char *key;
    uint32_t at;

    for (uint32_t i = 0; i < all->n; i++)
        if (all->list[i].is_index &&
            (!(key = index_key(j, &all->list[i])) ||
             !heft_strmap_add(&j->indexes, heft_str_of(key), i, &at, j->err)))
            return false;
    at = 0;
    for (uint32_t i = 0; i < all->n; i++) {
        if (!(key = index_key(j, &all->list[i])))
            return false;
        if (!all->list[i].files || heft_strmap_get(&j->indexes, heft_str_of(key)) == HEFT_MAP_NONE)
            all->list[at++] = all->list[i];
    }
    all->n = at;
    return true;
}

/* ---- choosing ---------------------------------------------------------------------------- */

/* The same model as .safetensors, .bin, .pth or .pt. */
static bool are_forms(const struct heft_candidate *a, const struct heft_candidate *b)
{
    uint32_t found = 0;

    for (uint32_t i = 0; a->ext != b->ext && i < FORMS; i++)
        found += (uint32_t)(a->ext == extensions[i].ext) + (b->ext == extensions[i].ext);
    return found == 2 && heft_str_eq(a->stem, b->stem);
}

static uint32_t order_of(const struct heft_candidate *c)
{
    for (uint32_t i = 0; i < HEFT_COUNT(extensions); i++)
        if (c->ext == extensions[i].ext)
            return i;
    return 0;
}

static void choose(struct heft_candidates *all)
{
    for (size_t i = 0; i < all->n; i++) {
        const struct heft_candidate *c = &all->list[i];

        if (!all->best || c->rank < all->best->rank) {
            all->best = c;
            all->several = false;
        } else if (c->rank == all->best->rank && !are_forms(c, all->best)) {
            all->several = true;
        } else if (c->rank == all->best->rank && order_of(c) < order_of(all->best)) {
            all->best = c;
        }
    }
    if (all->several)
        all->best = NULL;
    all->well_known = all->best && all->best->rank < DISTRIBUTED;
}

bool heft_candidate_is_other(const struct heft_candidate *c, const struct heft_candidate *best)
{
    return c != best && c->rank < TF_BUNDLE;
}

static bool is_folder(const struct heft_folder *folder, const char *name, struct judging *j,
                      bool *is_it)
{
    const char *path = heft_arena_printf(j->mem, j->err, "%s/%s", folder->path, name);

    *is_it = path && heft_path_kind(path) == HEFT_PATH_DIR;
    return path != NULL;
}

bool heft_folder_judge(const struct heft_folder *folder, struct heft_arena *mem,
                       struct heft_candidates *out, struct heft_error *err)
{
    struct judging j = {.out = out, .mem = mem, .err = err};
    bool ok;

    *out = (struct heft_candidates){0};
    out->list = heft_arena_zero(mem, folder->n + 1, sizeof *out->list, err);
    ok = out->list != NULL;
    for (size_t i = 0; ok && i < folder->n; i++) {
        struct judged file;
        bool is_dir = false;

        if (!judge_name(folder->names[i], &file))
            continue;
        ok = is_folder(folder, folder->names[i], &j, &is_dir);
        if (!ok || is_dir)
            continue;
        if (file.c.of)
            ok = add_to_set(&j, &file);
        else
            out->list[out->n++] = file.c;
    }
    ok = ok && drop_indexed_sets(&j);
    heft_strmap_release(&j.sets);
    heft_strmap_release(&j.indexes);
    if (ok)
        choose(out);
    return ok;
}

bool heft_folder_has(const struct heft_folder *folder, const char *name)
{
    for (size_t i = 0; i < folder->n; i++)
        if (strcmp(folder->names[i], name) == 0)
            return true;
    return false;
}

bool heft_folder_is_parallel(const struct heft_folder *folder)
{
    size_t parts = 0;

    for (size_t i = 0; i < folder->n; i++)
        parts += heft_glob_match(HEFT_STR("consolidated.[0-9][0-9].pth"),
                                 heft_str_of(folder->names[i])) ||
                 heft_glob_match(HEFT_STR("*mp_rank_[0-9][0-9]_model_states.pt"),
                                 heft_str_of(folder->names[i]));
    return parts > 1;
}
