/* py_objects.c: heft._heft.Objects: makes Python's objects of the graph of a torch file, for
 * heft/loading.py.
 *
 * The graph is walked depth first, without recursion. An object has children that it is made of
 * (items of a tuple, callee and arguments of a call), and others that are put in afterwards, so that
 * containers may contain themselves. Nothing is imported here: `builder` decides what a global is. */
#include "py_handle.h"

#include <stdlib.h>
#include <string.h>

struct py_objects {
    PyObject_HEAD struct heft_objects *o;
};

struct frame {
    struct heft_object object;
    uint32_t node;
    uint32_t *children;
    size_t before, n; /* children of which it is made; all children */
    size_t at;        /* next child */
    PyObject *made;   /* borrowed from walk.made */
};

struct walk {
    struct heft_objects *o;
    PyObject **made; /* by node */
    struct frame *frames;
    size_t n, room;
    PyObject *find_global, *call, *put_items, *set_state, *storage, *tensor, *number;
    bool has_torch; /* false: tensors are made by `tensor` alone */
};

/* ---- children ------------------------------------------------------------------------------ */

static bool is_container(const struct heft_object *x)
{
    return x->kind == HEFT_OBJECT_LIST || x->kind == HEFT_OBJECT_DICT || x->kind == HEFT_OBJECT_SET;
}

static bool is_leaf(const struct walk *w, const struct heft_object *x)
{
    return x->kind < HEFT_OBJECT_TUPLE || x->kind == HEFT_OBJECT_GLOBAL ||
           x->kind == HEFT_OBJECT_STORAGE || (!w->has_torch && x->tensor != SIZE_MAX);
}

/* Lists the children in the order in which they are needed: callee, arguments, keywords | items,
 * state. */
static bool list_children(const struct walk *w, struct frame *f)
{
    const struct heft_object *const x = &f->object;
    const bool is_call = x->kind == HEFT_OBJECT_CALL;
    size_t n = 0;

    f->children = malloc((x->n_items + 4) * sizeof *f->children);
    if (!f->children)
        return PyErr_NoMemory() != NULL;
    if (is_call) {
        f->children[n++] = x->callee;
        f->children[n++] = x->arguments;
        if (x->keywords != HEFT_NO_OBJECT)
            f->children[n++] = x->keywords;
    }
    heft_object_items(w->o, f->node, f->children + n, x->n_items);
    f->before = is_call || is_container(x) ? n : x->n_items;
    n += x->n_items;
    if (x->state != HEFT_NO_OBJECT)
        f->children[n++] = x->state;
    f->n = n;
    return true;
}

static bool push(struct walk *w, uint32_t node, const struct heft_object *x)
{
    if (w->n == w->room) {
        const size_t room = w->room ? 2 * w->room : 64;
        struct frame *const grown = realloc(w->frames, room * sizeof *grown);

        if (!grown)
            return PyErr_NoMemory() != NULL;
        w->frames = grown;
        w->room = room;
    }
    w->frames[w->n] = (struct frame){.object = *x, .node = node};
    return list_children(w, &w->frames[w->n++]);
}

/* ---- values -------------------------------------------------------------------------------- */

static PyObject *make_text(const struct heft_object *x, const char *errors)
{
    return PyUnicode_DecodeUTF8((const char *)x->bytes, (Py_ssize_t)x->n_bytes, errors);
}

static PyObject *make_bytes(const struct heft_object *x)
{
    return PyBytes_FromStringAndSize((const char *)x->bytes, (Py_ssize_t)x->n_bytes);
}

/* A string of Python 2: text if it is UTF-8, else bytes. */
static PyObject *make_old_text(const struct heft_object *x)
{
    PyObject *const text = make_text(x, NULL);

    if (text || !PyErr_ExceptionMatches(PyExc_UnicodeDecodeError))
        return text;
    PyErr_Clear();
    return make_bytes(x);
}

static PyObject *make_global(const struct walk *w, const struct heft_object *x)
{
    return PyObject_CallFunction(
        w->find_global, "NN",
        PyUnicode_DecodeUTF8((const char *)x->module, (Py_ssize_t)x->n_module, "backslashreplace"),
        make_text(x, "backslashreplace"));
}

