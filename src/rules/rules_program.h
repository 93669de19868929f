/* rules_program.h: a rules file as a checked program: what the parser makes of the text (doc/rules.md), what
 * turning it round makes of that, and what running it needs: matching and making names, sizes, variables.
 *
 *     text ─► heft_rules_parse ─► struct heft_rules ─► heft_rules_reverse ─► struct heft_rules
 *
 * A program is a list of stages; what leaves one enters the next. A stage renames by regular expressions, then
 * offers each tensor to its mappings, in order. Both directions are run by the same code: a program that was
 * turned round is a program, with a few things that the syntax cannot say (HEFT_RULE_OP_COPY, `equal`).
 *
 * A program is read-only once it is made, and may be shared by threads, but for the regexes of its renames,
 * which have their last match in them. All texts end with a NUL, which is not counted. */
#ifndef HEFT_RULES_PROGRAM_H
#define HEFT_RULES_PROGRAM_H

#include "core/regexes.h"
#include "io/files.h"

/* Limits, all HEFT_LIMIT or HEFT_USAGE with the line. */
enum {
    HEFT_RULES_BYTES = 1 << 20,  /* of a file */
    HEFT_RULES_MAPPINGS = 10000, /* of a file */
    HEFT_RULES_NAMES = 256,      /* names on one side of a mapping */
    HEFT_RULES_DIMS = 64,        /* extents of a shape, arguments of an op */
    HEFT_RULES_OPS = 64,         /* of a mapping */
    HEFT_RULES_DEPTH = 64,       /* of parentheses */
};

#define HEFT_RULES_NONE UINT32_MAX /* no index */

/* ---- expressions ------------------------------------------------------------------------------- */

enum heft_term_kind {
    HEFT_TERM_NUMBER,
    HEFT_TERM_VARIABLE, /* $x: index into rules->variables */
    HEFT_TERM_NAME,     /* a size: index into mapping->sizes */
    HEFT_TERM_ADD,
    HEFT_TERM_SUBTRACT,
    HEFT_TERM_MULTIPLY,
    HEFT_TERM_DIVIDE
};
/* Postfix notation: the right operand of terms[i] ends at i - 1, the left one before that. */
struct heft_term {
    uint8_t kind;
    uint32_t span;   /* number of terms of the operand that ends here */
    uint32_t index;  /* of a variable or a name */
    uint64_t number; /* of HEFT_TERM_NUMBER */
};
struct heft_expr {
    const struct heft_term *terms;
    uint32_t n; /* 0: `_`, any size */
    uint32_t line;
};

/* ---- names ------------------------------------------------------------------------------------- */

/* A set of words: `words ln gamma=weight beta=bias`. */
struct heft_word_set {
    const char *name;
    uint32_t line;
    uint32_t n;
    const struct heft_str *spelling[2]; /* on the left and on the right, in the order of the file */
    const uint32_t *longest[2];         /* the same, as indexes: longest first */
};

enum heft_slot_kind {
    HEFT_SLOT_NUMBER, /* {L}, {L:3}, @{s} */
    HEFT_SLOT_ANY,    /* {p*} */
    HEFT_SLOT_WORD    /* {w} of a set of words */
};
enum heft_slot_use {
    HEFT_SLOT_COMMON,   /* on both sides: rows are grouped by its value */
    HEFT_SLOT_GATHERED, /* on the left only: its values 0 … n-1 are joined */
    HEFT_SLOT_SPREAD    /* on the right only */
};
/* A placeholder of a mapping. */
struct heft_slot {
    const char *name;
    const struct heft_word_set *words; /* of HEFT_SLOT_WORD */
    uint8_t kind, use;
    /* of a gathered or spread one: index of the variable of its name, which says how many there are;
     * HEFT_RULES_NONE */
    uint32_t variable;
};
/* Value of a placeholder in one name. */
struct heft_slot_value {
    uint64_t number;      /* a number, or the index of a word */
    struct heft_str text; /* of HEFT_SLOT_ANY; borrowed from the name, no NUL */
};

