/* zero.h: a checkpoint of DeepSpeed ZeRO while it is read; private to ranks/.
 *
 *     zero.c            the steps of opening, notes, the format
 *     zero_files.c      names of files, and the rows and values of each file
 *     zero_meta.c       names and shapes of the parameters, from the values
 *     zero_merge.c      rows of the result
 *     zero_optimizer.c  the optimizer's moments
 *     zero_universal.c  folders of ds_to_universal
 *     zero_locate.c     finding such directories */
#ifndef HEFT_ZERO_H
#define HEFT_ZERO_H

#include "core/registry.h"

#define HEFT_ZERO_OPTIMIZER "optimizer" /* option of reading: adds the moments */

/* ---- zero_files.c: names ---- */

enum heft_zero_kind {
    HEFT_ZERO_OTHER,
    HEFT_ZERO_MODEL,   /* …_model_states.pt */
    HEFT_ZERO_OPTIM,   /* …_optim_states.pt */
    HEFT_ZERO_FOREIGN, /* of a kind of parallelism that needs rules: see `why` */
};
struct heft_zero_name {
    enum heft_zero_kind kind;
    bool is_partitioned; /* begins with zero_pp_rank_R */
    uint32_t rank;       /* R; 0 if it has none */
    const char *why;     /* FOREIGN: "tensor parallelism"; static */
};
struct heft_zero_name heft_zero_judge(const char *name);
/* Name of the model file to open for a list of names: that of stages 0 to 2, or rank 0's; NULL if there
 * is none. HEFT_UNSUPPORTED in *err if the list has a FOREIGN name beside such files. */
const char *heft_zero_entry(const char *const *names, size_t n, struct heft_error *err);

/* ---- zero_files.c: contents ---- */

struct heft_zero_file {
    const char *name; /* in the directory */
    uint32_t rank;
    uint32_t source;
    struct heft_row *rows; /* in scratch */
    size_t n_rows;
    struct heft_strmap by_name;
    const struct heft_value *values; /* NULL if it has none */
};

/* A parameter of param_shapes or frozen_param_shapes. */
struct heft_zero_param {
    struct heft_str name; /* in the model's memory */
    const uint64_t *shape;
    uint64_t n;       /* number of elements */
    uint64_t padding; /* elements behind it in its group's vector */
    uint32_t group;
    uint8_t rank;
};
struct heft_zero_params {
    struct heft_zero_param *list;
    size_t n, cap;
};

struct heft_zero {
    struct heft_model *model;
    uint32_t source;                 /* the entry: the model file that was found */
    size_t first_row, first_storage; /* of the model: those before are of other inputs */
    struct heft_arena scratch;
    struct heft_zero_file *models, *optims; /* ascending by rank */
    uint32_t n_models, n_optims;
    uint32_t stage;
    uint32_t n_groups; /* param groups, of param_shapes */
    struct heft_zero_params params, frozen;
    struct heft_strmap named; /* names of rows of the result, and of shared parameters */
    uint64_t budget;          /* boxes that may still be made */
    uint64_t decoded;         /* bytes of buffers that were cast to F32 */
    struct heft_buf text;     /* for making names */
    bool wants_optimizer;
    struct heft_error *err;
};

/* Lists the directory of the entry: models and optims, without their contents. */
HEFT_CHECKED bool heft_zero_list(struct heft_zero *z);
/* Reads a file: its rows and values move from the model to `file`. The path is relative to the
 * directory; for the entry itself it is its own name. */
HEFT_CHECKED bool heft_zero_read(struct heft_zero *z, struct heft_zero_file *file,
                                 const char *path);
void heft_zero_release_files(struct heft_zero *z);
/* The row of a name; NULL if there is none. */
const struct heft_row *heft_zero_row(const struct heft_zero_file *file, struct heft_str name);
/* The same for the name in z->text, which is empty afterwards. False if memory ran out. */
HEFT_CHECKED bool heft_zero_row_text(struct heft_zero *z, const struct heft_zero_file *file,
                                     const struct heft_row **out);
/* The same for PREFIX + name. False if memory ran out. */
HEFT_CHECKED bool heft_zero_row_below(struct heft_zero *z, const struct heft_zero_file *file,
                                      const char *prefix, struct heft_str name,
                                      const struct heft_row **out);
