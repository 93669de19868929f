/* completion.c: generates completions for bash, zsh and fish from the tables of verbs.c. */
#include "main/options.h"
#include "output/output.h"
#include "output/report.h"

#include <string.h>

/* Targets of casts; tests/suites/completions.py compares them with those of the library. */
static const char dtypes[] = "F32 F16 BF16 F64 F8_E4M3 F8_E5M2 F8_E4M3FNUZ F8_E5M2FNUZ "
                             "I8 I16 I32 I64 U8 U16 U32 U64 C32 C64 C128 "
                             "Q4_0 Q4_1 Q5_0 Q5_1 Q8_0";

static bool takes_path(const struct option_spec *o)
{
    return o->value && (o->choices ? !strcmp(o->choices, "@files")
                                   : !strcmp(o->value, "MODEL") || !strcmp(o->value, "BASE"));
}

static bool has_choices(const struct option_spec *o)
{
    return o->choices && !takes_path(o);
}

/* Whether the choices are those of the right side of GLOB=DTYPE. */
static bool chooses_right(const struct option_spec *o)
{
    return has_choices(o) && o->kind == OPTION_RULE && o->split;
}

static void put_formats(struct out *out, bool read)
{
    struct heft_format_info info = HEFT_INIT(struct heft_format_info);
    for (size_t i = 0, n = 0; heft_format_at(i, &info); i++)
        if (read ? info.reads : info.writes) {
            out_text(out, n++ ? " " : "");
            out_text(out, info.name);
        }
}

