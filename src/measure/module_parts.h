/* module_parts.h: the two halves of module_tree: the tree of names, and what is computed for it. */
#ifndef HEFT_MODULE_PARTS_H
#define HEFT_MODULE_PARTS_H

#include "measure/module_tree.h"

/* Builds the nodes: texts, parents, and children in the order of their first rows. */
HEFT_CHECKED bool heft_module_names(struct heft_module_tree *tree, const struct heft_model *model,
                                    const bool *selected, const char *root, struct heft_error *err);
/* Sets the figures of each node, puts numbered siblings in order, and folds equal ones. */
HEFT_CHECKED bool heft_module_fold(struct heft_module_tree *tree, const struct heft_model *model,
                                   struct heft_error *err);

#endif
