/* py_tensor.c: heft._heft.Tensor: attributes, data and the buffer protocol.
 *
 * The data are read when they are first asked for, to memory of their own, row-major and little-endian.
 * They are not shared with the file: writing to them changes only this tensor. */
#include "py_tensor.h"

#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64 };

/* Format of the struct module; NULL: PEP 3118 has none for the dtype. */
static const char *format_of(enum heft_dtype dtype)
{
    static const char *const formats[HEFT_DTYPE_COUNT] = {
        [HEFT_BOOL] = "?", [HEFT_U8] = "B",    [HEFT_I8] = "b",  [HEFT_I16] = "h",
        [HEFT_U16] = "H",  [HEFT_F16] = "e",   [HEFT_I32] = "i", [HEFT_U32] = "I",
        [HEFT_F32] = "f",  [HEFT_F64] = "d",   [HEFT_I64] = "q", [HEFT_U64] = "Q",
        [HEFT_C64] = "Zf", [HEFT_C128] = "Zd",
    };

    return (unsigned)dtype < HEFT_DTYPE_COUNT ? formats[dtype] : NULL;
}

/* Row-major strides, in elements. */
static void set_strides(struct py_tensor *t)
{
    Py_ssize_t step = 1;

    for (unsigned i = t->rank; i-- > 0;) {
        t->strides[i] = step;
        step *= t->shape[i] > 0 ? t->shape[i] : 1;
    }
}

static bool set_shape(struct py_tensor *t, const uint64_t *shape, unsigned rank)
{
    t->shape = calloc(2 * (size_t)rank + 1, sizeof *t->shape);
    if (!t->shape) {
        PyErr_NoMemory();
        return false;
    }
    t->strides = t->shape + rank;
    t->rank = rank;
    for (unsigned i = 0; i < rank; i++) {
        t->is_huge |= shape[i] > PY_SSIZE_T_MAX;
        t->shape[i] = (Py_ssize_t)(shape[i] & PY_SSIZE_T_MAX);
    }
    if (t->bytes > 0)
        set_strides(t);
    return true;
}

static bool load(struct py_tensor *t, void *data, struct heft_error *err)
{
    if (t->t.dtype == HEFT_STRING || t->t.dtype == HEFT_VARIANT) {
        err->code = HEFT_UNSUPPORTED;
        err->offset = HEFT_NO_OFFSET;
        memcpy(err->text, "its elements have no fixed size",
               sizeof "its elements have no fixed size");
        return false;
    }
    return t->ranges ? heft_tensor_read_slice(t->handle->c, t->index, t->ranges, t->n_ranges, data,
                                              (size_t)t->bytes, err)
                     : heft_tensor_read(t->handle->c, t->index, data, (size_t)t->bytes, err);
}

/* Memory for the elements; NULL with MemoryError set. */
static void *make_room(const struct py_tensor *t)
{
    void *const data =
        t->bytes > PY_SSIZE_T_MAX - ALIGNMENT
            ? NULL
            : aligned_alloc(ALIGNMENT, ((size_t)t->bytes / ALIGNMENT + 1) * ALIGNMENT);

    return data ? data : PyErr_NoMemory();
}

bool py_tensor_load(struct py_tensor *t)
{
    struct heft_error err = {0};
    void *data;
    bool ok = false;

    if (t->is_loaded)
        return true;
    data = make_room(t);
    if (!data)
        return false;
    Py_BEGIN_ALLOW_THREADS ok = load(t, data, &err);
    Py_END_ALLOW_THREADS if (!ok || t->is_loaded)
    { /* another thread was faster */
        free(data);
        if (!ok)
            py_raise(&err);
        return ok;
    }
    t->data = data;
    t->is_loaded = true;
    return true;
}

/* ---- making one ---- */

