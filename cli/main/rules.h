/* rules.h: what -g, -e, --rename, --cast and --partition did: an option that did nothing is told. */
#ifndef CLI_RULES_H
#define CLI_RULES_H

#include "main/options.h"
#include "output/output.h"

struct rule_report {
    const struct options *options;
    struct heft_rule_use *uses; /* one a rule of the options */
};

/* Counts. A note for each rule that matches no name, or changes nothing it matches; with --strict that
 * is an error. */
bool rules_judge(struct rule_report *report, const struct options *options,
                 const struct heft_checkpoint *c, struct heft_error *err);
/* A line a rule; nothing without rules. */
void rules_text(struct out *out, const struct rule_report *report);
/* "rules":[{"option","pattern","matches"}], a member of an open object; nothing without rules. */
void rules_json(struct out *out, const struct rule_report *report);
void rules_release(struct rule_report *report);

#endif
