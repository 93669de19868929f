/* format_options.c: options that formats describe in their tables: lookup and validation.
 *
 * Lookups are linear: all formats together have about ten options. */
#include "core/format_options.h"

#include <stdio.h>

#include "base/text.h"
#include "core/convert.h"

/* ---- finding an option ------------------------------------------------------------------- */

size_t heft_format_option_count(const struct heft_format *format)
{
    size_t n = 0;

    while (format->options && format->options[n].name)
        n++;
    return n;
}

const struct heft_format_option *heft_format_option_named(const struct heft_format *format,
                                                          enum heft_option_use use,
                                                          const char *name)
{
    for (const struct heft_format_option *o = format->options; o && o->name; o++)
        if (o->use == use && strcmp(o->name, name) == 0)
            return o;
    return NULL;
}

const struct heft_format *heft_format_option_owner(const struct heft_formats *formats,
                                                   enum heft_option_use use, const char *name)
{
    for (size_t i = 0; i < formats->n; i++)
        if (heft_format_option_named(formats->list[i], use, name))
            return formats->list[i];
    return NULL;
}

const struct heft_format_option *heft_format_option_any(const struct heft_formats *formats,
                                                        enum heft_option_use use, const char *name)
{
    const struct heft_format *const owner = heft_format_option_owner(formats, use, name);

    return owner ? heft_format_option_named(owner, use, name) : NULL;
}

static bool implies(const struct heft_format *format, const char *name)
{
    const struct heft_format_option *const option =
        heft_format_option_named(format, HEFT_OPTION_WRITES, name);

    return option && option->implies_format;
}

const struct heft_format *heft_format_options_imply(const struct heft_formats *formats,
                                                    const char *output,
                                                    const struct heft_option *given, size_t n)
{
    const struct heft_format *const named = heft_registry_by_extension(formats, output);

    for (size_t i = 0; i < n; i++) {
        const char *const name = given[i].name ? given[i].name : "";

        if (named && implies(named, name))
            return named;
        for (size_t k = formats->n; k > 0; k--)
            if (implies(formats->list[k - 1], name))
                return formats->list[k - 1];
    }
    return NULL;
}

/* ---- parsing values ---------------------------------------------------------------------- */

/* Whether the value is one of "a|b|c". */
static bool is_choice(const char *choices, const char *value)
{
    const size_t n = strlen(value);

    for (const char *p = choices; n && p; p = strchr(p, '|')) {
        p += *p == '|';
        if (strncmp(p, value, n) == 0 && (p[n] == '|' || p[n] == '\0'))
            return true;
    }
    return false;
}

static bool parse_number(const struct heft_format_option *option, const char *value, uint64_t *out,
                         struct heft_error *err)
{
    struct heft_error why = {0};

    if (!heft_parse_number(heft_str_of(value), out, &why))
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "option %s: %s", option->name, why.text);
    return (*out >= option->least && *out <= option->most) ||
           heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                     "option %s %s: a number from %" PRIu64 " to %" PRIu64 " is allowed",
                     option->name, value, option->least, option->most);
}

bool heft_format_option_parse(const struct heft_format_option *option, const char *value,
                              struct heft_option_value *out, struct heft_error *err)
{
    *out = (struct heft_option_value){.is_given = true, .text = value};
    if (option->kind == HEFT_OPTION_FLAG && value)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "option %s takes no value", option->name);
    if (option->kind != HEFT_OPTION_FLAG && !value)
        return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "option %s wants a value: %s",
                         option->name, option->choices ? option->choices : option->value);
    if (option->kind == HEFT_OPTION_NUMBER)
        return parse_number(option, value, &out->number, err);
    return !option->choices || is_choice(option->choices, value) ||
           heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "option %s %s: allowed is %s", option->name,
                     value, option->choices);
}

/* ---- errors ------------------------------------------------------------------------------ */

bool heft_format_option_refuse(const struct heft_format *format, enum heft_option_use use,
                               const char *name, struct heft_error *err)
{
    const size_t n = heft_format_option_count(format);
    char list[200] = "none";
    size_t used = 0;

    for (size_t i = 0; i < n && used < sizeof list; i++)
        if (format->options[i].use == use)
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "",
                                     format->options[i].name);
    return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                     "no format has an option \"%s\" for %s; %s takes %s", name,
                     use == HEFT_OPTION_READS ? "reading" : "writing", format->name, list);
}

bool heft_format_option_refuse_foreign(const struct heft_formats *formats, const char *format,
                                       enum heft_option_use use, const char *name,
                                       struct heft_error *err)
{
    return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "option %s: %s does not take it, but %s does",
                     name, format, heft_format_option_owner(formats, use, name)->name);
}

/* ---- the options of a conversion ----------------------------------------------------------- */

/* Handles an option that only other formats have: ignored with a note, or refused, as its table
 * says. */
static bool pass_over(struct heft_conversion *c, const char *name, bool strict,
                      struct heft_error *err)
{
    const struct heft_formats *const formats = c->model->formats;
    const struct heft_format_option *const option =
        heft_format_option_any(formats, HEFT_OPTION_WRITES, name);
    struct heft_error why = {0};

    if (!option)
        return heft_format_option_refuse(c->format, HEFT_OPTION_WRITES, name, err);
    if (option->elsewhere == HEFT_ELSEWHERE_UNLESS_READ && heft_model_uses_option(c->model, name))
        return true;
    (void)heft_format_option_refuse_foreign(formats, c->format->name, HEFT_OPTION_WRITES, name,
                                            &why);
    if (option->elsewhere == HEFT_ELSEWHERE_REFUSED || strict)
        return heft_fail(err, why.code, why.offset, "%s", why.text);
    return heft_plan_note(&c->plan, heft_arena_printf(&c->mem, err, "%s", why.text), err);
}

bool heft_conversion_take_options(struct heft_conversion *c,
                                  const struct heft_convert_options *options,
                                  struct heft_error *err)
{
    const size_t n = heft_format_option_count(c->format);
    struct heft_option_value *const values = heft_arena_zero(&c->mem, n + 1, sizeof *values, err);

    if (!values)
        return false;
    for (size_t i = 0; i < options->n_format_options; i++) {
        const struct heft_option *const given = &options->format_options[i];
        const struct heft_format_option *const option =
            heft_format_option_named(c->format, HEFT_OPTION_WRITES, given->name);

        if (option ? !heft_format_option_parse(option, given->value,
                                               &values[option - c->format->options], err)
                   : !pass_over(c, given->name, options->strict, err))
            return false;
    }
    c->plan.request.options = values;
    return true;
}
