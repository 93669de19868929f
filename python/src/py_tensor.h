/* py_tensor.h: heft._heft.Tensor, a tensor of an open checkpoint, and its data once they are needed. */
#ifndef HEFT_PY_TENSOR_H
#define HEFT_PY_TENSOR_H

#include "py_handle.h"

struct py_tensor {
    PyObject_HEAD struct py_handle *handle;
    size_t index; /* of heft_tensor_at */
    struct heft_tensor t;
    /* Shape and strides of the data, in elements; strides[rank] follow the shape. They differ from
     * those of t in a slice. */
    Py_ssize_t *shape, *strides;
    unsigned rank;
    struct heft_range *ranges; /* slice that is read; NULL: the whole tensor */
    size_t n_ranges;
    uint64_t bytes; /* of the elements */
    void *data;     /* NULL: not read yet, or no bytes */
    bool is_loaded;
    bool is_huge; /* an extent exceeds Py_ssize_t; then there are no elements */
};

/* Reads the data of the tensor on the first call. On failure false, with an exception set. */
bool py_tensor_load(struct py_tensor *tensor);
/* Tensor with a copy of the data: the method copy(). */
PyObject *py_tensor_copy(PyObject *self, PyObject *unused);

/* ---- py_dlpack.c ---- */

/* __dlpack__(*, stream, max_version, dl_device, copy) */
PyObject *py_tensor_dlpack(PyObject *self, PyObject *args, PyObject *keywords);

#endif
