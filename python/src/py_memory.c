/* py_memory.c: memoryviews of memory: an array of ids, the bytes of a tensor. */
#include "py_heft.h"

#include <stdlib.h>

/* Owner of the memory of a memoryview. */
struct py_memory {
    PyObject_HEAD void *items; /* freed with the object, unless it has a keeper */
    PyObject *keeper;          /* object that the memory belongs to; or NULL */
    Py_ssize_t n, itemsize;
};

static PyTypeObject *memory_type;
static char ids_format[] = "I", bytes_format[] = "B",
            offsets_format[] = "q"; /* as in the module struct */

/* memoryview of the memory, whose owner takes `keeper`. NULL with an exception set; memory without a
 * keeper is then freed. */
static PyObject *view_of(void *items, size_t n, Py_ssize_t itemsize, PyObject *keeper)
{
    struct py_memory *const memory = (struct py_memory *)PyType_GenericAlloc(memory_type, 0);
    PyObject *view;

    if (!memory) {
        if (!keeper)
            free(items);
        return NULL;
    }
    memory->items = items;
    memory->n = (Py_ssize_t)n;
    memory->itemsize = itemsize;
    memory->keeper = Py_XNewRef(keeper);
    view = PyMemoryView_FromObject((PyObject *)memory);
    Py_DECREF(memory);
    return view;
}

PyObject *py_ids_new(struct py_ids *ids)
{
    uint32_t *const items = realloc(ids->items, (ids->n ? ids->n : 1) * sizeof *items);
    PyObject *const view = view_of(items ? items : ids->items, ids->n, 4, NULL);

    *ids = (struct py_ids){0};
    return view;
}

PyObject *py_offsets_new(int64_t *offsets, size_t n)
{
    return view_of(offsets, n, 8, NULL);
}

PyObject *py_bytes_of(PyObject *keeper, void *p, size_t n)
{
    return view_of(p, n, 1, keeper);
}

static void dealloc(PyObject *self)
{
    struct py_memory *const memory = (struct py_memory *)self;
    PyTypeObject *const type = Py_TYPE(self);
    const freefunc release = (freefunc)(uintptr_t)PyType_GetSlot(type, Py_tp_free);

    if (!memory->keeper)
        free(memory->items);
    Py_XDECREF(memory->keeper);
    release(self);
    Py_DECREF(type);
}

static int get_buffer(PyObject *self, Py_buffer *view, int flags)
{
    struct py_memory *const memory = (struct py_memory *)self;

    *view = (Py_buffer){.buf = memory->items,
                        .obj = Py_NewRef(self),
                        .len = memory->n * memory->itemsize,
                        .itemsize = memory->itemsize,
                        .ndim = 1};
    if (flags & PyBUF_FORMAT)
        view->format = memory->itemsize == 4   ? ids_format
                       : memory->itemsize == 8 ? offsets_format
                                               : bytes_format;
    if (flags & PyBUF_ND)
        view->shape = &memory->n;
    if ((flags & PyBUF_STRIDES) == PyBUF_STRIDES)
        view->strides = &memory->itemsize;
    return 0;
}

static PyType_Slot slots[] = {
    {Py_tp_dealloc, PY_SLOT(dealloc)},
    {Py_bf_getbuffer, PY_SLOT(get_buffer)},
    {0, NULL},
};
static PyType_Spec spec = {"heft._heft.Memory", sizeof(struct py_memory), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};

bool py_memory_ready(void)
{
    memory_type = (PyTypeObject *)PyType_FromSpec(&spec);
    return memory_type != NULL;
}
