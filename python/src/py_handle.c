/* py_handle.c: heft._heft.Handle: opens checkpoints and lists what they contain. */
#include "py_handle.h"

#include <stdlib.h>
#include <string.h>

PyObject *py_str(const char *p, size_t n)
{
    return PyUnicode_DecodeUTF8(p, (Py_ssize_t)n, "surrogateescape");
}

PyObject *py_numbers(const uint64_t *numbers, size_t n)
{
    PyObject *const tuple = PyTuple_New((Py_ssize_t)n);

    for (size_t i = 0; tuple && i < n; i++) {
        PyObject *const number = PyLong_FromUnsignedLongLong(numbers[i]);

        if (!number || PyTuple_SetItem(tuple, (Py_ssize_t)i, number) < 0) {
            Py_DECREF(tuple);
            return NULL;
        }
    }
    return tuple;
}

bool py_append(PyObject *list, PyObject *item)
{
    const bool ok = item && PyList_Append(list, item) == 0;

    Py_XDECREF(item);
    return ok;
}

/* ---- arguments ---- */

bool py_rules_take(struct heft_rule **rules, size_t *n, PyObject *list)
{
    const Py_ssize_t count = PyList_Size(list);

    *n = 0;
    *rules = count < 0 ? NULL : calloc((size_t)count + 1, sizeof **rules);
    if (!*rules)
        return count < 0 ? false : PyErr_NoMemory() != NULL;
    for (; *n < (size_t)count; ++*n) {
        struct heft_rule *const rule = &(*rules)[*n];
        int kind;

        if (!PyArg_ParseTuple(PyList_GetItem(list, (Py_ssize_t)*n), "isz", &kind, &rule->left,
                              &rule->right))
            return false;
        rule->size = sizeof *rule;
        rule->kind = (enum heft_rule_kind)kind;
    }
    return true;
}

bool py_options_take(struct heft_option **options, size_t *n, PyObject *list)
{
    const Py_ssize_t count = PyList_Size(list);

    *n = 0;
    *options = count < 0 ? NULL : calloc((size_t)count + 1, sizeof **options);
    if (!*options)
        return count < 0 ? false : PyErr_NoMemory() != NULL;
    for (; *n < (size_t)count; ++*n)
        if (!PyArg_ParseTuple(PyList_GetItem(list, (Py_ssize_t)*n), "sz", &(*options)[*n].name,
                              &(*options)[*n].value))
            return false;
    return true;
}

/* Members of struct heft_limits by name. */
static const struct {
    const char *name;
    size_t at;
} LIMITS[] = {
#define LIMIT(name)                                                                                \
    {                                                                                              \
#name, offsetof(struct heft_limits, name)                                                  \
    }
    LIMIT(header),  LIMIT(pickle), LIMIT(opcodes),  LIMIT(tensors),   LIMIT(nodes),
    LIMIT(entries), LIMIT(ratio),  LIMIT(unpacked), LIMIT(expansion), LIMIT(depth),
    LIMIT(view),    LIMIT(rank),   LIMIT(name),     LIMIT(seconds),
};

static bool take_limit(struct heft_limits *limits, PyObject *key, PyObject *value)
{
    const char *const name = PyUnicode_AsUTF8AndSize(key, NULL);
    const unsigned long long number = name ? PyLong_AsUnsignedLongLong(value) : 0;

    if (!name || PyErr_Occurred())
        return false;
    for (size_t i = 0; i < PY_COUNT(LIMITS); i++)
        if (strcmp(LIMITS[i].name, name) == 0) {
            *(uint64_t *)((char *)limits + LIMITS[i].at) = number;
            return true;
        }
    PyErr_Format(PyExc_ValueError, "there is no limit %R", key);
    return false;
}

static bool take_limits(struct heft_limits *limits, PyObject *dict)
{
    PyObject *key, *value;
    Py_ssize_t at = 0;

    while (dict != Py_None && PyDict_Next(dict, &at, &key, &value))
        if (!take_limit(limits, key, value))
            return false;
    return true;
}

