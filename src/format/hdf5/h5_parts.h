/* h5_parts.h: what the files of the HDF5 format share. */
#ifndef HEFT_H5_PARTS_H
#define HEFT_H5_PARTS_H

#include "core/plan.h"
#include "core/registry.h"
#include "core/tree.h"
#include "format/hdf5/h5_module.h"

/* The attributes by which Keras names weights; long lists are cut into layer_names0, … */
#define HEFT_H5_LAYERS  "layer_names"
#define HEFT_H5_WEIGHTS "weight_names"
/* heft's own attribute of the root, and what it says: tensors are called by their paths. */
#define HEFT_H5_NAMES "heft_names"
#define HEFT_H5_PATHS "paths"
#define HEFT_H5_KERAS "keras_version"

/* A dataset as the walk met it. */
struct heft_h5_entry {
    struct heft_str path;
    struct heft_str name;          /* by weight_names; p is NULL: none */
    struct heft_str layer, weight; /* whose weight_names have it, and as what; p is NULL: none */
    const char *why;               /* it cannot be read; else NULL */
    const uint64_t *shape;
    uint64_t address, bytes, offset, work;
    uint8_t rank, dtype;
    bool is_big, is_placed; /* in `order` already */
    bool is_listed;         /* its layer is in layer_names */
    bool is_copy;           /* of another entry, and no row */
};

/* layer_names or weight_names of a group, or a piece of it. */
struct heft_h5_list {
    struct heft_str group;
    const struct heft_str *names;
    size_t n;
    uint32_t number; /* of the piece; 0 too where it is whole */
    bool is_layers;
};

/* Variables that a layer may go without. */
enum { HEFT_H5_BIAS = 1, HEFT_H5_SCALE = 2, HEFT_H5_CENTER = 4, HEFT_H5_REVERSE = 8 };

/* What config.json of a .keras archive says of the layers of one name. */
struct heft_h5_class {
    struct heft_str name; /* as heft_h5_plain makes it */
    uint8_t without;
    bool has_input; /* a model that begins with an InputLayer */
    bool is_known;  /* a class of Keras; false: the user's own, or one of several */
};
struct heft_h5_config {
    struct heft_strmap titles;  /* name of a layer → list */
    struct heft_strmap foreign; /* names of classes that are not Keras' */
    struct heft_h5_class *list;
    size_t n, cap;
};

struct heft_h5_reader {
    struct heft_model *model;
    const struct heft_h5_module *module;
    struct heft_h5_file *file;
    struct heft_source *bytes; /* in the model's arena: a copy that stays where it is */
    uint32_t source;
    uint64_t base, end; /* where HDF5's own part of it lies */
    uint64_t behind;    /* the superblock's end */
    unsigned version;   /* of the superblock */
    struct heft_h5_entry *entries;
    struct heft_h5_list *lists;
    uint32_t *order; /* of entries, as rows */
    size_t n_entries, cap_entries, n_lists, cap_lists, n_order;
    struct heft_node *values, *attributes;
    struct heft_strmap titled; /* group → number of titles, where names of objects are asked for */
    struct heft_str *titles;   /* what its attribute "name" says */
    size_t n_titles, cap_titles;
    struct heft_str object; /* whose attributes were told last, and the dict of them */
    struct heft_node *object_values;
    const struct heft_h5_config *config; /* NULL: none */
    bool by_path;                        /* heft wrote it */
    bool is_keras;
};

/* ---- h5_load.c ---- */

/* The module; NULL where it is not there, or of another release. */
const struct heft_h5_module *heft_h5_load(struct heft_error *err);
/* Escapes what the module said. Always false. */
bool heft_h5_blame(struct heft_error *err, const struct heft_error *found);

/* ---- h5.c ---- */

/* A file of its own, or a record of an archive with that config. */
HEFT_CHECKED bool heft_h5_open(struct heft_model *model, uint32_t source,
                               const struct heft_h5_config *config, struct heft_error *err);

/* ---- h5_superblock.c ---- */
/* Finds it; fills base, end and version. */
HEFT_CHECKED bool heft_h5_superblock(struct heft_h5_reader *r, struct heft_error *err);
/* Where the signature is, if it is at one of the places where it may be. */
HEFT_CHECKED bool heft_h5_find(const struct heft_source *bytes, uint64_t *base, bool *has,
                               struct heft_error *err);

