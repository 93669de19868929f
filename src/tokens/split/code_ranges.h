/* code_ranges.h: sets of code points as ranges, ascending and not adjacent. Union, intersection and
 * complement are linear in the number of ranges. */
#ifndef HEFT_CODE_RANGES_H
#define HEFT_CODE_RANGES_H

#include "base/mem.h"
#include "tokens/unicode/categories.h"

#define HEFT_CODE_LAST UINT32_C(0x10FFFF)

/* A zeroed set is valid and empty. */
struct heft_code_ranges {
    struct heft_code_range *items;
    size_t n, cap;
};

HEFT_CHECKED bool heft_code_ranges_add(struct heft_code_ranges *set, uint32_t first, uint32_t last,
                                       struct heft_error *err);
HEFT_CHECKED bool heft_code_ranges_unite(struct heft_code_ranges *set,
                                         const struct heft_code_ranges *other,
                                         struct heft_error *err);
HEFT_CHECKED bool heft_code_ranges_intersect(struct heft_code_ranges *set,
                                             const struct heft_code_ranges *other,
                                             struct heft_error *err);
/* Complement in 0 … U+10FFFF. */
HEFT_CHECKED bool heft_code_ranges_negate(struct heft_code_ranges *set, struct heft_error *err);
/* Adds the characters whose general category has its bit (1 << enum heft_category) in the mask. */
HEFT_CHECKED bool heft_code_ranges_add_categories(struct heft_code_ranges *set, uint32_t categories,
                                                  enum heft_unicode unicode,
                                                  struct heft_error *err);
HEFT_CHECKED bool heft_code_ranges_add_han(struct heft_code_ranges *set, enum heft_unicode unicode,
                                           struct heft_error *err);
/* Adds White_Space, 25 characters. */
HEFT_CHECKED bool heft_code_ranges_add_spaces(struct heft_code_ranges *set, struct heft_error *err);
bool heft_code_ranges_hold(const struct heft_code_ranges *set, uint32_t c);
bool heft_code_ranges_equal(const struct heft_code_ranges *a, const struct heft_code_ranges *b);
void heft_code_ranges_release(struct heft_code_ranges *set);

#endif
