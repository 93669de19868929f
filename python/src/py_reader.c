/* py_reader.c: checkpoints that are read by an object of Python with read() and seek().
 *
 * libheft calls back from any thread, without the GIL. The exception of a read is kept by the reader
 * (python/heft/sources.py), as it may be raised in a thread of libheft, and is raised again in the thread that has
 * called heft. */
#include "py_handle.h"

#include <string.h>

#define MOST_AT_ONCE ((size_t)4 << 20) /* bytes of a call */

/* Copies what the reader has returned; false if this is not 1 to n bytes. */
static size_t copy_piece(PyObject *piece, void *dst, size_t n)
{
    char *p;
    Py_ssize_t length;

    if (PyBytes_AsStringAndSize(piece, &p, &length) < 0) {
        PyErr_Clear();
        return 0;
    }
    if (length <= 0 || (size_t)length > n)
        return 0;
    memcpy(dst, p, (size_t)length);
    return (size_t)length;
}

/* Bytes that were read; 0: the reader has failed, and keeps the reason. */
static size_t read_piece(PyObject *reader, uint64_t offset, void *dst, size_t n)
{
    const PyGILState_STATE state = PyGILState_Ensure();
    PyObject *const piece =
        PyObject_CallMethod(reader, "read_at", "Kn", (unsigned long long)offset, (Py_ssize_t)n);
    size_t length = 0;

    if (piece)
        length = copy_piece(piece, dst, n);
    else
        PyErr_Clear(); /* memory ran out: the reader raises nothing itself */
    Py_XDECREF(piece);
    PyGILState_Release(state);
    return length;
}

static bool read_range(void *ctx, uint64_t offset, void *dst, size_t n, struct heft_error *err)
{
    char *to = dst;

    while (n > 0) {
        const size_t length = read_piece(ctx, offset, to, n < MOST_AT_ONCE ? n : MOST_AT_ONCE);

        if (length == 0) {
            err->code = HEFT_CANCELLED; /* ends the call; then the reader's exception is raised */
            return false;
        }
        offset += length;
        to += length;
        n -= length;
    }
    return true;
}

struct heft_checkpoint *py_reader_open(PyObject *reader, const struct heft_open_options *how,
                                       struct heft_error *err)
{
    PyObject *const name = PyObject_GetAttrString(reader, "name");
    PyObject *const size = PyObject_GetAttrString(reader, "size");
    struct heft_input input = {
        .size = sizeof input, .ctx = reader, .read = read_range, .is_slow = true};
    struct heft_checkpoint *c = NULL;

    input.name = name ? PyUnicode_AsUTF8AndSize(name, NULL) : NULL;
    input.bytes = size ? PyLong_AsUnsignedLongLong(size) : 0;
    if (input.name && !PyErr_Occurred()) {
        Py_BEGIN_ALLOW_THREADS c = heft_open_inputs(&input, 1, how, err);
        Py_END_ALLOW_THREADS
    }
    Py_XDECREF(name);
    Py_XDECREF(size);
    return c;
}

bool py_reader_raise(PyObject *reader)
{
    PyObject *kept;

    if (!reader || PyErr_Occurred())
        return PyErr_Occurred() != NULL;
    kept = PyObject_CallMethod(reader, "take_error", NULL);
    if (kept && kept != Py_None)
        PyErr_SetObject((PyObject *)Py_TYPE(kept), kept);
    Py_XDECREF(kept);
    return PyErr_Occurred() != NULL;
}

bool py_handle_check(const struct py_handle *handle, bool ok, const struct heft_error *err)
{
    if (handle && py_reader_raise(handle->reader))
        return false;
    if (!ok)
        py_raise(err);
    return ok;
}
