/* source.h: random access to bytes.
 *
 * A source is {size, read_at(off, dst, n)}: n bytes or an error. heft_source_read always checks the
 * range, so that backends never see an invalid one. Reads are safe from several threads at once.
 * Metadata is copied out and parsed from the copy, never from a mapping, which can change. The size
 * is that at the time of opening; a file that has shrunk since gives HEFT_IO ("file ends at …, was
 * …"), never a short read.
 *
 * Opened by one of the heft_source_open_… functions into the caller's struct, closed with
 * heft_source_close; a zeroed source is closed. `label` is borrowed and names the source in
 * errors. */
#ifndef HEFT_SOURCE_H
#define HEFT_SOURCE_H

#include "base/mem.h"

struct heft_source;
struct heft_source_ops {
    bool (*read)(const struct heft_source *src, uint64_t off, void *dst, size_t n,
                 struct heft_error *err);
    void (*close)(struct heft_source *src);
    /* Address of these bytes as long as the source is open; NULL if there is none. May be NULL. */
    const void *(*view)(const struct heft_source *src, uint64_t off, size_t n);
};
struct heft_source {
    const struct heft_source_ops *ops;
    void *self;
    uint64_t base; /* slice: offset in its parent */
    uint64_t size;
    int fd;         /* file: its descriptor; else -1 */
    uint64_t start; /* file: where in the file the source begins */
    bool is_called; /* read by a callback of the program: not possible in another process */
    bool is_slow;   /* each read takes long, whatever its length */
    const char *label;
};

/* A regular file. HEFT_IO if it is missing or unreadable, HEFT_USAGE if it is a directory. */
HEFT_CHECKED bool heft_source_open_file(struct heft_source *out, const char *path,
                                        struct heft_error *err);
/* Standard input, copied to its end into a temporary file without a name. */
HEFT_CHECKED bool heft_source_open_stdin(struct heft_source *out, const char *label,
                                         struct heft_error *err);
/* A FIFO or another file that can only be read sequentially, copied likewise. */
HEFT_CHECKED bool heft_source_open_stream(struct heft_source *out, const char *path,
                                          struct heft_error *err);
/* Copies another source into a temporary file without a name. */
HEFT_CHECKED bool heft_source_open_copy(struct heft_source *out, const struct heft_source *from,
                                        struct heft_error *err);
/* Takes over an open descriptor of `size` bytes. */
void heft_source_open_fd(struct heft_source *out, int fd, uint64_t size, const char *label);
/* [start, start+size) of an open file, whose descriptor is borrowed. */
void heft_source_open_part(struct heft_source *out, int fd, uint64_t start, uint64_t size,
                           const char *label);
/* Opens borrowed memory as a source. */
void heft_source_open_memory(struct heft_source *out, struct heft_bytes bytes, const char *label);
/* [off, off+len) of another source, which must outlive the slice. */
HEFT_CHECKED bool heft_source_open_slice(struct heft_source *out, const struct heft_source *parent,
                                         uint64_t off, uint64_t len, const char *label,
                                         struct heft_error *err);
HEFT_CHECKED bool heft_source_read(const struct heft_source *src, uint64_t off, void *dst, size_t n,
                                   struct heft_error *err);
/* Copies n bytes into the arena. The caller has compared n with a limit; the range is checked
 * before memory is allocated. */
HEFT_CHECKED bool heft_source_fetch(const struct heft_source *src, uint64_t off, uint64_t n,
                                    struct heft_arena *arena, struct heft_bytes *out,
                                    struct heft_error *err);
/* True if the n bytes from `off` are all zero: reads up to the first other byte. */
HEFT_CHECKED bool heft_source_zeros(const struct heft_source *src, uint64_t off, uint64_t n,
                                    bool *zeros, struct heft_error *err);
/* Address of n bytes, as long as the source is open; NULL if they are not in memory, or not in one
 * piece, or not inside the source. */
const void *heft_source_view(const struct heft_source *src, uint64_t off, size_t n);
/* Descriptor and position of `off` if the source is a plain file or a slice of one; else -1. */
int heft_source_fd(const struct heft_source *src, uint64_t off, uint64_t *fd_off);
void heft_source_close(struct heft_source *src);

