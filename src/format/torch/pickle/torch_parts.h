/* torch_parts.h: one pickle of torch on its way to rows (struct heft_torch).
 *
 *     torch_graph.c    runs it, looks up its names, gathers its storages (torch_persid.c)
 *     torch_rebuild.c  _rebuild_… calls → rows, with torch_wrappers.c, torch_arguments.c
 *     torch_compound.c tensors with parts: quantized, sparse, nested, subclasses
 *     torch_numpy.c    numpy arrays → rows, numpy scalars → values
 *     torch_value.c    leaves → values, dictionary keys → text; with torch_foreign.c, torch_text.c
 *     torch_tree.c     the walk of the graph, with torch_gather.c, torch_entries.c, torch_module.c,
 *                      torch_keys.c, torch_names.c
 *     torch_globals.c  the table of names
 *     torch_provenance.c    which opcodes made a row, for those who ask
 *     torch_plain.c    whether its rows are all that it says
 *     torch_damage.c   what of it is lost, for those who salvage
 *
 * A container says where the bytes behind a persistent id are. The one that pickles hold themselves is
 * read here; archives and tars, in the folders beside this one:
 *
 *     torch_stream.c       pickles and storages one behind the other
 *     torch_legacy_read.c  the stream of torch.save before 1.6; with torch_legacy_place.c,
 *                          torch_legacy_salvage.c
 *     torch_nested.c       such a stream that stands as bytes within a pickle
 *
 * A reader opens its container, points a struct heft_torch at the pickle in it, and calls
 * heft_torch_run, heft_torch_walk, heft_torch_claim_pickle. What the model keeps is copied into
 * model->mem; the pickle, its nodes and these tables live while the file is being opened. */
#ifndef HEFT_TORCH_PARTS_H
#define HEFT_TORCH_PARTS_H

#include "core/model.h"
#include "format/torch/pickle/torch_globals.h"
#include "wire/pickle.h"
#include "wire/zip.h"

/* Bytes that a pickle gives a name to, and what it says of them. */
struct heft_torch_storage {
    struct heft_str key;
    const struct heft_torch_global *type; /* STORAGE or UNTYPED */
    uint64_t bytes;                       /* elements times their size */
    int64_t elements;
    uint64_t begin;   /* of a view on a storage: bytes from that storage's begin */
    uint32_t storage; /* in the model; HEFT_NONE: there is no data (meta device), or it is lost */
    const char *lost; /* salvaging: why; all else but key, type and bytes is unknown then, and those
                         where type is NULL */
    uint32_t id;      /* the PERSID that was met first, from 1 on; 0: there is none */
    uint32_t provenance; /* its number in the model's provenance, from 1 on; 0: none */
    bool used;           /* by a row */
};

/* Bytes of a numpy array or a nested stream that stand verbatim in the pickle. */
struct heft_torch_span {
    uint64_t off, len;
};

#define HEFT_TORCH_NAMES (UINT64_C(16) << 20) /* bytes of names, besides four times the pickle */

struct heft_torch;
struct heft_torch_made;
/* What a container makes of persistent ids. */
struct heft_torch_container {
    /* The storage of a PERSID: reads it with heft_torch_read_persid or by its own rule, and ends in
     * heft_torch_add_storage, or sets t->meanings[id] to the one that it was before. An id that
     * stands for a class becomes that GLOBAL: heft_torch_become_class. */
    bool (*storage)(struct heft_torch *t, uint32_t id, struct heft_error *err);
    /* For containers whose ids also name tensors: the tensor of an id whose meaning has the bit
     * HEFT_TORCH_IS_TENSOR. Else NULL. */
    bool (*tensor)(struct heft_torch *t, uint32_t id, struct heft_torch_made *out,
                   struct heft_error *err);
};
#define HEFT_TORCH_IS_TENSOR 0x80000000U

/* Streams within a pickle within a stream: how deep. */
#define HEFT_TORCH_STREAMS 2

struct heft_torch {
    struct heft_model *model;
    uint32_t source;
    const struct heft_torch_container *container;
    void *inside;  /* the container's own: struct heft_torch_zip … */
    uint64_t base; /* the pickle's first byte in the source; HEFT_NO_OFFSET if it is deflated */
    uint64_t pickle_at, pickle_packed; /* the range of the source that holds it, deflated or not */
    const char *what;                  /* "data.pkl": static */
    struct heft_str prefix;            /* of all names: NUL-terminated; may be empty */
    bool is_big;                       /* storages are big-endian */
    bool is_script;                    /* written by TorchScript's own pickler */

