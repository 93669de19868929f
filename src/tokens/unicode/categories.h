/* categories.h: general category of every character, and the script Han, in the versions of Unicode
 * that split patterns know: runs of characters of one category in Unicode 16.0, and what 17.0
 * changes. White space is the same 25 characters in both. */
#ifndef HEFT_CATEGORIES_H
#define HEFT_CATEGORIES_H

#include "base/base.h"

enum heft_unicode { HEFT_UNICODE_16, HEFT_UNICODE_17 };

/* Cn: unassigned. */
enum heft_category {
    HEFT_CATEGORY_CN,
    HEFT_CATEGORY_CC,
    HEFT_CATEGORY_CF,
    HEFT_CATEGORY_CO,
    HEFT_CATEGORY_CS,
    HEFT_CATEGORY_LL,
    HEFT_CATEGORY_LM,
    HEFT_CATEGORY_LO,
    HEFT_CATEGORY_LT,
    HEFT_CATEGORY_LU,
    HEFT_CATEGORY_MC,
    HEFT_CATEGORY_ME,
    HEFT_CATEGORY_MN,
    HEFT_CATEGORY_ND,
    HEFT_CATEGORY_NL,
    HEFT_CATEGORY_NO,
    HEFT_CATEGORY_PC,
    HEFT_CATEGORY_PD,
    HEFT_CATEGORY_PE,
    HEFT_CATEGORY_PF,
    HEFT_CATEGORY_PI,
    HEFT_CATEGORY_PO,
    HEFT_CATEGORY_PS,
    HEFT_CATEGORY_SC,
    HEFT_CATEGORY_SK,
    HEFT_CATEGORY_SM,
    HEFT_CATEGORY_SO,
    HEFT_CATEGORY_ZL,
    HEFT_CATEGORY_ZP,
    HEFT_CATEGORY_ZS,
    HEFT_CATEGORY_PAIRS /* of a run: Lu and Ll in turn, Lu first */
};

struct heft_code_range {
    uint32_t first, last;
};
struct heft_category_change {
    struct heft_code_range range;
    enum heft_category category;
};
struct heft_han_range {
    struct heft_code_range range;
    enum heft_unicode since;
};

#define HEFT_CATEGORY_RUNS    3127
#define HEFT_CATEGORY_CHANGES 68
#define HEFT_HAN_RANGES       26
/* category_ranges.c, written by scripts/unicode-categories */
/* 16.0: first character << 5 | category; a run ends where the next one begins. */
extern const uint32_t heft_category_runs[HEFT_CATEGORY_RUNS];
extern const struct heft_category_change heft_category_changes[HEFT_CATEGORY_CHANGES]; /* in 17.0 */
extern const struct heft_han_range heft_han_ranges[HEFT_HAN_RANGES]; /* ascending */

#endif
