/* torch_parts.h: a torch pickle on its way to rows (struct heft_torch).
 *
 *     torch_graph.c    runs the pickle, looks up names, collects storages (torch_persid.c)
 *     torch_rebuild.c  _rebuild_… calls → rows, with torch_wrappers.c, torch_arguments.c
 *     torch_compound.c tensors with parts: quantized, sparse, nested, subclasses
 *     torch_numpy.c    NumPy arrays → rows, NumPy scalars → values
 *     torch_value.c    leaves → values, dictionary keys → text; with torch_foreign.c, torch_text.c
 *     torch_tree.c     the walk of the graph, with torch_gather.c, torch_entries.c, torch_module.c,
 *                      torch_keys.c, torch_names.c
 *     torch_globals.c  the table of names
 *     torch_provenance.c    the opcodes that made each row, on request
 *     torch_plain.c    whether the pickle holds nothing but its rows
 *     torch_damage.c   what is lost of a damaged pickle, for salvage
 *
 * A container locates the bytes of a persistent id. Containers within pickles are read here,
 * archives and tars in the folders beside this one:
 *
 *     torch_stream.c       pickles and storages one after the other
 *     torch_legacy_read.c  the stream of torch.save before 1.6; with torch_legacy_place.c,
 *                          torch_legacy_salvage.c
 *     torch_nested.c       such a stream as a bytes object within a pickle
 *
 * A reader opens its container, points a struct heft_torch at a pickle in it, and calls
 * heft_torch_run, heft_torch_walk, heft_torch_claim_pickle. What the model keeps is copied to
 * model->mem; the pickle, its nodes and these tables live only while the file is opened. */
#ifndef HEFT_TORCH_PARTS_H
#define HEFT_TORCH_PARTS_H

#include "core/model.h"
#include "format/torch/pickle/torch_globals.h"
#include "wire/pickle.h"
#include "wire/zip.h"

/* A storage of the pickle, with its properties there. */
struct heft_torch_storage {
    struct heft_str key;
    const struct heft_torch_global *type; /* the global of its class, of kind STORAGE or UNTYPED */
    uint64_t bytes;                       /* elements × element size */
    int64_t elements;
    uint64_t begin; /* for a view of a storage: byte offset in that storage */
    /* storage of the model; HEFT_NONE if it has no data (meta device) or is lost */
    uint32_t storage;
    /* salvage: the reason; then only key, type and bytes are known, and none of them if type is
     * NULL */
    const char *lost;
    uint32_t id;         /* first PERSID node that refers to it, plus 1; 0 if there is none */
    uint32_t provenance; /* its number in the recorded provenance, plus 1; 0 if there is none */
    bool used;           /* a row uses it */
};

/* Bytes of a NumPy array or a nested stream that are stored verbatim in the pickle. */
struct heft_torch_span {
    uint64_t off, len;
};

#define HEFT_TORCH_NAMES                                                                           \
    (UINT64_C(16) << 20) /* limit for bytes of names, in addition to four times the pickle */

/* What a caller can ask of the torch readers: see heft_torch_ask. */
struct heft_torch_request {
    struct heft_provenance *provenance; /* receives the origin of each row; NULL: not asked */
    struct heft_tree_taker *taker; /* receives the tree of the pickled object; NULL: not asked */
};
extern const char heft_torch_request_kind;
/* The value of model->request for it. */
static inline struct heft_open_request heft_torch_ask(const struct heft_torch_request *request)
{
    return (struct heft_open_request){.kind = &heft_torch_request_kind, .data = request};
}

struct heft_torch;
struct heft_torch_made;
/* How a container resolves persistent ids. */
struct heft_torch_container {
    /* Resolves the storage of a PERSID: parses it with heft_torch_read_persid or by its own rule,
     * and ends in heft_torch_add_storage, or sets t->meanings[id] to the storage met before. An id
     * that denotes a class becomes a GLOBAL: heft_torch_become_class. */
    bool (*storage)(struct heft_torch *t, uint32_t id, struct heft_error *err);
    /* For containers whose ids also denote tensors: the tensor of an id whose meaning has the bit
     * HEFT_TORCH_IS_TENSOR. NULL for other containers. */
    bool (*tensor)(struct heft_torch *t, uint32_t id, struct heft_torch_made *out,
                   struct heft_error *err);
};
#define HEFT_TORCH_IS_TENSOR 0x80000000U

