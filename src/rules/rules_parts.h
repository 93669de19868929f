/* rules_parts.h: what the files of the parser share: tokens, the reader, and its steps. */
#ifndef HEFT_RULES_PARTS_H
#define HEFT_RULES_PARTS_H

#include "base/map.h"
#include "heft/load.h"
#include "rules/rules_program.h"

enum {
    HEFT_RULES_TERMS = 64,        /* numbers, names and operators of an expression as written */
    HEFT_RULES_DERIVED = 256,     /* the same of an expression that the parser derives */
    HEFT_RULES_SLOTS = 32,        /* placeholders of a rule; a pattern's are a mask of 32 bits */
    HEFT_RULES_SIZES = 256,       /* names in the shapes of a rule */
    HEFT_RULES_VARIABLES = 1000,  /* of a file */
    HEFT_RULES_WORDS = 4096,      /* of a set */
    HEFT_RULES_DIGITS = 18,       /* of {L:18} */
    HEFT_RULES_PATTERN = 1000,    /* bytes of a regular expression */
    HEFT_RULES_REPEATS = 1000,    /* product of the counts of a{2,5} in a regular expression */
    HEFT_RULES_GROUPS = 20,       /* depth of its groups */
    HEFT_RULES_MEMORY = 256 << 20 /* bytes of a program */
};
#define HEFT_RULES_END (UINT64_C(1) << 63) /* numbers are below this */

/* ---- rules_lexer.c ------------------------------------------------------------------------------- */

enum heft_token_kind {
    HEFT_TOKEN_END, /* of the statement */
    HEFT_TOKEN_WORD,
    HEFT_TOKEN_QUOTED,
    HEFT_TOKEN_SHAPE, /* text from '[' to ']'; comments are blanks, lines are kept */
    HEFT_TOKEN_COMMA,
    HEFT_TOKEN_BAR,
    HEFT_TOKEN_EQUALS /* after heft_lexer_words */
};
struct heft_rules_token {
    uint8_t kind;
    uint32_t line;
    struct heft_str text; /* a quoted one decoded, in the arena; others borrowed */
};
struct heft_rules_lexer {
    const struct heft_rules *rules; /* its text is read */
    struct heft_error *err;
    size_t at;
    uint32_t line;
    bool splits_equals; /* '=' ends words */
};
/* Refuses what is no text of rules anywhere: NUL, bad UTF-8, control characters; and skips a byte order mark. */
HEFT_CHECKED bool heft_lexer_begin(struct heft_rules_lexer *lexer, const struct heft_rules *rules,
                                   struct heft_error *err);
/* Moves to the next statement; *more is false at the end of the text. */
HEFT_CHECKED bool heft_lexer_statement(struct heft_rules_lexer *lexer, bool *more);
HEFT_CHECKED bool heft_lexer_next(struct heft_rules_lexer *lexer, struct heft_rules_token *out);
/* The same for a word that ends at blanks only, and may have any signs. */
HEFT_CHECKED bool heft_lexer_raw(struct heft_rules_lexer *lexer, struct heft_rules_token *out);

/* ---- rules_reader.c ------------------------------------------------------------------------------- */

/* The program while it is read: the arrays grow in the arena. */
struct heft_rules_reader {
    struct heft_rules *rules;
    struct heft_arena *mem;
    struct heft_error *err;
    struct heft_rules_lexer lexer;
    struct heft_rules_token token; /* the next one, not taken yet */
    struct heft_stage *stage;      /* the last stage */
    struct heft_rename *renames;   /* its own */
    struct heft_remap *mappings;   /* its own */
    struct heft_stage *stages;
    struct heft_word_set *words;
    struct heft_variable *variables; /* by first mention; line 0: not defined yet */
    uint32_t *mentioned;             /* line of the first mention */
    struct heft_strmap variable_names, word_names;
    uint32_t n_rules;    /* mappings and renames of all stages */
    uint32_t title_line; /* 0: no title yet */
    uint32_t then_line;  /* of the last `then` */
};
/* Takes the next token: reader->token. */
HEFT_CHECKED bool heft_reader_advance(struct heft_rules_reader *r);
/* "found X, expected Y" at the line of the next token. Always returns false. */
bool heft_reader_expected(const struct heft_rules_reader *r, const char *what);
/* The array with room for one more item behind the n that it has; NULL on failure. Capacity doubles. */
HEFT_CHECKED void *heft_reader_room(struct heft_arena *mem, void *items, size_t n, size_t each,
                                    struct heft_error *err);
static inline bool heft_reader_is_word(const struct heft_rules_reader *r, const char *word)
{
    return r->token.kind == HEFT_TOKEN_WORD && heft_str_is(r->token.text, word);
}
/* Index of a variable that is mentioned or defined. */
HEFT_CHECKED bool heft_reader_variable(struct heft_rules_reader *r, struct heft_str name,
                                       uint32_t line, uint32_t *index);
/* Length of the identifier at the begin of the text, [A-Za-z_][A-Za-z0-9_]*; 0 if there is none. */
size_t heft_identifier_length(struct heft_str text);
/* A number below 2^63, digits only. */
HEFT_CHECKED bool heft_reader_number(const struct heft_rules_reader *r, struct heft_str text,
                                     uint32_t line, uint64_t *out);
/* Length that an error shows of a text. */
static inline int heft_rules_shown(struct heft_str text)
{
    return (int)(text.n < 100 ? text.n : 100);
}

/* ---- rules_rename.c, rules_let.c, rules_move.c: statements after their first word ------------------- */

