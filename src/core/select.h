/* select.h: selection of tensors by root, globs and regexes, and renaming. */
#ifndef HEFT_SELECT_H
#define HEFT_SELECT_H

#include "core/model.h"

/* Removes the root from a name: "state_dict.w" is "w" below "state_dict", "model/w" is "w" below
 * "model" or "model/". False if the name is not below the root. A NULL root keeps names as they
 * are. */
bool heft_name_below(struct heft_str name, const char *root, struct heft_str *rest);
/* Sets selected[i] for each row. HEFT_USAGE for an invalid regex, or if no name is below the
 * root. */
HEFT_CHECKED bool heft_select_rows(const struct heft_model *model, const char *root,
                                   const struct heft_rule *rules, size_t n_rules, bool *selected,
                                   struct heft_error *err);
/* Sets uses[i] for each rule, as heft_rule_matches (load.h). */
HEFT_CHECKED bool heft_rules_count(const struct heft_model *model, const char *root,
                                   const struct heft_rule *rules, size_t n_rules,
                                   struct heft_rule_use *uses, struct heft_error *err);
/* Selection of single names (unreadable tensors, blobs, ties, values) with regexes that are
 * compiled once. Root and rules must outlive the selector. HEFT_USAGE for an invalid regex. */
struct heft_selector;
HEFT_CHECKED struct heft_selector *heft_selector_new(const char *root,
                                                     const struct heft_rule *rules, size_t n_rules,
                                                     struct heft_error *err);
/* Whether a NUL-terminated name is below the root and selected. */
bool heft_selector_takes(const struct heft_selector *selector, struct heft_str name);
/* Adds 1 to uses[i].matches for each glob and regex that matches a name below the root. */
void heft_selector_count(const struct heft_selector *selector, struct heft_str name,
                         struct heft_rule_use *uses);
void heft_selector_free(struct heft_selector *selector);
/* Replaces all matches in a name. *matches: whether there is one. The new name is in the arena. */
struct heft_regex;
HEFT_CHECKED bool heft_rename_one(struct heft_str *name, struct heft_regex *regex,
                                  const char *replacement, bool *matches, struct heft_arena *mem,
                                  struct heft_error *err);
/* Applies every rename rule, in order, to all its matches in each name. uses: NULL, or an entry for
 * each rule, to whose `matches` the number of names it matches is added. */
HEFT_CHECKED bool heft_rename_counting(struct heft_str *names, size_t n,
                                       const struct heft_rule *rules, size_t n_rules,
                                       struct heft_rule_use *uses, struct heft_arena *mem,
                                       struct heft_error *err);
HEFT_CHECKED bool heft_rename_all(struct heft_str *names, size_t n, const struct heft_rule *rules,
                                  size_t n_rules, struct heft_arena *mem, struct heft_error *err);

#endif
