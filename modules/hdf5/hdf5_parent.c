/* hdf5_parent.c: heft's side of the process that runs libhdf5 (hdf5_child.c). Its messages are
 * validated: the file may have taken control of it. A process that crashes is reported as a damaged
 * file; one that was killed, and a socket that fails, as errors of the system. */
#include "hdf5_parts.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#define MOST_TEXT ((uint64_t)64 << 20) /* bytes of one text, or elements of one list */

struct heft_h5_file {
    pthread_mutex_t lock; /* one request at a time */
    struct hdf5_process process;
    bool is_dead;
    enum heft_code died_of; /* HEFT_IO: of the system; else the file is at fault */
    struct hdf5_pipe in, out;
};

/* ---- starting and ending the child ------------------------------------------------------- */

static struct hdf5_end end_child(struct heft_h5_file *file, bool by_force)
{
    if (file->is_dead)
        return (struct hdf5_end){0};
    file->is_dead = true;
    (void)close(file->in.socket);
    return hdf5_process_end(&file->process, by_force);
}

static bool died_before(const struct heft_h5_file *file, struct heft_error *err)
{
    return file->died_of == HEFT_IO
               ? hdf5_fail(err, HEFT_IO, "the process of libhdf5 has ended before")
               : hdf5_fail(err, HEFT_MALFORMED, "libhdf5 crashed on this file before");
}

/* The socket has failed, or a message is invalid. */
static bool broke_down(struct heft_h5_file *file, struct heft_error *err)
{
    const bool was_dead = file->is_dead;
    const struct hdf5_end end = end_child(file, false);

    if (was_dead)
        return died_before(file, err);
    file->died_of =
        end.signal == SIGKILL || (end.stopped && (file->in.is_lost || file->out.is_lost))
            ? HEFT_IO
            : HEFT_MALFORMED;
    if (end.out_of_time)
        return hdf5_fail(err, HEFT_LIMIT, "libhdf5 does not finish reading this file");
    if (file->died_of == HEFT_IO)
        return hdf5_fail(err, HEFT_IO, "%s",
                         end.signal
                             ? "the process of libhdf5 was killed (signal 9): is memory short?"
                             : "the socket to the process of libhdf5 has failed");
    if (end.signal)
        return hdf5_fail(err, HEFT_MALFORMED,
                         "libhdf5 crashed on this file (signal %d): its structures are damaged",
                         end.signal);
    return hdf5_fail(err, HEFT_MALFORMED, "libhdf5 crashed on this file");
}

/* Takes an error of the child. */
static bool take_error(struct heft_h5_file *file, struct heft_error *err)
{
    struct heft_error found;

    if (!hdf5_take(&file->in, &found, sizeof found))
        return broke_down(file, err);
    found.file[sizeof found.file - 1] = '\0';
    found.text[sizeof found.text - 1] = '\0';
    if (found.code <= HEFT_OK || found.code > HEFT_USAGE || found.system_error < 0)
        return broke_down(file, err);
    *err = found;
    return false;
}

static bool take_answer(struct heft_h5_file *file, struct heft_error *err)
{
    uint64_t word;

    if (!hdf5_take_u64(&file->in, HDF5_FAILED, &word))
        return broke_down(file, err);
    return word == HDF5_DONE || take_error(file, err);
}

static bool fail_errno(struct heft_error *err, const char *what)
{
    const int number = errno;

    hdf5_fail(err, HEFT_IO, "%s: system error %d", what, number);
    err->system_error = number;
    return false;
}

/* Address space in use; 0 if it is unknown: without /proc, or a descriptor. */
static uint64_t find_space(void)
{
    FILE *file = fopen("/proc/self/statm", "re");
    const long page = sysconf(_SC_PAGESIZE);
    unsigned long long pages = 0;
    char line[128];

    if (!file)
        return 0;
    if (fgets(line, sizeof line, file))
        pages = strtoull(line, NULL, 10);
    (void)fclose(file);
    return page > 0 ? pages * (unsigned long long)page : 0;
}

/* Forks while no thread is inside libhdf5, so that the child finds it in a consistent state. */
static bool start_child(struct heft_h5_file *file, int theirs, const struct heft_h5_input *input)
{
    const uint64_t space = find_space();
    bool ok;

    hdf5_lock();
    hdf5_measure();
    ok = hdf5_process_start(&file->process);
    if (ok && file->process.child == 0)
        hdf5_serve(&file->process, theirs, input, space);
    hdf5_unlock();
    return ok;
}