/* Tensor(handle, index) */
static PyObject *new_tensor(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    struct py_tensor *tensor;
    PyObject *handle;
    Py_ssize_t index;

    (void)keywords;
    if (!PyArg_ParseTuple(args, "On", &handle, &index))
        return NULL;
    tensor = (struct py_tensor *)PyType_GenericAlloc(type, 0);
    if (!tensor)
        return NULL;
    tensor->handle = (struct py_handle *)Py_NewRef(handle);
    tensor->index = (size_t)index;
    if (!heft_tensor_at(tensor->handle->c, tensor->index, &tensor->t))
        PyErr_SetString(PyExc_IndexError, "there is no such tensor");
    tensor->bytes = tensor->t.bytes;
    if (!PyErr_Occurred() && set_shape(tensor, tensor->t.shape, tensor->t.rank))
        return (PyObject *)tensor;
    Py_DECREF(tensor);
    return NULL;
}

static void dealloc(PyObject *self)
{
    struct py_tensor *const t = (struct py_tensor *)self;
    PyTypeObject *const type = Py_TYPE(self);
    const freefunc release = (freefunc)(uintptr_t)PyType_GetSlot(type, Py_tp_free);

    free(t->data);
    free(t->ranges);
    free(t->shape);
    Py_XDECREF((PyObject *)t->handle);
    release(self);
    Py_DECREF(type);
}

static bool take_range(struct heft_range *range, PyObject *item)
{
    unsigned long long start, stop;
    int drop;

    if (!PyArg_ParseTuple(item, "KKp", &start, &stop, &drop))
        return false;
    *range = (struct heft_range){start, stop, drop};
    return true;
}

/* Narrows a new tensor to a slice; ranges: [(start, stop, is dropped)]. */
static bool narrow(struct py_tensor *t, PyObject *list)
{
    const Py_ssize_t n = PyList_Size(list);
    struct heft_error err = {0};
    uint64_t shape[64];
    unsigned rank;

    if (n >= 0 && t->rank > PY_COUNT(shape))
        PyErr_SetString(PyExc_ValueError, "a tensor of more than 64 dimensions cannot be sliced");
    if (n < 0 || t->rank > PY_COUNT(shape))
        return false;
    t->ranges = calloc((size_t)n + 1, sizeof *t->ranges);
    if (!t->ranges) {
        PyErr_NoMemory();
        return false;
    }
    for (t->n_ranges = 0; t->n_ranges < (size_t)n; t->n_ranges++)
        if (!take_range(&t->ranges[t->n_ranges], PyList_GetItem(list, (Py_ssize_t)t->n_ranges)))
            return false;
    if (!heft_slice_shape(t->handle->c, t->index, t->ranges, t->n_ranges, shape, &rank, &t->bytes,
                          &err)) {
        py_raise(&err);
        return false;
    }
    free(t->shape);
    t->shape = NULL;
    return set_shape(t, shape, rank);
}

static PyObject *slice(PyObject *self, PyObject *list)
{
    struct py_tensor *const t = (struct py_tensor *)self;
    PyObject *const part =
        PyObject_CallFunction((PyObject *)Py_TYPE(self), "On", t->handle, (Py_ssize_t)t->index);

    if (part && !narrow((struct py_tensor *)part, list)) {
        Py_DECREF(part);
        return NULL;
    }
    return part;
}

/* Gives a new tensor the slice and the data of another. */
static bool copy_data(struct py_tensor *copy, const struct py_tensor *t)
{
    const size_t numbers = (2 * (size_t)t->rank + 1) * sizeof *t->shape;
    Py_ssize_t *const shape = malloc(numbers);

    copy->data = shape ? make_room(t) : PyErr_NoMemory();
    if (!copy->data) {
        free(shape);
        return false;
    }
    memcpy(shape, t->shape, numbers);
    free(copy->shape);
    copy->shape = shape;
    copy->strides = shape + t->rank;
    copy->rank = t->rank;
    copy->bytes = t->bytes;
    memcpy(copy->data, t->data, (size_t)t->bytes);
    copy->is_loaded = true;
    return true;
}

