/* vocabulary.h: the vocabulary that the options of a verb name. */
#ifndef HEFT_CLI_VOCABULARY_H
#define HEFT_CLI_VOCABULARY_H

#include "main/options.h"

#include <heft/tokens.h>

/* --vocab, --model_name or GPT-2's own, with --pattern and --eot-token; notes what looks wrong or is not
 * followed when texts are encoded or (of_ids) ids decoded. NULL on failure. */
struct heft_vocab *vocabulary_open(const struct options *options, bool of_ids,
                                   struct heft_error *err);

#endif
