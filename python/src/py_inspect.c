/* py_inspect.c: verifies, measures and scans, for heft/inspect.py.
 *
 * The callbacks of libheft run in the job's thread: they take the GIL and append tuples to a list. */
#include "py_handle.h"
#include "py_job.h"

#include <stdlib.h>
#include <string.h>

/* A list that callbacks append to. */
struct collection {
    struct py_job job;
    PyObject *list;
    bool failed; /* memory was short: the result is not complete */
};

/* Appends the item that make() builds; false if that failed. */
static bool collect(struct collection *to, PyObject *(*make)(const void *item), const void *item)
{
    const PyGILState_STATE state = PyGILState_Ensure();

    if (!to->failed && !py_append(to->list, make(item))) {
        PyErr_Clear(); /* of another thread than that of the caller, which raises MemoryError */
        to->failed = true;
    }
    PyGILState_Release(state);
    return !to->failed;
}

/* Runs the job; the list, or NULL with an exception set. */
static PyObject *run_collection(struct collection *to)
{
    struct heft_error err = {0};
    bool ok;

    to->list = PyList_New(0);
    if (!to->list)
        return NULL;
    ok = py_job_run(&to->job, &err);
    if (ok && to->failed)
        PyErr_NoMemory();
    if (!ok || to->failed)
        Py_CLEAR(to->list);
    return to->list;
}

static PyObject *offset_of(uint64_t offset)
{
    return offset == HEFT_NO_OFFSET ? Py_NewRef(Py_None) : PyLong_FromUnsignedLongLong(offset);
}

static PyObject *path_or_none(const char *path)
{
    return path && path[0] ? PyUnicode_DecodeFSDefault(path) : Py_NewRef(Py_None);
}

/* ---- verify ---- */

struct verification {
    struct collection all;
    struct heft_checkpoint *c;
    struct heft_verify_options how;
};

static PyObject *make_finding(const void *item)
{
    const struct heft_finding *const f = item;

    return Py_BuildValue("sNNN", f->severity == HEFT_FINDING ? "finding" : "note",
                         path_or_none(f->file), offset_of(f->offset),
                         py_str(f->text, strlen(f->text)));
}

static void each_finding(void *ctx, const struct heft_finding *finding)
{
    collect(ctx, make_finding, finding);
}

static bool work_verify(void *ctx, struct heft_error *err)
{
    struct verification *const v = ctx;

    return heft_verify(v->c, &v->how, each_finding, &v->all, err);
}

/* verify(threads, progress) → [(severity, file, offset, text)] */
PyObject *py_handle_verify(PyObject *self, PyObject *args)
{
    struct verification v = {.c = ((struct py_handle *)self)->c, .how = {.size = sizeof v.how}};

    if (!PyArg_ParseTuple(args, "IO", &v.how.threads, &v.all.job.progress))
        return NULL;
    v.how.progress = py_job_step;
    v.how.progress_ctx = &v.all.job;
    v.all.job.work = work_verify;
    v.all.job.handles[0] = (struct py_handle *)self;
    v.all.job.ctx = &v;
    return run_collection(&v.all);
}

/* ---- statistics ---- */

struct measurement {
    struct collection all;
    struct heft_checkpoint *c;
    const char *root;
    struct heft_rule *rules;
    size_t n_rules;
    struct heft_stats_options how;
};

/* Integer of a statistic, exact, or the float. */
static PyObject *exact(const struct heft_tensor_stats *s, union heft_stats_integer integer,
                       double number)
{
    if (s->kind == HEFT_STATS_SIGNED)
        return PyLong_FromLongLong(integer.i);
    if (s->kind == HEFT_STATS_UNSIGNED)
        return PyLong_FromUnsignedLongLong(integer.u);
    return PyFloat_FromDouble(number);
}

static PyObject *make_stats(const void *item)
{
    const struct heft_tensor_stats *const s = item;
    const union heft_stats_integer magnitude = {.u = s->exact_abs_max};
    const bool is_whole = s->kind == HEFT_STATS_SIGNED || s->kind == HEFT_STATS_UNSIGNED;

    return Py_BuildValue(
        "niKKKKKNNddN", (Py_ssize_t)s->tensor, s->kind != HEFT_STATS_NONE,
        (unsigned long long)s->elements, (unsigned long long)s->zeros, (unsigned long long)s->nan,
        (unsigned long long)s->inf, (unsigned long long)s->finite, exact(s, s->exact_min, s->min),
        exact(s, s->exact_max, s->max), s->mean, s->std,
        is_whole ? PyLong_FromUnsignedLongLong(magnitude.u) : PyFloat_FromDouble(s->abs_max));
}

