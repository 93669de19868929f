/* tf_restore.h: traces how a SavedModel restores its checkpoint, as LoadSavedModel would, from the
 * graph and the object graph. Nothing is executed.
 *
 *     heft_tf_restore_open     chooses a metagraph by its tags and follows its restore op
 *     heft_tf_restore_judge    compares the result with the checkpoint: findings
 *     heft_tf_restore_close
 *
 * All results live in the arena of the struct. */
#ifndef HEFT_TF_RESTORE_H
#define HEFT_TF_RESTORE_H

#include "core/registry.h"
#include "format/tensorflow/graph/tf_document.h"
#include "wire/tensor_slice.h"

#define HEFT_TF_CALL_DEPTH 64 /* most functions that may call one another */
#define HEFT_TF_OBJECT_KEY "_CHECKPOINTABLE_OBJECT_GRAPH"

/* A name that a restore op reads. */
struct heft_tf_name {
    struct heft_str key,
        spec;        /* spec: "" for the whole tensor, else shape and slice: "7 3 0,3:0,3" */
    uint32_t dtype;  /* DataType requested by the op; 0 if not stated */
    uint32_t number; /* index among the names of its op */
    uint32_t takers; /* targets that receive the value */
};

/* One execution of a restore op. */
struct heft_tf_read {
    struct heft_str node;
    uint64_t where;
    struct heft_tf_name *names;
    uint32_t n;
};

/* Receives a value of the checkpoint: a variable, or the keys or values of a table. */
struct heft_tf_target {
    struct heft_str variable; /* for people: shared_name, else the name of the node */
    struct heft_str node, op; /* node that holds the value; "" if not found */
    struct heft_str by;       /* node that assigns the value */
    const char *role;         /* for tables "keys" or "values"; else "" */
    const struct heft_tf_name *name;
    struct heft_str object; /* path in the object graph; "" if it is in none */
    uint64_t where;         /* position of `by` */
    uint32_t dtype;         /* dtype of the node; 0 if not stated */
    struct heft_tf_shape shape;
    bool has_shape;
    bool is_cast, is_reshaped; /* operations between the restore op and the assignment */
};

/* As in the public API (inspect.h); text is in the arena. */
struct heft_tf_step {
    enum heft_restore_kind kind;
    unsigned depth;
    struct heft_str node, op, function;
    uint64_t where;
    const char *text;
    const struct heft_tf_name *name; /* name that a step NAME reads */
    uint32_t target;                 /* index in targets for a step ASSIGN; else HEFT_NONE */
};

struct heft_tf_finding {
    enum heft_severity severity;
    uint32_t source;
    uint64_t where;
    const char *text; /* escaped for a terminal */
};

struct heft_tf_restore {
    const struct heft_model *model;
    const struct heft_tf_saved *saved;
    struct heft_tf_graph *graph;
    uint32_t source; /* the file of the SavedModel */
    size_t number;   /* position of the metagraph, from 0 */
    struct heft_arena mem;
    struct heft_tf_step *steps;
    struct heft_tf_read *reads;
    struct heft_tf_target *targets;
    struct heft_tf_finding *findings;
    size_t n_steps, n_reads, n_targets, n_findings;
    size_t cap_steps, cap_reads, cap_targets, cap_findings;
    uint64_t n_names; /* number of names in all reads */
    struct heft_error *err;
};

/* Follows the restore op of metagraph `number`, and the steps before and after it. `saved` must
 * outlive *r. Close *r also on failure. */
HEFT_CHECKED bool heft_tf_restore_open(struct heft_tf_restore *r, const struct heft_model *model,
                                       uint32_t source, const struct heft_tf_saved *saved,
                                       size_t number, struct heft_error *err);
void heft_tf_restore_close(struct heft_tf_restore *r);
/* Finds the metagraph with these tags ("serve,gpu"); NULL: the only one. HEFT_USAGE if none or
 * several match, listing them. */
HEFT_CHECKED bool heft_tf_restore_choose(const struct heft_tf_saved *saved, const char *tags,
                                         size_t *number, struct heft_error *err);
/* Adds findings and notes for what does not match. The model is validated. Sets used[row] = 1 for
 * each row that the graph or the objects read. */
HEFT_CHECKED bool heft_tf_restore_judge(struct heft_tf_restore *r, uint8_t *used);
/* Adds findings for keys that no metagraph reads; call it after all metagraphs were judged. */
HEFT_CHECKED bool heft_tf_restore_unused(struct heft_tf_restore *r, const uint8_t *used);
/* True if a bundle lies beside it. */
bool heft_tf_restore_has_checkpoint(const struct heft_tf_restore *r);
/* The source of a model that is a SavedModel or a single graph; HEFT_NONE if there is none. */
uint32_t heft_tf_restore_source(const struct heft_model *model);

/* ---- shared by the tf_restore*.c files ---- */

/* Follows the restore op and records its steps, reads and targets. */
HEFT_CHECKED bool heft_tf_restore_walk(struct heft_tf_restore *r);

/* ---- tf_restore_record.c ---- */

HEFT_CHECKED bool heft_tf_restore_step(struct heft_tf_restore *r, const struct heft_tf_step *step);
/* HEFT_LIMIT if it takes more memory than a file of this size may. */
HEFT_CHECKED bool heft_tf_restore_weigh(const struct heft_tf_restore *r, uint64_t where);
/* Formats a text in the arena, safe for a terminal; NULL if out of memory. */
const char *heft_tf_restore_text(struct heft_tf_restore *r, const char *format, ...)
    HEFT_PRINTF(2, 3);
HEFT_CHECKED bool heft_tf_restore_find(struct heft_tf_restore *r, enum heft_severity severity,
                                       uint64_t where, const char *format, ...) HEFT_PRINTF(4, 5);

/* ---- tf_restore_names.c ---- */

struct heft_tf_strings {
    struct heft_str *list;
    uint64_t count; /* elements of the tensor */
    uint32_t n;     /* items in list: at most as many as requested */
};
/* Reads the first `most` elements of a string TensorProto. HEFT_MALFORMED if it is not one. */
HEFT_CHECKED bool heft_tf_strings_read(const struct heft_proto_doc *doc, struct heft_tf_range at,
                                       uint32_t most, struct heft_arena *mem,
                                       struct heft_tf_strings *out, struct heft_error *err);

/* A parsed shape_and_slices entry: the full shape, and the slice of it that is read. */
struct heft_tf_spec {
    uint64_t shape[HEFT_SLICE_RANK], start[HEFT_SLICE_RANK], extent[HEFT_SLICE_RANK];
    unsigned rank;
};
/* False if spec cannot be parsed; *why says what is wrong. spec must not be empty. */
HEFT_CHECKED bool heft_tf_spec_parse(struct heft_str spec, struct heft_tf_spec *out,
                                     const char **why);

/* ---- tf_restore_objects.c ---- */

/* Walks the objects of the SavedModel and of its checkpoint in parallel, if both exist: names the
 * objects of targets and adds differences to the findings. */
HEFT_CHECKED bool heft_tf_restore_objects(struct heft_tf_restore *r, uint8_t *used);

#endif
