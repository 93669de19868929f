/* py_encoding.c: heft._heft.Encoding, a vocabulary with a pool of encoders. heft.Encoding derives from it.
 *
 * A vocabulary is shared by threads; an encoder is used by one at a time. A call takes an idle encoder
 * or makes one, and gives it back: at most as many exist as calls ran at the same time. A forked
 * child has the idle ones, and no lock that another thread could have held. */
#include "py_handle.h"

#include <stdlib.h>
#include <string.h>

#define MOST_KEPT (1 << 18) /* ids of a worker's array that are kept for the next call */

static void release_worker(struct py_worker *worker)
{
    heft_encoder_free(worker->encoder);
    free(worker->ids.items);
    *worker = (struct py_worker){0};
}

bool py_worker_take(struct py_encoding *e, struct py_worker *worker, struct heft_error *err)
{
    const struct heft_encoder_options options = {.size = sizeof options, .unicode = e->unicode};

    if (e->n_idle > 0) {
        *worker = e->idle[--e->n_idle];
        return true;
    }
    *worker = (struct py_worker){.encoder = heft_encoder_new(e->vocab, &options, err),
                                 .most_ids = e->is_normalizing ? 3 : 1};
    return worker->encoder != NULL;
}

void py_worker_give(struct py_encoding *e, struct py_worker *worker)
{
    if (!worker->encoder || e->n_idle == PY_IDLE_WORKERS) {
        release_worker(worker);
        return;
    }
    worker->ids.n = 0;
    if (worker->ids.room > MOST_KEPT) {
        free(worker->ids.items);
        worker->ids = (struct py_ids){0};
    }
    e->idle[e->n_idle++] = *worker;
    *worker = (struct py_worker){0};
}

/* Most ids of a text are few different ones: their ints are made once, which saves memory and time. */
static PyObject *number_of(struct py_encoding *e, uint32_t id)
{
    if (id >= e->size)
        return PyLong_FromUnsignedLong(id);
    if (!e->numbers[id])
        e->numbers[id] = PyLong_FromUnsignedLong(id);
    return Py_XNewRef(e->numbers[id]);
}

PyObject *py_list_of_ids(struct py_encoding *e, const uint32_t *ids, size_t n)
{
    PyObject *const list = PyList_New((Py_ssize_t)n);

    for (size_t i = 0; list && i < n; i++) {
        PyObject *const number = number_of(e, ids[i]);

        if (!number || PyList_SetItem(list, (Py_ssize_t)i, number) < 0) {
            Py_DECREF(list);
            return NULL;
        }
    }
    return list;
}

static bool add_special(struct py_specials *specials, PyObject *pair)
{
    unsigned long id;
    const char *p;
    Py_ssize_t n;

    if (!PyArg_ParseTuple(pair, "y#k", &p, &n, &id))
        return false;
    if (n == 0) {
        PyErr_SetString(PyExc_ValueError, "a special token must not be empty");
        return false;
    }
    specials->items[specials->n++] = (struct py_special){p, (size_t)n, (uint32_t)id};
    specials->starts[(unsigned char)*p] = true;
    if (specials->n == 1)
        specials->first = (unsigned char)*p;
    else if (specials->first != (unsigned char)*p)
        specials->first = -1;
    return true;
}

bool py_specials_take(struct py_specials *out, PyObject *tuple)
{
    const Py_ssize_t n = PyTuple_Size(tuple);

    *out = (struct py_specials){0};
    if (n <= 0)
        return n == 0;
    out->items = calloc((size_t)n, sizeof *out->items);
    if (!out->items) {
        PyErr_NoMemory();
        return false;
    }
    for (Py_ssize_t i = 0; i < n; i++)
        if (!add_special(out, PyTuple_GetItem(tuple, i))) {
            free(out->items);
            *out = (struct py_specials){0};
            return false;
        }
    return true;
}

/* ---- the type ---- */

