/* reject_list.h: what --rejects may not name. */
#ifndef CLI_REJECT_LIST_H
#define CLI_REJECT_LIST_H

#include "main/options.h"

#include <heft/tokens.h>

/* Before the run: false with HEFT_USAGE where the list would replace an input or a file of the output.
 * True without --rejects. */
bool reject_list_check(const struct options *options, const struct heft_encoding *e,
                       struct heft_error *err);

#endif
