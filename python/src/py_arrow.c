/* py_arrow.c: arrays of Arrow, through its C data interface, whose structures are declared here as its
 * specification has them.
 *
 *     in     string, large_string, binary, large_binary, string_view, binary_view: read where they lie
 *     out    large_list<uint32>: offsets and ids, which the consumer's release frees; nulls stay null
 *
 * Offsets and buffers of an array are trusted, as every consumer of the interface does; the texts are
 * not. */
#include "py_batch.h"

#include <stdlib.h>
#include <string.h>

struct ArrowSchema {
    const char *format, *name, *metadata;
    int64_t flags; /* 2: may have nulls */
    int64_t n_children;
    struct ArrowSchema **children;
    struct ArrowSchema *dictionary;
    void (*release)(struct ArrowSchema *self);
    void *private_data;
};
struct ArrowArray {
    int64_t length, null_count, offset;
    int64_t n_buffers, n_children;
    const void **buffers;
    struct ArrowArray **children;
    struct ArrowArray *dictionary;
    void (*release)(struct ArrowArray *self);
    void *private_data;
};
#define NULLABLE 2

/* ---- texts of an array --------------------------------------------------------------------- */

static bool is_null(const struct ArrowArray *a, int64_t i)
{
    const uint8_t *const bits = a->null_count != 0 ? a->buffers[0] : NULL;

    return bits && !(bits[(a->offset + i) / 8] >> (a->offset + i) % 8 & 1);
}

static struct py_text text_of_32(const struct ArrowArray *a, int64_t i)
{
    const int32_t *const ends = (const int32_t *)a->buffers[1] + a->offset + i;

    return (struct py_text){(const char *)a->buffers[2] + ends[0], (size_t)(ends[1] - ends[0]),
                            NULL, NULL};
}

static struct py_text text_of_64(const struct ArrowArray *a, int64_t i)
{
    const int64_t *const ends = (const int64_t *)a->buffers[1] + a->offset + i;

    return (struct py_text){(const char *)a->buffers[2] + ends[0], (size_t)(ends[1] - ends[0]),
                            NULL, NULL};
}

/* A view of 16 bytes: the length, then up to 12 bytes of text, or 4 of them, a buffer and an offset. */
static struct py_text text_of_view(const struct ArrowArray *a, int64_t i)
{
    const char *const view = (const char *)a->buffers[1] + 16 * (a->offset + i);
    int32_t length, place[2];

    memcpy(&length, view, sizeof length);
    memcpy(place, view + 8, sizeof place);
    return (struct py_text){length <= 12 ? view + 4
                                         : (const char *)a->buffers[2 + place[0]] + place[1],
                            (size_t)length, NULL, NULL};
}

typedef struct py_text text_fn(const struct ArrowArray *a, int64_t i);

/* How the texts of an array lie; NULL with TypeError set if it holds something else. */
static text_fn *texts_of(const struct ArrowSchema *schema)
{
    const char *const format = schema->dictionary ? "dictionary" : schema->format;

    if (strcmp(format, "u") == 0 || strcmp(format, "z") == 0)
        return text_of_32;
    if (strcmp(format, "U") == 0 || strcmp(format, "Z") == 0)
        return text_of_64;
    if (strcmp(format, "vu") == 0 || strcmp(format, "vz") == 0)
        return text_of_view;
    PyErr_Format(
        PyExc_TypeError,
        "expected an array of string or binary, large or not, or of views of them; its Arrow "
        "format is '%s'",
        format);
    return NULL;
}

static void take_texts(struct py_batch *b, const struct ArrowArray *a, text_fn *text)
{
    for (int64_t i = 0; i < a->length; i++) {
        b->texts[i] = is_null(a, i) ? (struct py_text){.p = ""} : text(a, i);
        if (b->texts[i].n == 0)
            b->texts[i].p = "";
    }
    b->n = (size_t)a->length;
}

/* ---- the result ---------------------------------------------------------------------------- */

static void release_schema(struct ArrowSchema *schema)
{
    for (int64_t i = 0; i < schema->n_children; i++)
        if (schema->children[i]->release)
            schema->children[i]->release(schema->children[i]);
    free(schema->private_data);
    schema->release = NULL;
}

/* A schema and its child in one block, which the parent's release frees. */
struct schemas {
    struct ArrowSchema *children[1];
    struct ArrowSchema child;
};

static void release_nothing(struct ArrowSchema *schema)
{
    schema->release = NULL;
}

static bool fill_schema(struct ArrowSchema *out)
{
    struct schemas *const own = calloc(1, sizeof *own);

    if (!own)
        return PyErr_NoMemory() != NULL;
    own->child = (struct ArrowSchema){.format = "I", .name = "item", .release = release_nothing};
    own->children[0] = &own->child;
    *out = (struct ArrowSchema){.format = "+L",
                                .name = "",
                                .flags = NULLABLE,
                                .n_children = 1,
                                .children = own->children,
                                .release = release_schema,
                                .private_data = own};
    return true;
}

/* The buffers of an array of ids, which may live longer than the list around it. */
struct own_array {
    const void *buffers[2]; /* validity; offsets or ids */
    struct ArrowArray *children[1];
    struct ArrowArray child;
};

