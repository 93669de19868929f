/* input_limits.h: the limits of an input (struct heft_limits), with defaults for those that the
 * caller does not set. */
#ifndef HEFT_INPUT_LIMITS_H
#define HEFT_INPUT_LIMITS_H

#include "heft/heft.h"

/* The caller's limits (NULL: none) with defaults for those that are 0. */
struct heft_limits heft_limits_complete(const struct heft_limits *limits);

/* Limits that grow with the size of the files: tensors, values of a pickle, records of a zip. */
uint64_t heft_limit_tensors(const struct heft_limits *limits, uint64_t file_bytes);
uint64_t heft_limit_nodes(const struct heft_limits *limits, uint64_t file_bytes);
uint64_t heft_limit_entries(const struct heft_limits *limits, uint64_t file_bytes);

/* Bytes of memory for everything that is read from an input, a sum over the limits. */
uint64_t heft_limit_memory(const struct heft_limits *limits, uint64_t file_bytes);

#endif
