/* module_lines.h: prints the tree of modules, for people and as JSON. */
#ifndef CLI_MODULE_LINES_H
#define CLI_MODULE_LINES_H

#include "output/output.h"

#include <heft/heft.h>

struct module_view {
    const struct heft_checkpoint *c;
    const struct heft_modules *modules;
    uint64_t depth; /* most components of a name that are shown */
};

/* Prints one line per module and tensor, and the totals. */
void print_modules(struct out *out, const struct module_view *view);
/* Writes the members of the root into the open object. */
void json_modules(struct out *out, const struct module_view *view);

/* Number of components of a name: one more than separators. */
uint64_t module_parts(const struct heft_module *m);
/* Length of the first n components. */
size_t module_prefix(const char *name, size_t len, char separator, uint64_t n);

#endif
