/* heft.h: the public API for checkpoints. heft reads the files in which machine-learning models are
 * saved, without the framework that saved them and without executing anything in a file.
 *
 *     load.h      opens, lists, reads, maps and converts checkpoints: begin here
 *     inspect.h   looks at files: meaning of bytes, verification, scan, traces, statistics, differences
 *     objects.h   the object graph of a torch file
 *     host.h      what the program provides: allocator, modules
 *     types.h     errors, dtypes, values, and the rules for structs
 *
 * tokens.h (text to tokens), confine.h (giving up rights) and job.h (conversions in parts) are included on
 * their own. */
#ifndef HEFT_HEFT_H
#define HEFT_HEFT_H

#include "host.h"
#include "inspect.h"
#include "load.h"
#include "objects.h"
#include "output_file.h"
#include "split.h"

#endif
