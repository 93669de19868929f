/* py_text.c: texts and ids that Python passes. */
#include "py_heft.h"

#include <stdlib.h>
#include <string.h>

/* Replaces surrogates: pairs become one character, others U+FFFD. */
static PyObject *repair_surrogates(PyObject *text)
{
    PyObject *const bytes = PyObject_CallMethod(text, "encode", "ss", "utf-16", "surrogatepass");
    PyObject *repaired = NULL;

    if (bytes)
        repaired = PyObject_CallMethod(bytes, "decode", "ss", "utf-16", "replace");
    Py_XDECREF(bytes);
    return repaired;
}

static bool take_str(struct py_text *t, PyObject *value)
{
    Py_ssize_t n;

    t->p = PyUnicode_AsUTF8AndSize(value, &n);
    if (!t->p && PyErr_ExceptionMatches(PyExc_UnicodeEncodeError)) {
        PyErr_Clear();
        t->owner = repair_surrogates(value);
        t->p = t->owner ? PyUnicode_AsUTF8AndSize(t->owner, &n) : NULL;
    }
    if (!t->p) {
        py_text_release(t);
        return false;
    }
    t->n = (size_t)n;
    return true;
}

static bool take_buffer(struct py_text *t, PyObject *value)
{
    t->view = malloc(sizeof *t->view);
    if (!t->view) {
        PyErr_NoMemory();
        return false;
    }
    if (PyObject_GetBuffer(value, t->view, PyBUF_SIMPLE) < 0) {
        free(t->view);
        t->view = NULL;
        return false;
    }
    t->p = t->view->buf;
    t->n = (size_t)t->view->len;
    return true;
}

bool py_text_take(struct py_text *t, PyObject *value)
{
    *t = (struct py_text){.p = ""};
    if (PyUnicode_Check(value))
        return take_str(t, value);
    if (PyObject_CheckBuffer(value))
        return take_buffer(t, value);
    PyErr_Format(PyExc_TypeError, "expected str, bytes or a buffer, not %R",
                 (PyObject *)Py_TYPE(value));
    return false;
}

void py_text_release(struct py_text *t)
{
    if (t->view) {
        PyBuffer_Release(t->view);
        free(t->view);
    }
    Py_XDECREF(t->owner);
    *t = (struct py_text){.p = ""};
}

bool py_ids_room(struct py_ids *ids, size_t more, struct heft_error *err)
{
    uint32_t *grown;
    size_t room = ids->room + ids->room / 2;

    if (more <= ids->room - ids->n)
        return true;
    if (room < ids->n + more)
        room = ids->n + more;
    if (room < 64)
        room = 64;
    grown = room > SIZE_MAX / sizeof *grown ? NULL : realloc(ids->items, room * sizeof *grown);
    if (!grown) {
        err->code = HEFT_NOMEM;
        return false;
    }
    ids->items = grown;
    ids->room = room;
    return true;
}

static bool start_ids(struct py_ids *ids, size_t n)
{
    struct heft_error err = {0};

    *ids = (struct py_ids){0};
    if (py_ids_room(ids, n, &err))
        return true;
    PyErr_NoMemory();
    return false;
}

static bool take_number(struct py_ids *ids, size_t at, PyObject *number)
{
    const long long value = PyLong_AsLongLong(number);

    if (value >= 0 && value <= UINT32_MAX) {
        ids->items[at] = (uint32_t)value;
        return true;
    }
    if (value != -1 || !PyErr_Occurred())
        PyErr_Format(PyExc_OverflowError, "token %R is not in the range of 0 to 4294967295",
                     number);
    return false;
}

/* A list can change while an element converts itself to an int, so that the size is read again. */
static bool take_list(struct py_ids *ids, PyObject *list)
{
    for (Py_ssize_t i = 0; i < PyList_Size(list) && (size_t)i < ids->room; i++) {
        PyObject *const number = Py_NewRef(PyList_GetItem(list, i));
        const bool ok = take_number(ids, (size_t)i, number);

        Py_DECREF(number);
        if (!ok)
            return false;
        ids->n = (size_t)i + 1;
    }
    return true;
}

static bool read_integer(const char *p, size_t bytes, bool is_signed, uint64_t *out)
{
    uint64_t value = 0;

    memcpy(&value, p, bytes); /* little-endian; see take_integers */
    *out = value;
    return !(is_signed && (value >> (8 * bytes - 1) & 1)) && value <= UINT32_MAX;
}

static bool take_integers(struct py_ids *ids, const Py_buffer *view, bool is_signed)
{
    const size_t bytes = (size_t)view->itemsize, n = (size_t)view->len / bytes;
    const uint16_t order = 1;

    if (*(const uint8_t *)&order != 1) {
        PyErr_SetString(PyExc_NotImplementedError, "buffers of ids need a little-endian machine");
        return false;
    }
    if (!start_ids(ids, n))
        return false;
    for (size_t i = 0; i < n; i++) {
        uint64_t value;

        if (!read_integer((const char *)view->buf + i * bytes, bytes, is_signed, &value)) {
            PyErr_Format(PyExc_OverflowError,
                         "token %zu of the buffer is not in the range of 0 to "
                         "4294967295",
                         i);
            return false;
        }
        ids->items[i] = (uint32_t)value;
    }
    ids->n = n;
    return true;
}

/* Takes a contiguous buffer of integers in the machine's byte order. */
static bool take_view(struct py_ids *ids, const Py_buffer *view)
{
    const char *format = view->format ? view->format : "B";

    if (*format == '@' || *format == '=' || *format == '<')
        format++;
    if (format[0] && !format[1] && strchr("bBhHiIlLqQ", *format) && view->itemsize > 0 &&
        view->itemsize <= 8)
        return take_integers(ids, view, strchr("bhilq", *format) != NULL);
    PyErr_Format(PyExc_TypeError, "a buffer of ids holds integers, not elements of format '%s'",
                 format);
    return false;
}

static bool take_sequence(struct py_ids *ids, PyObject *value)
{
    PyObject *const list = PySequence_List(value);
    bool ok;

    if (!list)
        return false;
    ok = start_ids(ids, (size_t)PyList_Size(list)) && take_list(ids, list);
    Py_DECREF(list);
    return ok;
}

bool py_ids_take(struct py_ids *ids, PyObject *value)
{
    Py_buffer view;
    bool ok;

    *ids = (struct py_ids){0};
    if (PyList_CheckExact(value)) {
        ok = start_ids(ids, (size_t)PyList_Size(value)) && take_list(ids, value);
    } else if (PyObject_CheckBuffer(value)) {
        ok = PyObject_GetBuffer(value, &view, PyBUF_ND | PyBUF_C_CONTIGUOUS | PyBUF_FORMAT) == 0;
        if (ok) {
            ok = take_view(ids, &view);
            PyBuffer_Release(&view);
        }
    } else {
        ok = take_sequence(ids, value);
    }
    if (!ok)
        free(ids->items);
    return ok;
}