static void release_array(struct ArrowArray *array)
{
    struct own_array *const own = array->private_data;

    for (int64_t i = 0; i < array->n_children; i++)
        if (array->children[i]->release)
            array->children[i]->release(array->children[i]);
    free((void *)(uintptr_t)own->buffers[0]);
    free((void *)(uintptr_t)own->buffers[1]);
    free(own);
    array->release = NULL;
}

/* Frees the ids; the child itself lies in the block of the list. */
static void release_ids(struct ArrowArray *array)
{
    const void **const buffers = array->private_data;

    free((void *)(uintptr_t)buffers[1]);
    free(buffers);
    array->release = NULL;
}

/* The bits of nulls, from bit 0 on; NULL if there are none. */
static bool copy_validity(const struct ArrowArray *from, uint8_t **bits, int64_t *n_nulls)
{
    *bits = NULL;
    *n_nulls = 0;
    for (int64_t i = 0; i < from->length; i++)
        *n_nulls += is_null(from, i);
    if (*n_nulls == 0)
        return true;
    *bits = calloc((size_t)from->length / 8 + 1, 1);
    if (!*bits)
        return PyErr_NoMemory() != NULL;
    for (int64_t i = 0; i < from->length; i++)
        if (!is_null(from, i))
            (*bits)[i / 8] |= (uint8_t)(1 << i % 8);
    return true;
}

static bool fill_ids(struct ArrowArray *out, struct py_ids *ids)
{
    const void **const buffers = calloc(2, sizeof *buffers);

    if (!buffers)
        return PyErr_NoMemory() != NULL;
    buffers[1] = ids->items;
    *out = (struct ArrowArray){.length = (int64_t)ids->n,
                               .n_buffers = 2,
                               .buffers = buffers,
                               .release = release_ids,
                               .private_data = buffers};
    *ids = (struct py_ids){0};
    return true;
}

/* Takes over the offsets and ids, also on failure. */
static bool fill_list(struct ArrowArray *out, const struct ArrowArray *from, struct py_ids *ids,
                      int64_t *offsets)
{
    struct own_array *const own = calloc(1, sizeof *own);
    uint8_t *bits = NULL;
    int64_t n_nulls = 0;

    if (!own)
        PyErr_NoMemory();
    if (!own || !copy_validity(from, &bits, &n_nulls) || !fill_ids(&own->child, ids)) {
        free(ids->items);
        free(offsets);
        free(bits);
        free(own);
        return false;
    }
    own->buffers[0] = bits;
    own->buffers[1] = offsets;
    own->children[0] = &own->child;
    *out = (struct ArrowArray){.length = from->length,
                               .null_count = n_nulls,
                               .n_buffers = 2,
                               .n_children = 1,
                               .buffers = own->buffers,
                               .children = own->children,
                               .release = release_array,
                               .private_data = own};
    return true;
}

/* ---- capsules ------------------------------------------------------------------------------ */

static void drop_schema(PyObject *capsule)
{
    struct ArrowSchema *const schema = PyCapsule_GetPointer(capsule, "arrow_schema");

    if (schema && schema->release)
        schema->release(schema);
    free(schema);
}

static void drop_array(PyObject *capsule)
{
    struct ArrowArray *const array = PyCapsule_GetPointer(capsule, "arrow_array");

    if (array && array->release)
        array->release(array);
    free(array);
}

/* A capsule of a zeroed structure, which it frees; NULL with an exception set. */
static PyObject *new_capsule(size_t size, const char *name, PyCapsule_Destructor drop)
{
    void *const memory = calloc(1, size);
    PyObject *const capsule = memory ? PyCapsule_New(memory, name, drop) : PyErr_NoMemory();

    if (!capsule)
        free(memory);
    return capsule;
}

static PyObject *make_result(struct py_batch *b, const struct ArrowArray *from)
{
    PyObject *const schema = new_capsule(sizeof(struct ArrowSchema), "arrow_schema", drop_schema);
    PyObject *const array = new_capsule(sizeof(struct ArrowArray), "arrow_array", drop_array);
    struct py_ids ids;
    int64_t *offsets;

    if (schema && array && fill_schema(PyCapsule_GetPointer(schema, "arrow_schema")) &&
        py_batch_pack(b, &ids, &offsets) &&
        fill_list(PyCapsule_GetPointer(array, "arrow_array"), from, &ids, offsets))
        return Py_BuildValue("NN", schema, array);
    Py_XDECREF(schema);
    Py_XDECREF(array);
    return NULL;
}

/* _encode_arrow(schema, array, allowed, refused, threads): capsules of an array of texts. They stay
 * the caller's. */
PyObject *py_encoding_encode_arrow(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
    struct py_encoding *const e = (struct py_encoding *)self;
    const struct ArrowSchema *schema;
    const struct ArrowArray *array;
    struct py_batch *b;
    text_fn *text;
    PyObject *made = NULL;

    if (n != 5) {
        PyErr_SetString(PyExc_TypeError, "expected schema, array, allowed, refused, threads");
        return NULL;
    }
    schema = PyCapsule_GetPointer(args[0], "arrow_schema");
    array = schema ? PyCapsule_GetPointer(args[1], "arrow_array") : NULL;
    text = array ? texts_of(schema) : NULL;
    b = text ? py_batch_new((size_t)array->length, args + 2) : NULL;
    if (!b)
        return NULL;
    take_texts(b, array, text);
    if (py_batch_run(b, e, args[4]))
        made = make_result(b, array);
    py_batch_free(b, e);
    return made;
}