/* Most streams nested within pickles of streams. */
#define HEFT_TORCH_STREAMS 2

struct heft_torch {
    struct heft_model *model;
    uint32_t source;
    const struct heft_torch_container *container;
    void *inside;  /* the container that is being read, such as a struct heft_torch_zip */
    uint64_t base; /* source offset of the pickle's first byte; HEFT_NO_OFFSET if it is deflated */
    uint64_t pickle_at,
        pickle_packed;      /* range of the source that holds the pickle, deflated or not */
    const char *what;       /* label, static: "data.pkl" */
    struct heft_str prefix; /* prefix of all names, NUL-terminated; may be empty */
    bool is_big;            /* the bytes of storages are big-endian */
    bool is_script;         /* written by TorchScript's own pickler */

    struct heft_arena scratch;
    struct heft_arena graph; /* the pickle and its nodes; released first, since it is the largest */
    uint64_t held; /* bytes counted in model->reading: the arenas, and arrays of the walk */
    struct heft_pickle pickle;
    /* per node: for a GLOBAL the number of its entry, for a PERSID the position in storages */
    uint32_t *meanings;
    struct heft_torch_storage *storages;
    size_t n_storages, cap_storages;
    struct heft_strmap keys; /* key → position in storages, for containers that look them up */
    struct heft_strmap lost; /* key of a lost storage → position in storages */
    bool broken;             /* salvage: the pickle is truncated */
    struct heft_torch_span *spans;
    size_t n_spans, cap_spans;
    struct heft_u32map raw; /* node of raw bytes → storage of the model */
    unsigned depth; /* nesting: 0 for the file's own pickle, more for streams within pickles */
    struct heft_u32map by_stream;     /* node of a nested stream's bytes → position in nested */
    struct heft_torch_nested *nested; /* nested streams (torch_nested.c) */
    size_t n_nested, cap_nested;
    struct heft_str *texts; /* long texts that were copied or decoded into model->mem */
    size_t n_texts, cap_texts;
    struct heft_u32map by_text;  /* node of a text or a global → position in texts */
    struct heft_u32map by_bytes; /* node of a text that represents bytes → position in texts */
    struct heft_u32map row_of;   /* TorchScript: node of a tensor → its first row */
    uint64_t budget;             /* values that may still be created: limits.expansion */
    uint64_t names;              /* budget left for bytes of names and keys */
    uint64_t made_bytes;         /* bytes of texts joined from parts: see heft_torch_may_make */
    bool is_object;              /* the pickle is the whole object passed to torch.save */
    /* one of several objects of a checkpoint: budget and names are what the others left, and
     * t->values is the object itself, even if it is not a dict */
    bool is_item;
    struct heft_value *values;          /* non-tensor values found by heft_torch_walk, or NULL */
    struct heft_provenance *provenance; /* during the walk, as requested; NULL: not asked */
    struct heft_tree_taker *taker;      /* the same; NULL also for pickles without is_object */
};