struct heft_h5_file *hdf5_start(const struct heft_h5_input *input, struct heft_error *err)
{
    struct heft_h5_file *file = hdf5_alloc(1, sizeof *file, err);
    int sockets[2];
    bool ok;

    if (!file)
        return NULL;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) {
        fail_errno(err, "cannot create a socket for the process of libhdf5");
        free(file);
        return NULL;
    }
    (void)pthread_mutex_init(&file->lock, NULL);
    file->in.socket = file->out.socket = sockets[0];
    ok = start_child(file, sockets[1], input) ||
         fail_errno(err, "cannot create a process for libhdf5");
    (void)close(sockets[1]);
    if (ok && take_answer(file, err))
        return file;
    hdf5_stop(file);
    return NULL;
}

void hdf5_stop(struct heft_h5_file *file)
{
    if (!file)
        return;
    (void)end_child(file, true);
    (void)pthread_mutex_destroy(&file->lock);
    free(file);
}

/* ---- walking a file ---------------------------------------------------------------------- */

struct hearing {
    struct heft_h5_file *file;
    const struct heft_h5_visitor *visitor;
    struct heft_error *err;
};

/* The caller frees the text; NULL: the pipe failed, or out of memory. */
static char *take_text(struct hearing *h, struct heft_h5_text *out)
{
    struct hdf5_pipe *in = &h->file->in;
    uint64_t n;
    char *p;

    if (!hdf5_take_u64(in, MOST_TEXT, &n))
        return NULL;
    p = hdf5_alloc((size_t)n + 1, 1, h->err);
    if (p && !hdf5_take(in, p, (size_t)n)) {
        free(p);
        return NULL;
    }
    *out = (struct heft_h5_text){p, (size_t)n};
    return p;
}

static bool take_numbers(struct hearing *h, struct heft_h5_dataset *d, uint64_t *shape)
{
    struct hdf5_pipe *in = &h->file->in;
    uint64_t is_elsewhere = 0, dtype = 0, is_big = 0, rank = 0;

    if (!hdf5_take_u64(in, 1, &is_elsewhere) || !hdf5_take_u64(in, UINT64_MAX, &d->address) ||
        !hdf5_take_u64(in, HEFT_DTYPE_COUNT - 1, &dtype) || !hdf5_take_u64(in, 1, &is_big) ||
        !hdf5_take_u64(in, HDF5_RANK, &rank) ||
        !hdf5_take(in, shape, (size_t)rank * sizeof *shape) ||
        !hdf5_take_u64(in, UINT64_MAX, &d->bytes) || !hdf5_take_u64(in, UINT64_MAX, &d->offset) ||
        !hdf5_take_u64(in, UINT64_MAX, &d->work))
        return false;
    d->is_elsewhere = is_elsewhere == 1;
    d->dtype = (enum heft_dtype)dtype;
    d->is_big = is_big == 1;
    d->rank = (unsigned)rank;
    d->shape = shape;
    return true;
}

static bool hear_dataset(struct hearing *h)
{
    struct heft_h5_dataset d = {.path = {NULL, 0}};
    struct heft_h5_text why = {NULL, 0};
    uint64_t shape[HDF5_RANK] = {0};
    char *path = take_text(h, &d.path);
    char *reason = path ? take_text(h, &why) : NULL;
    bool ok = reason && take_numbers(h, &d, shape);

    d.why = why.n ? reason : NULL;
    ok = ok && h->visitor->dataset(h->visitor->ctx, &d, h->err);
    free(reason);
    free(path);
    return ok;
}

static bool hear_note(struct hearing *h)
{
    struct heft_h5_text where = {NULL, 0}, what = {NULL, 0};
    char *path = take_text(h, &where);
    char *text = path ? take_text(h, &what) : NULL;
    const bool ok = text && h->visitor->note(h->visitor->ctx, where, text, h->err);

    free(text);
    free(path);
    return ok;
}

static bool take_texts(struct hearing *h, struct heft_h5_text *texts, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!take_text(h, &texts[i]))
            return false;
    return true;
}

static bool tell_value(struct hearing *h, struct heft_h5_text path, struct heft_h5_text name,
                       struct heft_h5_value *value)
{
    const size_t each = value->kind == HEFT_H5_TEXTS ? sizeof *value->as.texts : 8;
    void *items = hdf5_alloc(value->n, each, h->err);
    struct heft_h5_text *texts = items;
    bool ok = items != NULL;

