/* py_convert.c: converts a checkpoint, for heft/convert.py. */
#include "py_handle.h"
#include "py_job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct conversion {
    struct py_job job;
    struct heft_checkpoint *c;
    struct heft_convert_options how;
    struct heft_conversion *made;
    struct heft_rule_use *uses;
    bool dry_run, verify;
    uint64_t overflowed;
};

/* Deletes an output that differs from its source. */
static void remove_files(const struct heft_conversion *made)
{
    struct heft_file file = HEFT_INIT(struct heft_file);

    for (size_t i = 0; heft_convert_file(made, i, &file); i++)
        (void)remove(file.path);
}

static bool check_output(struct conversion *v, struct heft_error *err)
{
    if (!v->verify || heft_convert_check(v->made, err))
        return true;
    if (err->code == HEFT_MISMATCH)
        remove_files(v->made);
    return false;
}

static bool work(void *ctx, struct heft_error *err)
{
    struct conversion *const v = ctx;

    if (v->how.n_rules > 0 &&
        !heft_rule_matches(v->c, v->how.root, v->how.rules, v->how.n_rules, v->uses, err))
        return false;
    v->made = heft_convert_plan(v->c, &v->how, err);
    return v->made &&
           (v->dry_run || (heft_convert_run(v->made, &v->overflowed, err) && check_output(v, err)));
}

/* ---- the result ---- */

static PyObject *list_files(const struct heft_conversion *made)
{
    PyObject *const list = PyList_New(0);
    struct heft_file file = HEFT_INIT(struct heft_file);
    bool ok = list;

    for (size_t i = 0; ok && heft_convert_file(made, i, &file); i++)
        ok = py_append(list, Py_BuildValue("NK", PyUnicode_DecodeFSDefault(file.path),
                                           (unsigned long long)file.bytes));
    return ok ? list : (Py_XDECREF(list), NULL);
}

/* Names of the sources of a tensor, if rules files made it. */
static PyObject *sources_of(const struct heft_planned_tensor *t)
{
    PyObject *const list = PyList_New(0);
    bool ok = list;

    for (size_t i = 0; ok && i < t->n_sources; i++)
        ok = py_append(list, py_str(t->sources[i], strlen(t->sources[i])));
    return ok ? list : (Py_XDECREF(list), NULL);
}

/* [(name, name in the source, index of the file, dtype, offset, bytes, names of sources, rules file or None,
 * line)] */
static PyObject *list_tensors(const struct heft_conversion *made)
{
    PyObject *const list = PyList_New(0);
    struct heft_planned_tensor t = HEFT_INIT(struct heft_planned_tensor);
    bool ok = list;

    for (size_t i = 0; ok && heft_convert_tensor(made, i, &t); i++)
        ok = py_append(list,
                       Py_BuildValue("NNnsKKNzK", py_str(t.name, strlen(t.name)),
                                     py_str(t.source_name, strlen(t.source_name)),
                                     (Py_ssize_t)t.file, heft_dtype_name(t.dtype),
                                     (unsigned long long)t.offset, (unsigned long long)t.bytes,
                                     sources_of(&t), t.rule_file, (unsigned long long)t.rule_line));
    return ok ? list : (Py_XDECREF(list), NULL);
}

static PyObject *list_notes(const struct heft_conversion *made)
{
    const size_t n = heft_convert_note_count(made);
    PyObject *const list = PyList_New(0);
    bool ok = list;

    for (size_t i = 0; ok && i < n; i++) {
        const char *const note = heft_convert_note(made, i);

        ok = py_append(list, py_str(note, strlen(note)));
    }
    return ok ? list : (Py_XDECREF(list), NULL);
}

static PyObject *list_lost(const struct heft_conversion *made)
{
    PyObject *const list = PyList_New(0);
    struct heft_unread lost = HEFT_INIT(struct heft_unread);
    bool ok = list;

    for (size_t i = 0; ok && heft_convert_lost_at(made, i, &lost); i++)
        ok = py_append(list, Py_BuildValue("NN", py_str(lost.name, strlen(lost.name)),
                                           py_str(lost.reason, strlen(lost.reason))));
    return ok ? list : (Py_XDECREF(list), NULL);
}

