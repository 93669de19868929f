/* py_tensor.c: heft._heft.Tensor: attributes and the buffer protocol. py_data.c has its data. */
#include "py_tensor.h"

#include <stdlib.h>
#include <string.h>

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

void py_tensor_set_row_major(const struct py_tensor *t, Py_ssize_t *strides)
{
    Py_ssize_t step = 1;

    for (unsigned i = t->rank; i-- > 0;) {
        strides[i] = t->bytes > 0 ? step : 0;
        step *= t->bytes > 0 ? t->shape[i] : 0;
    }
}

bool py_tensor_set_shape(struct py_tensor *t, const uint64_t *shape, unsigned rank)
{
    Py_ssize_t *const numbers = calloc(3 * (size_t)rank + 1, sizeof *numbers);

    if (!numbers) {
        PyErr_NoMemory();
        return false;
    }
    free(t->shape);
    t->shape = numbers;
    t->file_strides = numbers + rank;
    t->strides = numbers + 2 * (size_t)rank;
    t->rank = rank;
    t->is_huge = false;
    for (unsigned i = 0; i < rank; i++) {
        t->is_huge |= shape[i] > PY_SSIZE_T_MAX;
        t->shape[i] = (Py_ssize_t)(shape[i] & PY_SSIZE_T_MAX);
    }
    py_tensor_set_row_major(t, t->file_strides);
    py_tensor_set_row_major(t, t->strides);
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
    if (PyErr_Occurred() || !py_tensor_set_shape(tensor, tensor->t.shape, tensor->t.rank)) {
        Py_DECREF(tensor);
        return NULL;
    }
    for (unsigned i = 0; tensor->t.strides && tensor->bytes > 0 && i < tensor->rank; i++)
        tensor->file_strides[i] = (Py_ssize_t)tensor->t.strides[i];
    return (PyObject *)tensor;
}

static bool copy_numbers(struct py_tensor *to, const struct py_tensor *from)
{
    const size_t rank = from->rank;
    Py_ssize_t *const numbers = malloc((3 * rank + 1) * sizeof *numbers);

    if (!numbers)
        return false;
    memcpy(numbers, from->shape, 3 * rank * sizeof *numbers);
    free(to->shape);
    to->shape = numbers;
    to->file_strides = numbers + rank;
    to->strides = numbers + 2 * rank;
    to->rank = from->rank;
    to->is_huge = from->is_huge;
    return true;
}

PyObject *py_tensor_like(const struct py_tensor *t)
{
    PyObject *const object = PyObject_CallFunction((PyObject *)Py_TYPE((PyObject *)(uintptr_t)t),
                                                   "On", t->handle, (Py_ssize_t)t->index);
    struct py_tensor *const like = (struct py_tensor *)object;
    const size_t n = t->ranges ? t->t.rank : 0;

    if (!like || !t->ranges)
        return object;
    like->ranges = calloc(n + 1, sizeof *like->ranges);
    like->at = t->at;
    like->bytes = t->bytes;
    if (!like->ranges || !copy_numbers(like, t)) {
        Py_DECREF(object);
        return PyErr_NoMemory();
    }
    memcpy(like->ranges, t->ranges, n * sizeof *like->ranges);
    return object;
}

