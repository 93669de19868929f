/* scan_report.h: output of scan: dangers at once, then unknown and allowed items, files that were
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
    struct held_item *items; /* text: unknown and allowed items, until the end */
    struct held_file *files; /* for JSON all files, for text those that were not judged */
    size_t n_items, cap_items, n_files, cap_files;
    size_t held_bytes;  /* bytes of the texts in items */
    uint64_t counts[3]; /* number of items, indexed by enum heft_danger */
    uint64_t all_files, not_judged;
    bool broken;    /* scanning stopped early somewhere, or failed to start */
    bool no_memory; /* the report is incomplete */
};

void scan_report_begin(struct scan_report *r, const struct options *options, struct out *out);
/* `danger` is the item's class after --allow. */
void scan_report_item(struct scan_report *r, const struct heft_scan_item *item,
                      enum heft_danger danger);
void scan_report_file(struct scan_report *r, const struct heft_scan_result *result,
                      enum heft_danger worst);
/* Prints the held items and the verdict; releases everything. */
void scan_report_end(struct scan_report *r);

#endif
