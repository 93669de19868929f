/* h5_parts.h: shared by the files of the HDF5 format. */
#ifndef HEFT_H5_PARTS_H
#define HEFT_H5_PARTS_H

#include "core/plan.h"
#include "core/registry.h"
#include "core/tree.h"
#include "format/hdf5/h5_module.h"

/* Attributes by which Keras names weights; long lists are split into layer_names0, … */
#define HEFT_H5_LAYERS  "layer_names"
#define HEFT_H5_WEIGHTS "weight_names"
/* heft's own attribute of the root, and its value: tensors are named by their paths. */
#define HEFT_H5_NAMES "heft_names"
#define HEFT_H5_PATHS "paths"
#define HEFT_H5_KERAS "keras_version"

/* Option of reading: keys, or objects (h5_titles.c). */
#define HEFT_H5_READ_NAMES "names"
extern const struct heft_format_option heft_h5_options[]; /* of .h5 and .keras; in h5.c */

/* Whether tensors have the names that Keras gives the variables. */
static inline bool heft_h5_names_objects(const struct heft_model *model)
{
    return heft_given_options_say(&model->options, HEFT_H5_READ_NAMES, "objects");
}

/* A dataset found by the walk. */
struct heft_h5_entry {
    struct heft_str path;
    struct heft_str name;          /* from weight_names; p is NULL if none */
    struct heft_str layer, weight; /* group whose weight_names list it, and the listed name; p is
                                      NULL if none */
    const char *why;               /* reason why it cannot be read; else NULL */
    const uint64_t *shape;
    uint64_t address, bytes, offset, work;
    uint8_t rank, dtype;
    bool is_big, is_placed; /* is_placed: is in `order` */
    bool is_listed;         /* its layer is in layer_names */
    bool is_copy;           /* duplicate of another entry, not a row */
    bool is_elsewhere;      /* its data is in another file: cannot be read */
};

/* The attribute layer_names or weight_names of a group, or one of the pieces it is split into. */
struct heft_h5_list {
    struct heft_str group;
    const struct heft_str *names;
    size_t n;
    uint32_t number; /* number of the piece; 0 for a list that is not split */
    bool is_layers;
};

/* Variables that a layer can do without. */
enum { HEFT_H5_BIAS = 1, HEFT_H5_SCALE = 2, HEFT_H5_CENTER = 4, HEFT_H5_REVERSE = 8 };

/* The layers of one name in config.json of a .keras archive. */
struct heft_h5_class {
    struct heft_str name; /* as normalised by heft_h5_plain */
    uint8_t without;
    bool has_input; /* it is a model whose first layer is an InputLayer */
    bool is_known;  /* a class of Keras; false: the user's own, or ambiguous */
};
struct heft_h5_config {
    struct heft_strmap titles;  /* normalised name of a layer → position in the list of classes */
    struct heft_strmap foreign; /* names of classes that are not part of Keras */
    struct heft_h5_class *list;
    size_t n, cap;
};

struct heft_h5_reader {
    struct heft_model *model;
    const struct heft_h5_module *module;
    struct heft_h5_file *file;
    struct heft_source *bytes; /* in the model's arena: a copy whose address stays valid */
    uint32_t source;
    uint64_t base, end; /* range of HDF5's own part */
    uint64_t behind;    /* offset of the first byte after the superblock */
    unsigned version;   /* version of the superblock */
    struct heft_h5_entry *entries;
    struct heft_h5_list *lists;
    uint32_t *order; /* entries, in the order of rows */
    size_t n_entries, cap_entries, n_lists, cap_lists, n_order;
    struct heft_node *values, *attributes;
    struct heft_strmap titled; /* group → index of its title, if names of objects are requested */
    struct heft_str *titles;   /* values of the attribute "name" */
    struct heft_str root;      /* the root's; n = 0: none */
    size_t n_titles, cap_titles;
    struct heft_str object; /* object whose attributes were reported last, and their dict */
    struct heft_node *object_values;
    const struct heft_h5_config *config; /* NULL if there is none */
    bool by_path; /* the file has heft's mark: tensors are named by their paths */
    bool is_keras;
};

/* ---- h5_load.c ---- */

/* The module; NULL if it is missing or of another release. */
const struct heft_h5_module *heft_h5_load(struct heft_error *err);
/* Escapes the module's error text. Always returns false. */
bool heft_h5_blame(struct heft_error *err, const struct heft_error *found);

/* ---- h5.c ---- */