/* Paths as bytes, which *owner keeps; the caller frees the array. */
static const char **take_paths(PyObject *list, size_t *n, PyObject **owner)
{
    const Py_ssize_t count = PyList_Size(list);
    const char **const paths = count < 0 ? NULL : calloc((size_t)count + 1, sizeof *paths);

    *owner = paths ? PyList_New(0) : NULL;
    for (*n = 0; *owner && *n < (size_t)count; ++*n) {
        PyObject *path = NULL;

        if (!PyUnicode_FSConverter(PyList_GetItem(list, (Py_ssize_t)*n), &path))
            break;
        paths[*n] = PyBytes_AsString(path);
        if (!py_append(*owner, path))
            break;
    }
    if (*owner && *n == (size_t)count)
        return paths;
    if (count >= 0 && !PyErr_Occurred())
        PyErr_NoMemory();
    Py_CLEAR(*owner);
    free(paths);
    return NULL;
}

static struct heft_checkpoint *open_paths(PyObject *list, const struct heft_open_options *how,
                                          struct heft_error *err)
{
    struct heft_checkpoint *c = NULL;
    PyObject *owner;
    size_t n;
    const char **const paths = take_paths(list, &n, &owner);

    if (!paths)
        return NULL;
    Py_BEGIN_ALLOW_THREADS c =
        n == 1 ? heft_open(paths[0], how, err) : heft_open_many(paths, n, how, err);
    Py_END_ALLOW_THREADS free(paths);
    Py_DECREF(owner);
    return c;
}

static struct heft_checkpoint *
open_descriptor(PyObject *number, const struct heft_open_options *how, struct heft_error *err)
{
    const long fd = PyLong_AsLong(number);
    struct heft_checkpoint *c;

    if (fd == -1 && PyErr_Occurred())
        return NULL;
    Py_BEGIN_ALLOW_THREADS c = heft_open_fd((int)fd, 0, HEFT_TO_END, how, err);
    Py_END_ALLOW_THREADS return c;
}

/* The object is locked by *view until the checkpoint is closed. */
static struct heft_checkpoint *open_buffer(PyObject *object, const struct heft_open_options *how,
                                           Py_buffer **view, struct heft_error *err)
{
    struct heft_checkpoint *c;

    *view = malloc(sizeof **view);
    if (!*view || PyObject_GetBuffer(object, *view, PyBUF_SIMPLE) < 0) {
        free(*view);
        *view = NULL;
        return PyErr_Occurred() ? NULL : (struct heft_checkpoint *)PyErr_NoMemory();
    }
    Py_BEGIN_ALLOW_THREADS c = heft_open_memory((*view)->buf, (size_t)(*view)->len, how, err);
    Py_END_ALLOW_THREADS return c;
}

/* What a handle is opened with, and what it takes over. */
struct opening {
    struct heft_checkpoint *c;
    Py_buffer *view;
    PyObject *reader;
    int is_mapped;
    PyObject *of;
};

static struct heft_checkpoint *open_source(struct opening *o, PyObject *source,
                                           const struct heft_open_options *how,
                                           struct heft_error *err)
{
    if (PyList_Check(source))
        return open_paths(source, how, err);
    if (PyLong_Check(source))
        return open_descriptor(source, how, err);
    o->is_mapped = false;
    if (PyObject_CheckBuffer(source))
        return open_buffer(source, how, &o->view, err);
    o->reader = Py_NewRef(source);
    return py_reader_open(source, how, err);
}

/* The checkpoint is closed first, as it reads the buffer or file object until then. */
static void close_opening(const struct opening *o)
{
    Py_BEGIN_ALLOW_THREADS heft_close(o->c);
    Py_END_ALLOW_THREADS if (o->view) PyBuffer_Release(o->view);
    free(o->view);
    Py_XDECREF(o->reader);
    Py_XDECREF(o->of);
}

/* Handle(source, format, salvage, limits, options, mmap, number_names=False): the source is a list of paths, a descriptor, a
 * buffer, or a heft.sources.Reader. */
