/* py_decode.c: the bytes of ids. */
#include "py_heft.h"

#include <stdlib.h>

/* A token has 4096 bytes at most, and a few on average: the result gets room for 8 bytes an id, and is
 * decoded again if that was too little. */
static char *decode(const struct heft_vocab *v, const struct py_ids *ids, size_t *n,
                    struct heft_error *err)
{
    size_t room = 8 * ids->n + 64;
    char *out = malloc(room);

    if (out && !heft_decode(v, ids->items, ids->n, out, room, n, err)) {
        free(out);
        return NULL;
    }
    if (out && *n > room) {
        room = *n;
        free(out);
        out = malloc(room);
        if (out && !heft_decode(v, ids->items, ids->n, out, room, n, err)) {
            free(out);
            return NULL;
        }
    }
    if (!out)
        err->code = HEFT_NOMEM;
    return out;
}

PyObject *py_encoding_decode_bytes(PyObject *self, PyObject *tokens)
{
    const struct py_encoding *const e = (struct py_encoding *)self;
    struct heft_error err = {0};
    PyObject *bytes = NULL;
    struct py_ids ids;
    char *out;
    size_t n;

    if (!py_ids_take(&ids, tokens))
        return NULL;
    Py_BEGIN_ALLOW_THREADS out = decode(e->vocab, &ids, &n, &err);
    Py_END_ALLOW_THREADS if (out) bytes = PyBytes_FromStringAndSize(out, (Py_ssize_t)n);
    else py_raise_token(&err, &ids);
    free(out);
    free(ids.items);
    return bytes;
}

PyObject *py_encoding_single_token_bytes(PyObject *self, PyObject *token)
{
    const struct py_encoding *const e = (struct py_encoding *)self;
    const long long id = PyLong_AsLongLong(token);
    const uint8_t *p = NULL;
    size_t n;

    if (id == -1 && PyErr_Occurred())
        return NULL;
    if (id >= 0 && id < e->size)
        p = heft_vocab_token(e->vocab, (uint32_t)id, &n);
    if (!p) {
        PyErr_SetObject(PyExc_KeyError, token);
        return NULL;
    }
    return PyBytes_FromStringAndSize((const char *)p, (Py_ssize_t)n);
}

PyObject *py_encoding_tokens(PyObject *self, PyObject *unused)
{
    const struct py_encoding *const e = (struct py_encoding *)self;
    PyObject *const list = PyList_New(e->size);

    (void)unused;
    for (uint32_t id = 0; list && id < e->size; id++) {
        size_t n;
        const uint8_t *const p = heft_vocab_token(e->vocab, id, &n);
        PyObject *const item =
            p ? PyBytes_FromStringAndSize((const char *)p, (Py_ssize_t)n) : Py_NewRef(Py_None);

        if (!item || PyList_SetItem(list, id, item) < 0) {
            Py_DECREF(list);
            return NULL;
        }
    }
    return list;
}