/* Opens a file, or a record of an archive with that config. */
HEFT_CHECKED bool heft_h5_open(struct heft_model *model, uint32_t source,
                               const struct heft_h5_config *config, struct heft_error *err);

/* ---- h5_superblock.c ---- */
/* Finds and checks the superblock; sets base, end and version. */
HEFT_CHECKED bool heft_h5_superblock(struct heft_h5_reader *r, struct heft_error *err);
/* Offset of the signature, if it is at one of the allowed positions. */
HEFT_CHECKED bool heft_h5_find(const struct heft_source *bytes, uint64_t *base, bool *has,
                               struct heft_error *err);

/* ---- h5_walk.c ---- */
/* Sets entries, lists and values. */
HEFT_CHECKED bool heft_h5_walk(struct heft_h5_reader *r, struct heft_error *err);

/* ---- h5_names.c ---- */
/* Names the entries, and sets `order`. */
HEFT_CHECKED bool heft_h5_name(struct heft_h5_reader *r, struct heft_error *err);

/* ---- h5_titles.c ---- */
/* Adds the attribute `name` of the group at that path. */
HEFT_CHECKED bool heft_h5_add_title(struct heft_h5_reader *r, struct heft_str path,
                                    struct heft_str title, struct heft_error *err);
/* Names entries as Keras 3 names its variables, if the file has titles. */
HEFT_CHECKED bool heft_h5_title(struct heft_h5_reader *r, struct heft_error *err);

/* ---- h5_config.c ---- */
/* Parses the text of config.json into a zeroed config, which borrows the text. Release the config
 * also after a failure. */
HEFT_CHECKED bool heft_h5_read_config(struct heft_h5_config *out, struct heft_bytes text,
                                      struct heft_arena *mem, struct heft_error *err);
/* NULL if no layer has that name. */
const struct heft_h5_class *heft_h5_find_class(const struct heft_h5_config *config,
                                               struct heft_str title);
void heft_h5_release_config(struct heft_h5_config *config);
/* A class name without underscores and in lower case, so that "LSTMCell" and "lstm_cell" are equal.
 * Returns its length; 0 if it does not fit. */
size_t heft_h5_plain(struct heft_str name, char *out, size_t room);

/* ---- h5_rows.c ---- */
/* Adds entries as rows, storages and claims. Takes over r->file if it is needed later. */
HEFT_CHECKED bool heft_h5_add_rows(struct heft_h5_reader *r, struct heft_error *err);
/* Reads all data that libhdf5 decodes. */
HEFT_CHECKED bool heft_h5_verify(const struct heft_model *model, uint32_t source,
                                 const struct heft_reporter *to, struct heft_error *err);

/* ---- h5_write.c, h5_layers.c ---- */
HEFT_CHECKED bool heft_h5_plan(struct heft_plan *plan, uint32_t file,
                               const struct heft_export_list *exports, struct heft_error *err);
struct heft_h5_attributes {
    struct heft_h5_names *list;
    size_t n, cap;
};
/* Location of an item's dataset: its layer, and its name there. */
extern const char heft_h5_place_kind; /* attachments of rows: their struct heft_h5_place */
struct heft_h5_place {
    struct heft_str layer, weight;
    struct heft_str path;
    bool is_listed;
};
/* Writes layer_names and weight_names of a single file. kept: places as in the source, one for each
 * item; NULL: by the items' names. */
HEFT_CHECKED bool heft_h5_layers(const struct heft_export_list *exports,
                                 const struct heft_h5_place *kept, struct heft_h5_attributes *out,
                                 struct heft_error *err);
/* h5_kept.c: the source's places, if it has one for each item; else *kept is NULL, and *lost says
 * whether it has some. */
HEFT_CHECKED bool heft_h5_keep(const struct heft_export_list *exports,
                               const struct heft_h5_place **kept, bool *lost,
                               struct heft_error *err);
/* h5_order.c: restores Keras' order of a layer's weights that are sorted by name. */
void heft_h5_order(struct heft_h5_text *names, size_t n);
/* Adds an attribute with a list of names, in pieces if it is too long. */
HEFT_CHECKED bool heft_h5_add_list(struct heft_h5_attributes *out, struct heft_str group,
                                   const char *attribute, const struct heft_h5_text *names,
                                   size_t n, struct heft_arena *mem, struct heft_error *err);
HEFT_CHECKED bool heft_h5_add_text(struct heft_h5_attributes *out, const char *attribute,
                                   const char *text, struct heft_arena *mem,
                                   struct heft_error *err);
/* The name of a tensor in a shard. */
struct heft_str heft_h5_shard_name(struct heft_str name);

#endif