/* [(matches, values, left alone)] by rule */
static PyObject *list_uses(const struct conversion *v)
{
    PyObject *const list = PyList_New(0);
    bool ok = list;

    for (size_t i = 0; ok && i < v->how.n_rules; i++)
        ok = py_append(list, Py_BuildValue("KKK", (unsigned long long)v->uses[i].matches,
                                           (unsigned long long)v->uses[i].values,
                                           (unsigned long long)v->uses[i].left_alone));
    return ok ? list : (Py_XDECREF(list), NULL);
}

static PyObject *result_of(const struct conversion *v)
{
    struct heft_planned planned = HEFT_INIT(struct heft_planned);

    heft_convert_summary(v->made, &planned);
    return Py_BuildValue(
        "{sNsNsNsNsNsKsKsOsK}", "files", list_files(v->made), "tensors", list_tensors(v->made),
        "notes", list_notes(v->made), "lost", list_lost(v->made), "uses", list_uses(v), "bytes",
        (unsigned long long)planned.bytes, "total_size", (unsigned long long)planned.total_size,
        "is_sharded", planned.is_sharded ? Py_True : Py_False, "overflowed",
        (unsigned long long)v->overflowed);
}

/* ---- the arguments ---- */

/* Options as a tuple: (output, to, root, filename_pattern, max_shard_size or None, threads, allow_empty,
 * overwrite, no_sync, no_verify, strict, salvage, dry_run, verify, dequantize, ignore_scales, gptq_zero). */
static bool take_options(struct conversion *v, PyObject *tuple, PyObject **output)
{
    struct heft_convert_options *const how = &v->how;
    PyObject *path, *shard;
    int empty, overwrite, no_sync, no_verify, strict, salvage, dry_run, verify, ignore_scales;

    if (!PyArg_ParseTuple(tuple, "OzzzOIppppppppzpz", &path, &how->to, &how->root,
                          &how->filename_pattern, &shard, &how->threads, &empty, &overwrite,
                          &no_sync, &no_verify, &strict, &salvage, &dry_run, &verify,
                          &how->dequantize, &ignore_scales, &how->gptq_zero) ||
        !PyUnicode_FSConverter(path, output))
        return false;
    how->output = PyBytes_AsString(*output);
    how->sharded = shard != Py_None;
    how->max_shard_size = how->sharded ? PyLong_AsUnsignedLongLong(shard) : 0;
    how->allow_empty = empty;
    how->overwrite = overwrite;
    how->no_sync = no_sync;
    how->no_verify = no_verify;
    how->strict = strict;
    how->salvage = salvage;
    how->ignore_scales = ignore_scales;
    v->dry_run = dry_run;
    v->verify = verify;
    return !PyErr_Occurred();
}

/* convert(options, rules, format options, progress) → dict */
PyObject *py_handle_convert(PyObject *self, PyObject *args)
{
    struct conversion v = {.c = ((struct py_handle *)self)->c, .how = {.size = sizeof v.how}};
    PyObject *tuple, *rules, *options, *output = NULL, *result = NULL;
    struct heft_rule *rule_items = NULL;
    struct heft_option *option_items = NULL;
    struct heft_error err = {0};

    if (!PyArg_ParseTuple(args, "OOOO", &tuple, &rules, &options, &v.job.progress))
        return NULL;
    v.job.work = work;
    v.job.handles[0] = (struct py_handle *)self;
    v.job.ctx = &v;
    v.how.progress = py_job_step;
    v.how.progress_ctx = &v.job;
    if (take_options(&v, tuple, &output) && py_rules_take(&rule_items, &v.how.n_rules, rules) &&
        py_options_take(&option_items, &v.how.n_format_options, options)) {
        v.how.rules = rule_items;
        v.how.format_options = option_items;
        v.uses = calloc(v.how.n_rules + 1, sizeof *v.uses);
        for (size_t i = 0; v.uses && i < v.how.n_rules; i++)
            v.uses[i].size = sizeof *v.uses;
        if (!v.uses)
            PyErr_NoMemory();
        else if (py_job_run(&v.job, &err))
            result = result_of(&v);
    }
    heft_convert_free(v.made);
    free(v.uses);
    free(rule_items);
    free(option_items);
    Py_XDECREF(output);
    return result;
}
