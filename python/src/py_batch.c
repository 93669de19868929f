/* py_batch.c: encodes many texts with several threads.
 *
 *     with the GIL      the texts' bytes are taken
 *     without           threads take blocks of texts; each thread appends ids to one array of its own
 *     with the GIL      lists are made, in the order of the texts
 *
 * The calling thread is one of them. Between its blocks it looks for signals, so that KeyboardInterrupt
 * ends a long batch. */
#include "py_batch.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCK = 64 };
#define BLOCK_BYTES (1 << 20) /* bytes after which a block ends */

struct thread {
    struct py_batch *batch;
    unsigned at;
    pthread_t id;
};

/* Takes the next texts [*from, *to); false at the end. */
static bool take_block(struct py_batch *b, size_t *from, size_t *to)
{
    size_t bytes = 0;

    pthread_mutex_lock(&b->lock);
    *from = *to = b->next;
    while (*to < b->n && *to - *from < BLOCK && bytes < BLOCK_BYTES)
        bytes += b->texts[(*to)++].n;
    b->next = *to;
    pthread_mutex_unlock(&b->lock);
    return *from < *to;
}

static bool encode_at(struct py_batch *b, unsigned at, size_t i)
{
    struct py_worker *const w = &b->workers[at];
    const size_t start = w->ids.n;
    const struct py_text *const text = &b->texts[i];

    b->forbidden[at] = py_special_find(&b->refused, text->p, text->n);
    if (b->forbidden[at] < b->refused.n ||
        !py_encode_text(w, &b->allowed, text->p, text->n, &b->errors[at])) {
        b->failed[at] = i;
        atomic_store(&b->stop, true);
        return false;
    }
    b->places[i] = (struct py_place){at, start, w->ids.n - start};
    return true;
}

/* Encodes one block; false if none is left, and after a failure. */
static bool encode_block(struct py_batch *b, unsigned at)
{
    size_t from, to;

    if (atomic_load(&b->stop) || !take_block(b, &from, &to))
        return false;
    for (size_t i = from; i < to; i++)
        if (!encode_at(b, at, i))
            return false;
    return true;
}

static void *run_thread(void *argument)
{
    const struct thread *const thread = argument;

    while (encode_block(thread->batch, thread->at))
        ;
    return NULL;
}

/* Runs the batch in this thread and the others; false if a signal raised an exception. */
static bool run_batch(struct py_batch *b)
{
    struct thread threads[PY_MOST_THREADS];
    unsigned started = 1;
    bool ok = true;

    PyThreadState *state = PyEval_SaveThread();
    for (; started < b->n_workers; started++) {
        threads[started] = (struct thread){.batch = b, .at = started};
        if (pthread_create(&threads[started].id, NULL, run_thread, &threads[started]) != 0)
            break; /* fewer threads do the same work */
    }
    while (ok && encode_block(b, 0)) {
        PyEval_RestoreThread(state);
        ok = PyErr_CheckSignals() == 0;
        state = PyEval_SaveThread();
    }
    if (!ok)
        atomic_store(&b->stop, true);
    for (unsigned i = 1; i < started; i++)
        pthread_join(threads[i].id, NULL);
    PyEval_RestoreThread(state);
    return ok;
}

/* Raises the error of the first text that failed; false if there is one. */
static bool judge(const struct py_batch *b)
{
    unsigned first = 0;

    for (unsigned i = 1; i < b->n_workers; i++)
        if (b->failed[i] < b->failed[first])
            first = i;
    if (b->failed[first] == b->n)
        return true;
    if (b->forbidden[first] < b->refused.n)
        py_raise_refused(&b->refused.items[b->forbidden[first]]);
    else
        py_raise(&b->errors[first]);
    return false;
}

static PyObject *make_lists(struct py_encoding *e, struct py_batch *b)
{
    const int collects = PyGC_Disable(); /* it would visit the lists made so far, again and again */
    PyObject *lists = PyList_New((Py_ssize_t)b->n);

    for (size_t i = 0; lists && i < b->n; i++) {
        const struct py_place *const place = &b->places[i];
        const uint32_t *const items = b->workers[place->worker].ids.items;
        PyObject *const list = py_list_of_ids(e, items ? items + place->start : items, place->n);

        if (!list || PyList_SetItem(lists, (Py_ssize_t)i, list) < 0)
            Py_CLEAR(lists);
    }
    if (collects)
        PyGC_Enable();
    return lists;
}

static bool take_workers(struct py_encoding *e, struct py_batch *b, unsigned threads)
{
    struct heft_error err = {0};

    for (b->n_workers = 0; b->n_workers < threads; b->n_workers++) {
        b->failed[b->n_workers] = b->n;
        b->forbidden[b->n_workers] = b->refused.n;
        if (!py_worker_take(e, &b->workers[b->n_workers], &err)) {
            py_raise(&err);
            return false;
        }
    }
    return true;
}

/* Number of threads for n texts: an argument of Python; 0 with an exception set. */
static unsigned take_threads(PyObject *argument, size_t n)
{
    const long threads = PyLong_AsLong(argument);

    if (threads < 1) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_ValueError, "num_threads must be at least 1");
        return 0;
    }
    if ((size_t)threads > 1 + n / BLOCK)
        return (unsigned)(n / BLOCK < PY_MOST_THREADS ? 1 + n / BLOCK : PY_MOST_THREADS);
    return threads < PY_MOST_THREADS ? (unsigned)threads : PY_MOST_THREADS;
}