static inline const struct heft_pickle_node *heft_torch_node(const struct heft_torch *t,
                                                             uint32_t node)
{
    return &t->pickle.nodes[node];
}
static inline bool heft_torch_is(const struct heft_torch *t, uint32_t node,
                                 enum heft_pickle_kind kind)
{
    return node != HEFT_PICKLE_NIL && t->pickle.nodes[node].kind == kind;
}
/* True for text of Python 2 or 3. */
static inline bool heft_torch_is_text(const struct heft_torch *t, uint32_t node)
{
    return heft_torch_is(t, node, HEFT_PICKLE_STR) || heft_torch_is(t, node, HEFT_PICKLE_PY2STR);
}
/* True if the node is that text, as text or as bytes. */
static inline bool heft_torch_is_word(const struct heft_torch *t, uint32_t node,
                                      struct heft_str word)
{
    return (heft_torch_is_text(t, node) || heft_torch_is(t, node, HEFT_PICKLE_BYTES)) &&
           heft_str_eq(heft_pickle_text(&t->pickle, node), word);
}
/* File offset at which a node was created. */
static inline uint64_t heft_torch_where(const struct heft_torch *t, uint32_t node)
{
    return t->base == HEFT_NO_OFFSET ? HEFT_NO_OFFSET : t->base + t->pickle.nodes[node].at;
}
/* The i-th item of a tuple (or another container); NIL if there is none. */
static inline uint32_t heft_torch_item(const struct heft_torch *t, uint32_t node, uint32_t index)
{
    return node == HEFT_PICKLE_NIL ? HEFT_PICKLE_NIL : heft_pickle_item(&t->pickle, node, index);
}
/* The items of a tuple, as an array. */
static inline const uint32_t *heft_torch_items(const struct heft_torch *t, uint32_t tuple)
{
    return t->pickle.items + t->pickle.nodes[tuple].first + HEFT_PICKLE_SEGMENT;
}
static inline uint32_t heft_torch_count(const struct heft_torch *t, uint32_t node)
{
    return node == HEFT_PICKLE_NIL ? 0 : heft_pickle_count(&t->pickle, node);
}

/* The table entry of a GLOBAL node; NULL for unknown names and other nodes. */
static inline const struct heft_torch_global *heft_torch_global_of(const struct heft_torch *t,
                                                                   uint32_t node)
{
    return heft_torch_is(t, node, HEFT_PICKLE_GLOBAL) ? heft_torch_known((uint8_t)t->meanings[node])
                                                      : NULL;
}
/* The kind of function or class that a node denotes; UNKNOWN also if it is not a GLOBAL. */
static inline enum heft_torch_kind heft_torch_kind_of(const struct heft_torch *t, uint32_t node)
{
    const struct heft_torch_global *known = heft_torch_global_of(t, node);

    return known ? (enum heft_torch_kind)known->kind : HEFT_TORCH_UNKNOWN;
}
/* The kind of the function that a CALL node calls. */
static inline enum heft_torch_kind heft_torch_callee(const struct heft_torch *t, uint32_t call)
{
    return heft_torch_kind_of(t, heft_torch_node(t, call)->u.call.callee);
}
/* True for None and for NIL. */
static inline bool heft_torch_is_nothing(const struct heft_torch *t, uint32_t node)
{
    return node == HEFT_PICKLE_NIL || heft_torch_is(t, node, HEFT_PICKLE_NONE);
}
static inline bool heft_torch_is_sequence(const struct heft_torch *t, uint32_t node)
{
    return heft_torch_is(t, node, HEFT_PICKLE_LIST) || heft_torch_is(t, node, HEFT_PICKLE_TUPLE);
}
/* True for a PERSID that denotes a storage: storages[meanings[node]]. */
static inline bool heft_torch_is_storage(const struct heft_torch *t, uint32_t node)
{
    return heft_torch_is(t, node, HEFT_PICKLE_PERSID) &&
           !(t->meanings[node] & HEFT_TORCH_IS_TENSOR);
}

/* ---- torch_graph.c ---- */

void heft_torch_release(struct heft_torch *t);
/* Runs the pickle at the beginning of `data` (in t->graph), whose first byte is at t->base. Looks
 * up every global and resolves every persistent id. */
HEFT_CHECKED bool heft_torch_run(struct heft_torch *t, struct heft_bytes data,
                                 struct heft_error *err);
/* The second half of heft_torch_run, for a t->pickle that has been run. */
HEFT_CHECKED bool heft_torch_look_up(struct heft_torch *t, struct heft_error *err);
/* Adds notes on the pickle, and claims for [pickle_at, +pickle_packed) except the arrays in it. To
 * be called after the walk. */
HEFT_CHECKED bool heft_torch_claim_pickle(struct heft_torch *t, struct heft_error *err);
/* ---- torch_persid.c ---- */

/* Parses a persistent id ("storage", class, key, location, elements) of a zip or, with a sixth
 * item, of a legacy stream; fills everything but `storage`. *more is the sixth item, or NIL. */
