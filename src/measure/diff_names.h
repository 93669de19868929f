/* diff_names.h: the names under which two checkpoints are compared, and which belong together.
 *
 *     rows, recorded ties ─► below the root ─► renamed (a only) ─► selected ─► name of the other side
 *     blobs               ─► the same, in a name space of their own
 *
 * Globs and regexes judge the names as compared. If only one checkpoint has names below the root, the
 * other one is compared as a whole. */
#ifndef HEFT_DIFF_NAMES_H
#define HEFT_DIFF_NAMES_H

#include "core/model.h"

struct heft_diff_name {
    struct heft_str name; /* as compared; NUL-terminated */
    uint32_t index;       /* of the row, or of the blob */
    uint32_t partner;     /* index in the list of the other side; HEFT_NONE: it lacks the name */
    bool is_blob;
    uint8_t how; /* free for the user; 0 */
};

struct heft_diff_names {
    struct heft_diff_name *list; /* rows, ties, blobs, each in the file's order */
    size_t n, n_tensors;
    struct heft_arena mem; /* memory of renamed names */
    bool is_whole;         /* no name is below the root, so that it was not applied */
};

struct heft_diff_choice {
    const char *root; /* NULL: everything */
    const struct heft_rule *rules;
    size_t n_rules;
    struct heft_rule_use
        *uses;     /* n_rules entries, whose `matches` are added to; NULL: not counted */
    bool is_ruled; /* root and renaming have been applied to the names of a, by rules files */
};

/* Lists the names of both models and matches them, in linear time. HEFT_USAGE for an invalid regex,
 * if no name of either side is below the root, and if two tensors of a side get one name.
 * HEFT_UNSUPPORTED names a selected tensor that cannot be read. Release both lists in any case. */
HEFT_CHECKED bool heft_diff_match(struct heft_diff_names *a, const struct heft_model *model_a,
                                  struct heft_diff_names *b, const struct heft_model *model_b,
                                  const struct heft_diff_choice *choice, struct heft_error *err);
void heft_diff_names_release(struct heft_diff_names *names);

#endif