static PyObject *make_leaf(const struct walk *w, const struct heft_object *x)
{
    if (!w->has_torch && x->tensor != SIZE_MAX)
        return PyObject_CallFunction(w->tensor, "n", (Py_ssize_t)x->tensor);
    switch (x->kind) {
    case HEFT_OBJECT_BOOL:
        return PyBool_FromLong(x->integer != 0);
    case HEFT_OBJECT_INT:
        return PyLong_FromLongLong(x->integer);
    case HEFT_OBJECT_BIGINT:
        return PyObject_CallFunction(w->number, "N", make_bytes(x));
    case HEFT_OBJECT_FLOAT:
        return PyFloat_FromDouble(x->number);
    case HEFT_OBJECT_TEXT:
        return make_text(x, "surrogatepass");
    case HEFT_OBJECT_PY2STR:
        return make_old_text(x);
    case HEFT_OBJECT_BYTES:
        return make_bytes(x);
    case HEFT_OBJECT_BYTEARRAY:
        return PyByteArray_FromStringAndSize((const char *)x->bytes, (Py_ssize_t)x->n_bytes);
    case HEFT_OBJECT_GLOBAL:
        return make_global(w, x);
    case HEFT_OBJECT_STORAGE:
        return PyObject_CallFunction(w->storage, "I", x->storage);
    default:
        return Py_NewRef(Py_None);
    }
}

static PyObject *made_child(const struct walk *w, const struct frame *f, size_t i)
{
    return w->made[f->children[i]];
}

static PyObject *make_tuple(const struct walk *w, const struct frame *f)
{
    PyObject *const tuple = PyTuple_New((Py_ssize_t)f->before);

    for (size_t i = 0; tuple && i < f->before; i++)
        if (PyTuple_SetItem(tuple, (Py_ssize_t)i, Py_NewRef(made_child(w, f, i))) < 0) {
            Py_DECREF(tuple);
            return NULL;
        }
    return tuple;
}

static PyObject *make_frozenset(const struct walk *w, const struct frame *f)
{
    PyObject *const tuple = make_tuple(w, f);
    PyObject *const set = tuple ? PyFrozenSet_New(tuple) : NULL;

    Py_XDECREF(tuple);
    return set;
}

/* call(callee, arguments, keywords or None, is __new__, index of the tensor or -1) */
static PyObject *make_call(const struct walk *w, const struct frame *f)
{
    return PyObject_CallFunction(w->call, "OOOin", made_child(w, f, 0), made_child(w, f, 1),
                                 f->before > 2 ? made_child(w, f, 2) : Py_None, f->object.is_new,
                                 f->object.tensor == SIZE_MAX ? (Py_ssize_t)-1
                                                              : (Py_ssize_t)f->object.tensor);
}

static PyObject *make_empty(const struct walk *w, const struct frame *f)
{
    switch (f->object.kind) {
    case HEFT_OBJECT_LIST:
        return PyList_New(0);
    case HEFT_OBJECT_DICT:
        return PyDict_New();
    case HEFT_OBJECT_SET:
        return PySet_New(NULL);
    case HEFT_OBJECT_FROZENSET:
        return make_frozenset(w, f);
    case HEFT_OBJECT_CALL:
        return make_call(w, f);
    default:
        return make_tuple(w, f);
    }
}

/* ---- items and states ---------------------------------------------------------------------- */

/* put_items(value, list of items, whether they are pairs) */
static bool put_call_items(const struct walk *w, const struct frame *f)
{
    PyObject *const list = PyList_New(0);
    PyObject *done;
    bool ok = list;

    for (size_t i = 0; ok && i < f->object.n_items; i++)
        ok = PyList_Append(list, made_child(w, f, f->before + i)) == 0;
    done =
        ok ? PyObject_CallFunction(w->put_items, "OOi", f->made, list, f->object.has_pairs) : NULL;
    Py_XDECREF(list);
    Py_XDECREF(done);
    return done != NULL;
}

static bool put_items(const struct walk *w, const struct frame *f)
{
    const size_t n = f->object.n_items;
    bool ok = true;

    if (f->object.kind == HEFT_OBJECT_CALL)
        return n == 0 || put_call_items(w, f);
    for (size_t i = 0; ok && i < n; i++) {
        PyObject *const item = made_child(w, f, i);

        if (f->object.kind == HEFT_OBJECT_LIST)
            ok = PyList_Append(f->made, item) == 0;
        else if (f->object.kind == HEFT_OBJECT_SET)
            ok = PySet_Add(f->made, item) == 0;
        else if (f->object.kind == HEFT_OBJECT_DICT && i + 1 < n)
            ok = PyDict_SetItem(f->made, item, made_child(w, f, i + 1)) == 0, i++;
    }
    return ok;
}

static bool finish(const struct walk *w, const struct frame *f)
{
    PyObject *done;

    if (!put_items(w, f))
        return false;
    if (f->object.state == HEFT_NO_OBJECT)
        return true;
    done = PyObject_CallFunctionObjArgs(w->set_state, f->made, made_child(w, f, f->n - 1), NULL);
    Py_XDECREF(done);
    return done != NULL;
}

