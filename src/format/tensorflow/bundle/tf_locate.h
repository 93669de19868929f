/* tf_locate.h: the file that a name of a TensorFlow checkpoint means. */
#ifndef HEFT_TF_LOCATE_H
#define HEFT_TF_LOCATE_H

#include "core/file_names.h"
#include "heft/format.h"

#define HEFT_TF_READ_STEP "step"
/* Entry of the tables of options: bundles and V1 checkpoints are found in the same directories. */
#define HEFT_TF_STEP_OPTION                                                                        \
    {                                                                                              \
        .name = HEFT_TF_READ_STEP, .use = HEFT_OPTION_READS, .kind = HEFT_OPTION_TEXT,             \
        .value = "N", .help = "in a directory of TensorFlow checkpoints: the one of step N"        \
    }

extern const struct heft_locator heft_tf_locator;

/* Resolves a name that TensorFlow accepts for a checkpoint: a prefix of its files, a data file, or
 * a pattern of shards. Returns the path of the file to open; `given` itself if it is a file or if
 * nothing was found; NULL on failure. */
HEFT_CHECKED const char *heft_tf_locate_prefix(const struct heft_files *files, const char *given,
                                               struct heft_arena *mem, struct heft_error *err);
/* The number of shards in the name of a V1 shard ("model.ckpt-3-00000-of-00002": 2); 0 for other
 * names. */
uint64_t heft_tf_locate_shards(const char *name);

#endif
