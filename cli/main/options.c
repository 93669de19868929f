/* options.c: parses the command line into struct options, driven by the tables of verbs.c. */
#include "main/options.h"
#include "output/report.h"
#include "main/file_list.h"
#include "main/rules_files.h"
#include "main/suggest.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_THREADS = 1024 };
#define MAX_COUNT UINT64_C(1000000000000000000)
/* Memory of one thread of a conversion; -M divided by it is the number of threads. */
enum { MEMORY_PER_THREAD = 8 * 1024 * 1024 };

struct parser {
    struct options *options;
    const struct verb *verb;
    char **argv;
    int argc, at;
    struct heft_error *err;
};

static bool find_letter(const struct verb *verb, char letter, struct option_spec *out)
{
    for (size_t i = 0; verb_option_at(verb, i, out); i++)
        if (out->letter && out->letter == letter)
            return true;
    return false;
}

/* Finds an option by the first n bytes of a word, which may continue with "=value". */
static bool find_name(const struct verb *verb, const char *name, size_t n, struct option_spec *out)
{
    for (size_t i = 0; verb_option_at(verb, i, out); i++)
        if (strlen(out->name) == n && !memcmp(out->name, name, n))
            return true;
    return false;
}

static bool unknown_option(struct parser *p, const char *name, size_t n)
{
    const struct suggestion s = suggest_option(p->verb, name, n);
    const int shown = (int)(n < 80 ? n : 80);

    if (s.option)
        return usage_error(p->err, "%s: unknown option --%.*s; did you mean --%s?", p->verb->name,
                           shown, name, s.option);
    if (s.instead)
        return usage_error(p->err, "%s: unknown option --%.*s; use %s", p->verb->name, shown, name,
                           s.instead);
    if (s.verb)
        return usage_error(p->err, "%s: unknown option --%.*s; heft %s has it", p->verb->name,
                           shown, name, s.verb);
    return usage_error(p->err, "%s: unknown option %s%.*s; heft %s --help lists the options",
                       p->verb->name, n > 1 ? "--" : "-", shown, name, p->verb->name);
}

/* Whether a value is one of "a|b|c". */
static bool is_choice(const char *choices, const char *value)
{
    const size_t n = strlen(value);
    for (const char *p = choices; p; p = strchr(p, '|')) {
        p += *p == '|';
        if (!strncmp(p, value, n) && (p[n] == '|' || p[n] == '\0'))
            return n > 0;
    }
    return false;
}

/* Parses a count as heft_parse_count does: 100, 50K, 1.5M, 1e6, 4Ki. */
static bool set_number(struct parser *p, const struct option_spec *o, const char *value,
                       uint64_t least, uint64_t most, uint64_t *number)
{
    struct heft_error why = {0};

    if (!heft_parse_count(value, number, &why))
        return usage_error(p->err, "--%s: %s", o->name, why.text);
    if (*number < least || *number > most)
        return usage_error(p->err, "--%s %s: expected a number from %llu to %llu", o->name, value,
                           (unsigned long long)least, (unsigned long long)most);
    return true;
}

static bool set_size(struct parser *p, const struct option_spec *o, const char *value,
                     uint64_t *size)
{
    struct heft_error why = {0};
    if (!heft_parse_bytes(value, size, &why))
        return usage_error(p->err, "--%s: %s", o->name, why.text);
    return true;
}

static bool add_rule(struct parser *p, const struct option_spec *o, char *value)
{
    struct heft_rule rule = {.size = sizeof rule, .kind = o->rule, .left = value};
    if (o->split) {
        char *middle = strstr(value, o->split);
        /* a glob may contain =, the name of a dtype does not: split at the last = */
        while (middle && (o->rule == HEFT_RULE_CAST || o->rule == HEFT_RULE_PARTITION) &&
               strstr(middle + 1, o->split))
            middle = strstr(middle + 1, o->split);
        if (!middle)
            return usage_error(p->err, "--%s %s: expected %s", o->name, value, o->value);
        *middle = '\0';
        rule.right = middle + strlen(o->split);
    }
    p->options->rules[p->options->n_rules++] = rule;
    return true;
}

