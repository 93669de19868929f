/* given_options.c: validates the options of formats for reading, looks them up, and finds those without
 * effect. All searches are linear: there are about three such options. */
#include "core/given_options.h"

#include "base/text.h"
#include "core/format_options.h"
#include "core/registry.h"

/* ---- given options ------------------------------------------------------------------------- */

/* HEFT_USAGE: lists the options of reading, each once. Always returns false. */
static bool refuse_unknown(const struct heft_formats *formats, const char *name,
                           struct heft_arena *mem, struct heft_error *err)
{
    struct heft_buf known = {0};
    struct heft_str list;

    for (size_t k = 0; k < formats->n; k++)
        for (const struct heft_format_option *o = formats->list[k]->options; o && o->name; o++)
            if (o->use == HEFT_OPTION_READS &&
                formats->list[k] == heft_format_option_owner(formats, o->use, o->name))
                heft_buf_printf(&known, "%s%s", known.n ? ", " : "", o->name);
    return heft_buf_take(&known, mem, &list, err) &&
           heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                     "no format has an option \"%s\" for reading; there are %.*s", name,
                     (int)list.n, list.p);
}

static bool take_option(struct heft_given_option *out, const struct heft_formats *formats,
                        const struct heft_option *given, struct heft_arena *mem,
                        struct heft_error *err)
{
    out->option = heft_format_option_any(formats, HEFT_OPTION_READS, given->name);
    if (!out->option)
        return refuse_unknown(formats, given->name, mem, err);
    if (!heft_format_option_parse(out->option, given->value, &out->value, err))
        return false;
    if (given->value)
        out->value.text = heft_arena_text(mem, heft_str_of(given->value), err);
    return !given->value || out->value.text;
}

bool heft_given_options_take(struct heft_given_options *out, const struct heft_formats *formats,
                             const struct heft_option *given, size_t n, struct heft_arena *mem,
                             struct heft_error *err)
{
    struct heft_given_option *const list = n ? heft_arena_zero(mem, n, sizeof *list, err) : NULL;

    *out = (struct heft_given_options){.list = list};
    for (size_t i = 0; list && i < n; i++) {
        struct heft_given_option one;
        size_t at = 0;

        if (!take_option(&one, formats, &given[i], mem, err))
            return false;
        while (at < out->n && list[at].option != one.option)
            at++;
        list[at] = one;
        out->n += at == out->n;
    }
    return n == 0 || list;
}

struct heft_option_value heft_given_options_get(const struct heft_given_options *options,
                                                const char *name)
{
    for (size_t i = 0; i < options->n; i++)
        if (strcmp(options->list[i].option->name, name) == 0)
            return options->list[i].value;
    return (struct heft_option_value){0};
}

bool heft_given_options_say(const struct heft_given_options *options, const char *name,
                            const char *text)
{
    const struct heft_option_value value = heft_given_options_get(options, name);

    return value.is_given && strcmp(value.text, text) == 0;
}

/* ---- options without effect ---------------------------------------------------------------- */

/* Whether the format of a file has the option. */
static bool is_known(const struct heft_model *model, const char *name)
{
    for (size_t i = 0; i < model->n_sources; i++)
        if (model->sources[i].format &&
            heft_format_option_named(model->sources[i].format, HEFT_OPTION_READS, name))
            return true;
    return false;
}

bool heft_model_uses_option(const struct heft_model *model, const char *name)
{
    return heft_given_options_get(&model->options, name).is_given && is_known(model, name);
}

const struct heft_format_option *heft_model_idle_option(const struct heft_model *model,
                                                        size_t index)
{
    for (size_t i = 0; i < model->options.n; i++) {
        const struct heft_format_option *const option = model->options.list[i].option;

        if (is_known(model, option->name))
            continue;
        if (index == 0)
            return option;
        index--;
    }
    return NULL;
}

bool heft_model_refuse_idle(const struct heft_model *model, struct heft_error *err)
{
    const struct heft_format_option *option;

    for (size_t i = 0; (option = heft_model_idle_option(model, i)) != NULL; i++)
        if (option->elsewhere == HEFT_ELSEWHERE_REFUSED)
            return heft_format_option_refuse_foreign(model->formats,
                                                     model->format ? model->format : "the format",
                                                     HEFT_OPTION_READS, option->name, err);
    return true;
}
