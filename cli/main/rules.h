/* rules.h: how many names -g, -e, --rename, --cast and --partition matched; reports options without
 * effect. */
#ifndef CLI_RULES_H
#define CLI_RULES_H

#include "main/options.h"
#include "output/output.h"

struct rule_report {
    const struct options *options;
    struct heft_rule_use *uses; /* one per rule of the options */
    /* the same with --names objects; NULL unless a rule matches nothing and the input has such names */
    struct heft_rule_use *objects;
    bool is_numbered; /* a rule matches nothing, and the input numbers its variables */
};

/* Counts the matches of each rule. Prints a note for a rule that matches no name or changes
 * nothing; with --strict this is an error. */
bool rules_count(struct rule_report *report, const struct options *options,
                 const struct heft_checkpoint *c, struct heft_error *err);
/* The same in two steps, for a verb that counts the matches itself: allocates `uses`, all zero; and
 * after they are counted, reports rules without effect. */
bool rules_begin(struct rule_report *report, const struct options *options, struct heft_error *err);
bool rules_note_idle(const struct rule_report *report, struct heft_error *err);
/* Prints one line per rule; nothing if there are no rules. */
void rules_text(struct out *out, const struct rule_report *report);
/* Writes "rules":[{"option","pattern","matches"}] into the open object; nothing if there are no
 * rules. */
void rules_json(struct out *out, const struct rule_report *report);
void rules_release(struct rule_report *report);

#endif