HEFT_CHECKED bool heft_torch_read_persid(const struct heft_torch *t, uint32_t id,
                                         struct heft_torch_storage *out, bool *is_meta,
                                         uint32_t *more, struct heft_error *err);
/* The storage class that a node denotes. `id` is used in errors. */
HEFT_CHECKED bool heft_torch_read_class(const struct heft_torch *t, uint32_t id, uint32_t node,
                                        const struct heft_torch_global **type,
                                        struct heft_error *err);
/* Bytes per element, also for the quantized classes, which have no dtype of heft's own. */
uint32_t heft_torch_element_bytes(const struct heft_torch_global *type);
/* Adds a storage that is met for the first time as the meaning of the id. */
HEFT_CHECKED bool heft_torch_add_storage(struct heft_torch *t, uint32_t id,
                                         const struct heft_torch_storage *storage,
                                         struct heft_error *err);
/* Checks that a storage met again, storages[index], has the same properties as before. */
HEFT_CHECKED bool heft_torch_same_storage(struct heft_torch *t, uint32_t id, uint32_t index,
                                          const struct heft_torch_storage *again,
                                          struct heft_error *err);
/* Resolves a persistent id that denotes a class, which `class` must name. */
HEFT_CHECKED bool heft_torch_become_class(struct heft_torch *t, uint32_t id, uint32_t class,
                                          struct heft_error *err);

/* ---- torch_damage.c: only if model->salvage is set ---- */

/* Salvage: marks the storage of a persistent id as lost, for the reason `found`. */
HEFT_CHECKED bool heft_torch_lose_storage(struct heft_torch *t, uint32_t id,
                                          const struct heft_error *found, struct heft_error *err);
/* Salvage: runs a pickle that may be truncated. */
HEFT_CHECKED bool heft_torch_run_damaged(struct heft_torch *t, struct heft_bytes data,
                                         const struct heft_pickle_limits *limits,
                                         struct heft_error *err);

/* ---- torch_rebuild.c ---- */

enum heft_torch_found {
    HEFT_TORCH_OTHER, /* the node does not build a tensor */
    HEFT_TORCH_ROW,   /* a row, complete but for its name */
    HEFT_TORCH_PARTS, /* a tensor whose parts are rows: sparse, nested, a subclass around other
                         tensors */
    HEFT_TORCH_UNREAD /* a tensor that cannot be read, see `reason` */
};
struct heft_torch_made {
    enum heft_torch_found found;
    struct heft_row row;
    uint32_t from; /* ROW: position of its storage, plus 1; 0 for bytes without a persistent id */
    const char *reason; /* allocated in model->mem, or static */
    bool has_more;      /* has parts, scales or attributes: heft_torch_gather_tensor adds them */
    bool is_recast;     /* its declared dtype differs from that of its storage */
};

/* A call, unwrapped step by step. */
struct heft_torch_call {
    uint32_t node, callee, args, state;
};
struct heft_torch_layer {
    uint32_t state, type, dtype; /* attributes, class, declared dtype; NIL if absent */
    bool is_wrapper;
};
static inline struct heft_torch_call heft_torch_call_of(const struct heft_torch *t, uint32_t node)
{
    const struct heft_pickle_node *n = heft_torch_node(t, node);

    return (struct heft_torch_call){node, n->u.call.callee, n->u.call.args, n->state};
}
/* Interprets a node as a tensor, if it is one: a _rebuild_… call, a bare storage, a NumPy array. */
HEFT_CHECKED bool heft_torch_tensor(struct heft_torch *t, uint32_t node,
                                    struct heft_torch_made *out, struct heft_error *err);

struct heft_torch_nested;
/* Reads the stream of a _load_from_bytes CALL, once. *out is valid until the next call. */
HEFT_CHECKED bool heft_torch_load_bytes(struct heft_torch *t, uint32_t call,
                                        const struct heft_torch_nested **out,
                                        struct heft_error *err);

/* ---- torch_wrappers.c ---- */

/* Removes wrappers such as Parameter(data) and _rebuild_from_type(function …): *call becomes the
 * wrapped call. Other calls are left unchanged. */