static bool each_stats(void *ctx, const struct heft_tensor_stats *stats)
{
    return collect(ctx, make_stats, stats);
}

static bool work_stats(void *ctx, struct heft_error *err)
{
    struct measurement *const m = ctx;
    const size_t n = heft_tensor_count(m->c);
    bool *const selected = calloc(n + 1, sizeof *selected);
    bool ok;

    if (!selected) {
        err->code = HEFT_NOMEM;
        return false;
    }
    m->how.selected = selected;
    ok = heft_select(m->c, m->root, m->rules, m->n_rules, selected, err) &&
         heft_stats(m->c, &m->how, each_stats, &m->all, err);
    free(selected);
    return ok;
}

/* stats(root, rules, threads, progress) → [(index, is measured, elements, zeros, nan, inf, finite, min, max,
 * mean, std, abs_max)] */
PyObject *py_handle_stats(PyObject *self, PyObject *args)
{
    struct measurement m = {.c = ((struct py_handle *)self)->c, .how = {.size = sizeof m.how}};
    PyObject *rules, *list = NULL;

    if (!PyArg_ParseTuple(args, "zOIO", &m.root, &rules, &m.how.threads, &m.all.job.progress))
        return NULL;
    m.how.progress = py_job_step;
    m.how.progress_ctx = &m.all.job;
    m.all.job.work = work_stats;
    m.all.job.handles[0] = (struct py_handle *)self;
    m.all.job.ctx = &m;
    if (py_rules_take(&m.rules, &m.n_rules, rules))
        list = run_collection(&m.all);
    free(m.rules);
    return list;
}

/* ---- scan ---- */

struct scan {
    struct collection all;
    const char *path;
};

static PyObject *make_scan_item(const void *item)
{
    static const char *const dangers[] = {
        [HEFT_ALLOWED] = "allowed", [HEFT_UNKNOWN] = "unknown", [HEFT_DANGER] = "danger"};
    const struct heft_scan_item *const s = item;

    return Py_BuildValue("sNNNNsN", dangers[s->danger], path_or_none(s->file),
                         py_str(s->record, strlen(s->record)), offset_of(s->offset),
                         offset_of(s->position), s->what, py_str(s->name, strlen(s->name)));
}

static void each_item(void *ctx, const struct heft_scan_item *item)
{
    collect(ctx, make_scan_item, item);
}

/* A file that could not be judged completely is an item, so that an empty list means: nothing found. */
static void each_result(void *ctx, const struct heft_scan_result *result)
{
    const char *const reason = result->trouble ? result->trouble->text : result->kind;
    const struct heft_scan_item item = {
        .danger = HEFT_UNKNOWN,
        .file = result->file,
        .record = "",
        .offset = result->trouble ? result->trouble->offset : HEFT_NO_OFFSET,
        .position = HEFT_NO_OFFSET,
        .what = "not judged",
        .name = reason ? reason : "",
    };

    if (!result->judged)
        collect(ctx, make_scan_item, &item);
}

static bool work_scan(void *ctx, struct heft_error *err)
{
    struct scan *const s = ctx;
    const struct heft_scan_visitor visitor = {
        .size = sizeof visitor, .item = each_item, .result = each_result, .ctx = &s->all};

    return heft_scan_tree(s->path, NULL, &visitor, err);
}

/* scan(path) → [(danger, file, record, offset, position, what, name)] */
PyObject *py_scan(PyObject *module, PyObject *args)
{
    struct scan s = {0};
    PyObject *path = NULL, *list;

    (void)module;
    if (!PyArg_ParseTuple(args, "O&", PyUnicode_FSConverter, &path))
        return NULL;
    s.path = PyBytes_AsString(path);
    s.all.job.work = work_scan;
    s.all.job.ctx = &s;
    list = run_collection(&s.all);
    Py_DECREF(path);
    return list;
}
