/* py_heft.h: declarations shared by the files of the extension module heft._heft.
 *
 * The module is written for CPython's Limited API and the public headers of heft. What Python can
 * express as well is in python/heft. */
#ifndef HEFT_PY_HEFT_H
#define HEFT_PY_HEFT_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <heft/heft.h>
#include <heft/tokens.h>

#define PY_COUNT(array) (sizeof(array) / sizeof *(array))
/* Function or text as the value of a PyType_Slot. */
#define PY_SLOT(value) ((void *)(uintptr_t)(value))
/* Function with METH_FASTCALL as a PyCFunction. */
#define PY_FAST(function) ((PyCFunction)(void (*)(void))(function))

/* ---- py_error.c ---- */

/* Obtains the exception classes of heft.errors; false with an exception set. */
bool py_error_ready(void);
/* Raises the exception of an error and returns NULL. An exception that a callback has raised
 * remains. */
PyObject *py_raise(const struct heft_error *err);
struct py_special;
/* Raises ValueError: the text contains a special token that is not allowed. */
void py_raise_refused(const struct py_special *special);
struct py_ids;
/* Raises the error of heft_decode for these ids: a KeyError for an unknown one. */
void py_raise_token(const struct heft_error *err, const struct py_ids *ids);

/* ---- py_text.c: arguments and results ---- */

/* Text or bytes of an argument, valid until py_text_release. */
struct py_text {
    const char *p;
    size_t n;
    PyObject *owner; /* object that owns the bytes, if it is not the argument itself; or NULL */
    Py_buffer *view; /* of an argument with the buffer protocol; or NULL */
};
/* Takes a str as UTF-8, or any object with the buffer protocol. A str with surrogates is taken as
 * tiktoken does: pairs are joined, others become U+FFFD. False with an exception set. */
bool py_text_take(struct py_text *t, PyObject *value);
void py_text_release(struct py_text *t);

struct py_ids {
    uint32_t *items;
    size_t n, room;
};
/* Makes room for `more` ids behind the n of the array; false with MemoryError in *err. */
bool py_ids_room(struct py_ids *ids, size_t more, struct heft_error *err);
/* Takes ids from a list, a tuple, a buffer of integers (numpy, array, bytes) or any other sequence of
 * ints. The array is the caller's. False with an exception set. */
bool py_ids_take(struct py_ids *ids, PyObject *value);

/* ---- py_encoding.c: a vocabulary, and encoders for it ---- */

/* A special token: text that is encoded to one id where the caller allows it. */
struct py_special {
    const char *p;
    size_t n;
    uint32_t id;
};
struct py_specials {
    struct py_special *items;
    size_t n;
    int first;        /* first byte of all of them; -1: they differ */
    bool starts[256]; /* by byte: a special token begins with it */
};
/* What one thread needs to encode; the array is reused. */
struct py_worker {
    struct heft_encoder *encoder;
    struct py_ids ids;
    size_t most_ids; /* ids that a byte of text may have: 3 if texts are normalized */
};

enum { PY_IDLE_WORKERS = 16 };
/* Instance of heft._heft.Encoding. The pool of idle workers is guarded by the GIL. */
struct py_encoding {
    PyObject_HEAD struct heft_vocab *vocab;
    char *unicode;      /* version of Unicode; NULL: that of the vocabulary */
    PyObject **numbers; /* by id: its int, made when it is first needed */
    uint32_t size;      /* of the vocabulary: number of `numbers` */
    struct py_worker idle[PY_IDLE_WORKERS];
    size_t n_idle;
    bool is_normalizing; /* the vocabulary normalizes texts */
};
/* Takes an idle worker, or makes one: false with *err filled. Both need the GIL. */
bool py_worker_take(struct py_encoding *e, struct py_worker *worker, struct heft_error *err);
void py_worker_give(struct py_encoding *e, struct py_worker *worker);

/* List of the ints of n ids; NULL with an exception set. */
PyObject *py_list_of_ids(struct py_encoding *e, const uint32_t *ids, size_t n);
/* Takes a tuple of (bytes, id); the bytes belong to the tuple. The caller frees `items`. */
bool py_specials_take(struct py_specials *out, PyObject *tuple);

/* ---- py_encode.c ---- */

/* Index of the special token that occurs first in the text, or n if there is none. */
size_t py_special_find(const struct py_specials *specials, const char *p, size_t n);
/* Appends the ids of a text to those of the worker; allowed special tokens become their ids. Needs
 * no GIL. */
bool py_encode_text(struct py_worker *worker, const struct py_specials *allowed, const char *p,
                    size_t n, struct heft_error *err);
PyObject *py_encoding_encode(PyObject *self, PyObject *const *args, Py_ssize_t n);
PyObject *py_encoding_encode_ordinary(PyObject *self, PyObject *text);
PyObject *py_encoding_encode_ids(PyObject *self, PyObject *const *args, Py_ssize_t n);

/* ---- py_batch.c, py_arrow.c, py_decode.c ---- */

PyObject *py_encoding_encode_batch(PyObject *self, PyObject *const *args, Py_ssize_t n);
PyObject *py_encoding_encode_packed(PyObject *self, PyObject *const *args, Py_ssize_t n);
PyObject *py_encoding_encode_arrow(PyObject *self, PyObject *const *args, Py_ssize_t n);
PyObject *py_encoding_decode_bytes(PyObject *self, PyObject *tokens);
PyObject *py_encoding_single_token_bytes(PyObject *self, PyObject *token);
PyObject *py_encoding_tokens(PyObject *self, PyObject *unused);

/* ---- py_memory.c ---- */

/* memoryview of the array of `ids`, which it owns. NULL with an exception set; the array is then
 * freed. */
PyObject *py_ids_new(struct py_ids *ids);
/* The same for an array of n int64. */
PyObject *py_offsets_new(int64_t *offsets, size_t n);
/* memoryview of n bytes that belong to `keeper`. NULL with an exception set. */
PyObject *py_bytes_of(PyObject *keeper, void *p, size_t n);

/* ---- types and functions of the module ---- */

extern PyType_Spec py_encoding_spec;
/* Creates the type of owners of memory; false with an exception set. */
bool py_memory_ready(void);

PyObject *py_split(PyObject *module, PyObject *const *args, Py_ssize_t n);
PyObject *py_command(PyObject *module, PyObject *arguments);

#endif