/* Appends an option of a format. The library validates it. */
static bool add_format_option(struct parser *p, const struct option_spec *o, const char *value)
{
    struct options *const options = p->options;
    const struct heft_option given = {o->name, value};
    struct heft_error why = {0};

    if (!heft_format_option_check(o->format, &given, &why))
        return usage_error(p->err, "%s", why.text);
    if (o->kind == OPTION_READS)
        options->read_options[options->n_read_options++] = given;
    else
        options->format_options[options->n_format_options++] = given;
    return true;
}

/* Sets an option; value is NULL if the option takes none. */
static bool set_option(struct parser *p, const struct option_spec *o, char *value)
{
    char *const field = (char *)p->options + o->field;
    struct text_list *list;

    if (o->kind == OPTION_WRITES || o->kind == OPTION_READS)
        return add_format_option(p, o, value);
    if (o->choices && *o->choices != '@' && !is_choice(o->choices, value))
        return usage_error(p->err, "--%s %s: expected one of %s", o->name, value, o->choices);
    switch (o->kind) {
    case OPTION_FLAG:
        *(bool *)(void *)field = true;
        return true;
    case OPTION_TEXT:
    case OPTION_MAYBE:
        *(const char **)(void *)field = value;
        return true;
    case OPTION_NUMBER:
        return set_number(p, o, value, 1, MAX_THREADS, (uint64_t *)(void *)field);
    case OPTION_COUNT:
        return set_number(p, o, value, 1, MAX_COUNT, (uint64_t *)(void *)field);
    case OPTION_SHARD:
        p->options->sharded = true;
        return set_size(p, o, value, (uint64_t *)(void *)field);
    case OPTION_COMBINE:
        p->options->has_combine = true;
        return set_number(p, o, value, 0, MAX_COUNT, (uint64_t *)(void *)field);
    case OPTION_SIZE:
        return set_size(p, o, value, (uint64_t *)(void *)field);
    case OPTION_LIST:
        list = (struct text_list *)(void *)field;
        list->items[list->n++] = value;
        return true;
    case OPTION_RULE:
    case OPTION_WRITES:
    case OPTION_READS:
        break;
    }
    return add_rule(p, o, value);
}

/* Takes the next word as the value of an option. */
static char *next_value(struct parser *p, const struct option_spec *o)
{
    if (p->at + 1 >= p->argc) {
        usage_error(p->err, "%s: --%s needs a value: %s", p->verb->name, o->name, o->value);
        return NULL;
    }
    return p->argv[++p->at];
}

static bool parse_long(struct parser *p, char *word)
{
    char *const equals = strchr(word, '=');
    const size_t n = equals ? (size_t)(equals - word) : strlen(word);
    struct option_spec o;
    char *value = equals ? equals + 1 : NULL;

    if (!find_name(p->verb, word, n, &o))
        return unknown_option(p, word, n);
    if (!o.value && value)
        return usage_error(p->err, "%s: --%s takes no value", p->verb->name, o.name);
    if (o.kind == OPTION_MAYBE && !value)
        value = word + n; /* "" */
    if (o.value && !value && !(value = next_value(p, &o)))
        return false;
    return set_option(p, &o, value);
}

/* Parses short options: "-fn", "-j4", "-o out". */
static bool parse_letters(struct parser *p, char *letters)
{
    for (; *letters; letters++) {
        struct option_spec o;
        char *value;
        if (!find_letter(p->verb, *letters, &o))
            return unknown_option(p, letters, 1);
        if (!o.value) {
            if (!set_option(p, &o, NULL))
                return false;
            continue;
        }
        value = letters[1] ? letters + 1 : next_value(p, &o);
        return value && set_option(p, &o, value);
    }
    return true;
}

static bool parse_words(struct parser *p, int word)
{
    struct text_list *const inputs = &p->options->inputs;
    bool ended = false;
    for (p->at = 1; p->at < p->argc; p->at++) {
        char *const arg = p->argv[p->at];
        if (p->at == word)
            continue;
        if (ended || arg[0] != '-' || !arg[1])
            inputs->items[inputs->n++] = arg;
        else if (!strcmp(arg, "--"))
            ended = true;
        else if (!(arg[1] == '-' ? parse_long(p, arg + 2) : parse_letters(p, arg + 1)))
            return false;
    }
    return true;
}

