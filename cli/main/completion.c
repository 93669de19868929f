/* completion.c: generates completions for bash, zsh and fish from the tables of verbs.c. */
#include "main/options.h"
#include "output/output.h"
#include "output/report.h"

#include <string.h>

static bool takes_path(const struct option_spec *o)
{
    return o->value && !strcmp(o->value, "PATH") && !strcmp(o->name, "output");
}

/* Prints the possible values of an option, each followed by a space; nothing if any value is
 * allowed. */
static void put_choices(struct out *out, const struct option_spec *o)
{
    struct heft_format_info info;
    if (!o->choices)
        return;
    if (*o->choices != '@') {
        for (const char *p = o->choices; *p; p++)
            out_char(out, *p == '|' ? ' ' : *p);
        return;
    }
    for (size_t i = 0, n = 0; heft_format_at(i, &info); i++)
        if (strcmp(o->choices, "@reads") == 0 ? info.reads : info.writes) {
            out_text(out, n++ ? " " : "");
            out_text(out, info.name);
        }
}

static void put_verbs(struct out *out)
{
    for (const struct verb *v = verbs; v->name; v++) {
        out_text(out, v == verbs ? "" : " ");
        out_text(out, v->name);
    }
}

typedef void option_fn(struct out *out, const struct verb *verb, const struct option_spec *o);

static void each_option(struct out *out, const struct verb *verb, option_fn *put)
{
    struct option_spec o;
    for (size_t i = 0; verb_option_at(verb, i, &o); i++)
        put(out, verb, &o);
}

/* ---- bash ----------------------------------------------------------------------------------- */

static void bash_name(struct out *out, const struct verb *verb, const struct option_spec *o)
{
    (void)verb;
    out_text(out, " --");
    out_text(out, o->name);
    if (o->letter) {
        out_text(out, " -");
        out_char(out, o->letter);
    }
}

static void bash_value(struct out *out, const struct verb *verb, const struct option_spec *o)
{
    if (!o->value)
        return;
    out_text(out, "        ");
    out_text(out, verb->name);
    out_text(out, ":--");
    out_text(out, o->name);
    if (o->letter) {
        out_text(out, " | ");
        out_text(out, verb->name);
        out_text(out, ":-");
        out_char(out, o->letter);
    }
    out_text(out, ") ");
    if (o->choices) {
        out_text(out, "COMPREPLY=($(compgen -W '");
        put_choices(out, o);
        out_text(out, "' -- \"$word\")); return ;;\n");
    } else {
        out_text(out,
                 takes_path(o) ? "COMPREPLY=(); return ;;\n" : "compopt +o default; return ;;\n");
    }
}

static void print_bash(struct out *out)
{
    out_text(out, "# bash completion for heft\n"
                  "_heft() {\n"
                  "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
                  "    local verb=info options=\n"
                  "    COMPREPLY=()\n"
                  "    case ${COMP_WORDS[1]} in\n"
                  "    ");
    for (const struct verb *v = verbs; v->name; v++) {
        out_text(out, v == verbs ? "" : " | ");
        out_text(out, v->name);
    }
    out_text(out, ") ((COMP_CWORD > 1)) && verb=${COMP_WORDS[1]} ;;\n"
                  "    esac\n"
                  "    case $verb:$before in\n");
    for (const struct verb *v = verbs; v->name; v++)
        each_option(out, v, bash_value);
    out_text(out, "    esac\n"
                  "    case $verb in\n");
    for (const struct verb *v = verbs; v->name; v++) {
        out_text(out, "    ");
        out_text(out, v->name);
        out_text(out, ") options='");
        each_option(out, v, bash_name);
        out_text(out, "' ;;\n");
    }
    out_text(out, "    esac\n"
                  "    if [[ $word == -* ]]; then\n"
                  "        COMPREPLY=($(compgen -W \"$options\" -- \"$word\"))\n"
                  "    elif ((COMP_CWORD == 1)) || [[ $verb == help ]]; then\n"
                  "        COMPREPLY=($(compgen -W '");
    put_verbs(out);
    out_text(out, "' -- \"$word\"))\n"
                  "    elif [[ $verb == completion ]]; then\n"
                  "        COMPREPLY=($(compgen -W 'bash zsh fish' -- \"$word\"))\n"
                  "    fi\n"
                  "}\n"
                  "complete -o default -F _heft heft\n");
}

/* ---- zsh ------------------------------------------------------------------------------------ */

/* Escapes the characters of a help text that are special to _arguments: [ ] : ' and \. */
static void zsh_quoted(struct out *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '\'') {
            out_text(out, "'\\''");
            continue;
        }
        if (strchr("[]:\\", *text))
            out_char(out, '\\');
        out_char(out, *text);
    }
}