static bool take_opening(struct opening *o, PyObject *args)
{
    PyObject *source, *dict, *given;
    struct heft_limits limits = HEFT_INIT(struct heft_limits);
    struct heft_open_options how = {.size = sizeof how, .limits = &limits};
    struct heft_error err = {0};
    struct heft_option *options = NULL;
    int salvage, number_names = 0;

    if (!PyArg_ParseTuple(args, "OzpOOp|p", &source, &how.format, &salvage, &dict, &given,
                          &o->is_mapped, &number_names))
        return false;
    how.salvage = salvage;
    how.number_names = number_names;
    if (take_limits(&limits, dict) && py_options_take(&options, &how.n_options, given)) {
        how.options = options;
        o->c = open_source(o, source, &how, &err);
        if (!py_reader_raise(o->reader) && !o->c)
            py_raise(&err);
    }
    free(options);
    return !PyErr_Occurred();
}

static PyObject *new_handle(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    struct opening o = {0};
    struct py_handle *handle;

    (void)keywords;
    handle = take_opening(&o, args) ? (struct py_handle *)PyType_GenericAlloc(type, 0) : NULL;
    if (handle) {
        handle->c = o.c;
        handle->view = o.view;
        handle->reader = o.reader;
        handle->is_mapped = o.is_mapped;
    } else {
        close_opening(&o);
    }
    return (PyObject *)handle;
}

/* ruled(root, rules) → Handle: the checkpoint seen through rules files. It keeps this handle. */
PyObject *py_handle_ruled(PyObject *self, PyObject *args)
{
    const struct py_handle *const of = (struct py_handle *)self;
    struct opening o = {.is_mapped = of->is_mapped};
    struct heft_error err = {0};
    struct heft_rule *rules = NULL;
    struct py_handle *handle = NULL;
    const char *root;
    PyObject *list;
    size_t n;

    if (!PyArg_ParseTuple(args, "zO", &root, &list) || !py_rules_take(&rules, &n, list))
        return NULL;
    Py_BEGIN_ALLOW_THREADS o.c = heft_rules_view(of->c, root, rules, n, &err);
    Py_END_ALLOW_THREADS free(rules);
    if (!py_handle_check(of, o.c, &err))
        return NULL;
    handle = (struct py_handle *)PyType_GenericAlloc(Py_TYPE(self), 0);
    o.reader = of->reader ? Py_NewRef(of->reader) : NULL;
    o.of = Py_NewRef(self);
    if (!handle) {
        close_opening(&o);
        return NULL;
    }
    handle->c = o.c;
    handle->reader = o.reader;
    handle->is_mapped = o.is_mapped;
    handle->of = o.of;
    return (PyObject *)handle;
}

/* rules_numbered(rules) → bool: whether rules files expect the numbers of input files. */
PyObject *py_rules_numbered(PyObject *module, PyObject *rules)
{
    struct heft_error err = {0};
    struct heft_rule *items = NULL;
    bool numbered = false, ok;
    size_t n;

    (void)module;
    if (!py_rules_take(&items, &n, rules))
        return NULL;
    Py_BEGIN_ALLOW_THREADS ok = heft_rules_numbered(items, n, &numbered, &err);
    Py_END_ALLOW_THREADS free(items);
    return ok ? PyBool_FromLong(numbered) : py_raise(&err);
}

/* rules_presets() → [(name, title, text)] */
PyObject *py_rules_presets(PyObject *module, PyObject *unused)
{
    PyObject *list = PyList_New(0);
    struct heft_rules_preset preset = HEFT_INIT(struct heft_rules_preset);
    bool ok = list;

    (void)module;
    (void)unused;
    for (size_t i = 0; ok && heft_rules_preset_at(i, &preset); i++)
        ok = py_append(list, Py_BuildValue("ssN", preset.name, preset.title,
                                           py_str(preset.text, preset.text_len)));
    if (!ok)
        Py_CLEAR(list);
    return list;
}

static void dealloc(PyObject *self)
{
    PyTypeObject *const type = Py_TYPE(self);
    const freefunc release = (freefunc)(uintptr_t)PyType_GetSlot(type, Py_tp_free);
    const struct py_handle *const handle = (struct py_handle *)self;

    close_opening(&(struct opening){handle->c, handle->view, handle->reader, 0, handle->of});
    release(self);
    Py_DECREF(type);
}

/* ---- lists ---- */

