/* py_split.c: the split of a state dict into shards, for heft/split.py. */
#include "py_heft.h"

#include <limits.h>
#include <stdlib.h>

struct items {
    uint64_t *sizes, *storages;
};

static bool size_of(void *ctx, size_t item, uint64_t *bytes, struct heft_error *err)
{
    (void)err;
    *bytes = ((struct items *)ctx)->sizes[item];
    return true;
}

static uint64_t storage_of(void *ctx, size_t item)
{
    return ((struct items *)ctx)->storages[item];
}

/* Takes a list of ints, or of `none` where it is UINT64_MAX. NULL with an exception set. */
static uint64_t *take_numbers(PyObject *list, size_t n, PyObject *none)
{
    uint64_t *const numbers = malloc((n ? n : 1) * sizeof *numbers);

    if (!numbers) {
        PyErr_NoMemory();
        return NULL;
    }
    for (size_t i = 0; i < n; i++) {
        PyObject *const item = PyList_GetItem(list, (Py_ssize_t)i);

        numbers[i] = !item || item == none ? UINT64_MAX : PyLong_AsUnsignedLongLong(item);
        if (!item || (numbers[i] == UINT64_MAX && PyErr_Occurred())) {
            free(numbers);
            return NULL;
        }
    }
    return numbers;
}

/* Tuple (name, [index, …]) of a file. */
static PyObject *pair_of(const struct heft_split_file *file)
{
    PyObject *const list = PyList_New((Py_ssize_t)file->n);

    for (size_t i = 0; list && i < file->n; i++) {
        PyObject *const number = PyLong_FromSize_t(file->items[i]);

        if (!number || PyList_SetItem(list, (Py_ssize_t)i, number) < 0) {
            Py_DECREF(list);
            return NULL;
        }
    }
    return list ? Py_BuildValue("sN", file->name, list) : NULL;
}

static PyObject *files_of(const struct heft_split_plan *plan)
{
    PyObject *const list = PyList_New(0);
    struct heft_split_file file = HEFT_INIT(struct heft_split_file);

    for (size_t i = 0; list && heft_split_file_at(plan, i, &file); i++) {
        PyObject *const pair = pair_of(&file);

        if (!pair || PyList_Append(list, pair) < 0) {
            Py_XDECREF(pair);
            Py_DECREF(list);
            return NULL;
        }
        Py_DECREF(pair);
    }
    return list;
}

static PyObject *split_items(struct items *items, size_t n, uint64_t most, const char *pattern)
{
    const struct heft_split_items described = {
        .size = sizeof described, .n = n, .bytes = size_of, .storage = storage_of, .ctx = items};
    struct heft_error err = {0};
    struct heft_split_plan *const plan = heft_split_with(&described, most, pattern, &err);
    PyObject *files;

    if (!plan)
        return py_raise(&err);
    files = files_of(plan);
    files = files ? Py_BuildValue("NK", files, (unsigned long long)heft_split_total(plan)) : NULL;
    heft_split_free(plan);
    return files;
}

/* split(sizes, storages, max_shard_size, pattern) → ([(name, [index, …]), …], total size). Sizes and
 * storages are lists of ints, of which the second may contain None. */
PyObject *py_split(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    struct items items = {0};
    PyObject *result = NULL;
    unsigned long long most;
    const char *pattern;
    Py_ssize_t count;

    (void)module;
    if (n != 4 || (count = PyList_Size(args[0])) < 0 || PyList_Size(args[1]) != count) {
        PyErr_SetString(PyExc_TypeError, "expected two lists of equal length, a size, a pattern");
        return NULL;
    }
    most = PyLong_AsUnsignedLongLong(args[2]);
    if (most == ULLONG_MAX && PyErr_Occurred())
        return NULL;
    pattern = PyUnicode_AsUTF8AndSize(args[3], NULL);
    if (!pattern)
        return NULL;
    items.sizes = take_numbers(args[0], (size_t)count, NULL);
    items.storages = items.sizes ? take_numbers(args[1], (size_t)count, Py_None) : NULL;
    if (items.storages)
        result = split_items(&items, (size_t)count, most, pattern);
    free(items.sizes);
    free(items.storages);
    return result;
}