    value->as.texts = items; /* one pointer of the union; the others are set below */
    if (value->kind == HEFT_H5_INTS || value->kind == HEFT_H5_BOOLS)
        value->as.ints = items;
    if (value->kind == HEFT_H5_FLOATS)
        value->as.floats = items;
    if (ok)
        ok = value->kind == HEFT_H5_TEXTS ? take_texts(h, texts, value->n)
                                          : hdf5_take(&h->file->in, items, value->n * each);
    ok = ok && h->visitor->value(h->visitor->ctx, path, name, value, h->err);
    for (size_t i = 0; items && value->kind == HEFT_H5_TEXTS && i < value->n; i++)
        free((void *)(uintptr_t)texts[i].p);
    free(items);
    return ok;
}

static bool hear_value(struct hearing *h)
{
    struct heft_h5_text path = {NULL, 0}, name = {NULL, 0};
    struct hdf5_pipe *in = &h->file->in;
    uint64_t kind = 0, is_list = 0, n = 0;
    char *where = take_text(h, &path);
    char *what = where ? take_text(h, &name) : NULL;
    bool ok = what && hdf5_take_u64(in, HEFT_H5_BOOLS, &kind) && hdf5_take_u64(in, 1, &is_list) &&
              hdf5_take_u64(in, h->visitor->text_bytes / 4, &n);
    struct heft_h5_value value = {
        .kind = (enum heft_h5_kind)kind, .is_list = is_list == 1, .n = (size_t)n};

    ok = ok && (value.is_list || value.n == 1 || value.kind == HEFT_H5_NOTHING) &&
         tell_value(h, path, name, &value);
    free(what);
    free(where);
    return ok;
}

static bool take_reports(struct hearing *h)
{
    bool (*const of[])(struct hearing *) = {
        [HDF5_DATASET] = hear_dataset, [HDF5_VALUE] = hear_value, [HDF5_NOTE] = hear_note};
    struct hdf5_pipe *in = &h->file->in;
    uint64_t word;

    while (hdf5_take_u64(in, HDF5_NOTE, &word)) {
        if (word == HDF5_DONE)
            return true;
        if (word == HDF5_FAILED)
            return take_error(h->file, h->err);
        if (!of[word](h))
            break;
    }
    /* the error is a callback's or out of memory; otherwise the child is at fault */
    return h->err->code != HEFT_OK ? false : broke_down(h->file, h->err);
}

bool hdf5_ask_walk(struct heft_h5_file *file, const struct heft_h5_visitor *visitor,
                   struct heft_error *err)
{
    struct hearing h = {file, visitor, err};
    bool ok;

    (void)pthread_mutex_lock(&file->lock);
    hdf5_put_u64(&file->out, HDF5_WALK);
    hdf5_put_u64(&file->out, visitor->links);
    hdf5_put_u64(&file->out, visitor->path);
    hdf5_put_u64(&file->out, visitor->text_bytes);
    ok = (!file->is_dead && hdf5_flush(&file->out)) || broke_down(file, err);
    ok = ok && take_reports(&h);
    (void)pthread_mutex_unlock(&file->lock);
    return ok;
}

/* ---- reading data ------------------------------------------------------------------------ */

static bool take_pieces(struct heft_h5_file *file, uint8_t *dst, size_t n, struct heft_error *err)
{
    const size_t most = (size_t)1 << 20; /* size of the child's pieces */

    while (n > 0) {
        const size_t now = n < most ? n : most;

        if (!take_answer(file, err))
            return false;
        if (!hdf5_take(&file->in, dst, now))
            return broke_down(file, err);
        dst += now;
        n -= now;
    }
    return true;
}

bool hdf5_ask_read(struct heft_h5_file *file, uint64_t address, uint64_t off, void *dst, size_t n,
                   struct heft_error *err)
{
    bool ok;

    (void)pthread_mutex_lock(&file->lock);
    hdf5_put_u64(&file->out, HDF5_READ);
    hdf5_put_u64(&file->out, address);
    hdf5_put_u64(&file->out, off);
    hdf5_put_u64(&file->out, n);
    ok = (!file->is_dead && hdf5_flush(&file->out)) || broke_down(file, err);
    ok = ok && take_pieces(file, dst, n, err);
    (void)pthread_mutex_unlock(&file->lock);
    return ok;
}