/* ---- h5_walk.c ---- */
/* Fills entries, lists and values. */
HEFT_CHECKED bool heft_h5_walk(struct heft_h5_reader *r, struct heft_error *err);

/* ---- h5_names.c ---- */
/* Names the entries, and fills order. */
HEFT_CHECKED bool heft_h5_name(struct heft_h5_reader *r, struct heft_error *err);

/* ---- h5_titles.c ---- */
/* The attribute `name` of the group at that path. */
HEFT_CHECKED bool heft_h5_add_title(struct heft_h5_reader *r, struct heft_str path,
                                    struct heft_str title, struct heft_error *err);
/* Names entries as Keras 3 names its variables, where the file has titles. */
HEFT_CHECKED bool heft_h5_title(struct heft_h5_reader *r, struct heft_error *err);

/* ---- h5_config.c ---- */
/* Fills a zeroed config from the text of config.json, which it borrows. Release it, also after a
 * failure. */
HEFT_CHECKED bool heft_h5_read_config(struct heft_h5_config *out, struct heft_bytes text,
                                      struct heft_arena *mem, struct heft_error *err);
/* NULL: no layer is called so. */
const struct heft_h5_class *heft_h5_find_class(const struct heft_h5_config *config,
                                               struct heft_str title);
void heft_h5_release_config(struct heft_h5_config *config);
/* A class name without underscores and capitals, by which "LSTMCell" and "lstm_cell" are one. Returns
 * its length; 0: it does not fit. */
size_t heft_h5_plain(struct heft_str name, char *out, size_t room);

/* ---- h5_rows.c ---- */
/* Entries to rows, storages and claims. Takes over r->file where it is still needed. */
HEFT_CHECKED bool heft_h5_add_rows(struct heft_h5_reader *r, struct heft_error *err);
/* Reads all that is unpacked by libhdf5. */
HEFT_CHECKED bool heft_h5_verify(const struct heft_model *model, uint32_t source,
                                 const struct heft_reporter *to, struct heft_error *err);

/* ---- h5_write.c, h5_layers.c ---- */
HEFT_CHECKED bool heft_h5_plan(struct heft_plan *plan, uint32_t file,
                               const struct heft_export_list *exports, struct heft_error *err);
struct heft_h5_attributes {
    struct heft_h5_names *list;
    size_t n, cap;
};
/* Where an item's dataset is: in this layer, called so there. */
extern const char heft_h5_place_kind; /* attachments of rows: their struct heft_h5_place */
struct heft_h5_place {
    struct heft_str layer, weight;
    struct heft_str path;
    bool is_listed;
};
/* layer_names and weight_names of a single file. kept: as the source has them, an item each; NULL:
 * by the items' names. */
HEFT_CHECKED bool heft_h5_layers(const struct heft_export_list *exports,
                                 const struct heft_h5_place *kept, struct heft_h5_attributes *out,
                                 struct heft_error *err);
/* h5_kept.c: the places that the source has, where it has one for each item; else *kept is NULL, and
 * *lost tells whether there were some. */
HEFT_CHECKED bool heft_h5_keep(const struct heft_export_list *exports,
                               const struct heft_h5_place **kept, bool *lost,
                               struct heft_error *err);
/* h5_order.c: a layer's weights that are sorted by name, as Keras orders them. */
void heft_h5_order(struct heft_h5_text *names, size_t n);
/* An attribute that lists names, in pieces where it would be too long. */
HEFT_CHECKED bool heft_h5_add_list(struct heft_h5_attributes *out, struct heft_str group,
                                   const char *attribute, const struct heft_h5_text *names,
                                   size_t n, struct heft_arena *mem, struct heft_error *err);
HEFT_CHECKED bool heft_h5_add_text(struct heft_h5_attributes *out, const char *attribute,
                                   const char *text, struct heft_arena *mem,
                                   struct heft_error *err);
/* The name that a shard gives to a tensor. */
struct heft_str heft_h5_shard_name(struct heft_str name);

#endif
