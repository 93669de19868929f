/* rules.c: counts how many names each rule matches, and reports rules without a match. */
#include "main/rules.h"
#include "main/object_names.h"
#include "output/report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *option_of(const struct heft_rule *rule)
{
    static const char *const names[] = {
        [HEFT_RULE_GLOB] = "-g",
        [HEFT_RULE_REGEX] = "-e",
        [HEFT_RULE_RENAME] = "--rename",
        [HEFT_RULE_CAST] = "--cast",
        [HEFT_RULE_METADATA] = NULL,
        [HEFT_RULE_PARTITION] = "--partition",
        [HEFT_RULE_KEEP_TIED] = "--keep-tied",
        [HEFT_RULE_DROP_METADATA] = "--drop-metadata",
        [HEFT_RULE_FILE] = NULL, /* the library notes those without effect */
        [HEFT_RULE_SET] = NULL,
    };

    return rule->kind < sizeof names / sizeof *names ? names[rule->kind] : NULL;
}

/* Reason why a rule had no effect; NULL if it had one. */
static const char *idle_reason(const struct rule_report *report, size_t i)
{
    const struct heft_rule_use *const use = &report->uses[i];

    if (use->matches == 0 && use->values)
        return "matches only values, no tensor";
    if (use->matches == 0 && report->objects && report->objects[i].matches)
        return "matches no key, but names of objects: --names objects takes those";
    if (use->matches == 0 && report->is_numbered)
        return "matches no name; variables have numbers here, and names with --names objects";
    if (use->matches == 0)
        return "matches no name";
    if (use->left_alone == use->matches)
        return "casts nothing: a glob with wildcards casts only floats to a float, and only those "
               "of 2 "
               "dimensions or more to a block type; give the exact names to cast others";
    return NULL;
}

static bool note_idle_options(const struct options *options, const struct heft_rule *rule,
                              const struct heft_rule_use *use, const char *why,
                              struct heft_error *err)
{
    if (options->strict && use->values == 0)
        return usage_error(err, "%s '%.200s' %s", option_of(rule), rule->left, why);
    report_note(options, "%s '%.200s' %s", option_of(rule), rule->left, why);
    return true;
}

static struct heft_rule_use *new_uses(size_t n)
{
    struct heft_rule_use *const uses = calloc(n, sizeof *uses);

    for (size_t i = 0; uses && i < n; i++)
        uses[i].size = sizeof *uses;
    return uses;
}

bool rules_begin(struct rule_report *report, const struct options *options, struct heft_error *err)
{
    *report = (struct rule_report){.options = options};
    if (options->n_rules == 0)
        return true;
    report->uses = new_uses(options->n_rules);
    return report->uses || no_memory(err, "the rules");
}

/* Counts the matches among names of objects, if a rule has no match. */
static void count_objects(struct rule_report *report, const struct heft_checkpoint *c)
{
    const struct options *const o = report->options;
    struct heft_checkpoint *objects;
    struct heft_error ignored = {0};
    bool is_idle = false;

    for (size_t i = 0; i < o->n_rules; i++)
        is_idle = is_idle || (report->uses[i].matches == 0 && report->uses[i].values == 0);
    report->is_numbered = is_idle && numbers_variables(o, c);
    objects = is_idle && !report->is_numbered ? open_by_objects(o, 0, c) : NULL;
    report->objects = objects ? new_uses(o->n_rules) : NULL;
    if (report->objects &&
        !heft_rule_matches(objects, o->root, o->rules, o->n_rules, report->objects, &ignored)) {
        free(report->objects);
        report->objects = NULL;
    }
    heft_close(objects);
}

bool rules_note_idle(const struct rule_report *report, struct heft_error *err)
{
    const struct options *const options = report->options;

    for (size_t i = 0; i < options->n_rules; i++) {
        const char *const why = idle_reason(report, i);

        if (why && option_of(&options->rules[i]) &&
            !note_idle_options(options, &options->rules[i], &report->uses[i], why, err))
            return false;
    }
    return true;
}

bool rules_count(struct rule_report *report, const struct options *options,
                 const struct heft_checkpoint *c, struct heft_error *err)
{
    if (!rules_begin(report, options, err))
        return false;
    if (options->n_rules == 0)
        return true;
    if (!heft_rule_matches(c, options->root, options->rules, options->n_rules, report->uses, err))
        return false;
    count_objects(report, c);
    return rules_note_idle(report, err);
}

void rules_text(struct out *out, const struct rule_report *report)
{
    for (size_t i = 0; i < report->options->n_rules; i++) {
        const struct heft_rule *const rule = &report->options->rules[i];

        if (!option_of(rule))
            continue;
        out_text(out, option_of(rule));
        out_text(out, " '");
        (void)out_name(out, rule->left, strlen(rule->left));
        out_text(out, "' matches ");
        out_u64(out, report->uses[i].matches);
        out_text(out, report->uses[i].matches == 1 ? " name\n" : " names\n");
    }
}

void rules_json(struct out *out, const struct rule_report *report)
{
    if (report->options->n_rules == 0)
        return;
    json_key(out, "rules");
    json_open(out, '[');
    for (size_t i = 0; i < report->options->n_rules; i++) {
        const struct heft_rule *const rule = &report->options->rules[i];

        if (!option_of(rule))
            continue;
        json_open(out, '{');
        json_member_text(out, "option", option_of(rule));
        json_member_text(out, "pattern", rule->left);
        json_member_u64(out, "matches", report->uses[i].matches);
        if (rule->kind == HEFT_RULE_CAST)
            json_member_u64(out, "left_alone", report->uses[i].left_alone);
        json_close(out, '}');
    }
    json_close(out, ']');
}

void rules_release(struct rule_report *report)
{
    free(report->uses);
    free(report->objects);
    report->uses = report->objects = NULL;
}
