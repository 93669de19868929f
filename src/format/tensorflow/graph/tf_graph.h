/* tf_graph.h: the index of a MetaGraphDef, made in one pass; parts are read again on demand.
 *
 *     heft_tf_graph_read       the index: name, op and position of each node; functions, signatures,
 *                              saver, collections, assets, objects, tags. Constants are not read
 *     heft_tf_node_read        one node, whole: inputs, relevant attributes, position of its tensor
 *     heft_tf_tensor_read      a TensorProto: dtype, shape, position of its bytes (tf_tensor.h)
 *
 * Texts are allocated in the given arena; names of nodes, words and the arrays of the index live
 * until release. Offsets are offsets in the document. The size of the index is bounded by that of
 * the document. */
#ifndef HEFT_TF_GRAPH_H
#define HEFT_TF_GRAPH_H

#include "base/map.h"
#include "format/tensorflow/graph/tf_messages.h"

struct heft_tf_range {
    uint64_t off, len; /* content of a message, for heft_proto_open */
};

/* TensorShapeProto. */
struct heft_tf_shape {
    const int64_t *dims; /* -1: unknown */
    uint32_t rank;
    bool unknown_rank;
};

struct heft_tf_node_entry {
    struct heft_str name;
    uint32_t op,
        func; /* positions in graph->words; func: the function in attribute f, or HEFT_TF_NONE */
    struct heft_tf_range at; /* NodeDef */
};
#define HEFT_TF_NONE      UINT32_MAX
#define HEFT_TF_MOST_TAGS 100

struct heft_tf_function {
    struct heft_str name;
    uint32_t first, n;       /* its nodes in graph->inner */
    struct heft_tf_range at; /* FunctionDef */
};

/* TensorInfo. */
struct heft_tf_info {
    struct heft_str key;
    struct heft_str tensor; /* "x:0"; empty if sparse or composite */
    uint32_t dtype;         /* DataType */
    struct heft_tf_shape shape;
    bool is_sparse, is_composite;
    bool is_ref; /* a reference to the variable itself, as in TensorFlow 1 graphs */
};
struct heft_tf_infos {
    struct heft_tf_info *list; /* sorted by key */
    size_t n, cap;
};
struct heft_tf_signature {
    struct heft_str key, method;
    struct heft_tf_infos inputs, outputs;
};

/* SaverDef. */
struct heft_tf_saver {
    struct heft_str filename_tensor, save_tensor, restore_op;
    int32_t max_to_keep, version; /* 0 LEGACY, 1 V1, 2 V2 */
    double keep_hours;
    bool sharded, present;
};

enum heft_tf_collection_kind { /* field numbers of CollectionDef */
                               HEFT_TF_NODE_LIST = 1,
                               HEFT_TF_BYTES_LIST,
                               HEFT_TF_INT64_LIST,
                               HEFT_TF_FLOAT_LIST,
                               HEFT_TF_ANY_LIST
};
struct heft_tf_collection {
    struct heft_str name;
    uint32_t kind;
    uint64_t count;
    struct heft_tf_range at; /* CollectionDef */
};

struct heft_tf_asset {
    struct heft_str filename, tensor;
};

enum heft_tf_object_kind { /* field numbers of SavedObject */
                           HEFT_TF_USER_OBJECT = 4,
                           HEFT_TF_ASSET,
                           HEFT_TF_FUNCTION,
                           HEFT_TF_VARIABLE,
                           HEFT_TF_BARE_FUNCTION,
                           HEFT_TF_CONSTANT,
                           HEFT_TF_RESOURCE,
                           HEFT_TF_CAPTURED_TENSOR = 12
};
struct heft_tf_object {
    struct heft_tf_range at; /* SavedObject */
    uint32_t first_child, n_children;
    uint8_t kind; /* 0 if not stated */
};
struct heft_tf_child {
    struct heft_str name;
    int32_t node; /* not validated */
};
struct heft_tf_concrete { /* SavedConcreteFunction */
    struct heft_str name;
    struct heft_tf_range at;
};

