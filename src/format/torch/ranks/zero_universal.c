/* zero_universal.c: DeepSpeed's universal checkpoints, which ds_to_universal makes of a ZeRO checkpoint:
 * whole tensors, each in a file.
 *
 *     mp_rank_00_model_states.pt        buffers in `module`; its weights are 16-bit copies
 *     zero/l1.weight/fp32.pt            {"param": tensor, "cat_dim": 0}
 *     zero/l1.weight/exp_avg.pt …       the same for a moment; step.pt may be a number
 *     zero/optimizer_state.pt */
#include "base/text.h"
#include "format/torch/ranks/zero.h"

#define FOLDER "zero"
#define PREFIX "optimizer."

/* ---- the directory ----------------------------------------------------------------------- */

/* Names in a directory below that of the entry; none if it is no directory. */
static bool list_below(struct heft_zero *z, const char *below, const char *const **names, size_t *n)
{
    const char *own = z->model->sources[z->source].path;
    const char *path =
        heft_arena_printf(&z->scratch, z->err, "%.*s%s", (int)heft_path_folder(own), own, below);
    enum heft_path_kind kind;

    *n = 0;
    if (!path || !heft_files_examine(z->model->files, path, &kind, z->err))
        return false;
    return kind != HEFT_PATH_DIR ||
           heft_files_list(z->model->files, path, &z->scratch, names, n, z->err);
}

bool heft_zero_is_universal(struct heft_zero *z, bool *is_it)
{
    const char *const *names;
    size_t n;

    if (!list_below(z, FOLDER, &names, &n))
        return false;
    *is_it = n > 0;
    return true;
}

/* ---- the files of a tensor --------------------------------------------------------------- */

/* The one tensor of a file: `param` of a dict, or the whole object. */
static const struct heft_row *tensor_of(const struct heft_zero_file *file)
{
    const struct heft_row *row = heft_zero_row(file, HEFT_STR("param"));

    return row || file->n_rows != 1 ? row : &file->rows[0];
}

/* Gives a flat tensor, as stage 3 leaves it, the shape of its parameter. */
static void set_shape(struct heft_row *row, const struct heft_zero_param *p)
{
    if (!p || row->rank != 1 || row->shape[0] != p->n || row->stride)
        return;
    row->shape = p->shape;
    row->rank = p->rank;
}

/* Reads a file and adds its tensor. A number (step.pt) is left out. `p`: NULL if it is not in param_shapes. */
static bool add_file(struct heft_zero *z, const char *path, struct heft_str name,
                     const struct heft_zero_param *p, bool is_needed)
{
    struct heft_zero_file file = {.name = path};
    const struct heft_row *found;
    struct heft_row row;
    bool ok = heft_zero_read(z, &file, path);

    found = ok ? tensor_of(&file) : NULL;
    if (found) {
        row = *found;
        set_shape(&row, p);
        ok = heft_zero_add_whole(z, &row, name);
    } else if (ok && is_needed) {
        ok = heft_zero_refuse(z, &file, "it has no tensor `param`");
    }
    heft_strmap_release(&file.by_name);
    return ok;
}

/* Adds the moments of a parameter: each file of its directory but fp32.pt. */
static bool add_moments(struct heft_zero *z, const char *folder, struct heft_str name,
                        const struct heft_zero_param *p)
{
    const char *const *names;
    size_t n;

    if (!list_below(z, folder, &names, &n))
        return false;
    for (size_t i = 0; i < n; i++) {
        const struct heft_str s = heft_str_of(names[i]);
        const char *path, *moment;

        if (!heft_str_ends(s, ".pt") || heft_str_is(s, "fp32.pt"))
            continue;
        path = heft_arena_printf(&z->scratch, z->err, "%s/%s", folder, names[i]);
        moment = heft_arena_printf(&z->scratch, z->err, PREFIX "%.*s.%.*s", (int)name.n, name.p,
                                   (int)s.n - 3, s.p);
        if (!path || !moment || !add_file(z, path, heft_str_of(moment), p, false))
            return false;
    }
    return true;
}

static bool has_moments(struct heft_zero *z, const char *folder, bool *has)
{
    const char *const *names;
    size_t n;

    *has = false;
    if (!list_below(z, folder, &names, &n))
        return false;
    for (size_t i = 0; i < n; i++)
        *has = *has || strcmp(names[i], "exp_avg.pt") == 0;
    return true;
}

/* ---- the parameters ---------------------------------------------------------------------- */

struct universal {
    struct heft_zero *z;
    const char *const *names; /* directories in zero/: names of parameters */
    const char **folders;     /* "zero/NAME"; NULL: not a parameter */
    size_t n;
    const struct heft_zero_param **params; /* NULL: not in param_shapes */
    struct heft_strmap by_name;
    bool *done;
    bool leaves_moments;
};

