/* options.h: the options of the command; one table per verb drives parsing, help and completion.
 *
 * A verb has groups of options; each option names the member of struct options that it sets. A verb
 * accepts exactly the options of its groups. */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <heft/heft.h>

struct out;

struct text_list {
    const char **items;
    size_t n;
};

struct options {
    bool help, version, verbose, quiet, no_progress, no_sandbox;
    bool json, jsonl, tsv, all;
    bool trace, state;
    bool files;             /* digest --files */
    const char *against;    /* verify --against: a list of digests, or "hub" */
    const char *dequantize; /* dtype, or ""; NULL: no */
    bool ignore_scales;
    const char *gptq_zero; /* wrap or carry */
    bool strict, overwrite, no_sync, no_verify, dry_run, verify, salvage;
    const char *html; /* info --html: the page */
    bool signature;   /* for SavedModels */
    const char *tag_set;
    const char *color, *from, *io, *root, *sort, *output, *to, *slice, *pattern, *fail_on;
    const char *cast;                /* get --cast: a dtype */
    const char *atol, *rtol;         /* diff: numbers */
    bool structure, metadata;        /* diff */
    const char *record, *at, *range; /* explain --trace */
    const char *tokens;              /* explain --tokens */
    bool restore;                    /* explain --restore */
    /* encode and count */
    const char *vocab, *model, *format, *encoding, *errors, *eot, *jsonl_key;
    const char *part;       /* encode and run --part: "k/N" */
    uint64_t parts;         /* plan --parts; 0 if not given */
    const char *files_from; /* list of more inputs; the texts are in `listed` */
    char *listed;
    const char *lengths, *rejects, *split_pattern, *normalize, *eot_token,
        *id_dtype; /* options --pattern, --eot-token, --dtype */
    const char *val_fraction;
    bool eot_each, eot_before, sort_inputs, allow_empty, each, special;
    bool has_combine; /* whether combine was given */
    bool resume;
    uint64_t combine, shard_tokens, checkpoint, window, stride;
    uint64_t depth;          /* of tree; 0 if not given */
    uint64_t threads;        /* 0 if not given */
    uint64_t max_unpacked;   /* 0 if not given */
    uint64_t memory;         /* -M in bytes; 0 if not given */
    uint64_t max_shard_size; /* set if sharded is true */
    bool sharded;
    /* options that formats describe, of the target and for reading inputs; each list has room for
     * one more option than the command line has words */
    struct heft_option *format_options, *read_options;
    size_t n_format_options, n_read_options;
    struct heft_rule *rules; /* -g -e --rename --cast --metadata --rules --set, in order */
    size_t n_rules;
    bool reverse; /* --reverse, which `rules` say already */
    /* the inputs may have tensors of the same names, as a rules file expects; set before they are opened */
    bool number_names;
    const char *style, *unicode; /* train, as the next line; 0: not given */
    uint64_t vocab_size, symbols, min_frequency;
    struct text_list specials;
    struct text_list allow;
    bool quiet_allowed;
    struct text_list inputs; /* arguments that are not options, in order */
};

enum option_kind {
    OPTION_FLAG,    /* sets a bool */
    OPTION_TEXT,    /* sets a const char * */
    OPTION_MAYBE,   /* the same; the value, after "=", may be absent: "" */
    OPTION_NUMBER,  /* uint64_t, parsed by heft_parse_count: threads */
    OPTION_COUNT,   /* the same from 1 to 10^18 */
    OPTION_COMBINE, /* the same from 0; sets combine and has_combine */
    OPTION_SIZE,    /* uint64_t, parsed by heft_parse_bytes */
    OPTION_SHARD,   /* sets max_shard_size and sharded */
    OPTION_LIST,    /* appends to a struct text_list */
    OPTION_RULE,    /* appends to rules: left, or left and right of `split` */
    OPTION_WRITES,  /* appends to format_options, as the library's table of `format` allows it */
    OPTION_READS    /* the same for read_options */
};

