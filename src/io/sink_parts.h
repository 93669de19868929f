/* sink_parts.h: what sink.c and sink_save.c share. */
#ifndef HEFT_SINK_PARTS_H
#define HEFT_SINK_PARTS_H

#include "base/map.h"
#include "io/os.h"
#include "io/sink.h"

#define HEFT_SINK_TRIES   100                   /* names for a temporary file */
#define HEFT_SINK_GROWING ((uint64_t)INT64_MAX) /* the size of a file that grows as it is written */

struct heft_sink_file {
    const char *path; /* final */
    const char *temp;
    uint64_t size;
    int fd;          /* -1: not open now */
    unsigned users;  /* threads writing to it now */
    uint64_t unsent; /* written since the last flush */
    uint64_t end;    /* of what was written */
    uint64_t process;
    unsigned number; /* of its temporary name */
    bool made, renamed;
    bool replaces;  /* its rename has replaced an old file: only of the last one */
    bool in_whole;  /* stands under its name in the folder that will be renamed */
    bool is_linked; /* another's bytes: there is nothing to sync */
    bool is_new;    /* something of it may not be on the disk yet */
    bool saved;     /* a record names it */
};

struct heft_sink_names {
    const char **items;
    size_t n, cap;
};

/* An old file under a temporary name, until the new files are in place. */
struct heft_sink_aside {
    const char *path, *temp;
};

struct heft_sink {
    struct heft_sink_options options;
    struct heft_arena arena;       /* names */
    struct heft_sink_file **files; /* in the arena: they stay where they are while the list grows */
    size_t n_files, files_cap;
    struct heft_sink_names made_folders, retired, to_sync;
    struct heft_sink_aside *aside;
    size_t n_aside, aside_cap;
    struct heft_strmap targets, folders; /* path → index of files; folder → index of to_sync */
    struct heft_lock *lock;              /* guards the list of files, and who has them open */
    struct heft_lock *writing;           /* held by the one thread that writes */
    size_t open_files, hand;
    const char *whole, *whole_temp; /* the folder that appears whole, and what it is called now */
    uint64_t process;               /* in temporary names: of what was loaded, 0: this one */
    bool committed, keep;
};

/* "a/b" → "a/" and "b"; "b" → "" and "b". */
void heft_sink_split(struct heft_str path, struct heft_str *folder, struct heft_str *name);
bool heft_sink_fails(struct heft_error *err, const char *what, const char *path);
HEFT_CHECKED bool heft_sink_add_name(struct heft_sink_names *list, const char *name,
                                     struct heft_error *err);
HEFT_CHECKED bool heft_sink_note_folder(struct heft_sink *sink, const char *path,
                                        struct heft_error *err);
HEFT_CHECKED bool heft_sink_check_target(const struct heft_sink *sink, const char *path,
                                         uint32_t *mode, struct heft_error *err);
const char *heft_sink_temp_name(struct heft_sink *sink, const char *path, uint64_t process,
                                unsigned n, struct heft_error *err);
/* ".STEM.heft-PID-N"; false for any other name. */
bool heft_sink_parse_temp(const char *name, struct heft_str *stem, uint64_t *process);
/* A new file of the list; `path` stays. NULL on failure. */
struct heft_sink_file *heft_sink_list(struct heft_sink *sink, const char *path, uint64_t size,
                                      struct heft_error *err);
HEFT_CHECKED bool heft_sink_open_again(struct heft_sink *sink, struct heft_sink_file *file,
                                       struct heft_error *err);
HEFT_CHECKED bool heft_sink_close_file(struct heft_sink *sink, struct heft_sink_file *file,
                                       struct heft_error *err);
HEFT_CHECKED bool heft_sink_sync_files(struct heft_sink *sink, struct heft_error *err);
HEFT_CHECKED bool heft_sink_sync_folders(struct heft_sink *sink, bool in_whole,
                                         struct heft_error *err);

#endif
