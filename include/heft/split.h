/* split.h: how a checkpoint is split into files by hand, as huggingface_hub does it. heft.h includes it.
 *
 * heft_split: over sizes and storage numbers: item i has sizes[i] bytes and storages[i] (UINT64_MAX:
 * none). shards[i] gets its shard, order[k] the index of the k-th item shard by shard. */
#ifndef HEFT_SPLIT_H
#define HEFT_SPLIT_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

HEFT_API bool heft_split(size_t n, const uint64_t *sizes, const uint64_t *storages,
                         uint64_t max_shard_size, uint32_t *shards, size_t *order,
                         uint32_t *n_shards, uint64_t *total_size, struct heft_error *err);

/* The same as the hub's split_state_dict_into_shards_factory has it: over items of any kind, with
 * the caller's own functions, to files with names. Items are numbers, in the dictionary's order. */
struct heft_split_items {
    size_t n;
    /* The bytes that an item counts. Not asked of one whose storage was seen before. False, with
     * *err filled, ends the split. */
    bool (*size)(void *ctx, size_t item, uint64_t *bytes, struct heft_error *err);
    /* Items of one storage go into one file, and only the first of them counts. UINT64_MAX: it has
     * none. NULL: none has. */
    uint64_t (*storage)(void *ctx, size_t item);
    /* True: it is no tensor but a text, say, and goes into no file. NULL: all are tensors. */
    bool (*skip)(void *ctx, size_t item);
    void *ctx;
};
struct heft_split_file {
    const char *name;    /* "model-00001-of-00002.safetensors"; one alone: "model.safetensors" */
    const size_t *items; /* in the order of the index */
    size_t n;
};
struct heft_split_plan;
/* filename_pattern holds {suffix}: "model{suffix}.safetensors". NULL on failure. */
HEFT_API struct heft_split_plan *heft_split_with(const struct heft_split_items *items,
                                                 uint64_t max_shard_size,
                                                 const char *filename_pattern,
                                                 struct heft_error *err);
/* No items give no file; a set is sharded where there is a second one. */
HEFT_API bool heft_split_file_at(const struct heft_split_plan *plan, size_t index,
                                 struct heft_split_file *out);
HEFT_API uint64_t heft_split_total(const struct heft_split_plan *plan); /* metadata.total_size */
HEFT_API void heft_split_free(struct heft_split_plan *plan);

#ifdef __cplusplus
}
#endif
#endif
