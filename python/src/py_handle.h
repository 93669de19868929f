/* py_handle.h: an open checkpoint, and what is made of it. */
#ifndef HEFT_PY_HANDLE_H
#define HEFT_PY_HANDLE_H

#include "py_heft.h"

/* Instance of heft._heft.Handle. Tensors refer to it, so that they outlive the Checkpoint. */
struct py_handle {
    PyObject_HEAD struct heft_checkpoint *c;
    Py_buffer *view;  /* of the object that c was opened from; or NULL */
    PyObject *reader; /* heft.sources.Reader that c is read by; or NULL */
    /* Data may be views. Not with view or reader: a view may be the last user of the checkpoint, and
     * releases it without the GIL. */
    bool is_mapped;
    PyObject *of; /* the handle whose checkpoint c is seen through rules files; or NULL */
};

/* str of n bytes of UTF-8; other bytes become surrogates, as in file names. */
PyObject *py_str(const char *p, size_t n);
/* Tuple of n numbers. */
PyObject *py_numbers(const uint64_t *numbers, size_t n);
/* Appends `item`, whose reference it takes; false if it is NULL or memory is short. */
bool py_append(PyObject *list, PyObject *item);

/* Rules, and options of formats, as lists of tuples of texts: (kind, left, right or None), (name,
 * value or None). The texts belong to the tuples. The caller frees the arrays. */
bool py_rules_take(struct heft_rule **rules, size_t *n, PyObject *list);
bool py_options_take(struct heft_option **options, size_t *n, PyObject *list);

/* ---- py_reader.c: checkpoints that are read by an object of Python ---- */

/* Opens a heft.sources.Reader. NULL with *err filled, and its exception kept by the reader, if it has
 * raised one. Needs the GIL. */
struct heft_checkpoint *py_reader_open(PyObject *reader, const struct heft_open_options *how,
                                       struct heft_error *err);
/* Raises the exception that the reader has kept, if there is one: true. Accepts NULL. */
bool py_reader_raise(PyObject *reader);
/* Whether a call of libheft on this checkpoint has succeeded; if not, with an exception set: the one that
 * the object of Python has raised, or that of the error. */
bool py_handle_check(const struct py_handle *handle, bool ok, const struct heft_error *err);

/* ---- py_tree.c ---- */

/* The values below a node as Python's: make(kind, type_name, items) makes those that Python lacks.
 * None if root is NULL. */
PyObject *py_tree(const struct heft_checkpoint *c, const struct heft_value *root, PyObject *make);

/* ---- methods of Handle in other files ---- */

PyObject *py_handle_verify(PyObject *self, PyObject *args);
PyObject *py_handle_stats(PyObject *self, PyObject *args);
PyObject *py_handle_convert(PyObject *self, PyObject *args);
PyObject *py_handle_ruled(PyObject *self, PyObject *args);
PyObject *py_rules_numbered(PyObject *module, PyObject *rules);
PyObject *py_rules_presets(PyObject *module, PyObject *unused);
PyObject *py_diff(PyObject *module, PyObject *args);
PyObject *py_scan(PyObject *module, PyObject *args);

/* ---- py_objects.c ---- */

extern PyType_Spec py_objects_spec;

/* ---- py_save.c ---- */

PyObject *py_save(PyObject *module, PyObject *args);

extern PyType_Spec py_handle_spec, py_tensor_spec;

#endif
