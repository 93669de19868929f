/* format_options.h: options of one format, such as the layout of its records: described by the
 * format's table (struct heft_format_option), given by name, and validated once, before any writer
 * runs. */
#ifndef HEFT_FORMAT_OPTIONS_H
#define HEFT_FORMAT_OPTIONS_H

#include "core/registry.h"

/* An option as it was given. All zero: not given. */
struct heft_option_value {
    bool is_given;
    uint64_t number;  /* value of a HEFT_OPTION_NUMBER, within its range; 0 if not given */
    const char *text; /* value of a HEFT_OPTION_TEXT, owned by the caller; NULL if not given */
};

/* Number of entries in the format's table. */
size_t heft_format_option_count(const struct heft_format *format);
/* Index of the option in the format's table; the number of entries if the format does not have it. */
size_t heft_format_option_index(const struct heft_format *format, const char *name);
/* Parses and validates one value. HEFT_USAGE. */
HEFT_CHECKED bool heft_format_option_parse(const struct heft_format_option *option,
                                           const char *value, struct heft_option_value *out,
                                           struct heft_error *err);
/* The target that the given options imply, as weights for a SavedModel imply a bundle; NULL: none. */
const struct heft_format *heft_format_options_imply(const struct heft_formats *formats,
                                                    const struct heft_option *given, size_t n);
/* HEFT_USAGE, always false: no format has the option; the text lists those of `format`. */
bool heft_format_option_refuse(const struct heft_format *format, const char *name,
                               struct heft_error *err);
/* HEFT_USAGE, always false: `format` lacks an option that another format has. */
bool heft_format_option_refuse_foreign(const struct heft_formats *formats,
                                       const struct heft_format *format, const char *name,
                                       struct heft_error *err);
/* The option of that name in the first format that has it; NULL: none does. */
const struct heft_format_option *heft_format_option_any(const struct heft_formats *formats,
                                                        const char *name);

#endif