HEFT_CHECKED bool heft_reader_rename(struct heft_rules_reader *r, bool optional);
HEFT_CHECKED bool heft_reader_let(struct heft_rules_reader *r);
HEFT_CHECKED bool heft_reader_words(struct heft_rules_reader *r);
HEFT_CHECKED bool heft_reader_drop(struct heft_rules_reader *r, enum heft_remap_kind kind);
HEFT_CHECKED bool heft_reader_move(struct heft_rules_reader *r, bool optional);
/* rules_let.c: all variables are defined, and none needs itself. */
HEFT_CHECKED bool heft_reader_check_variables(struct heft_rules_reader *r);

/* ---- rules_expr.c ----------------------------------------------------------------------------------- */

/* Shunting-yard algorithm, fed with pieces of text, none of which ends within a number or a name. */
struct heft_expr_parser {
    struct heft_rules_reader *reader;
    struct heft_remap *mapping; /* names are added to its sizes; NULL: names are not allowed */
    struct heft_term terms[HEFT_RULES_TERMS];
    char pending[3 * HEFT_RULES_DEPTH + 3]; /* operators and open parentheses */
    uint32_t n, n_pending, depth, line;
    bool has_operand; /* an operand was read last; an operator or the end may follow */
};
void heft_expr_begin(struct heft_expr_parser *p, struct heft_rules_reader *r,
                     struct heft_remap *mapping, uint32_t line);
HEFT_CHECKED bool heft_expr_feed(struct heft_expr_parser *p, struct heft_str text, uint32_t line);
HEFT_CHECKED bool heft_expr_end(struct heft_expr_parser *p, struct heft_expr *out);
HEFT_CHECKED bool heft_expr_parse(struct heft_rules_reader *r, struct heft_remap *mapping,
                                  struct heft_str text, uint32_t line, struct heft_expr *out);
/* Parses the text of a shape, with its brackets. */
HEFT_CHECKED bool heft_expr_shape(struct heft_rules_reader *r, struct heft_remap *mapping,
                                  const struct heft_rules_token *token, struct heft_pattern *out);

/* ---- rules_names.c ---------------------------------------------------------------------------------- */

/* Parses a name with placeholders, which are added to the slots of the mapping. */
HEFT_CHECKED bool heft_name_parse(struct heft_rules_reader *r, struct heft_remap *mapping,
                                  struct heft_str text, uint32_t line, uint8_t side,
                                  struct heft_template *out);
/* Parses @{s}. */
HEFT_CHECKED bool heft_name_file_slot(struct heft_rules_reader *r, struct heft_remap *mapping,
                                      const struct heft_rules_token *token, uint32_t *slot);

/* ---- rules_ops.c ------------------------------------------------------------------------------------ */

/* Parses an op after its bar. */
HEFT_CHECKED bool heft_op_parse(struct heft_rules_reader *r, struct heft_remap *mapping,
                                struct heft_rule_op *out);
/* Its name, for messages. */
const char *heft_op_name(enum heft_rule_op_kind kind);

/* ---- rules_check.c, rules_levels.c, rules_symbolic.c: after all is read ------------------------------ */

/* Completes and checks a mapping of any kind. */
HEFT_CHECKED bool heft_remap_check(struct heft_rules_reader *r, struct heft_remap *mapping);
/* Whether a name that is read says @{s}. */
bool heft_stages_have_file_slots(const struct heft_rules *rules);
/* What each join and divide works on; the number of tensors fits both sides. */
HEFT_CHECKED bool heft_remap_check_levels(struct heft_rules_reader *r, struct heft_remap *mapping);
/* Ranks as far as shapes tell them; the shape before each reshape, for the way back. */
HEFT_CHECKED bool heft_remap_check_shapes(struct heft_rules_reader *r, struct heft_remap *mapping);
/* Names of sizes: those of ops must be known from the side that is read. */
HEFT_CHECKED bool heft_remap_check_sizes(struct heft_rules_reader *r,
                                         const struct heft_remap *mapping);

static inline struct heft_rule_op *heft_remap_ops(struct heft_remap *mapping)
{
    return (struct heft_rule_op *)(uintptr_t)
        mapping->ops; /* owned by the reader until it is done */
}
static inline bool heft_op_joins(enum heft_rule_op_kind kind)
{
    return kind == HEFT_RULE_OP_CAT || kind == HEFT_RULE_OP_STACK || kind == HEFT_RULE_OP_SAME;
}
static inline bool heft_op_divides(enum heft_rule_op_kind kind)
{
    return kind == HEFT_RULE_OP_SPLIT || kind == HEFT_RULE_OP_UNSTACK || kind == HEFT_RULE_OP_COPY;
}

/* ---- rules_json.c ------------------------------------------------------------------------------------ */

enum { HEFT_RULES_JSON = 1 << 20 }; /* bytes of a json file */
struct heft_json_lookup {
    uint64_t value;
    bool is_found; /* else there is no such file, no such key, or its value is null */
    const char
        *missing; /* "there is no file config.json", if it is not found; static or in the arena */
};
/* Looks up a number by a path of keys, in a file beside `input` (or in it, if it is a directory). HEFT_USAGE with
 * the line of the variable for what is no whole number; HEFT_MALFORMED, HEFT_LIMIT and HEFT_IO of the file. */
HEFT_CHECKED bool heft_json_lookup(struct heft_variables *variables,
                                   const struct heft_variable *variable,
                                   struct heft_json_lookup *out, struct heft_error *err);

/* ---- the presets, compiled in (cmake/presets.cmake) --------------------------------------------------- */

extern const struct heft_preset heft_presets[];
extern const size_t heft_presets_count;

#endif
