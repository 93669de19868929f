/* py_data.c: the data of tensors: copy-on-write views of their files, or memory that they are read to.
 *
 * A view maps the file: nothing is read before it is needed, tied tensors share their pages, and what is
 * written to it stays in this process. Data that cannot be a view are read: those that are compressed, in
 * parts, of another byte order, at an address that is no multiple of the size of an element, in memory or in
 * an object of Python; and all data of checkpoints that were opened with mmap=False. */
#include "py_tensor.h"

#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64 };

struct py_data *py_data_retain(struct py_data *data)
{
    if (data)
        atomic_fetch_add(&data->users, 1);
    return data;
}

void py_data_release(struct py_data *data)
{
    if (!data || atomic_fetch_sub(&data->users, 1) != 1)
        return;
    heft_close(data->c);
    free(data->memory);
    free(data);
}

/* ---- layout ---- */

bool py_tensor_is_dense(const struct py_tensor *t, const Py_ssize_t *strides, bool column_major)
{
    Py_ssize_t step = 1;

    for (unsigned i = 0; i < t->rank; i++)
        if (t->shape[i] == 0)
            return true;
    for (unsigned i = 0; i < t->rank; i++) {
        const unsigned d = column_major ? i : t->rank - 1 - i;

        if (t->shape[d] != 1 && strides[d] != step)
            return false;
        step *= t->shape[d];
    }
    return true;
}

size_t py_tensor_extent(const struct py_tensor *t)
{
    size_t last = 0;

    if (t->bytes == 0 || py_tensor_is_dense(t, t->strides, false))
        return (size_t)t->bytes;
    for (unsigned i = 0; i < t->rank; i++)
        last += (size_t)(t->shape[i] - 1) * (size_t)t->strides[i];
    return (last + 1) * heft_dtype_block_bytes(t->t.dtype);
}

/* The trailing dimensions that are row-major are copied as one run. */
static unsigned find_run(const struct py_tensor *t, size_t *run)
{
    unsigned outer = t->rank;

    for (*run = 1; outer > 0; outer--) {
        const Py_ssize_t extent = t->shape[outer - 1];

        if (extent != 1 && t->strides[outer - 1] != (Py_ssize_t)*run)
            break;
        *run *= (size_t)extent;
    }
    return outer;
}

void py_tensor_gather(const struct py_tensor *t, char *dst)
{
    const size_t item = heft_dtype_block_bytes(t->t.dtype);
    const char *src = t->start;
    Py_ssize_t at[64] = {0};
    size_t run;
    unsigned outer, d;

    if (t->bytes == 0 || py_tensor_is_dense(t, t->strides, false) || t->rank > PY_COUNT(at)) {
        memcpy(dst, t->start, (size_t)t->bytes);
        return;
    }
    outer = find_run(t, &run);
    for (;;) {
        memcpy(dst, src, run * item);
        dst += run * item;
        for (d = outer; d > 0; d--) {
            src += t->strides[d - 1] * (Py_ssize_t)item;
            if (++at[d - 1] < t->shape[d - 1])
                break;
            src -= t->strides[d - 1] * t->shape[d - 1] * (Py_ssize_t)item;
            at[d - 1] = 0;
        }
        if (d == 0)
            return;
    }
}

/* ---- views ---- */

/* Alignment that compilers assume of an element: complex numbers have that of their parts. */
static size_t alignment_of(enum heft_dtype dtype)
{
    const size_t bytes = heft_dtype_block_bytes(dtype);
    const bool is_complex = dtype == HEFT_C32 || dtype == HEFT_C64 || dtype == HEFT_C128;

    return is_complex ? bytes / 2 : heft_dtype_block_elements(dtype) == 1 ? bytes : 1;
}

/* Address of the first element in a view; NULL if there can be none, so that the tensor is read. Needs no
 * GIL. */
