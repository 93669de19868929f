/* safetensors_parts.h: shared by safetensors.c (reads), safetensors_write.c (writes),
 * safetensors_boxes.c (joins shards) and safetensors_shares.c (writes shards). */
#ifndef HEFT_SAFETENSORS_PARTS_H
#define HEFT_SAFETENSORS_PARTS_H

#include "base/endian.h"
#include "core/plan.h"
#include "core/registry.h"

#define PREFIX      8         /* bytes of the header's length */
#define MAX_HEADER  100000000 /* limit of the reference implementation */
#define METADATA    "__metadata__"
#define DTYPE_COUNT (HEFT_U64 + 1)

/* safetensors_boxes.c: reads the offsets of tensors that are parts of larger ones from the metadata
 * from `first_metadata` on, and removes those entries; and joins the parts of all files:
 * heft_format.join. */
HEFT_CHECKED bool heft_safetensors_read_boxes(struct heft_model *model, uint32_t source,
                                              size_t first_row, size_t first_metadata,
                                              struct heft_error *err);
HEFT_CHECKED bool heft_safetensors_join(struct heft_model *model, struct heft_error *err);

/* safetensors_shards.c: names of shards, and directories of them. */
struct heft_shard_name {
    uint32_t rank, file, of; /* of shard-RANK-model-FILE-of-OF.safetensors; all from 1 */
};
bool heft_safetensors_shard_name(const char *name, struct heft_shard_name *out);
extern const struct heft_locator heft_safetensors_locator;
bool heft_safetensors_follows_pickle(struct heft_bytes head, uint64_t size);
/* HEFT_UNSUPPORTED for a file that begins with pickled values. */
HEFT_CHECKED bool heft_safetensors_check_start(const struct heft_model *model, uint32_t source,
                                               struct heft_error *err);

extern const struct heft_format_option heft_safetensors_options[];
bool heft_safetensors_plan(struct heft_plan *plan, uint32_t file,
                           const struct heft_export_list *exports, struct heft_error *err);
/* The same with this entry of the metadata, which ends with a comma, and without alignment. */
bool heft_safetensors_plan_with(struct heft_plan *plan, uint32_t file,
                                const struct heft_export_list *exports, struct heft_str metadata,
                                struct heft_error *err);
bool heft_safetensors_supports_dtype(enum heft_dtype dtype);

/* Keys and names that torch.distributed.checkpoint gives shards. */
#define SHARD_INFO    "DCP_SHARDING_INFO"
#define SHARD_VERSION "DCP_VERSION"
#define SHARD_OFFSETS "saved_offsets"
#define SHARD_PREFIX  "shard-"
#define SHARD_ENDING  ".safetensors"

#endif