static struct heft_checkpoint *checkpoint_of(PyObject *self)
{
    return ((struct py_handle *)self)->c;
}

static PyObject *format(PyObject *self, PyObject *unused)
{
    (void)unused;
    return Py_BuildValue("ss", heft_format(checkpoint_of(self)),
                         heft_format_version(checkpoint_of(self)));
}

/* List that is complete, or NULL. */
static PyObject *end_list(PyObject *list, bool ok)
{
    if (!ok)
        Py_CLEAR(list);
    return list;
}

static PyObject *names(PyObject *self, PyObject *unused)
{
    PyObject *const list = PyList_New(0);
    struct heft_tensor t = HEFT_INIT(struct heft_tensor);
    bool ok = list;

    (void)unused;
    for (size_t i = 0; ok && heft_tensor_at(checkpoint_of(self), i, &t); i++)
        ok = py_append(list, py_str(t.name, t.name_len));
    return end_list(list, ok);
}

static PyObject *files(PyObject *self, PyObject *unused)
{
    PyObject *const list = PyList_New(0);
    struct heft_file file = HEFT_INIT(struct heft_file);
    bool ok = list;

    (void)unused;
    for (size_t i = 0; ok && heft_file_at(checkpoint_of(self), i, &file); i++)
        ok = py_append(list, Py_BuildValue("NK", PyUnicode_DecodeFSDefault(file.path),
                                           (unsigned long long)file.bytes));
    return end_list(list, ok);
}

typedef bool pair_fn(const struct heft_checkpoint *c, size_t index, struct heft_metadata *out);

static PyObject *pairs(PyObject *self, pair_fn *at)
{
    PyObject *const list = PyList_New(0);
    struct heft_metadata pair;
    bool ok = list;

    for (size_t i = 0; ok && at(checkpoint_of(self), i, &pair); i++)
        ok = py_append(list, Py_BuildValue("NN", py_str(pair.key, pair.key_len),
                                           py_str(pair.value, pair.value_len)));
    return end_list(list, ok);
}

static PyObject *metadata(PyObject *self, PyObject *unused)
{
    (void)unused;
    return pairs(self, heft_metadata_at);
}

static PyObject *ties(PyObject *self, PyObject *unused)
{
    (void)unused;
    return pairs(self, heft_tie_at);
}

static PyObject *unread(PyObject *self, PyObject *unused)
{
    PyObject *const list = PyList_New(0);
    struct heft_unread item = HEFT_INIT(struct heft_unread);
    bool ok = list;

    (void)unused;
    for (size_t i = 0; ok && heft_unread_at(checkpoint_of(self), i, &item); i++)
        ok = py_append(list, Py_BuildValue("NN", py_str(item.name, strlen(item.name)),
                                           py_str(item.reason, strlen(item.reason))));
    return end_list(list, ok);
}

static PyObject *notes(PyObject *self, PyObject *unused)
{
    PyObject *const list = PyList_New(0);
    const char *text;
    bool ok = list;

    (void)unused;
    for (size_t i = 0; ok && (text = heft_choice_at(checkpoint_of(self), i)) != NULL; i++)
        ok = py_append(list, py_str(text, strlen(text)));
    for (size_t i = 0; ok && (text = heft_idle_option_at(checkpoint_of(self), i)) != NULL; i++)
        ok = py_append(list, PyUnicode_FromFormat("option %s has no effect here", text));
    return end_list(list, ok);
}

/* find(name) → index; None if there is no such tensor. */
static PyObject *find(PyObject *self, PyObject *name)
{
    PyObject *const bytes = PyUnicode_AsEncodedString(name, "utf-8", "surrogateescape");
    char *p;
    Py_ssize_t n;
    size_t index;
    bool found;

    if (!bytes || PyBytes_AsStringAndSize(bytes, &p, &n) < 0)
        return NULL;
    found = heft_tensor_find(checkpoint_of(self), p, (size_t)n, &index);
    Py_DECREF(bytes);
    return found ? PyLong_FromSize_t(index) : Py_NewRef(Py_None);
}

