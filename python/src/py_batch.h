/* py_batch.h: many texts encoded at once: by lists, packed arrays (py_batch.c), and arrays of
 * Arrow (py_arrow.c). */
#ifndef HEFT_PY_BATCH_H
#define HEFT_PY_BATCH_H

#include "py_heft.h"

#include <pthread.h>
#include <stdatomic.h>

enum { PY_MOST_THREADS = 64 };

/* Ids of a text: items [start, start + n) of the array of a worker. */
struct py_place {
    unsigned worker;
    size_t start, n;
};

struct py_batch {
    struct py_text *texts;
    struct py_place *places;
    size_t n;
    struct py_specials allowed, refused;
    pthread_mutex_t lock; /* of next */
    size_t next;
    atomic_bool stop;
    struct py_worker workers[PY_MOST_THREADS];
    struct heft_error errors[PY_MOST_THREADS];
    size_t failed[PY_MOST_THREADS];    /* index of the text that the thread could not encode */
    size_t forbidden[PY_MOST_THREADS]; /* if not refused.n: special token in that text */
    unsigned n_workers;
};

/* A batch with room for n texts, which the caller sets; specials: (allowed, refused). NULL with an
 * exception set. */
struct py_batch *py_batch_new(size_t n, PyObject *const *specials);
/* The same with the texts of a list. */
struct py_batch *py_batch_of(PyObject *list, PyObject *const *specials);
/* Encodes the texts; false with an exception set. Releases the GIL. */
bool py_batch_run(struct py_batch *b, struct py_encoding *e, PyObject *threads);
/* Accepts NULL. */
void py_batch_free(struct py_batch *b, struct py_encoding *e);

/* The ids of all texts one after the other, and where each text's begin: offsets[n] is the end. Takes them
 * out of the batch. The caller frees both. False with MemoryError set. */
bool py_batch_pack(struct py_batch *b, struct py_ids *ids, int64_t **offsets);

#endif
