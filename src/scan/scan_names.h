/* scan_names.h: how names that a pickle imports are judged. */
#ifndef HEFT_SCAN_NAMES_H
#define HEFT_SCAN_NAMES_H

#include "base/base.h"
#include "heft/heft.h"

/* What an import of that pair could do: ALLOWED is what torch.load(weights_only=True) of torch 2.13
 * lets pass, and what builds data only; DANGER what reaches the system, other code or other files, UNKNOWN all else. */
enum heft_danger heft_scan_danger(struct heft_str module, struct heft_str name);

/* The same of a path that a program resolves step by step ("torch.nn.os.system"): DANGER or UNKNOWN. */
enum heft_danger heft_scan_path_danger(struct heft_str path);

/* scan_data.c: names beyond those, whose import and call can do nothing but build data. */
bool heft_scan_builds_data(struct heft_str module, struct heft_str name);

#endif