static bool add_param(struct universal *u, size_t i)
{
    struct heft_zero *z = u->z;
    const struct heft_str name = heft_str_of(u->names[i]);
    const char *path =
        u->folders[i] ? heft_arena_printf(&z->scratch, z->err, "%s/fp32.pt", u->folders[i]) : NULL;
    bool has = false;

    if (!u->folders[i] || u->done[i])
        return true;
    u->done[i] = true;
    if (!path || !add_file(z, path, name, u->params[i], true))
        return false;
    if (!z->wants_optimizer && !u->leaves_moments && !has_moments(z, u->folders[i], &has))
        return false;
    u->leaves_moments |= has;
    return true;
}

/* Finds the directories of parameters. */
static bool find_params(struct universal *u)
{
    struct heft_zero *z = u->z;
    uint32_t before;

    if (!list_below(z, FOLDER, &u->names, &u->n))
        return false;
    u->folders = heft_arena_zero(&z->scratch, u->n + 1, sizeof *u->folders, z->err);
    u->done = heft_arena_zero(&z->scratch, u->n + 1, sizeof *u->done, z->err);
    u->params = heft_arena_zero(&z->scratch, u->n + 1, sizeof *u->params, z->err);
    if (!u->folders || !u->done || !u->params)
        return false;
    for (size_t i = 0; i < u->n; i++) {
        const char *const *files;
        size_t n_files;

        u->folders[i] = heft_arena_printf(&z->scratch, z->err, FOLDER "/%s", u->names[i]);
        if (!u->folders[i] || !list_below(z, u->folders[i], &files, &n_files))
            return false;
        if (n_files == 0)
            u->folders[i] = NULL; /* a file: optimizer_state.pt */
        if (!heft_strmap_add(&u->by_name, heft_str_of(u->names[i]), (uint32_t)i, &before, z->err))
            return false;
    }
    return true;
}

/* Adds the parameters in the order of the model file, then the others by name. */
static bool add_params(struct universal *u)
{
    for (size_t i = 0; i < u->z->params.n; i++) {
        const struct heft_str name = u->z->params.list[i].name;
        const uint32_t at = heft_strmap_get(&u->by_name, name);

        if (at == HEFT_MAP_NONE || !u->folders[at]) {
            heft_zero_refuse(u->z, u->z->models,
                             "param_shapes lists it, but zero/ has no directory "
                             "of that name");
            return heft_error_about(u->z->err, "tensor", name);
        }
        u->params[at] = &u->z->params.list[i];
        if (!add_param(u, at))
            return false;
    }
    for (size_t i = 0; i < u->n; i++)
        if (!add_param(u, i))
            return false;
    return true;
}

/* Adds the moments of all parameters, or a note that they are left out. */
static bool add_optimizer(struct universal *u)
{
    for (size_t i = 0; i < u->n && u->z->wants_optimizer; i++)
        if (u->folders[i] &&
            !add_moments(u->z, u->folders[i], heft_str_of(u->names[i]), u->params[i]))
            return false;
    return !u->leaves_moments ||
           heft_model_tell(u->z->model, u->z->models->source, u->z->err,
                           "the optimizer's moments are left out; option " HEFT_ZERO_OPTIMIZER
                           " adds them as " PREFIX "NAME.exp_avg");
}

/* Marks the directories that ds_to_universal made of what the model file has in its own dtype. */
static bool drop_copies(struct universal *u)
{
    size_t n = 0;

    for (size_t i = 0; i < u->n; i++) {
        if (!u->folders[i] ||
            heft_strmap_get(&u->z->named, heft_str_of(u->names[i])) == HEFT_MAP_NONE)
            continue;
        u->folders[i] = NULL;
        n++;
    }
    return n == 0 ||
           heft_model_note(u->z->model, HEFT_NOTE, u->z->models->source, HEFT_NO_OFFSET, u->z->err,
                           "%zu director%s of zero/ %s of buffers, frozen and shared "
                           "parameters, which the model file has",
                           n, n == 1 ? "y" : "ies", n == 1 ? "is a copy" : "are copies");
}

/* Reserves the names of the parameters that zero/ has, also of those that param_shapes lacks. */
static bool reserve_folders(struct universal *u)
{
    uint32_t before;

    for (size_t i = 0; i < u->n; i++)
        if (u->folders[i] &&
            !heft_strmap_add(&u->z->named, heft_str_of(u->names[i]), 0, &before, u->z->err))
            return false;
    return heft_zero_reserve_params(u->z, &u->z->params);
}

bool heft_zero_read_universal(struct heft_zero *z)
{
    struct universal u = {.z = z};
    const bool ok = find_params(&u) && heft_zero_add_buffers(z) && heft_zero_reserve_names(z) &&
                    drop_copies(&u) && reserve_folders(&u) && heft_zero_add_frozen(z) &&
                    heft_zero_add_unnamed(z) && add_params(&u) && heft_zero_add_shared(z) &&
                    add_optimizer(&u);

    heft_strmap_release(&u.by_name);
    return ok;
}
