/* locate_names.c: classifies the names in a directory as checkpoints, and chooses one.
 *
 *     model.safetensors                           a file
 *     model.safetensors.index.json                an index
 *     model-00001-of-00003.safetensors …          files of an index, or a set without one
 *     diffusion_pytorch_model.fp16.safetensors    a variant
 *
 * The lowest rank is chosen: well-known names in the order in which the frameworks look for them,
 * then what an index or a table names, then single files; files that a training run writes beside the
 * model come last. Candidates of the same rank are several checkpoints, unless they are forms of one
 * model. The names are data of the formats (file_names.h). */
#include "core/locate_parts.h"

#include "base/map.h"
#include "base/text.h"
#include "io/source.h"

enum {
    PER_STEM = 100,
    VARIANT = 50 /* "model.fp16" ranks after "model" */
};

static bool fits_one(const char *const *globs, struct heft_str name)
{
    for (; globs && *globs; globs++)
        if (heft_glob_match(heft_str_of(*globs), name))
            return true;
    return false;
}

static bool is_companion(const struct heft_formats *formats, struct heft_str name)
{
    return formats->conventions && fits_one(formats->conventions->companions, name);
}

static const char *const *stems_of(const struct heft_formats *formats)
{
    static const char *const none[] = {NULL};

    return formats->conventions && formats->conventions->stems ? formats->conventions->stems : none;
}

/* k-th table of names: those of the formats, then that of foreign formats; NULL if there is
 * none. */
