/* dcp_write.h: interface between the writers of DCP directories; private to dcp/.
 *
 *    exports ─► dcp_write.c        the files of the ranks: which archive is where
 *          ─► dcp_form.c           an archive
 *          ─► dcp_values.c         values of the source as objects; dcp_pickle.c
 *          ─► dcp_paths.c          where names are in the tree of the source
 *          ─► dcp_write_meta.c     .metadata, which lists all of them */
#ifndef HEFT_DCP_WRITE_H
#define HEFT_DCP_WRITE_H

#include "core/shares.h"
#include "format/torch/dcp/dcp_form.h"
#include "format/torch/dcp/dcp_values.h"

/* An archive in a file of a rank. */
struct heft_dcp_place {
    uint64_t off, len;
    uint32_t what;   /* number of the item, or of the object */
    uint32_t rank;   /* rank that stores it … */
    uint32_t number; /* … in this one of its files */
    bool is_object;
};

struct heft_dcp_out {
    struct heft_plan *plan;
    struct heft_export_list *exports;
    struct heft_shares shares;
    struct heft_dcp_objects objects;
    const struct heft_dcp_path *paths; /* of the items; NULL: not all are known */
    struct heft_dcp_forms forms;
    const char *folder; /* path of the directory, with a slash */
    struct heft_dcp_place *places;
    size_t n_places, cap_places;
};

/* Formats the name of a file into the room. */
enum { HEFT_DCP_NAME = 48 };
struct heft_str heft_dcp_file_name(uint32_t rank, uint32_t number, char room[HEFT_DCP_NAME]);
/* Whether a share is not written because it is empty, while the tensor has others. */
static inline bool heft_dcp_leaves_out(const struct heft_export_item *item,
                                       const struct heft_share_box *box)
{
    return !box->is_whole && box->extent == 0 && item->bytes > 0;
}
/* Plans .metadata. All archives are planned. */
HEFT_CHECKED bool heft_dcp_write_metadata(struct heft_dcp_out *out, struct heft_error *err);

/* ---- of the format ---- */

extern const struct heft_format_option heft_dcp_options[];
bool heft_dcp_plan_set(struct heft_plan *plan, const char *output, struct heft_export_list *exports,
                       struct heft_error *err);
uint64_t heft_dcp_weigh(const struct heft_export_item *item);

#endif