PyObject *py_tensor_copy(PyObject *self, PyObject *unused)
{
    struct py_tensor *const t = (struct py_tensor *)self;
    PyObject *copy;

    (void)unused;
    if (!py_tensor_load(t))
        return NULL;
    copy = PyObject_CallFunction((PyObject *)Py_TYPE(self), "On", t->handle, (Py_ssize_t)t->index);
    if (copy && !copy_data((struct py_tensor *)copy, t))
        Py_CLEAR(copy);
    return copy;
}

/* ---- attributes ---- */

static PyObject *get_name(PyObject *self, void *unused)
{
    const struct heft_tensor *const t = &((struct py_tensor *)self)->t;

    (void)unused;
    return py_str(t->name, t->name_len);
}

static PyObject *get_dtype(PyObject *self, void *unused)
{
    (void)unused;
    return PyUnicode_InternFromString(heft_dtype_name(((struct py_tensor *)self)->t.dtype));
}

static PyObject *get_shape(PyObject *self, void *unused)
{
    const struct py_tensor *const t = (struct py_tensor *)self;
    PyObject *tuple;

    (void)unused;
    if (t->is_huge && !t->ranges)
        return py_numbers(t->t.shape, t->t.rank);
    tuple = PyTuple_New((Py_ssize_t)t->rank);
    for (unsigned i = 0; tuple && i < t->rank; i++)
        if (PyTuple_SetItem(tuple, (Py_ssize_t)i, PyLong_FromSsize_t(t->shape[i])) < 0) {
            Py_DECREF(tuple);
            return NULL;
        }
    return tuple;
}

static PyObject *get_strides(PyObject *self, void *unused)
{
    const struct py_tensor *const t = (struct py_tensor *)self;

    (void)unused;
    return t->t.strides && !t->ranges ? py_numbers(t->t.strides, t->t.rank) : Py_NewRef(Py_None);
}

static PyObject *get_nbytes(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromUnsignedLongLong(((struct py_tensor *)self)->bytes);
}

static PyObject *get_file(PyObject *self, void *unused)
{
    const struct py_tensor *const t = (struct py_tensor *)self;
    struct heft_file file = HEFT_INIT(struct heft_file);

    (void)unused;
    return heft_file_at(t->handle->c, t->t.file, &file) ? PyUnicode_DecodeFSDefault(file.path)
                                                        : Py_NewRef(Py_None);
}

static PyObject *get_offset(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromUnsignedLongLong(((struct py_tensor *)self)->t.offset);
}

static PyObject *get_storage(PyObject *self, void *unused)
{
    const int64_t storage = ((struct py_tensor *)self)->t.storage;

    (void)unused;
    return storage < 0 ? Py_NewRef(Py_None) : PyLong_FromLongLong(storage);
}

static PyObject *check(PyObject *self, PyObject *unused)
{
    const struct py_tensor *const t = (struct py_tensor *)self;
    struct heft_error err = {0};
    bool ok;

    (void)unused;
    Py_BEGIN_ALLOW_THREADS ok = heft_tensor_check(t->handle->c, t->index, &err);
    Py_END_ALLOW_THREADS return ok ? Py_NewRef(Py_None) : py_raise(&err);
}

/* ---- buffers ---- */

static int fill_buffer(struct py_tensor *t, Py_buffer *view, int flags, const char *format)
{
    const Py_ssize_t bytes = (Py_ssize_t)t->bytes;

    *view = (Py_buffer){.buf = t->data,
                        .obj = Py_NewRef((PyObject *)t),
                        .len = bytes,
                        .itemsize = 1,
                        .ndim = (int)t->rank};
    view->itemsize = (Py_ssize_t)heft_dtype_block_bytes(t->t.dtype);
    if (flags & PyBUF_FORMAT)
        view->format = (char *)(uintptr_t)format;
    if (flags & PyBUF_ND)
        view->shape = t->shape;
    if ((flags & PyBUF_STRIDES) != PyBUF_STRIDES)
        return 0;
    view->strides = malloc((t->rank + 1) * sizeof *view->strides);
    if (!view->strides) {
        Py_CLEAR(view->obj);
        PyErr_NoMemory();
        return -1;
    }
    for (unsigned i = 0; i < t->rank; i++)
        view->strides[i] = t->strides[i] * view->itemsize;
    view->internal = view->strides;
    return 0;
}

