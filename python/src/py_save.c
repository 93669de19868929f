/* py_save.c: saves tensors that lie in memory, for heft/saving.py. */
#include "py_handle.h"
#include "py_job.h"

#include <stdlib.h>
#include <string.h>

/* Tensors to be saved, and what they refer to. */
struct saving {
    struct py_job job;
    struct heft_own_tensor *tensors;
    uint64_t **numbers; /* by tensor: its shape, then its strides if it has any */
    Py_buffer *views;   /* by tensor: of its buffer; obj is NULL if it has an address */
    size_t n;
    struct heft_metadata *metadata;
    size_t n_metadata;
    struct heft_convert_options how;
};

static bool work(void *ctx, struct heft_error *err)
{
    const struct saving *const s = ctx;

    return heft_save(s->tensors, s->n, s->metadata, s->n_metadata, &s->how, err);
}

/* ---- tensors ---- */

static bool take_numbers(uint64_t *out, PyObject *tuple, size_t n)
{
    if (PyTuple_Size(tuple) != (Py_ssize_t)n) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_ValueError, "a tensor has as many strides as dimensions");
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        out[i] = PyLong_AsUnsignedLongLong(PyTuple_GetItem(tuple, (Py_ssize_t)i));
        if (out[i] == UINT64_MAX && PyErr_Occurred())
            return false;
    }
    return true;
}

/* Sets the shape, and the strides unless they are None, of the next tensor. */
static bool take_layout(struct saving *s, PyObject *shape, PyObject *strides)
{
    struct heft_own_tensor *const t = &s->tensors[s->n];
    const Py_ssize_t rank = PyTuple_Size(shape);
    uint64_t *numbers;

    if (rank < 0)
        return false;
    numbers = s->numbers[s->n] = calloc(2 * (size_t)rank + 1, sizeof *numbers);
    if (!numbers)
        return PyErr_NoMemory() != NULL;
    t->rank = (unsigned)rank;
    t->shape = numbers;
    if (strides != Py_None)
        t->strides = numbers + rank;
    return take_numbers(numbers, shape, (size_t)rank) &&
           (strides == Py_None || take_numbers(numbers + rank, strides, (size_t)rank));
}

/* The data of a row-major tensor in a buffer must be as many bytes as its shape needs. */
static bool check_size(const struct heft_own_tensor *t, Py_ssize_t length)
{
    uint64_t elements = 1, bytes = 0;

    for (unsigned i = 0; i < t->rank; i++)
        if (t->shape[i] == 0)
            return length == 0;
    for (unsigned i = 0; i < t->rank; i++) {
        if (elements > UINT64_MAX / t->shape[i])
            return false;
        elements *= t->shape[i];
    }
    return heft_dtype_bytes(t->dtype, elements, &bytes) && bytes == (uint64_t)length;
}

/* Sets the data of the next tensor: an address, whose memory the caller keeps, or a buffer. */
static bool take_data(struct saving *s, PyObject *data)
{
    struct heft_own_tensor *const t = &s->tensors[s->n];
    Py_buffer *const view = &s->views[s->n];

    if (PyLong_Check(data)) {
        t->data = PyLong_AsVoidPtr(data);
        return !PyErr_Occurred();
    }
    if (PyObject_GetBuffer(data, view, PyBUF_SIMPLE) < 0)
        return false;
    t->data = view->len ? view->buf : NULL;
    if (!t->strides && check_size(t, view->len))
        return true;
    PyErr_Format(PyExc_ValueError, "tensor %s: its buffer has %zd bytes, which is not its size",
                 t->name, view->len);
    return false;
}

/* Takes (name, dtype, shape, strides or None, address or buffer, number of its storage or 0). The row
 * keeps the texts. */
static bool take_tensor(struct saving *s, PyObject *row)
{
    struct heft_own_tensor *const t = &s->tensors[s->n];
    PyObject *shape, *strides, *data;
    unsigned long long storage;
    const char *dtype;
    Py_ssize_t length;

    if (!PyArg_ParseTuple(row, "s#sOOOK", &t->name, &length, &dtype, &shape, &strides, &data,
                          &storage))
        return false;
    t->size = sizeof *t;
    t->name_len = (size_t)length;
    t->storage = storage;
    if (heft_dtype_parse(dtype, &t->dtype))
        return take_layout(s, shape, strides) && take_data(s, data);
    PyErr_Format(PyExc_ValueError, "there is no dtype '%s'", dtype);
    return false;
}

static bool take_tensors(struct saving *s, PyObject *rows)
{
    const Py_ssize_t n = PyList_Size(rows);

    if (n < 0)
        return false;
    s->tensors = calloc((size_t)n + 1, sizeof *s->tensors);
    s->numbers = calloc((size_t)n + 1, sizeof *s->numbers);
    s->views = calloc((size_t)n + 1, sizeof *s->views);
    if (!s->tensors || !s->numbers || !s->views)
        return PyErr_NoMemory() != NULL;
    for (; s->n < (size_t)n; s->n++)
        if (!take_tensor(s, PyList_GetItem(rows, (Py_ssize_t)s->n))) {
            s->n++; /* what it has so far is released with the others */
            return false;
        }
    return true;
}

static bool take_metadata(struct saving *s, PyObject *list)
{
    const Py_ssize_t n = PyList_Size(list);

    if (n < 0)
        return false;
    s->metadata = calloc((size_t)n + 1, sizeof *s->metadata);
    if (!s->metadata)
        return PyErr_NoMemory() != NULL;
    for (; s->n_metadata < (size_t)n; s->n_metadata++) {
        struct heft_metadata *const pair = &s->metadata[s->n_metadata];
        Py_ssize_t key, value;

        if (!PyArg_ParseTuple(PyList_GetItem(list, (Py_ssize_t)s->n_metadata), "s#s#", &pair->key,
                              &key, &pair->value, &value))
            return false;
        pair->key_len = (size_t)key;
        pair->value_len = (size_t)value;
    }
    return true;
}

static void release(struct saving *s)
{
    for (size_t i = 0; i < s->n; i++) {
        free(s->numbers[i]);
        if (s->views[i].obj)
            PyBuffer_Release(&s->views[i]);
    }
    free(s->tensors);
    free(s->numbers);
    free(s->views);
    free(s->metadata);
}

/* save(tensors, metadata, path, to, no_sync, format options, progress): lists of tuples, see
 * take_tensor and take_metadata. The caller keeps them, and the memory behind addresses. */
PyObject *py_save(PyObject *module, PyObject *args)
{
    struct saving s = {.how = {.size = sizeof s.how, .overwrite = true, .allow_empty = true}};
    PyObject *rows, *metadata, *path, *given, *output = NULL;
    struct heft_option *options = NULL;
    struct heft_error err = {0};
    int no_sync;
    bool ok = false;

    (void)module;
    if (!PyArg_ParseTuple(args, "OOOzpOO", &rows, &metadata, &path, &s.how.to, &no_sync, &given,
                          &s.job.progress) ||
        !PyUnicode_FSConverter(path, &output))
        return NULL;
    s.job.work = work;
    s.job.ctx = &s;
    s.how.output = PyBytes_AsString(output);
    s.how.no_sync = no_sync;
    s.how.progress = py_job_step;
    s.how.progress_ctx = &s.job;
    if (take_tensors(&s, rows) && take_metadata(&s, metadata) &&
        py_options_take(&options, &s.how.n_format_options, given)) {
        s.how.format_options = options;
        ok = py_job_run(&s.job, &err);
    }
    release(&s);
    free(options);
    Py_DECREF(output);
    return ok ? Py_NewRef(Py_None) : NULL;
}