HEFT_CHECKED bool heft_torch_unwrap(struct heft_torch *t, struct heft_torch_call *call,
                                    struct heft_torch_layer *layer, struct heft_error *err);
/* Replaces restore_type_tag(value, "List[Tensor]"), which TorchScript writes around containers, by
 * the value. */
HEFT_CHECKED bool heft_torch_untag(struct heft_torch *t, uint32_t *node, struct heft_error *err);
/* True for BUILD with (storage, offset, size, stride), as the first releases wrote tensors. */
bool heft_torch_has_set_state(const struct heft_torch *t, const struct heft_torch_call *call);
/* Reports a call with arguments that its callee does not take. Returns false. */
bool heft_torch_bad_arguments(struct heft_torch *t, uint32_t call, uint32_t callee,
                              struct heft_error *err);

/* ---- torch_names.c ---- */

/* Records that the row just added is that of the tensor `node`. TorchScript lists parameters of a
 * module a second time (_flat_weights of its LSTM): within a container such a tensor gets no second
 * row. */
HEFT_CHECKED bool heft_torch_remember_row(struct heft_torch *t, uint32_t node,
                                          struct heft_error *err);
bool heft_torch_has_row(const struct heft_torch *t, uint32_t node, struct heft_str *name);

/* ---- torch_plain.c ---- */

/* Attachments of paths ("": the root) of dictionaries that are a collections.OrderedDict, which can
 * have attributes; the writer makes one again. Without data. */
extern const char heft_torch_ordered_kind;
/* True if a dictionary's _metadata has the form that modules write, so that it can be written
 * again. */
bool heft_torch_modules_fit(const struct heft_value *modules);
/* True if the pickle's object is a flat dictionary of plain tensors, which torch_write_pickle.c
 * writes unchanged. */
bool heft_torch_is_plain(const struct heft_torch *t);

/* ---- torch_provenance.c ---- */

/* Records that the row just added was made by `node` under `key` (HEFT_NONE if it has no key). Only
 * if t->provenance is set. */
HEFT_CHECKED bool heft_torch_keep_provenance(struct heft_torch *t, uint32_t key, uint32_t node,
                                             const struct heft_torch_made *made,
                                             struct heft_error *err);

/* ---- torch_stream.c ---- */

/* Bytes with pickles and storages one after the other: a file, a member of one, or a bytes object
 * within a pickle. Positions run from 0 to bytes.size. */
struct heft_torch_stream {
    struct heft_source bytes;
    struct heft_model *model;
    uint32_t source; /* source of the model in which storages are placed … */
    uint64_t origin; /* … starting at this offset */
    bool is_memory;  /* decoded bytes: errors have no offset */
    bool is_nested;  /* within a pickle: everything before its storages is one claim … */
    bool is_claimed; /* … or is already claimed by another */
};
/* The stream of a whole file. */
struct heft_torch_stream heft_torch_file_stream(struct heft_model *model, uint32_t source);
/* Source offset of a position, for errors and notes. */
uint64_t heft_torch_stream_at(const struct heft_torch_stream *in, uint64_t position);
/* Runs the pickle at a position; its arena must be empty. `first`: bytes to read in the first
 * attempt. */
HEFT_CHECKED bool heft_torch_stream_pickle(const struct heft_torch_stream *in, uint64_t position,
                                           uint64_t first, struct heft_pickle *out,
                                           struct heft_arena *arena, struct heft_error *err);
/* The same for the pickle of the object: it is run into t, and its names are looked up. */
HEFT_CHECKED bool heft_torch_stream_object(const struct heft_torch_stream *in, uint64_t position,
                                           struct heft_torch *t, struct heft_error *err);
/* Salvage: reads a truncated pickle as far as it goes, and notes that. */
HEFT_CHECKED bool heft_torch_stream_broken(const struct heft_torch_stream *in, uint64_t position,
                                           struct heft_torch *t, struct heft_error *err);
/* `what` must be static, `of` in model->mem. */
HEFT_CHECKED bool heft_torch_stream_claim(const struct heft_torch_stream *in, uint64_t position,
                                          uint64_t bytes, const char *what, struct heft_str of,
                                          struct heft_error *err);
