/* tf_restore_uses.c: users of the restore trace: findings for verify, "variables" for info, and the
 * keys that a checkpoint must hold for writers. */
#include "format/tensorflow/bundle/tf_parts.h"
#include "format/tensorflow/saved_model/tf_saved.h"

/* True for errors that are the fault of the file: they become findings. */
static bool is_fault(const struct heft_error *err)
{
    return err->code == HEFT_MALFORMED || err->code == HEFT_LIMIT || err->code == HEFT_UNSUPPORTED;
}

/* ---- findings for verify ---- */

struct verifying {
    const struct heft_model *model;
    const struct heft_tf_saved *saved;
    const struct heft_reporter *to;
    uint8_t *used;
    uint32_t source;
    struct heft_error *err;
    bool is_whole; /* all metagraphs could be followed */
};

static void tell_all(const struct verifying *v, const struct heft_tf_restore *r)
{
    for (size_t i = 0; i < r->n_findings; i++)
        v->to->report(v->to->ctx, r->findings[i].severity, r->findings[i].source,
                      r->findings[i].where, r->findings[i].text);
}

static bool verify_graph(struct verifying *v, size_t number)
{
    const bool is_last = number + 1 == v->saved->n_graphs;
    struct heft_error found = {0};
    struct heft_tf_restore r;
    const bool ok = heft_tf_restore_open(&r, v->model, v->source, v->saved, number, &found) &&
                    heft_tf_restore_judge(&r, v->used) &&
                    (!is_last || !v->is_whole || heft_tf_restore_unused(&r, v->used));

    tell_all(v, &r);
    heft_tf_restore_close(&r);
    if (ok)
        return true;
    if (!is_fault(&found)) {
        *v->err = found;
        return false;
    }
    v->is_whole = false;
    v->to->report(v->to->ctx, HEFT_FINDING, v->source, found.offset, found.text);
    return true;
}

bool heft_tf_restore_verify(const struct heft_model *model, uint32_t source,
                            const struct heft_reporter *to, struct heft_error *err)
{
    struct heft_arena mem = {0};
    struct heft_tf_saved saved = {0};
    struct verifying v = {
        .model = model, .saved = &saved, .to = to, .source = source, .err = err, .is_whole = true};
    bool ok = heft_tf_saved_read(&saved, &model->sources[source].source, &mem, err);

    v.used = ok ? heft_calloc(model->n_rows + 1, 1, err) : NULL;
    ok = v.used != NULL;
    for (size_t i = 0; ok && i < saved.n_graphs && saved.form.kind != HEFT_TF_GRAPH_DEF; i++)
        ok = verify_graph(&v, i);
    heft_free(v.used);
    heft_tf_saved_release(&saved);
    heft_arena_release(&mem);
    return ok;
}

/* ---- keys that a checkpoint must contain ---- */

static bool keep_shape(struct heft_tf_wants *w, struct heft_tf_wanted *wanted, unsigned rank,
                       const uint64_t *dims, struct heft_error *err)
{
    uint64_t *const shape = heft_arena_copy_u64(&w->mem, dims, rank, err);

    if (!shape)
        return false;
    wanted->shape = shape;
    wanted->rank = rank;
    wanted->has_shape = true;
    return true;
}

static bool is_known(const struct heft_tf_target *target)
{
    bool known = target->has_shape && !target->is_reshaped;

    for (uint32_t i = 0; known && i < target->shape.rank; i++)
        known = target->shape.dims[i] >= 0;
    return known;
}

/* Shape of the whole tensor: from the slice spec, else the variable's own. */
static bool want_shape(struct heft_tf_wants *w, struct heft_tf_wanted *wanted,
                       const struct heft_tf_name *name, const struct heft_tf_target *target,
                       struct heft_error *err)
{
    struct heft_tf_spec spec;
    const char *why;

    if (wanted->has_shape)
        return true;
    if (name->spec.n && heft_tf_spec_parse(name->spec, &spec, &why))
        return keep_shape(w, wanted, spec.rank, spec.shape, err);
    if (name->spec.n || !target || !is_known(target))
        return true;
    return keep_shape(w, wanted, target->shape.rank, (const uint64_t *)target->shape.dims, err);
}

static bool add_wanted(struct heft_tf_wants *w, const struct heft_tf_name *name,
                       const struct heft_tf_target *target, struct heft_error *err)
{
    uint32_t at = heft_strmap_get(&w->keys, name->key), found;
    struct heft_tf_wanted *wanted;
    char *key, *variable;

    if (heft_str_is(name->key, HEFT_TF_OBJECT_KEY))
        return true;
    if (at == HEFT_MAP_NONE) {
        at = (uint32_t)w->n;
        key = heft_arena_text(&w->mem, name->key, err);
        if (!key || !heft_grow(&w->list, &w->cap, w->n, 1, sizeof *w->list, err))
            return false;
        w->list[w->n++] = (struct heft_tf_wanted){
            .key = {key, name->key.n}, .dtype = name->dtype, .variable = HEFT_STR("")};
        if (!heft_strmap_add(&w->keys, w->list[at].key, at, &found, err))
            return false;
    }
    wanted = &w->list[at];
    if (target && wanted->variable.n == 0) {
        variable = heft_arena_text(&w->mem, target->variable, err);
        if (!variable)
            return false;
        wanted->variable = (struct heft_str){variable, target->variable.n};
    }
    return want_shape(w, wanted, name, target, err);
}

