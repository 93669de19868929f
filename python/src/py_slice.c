/* py_slice.c: slices of tensors. A slice of a tensor whose data are in memory or in a view shares them; of other
 * tensors only the bytes of the slice are read. */
#include "py_tensor.h"

#include <stdlib.h>
#include <string.h>

/* Narrows a range to the part (start, stop, is dropped), which counts from its start. */
static bool narrow_range(struct heft_range *range, PyObject *part)
{
    unsigned long long start, stop;
    int drop;

    if (!PyArg_ParseTuple(part, "KKp", &start, &stop, &drop))
        return false;
    if (start > stop || stop > range->stop - range->start || (drop && stop - start != 1)) {
        PyErr_SetString(PyExc_IndexError, "the slice is out of range");
        return false;
    }
    *range = (struct heft_range){range->start + start, range->start + stop, drop};
    return true;
}

/* Applies a list of parts (start, stop, is dropped) to a tensor, or to a slice of it. Gives a range for each
 * dimension of the tensor. */
static struct heft_range *narrow_ranges(const struct py_tensor *whole, PyObject *list)
{
    const Py_ssize_t n = PyList_Size(list);
    struct heft_range *const ranges = calloc((size_t)whole->t.rank + 1, sizeof *ranges);
    Py_ssize_t taken = 0;

    if (!ranges)
        return (struct heft_range *)PyErr_NoMemory();
    for (unsigned d = 0; d < whole->t.rank; d++) {
        ranges[d] = whole->ranges ? whole->ranges[d] : (struct heft_range){0, whole->t.shape[d], 0};
        if (!ranges[d].drop && taken < n &&
            !narrow_range(&ranges[d], PyList_GetItem(list, taken++))) {
            free(ranges);
            return NULL;
        }
    }
    if (n >= 0 && taken == n)
        return ranges;
    if (n >= 0)
        PyErr_SetString(PyExc_IndexError, "too many indices");
    free(ranges);
    return NULL;
}

/* Sets the shape of a part to that of its ranges. */
static bool set_extents(struct py_tensor *part)
{
    uint64_t shape[64];
    struct heft_error err = {0};
    unsigned rank;

    if (part->t.rank > PY_COUNT(shape)) {
        PyErr_SetString(PyExc_ValueError, "a tensor of more than 64 dimensions cannot be sliced");
        return false;
    }
    if (!heft_slice_shape(part->handle->c, part->index, part->ranges, part->t.rank, shape, &rank,
                          &part->bytes, &err)) {
        py_raise(&err);
        return false;
    }
    return py_tensor_set_shape(part, shape, rank);
}

/* Strides of the part: those of the dimensions that it keeps. Returns the elements of `strides` before its first
 * one, by its ranges and those of the whole. */
static Py_ssize_t take_strides(const struct py_tensor *part, const struct py_tensor *whole,
                               const Py_ssize_t *strides, Py_ssize_t *out)
{
    Py_ssize_t before = 0;
    unsigned from = 0, to = 0;

    for (unsigned d = 0; d < part->t.rank; d++) {
        if (whole->ranges && whole->ranges[d].drop)
            continue;
        if (part->bytes > 0)
            before +=
                (Py_ssize_t)(part->ranges[d].start - (whole->ranges ? whole->ranges[d].start : 0)) *
                strides[from];
        if (!part->ranges[d].drop)
            out[to++] = strides[from];
        from++;
    }
    return before;
}

static void share_data(struct py_tensor *part, const struct py_tensor *whole)
{
    const Py_ssize_t before = take_strides(part, whole, whole->strides, part->strides);

    part->data = py_data_retain(whole->data);
    part->start = whole->start + before * (Py_ssize_t)heft_dtype_block_bytes(whole->t.dtype);
}

PyObject *py_tensor_slice(PyObject *self, PyObject *list)
{
    const struct py_tensor *const whole = (struct py_tensor *)self;
    struct heft_range *const ranges = narrow_ranges(whole, list);
    struct py_tensor *part;

    if (!ranges)
        return NULL;
    part = (struct py_tensor *)py_tensor_like(whole);
    if (!part) {
        free(ranges);
        return NULL;
    }
    free(part->ranges);
    part->ranges = ranges;
    if (!set_extents(part)) {
        Py_DECREF((PyObject *)part);
        return NULL;
    }
    part->at =
        whole->at + (uint64_t)take_strides(part, whole, whole->file_strides, part->file_strides);
    if (whole->data && heft_dtype_block_elements(whole->t.dtype) == 1)
        share_data(part, whole);
    return (PyObject *)part;
}
