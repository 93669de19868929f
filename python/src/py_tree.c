/* py_tree.c: values of a checkpoint as Python's dicts, lists, numbers and texts.
 *
 * The tree is walked without recursion, as it may be deep. A container is made when all its children
 * are: a frame collects them in a list. */
#include "py_handle.h"

#include <stdlib.h>
#include <string.h>

#define MOST_VALUES 4000000 /* shared subtrees are repeated */

struct frame {
    const struct heft_value *node;
    const struct heft_value *next; /* child that is visited next */
    PyObject *items;               /* of the children before it: values, or (key, value) */
    struct heft_items *whole;      /* of a long list, whose children are visited; else NULL */
};
struct walk {
    struct frame *frames;
    size_t n, room, values;
    const struct heft_checkpoint *c;
    PyObject *make;
};

static bool is_container(const struct heft_value *v)
{
    return v->kind == HEFT_VALUE_LIST || v->kind == HEFT_VALUE_TUPLE || v->kind == HEFT_VALUE_SET ||
           v->kind == HEFT_VALUE_DICT || v->kind == HEFT_VALUE_OPAQUE;
}

static bool has_keys(const struct heft_value *v)
{
    return v->kind == HEFT_VALUE_DICT || v->kind == HEFT_VALUE_OPAQUE;
}

/* make(kind, name, items): kind is "tensor", "global", "set", "dict" (of a named class) or "opaque". */
static PyObject *call_make(const struct walk *w, const char *kind, const char *name, size_t n,
                           PyObject *items)
{
    return PyObject_CallFunction(w->make, "sNO", kind, py_str(name ? name : "", n),
                                 items ? items : Py_None);
}

static PyObject *scalar(const struct walk *w, const struct heft_value *v)
{
    switch (v->kind) {
    case HEFT_VALUE_BOOL:
        return PyBool_FromLong(v->as.boolean);
    case HEFT_VALUE_INT:
        return PyLong_FromLongLong(v->as.integer);
    case HEFT_VALUE_BIGINT:
        return PyLong_FromString(v->text, NULL, 0);
    case HEFT_VALUE_FLOAT:
        return PyFloat_FromDouble(v->as.number);
    case HEFT_VALUE_STRING:
        return py_str(v->text, v->text_len);
    case HEFT_VALUE_BYTES:
        return PyBytes_FromStringAndSize(v->text, (Py_ssize_t)v->text_len);
    case HEFT_VALUE_TENSOR:
        return call_make(w, "tensor", v->text, v->text_len, NULL);
    case HEFT_VALUE_GLOBAL:
        return call_make(w, "global", v->type_name, v->type_name ? strlen(v->type_name) : 0, NULL);
    default:
        return Py_NewRef(Py_None);
    }
}

static PyObject *container(const struct walk *w, const struct frame *f)
{
    const char *const type = f->node->type_name;

    switch (f->node->kind) {
    case HEFT_VALUE_LIST:
        return Py_NewRef(f->items);
    case HEFT_VALUE_TUPLE:
        return PyList_AsTuple(f->items);
    case HEFT_VALUE_DICT:
        return type ? call_make(w, "dict", type, strlen(type), f->items)
                    : PyObject_CallFunction((PyObject *)&PyDict_Type, "O", f->items);
    case HEFT_VALUE_SET:
        return call_make(w, "set", type, type ? strlen(type) : 0, f->items);
    default:
        return call_make(w, "opaque", type, type ? strlen(type) : 0, f->items);
    }
}

/* Sets the first child of a frame, and the whole list if the tree has only a part of it. */
static bool begin(const struct walk *w, struct frame *f)
{
    struct heft_error err = {0};

    f->next = f->node->first_child;
    if (!f->node->more)
        return true;
    f->whole = heft_items_new(w->c, f->node, &err);
    if (f->whole)
        f->next = heft_items_value(f->whole)->first_child;
    else
        py_raise(&err);
    return f->whole != NULL;
}

static void end(struct frame *f)
{
    Py_CLEAR(f->items);
    heft_items_free(f->whole);
    f->whole = NULL;
}

static bool push(struct walk *w, const struct heft_value *node)
{
    struct frame *f;

    if (w->n == w->room) {
        const size_t room = w->room ? 2 * w->room : 64;
        struct frame *const grown = realloc(w->frames, room * sizeof *grown);

        if (!grown) {
            PyErr_NoMemory();
            return false;
        }
        w->frames = grown;
        w->room = room;
    }
    f = &w->frames[w->n++];
    *f = (struct frame){.node = node, .items = PyList_New(0)};
    return f->items != NULL && begin(w, f);
}

/* Adds a finished value, whose reference it takes, to the container that is open. */
static bool add(struct walk *w, const struct heft_value *v, PyObject *value)
{
    struct frame *const f = &w->frames[w->n - 1];

    if (!value)
        return false;
    return py_append(f->items, has_keys(f->node)
                                   ? Py_BuildValue("NN", py_str(v->key, v->key_len), value)
                                   : value);
}

static bool count_value(struct walk *w)
{
    static const struct heft_error err = {.code = HEFT_LIMIT,
                                          .offset = HEFT_NO_OFFSET,
                                          .text = "the tree has more than 4000000 values"};

    if (++w->values <= MOST_VALUES)
        return true;
    py_raise(&err);
    return false;
}

/* Visits the children of the containers until the outermost is finished: *result. */
static bool walk_tree(struct walk *w, PyObject **result)
{
    while (w->n > 0) {
        struct frame *const f = &w->frames[w->n - 1];
        const struct heft_value *const child = f->next;

        if (child) {
            f->next = child->next_sibling;
            if (!count_value(w) ||
                !(is_container(child) ? push(w, child) : add(w, child, scalar(w, child))))
                return false;
            continue;
        }
        {
            const struct heft_value *const node = f->node;
            PyObject *const made = container(w, f);

            end(f);
            w->n--;
            if (w->n == 0)
                *result = made;
            if (!made || (w->n > 0 && !add(w, node, made)))
                return false;
        }
    }
    return true;
}

PyObject *py_tree(const struct heft_checkpoint *c, const struct heft_value *root, PyObject *make)
{
    struct walk w = {.c = c, .make = make};
    PyObject *result = NULL;

    if (!root)
        return Py_NewRef(Py_None);
    if (!is_container(root))
        return scalar(&w, root);
    if (!push(&w, root) || !walk_tree(&w, &result))
        Py_CLEAR(result);
    while (w.n > 0)
        end(&w.frames[--w.n]);
    free(w.frames);
    return result;
}
