/* sink.h: a set of files that appear whole or not at all.
 *
 *     sink = heft_sink_new(&options, err)
 *     heft_sink_folder(sink, "out", err)         makes a missing folder (gone again if abandoned)
 *     heft_sink_whole(sink, "out", err)          the same for a folder that appears whole: what is
 *                                                added in it stands in a temporary one until then
 *     heft_sink_add(sink, "out/a", n, &i, err)   refuses an existing target without `overwrite`;
 *                                                makes a temporary file beside it, of n bytes
 *     heft_sink_add_growing(sink, "b", &i, err)  the same, of as many bytes as are written
 *     heft_sink_add_link(sink, "c", src, "d", …) the same as a hard link to the file d, which src
 *                                                has open; false in *linked: it cannot be one
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

#include "io/source.h"

struct heft_sink;
struct heft_sink_options {
    bool overwrite; /* replace existing targets */
    bool no_sync;   /* scratch: skip fsync */
};
HEFT_CHECKED struct heft_sink *heft_sink_new(const struct heft_sink_options *options,
                                             struct heft_error *err);
HEFT_CHECKED bool heft_sink_folder(struct heft_sink *sink, const char *path,
                                   struct heft_error *err);
/* HEFT_USAGE where it exists and is not an empty folder. One a sink, before all that is in it. */
HEFT_CHECKED bool heft_sink_whole(struct heft_sink *sink, const char *path, struct heft_error *err);
HEFT_CHECKED bool heft_sink_add(struct heft_sink *sink, const char *path, uint64_t size,
                                uint32_t *index, struct heft_error *err);
HEFT_CHECKED bool heft_sink_add_growing(struct heft_sink *sink, const char *path, uint32_t *index,
                                        struct heft_error *err);
HEFT_CHECKED bool heft_sink_add_link(struct heft_sink *sink, const char *path,
                                     const struct heft_source *source, const char *source_path,
                                     bool *linked, uint32_t *index, struct heft_error *err);
HEFT_CHECKED bool heft_sink_write(struct heft_sink *sink, uint32_t file, uint64_t off,
                                  const void *p, size_t n, struct heft_error *err);
HEFT_CHECKED bool heft_sink_retire(struct heft_sink *sink, const char *path,
                                   struct heft_error *err);
HEFT_CHECKED bool heft_sink_commit(struct heft_sink *sink, struct heft_error *err);
void heft_sink_free(struct heft_sink *sink);

#endif