struct heft_piece {
    bool is_slot;
    uint8_t digits; /* {L:3}: at least so many digits, with zeros in front; 0 or 1: as it is */
    uint8_t side;   /* of a word: index of its spelling, 0 left, 1 right */
    uint32_t slot;  /* index into mapping->slots */
    struct heft_str text; /* if it is no slot */
};
/* A name with placeholders. No two of them are side by side. */
struct heft_template {
    struct heft_str text; /* as written, for messages */
    const struct heft_piece *pieces;
    uint32_t n_pieces;
    /* Text before the first placeholder and behind the last one; both the whole name if there is none. */
    struct heft_str prefix, suffix;
};

/* NAME @{s} [SHAPE] DTYPE */
struct heft_pattern {
    struct heft_template name;
    uint32_t line;
    uint32_t file_slot; /* slot of @{s}, the number of the input file; HEFT_RULES_NONE: any file */
    bool has_shape;
    uint32_t n_dims;
    const struct heft_expr *shape;
    const char *shape_text; /* as written, "[i, 3*o]"; NULL if there is none */
    int dtype;              /* enum heft_dtype; -1: any */
};

/* ---- rules ------------------------------------------------------------------------------------- */

enum heft_rule_op_kind {
    HEFT_RULE_OP_SQUEEZE,   /* axis */
    HEFT_RULE_OP_UNSQUEEZE, /* axis */
    HEFT_RULE_OP_PERMUTE,   /* order: dimension k of the result is order[k] of the operand */
    HEFT_RULE_OP_TRANSPOSE, /* swaps the dimensions order[0] and order[1] */
    HEFT_RULE_OP_RESHAPE,   /* args: the extents */
    HEFT_RULE_OP_SLICE,     /* axis; args[0]: from, args[1]: to; n = 0 of either: left out */
    HEFT_RULE_OP_REORDER, /* axis; n_order equal blocks: block k of the result is order[k] of the operand */
    /* Join: n tensors become one. */
    HEFT_RULE_OP_CAT,   /* axis; args: shares, which the extents must be proportional to, or none */
    HEFT_RULE_OP_STACK, /* axis */
    HEFT_RULE_OP_SAME,  /* all have the same bytes, and are one */
    /* Divide: one tensor becomes n. */
    HEFT_RULE_OP_SPLIT,   /* axis; args: shares, or none for equal parts */
    HEFT_RULE_OP_UNSTACK, /* axis, whose extent is n */
    HEFT_RULE_OP_COPY     /* n equal tensors; only in a program that was turned round */
};
/* What an op works on. */
enum heft_rule_level {
    HEFT_LEVEL_EACH, /* each tensor by itself */
    HEFT_LEVEL_NUMBER, /* a join: the tensors that differ in the gathered number. A divide: the result is spread */
    HEFT_LEVEL_NAMES /* a join: the names of the left side, in order. A divide: those of the right side */
};
struct heft_rule_op {
    uint8_t kind;
    uint8_t level;
    uint32_t line;
    uint64_t axis;
    const uint64_t *order;
    uint32_t n_order, n_args;
    const struct heft_expr *args;
    /* RESHAPE of a mapping that can be turned round: the shape before. n_before is 0 also for a scalar. */
    uint32_t n_before;
    const struct heft_expr *before;
};

enum heft_remap_kind {
    HEFT_REMAP_DROP, /* left[0]: the tensor is left out */
    HEFT_REMAP_KEEP, /* left[0]: it stays as it is */
    HEFT_REMAP_MOVE
};
/* One rule. */
struct heft_remap {
    uint8_t kind;
    bool optional;  /* may take nothing */
    bool both_ways; /* <=>, drop, keep */
    uint32_t line;
    const struct heft_pattern *left, *right;
    uint32_t n_left, n_right;
    /* Companions of each row of the left side: they must exist, and are not taken. */
    const struct heft_pattern *with;
    uint32_t n_with;
    /* Further names on the left that may be there; then they have the same bytes as left[0] (or are tied
     * to it), and are taken with it. */
    const struct heft_pattern *equal;
    uint32_t n_equal;
    const struct heft_pattern *also; /* further names of right[0]: ties */
    uint32_t n_also;
    const struct heft_pattern *zeros; /* tensors like right[0], all bits zero */
    uint32_t n_zeros;
    const struct heft_rule_op
        *ops; /* in order; what works on each tensor before the joins, then the joins
                                       and divides, and what stands between and behind them */
    uint32_t n_ops;
    const struct heft_slot *slots;
    uint32_t n_slots;
    uint32_t gathered, spread; /* slots; HEFT_RULES_NONE */
    const char *const *sizes;  /* names in shapes and expressions: "i", "o" */
    uint32_t n_sizes;
    const struct heft_pattern *back_with; /* companions on the way back */
    uint32_t n_back_with;
};