static int get_buffer(PyObject *self, Py_buffer *view, int flags)
{
    struct py_tensor *const t = (struct py_tensor *)self;
    const char *const format = format_of(t->t.dtype);

    view->obj = NULL;
    if (t->is_huge) {
        PyErr_SetString(PyExc_BufferError, "the shape exceeds the memory of this machine");
        return -1;
    }
    if (!format) {
        PyErr_Format(PyExc_BufferError,
                     "the buffer protocol has no format for %s: use raw(), numpy() or torch()",
                     heft_dtype_name(t->t.dtype));
        return -1;
    }
    return py_tensor_load(t) ? fill_buffer(t, view, flags, format) : -1;
}

static void release_buffer(PyObject *self, Py_buffer *view)
{
    (void)self;
    free(view->internal);
}

/* The bytes as a writable memoryview, which keeps the tensor. */
static PyObject *raw(PyObject *self, PyObject *unused)
{
    struct py_tensor *const t = (struct py_tensor *)self;
    (void)unused;
    return py_tensor_load(t) ? py_bytes_of(self, t->data, (size_t)t->bytes) : NULL;
}

static PyGetSetDef members[] = {
    {"name", get_name, NULL, "Name in the file.", NULL},
    {"dtype", get_dtype, NULL, "Dtype in the spelling of safetensors: \"F32\", \"BF16\".", NULL},
    {"shape", get_shape, NULL, "Tuple of the extents.", NULL},
    {"strides", get_strides, NULL,
     "Strides in the file, in elements; None if it is row-major there.", NULL},
    {"nbytes", get_nbytes, NULL, "Bytes of the elements.", NULL},
    {"file", get_file, NULL, "Path of the file that contains it (the first of several).", NULL},
    {"offset", get_offset, NULL,
     "Byte offset in that file: of the first element, or of the record if it is compressed.", NULL},
    {"storage", get_storage, NULL,
     "Number of the storage that it shares with other tensors; None if it shares none.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyMethodDef methods[] = {
    {"_slice", slice, METH_O, "_slice([(start, stop, is dropped)])"},
    {"copy", py_tensor_copy, METH_NOARGS,
     "copy($self, /)\n--\n\nA tensor with a copy of the data, which it shares with nothing."},
    {"check", check, METH_NOARGS,
     "check($self, /)\n--\n\n"
     "Compares the checksum that the file stores; does nothing if there is none. MismatchError."},
    {"raw", raw, METH_NOARGS,
     "raw($self, /)\n--\n\n"
     "The elements as a writable memoryview of bytes: row-major, little-endian. Reads them."},
    {"__dlpack__", (PyCFunction)(void (*)(void))py_tensor_dlpack, METH_VARARGS | METH_KEYWORDS,
     "The data for frameworks that take DLPack."},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot slots[] = {
    {Py_tp_new, PY_SLOT(new_tensor)},
    {Py_tp_dealloc, PY_SLOT(dealloc)},
    {Py_tp_methods, methods},
    {Py_tp_getset, members},
    {Py_bf_getbuffer, PY_SLOT(get_buffer)},
    {Py_bf_releasebuffer, PY_SLOT(release_buffer)},
    {Py_tp_doc, PY_SLOT("Tensor of a checkpoint: the base class of heft.Tensor.")},
    {0, NULL},
};
PyType_Spec py_tensor_spec = {"heft._heft.Tensor", sizeof(struct py_tensor), 0,
                              Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
