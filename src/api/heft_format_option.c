/* heft_format_option.c: the public functions for options of formats. */
#include "base/require_arg.h"
#include "base/sized.h"
#include "core/format_options.h"
#include "format/formats.h"

bool heft_format_option_at(const char *format, size_t index, struct heft_format_option *out)
{
    const struct heft_format *const f =
        format && out ? heft_registry_named(&heft_formats, format) : NULL;

    if (!f || index >= heft_format_option_count(f))
        return false;
    HEFT_FILL(heft_format_option, out, &f->options[index]);
    return true;
}

/* Entry of the format's table, for writing or for reading; NULL: none. */
static const struct heft_format_option *find_entry(const struct heft_format *f, const char *name)
{
    const struct heft_format_option *const writes =
        heft_format_option_named(f, HEFT_OPTION_WRITES, name);

    return writes ? writes : heft_format_option_named(f, HEFT_OPTION_READS, name);
}

/* HEFT_USAGE: another format has the option, or none. Always returns false. */
static bool refuse_name(const struct heft_format *f, const char *name, struct heft_error *err)
{
    const enum heft_option_use use = heft_format_writes(f) ? HEFT_OPTION_WRITES : HEFT_OPTION_READS;

    for (int i = HEFT_OPTION_WRITES; i <= HEFT_OPTION_READS; i++)
        if (heft_format_option_any(&heft_formats, (enum heft_option_use)i, name))
            return heft_format_option_refuse_foreign(&heft_formats, f->name,
                                                     (enum heft_option_use)i, name, err);
    return heft_format_option_refuse(f, use, name, err);
}

bool heft_format_option_check(const char *format, const struct heft_option *option,
                              struct heft_error *err)
{
    struct heft_option_value value;

    if (!heft_require_arg(format, "the name of a format", err) ||
        !heft_require_arg(option && option->name, "an option", err))
        return false;
    const struct heft_format *const f = heft_registry_named(&heft_formats, format);

    if (!f)
        return heft_registry_refuse_writer(&heft_formats, format, err);
    const struct heft_format_option *const entry = find_entry(f, option->name);

    return entry ? heft_format_option_parse(entry, option->value, &value, err)
                 : refuse_name(f, option->name, err);
}