/* source_near.c. Small ranges that are close to each other, such as headers, read with one call:
 * reads of `source` are served from a window on the source below, as far as it contains them. For
 * one thread. `source` is valid as long as the struct stays where it is. */
struct heft_near {
    struct heft_source source;
    const struct heft_source *below;
    uint8_t *window; /* bytes [from, to) of `below` */
    uint64_t from, to;
};
HEFT_CHECKED bool heft_near_open(struct heft_near *near, const struct heft_source *below,
                                 struct heft_error *err);
void heft_near_close(struct heft_near *near);
/* Range `index` of a list that ascends by `begin`; false if it will not be read. */
typedef bool heft_near_range(const void *ctx, size_t index, uint64_t *begin, uint64_t *end);
/* Before range `index` of `count` is read: fills the window with it and the next ones, as far as
 * they are close, unless it contains the range already. A failure is left to the read. */
void heft_near_look(struct heft_near *near, heft_near_range *range, const void *ctx, size_t index,
                    size_t count);

/* Decompressed streams: in memory as far as they fit into the first 1 MiB, the others in one
 * temporary file without a name, which is created when needed. A region is placed, filled, then
 * read; after a failure it may be filled again. Different threads may use different regions at
 * once. */
struct heft_lock;
struct heft_stream; /* inflate_stream.h */
struct heft_spool {
    struct heft_lock *lock; /* guards the fields below, while regions are placed */
    struct heft_source file;
    uint8_t *memory;
    uint64_t in_memory, in_file; /* bytes placed in memory and in the file */
};
HEFT_CHECKED bool heft_spool_init(struct heft_spool *spool, struct heft_error *err);
void heft_spool_release(struct heft_spool *spool);
HEFT_CHECKED bool heft_spool_place(struct heft_spool *spool, const struct heft_stream *stream,
                                   uint64_t *at, struct heft_error *err);
HEFT_CHECKED bool heft_spool_fill(const struct heft_spool *spool, uint64_t at,
                                  const struct heft_stream *stream, struct heft_error *err);
/* The caller makes sure that [at, at+n) is inside a filled region. */
HEFT_CHECKED bool heft_spool_read(const struct heft_spool *spool, uint64_t at, void *dst, size_t n,
                                  struct heft_error *err);

/* A mapping of [off, off+n), for API users who ask for a view. Only of sources with a descriptor, or
 * in memory (which is borrowed, and never writable). Writable: the bytes are copied when they are
 * written to; the file never changes. If a file is truncated while it is mapped, access raises
 * SIGBUS. */
struct heft_mapping {
    uint8_t *data;
    void *address; /* NULL if borrowed */
    size_t length;
};
HEFT_CHECKED bool heft_source_map(const struct heft_source *src, uint64_t off, uint64_t n,
                                  bool writable, struct heft_mapping *out, struct heft_error *err);
void heft_mapping_release(struct heft_mapping *map);
/* Checks that the file still has those bytes: HEFT_IO if it has been truncated since it was opened.
 * True for sources that are not files. */
HEFT_CHECKED bool heft_source_check_end(const struct heft_source *src, uint64_t off, uint64_t n,
                                        struct heft_error *err);

/* Kind of the file at a path, for locating inputs. A missing path is not an error. A path that
 * cannot be examined is taken for a file: opening it reports why. */
enum heft_path_kind { HEFT_PATH_NONE, HEFT_PATH_FILE, HEFT_PATH_DIR, HEFT_PATH_OTHER };
enum heft_path_kind heft_path_kind(const char *path);
/* Whether a path is a directory, for outputs: an error if this is unknown. */
HEFT_CHECKED bool heft_path_is_folder(const char *path, bool *is_folder, struct heft_error *err);
/* Length of the directory part of a path, including the slash; the rest is the file's name. */
size_t heft_path_folder(const char *path);
/* path_inside.c: *inside: whether the part of a path after its first `folder` bytes stays below
 * them: no directory on the way is a symbolic link that leads outside. Links to files are not
 * checked. */
HEFT_CHECKED bool heft_path_inside(const char *path, size_t folder, bool *inside,
                                   struct heft_error *err);
/* Names in a directory, sorted by bytes, in the arena. */
HEFT_CHECKED bool heft_path_list(const char *folder, struct heft_arena *arena,
                                 const char *const **names, size_t *count, struct heft_error *err);

#endif
