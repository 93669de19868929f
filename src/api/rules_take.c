/* rules_take.c: rules of a caller, checked and copied to complete structs. */
#include "api/rules_take.h"

#include "base/mem.h"
#include "base/require_arg.h"
#include "base/sized.h"

/* Kinds whose rules have two texts. */
static bool has_right(enum heft_rule_kind kind)
{
    return kind == HEFT_RULE_RENAME || kind == HEFT_RULE_CAST || kind == HEFT_RULE_METADATA ||
           kind == HEFT_RULE_PARTITION || kind == HEFT_RULE_SET;
}

static bool check_rule(const struct heft_rule *rule, struct heft_error *err)
{
    if ((unsigned)rule->kind > HEFT_RULE_SET)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "there is no rule kind %u",
                         (unsigned)rule->kind);
    if (rule->kind == HEFT_RULE_FILE && rule->right && strcmp(rule->right, "reverse") != 0)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "rules file with '%.40s': expected reverse, or nothing", rule->right);
    return heft_require_arg(rule->left && (rule->right || !has_right(rule->kind)),
                            "a text of a rule", err);
}

struct heft_rule *heft_rules_take(const struct heft_rule *rules, size_t n, struct heft_error *err)
{
    struct heft_rule *const own = heft_require_arg(rules || n == 0, "a list of rules", err)
                                      ? HEFT_TAKE_ARRAY(heft_rule, rules, n, err)
                                      : NULL;

    for (size_t i = 0; own && i < n; i++)
        if (!check_rule(&own[i], err)) {
            heft_free(own);
            return NULL;
        }
    return own;
}