struct heft_rename {
    bool optional; /* may take nothing */
    uint32_t line;
    const char *pattern, *replacement;
    struct heft_regex *regex; /* compiled; has the groups of the replacement */
};

struct heft_stage {
    const struct heft_rename *renames; /* before the mappings, in order */
    uint32_t n_renames;
    const struct heft_remap
        *mappings; /* none: every tensor stays as it is. Else each tensor must be taken */
    uint32_t n_mappings;
};

struct heft_variable {
    const char *name; /* without $ */
    uint32_t line;
    bool is_given;           /* given: only --set, or `otherwise` */
    struct heft_expr value;  /* let $x = EXPR; n = 0: none */
    const char *file;        /* json: name beside the first input; NULL: none */
    const char *const *keys; /* json: path of keys */
    uint32_t n_keys;
    struct heft_expr otherwise; /* else EXPR; n = 0: none */
};

struct heft_rules {
    const char *file;     /* as the user named it: the FILE of messages */
    const char *title;    /* "" if there is none */
    struct heft_str text; /* the file's bytes */
    const struct heft_stage *stages;
    uint32_t n_stages;
    const struct heft_variable *variables;
    uint32_t n_variables;
    const struct heft_word_set *words;
    uint32_t n_words;
    bool is_reversed;
    bool has_file_slots; /* a name that is read says @{s}: on the left, after with, drop or keep */
    /* Sentences for the user, "FILE:LINE: …": rules that a program that was turned round leaves out, because
     * they have no way back. */
    const char *const *notes;
    uint32_t n_notes;
    struct heft_arena *mem; /* of all of it */
};

/* ---- rules_reader.c ------------------------------------------------------------------------------ */

/* Parses and checks a text. `file` names it in errors, "FILE:LINE: found, expected": HEFT_USAGE, or HEFT_LIMIT.
 * NULL on failure. The result owns all its memory: heft_rules_free, also of the program's reverse. */
HEFT_CHECKED struct heft_rules *heft_rules_parse(struct heft_str text, const char *file,
                                                 struct heft_error *err);
/* The program turned round, in the memory of `rules`. HEFT_USAGE if it renames, or has no `<=>`. */
HEFT_CHECKED const struct heft_rules *heft_rules_reverse(const struct heft_rules *rules,
                                                         struct heft_error *err);
void heft_rules_free(struct heft_rules *rules);
/* Reads a rules file, or the preset of that name: a word without '/' that does not end in ".rules".
 * HEFT_USAGE for an unknown preset, with similar names. */
HEFT_CHECKED struct heft_rules *heft_rules_open(const struct heft_files *files, const char *name,
                                                struct heft_error *err);
/* Index of the variable; HEFT_RULES_NONE. */
uint32_t heft_rules_variable(const struct heft_rules *rules, const char *name);
/* HEFT_USAGE with "FILE:LINE: " before the text. Always returns false. */
bool heft_rules_refuse(const struct heft_rules *rules, uint32_t line, struct heft_error *err,
                       const char *format, ...) HEFT_PRINTF(4, 5);

/* Appends the tensor that an error is about: "FILE:LINE: …" stays in front. Always returns false. */
bool heft_rules_at_tensor(struct heft_error *err, struct heft_str name);

/* ---- rules_template.c ---------------------------------------------------------------------------- */

