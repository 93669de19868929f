/* py_ids.c: owner of an array of ids, which Python sees as a memoryview of uint32. */
#include "py_heft.h"

#include <stdlib.h>

struct py_array {
    PyObject_HEAD uint32_t *items;
    Py_ssize_t n;
};

static PyTypeObject *ids_type;
static char format[] = "I"; /* as struct module: uint32 */

PyObject *py_ids_new(struct py_ids *ids)
{
    struct py_array *const array = (struct py_array *)PyType_GenericAlloc(ids_type, 0);
    PyObject *view;
    uint32_t *items;

    if (!array) {
        free(ids->items);
        return NULL;
    }
    items = realloc(ids->items, (ids->n ? ids->n : 1) * sizeof *items);
    array->items = items ? items : ids->items;
    array->n = (Py_ssize_t)ids->n;
    *ids = (struct py_ids){0};
    view = PyMemoryView_FromObject((PyObject *)array);
    Py_DECREF(array);
    return view;
}

static void dealloc(PyObject *self)
{
    PyTypeObject *const type = Py_TYPE(self);
    const freefunc release = (freefunc)(uintptr_t)PyType_GetSlot(type, Py_tp_free);

    free(((struct py_array *)self)->items);
    release(self);
    Py_DECREF(type);
}

static int get_buffer(PyObject *self, Py_buffer *view, int flags)
{
    struct py_array *const array = (struct py_array *)self;

    *view = (Py_buffer){
        .buf = array->items, .obj = Py_NewRef(self), .len = array->n * 4, .itemsize = 4, .ndim = 1};
    if (flags & PyBUF_FORMAT)
        view->format = format;
    if (flags & PyBUF_ND)
        view->shape = &array->n;
    if ((flags & PyBUF_STRIDES) == PyBUF_STRIDES)
        view->strides = &view->itemsize;
    return 0;
}

static PyType_Slot slots[] = {
    {Py_tp_dealloc, PY_SLOT(dealloc)},
    {Py_bf_getbuffer, PY_SLOT(get_buffer)},
    {0, NULL},
};
static PyType_Spec spec = {"heft._heft.Ids", sizeof(struct py_array), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};

bool py_ids_ready(void)
{
    ids_type = (PyTypeObject *)PyType_FromSpec(&spec);
    return ids_type != NULL;
}
