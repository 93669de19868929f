/* locate.h: which file an input means: itself, or where it is a folder, the file in it that says what
 * the others are. */
#ifndef HEFT_LOCATE_H
#define HEFT_LOCATE_H

#include "base/error.h"
#include "base/mem.h"
#include "io/source.h"

struct heft_located {
    const char *const
        *paths; /* to open, in this order: several where a numbered set has no index */
    size_t n;
    const char *note; /* for people: what of a folder was chosen, what not; NULL: no choice */
};
/* The files that an input means, in `mem` or `given` itself. False where it means nothing, or several
 * things. `step` (or NULL) chooses among the TensorFlow checkpoints of a folder. */
HEFT_CHECKED bool heft_locate(const char *given, const char *step, struct heft_arena *mem,
                              struct heft_located *out, struct heft_error *err);

/* ---- locate_tf.c ---- */

/* What TensorFlow calls a checkpoint by: a prefix of its files, a data file, a pattern of shards;
 * `given` itself where it is a file, or nothing. */
HEFT_CHECKED const char *heft_locate_prefix(const char *given, struct heft_arena *mem,
                                            struct heft_error *err);
/* The same where what stands under the path is known. */
HEFT_CHECKED const char *heft_locate_known(const char *given, enum heft_path_kind kind,
                                           struct heft_arena *mem, struct heft_error *err);
/* The one of a folder's names that is of a checkpoint of that step. */
HEFT_CHECKED const char *heft_locate_step(const char *const *names, size_t n, const char *step,
                                          struct heft_error *err);
/* "model.ckpt-3" of its file's name, where `base` is "model.ckpt"; empty for others. */
struct heft_str heft_locate_step_of(const char *name, const char *base);
/* "model.ckpt-3-00000-of-00002": whether a name is that of a V1 shard, and of how many; 0: none. */
uint64_t heft_locate_shards(const char *name);
/* Whether a folder has what a sharded save leaves that did not come to its end. */
bool heft_locate_is_interrupted(const char *const *names, size_t n);

/* ---- locate_saved.c ---- */

/* The document of a SavedModel among a folder's names; NULL where there is none. */
const char *heft_locate_document(const char *const *names, size_t n);
/* Of the folders called by numbers that hold a SavedModel the one with the highest, as TensorFlow
 * Serving takes it: its document, from `folder`; NULL where there is none, or no memory (err).
 * *versions: how many there are. */
HEFT_CHECKED const char *heft_locate_version(const char *folder, const char *const *names, size_t n,
                                             struct heft_arena *mem, size_t *versions,
                                             struct heft_error *err);

#endif
