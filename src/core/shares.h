/* shares.h: division of the exports among ranks, as torch.distributed shards tensors: for formats that
 * write what each process of a distributed run would save.
 *
 *     rank r of N has [r·c, r·c + c) of one dimension of n indexes, c = ceil(n / N)     as torch.chunk
 *         7 over 4:  2 2 2 1        5 over 4:  2 2 1, and an empty share at 5
 *
 * Tensors that cannot be cut are stored whole, by one rank. So is the empty share, which several ranks
 * may have. torch's planner chooses that rank (dedup_save_plans.py): of those that have it the one with
 * the fewest bytes so far, in the order of the ranks' lists. */
#ifndef HEFT_SHARES_H
#define HEFT_SHARES_H

#include "core/plan.h"

/* Options of a format that writes shares; the first rows of its table of options. */
enum { HEFT_SHARES_RANKS, HEFT_SHARES_DIM, HEFT_SHARES_OPTIONS };
#define HEFT_SHARES_OPTION_ROWS                                                                    \
    [HEFT_SHARES_RANKS] = {.name = "ranks",                                                        \
                           .kind = HEFT_OPTION_NUMBER,                                             \
                           .value = "N",                                                           \
                           .least = 1,                                                             \
                           .most = 65535,                                                          \
                           .help = "write what N processes would save (default 1)"},               \
    [HEFT_SHARES_DIM] = {.name = "shard-dim",                                                      \
                         .kind = HEFT_OPTION_NUMBER,                                               \
                         .value = "D",                                                             \
                         .most = 63,                                                               \
                         .help = "cut tensors along dimension D (default 0), or their last one"}

/* Division of one item. */
struct heft_share {
    uint64_t each;  /* extent of a share along dim */
    uint32_t ranks; /* number of ranks that it is cut for; 1: it is whole */
    uint32_t owner; /* rank that stores the whole item, or the empty share; HEFT_NONE: no rank */
    uint8_t dim;
};

struct heft_shares {
    const struct heft_export_list *exports;
    struct heft_share *list; /* one for each item of the exports */
    uint32_t n_ranks;
};

/* What one rank has of an item: indexes [start, start + extent) of dimension dim. */
struct heft_share_box {
    uint64_t start, extent;
    uint8_t dim;
    bool is_whole; /* all of the item; the members above are 0 */
};

/* Divides the items by the options ranks and shard-dim, and by the rules of HEFT_RULE_PARTITION: "AXIS:N"
 * or "whole". Notes those that are whole because of their dtype. The list is in the plan's memory. */
HEFT_CHECKED bool heft_shares_init(struct heft_shares *out, struct heft_plan *plan,
                                   const struct heft_export_list *exports, struct heft_error *err);
/* Box of an item that a rank stores; false if there is none. */
bool heft_shares_box(const struct heft_shares *shares, size_t item, uint32_t rank,
                     struct heft_share_box *out);
/* The box as an item. Its row is in `mem`, or that of the whole item. */
HEFT_CHECKED bool heft_shares_item(const struct heft_shares *shares, size_t item,
                                   const struct heft_share_box *box, struct heft_arena *mem,
                                   struct heft_export_item *out, struct heft_error *err);
/* Makes a directory the output, whose name is followed by a slash in *folder: one that does not exist,
 * or is empty, appears as a whole; files of an earlier save go before new ones appear. Sets plan->prefix. */
HEFT_CHECKED bool heft_shares_place(struct heft_plan *plan, const char *output, const char **folder,
                                    struct heft_error *err);

#endif
