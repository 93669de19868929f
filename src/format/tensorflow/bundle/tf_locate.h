/* tf_locate.h: the file that a name of a TensorFlow checkpoint means. */
#ifndef HEFT_TF_LOCATE_H
#define HEFT_TF_LOCATE_H

#include "core/file_names.h"

extern const struct heft_locator heft_tf_locator;

/* What TensorFlow calls a checkpoint by: a prefix of its files, a data file, a pattern of shards;
 * `given` itself where it is a file, or nothing. */
HEFT_CHECKED const char *heft_tf_locate_prefix(const char *given, struct heft_arena *mem,
                                               struct heft_error *err);
/* "model.ckpt-3-00000-of-00002": whether a name is that of a V1 shard, and of how many; 0: none. */
uint64_t heft_tf_locate_shards(const char *name);

#endif