struct option_spec {
    char letter;      /* short option; 0 if there is none */
    const char *name; /* long option, without the dashes */
    enum option_kind kind;
    size_t field;      /* offsetof(struct options, …) */
    const char *value; /* name of its value in help; NULL if it takes none */
    const char *help;  /* one line of help */
    /* "auto|pread"; NULL: any. For completion only: "@reads", "@writes", names of formats;
     * "@dtypes" that a tensor can be cast to; "@files" */
    const char *choices;
    enum heft_rule_kind rule;
    const char *split; /* "=>": separates left and right; NULL: only left */
    /* the format that describes it, the first of several; NULL: the command's own */
    const char *format;
};

enum { MAX_GROUPS = 10 };

struct verb {
    const char *name;
    const char *summary;                          /* one line for `heft help` */
    const char *synopsis;                         /* arguments of the verb */
    const char *examples;                         /* lines that begin with two spaces */
    const char *details;                          /* paragraphs after the options; may be NULL */
    const struct option_spec *groups[MAX_GROUPS]; /* each terminated by an option without a name */
    size_t min_inputs, max_inputs;
    int (*run)(const struct options *options, struct out *out);
};

/* Terminated by a verb without a name. */
extern const struct verb verbs[];
const struct verb *verb_find(const char *name);
/* The verb with the nearest spelling, or NULL. */
const struct verb *verb_nearest(const char *name);

/* Option `index` of the verb, including the options of formats. False past the end. The texts are
 * static. */
bool verb_option_at(const struct verb *verb, size_t index, struct option_spec *out);

/* The option of that name and use in the first format that has it. The length of the name is n. */
bool format_option_find(const char *name, size_t n, enum heft_option_use use,
                        struct heft_format_option *out);

/* Names of the targets that have an option of targets: "safetensors, npz". Returns `out`. */
const char *option_formats(const struct option_spec *o, char *out, size_t room);

/* Verb of the command line, and the index of its word; `info` and *word = 0 if there is none. */
const struct verb *verb_of(int argc, char **argv, int *word);
/* Parses argv[1…], except the word of the verb. Splits rules in place in argv. */
bool options_parse(struct options *options, const struct verb *verb, int argc, char **argv,
                   int word, struct heft_error *err);
void options_release(struct options *options);

/* Parses the "K/N" of --part; both stay 0 without it. */
bool options_part(const struct options *options, uint64_t *index, uint64_t *count,
                  struct heft_error *err);

/* Number of threads by -j and -M; 0 for the default of the library. */
unsigned options_threads(const struct options *options);

int cmd_info(const struct options *options, struct out *out);
int cmd_ls(const struct options *options, struct out *out);
int cmd_explain(const struct options *options, struct out *out);
int cmd_trace(const struct options *options, struct out *out); /* explain --trace */
/* explain --trace: notes options of reading, which have no effect but for selecting an index. */
void note_read_options(const struct options *options, bool is_index);
/* explain --trace of an index: false, without output, if INPUT is not an index. */
bool walk_index(const struct options *options, struct out *out, int *status);
int cmd_restore(const struct options *options, struct out *out); /* explain --restore */
int cmd_get(const struct options *options, struct out *out);
int cmd_verify(const struct options *options, struct out *out);
int cmd_digest(const struct options *options, struct out *out);
int cmd_convert(const struct options *options, struct out *out);
int cmd_plan(const struct options *options, struct out *out);
int cmd_run(const struct options *options, struct out *out);
int cmd_commit(const struct options *options, struct out *out);
int cmd_abort(const struct options *options, struct out *out);
int cmd_diff(const struct options *options, struct out *out);
int cmd_decode(const struct options *options, struct out *out);
int cmd_explain_tokens(const struct options *options, struct out *out); /* explain --tokens */
int cmd_stats(const struct options *options, struct out *out);
int cmd_scan(const struct options *options, struct out *out);
int cmd_tree(const struct options *options, struct out *out);
int cmd_train(const struct options *options, struct out *out);
int cmd_encode(const struct options *options, struct out *out);
int cmd_join(const struct options *options, struct out *out);
int cmd_count(const struct options *options, struct out *out);
int cmd_help(const struct options *options, struct out *out);
int cmd_completion(const struct options *options, struct out *out);
void help_verb(struct out *out, const struct verb *verb);

#endif