static void dealloc(PyObject *self)
{
    struct py_tensor *const t = (struct py_tensor *)self;
    PyTypeObject *const type = Py_TYPE(self);
    const freefunc release = (freefunc)(uintptr_t)PyType_GetSlot(type, Py_tp_free);

    py_data_release(t->data);
    free(t->ranges);
    free(t->shape);
    Py_XDECREF((PyObject *)t->handle);
    release(self);
    Py_DECREF(type);
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

static PyObject *tuple_of(const Py_ssize_t *numbers, unsigned n, Py_ssize_t factor)
{
    PyObject *const tuple = PyTuple_New((Py_ssize_t)n);

    for (unsigned i = 0; tuple && i < n; i++)
        if (PyTuple_SetItem(tuple, (Py_ssize_t)i, PyLong_FromSsize_t(numbers[i] * factor)) < 0) {
            Py_DECREF(tuple);
            return NULL;
        }
    return tuple;
}

static PyObject *get_shape(PyObject *self, void *unused)
{
    const struct py_tensor *const t = (struct py_tensor *)self;

    (void)unused;
    return t->is_huge && !t->ranges ? py_numbers(t->t.shape, t->t.rank)
                                    : tuple_of(t->shape, t->rank, 1);
}

static PyObject *get_strides(PyObject *self, void *unused)
{
    const struct py_tensor *const t = (struct py_tensor *)self;

    (void)unused;
    return py_tensor_is_dense(t, t->file_strides, false) ? Py_NewRef(Py_None)
                                                         : tuple_of(t->file_strides, t->rank, 1);
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
    const struct py_tensor *const t = (struct py_tensor *)self;

    (void)unused;
    return PyLong_FromUnsignedLongLong(
        t->t.stored == HEFT_STORED_PLAIN && heft_tensor_part_count(t->handle->c, t->index) == 0
            ? t->t.offset + t->at * heft_dtype_block_bytes(t->t.dtype)
            : t->t.offset);
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
    Py_END_ALLOW_THREADS return py_handle_check(t->handle, ok, &err) ? Py_NewRef(Py_None) : NULL;
}

/* ---- buffers ---- */

/* What a consumer that does not take strides, or wants a certain order, cannot get. */
static const char *refusal_of(const struct py_tensor *t, int flags)
{
    const bool rows = py_tensor_is_dense(t, t->strides, false);

    if (t->is_huge)
        return "the shape exceeds the memory of this machine";
    if ((flags & PyBUF_STRIDES) != PyBUF_STRIDES && !rows)
        return "the data have strides, which this use of the buffer does not take: use copy()";
    if ((flags & PyBUF_C_CONTIGUOUS) == PyBUF_C_CONTIGUOUS && !rows)
        return "the data are not row-major: use copy()";
    if ((flags & PyBUF_F_CONTIGUOUS) == PyBUF_F_CONTIGUOUS &&
        !py_tensor_is_dense(t, t->strides, true))
        return "the data are not column-major";
    if ((flags & PyBUF_ANY_CONTIGUOUS) == PyBUF_ANY_CONTIGUOUS && !rows &&
        !py_tensor_is_dense(t, t->strides, true))
        return "the data have gaps: use copy()";
    return NULL;
}

static int fill_buffer(struct py_tensor *t, Py_buffer *view, int flags, const char *format)
{
    const Py_ssize_t item = (Py_ssize_t)heft_dtype_block_bytes(t->t.dtype);

    *view = (Py_buffer){.buf = t->start,
                        .obj = Py_NewRef((PyObject *)t),
                        .len = (Py_ssize_t)t->bytes,
                        .itemsize = item,
                        .ndim = (int)t->rank};
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
        view->strides[i] = t->strides[i] * item;
    view->internal = view->strides;
    return 0;
}

static int get_buffer(PyObject *self, Py_buffer *view, int flags)
{
    struct py_tensor *const t = (struct py_tensor *)self;
    const char *const format = format_of(t->t.dtype);
    const char *refusal;

    view->obj = NULL;
    if (!format) {
        PyErr_Format(PyExc_BufferError,
                     "the buffer protocol has no format for %s: use raw(), numpy() or torch()",
                     heft_dtype_name(t->t.dtype));
        return -1;
    }
    if (!py_tensor_load(t))
        return -1;
    refusal = refusal_of(t, flags);
    if (refusal)
        PyErr_SetString(PyExc_BufferError, refusal);
    return refusal ? -1 : fill_buffer(t, view, flags, format);
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
    PyObject *copy, *view;

    (void)unused;
    if (!py_tensor_load(t))
        return NULL;
    if (py_tensor_is_dense(t, t->strides, false))
        return py_bytes_of(self, t->start, (size_t)t->bytes);
    copy = py_tensor_copy(self, NULL);
    if (!copy)
        return NULL;
    view = py_bytes_of(copy, ((struct py_tensor *)copy)->start, (size_t)t->bytes);
    Py_DECREF(copy);
    return view;
}

/* _memory() → (memoryview from the first to the last element, strides in bytes; None: row-major) */
static PyObject *memory(PyObject *self, PyObject *unused)
{
    struct py_tensor *const t = (struct py_tensor *)self;
    const Py_ssize_t item = (Py_ssize_t)heft_dtype_block_bytes(t->t.dtype);

    (void)unused;
    if (!py_tensor_load(t))
        return NULL;
    return Py_BuildValue("NN", py_bytes_of(self, t->start, py_tensor_extent(t)),
                         py_tensor_is_dense(t, t->strides, false)
                             ? Py_NewRef(Py_None)
                             : tuple_of(t->strides, t->rank, item));
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
    {"_slice", py_tensor_slice, METH_O, "_slice([(start, stop, is dropped)])"},
    {"_memory", memory, METH_NOARGS, "(memoryview, strides in bytes or None)"},
    {"copy", py_tensor_copy, METH_NOARGS,
     "copy($self, /)\n--\n\n"
     "A tensor with a copy of the data, row-major, in memory of its own: nothing shares them."},
    {"check", check, METH_NOARGS,
     "check($self, /)\n--\n\n"
     "Compares the checksum that the file stores; does nothing if there is none. MismatchError."},
    {"raw", raw, METH_NOARGS,
     "raw($self, /)\n--\n\n"
     "The elements as a writable memoryview of bytes: row-major, little-endian. They are the data "
     "of the\n"
     "tensor, or a copy if its data have strides. OSError, MalformedError."},
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
