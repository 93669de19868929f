/* suggest.h: suggestions for options that a verb does not have. */
#ifndef CLI_SUGGEST_H
#define CLI_SUGGEST_H

#include "main/options.h"

/* Replacement for an option that the verb does not have. At most one member is set. */
struct suggestion {
    const char *option;  /* option of the verb, without dashes */
    const char *instead; /* option that has the wanted effect, such as "--cast '*=F16'" */
    const char *verb;    /* another verb that has this option */
};
struct suggestion suggest_option(const struct verb *verb, const char *name, size_t n);

#endif
