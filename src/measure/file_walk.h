/* file_walk.h: the files below a directory, and the identity of files. */
#ifndef HEFT_FILE_WALK_H
#define HEFT_FILE_WALK_H

#include "base/map.h"
#include "io/files.h"
#include "io/os.h"

/* Device and inode: the same for all paths of a file. */
struct heft_file_id {
    uint64_t device, inode;
};
static inline struct heft_file_id heft_file_id_of(const struct heft_os_stat *st)
{
    return (struct heft_file_id){st->device, st->inode};
}
/* Key of a map; the id must outlive it. */
static inline struct heft_str heft_file_id_key(const struct heft_file_id *id)
{
    return (struct heft_str){(const char *)id, sizeof *id};
}

struct heft_walked {
    const char *path;       /* in the arena */
    struct heft_os_stat st; /* of the file that a link leads to */
    bool is_broken;         /* a link to nothing */
};
typedef bool heft_walk_fn(void *ctx, const struct heft_walked *file, struct heft_error *err);
/* Calls each() for every file and broken link below a directory, in byte order of the names in each
 * directory, files before directories. Links to directories are not followed. */
HEFT_CHECKED bool heft_file_walk(const struct heft_files *files, const char *folder,
                                 struct heft_arena *mem, heft_walk_fn *each, void *ctx,
                                 struct heft_error *err);
/* Examines a path, following links. *is_there is false if nothing is there. HEFT_IO if it cannot be
 * examined. */
HEFT_CHECKED bool heft_file_examine(const struct heft_files *files, const char *path,
                                    struct heft_os_stat *st, bool *is_there,
                                    struct heft_error *err);
/* "DIR/NAME", in the arena. */
HEFT_CHECKED const char *heft_file_join(struct heft_arena *mem, struct heft_str folder,
                                        const char *name, struct heft_error *err);

#endif
