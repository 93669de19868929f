/* format_options.h: options that only some formats have, such as the layout of records: described by the
 * format's table (struct heft_format_option), given by name, and validated once, before any reader
 * (given_options.h) or writer runs. */
#ifndef HEFT_FORMAT_OPTIONS_H
#define HEFT_FORMAT_OPTIONS_H

#include "core/given_options.h"
#include "core/registry.h"

/* Number of entries in the format's table. */
size_t heft_format_option_count(const struct heft_format *format);
/* Entry of the format's table; NULL if the format does not have the option. */
const struct heft_format_option *heft_format_option_named(const struct heft_format *format,
                                                          enum heft_option_use use,
                                                          const char *name);
/* Parses and validates one value. HEFT_USAGE. */
HEFT_CHECKED bool heft_format_option_parse(const struct heft_format_option *option,
                                           const char *value, struct heft_option_value *out,
                                           struct heft_error *err);
/* The target that the given options imply, as weights for a SavedModel imply a bundle: the format of
 * the output's extension if that has such an option, else the last one that has. NULL: none. */
const struct heft_format *heft_format_options_imply(const struct heft_formats *formats,
                                                    const char *output,
                                                    const struct heft_option *given, size_t n);
/* HEFT_USAGE, always false: no format has the option; the text lists those of `format`. */
bool heft_format_option_refuse(const struct heft_format *format, enum heft_option_use use,
                               const char *name, struct heft_error *err);
/* HEFT_USAGE, always false: the format named `format` lacks an option that another format has. */
bool heft_format_option_refuse_foreign(const struct heft_formats *formats, const char *format,
                                       enum heft_option_use use, const char *name,
                                       struct heft_error *err);
/* The first format that has the option, and its entry; NULL: none does. */
const struct heft_format *heft_format_option_owner(const struct heft_formats *formats,
                                                   enum heft_option_use use, const char *name);
const struct heft_format_option *heft_format_option_any(const struct heft_formats *formats,
                                                        enum heft_option_use use, const char *name);

#endif
