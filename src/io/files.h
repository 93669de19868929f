/* files.h: the files that paths lead to: those of the disk, or others with the same operations.
 * What is opened together with its siblings (shards, directories) goes through here. */
#ifndef HEFT_FILES_H
#define HEFT_FILES_H

#include "io/source.h"

struct heft_files;
struct heft_os_stat; /* os.h */
struct heft_files_ops {
    /* As the calls of os.h: -1 with errno; stat follows links. */
    int (*stat)(const struct heft_files *files, const char *path, struct heft_os_stat *out);
    int (*stat_link)(const struct heft_files *files, const char *path, struct heft_os_stat *out);
    int (*list_dir)(const struct heft_files *files, const char *path,
                    bool (*each)(void *ctx, const char *name), void *ctx);
    /* As the functions heft_source_open_file and heft_path_inside. */
    bool (*open)(const struct heft_files *files, struct heft_source *out, const char *path,
                 struct heft_error *err);
    bool (*inside)(const struct heft_files *files, const char *path, size_t folder, bool *inside,
                   struct heft_error *err);
};
struct heft_files {
    const struct heft_files_ops *ops;
};

extern const struct heft_files heft_disk;

/* HEFT_PATH_FILE if it cannot be examined: opening it then fails with the reason. */
enum heft_path_kind heft_files_kind(const struct heft_files *files, const char *path);
/* For paths that are passed over if they are no directory: HEFT_IO if it cannot be examined. */
HEFT_CHECKED bool heft_files_examine(const struct heft_files *files, const char *path,
                                     enum heft_path_kind *kind, struct heft_error *err);
/* Names in a directory, sorted by bytes, in the arena. */
HEFT_CHECKED bool heft_files_list(const struct heft_files *files, const char *folder,
                                  struct heft_arena *arena, const char *const **names,
                                  size_t *count, struct heft_error *err);

static inline bool heft_files_open(const struct heft_files *files, struct heft_source *out,
                                   const char *path, struct heft_error *err)
{
    return files->ops->open(files, out, path, err);
}

static inline bool heft_files_inside(const struct heft_files *files, const char *path,
                                     size_t folder, bool *inside, struct heft_error *err)
{
    return files->ops->inside(files, path, folder, inside, err);
}

#endif
