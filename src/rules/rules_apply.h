/* rules_apply.h: rows through a program: what the files rules_apply*.c share.
 *
 *     rows ─► renames ─► each row to a mapping ─► groups ─► ops ─► rows of the next stage
 *             (stage)    (_match.c, _index.c)     (_groups.c, _ops.c)
 *
 * Linear in the number of rows but for sorting: mappings are found by the text before their first placeholder
 * or behind their last one. No data is read. */
#ifndef HEFT_RULES_APPLY_H
#define HEFT_RULES_APPLY_H

#include "core/ruling.h"
#include "core/shaping.h"
#include "rules/rules_program.h"

/* A tensor between two stages. */
struct heft_live {
    struct heft_str name; /* NUL-terminated */
    const struct heft_row *row;
    /* the row that it is a view of as a whole, unchanged: tensors with the same one are tied */
    const struct heft_row *identity;
    const uint32_t *sources; /* indexes in the request's rows, ascending */
    uint32_t n_sources;
    uint32_t number; /* of the input file */
    uint32_t line;   /* of the rule that made it; 0: none did */
    const char *file;
    bool is_also; /* a further name of the one before it that is not */
};
struct heft_live_list {
    struct heft_live *items; /* for heft_free */
    size_t n, cap;
};

/* One of the names of a mapping that take rows. */
struct heft_taker {
    uint32_t mapping, pattern; /* index in `left`, or … */
    bool is_equal;             /* … in `equal` */
};

/* Index of the takers of a stage; see _index.c. */
struct heft_taker_index {
    struct heft_taker *list; /* in the order of the file */
    size_t n;
    struct heft_strmap prefixes, suffixes;   /* text → first taker with it */
    uint32_t *next;                          /* the next one with the same text; HEFT_NONE */
    size_t *prefix_lengths, *suffix_lengths; /* distinct, ascending */
    size_t n_prefix_lengths, n_suffix_lengths;
    uint32_t *found; /* takers that may take a name, ascending */
    size_t n_found;
};

/* What became of a row of the stage. */
struct heft_taken {
    struct heft_taker by;
    bool is_taken;
    struct heft_slot_value *values; /* of the mapping's slots that are in the name */
    uint32_t group;                 /* HEFT_NONE: none, it is kept or dropped */
    uint32_t next;                  /* the next row of the group; HEFT_NONE */
};

/* Rows of a mapping with equal values of the placeholders that are on both sides. */
struct heft_group {
    uint32_t mapping;
    uint32_t first, last; /* rows, linked by `next` */
    uint32_t n;
    struct heft_slot_value *values;
};

/* A stage while it runs. */
struct heft_stage_run {
    const struct heft_rules *rules;
    const struct heft_stage *stage;
    struct heft_variables *variables;
    struct heft_arena *mem;    /* of results */
    struct heft_arena scratch; /* of the stage */
    struct heft_live_list in, out;
    struct heft_strmap names; /* name → first row of that name … */
    uint32_t *same_name;      /* … and from there to the next one, of another input file */
    struct heft_taker_index index;
    struct heft_taken *taken; /* one for each row of `in` */
    struct heft_group *groups;
    size_t n_groups, cap_groups;
    struct heft_strmap keys; /* mapping and values → group */
    uint64_t *uses;          /* rows that each mapping took */
    uint32_t *near;          /* for each mapping a row of which only the name suits; HEFT_NONE */
    struct heft_binding *bindings;  /* room for the most sizes of a mapping */
    struct heft_shape_pair *pairs;  /* room for a name and the most companions */
    struct heft_equal_rows **equal; /* pairs of the whole run, appended to */
    size_t *n_equal, *cap_equal;
    struct heft_buf dropped; /* names that `drop` took, for a note */
    size_t n_dropped;
    uint64_t n_changed; /* rows renamed, groups made */
    struct heft_error *err;
};

/* ---- rules_apply_index.c ---- */

HEFT_CHECKED bool heft_taker_index_make(struct heft_taker_index *index,
                                        const struct heft_stage *stage, struct heft_arena *mem,
                                        struct heft_error *err);
/* Sets found[0 … n_found-1]: all takers whose fixed texts suit the name, in the order of the file. */
void heft_taker_index_find(struct heft_taker_index *index, const struct heft_stage *stage,
                           struct heft_str name);
void heft_taker_index_release(struct heft_taker_index *index);
const struct heft_pattern *heft_taker_pattern(const struct heft_stage *stage,
                                              const struct heft_taker *taker);

/* ---- rules_apply_match.c ---- */

/* Finds the mapping of each row, and the groups. */
HEFT_CHECKED bool heft_stage_match(struct heft_stage_run *run);
/* Row of that name, of the input file `number` if there are several; HEFT_NONE. */
uint32_t heft_stage_find(const struct heft_stage_run *run, struct heft_str name, uint32_t number);

/* ---- rules_apply_groups.c ---- */

/* A group in order: of each name on the left the rows by their gathered number. */
struct heft_group_rows {
    const struct heft_remap *mapping;
    const struct heft_group *group;
    uint32_t *rows; /* indexes of rows: n_names times n_numbers */
    uint32_t n_names, n_numbers;
};
/* Appends the results of a group to run->out. */
HEFT_CHECKED bool heft_group_run(struct heft_stage_run *run, const struct heft_group *group);

/* ---- rules_apply_ops.c ---- */

/* Tensors while ops apply to them: n_names times n_numbers. */
struct heft_grid {
    struct heft_shaping *list; /* for heft_free */
    uint32_t n_names, n_numbers;
};
HEFT_CHECKED bool heft_grid_open(struct heft_grid *grid, struct heft_stage_run *run,
                                 const struct heft_group_rows *rows);
HEFT_CHECKED bool heft_grid_apply(struct heft_grid *grid, struct heft_stage_run *run,
                                  const struct heft_group_rows *rows);
void heft_grid_release(struct heft_grid *grid);

/* ---- rules_apply_stage.c ---- */

/* Runs a stage: replaces run->in by its results. */
HEFT_CHECKED bool heft_stage_apply(struct heft_stage_run *run);
HEFT_CHECKED bool heft_live_add(struct heft_stage_run *run, const struct heft_live *live);
/* "FILE:LINE: tensor NAME: " before the text of *err, whose code stays. Always returns false. */
bool heft_stage_blame(const struct heft_stage_run *run, uint32_t line, struct heft_str name);
/* "[2, 3]", in the scratch arena; "" if memory is short. */
const char *heft_shape_text(struct heft_stage_run *run, const uint64_t *shape, unsigned rank);
/* Adds a pair of rows that must be equal, unless they are one. */
HEFT_CHECKED bool heft_stage_pair(struct heft_stage_run *run, uint32_t a, uint32_t b,
                                  uint32_t line);

#endif
