/* info_vocabulary.h: info of a vocabulary. */
#ifndef INFO_VOCABULARY_H
#define INFO_VOCABULARY_H

#include "main/options.h"
#include "output/output.h"

/* Prints the vocabulary at `path`; false if there is none. */
bool info_vocabulary(const struct options *options, struct out *out, const char *path);

#endif
