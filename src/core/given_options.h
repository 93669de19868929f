/* given_options.h: options of formats for reading, as given for one checkpoint. They are validated once,
 * before any reader runs. Readers look them up by name, because several formats may have the same
 * option, and one checkpoint may consist of files of several formats. */
#ifndef HEFT_GIVEN_OPTIONS_H
#define HEFT_GIVEN_OPTIONS_H

#include "base/mem.h"
#include "heft/heft.h"

struct heft_formats;
struct heft_model;

/* An option as it was given. All zero: not given. */
struct heft_option_value {
    bool is_given;
    uint64_t number;  /* value of a HEFT_OPTION_NUMBER, within its range; 0 if not given */
    const char *text; /* value of a HEFT_OPTION_TEXT; NULL if not given */
};

struct heft_given_option {
    const struct heft_format_option *option; /* of the first format that has it */
    struct heft_option_value value;          /* its text is a copy in the arena */
};
/* Zeroed: none was given. */
struct heft_given_options {
    const struct heft_given_option *list; /* names are unique */
    size_t n;
};

/* Validates n given options and copies them to `mem`. HEFT_USAGE for an option that no format has, and
 * for a value that is not allowed. */
HEFT_CHECKED bool heft_given_options_take(struct heft_given_options *out,
                                          const struct heft_formats *formats,
                                          const struct heft_option *given, size_t n,
                                          struct heft_arena *mem, struct heft_error *err);
/* Value of an option; zeroed if it was not given. */
struct heft_option_value heft_given_options_get(const struct heft_given_options *options,
                                                const char *name);
/* Whether the value of an option of HEFT_OPTION_TEXT was given and is `text`. */
bool heft_given_options_say(const struct heft_given_options *options, const char *name,
                            const char *text);

/* Whether the option was given when the model was opened, and a file's format has it. */
bool heft_model_uses_option(const struct heft_model *model, const char *name);
/* Given option `index` of those that no file's format has; NULL past the end. */
const struct heft_format_option *heft_model_idle_option(const struct heft_model *model,
                                                        size_t index);
/* Called after all inputs are opened. HEFT_USAGE if an idle option is HEFT_ELSEWHERE_REFUSED. */
HEFT_CHECKED bool heft_model_refuse_idle(const struct heft_model *model, struct heft_error *err);

#endif
