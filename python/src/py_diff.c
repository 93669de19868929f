/* py_diff.c: compares two checkpoints, for heft/inspect.py. */
#include "py_handle.h"
#include "py_job.h"

#include <stdlib.h>
#include <string.h>

struct comparison {
    struct py_job job;
    struct py_handle *a, *b;
    struct heft_diff_options how;
    struct heft_diff_visitor visitor;
    struct heft_diff_result result;
    PyObject *tensors, *metadata, *values, *make;
    bool failed;
};

static const char *const KINDS[] = {
    [HEFT_DIFF_ONLY_A] = "only a", [HEFT_DIFF_ONLY_B] = "only b", [HEFT_DIFF_BOTH] = "differ"};

/* Appends the item with the GIL held; false stops. */
static bool append(struct comparison *d, PyObject *list, PyObject *item)
{
    if (!py_append(list, item)) {
        PyErr_Clear();
        d->failed = true;
    }
    return !d->failed;
}

static PyObject *side_of(const struct heft_diff_side *side, bool exists)
{
    return exists ? Py_BuildValue("sN", heft_dtype_name(side->dtype),
                                  py_numbers(side->shape, side->rank))
                  : Py_NewRef(Py_None);
}

static PyObject *figures_of(const struct heft_diff_item *item)
{
    return item->has_figures ? Py_BuildValue("ddN", item->max_abs, item->mean_abs,
                                             py_numbers(item->max_abs_at, item->a.rank))
                             : Py_NewRef(Py_None);
}

/* (kind, name, is blob, a, b, values differ, elements, differing or None, figures, (nan, inf) of a and b) */
static bool each_tensor(void *ctx, const struct heft_diff_item *i)
{
    struct comparison *const d = ctx;
    const PyGILState_STATE state = PyGILState_Ensure();
    PyObject *const differing = i->values_differ && i->is_counted
                                    ? PyLong_FromUnsignedLongLong(i->differing)
                                    : Py_NewRef(Py_None);
    const bool goes_on = append(
        d, d->tensors,
        Py_BuildValue("sNNNNNKNN(KKKK)", KINDS[i->kind], py_str(i->name, i->name_len),
                      PyBool_FromLong(i->blob != NULL), side_of(&i->a, i->kind != HEFT_DIFF_ONLY_B),
                      side_of(&i->b, i->kind != HEFT_DIFF_ONLY_A),
                      PyBool_FromLong(i->values_differ), (unsigned long long)i->elements, differing,
                      figures_of(i), (unsigned long long)i->nan_a, (unsigned long long)i->nan_b,
                      (unsigned long long)i->inf_a, (unsigned long long)i->inf_b));

    PyGILState_Release(state);
    return goes_on;
}

static bool each_pair(void *ctx, const struct heft_diff_pair *pair)
{
    struct comparison *const d = ctx;
    const PyGILState_STATE state = PyGILState_Ensure();
    const bool goes_on =
        append(d, d->metadata,
               Py_BuildValue("sNNN", KINDS[pair->kind], py_str(pair->key, pair->key_len),
                             pair->a ? py_str(pair->a, pair->a_len) : Py_NewRef(Py_None),
                             pair->b ? py_str(pair->b, pair->b_len) : Py_NewRef(Py_None)));

    PyGILState_Release(state);
    return goes_on;
}

static bool each_value(void *ctx, const struct heft_diff_value *value)
{
    struct comparison *const d = ctx;
    const PyGILState_STATE state = PyGILState_Ensure();
    const bool goes_on = append(
        d, d->values,
        Py_BuildValue("sNNN", KINDS[value->kind], py_str(value->path, value->path_len),
                      py_tree(d->a->c, value->a, d->make), py_tree(d->b->c, value->b, d->make)));

    PyGILState_Release(state);
    return goes_on;
}

static bool work(void *ctx, struct heft_error *err)
{
    struct comparison *const d = ctx;

    return heft_diff(d->a->c, d->b->c, &d->how, &d->visitor, &d->result, err);
}

static PyObject *counts_of(const struct heft_diff_counts *c)
{
    return Py_BuildValue("KKKK", (unsigned long long)c->equal, (unsigned long long)c->differ,
                         (unsigned long long)c->only_a, (unsigned long long)c->only_b);
}

static PyObject *run_comparison(struct comparison *d)
{
    struct heft_error err = {0};
    PyObject *result = NULL;

    d->tensors = PyList_New(0);
    d->metadata = PyList_New(0);
    d->values = PyList_New(0);
    if (d->tensors && d->metadata && d->values && py_job_run(&d->job, &err)) {
        if (d->failed)
            PyErr_NoMemory();
        else
            result = Py_BuildValue("NNNOOO", counts_of(&d->result.tensors),
                                   counts_of(&d->result.metadata), counts_of(&d->result.values),
                                   d->tensors, d->metadata, d->values);
    }
    Py_XDECREF(d->tensors);
    Py_XDECREF(d->metadata);
    Py_XDECREF(d->values);
    return result;
}

/* diff(a, b, structure, atol or None, rtol or None, metadata, root, rules, threads, progress, make) */
PyObject *py_diff(PyObject *module, PyObject *args)
{
    struct comparison d = {.how = {.size = sizeof d.how},
                           .visitor = {.size = sizeof d.visitor,
                                       .tensor = each_tensor,
                                       .metadata = each_pair,
                                       .value = each_value,
                                       .ctx = &d},
                           .result = {.size = sizeof d.result}};
    PyObject *a, *b, *atol, *rtol, *rules, *result = NULL;
    struct heft_rule *items = NULL;
    int structure, metadata;

    (void)module;
    if (!PyArg_ParseTuple(args, "OOpOOpzOIOO", &a, &b, &structure, &atol, &rtol, &metadata,
                          &d.how.root, &rules, &d.how.threads, &d.job.progress, &d.make))
        return NULL;
    d.a = (struct py_handle *)a;
    d.b = (struct py_handle *)b;
    d.how.structure = structure;
    d.how.metadata = metadata;
    d.how.has_tolerance = atol != Py_None || rtol != Py_None;
    d.how.atol = atol == Py_None ? 0 : PyFloat_AsDouble(atol);
    d.how.rtol = rtol == Py_None ? 0 : PyFloat_AsDouble(rtol);
    d.how.progress = py_job_step;
    d.how.progress_ctx = &d.job;
    d.job.work = work;
    d.job.handles[0] = d.a;
    d.job.handles[1] = d.b;
    d.job.ctx = &d;
    if (!PyErr_Occurred() && py_rules_take(&items, &d.how.n_rules, rules)) {
        d.how.rules = items;
        result = run_comparison(&d);
    }
    free(items);
    return result;
}