static bool check_count(const struct options *options, const struct verb *verb,
                        struct heft_error *err)
{
    const size_t n = options->inputs.n;
    if (options->help || options->version || options->files_from || rules_files_asked(options))
        return true;
    if (n < verb->min_inputs)
        return usage_error(err, "%s: usage: heft %s %s", verb->name, verb->name, verb->synopsis);
    if (n > verb->max_inputs)
        return usage_error(err, "%s: unexpected argument %s", verb->name,
                           options->inputs.items[verb->max_inputs]);
    return true;
}

bool options_parse(struct options *options, const struct verb *verb, int argc, char **argv,
                   int word, struct heft_error *err)
{
    const size_t n = (size_t)argc + 1;
    struct parser parser = {options, verb, argv, argc, 1, err};

    *options = (struct options){0};
    options->rules = calloc(n, sizeof *options->rules);
    options->format_options = calloc(n, sizeof *options->format_options);
    options->read_options = calloc(n, sizeof *options->read_options);
    options->allow.items = calloc(n, sizeof *options->allow.items);
    options->specials.items = calloc(n, sizeof *options->specials.items);
    options->inputs.items = calloc(n, sizeof *options->inputs.items);
    if (!options->rules || !options->format_options || !options->read_options ||
        !options->allow.items || !options->specials.items || !options->inputs.items)
        return no_memory(err, "the command line");
    return parse_words(&parser, word) && check_count(options, verb, err) &&
           rules_files_settle(options, verb, err) &&
           (options->help || !options->files_from || file_list_read(options, err));
}

void options_release(struct options *options)
{
    free(options->rules);
    free(options->format_options);
    free(options->read_options);
    free((void *)options->allow.items);
    free((void *)options->specials.items);
    free((void *)options->inputs.items);
    free(options->listed);
}

/* The verb is the first word that is neither an option common to all verbs nor the value of one. */
const struct verb *verb_of(int argc, char **argv, int *word)
{
    const struct verb *const info = verb_find("info");
    for (int i = 1; i < argc; i++) {
        const char *arg = argv[i];
        struct option_spec o;
        bool is_option = false;
        if (arg[0] != '-' || !arg[1]) {
            const struct verb *verb = verb_find(arg);
            *word = verb ? i : 0;
            return verb ? verb : info;
        }
        if (!strcmp(arg, "--"))
            break;
        if (!strcmp(arg, "--version") ||
            (argc == 2 && (!strcmp(arg, "--help") || !strcmp(arg, "-h")))) {
            *word = 0;
            return verb_find("help");
        }
        if (arg[1] == '-' && !strchr(arg, '='))
            is_option = find_name(info, arg + 2, strlen(arg + 2), &o);
        else if (arg[1] != '-' && !arg[2])
            is_option = find_letter(info, arg[1], &o);
        i += is_option && o.value;
    }
    *word = 0;
    return info;
}

unsigned options_threads(const struct options *options)
{
    const uint64_t room = options->memory / MEMORY_PER_THREAD;
    uint64_t wanted = options->threads;
    if (!options->memory)
        return (unsigned)wanted;
    if (!wanted) {
        const long cores = sysconf(_SC_NPROCESSORS_ONLN);
        wanted = cores > 4 ? 4 : cores > 1 ? (uint64_t)cores : 1;
    }
    return (unsigned)(room < 1 ? 1 : room < wanted ? room : wanted);
}

bool options_part(const struct options *options, uint64_t *index, uint64_t *count,
                  struct heft_error *err)
{
    const char *const text = options->part;
    char *end = NULL;

    if (!text)
        return true;
    *index = *text >= '0' && *text <= '9' ? strtoull(text, &end, 10) : 0;
    if (end && *end == '/' && end[1] >= '0' && end[1] <= '9')
        *count = strtoull(end + 1, &end, 10);
    return (*index > 0 && *count > 0 && !*end) ||
           usage_error(err, "--part %s: expected K/N, such as 1/4", text);
}
