/* token_out_parts.h: what the files of an output share. */
#ifndef HEFT_TOKEN_OUT_PARTS_H
#define HEFT_TOKEN_OUT_PARTS_H

#include "tokens/output/token_out.h"

#define HEFT_TOKEN_BUFFER ((size_t)64 << 10)

struct heft_token_track {
    struct heft_token_file file;
    const char *suffix; /* suffix of file names: "", "train" or "val" */
    uint32_t files;
    uint64_t tokens; /* ids in all files of the track */
};

struct heft_token_out {
    struct heft_token_out_how how;
    struct heft_sink *sink;
    struct heft_arena mem;
    struct heft_str stem, extension;
    struct heft_token_track tracks[2];
    uint64_t units;
    struct heft_job spare; /* for ids of an .npz */
};

/* Writes out the buffer (token_file.c). */
HEFT_CHECKED bool heft_token_flush(struct heft_token_file *f, struct heft_error *err);
/* Writes out the buffers of all open files. */
HEFT_CHECKED bool heft_token_out_flush(struct heft_token_out *out, struct heft_error *err);

/* ---- token_sets.c ------------------------------------------------------------------------ */

/* Separator between the stem of a track's file names and its suffix: "_" or "". */
const char *heft_token_out_between(const struct heft_token_out *out,
                                   const struct heft_token_track *track);

/* Finds shards of this name series that `out` has not written, or all before it has written any.
 * Refuses them, or retires them with `overwrite`. */
HEFT_CHECKED bool heft_token_out_stale(struct heft_token_out *out, struct heft_error *err);

#endif
