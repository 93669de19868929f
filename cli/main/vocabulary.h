/* vocabulary.h: opens the vocabulary that the options select. */
#ifndef HEFT_CLI_VOCABULARY_H
#define HEFT_CLI_VOCABULARY_H

#include "main/options.h"

#include <heft/tokens.h>

/* Opens the vocabulary of --vocab or --model_name, by default the built-in one of GPT-2, with
 * --pattern and --eot-token. Prints notes on what looks wrong or is ignored, for decoding if
 * of_ids, else for encoding. NULL on failure. */
struct heft_vocab *vocabulary_open(const struct options *options, bool of_ids,
                                   struct heft_error *err);

#endif
