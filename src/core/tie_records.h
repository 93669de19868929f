/* tie_records.h: tied names as the metadata of safetensors files and indexes records them,
 * `dropped: kept`, as huggingface_hub writes it.
 *
 * Such a record is metadata like any other: {"lm_head.weight": "embed.weight"} beside {"monitor":
 * "embed.weight"}. Shape and strides of the dropped view are not recorded. So a record counts as a
 * tie only where that is certain or where the hub can hardly have meant anything else; all others
 * stay metadata, and are told (heft_model.doubts). */
#ifndef HEFT_TIE_RECORDS_H
#define HEFT_TIE_RECORDS_H

#include "core/model.h"

/* The names whose records heft vouches for, a line each: written only where its own reader would
 * judge the records otherwise. */
#define HEFT_TIES_KEY "heft.ties"

/* Keys that say something of the whole file and never record a tie. */
bool heft_tie_is_reserved(struct heft_str key);
/* Whether the reader takes such a record for a tie in a file that has no other metadata. */
bool heft_tie_is_plain(struct heft_str dropped, struct heft_str kept);

/* Where the tensors' names are that a record may mean. */
struct heft_tie_names {
    bool (*has)(const void *ctx, struct heft_str name);
    const void *ctx;
};
/* Judges the entries of model->metadata from `first` to before `end`, those of one file: adds ties
 * and doubts. Linear. */
HEFT_CHECKED bool heft_ties_read(struct heft_model *model, size_t first, size_t end,
                                 const struct heft_tie_names *names, struct heft_error *err);

#endif
