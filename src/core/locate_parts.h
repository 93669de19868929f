/* locate_parts.h: shared by locate.c and locate_names.c: the names in a directory, classified. */
#ifndef HEFT_LOCATE_PARTS_H
#define HEFT_LOCATE_PARTS_H

#include "core/registry.h"

/* A checkpoint in a directory: a file, an index, or a numbered set of files without an index. */
struct heft_candidate {
    const char *name; /* name of the file or index, or of the first file of a set */
    /* stem of the names: "model" in "model.fp16-00001-of-00003.safetensors" */
    struct heft_str stem;
    const struct heft_file_name *rule; /* row of the format's table of names that it matches */
    uint32_t rank;                     /* preference; the lowest is chosen */
    uint32_t files;                    /* number of files of the set that exist; 0: not a set */
    uint32_t of;                       /* expected number of files of the set */
    uint32_t least, most;              /* lowest and highest file number of the set */
    bool is_index;
};
struct heft_candidates {
    struct heft_candidate *list; /* sorted by name */
    size_t n;
    const struct heft_candidate
        *best;       /* best candidate; NULL if there is none, or if several have the lowest rank */
    bool several;    /* several candidates have the lowest rank and are not forms of one model */
    bool well_known; /* best has a well-known name */
};

/* Classifies and ranks the names of a directory. HEFT_NOMEM. */
HEFT_CHECKED bool heft_folder_judge(const struct heft_formats *formats,
                                    const struct heft_folder *folder, struct heft_arena *mem,
                                    struct heft_candidates *out, struct heft_error *err);
/* Whether a name is a file of the set. */
bool heft_candidate_has(const struct heft_formats *formats, const struct heft_candidate *set,
                        const char *name, uint32_t *number);
/* Whether the candidate is another checkpoint than `best`, to be mentioned in the note. */
bool heft_candidate_is_other(const struct heft_candidate *c, const struct heft_candidate *best);
/* Removes the variant from a stem: "model.fp16" becomes "model", *variant "fp16". False, and
 * nothing is changed, if the rest is not a well-known name. */
bool heft_stem_variant(const struct heft_formats *formats, struct heft_str *stem,
                       struct heft_str *variant);

#endif
