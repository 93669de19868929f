/* sink_parts.h: shared by sink.c, sink_commit.c, sink_save.c and sink_shared.c. */
#ifndef HEFT_SINK_PARTS_H
#define HEFT_SINK_PARTS_H

#include "base/map.h"
#include "io/os.h"
#include "io/sink.h"

#define HEFT_SINK_TRIES 100 /* attempts to find a free temporary name */
/* Bytes of the target's name in a temporary name: cut to leave room for the suffix within the 255
 * bytes that file systems allow. */
#define HEFT_SINK_STEM    180
#define HEFT_SINK_GROWING ((uint64_t)INT64_MAX) /* size of a file that grows as it is written */

struct heft_sink_file {
    const char *path; /* final path */
    const char *temp;
    uint64_t size;
    int fd;          /* -1 if closed at the moment */
    unsigned users;  /* threads that write to it at the moment */
    uint64_t unsent; /* bytes written since the last flush */
    uint64_t end;    /* end of the bytes written */
    uint64_t process;
    unsigned number; /* number in its temporary name */
    bool made, renamed;
    bool replaces;  /* set for the last file only: its rename has replaced an old file … */
    bool is_kept;   /* … that has a second name, by which it can be restored */
    bool in_whole;  /* it is in the directory that is renamed as a whole, under its final name */
    bool is_linked; /* hard link to another file: nothing to sync */
    bool is_new;    /* dirty: parts of it may not be on the disk yet */
    bool saved;     /* named in a record of the journal */
};

struct heft_sink_names {
    const char **items;
    size_t n, cap;
};

/* An old file that has a temporary name until the new files are in place. */
struct heft_sink_aside {
    const char *path, *temp;
};

struct heft_sink {
    struct heft_sink_options options;
    struct heft_arena arena;       /* owns the names */
    struct heft_sink_file **files; /* the files are in the arena, so that their addresses stay
                                      valid while the list grows */
    size_t n_files, files_cap;
    struct heft_sink_names made_folders, retired, to_sync;
    struct heft_sink_aside *aside;
    size_t n_aside, aside_cap;
    struct heft_strmap targets,
        folders; /* targets: path → index in files; folders: directory → index in to_sync */
    struct heft_lock *lock;    /* guards the list of files and their users */
    struct heft_lock *writing; /* held by the thread that writes */
    size_t open_files, hand;
    const char *whole, *whole_temp; /* the directory that appears as a whole, and its temporary
                                       name */
    bool whole_replaces;            /* its rename has replaced an empty directory */
    uint64_t process;               /* process ID in temporary names: of the run that was loaded;
                                       0: this process */
    bool committed, keep;
};

/* Splits a path at its last slash: "a/b" → "a/" and "b"; "b" → "" and "b". */
void heft_sink_split(struct heft_str path, struct heft_str *folder, struct heft_str *name);
bool heft_sink_fails(struct heft_error *err, const char *what, const char *path);
HEFT_CHECKED bool heft_sink_add_name(struct heft_sink_names *list, const char *name,
                                     struct heft_error *err);
HEFT_CHECKED bool heft_sink_note_folder(struct heft_sink *sink, const char *path,
                                        struct heft_error *err);
HEFT_CHECKED bool heft_sink_check_target(const struct heft_sink *sink, const char *path,
                                         uint32_t *mode, struct heft_error *err);
/* Current path: before commit that in the temporary directory. NULL on failure. */
const char *heft_sink_now_at(struct heft_sink *sink, const char *path, struct heft_error *err);
const char *heft_sink_temp_name(struct heft_sink *sink, const char *path, uint64_t process,
                                unsigned n, struct heft_error *err);
/* sink_shared.c: opens or creates a temporary file that other processes write, too. */
HEFT_CHECKED bool heft_sink_open_shared(struct heft_sink *sink, struct heft_sink_file *file,
                                        uint32_t mode, struct heft_error *err);
/* The same for the directory that appears as a whole. */
HEFT_CHECKED bool heft_sink_make_shared(struct heft_sink *sink, const char *path,
                                        struct heft_error *err);
/* Whether an interrupted commit has given the file its final name. */
bool heft_sink_is_resumed(struct heft_sink *sink, const char *path);
/* Parses ".STEM.heft-PID-N"; false for any other name. */
bool heft_sink_parse_temp(const char *name, struct heft_str *stem, uint64_t *process);
/* Appends a file to the list; `path` is borrowed. NULL on failure. */
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
