/* torch_legacy.h: state of a legacy stream while it is read, for torch_legacy*.c. */
#ifndef HEFT_TORCH_LEGACY_H
#define HEFT_TORCH_LEGACY_H

#include "format/torch/pickle/torch_parts.h"

struct heft_torch_legacy {
    const struct heft_torch_stream *in;
    struct heft_torch *t;
    /* per storage: the storage it is part of; HEFT_NONE if it stands alone; itself if its
     * persistent id was lost */
    uint32_t *roots;
    size_t cap_roots;
    uint32_t *order; /* the list of keys, as positions in the storages */
    size_t n_order, cap_order;
};

/* ---- torch_legacy_place.c ---- */

/* Places the storage of the i-th key, whose bytes are within the file, at a position (of its
 * count). */
HEFT_CHECKED bool heft_torch_legacy_place(const struct heft_torch_legacy *l, size_t i, uint64_t at,
                                          struct heft_error *err);
/* Reports a storage whose count differs from the pickle's. Returns false. */
bool heft_torch_legacy_bad_count(const struct heft_torch_legacy *l, uint64_t at,
                                 const struct heft_torch_storage *s, int64_t count,
                                 struct heft_error *err);
/* Reads the fifth pickle, the keys, at a position. */
HEFT_CHECKED bool heft_torch_legacy_keys(const struct heft_torch_legacy *l, uint64_t at,
                                         struct heft_pickle *keys, struct heft_arena *mem,
                                         struct heft_error *err);

/* ---- torch_legacy_salvage.c: only for files, and only if model->salvage is set ---- */

/* Salvage: runs the object's pickle; sets t->broken if it is truncated. */
HEFT_CHECKED bool heft_torch_legacy_salvage_object(struct heft_torch_legacy *l, uint64_t at,
                                                   struct heft_error *err);
/* Salvage: handles the list of keys at *at that `found` refused. l->order receives the storages
 * that can still be placed from *at on; all others are lost. */
HEFT_CHECKED bool heft_torch_legacy_mend_order(struct heft_torch_legacy *l, uint64_t *at,
                                               const struct heft_error *found,
                                               struct heft_error *err);
/* Salvage: places the complete storages from *at on and marks the others as lost. *at is then their
 * end. */
HEFT_CHECKED bool heft_torch_legacy_salvage_storages(struct heft_torch_legacy *l, uint64_t *at,
                                                     struct heft_error *err);
/* Salvage: no storage can be placed, because the object's pickle is truncated. */
HEFT_CHECKED bool heft_torch_legacy_lose_all(struct heft_torch_legacy *l, uint64_t *at,
                                             struct heft_error *err);

#endif
