/* sink.h: a set of files that appear complete or not at all.
 *
 *     sink = heft_sink_new(&options, err)
 *     heft_sink_folder(sink, "out", err)         makes a missing directory (removed if abandoned)
 *     heft_sink_whole(sink, "out", err)          the same for a directory that appears as a whole:
 *                                                its files are in a temporary one until commit
 *     heft_sink_add(sink, "out/a", n, &i, err)   refuses an existing target without `overwrite`;
 *                                                makes a temporary file of n bytes beside it
 *     heft_sink_add_growing(sink, "b", &i, err)  the same; the file grows as it is written
 *     heft_sink_add_link(sink, "c", src, "d", …) the same as a hard link to the file d, which src
 *                                                has open; false in *linked if impossible
 *     heft_sink_write(sink, i, off, p, n, err)   from any thread, in any order
 *     heft_sink_retire(sink, "out/old", err)     to be deleted once all files are renamed
 *     heft_sink_commit(sink, err)                sync, rename in the order added (an index is added
 *                                                last), delete retired files, sync the directory
 *     heft_sink_free(sink)                       abandons (unlinks) what was not committed
 *
 * The first file in a directory also deletes the temporary files of dead processes there.
 *
 * Several processes can write a set together, each a part of it, also on several machines: with a
 * plan's id in the options (job/job.h). Temporary files are then named by the id, shared, and stay
 * when a sink is abandoned; heft_sink_sync ends a part, and a sink with `is_begun` commits the set.
 *
 * Long work can be made to survive a crash, with a journal (io/journal.h):
 *
 *     heft_sink_save(sink, &record, err)         syncs what was written, and appends it to a record
 *     heft_sink_keep(sink)                       saved files stay when the sink is abandoned
 *     heft_sink_load(sink, folder, cursor, err)  in another process: reads each record in order
 *     heft_sink_sweep(sink, folder, …, err)      then: deletes files made after the last record
 *     heft_sink_reopen(sink, err)                restores the files to the last record; without
 *                                                it heft_sink_free deletes them
 *
 * Before commit no file has its final name, and old files are untouched. Without `overwrite` the
 * rename itself refuses a target that has appeared meanwhile. A commit that fails restores the old
 * files; a crash during commit never leaves a mixture of old and new files (sink_commit.c). Add,
 * retire, commit and free belong to one thread. */
#ifndef HEFT_SINK_H
#define HEFT_SINK_H

#include "base/cursor.h"
#include "io/source.h"

struct heft_sink;
struct heft_sink_options {
    bool overwrite; /* existing targets are replaced */
    bool no_sync;   /* for scratch files: skip fsync */
    /* Retired files are moved out of the way before any new file appears, because readers take every file
     * of the directory. */
    bool retires_first;
    /* Id of a plan, in the names of temporary files: ".NAME.ID.file-N", and ".NAME.ID.folder" for a
     * directory that appears as a whole. NULL: they belong to this process. */
    const char *plan;
    /* The temporary files of the plan exist: HEFT_USAGE if one is missing or has another size. */
    bool is_begun;
    /* A commit of the plan was interrupted: a missing temporary file has its final name already. */
    bool is_resumed;
};
HEFT_CHECKED struct heft_sink *heft_sink_new(const struct heft_sink_options *options,
                                             struct heft_error *err);
HEFT_CHECKED bool heft_sink_folder(struct heft_sink *sink, const char *path,
                                   struct heft_error *err);
/* HEFT_USAGE if it exists and is not an empty directory. One for each sink, before the files in
 * it. */
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
/* Copies from an open file within the system; *copied is false if this is impossible or
 * incomplete. */
HEFT_CHECKED bool heft_sink_copy(struct heft_sink *sink, uint32_t file, uint64_t off, int from,
                                 uint64_t from_off, uint64_t n, bool *copied,
                                 struct heft_error *err);
/* Descriptor of a file, or -1 if it is closed: it may be if there are many files, and is after commit.
 * Who writes to it does not call heft_sink_write. */
int heft_sink_descriptor(const struct heft_sink *sink, uint32_t file);
/* Bytes written to a file, up to its end, and their CRC-32C. Before commit, by the thread that adds
 * files, while no other one writes. */
HEFT_CHECKED bool heft_sink_checksum(struct heft_sink *sink, uint32_t file, uint64_t *bytes,
                                     uint32_t *crc32c, struct heft_error *err);
HEFT_CHECKED bool heft_sink_retire(struct heft_sink *sink, const char *path,
                                   struct heft_error *err);
/* Name of a temporary file of a plan beside `path`: ".NAME.ID.KIND-N". NULL on failure. */
const char *heft_sink_shared_name(struct heft_arena *mem, const char *path, const char *plan,
                                  const char *kind, uint64_t n, struct heft_error *err);
/* Waits until all that was written, and its temporary names, are on the disk. */
HEFT_CHECKED bool heft_sink_sync(struct heft_sink *sink, struct heft_error *err);
HEFT_CHECKED bool heft_sink_commit(struct heft_sink *sink, struct heft_error *err);
void heft_sink_free(struct heft_sink *sink);

HEFT_CHECKED bool heft_sink_save(struct heft_sink *sink, struct heft_buf *record,
                                 struct heft_error *err);
void heft_sink_keep(struct heft_sink *sink);
/* Uses the temporary names of that process, which has ended. */
void heft_sink_adopt(struct heft_sink *sink, uint64_t process);
/* Records name files without their directory, which is "dir/" or "". */
HEFT_CHECKED bool heft_sink_load(struct heft_sink *sink, struct heft_str folder,
                                 struct heft_cur *record, struct heft_error *err);
HEFT_CHECKED bool heft_sink_reopen(struct heft_sink *sink, struct heft_error *err);
/* Deletes temporary files of the adopted process that no record names. is_ours is called with the
 * begin of each final name (at most 180 bytes). */
HEFT_CHECKED bool heft_sink_sweep(const struct heft_sink *sink, struct heft_str folder,
                                  bool (*is_ours)(void *ctx, struct heft_str name), void *ctx,
                                  struct heft_error *err);
/* Deletes temporary files and directories in `folder` ("." for the current one) whose process no
 * longer exists, except those of `kept`. Deletes nothing if an interrupted run can be resumed
 * there. Entries that cannot be listed or deleted stay; false only if out of memory. */
HEFT_CHECKED bool heft_sink_delete_stale(const char *folder, uint64_t kept, struct heft_error *err);
/* Final name of the i-th file; NULL after the last. */
const char *heft_sink_path(const struct heft_sink *sink, size_t i);

#endif