static bool append_bytes(void *ctx, const void *piece, size_t n)
{
    struct {
        char *p;
        size_t n;
    } *const out = ctx;

    memcpy(out->p + out->n, piece, n);
    out->n += n;
    return true;
}

static PyObject *read_blob(const struct py_handle *handle, size_t index, uint64_t bytes)
{
    struct heft_error err = {0};
    PyObject *const result = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)bytes);
    struct {
        char *p;
        size_t n;
    } out = {result ? PyBytes_AsString(result) : NULL, 0};
    bool ok;

    if (!result)
        return NULL;
    Py_BEGIN_ALLOW_THREADS ok = heft_blob_stream(handle->c, index, append_bytes, &out, &err);
    Py_END_ALLOW_THREADS if (py_handle_check(handle, ok, &err)) return result;
    Py_DECREF(result);
    return NULL;
}

/* blobs() → [(name, kind, bytes)]; blob(index) → bytes */
static PyObject *blobs(PyObject *self, PyObject *unused)
{
    PyObject *const list = PyList_New(0);
    struct heft_blob blob = HEFT_INIT(struct heft_blob);
    bool ok = list;

    (void)unused;
    for (size_t i = 0; ok && heft_blob_at(checkpoint_of(self), i, &blob); i++)
        ok = py_append(list, Py_BuildValue("NsK", py_str(blob.name, blob.name_len), blob.kind,
                                           (unsigned long long)blob.bytes));
    return end_list(list, ok);
}

static PyObject *blob(PyObject *self, PyObject *index)
{
    const size_t at = PyLong_AsSize_t(index);
    struct heft_blob item = HEFT_INIT(struct heft_blob);

    if (at == (size_t)-1 && PyErr_Occurred())
        return NULL;
    if (heft_blob_at(checkpoint_of(self), at, &item) && item.bytes < PY_SSIZE_T_MAX)
        return read_blob((struct py_handle *)self, at, item.bytes);
    PyErr_SetString(PyExc_IndexError, "there is no such blob");
    return NULL;
}

static PyObject *values(PyObject *self, PyObject *make)
{
    return py_tree(checkpoint_of(self), heft_values(checkpoint_of(self)), make);
}

static PyObject *info(PyObject *self, PyObject *make)
{
    return py_tree(checkpoint_of(self), heft_file_info(checkpoint_of(self)), make);
}

static PyMethodDef methods[] = {
    {"format", format, METH_NOARGS, "(name, version)"},
    {"names", names, METH_NOARGS, "Names of the tensors in the file's order."},
    {"files", files, METH_NOARGS, "[(path, bytes)]"},
    {"metadata", metadata, METH_NOARGS, "[(key, value)]"},
    {"ties", ties, METH_NOARGS, "[(dropped name, name of the tensor)]"},
    {"unread", unread, METH_NOARGS, "[(name, reason)]"},
    {"notes", notes, METH_NOARGS, "Sentences about what was opened."},
    {"find", find, METH_O, "Index of a name, also of a dropped one; None if there is none."},
    {"blobs", blobs, METH_NOARGS, "[(name, kind, bytes)]"},
    {"blob", blob, METH_O, "Bytes of the blob of that index."},
    {"values", values, METH_O, "values(make): what is no tensor"},
    {"info", info, METH_O, "info(make): what the files contain besides"},
    {"verify", py_handle_verify, METH_VARARGS, "verify(threads, progress)"},
    {"stats", py_handle_stats, METH_VARARGS, "stats(root, rules, threads, progress)"},
    {"ruled", py_handle_ruled, METH_VARARGS,
     "ruled(root, rules): a handle of the results of rules"},
    {"convert", py_handle_convert, METH_VARARGS,
     "convert(options, rules, format options, progress)"},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot slots[] = {
    {Py_tp_new, PY_SLOT(new_handle)},
    {Py_tp_dealloc, PY_SLOT(dealloc)},
    {Py_tp_methods, methods},
    {Py_tp_doc, PY_SLOT("Open checkpoint; heft.Checkpoint is made of it.")},
    {0, NULL},
};
PyType_Spec py_handle_spec = {"heft._heft.Handle", sizeof(struct py_handle), 0, Py_TPFLAGS_DEFAULT,
                              slots};
