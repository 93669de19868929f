/* locate.h: finds the files of an input: the input itself, or the files of a directory. */
#ifndef HEFT_LOCATE_H
#define HEFT_LOCATE_H

#include "core/registry.h"

struct heft_located {
    const char *const *paths; /* files to open, in order; several if a numbered set has no index */
    size_t n;
    /* note for the user: which files of a directory were chosen; NULL: no choice */
    const char *note;
    bool is_numbered;   /* as in struct heft_file_set */
    const char *format; /* name of the format that reads them; NULL: that of their content */
};
/* Finds the files of an input; their paths are in `mem`, or `given` itself. False if there are
 * none, or several possibilities. An option of reading may select one of the checkpoints of a
 * directory (heft_locator.selector). */
HEFT_CHECKED bool heft_locate(const struct heft_formats *formats, const struct heft_files *files,
                              const char *given, const struct heft_given_options *options,
                              struct heft_arena *mem, struct heft_located *out,
                              struct heft_error *err);
/* Locator whose selector was given; NULL: none. */
const struct heft_locator *heft_locate_selector(const struct heft_formats *formats,
                                                const struct heft_given_options *options);

#endif
