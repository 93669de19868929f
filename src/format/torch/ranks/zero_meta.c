/* zero_meta.c: what the values of DeepSpeed's files say about the parameters.
 *
 *     model file       param_shapes         [{"w": (3, 5), …}, …], a dict for each param group
 *                      frozen_param_shapes  {"f": (3, 5)}, or None
 *     optimizer file   optimizer_state_dict {zero_stage: ZeroStageEnum(2) or 2,
 *                                            partition_count: [2, 2] or 2,
 *                                            param_alignment_paddings: [[5, 1], …]} */
#include "format/torch/ranks/zero.h"

const struct heft_value *heft_zero_member(const struct heft_value *in, const char *name)
{
    const struct heft_value *v = in ? in->first_child : NULL;

    while (v && !heft_str_is(heft_zero_key(v), name))
        v = v->next_sibling;
    return v;
}

/* ---- stage and ranks --------------------------------------------------------------------- */

static const struct heft_value *state_of(const struct heft_zero_file *file)
{
    return heft_zero_member(file->values, "optimizer_state_dict");
}

/* Reads an integer, or an enumeration member: an object that was made from (2,). */
static bool read_stage(const struct heft_value *v, uint64_t *out)
{
    if (v && v->kind == HEFT_VALUE_OPAQUE) {
        v = heft_zero_member(v, "args");
        v = v && v->kind == HEFT_VALUE_DICT ? heft_zero_member(v, "args") : v;
        v = heft_zero_is_list(v) ? v->first_child : v;
    }
    return heft_zero_number(v, out);
}

/* The partition count, or the largest of those of the groups. */
static bool read_count(const struct heft_value *v, uint64_t *out)
{
    uint64_t one;

    if (!heft_zero_is_list(v))
        return heft_zero_number(v, out);
    *out = 0;
    for (v = v->first_child; v; v = v->next_sibling) {
        if (!heft_zero_number(v, &one))
            return false;
        *out = heft_max_u64(*out, one);
    }
    return *out > 0;
}

static bool check_rank(struct heft_zero *z, const struct heft_zero_file *file)
{
    const struct heft_value *state = state_of(file);
    uint64_t stage, count;

    if (!heft_zero_member(state, "zero_stage"))
        return heft_zero_refuse(z, file,
                                "optimizer_state_dict has no zero_stage: not an optimizer file of "
                                "ZeRO (BF16_Optimizer has none)");
    if (!read_stage(heft_zero_member(state, "zero_stage"), &stage) || stage < 1 || stage > 3)
        return heft_zero_refuse(z, file, "zero_stage is not 1, 2 or 3");
    if (!read_count(heft_zero_member(state, "partition_count"), &count))
        return heft_zero_refuse(z, file, "partition_count is not a number, or a list of them");
    if (file == z->optims)
        z->stage = (uint32_t)stage;
    if (stage != z->stage)
        return heft_zero_refuse(z, file, "zero_stage is %" PRIu64 ", that of %.150s is %u", stage,
                                z->optims->name, z->stage);
    if (count != z->n_optims)
        return heft_zero_refuse(z, file,
                                "partition_count is %" PRIu64 ", the directory has %u "
                                "*_optim_states.pt: files are missing, or of another checkpoint",
                                count, z->n_optims);
    return true;
}

bool heft_zero_read_stage(struct heft_zero *z)
{
    for (uint32_t i = 0; i < z->n_optims; i++) {
        if (!check_rank(z, &z->optims[i]))
            return false;
        if (z->optims[i].rank != i)
            return heft_zero_refuse(z, &z->optims[i],
                                    "%u files *_optim_states.pt, but none of rank %u", z->n_optims,
                                    i);
    }
    return true;
}

/* ---- shapes ------------------------------------------------------------------------------ */

