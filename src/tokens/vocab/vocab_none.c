/* vocab_none.c: for builds without a compiled-in vocabulary. */
#include "tokens/vocab/vocab_open.h"

const uint32_t heft_builtin_count = 0;
const uint16_t heft_builtin_merges[][2] = {{0, 0}};
const uint8_t heft_builtin_bytes[] = {0}, heft_builtin_lengths[] = {0};
