/* quant_groups.h: `config_groups` of compressed-tensors: which parameters a module has. */
#ifndef HEFT_QUANT_GROUPS_H
#define HEFT_QUANT_GROUPS_H

#include "quant/quant.h"

struct heft_quant_group {
    const struct heft_quant_node *weights; /* the dict of parameters */
    struct heft_str format;                /* of the group, else of the whole configuration */
    const char *name;                      /* "group_0" */
};

/* The group of a module, the name of a weight without its ending: by exact name, then regular expression, then
 * class name (`Linear` applies to all). False, with an error about `weight`, if none or several different ones
 * apply, or if the configuration cannot be dequantized at all. */
HEFT_CHECKED bool heft_quant_group_of(struct heft_quant *q, const struct heft_row *weight,
                                      struct heft_str module, struct heft_quant_group *out);
/* Frees the compiled expressions. */
void heft_quant_groups_release(struct heft_quant *q);

#endif
