/* suggest_option.c: suggests a replacement for an option that a verb does not have: heft's name of
 * another tool's option, the option that begins like it, the nearest spelling, or a verb that has
 * it. */
#include "main/suggest.h"

#include <string.h>

/* Options of other tools and their equivalents. An entry applies to the verbs that have
 * `option`. */
static const struct {
    const char *said, *option, *instead;
} other_words[] = {
    {"half", "cast", "--cast '*=F16'"},
    {"fp16", "cast", "--cast '*=F16'"},
    {"float16", "cast", "--cast '*=F16'"},
    {"f16", "cast", "--cast '*=F16'"},
    {"bf16", "cast", "--cast '*=BF16'"},
    {"bfloat16", "cast", "--cast '*=BF16'"},
    {"fp32", "cast", "--cast '*=F32'"},
    {"float", "cast", "--cast '*=F32'"},
    {"float32", "cast", "--cast '*=F32'"},
    {"dtype", "cast", "--cast '*=DTYPE'"},
    {"torch-dtype", "cast", "--cast '*=DTYPE'"},
    {"fp8", "cast", "--cast '*=F8_E4M3'"},
    {"safe-serialization", "to", "--to safetensors"},
    {"safetensors", "to", "--to safetensors"},
    {"format", "to", "--to FORMAT"},
    {"output-format", "to", "--to FORMAT"},
    {"shard-size", "max-shard-size", "--max-shard-size SIZE"},
    {"split", "max-shard-size", "--max-shard-size SIZE"},
    {"overwrite", "force", "--force"},
    {"yes", "force", "--force"},
    {"out", "output", "--output PATH"},
    {"output-dir", "output", "--output DIR/"},
    {"out-dir", "output", "--output DIR/"},
    {"include", "glob", "--glob GLOB"},
    {"filter", "glob", "--glob GLOB"},
    {"exclude", "glob", "--glob '!GLOB'"},
    {"drop", "glob", "--glob '!GLOB'"},
    {"regexp", "regex", "--regex REGEX"},
    {"replace", "rename", "--rename 'RE=>TO'"},
    {"prefix", "root", "--root PATH, or --rename '^=>PREFIX.'"},
    {"check", "verify", "--verify"},
    {"simulate", "dry-run", "--dry-run"},
    {"silent", "quiet", "--quiet"},
    {"verbose", "all", "--all"},
    {"csv", "tsv", "--tsv"},
    {"jobs", "threads", "--threads N"},
    {"workers", "threads", "--threads N"},
    {"num-threads", "threads", "--threads N"},
    {"tokenizer", "vocab", "--vocab PATH"},
    {"tokenizer-model", "vocab", "--vocab PATH"},
    {"vocab-file", "vocab", "--vocab PATH"},
    {"json-keys", "jsonl", "--jsonl KEY"},
    {"text-key", "jsonl", "--jsonl KEY"},
    {"text-column", "jsonl", "--jsonl KEY"},
    {"append-eod", "eot", "--eot id"},
    {"append-eos", "eot", "--eot id"},
};

enum { MAX_WORD = 64 };

/* Converts to lower case, and underscores to dashes. False if the word is longer than any
 * option. */
static bool normalize_word(char word[MAX_WORD], const char *name, size_t n)
{
    if (n >= MAX_WORD)
        return false;
    for (size_t i = 0; i < n; i++)
        word[i] = name[i] == '_'                     ? '-'
                  : name[i] >= 'A' && name[i] <= 'Z' ? (char)(name[i] | 0x20)
                                                     : name[i];
    word[n] = '\0';
    return true;
}

static const char *option_named(const struct verb *verb, const char *word)
{
    struct option_spec o;

    for (size_t i = 0; verb_option_at(verb, i, &o); i++)
        if (!strcmp(o.name, word))
            return o.name;
    return NULL;
}

/* The option that begins with `word`, if it is the only one. */
static const char *option_beginning(const struct verb *verb, const char *word, size_t n)
{
    const char *found = NULL;
    struct option_spec o;

    for (size_t i = 0; verb_option_at(verb, i, &o); i++) {
        if (strncmp(o.name, word, n) != 0)
            continue;
        if (found)
            return NULL;
        found = o.name;
    }
    return found;
}

/* The nearest option within one edit for short words, two edits for longer ones. */
static const char *option_nearest(const struct verb *verb, const char *word, size_t n)
{
    unsigned least = n < 6 ? 2 : 3;
    const char *best = NULL;
    struct option_spec o;

    for (size_t i = 0; verb_option_at(verb, i, &o); i++) {
        const unsigned far = heft_edit_distance(o.name, strlen(o.name), word, n, least);

        if (far >= least)
            continue;
        best = o.name;
        least = far;
    }
    return best;
}

static const char *verb_with(const char *word)
{
    for (const struct verb *v = verbs; v->name; v++)
        if (option_named(v, word))
            return v->name;
    return NULL;
}

struct suggestion suggest_option(const struct verb *verb, const char *name, size_t n)
{
    struct suggestion s = {NULL, NULL, NULL};
    char word[MAX_WORD];

    if (n < 2 || !normalize_word(word, name, n))
        return s;
    s.option = option_named(verb, word);
    for (size_t i = 0; !s.option && i < sizeof other_words / sizeof *other_words; i++)
        if (!strcmp(other_words[i].said, word) && option_named(verb, other_words[i].option)) {
            s.instead = other_words[i].instead;
            return s;
        }
    if (!s.option && n > 2)
        s.option = option_beginning(verb, word, n);
    if (!s.option)
        s.verb = verb_with(word);
    if (!s.option && !s.verb && n > 2)
        s.option = option_nearest(verb, word, n);
    return s;
}
