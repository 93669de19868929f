/* tf_restore.h: the way of restoring a SavedModel: what LoadSavedModel would do with its checkpoint,
 * told from the graph and the objects. Nothing is run.
 *
 *     heft_tf_restore_open     chooses a metagraph by its tags, follows its restore op
 *     heft_tf_restore_judge    compares what it found with the checkpoint: findings
 *     heft_tf_restore_close
 *
 * What is told lives in the arena of the struct. */
#ifndef HEFT_TF_RESTORE_H
#define HEFT_TF_RESTORE_H

#include "core/registry.h"
#include "format/tensorflow/graph/tf_document.h"
#include "wire/tensor_slice.h"

#define HEFT_TF_CALL_DEPTH 64 /* functions that call one another */
#define HEFT_TF_OBJECT_KEY "_CHECKPOINTABLE_OBJECT_GRAPH"

/* One of the names that a restore op reads. */
struct heft_tf_name {
    struct heft_str key, spec; /* spec: "" for all of it, else "7 3 0,3:0,3" */
    uint32_t dtype;            /* DataType that the op asks for; 0: it does not say */
    uint32_t number;           /* among the names of its op */
    uint32_t takers;           /* targets that get it */
};

/* A restore op in one of its calls. */
struct heft_tf_read {
    struct heft_str node;
    uint64_t where;
    struct heft_tf_name *names;
    uint32_t n;
};

/* What gets a value of the checkpoint: a variable, or keys or values of a table. */
struct heft_tf_target {
    struct heft_str variable; /* for people: shared_name, else the node's name */
    struct heft_str node, op; /* of the graph: what holds the value; "" where it was not found */
    struct heft_str by;       /* the node that puts it there */
    const char *role;         /* of a table: "keys", "values"; else "" */
    const struct heft_tf_name *name;
    struct heft_str object; /* path in the object graph; "" where it is in none */
    uint64_t where;         /* of `by` */
    uint32_t dtype;         /* that the node holds; 0: it does not say */
    struct heft_tf_shape shape;
    bool has_shape;
    bool is_cast, is_reshaped; /* on the way from the restore op */
};

/* As the public door has them (heft.h); text is in the arena. */
struct heft_tf_step {
    enum heft_restore_kind kind;
    unsigned depth;
    struct heft_str node, op, function;
    uint64_t where;
    const char *text;
    const struct heft_tf_name *name; /* of NAME */
    uint32_t target;                 /* of ASSIGN: of targets; else HEFT_NONE */
};

struct heft_tf_finding {
    enum heft_severity severity;
    uint32_t source;
    uint64_t where;
    const char *text; /* escaped */
};

struct heft_tf_restore {
    const struct heft_model *model;
    const struct heft_tf_saved *saved;
    struct heft_tf_graph *graph;
    uint32_t source; /* the SavedModel's file */
    size_t number;   /* of the metagraph, from 0 */
    struct heft_arena mem;
    struct heft_tf_step *steps;
    struct heft_tf_read *reads;
    struct heft_tf_target *targets;
    struct heft_tf_finding *findings;
    size_t n_steps, n_reads, n_targets, n_findings;
    size_t cap_steps, cap_reads, cap_targets, cap_findings;
    uint64_t n_names; /* of all reads */
    struct heft_error *err;
};

/* Follows the restore op of metagraph `number`, and what is done before and after it. `saved` must
 * live as long. Close it, also after a failure. */
HEFT_CHECKED bool heft_tf_restore_open(struct heft_tf_restore *r, const struct heft_model *model,
                                       uint32_t source, const struct heft_tf_saved *saved,
                                       size_t number, struct heft_error *err);
void heft_tf_restore_close(struct heft_tf_restore *r);
/* The metagraph whose tags are these: "serve,gpu"; NULL: the only one. HEFT_USAGE where none, or
 * several, are meant: it lists them. */
HEFT_CHECKED bool heft_tf_restore_choose(const struct heft_tf_saved *saved, const char *tags,
                                         size_t *number, struct heft_error *err);
/* What does not fit: findings and notes. The model has settled; used[row] becomes 1 where the graph
 * or the objects want it. */
HEFT_CHECKED bool heft_tf_restore_judge(struct heft_tf_restore *r, uint8_t *used);
/* … and the keys that nobody wants, when all metagraphs have been asked. */
HEFT_CHECKED bool heft_tf_restore_unused(struct heft_tf_restore *r, const uint8_t *used);
/* Whether a bundle lies beside it. */
bool heft_tf_restore_has_checkpoint(const struct heft_tf_restore *r);
/* The source of a model that is a SavedModel, or a graph by itself; HEFT_NONE: it has none. */
uint32_t heft_tf_restore_source(const struct heft_model *model);

/* ---- among the tf_restore*.c files ---- */

/* Follows the restore op: steps, reads, targets. */
HEFT_CHECKED bool heft_tf_restore_walk(struct heft_tf_restore *r);
HEFT_CHECKED bool heft_tf_restore_step(struct heft_tf_restore *r, const struct heft_tf_step *step);
/* HEFT_LIMIT where it takes more memory than a file of that size may. */
HEFT_CHECKED bool heft_tf_restore_weigh(const struct heft_tf_restore *r, uint64_t where);
/* A text in the arena, safe for a terminal; NULL on lack of memory. */
const char *heft_tf_restore_text(struct heft_tf_restore *r, const char *format, ...)
    HEFT_PRINTF(2, 3);
HEFT_CHECKED bool heft_tf_restore_find(struct heft_tf_restore *r, enum heft_severity severity,
                                       uint64_t where, const char *format, ...) HEFT_PRINTF(4, 5);

/* ---- tf_restore_names.c ---- */

struct heft_tf_strings {
    struct heft_str *list;
    uint64_t count; /* elements that the tensor has */
    uint32_t n;     /* of list: as many of them as were asked for */
};
/* A TensorProto of strings: its first `most` elements. HEFT_MALFORMED where it is no such. */
HEFT_CHECKED bool heft_tf_strings_read(const struct heft_proto_doc *doc, struct heft_tf_range at,
                                       uint32_t most, struct heft_arena *mem,
                                       struct heft_tf_strings *out, struct heft_error *err);

/* shape_and_slices: the whole shape, and the box of it that is read. */
struct heft_tf_spec {
    uint64_t shape[HEFT_SLICE_RANK], start[HEFT_SLICE_RANK], extent[HEFT_SLICE_RANK];
    unsigned rank;
};
/* False where it is none: *why says what is wrong with it. spec is not empty. */
HEFT_CHECKED bool heft_tf_spec_parse(struct heft_str spec, struct heft_tf_spec *out,
                                     const char **why);

/* ---- tf_restore_objects.c ---- */

/* Walks the objects of the SavedModel beside those of its checkpoint, where both are there: names
 * objects of targets, adds what differs to the findings. */
HEFT_CHECKED bool heft_tf_restore_objects(struct heft_tf_restore *r, uint8_t *used);

#endif
