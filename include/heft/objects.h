/* objects.h: the object that a torch file contains, as Python would unpickle it. heft.h includes it.
 *
 * For programs that make Python's objects: in contrast to heft_values, it has all dicts, keys of any
 * kind, which objects are shared, and how each tensor is made from a storage.
 *
 *     {"model": OrderedDict(w=tensor), "step": 7}
 *
 *     DICT ── TEXT "model", CALL ── callee    GLOBAL collections.OrderedDict
 *      │                     ├──── arguments TUPLE ()
 *      │                     └──── items     TEXT "w", CALL torch._utils._rebuild_tensor_v2(STORAGE, …)
 *      └───── TEXT "step", INT 7
 *
 * Objects are numbered; equal numbers are the same object. Nothing is looked up, imported or called.
 * The graph may have cycles, through lists, dicts, sets, and items and states of calls. */
#ifndef HEFT_OBJECTS_H
#define HEFT_OBJECTS_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

struct heft_checkpoint;
struct heft_open_options;

#define HEFT_NO_OBJECT UINT32_MAX

enum heft_object_kind {
    HEFT_OBJECT_NONE,
    HEFT_OBJECT_BOOL,   /* integer: 0 or 1 */
    HEFT_OBJECT_INT,    /* integer */
    HEFT_OBJECT_BIGINT, /* bytes: two's complement, little-endian */
    HEFT_OBJECT_FLOAT,  /* number */
    HEFT_OBJECT_TEXT,   /* bytes: UTF-8, perhaps with encoded surrogates */
    HEFT_OBJECT_PY2STR, /* bytes of a string of Python 2 */
    HEFT_OBJECT_BYTES,
    HEFT_OBJECT_BYTEARRAY,
    HEFT_OBJECT_TUPLE,
    HEFT_OBJECT_LIST,
    HEFT_OBJECT_DICT, /* items: key, value, key, value … in the order of insertion */
    HEFT_OBJECT_SET,
    HEFT_OBJECT_FROZENSET,
    HEFT_OBJECT_GLOBAL, /* module and bytes: its name */
    HEFT_OBJECT_CALL, /* callee(*arguments, **keywords), then items are added, and its state is set */
    HEFT_OBJECT_STORAGE /* storage */
};

struct heft_object {
    size_t size; /* HEFT_INIT */
    enum heft_object_kind kind;
    int64_t integer;
    double number;
    const uint8_t *bytes; /* not followed by a NUL */
    size_t n_bytes;
    const uint8_t *module; /* likewise */
    size_t n_module;
    /* Objects; HEFT_NO_OBJECT if absent. `state` is that of BUILD, also of containers. */
    uint32_t callee, arguments, keywords, state;
    size_t n_items;
    bool has_pairs; /* a call's items are keys and values */
    bool is_new; /* the call is callee.__new__(callee, *arguments, **keywords), without __init__ */
    uint32_t storage; /* index for heft_object_storage_at */
    size_t tensor;    /* index for heft_tensor_at of the tensor that it makes; SIZE_MAX if none */
};

struct heft_object_storage {
    size_t size;            /* HEFT_INIT */
    const char *class_name; /* "FloatStorage", "UntypedStorage" */
    uint64_t bytes;
    bool big_endian;
    bool has_data; /* false: a storage of the device meta */
};

struct heft_objects;
/* Opens a torch file, with the limits of heft_open. Files of other formats, and torch files that
 * contain no pickled object (TorchScript), have no objects: heft_objects_root is HEFT_NO_OBJECT. NULL
 * on failure, with the codes of heft_open. */
HEFT_API struct heft_objects *
heft_objects_new(const char *path, const struct heft_open_options *options, struct heft_error *err);
HEFT_API void heft_objects_free(struct heft_objects *o);
/* The file as a checkpoint, which belongs to `o`: heft_retain lets it live longer. Its values are not
 * listed: heft_values is NULL. */
HEFT_API struct heft_checkpoint *heft_objects_checkpoint(const struct heft_objects *o);
HEFT_API uint32_t heft_objects_root(const struct heft_objects *o);
HEFT_API size_t heft_objects_count(const struct heft_objects *o);
HEFT_API bool heft_object_at(const struct heft_objects *o, uint32_t index, struct heft_object *out);
/* Copies the first n items of an object; false if it has fewer. */
HEFT_API bool heft_object_items(const struct heft_objects *o, uint32_t index, uint32_t *items,
                                size_t n);
HEFT_API bool heft_object_storage_at(const struct heft_objects *o, uint32_t index,
                                     struct heft_object_storage *out);
/* Reads the bytes of a storage, as they are in the file but decompressed; size is its `bytes`. */
HEFT_API bool heft_object_storage_read(struct heft_objects *o, uint32_t index, void *dst,
                                       size_t size, struct heft_error *err);
/* Maps them copy-on-write, as heft_tensor_view with `writable`; HEFT_UNSUPPORTED if they are
 * compressed, or no tensor with elements uses them. */
HEFT_API bool heft_object_storage_view(struct heft_objects *o, uint32_t index, void **data,
                                       struct heft_error *err);

#ifdef __cplusplus
}
#endif
#endif
