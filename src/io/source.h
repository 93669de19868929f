/* source.h: bytes by position.
 *
 * A source is {size, read_at(off, dst, n)}: all of n or an error. heft_source_read checks the
 * range, always; a backend never sees a bad one. Reads are safe from many threads at once. Metadata
 * is copied out and parsed from the copy, never from a live mapping. The size is what it was when
 * the source was opened; a file that shrank since gives HEFT_IO ("file ends at …, was …"), never a
 * short read.
 *
 * Life: opened by one of the heft_source_open_… functions into the caller's struct, closed with
 * heft_source_close; a zeroed source is closed. `label` is borrowed and names the source in errors.
 */
#ifndef HEFT_SOURCE_H
#define HEFT_SOURCE_H

#include "base/mem.h"

struct heft_source;
struct heft_source_ops {
    bool (*read)(const struct heft_source *src, uint64_t off, void *dst, size_t n,
                 struct heft_error *err);
    void (*close)(struct heft_source *src);
};
struct heft_source {
    const struct heft_source_ops *ops;
    void *self;
    uint64_t base; /* slice: where it begins in its parent */
    uint64_t size;
    int fd; /* file: its descriptor; others -1 */
    const char *label;
};

/* A regular file. HEFT_IO where it is missing or unreadable, HEFT_USAGE where it is a directory. */
HEFT_CHECKED bool heft_source_open_file(struct heft_source *out, const char *path,
                                        struct heft_error *err);
/* Standard input, read to its end into a temporary file that nothing else sees. */
HEFT_CHECKED bool heft_source_open_stdin(struct heft_source *out, const char *label,
                                         struct heft_error *err);
/* A FIFO or another file that can only be read from front to end, copied likewise. */
HEFT_CHECKED bool heft_source_open_stream(struct heft_source *out, const char *path,
                                          struct heft_error *err);
/* An open descriptor of `size` bytes, which the source takes over. */
void heft_source_open_fd(struct heft_source *out, int fd, uint64_t size, const char *label);
/* Borrowed memory. */
void heft_source_open_memory(struct heft_source *out, struct heft_bytes bytes, const char *label);
/* [off, off+len) of another source, which must outlive it. */
HEFT_CHECKED bool heft_source_open_slice(struct heft_source *out, const struct heft_source *parent,
                                         uint64_t off, uint64_t len, const char *label,
                                         struct heft_error *err);
HEFT_CHECKED bool heft_source_read(const struct heft_source *src, uint64_t off, void *dst, size_t n,
                                   struct heft_error *err);
/* n bytes copied into the arena. The caller has capped n; the range is checked before memory is
 * taken. */
HEFT_CHECKED bool heft_source_fetch(const struct heft_source *src, uint64_t off, uint64_t n,
                                    struct heft_arena *arena, struct heft_bytes *out,
                                    struct heft_error *err);
/* Whether the n bytes from `off` are all zeros: reads up to the first that is not. */
HEFT_CHECKED bool heft_source_zeros(const struct heft_source *src, uint64_t off, uint64_t n,
                                    bool *zeros, struct heft_error *err);
/* The descriptor and position of [off, …) where the source is (a slice of) a plain file, else -1.
 */
int heft_source_fd(const struct heft_source *src, uint64_t off, uint64_t *fd_off);
void heft_source_close(struct heft_source *src);

/* Inflated streams side by side: what fits into the first 1 MiB in memory, all else in one unlinked
 * temporary file, which is opened when it is needed. A region is placed, then filled, then read;
 * one that could not be filled may be filled again. Different regions may be used by different
 * threads at once. */
struct heft_lock;
struct heft_stream; /* inflate_stream.h */
struct heft_spool {
    struct heft_lock *lock; /* of the fields below, while regions are placed */
    struct heft_source file;
    uint8_t *memory;
    uint64_t in_memory, in_file; /* bytes placed */
};
HEFT_CHECKED bool heft_spool_init(struct heft_spool *spool, struct heft_error *err);
void heft_spool_release(struct heft_spool *spool);
HEFT_CHECKED bool heft_spool_place(struct heft_spool *spool, const struct heft_stream *stream,
                                   uint64_t *at, struct heft_error *err);
HEFT_CHECKED bool heft_spool_fill(const struct heft_spool *spool, uint64_t at,
                                  const struct heft_stream *stream, struct heft_error *err);
/* The caller keeps [at, at+n) inside of a filled region. */
HEFT_CHECKED bool heft_spool_read(const struct heft_spool *spool, uint64_t at, void *dst, size_t n,
                                  struct heft_error *err);

/* A read-only mapping of [off, off+n) for API users who ask for a view; only of sources with a
 * descriptor or in memory (then it borrows). A file truncated while it is mapped raises SIGBUS in
 * the reader. */
struct heft_mapping {
    const uint8_t *data;
    void *address; /* NULL where borrowed */
    size_t length;
};
HEFT_CHECKED bool heft_source_map(const struct heft_source *src, uint64_t off, uint64_t n,
                                  struct heft_mapping *out, struct heft_error *err);
void heft_mapping_release(struct heft_mapping *map);
/* Whether the file still has those bytes: HEFT_IO where it was cut off since it was opened. True of
 * what is no file. */
HEFT_CHECKED bool heft_source_check_end(const struct heft_source *src, uint64_t off, uint64_t n,
                                        struct heft_error *err);

/* What stands under a path: for locating inputs. Neither fails on a missing path. */
enum heft_path_kind { HEFT_PATH_NONE, HEFT_PATH_FILE, HEFT_PATH_DIR, HEFT_PATH_OTHER };
enum heft_path_kind heft_path_kind(const char *path);
/* How many bytes of a path are its folder, with the slash behind it; the rest is the file's name. */
size_t heft_path_folder(const char *path);
/* path_inside.c: *inside: whether what follows the first `folder` bytes of a path stays below them: no
 * sub-folder on the way is a symbolic link that leads out. Links to files are not looked at. */
HEFT_CHECKED bool heft_path_inside(const char *path, size_t folder, bool *inside,
                                   struct heft_error *err);
/* The names in a folder, sorted by bytes, in the arena. */
HEFT_CHECKED bool heft_path_list(const char *folder, struct heft_arena *arena,
                                 const char *const **names, size_t *count, struct heft_error *err);

#endif
