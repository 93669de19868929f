/* heft_format_option.c: the public functions for options of formats. */
#include "base/require_arg.h"
#include "core/format_options.h"
#include "format/formats.h"

bool heft_format_option_at(const char *format, size_t index, struct heft_format_option *out)
{
    const struct heft_format *const f =
        format && out ? heft_registry_named(&heft_formats, format) : NULL;

    if (!f || index >= heft_format_option_count(f))
        return false;
    *out = f->options[index];
    return true;
}

bool heft_format_option_check(const char *format, const struct heft_option *option,
                              struct heft_error *err)
{
    struct heft_option_value value;

    if (!heft_require_arg(format, "the name of a format", err) ||
        !heft_require_arg(option && option->name, "an option", err))
        return false;
    const struct heft_format *const f = heft_registry_named(&heft_formats, format);

    if (!f || !heft_format_writes(f))
        return heft_registry_refuse_writer(&heft_formats, format, err);
    const size_t at = heft_format_option_index(f, option->name);

    if (at < heft_format_option_count(f))
        return heft_format_option_parse(&f->options[at], option->value, &value, err);
    return heft_format_option_any(&heft_formats, option->name)
               ? heft_format_option_refuse_foreign(&heft_formats, f, option->name, err)
               : heft_format_option_refuse(f, option->name, err);
}
