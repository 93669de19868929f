/* scan_names.h: classification of the names that a pickle imports. */
#ifndef HEFT_SCAN_NAMES_H
#define HEFT_SCAN_NAMES_H

#include "base/base.h"
#include "heft/heft.h"

/* Danger of importing a name. ALLOWED: names that torch.load(weights_only=True) of torch 2.13
 * accepts, and names that only build data. DANGER: names that give access to the system, other
 * code or other files. UNKNOWN: all others. */
enum heft_danger heft_scan_danger(struct heft_str module, struct heft_str name);

/* Danger of a path that a program resolves step by step ("torch.nn.os.system"): DANGER or
 * UNKNOWN. */
enum heft_danger heft_scan_path_danger(struct heft_str path);

/* scan_data.c: true for names whose import and call can only build data. */
bool heft_scan_builds_data(struct heft_str module, struct heft_str name);

#endif