/* Reads the int64 at a position, which must be in range. */
HEFT_CHECKED bool heft_torch_stream_i64(const struct heft_torch_stream *in, uint64_t position,
                                        int64_t *out, struct heft_error *err);
/* Adds a storage: its count at a position, then its bytes. s->storage is the result; `label` is in
 * model->mem. The caller has checked the range and claims the count. */
HEFT_CHECKED bool heft_torch_stream_storage(const struct heft_torch_stream *in, uint64_t position,
                                            struct heft_str label, struct heft_torch_storage *s,
                                            struct heft_error *err);
/* Adds findings for bytes after the end of the format; `behind` describes what ended. */
HEFT_CHECKED bool heft_torch_stream_end(const struct heft_torch_stream *in, uint64_t end,
                                        const char *behind, struct heft_error *err);
/* True if Python 2 wrote the pickle: only it writes such strings. */
bool heft_torch_is_python2(const struct heft_pickle *pickle);
/* "pickle protocol 2", static. */
const char *heft_torch_protocol(const struct heft_pickle *pickle);

static inline bool heft_torch_is_zip(struct heft_bytes bytes)
{
    return bytes.n >= 4 && memcmp(bytes.p, "PK\3\4", 4) == 0;
}
/* The kind of pickle at the beginning of a file, judged by running it. */
enum heft_torch_peek {
    HEFT_TORCH_NO_PICKLE,
    HEFT_TORCH_UNJUDGED,       /* out of memory */
    HEFT_TORCH_PERHAPS_PICKLE, /* a pickle as far as the head of the file goes */
    HEFT_TORCH_WHOLE_PICKLE,
    HEFT_TORCH_MAGIC /* a pickle of the magic integer that begins a legacy stream */
};
enum heft_torch_peek heft_torch_peek(struct heft_bytes head, uint64_t size);

/* ---- torch_legacy_read.c ---- */

/* Reads the stream's pickles and storages into t, without the walk. *end is their end. */
HEFT_CHECKED bool heft_torch_read_legacy(const struct heft_torch_stream *in, struct heft_torch *t,
                                         uint64_t *end, struct heft_error *err);

/* ---- torch_nested.c ---- */

struct heft_torch_nested {
    /* position in storages if the stream is a bare storage; else HEFT_NONE, and … */
    uint32_t storage;
    /* … the tensor that the call denotes, complete but for its name */
    const struct heft_torch_made *made;
};
/* Interprets a node as a tensor: heft_torch_tensor. */
typedef bool heft_torch_tensor_fn(struct heft_torch *t, uint32_t node, struct heft_torch_made *out,
                                  struct heft_error *err);
/* Implements heft_torch_load_bytes, which passes heft_torch_tensor: a stream may hold a tensor. */
HEFT_CHECKED bool heft_torch_read_nested(struct heft_torch *t, uint32_t call,
                                         heft_torch_tensor_fn *tensor,
                                         const struct heft_torch_nested **out,
                                         struct heft_error *err);
/* True if a nested stream already uses these bytes, which then cannot be an array. */
static inline bool heft_torch_is_nested(const struct heft_torch *t, uint32_t bytes)
{
    return heft_u32map_get(&t->by_stream, bytes) != HEFT_MAP_NONE;
}

/* ---- torch_numpy.c ---- */

/* For CALLs of NumPy's _reconstruct and _frombuffer. */
HEFT_CHECKED bool heft_torch_array(struct heft_torch *t, uint32_t node, struct heft_torch_made *out,
                                   struct heft_error *err);
/* For CALLs of NumPy's scalar: fills kind and content. *known is false for types without a value
 * kind in heft. */
HEFT_CHECKED bool heft_torch_scalar(struct heft_torch *t, uint32_t node, struct heft_value *out,
                                    bool *known, struct heft_error *err);

/* ---- torch_arguments.c ---- */

