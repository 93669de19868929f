/* rules_files.c: see rules_files.h. */
#include "main/rules_files.h"
#include "output/report.h"

#include <string.h>

/* ---- presets -------------------------------------------------------------------------------- */

/* The word of --rules; NULL if there is none, or several. */
static const char *only_word(const struct options *options)
{
    const char *word = NULL;

    for (size_t i = 0; i < options->n_rules; i++)
        if (options->rules[i].kind == HEFT_RULE_FILE) {
            if (word)
                return NULL;
            word = options->rules[i].left;
        }
    return word;
}

bool rules_files_asked(const struct options *options)
{
    const char *const word = only_word(options);

    return word && (!strcmp(word, "list") || !strcmp(word, "show"));
}

static void list_json(struct out *out)
{
    struct heft_rules_preset preset = HEFT_INIT(struct heft_rules_preset);

    json_open(out, '{');
    json_member_u64(out, "heft", 1);
    json_key(out, "rules");
    json_open(out, '[');
    for (size_t i = 0; heft_rules_preset_at(i, &preset); i++) {
        json_open(out, '{');
        json_member_text(out, "name", preset.name);
        json_member_text(out, "title", preset.title);
        json_close(out, '}');
    }
    json_close(out, ']');
    json_close(out, '}');
    out_char(out, '\n');
}

static void list_text(struct out *out)
{
    struct heft_rules_preset preset = HEFT_INIT(struct heft_rules_preset);
    size_t width = 0;

    for (size_t i = 0; heft_rules_preset_at(i, &preset); i++)
        width = strlen(preset.name) > width ? strlen(preset.name) : width;
    for (size_t i = 0; heft_rules_preset_at(i, &preset); i++) {
        out_text(out, preset.name);
        for (size_t n = strlen(preset.name); n < width + 2; n++)
            out_char(out, ' ');
        out_text(out, preset.title);
        out_char(out, '\n');
    }
}

/* Prints the preset that the only input names. */
static bool show_preset(const struct options *options, struct out *out, struct heft_error *err)
{
    const char *const name = options->inputs.n == 1 ? options->inputs.items[0] : NULL;
    const struct heft_rule rule = {.size = sizeof rule, .kind = HEFT_RULE_FILE, .left = name};
    struct heft_rules_preset preset = HEFT_INIT(struct heft_rules_preset);
    bool ignored;

    if (!name)
        return usage_error(err, "usage: --rules show NAME; --rules list prints the names");
    for (size_t i = 0; heft_rules_preset_at(i, &preset); i++)
        if (!strcmp(preset.name, name)) {
            out_bytes(out, preset.text, preset.text_len);
            return true;
        }
    /* The library says which names are similar. */
    if (strchr(name, '/') || heft_rules_numbered(&rule, 1, &ignored, err))
        return usage_error(err, "%s: no preset has this name; --rules list prints the names", name);
    return false;
}

int rules_files_print(const struct options *options, struct out *out)
{
    struct heft_error err = {0};
    bool fine = true;

    if (!strcmp(only_word(options), "show"))
        fine = show_preset(options, out, &err);
    else if (options->inputs.n > 0)
        fine = usage_error(&err, "--rules list: unexpected argument %s", options->inputs.items[0]);
    else if (options->json)
        list_json(out);
    else
        list_text(out);
    return fine ? EXIT_SOUND : report_error(&err);
}

/* ---- options -------------------------------------------------------------------------------- */

bool rules_files_given(const struct options *options)
{
    for (size_t i = 0; i < options->n_rules; i++)
        if (options->rules[i].kind == HEFT_RULE_FILE)
            return true;
    return false;
}

/* The last rules file before `end`; NULL if there is none. */
static struct heft_rule *last_file(struct options *options, size_t end)
{
    while (end > 0 && options->rules[end - 1].kind != HEFT_RULE_FILE)
        end--;
    return end > 0 ? &options->rules[end - 1] : NULL;
}

/* The way back begins with the last file. */
static void reverse_files(struct options *options)
{
    struct heft_rule *last = last_file(options, options->n_rules);

    for (size_t i = 0; last && &options->rules[i] < last; i++) {
        struct heft_rule *const first = &options->rules[i];
        const char *const left = first->left;

        if (first->kind != HEFT_RULE_FILE)
            continue;
        first->left = last->left;
        last->left = left;
        last = last_file(options, (size_t)(last - options->rules));
    }
    for (size_t i = 0; i < options->n_rules; i++)
        if (options->rules[i].kind == HEFT_RULE_FILE)
            options->rules[i].right = "reverse";
}

bool rules_files_settle(struct options *options, const struct verb *verb, struct heft_error *err)
{
    const bool given = rules_files_given(options);

    for (size_t i = 0; i < options->n_rules && !given; i++)
        if (options->rules[i].kind == HEFT_RULE_SET)
            return usage_error(err, "%s: --set %s needs --rules FILE", verb->name,
                               options->rules[i].left);
    if (options->reverse && !given)
        return usage_error(err, "%s: --reverse needs --rules FILE", verb->name);
    if (options->reverse && !rules_files_asked(options))
        reverse_files(options);
    return true;
}

bool rules_files_read(struct options *options, struct heft_error *err)
{
    return !rules_files_given(options) ||
           heft_rules_numbered(options->rules, options->n_rules, &options->number_names, err);
}

struct heft_checkpoint *rules_files_view(struct heft_checkpoint *c, const struct options *options,
                                         struct heft_error *err)
{
    struct heft_checkpoint *view;

    if (!c || !rules_files_given(options))
        return c;
    view = heft_rules_view(c, options->root, options->rules, options->n_rules, err);
    heft_close(c); /* the view has a reference */
    return view;
}
