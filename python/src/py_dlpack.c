/* py_dlpack.c: tensors for torch, numpy, jax and others by DLPack (version 1), whose structures are
 * declared here as its specification has them. */
#include "py_tensor.h"

#include <stdlib.h>
#include <string.h>

struct dl_device {
    int32_t type; /* 1: CPU */
    int32_t id;
};
struct dl_dtype {
    uint8_t code, bits;
    uint16_t lanes;
};
struct dl_tensor {
    void *data;
    struct dl_device device;
    int32_t rank;
    struct dl_dtype dtype;
    int64_t *shape, *strides;
    uint64_t byte_offset;
};
struct dl_managed { /* DLManagedTensor */
    struct dl_tensor tensor;
    void *owner;
    void (*release)(struct dl_managed *self);
};
struct dl_versioned { /* DLManagedTensorVersioned */
    struct {
        uint32_t major, minor;
    } version;
    void *owner;
    void (*release)(struct dl_versioned *self);
    uint64_t flags;
    struct dl_tensor tensor;
};

/* Codes of DLDataTypeCode; bits 0: DLPack has none for the dtype. */
static const struct dl_dtype DTYPES[HEFT_DTYPE_COUNT] = {
    [HEFT_BOOL] = {6, 8, 1},
    [HEFT_U8] = {1, 8, 1},
    [HEFT_I8] = {0, 8, 1},
    [HEFT_F8_E5M2] = {12, 8, 1},
    [HEFT_F8_E4M3] = {10, 8, 1},
    [HEFT_F8_E8M0] = {14, 8, 1},
    [HEFT_F8_E4M3FNUZ] = {11, 8, 1},
    [HEFT_F8_E5M2FNUZ] = {13, 8, 1},
    [HEFT_F8_E4M3B11FNUZ] = {9, 8, 1},
    [HEFT_I16] = {0, 16, 1},
    [HEFT_U16] = {1, 16, 1},
    [HEFT_F16] = {2, 16, 1},
    [HEFT_BF16] = {4, 16, 1},
    [HEFT_I32] = {0, 32, 1},
    [HEFT_U32] = {1, 32, 1},
    [HEFT_F32] = {2, 32, 1},
    [HEFT_C64] = {5, 64, 1},
    [HEFT_F64] = {2, 64, 1},
    [HEFT_I64] = {0, 64, 1},
    [HEFT_U64] = {1, 64, 1},
    [HEFT_C32] = {5, 32, 1},
    [HEFT_C128] = {5, 128, 1},
};

/* The consumer may be any thread, without the GIL, also after the end of the interpreter. */
static void release_managed(struct dl_managed *m)
{
    py_data_release(m->owner);
    free(m);
}

static void release_versioned(struct dl_versioned *m)
{
    py_data_release(m->owner);
    free(m);
}

/* A capsule that nobody has taken still has its first name. */
static void destroy_managed(PyObject *capsule)
{
    struct dl_managed *const m =
        PyCapsule_IsValid(capsule, "dltensor") ? PyCapsule_GetPointer(capsule, "dltensor") : NULL;

    if (m)
        m->release(m);
}

static void destroy_versioned(PyObject *capsule)
{
    struct dl_versioned *const m = PyCapsule_IsValid(capsule, "dltensor_versioned")
                                       ? PyCapsule_GetPointer(capsule, "dltensor_versioned")
                                       : NULL;

    if (m)
        m->release(m);
}

static struct dl_tensor tensor_of(struct py_tensor *t, int64_t *numbers)
{
    for (unsigned i = 0; i < t->rank; i++) {
        numbers[i] = t->shape[i];
        numbers[t->rank + i] = t->strides[i];
    }
    return (struct dl_tensor){.data = t->bytes ? t->start : NULL,
                              .device = {1, 0},
                              .rank = (int32_t)t->rank,
                              .dtype = DTYPES[t->t.dtype],
                              .shape = numbers,
                              .strides = numbers + t->rank};
}

static PyObject *make_managed(struct py_tensor *t)
{
    struct dl_managed *const m = malloc(sizeof *m + 2 * t->rank * sizeof(int64_t));
    PyObject *capsule;

    if (!m)
        return PyErr_NoMemory();
    *m = (struct dl_managed){tensor_of(t, (int64_t *)(m + 1)), t->data, release_managed};
    capsule = PyCapsule_New(m, "dltensor", destroy_managed);
    if (capsule)
        py_data_retain(t->data);
    else
        free(m);
    return capsule;
}

static PyObject *make_versioned(struct py_tensor *t, bool copied)
{
    struct dl_versioned *const m = malloc(sizeof *m + 2 * t->rank * sizeof(int64_t));
    PyObject *capsule;

    if (!m)
        return PyErr_NoMemory();
    *m = (struct dl_versioned){.version = {1, 0},
                               .owner = t->data,
                               .release = release_versioned,
                               .flags = copied ? 2 : 0,
                               .tensor = tensor_of(t, (int64_t *)(m + 1))};
    capsule = PyCapsule_New(m, "dltensor_versioned", destroy_versioned);
    if (capsule)
        py_data_retain(t->data);
    else
        free(m);
    return capsule;
}

/* Whether the consumer asks for another device than the CPU: (1, 0). */
static bool is_elsewhere(PyObject *device)
{
    int type = 1, id = 0;

    if (!device || device == Py_None)
        return false;
    if (!PyArg_ParseTuple(device, "ii", &type, &id)) {
        PyErr_Clear();
        return true;
    }
    return type != 1;
}

/* Whether the consumer takes version 1, (major, minor). */
static bool wants_version(PyObject *version)
{
    int major = 0, minor = 0;

    if (!version || version == Py_None)
        return false;
    if (!PyArg_ParseTuple(version, "ii", &major, &minor))
        PyErr_Clear();
    return major >= 1;
}

PyObject *py_tensor_dlpack(PyObject *self, PyObject *args, PyObject *keywords)
{
    static const char *const names[] = {"stream", "max_version", "dl_device", "copy", NULL};
    struct py_tensor *t = (struct py_tensor *)self;
    PyObject *stream = NULL, *version = NULL, *device = NULL, *copy = NULL, *capsule = NULL;

    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|$OOOO", (char **)(uintptr_t)names, &stream,
                                     &version, &device, &copy))
        return NULL;
    if ((unsigned)t->t.dtype >= HEFT_DTYPE_COUNT || DTYPES[t->t.dtype].bits == 0 || t->is_huge ||
        is_elsewhere(device)) {
        PyErr_Format(PyExc_BufferError, "DLPack: dtype %s on the CPU cannot be exported so",
                     heft_dtype_name(t->t.dtype));
        return NULL;
    }
    t = (struct py_tensor *)(copy == Py_True ? py_tensor_copy(self, NULL) : Py_NewRef(self));
    if (t && py_tensor_load(t))
        capsule = wants_version(version) ? make_versioned(t, copy == Py_True) : make_managed(t);
    Py_XDECREF((PyObject *)t);
    return capsule;
}
