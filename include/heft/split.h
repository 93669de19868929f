/* split.h: splits items into shards by the rules of huggingface_hub. heft.h includes it.
 *
 * heft_split takes arrays: item i has sizes[i] bytes and the storage storages[i] (UINT64_MAX:
 * none). shards[i] receives its shard, order[k] the index of the k-th item, shard by shard. */
#ifndef HEFT_SPLIT_H
#define HEFT_SPLIT_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

HEFT_API bool heft_split(size_t n, const uint64_t *sizes, const uint64_t *storages,
                         uint64_t max_shard_size, uint32_t *shards, size_t *order,
                         uint32_t *n_shards, uint64_t *total_size, struct heft_error *err);

/* The same as split_state_dict_into_shards_factory of huggingface_hub: for items of any kind,
 * described by callbacks, with file names as the result. Items are identified by their index in the
 * order of the dictionary. */
struct heft_split_items {
    size_t size; /* HEFT_INIT */
    size_t n;
    /* Size of an item in bytes. Not called for an item whose storage occurred before. Returning
     * false stops the split, with *err as it filled it (HEFT_CANCELLED if it did not). */
    bool (*bytes)(void *ctx, size_t item, uint64_t *bytes, struct heft_error *err);
    /* Storage of an item: items of one storage are assigned to one file, and only the first of them
     * counts. UINT64_MAX: none. NULL: no item has a storage. */
    uint64_t (*storage)(void *ctx, size_t item);
    /* True for an item that is not a tensor (a text, for example), which is not assigned to a file.
     * NULL: all items are tensors. */
    bool (*skip)(void *ctx, size_t item);
    void *ctx;
};
struct heft_split_file {
    size_t size;         /* HEFT_INIT */
    const char *name;    /* "model-00001-of-00002.safetensors"; a single file:
                          * "model.safetensors" */
    const size_t *items; /* indexes of the items, in the order of the index file */
    size_t n;
};
struct heft_split_plan;
/* filename_pattern contains {suffix}: "model{suffix}.safetensors". NULL on failure. */
HEFT_API struct heft_split_plan *heft_split_with(const struct heft_split_items *items,
                                                 uint64_t max_shard_size,
                                                 const char *filename_pattern,
                                                 struct heft_error *err);
/* Files of the plan: none if there are no items. The model is sharded if there is a second file. */
HEFT_API bool heft_split_file_at(const struct heft_split_plan *plan, size_t index,
                                 struct heft_split_file *out);
HEFT_API uint64_t heft_split_total(
    const struct heft_split_plan *plan); /* Total size, metadata.total_size in the index file. */
HEFT_API void heft_split_free(struct heft_split_plan *plan);

#ifdef __cplusplus
}
#endif
#endif