/* Start of a range whose fields are of another kind than before. */
struct heft_tf_part {
    uint64_t off;
    const char *what;
};
struct heft_tf_parts {
    struct heft_tf_part *list;
    size_t n, cap;
};
#define HEFT_TF_MOST_PARTS 65536 /* further parts are merged into the last one */
HEFT_CHECKED bool heft_tf_part(struct heft_tf_parts *parts, uint64_t off, const char *what,
                               struct heft_error *err);

#define HEFT_TF_RECENT 256

struct heft_tf_graph {
    const struct heft_proto_doc *doc;
    struct heft_arena *mem;
    struct heft_tf_parts *parts; /* parts of the document, for the map; the caller's */
    struct heft_arena texts;     /* names of nodes and words; owned */
    uint64_t begin;              /* bytes in `mem` before the graph was read */
    struct heft_tf_range at;     /* MetaGraphDef */
    struct heft_str *tags;       /* in document order, without duplicates */
    struct heft_str tensorflow_version, tensorflow_git_version, meta_graph_version;
    struct heft_tf_node_entry *nodes; /* nodes of the graph */
    struct heft_tf_node_entry *inner; /* nodes of all functions */
    struct heft_tf_function *functions;
    /* names of ops and called functions, each once; nodes refer to them by position */
    struct heft_str *words;
    struct heft_tf_signature *signatures;   /* sorted by key */
    struct heft_tf_collection *collections; /* sorted by name */
    struct heft_tf_asset *assets;           /* from asset_file_def, else from the collection */
    struct heft_tf_object *objects;
    struct heft_tf_child *children;
    struct heft_tf_concrete *concretes; /* sorted by name */
    size_t n_tags, n_nodes, n_inner, n_functions, n_words, n_signatures, n_collections, n_assets,
        n_objects, n_children, n_concretes;
    uint32_t n_versions; /* versions read so far */
    size_t cap_tags, cap_nodes, cap_inner, cap_functions, cap_words, cap_signatures,
        cap_collections, cap_assets, cap_objects, cap_children, cap_concretes;
    struct heft_strmap word_map, node_map, function_map;
    uint32_t recent[HEFT_TF_RECENT]; /* cache of recent words, tried before the map */
    struct heft_tf_saver saver;
    bool has_objects;
    uint64_t n_infos; /* number of tensors in all signatures */
    uint64_t unknown; /* fields that no message table lists */
};

/* Reads the message that p has entered (or was opened at) to its end; its ranges are added to
 * `parts`. Errors go to p->err. */
HEFT_CHECKED bool heft_tf_graph_read(struct heft_tf_graph *graph, struct heft_proto *p,
                                     struct heft_arena *mem, struct heft_tf_parts *parts);
/* The same for a GraphDef alone: nodes and functions. */
HEFT_CHECKED bool heft_tf_graph_read_def(struct heft_tf_graph *graph, struct heft_proto *p,
                                         struct heft_arena *mem, struct heft_tf_parts *parts);
void heft_tf_graph_release(struct heft_tf_graph *graph);
/* tf_graph_weigh.c: checks the memory of the index, including its arena, against the limit
 * (HEFT_LIMIT). To be called before adding to that arena in proportion to input. */
HEFT_CHECKED bool heft_tf_graph_weigh(const struct heft_tf_graph *graph, uint64_t where,
                                      struct heft_error *err);

/* Bytes that the index takes, with its tables of names. */
uint64_t heft_tf_graph_taken(const struct heft_tf_graph *graph);

/* Builds the tables for the two functions below; nodes of functions are not included.
 * HEFT_MALFORMED if two nodes or two functions share a name. */
HEFT_CHECKED bool heft_tf_graph_index(struct heft_tf_graph *graph, struct heft_error *err);
uint32_t heft_tf_graph_node(const struct heft_tf_graph *graph, struct heft_str name);
uint32_t heft_tf_graph_function(const struct heft_tf_graph *graph, struct heft_str name);