static bool add_all_wanted(struct heft_tf_wants *w, const struct heft_tf_restore *r,
                           struct heft_error *err)
{
    for (size_t i = 0; i < r->n_reads; i++)
        for (uint32_t k = 0; k < r->reads[i].n; k++)
            if (!add_wanted(w, &r->reads[i].names[k], NULL, err))
                return false;
    for (size_t i = 0; i < r->n_targets; i++)
        if (!add_wanted(w, r->targets[i].name, &r->targets[i], err))
            return false;
    return true;
}

/* ---- variables, for info ---- */

/* Adds the shape: the extent of a slice, the shape a variable states, else null. */
static bool add_shape(struct heft_tf_saving *s, struct heft_node *in,
                      const struct heft_tf_target *target)
{
    const struct heft_tf_shape unknown = {.unknown_rank = true};

    return heft_tf_file_info_shape(&s->model->mem, in,
                                   target->has_shape ? &target->shape : &unknown, s->err);
}

static bool add_text(struct heft_tf_saving *s, struct heft_node *in, struct heft_str key,
                     struct heft_str raw)
{
    return heft_tree_text(&s->model->mem, in, key, raw, s->err);
}

static bool add_variable(struct heft_tf_saving *s, struct heft_node *list,
                         const struct heft_tf_target *target)
{
    struct heft_arena *const mem = &s->model->mem;
    struct heft_node *const in = heft_tree_dict(mem, list, HEFT_STR(""), s->err);
    const uint32_t dtype = target->dtype ? target->dtype : target->name->dtype;

    return in && add_text(s, in, HEFT_STR("variable"), target->variable) &&
           (*target->role == '\0' ||
            add_text(s, in, HEFT_STR("role"), heft_str_of(target->role))) &&
           add_text(s, in, HEFT_STR("key"), target->name->key) &&
           add_text(s, in, HEFT_STR("slice"), target->name->spec) &&
           heft_tf_file_info_dtype(mem, in, dtype, s->err) && add_shape(s, in, target);
}

bool heft_tf_restore_file_info(struct heft_tf_saving *s, size_t number, struct heft_node *in)
{
    struct heft_node *const list =
        heft_tree_list(&s->model->mem, in, HEFT_STR("variables"), s->err);
    const struct heft_tf_saver *const saver = &s->saved->graphs[number].saver;
    struct heft_error found = {0};
    struct heft_tf_restore r;
    bool ok = list != NULL;

    if (!ok || !saver->present || saver->restore_op.n == 0)
        return ok;
    if (heft_tf_restore_open(&r, s->model, s->source, s->saved, number, &found)) {
        s->n_names += r.n_names;
        ok = add_all_wanted(s->wants, &r, s->err);
        for (size_t i = 0; ok && i < r.n_targets; i++)
            ok = add_variable(s, list, &r.targets[i]);
    } else if (is_fault(&found)) {
        s->is_unfollowed = true;
    } else {
        *s->err = found;
        ok = false;
    }
    heft_tf_restore_close(&r);
    return ok;
}

/* ---- for writers ---- */

bool heft_tf_restore_expect(struct heft_tf_wants *w, const struct heft_model *model,
                            uint32_t source, struct heft_error *err)
{
    struct heft_arena mem = {0};
    struct heft_tf_saved saved = {0};
    bool ok = heft_tf_saved_read(&saved, &model->sources[source].source, &mem, err);

    *w = (struct heft_tf_wants){0};
    for (size_t i = 0; ok && i < saved.n_graphs; i++) {
        struct heft_tf_restore r;

        ok = heft_tf_restore_open(&r, model, source, &saved, i, err) && add_all_wanted(w, &r, err);
        heft_tf_restore_close(&r);
    }
    heft_tf_saved_release(&saved);
    heft_arena_release(&mem);
    return ok;
}

bool heft_tf_restore_fits(const struct heft_tf_wants *w, struct heft_str key, enum heft_dtype dtype,
                          unsigned rank, const uint64_t *shape, struct heft_error *err)
{
    const uint32_t at = heft_strmap_get(&w->keys, key);
    const struct heft_tf_wanted *const wanted = at == HEFT_MAP_NONE ? NULL : &w->list[at];
    const struct heft_tf_dtype *const asked = wanted ? heft_tf_dtype(wanted->dtype) : NULL;

    if (asked && asked->number && asked->dtype != dtype)
        return heft_fail(err, HEFT_MISMATCH, HEFT_NO_OFFSET, "\"%.*s\" is %s, the model expects %s",
                         (int)key.n, key.p, heft_dtype_name(dtype),
                         asked->dtype == HEFT_DTYPE_COUNT
                             ? asked->name
                             : heft_dtype_name((enum heft_dtype)asked->dtype));
    if (!wanted || !wanted->has_shape ||
        (wanted->rank == rank &&
         (rank == 0 || memcmp(wanted->shape, shape, rank * sizeof *shape) == 0)))
        return true;
    return heft_fail(err, HEFT_MISMATCH, HEFT_NO_OFFSET,
                     "\"%.*s\" has another shape than the model's variable \"%.*s\"", (int)key.n,
                     key.p, (int)wanted->variable.n, wanted->variable.p);
}

void heft_tf_wants_release(struct heft_tf_wants *w)
{
    heft_free(w->list);
    heft_strmap_release(&w->keys);
    heft_arena_release(&w->mem);
    *w = (struct heft_tf_wants){0};
}
