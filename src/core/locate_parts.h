/* locate_parts.h: what the files that locate inputs share: the names of a folder, judged. */
#ifndef HEFT_LOCATE_PARTS_H
#define HEFT_LOCATE_PARTS_H

#include "core/registry.h"

/* A checkpoint that a folder holds: a file, an index, or a numbered set of files without one. */
struct heft_candidate {
    const char *name;                  /* of the file or index; of the first file of a set */
    struct heft_str stem;              /* "model" of "model.fp16-00001-of-00003.safetensors" */
    const struct heft_file_name *rule; /* of the format's that it fits */
    uint32_t rank;                     /* the lowest is chosen */
    uint32_t files;                    /* of a set that are there; 0: this is no set */
    uint32_t of;                       /* of a set: how many there are to be */
    uint32_t least, most;              /* of a set: the lowest and the highest number */
    bool is_index;
};
struct heft_candidates {
    struct heft_candidate *list; /* by the names */
    size_t n;
    const struct heft_candidate *best; /* NULL: none, or several of the lowest rank */
    bool several;                      /* of the lowest rank, which are no forms of one model */
    bool well_known;                   /* best is, by its name */
};

/* Finds and ranks them. HEFT_NOMEM. */
HEFT_CHECKED bool heft_folder_judge(const struct heft_formats *formats,
                                    const struct heft_folder *folder, struct heft_arena *mem,
                                    struct heft_candidates *out, struct heft_error *err);
/* Whether a name is one of the files of that set. */
bool heft_candidate_has(const struct heft_formats *formats, const struct heft_candidate *set,
                        const char *name, uint32_t *number);
/* Whether it is another checkpoint, to be named where `best` was chosen. */
bool heft_candidate_is_other(const struct heft_candidate *c, const struct heft_candidate *best);
/* Takes the variant off the name of a file: "model.fp16" becomes "model", and *variant is "fp16".
 * False, and nothing is changed, where what is left would be no well-known name. */
bool heft_stem_variant(const struct heft_formats *formats, struct heft_str *stem,
                       struct heft_str *variant);

#endif