/* ---- the walk ------------------------------------------------------------------------------ */

static bool malformed(const char *text)
{
    struct heft_error err = {.code = HEFT_MALFORMED, .offset = HEFT_NO_OFFSET};

    strncpy(err.text, text, sizeof err.text - 1);
    py_raise(&err);
    return false;
}

/* Makes a value without children, or pushes it. */
static bool meet(struct walk *w, uint32_t node)
{
    struct heft_object x = HEFT_INIT(struct heft_object);

    if (w->made[node])
        return true;
    if (!heft_object_at(w->o, node, &x))
        return malformed("an object refers to one that does not exist");
    if (!is_leaf(w, &x))
        return push(w, node, &x);
    w->made[node] = make_leaf(w, &x);
    return w->made[node] != NULL;
}

static bool step(struct walk *w)
{
    struct frame *const f = &w->frames[w->n - 1];

    if (!f->made && f->at == f->before) {
        f->made = w->made[f->node] = make_empty(w, f);
        if (!f->made)
            return false;
    }
    if (f->at < f->n) {
        const uint32_t child = f->children[f->at];

        if (w->made[child]) {
            f->at++;
            return true;
        }
        /* A child that is open and not made would be an argument of itself. */
        for (size_t i = w->n; !f->made && i-- > 0;)
            if (w->frames[i].node == child)
                return malformed("an object contains itself as an argument");
        return meet(w, child);
    }
    if (!finish(w, f))
        return false;
    free(f->children);
    w->n--;
    return true;
}

static PyObject *run_walk(struct walk *w)
{
    const uint32_t root = heft_objects_root(w->o);
    const size_t count = heft_objects_count(w->o);
    PyObject *result = NULL;
    bool ok;

    w->made = calloc(count + 1, sizeof *w->made);
    if (!w->made)
        return PyErr_NoMemory();
    ok = meet(w, root);
    while (ok && w->n > 0)
        ok = step(w);
    if (ok)
        result = Py_NewRef(w->made[root]);
    while (w->n > 0)
        free(w->frames[--w->n].children);
    for (size_t i = 0; i < count; i++)
        Py_XDECREF(w->made[i]);
    free(w->made);
    free(w->frames);
    return result;
}

static bool take_methods(struct walk *w, PyObject *builder)
{
    const struct {
        PyObject **at;
        const char *name;
    } methods[] = {{&w->find_global, "find_global"},
                   {&w->call, "call"},
                   {&w->put_items, "put_items"},
                   {&w->set_state, "set_state"},
                   {&w->storage, "storage"},
                   {&w->tensor, "tensor"},
                   {&w->number, "number"}};

    for (size_t i = 0; i < PY_COUNT(methods); i++) {
        *methods[i].at = PyObject_GetAttrString(builder, methods[i].name);
        if (!*methods[i].at)
            return false;
    }
    return true;
}

static void drop_methods(struct walk *w)
{
    Py_XDECREF(w->find_global);
    Py_XDECREF(w->call);
    Py_XDECREF(w->put_items);
    Py_XDECREF(w->set_state);
    Py_XDECREF(w->storage);
    Py_XDECREF(w->tensor);
    Py_XDECREF(w->number);
}

/* make(builder, has_torch) → the object */
static PyObject *make(PyObject *self, PyObject *args)
{
    struct walk w = {.o = ((struct py_objects *)self)->o};
    PyObject *builder, *result = NULL;
    int has_torch;

    if (!PyArg_ParseTuple(args, "Op", &builder, &has_torch))
        return NULL;
    w.has_torch = has_torch;
    if (take_methods(&w, builder))
        result = run_walk(&w);
    drop_methods(&w);
    return result;
}

/* ---- storages ------------------------------------------------------------------------------ */

static PyObject *read_storage(struct py_objects *self, uint32_t index, uint64_t bytes)
{
    struct heft_error err = {0};
    PyObject *array;
    char *data;
    bool ok;

    array = bytes < PY_SSIZE_T_MAX ? PyByteArray_FromStringAndSize(NULL, (Py_ssize_t)bytes)
                                   : PyErr_NoMemory();
    if (!array)
        return NULL;
    data = PyByteArray_AsString(array);
    Py_BEGIN_ALLOW_THREADS ok = heft_object_storage_read(self->o, index, data, (size_t)bytes, &err);
    Py_END_ALLOW_THREADS if (ok) return array;
    Py_DECREF(array);
    return py_raise(&err);
}