static char *find_view(const struct py_tensor *t)
{
    const struct heft_view_options how = {.size = sizeof how, .writable = true, .strided = true};
    const size_t block = heft_dtype_block_bytes(t->t.dtype);
    struct heft_view view = HEFT_INIT(struct heft_view);
    struct heft_error reason = {0};
    char *start;

    if (!t->handle->is_mapped || t->bytes == 0 ||
        (t->ranges && heft_dtype_block_elements(t->t.dtype) != 1) ||
        !heft_tensor_view(t->handle->c, t->index, &how, &view, &reason))
        return NULL;
    start = (char *)view.data + t->at * block;
    return (uintptr_t)start % alignment_of(t->t.dtype) == 0 ? start : NULL;
}

/* ---- reading ---- */

static bool read_tensor(const struct py_tensor *t, void *data, struct heft_error *err)
{
    return t->ranges ? heft_tensor_read_slice(t->handle->c, t->index, t->ranges, t->t.rank, data,
                                              (size_t)t->bytes, err)
                     : heft_tensor_read(t->handle->c, t->index, data, (size_t)t->bytes, err);
}

/* Memory for the elements; NULL with MemoryError set. */
static void *make_room(const struct py_tensor *t)
{
    void *const data =
        t->bytes > PY_SSIZE_T_MAX - ALIGNMENT
            ? NULL
            : aligned_alloc(ALIGNMENT, ((size_t)t->bytes / ALIGNMENT + 1) * ALIGNMENT);

    return data ? data : PyErr_NoMemory();
}

/* Gives the tensor its data, unless another thread was faster: a view, which retains the checkpoint, or else
 * memory, which is taken over, also on failure. */
static bool set_data(struct py_tensor *t, struct heft_checkpoint *c, void *memory, char *start)
{
    struct py_data *const data = t->data ? NULL : malloc(sizeof *data);

    if (!data) {
        free(memory);
        return t->data || PyErr_NoMemory();
    }
    atomic_init(&data->users, 1);
    data->c = heft_retain(c);
    data->memory = memory;
    if (c)
        memcpy(t->strides, t->file_strides, t->rank * sizeof *t->strides);
    else
        py_tensor_set_row_major(t, t->strides);
    t->data = data;
    t->start = start;
    return true;
}

static bool read_data(struct py_tensor *t)
{
    struct heft_error err = {0};
    void *const memory = make_room(t);
    bool ok = memory;

    if (!memory)
        return false;
    Py_BEGIN_ALLOW_THREADS ok = read_tensor(t, memory, &err);
    Py_END_ALLOW_THREADS if (!py_handle_check(t->handle, ok, &err))
    {
        free(memory);
        return false;
    }
    return set_data(t, NULL, memory, memory);
}

bool py_tensor_load(struct py_tensor *t)
{
    static const struct heft_error no_size = {.code = HEFT_UNSUPPORTED,
                                              .offset = HEFT_NO_OFFSET,
                                              .text = "its elements have no fixed size"};
    char *start;

    if (t->data)
        return true;
    if (heft_dtype_block_bytes(t->t.dtype) == 0) {
        py_raise(&no_size);
        return false;
    }
    Py_BEGIN_ALLOW_THREADS start = find_view(t);
    Py_END_ALLOW_THREADS return start ? set_data(t, t->handle->c, NULL, start) : read_data(t);
}

PyObject *py_tensor_copy(PyObject *self, PyObject *unused)
{
    struct py_tensor *const t = (struct py_tensor *)self;
    PyObject *copy;
    void *memory;

    (void)unused;
    memory = py_tensor_load(t) ? make_room(t) : NULL;
    if (!memory)
        return NULL;
    Py_BEGIN_ALLOW_THREADS py_tensor_gather(t, memory);
    Py_END_ALLOW_THREADS copy = py_tensor_like(t);
    if (!copy)
        free(memory);
    else if (!set_data((struct py_tensor *)copy, NULL, memory, memory))
        Py_CLEAR(copy);
    return copy;
}