/* Fills shape, rank and the number of elements from a torch.Size. */
static bool read_shape(struct heft_zero *z, const struct heft_value *v, struct heft_zero_param *p)
{
    const uint64_t most = heft_min_u64(z->model->limits.rank, HEFT_ROW_DIMS);
    uint64_t *shape;
    size_t n = 0;

    if (!heft_zero_is_list(v))
        return false;
    for (const struct heft_value *d = v->first_child; d; d = d->next_sibling)
        n++;
    if (n > most)
        return false;
    shape = heft_arena_u64(&z->model->mem, n + 1, z->err);
    if (!shape)
        return false;
    p->shape = shape;
    p->rank = (uint8_t)n;
    p->n = 1;
    for (const struct heft_value *d = v->first_child; d; d = d->next_sibling, shape++)
        if (!heft_zero_number(d, shape) || !heft_mul(p->n, *shape, &p->n))
            return false;
    return p->n <= INT64_MAX / 4; /* bytes of F32 */
}

static bool add_param(struct heft_zero *z, const struct heft_value *v, uint32_t group,
                      struct heft_zero_params *to)
{
    struct heft_zero_param p = {.group = group, .name = heft_zero_key(v)};

    if (!read_shape(z, v, &p)) {
        if (z->err->code == HEFT_OK)
            heft_zero_refuse(z, z->models,
                             "its shape is not a torch.Size of dimensions that heft reads");
        return heft_error_about(z->err, "tensor", p.name);
    }
    p.name.p = heft_arena_text(&z->model->mem, p.name, z->err);
    if (!p.name.p || !heft_grow(&to->list, &to->cap, to->n, 1, sizeof *to->list, z->err))
        return false;
    to->list[to->n++] = p;
    return true;
}

static bool add_shapes(struct heft_zero *z, const struct heft_value *dict, uint32_t group,
                       struct heft_zero_params *to)
{
    if (dict->kind != HEFT_VALUE_DICT)
        return heft_zero_refuse(z, z->models, "%.60s is not a dict of names and shapes",
                                to == &z->frozen ? "frozen_param_shapes"
                                                 : "a group of param_shapes");
    for (const struct heft_value *v = dict->first_child; v; v = v->next_sibling)
        if (!add_param(z, v, group, to))
            return false;
    return true;
}

/* Reads the paddings behind the parameters of one group. */
static bool read_paddings(struct heft_zero *z, const struct heft_value *group, size_t first)
{
    const struct heft_value *v = heft_zero_is_list(group) ? group->first_child : NULL;
    size_t i = first;

    for (; v && i < z->params.n; v = v->next_sibling)
        if (!heft_zero_number(v, &z->params.list[i++].padding) || v->as.integer > INT64_MAX / 4)
            break;
    return (!v && i == z->params.n) ||
           heft_zero_refuse(z, z->optims,
                            "param_alignment_paddings are not a number for each of the %zu "
                            "parameters of group %u",
                            z->params.n - first, z->n_groups);
}

bool heft_zero_read_params(struct heft_zero *z)
{
    const struct heft_value *values = z->models->values;
    const struct heft_value *groups = heft_zero_member(values, "param_shapes");
    const struct heft_value *frozen = heft_zero_member(values, "frozen_param_shapes");
    const struct heft_value *padding =
        z->n_optims ? heft_zero_member(state_of(z->optims), "param_alignment_paddings") : NULL;
    const bool is_padded = heft_zero_is_list(padding) && z->stage < 3;

    if (!heft_zero_is_list(heft_zero_member(values, "buffer_names")) ||
        (!heft_zero_is_list(groups) && z->stage > 0))
        return heft_zero_refuse(z, z->models,
                                "not a model file of DeepSpeed: buffer_names or param_shapes is "
                                "missing or has another type");
    padding = is_padded ? padding->first_child : NULL;
    if (z->stage == 0 && !heft_zero_is_list(groups)) /* None: module is whole */
        return true;
    for (const struct heft_value *g = groups->first_child; g; g = g->next_sibling) {
        const size_t first = z->params.n;

        if (!add_shapes(z, g, z->n_groups, &z->params) ||
            (is_padded && !read_paddings(z, padding, first)))
            return false;
        padding = padding ? padding->next_sibling : NULL;
        z->n_groups++;
    }
    return !frozen || frozen->kind == HEFT_VALUE_NULL || add_shapes(z, frozen, 0, &z->frozen);
}
