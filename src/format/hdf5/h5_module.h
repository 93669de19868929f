/* h5_module.h: the interface between heft and its HDF5 module. The module (modules/hdf5) is a
 * shared object linked to libhdf5 and loaded on first use; its only symbol is a table of functions.
 *
 *     format/h5*.c ──► heft_h5_module table ──► modules/hdf5 ──► libhdf5
 *        checks, rows, plans                      lock, file driver, types
 *
 * Plain C on both sides: the module is not linked to heft. Errors contain text of the file
 * unescaped; heft escapes it. All functions are thread-safe. Files are read in a process of their
 * own, see hdf5_child.c. */
#ifndef HEFT_H5_MODULE_H
#define HEFT_H5_MODULE_H

#include "heft/types.h"

#define HEFT_H5_SYMBOL  "heft_h5_module"
#define HEFT_H5_VERSION 6
#define HEFT_H5_NOWHERE UINT64_MAX

/* Source of a file's bytes. */
struct heft_h5_input {
    bool (*read)(void *ctx, uint64_t off, void *dst, size_t n, struct heft_error *err);
    void *ctx;
    uint64_t size;
    int fd;           /* descriptor used by read(), the only one that the other process keeps; or
                         -1 */
    uint64_t seconds; /* limits, as in struct heft_limits */
};

struct heft_h5_text {
    const char *p;
    size_t n;
};

enum heft_h5_kind {
    HEFT_H5_NOTHING,
    HEFT_H5_TEXTS,
    HEFT_H5_INTS,
    HEFT_H5_FLOATS,
    HEFT_H5_BOOLS /* ints: 0 is false, others are true */
};

/* The value of an attribute, or a dataset of strings. NOTHING: of a type that is not supported. */
struct heft_h5_value {
    enum heft_h5_kind kind;
    bool is_list;
    size_t n;
    union {
        const struct heft_h5_text *texts;
        const int64_t *ints;
        const double *floats;
    } as;
};

struct heft_h5_dataset {
    struct heft_h5_text path; /* path without the leading slash */
    uint64_t address;         /* identifies the object */
    const char *why;          /* reason why it cannot be read; else NULL */
    bool is_elsewhere;        /* … which is that its data is in another file */
    enum heft_dtype dtype;
    bool is_big; /* stored big-endian */
    unsigned rank;
    const uint64_t *shape;
    uint64_t bytes;  /* number of elements × bytes of an element */
    uint64_t work;   /* bytes that are decompressed to read all of it: more if chunks are
                       decompressed several times */
    uint64_t offset; /* in the file, if stored contiguously; else HEFT_H5_NOWHERE: use read */
};

/* Callbacks of a walk, in the order of names, or of creation if a group tracks that. If one returns
 * false, the walk ends. */
struct heft_h5_visitor {
    void *ctx;
    bool (*dataset)(void *ctx, const struct heft_h5_dataset *dataset, struct heft_error *err);
    /* `name` is empty for the value of a dataset of strings. */
    bool (*value)(void *ctx, struct heft_h5_text path, struct heft_h5_text name,
                  const struct heft_h5_value *value, struct heft_error *err);
    bool (*note)(void *ctx, struct heft_h5_text path, const char *text, struct heft_error *err);
    uint64_t links;      /* links that are followed at most */
    uint64_t path;       /* longest path in bytes */
    uint64_t text_bytes; /* bytes of all attributes and strings */
};

/* A dataset to be written; lay_out sets `offset` (HEFT_H5_NOWHERE if it has no bytes). */
struct heft_h5_new {
    struct heft_h5_text path;
    enum heft_dtype dtype;
    unsigned rank;
    const uint64_t *shape;
    uint64_t offset;
};

/* An attribute to be written: a list of names, or one text. */
struct heft_h5_names {
    struct heft_h5_text group; /* path; empty: the root */
    const char *attribute;
    const struct heft_h5_text *names;
    size_t n;
    bool is_text;
};

struct heft_h5_file;
struct heft_h5_image;

struct heft_h5_module {
    uint32_t version;
    const char *(*library)(void); /* version of libhdf5: "1.10.8" */
    struct heft_h5_file *(*open)(const struct heft_h5_input *input, struct heft_error *err);
    void (*close)(struct heft_h5_file *file);
    bool (*walk)(struct heft_h5_file *file, const struct heft_h5_visitor *visitor,
                 struct heft_error *err);
    /* Reads [off, off+n) of the decoded elements of the dataset at that address, in row-major
     * order. The caller stays inside its bytes. */
    bool (*read)(struct heft_h5_file *file, uint64_t address, uint64_t off, void *dst, size_t n,
                 struct heft_error *err);
    /* Lays out a new file: the position of each dataset's bytes, and everything around them. */
    struct heft_h5_image *(*lay_out)(struct heft_h5_new *datasets, size_t n,
                                     const struct heft_h5_names *names, size_t n_names,
                                     struct heft_error *err);
    uint64_t (*image_size)(const struct heft_h5_image *image);
    /* Reads [off, off+n) of it: zeros where nothing was written. Does not take the lock. */
    bool (*image_read)(const struct heft_h5_image *image, uint64_t off, void *dst, size_t n,
                       struct heft_error *err);
    void (*image_free)(struct heft_h5_image *image);
};

#endif
