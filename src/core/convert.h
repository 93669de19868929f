/* convert.h: a conversion, from the user's options to a checked plan: format, output files,
 * stale files. */
#ifndef HEFT_CONVERT_H
#define HEFT_CONVERT_H

#include "core/exec.h"
#include "core/registry.h"
#include "core/ruling.h"

struct heft_equal_rows;
struct heft_conversion {
    const struct heft_model *model;
    struct heft_budget budget; /* of the model and all that the conversion makes of it */
    struct heft_arena mem;
    const struct heft_format *format;
    struct heft_export_list exports; /* sorted by shard after split */
    struct heft_plan plan;
    struct heft_row slice; /* the row that is written, if the options have ranges */
    struct heft_exec_options exec;
    const char *folder; /* output directory; NULL: the output is a single path */
    /* parts of the shard pattern around {suffix}; NULL if there is one file */
    const char *prefix, *suffix;
    const char *index_name;      /* name of the index; NULL: PREFIX SUFFIX .index.json */
    struct heft_model derived;   /* of a conversion that dequantizes; `model` points to it */
    enum heft_dtype dequantized; /* dtype of the output's weights, if `model` is derived */
    struct heft_ruled ruled; /* of a conversion with rules files; `model` points to its model … */
    const struct heft_model *unruled; /* … and this is the model before; else NULL */
    struct heft_unread *lost;         /* lost tensors, if options->salvage */
    size_t n_lost, cap_lost;
    /* tensors that must be equal, compared before anything is written; in mem */
    const struct heft_equal_rows *equals;
    size_t n_equals;
};

HEFT_CHECKED bool heft_conversion_plan(struct heft_conversion *out, const struct heft_model *model,
                                       const struct heft_convert_options *options,
                                       struct heft_error *err);
HEFT_CHECKED bool heft_conversion_run(struct heft_conversion *conversion, uint64_t *overflowed,
                                      struct heft_error *err);
/* Compares the checksums of sources as a whole, if checksums are compared at all, and the tensors that
 * must be equal. */
HEFT_CHECKED bool heft_conversion_check_sources(const struct heft_conversion *c,
                                                struct heft_error *err);
/* HEFT_USAGE for outputs, and files of an earlier set, that exist without option overwrite. */
HEFT_CHECKED bool heft_conversion_check_targets(struct heft_conversion *c, struct heft_error *err);
/* Ends a conversion whose shares have been run (heft_exec_run_share), as heft_conversion_run ends. */
HEFT_CHECKED bool heft_conversion_commit(struct heft_conversion *conversion,
                                         const struct heft_exec_receipts *receipts,
                                         uint64_t *overflowed, struct heft_error *err);
/* reread.c: opens the written files and compares every tensor (name, dtype, shape, elements) and
 * tied name with the source. HEFT_MISMATCH if one differs, is missing, or was added. */
HEFT_CHECKED bool heft_conversion_reread(const struct heft_conversion *conversion,
                                         struct heft_error *err);
/* format_options.c: the options of the format that was chosen, for its plan. HEFT_USAGE for one
 * that no format has, and for a value that is not allowed. */
HEFT_CHECKED bool heft_conversion_take_options(struct heft_conversion *c,
                                               const struct heft_convert_options *options,
                                               struct heft_error *err);
/* salvage_report.c: reports selected tensors that cannot be read. Called before the exports are
 * loaded. */
HEFT_CHECKED bool heft_conversion_lose_unreadable(struct heft_conversion *c,
                                                  const struct heft_convert_options *options,
                                                  struct heft_error *err);
/* salvage_report.c: removes exports whose storages have a checksum mismatch. Called after the
 * exports are loaded. */
HEFT_CHECKED bool heft_conversion_lose_damaged(struct heft_conversion *c, struct heft_error *err);
/* excluded_values.c: notes values, blobs and metadata that are left out. HEFT_UNSUPPORTED if the
 * format refuses to lose them and the user has not allowed it. */
HEFT_CHECKED bool heft_conversion_leave_values(struct heft_conversion *c,
                                               const struct heft_convert_options *options,
                                               struct heft_error *err);
/* convert_derived.c: replaces the model by a derived one if the options ask for it. */
HEFT_CHECKED bool heft_conversion_derive(struct heft_conversion *c,
                                         const struct heft_convert_options *options,
                                         struct heft_error *err);
/* With salvage: removes exports whose scales cannot be used. */
HEFT_CHECKED bool heft_conversion_lose_scales(struct heft_conversion *c, struct heft_error *err);
/* HEFT_USAGE if an 8-bit float with scales is cast without them, unless the options ignore them. */
HEFT_CHECKED bool heft_conversion_refuse_scaled(const struct heft_conversion *c,
                                                const struct heft_convert_options *options,
                                                struct heft_error *err);
/* convert_ruled.c: replaces the model and the exports by ruled ones if there are rules files. HEFT_USAGE if
 * there are none, and names are numbered. */
HEFT_CHECKED bool heft_conversion_rule(struct heft_conversion *c,
                                       const struct heft_convert_options *options,
                                       struct heft_error *err);
/* Plans the copies of files that are not weights, if a model directory is dequantized into another one; the
 * copy of config.json has no quantization. */
HEFT_CHECKED bool heft_conversion_plan_others(struct heft_conversion *c, struct heft_error *err);
/* salvage_report.c: adds a tensor that is lost. */
HEFT_CHECKED bool heft_conversion_lose(struct heft_conversion *c, const char *name,
                                       const char *reason, struct heft_error *err);
/* nothing.c: HEFT_USAGE if no tensor would be written, unless the user allows that. */
HEFT_CHECKED bool heft_conversion_refuse_nothing(const struct heft_conversion *c,
                                                 const struct heft_convert_options *options,
                                                 struct heft_error *err);
/* note_casts.c: allocates counters of cast losses; after the run, notes them. */
HEFT_CHECKED bool heft_conversion_count_losses(struct heft_conversion *c, struct heft_error *err);
HEFT_CHECKED bool heft_conversion_note_casts(struct heft_conversion *c, struct heft_error *err);
/* note_ties.c: notes dropped and restored tied names, and metadata that may record one. */
HEFT_CHECKED bool heft_conversion_note_ties(struct heft_conversion *c, struct heft_error *err);
void heft_conversion_release(struct heft_conversion *conversion);

#endif
