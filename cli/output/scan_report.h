/* scan_report.h: what scan prints: dangers at once, then what is unknown, what is allowed, what was
 * not judged, and the verdict. */
#ifndef CLI_SCAN_REPORT_H
#define CLI_SCAN_REPORT_H

#include "main/options.h"
#include "output/output.h"

struct held_item;
struct held_file;

struct scan_report {
    struct out *out;
    bool json, hide_allowed;
    struct held_item *items; /* text: unknown and allowed ones, until the end */
    struct held_file *files; /* JSON: all; text: those that were not judged */
    size_t n_items, cap_items, n_files, cap_files;
    size_t held_bytes;  /* of texts in items */
    uint64_t counts[3]; /* items by enum heft_danger */
    uint64_t all_files, not_judged;
    bool broken;    /* judging broke off somewhere, or could not begin */
    bool no_memory; /* something is missing from the report */
};

void scan_report_begin(struct scan_report *r, const struct options *options, struct out *out);
/* danger: of the item, as the user's options have it. */
void scan_report_item(struct scan_report *r, const struct heft_scan_item *item,
                      enum heft_danger danger);
void scan_report_file(struct scan_report *r, const struct heft_scan_result *result,
                      enum heft_danger worst);
/* Prints what is held, and the verdict; releases it all. */
void scan_report_end(struct scan_report *r);

#endif