/* Prints the possible values of an option, separated by spaces. */
static void put_choices(struct out *out, const struct option_spec *o)
{
    if (!strcmp(o->choices, "@dtypes"))
        out_text(out, dtypes);
    else if (*o->choices == '@')
        put_formats(out, !strcmp(o->choices, "@reads"));
    else
        for (const char *p = o->choices; *p; p++)
            out_char(out, *p == '|' ? ' ' : *p);
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

/* Pattern of the words before a value: "get:--cast | get:-c". With `right` a "=" follows, as the
 * script marks the right side of a value. */
static void bash_pattern(struct out *out, const struct verb *verb, const struct option_spec *o,
                         const char *right)
{
    out_text(out, "        ");
    out_text(out, verb->name);
    out_text(out, ":--");
    out_text(out, o->name);
    out_text(out, right);
    if (o->letter) {
        out_text(out, " | ");
        out_text(out, verb->name);
        out_text(out, ":-");
        out_char(out, o->letter);
        out_text(out, right);
    }
    out_text(out, ") ");
}

static void bash_value(struct out *out, const struct verb *verb, const struct option_spec *o)
{
    if (!o->value || o->kind == OPTION_MAYBE)
        return;
    if (has_choices(o)) {
        bash_pattern(out, verb, o, chooses_right(o) ? "=" : "");
        out_text(out, "_heft_choose '");
        put_choices(out, o);
        out_text(out, "'; return ;;\n");
    }
    if (!has_choices(o) || chooses_right(o)) {
        bash_pattern(out, verb, o, "");
        out_text(out, takes_path(o) ? "return ;;\n" : "compopt +o default; return ;;\n");
    }
}

static void bash_options(struct out *out, const struct verb *v)
{
    out_text(out, "    ");
    out_text(out, v->name);
    out_text(out, ") options='");
    each_option(out, v, bash_name);
    out_text(out, "' ;;\n");
}

/* The script has the variables `word`, which is completed; `prefix`, which stands before it in the
 * same word of the shell; `before`, the option whose value it is, with a "=" if it is the right
 * side of one. */
static const char bash_head[] =
    "# bash completion for heft\n"
    "_heft_choose() {\n"
    "    mapfile -t COMPREPLY < <(compgen -P \"$prefix\" -W \"$1\" -- \"$word\")\n"
    "}\n"
    "_heft() {\n"
    "    local word=${COMP_WORDS[COMP_CWORD]} at=$COMP_CWORD prefix= before verb=info options= i\n"
    "    COMPREPLY=()\n"
    "    [[ $word == = ]] && word= at=$((at + 1))\n"
    "    word=${word#[\\\"\\']}\n"
    "    before=${COMP_WORDS[at-1]}\n"
    "    if [[ $before == = ]]; then # bash splits --to=npz into three words, unless it is quoted\n"
    "        before=${COMP_WORDS[at-2]}\n"
    "        [[ $before == -* ]] || ((at < 3)) || before=${COMP_WORDS[at-3]}=\n"
    "        [[ $before == == ]] && before=${COMP_WORDS[at-4]}= # --cast=GLOB=DTYPE\n"
    "    elif [[ $word == *=* ]]; then\n"
    "        prefix=${word%=*}= word=${word##*=}\n"
    "        [[ $prefix == --* ]] && before=${prefix%%=*}\n"
    "        [[ $prefix == --*=*= || $prefix != --* ]] && before+==\n"
    "    fi\n";

static const char bash_find_verb[] =
    "    for ((i = 1; i < at; i++)); do\n"
    "        [[ ${COMP_WORDS[i]} == -* ]] && continue\n"
    "        [[ \" $verbs \" == *\" ${COMP_WORDS[i]} \"* ]] && verb=${COMP_WORDS[i]}\n"
    "        break\n"
    "    done\n"
    "    case $verb:$before in\n";

static const char bash_tail[] = "    esac\n"
                                "    if [[ $word == -* ]]; then\n"
                                "        _heft_choose \"$options\"\n"
                                "    elif ((i >= at)) || [[ $verb == help ]]; then\n"
                                "        _heft_choose \"$verbs\"\n"
                                "    elif [[ $verb == completion ]]; then\n"
                                "        _heft_choose 'bash zsh fish'\n"
                                "    fi\n"
                                "}\n"
                                "complete -o default -F _heft heft\n";

static void print_bash(struct out *out)
{
    out_text(out, bash_head);
    out_text(out, "    local verbs='");
    put_verbs(out);
    out_text(out, "'\n");
    out_text(out, bash_find_verb);
    for (const struct verb *v = verbs; v->name; v++)
        each_option(out, v, bash_value);
    out_text(out, "    esac\n"
                  "    case $verb in\n");
    for (const struct verb *v = verbs; v->name; v++)
        bash_options(out, v);
    out_text(out, bash_tail);
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

/* Description and values of an option, and the end of its line. */
static void zsh_rest(struct out *out, const struct option_spec *o)
{
    char formats[100];

    out_char(out, '[');
    if (o->kind == OPTION_WRITES) {
        zsh_quoted(out, option_formats(o, formats, sizeof formats));
        zsh_quoted(out, ": ");
    }
    zsh_quoted(out, o->help);
    out_char(out, ']');
    if (o->value) {
        out_text(out, o->kind == OPTION_MAYBE ? "::" : ":");
        zsh_quoted(out, o->value);
        out_char(out, ':');
    }
    if (has_choices(o)) {
        out_text(out, chooses_right(o) ? "{compset -P \"*=\" && compadd " : "(");
        put_choices(out, o);
        out_char(out, chooses_right(o) ? '}' : ')');
    }
    out_text(out, takes_path(o) ? "_files' \\\n" : "' \\\n");
}

static void zsh_begin(struct out *out, const struct option_spec *o, const char *dashes)
{
    out_text(out, "            '");
    out_text(out, o->kind == OPTION_RULE || o->kind == OPTION_LIST ? "*" : "");
    out_text(out, dashes);
}

/* A value follows --name as the next word or after "=", and -n as the next word or directly. */
static void zsh_option(struct out *out, const struct verb *verb, const struct option_spec *o)
{
    (void)verb;
    zsh_begin(out, o, "--");
    out_text(out, o->name);
    out_text(out, o->kind == OPTION_MAYBE ? "=-" : o->value ? "=" : "");
    zsh_rest(out, o);
    if (!o->letter)
        return;
    zsh_begin(out, o, "-");
    out_char(out, o->letter);
    out_text(out, o->value ? "+" : "");
    zsh_rest(out, o);
}

static void zsh_verb(struct out *out, const struct verb *v)
{
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

/* Options may stand in front of the verb. */
static const char zsh_find_verb[] =
    "    )\n"
    "    local verb=info\n"
    "    local -i first=2\n"
    "    while ((first < CURRENT)) && [[ $words[first] == -* ]]; do ((first++)); done\n"
    "    if ((first == CURRENT)) && [[ $words[first] != -* ]]; then\n"
    "        _describe verb verbs\n"
    "        _files\n"
    "        return\n"
    "    elif ((first < CURRENT && $verbs[(I)$words[first]:*])); then\n"
    "        verb=$words[first]\n"
    "        words=(\"${(@)words[first,-1]}\")\n"
    "        ((CURRENT -= first - 1))\n"
    "    fi\n"
    "    case $verb in\n";

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
    out_text(out, zsh_find_verb);
    for (const struct verb *v = verbs; v->name; v++)
        zsh_verb(out, v);
    out_text(out, "    esac\n"
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
    char formats[100];

    out_text(out, "complete -c heft -n '__heft_verb ");
    out_text(out, verb->name);
    out_text(out, "' -l ");
    out_text(out, o->name);
    if (o->letter) {
        out_text(out, " -s ");
        out_char(out, o->letter);
    }
    if (o->value && o->kind != OPTION_MAYBE)
        out_text(out, takes_path(o) ? " -r -F" : " -x");
    if (has_choices(o)) {
        out_text(out, chooses_right(o) ? " -a '(__heft_right " : " -a '");
        put_choices(out, o);
        out_text(out, chooses_right(o) ? ")'" : "'");
    }
    out_text(out, " -d ");
    out_char(out, '\'');
    if (o->kind == OPTION_WRITES) {
        fish_escaped(out, option_formats(o, formats, sizeof formats));
        out_text(out, ": ");
    }
    fish_escaped(out, o->help);
    out_text(out, "'\n");
}

/* Functions of the script: whether the verb of the command line is one of the arguments; whether
 * there is none yet; the arguments, each behind the left side of the value that is completed. */
static const char fish_find_verb[] =
    "function __heft_verb\n"
    "    set -l verb info\n"
    "    for word in (commandline -opc)[2..]\n"
    "        string match -q -- '-*' $word; and continue\n"
    "        contains -- $word $__heft_verbs; and set verb $word\n"
    "        break\n"
    "    end\n"
    "    contains -- $verb $argv\n"
    "end\n"
    "function __heft_no_word\n"
    "    not string match -qv -- '-*' (commandline -opc)[2..]\n"
    "end\n"
    "function __heft_right\n"
    "    set -l left (string match -r -- '^[\"\\']?(?:--[a-z-]+=)?(.*=)' (commandline -ct))[2]\n"
    "    test -n \"$left\"; and printf '%s\\n' (string unescape -- $left)$argv\n"
    "end\n";

static void print_fish(struct out *out)
{
    out_text(out, "# fish completion for heft\n"
                  "set -g __heft_verbs ");
    put_verbs(out);
    out_char(out, '\n');
    out_text(out, fish_find_verb);
    for (const struct verb *v = verbs; v->name; v++) {
        out_text(out, "complete -c heft -n __heft_no_word -a ");
        out_text(out, v->name);
        out_text(out, " -d ");
        fish_quoted(out, v->summary);
        out_char(out, '\n');
        each_option(out, v, fish_option);
    }
    out_text(out, "complete -c heft -n '__heft_verb completion' -f -a 'bash zsh fish'\n"
                  "complete -c heft -n '__heft_verb help' -f -a '$__heft_verbs'\n");
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
