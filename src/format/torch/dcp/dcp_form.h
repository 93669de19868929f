/* dcp_form.h: the archives of a .distcp file. torch.save writes one for each chunk. All chunks of one dtype
 * and shape have the same archive but for the data and its checksum: a form. It is planned once, by the
 * writer of torch files, in a plan of its own:
 *
 *     front      local headers, pickle, small records, up to the data       the same bytes for each chunk
 *     data                                                                  a copy or a gather
 *     tail       version, serialization id, central directory               made late, from the checksum
 *
 * A chunk takes three ops and twenty bytes, where a plan of its own would take two kilobytes. */
#ifndef HEFT_DCP_FORM_H
#define HEFT_DCP_FORM_H

#include "core/plan.h"

struct heft_dcp_form;

/* The forms made so far. */
struct heft_dcp_forms {
    struct heft_plan *plan;   /* their bytes are in its memory */
    struct heft_strmap known; /* dtype and shape, as bytes → number in the list */
    const struct heft_dcp_form **list;
    size_t n, cap;
};

/* Plans the archive of a chunk at the end of the file. */
HEFT_CHECKED bool heft_dcp_put_chunk(struct heft_dcp_forms *forms, uint32_t file,
                                     const struct heft_export_item *item, struct heft_error *err);
/* Plans the archive of a pickle without tensors. */
HEFT_CHECKED bool heft_dcp_put_object(const struct heft_dcp_forms *forms, uint32_t file,
                                      struct heft_str name, struct heft_str pickle,
                                      struct heft_error *err);
void heft_dcp_forms_release(struct heft_dcp_forms *forms);

#endif
