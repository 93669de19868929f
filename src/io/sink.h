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
 *     heft_sink_commit(sink, err)                sync, rename in the order added (an index is added
 *                                                last), delete what is retired, sync the folder
 *     heft_sink_free(sink)                       abandons (unlinks) what was not committed
 *
 * The first file in a folder also deletes the temporary files of dead processes there.
 *
 * Work that takes long can be made to survive a crash, with a journal (io/journal.h):
 *
 *     heft_sink_save(sink, &record, err)         syncs what was written, and says so in a record
 *     heft_sink_keep(sink)                       what is saved stays when it is abandoned
 *     heft_sink_load(sink, folder, cursor, err)  in another process: each record's part in order
 *     heft_sink_sweep(sink, folder, …, err)      then: what came behind the last record goes
 *     heft_sink_reopen(sink, err)                and the files as they were at the last record;
 *                                                freed instead, they are deleted
 *
 * Before commit nothing bears a final name, and the old files are untouched. Without `overwrite`
 * the rename itself refuses a target that has appeared meanwhile. A commit that fails restores the
 * old files; a crash in the middle of one leaves no set of old and new files (sink_commit.c). Add, retire, commit and free belong to one thread. */
#ifndef HEFT_SINK_H
#define HEFT_SINK_H

#include "base/cursor.h"
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
/* The same from an open file, by the system alone; false in *copied: it cannot, or not all of it. */
HEFT_CHECKED bool heft_sink_copy(struct heft_sink *sink, uint32_t file, uint64_t off, int from,
                                 uint64_t from_off, uint64_t n, bool *copied,
                                 struct heft_error *err);
HEFT_CHECKED bool heft_sink_retire(struct heft_sink *sink, const char *path,
                                   struct heft_error *err);
HEFT_CHECKED bool heft_sink_commit(struct heft_sink *sink, struct heft_error *err);
void heft_sink_free(struct heft_sink *sink);

HEFT_CHECKED bool heft_sink_save(struct heft_sink *sink, struct heft_buf *record,
                                 struct heft_error *err);
void heft_sink_keep(struct heft_sink *sink);
/* Its temporary names are to be those of that process, which has ended. */
void heft_sink_adopt(struct heft_sink *sink, uint64_t process);
/* Records name files without their folder, "dir/" or "". */
HEFT_CHECKED bool heft_sink_load(struct heft_sink *sink, struct heft_str folder,
                                 struct heft_cur *record, struct heft_error *err);
HEFT_CHECKED bool heft_sink_reopen(struct heft_sink *sink, struct heft_error *err);
/* Deletes temporary files of the adopted process that no record names. is_ours
 * is asked about the beginning of their final names (180 bytes at most). */
HEFT_CHECKED bool heft_sink_sweep(const struct heft_sink *sink, struct heft_str folder,
                                  bool (*is_ours)(void *ctx, struct heft_str name), void *ctx,
                                  struct heft_error *err);
/* Deletes temporary files and folders in `folder` ("." for the current one) whose process no longer
 * exists, but for those of `kept`, and none where an interrupted run can be resumed. What cannot be
 * listed or deleted stays; false only when out of memory. */
HEFT_CHECKED bool heft_sink_delete_stale(const char *folder, uint64_t kept, struct heft_error *err);
/* The i-th file's final name; NULL past the last. */
const char *heft_sink_path(const struct heft_sink *sink, size_t i);

#endif