/* True for quantization parameters as torch writes them: (scheme, scale, zero point [, axis]). */
bool heft_torch_has_qparams(const struct heft_torch *t, uint32_t node);
/* True if the arguments of a sparse or nested tensor match its kind. */
bool heft_torch_has_parts(const struct heft_torch *t, const struct heft_torch_call *call);
/* True if the state has attributes: a dict that is not empty, a pair of these, or anything else. */
bool heft_torch_has_state(const struct heft_torch *t, uint32_t state);

/* ---- torch_entries.c ---- */

/* Charges n values against limits.expansion; `what` and `node` are for the error. */
HEFT_CHECKED bool heft_torch_charge(struct heft_torch *t, uint32_t node, uint64_t n,
                                    const char *what, struct heft_error *err);

/* ---- torch_text.c ---- */

/* "module.name" of a GLOBAL, or of the class of a CALL; in model->mem. */
HEFT_CHECKED const char *heft_torch_type_name(struct heft_torch *t, uint32_t node,
                                              struct heft_error *err);
/* Replaces lone surrogates in place by U+FFFD. */
void heft_torch_mend(char *text, size_t n);
/* The bytes that a node represents: BYTES, BYTEARRAY, a Python 2 string, or _codecs.encode or
 * bytearray of one. *found is false if it represents none. `verbatim` is their position in the
 * pickle, or SIZE_MAX if they were decoded (into model->mem). */
struct heft_torch_bytes {
    struct heft_bytes bytes;
    uint32_t node; /* node of the bytes: equal nodes share them */
    size_t verbatim;
};
HEFT_CHECKED bool heft_torch_bytes_of(struct heft_torch *t, uint32_t node, bool *found,
                                      struct heft_torch_bytes *out, struct heft_error *err);
/* Keeps a text in model->mem for a node, in t->by_text or t->by_bytes. */
HEFT_CHECKED bool heft_torch_remember_text(struct heft_torch *t, struct heft_u32map *map,
                                           uint32_t node, struct heft_str text,
                                           struct heft_error *err);
void heft_torch_set_text(struct heft_value *out, enum heft_value_kind kind, struct heft_str text);
/* The same for the text in buf, which is then empty. */
HEFT_CHECKED bool heft_torch_take_text(struct heft_torch *t, struct heft_buf *buf,
                                       struct heft_value *out, enum heft_value_kind kind,
                                       struct heft_error *err);
/* The value of a text; a bytes value if a Python 2 string is not valid UTF-8. */
HEFT_CHECKED bool heft_torch_text_leaf(struct heft_torch *t, uint32_t node, struct heft_value *out,
                                       struct heft_error *err);
/* The value of a node that represents bytes: see heft_torch_bytes_of. */
HEFT_CHECKED bool heft_torch_bytes_leaf(struct heft_torch *t, uint32_t node, struct heft_value *out,
                                        bool *is_leaf, struct heft_error *err);
/* True if so many bytes of text may be joined from parts that the pickle may share. All such texts
 * take at most 4 MiB plus the length of the pickle; further ones stay objects. */
bool heft_torch_may_make(struct heft_torch *t, uint64_t bytes);

/* ---- torch_foreign.c ---- */

/* Objects of the standard library that have a text form: dates, numbers, enumeration members. */
HEFT_CHECKED bool heft_torch_foreign(struct heft_torch *t, uint32_t node, struct heft_value *out,
                                     bool *is_leaf, struct heft_error *err);

/* ---- torch_value.c ---- */

/* Fills a value from a node without children: numbers, texts, names, devices, paths … *is_leaf is
 * false for all others. */
HEFT_CHECKED bool heft_torch_leaf(struct heft_torch *t, uint32_t node, struct heft_value *out,
                                  bool *is_leaf, struct heft_error *err);
/* Appends a dictionary key as Python's str shows it. `ordinal` distinguishes objects without a text
 * form. Lists, dicts and sets cannot be keys. */
HEFT_CHECKED bool heft_torch_key(struct heft_torch *t, uint32_t node, size_t ordinal,
                                 struct heft_buf *out, struct heft_error *err);

/* ---- torch_tree.c ---- */

/* Adds rows, and t->values, from the root of the graph. The nodes are released. */
HEFT_CHECKED bool heft_torch_walk(struct heft_torch *t, struct heft_error *err);

#endif
