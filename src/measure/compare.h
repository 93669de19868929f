/* compare.h: compares a checkpoint with digests that somebody vouches for: a list of tensors, a list
 * of files, or the names of blobs in a Hugging Face cache. See heft_compare_digests (digest.h). */
#ifndef HEFT_COMPARE_H
#define HEFT_COMPARE_H

#include "core/reader.h"
#include "heft/digest.h"
#include "measure/digest_items.h"
#include "measure/digest_list.h"

struct heft_comparison {
    struct heft_reader *reader; /* of the checkpoint; NULL if it could not be opened (lists of
                                   files only) */
    const char *const *inputs;  /* paths from which it was opened */
    size_t n_inputs;
    const struct heft_files *files; /* the files that these and the list lead to */
    const struct heft_digest_list *list;
    struct heft_digest_how how;
    void (*each)(void *ctx, const struct heft_finding *finding);
    void *ctx;
    struct heft_compared compared;
};

/* compare.c */
HEFT_CHECKED bool heft_compare(struct heft_comparison *c, struct heft_error *err);
void heft_comparison_report(const struct heft_comparison *c, enum heft_severity severity,
                            const char *file, uint64_t offset, const char *format, ...)
    HEFT_PRINTF(5, 6);
/* Reports a failure to read something as a finding if it is one of the contents (HEFT_MALFORMED,
 * HEFT_MISMATCH); else passes it on and returns false. */
HEFT_CHECKED bool heft_comparison_forgive(const struct heft_comparison *c,
                                          const struct heft_error *why, struct heft_error *err);

/* compare_tensors.c, compare_files.c, compare_hub.c: the three kinds of lists. */
HEFT_CHECKED bool heft_compare_tensors(struct heft_comparison *c, struct heft_error *err);
HEFT_CHECKED bool heft_compare_files(struct heft_comparison *c, struct heft_error *err);
HEFT_CHECKED bool heft_compare_hub(struct heft_comparison *c, struct heft_error *err);

#endif
