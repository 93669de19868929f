/* select.h: which rows the user means: --root, -g, -e; and their names after --rename. */
#ifndef HEFT_SELECT_H
#define HEFT_SELECT_H

#include "core/model.h"

/* A name below root ("state_dict" takes "state_dict.w" as "w"; "model" or "model/" takes "model/w");
 * false where it lies elsewhere. NULL root: as is. */
bool heft_name_below(struct heft_str name, const char *root, struct heft_str *rest);
/* selected[i] for each row. HEFT_USAGE for a bad regex, or where root is not a prefix of any name.
 */
HEFT_CHECKED bool heft_select_rows(const struct heft_model *model, const char *root,
                                   const struct heft_rule *rules, size_t n_rules, bool *selected,
                                   struct heft_error *err);
/* uses[i] of each rule; heft_rule_matches of heft.h. */
HEFT_CHECKED bool heft_rules_count(const struct heft_model *model, const char *root,
                                   const struct heft_rule *rules, size_t n_rules,
                                   struct heft_rule_use *uses, struct heft_error *err);
/* The same for names one by one (of unreadable tensors, blobs, ties, values): regexes are compiled
 * once for all. Root and rules must outlive it. HEFT_USAGE for a bad regex. */
struct heft_selector;
HEFT_CHECKED struct heft_selector *heft_selector_new(const char *root,
                                                     const struct heft_rule *rules, size_t n_rules,
                                                     struct heft_error *err);
/* Whether a name (NUL-terminated) lies below the root and is selected. */
bool heft_selector_takes(const struct heft_selector *selector, struct heft_str name);
void heft_selector_free(struct heft_selector *selector);
/* names[i] = names[i] after every rename rule, in order, each applied to all its matches. */
HEFT_CHECKED bool heft_rename_all(struct heft_str *names, size_t n, const struct heft_rule *rules,
                                  size_t n_rules, struct heft_arena *mem, struct heft_error *err);

#endif
