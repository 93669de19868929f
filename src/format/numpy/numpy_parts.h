/* numpy_parts.h: what the NumPy formats share: an array of a header that was read, wherever its
 * bytes are. Seen by numpy*.c only. */
#ifndef HEFT_NUMPY_PARTS_H
#define HEFT_NUMPY_PARTS_H

#include "core/plan.h"
#include "core/registry.h"
#include "core/tree.h"
#include "wire/npy.h"

/* An array on its way into a model. */
struct heft_numpy_array {
    struct heft_npy npy;
    struct heft_str name;        /* NUL-terminated, in the model's memory */
    uint64_t where;              /* in the file: what errors and notes about it point to */
    struct heft_storage storage; /* its bytes, maybe with others in front and behind */
    uint64_t begin;              /* of the array's bytes in the storage */
};

/* What of a file is in memory: the tree of its texts, and how much there is. */
struct heft_numpy_texts {
    struct heft_node *root;
    uint64_t nodes, bytes;
    uint64_t inflated; /* bytes of blobs */
    bool is_full;      /* not all blobs are described */
};
/* Of texts, and of descriptions of blobs: in a file. */
static inline uint64_t heft_numpy_most_nodes(const struct heft_model *model)
{
    return heft_min_u64(model->limits.expansion, 200000);
}

/* ---- numpy_array.c ---- */

/* Adds it as a row, a value or a blob, or says why it is none of these. */
HEFT_CHECKED bool heft_numpy_add(struct heft_model *model, const struct heft_numpy_array *array,
                                 struct heft_numpy_texts *texts, struct heft_error *err);
/* The array's bytes in memory, inflated if need be, its checksum compared. The caller has capped the
 * storage's length. */
HEFT_CHECKED bool heft_numpy_fetch(const struct heft_model *model,
                                   const struct heft_numpy_array *array, struct heft_arena *mem,
                                   struct heft_bytes *out, struct heft_error *err);
/* The header of an item as it is written, in the plan's memory. */
HEFT_CHECKED bool heft_numpy_header(struct heft_plan *plan, const struct heft_export_item *item,
                                    struct heft_str *header, struct heft_error *err);
bool heft_numpy_supports_dtype(enum heft_dtype dtype);

/* ---- numpy_texts.c ---- */

/* Adds an array of texts to the tree. *why: it is left unread, and why. */
HEFT_CHECKED bool heft_numpy_add_texts(struct heft_model *model,
                                       const struct heft_numpy_array *array,
                                       struct heft_numpy_texts *all, const char **why,
                                       struct heft_error *err);
/* The tree becomes the model's values, in front of those that it has. */
void heft_numpy_give_texts(struct heft_model *model, const struct heft_numpy_texts *all);

/* ---- numpy_npz_write.c ---- */

HEFT_CHECKED bool heft_npz_plan(struct heft_plan *plan, uint32_t file,
                                const struct heft_export_list *exports, struct heft_error *err);

#endif
