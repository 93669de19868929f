/* token_out_parts.h: what the files of an output share. */
#ifndef HEFT_TOKEN_OUT_PARTS_H
#define HEFT_TOKEN_OUT_PARTS_H

#include "tokens/output/token_out.h"

/* Extensions after that of a .ds. */
#define HEFT_DS_INDEX     ".index"
#define HEFT_DS_METADATA  ".metadata"
#define HEFT_TOKEN_BUFFER ((size_t)64 << 10)

/* Ids that wait for the end of their window. */
struct heft_token_window {
    uint8_t *ids; /* room for one window */
    uint64_t n;
    uint64_t repeated; /* the first ones, which the window before has, too */
};

struct heft_token_track {
    struct heft_token_file file;
    const char *suffix; /* suffix of file names: "", "train" or "val" */
    uint32_t files;
    uint64_t tokens; /* ids in all files of the track */
    struct heft_token_window window;
};

/* Files with names STEM[_SUFFIX][_000000]EXTENSION END. */
struct heft_token_series {
    struct heft_str stem, extension;
    const char *end;
    bool is_apart; /* its stem is not that of the ids */
};

/* The list of rejected lines (token_rejects.c). */
struct heft_token_rejects {
    struct heft_row_store bytes; /* rows of one byte */
    uint64_t n;                  /* bytes in it */
    uint32_t file;               /* index in the sink, once it is added */
    bool is_added;
};

struct heft_token_out {
    struct heft_token_out_how how;
    struct heft_sink *sink;
    struct heft_arena mem;
    struct heft_token_series series[4]; /* the ids; then the files beside them */
    unsigned n_series;
    struct heft_token_track tracks[2];
    uint64_t units;
    struct heft_job spare; /* for ids of an .npz */
    struct heft_token_rejects rejects;
};

/* ---- token_file.c ------------------------------------------------------------------------ */

/* Allocates the buffers of a file, unless it has them. */
HEFT_CHECKED bool heft_token_buffers(struct heft_token_file *f, struct heft_error *err);
/* Writes out the buffer of ids. */
HEFT_CHECKED bool heft_token_flush(struct heft_token_file *f, struct heft_error *err);
/* Appends the end of a document, after the ids written so far, if ends are written. */
HEFT_CHECKED bool heft_token_put_end(struct heft_token_file *f, struct heft_error *err);
HEFT_CHECKED bool heft_token_flush_ends(struct heft_token_file *f, struct heft_error *err);

/* Writes out the buffers of all open files (token_out.c). */
HEFT_CHECKED bool heft_token_out_flush(struct heft_token_out *out, struct heft_error *err);

/* ---- token_rejects.c --------------------------------------------------------------------- */

/* Creates a temporary file beside the list of rejects and deletes it: fails before any work is done
 * if the list cannot be created. */
HEFT_CHECKED bool heft_token_out_check_rejects(const struct heft_token_out *out,
                                               struct heft_error *err);
/* Adds the list to the sink, as its last file. */
HEFT_CHECKED bool heft_token_out_add_rejects(struct heft_token_out *out, struct heft_error *err);

/* ---- token_names.c ----------------------------------------------------------------------- */

/* Determines the series of the output, and the suffixes of its tracks. */
void heft_token_out_name(struct heft_token_out *out);
/* Whether the output is a directory, DIR/. */
bool heft_token_out_is_folder(const struct heft_token_out *out);
/* Path of the track's next file in a series; allocated in out->mem. */
const char *heft_token_out_file(struct heft_token_out *out, const struct heft_token_track *track,
                                unsigned index, struct heft_error *err);
/* Whether a name without directory is that of a shard of the track, in any series, and its number. */
bool heft_token_out_number(const struct heft_token_out *out, const struct heft_token_track *track,
                           struct heft_str name, uint64_t *number);
/* Whether the output, `ctx`, can have a file of this name. */
bool heft_token_out_is_ours(void *ctx, struct heft_str name);

/* ---- token_sets.c ------------------------------------------------------------------------ */

/* Finds shards of this name series that `out` has not written, or all before it has written any.
 * Refuses them, or retires them with `overwrite`. */
HEFT_CHECKED bool heft_token_out_stale(struct heft_token_out *out, struct heft_error *err);

#endif
