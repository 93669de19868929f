/* torch_legacy.h: a legacy stream while it is being read, for torch_legacy*.c. */
#ifndef HEFT_TORCH_LEGACY_H
#define HEFT_TORCH_LEGACY_H

#include "format/torch/pickle/torch_parts.h"

struct heft_torch_legacy {
    const struct heft_torch_stream *in;
    struct heft_torch *t;
    uint32_t *roots; /* a storage → the one it is a part of; HEFT_NONE: it is one of its own; a
                        storage that its persistent id lost → itself */
    size_t cap_roots;
    uint32_t *order; /* the list of keys, as storages */
    size_t n_order, cap_order;
};

/* ---- torch_legacy_place.c ---- */

/* The storage of the i-th key, whose bytes are inside, is put at a position, with its count. */
HEFT_CHECKED bool heft_torch_legacy_place(const struct heft_torch_legacy *l, size_t i, uint64_t at,
                                          struct heft_error *err);
/* The error of a storage whose count is not that of the pickle. Returns false. */
bool heft_torch_legacy_bad_count(const struct heft_torch_legacy *l, uint64_t at,
                                 const struct heft_torch_storage *s, int64_t count,
                                 struct heft_error *err);
/* The fifth pickle at a position. */
HEFT_CHECKED bool heft_torch_legacy_keys(const struct heft_torch_legacy *l, uint64_t at,
                                         struct heft_pickle *keys, struct heft_arena *mem,
                                         struct heft_error *err);

/* ---- torch_legacy_salvage.c: files only, and only where model->salvage is set ---- */

/* The object's pickle, which may break off: then t->broken is set. */
HEFT_CHECKED bool heft_torch_legacy_salvage_object(struct heft_torch_legacy *l, uint64_t at,
                                                   struct heft_error *err);
/* A list of keys at *at that was refused by `found`: l->order is what storages can be placed in all
 * the same, from *at on; all others are lost. */
HEFT_CHECKED bool heft_torch_legacy_mend_order(struct heft_torch_legacy *l, uint64_t *at,
                                               const struct heft_error *found,
                                               struct heft_error *err);
/* Places the storages that are whole from *at on, and loses the others. *at is where they end. */
HEFT_CHECKED bool heft_torch_legacy_salvage_storages(struct heft_torch_legacy *l, uint64_t *at,
                                                     struct heft_error *err);
/* No storage has a place: the object's pickle breaks off. */
HEFT_CHECKED bool heft_torch_legacy_lose_all(struct heft_torch_legacy *l, uint64_t *at,
                                             struct heft_error *err);

#endif