/* A node, read whole. */
struct heft_tf_node {
    struct heft_str name, op, device;
    struct heft_str *inputs; /* as stored: "a", "a:1", "^a"; in functions "a:out:1" */
    uint32_t n_inputs;
    struct heft_str func;        /* attribute f: the called function; empty if absent */
    struct heft_str shared_name; /* attribute shared_name */
    uint32_t dtype;              /* attribute dtype, else T; 0 if absent */
    uint32_t *dtypes;            /* attribute dtypes */
    uint32_t n_dtypes;
    struct heft_tf_shape shape; /* attribute shape; valid if has_shape */
    struct heft_tf_range value; /* attribute value, a TensorProto; valid if has_value */
    bool has_shape, has_value;
};
HEFT_CHECKED bool heft_tf_node_read(const struct heft_proto_doc *doc, struct heft_tf_range at,
                                    struct heft_arena *mem, struct heft_tf_node *out,
                                    struct heft_error *err);

/* An argument or a result of a function. */
struct heft_tf_signature_arg {
    struct heft_str name;
    uint32_t dtype; /* 0 if given by an attribute */
};
struct heft_tf_return {
    struct heft_str name, from; /* "output_0", "Identity:output:0" */
};
struct heft_tf_function_def {
    struct heft_str name;
    struct heft_tf_signature_arg *inputs, *outputs;
    struct heft_tf_return *returns;
    uint32_t n_inputs, n_outputs, n_returns;
};
HEFT_CHECKED bool heft_tf_function_read(const struct heft_proto_doc *doc, struct heft_tf_range at,
                                        struct heft_arena *mem, struct heft_tf_function_def *out,
                                        struct heft_error *err);

/* A variable of the object graph: an object of kind HEFT_TF_VARIABLE. */
struct heft_tf_variable {
    struct heft_str name;
    uint32_t dtype;
    struct heft_tf_shape shape;
};
HEFT_CHECKED bool heft_tf_variable_read(const struct heft_proto_doc *doc, struct heft_tf_range at,
                                        struct heft_arena *mem, struct heft_tf_variable *out,
                                        struct heft_error *err);

/* Calls each() for the elements of a collection: texts of node_list, bytes of bytes_list, values of
 * any_list (skipped if the text form spells the message out). `text` is valid until the call
 * returns. Other kinds have no elements. */
typedef bool heft_tf_element_fn(void *ctx, struct heft_str text, struct heft_error *err);
HEFT_CHECKED bool heft_tf_collection_each(const struct heft_tf_graph *graph,
                                          const struct heft_tf_collection *collection,
                                          heft_tf_element_fn *each, void *ctx,
                                          struct heft_error *err);

/* ---- helpers shared by the tf_*.c readers ---- */

/* Copies the text that was pulled into the arena. At most 64 KiB. */
HEFT_CHECKED bool heft_tf_text(struct heft_proto *p, struct heft_arena *mem, struct heft_str *out);
/* Reads the TensorShapeProto that was entered. */
HEFT_CHECKED bool heft_tf_shape_read(struct heft_proto *p, struct heft_arena *mem,
                                     struct heft_tf_shape *out);
/* Returns the range of the message that was entered, and skips it. */
HEFT_CHECKED bool heft_tf_range_of(struct heft_proto *p, struct heft_tf_range *out);
/* The base dtype of a reference dtype; other numbers are returned unchanged. */
uint32_t heft_tf_base_dtype(uint64_t number);
/* Used by heft_tf_graph_read (tf_meta.c, tf_objects.c): read the message that was entered. */
HEFT_CHECKED bool heft_tf_saver_read(struct heft_tf_graph *graph, struct heft_proto *p);
HEFT_CHECKED bool heft_tf_collection_read(struct heft_tf_graph *graph, struct heft_proto *p);
HEFT_CHECKED bool heft_tf_signature_read(struct heft_tf_graph *graph, struct heft_proto *p);
HEFT_CHECKED bool heft_tf_asset_read(struct heft_tf_graph *graph, struct heft_proto *p);
HEFT_CHECKED bool heft_tf_objects_read(struct heft_tf_graph *graph, struct heft_proto *p);
/* Sorts named items and keeps the last of each name. Adds the assets of a collection. */
HEFT_CHECKED bool heft_tf_meta_finish(struct heft_tf_graph *graph, struct heft_error *err);

/* tf_ops.c: sorted names of all ops that a graph uses, including those in called functions. */
HEFT_CHECKED bool heft_tf_ops(const struct heft_tf_graph *graph, struct heft_arena *mem,
                              struct heft_str **ops, size_t *n, struct heft_error *err);

#endif
