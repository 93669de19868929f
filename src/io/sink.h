/* sink.h: a set of files that appear whole or not at all.
 *
 *     sink = heft_sink_new(&options, err)
 *     heft_sink_folder(sink, "out", err)         makes a missing folder (gone again if abandoned)
 *     heft_sink_add(sink, "out/a", n, &i, err)   refuses an existing target without `overwrite`;
 *                                                makes a temporary file beside it, of n bytes
 *     heft_sink_add_growing(sink, "b", &i, err)  the same, of as many bytes as are written
 *     heft_sink_write(sink, i, off, p, n, err)   from any thread, in any order
 *     heft_sink_retire(sink, "out/old", err)     to be deleted once all files are renamed
 *     heft_sink_commit(sink, err)                sync, rename in the order added, delete what is
 *                                                retired, sync the folder
 *     heft_sink_free(sink)                       abandons (unlinks) what was not committed
 *
 * Before commit nothing bears a final name, and the old files are untouched. Without `overwrite`
 * the rename itself refuses a target that has appeared meanwhile, and what was renamed is taken
 * back. Add, retire, commit and free belong to one thread. */
#ifndef HEFT_SINK_H
#define HEFT_SINK_H

#include "base/mem.h"

struct heft_sink;
struct heft_sink_options {
    bool overwrite; /* replace existing targets */
    bool no_sync;   /* scratch: skip fsync */
};
HEFT_CHECKED struct heft_sink *heft_sink_new(const struct heft_sink_options *options,
                                             struct heft_error *err);
HEFT_CHECKED bool heft_sink_folder(struct heft_sink *sink, const char *path,
                                   struct heft_error *err);
HEFT_CHECKED bool heft_sink_add(struct heft_sink *sink, const char *path, uint64_t size,
                                uint32_t *index, struct heft_error *err);
HEFT_CHECKED bool heft_sink_add_growing(struct heft_sink *sink, const char *path, uint32_t *index,
                                        struct heft_error *err);
HEFT_CHECKED bool heft_sink_write(struct heft_sink *sink, uint32_t file, uint64_t off,
                                  const void *p, size_t n, struct heft_error *err);
HEFT_CHECKED bool heft_sink_retire(struct heft_sink *sink, const char *path,
                                   struct heft_error *err);
HEFT_CHECKED bool heft_sink_commit(struct heft_sink *sink, struct heft_error *err);
void heft_sink_free(struct heft_sink *sink);

#endif
