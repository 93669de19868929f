/* numpy_parts.h: shared by the NumPy formats: an array whose header was read, and the location of
 * its bytes. */
#ifndef HEFT_NUMPY_PARTS_H
#define HEFT_NUMPY_PARTS_H

#include "core/plan.h"
#include "core/registry.h"
#include "core/tree.h"
#include "wire/npy.h"

/* An array that is about to be added to a model. */
struct heft_numpy_array {
    struct heft_npy npy;
    struct heft_str name;        /* NUL-terminated, in model->mem */
    uint64_t where;              /* file offset for errors and notes about it */
    struct heft_storage storage; /* contains its bytes, perhaps between others */
    uint64_t begin;              /* offset of the array's bytes in the storage */
};

/* Contents held in memory for a file: the tree of its texts, and their amount. */
struct heft_numpy_texts {
    struct heft_node *root;
    uint64_t nodes, bytes;
    uint64_t inflated; /* decompressed bytes of blobs so far */
    bool is_full;      /* the limit is reached: some blobs have no description */
};
/* Limit of nodes for texts and descriptions of blobs in a file. */
static inline uint64_t heft_numpy_most_nodes(const struct heft_model *model)
{
    return heft_min_u64(model->limits.expansion, 200000);
}

/* ---- numpy_array.c ---- */

/* Adds it as a row, a value or a blob, or records why it is none of these. */
HEFT_CHECKED bool heft_numpy_add(struct heft_model *model, const struct heft_numpy_array *array,
                                 struct heft_numpy_texts *texts, struct heft_error *err);
/* Reads the array's bytes into memory, decompressed, and compares the checksum. The caller has
 * limited the storage's length. */
HEFT_CHECKED bool heft_numpy_fetch(const struct heft_model *model,
                                   const struct heft_numpy_array *array, struct heft_arena *mem,
                                   struct heft_bytes *out, struct heft_error *err);
/* The array header of an item to be written, in the plan's memory. */
HEFT_CHECKED bool heft_numpy_header(struct heft_plan *plan, const struct heft_export_item *item,
                                    struct heft_str *header, struct heft_error *err);
bool heft_numpy_supports_dtype(enum heft_dtype dtype);

/* ---- numpy_texts.c ---- */

/* Adds an array of texts to the tree. *why: the reason if it is not read. */
HEFT_CHECKED bool heft_numpy_add_texts(struct heft_model *model,
                                       const struct heft_numpy_array *array,
                                       struct heft_numpy_texts *all, const char **why,
                                       struct heft_error *err);
/* Puts the tree before the model's other values. */
void heft_numpy_give_texts(struct heft_model *model, const struct heft_numpy_texts *all);

/* ---- numpy_npz_write.c ---- */

extern const struct heft_format_option heft_npz_options[];
HEFT_CHECKED bool heft_npz_plan(struct heft_plan *plan, uint32_t file,
                                const struct heft_export_list *exports, struct heft_error *err);

#endif
