/* zero_optimizer.c: the optimizer's moments, which are cut as the weights are.
 *
 *     stages 1, 2   optimizer_state_dict.base_optimizer_state.state.G.exp_avg
 *     stage 3       optimizer_state_dict.optimizer_state_dict.state.G.exp_avg
 *         →         optimizer.NAME.exp_avg for each parameter
 *
 * A moment without dimensions (step) belongs to all parameters of its group. */
#include "format/torch/ranks/zero.h"

#define PREFIX "optimizer."
enum { MOST_KINDS = 16 };

/* Prefix of the moments of group 0 in rank 0's file. */
static const char *base_of(const struct heft_zero *z)
{
    return z->stage == 3 ? "optimizer_state_dict.state" : "base_optimizer_state.state";
}

struct moments {
    struct heft_zero *z;
    const char *kinds[MOST_KINDS]; /* "exp_avg"; in the order of rank 0's file */
    bool is_scalar[MOST_KINDS];
    unsigned n;
    bool is_more; /* further kinds are left out */
};

/* Collects the kinds of moments of group 0. */
static bool collect_kinds(struct moments *m)
{
    struct heft_zero *z = m->z;
    const struct heft_zero_file *file = z->optims;
    const char *prefix =
        heft_arena_printf(&z->scratch, z->err, "optimizer_state_dict.%s.0.", base_of(z));

    for (size_t i = 0; prefix && i < file->n_rows; i++) {
        const struct heft_row *row = &file->rows[i];

        if (!heft_str_starts(row->name, heft_str_of(prefix)))
            continue;
        if (m->n == MOST_KINDS) {
            m->is_more = true;
            break;
        }
        m->kinds[m->n] = row->name.p + strlen(prefix);
        m->is_scalar[m->n++] = row->rank == 0;
    }
    return prefix != NULL;
}

/* Names of the moments, for a note. */
static bool note_left_out(struct moments *m)
{
    struct heft_buf names = {0};
    bool ok;

    for (unsigned k = 0; k < m->n; k++)
        heft_buf_printf(&names, "%s%.60s", k ? ", " : "", m->kinds[k]);
    ok = heft_buf_ok(&names, m->z->err) &&
         heft_model_tell(m->z->model, m->z->optims->source, m->z->err,
                         "the optimizer's moments (%.*s) are left out; option " HEFT_ZERO_OPTIMIZER
                         " adds them as " PREFIX "NAME.%.60s",
                         (int)names.n, names.p, m->kinds[0]);
    heft_buf_release(&names);
    return ok;
}

/* A number for all parameters of a group: "optimizer.w.step". In stage 3 groups of vectors are not param
 * groups: the number of vector 0 is that of all. */
static bool add_scalars(struct moments *m, unsigned kind)
{
    struct heft_zero *z = m->z;

    for (size_t i = 0; i < z->params.n; i++) {
        const struct heft_zero_param *p = &z->params.list[i];
        char *name = heft_arena_printf(&z->scratch, z->err, PREFIX "%.*s.%s", (int)p->name.n,
                                       p->name.p, m->kinds[kind]);
        const struct heft_row *row;

        heft_buf_printf(&z->text, "optimizer_state_dict.%s.%u.%s", base_of(z),
                        z->stage == 3 ? 0 : p->group, m->kinds[kind]);
        if (!name || !heft_zero_row_text(z, z->optims, &row) ||
            (row && !heft_zero_add_whole(z, row, heft_str_of(name))))
            return false;
        if (row)
            z->model->storages[row->storage].is_pooled = true;
    }
    return true;
}

/* The vectors of one kind have names "BASE.G.KIND", unlike those of the weights. */
static bool add_vectors(struct moments *m, unsigned kind)
{
    struct heft_zero_vectors from = {
        .what = base_of(m->z), .key = m->kinds[kind], .is_padded = true};
    const char *suffix = heft_arena_printf(&m->z->scratch, m->z->err, ".%s", m->kinds[kind]);

    return suffix && heft_zero_collect(m->z, &from) && heft_zero_cut(m->z, &from, PREFIX, suffix);
}

static bool add_moments(struct moments *m)
{
    for (unsigned k = 0; k < m->n; k++)
        if (!(m->is_scalar[k] ? add_scalars : add_vectors)(m, k))
            return false;
    return !m->is_more || heft_model_tell(m->z->model, m->z->optims->source, m->z->err,
                                          "only the first %u kinds of moments are read", m->n);
}

bool heft_zero_add_optimizer(struct heft_zero *z)
{
    struct moments m = {.z = z};

    if (!collect_kinds(&m))
        return false;
    if (m.n == 0)
        return !z->wants_optimizer ||
               heft_model_tell(z->model, z->models->source, z->err,
                               "option " HEFT_ZERO_OPTIMIZER
                               ": the files have no moments where DeepSpeed puts them");
    return z->wants_optimizer ? add_moments(&m) : note_left_out(&m);
}