static void zsh_spec(struct out *out, const struct option_spec *o, bool letter)
{
    const bool again = o->kind == OPTION_RULE || o->kind == OPTION_LIST;
    out_text(out, "            '");
    out_text(out, again ? "*" : "");
    out_text(out, letter ? "-" : "--");
    if (letter)
        out_char(out, o->letter);
    else
        out_text(out, o->name);
    out_char(out, '[');
    if (o->kind == OPTION_WRITES) {
        zsh_quoted(out, o->format);
        zsh_quoted(out, ": ");
    }
    zsh_quoted(out, o->help);
    out_char(out, ']');
    if (o->value) {
        out_char(out, ':');
        zsh_quoted(out, o->value);
        out_char(out, ':');
        if (o->choices) {
            out_char(out, '(');
            put_choices(out, o);
            out_char(out, ')');
        } else if (takes_path(o)) {
            out_text(out, "_files");
        }
    }
    out_text(out, "' \\\n");
}

static void zsh_option(struct out *out, const struct verb *verb, const struct option_spec *o)
{
    (void)verb;
    zsh_spec(out, o, false);
    if (o->letter)
        zsh_spec(out, o, true);
}

static void print_zsh(struct out *out)
{
    out_text(out, "#compdef heft\n"
                  "_heft() {\n"
                  "    local -a verbs\n"
                  "    verbs=(\n");
    for (const struct verb *v = verbs; v->name; v++) {
        out_text(out, "        '");
        out_text(out, v->name);
        out_char(out, ':');
        zsh_quoted(out, v->summary);
        out_text(out, "'\n");
    }
    out_text(out, "    )\n"
                  "    if ((CURRENT == 2)); then\n"
                  "        _describe verb verbs\n"
                  "        _files\n"
                  "        return\n"
                  "    fi\n"
                  "    local verb=${words[2]}\n"
                  "    shift words\n"
                  "    ((CURRENT--))\n"
                  "    case $verb in\n");
    for (const struct verb *v = verbs; v->name; v++) {
        out_text(out, "        ");
        out_text(out, v->name);
        out_text(out, ")\n            _arguments -s \\\n");
        each_option(out, v, zsh_option);
        if (!strcmp(v->name, "completion"))
            out_text(out, "            '1:shell:(bash zsh fish)'\n");
        else if (!strcmp(v->name, "help"))
            out_text(out, "            '1:verb:{_describe verb verbs}'\n");
        else
            out_text(out, "            '*:file:_files'\n");
        out_text(out, "            ;;\n");
    }
    out_text(out, "        *) _files ;;\n"
                  "    esac\n"
                  "}\n"
                  "_heft \"$@\"\n");
}

/* ---- fish ----------------------------------------------------------------------------------- */

static void fish_escaped(struct out *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '\'' || *text == '\\')
            out_char(out, '\\');
        out_char(out, *text);
    }
}

static void fish_quoted(struct out *out, const char *text)
{
    out_char(out, '\'');
    fish_escaped(out, text);
    out_char(out, '\'');
}

static void fish_option(struct out *out, const struct verb *verb, const struct option_spec *o)
{
    out_text(out, "complete -c heft -n '__fish_seen_subcommand_from ");
    out_text(out, verb->name);
    out_text(out, "' -l ");
    out_text(out, o->name);
    if (o->letter) {
        out_text(out, " -s ");
        out_char(out, o->letter);
    }
    if (o->value)
        out_text(out, takes_path(o) ? " -r -F" : " -x");
    if (o->choices) {
        out_text(out, " -a '");
        put_choices(out, o);
        out_char(out, '\'');
    }
    out_text(out, " -d ");
    out_char(out, '\'');
    if (o->kind == OPTION_WRITES) {
        fish_escaped(out, o->format);
        out_text(out, ": ");
    }
    fish_escaped(out, o->help);
    out_text(out, "'\n");
}

static void print_fish(struct out *out)
{
    out_text(out, "# fish completion for heft\n");
    for (const struct verb *v = verbs; v->name; v++) {
        out_text(out, "complete -c heft -n __fish_use_subcommand -a ");
        out_text(out, v->name);
        out_text(out, " -d ");
        fish_quoted(out, v->summary);
        out_char(out, '\n');
        each_option(out, v, fish_option);
    }
    out_text(out, "complete -c heft -n '__fish_seen_subcommand_from completion' -f "
                  "-a 'bash zsh fish'\n"
                  "complete -c heft -n '__fish_seen_subcommand_from help' -f -a '");
    put_verbs(out);
    out_text(out, "'\n");
}

int cmd_completion(const struct options *options, struct out *out)
{
    static const struct {
        const char *name;
        void (*put)(struct out *out);
    } shells[] = {{"bash", print_bash}, {"zsh", print_zsh}, {"fish", print_fish}};
    struct heft_error err = {0};

    for (size_t i = 0; i < sizeof shells / sizeof *shells; i++)
        if (!strcmp(shells[i].name, options->inputs.items[0])) {
            shells[i].put(out);
            return EXIT_SOUND;
        }
    usage_error(&err, "completion %s: expected bash, zsh or fish", options->inputs.items[0]);
    return report_error(&err);
}
