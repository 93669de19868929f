/* rules_take.h: rules of a caller, whose structs may have another size, checked and copied. */
#ifndef HEFT_RULES_TAKE_H
#define HEFT_RULES_TAKE_H

#include "base/base.h"
#include "heft/load.h"

/* A copy of n rules, for heft_free; their texts remain the caller's. NULL on failure: HEFT_USAGE for
 * an unknown kind or a text that is missing. */
HEFT_CHECKED struct heft_rule *heft_rules_take(const struct heft_rule *rules, size_t n,
                                               struct heft_error *err);

#endif
