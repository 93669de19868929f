/* ruling.h: rows that a conversion makes of other rows by rules files: names and layouts of one framework
 * as those of another.
 *
 *     items, selected and renamed   layers.0.wq.weight, file 0   layers.0.wq.weight, file 1
 *     ruled rows, in parts or       model.layers.0.self_attn.q_proj.weight
 *     views of the same storages
 *
 * A conversion with rules files works on the ruled model, a copy of the opened one with other rows, as one
 * that dequantizes works on the derived model. No data is read. Core knows no rules: the language is in
 * src/rules, and is passed in the table of formats. */
#ifndef HEFT_RULING_H
#define HEFT_RULING_H

#include "core/equal_rows.h"
#include "core/export_list.h"

/* A tensor that rules apply to. */
struct heft_ruler_row {
    struct heft_str name;       /* below the root, renamed, without "@K"; NUL-terminated */
    const struct heft_row *row; /* several tied names may have the same one */
    uint32_t number;            /* of its input file, from 0 on; 0 unless names are numbered */
};

/* Options are struct heft_rule of the kinds HEFT_RULE_FILE and HEFT_RULE_SET; others are ignored. */
struct heft_ruler_request {
    const struct heft_model *model;
    const struct heft_rule *rules;
    size_t n_rules;
    const struct heft_ruler_row *rows;
    size_t n;
    bool is_strict;         /* rules files without effect are errors */
    struct heft_arena *mem; /* of the result */
};

/* Origin of a ruled row. */
struct heft_ruled_from {
    const uint32_t *sources; /* indexes in the request's rows, ascending */
    uint32_t n;
    uint32_t line;
    const char *file; /* the rules file as given */
};

/* Another name of a ruled row. */
struct heft_ruled_tie {
    struct heft_str name; /* NUL-terminated */
    size_t row;
};

/* The result. Names are unique, those of ties included. All is in the request's arena. */
struct heft_ruling {
    struct heft_row *rows; /* `bytes` and `name` are set */
    struct heft_ruled_from *from;
    size_t n;
    struct heft_ruled_tie *ties;
    size_t n_ties;
    struct heft_equal_rows *pairs; /* of equal shape; compared by those who read data */
    size_t n_pairs;
    const char **notes; /* for the user */
    size_t n_notes;
    const char **files; /* paths of the files that were read: rules, and JSON beside the input */
    size_t n_files;
};

/* The language as one object. */
struct heft_ruler {
    /* HEFT_USAGE, whose text begins with FILE:LINE, for an error in a rules file, and for one in the way
     * that its rules fit the rows. */
    bool (*apply)(const struct heft_ruler_request *request, struct heft_ruling *out,
                  struct heft_error *err);
    /* Whether a rules file expects the numbers of input files. */
    bool (*numbers)(const struct heft_files *files, const struct heft_rule *rules, size_t n_rules,
                    bool *numbered, struct heft_error *err);
    /* Rules files of the library, by name; false past the end. Texts are static. */
    bool (*preset)(size_t index, struct heft_rules_preset *out);
};

/* A model with ruled rows. */
struct heft_ruled {
    struct heft_model model;
    struct heft_ruling ruling;
    const struct heft_ruler_row *before; /* the rows that the rules applied to */
    const char **names;                  /* their names in the source */
    const char **texts;                  /* names of the sources of each ruled row … */
    size_t *begins;                      /* … from texts[begins[i]] up to texts[begins[i + 1]] */
};

/* Whether there are rules files among the rules. */
bool heft_ruling_is_asked(const struct heft_rule *rules, size_t n_rules);
/* A copy of the rules without casts, which match the names that rules files give; in `mem`. NULL on failure. */
HEFT_CHECKED const struct heft_rule *heft_ruling_without_casts(const struct heft_rule *rules,
                                                               size_t *n, struct heft_arena *mem,
                                                               struct heft_error *err);
/* Applies rules files to the items of an export list, and makes the ruled model; valid as long as the list's
 * model. Release it, also on failure. */
HEFT_CHECKED bool heft_ruled_make(struct heft_ruled *out, const struct heft_export_list *exports,
                                  const struct heft_rule *rules, size_t n_rules, bool is_strict,
                                  struct heft_error *err);
/* Replaces the items by those of the ruled model, ties last, with dtypes by the options. */
HEFT_CHECKED bool heft_ruled_export(const struct heft_ruled *ruled,
                                    struct heft_export_list *exports,
                                    const struct heft_convert_options *options,
                                    struct heft_error *err);
/* The k-th of the rows that a ruled row is made of; NULL past the end. */
const struct heft_row *heft_ruled_source(const struct heft_ruled *ruled, const struct heft_row *row,
                                         size_t k);
void heft_ruled_release(struct heft_ruled *ruled);

#endif
