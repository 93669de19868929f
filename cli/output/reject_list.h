/* reject_list.h: checks the path given to --rejects. */
#ifndef CLI_REJECT_LIST_H
#define CLI_REJECT_LIST_H

#include "main/options.h"

#include <heft/tokens.h>

/* Call it before the run: false with HEFT_USAGE if the list would replace an input or an output
 * file. True if --rejects was not given. */
bool reject_list_check(const struct options *options, const struct heft_encoding *e,
                       struct heft_error *err);

#endif
