/* tie_records.h: tied names in the metadata of safetensors files and indexes, `dropped: kept`, as
 * huggingface_hub records them.
 *
 * A record has no mark: {"lm_head.weight": "embed.weight"} looks like {"monitor": "embed.weight"}.
 * Shape and strides of the dropped view are not recorded. So an entry counts as a tie only if that
 * is certain, or if the hub can hardly have meant anything else. All others stay metadata and are
 * reported (heft_model.doubts). */
#ifndef HEFT_TIE_RECORDS_H
#define HEFT_TIE_RECORDS_H

#include "core/model.h"

/* Entry with the dropped names of recorded ties, one a line. Written only if the reader would
 * not recognize the records without it. */
#define HEFT_TIES_KEY "heft.ties"

/* Whether a key is about the whole file, so that it never records a tie. */
bool heft_tie_is_reserved(struct heft_str key);
/* Whether an entry of the metadata is about the files, not about the model: a reserved key or a
 * recorded tie. After validation. */
bool heft_metadata_is_bookkeeping(const struct heft_model *model, struct heft_str key);
/* Whether the reader recognizes a record as a tie; has_others: in a file with other metadata. */
bool heft_tie_is_plain(struct heft_str dropped, struct heft_str kept, bool has_others);

/* The tensor names that records may refer to. */
struct heft_tie_names {
    bool (*has)(const void *ctx, struct heft_str name);
    const void *ctx;
};
/* Classifies the entries [first, end) of model->metadata, those of one file: adds ties and
 * doubts. Linear. */
HEFT_CHECKED bool heft_ties_read(struct heft_model *model, size_t first, size_t end,
                                 const struct heft_tie_names *names, struct heft_error *err);

#endif
