/* py_tensor.h: heft._heft.Tensor, a tensor of an open checkpoint, and its data once they are needed. */
#ifndef HEFT_PY_TENSOR_H
#define HEFT_PY_TENSOR_H

#include "py_handle.h"

#include <stdatomic.h>

/* ---- py_data.c: the data of a tensor, with a count of its users: tensors, arrays, DLPack ---- */

struct py_data {
    atomic_size_t users;
    struct heft_checkpoint *c; /* of a copy-on-write view: retained; NULL: memory of its own */
    void *memory;              /* freed with it; NULL for a view */
};
struct py_data *py_data_retain(struct py_data *data);
/* Needs no GIL. Accepts NULL. */
void py_data_release(struct py_data *data);

/* Instance of heft._heft.Tensor: a tensor, or a slice of one. */
struct py_tensor {
    PyObject_HEAD struct py_handle *handle;
    size_t index; /* of heft_tensor_at */
    struct heft_tensor t;
    /* Of the tensor or slice, in elements; the three arrays are one block. `strides` are those of
     * the data, once they are loaded: those of the file in a view, else row-major. */
    Py_ssize_t *shape, *file_strides, *strides;
    unsigned rank;
    struct heft_range *ranges; /* of a slice: one for each dimension of t; NULL: the whole tensor */
    uint64_t at;               /* elements before the first one, by the strides of the file */
    uint64_t bytes;            /* of the elements */
    struct py_data *data;      /* NULL: not loaded */
    char *start;               /* the first element */
    bool is_huge;              /* an extent exceeds Py_ssize_t; then there are no elements */
};

/* Maps or reads the data of the tensor on the first call. On failure false, with an exception set. */
bool py_tensor_load(struct py_tensor *tensor);
/* Copies the elements of a loaded tensor to dst, row-major. Needs no GIL. */
void py_tensor_gather(const struct py_tensor *tensor, char *dst);
/* Whether these strides of the tensor are row-major, or column-major, without gaps. */
bool py_tensor_is_dense(const struct py_tensor *tensor, const Py_ssize_t *strides,
                        bool column_major);
/* Bytes from the first to the last element of a loaded tensor. */
size_t py_tensor_extent(const struct py_tensor *tensor);
/* Tensor with a row-major copy of the data: the method copy(). */
PyObject *py_tensor_copy(PyObject *self, PyObject *unused);

/* ---- py_tensor.c, py_slice.c ---- */

/* Sets shape, rank and row-major strides; false with an exception set. */
bool py_tensor_set_shape(struct py_tensor *tensor, const uint64_t *shape, unsigned rank);
void py_tensor_set_row_major(const struct py_tensor *tensor, Py_ssize_t *strides);
/* New tensor or slice like another, without its data. */
PyObject *py_tensor_like(const struct py_tensor *tensor);
/* _slice([(start, stop, is dropped)]): of the dimensions of this tensor or slice. */
PyObject *py_tensor_slice(PyObject *self, PyObject *list);

/* ---- py_dlpack.c ---- */

/* __dlpack__(*, stream, max_version, dl_device, copy) */
PyObject *py_tensor_dlpack(PyObject *self, PyObject *args, PyObject *keywords);

#endif