    struct heft_arena scratch;
    struct heft_arena graph; /* the pickle and its nodes: goes first, it is the largest */
    struct heft_pickle pickle;
    uint32_t *meanings; /* a node: of a GLOBAL, the number of its entry; of a PERSID, storages */
    struct heft_torch_storage *storages;
    size_t n_storages, cap_storages;
    struct heft_strmap keys; /* of storages, for containers that find them by key → storages */
    struct heft_strmap lost; /* keys of storages that are lost → storages */
    bool broken;             /* salvaging: the pickle breaks off */
    struct heft_torch_span *spans;
    size_t n_spans, cap_spans;
    struct heft_u32map raw; /* node of raw bytes → storage in the model */
    unsigned depth;         /* 0: the file's own pickle; else it is in a stream within a pickle */
    struct heft_u32map by_stream;     /* node of the bytes of a nested stream → nested */
    struct heft_torch_nested *nested; /* torch_nested.c */
    size_t n_nested, cap_nested;
    struct heft_str *texts; /* long texts that were copied or decoded into the model */
    size_t n_texts, cap_texts;
    struct heft_u32map by_text;  /* node of a text or a global → texts */
    struct heft_u32map by_bytes; /* node of a text that stands for bytes → texts */
    struct heft_u32map row_of;   /* in TorchScript: node of a tensor → its first row */
    uint64_t budget;             /* values that may still be made: limits.expansion */
    uint64_t names;              /* bytes that names and keys may still take */
    uint64_t made_bytes;         /* of texts put together from pieces: see heft_torch_may_make */
    bool is_object;              /* it is all that the file holds, as torch.save was given it */
    bool is_item; /* one of many objects of a checkpoint: budget and names are what others left, and
                     t->values is the object itself, also where that is no dict */
    struct heft_value *values; /* what heft_torch_walk found besides tensors; NULL: nothing */
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
/* Text of either Python. */
static inline bool heft_torch_is_text(const struct heft_torch *t, uint32_t node)
{
    return heft_torch_is(t, node, HEFT_PICKLE_STR) || heft_torch_is(t, node, HEFT_PICKLE_PY2STR);
}
/* That text, also as bytes. */
static inline bool heft_torch_is_word(const struct heft_torch *t, uint32_t node,
                                      struct heft_str word)
{
    return (heft_torch_is_text(t, node) || heft_torch_is(t, node, HEFT_PICKLE_BYTES)) &&
           heft_str_eq(heft_pickle_text(&t->pickle, node), word);
}
/* Where a node was made, in the file. */
static inline uint64_t heft_torch_where(const struct heft_torch *t, uint32_t node)
{
    return t->base == HEFT_NO_OFFSET ? HEFT_NO_OFFSET : t->base + t->pickle.nodes[node].at;
}
/* The i-th item of a tuple (or of any container), NIL where there is none. */
static inline uint32_t heft_torch_item(const struct heft_torch *t, uint32_t node, uint32_t index)
{
    return node == HEFT_PICKLE_NIL ? HEFT_PICKLE_NIL : heft_pickle_item(&t->pickle, node, index);
}
/* The items of a tuple, one behind the other. */
static inline const uint32_t *heft_torch_items(const struct heft_torch *t, uint32_t tuple)
{
    return t->pickle.items + t->pickle.nodes[tuple].first + HEFT_PICKLE_SEGMENT;
}
static inline uint32_t heft_torch_count(const struct heft_torch *t, uint32_t node)
{
    return node == HEFT_PICKLE_NIL ? 0 : t->pickle.nodes[node].count;
}

/* The entry of a GLOBAL node; NULL for unknown names and other nodes. */
static inline const struct heft_torch_global *heft_torch_global_of(const struct heft_torch *t,
                                                                   uint32_t node)
{
    return heft_torch_is(t, node, HEFT_PICKLE_GLOBAL) ? heft_torch_known((uint8_t)t->meanings[node])
                                                      : NULL;
}
/* What kind of function or class a node names: UNKNOWN also where it is no global. */
static inline enum heft_torch_kind heft_torch_kind_of(const struct heft_torch *t, uint32_t node)
{
    const struct heft_torch_global *known = heft_torch_global_of(t, node);

    return known ? (enum heft_torch_kind)known->kind : HEFT_TORCH_UNKNOWN;
}
/* The kind of a CALL's callee. */
static inline enum heft_torch_kind heft_torch_callee(const struct heft_torch *t, uint32_t call)
{
    return heft_torch_kind_of(t, heft_torch_node(t, call)->u.call.callee);
}
/* Nothing, or None. */
static inline bool heft_torch_is_nothing(const struct heft_torch *t, uint32_t node)
{
    return node == HEFT_PICKLE_NIL || heft_torch_is(t, node, HEFT_PICKLE_NONE);
}
static inline bool heft_torch_is_sequence(const struct heft_torch *t, uint32_t node)
{
    return heft_torch_is(t, node, HEFT_PICKLE_LIST) || heft_torch_is(t, node, HEFT_PICKLE_TUPLE);
}
/* Whether a node is a PERSID that stands for a storage: storages[meanings[node]]. */
static inline bool heft_torch_is_storage(const struct heft_torch *t, uint32_t node)
{
    return heft_torch_is(t, node, HEFT_PICKLE_PERSID) &&
           !(t->meanings[node] & HEFT_TORCH_IS_TENSOR);
}

/* ---- torch_graph.c ---- */

void heft_torch_release(struct heft_torch *t);
/* Runs the pickle at the beginning of `data` (in t->graph), whose first byte is at t->base, looks
 * up every global and makes every persistent id a storage. */
HEFT_CHECKED bool heft_torch_run(struct heft_torch *t, struct heft_bytes data,
                                 struct heft_error *err);
/* The second half of heft_torch_run, where t->pickle has been run already. */
HEFT_CHECKED bool heft_torch_look_up(struct heft_torch *t, struct heft_error *err);
/* Notes on the pickle and claims for [pickle_at, +pickle_packed), but for the arrays within. After
 * the walk. */
HEFT_CHECKED bool heft_torch_claim_pickle(struct heft_torch *t, struct heft_error *err);
/* ---- torch_persid.c ---- */

/* The persistent id ("storage", class, key, location, elements) that zips have, and with one item
 * more legacy streams: all but `storage`. *more is the sixth item, NIL where there are five. */
HEFT_CHECKED bool heft_torch_read_persid(const struct heft_torch *t, uint32_t id,
                                         struct heft_torch_storage *out, bool *is_meta,
                                         uint32_t *more, struct heft_error *err);
/* The storage class that a node names. `id` is for errors. */
HEFT_CHECKED bool heft_torch_read_class(const struct heft_torch *t, uint32_t id, uint32_t node,
                                        const struct heft_torch_global **type,
                                        struct heft_error *err);
/* Bytes of an element; the quantized classes have no dtype of ours. */
uint32_t heft_torch_element_bytes(const struct heft_torch_global *type);
/* A storage met for the first time: becomes the meaning of the id. */
HEFT_CHECKED bool heft_torch_add_storage(struct heft_torch *t, uint32_t id,
                                         const struct heft_torch_storage *storage,
                                         struct heft_error *err);
/* A storage met again, storages[index]: must be said to be what it was before. */
HEFT_CHECKED bool heft_torch_same_storage(struct heft_torch *t, uint32_t id, uint32_t index,
                                          const struct heft_torch_storage *again,
                                          struct heft_error *err);
/* A persistent id that stands for a class, which `class` must name. */
HEFT_CHECKED bool heft_torch_become_class(struct heft_torch *t, uint32_t id, uint32_t class,
                                          struct heft_error *err);

/* ---- torch_damage.c: only where model->salvage is set ---- */

/* A persistent id whose storage is lost by that error. */
HEFT_CHECKED bool heft_torch_lose_storage(struct heft_torch *t, uint32_t id,
                                          const struct heft_error *found, struct heft_error *err);
/* Runs a pickle that may break off. */
HEFT_CHECKED bool heft_torch_run_damaged(struct heft_torch *t, struct heft_bytes data,
                                         const struct heft_pickle_limits *limits,
                                         struct heft_error *err);

/* ---- torch_rebuild.c ---- */

enum heft_torch_found {
    HEFT_TORCH_OTHER, /* not a tensor */
    HEFT_TORCH_ROW,   /* a row, all but its name */
    HEFT_TORCH_PARTS, /* a tensor whose parts are rows: sparse, nested, a subclass around others */
    HEFT_TORCH_UNREAD /* a tensor that cannot be read: reason */
};
struct heft_torch_made {
    enum heft_torch_found found;
    struct heft_row row;
    uint32_t from; /* ROW: the storage it looks into, from 1 on; 0: bytes without persistent id */
    const char *reason; /* in model->mem, or static */
    bool has_more;      /* parts, scales, attributes: heft_torch_gather_tensor has them */
    bool is_recast;     /* declared to be of another dtype than it is stored in */
};

/* A call, and what stands behind it when wrappers are taken off it one by one. */
struct heft_torch_call {
    uint32_t node, callee, args, state;
};
struct heft_torch_layer {
    uint32_t state, type, dtype; /* attributes, class, declared dtype; NIL where there is none */
    bool is_wrapper;
};
static inline struct heft_torch_call heft_torch_call_of(const struct heft_torch *t, uint32_t node)
{
    const struct heft_pickle_node *n = heft_torch_node(t, node);

    return (struct heft_torch_call){node, n->u.call.callee, n->u.call.args, n->state};
}
/* What tensor a node is, if it is one: a _rebuild_… call, a bare storage, a numpy array. */
HEFT_CHECKED bool heft_torch_tensor(struct heft_torch *t, uint32_t node,
                                    struct heft_torch_made *out, struct heft_error *err);

struct heft_torch_nested;
/* A CALL of _load_from_bytes: reads the stream once. *out is valid until the next call. */
HEFT_CHECKED bool heft_torch_load_bytes(struct heft_torch *t, uint32_t call,
                                        const struct heft_torch_nested **out,
                                        struct heft_error *err);

/* ---- torch_wrappers.c ---- */

/* Parameter(data), _rebuild_from_type(function …) …: *call becomes what it wraps. What is no
 * wrapper is left as it is. */
HEFT_CHECKED bool heft_torch_unwrap(struct heft_torch *t, struct heft_torch_call *call,
                                    struct heft_torch_layer *layer, struct heft_error *err);
/* restore_type_tag(value, "List[Tensor]"), which TorchScript writes around containers: the value. */
HEFT_CHECKED bool heft_torch_untag(struct heft_torch *t, uint32_t *node, struct heft_error *err);
/* BUILD with (storage, offset, size, stride), as the first releases wrote tensors. */
bool heft_torch_has_set_state(const struct heft_torch *t, const struct heft_torch_call *call);
/* The error of a call whose arguments are not those of its callee. Returns false. */
bool heft_torch_bad_arguments(struct heft_torch *t, uint32_t call, uint32_t callee,
                              struct heft_error *err);

/* ---- torch_names.c ---- */

/* The row just added is that of this tensor. TorchScript lists the parameters of a module once more
 * (_flat_weights of its LSTM): within a container such a tensor is no second row. */
HEFT_CHECKED bool heft_torch_remember_row(struct heft_torch *t, uint32_t node,
                                          struct heft_error *err);
bool heft_torch_has_row(const struct heft_torch *t, uint32_t node, struct heft_str *name);

/* ---- torch_plain.c ---- */

/* Whether a dictionary's _metadata is what modules leave there, and so can be written. */
bool heft_torch_modules_fit(const struct heft_value *modules);
/* Whether the object of the pickle is no more than a flat dictionary of plain tensors, which
 * torch_write_pickle.c writes as it was. */
bool heft_torch_is_plain(const struct heft_torch *t);

/* ---- torch_provenance.c ---- */

/* The row that was just added was made by `node`, under `key` (no node's number: it has none). Only
 * where model->provenance is set. */
HEFT_CHECKED bool heft_torch_keep_provenance(struct heft_torch *t, uint32_t key, uint32_t node,
                                             const struct heft_torch_made *made,
                                             struct heft_error *err);

/* ---- torch_stream.c ---- */

/* Bytes that hold pickles and storages one behind the other: a file, a member of one, or bytes that
 * a pickle holds. Positions are from 0 to bytes.size. */
struct heft_torch_stream {
    struct heft_source bytes;
    struct heft_model *model;
    uint32_t source; /* of the model, that storages are placed in … */
    uint64_t origin; /* … from here on */
    bool is_memory;  /* it is decoded bytes: errors have no offset */
    bool is_nested;  /* within a pickle: what stands before its storages is one claim … */
    bool is_claimed; /* … or is part of another already: nothing more is claimed */
};
/* A file from its beginning. */
struct heft_torch_stream heft_torch_file_stream(struct heft_model *model, uint32_t source);
/* Where a position is, for errors and notes. */
uint64_t heft_torch_stream_at(const struct heft_torch_stream *in, uint64_t position);
/* A pickle at a position, in an arena that is empty before. `first`: how many bytes to try with. */
HEFT_CHECKED bool heft_torch_stream_pickle(const struct heft_torch_stream *in, uint64_t position,
                                           uint64_t first, struct heft_pickle *out,
                                           struct heft_arena *arena, struct heft_error *err);
/* The same of the pickle that makes the object: into t, and looks up its names. */
HEFT_CHECKED bool heft_torch_stream_object(const struct heft_torch_stream *in, uint64_t position,
                                           struct heft_torch *t, struct heft_error *err);
/* Salvaging, after that failed: what the pickle holds until it breaks off, and a word of it. */
HEFT_CHECKED bool heft_torch_stream_broken(const struct heft_torch_stream *in, uint64_t position,
                                           struct heft_torch *t, struct heft_error *err);
/* `what` static, `of` in model->mem. */
HEFT_CHECKED bool heft_torch_stream_claim(const struct heft_torch_stream *in, uint64_t position,
                                          uint64_t bytes, const char *what, struct heft_str of,
                                          struct heft_error *err);
/* The int64 at a position that is inside. */
HEFT_CHECKED bool heft_torch_stream_i64(const struct heft_torch_stream *in, uint64_t position,
                                        int64_t *out, struct heft_error *err);
/* A storage: its count at a position, then its bytes. s->storage is what it becomes, `label` is in
 * model->mem. The caller has seen to it that all are inside, and claims the count. */
HEFT_CHECKED bool heft_torch_stream_storage(const struct heft_torch_stream *in, uint64_t position,
                                            struct heft_str label, struct heft_torch_storage *s,
                                            struct heft_error *err);
/* Findings about what follows the end of all that belongs to the format: `behind` says what that
 * was. */
HEFT_CHECKED bool heft_torch_stream_end(const struct heft_torch_stream *in, uint64_t end,
                                        const char *behind, struct heft_error *err);
/* Whether Python 2 wrote the pickle: only it writes such strings. */
bool heft_torch_is_python2(const struct heft_pickle *pickle);
/* "pickle protocol 2" and the like, static. */
const char *heft_torch_protocol(const struct heft_pickle *pickle);

static inline bool heft_torch_is_zip(struct heft_bytes bytes)
{
    return bytes.n >= 4 && memcmp(bytes.p, "PK\3\4", 4) == 0;
}
/* What the head of a file begins with, judged by running it. */
enum heft_torch_peek {
    HEFT_TORCH_NO_PICKLE,
    HEFT_TORCH_UNJUDGED,       /* for want of memory */
    HEFT_TORCH_PERHAPS_PICKLE, /* as far as the head goes */
    HEFT_TORCH_WHOLE_PICKLE,
    HEFT_TORCH_MAGIC /* a pickle that is the first integer of a legacy stream */
};
enum heft_torch_peek heft_torch_peek(struct heft_bytes head, uint64_t size);

/* ---- torch_legacy_read.c ---- */

/* Reads the stream's pickles and storages into t, up to the walk. *end is where they end. */
HEFT_CHECKED bool heft_torch_read_legacy(const struct heft_torch_stream *in, struct heft_torch *t,
                                         uint64_t *end, struct heft_error *err);

/* ---- torch_nested.c ---- */

struct heft_torch_nested {
    uint32_t storage; /* in storages, where the stream is a bare one; else HEFT_NONE, and … */
    const struct heft_torch_made *made; /* … what the call is by itself, all but a name */
};
/* Makes a tensor of a node: heft_torch_tensor. */
typedef bool heft_torch_tensor_fn(struct heft_torch *t, uint32_t node, struct heft_torch_made *out,
                                  struct heft_error *err);
/* heft_torch_load_bytes, which calls it with heft_torch_tensor: a stream may hold a tensor. */
HEFT_CHECKED bool heft_torch_read_nested(struct heft_torch *t, uint32_t call,
                                         heft_torch_tensor_fn *tensor,
                                         const struct heft_torch_nested **out,
                                         struct heft_error *err);
/* Whether those bytes are taken by a stream already: they cannot be an array as well. */
static inline bool heft_torch_is_nested(const struct heft_torch *t, uint32_t bytes)
{
    return heft_u32map_get(&t->by_stream, bytes) != HEFT_MAP_NONE;
}

/* ---- torch_numpy.c ---- */

/* For CALLs of numpy's _reconstruct and _frombuffer. */
HEFT_CHECKED bool heft_torch_array(struct heft_torch *t, uint32_t node, struct heft_torch_made *out,
                                   struct heft_error *err);
/* For CALLs of numpy's scalar: fills kind and content. *known is false for types that have no
 * value of ours. */
HEFT_CHECKED bool heft_torch_scalar(struct heft_torch *t, uint32_t node, struct heft_value *out,
                                    bool *known, struct heft_error *err);

/* ---- torch_arguments.c ---- */

/* Are these quantization parameters as torch writes them: (scheme, scale, zero point [, axis])? */
bool heft_torch_has_qparams(const struct heft_torch *t, uint32_t node);
/* Are the arguments of a sparse or nested tensor those that its kind takes? */
bool heft_torch_has_parts(const struct heft_torch *t, const struct heft_torch_call *call);
/* Attributes, but for none: a dict that is not empty, a pair of such, anything else. */
bool heft_torch_has_state(const struct heft_torch *t, uint32_t state);

/* ---- torch_text.c ---- */

/* "module.name" of a GLOBAL or of the class of a CALL, in model->mem. */
HEFT_CHECKED const char *heft_torch_type_name(struct heft_torch *t, uint32_t node,
                                              struct heft_error *err);
/* Replaces lone surrogates, in place, by U+FFFD. */
void heft_torch_mend(char *text, size_t n);
/* The bytes that a node stands for: BYTES, BYTEARRAY, a string of Python 2, _codecs.encode or
 * bytearray over one. *found is false where it stands for none. `verbatim` is where they stand in
 * the pickle, or SIZE_MAX where they had to be decoded (into model->mem). */
struct heft_torch_bytes {
    struct heft_bytes bytes;
    uint32_t node; /* that holds them: sharing is by this */
    size_t verbatim;
};
HEFT_CHECKED bool heft_torch_bytes_of(struct heft_torch *t, uint32_t node, bool *found,
                                      struct heft_torch_bytes *out, struct heft_error *err);
/* Keeps a text that is in model->mem as that of a node: in t->by_text or t->by_bytes. */
HEFT_CHECKED bool heft_torch_remember_text(struct heft_torch *t, struct heft_u32map *map,
                                           uint32_t node, struct heft_str text,
                                           struct heft_error *err);
void heft_torch_set_text(struct heft_value *out, enum heft_value_kind kind, struct heft_str text);
/* The same of a text in buf, which is empty afterwards. */
HEFT_CHECKED bool heft_torch_take_text(struct heft_torch *t, struct heft_buf *buf,
                                       struct heft_value *out, enum heft_value_kind kind,
                                       struct heft_error *err);
/* The value of a text; bytes where a string of Python 2 is no UTF-8. */
HEFT_CHECKED bool heft_torch_text_leaf(struct heft_torch *t, uint32_t node, struct heft_value *out,
                                       struct heft_error *err);
/* The value of what stands for bytes: see heft_torch_bytes_of. */
HEFT_CHECKED bool heft_torch_bytes_leaf(struct heft_torch *t, uint32_t node, struct heft_value *out,
                                        bool *is_leaf, struct heft_error *err);
/* May so many bytes of a text be put together from pieces that the pickle may share? All such texts
 * take at most 4 MiB and the length of the pickle; what comes then stays an object. */
bool heft_torch_may_make(struct heft_torch *t, uint64_t bytes);

/* ---- torch_foreign.c ---- */

/* Objects of the standard library that are a text: dates, numbers, members of enumerations. */
HEFT_CHECKED bool heft_torch_foreign(struct heft_torch *t, uint32_t node, struct heft_value *out,
                                     bool *is_leaf, struct heft_error *err);

/* ---- torch_value.c ---- */

/* Fills a value from a node that has no children: numbers, texts, names, devices, paths … *is_leaf
 * is false for all others. */
HEFT_CHECKED bool heft_torch_leaf(struct heft_torch *t, uint32_t node, struct heft_value *out,
                                  bool *is_leaf, struct heft_error *err);
/* Appends a dictionary key as Python's str would show it. `ordinal` tells apart objects that have
 * no text of their own. Lists, dicts and sets are no keys. */
HEFT_CHECKED bool heft_torch_key(struct heft_torch *t, uint32_t node, size_t ordinal,
                                 struct heft_buf *out, struct heft_error *err);

/* ---- torch_tree.c ---- */

/* Rows, and t->values, from the graph's root. Afterwards the nodes are gone. */
HEFT_CHECKED bool heft_torch_walk(struct heft_torch *t, struct heft_error *err);

#endif
