/* convert.h: one conversion from the user's wish to a checked plan: which format, which files,
 * which stale ones. */
#ifndef HEFT_CONVERT_H
#define HEFT_CONVERT_H

#include "core/exec.h"
#include "core/registry.h"

struct heft_conversion {
    const struct heft_model *model;
    struct heft_arena mem;
    const struct heft_format *format;
    struct heft_export_list exports; /* sorted by shard once it is split */
    struct heft_plan plan;
    struct heft_row slice; /* --slice: the one row that is written */
    struct heft_exec_options exec;
    const char *folder;          /* where the files go; NULL: beside nothing, a path of its own */
    const char *prefix, *suffix; /* of the shard pattern; NULL where there is one file */
    const char *index_name;      /* of the set, where it is not PREFIX SUFFIX .index.json */
    const char **notes;
    size_t n_notes, cap_notes;
    struct heft_unread *lost; /* salvage */
    size_t n_lost, cap_lost;
};

HEFT_CHECKED bool heft_conversion_plan(struct heft_conversion *out, const struct heft_model *model,
                                       const struct heft_convert_options *options,
                                       struct heft_error *err);
HEFT_CHECKED bool heft_conversion_run(struct heft_conversion *conversion, uint64_t *overflowed,
                                      struct heft_error *err);
/* reread.c, after the run: whether what was written, opened anew, has each tensor by its name, with
 * its dtype, shape and elements, each tied name, and no other tensor. HEFT_MISMATCH where not. */
HEFT_CHECKED bool heft_conversion_reread(const struct heft_conversion *conversion,
                                         struct heft_error *err);
/* format_options.c: the options of the format that was chosen, for its plan. HEFT_USAGE for one that no
 * format has, and for a value that is not allowed. */
HEFT_CHECKED bool heft_conversion_take_options(struct heft_conversion *c,
                                               const struct heft_convert_options *options,
                                               struct heft_error *err);
/* salvage_report.c. Before the exports is loaded: what is selected and cannot be read. */
HEFT_CHECKED bool heft_conversion_lose_unreadable(struct heft_conversion *c,
                                                  const struct heft_convert_options *options,
                                                  struct heft_error *err);
/* … and after it: takes out of the exports what lies on storages whose checksums are wrong. */
HEFT_CHECKED bool heft_conversion_lose_damaged(struct heft_conversion *c, struct heft_error *err);
/* excluded_values.c: notes of what is no tensor and is left out; where the format refuses that, HEFT_UNSUPPORTED
 * unless the user said so. */
HEFT_CHECKED bool heft_conversion_leave_values(struct heft_conversion *c,
                                               const struct heft_convert_options *options,
                                               struct heft_error *err);
/* nothing.c: HEFT_USAGE where no tensor would be written, unless the user allows that. */
HEFT_CHECKED bool heft_conversion_refuse_nothing(const struct heft_conversion *c,
                                                 const struct heft_convert_options *options,
                                                 struct heft_error *err);
/* note_casts.c: makes room for what casts lose, and after the run tells of it. */
HEFT_CHECKED bool heft_conversion_count_losses(struct heft_conversion *c, struct heft_error *err);
HEFT_CHECKED bool heft_conversion_note_casts(struct heft_conversion *c, struct heft_error *err);
/* note_ties.c: which names were dropped for whose sake, which came back, and which metadata may mean
 * such a name. */
HEFT_CHECKED bool heft_conversion_note_ties(struct heft_conversion *c, struct heft_error *err);
/* A line for people. False where it is NULL, too. */
HEFT_CHECKED bool heft_conversion_note(struct heft_conversion *c, const char *note,
                                       struct heft_error *err);
void heft_conversion_release(struct heft_conversion *conversion);

#endif
