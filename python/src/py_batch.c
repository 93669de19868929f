/* py_batch.c: encodes many texts with several threads.
 *
 *     with the GIL      the texts' bytes are taken
 *     without           threads take blocks of texts; each thread appends ids to one array of its own
 *     with the GIL      lists are made, in the order of the texts
 *
 * The calling thread is one of them. Between its blocks it looks for signals, so that KeyboardInterrupt
 * ends a long batch. */
#include "py_heft.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { MOST_THREADS = 64, BLOCK = 64 };
#define BLOCK_BYTES (1 << 20) /* bytes after which a block ends */

/* Ids of a text: items [start, start + n) of the array of a thread. */
struct place {
    unsigned worker;
    size_t start, n;
};

struct batch {
    struct py_text *texts;
    struct place *places;
    size_t n;
    const struct py_specials *allowed, *refused;
    pthread_mutex_t lock; /* of next */
    size_t next;
    atomic_bool stop;
    struct py_worker workers[MOST_THREADS];
    struct heft_error errors[MOST_THREADS];
    size_t failed[MOST_THREADS];    /* index of the text that the thread could not encode */
    size_t forbidden[MOST_THREADS]; /* if not refused->n: special token in that text */
    unsigned n_workers;
};

struct thread {
    struct batch *batch;
    unsigned at;
    pthread_t id;
};

/* Takes the next texts [*from, *to); false at the end. */
static bool take_block(struct batch *b, size_t *from, size_t *to)
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

static bool encode_at(struct batch *b, unsigned at, size_t i)
{
    struct py_worker *const w = &b->workers[at];
    const size_t start = w->ids.n;
    const struct py_text *const text = &b->texts[i];

    b->forbidden[at] = py_special_find(b->refused, text->p, text->n);
    if (b->forbidden[at] < b->refused->n ||
        !py_encode_text(w, b->allowed, text->p, text->n, &b->errors[at])) {
        b->failed[at] = i;
        atomic_store(&b->stop, true);
        return false;
    }
    b->places[i] = (struct place){at, start, w->ids.n - start};
    return true;
}

/* Encodes one block; false if none is left, and after a failure. */
static bool encode_block(struct batch *b, unsigned at)
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
static bool run_batch(struct batch *b)
{
    struct thread threads[MOST_THREADS];
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
static bool judge(const struct batch *b)
{
    unsigned first = 0;

    for (unsigned i = 1; i < b->n_workers; i++)
        if (b->failed[i] < b->failed[first])
            first = i;
    if (b->failed[first] == b->n)
        return true;
    if (b->forbidden[first] < b->refused->n)
        py_raise_refused(&b->refused->items[b->forbidden[first]]);
    else
        py_raise(&b->errors[first]);
    return false;
}

static PyObject *make_lists(struct py_encoding *e, const struct batch *b)
{
    const int collects = PyGC_Disable(); /* it would visit the lists made so far, again and again */
    PyObject *lists = PyList_New((Py_ssize_t)b->n);

    for (size_t i = 0; lists && i < b->n; i++) {
        const struct place *const place = &b->places[i];
        const uint32_t *const items = b->workers[place->worker].ids.items;
        PyObject *const list = py_list_of_ids(e, items ? items + place->start : items, place->n);

        if (!list || PyList_SetItem(lists, (Py_ssize_t)i, list) < 0)
            Py_CLEAR(lists);
    }
    if (collects)
        PyGC_Enable();
    return lists;
}

static bool take_workers(struct py_encoding *e, struct batch *b, unsigned threads)
{
    struct heft_error err = {0};

    for (b->n_workers = 0; b->n_workers < threads; b->n_workers++) {
        b->failed[b->n_workers] = b->n;
        b->forbidden[b->n_workers] = b->refused->n;
        if (!py_worker_take(e, &b->workers[b->n_workers], &err)) {
            py_raise(&err);
            return false;
        }
    }
    return true;
}

static PyObject *encode_texts(struct py_encoding *e, struct batch *b, unsigned threads)
{
    PyObject *lists = NULL;

    if (take_workers(e, b, threads) && run_batch(b) && judge(b))
        lists = make_lists(e, b);
    for (unsigned i = 0; i < b->n_workers; i++)
        py_worker_give(e, &b->workers[i]);
    return lists;
}

/* Takes the texts of a list; the caller releases the first b->n of them. */
static bool take_texts(struct batch *b, PyObject *list)
{
    const size_t n = (size_t)PyList_Size(list);

    b->texts = calloc(n ? n : 1, sizeof *b->texts);
    b->places = calloc(n ? n : 1, sizeof *b->places);
    if (!b->texts || !b->places) {
        PyErr_NoMemory();
        return false;
    }
    for (; b->n < n; b->n++)
        if (!py_text_take(&b->texts[b->n], PyList_GetItem(list, (Py_ssize_t)b->n)))
            return false;
    return true;
}

static PyObject *encode_list(struct py_encoding *e, PyObject *list, PyObject *const *specials,
                             unsigned threads)
{
    struct py_specials allowed = {0}, refused = {0};
    struct batch *const b = calloc(1, sizeof *b);
    PyObject *lists = NULL;

    if (!b)
        return PyErr_NoMemory();
    b->allowed = &allowed;
    b->refused = &refused;
    pthread_mutex_init(&b->lock, NULL);
    if (py_specials_take(&allowed, specials[0]) && py_specials_take(&refused, specials[1]) &&
        take_texts(b, list))
        lists = encode_texts(e, b, threads);
    for (size_t i = 0; i < b->n; i++)
        py_text_release(&b->texts[i]);
    pthread_mutex_destroy(&b->lock);
    free(b->texts);
    free(b->places);
    free(b);
    free(allowed.items);
    free(refused.items);
    return lists;
}

/* _encode_batch(texts, allowed, refused, threads) */
PyObject *py_encoding_encode_batch(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
    PyObject *list, *lists;
    long threads;

    if (n != 4) {
        PyErr_SetString(PyExc_TypeError, "expected texts, allowed, refused, threads");
        return NULL;
    }
    threads = PyLong_AsLong(args[3]);
    if (threads == -1 && PyErr_Occurred())
        return NULL;
    if (threads < 1) {
        PyErr_SetString(PyExc_ValueError, "num_threads must be at least 1");
        return NULL;
    }
    list = PySequence_List(args[0]); /* of its own: nobody else changes it meanwhile */
    if (!list)
        return NULL;
    if (threads > 1 + PyList_Size(list) / BLOCK)
        threads = (long)(1 + PyList_Size(list) / BLOCK);
    lists = encode_list((struct py_encoding *)self, list, args + 1,
                        threads < MOST_THREADS ? (unsigned)threads : MOST_THREADS);
    Py_DECREF(list);
    return lists;
}