static const struct heft_file_name *names_of(const struct heft_formats *formats, size_t k)
{
    if (k < formats->n)
        return formats->list[k]->names;
    return formats->foreign ? formats->foreign->names : NULL;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Cuts `word` and 4 to 9 digits off the end of s. */
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

/* Cuts the shard number off a stem: "model-00001-of-00003" → "model", 1 of 3. *of is 0 if there
 * is none. */
static void cut_shard(struct heft_str *stem, uint32_t *number, uint32_t *of)
{
    struct heft_str s = *stem;

    *of = 0;
    if (!cut_number(&s, "-of-", of) || !cut_number(&s, "-", number) || s.n == 0)
        *of = 0;
    else
        *stem = s;
}

/* Also cuts the variant of a shard: "model-00001-of-00003.fp16", "model.fp16-00001-of-00003". */
bool heft_stem_variant(const struct heft_formats *formats, struct heft_str *stem,
                       struct heft_str *variant)
{
    for (const char *const *known = stems_of(formats); *known; known++) {
        const size_t n = strlen(*known);

        if (stem->n > n + 1 && memcmp(stem->p, *known, n) == 0 && stem->p[n] == '.' &&
            !memchr(stem->p + n + 1, '.', stem->n - n - 1)) {
            *variant = (struct heft_str){stem->p + n + 1, stem->n - n - 1};
            stem->n = n;
            return true;
        }
    }
    return false;
}

static bool cut_index(const struct heft_formats *formats, struct heft_str *name, bool *variant)
{
    for (size_t i = 0; i < formats->n; i++) {
        const struct heft_locator *l = formats->list[i]->locator;

        if (l && l->cut_index && l->cut_index(name, variant))
            return true;
    }
    return false;
}

/* Row of the tables, of that kind, that matches the name; NULL if none does. */
static const struct heft_file_name *find_name(const struct heft_formats *formats,
                                              struct heft_str name, bool is_extension)
{
    for (size_t k = 0; k <= formats->n; k++)
        for (const struct heft_file_name *f = names_of(formats, k); f && f->text; f++)
            if ((f->kind == HEFT_NAME_EXTENSION) == is_extension &&
                (f->kind == HEFT_NAME_WHOLE ? heft_str_is(name, f->text)
                                            : heft_str_ends(name, f->text)) &&
                (!is_extension || name.n > strlen(f->text)))
                return f;
    return NULL;
}

struct judged {
    struct heft_candidate c;
    uint32_t number; /* number of the file in its set */
};

static uint32_t rank_of(const struct heft_formats *formats, const struct heft_candidate *c,
                        bool variant)
{
    const char *const *stems = stems_of(formats);

    for (uint32_t i = 0; stems[i] && c->rule->rank == HEFT_FILE_WEIGHTS; i++)
        if (heft_str_is(c->stem, stems[i]))
            return i * PER_STEM + (variant ? VARIANT : 0) + 2u * c->rule->order +
                   (c->is_index || c->of);
    return c->is_index || c->of ? HEFT_FILE_INDEX : c->rule->rank;
}

/* Classifies names that are matched as a whole or by their ending. False if the name is not that
 * of a checkpoint. */
static bool judge_special(const struct heft_formats *formats, const char *name,
                          struct heft_candidate *out)
{
    const struct heft_str s = heft_str_of(name);
    const struct heft_file_name *rule = find_name(formats, s, false);

    *out = (struct heft_candidate){
        .name = name, .stem = s, .rule = rule, .rank = rule ? rule->rank : 0};
    return rule != NULL;
}

static bool judge_name(const struct heft_formats *formats, const char *name, struct judged *out)
{
    struct heft_str stem = heft_str_of(name);
    struct heft_candidate *c = &out->c;
    struct heft_str ignored;
    bool variant = false;

    if (judge_special(formats, name, c))
        return true;
    *c = (struct heft_candidate){.name = name};
    if (name[0] == '.')
        return false;
    c->is_index = cut_index(formats, &stem, &variant);
    c->rule = find_name(formats, stem, true);
    if (!c->rule)
        return false;
    stem.n -= strlen(c->rule->text);
    cut_shard(&stem, &out->number, &c->of);
    variant |= heft_stem_variant(formats, &stem, &ignored);
    if (!c->of && !c->is_index)
        cut_shard(&stem, &out->number, &c->of);
    c->stem = stem;
    c->rank = is_companion(formats, heft_str_of(name)) ? HEFT_FILE_COMPANION
                                                       : rank_of(formats, c, variant);
    return true;
}

/* ---- candidates and their sets ----------------------------------------------------------- */

struct judging {
    const struct heft_formats *formats;
    struct heft_candidates *out;
    struct heft_strmap sets;    /* "STEM|OF|RANK.EXT" → index of the set in the list */
    struct heft_strmap indexes; /* "STEM.EXT" of each index */
    struct heft_arena *mem;
    struct heft_error *err;
};

static const char *extension_of(const struct heft_candidate *c)
{
    return c->rule->kind == HEFT_NAME_EXTENSION ? c->rule->text : "";
}

static bool add_to_set(struct judging *j, const struct judged *file)
{
    const struct heft_candidate *c = &file->c;
    const char *key = heft_arena_printf(j->mem, j->err, "%.*s|%u|%u%s", (int)c->stem.n, c->stem.p,
                                        c->of, c->rank, extension_of(c));
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

bool heft_candidate_has(const struct heft_formats *formats, const struct heft_candidate *set,
                        const char *name, uint32_t *number)
{
    struct judged file;

    if (!judge_name(formats, name, &file) || file.c.of != set->of || file.c.rank != set->rank ||
        file.c.rule != set->rule || !heft_str_eq(file.c.stem, set->stem))
        return false;
    *number = file.number;
    return true;
}

static const char *index_key(struct judging *j, const struct heft_candidate *c)
{
    return heft_arena_printf(j->mem, j->err, "%.*s%s", (int)c->stem.n, c->stem.p, extension_of(c));
}

/* Drops sets that an index covers. */
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

/* ---- choosing a candidate ---------------------------------------------------------------- */

/* Whether two candidates are forms of the same model. */
static bool are_forms(const struct heft_candidate *a, const struct heft_candidate *b)
{
    return a->rule != b->rule && a->rule->is_form && b->rule->is_form &&
           heft_str_eq(a->stem, b->stem);
}

static void choose_best(struct heft_candidates *all)
{
    for (size_t i = 0; i < all->n; i++) {
        const struct heft_candidate *c = &all->list[i];

        if (!all->best || c->rank < all->best->rank) {
            all->best = c;
            all->several = false;
        } else if (c->rank == all->best->rank && !are_forms(c, all->best)) {
            all->several = true;
        } else if (c->rank == all->best->rank && c->rule->order < all->best->rule->order) {
            all->best = c;
        }
    }
    if (all->several)
        all->best = NULL;
    all->well_known = all->best && all->best->rank < HEFT_FILE_MANIFEST;
}

bool heft_candidate_is_other(const struct heft_candidate *c, const struct heft_candidate *best)
{
    return c != best && c->rank < HEFT_FILE_PREFIX;
}

static bool is_folder(const struct heft_folder *folder, const char *name, struct judging *j,
                      bool *is_it)
{
    const char *path = heft_folder_join(folder, name, j->mem, j->err);

    *is_it = path && heft_files_kind(folder->files, path) == HEFT_PATH_DIR;
    return path != NULL;
}

bool heft_folder_judge(const struct heft_formats *formats, const struct heft_folder *folder,
                       struct heft_arena *mem, struct heft_candidates *out, struct heft_error *err)
{
    struct judging j = {.formats = formats, .out = out, .mem = mem, .err = err};
    bool ok;

    *out = (struct heft_candidates){0};
    out->list = heft_arena_zero(mem, folder->n + 1, sizeof *out->list, err);
    ok = out->list != NULL;
    for (size_t i = 0; ok && i < folder->n; i++) {
        struct judged file;
        bool is_dir = false;

        if (!judge_name(formats, folder->names[i], &file))
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
        choose_best(out);
    return ok;
}