static char *copy_text(const char *text)
{
    char *const copy = malloc(strlen(text) + 1);

    return copy ? strcpy(copy, text) : NULL;
}

static bool open_vocabulary(struct py_encoding *e, const char *path, const char *pattern,
                            const char *eot_token, struct heft_error *err)
{
    const struct heft_vocab_options options = {
        .size = sizeof options, .pattern = pattern, .eot_token = eot_token};
    struct heft_vocab_info info = {.size = sizeof info};

    Py_BEGIN_ALLOW_THREADS e->vocab = heft_vocab_open_with(path, &options, err);
    Py_END_ALLOW_THREADS if (!e->vocab) return false;
    heft_vocab_describe(e->vocab, &info);
    e->size = info.ids;
    e->is_normalizing = info.normalizer != NULL;
    e->numbers = calloc(e->size ? e->size : 1, sizeof(PyObject *));
    err->code = e->numbers ? err->code : HEFT_NOMEM;
    return e->numbers != NULL;
}

/* Encoding(path or None, pattern, eot_token, unicode): the last three are str or None. */
static PyObject *new_encoding(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    const char *pattern, *eot_token, *unicode;
    struct py_encoding *e;
    struct heft_error err = {0};
    PyObject *given, *path = NULL;

    if (keywords && PyDict_Size(keywords) > 0) {
        PyErr_SetString(PyExc_TypeError, "use heft.get_encoding or heft.from_file");
        return NULL;
    }
    if (!PyArg_ParseTuple(args, "Ozzz", &given, &pattern, &eot_token, &unicode) ||
        (given != Py_None && !PyUnicode_FSConverter(given, &path)))
        return NULL;
    e = (struct py_encoding *)PyType_GenericAlloc(type, 0);
    if (e &&
        ((unicode && !(e->unicode = copy_text(unicode))) ||
         !open_vocabulary(e, path ? PyBytes_AsString(path) : NULL, pattern, eot_token, &err))) {
        if (err.code == HEFT_OK)
            PyErr_NoMemory();
        else
            py_raise(&err);
        Py_DECREF(e);
        e = NULL;
    }
    Py_XDECREF(path);
    return (PyObject *)e;
}

static void dealloc(PyObject *self)
{
    struct py_encoding *const e = (struct py_encoding *)self;
    PyTypeObject *const type = Py_TYPE(self);
    const freefunc release = (freefunc)(uintptr_t)PyType_GetSlot(type, Py_tp_free);

    while (e->n_idle > 0)
        release_worker(&e->idle[--e->n_idle]);
    for (uint32_t i = 0; e->numbers && i < e->size; i++)
        Py_XDECREF(e->numbers[i]);
    free(e->numbers);
    free(e->unicode);
    heft_vocab_close(e->vocab);
    release(self);
    Py_DECREF(type);
}

static PyObject *notes(PyObject *self, PyObject *of_ids)
{
    const struct heft_vocab *const v = ((struct py_encoding *)self)->vocab;
    const int which = PyObject_IsTrue(of_ids);
    PyObject *const list = which < 0 ? NULL : PyList_New(0);
    const char *note;

    for (size_t i = 0; list && (note = heft_vocab_note(v, which == 1, i)) != NULL; i++) {
        PyObject *const text = PyUnicode_DecodeUTF8(note, (Py_ssize_t)strlen(note), "replace");

        if (!text || PyList_Append(list, text) < 0) {
            Py_XDECREF(text);
            Py_DECREF(list);
            return NULL;
        }
        Py_DECREF(text);
    }
    return list;
}

static PyObject *get_doubt(PyObject *self, void *unused)
{
    const char *const doubt = heft_vocab_doubt(((struct py_encoding *)self)->vocab);

    (void)unused;
    return doubt ? PyUnicode_FromString(doubt) : Py_NewRef(Py_None);
}

static PyObject *get_size(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromUnsignedLong(((struct py_encoding *)self)->size);
}