bool py_batch_run(struct py_batch *b, struct py_encoding *e, PyObject *argument)
{
    const unsigned threads = take_threads(argument, b->n);

    return threads > 0 && take_workers(e, b, threads) && run_batch(b) && judge(b);
}

struct py_batch *py_batch_new(size_t n, PyObject *const *specials)
{
    struct py_batch *const b = calloc(1, sizeof *b);

    if (!b) {
        PyErr_NoMemory();
        return NULL;
    }
    pthread_mutex_init(&b->lock, NULL);
    b->texts = calloc(n + 1, sizeof *b->texts);
    b->places = calloc(n + 1, sizeof *b->places);
    if (!b->texts || !b->places)
        PyErr_NoMemory();
    else if (py_specials_take(&b->allowed, specials[0]) &&
             py_specials_take(&b->refused, specials[1]))
        return b;
    py_batch_free(b, NULL);
    return NULL;
}

struct py_batch *py_batch_of(PyObject *list, PyObject *const *specials)
{
    const size_t n = (size_t)PyList_Size(list);
    struct py_batch *const b = py_batch_new(n, specials);

    for (; b && b->n < n; b->n++)
        if (!py_text_take(&b->texts[b->n], PyList_GetItem(list, (Py_ssize_t)b->n))) {
            py_batch_free(b, NULL);
            return NULL;
        }
    return b;
}

void py_batch_free(struct py_batch *b, struct py_encoding *e)
{
    if (!b)
        return;
    for (unsigned i = 0; i < b->n_workers; i++)
        py_worker_give(e, &b->workers[i]);
    for (size_t i = 0; i < b->n; i++)
        py_text_release(&b->texts[i]);
    pthread_mutex_destroy(&b->lock);
    free(b->texts);
    free(b->places);
    free(b->allowed.items);
    free(b->refused.items);
    free(b);
}

/* Takes the array of a single worker, which has the ids in the order of the texts, without its unused
 * room. */
static void take_array(struct py_ids *from, struct py_ids *to)
{
    uint32_t *const cut = from->n ? realloc(from->items, from->n * sizeof *cut) : NULL;

    *to = *from;
    if (cut) {
        to->items = cut;
        to->room = from->n;
    }
    *from = (struct py_ids){0};
}

/* Copies the ids of all workers in the order of the texts. */
static bool copy_arrays(const struct py_batch *b, size_t total, struct py_ids *to)
{
    struct heft_error err = {0};

    if (!py_ids_room(to, total, &err))
        return false;
    for (size_t i = 0; i < b->n; i++) {
        const struct py_place *const place = &b->places[i];

        if (place->n)
            memcpy(to->items + to->n, b->workers[place->worker].ids.items + place->start,
                   place->n * sizeof *to->items);
        to->n += place->n;
    }
    return true;
}

bool py_batch_pack(struct py_batch *b, struct py_ids *ids, int64_t **offsets)
{
    size_t total = 0;

    *ids = (struct py_ids){0};
    *offsets = malloc((b->n + 1) * sizeof **offsets);
    for (size_t i = 0; *offsets && i < b->n; i++) {
        (*offsets)[i] = (int64_t)total;
        total += b->places[i].n;
    }
    if (*offsets && b->n_workers == 1 && total > 0)
        take_array(&b->workers[0].ids, ids);
    else if (!*offsets || !copy_arrays(b, total, ids)) {
        free(*offsets);
        PyErr_NoMemory();
        return false;
    }
    (*offsets)[b->n] = (int64_t)total;
    return true;
}

/* ---- methods ------------------------------------------------------------------------------- */

/* (ids, offsets) as memoryviews. */
static PyObject *make_packed(struct py_encoding *e, struct py_batch *b)
{
    struct py_ids ids;
    int64_t *offsets;
    PyObject *first, *second;

    (void)e;
    if (!py_batch_pack(b, &ids, &offsets))
        return NULL;
    first = py_ids_new(&ids);
    second = py_offsets_new(offsets, b->n + 1);
    if (first && second)
        return Py_BuildValue("NN", first, second);
    Py_XDECREF(first);
    Py_XDECREF(second);
    return NULL;
}

/* Encodes (texts, allowed, refused, threads); `make` turns the batch into the result. */
static PyObject *encode_list(PyObject *self, PyObject *const *args, Py_ssize_t n,
                             PyObject *(*make)(struct py_encoding *e, struct py_batch *b))
{
    struct py_encoding *const e = (struct py_encoding *)self;
    struct py_batch *b;
    PyObject *list, *made = NULL;

    if (n != 4) {
        PyErr_SetString(PyExc_TypeError, "expected texts, allowed, refused, threads");
        return NULL;
    }
    list = PySequence_List(args[0]); /* of its own: nobody else changes it meanwhile */
    if (!list)
        return NULL;
    b = py_batch_of(list, args + 1);
    if (b && py_batch_run(b, e, args[3]))
        made = make(e, b);
    py_batch_free(b, e);
    Py_DECREF(list);
    return made;
}

PyObject *py_encoding_encode_batch(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
    return encode_list(self, args, n, make_lists);
}

PyObject *py_encoding_encode_packed(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
    return encode_list(self, args, n, make_packed);
}