/* A copy-on-write view whose address is a multiple of `alignment`; else the bytes as a bytearray. */
static PyObject *view_or_read(struct py_objects *self, uint32_t index, uint64_t bytes, bool maps,
                              size_t alignment)
{
    struct heft_error err = {0};
    void *data;

    if (maps && bytes > 0 && bytes < PY_SSIZE_T_MAX &&
        heft_object_storage_view(self->o, index, &data, &err)) {
        if ((uintptr_t)data % alignment == 0)
            return py_bytes_of((PyObject *)self, data, (size_t)bytes);
    } else if (err.code != HEFT_OK && err.code != HEFT_UNSUPPORTED) {
        return py_raise(&err);
    }
    return read_storage(self, index, bytes);
}

/* storage(index) → (name of its class, bytes, is big-endian, has data) */
static PyObject *storage(PyObject *self, PyObject *index)
{
    struct heft_object_storage s = HEFT_INIT(struct heft_object_storage);
    const unsigned long at = PyLong_AsUnsignedLong(index);

    if (at == (unsigned long)-1 && PyErr_Occurred())
        return NULL;
    if (at < HEFT_NO_OBJECT &&
        heft_object_storage_at(((struct py_objects *)self)->o, (uint32_t)at, &s))
        return Py_BuildValue("sKNN", s.class_name, (unsigned long long)s.bytes,
                             PyBool_FromLong(s.big_endian), PyBool_FromLong(s.has_data));
    PyErr_SetString(PyExc_IndexError, "there is no such storage");
    return NULL;
}

/* data(index, mmap, alignment) → buffer */
static PyObject *data(PyObject *self, PyObject *args)
{
    struct py_objects *const objects = (struct py_objects *)self;
    struct heft_object_storage s = HEFT_INIT(struct heft_object_storage);
    unsigned index, alignment;
    int maps;

    if (!PyArg_ParseTuple(args, "IpI", &index, &maps, &alignment))
        return NULL;
    if (alignment && heft_object_storage_at(objects->o, index, &s))
        return view_or_read(objects, index, s.bytes, maps, alignment);
    PyErr_SetString(PyExc_IndexError, "there is no such storage");
    return NULL;
}

/* ---- the type ------------------------------------------------------------------------------ */

static struct heft_objects *open_objects(PyObject *args, struct heft_error *err)
{
    struct heft_open_options how = {.size = sizeof how};
    struct heft_objects *o = NULL;
    PyObject *path = NULL;

    if (!PyArg_ParseTuple(args, "O&z", PyUnicode_FSConverter, &path, &how.format))
        return NULL;
    Py_BEGIN_ALLOW_THREADS o = heft_objects_new(PyBytes_AsString(path), &how, err);
    Py_END_ALLOW_THREADS Py_DECREF(path);
    if (!o)
        py_raise(err);
    return o;
}

/* Objects(path, format) */
static PyObject *new_objects(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    struct heft_error err = {0};
    struct heft_objects *const o = open_objects(args, &err);
    struct py_objects *objects;

    (void)keywords;
    if (!o)
        return NULL;
    objects = (struct py_objects *)PyType_GenericAlloc(type, 0);
    if (objects)
        objects->o = o;
    else
        heft_objects_free(o);
    return (PyObject *)objects;
}

static void dealloc(PyObject *self)
{
    PyTypeObject *const type = Py_TYPE(self);
    const freefunc release = (freefunc)(uintptr_t)PyType_GetSlot(type, Py_tp_free);

    heft_objects_free(((struct py_objects *)self)->o);
    release(self);
    Py_DECREF(type);
}

static PyObject *get_count(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromSize_t(heft_objects_count(((struct py_objects *)self)->o));
}

static PyGetSetDef members[] = {
    {"count", get_count, NULL, "Number of objects; 0: the file contains no pickled object.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyMethodDef methods[] = {
    {"make", make, METH_VARARGS, "make(builder, has_torch)"},
    {"storage", storage, METH_O, "(class, bytes, is big-endian, has data)"},
    {"data", data, METH_VARARGS, "data(index, mmap, alignment)"},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot slots[] = {
    {Py_tp_new, PY_SLOT(new_objects)},
    {Py_tp_dealloc, PY_SLOT(dealloc)},
    {Py_tp_methods, methods},
    {Py_tp_getset, members},
    {Py_tp_doc, PY_SLOT("Graph of a torch file's object; heft.load makes it.")},
    {0, NULL},
};
PyType_Spec py_objects_spec = {"heft._heft.Objects", sizeof(struct py_objects), 0,
                               Py_TPFLAGS_DEFAULT, slots};