static PyObject *get_end(PyObject *self, void *unused)
{
    const uint32_t end = heft_vocab_end(((struct py_encoding *)self)->vocab);

    (void)unused;
    return end == HEFT_NO_TOKEN ? Py_NewRef(Py_None) : PyLong_FromUnsignedLong(end);
}

/* Special tokens as pairs of bytes and id. */
static PyObject *specials(PyObject *self, PyObject *unused)
{
    const struct heft_vocab *const v = ((struct py_encoding *)self)->vocab;
    struct heft_special_token token = HEFT_INIT(struct heft_special_token);
    PyObject *const list = PyList_New(0);
    bool ok = list;

    (void)unused;
    for (size_t i = 0; ok && heft_vocab_special_at(v, i, &token); i++)
        ok = py_append(
            list, Py_BuildValue("y#k", token.text, (Py_ssize_t)token.n, (unsigned long)token.id));
    return ok ? list : (Py_XDECREF(list), NULL);
}

static PyGetSetDef members[] = {
    {"n_vocab", get_size, NULL, "Highest id plus one.", NULL},
    {"_end", get_end, NULL, NULL, NULL},
    {"_doubt", get_doubt, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyMethodDef methods[] = {
    {"encode_ordinary", py_encoding_encode_ordinary, METH_O,
     "encode_ordinary($self, text, /)\n--\n\n"
     "Encodes a text to a list of ids; special tokens are text.\n\n"
     "text is a str, or UTF-8 in bytes or any object with the buffer protocol. Surrogates in a str "
     "are\n"
     "replaced as in tiktoken. Raises MalformedError with the byte offset if bytes are not UTF-8."},
    {"_encode", PY_FAST(py_encoding_encode), METH_FASTCALL, "_encode(text, allowed, refused)"},
    {"_encode_ids", PY_FAST(py_encoding_encode_ids), METH_FASTCALL,
     "_encode_ids(text, allowed, refused)"},
    {"_encode_batch", PY_FAST(py_encoding_encode_batch), METH_FASTCALL,
     "_encode_batch(texts, allowed, refused, threads)"},
    {"_encode_packed", PY_FAST(py_encoding_encode_packed), METH_FASTCALL,
     "_encode_packed(texts, allowed, refused, threads): (ids, offsets)"},
    {"_encode_arrow", PY_FAST(py_encoding_encode_arrow), METH_FASTCALL,
     "_encode_arrow(schema, array, allowed, refused, threads): (schema, array)"},
    {"decode_bytes", py_encoding_decode_bytes, METH_O,
     "decode_bytes($self, tokens, /)\n--\n\n"
     "Bytes of a sequence of ids: a list, an array of numpy or torch, any buffer of integers.\n\n"
     "Raises UnknownTokenError, a KeyError, whose offset is the index of an id without bytes."},
    {"decode_single_token_bytes", py_encoding_single_token_bytes, METH_O,
     "decode_single_token_bytes($self, token, /)\n--\n\nBytes of one id. Raises KeyError if it has "
     "none."},
    {"_tokens", py_encoding_tokens, METH_NOARGS, "List of bytes by id; None for an id without."},
    {"_specials", specials, METH_NOARGS, "_specials(): pairs of the bytes and the id"},
    {"_notes", notes, METH_O, "_notes(of_ids): what the vocabulary's files ask for and is ignored"},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot slots[] = {
    {Py_tp_new, PY_SLOT(new_encoding)},
    {Py_tp_dealloc, PY_SLOT(dealloc)},
    {Py_tp_methods, methods},
    {Py_tp_getset, members},
    {Py_tp_doc, PY_SLOT("Vocabulary with a pool of encoders: the base class of heft.Encoding.")},
    {0, NULL},
};
PyType_Spec py_encoding_spec = {"heft._heft.Encoding", sizeof(struct py_encoding), 0,
                                Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