/* HEFT_MALFORMED about a file; always false. */
bool heft_zero_refuse(struct heft_zero *z, const struct heft_zero_file *file, const char *format,
                      ...) HEFT_PRINTF(3, 4);

/* ---- zero_meta.c ---- */

/* The member of that name of a dict or object; NULL if there is none, or `in` is NULL. */
const struct heft_value *heft_zero_member(const struct heft_value *in, const char *name);
/* Whether a value is a list or tuple, which are children in order. */
static inline bool heft_zero_is_list(const struct heft_value *v)
{
    return v && (v->kind == HEFT_VALUE_LIST || v->kind == HEFT_VALUE_TUPLE);
}
static inline struct heft_str heft_zero_key(const struct heft_value *v)
{
    return (struct heft_str){v->key, v->key_len};
}
/* An integer that is not negative. */
static inline bool heft_zero_number(const struct heft_value *v, uint64_t *out)
{
    if (!v || v->kind != HEFT_VALUE_INT || v->as.integer < 0)
        return false;
    *out = (uint64_t)v->as.integer;
    return true;
}
/* Stage and number of ranks, from rank 0's optimizer file; checks that all files agree. */
HEFT_CHECKED bool heft_zero_read_stage(struct heft_zero *z);
/* params and frozen, from rank 0's model file. */
HEFT_CHECKED bool heft_zero_read_params(struct heft_zero *z);

/* ---- zero_merge.c ---- */

/* Adds a row of a file under another name. */
HEFT_CHECKED bool heft_zero_add_whole(struct heft_zero *z, const struct heft_row *row,
                                      struct heft_str name);
/* Buffers of rank 0, floats as F32. */
HEFT_CHECKED bool heft_zero_add_buffers(struct heft_zero *z);
HEFT_CHECKED bool heft_zero_add_frozen(struct heft_zero *z);
/* Tensors of `module` that are named nowhere else: frozen parameters of stage 1. */
HEFT_CHECKED bool heft_zero_add_unnamed(struct heft_zero *z);
HEFT_CHECKED bool heft_zero_add_params(struct heft_zero *z);
/* Shared parameters, as ties. */
HEFT_CHECKED bool heft_zero_add_shared(struct heft_zero *z);
/* Names that other steps add: those of `params`, or of frozen and shared parameters. They are not those
 * of heft_zero_add_unnamed. */
HEFT_CHECKED bool heft_zero_reserve_params(struct heft_zero *z,
                                           const struct heft_zero_params *params);
HEFT_CHECKED bool heft_zero_reserve_names(struct heft_zero *z);

/* Vectors of one kind (weights, exp_avg), one for each rank and group. */
struct heft_zero_vectors {
    const struct heft_row **rows; /* n_optims × n_groups, by rank; NULL where a group has none */
    uint32_t n_groups;            /* groups of vectors: in stage 3 more than param groups */
    const char *what;             /* "fp32_flat_groups"; its tensors are numbered … */
    const char *key; /* … and, if this is not NULL, have this name below the number */
    bool is_padded;  /* may be longer than the parameters need */
};
/* The rows "optimizer_state_dict.WHAT.G" or "….G.KEY" of all files. */
HEFT_CHECKED bool heft_zero_collect(struct heft_zero *z, struct heft_zero_vectors *out);
/* Adds the parameters' rows from vectors, named PREFIX + name + SUFFIX. */
HEFT_CHECKED bool heft_zero_cut(struct heft_zero *z, const struct heft_zero_vectors *from,
                                const char *prefix, const char *suffix);

/* ---- zero_optimizer.c ---- */

/* Adds the moments, or a note that they are left out. */
HEFT_CHECKED bool heft_zero_add_optimizer(struct heft_zero *z);

/* ---- zero_universal.c ---- */

/* Whether the directory of the entry is universal: zero/NAME/fp32.pt. */
HEFT_CHECKED bool heft_zero_is_universal(struct heft_zero *z, bool *is_it);
HEFT_CHECKED bool heft_zero_read_universal(struct heft_zero *z);

/* ---- zero_locate.c ---- */

extern const struct heft_locator heft_zero_locator;

#endif