/* Matches a whole name against a template: *matches, and values[] of the slots in it (indexes of
 * mapping->slots; others are unchanged). {p*} is as long as possible, of words the longest is tried first.
 * Linear in the name but where words begin alike; HEFT_LIMIT for a name that would take too long. */
HEFT_CHECKED bool heft_template_match(const struct heft_template *name,
                                      const struct heft_slot *slots, struct heft_str text,
                                      struct heft_slot_value *values, bool *matches,
                                      struct heft_error *err);
/* Makes the name from the values of its slots; in the arena, NUL-terminated. */
HEFT_CHECKED bool heft_template_make(const struct heft_template *name,
                                     const struct heft_slot *slots,
                                     const struct heft_slot_value *values, struct heft_arena *mem,
                                     struct heft_str *out, struct heft_error *err);

/* ---- rules_variables.c --------------------------------------------------------------------------- */

/* --set NAME=NUMBER */
struct heft_setting {
    const char *name;
    uint64_t value;
};
/* Values of the variables of one program in one run. Not thread-safe. */
struct heft_variables {
    const struct heft_rules *rules;
    const struct heft_files *files;
    const char
        *input; /* path of the first input, beside (or in) which json files are; NULL: none */
    const struct heft_setting *settings;
    size_t n_settings;
    uint64_t *values; /* looked up so far */
    uint8_t *states;
    struct heft_arena mem;
};
/* Texts and settings are borrowed. Settings of other names are ignored: several programs share them. */
HEFT_CHECKED bool heft_variables_init(struct heft_variables *variables,
                                      const struct heft_rules *rules,
                                      const struct heft_files *files, const char *input,
                                      const struct heft_setting *settings, size_t n_settings,
                                      struct heft_error *err);
void heft_variables_release(struct heft_variables *variables);
/* HEFT_USAGE if it has no value: names the --set to give. */
HEFT_CHECKED bool heft_variables_value(struct heft_variables *variables, uint32_t index,
                                       uint64_t *out, struct heft_error *err);

/* ---- rules_sizes.c ------------------------------------------------------------------------------- */

/* Value of a name of mapping->sizes. */
struct heft_binding {
    uint64_t value;
    bool is_bound;
};
/* A shape that must suit a pattern. */
struct heft_shape_pair {
    const struct heft_pattern *pattern; /* one without shape suits everything */
    const uint64_t *shape;
    uint32_t rank;
};
enum heft_fit {
    HEFT_FIT_NO, /* an extent differs, or a size does not divide */
    HEFT_FIT_YES,
    HEFT_FIT_PARTLY /* so far; expressions are left with names that are not bound */
};
/* Compares shapes with their patterns and binds names, until nothing more can be bound. Names that are
 * bound already must agree. False, with *err, only for an error: a variable without value, or an expression
 * of variables alone that has none. */
HEFT_CHECKED bool heft_sizes_fit(const struct heft_shape_pair *pairs, size_t n,
                                 struct heft_binding *bindings, struct heft_variables *variables,
                                 enum heft_fit *fit, struct heft_error *err);
/* Value of an expression whose names are bound. HEFT_USAGE: a name that is not, a division with a rest, a
 * result below 0 or from 2^63 on. `names`: mapping->sizes, for the message. */
HEFT_CHECKED bool heft_sizes_value(const struct heft_expr *expr,
                                   const struct heft_binding *bindings, const char *const *names,
                                   struct heft_variables *variables, uint64_t *out,
                                   struct heft_error *err);

/* ---- rules_presets.c ----------------------------------------------------------------------------- */

struct heft_preset {
    const char *name, *title;
    struct heft_str text;
};
size_t heft_preset_count(void);
/* In the order of their names; NULL past the end. */
const struct heft_preset *heft_preset_at(size_t index);
const struct heft_preset *heft_preset_find(const char *name); /* NULL if unknown */
/* Whether the name of a rules file is that of a preset: no '/', and no ".rules" at its end. */
bool heft_preset_is_name(const char *name);
/* HEFT_USAGE: the preset is unknown; with similar names. Always returns false. */
bool heft_preset_refuse(const char *name, struct heft_error *err);

#endif
