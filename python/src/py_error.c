/* py_error.c: errors of heft as exceptions. The classes are written in Python: heft/errors.py. */
#include "py_heft.h"

#include <string.h>

static PyObject *make; /* heft.errors.make(code, text, file, offset, system_error) → exception */
static PyObject *refused; /* heft.errors.refused(token) → exception */
static PyObject *unknown; /* heft.errors.unknown_token(id, index) → exception */

bool py_error_ready(void)
{
    PyObject *const module = PyImport_ImportModule("heft.errors");

    if (!module)
        return false;
    Py_XDECREF(make);
    Py_XDECREF(refused);
    make = PyObject_GetAttrString(module, "make");
    refused = PyObject_GetAttrString(module, "refused");
    Py_XDECREF(unknown);
    unknown = PyObject_GetAttrString(module, "unknown_token");
    Py_DECREF(module);
    return make && refused && unknown;
}

static PyObject *make_error(const struct heft_error *err)
{
    PyObject *const file = err->file[0] ? PyUnicode_DecodeFSDefault(err->file) : Py_NewRef(Py_None);
    PyObject *const text =
        PyUnicode_DecodeUTF8(err->text, (Py_ssize_t)strlen(err->text), "replace");
    PyObject *const offset = err->offset == HEFT_NO_OFFSET
                                 ? Py_NewRef(Py_None)
                                 : PyLong_FromUnsignedLongLong(err->offset);
    PyObject *error = NULL;

    if (file && text && offset)
        error = PyObject_CallFunction(make, "iOOOi", (int)err->code, text, file, offset,
                                      err->system_error);
    Py_XDECREF(file);
    Py_XDECREF(text);
    Py_XDECREF(offset);
    return error;
}

/* Sets an exception, and takes its reference; NULL: one is set. */
static void raise_error(PyObject *error)
{
    if (error) {
        PyErr_SetObject((PyObject *)Py_TYPE(error), error);
        Py_DECREF(error);
    }
}

PyObject *py_raise(const struct heft_error *err)
{
    if (PyErr_Occurred())
        return NULL;
    if (err->code == HEFT_NOMEM)
        return PyErr_NoMemory();
    raise_error(make_error(err));
    return NULL;
}

void py_raise_refused(const struct py_special *special)
{
    raise_error(PyObject_CallFunction(refused, "s#", special->p, (Py_ssize_t)special->n));
}

void py_raise_token(const struct heft_error *err, const struct py_ids *ids)
{
    if (err->code == HEFT_MALFORMED && err->offset < ids->n)
        raise_error(PyObject_CallFunction(unknown, "kK", (unsigned long)ids->items[err->offset],
                                          (unsigned long long)err->offset));
    else
        py_raise(err);
}
